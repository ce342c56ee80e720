"""Stage `judge`: what is asked, what is read from the answers, and what is kept."""

import math
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_tasks import pairs as pair_task
from sample_tasks import retrieval as retrieval_task
from sample_tasks import sts as sts_task

from pteb_eval.errors import UserError
from pteb_eval.fetch import SCHEMA as TEXTS
from pteb_eval.ids import text_id
from pteb_eval.judge import gold, instances, stage
from pteb_eval.judge.llm import LlmRater
from pteb_eval.judge.models import ModelRater
from pteb_eval.judge.ratings import CHOICES, Pair, read_rating
from pteb_eval.paraphrase.engines import Completion, load
from pteb_eval.paraphrase.stage import SCHEMA as PARAPHRASES
from pteb_eval.store import provenance_of, read_table, write_table
from pteb_eval.tasks.load import structure_for
from pteb_eval.variants import Variants

PROMPT = {"name": "p", "version": 1, "kind": "chat", "template": "{first} | {second}", "stop": []}
SETTINGS = {
    "judge": "j",
    "task": "t",
    "generator": "g",
    "max_failure_rate": 0.1,
    "engine": "openai",
    "model": "some-model",
    "revision": None,
    "prompt": PROMPT,
    "sampling": {"temperature": 0.5},
    "ratings": 1,
    "both_orders": True,
    "constrained": True,
    "attempts": 1,
    "answer_options": {},
    "seed": 42,
}
OPTIONS = {"base_url": "http://127.0.0.1:9/v1", "server": "vllm"}
ONE, OTHER = Pair("A cat.", "A feline."), Pair("A dog.", "Rain.")


class Scripted:
    """An engine that answers by a function of the request and remembers the requests."""

    def __init__(self, answer):
        self.answer, self.requests = answer, []

    def generate(self, requests):
        for request in requests:
            self.requests.append(request)
            text = self.answer(request)
            finish = "error" if text is None else "stop"
            yield Completion(request.key, text or "", finish, 3, 2, "" if text else "no such host")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass


@pytest.fixture
def engine(monkeypatch):
    """Installs an engine with the given answers."""

    def install(answer):
        made = Scripted(answer)
        monkeypatch.setattr(load, "load_engine", lambda settings, cache_dir: made)
        return made

    return install


def rate(folder, *pairs, **changes):
    with LlmRater({**SETTINGS, **changes}, OPTIONS, folder, "test") as judge:
        return judge.rate(pairs)


@pytest.mark.parametrize(
    ("answer", "rating"),
    [
        ("4", 4), (" 4.5\n", 4.5), ("3,5", 3.5), ("**5**", 5), ("Rating: 2", 2), ("4/5", 4),
        ("4 out of 5.", 4), ("I give it 3 of 5", 3), ("0", 0), ("2\n2", 2),
        ("", None), ("four", None), ("6", None), ("-1", None), ("3 or 4", None), ("10", None),
        ("v2", None), ("4.5.1", None), ("Sentence 1 is longer: 4", None),
    ],
)  # fmt: skip
def test_the_one_number_on_the_scale_is_read(answer, rating):
    assert read_rating(answer) == rating


@given(st.sampled_from(CHOICES), st.text(alphabet="abc :*\n\t", max_size=10))
def test_every_allowed_answer_is_read_whatever_words_are_before_it(choice, words):
    assert read_rating(f"{words} {choice}") == float(choice)


def test_both_orders_are_asked_and_averaged(tmp_path, engine):
    made = engine(lambda request: "5" if request.prompt.startswith("A cat.") else "2")
    rating = rate(tmp_path, ONE)[ONE]
    assert [request.prompt for request in made.requests] == [
        "A cat. | A feline.",
        "A feline. | A cat.",
    ]
    assert {request.choices for request in made.requests} == {CHOICES}
    assert (rating.score, rating.status, rating.ratings) == (3.5, "ok", (5, 2))
    assert (rating.raw, rating.n_tokens) == (("5", "2"), 4)


