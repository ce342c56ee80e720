"""Loading tasks of mteb: what is refused and why, and how the settings are applied."""

import datasets
import mteb
import pytest
from datasets import Dataset
from mteb import mocks
from sample_tasks import SAMPLES, bitext, instruction_reranking, retrieval, sts

from pteb_eval.errors import UserError
from pteb_eval.tasks.load import load_task, structure_for, task_metadata
from pteb_eval.tasks.scope import in_scope, roles_in_scope, scope_filter
from pteb_eval.tasks.structure import Slot


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mteb": "STSBenchmarc"}, "unknown mteb task 'STSBenchmarc': did you mean 'STSBenchmark'"),
        ({"mteb": "qqqqqqqq"}, "unknown mteb task 'qqqqqqqq'"),
        ({"mteb": "STS17", "subsets": ["en-xx"]}, "STS17: no subset 'en-xx'; it has ar-ar, en-ar"),
        ({"mteb": "STS17", "splits": ["dev"]}, "STS17: no split 'dev'; it has test"),
        ({"mteb": "CIFAR10"}, "CIFAR10 needs image: only text can be reworded"),
        ({"mteb": "CQADupstackRetrieval"}, "is a mean over other tasks: name those instead"),
        ({"mteb": "StakeholderGrounding"}, "scores in a way of its own"),
    ],
)
def test_refusals_say_why(settings, message):
    with pytest.raises(UserError) as caught:
        load_task(settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_settings_choose_revision_subsets_and_splits(monkeypatch):
    seen = {}

    def load_data(self, **kwargs):
        seen.update(self.metadata.dataset)
        rows = Dataset.from_dict({"sentence1": ["oak"], "sentence2": ["elm"], "score": [1.0]})
        self.dataset = {subset: {"test": rows} for subset in self.hf_subsets}
        self.data_loaded = True

    cls = type(mteb.get_task("STS17"))
    monkeypatch.setattr(cls, "load_data", load_data)
    own = mteb.get_task("STS17").metadata.revision

    task = load_task({"mteb": "STS17", "revision": "f" * 40, "subsets": ["en-en", "es-es"]})

    assert seen["revision"] == "f" * 40
    assert mteb.get_task("STS17").metadata.revision == own
    assert [(i.subset, i.split) for i in structure_for(task).instances(task)] == [
        ("en-en", "test"),
        ("es-es", "test"),
    ]
    assert task.notes == []
    assert load_task({"mteb": "STS17", "revision": None}).metadata.revision == own


def test_metadata_without_data():
    assert task_metadata("STS12").main_score == "cosine_spearman"
    with pytest.raises(UserError, match="unknown mteb task 'STS 12': did you mean 'STS12'"):
        task_metadata("STS 12")


@pytest.mark.parametrize(
    "error",
    [
        datasets.exceptions.DatasetNotFoundError("no such set\nsecond line"),
        ConnectionError("no route to host"),
        ValueError("Couldn't find cache"),
    ],
)
def test_data_that_cannot_be_had(monkeypatch, error):
    def load_data(self, **kwargs):
        raise error

    monkeypatch.setattr(type(mteb.get_task("STS12")), "load_data", load_data)
    with pytest.raises(UserError) as caught:
        load_task({"mteb": "STS12"})
    assert str(caught.value).startswith("task STS12: no data (")
    assert "mteb/sts12-sts at revision a0d554a6" in str(caught.value)
    assert "run the fetch rules" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_table_that_followir_reads_while_scoring_is_fetched_too(monkeypatch):
    def load_data(self, **kwargs):
        self.dataset, self.data_loaded = retrieval().dataset, True

    fetched = []
    monkeypatch.setattr(type(mteb.get_task("Core17InstructionRetrieval")), "load_data", load_data)
    monkeypatch.setattr(datasets, "get_dataset_config_names", lambda *_: ["corpus", "qrel_diff"])
    monkeypatch.setattr(datasets, "load_dataset", lambda *given, **_: fetched.append(given[1]))
    load_task({"mteb": "Core17InstructionRetrieval"})
    assert fetched == ["qrel_diff"]


def test_every_text_task_type_of_mteb_has_a_structure():
    """One task of each class of evaluation; the registry's types are those that we know."""
    seen = {}
    for cls in mteb.get_tasks.__globals__["TASK_LIST"]:
        if cls.metadata.modalities == ["text"] and cls.metadata.name != "StakeholderGrounding":
            base = next(b for b in cls.__mro__ if b.__module__.startswith("mteb.abstasks"))
            seen.setdefault((cls.metadata.type, base.__name__), cls)
    seen = {kind: cls for kind, cls in seen.items() if kind[1] != "AbsTaskAggregate"}
    assert len(seen) > 12
    for cls in seen.values():
        structure = structure_for(cls())
        assert structure.roles


@pytest.mark.parametrize("cls", [mocks.MockImageClassificationTask, mocks.MockVisualSTSTask])
def test_mixed_modalities_are_refused(cls):
    with pytest.raises(UserError, match="only text can be reworded"):
        structure_for(cls())


def test_bitext_lists_in_step_are_rows_and_others_are_refused():
    task = bitext()
    rows = {"sentence1": ["oak", "elm"], "sentence2": ["Eiche", "Ulme"], "gold": [(0, 0), (1, 1)]}
    task.dataset = {"a": {"test": rows}, "b": {"test": rows}}
    structure = structure_for(task)
    assert len(structure.instances(task)) == 4
    upper = structure.replaced(task, lambda slot, text: text.upper())
    assert upper.dataset["a"]["test"]["sentence2"][:] == ["EICHE", "ULME"]

    task.dataset["a"]["test"] = {**rows, "sentence2": ["Eiche", "Ulme", "Tanne"]}
    with pytest.raises(UserError, match="lists of different lengths"):
        list(structure.slots(task))


def test_first_layout_of_retrieval_is_converted_in_the_copy_only():
    task, data = retrieval(), retrieval().dataset["default"]["test"]
    del task.dataset
    task.queries = {"test": dict(zip(data["queries"]["id"], data["queries"]["text"], strict=True))}
    task.corpus = {"test": {row["id"]: row for row in data["corpus"].to_list()}}
    task.relevant_docs = {"test": data["relevant_docs"]}
    task.dataset = None
    structure, modern = structure_for(task), retrieval()
    assert list(structure.slots(task)) == list(structure.slots(modern))
    assert structure.instances(task) == structure.instances(modern)
    assert list(structure.slots(structure.replaced(task, lambda slot, text: text))) == list(
        structure.slots(modern)
    )
    assert task.dataset is None


@pytest.mark.parametrize("make", SAMPLES, ids=lambda make: make.__name__)
def test_scope_presets(make):
    task = make()
    roles = frozenset(structure_for(task).roles)
    assert roles_in_scope(task, "all") == roles
    expected = {"query"} if make is retrieval else roles
    assert roles_in_scope(task, "pteb") == expected
    assert roles_in_scope(task, "eval_only") == expected


def test_reranking_rewords_documents_too():
    assert roles_in_scope(instruction_reranking(), "pteb") == {"query", "document"}


def test_eval_only_leaves_the_train_split_alone():
    task = next(make for make in SAMPLES if make.__name__ == "classification")()
    train, test = Slot("a", "train", "text", "0"), Slot("a", "test", "text", "0")
    assert in_scope(train, task, "pteb")
    assert not in_scope(train, task, "eval_only")
    assert in_scope(test, task, "eval_only")


def test_scope_as_a_list_of_roles():
    task = sts()
    chosen = scope_filter(task, ["sentence2"])
    assert [role for role in ("sentence1", "sentence2") if chosen(Slot("", "", role, "0"))] == [
        "sentence2"
    ]


@pytest.mark.parametrize(
    ("scope", "message"),
    [
        ("ptep", "scope 'ptep' is unknown: did you mean 'pteb'?"),
        ([], "scope is an empty list"),
        (["text"], "sample-sts has no role 'text': it has sentence1, sentence2"),
    ],
)
def test_mistaken_scopes(scope, message):
    with pytest.raises(UserError, match=message.replace("?", r"\?")):
        roles_in_scope(sts(), scope)
