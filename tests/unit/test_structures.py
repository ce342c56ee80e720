"""Every structure against mteb itself: what is encoded, what is scored, what is left out."""

import random
from collections import Counter

import datasets
import mteb
import pytest
from encoders import HashingEncoder
from hypothesis import given, settings
from hypothesis import strategies as st
from mteb import mocks
from sample_tasks import SAMPLES, multilabel_train_is_test, retrieval, sts

from pteb_eval.tasks.load import structure_for
from pteb_eval.tasks.sampling import pinned
from pteb_eval.tasks.structure import Instance, Slot

datasets.disable_progress_bars()


def _mock(cls):
    def make():
        task = cls()
        task.load_data()
        return task

    make.__name__ = cls.__name__
    return make


MOCKS = [_mock(cls) for cls in dict.fromkeys(map(type, mocks.MOCK_TASK_TEST_GRID))]
samples = pytest.mark.parametrize("make", SAMPLES, ids=lambda make: make.__name__)
mock_tasks = pytest.mark.parametrize("make", MOCKS, ids=lambda make: make.__name__)
all_tasks = pytest.mark.parametrize("make", SAMPLES + MOCKS, ids=lambda make: make.__name__)


def sample(name):
    return next(make for make in SAMPLES if make.__name__ == name)()


def same(slot, text):
    return text


def scores(task, encoder=None):
    """All numbers that mteb gives, by split and subset."""
    result = mteb.evaluate(
        encoder or HashingEncoder(), task, cache=None, co2_tracker=False, show_progress_bar=False
    )
    return {
        (split, subset["hf_subset"]): {
            name: value
            for name, value in subset.items()
            if name not in ("hf_subset", "languages") and value == value  # noqa: PLR0124  not NaN
        }
        for split, subsets in result.task_results[0].scores.items()
        for subset in subsets
    }


def inputs_of(structure, task):
    return Counter((i.text, i.prompt_type, i.subset, i.split) for i in structure.inputs(task))


@mock_tasks
def test_same_texts_give_same_scores_and_inputs_are_what_is_encoded(make):
    task, encoder = make(), HashingEncoder()
    structure = structure_for(task)
    assert scores(structure.replaced(task, same)) == scores(make(), encoder)
    assert inputs_of(structure, task) == Counter(encoder.calls)


@samples
def test_replaced_task_is_the_task_changed_by_hand(make):
    def change(text):
        return f"{text[::-1]} indeed"

    task, encoder = make(), HashingEncoder()
    structure = structure_for(task)
    replaced = structure.replaced(task, lambda slot, text: change(text))
    assert scores(replaced) == scores(make(change), encoder)
    assert inputs_of(structure, replaced) == Counter(encoder.calls)


@all_tasks
def test_slots_round_trip(make):
    task = make()
    structure = structure_for(task)
    before = list(structure.slots(task))
    assert len({slot for slot, _ in before}) == len(before)
    assert {slot.role for slot, _ in before} == set(structure.roles)

    new = {slot: f"{text} no. {number}" for number, (slot, text) in enumerate(before)}
    replaced = structure.replaced(task, lambda slot, text: new[slot])

    assert dict(structure.slots(replaced)) == new
    assert list(structure.slots(task)) == before
    assert structure.instances(replaced) == structure.instances(task)


@all_tasks
def test_every_text_of_a_slot_is_read_by_the_model(make):
    """A paraphrase that no score depends on would be paid for nothing."""
    task = make()
    structure = structure_for(task)
    read = "\n".join(i.text for i in structure.inputs(task))
    assert all(text.strip() in read for _, text in structure.slots(task))


@samples
def test_exclusion_is_exact_and_equal_on_both_sides(make):
    task = make()
    structure = structure_for(task)
    instances = structure.instances(task)
    gone = set(instances[::4])

    left = structure.without(task, gone)

    if make.__name__ == "parallel_bitext":  # the pairs of languages share their rows
        gone = {i for i in instances if i.row in {g.row for g in gone}}
    assert structure.instances(left) == [i for i in instances if i not in gone]
    texts = dict(structure.slots(task))
    assert dict(structure.slots(left)).items() <= texts.items()
    assert list(structure.slots(task)) == list(texts.items())
    other_order = structure.without(structure.replaced(task, same), gone)
    assert scores(structure.replaced(left, same)) == scores(other_order)


@samples
def test_a_failed_text_is_gone_with_its_instances(make):
    task = make()
    structure = structure_for(task)
    slots = [slot for slot, _ in structure.slots(task)]
    instances = structure.instances(task)
    for slot in random.Random(0).sample(slots, 4):
        hit = structure.instance_of(task, slot)
        left = structure.without(task, set(hit))
        assert slot not in dict(structure.slots(left))
        assert structure.instances(left) == [i for i in instances if i not in hit]
        assert all((i in instances) == (i.part == "") for i in hit)


@samples
def test_leaving_out_twice_is_leaving_out_once(make):
    task = make()
    structure = structure_for(task)
    slots = [slot for slot, _ in structure.slots(task)]
    first, second = (set(structure.instance_of(task, slots[place])) for place in (0, -1))

    in_turn = structure.without(structure.without(task, first), second)

    at_once = structure.without(task, first | second)
    assert list(structure.slots(in_turn)) == list(structure.slots(at_once))
    assert structure.instances(in_turn) == structure.instances(at_once)


@pytest.mark.parametrize("name", ["classification", "multilabel", "clustering"])
def test_evaluation_leaves_no_trace(name):
    task = pinned(sample(name))
    copy = structure_for(task).replaced(task, same)
    first = scores(copy)
    assert scores(copy) == first
    assert scores(structure_for(task).replaced(task, same)) == first


