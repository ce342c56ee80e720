"""A finished run up to its scores, of seeded numbers, as the stages before would have left it."""

import numpy as np
import pyarrow as pa
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score

from pteb_eval.ids import text_id
from pteb_eval.layout import Layout
from pteb_eval.score.instances import INSTANCES, SIMILARITIES
from pteb_eval.score.stage import SCORES
from pteb_eval.score.surface import SURFACE
from pteb_eval.store import write_table

GENERATOR = "gen"
TASKS = {
    "sts": ("STS", "cosine_spearman", "cosine_similarity"),
    "sts2": ("STS", "cosine_spearman", "cosine_similarity"),
    "pairs": ("PairClassification", "max_ap", "cosine_similarity"),
    "classes": ("Classification", "accuracy", "correct"),
    "search": ("Retrieval", "ndcg_at_10", "ndcg_at_10"),
    "groups": ("Clustering", "v_measure", "v_measure"),
    "mining": ("BitextMining", "f1", "correct"),
}

# Four paraphrases of one text: a copy, two others, and a failure.
PARAPHRASES = [
    {
        "text_id": "a",
        "run": run,
        "paraphrase": text,
        "status": "ok" if text else "empty",
        "copy": run == 1,
        "finish_reason": "stop",
        "n_tokens": 2,
        "edit_distance": 0.5,
        "word_overlap": 0.5,
        "length_ratio": 1.0,
    }
    for run, text in enumerate(["same", "one", "two", ""], start=1)
]
MOVED = [{"text_id": row["text_id"], "run": row["run"]} for row in PARAPHRASES[:3]]


def settings(models, tasks, **statistics):
    return {
        "models": {name: name for name in models},
        "generators": [GENERATOR],
        "tasks": list(tasks),
        "seed": 1,
        "statistics": {
            "unit": "instance",
            "alternative": "two-sided",
            "wilcoxon": "each_run",
            "zero_method": "wilcox",
            "permutations": 200,
            "family": "task",
            "correction": "holm",
            "alpha": 0.05,
            "epsilon": None,
            "max_width": None,
            "interval": "percentile",
            "confidence": 0.95,
            "resamples": 200,
            **statistics,
        },
    }


def write_run(root, drops, tasks=("sts",), n=60, n_runs=6, noise=0.3, seed=0, subsets=("default",)):
    """Write all files that `test` and `rank` read.

    Args:
        root: the run's folder.
        drops: by model, how much signal rewording takes away: 0 none, 1 all.
    """
    layout = Layout(root)
    for number, task in enumerate(tasks):
        kind, metric, name = TASKS[task]
        about = {"task_type": kind, "main_metric": metric}
        texts = pa.table({"text_id": ["a"], "languages": [["eng-Latn"]]})
        write_table(layout.texts(task), texts, about)
        write_table(layout.paraphrases(GENERATOR, task), pa.Table.from_pylist(PARAPHRASES), {})
        for place, (model, drop) in enumerate(drops.items()):
            scores, instances = [], []
            for part, subset in enumerate(subsets):
                rng = np.random.default_rng([seed, number, part])
                size = 10 if kind == "Clustering" else n
                gold = rng.integers(0, 6, size) / 5
                rng = np.random.default_rng([seed, number, part, place])
                quality = 1 - 0.05 * place
                own = rng.normal(size=size)
                for run in range(n_runs + 1):
                    kept = quality * (1 - drop * (run > 0))
                    values = _values(name, gold, own, kept, noise, run, rng)
                    where = {
                        "subset": subset,
                        "split": "test",
                        "variant": "paraphrase" if run else "original",
                        "run": run or None,
                    }
                    row_gold = (gold > 0.5).astype(float) if kind == "PairClassification" else gold
                    score = _score(metric, row_gold, values)
                    scores.append(
                        {**where, "metric": "main_score", "value": score, "n_instances": size}
                    )
                    names = [name]
                    if kind == "PairClassification":
                        names += [other for other, _ in SIMILARITIES.values()]
                    instances += [
                        {
                            **where,
                            "row": str(row),
                            "value_name": value_name,
                            "value": float(value),
                            "gold": float(row_gold[row]) if "similarity" in name else None,
                        }
                        for value_name in names
                        for row, value in enumerate(values)
                    ]
            alone = [
                {**row, "variant": "original_all"} for row in scores if row["variant"] == "original"
            ]
            for generator, rows in (("original", alone), (GENERATOR, scores)):
                table = pa.Table.from_pylist(rows, SCORES)
                write_table(
                    layout.scores(model, generator, task), table, {"excluded_instances": {}}
                )
            for generator in ("original", GENERATOR):
                vectors = pa.table({"prompt_id": [text_id("")], "truncated": [False]})
                write_table(
                    layout.embeddings(model, generator, task), vectors, {"prompts": {"": ""}}
                )
            surface = [{**row, "prompt_type": "", "cosine": 0.9, "rank": 1.0} for row in MOVED]
            write_table(
                layout.surface(model, GENERATOR, task), pa.Table.from_pylist(surface, SURFACE), {}
            )
            write_table(
                layout.instances(model, GENERATOR, task),
                pa.Table.from_pylist(instances, INSTANCES),
                {},
            )


def _values(name, gold, own, kept, noise, run, rng):
    """Values of a variant; without noise between them, all variants of one quality are equal."""
    drawn = own + noise * rng.normal(size=len(gold)) if noise else own
    signal = kept * (gold - gold.mean()) * 3 + 0.7 * drawn
    if name == "correct":
        return (drawn < 2 * kept - 0.8).astype(float)
    if name == "cosine_similarity":
        return signal / 10
    return 1 / (1 + np.exp(-(drawn + 2 * kept - 1)))


def _score(metric, gold, values):
    if metric == "cosine_spearman":
        return spearmanr(gold, values).statistic
    if metric == "max_ap":
        return average_precision_score(gold, values)
    return 0.123 if metric == "f1" else values.mean()
