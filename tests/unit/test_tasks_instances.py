"""Values of single instances: their mean is mteb's score."""

import json

import datasets
import numpy as np
import pytest
from encoders import HashingEncoder
from sample_tasks import SAMPLES

from pteb_eval.tasks.instances import instance_values, why_no_instance_values
from pteb_eval.tasks.load import structure_for

datasets.disable_progress_bars()
KINDS = {make.__name__: make for make in SAMPLES}


def evaluated(task, folder):
    """A copy without two instances, mteb's scores of it, and its instances' values."""
    structure = structure_for(task)
    copy = structure.without(task, set(structure.instances(task)[1:3]))
    encoder = HashingEncoder()
    options = {"encode_kwargs": {"batch_size": 8, "show_progress_bar": False}}
    scores = copy.evaluate(encoder, split="test", prediction_folder=folder, **options)
    predictions = json.loads((folder / copy.prediction_file_name).read_text())
    return copy, scores, list(instance_values(copy, predictions))


@pytest.mark.parametrize(
    ("kind", "metric", "mteb_metric"),
    [
        ("classification", "correct", "accuracy"),
        ("cross_validation", "correct", "accuracy"),
        ("multilabel", "correct", "accuracy"),
        ("zero_shot", "correct", "accuracy"),
        ("bitext", "correct", "accuracy"),
        ("parallel_bitext", "correct", "accuracy"),
        ("retrieval", "ndcg_at_10", "ndcg_at_10"),
        ("instruction_reranking", "average_precision", "map_at_1000"),
        ("summarization", "spearman", "cosine_spearman"),
    ],
)
def test_mean_over_instances_is_the_score(kind, metric, mteb_metric, tmp_path):
    task, scores, values = evaluated(KINDS[kind](), tmp_path)
    for subset, numbers in scores.items():
        mine = [v for v in values if v.instance.subset == subset and v.metric == metric]
        assert np.mean([v.value for v in mine]) == pytest.approx(numbers[mteb_metric], abs=1e-5)
        if kind != "summarization":  # mteb skips a text without differences in score
            assert [v.instance for v in mine] == [
                i for i in structure_for(task).instances(task) if i.subset == subset
            ]


@pytest.mark.parametrize("kind", ["sts", "pairs", "pairs_in_one_row"])
def test_similarities_are_those_of_the_pairs(kind, tmp_path):
    task, _, values = evaluated(KINDS[kind](), tmp_path)
    structure = structure_for(task)
    data = structure.data(task, "default", "test")
    gold = data["score" if kind == "sts" else "labels"]
    assert [v.instance for v in values] == structure.instances(task)
    for value, first, second, score in zip(
        values, data["sentence1"], data["sentence2"], gold, strict=True
    ):
        cosine = HashingEncoder.vector(first, None) @ HashingEncoder.vector(second, None)
        assert value.value == pytest.approx(cosine, abs=1e-6)
        assert value.gold == score


def test_summaries_skipped_by_mteb_do_not_shift_the_others(tmp_path):
    task = KINDS["summarization"]()
    rows = task.dataset["test"].to_list()
    rows[2]["relevance"] = [3.0] * 4
    rows[4]["machine_summaries"] = rows[4]["machine_summaries"][:1] * 4
    task.dataset["test"] = datasets.Dataset.from_list(rows)
    structure = structure_for(task)
    _, _, values = evaluated(structure.replaced(task, lambda slot, text: text), tmp_path)
    # Rows 1 and 2 are left out by the test, row 4 is skipped by mteb.
    assert [v.instance.row for v in values] == ["0", "3", "5"]


def test_identical_ids_are_ignored_as_mteb_does(tmp_path):
    task = KINDS["retrieval"]()
    task.ignore_identical_ids = True
    data = task.dataset["default"]["test"]
    ids = data["queries"]["id"]
    names = [*ids, *data["corpus"]["id"][len(ids) :]]
    texts = [*data["queries"]["text"], *data["corpus"]["text"][len(ids) :]]
    data["corpus"] = datasets.Dataset.from_dict({"id": names, "text": texts})
    data["relevant_docs"] = {query: {names[-1 - row]: 1} for row, query in enumerate(ids)}
    _, scores, values = evaluated(task, tmp_path)
    mean = np.mean([v.value for v in values if v.metric == "ndcg_at_10"])
    assert mean == pytest.approx(scores["default"]["ndcg_at_10"], abs=1e-5)


def test_splits_that_were_not_scored_have_no_values():
    assert list(instance_values(KINDS["sts"](), {"default": {"dev": {}}})) == []


@pytest.mark.parametrize("kind", ["clustering", "cluster_sets"])
def test_clustering_says_why_it_has_none(kind, tmp_path):
    task, _, values = evaluated(KINDS[kind](), tmp_path)
    assert values == []
    assert "clustering" in why_no_instance_values(task)
    assert why_no_instance_values(KINDS["sts"]()) is None
