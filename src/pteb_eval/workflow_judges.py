"""What the rules of judges ask for: files, and the settings that change their output.

Imported while Snakemake parses, so nothing heavy is imported here and nothing is written.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pteb_eval.config import Config, FileTask, FrozenSet, Generator, ImplicitTask, MtebTask
from pteb_eval.config.base import ORIGINAL
from pteb_eval.config.judges import LlmJudge, ModelJudge
from pteb_eval.config.models import ANSWER_OPTIONS
from pteb_eval.embed.packaged import PACKAGES
from pteb_eval.ids import canonical_json
from pteb_eval.implicit import catalogue
from pteb_eval.layout import TABLE_FORMATS, Layout
from pteb_eval.paraphrase.engines.packaged import is_installed
from pteb_eval.paraphrase.prompts import load_judge_prompt

PUBLISHED = "resources/published.yaml"


class JudgeWorkflow:
    """The part of `Workflow` that is about judges.

    Args:
        config: the checked configuration.
        results: folder above all runs.

    Raises:
        UserError: if a prompt file is missing or none.
    """

    def __init__(self, config: Config, results: Path) -> None:
        self.config = config
        self.layout = Layout(results / config.name)
        self.tasks = {task.name: task for task in config.tasks}
        self.gold = {task.name: task for task in config.validate_judge}
        self.loaded: dict[str, MtebTask | FileTask | ImplicitTask] = {**self.gold, **self.tasks}
        self.models = {model.slug: model for model in config.models}
        self.generators: dict[str, Generator | FrozenSet] = {
            generator.name: generator for generator in config.generators
        }
        self.judges: dict[str, LlmJudge | ModelJudge] = {
            judge.name: judge for judge in config.judges
        }
        for judge in config.judges:
            if isinstance(judge, LlmJudge):
                load_judge_prompt(judge.prompt)

    def judge_settings(self, judge: str, task: str, generator: str | None = None) -> str:
        """Settings of `judge`, on a generator's paraphrases or on pairs with gold."""
        entry = self.judges[judge]
        common: dict[str, Any] = {
            "judge": judge,
            "task": task,
            "max_failure_rate": self.config.max_failure_rate,
            "engine": entry.engine,
            "model": entry.model,
            "revision": entry.revision,
        }
        if generator is not None:
            common["generator"] = generator
        if isinstance(entry, ModelJudge):
            return canonical_json(common)
        keys = {"sampling", "ratings", "both_orders", "constrained", "attempts"}
        return canonical_json(
            common
            | entry.model_dump(mode="json", include=keys)
            | {
                "prompt": load_judge_prompt(entry.prompt).model_dump(mode="json"),
                "answer_options": answer_options(entry),
                "seed": self.config.seed,
            }
        )

    def judge_options(self, judge: str) -> str:
        """A judge's engine options, which change speed and not answers."""
        entry = self.judges[judge]
        return canonical_json({} if isinstance(entry, ModelJudge) else entry.options)

    def judge_environment(self, judge: str) -> str:
        """The environment of a judge's jobs, seen from the rules' folder."""
        return environment(self.judges[judge])

    def judge_pattern(self, *, sharded: bool) -> str:
        """Wildcard pattern of the judges with, or without, shards."""
        names = [name for name, entry in self.judges.items() if (_shards(entry) > 1) == sharded]
        return "|".join(map(re.escape, names)) or "(?!)"

    def judgement_shards(self, judge: str, generator: str, task: str) -> list[str]:
        """The shards of a file of judgements."""
        n_shards = _shards(self.judges[judge])
        return [
            str(self.layout.judgement_shard(judge, generator, task, f"{shard}-of-{n_shards}"))
            for shard in range(1, n_shards + 1)
        ]

    def gold_settings(self, task: str) -> str:
        """Settings of `judge_gold`."""
        limit = self.gold[task].max_instances
        return canonical_json({"task": task_settings(self.loaded[task]), "max_instances": limit})

    def drift_settings(self, judge: str, generator: str, task: str) -> str:
        """Settings of `judge_instances`."""
        return canonical_json(
            {"judge": judge, "generator": generator, "task": task_settings(self.loaded[task])}
        )

    def validation_settings(self) -> str:
        """Settings of `judge_validation`."""
        return canonical_json(
            {
                "judges": [[name, entry.model or name] for name, entry in self.judges.items()],
                "min_judge_spearman": self.config.min_judge_spearman,
                "confidence": self.config.statistics.confidence,
                "resamples": self.config.statistics.resamples,
                "seed": self.config.seed,
            }
        )

    def judged_settings(self, model: str, task: str) -> str:
        """Settings of `score_judged`."""
        return canonical_json(
            {
                "model": self.models[model].name,
                "task": task_settings(self.loaded[task]),
                "judge": self.first_judge,
                "min_judge": sorted(set(self.config.min_judge)),
                "min_judge_spearman": self.config.min_judge_spearman,
            }
        )

    @property
    def first_judge(self) -> str:
        """The judge that counts: it fills `judge_mean` and filters; empty if there is none."""
        return next(iter(self.judges), "")

    def judge_files(self, judge: str) -> list[str]:
        """What must be fetched for a judge: nothing, unless its model is one of the hub's."""
        entry = self.judges[judge]
        if entry.model is None or entry.engine in ("llamacpp", "openai"):
            return []
        is_here = entry.model in PACKAGES or Path(entry.model).is_dir() or is_installed(entry.model)
        return [] if is_here else [str(self.layout.judge(judge))]

    def judge_model_settings(self, judge: str) -> str:
        """Settings of `fetch_judge`."""
        entry = self.judges[judge]
        settings = {"generator": judge, "model": entry.model, "revision": entry.revision}
        return canonical_json(settings | ({"engine": "cosine"} if entry.engine == "cosine" else {}))

    def validation_files(self) -> list[str]:
        """Rated gold pairs of all judges and tasks."""
        return [str(self.layout.validation(judge, task)) for judge in self.judges
                for task in self.gold]  # fmt: skip

    def validation_tables(self) -> list[str]:
        """The table of how far judges agree with people, if they are to be validated."""
        table = "judge_validation"
        return [str(self.layout.table(table, ext)) for ext in TABLE_FORMATS] if self.gold else []

    def judgement_files(self) -> list[str]:
        """All that `test` reads of judges."""
        judge, cells = self.first_judge, [cell for cell in self.cells() if cell[1] != ORIGINAL]
        if not judge:
            return []
        pairs = [(generator, task) for generator in self.generators for task in self.tasks]
        files = [self.layout.judgements(name, *pair) for name in self.judges for pair in pairs]
        files += [self.layout.drift(judge, *pair) for pair in pairs]
        if self.config.min_judge:
            files += [self.layout.judged_scores(*cell) for cell in cells]
            files += [self.layout.judged_instances(*cell) for cell in cells]
        return [str(path) for path in files] + self.validation_tables() + [PUBLISHED]

    def judging_files(self) -> list[str]:
        """All that is made by judges or for them."""
        shards = [
            file
            for judge, entry in self.judges.items()
            for generator in self.generators
            for task in self.tasks
            for file in self.judgement_shards(judge, generator, task)
            if _shards(entry) > 1
        ]
        gold = [str(self.layout.gold(task)) for task in self.gold]
        return [*gold, *self.validation_files(), *shards, *self.judgement_files()]

    def cells(self) -> Iterable[tuple[str, str, str]]:
        """Every (model, generator, task), `original` among the generators."""
        return (
            (model, generator, task)
            for model in self.models
            for generator in (ORIGINAL, *self.generators)
            for task in self.tasks
        )


def task_settings(task: MtebTask | FileTask | ImplicitTask) -> dict[str, Any]:
    """An entry of the config as `load_task` takes it."""
    settings = task.model_dump(mode="json", exclude={"max_instances"}, exclude_none=True)
    if isinstance(task, ImplicitTask):
        settings["declared"] = catalogue.entry(task.implicit).declared
    return settings


def environment(entry: Generator | FrozenSet | LlmJudge | ModelJudge) -> str:
    """The environment file of the jobs of a generator or judge, seen from the rules' folder."""
    if isinstance(entry, ModelJudge):
        return "../../envs/evaluate.yaml"
    is_vllm = not isinstance(entry, FrozenSet) and entry.engine == "vllm"
    return f"../../envs/{'vllm' if is_vllm else 'generate'}.yaml"


def answer_options(entry: Generator | LlmJudge) -> dict[str, Any]:
    """Those of an engine's options that change answers."""
    return {
        name: value for name, value in entry.options.items() if name in ANSWER_OPTIONS[entry.engine]
    }


def _shards(entry: LlmJudge | ModelJudge) -> int:
    return entry.shards if isinstance(entry, LlmJudge) else 1
