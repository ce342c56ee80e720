"""What an LLM answered once is never asked again, nor taken for the answer to something else."""

from dataclasses import replace
from itertools import pairwise

import pytest

from pteb_eval.paraphrase import answers
from pteb_eval.paraphrase.answers import AnswerCache, Question, ask
from pteb_eval.paraphrase.engines import Completion, load
from pteb_eval.paraphrase.stage import Generation, Wording
from pteb_eval.progress import Progress

QUESTION = Question("A text.", "Reword: A text.", 42, 1, 0, 0, 7, ("yes", "no"))
OTHERS = {
    "text": "A text!",
    "prompt": "Reword: A text. ",
    "base_seed": 43,
    "run": 2,
    "step": 1,
    "attempt": 1,
    "seed": 8,
    "choices": ("yes",),
}
SAMPLING = {
    "temperature": 0.8,
    "top_p": 0.9,
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "max_tokens": 64,
}
PROMPT = {"name": "p", "version": 1, "kind": "chat", "template": "Reword: {text}", "stop": []}
SETTINGS = {
    "task": "demo",
    "generator": "g",
    "engine": "openai",
    "model": "some-model",
    "revision": None,
    "sampling": SAMPLING,
    "prompts": [PROMPT],
    "attempts": 1,
    "seed": 42,
    "runs": 1,
    "max_failure_rate": 0.0,
}
OPTIONS = {"base_url": "http://127.0.0.1:9/v1", "server": "vllm"}


class Parrot:
    """Answers each prompt with itself and remembers what it was asked."""

    def __init__(self, finish="stop", fail_after=None):
        self.asked, self.finish, self.fail_after = [], finish, fail_after

    def generate(self, requests):
        for number, request in enumerate(requests):
            if number == self.fail_after:
                raise SystemExit(143)
            self.asked.append(request.prompt)
            yield Completion(request.key, request.prompt, self.finish, 3, 4)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass


def cache(folder, **identity):
    return AnswerCache(folder, "paraphrases", {"engine": "parrot", **identity})


def questions(count):
    return [replace(QUESTION, prompt=f"Reword: text {number}.") for number in range(count)]


def shards(answer_cache):
    return sorted(answer_cache.store.root.glob("*.parquet"))


@pytest.mark.parametrize("field", OTHERS)
def test_every_field_of_a_question_makes_another_key(field):
    assert replace(QUESTION, **{field: OTHERS[field]}).key != QUESTION.key
    assert replace(QUESTION).key == QUESTION.key


def test_the_fields_above_are_all_that_there_are():
    assert set(OTHERS) == set(Question.__dataclass_fields__)


def test_an_answer_is_read_back_as_it_was(tmp_path):
    answer = Completion(QUESTION.key, "Été\n", "length", 12, 34)
    cache(tmp_path).append([(QUESTION, answer)])
    assert cache(tmp_path).known([QUESTION]) == {QUESTION.key: answer}


def test_caches_of_other_engines_and_kinds_are_apart(tmp_path):
    cache(tmp_path).append([(QUESTION, Completion(QUESTION.key, "x", "stop"))])
    assert not cache(tmp_path, revision="2").known([QUESTION])
    assert not AnswerCache(tmp_path, "judgements", {"engine": "parrot"}).known([QUESTION])


def test_only_what_is_missing_is_asked_and_the_engine_opened_only_then(tmp_path):
    parrot, told = Parrot(), []
    first = ask(lambda: parrot, cache(tmp_path), questions(3), told.append)
    assert len(parrot.asked) == len(told) == 3
    again = ask(lambda: parrot, cache(tmp_path), [*questions(5), *questions(5)], told.append)
    assert parrot.asked == [question.prompt for question in questions(5)]
    assert first.items() <= again.items()
    assert {question.key for question in questions(5)} == set(again)
    assert ask(lambda: pytest.fail("opened"), cache(tmp_path), questions(5)) == again


def test_errors_are_not_kept_but_asked_again(tmp_path):
    found = ask(lambda: Parrot("error"), cache(tmp_path), questions(2))
    assert {answer.finish_reason for answer in found.values()} == {"error"}
    second = Parrot()
    ask(lambda: second, cache(tmp_path), questions(2))
    assert len(second.asked) == 2


@pytest.mark.parametrize("where", ["in the engine", "in the caller"])
def test_a_stopped_job_keeps_all_that_was_answered(tmp_path, where):
    def on_answer(answer):
        if where == "in the caller" and answer.text == "Reword: text 3.":
            raise SystemExit(143)

    with pytest.raises(SystemExit):
        ask(lambda: Parrot(fail_after=4), cache(tmp_path), questions(9), on_answer)
    assert len(cache(tmp_path).known(questions(9))) == 4


def test_a_signal_while_answers_are_written_loses_none(tmp_path, monkeypatch):
    monkeypatch.setattr(answers, "MOST_ROWS", 3)
    interrupted = cache(tmp_path)
    write, calls = interrupted.store.append, []

    def append(rows, provenance=None):
        calls.append(rows.num_rows)
        if len(calls) == 2:
            raise SystemExit(143)
        write(rows, provenance)

    monkeypatch.setattr(interrupted.store, "append", append)
    with pytest.raises(SystemExit):
        ask(Parrot, interrupted, questions(9))
    assert len(cache(tmp_path).known(questions(9))) == 6


