"""A key of an endpoint stands in no file, log or message, whatever the endpoint does with it."""

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest
from project import CONFIG

KEY = "sk-canary/7f3a9c+5e1b8d2460-QWxhZGRpbjpvcGVu"
TRACES = [
    KEY,
    KEY[:14],
    KEY[-14:],
    quote(KEY, safe=""),
    base64.b64encode(KEY.encode())[:40].decode(),
]


class Handler(BaseHTTPRequestHandler):
    """Repeats the key in all that it says; `server.mode` says how it fails."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.answer(401 if self.server.mode == "refuses" else 200, {"error": f"bad key {KEY}"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        server.keys.add(self.headers["Authorization"])
        with server.lock:
            server.n_asked += 1
            fails = server.mode == "fails" or (
                server.mode == "flaky" and body["seed"] not in server.seen
            )
            server.seen.add(body["seed"])
        if fails:
            # The message is cut after 300 characters, which must not leave half a key.
            padding = "x" * (250 + server.n_asked % 60)
            return self.answer(500, {"error": {"message": f"{padding} {KEY} {KEY}"}})
        prompt = body["messages"][0]["content"]
        text = '{"answer": "4"}' if "response_format" in body else f"{prompt[-40:]} ({KEY})"
        choice = {"finish_reason": "stop", "message": {"content": text}}
        return self.answer(200, {"choices": [choice], "usage": None})

    def answer(self, status, content):
        payload = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.mode, running.n_asked = "refuses", 0
        running.keys, running.seen = set(), set()
        running.lock, running.daemon_threads = threading.Lock(), True
        thread = threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def config(server, **options):
    asked = {
        "engine": "openai",
        "model": "m",
        "options": {
            "base_url": f"http://127.0.0.1:{server.server_address[1]}/v1",
            "api_key_env": "CANARY_KEY",
            "attempts": 2,
            "patience": 5,  # seconds: a busy server may drop a connection
            **options,
        },
    }
    prompts = "resources/prompts"
    generator = {"name": "asked", **asked, "prompts": [f"{prompts}/paraphrase_chat.yaml"]}
    judge = {"name": "judge", **asked, "prompt": f"{prompts}/judge_chat.yaml"}
    few = {"tasks": CONFIG["tasks"][:1], "models": CONFIG["models"][:1]}
    return {**CONFIG, **few, "name": "secret", "generators": [generator], "judges": [judge]}


def holding(project, *outputs):
    """What holds a trace of the key: files, with what Parquet has packed in them, and outputs."""
    found = [text[:200] for text in outputs if any(trace in text for trace in TRACES)]
    for path in project.folder.rglob("*"):
        if not path.is_file() or path.is_symlink():
            continue
        content = path.read_bytes().decode("latin-1") + path.name
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            content += str(table.schema.metadata) + str(table.to_pylist())
        found += [str(path)] * any(trace in content for trace in TRACES)
    return found


@pytest.mark.timeout(900)  # three runs of the workflow
def test_a_key_is_in_no_file_log_or_message(project, server):
    arguments = ("--cores", "2", "--printshellcmds", "--keep-going")
    outputs = []
    for mode, status, message in [
        ("refuses", 1, "key refused (HTTP 401; options.api_key_env: CANARY_KEY)"),
        ("fails", 1, "16 requests in a row were given up"),
        ("flaky", 0, ""),
    ]:
        server.mode, server.seen = mode, set()
        project.configure(config(server))
        result = project.snakemake(*arguments, CANARY_KEY=KEY)
        assert result.status == status, result.output
        assert message in result.output
        assert "Traceback" not in result.output
        outputs.append(result.output)
        assert holding(project, *outputs) == []
    assert server.keys == {f"Bearer {KEY}"}
    folder = project.folder / "results" / "secret"
    rows = pq.read_table(folder / "paraphrases" / "asked" / "pairs.parquet").to_pylist()
    assert len(rows) == 32 and all("[key]" in row["raw"][0] for row in rows)
    assert (folder / "report.html").is_file() and (
        project.folder / ".snakemake" / "metadata"
    ).is_dir()
    (project.folder / "leak").write_text(f"x{KEY[:20]}")
    assert holding(project) == [str(project.folder / "leak")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_url": f"https://user:{KEY}@example.org/v1"}, "base_url: an address without user"),
        ({"base_url": f"https://example.org/v1?key={KEY}"}, "base_url: an address without user"),
        ({"api_key_env": KEY}, "api_key_env: the name of an environment variable, not the key"),
        ({"api_key": KEY}, "api_key: a secret in a configuration"),
        (
            {"extra_body": {"headers": [{"Authorization": KEY}]}},
            "Authorization: a secret in a conf",
        ),
    ],
)
def test_a_key_in_the_configuration_is_refused_and_not_repeated(project, server, options, message):
    project.configure(config(server, **options))
    for program, arguments, status in [
        ("snakemake", ("--configfile", "my.yaml", "--cores", "1"), 1),
        ("pteb-eval", ("plan", "my.yaml"), 2),
    ]:
        result = project.run(program, *arguments)
        assert result.status == status and message in result.output, result.output
        project.folder.joinpath("my.yaml").unlink()
        assert holding(project, result.output) == []
        project.configure(config(server, **options))
