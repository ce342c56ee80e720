"""What LLMs and their servers may say: texts to clean, ratings to read, responses of any shape."""

import asyncio
import gzip
import json

import httpx
import pytest
from fuzzing import ends_well, inputs, json_values, mutants, nasty_text, only_written
from hypothesis import given
from hypothesis import strategies as st

from pteb_eval.judge.ratings import CHOICES, read_rating
from pteb_eval.paraphrase.answers import AnswerCache, Question, ask
from pteb_eval.paraphrase.cleaning import clean, status_of
from pteb_eval.paraphrase.engines import Completion, Request, Sampling
from pteb_eval.paraphrase.engines.openai import OpenAIEngine
from pteb_eval.paraphrase.quality import measure

HABITS = [
    "Sure! Here is a paraphrase:", "Paraphrase: ", "**Umformulierung:** ", "\n\n", "\n", " ", "\t",
    "1. ", "2) ", "- ", "* ", "> ", "```", "~~~\n", '"', "“", "”", "**", "_", "# ", "<think>",
    "</think>", "<|channel|>final<|message|>", "<|im_end|>", "</s>", "Note: ", "Let me know if ",
    "Or: ", "Option 1: ",
    "I'm sorry, but I can't help", "以下是改写：", "The cat sat.", "Der Hund schläft.",
    "4/5", "4,5", "Rating: 4 out of 5", "0", "5", "-1", "1e9", "٤", "½", "\u3000", "\xa0",
]  # fmt: skip
piece = st.one_of(st.sampled_from(HABITS), nasty_text, st.text(max_size=20))
repeated = st.tuples(piece, st.sampled_from([1, 1, 1, 2, 40, 2000])).map(lambda it: it[0] * it[1])
answers = st.lists(repeated, max_size=6).map(lambda parts: "".join(parts)[:20_000])


@inputs(80, 1_500)
@given(raw=answers, original=st.one_of(st.just("The cat sat on the mat."), answers))
def test_answers_are_cleaned(raw, original):
    cleaned = ends_well(clean, raw, original, counted="answers: cleaning")
    assert isinstance(cleaned, str) and len(cleaned) <= len(raw)
    status = status_of(original[:500], cleaned[:5000], "stop")
    assert status in ("ok", "empty", "refusal", "too_long", "language_changed")
    measure(original[:200], cleaned[:200])


@inputs(80, 1_500)
@given(answer=answers)
def test_ratings_are_read(answer):
    rating = ends_well(read_rating, answer, counted="answers: ratings")
    assert rating is None or 0 <= rating <= 5


counts = st.one_of(st.integers(), st.sampled_from([-1, 10**400, None, "7", 1.5, True]), json_values)
choices = st.fixed_dictionaries(
    {"finish_reason": st.one_of(st.sampled_from(["stop", "length", None]), json_values)},
    optional={
        "text": st.one_of(nasty_text, json_values),
        "message": st.one_of(
            st.fixed_dictionaries({"content": st.one_of(nasty_text, json_values)}), json_values
        ),
    },
)
responses = st.one_of(
    json_values,
    st.fixed_dictionaries(
        {"choices": st.one_of(st.lists(choices, max_size=2), json_values)},
        optional={
            "usage": st.one_of(
                st.fixed_dictionaries({"prompt_tokens": counts, "completion_tokens": counts}),
                json_values,
            )
        },
    ),
)
bodies = st.one_of(
    responses.map(lambda value: json.dumps(value).encode()),
    responses.map(
        lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    ),
    st.binary(max_size=30),
    st.sampled_from([b"[" * 100_000, b'{"a":' * 2000, b"", b"\xff\xfe{", b"1" * 5000]),
)
headers = st.fixed_dictionaries(
    {},
    optional={
        "Retry-After": st.sampled_from(["0", "-5", "soon", "9" * 400, "²",
        "Wed, 21 Oct 2015 07:28:00 GMT",
                                        "Wed, 99 Xyz 20155555 07:28:00 GMT",
                                        "Wed, 21 Oct 2015 07:28:00 -0000"]),
        "Content-Encoding": st.sampled_from(["gzip", "deflate", "br", "identity", "x"]),
        "Content-Type": st.sampled_from(["text/html; charset=utf-7",
        "application/json; charset=nope"]),
    },
)  # fmt: skip


