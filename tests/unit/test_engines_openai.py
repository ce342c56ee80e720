"""The endpoint engine against a server that fails in every way that servers fail."""

import json
import logging
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pteb_eval.errors import UserError
from pteb_eval.paraphrase.engines import Request, Sampling
from pteb_eval.paraphrase.engines import openai as engine_module
from pteb_eval.paraphrase.engines.openai import OpenAIEngine

KEY = "sk-very-secret-0123456789"


class FaultServer(ThreadingHTTPServer):
    """Answers each prompt by a script: one fault an exchange, then properly.

    `faults` maps a prompt to the faults that it meets before it is answered.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults = {}
        self.asked = Counter()
        self.answered = Counter()
        self.times = {}
        self.bodies = []
        self.paths = []
        self.headers = []
        self.in_flight = self.most_in_flight = 0
        self.lock = threading.Lock()

    @property
    def base_url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request, client_address):
        pass  # clients that hang up are part of the script


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        refused = "refused" in self.server.faults
        self.send(401 if refused else 200, f'{{"error": "bad key {KEY}"}}' if refused else "{}")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["prompt"] if "prompt" in body else body["messages"][0]["content"]
        server = self.server
        with server.lock:
            server.bodies.append(body)
            server.paths.append(self.path)
            server.headers.append(dict(self.headers))
            server.in_flight += 1
            server.most_in_flight = max(server.most_in_flight, server.in_flight)
            turn = server.asked[prompt]
            server.asked[prompt] += 1
            server.times.setdefault(prompt, []).append(time.monotonic())
        time.sleep(0.005)
        with server.lock:
            server.in_flight -= 1  # before the answer, upon which the client may ask anew
        faults = server.faults.get(prompt, [])
        if turn < len(faults):
            getattr(self, faults[turn])(prompt, body)
        else:
            self.answer(prompt, body)

    def send(self, status, text, headers=(), length=None):
        payload = text.encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload) if length is None else length))
        self.end_headers()
        self.wfile.write(payload)

    def answer(self, prompt, body, text=None):
        text = f"echo {prompt} {body.get('seed')}" if text is None else text
        choice = {"finish_reason": "stop"}
        choice |= {"text": text} if "prompt" in body else {"message": {"content": text}}
        with self.server.lock:
            self.server.answered[prompt] += 1
        usage = {"prompt_tokens": 10, "completion_tokens": 4}
        self.send(200, json.dumps({"choices": [choice], "usage": usage}))

    def reset(self, prompt, body):
        self.close_connection = True
        self.connection.close()

    def busy_seconds(self, prompt, body):
        self.send(429, "{}", [("Retry-After", "1")])

    def busy_date(self, prompt, body):
        until = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
        self.send(429, "{}", [("Retry-After", until)])

    def busy(self, prompt, body):
        self.send(503, "try later")

    def slow(self, prompt, body):
        time.sleep(1.5)
        self.close_connection = True

    def truncated(self, prompt, body):
        self.send(200, '{"choices": [{"text": "half an ans')

    def wrong_length(self, prompt, body):
        self.send(200, '{"choices": []}', length=500)
        self.close_connection = True

    def empty_object(self, prompt, body):
        self.send(200, "{}")

    def too_long(self, prompt, body):
        self.send(400, '{"error": {"message": "maximum context length is 8192 tokens"}}')

    def invalid(self, prompt, body):
        self.send(400, f'{{"error": {{"message": "no such field; key {KEY}"}}}}')

    def unauthorized(self, prompt, body):
        self.send(401, f'{{"error": "bad key {KEY}"}}')

    def choice(self, prompt, body):
        self.answer(prompt, body, json.dumps({"answer": "yes"}))

    def no_text(self, prompt, body):
        self.send(200, json.dumps({"choices": [{"finish_reason": "stop", "text": None}]}))


@pytest.fixture
def server():
    with FaultServer() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    """Back-off without the waiting, unless the server asks for it."""
    monkeypatch.setattr(engine_module, "_backoff", lambda state: 0.01)


def engine(at, /, **options):
    options = {
        "prompt_kind": "completion",
        "base_url": at.base_url,
        "timeout": 1.0,
        "patience": 0,
    } | options
    return OpenAIEngine("m", Sampling(stop=("\n",), max_tokens=20), **options)


def ask(at, prompts, /, **options):
    with engine(at, **options) as opened:
        requests = [Request(f"key {p}", p, seed=i) for i, p in enumerate(prompts)]
        completions = {c.key.removeprefix("key "): c for c in opened.generate(requests)}
        assert len(completions) == len(prompts)
        return completions, opened


PASSING = ["reset", "busy_seconds", "busy_date", "busy", "slow", "truncated", "wrong_length",
           "empty_object"]  # fmt: skip


def test_whatever_fails_nothing_is_lost_and_nothing_answered_is_asked_again(server):
    server.faults = {name: [name] for name in PASSING} | {"twice": ["reset", "truncated"]}
    prompts = [*PASSING, "twice", *map(str, range(30))]
    completions, opened = ask(server, prompts)
    for seed, prompt in enumerate(prompts):
        completion = completions[prompt]
        assert completion.text == f"echo {prompt} {seed}"  # its own seed, at every try
        assert (completion.finish_reason, completion.n_prompt_tokens) == ("stop", 10)
        assert completion.n_tokens == 4
        assert server.asked[prompt] == 1 + len(server.faults.get(prompt, []))
    assert set(server.answered.values()) == {1}
    assert opened.usage.requests == len(prompts) + len(PASSING) + 2
    assert opened.usage.responses == len(prompts)


@pytest.mark.parametrize(("fault", "seconds"), [("busy_seconds", 1.0), ("busy_date", 1.0)])
def test_retry_after_is_honored(server, fault, seconds):
    server.faults = {"p": [fault]}
    ask(server, ["p"])
    first, second = server.times["p"]
    assert second - first >= seconds


def test_what_never_works_is_an_error_after_bounded_tries(server):
    server.faults = {"p": ["busy"] * 9, "q": ["reset"] * 9}
    completions, _ = ask(server, ["p", "q", "r"], attempts=3)
    assert (server.asked["p"], server.asked["q"]) == (3, 3)
    assert completions["p"].finish_reason == completions["q"].finish_reason == "error"
    assert "503" in completions["p"].error
    assert completions["r"].finish_reason == "stop"


def test_patience_bridges_a_restart_that_tries_alone_would_not(server):
    server.faults = {"p": ["reset"] * 30}
    completions, _ = ask(server, ["p"], attempts=2, patience=60.0)
    assert completions["p"].finish_reason == "stop"
    assert server.asked["p"] == 31


def test_a_server_that_is_gone_stops_the_job_long_before_all_requests_are_given_up(server):
    prompts = list(map(str, range(200)))
    server.faults = {prompt: ["busy"] * 99 for prompt in prompts[40:]}
    gone = r"/v1: 8 requests in a row were given up, each after 2 tries .*\(last: HTTP 503: try"
    answered = set()
    with engine(server, attempts=2, concurrency=4) as opened, pytest.raises(UserError, match=gone):
        for completion in opened.generate([Request(p, p, 0) for p in prompts]):
            answered.add(completion.key)
    assert answered >= {*prompts[:40]}
    assert server.asked.total() < 40 + 2 * 20


def test_single_requests_that_never_work_do_not_stop_the_others(server):
    prompts = list(map(str, range(200)))
    bad = prompts[::4]
    server.faults = {prompt: ["busy"] * 99 for prompt in bad}
    completions, _ = ask(server, prompts, attempts=1, concurrency=4)
    assert {p for p, c in completions.items() if c.finish_reason == "error"} == set(bad)


def test_a_refused_request_is_not_repeated(server):
    server.faults = {"p": ["invalid"] * 9, "q": ["too_long"] * 9}
    completions, _ = ask(server, ["p", "q"])
    assert completions["p"].finish_reason == "error"
    assert completions["q"].finish_reason == "prompt_too_long"
    assert (server.asked["p"], server.asked["q"]) == (1, 1)


def test_concurrency_is_used_and_bounded(server):
    ask(server, list(map(str, range(40))), concurrency=5)
    assert 1 < server.most_in_flight <= 5


def test_leaving_early_stops_asking(server):
    with engine(server, concurrency=2) as opened:
        stream = opened.generate([Request(str(i), str(i), i) for i in range(200)])
        next(stream)
        stream.close()
    asked = server.asked.total()
    assert asked < 200
    time.sleep(0.2)
    assert server.asked.total() == asked


def test_an_empty_list_asks_nothing(server):
    completions, _ = ask(server, [])
    assert completions == {}


def test_an_answer_without_text_is_empty(server):
    server.faults = {"p": ["no_text"]}
    completions, _ = ask(server, ["p"])
    assert (completions["p"].text, completions["p"].finish_reason) == ("", "stop")


def test_the_key_comes_from_the_environment_and_goes_nowhere_else(server, monkeypatch, caplog):
    monkeypatch.setenv("SOME_KEY", KEY)
    server.faults = {"p": ["invalid"]}
    with caplog.at_level(logging.DEBUG):
        completions, opened = ask(server, ["p", "q"], api_key_env="SOME_KEY")
    assert all(h["Authorization"] == f"Bearer {KEY}" for h in server.headers)
    assert KEY not in json.dumps(server.bodies)
    seen = caplog.text + repr(completions) + repr(vars(opened)) + json.dumps(opened.identity())
    assert KEY not in seen
    assert "[key]" in completions["p"].error


def test_a_missing_key_names_its_variable(server, monkeypatch):
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(UserError, match="SOME_KEY"), engine(server, api_key_env="SOME_KEY"):
        pass
    assert server.asked.total() == 0


def test_a_refused_key_stops_at_once_without_quoting_it(server, monkeypatch):
    monkeypatch.setenv("SOME_KEY", KEY)
    server.faults = {"p": ["unauthorized"] * 9}
    with pytest.raises(UserError, match="SOME_KEY") as caught:
        ask(server, ["p", "q"], api_key_env="SOME_KEY")
    assert KEY not in str(caught.value)
    assert server.asked["p"] == 1
    server.faults = {"refused": []}
    with pytest.raises(UserError, match="401"), engine(server, api_key_env="SOME_KEY"):
        pass


def test_nobody_there_is_one_clear_line():
    with FaultServer() as closed:
        url = closed.base_url
    with (
        pytest.raises(UserError, match="no answer") as caught,
        OpenAIEngine("m", Sampling(), base_url=url),
    ):
        pass
    assert url in str(caught.value)
    assert "\n" not in str(caught.value)


def test_cost_by_prices(server):
    _, opened = ask(server, ["a", "b"], prices={"prompt": 2.0, "completion": 50.0})
    assert opened.usage.prompt_tokens == 20
    assert opened.usage.completion_tokens == 8
    assert opened.usage.cost == pytest.approx((20 * 2.0 + 8 * 50.0) / 1e6)


def test_plain_protocol_says_every_field_it_has_and_no_other(server):
    ask(server, ["p"], extra_body={"user": "u", "presence_penalty": None})
    (body,) = server.bodies
    assert body == {
        "model": "m", "prompt": "p", "seed": 0, "temperature": 0.8, "top_p": 0.9,
        "max_tokens": 20, "stop": ["\n"], "frequency_penalty": 0.0, "user": "u",
    }  # fmt: skip
    assert server.paths == ["/v1/completions"]


def test_chat_is_one_user_turn(server):
    ask(server, ["p"], prompt_kind="chat", server="vllm")
    (body,) = server.bodies
    assert body["messages"] == [{"role": "user", "content": "p"}]
    assert (body["top_k"], body["min_p"], body["repetition_penalty"]) == (0, 0.0, 1.0)
    assert server.paths == ["/v1/chat/completions"]


@pytest.mark.parametrize(
    ("kind", "field"),
    [("openai", "response_format"), ("vllm", "structured_outputs"), ("llamacpp", "grammar")],
)
def test_choices_go_the_way_that_the_server_knows(server, kind, field):
    if kind == "openai":
        server.faults = {"p": ["choice"]}
    with engine(server, server=kind) as opened:
        (completion,) = opened.generate([Request("k", "p", 1, choices=("yes", "no"))])
    assert completion.text == ("yes" if kind == "openai" else "echo p 1")
    assert "yes" in json.dumps(server.bodies[0][field])


@pytest.mark.parametrize("field", ["top_k", "min_p", "repetition_penalty"])
def test_a_field_that_the_protocol_lacks_is_refused(field):
    with pytest.raises(UserError, match=field):
        OpenAIEngine("m", Sampling(**{field: 0.5}), base_url="http://localhost:1/v1")


def test_identity_has_what_changes_an_answer_and_nothing_else():
    def identity(**options):
        given = {"model": "m", "sampling": Sampling(), "base_url": "http://a/v1"} | options
        return OpenAIEngine(**given).identity()

    same = identity()
    speed = {"base_url": "http://b/v1", "concurrency": 3, "timeout": 1.0, "attempts": 2,
             "patience": 9.0, "api_key_env": "K", "prices": {"prompt": 1.0}}  # fmt: skip
    for name, value in speed.items():
        assert identity(**{name: value}) == same
    answers = {"model": "n", "revision": "r", "server": "vllm", "extra_body": {"a": 1},
               "prompt_kind": "completion", "sampling": Sampling(temperature=0.7)}  # fmt: skip
    for name, value in answers.items():
        assert identity(**{name: value}) != same
    assert json.loads(json.dumps(same)) == same
