"""Scores beside the default on instances whose texts kept their meaning, as a judge sees it."""

import copy
import csv
from collections import Counter
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

import pyarrow as pa

from pteb_eval.errors import UserError
from pteb_eval.judge.verdict import RELIABLE
from pteb_eval.progress import say
from pteb_eval.provenance import stamp
from pteb_eval.score.instances import INSTANCES
from pteb_eval.score.serving import ServingEncoder
from pteb_eval.score.stage import SCORES, Evaluation
from pteb_eval.store import read_table, write_table
from pteb_eval.tasks import Instance
from pteb_eval.variants import Variants, load_variants

MIN_JUDGE = pa.field("min_judge", pa.float64())
JUDGED_SCORES = pa.schema([MIN_JUDGE, *SCORES])
JUDGED_INSTANCES = pa.schema([MIN_JUDGE, *INSTANCES])
FEWEST = 2


def run(
    settings: dict[str, Any],
    code: str,
    texts: Path,
    paraphrases: Path,
    embeddings: list[Path],
    judged: Mapping[str, Path],
    outputs: Mapping[str, Path],
) -> None:
    """Score, for each threshold, the instances of which every text in every run was rated so high.

    The same instances are left out of the original and of every run; also those that have a text
    without a rating. A subset of which fewer than two instances are left gets no score, but a row
    with their number.

    Args:
        settings: `model`, `task`, `judge` (its name), `min_judge` (thresholds),
            `min_judge_spearman`.
        code: fingerprint of this module.
        texts: the task's texts file.
        paraphrases: the generator's paraphrases of these texts.
        embeddings: vectors of the texts and of the paraphrases.
        judged: paths of `instances` (what `judge.instances` wrote) and `validation`, the CSV table.
        outputs: paths of `scores` and `instances`, with the columns of those files and `min_judge`.

    Raises:
        UserError: if the judge is not reliable.
    """
    check_reliable(settings, judged["validation"])
    encoder = ServingEncoder(settings["model"], embeddings)
    variants = load_variants(settings["task"], texts, paraphrases)
    least = _least_ratings(judged["instances"])
    scores: list[dict[str, Any]] = []
    instances: list[dict[str, Any]] = []
    for threshold in settings["min_judge"]:
        low = {instance for instance, rating in least.items() if not (rating or 0) >= threshold}
        evaluation, counts = _evaluated(variants, encoder, variants.outside() | low)
        scored = {row["subset"] for row in evaluation.scores}
        rows = evaluation.scores + [_bare(*where, n) for where, n in counts.items()
                                    if where[0] not in scored]  # fmt: skip
        scores += [{**row, "min_judge": threshold} for row in rows]
        instances += [{**row, "min_judge": threshold} for row in evaluation.instances]
        say(
            f"score {settings['model']}, judged at least {threshold:g}: {sum(counts.values())} left"
        )
    provenance = stamp("score", settings, code, encoder=encoder.provenance["encoder"])
    table = pa.Table.from_pylist(instances, JUDGED_INSTANCES)
    write_table(outputs["instances"], table, provenance)
    write_table(outputs["scores"], pa.Table.from_pylist(scores, JUDGED_SCORES), provenance)


def check_reliable(settings: Mapping[str, Any], validation: Path) -> None:
    """Refuse to filter by a judge that does not agree with people.

    Args:
        settings: `judge` (its name), `min_judge_spearman`.
        validation: the table `judge_validation.csv`.

    Raises:
        UserError: if the judge is marked *not reliable* there.
    """
    with validation.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["judge"] == settings["judge"]]
    average = next((row for row in rows if row["task"] == "average"), None)
    if average is None or average["verdict"] != RELIABLE:
        rho = (average and average["spearman"]) or "nan"
        raise UserError(
            f"min_judge: judge {settings['judge']!r} is not reliable (Spearman with gold "
            f"{float(rho):.2f}, min_judge_spearman {settings['min_judge_spearman']:g}): take "
            "`min_judge` out of the configuration, or put a better judge first in `judges`"
        )


def _least_ratings(path: Path) -> dict[Instance, float | None]:
    names = [*Instance._fields, "judge_min"]
    columns = [read_table(path, columns=names)[name].to_pylist() for name in names]
    return {Instance(*key): rating for *key, rating in zip(*columns, strict=True)}


def _evaluated(
    variants: Variants, encoder: ServingEncoder, excluded: Set[Instance]
) -> tuple[Evaluation, dict[tuple[str, str], int]]:
    """Scores of all subsets with enough instances, and instances left by subset and split."""
    left: Counter[tuple[str, str]] = Counter()
    for one in variants.structure.instances(variants.task):
        left[one.subset, one.split] += one not in excluded
    too_few = {subset for (subset, _), count in left.items() if count < FEWEST}
    subsets = [subset for subset in variants.task.hf_subsets if subset not in too_few]
    evaluation = Evaluation(variants, encoder)
    if subsets:
        evaluation.add("original", None, _only(variants.original(excluded), subsets))
        for run in variants.runs:
            evaluation.add("paraphrase", run, _only(variants.run(run, excluded), subsets))
    return evaluation, dict(left)


def _only(task: Any, subsets: list[str]) -> Any:
    new = copy.copy(task)
    new.hf_subsets = subsets
    return new


def _bare(subset: str, split: str, n_instances: int) -> dict[str, Any]:
    return {
        "subset": subset,
        "split": split,
        "variant": "original",
        "metric": "main_score",
        "n_instances": n_instances,
    }
