"""What the Snakefile asks for: files, and for each rule the settings that change its output.

Imported while Snakemake parses, so nothing heavy is imported here and nothing is written.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pteb_eval.auto_runs import recorded_runs
from pteb_eval.config import (
    Config,
    FrozenSet,
    Generator,
    ImplicitTask,
    parse_config,
)
from pteb_eval.config.base import CACHE, ORIGINAL
from pteb_eval.config.models import Model
from pteb_eval.config.read import read_yaml
from pteb_eval.embed.packaged import PACKAGES, packaged_revision
from pteb_eval.errors import UserError
from pteb_eval.fingerprint import fingerprint
from pteb_eval.ids import canonical_json
from pteb_eval.implicit import catalogue
from pteb_eval.layout import (
    CAPTION_FORMATS,
    FIGURES,
    JUDGE_FIGURES,
    RANK_TABLES,
    REVIEW_TABLES,
    TABLE_FORMATS,
    TEST_TABLES,
    figure_files,
    judge_tables,
)
from pteb_eval.paraphrase.engines.packaged import is_installed
from pteb_eval.paraphrase.prompts import load_prompt
from pteb_eval.workflow_judges import answer_options, environment, task_settings
from pteb_eval.workflow_suite import SuiteWorkflow, where_from

STAGE_MODULES = {
    "fetch": "pteb_eval.fetch",
    "score": "pteb_eval.score.stage",
    "score_judged": "pteb_eval.score.judged",
    "judge_gold": "pteb_eval.judge.gold",
    "judge_instances": "pteb_eval.judge.instances",
    "judge_validation": "pteb_eval.judge.validation",
    "test": "pteb_eval.statistics.stage",
    "rank": "pteb_eval.statistics.rank",
    "plot": "pteb_eval.plot.stage",
    "report": "pteb_eval.report.stage",
    "suite": "pteb_eval.implicit.results",
}


class Workflow(SuiteWorkflow):
    """A configuration, seen from the rules.

    Args:
        config: the checked configuration.
        results: folder above all runs.

    Raises:
        UserError: if a file that the configuration names is missing.
    """

    def __init__(self, config: Config, results: Path = Path("results")) -> None:
        super().__init__(config, results)
        self.cache = results / CACHE
        self.runs = recorded_runs(self.layout) if config.runs == "auto" else config.runs
        for task in self.loaded.values():
            if isinstance(task, ImplicitTask):
                catalogue.entry(task.implicit)
            for path in task.files:
                if not path.exists():
                    raise UserError(
                        f"task {task.name!r}: {path}: no such file or folder{where_from(task)}"
                    )
        for model in config.models:
            if model.path is not None and not model.path.is_dir():
                raise UserError(f"model {model.name!r}: {model.path}: no such folder (key `path`)")
        for generator in config.generators:
            if isinstance(generator, Generator):
                for path in generator.prompts:
                    load_prompt(path)
            if isinstance(generator, FrozenSet) and not generator.frozen.is_dir():
                raise UserError(
                    f"generator {generator.name!r}: {generator.frozen}: no such folder (`frozen`)"
                )

    def code(self, stage: str) -> str:
        """Fingerprint of the code that decides a stage's output."""
        return fingerprint(STAGE_MODULES[stage])

    # Settings, as canonical JSON: exactly what changes the output of a rule.

    def fetch_settings(self, task: str) -> str:
        """Settings of `fetch`; of a task that is only for judges nothing is reworded."""
        entry = self.loaded[task]
        return canonical_json(
            {
                "task": self._task(task),
                "scope": self.config.scope if task in self.tasks else "all",
                "max_instances": entry.max_instances,
            }
        )

    def paraphrase_settings(self, task: str, generator: str) -> str:
        """Settings of `paraphrase`; prompts by content, not by path."""
        entry = self.generators[generator]
        common = {
            "task": task,
            "generator": entry.name,
            "runs": self.runs,
            "max_failure_rate": self.config.max_failure_rate,
        }
        if isinstance(entry, FrozenSet):
            return canonical_json(common)
        return canonical_json(
            common
            | {
                "engine": entry.engine,
                "model": entry.model,
                "revision": entry.revision,
                "sampling": entry.sampling.model_dump(mode="json"),
                "prompts": [load_prompt(path).model_dump(mode="json") for path in entry.prompts],
                "attempts": entry.attempts,
                "answer_options": answer_options(entry),
                "seed": self.config.seed,
            }
        )

    def engine_options(self, generator: str) -> str:
        """A generator's engine options, which change speed and not answers."""
        entry = self.generators[generator]
        return canonical_json({} if isinstance(entry, FrozenSet) else entry.options)

    def generator_environment(self, generator: str) -> str:
        """The environment of a generator's jobs, seen from the rules' folder."""
        return environment(self.generators[generator])

    def paraphrase_sources(self, task: str, generator: str) -> list[str]:
        """What a paraphrase file is made of beside the texts: shards, or a frozen set."""
        entry = self.generators[generator]
        if isinstance(entry, FrozenSet):
            return [str(entry.frozen / f"{task}.parquet")]
        if entry.shards == 1:
            return []
        return [
            str(self.layout.paraphrase_shard(generator, task, f"{shard}-of-{entry.shards}"))
            for shard in range(1, entry.shards + 1)
        ]

    def generator_pattern(self, *kinds: str) -> str:
        """Wildcard pattern of the generators that are `whole`, `sharded` or `frozen`."""
        names = [name for name, entry in self.generators.items() if _kind(entry) in kinds]
        return "|".join(map(re.escape, names)) or "(?!)"

    def device_option(self) -> str:
        """The option that names the device; it changes speed, so it is no param."""
        device = self.config.embedding.device
        return f"--device {device}" if device else ""

    def model_settings(self, model: str) -> str:
        """Settings of a model, for `fetch_model`."""
        return canonical_json(self.models[model].model_dump(mode="json"))

    def generator_model_settings(self, generator: str) -> str:
        """Settings of `fetch_generator`."""
        entry = self.generators[generator]
        assert not isinstance(entry, FrozenSet)
        return canonical_json(
            {"generator": entry.name, "model": entry.model, "revision": entry.revision}
        )

    def embed_settings(self, model: str, task: str) -> str:
        """Settings of `embed`."""
        return canonical_json(
            {
                "model": self.models[model].model_dump(mode="json"),
                "task": self._task(task),
                "batch_size": self.config.embedding.batch_size,
            }
        )

    def score_settings(self, model: str, task: str, generator: str = ORIGINAL) -> str:
        """Settings of `score`."""
        settings: dict[str, Any] = {"model": self.models[model].name, "task": self._task(task)}
        if generator != ORIGINAL:
            settings["on_failure"] = self.config.on_failure
        return canonical_json(settings)

    def test_settings(self) -> str:
        """Settings of `test`."""
        judges = {
            "judges": list(self.judges),
            "validated": bool(self.gold),
            "min_judge": bool(self.config.min_judge),
        }
        return canonical_json(self._of_all(None) | (judges if self.judges else {}))

    def rank_settings(self) -> str:
        """Settings of `rank`."""
        return canonical_json(
            self._of_all({"interval", "confidence", "resamples", "correction", "alpha"})
        )

    def _of_all(self, keys: set[str] | None) -> dict[str, Any]:
        return {
            "models": {slug: model.name for slug, model in self.models.items()},
            "generators": list(self.generators),
            "tasks": list(self.tasks),
            "statistics": self.config.statistics.model_dump(mode="json", include=keys),
            "seed": self.config.seed,
        }

    def report_settings(self) -> str:
        """Settings of `report`: the whole configuration, since the page shows it."""
        return canonical_json(self.config.model_dump(mode="json") | {"runs": self.runs})

    def plot_settings(self) -> str:
        """Settings of `plot`: what is drawn, and what the captions say of it."""
        return canonical_json(
            {
                "figures": self._figure_names(),
                "tables": self._table_names(),
                "statistics": self.config.statistics.model_dump(mode="json"),
                "on_failure": self.config.on_failure,
            }
        )

    def _figure_names(self) -> list[str]:
        return [*FIGURES, *(JUDGE_FIGURES if self.judges else ())]

    def _table_names(self) -> list[str]:
        return [*TEST_TABLES, *RANK_TABLES, *judge_tables(len(self.judges), bool(self.gold))]

    # Files

    def files_on_the_way(self) -> list[str]:
        """All that is made on the way to the final files.

        Asked for too, since a failed job loses the output that it had, and Snakemake makes what is
        missing again only where something asks for it: after a change, a failure and another run
        the final files would silently be those from before the change.
        """
        shards = [
            file
            for generator in self.generators
            for task in self.tasks
            for file in self.paraphrase_sources(task, generator)
        ]
        return [
            *self.fetched_files(),
            *shards,
            *self.paraphrase_files(),
            *self.embedding_files(),
            *self.score_files(),
            *(self.judging_files() if self.generators else ()),
        ]

    def final_files(self) -> list[str]:
        """What a run is for: all tables and figures; without generators the originals alone."""
        files = self.mteb_results() + self.suite_files()
        if self.generators:
            files += self.tables() + self.figures() + self.captions() + [str(self.layout.report)]
        return files

    def data_files(self, task: str) -> list[str]:
        """The user's own files behind a task."""
        return [str(file) for path in self.loaded[task].files for file in _files_of(path)]

    def model_files(self, model: str) -> list[str]:
        """The files of a model's local folder."""
        folder = self.models[model].path
        if folder is None:
            return []
        return [str(path) for path in _files_of(folder)]

    def generator_files(self, generator: str) -> list[str]:
        """What must be fetched for a generator: nothing, unless its model is one of the hub's."""
        entry = self.generators[generator]
        if isinstance(entry, FrozenSet) or entry.engine != "vllm":
            return []
        is_here = Path(entry.model).is_dir() or is_installed(entry.model)
        return [] if is_here else [str(self.layout.generator(generator))]

    def fetched_files(self) -> list[str]:
        """All that the fetch rules make; after them no network is needed."""
        models = [str(self.layout.model(model)) for model in self.models]
        generators = [file for name in self.generators for file in self.generator_files(name)]
        judges = [file for name in self.judges for file in self.judge_files(name)]
        gold = [str(self.layout.texts(task)) for task in self.gold if task not in self.tasks]
        return self.texts_files() + gold + models + generators + judges

    def mteb_results(self) -> list[str]:
        """The originals' results in mteb's format."""
        return [
            str(self.layout.mteb(slug, revision_segment(model), task))
            for slug, model in self.models.items()
            for task in self.tasks
        ]

    def score_files(self) -> list[str]:
        """The score and instance files of all cells."""
        cells = list(self.cells())
        both = [
            str(path(*cell))
            for cell in cells
            for path in (self.layout.scores, self.layout.instances)
        ]
        return both + [str(self.layout.surface(*cell)) for cell in cells if cell[1] != ORIGINAL]

    def instance_files(self) -> list[str]:
        """The values of single instances, original and runs, that the report shows."""
        return [str(self.layout.instances(*cell)) for cell in self.cells() if cell[1] != ORIGINAL]

    def embedding_files(self) -> list[str]:
        """The vectors of all cells."""
        return [str(self.layout.embeddings(*cell)) for cell in self.cells()]

    def texts_files(self) -> list[str]:
        """The texts files of all tasks."""
        return [str(self.layout.texts(task)) for task in self.tasks]

    def paraphrase_files(self) -> list[str]:
        """The paraphrase files of all generators and tasks."""
        return [
            str(self.layout.paraphrases(generator, task))
            for generator in self.generators
            for task in self.tasks
        ]

    def tables(self, names: Iterable[str] | None = None) -> list[str]:
        """Tables, unless some are named all, in all formats."""
        names = self._table_names() if names is None else names
        return [str(self.layout.table(table, ext)) for table in names for ext in TABLE_FORMATS]

    def review_tables(self) -> list[str]:
        """Tables of `pteb-eval review import` that are there: the report shows them."""
        paths = [self.layout.table(name) for name in REVIEW_TABLES]
        return [str(path) for path in paths if path.is_file()]

    def test_tables(self) -> list[str]:
        """Names of the tables that `test` writes."""
        return [*TEST_TABLES, *judge_tables(len(self.judges), validated=False)]

    def figures(self) -> list[str]:
        """All figures in both widths and all formats."""
        return figure_files(self.layout, self._figure_names())

    def captions(self) -> list[str]:
        """Captions of all figures and tables but those of the suite."""
        return [str(self.layout.captions(ext)) for ext in CAPTION_FORMATS]

    def _task(self, task: str) -> dict[str, Any]:
        return task_settings(self.loaded[task])