def test_failed_train_row_is_no_lost_instance():
    task = sample("classification")
    structure = structure_for(task)
    slot = next(slot for slot, _ in structure.slots(task) if slot.split == "train")
    assert structure.instance_of(task, slot) == (Instance(slot.subset, "train", slot.row, "train"),)


def test_multilabel_cut_of_its_own_train_split():
    def change(text):
        return text[::-1]

    task = multilabel_train_is_test()
    structure = structure_for(task)
    replaced = structure.replaced(task, lambda slot, text: change(text))
    assert scores(replaced) == scores(multilabel_train_is_test(change))
    assert (
        10 < sum(i.subset == "a" for i in structure.instances(task)) < 40
    )  # about max_eval_samples
    assert task.train_split == replaced.train_split == "test"


def test_only_a_sample_of_the_train_split_has_slots():
    task = sample("classification")
    train = [
        s for s, _ in structure_for(task).slots(task) if s.split == "train" and s.subset == "a"
    ]
    # Two experiments of three rows for each of three labels, of 150 rows.
    assert 9 <= len(train) <= 18


def test_failed_document_takes_along_the_queries_it_answers():
    task = retrieval()
    structure = structure_for(task)
    judged = task.dataset["default"]["test"]["relevant_docs"]
    for slot, _ in structure.slots(task):
        if slot.role == "document":
            queries = {q for q, documents in judged.items() if documents.get(slot.row, 0) > 0}
            document, *lost = structure.instance_of(task, slot)
            assert document == Instance("default", "test", slot.row, "document")
            assert {instance.row for instance in lost} == queries
            left = structure.without(task, {document, *lost}).dataset["default"]["test"]
            assert slot.row not in left["corpus"]["id"]
            assert all(slot.row not in documents for documents in left["relevant_docs"].values())


@pytest.mark.parametrize(
    ("metric", "queries", "together"),
    [
        ("p-MRR", ["7-og", "7-changed", "8-og"], {"7-og", "7-changed"}),
        ("paired_accuracy", ["7_q1", "7_q2", "77_q1"], {"7_q1", "7_q2"}),
        ("robustness_at_10", ["7_a", "7_b", "8_a"], {"7_a", "7_b"}),
        ("max_over_subqueries_map_at_1000", ["x_7_0", "x_7_1", "x_8_0"], {"x_7_0", "x_7_1"}),
        ("ndcg_at_10", ["7_q1", "7_q2", "8-og"], {"7_q1"}),
    ],
)
def test_queries_that_a_metric_joins_are_left_out_together(metric, queries, together):
    task = retrieval()
    task.metadata = task.metadata.model_copy(update={"main_score": metric})
    data = task.dataset["default"]["test"]
    data["queries"] = datasets.Dataset.from_dict({"id": queries, "text": ["oak", "elm", "fir"]})
    data["relevant_docs"] = {query: {"d1": 1} for query in queries}
    hit = structure_for(task).instance_of(task, Slot("default", "test", "query", queries[0]))
    assert {instance.row for instance in hit} == together


def test_equal_texts_in_different_roles_stay_apart():
    task = retrieval()
    data = task.dataset["default"]["test"]
    shared = data["corpus"][0]["text"]  # has no title
    data["queries"] = datasets.Dataset.from_dict({"id": ["q0"], "text": [shared]})
    structure = structure_for(task)

    kinds = {i.prompt_type for i in structure.inputs(task) if i.text == shared}
    assert kinds == {"query", "document"}
    reworded = structure.replaced(task, lambda slot, _: f"new {slot.role}")
    assert {i.prompt_type: i.text for i in structure.inputs(reworded) if i.text[:3] == "new"} == {
        "query": "new query",
        "document": "new document",
    }


def test_titles_and_instructions_are_kept():
    task = sample("instruction_reranking")
    structure = structure_for(task)
    new = structure.replaced(task, lambda slot, text: "X")
    texts = [i.text for i in structure.inputs(new)]
    # The last query has no judgements; every third document has no title.
    assert texts[:7] == [f"X Only number {row}" for row in range(7)]
    assert texts[7:10] == ["X", "Title 1 X", "Title 2 X"]


def test_blank_texts_are_kept_and_are_no_slots():
    task = sts()
    task.dataset["test"] = datasets.Dataset.from_dict(
        {"sentence1": ["oak", " "], "sentence2": ["", "elm"], "score": [1.0, 2.0]}
    )
    structure = structure_for(task)
    assert [text for _, text in structure.slots(task)] == ["oak", "elm"]
    reworded = structure.replaced(task, lambda slot, text: text.upper())
    assert reworded.dataset["test"]["sentence2"][:] == ["", "ELM"]
    assert len(structure.instances(task)) == 2


@settings(max_examples=15, deadline=None)
@given(order=st.permutations(range(20)), seed=st.integers(0, 99))
def test_permutation_of_rows_moves_nothing_but_rows(order, seed):
    def change(slot, text):
        return f"{text} {seed}"

    straight, shuffled = sts(), sts(order=order)
    structure = structure_for(straight)
    one = structure.replaced(straight, change).dataset["test"].to_list()
    other = structure.replaced(shuffled, change).dataset["test"].to_list()
    assert other == [one[row] for row in order]


@settings(max_examples=15, deadline=None)
@given(gone=st.sets(st.integers(0, 19), max_size=17))
def test_leaving_out_rows_keeps_the_others_and_their_ids(gone):
    task = sts()
    structure = structure_for(task)
    left = structure.without(task, {Instance("default", "test", str(row)) for row in gone})
    kept = [row for row in range(20) if row not in gone]
    assert [instance.row for instance in structure.instances(left)] == [str(row) for row in kept]
    rows = task.dataset["test"].to_list()
    assert left.dataset["test"].to_list() == [rows[row] for row in kept]
