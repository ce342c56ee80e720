"""Values of single instances, from the predictions that mteb leaves when it scores a task.

`task.evaluate(..., prediction_folder=folder)` writes `{task}_predictions.json`; nothing is encoded
or scored again here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pteb_eval.tasks.load import structure_for
from pteb_eval.tasks.structure import Instance, Task


class InstanceValue(NamedTuple):
    """One instance's value.

    Attributes:
        instance: which.
        metric: `cosine_similarity` in [-1, 1] (STS, pair classification); `correct` in [0, 1], the
            share of mteb's experiments (classification), whether all labels are right (multilabel),
            0 or 1 (zero-shot, bitext mining), or a part of 1 where options tie; `ndcg_at_10` and
            `average_precision` in [0, 1] (retrieval, reranking); `reciprocal_rank` in (0, 1]
            (texts); `spearman` in [-1, 1] within one text (summarization).
        value: the value.
        gold: gold score, or label 0 or 1, that a similarity is compared with; else None.
    """

    instance: Instance
    metric: str
    value: float
    gold: float | None = None


def why_no_instance_values(task: Task) -> str | None:
    """Why a task has no values of single instances; None if it has them."""
    from mteb import abstasks

    if isinstance(task, abstasks.AbsTaskClustering | abstasks.AbsTaskClusteringLegacy):
        return "V-measure compares whole clusterings, no item has a value of its own"
    if isinstance(task, abstasks.AbsTaskRegression):
        return "Kendall's tau ranks all rows together, no row has a value of its own"
    return None


def instance_values(task: Task, predictions: Mapping[str, Any]) -> Iterator[InstanceValue]:
    """The values of all instances.

    Args:
        task: the very copy that was scored: its texts, and the instances left in it.
        predictions: what mteb wrote for it, keyed by subset and split. Splits that it does not hold
            are passed over, since mteb is asked for one at a time.

    Yields:
        Values in the data set's order of instances. Their mean is mteb's score for `correct`
        (accuracy), `ndcg_at_10`, `average_precision` (`map_at_1000`) and `spearman` (but not for
        SummEval's first version, where mteb averages correlations with their p-values). Texts that
        mteb skips in summarization have no value.
    """
    from mteb import abstasks

    if why_no_instance_values(task):
        return
    by_part: dict[tuple[str, str], list[Instance]] = {}
    for instance in structure_for(task).instances(task):
        by_part.setdefault((instance.subset, instance.split), []).append(instance)
    from pteb_eval.implicit.tasks import AbsTaskOptions, AbsTaskThresholdPairs
    from pteb_eval.tasks.texts import AbsTaskTexts

    for base, read in (
        (AbsTaskTexts, _texts),
        (AbsTaskOptions, _options),
        (AbsTaskThresholdPairs, _thresholds),
        (abstasks.AbsTaskRetrieval, _retrieval),
        (abstasks.AbsTaskSTS, _similarities),
        (abstasks.AbsTaskPairClassification, _similarities),
        (abstasks.AbsTaskClassification, _classification),
        (abstasks.AbsTaskZeroShotClassification, _zero_shot),
        (abstasks.AbsTaskBitextMining, _bitext),
        (abstasks.AbsTaskSummarization, _summarization),
    ):
        if isinstance(task, base):
            for (subset, split), instances in by_part.items():
                if split in predictions.get(subset, predictions.get("parallel", ())):
                    yield from read(task, predictions, subset, split, instances)
            return


def _column(task: Task, subset: str, split: str, name: str) -> list[Any]:
    return list(structure_for(task).data(task, subset, split)[name][:])  # type: ignore[attr-defined]


def _similarities(
    task: Task, predictions: Any, subset: str, split: str, instances: Sequence[Instance]
) -> Iterator[InstanceValue]:
    gold = _column(task, subset, split, getattr(task, "label_column_name", "score"))
    values = predictions[subset][split]["cosine_scores"]
    for instance, value, score in zip(instances, values, gold, strict=True):
        yield InstanceValue(instance, "cosine_similarity", float(value), float(score))


def _classification(
    task: Task, predictions: Any, subset: str, split: str, instances: Sequence[Instance]
) -> Iterator[InstanceValue]:
    from mteb.abstasks import AbsTaskMultilabelClassification

    experiments = predictions[subset][split]
    labels = _column(task, subset, split, task.label_column_name)
    if isinstance(task, AbsTaskMultilabelClassification):
        labels = _indicators(task, labels, subset, split)
    if getattr(task, "is_cross_validation", False):
        experiments = [_joined_folds(task, experiments, len(labels))]
    for row, (instance, label) in enumerate(zip(instances, labels, strict=True)):
        right = [experiment[row] == label for experiment in experiments]
        yield InstanceValue(instance, "correct", float(np.mean(right)))


def _indicators(task: Task, labels: list[Any], subset: str, split: str) -> list[list[int]]:
    """Labels of the scored rows as zeros and ones, as mteb compares them."""
    from sklearn.preprocessing import MultiLabelBinarizer

    scored = [labels[row] for row in task.sampled_rows(subset, split, len(labels))]
    indicators: list[list[int]] = MultiLabelBinarizer().fit_transform(scored).tolist()
    return indicators


def _joined_folds(task: Task, folds: Sequence[Sequence[Any]], n_rows: int) -> list[Any]:
    """The predictions of all folds in the order of the rows."""
    from sklearn.model_selection import KFold

    joined: list[Any] = [None] * n_rows
    splitter = KFold(n_splits=task.n_splits, shuffle=True, random_state=task.seed)
    for (_, rows), predicted in zip(splitter.split(range(n_rows)), folds, strict=True):
        for row, label in zip(rows, predicted, strict=True):
            joined[row] = label
    return joined


def _zero_shot(
    task: Task, predictions: Any, subset: str, split: str, instances: Sequence[Instance]
) -> Iterator[InstanceValue]:
    labels = _column(task, subset, split, task.label_column_name)
    gold = task._normalize_labels(labels, task.get_candidate_labels())
    chosen = np.argmax(predictions[subset][split], axis=1)
    for instance, own, label in zip(instances, chosen, gold, strict=True):
        yield InstanceValue(instance, "correct", float(own == label))


def _options(
    task: Task, predictions: Any, subset: str, split: str, instances: Sequence[Instance]
) -> Iterator[InstanceValue]:
    for instance, credit in zip(instances, predictions[subset][split]["credit"], strict=True):
        yield InstanceValue(instance, "correct", credit)


def _thresholds(
    task: Task, predictions: Any, subset: str, split: str, instances: Sequence[Instance]
) -> Iterator[InstanceValue]:
    """Similarities, and whether each is on the right side of the threshold in the headline."""
    from pteb_eval.implicit.thresholds import right_side

    found = list(_similarities(task, predictions, subset, split, instances))
    yield from found
    right = right_side(
        [one.value for one in found], [one.gold == 1 for one in found], task.dev_threshold
    )
    for one, value in zip(found, right, strict=True):
        yield InstanceValue(one.instance, "correct", value)


def _bitext(
    task: Task, predictions: Any, subset: str, split: str, instances: Sequence[Instance]
) -> Iterator[InstanceValue]:
    parallel = task.parallel_subsets
    found = predictions["parallel" if parallel else subset][split]
    neighbors = found[subset if parallel else "-".join(task._DEFAULT_PAIR[0])]
    for row, (instance, neighbor) in enumerate(zip(instances, neighbors, strict=True)):
        yield InstanceValue(instance, "correct", float(neighbor["corpus_id"] == row))


def _retrieval(
    task: Task, predictions: Any, subset: str, split: str, instances: Sequence[Instance]
) -> Iterator[InstanceValue]:
    from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores

    run = predictions[subset][split]
    if task.ignore_identical_ids:
        run = {q: {d: score for d, score in found.items() if d != q} for q, found in run.items()}
    judgements = task.dataset[subset][split]["relevant_docs"]
    scores = calculate_retrieval_scores(run, judgements, [10, 1000], task.skip_first_result)
    for instance in instances:
        own = scores.all_scores[instance.row]
        yield InstanceValue(instance, "ndcg_at_10", own["ndcg_cut_10"])
        yield InstanceValue(instance, "average_precision", own["map_cut_1000"])


def _texts(
    task: Task, predictions: Any, subset: str, split: str, instances: Sequence[Instance]
) -> Iterator[InstanceValue]:
    ranks = predictions[subset][split]["reciprocal_rank"]
    for instance, value in zip(instances, ranks, strict=True):
        yield InstanceValue(instance, "reciprocal_rank", value)


def _summarization(
    task: Task, predictions: Any, subset: str, split: str, instances: Sequence[Instance]
) -> Iterator[InstanceValue]:
    """Texts with all equal scores, given or predicted, are skipped; the others are in order."""
    from scipy.stats import spearmanr

    span = task.max_score - task.min_score
    ratings = _column(task, subset, split, task.relevancy_column_name)
    found = predictions[subset][split]
    scored = zip(found["human_scores"], found["cosine_scores"], strict=True)
    human, cosine = next(scored, (None, None))
    for instance, rating in zip(instances, ratings, strict=True):
        if ((np.array(rating) - task.min_score) / span).tolist() == human:
            yield InstanceValue(instance, "spearman", float(spearmanr(human, cosine).statistic))
            human, cosine = next(scored, (None, None))