def test_several_ratings_each_have_a_seed_of_their_own(tmp_path, engine):
    made = engine(lambda request: str(request.seed % 6))
    rating = rate(tmp_path, ONE, OTHER, ratings=3)[ONE]
    assert len({request.seed for request in made.requests}) == len(made.requests) == 12
    assert rating.score == pytest.approx(np.mean(rating.ratings))
    again = rate(tmp_path / "another cache", OTHER, ONE, ratings=3)[ONE]
    assert again == rating


def test_what_was_rated_once_is_not_asked_again(tmp_path, engine):
    made = engine(lambda request: "3")
    first = rate(tmp_path, ONE, ONE)
    assert len(made.requests) == 2
    assert rate(tmp_path, ONE) == first
    assert len(made.requests) == 2
    rate(tmp_path, ONE, OTHER, ratings=2)
    assert len(made.requests) == 2 + 2 + 4  # the second ratings of the first pair, all of the other


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 43},
        {"model": "other"},
        {"revision": "2"},
        {"constrained": False},
        {"sampling": {"temperature": 0.6}},
        {"prompt": {**PROMPT, "template": "{first} and {second}"}},
        {"prompt": {**PROMPT, "stop": ["\n"]}},
        {"prompt": {**PROMPT, "kind": "completion"}},
    ],
)
def test_every_setting_that_changes_an_answer_asks_again(tmp_path, engine, change):
    made = engine(lambda request: "3")
    rate(tmp_path, ONE)
    rate(tmp_path, ONE, **change)
    assert len(made.requests) == 4


def test_an_answer_that_cannot_be_read_is_asked_again_a_bounded_number_of_times(tmp_path, engine):
    made = engine(lambda request: "hm" if len(made.requests) <= 2 else "4")
    rating = rate(tmp_path, ONE, constrained=False, attempts=3)[ONE]
    assert rating.score == 4
    assert [request.choices for request in made.requests] == [None] * 4
    assert len({request.seed for request in made.requests}) == 4

    made = engine(lambda request: "hm")
    rating = rate(tmp_path, OTHER, constrained=False, attempts=3)[OTHER]
    assert len(made.requests) == 6
    assert (rating.score, rating.status, rating.raw) == (None, "unparsable", ("hm", "hm"))
    assert all(map(math.isnan, rating.ratings))


def test_a_pair_with_one_unreadable_rating_has_no_score(tmp_path, engine):
    engine(lambda request: "4" if request.prompt.startswith("A cat.") else "well")
    rating = rate(tmp_path, ONE)[ONE]
    assert (rating.score, rating.status, rating.ratings[0]) == (None, "unparsable", 4)


# The stage


def write_files(folder, n=6):
    """Texts with two paraphrases each: equal ones of the first, a failed one of the last."""
    texts = [f"Text {number}." for number in range(n)]
    rows = [{"text_id": text_id(text), "text": text, "reworded": True} for text in texts]
    write_table(folder / "texts.parquet", pa.Table.from_pylist(rows, TEXTS), {})
    paraphrases = [
        {
            "text_id": text_id(text),
            "run": run,
            "paraphrase": f"{text} Again{'' if text == 'Text 0.' else run}.",
            "status": "empty" if (text, run) == (texts[-1], 2) else "ok",
        }
        for text in texts
        for run in (1, 2)
    ]
    path = folder / "paraphrases.parquet"
    write_table(path, pa.Table.from_pylist(paraphrases, PARAPHRASES), {})
    return folder / "texts.parquet", path


def by_words(request):
    return str(random.Random(request.prompt).randrange(6))


def test_each_paraphrase_has_a_row_and_equal_ones_are_asked_about_once(tmp_path, engine):
    made = engine(by_words)
    files = write_files(tmp_path)
    stage.run(SETTINGS, *files, tmp_path / "cache", tmp_path / "out.parquet", OPTIONS)
    table = read_table(tmp_path / "out.parquet")
    assert table.schema.names == stage.SCHEMA.names
    rows = table.to_pylist()
    paraphrases = read_table(files[1]).to_pylist()
    assert [(row["text_id"], row["run"]) for row in rows] == [
        (row["text_id"], row["run"]) for row in paraphrases
    ]
    assert [row["status"] for row in rows] == ["ok"] * 11 + ["no_paraphrase"]
    assert rows[-1]["score"] is None and 0 <= rows[0]["score"] <= 5
    assert rows[0]["score"] == rows[1]["score"]
    assert len(made.requests) == 2 * 10
    about = provenance_of(table.schema)
    assert about["stage"] == "judge" and about["identity"]["model"] == "some-model"
    assert about["settings"]["prompt"] == PROMPT


