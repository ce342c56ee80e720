"""A finished run as the report finds it: all tables and files, of seeded numbers."""

import numpy as np
import pandas as pd
import pyarrow as pa

from pteb_eval.config import parse_config
from pteb_eval.embed.inputs import INPUT_COLUMNS
from pteb_eval.fetch import SCHEMA as TEXTS
from pteb_eval.ids import text_id
from pteb_eval.implicit.results import DELTA_COLUMNS, SUITE_COLUMNS
from pteb_eval.judge.stage import SCHEMA as JUDGEMENTS
from pteb_eval.judge.validation import COLUMNS as VALIDATION_COLUMNS
from pteb_eval.layout import SUITE_DELTA_TABLES, SUITE_TABLES, TABLES, judge_tables
from pteb_eval.paraphrase.stage import SCHEMA as PARAPHRASES
from pteb_eval.paraphrase.summary import COLUMNS as QUALITY_COLUMNS
from pteb_eval.score.instances import INSTANCES
from pteb_eval.statistics import drift, judges, paraphrasers, rank, significance, stage, summary
from pteb_eval.statistics.surface_table import COLUMNS as SURFACE_COLUMNS
from pteb_eval.store import write_table, write_text
from pteb_eval.workflow import Workflow

COLUMNS = {
    "scores": stage.SCORE_COLUMNS,
    "summary": summary.SUMMARY_COLUMNS,
    "significance": significance.SIGNIFICANCE_COLUMNS,
    "effects": significance.EFFECTS_COLUMNS,
    "runs": summary.RUNS_COLUMNS,
    "paraphrase_quality": QUALITY_COLUMNS,
    "surface": SURFACE_COLUMNS,
    "inputs": INPUT_COLUMNS,
    "warnings": summary.WARNING_COLUMNS,
    "ranking": rank.RANKING_COLUMNS,
    "model_pairs": rank.PAIR_COLUMNS,
    "across_tasks": rank.ACROSS_COLUMNS,
    "judge_validation": VALIDATION_COLUMNS,
    "drift": drift.DRIFT_COLUMNS,
    "drift_regression": drift.REGRESSION_COLUMNS,
    "paraphrasers": paraphrasers.PARAPHRASER_COLUMNS,
    "judge_agreement": judges.AGREEMENT_COLUMNS,
    "implicit": SUITE_COLUMNS,
    "implicit_delta": DELTA_COLUMNS,
}
WORDS = ["the", "a", "river", "stone", "quiet", "market", "opens", "early", "morning", "children",
         "walk", "past", "old", "bridge", "carry", "water", "bread", "letters", "nobody", "reads",
         "slow", "train", "leaves", "winter", "garden", "under", "low", "roof"]  # fmt: skip