class Client:
    """Gives one response, as httpx would read it."""

    def __init__(self, status, body, headers):
        self.given = (status, body, headers)

    async def post(self, url, json):
        status, body, texts = self.given
        headers = [(name, text.encode("latin-1")) for name, text in texts.items()]
        return httpx.Response(
            status, content=body, headers=headers, request=httpx.Request("POST", url)
        )


@inputs(80, 1_500)
@given(
    status=st.sampled_from([200, 200, 200, 200, 204, 302, 400, 404, 429, 500]),
    body=bodies, headers=headers, kind=st.sampled_from(["chat", "completion"]),
    limited=st.booleans(), packed=st.booleans(),
)  # fmt: skip
def test_responses_of_any_shape(tmp_path_factory, status, body, headers, kind, limited, packed):
    engine = OpenAIEngine(
        "m",
        Sampling(),
        prompt_kind=kind,
        base_url="http://localhost:1",
        attempts=1,
        patience=0,
    )
    if packed and headers.get("Content-Encoding") == "gzip":
        body = gzip.compress(body)
    request = Request("key", "prompt", 1, CHOICES if limited else None)
    coroutine = engine._complete(Client(status, body, headers), request)
    answer = ends_well(asyncio.run, coroutine, counted="answers: responses")
    assert isinstance(answer.text, str) and len(answer.error.splitlines()) <= 1
    assert 0 <= answer.n_tokens < 2**31 and 0 <= answer.n_prompt_tokens < 2**31


class Says:
    """An engine that gives one text."""

    def __init__(self, text):
        self.text = text

    def generate(self, requests):
        yield from (Completion(one.key, self.text, "stop") for one in requests)


@inputs(20, 500)
@given(text=st.one_of(nasty_text, answers))
def test_any_answer_can_be_kept(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("cache")
    question = Question("text", "prompt", 1, 1, 0, 0, 1)
    cache = AnswerCache(folder / "cache", "paraphrases", {"engine": "says"})
    with only_written(folder, folder / "cache"):
        told = ends_well(ask, lambda: Says(text), cache, [question], counted="answers: kept")
    kept = cache.known([question])
    assert told == kept
    assert (
        kept[question.key].text.encode()
        == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    )


@pytest.mark.parametrize(
    "raw", ["A" + "\n" * 5000 + "B", "A" + " \n" * 3000 + "B", "1. " * 7000 + "x"]
)
def test_an_llm_caught_in_a_loop_does_not_hang_us(raw):
    """`clean` took 90 seconds for 600 newlines between two words, growing with their cube."""
    assert clean(raw, "The cat sat.").endswith(raw[-1])
    assert read_rating("4" + " " * 20_000 + "x") == 4


SEEDS = [text.encode() for text in (
    "".join(HABITS),
    "Sure! Here is a paraphrase:\n\n**1. The cat sat.**\n2. \"A dog\"\n\nNote: none.",
    "<think>hm\n\n</think>> quoted\n> twice", "```text\nA cat.\n```",
    "Rating: **4/5** (4,0 out of 5)",
)]  # fmt: skip


def test_mutants_of_answers():
    for content in mutants(200, 25_000, *SEEDS):
        text = content.decode("utf-8", "surrogatepass" if content.isascii() else "replace")
        cleaned = ends_well(clean, text, "The cat sat on the mat.", counted="answers: mutants")
        assert len(cleaned) <= len(text)
        status_of("The cat sat on the mat.", cleaned, "stop")
        rating = ends_well(read_rating, text)
        assert rating is None or 0 <= rating <= 5


CHAT = {"choices": [{"finish_reason": "stop", "message": {"content": '{"answer": "4"}'}}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7}}  # fmt: skip


@pytest.mark.parametrize("status", [200, 503])
def test_mutants_of_responses(status):
    options = {"base_url": "http://localhost:1", "attempts": 1, "patience": 0}
    for number, content in enumerate(mutants(100, 10_000, json.dumps(CHAT).encode())):
        engine = OpenAIEngine("m", Sampling(), **options)  # a new one: many failures end a run
        request = Request("key", "prompt", 1, CHOICES if number % 2 else None)
        coroutine = engine._complete(Client(status, content, {}), request)
        answer = ends_well(asyncio.run, coroutine, counted="answers: mutants of responses")
        assert isinstance(answer.text, str) and len(answer.error.splitlines()) <= 1