def test_shards_put_together_are_the_whole(tmp_path, engine):
    made = engine(by_words)
    texts, paraphrases = write_files(tmp_path, 12)
    cache, whole = tmp_path / "cache", tmp_path / "whole.parquet"
    shards = [tmp_path / f"{number}.parquet" for number in (1, 2, 3)]
    for number, path in enumerate(shards, start=1):
        stage.run(SETTINGS, texts, paraphrases, cache, path, OPTIONS, (number, 3))
    asked = len(made.requests)
    stage.run(SETTINGS, texts, paraphrases, cache, whole, OPTIONS)
    assert len(made.requests) == asked
    stage.assemble(SETTINGS, paraphrases, shards[::-1], tmp_path / "out.parquet")
    assert read_table(tmp_path / "out.parquet").to_pylist() == read_table(whole).to_pylist()


def test_an_engine_that_fails_stops_the_stage_with_its_words(tmp_path, engine):
    engine(lambda request: None if "Text 3." in request.prompt else "3")
    files = write_files(tmp_path)
    message = r"judge j, task t: the engine failed on 2 of 10 pairs, .*10\.0%; last.*no such host"
    with pytest.raises(UserError, match=message):
        stage.run(SETTINGS, *files, tmp_path / "cache", tmp_path / "out.parquet", OPTIONS)
    assert not (tmp_path / "out.parquet").exists()
    stage.run({**SETTINGS, "max_failure_rate": 0.5}, *files, tmp_path / "cache",
              tmp_path / "out.parquet", OPTIONS)  # fmt: skip
    assert "engine_error" in read_table(tmp_path / "out.parquet")["status"].to_pylist()


# Judges that are no LLM


def model_judge(folder, engine, model=None, **changes):
    settings = {"engine": engine, "model": model, "revision": None, **changes}
    return ModelRater(settings, folder, "test")


def test_edit_distance_by_hand(tmp_path):
    rated = model_judge(tmp_path, "edit_distance").rate(
        [Pair("abcd", "abcd"), Pair("abcd", "abxx")]
    )
    assert [rating.score for rating in rated.values()] == [5, 2.5]
    assert not list(tmp_path.iterdir())


def test_cosine_is_that_of_the_models_vectors_and_is_kept(tmp_path):
    pairs = [Pair("one two", "one two"), Pair("one two", "three four"), Pair("one two", "two six")]
    judge = model_judge(tmp_path, "cosine", "bag-of-tokens")
    scores = [judge.rate(pairs)[pair].score for pair in pairs]
    assert scores[0] == pytest.approx(5)
    assert scores[0] > scores[2] > scores[1] >= 0
    again = model_judge(tmp_path, "cosine", "bag-of-tokens")
    again._score = None  # it would be called for anything that is not kept
    assert [again.rate(pairs)[pair].score for pair in pairs] == scores