class FakeRun:
    """Writes the run below `folder`.

    Args:
        folder: above all runs.
        models: names.
        tasks: by name the main metric: `cosine_spearman`, `accuracy` or `v_measure`.
        n: instances of a task; pairs of texts.
        texts: first sentences of the first instances; the others are drawn.
        drops: by model its Δ on every task, a fraction.
        judged: whether there is a judge.
        suite: those of the tasks that are of the implicit suite.
        words: of a text.
    """

    def __init__(self, folder, models, tasks, n=30, texts=(), drops=None, judged=False, words=12,
                 generators=("gen",), warnings=(), subset="default", suite=(), runs=6):  # fmt: skip
        self.models, self.tasks, self.n, self.runs, self.subset = models, tasks, n, runs, subset
        self.generators, self.judged, self.words, self.suite = generators, judged, words, suite
        self.drops = drops or {model: 0.02 * place for place, model in enumerate(models)}
        self.rng = np.random.default_rng(5)
        (folder / "p.csv").write_text("sentence1,sentence2,score\n")
        (folder / "p.yaml").write_text("{name: p, version: 1, kind: chat, template: '{text}'}")
        engine = {"engine": "openai", "model": "m"}
        paraphraser = {**engine, "prompts": [str(folder / "p.yaml")]}
        content = {
            "name": "fake",
            "runs": runs,
            "tasks": [
                {"type": "sts", "name": task, "path": str(folder / "p.csv")} for task in tasks
            ],
            "models": list(models),
            "generators": [{"name": name, **paraphraser} for name in generators],
        }
        if judged:
            (folder / "j.yaml").write_text(
                "{name: j, version: 1, kind: chat, template: '{first} {second}'}"
            )
            content |= {
                "judges": [{"name": "reader", **engine, "prompt": str(folder / "j.yaml")}],
                "validate_judge": [next(iter(tasks))],
            }
        self.config = parse_config(content, "config")
        self.flow = Workflow(self.config, folder)
        self.layout = self.flow.layout
        for task in tasks:
            self._texts(task, texts)
            for generator in generators:
                self._paraphrases(task, generator)
                for model in models:
                    self._instances(model, task, generator)
        self._tables(warnings)

    def _sentence(self):
        return " ".join(self.rng.choice(WORDS, self.words))

    def _texts(self, task, given):
        firsts = [*given, *(f"{task} {row}: {self._sentence()}" for row in range(self.n))][: self.n]
        self.firsts = firsts
        rows = [
            {
                "text_id": text_id(text),
                "text": text,
                "languages": ["eng-Latn"],
                "reworded": True,
                "slots": [
                    {"subset": self.subset, "split": "test", "role": role, "row": str(row),
                     "position": 0, "reworded": True}
                ],
            }
            for row, first in enumerate(firsts)
            for role, text in (("sentence1", first), ("sentence2", f"{row} {self._sentence()}"))
        ]  # fmt: skip
        about = {
            "task": task,
            "task_type": "STS",
            "main_metric": self.tasks[task],
            "task_revision": "0" * 40,
            "description": "",
            "notes": [],
            "offensive": task.startswith("offensive"),
        }
        write_table(self.layout.texts(task), pa.Table.from_pylist(rows, TEXTS), about)
        self.texts = rows

    def _paraphrases(self, task, generator):
        rows, rated = [], []
        for place, text in enumerate(self.texts):
            for run in range(1, self.runs + 1):
                bad = place == 2 * self.n - 1 and run == 2
                copy = place % 4 == 0 and run == 1
                paraphrase = text["text"] if copy else f"{text['text']} again {run} {WORDS[run]}"
                rows.append(
                    {
                        "text_id": text["text_id"],
                        "run": run,
                        "paraphrase": "" if bad else paraphrase,
                        "status": "empty" if bad else "ok",
                        "copy": copy,
                        "edit_distance": 0.3,
                    }
                )
                rated.append({"text_id": text["text_id"], "run": run, "score": 1 + place % 5})
        about = {"settings": {"engine": "openai", "model": "m",
                              "sampling": {"temperature": 0.8, "top_p": 0.9}},
                 "engine": {}, "prompts": [{"name": "p"}]}  # fmt: skip
        path = self.layout.paraphrases(generator, task)
        write_table(path, pa.Table.from_pylist(rows, PARAPHRASES), about)
        if self.judged:
            path = self.layout.judgements("reader", generator, task)
            write_table(path, pa.Table.from_pylist(rated, JUDGEMENTS), {})

    def _instances(self, model, task, generator):
        name = {"cosine_spearman": "cosine_similarity", "accuracy": "correct"}.get(
            self.tasks[task], self.tasks[task]
        )
        n, runs = self.n - 1, self.runs + 1  # the last one has a failed paraphrase
        values = self.rng.normal(0.6, 0.1, (n, runs)).round(3)
        values[0, 0], values[0, 1:] = 0.9, 0.1  # changes most
        table = pa.table(
            {
                "subset": [self.subset] * (n * runs),
                "split": ["test"] * (n * runs),
                "row": np.repeat(np.arange(n).astype(str), runs).tolist(),
                "variant": (["original"] + ["paraphrase"] * self.runs) * n,
                "run": pa.array([None, *range(1, runs)] * n, pa.int32()),
                "value_name": [name] * (n * runs),
                "value": values.ravel(),
                "gold": np.repeat(np.arange(n) % 6, runs).astype(float),
            }
        )
        write_table(
            self.layout.instances(model.replace("/", "__"), generator, task),
            table.cast(INSTANCES),
            {},
        )

    def _tables(self, warnings):
        where = [(model, generator, task) for generator in self.generators for task in self.tasks
                 for model in self.models]  # fmt: skip
        found = {name: [] for name in COLUMNS}
        for model, generator, task in where:
            key = {"model": model, "generator": generator, "task": task, "subset": self.subset}
            drop, place = self.drops[model], list(self.models).index(model)
            original = 0.8 - 0.01 * place
            row = {
                **key,
                "task_type": "STS",
                "metric": self.tasks[task],
                "original": original,
                "pteb_mean": original - drop,
                "pteb_std": 0.01,
                "delta": drop,
                "delta_ci_low": drop - 0.03,
                "delta_ci_high": drop + 0.03,
                "n_runs": self.runs,
                "n_instances": self.n - 1,
                "excluded_instances": 1,
                "failure_rate": 1 / (2 * self.n * self.runs),
                "copy_rate": 0.25 / self.runs,
                "judge_mean": 3.0 if self.judged else None,
            }
            found["summary"].append(row)
            verdict = "drops" if drop > 0.03 else "underpowered"
            p = 0.0004 if drop > 0.03 else 0.41
            found["effects"].append({**row, "verdict": verdict, "p_adjusted": p})
            found["scores"] += [
                {**key, "variant": "paraphrase", "run": run, "metric": "main_score",
                 "value": original - drop + 0.01 * (run - 3)}
                for run in range(1, self.runs + 1)
            ]  # fmt: skip
            found["runs"].append(
                {**key, "n_runs": self.runs, "confidence": 0.95, "width": 0.06,
                 "instance_variance": 2e-4, "run_variance": 1e-4, "run_share": 0.077}
            )  # fmt: skip
            found["drift"] += [
                {**row, "judge": "reader", "verdict": "not reliable", "min_judge": threshold}
                for threshold in (None, 3, 4)
            ]
        self._orders(found)
        for generator in self.generators:
            for task in self.tasks:
                found["paraphrase_quality"].append(
                    {"generator": generator, "task": task, "language": "eng-Latn",
                     "n_texts": 2 * self.n, "failure_rate": 0.01, "copy_rate": 0.04,
                     "duplicate_rate": 0, "edit_distance": 0.3, "word_overlap": 0.5,
                     "length_ratio": 1.2}
                )  # fmt: skip
        found["warnings"] = [
            {"kind": "test", "generator": "gen", "model": "m", "task": "t", "message": line}
            for line in warnings
        ]
        found["judge_validation"] = [
            {"judge": "reader", "task": "average", "n": 30, "spearman": 0.2,
             "verdict": "not reliable"}
        ]  # fmt: skip
        found["implicit"] = [
            {"source": source, "model": model, "total": 0.6, "utterance": 0.5 + 0.1 * place,
             "speaker": 0.7, "society": 0.6}
            for source, models in (("this run", self.models), ("published", ["Known"]))
            for place, model in enumerate(models)
        ]  # fmt: skip
        names = [*TABLES, *(judge_tables(1, validated=True) if self.judged else ())]
        names += [*SUITE_TABLES, *SUITE_DELTA_TABLES]
        for name in names:
            frame = pd.DataFrame(found[name], columns=COLUMNS[name])
            write_text(self.layout.table(name), frame.to_csv(index=False))

    def _orders(self, found):
        summaries = pd.DataFrame(found["summary"])
        for (generator, task), rows in summaries.groupby(["generator", "task"], sort=False):
            key = {"generator": generator, "task": task, "subset": self.subset}
            before = rows["original"].rank(ascending=False)
            after = rows["pteb_mean"].rank(ascending=False)
            for model, first, second in zip(rows["model"], before, after, strict=True):
                bounds = {
                    f"rank_{name}_{end}": rank + step
                    for name, rank in (("before", first), ("after", second))
                    for end, step in (("low", -0.5), ("high", 0.5))
                }
                found["ranking"].append(
                    {**key, "model": model, "rank_before": first, "rank_after": second, **bounds,
                     "tau": 0.5, "tau_low": 0.2, "tau_high": 0.8}
                )  # fmt: skip
            models = rows["model"].tolist()
            found["model_pairs"] += [
                {**key, "model": one, "other_model": other, "difference": 0.01, "p": 0.2,
                 "p_adjusted": 0.5,
                 "flip_probability": 0.97 if (one, other) == (models[0], models[-1]) else 0.4}
                for place, one in enumerate(models) for other in models[place + 1:]
            ]  # fmt: skip
        n_tasks = len(self.tasks)
        found["across_tasks"] = [
            {"generator": generator, "tasks": "all types", "model": model, "n_tasks": n_tasks,
             "average_rank_before": place + 1, "average_rank_after": len(self.models) - place,
             "critical_difference": 0.8, "friedman_p": 0.01}
            for generator in self.generators for place, model in enumerate(self.models)
        ]  # fmt: skip

    def settings(self):
        """Of the rule `report`."""
        settings = self.config.model_dump(mode="json") | {"runs": self.runs}
        settings["tasks"] = [
            {"implicit": task["name"]} if task["name"] in self.suite else task
            for task in settings["tasks"]
        ]
        return settings