def _kind(entry: Generator | FrozenSet) -> str:
    if isinstance(entry, FrozenSet):
        return "frozen"
    return "whole" if entry.shards == 1 else "sharded"


def _files_of(path: Path) -> list[Path]:
    """A file itself, or all files in a folder."""
    if not path.is_dir():
        return [path]
    return [file for file in sorted(path.rglob("*")) if file.is_file()]


def from_snakemake(content: Mapping[str, Any], files: Iterable[str] = ()) -> Workflow:
    """The workflow of a configuration that Snakemake read; a mistake ends Snakemake in one line.

    Args:
        content: what it made of the files and of its command line.
        files: the files, read again for what it does not mind, such as a key that stands twice.
    """
    try:
        for file in files:
            read_yaml(Path(file), "no such configuration file")
        return Workflow(parse_config(content, "config"))
    except UserError as error:
        # Not a WorkflowError: Snakemake would print places in the rules, which are not to blame.
        raise SystemExit(f"pteb-eval: {error}") from None


def revision_segment(model: Model) -> str:
    """The revision as a path segment; `default` where mteb's own pin is used."""
    if model.path is not None:
        return "local"
    if model.name in PACKAGES:
        return f"package-{packaged_revision(model.name)}"
    return (model.revision or "default").replace("/", "__")