def save_classifier(folder, labels):
    """An untrained cross-encoder of one layer over single letters."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder.mkdir()
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *"abcdefghij",
        *(f"##{c}" for c in "abcdefghij"),
    ]
    (folder / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words), hidden_size=24, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=48, max_position_embeddings=32,
        id2label=dict(enumerate(labels)), label2id={name: i for i, name in enumerate(labels)},
        initializer_range=0.4,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)


def test_nli_is_the_mean_probability_of_entailment_both_ways(tmp_path):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    name = save_classifier(tmp_path / "nli", ["contradiction", "ENTAILMENT", "neutral"])
    pair = Pair("abc", "ja if")
    score = model_judge(tmp_path / "cache", "nli", name).rate([pair])[pair].score
    model = AutoModelForSequenceClassification.from_pretrained(name).eval()
    tokenizer = AutoTokenizer.from_pretrained(name)
    with torch.no_grad():
        ways = [model(**tokenizer(*texts, return_tensors="pt")).logits.softmax(-1)[0, 1].item()
                for texts in (pair, pair[::-1])]  # fmt: skip
    assert abs(ways[0] - ways[1]) > 0.01
    assert score == pytest.approx(5 * np.mean(ways), rel=1e-4)


def test_a_cross_encoder_without_entailment_is_refused(tmp_path):
    name = save_classifier(tmp_path / "ranker", ["yes", "no"])
    with pytest.raises(UserError, match="its labels are yes, no: an NLI model with a label"):
        model_judge(tmp_path, "nli", name)


def test_a_model_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match="judge model 'gone/nli': cannot be loaded"):
        model_judge(tmp_path, "nli", "gone/nli")


# Pairs with gold, and what ratings say of instances


def gold_pairs(tmp_path, monkeypatch, task, limit=None):
    monkeypatch.setattr(gold, "load_task", lambda settings: task)
    gold.run({"task": {}, "max_instances": limit}, "", tmp_path / "gold.parquet")
    return read_table(tmp_path / "gold.parquet")


def test_gold_is_put_on_the_scale(tmp_path, monkeypatch):
    task = sts_task()
    task.min_score, task.max_score = 1, 5
    table = gold_pairs(tmp_path, monkeypatch, task, limit=7)
    data = task.dataset["test"]
    assert table["first"].to_pylist() == list(data["sentence1"])[:7]
    assert table["second"].to_pylist() == list(data["sentence2"])[:7]
    assert table["gold"].to_pylist() == [5 * (score - 1) / 4 for score in list(data["score"])[:7]]
    assert provenance_of(table.schema)["graded"]


def test_labels_of_pairs_become_the_ends_of_the_scale(tmp_path, monkeypatch):
    table = gold_pairs(tmp_path, monkeypatch, pair_task())
    labels = list(pair_task().dataset["test"]["labels"])
    assert table["gold"].to_pylist() == [5 * label for label in labels]
    assert not provenance_of(table.schema)["graded"]


def test_other_tasks_have_no_pairs(tmp_path, monkeypatch):
    with pytest.raises(UserError, match="is of type Retrieval: pairs with gold are needed"):
        gold_pairs(tmp_path, monkeypatch, retrieval_task())


def test_an_instance_has_the_least_rating_of_its_texts_over_all_runs(tmp_path, monkeypatch):
    task = sts_task()
    slots = list(structure_for(task).slots(task))
    texts = list(dict.fromkeys(text for _, text in slots))
    rng = random.Random(0)
    judged = {(text, run): float(rng.randrange(6)) for text in texts for run in (1, 2)}
    unrated = slots[0][1]
    judged[unrated, 2] = None
    keys = [{"text_id": text_id(text), "run": run} for text, run in judged]
    write_table(tmp_path / "judged.parquet", pa.Table.from_pylist(
        [{**key, "score": score} for key, score in zip(keys, judged.values(), strict=True)],
        stage.SCHEMA), {})  # fmt: skip
    moved = [{**key, "edit_distance": 0.25 * key["run"]} for key in keys]
    paraphrases = pa.Table.from_pylist(moved, PARAPHRASES)
    write_table(tmp_path / "paraphrases.parquet", paraphrases, {})
    made = Variants(task, structure_for(task), {slot for slot, _ in slots}, {}, (1, 2))
    monkeypatch.setattr(instances, "load_variants", lambda *arguments: made)
    instances.run({"task": {}}, "", None, tmp_path / "paraphrases.parquet",
                  tmp_path / "judged.parquet", tmp_path / "out.parquet")  # fmt: skip
    rows = {row["row"]: row for row in read_table(tmp_path / "out.parquet").to_pylist()}
    assert len(rows) == 20
    data = task.dataset["test"]
    for number, pair in enumerate(zip(data["sentence1"], data["sentence2"], strict=True)):
        found = [judged[text, run] for text in pair for run in (1, 2)]
        row = rows[str(number)]
        assert row["edit_distance"] == pytest.approx(0.375)
        if None in found:
            assert row["judge_min"] is None and row["judge_mean"] is None
        else:
            assert row["judge_min"] == min(found)
            assert row["judge_mean"] == pytest.approx(np.mean(found))
    assert rows["0"]["judge_min"] is None