def test_long_jobs_write_now_and_then_and_ever_more_rarely(tmp_path, monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(answers.time, "monotonic", lambda: next(clock))
    kept = cache(tmp_path)
    ask(Parrot, kept, questions(60))
    times = [int(path.name[6:14]) for path in shards(kept)]
    assert times == list(range(1, len(times) + 1))
    assert 4 < len(times) < 15
    sizes = [kept.store._read(path, ["key"]).num_rows for path in shards(kept)]
    assert sum(sizes) == 60
    assert all(before <= after for before, after in pairwise(sizes[:-1]))


def test_of_two_workflows_at_once_both_use_what_was_kept_first(tmp_path):
    class Rival(Parrot):
        def generate(self, requests):
            for request in requests:
                kept = Completion(request.key, "the rival's", "stop")
                cache(tmp_path).append([(QUESTION, kept)])
                yield Completion(request.key, "mine", "stop")

    found = ask(Rival, cache(tmp_path), [QUESTION])
    assert found[QUESTION.key].text == "the rival's"
    assert cache(tmp_path).known([QUESTION])[QUESTION.key].text == "the rival's"


# A generator's whole identity, from its settings to the key


def generation(folder, settings=SETTINGS, options=OPTIONS):
    return Generation(settings, options, folder, Progress("test", 1))


@pytest.fixture
def answered(tmp_path, monkeypatch):
    """A cache with the answer to one wording under SETTINGS."""
    monkeypatch.setattr(load, "load_engine", lambda settings, cache_dir: Parrot())
    with generation(tmp_path) as made:
        made.word([Wording("A text.", "English", 1)])
    return tmp_path


def changed(key, value):
    """SETTINGS with another value under a dotted key; a prompt's fields under `prompt`."""
    first, _, second = key.partition(".")
    if first == "prompt":
        return {**SETTINGS, "prompts": [{**PROMPT, second: value}]}
    if second:
        return {**SETTINGS, first: {**SETTINGS[first], second: value}}
    return {**SETTINGS, first: value}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("engine", "vllm"),
        ("model", "other-model"),
        ("revision", "main"),
        ("seed", 43),
        ("prompt.kind", "completion"),
        ("prompt.template", "Reword this: {text}"),
        ("prompt.stop", ["\n"]),
        ("sampling.temperature", 0.7),
        ("sampling.top_p", 0.8),
        ("sampling.top_k", 20),
        ("sampling.min_p", 0.1),
        ("sampling.repetition_penalty", 1.1),
        ("sampling.max_tokens", 32),
    ],
)
def test_every_setting_that_changes_an_answer_is_a_miss(answered, key, value):
    options = {} if value == "vllm" else OPTIONS
    with generation(answered, changed(key, value), options) as other:
        assert other.n_cached([Wording("A text.", "English", 1)]) == 0


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("task", "other"),
        ("generator", "renamed"),
        ("attempts", 5),
        ("runs", 9),
        ("max_failure_rate", 0.5),
        ("prompt.name", "renamed"),
        ("prompt.version", 2),
    ],
)
def test_settings_that_change_no_answer_are_hits(answered, key, value):
    with generation(answered, changed(key, value)) as other:
        assert other.n_cached([Wording("A text.", "English", 1)]) == 1


def test_where_an_engine_is_and_how_fast_changes_no_answer(answered):
    options = {**OPTIONS, "base_url": "http://127.0.0.1:10/v1", "concurrency": 3}
    with generation(answered, options=options) as other:
        assert other.n_cached([Wording("A text.", "English", 1)]) == 1


@pytest.mark.parametrize(
    "wording",
    [Wording("A text!", "English", 1), Wording("A text.", "English", 2),
     Wording("A text.", "English", 1, attempt=1)],
)  # fmt: skip
def test_other_texts_runs_and_attempts_are_misses(answered, wording):
    with generation(answered) as other:
        assert other.n_cached([wording]) == 0


def test_a_language_counts_only_where_the_prompt_names_it(answered):
    german = Wording("A text.", "German", 1)
    with generation(answered) as other:
        assert other.n_cached([german]) == 1
    named = changed("prompt.template", "Reword in {language}: {text}")
    with generation(answered, named) as other:
        other.word([Wording("A text.", "English", 1)])
        assert other.n_cached([german]) == 0


def test_a_chain_asks_the_second_prompt_about_the_first_answer(tmp_path, monkeypatch):
    parrot = Parrot()
    monkeypatch.setattr(load, "load_engine", lambda settings, cache_dir: parrot)
    second = {**PROMPT, "template": "Back: {text}"}
    wording = Wording("A text.", "English", 1)
    with generation(tmp_path, {**SETTINGS, "prompts": [PROMPT, second]}) as chain:
        chain.word([wording])
    # The label that the first answer began with is no part of it.
    assert parrot.asked == ["Reword: A text.", "Back: A text."]
    assert wording.raw == ("Reword: A text.", "Back: A text.")
