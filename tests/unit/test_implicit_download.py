"""Downloads: resumed, checked, and in one line when they fail; from a server on loopback."""

import hashlib
import http.server
import threading

import datasets
import pytest
from suite_files import write_pub

from pteb_eval import fetch
from pteb_eval.errors import UserError
from pteb_eval.implicit import download as module
from pteb_eval.implicit.catalogue import entry
from pteb_eval.implicit.download import check_kept, digest_file, download
from pteb_eval.tasks.load import load_task

CONTENT = bytes(range(256)) * 2000  # 512 kB
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves the server's `content`; breaks off as often as `breaks` says."""

    def do_GET(self):
        server = self.server
        server.ranges.append(self.headers.get("Range"))
        if server.status != 200:
            self.send_error(server.status)
            return
        start, tag = 0, f'"{hashlib.sha256(server.content).hexdigest()}"'
        asked = self.headers.get("Range")
        same = self.headers.get("If-Range", tag) == tag
        if asked and server.can_resume and same:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
        if start and start >= len(server.content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(server.content)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = server.content[start:]
        self.send_response(206 if start else 200)
        if start:
            total = len(server.content)
            self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", server.kind)
        if server.has_tag:
            self.send_header("ETag", tag)
        self.end_headers()
        if server.breaks:
            server.breaks -= 1
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self.close_connection = True
        else:
            self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(module, "_FIRST_WAIT", 0.0)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        found.content, found.status, found.kind = CONTENT, 200, "application/zip"
        found.breaks, found.can_resume, found.has_tag, found.ranges = 0, True, True, []
        found.url = f"http://127.0.0.1:{found.server_port}/data.zip"
        threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True).start()
        yield found
        found.shutdown()


def left(folder):
    """All files but locks."""
    return sorted(path.name for path in folder.rglob("*") if not path.name.endswith(".lock"))


def failure(server, target, sha256=None):
    with pytest.raises(UserError) as error:
        download(server.url, target, sha256)
    assert server.url in str(error.value) and "\n" not in str(error.value)
    return str(error.value)


def test_a_file_and_its_digest(server, tmp_path):
    target = tmp_path / "deep" / "data.zip"
    download(server.url, target, SHA256)
    assert target.read_bytes() == CONTENT
    assert digest_file(target).read_text().strip() == SHA256
    assert left(target.parent) == ["data.zip", "data.zip.sha256"]
    download(server.url, target, SHA256)
    assert len(server.ranges) == 1  # it is there


def test_an_interrupted_download_goes_on_where_it_stopped(server, tmp_path):
    server.breaks = 2
    download(server.url, tmp_path / "data.zip")
    assert (tmp_path / "data.zip").read_bytes() == CONTENT
    half, quarter = len(CONTENT) // 2, len(CONTENT) // 4
    assert server.ranges == [None, f"bytes={half}-", f"bytes={half + quarter}-"]


def test_it_goes_on_in_the_next_run(server, tmp_path):
    server.breaks = 100
    line = failure(server, tmp_path / "data.zip")
    assert "run again, it goes on from there" in line
    assert not (tmp_path / "data.zip").exists()
    server.breaks, server.ranges = 0, []
    download(server.url, tmp_path / "data.zip")
    assert (tmp_path / "data.zip").read_bytes() == CONTENT
    assert server.ranges[0].startswith("bytes=4")


@pytest.mark.parametrize("change", ["content", "can_resume", "has_tag"])
def test_parts_of_another_file_are_never_put_together(server, tmp_path, change):
    server.has_tag = change != "has_tag"
    server.breaks = 100
    failure(server, tmp_path / "data.zip")
    server.breaks = 0
    server.content = CONTENT[::-1]
    server.can_resume = change != "can_resume"
    download(server.url, tmp_path / "data.zip")
    assert (tmp_path / "data.zip").read_bytes() == CONTENT[::-1]


def test_a_wrong_checksum_leaves_nothing(server, tmp_path):
    line = failure(server, tmp_path / "data.zip", "0" * 64)
    assert SHA256 in line and "0" * 64 in line
    assert left(tmp_path) == []


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_refusal_is_told_at_once(server, tmp_path, status):
    server.status = status
    assert f"the server answered {status}" in failure(server, tmp_path / "data.zip")
    assert len(server.ranges) == 1
    assert left(tmp_path) == []


def test_a_busy_server_is_asked_again(server, tmp_path):
    server.status = 503
    assert "503" in failure(server, tmp_path / "data.zip")
    assert len(server.ranges) == module.ATTEMPTS


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/octet-stream"])
def test_a_web_page_is_not_data(server, tmp_path, kind):
    server.kind, server.content = kind, b"  <!DOCTYPE html><html>Log in</html>"
    assert "a web page came in place of data" in failure(server, tmp_path / "data.zip")
    assert "data.zip" not in left(tmp_path)


def test_no_server(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_FIRST_WAIT", 0.0)
    with pytest.raises(UserError, match="not downloaded"):
        download("http://127.0.0.1:9/x.zip", tmp_path / "x.zip")


def test_a_kept_file_that_changed_is_noticed(server, tmp_path):
    target = tmp_path / "data.zip"
    download(server.url, target)
    check_kept(target)
    target.write_bytes(CONTENT[:-1])
    with pytest.raises(UserError, match="changed since it was downloaded"):
        check_kept(target)


@pytest.fixture
def pub(server, tmp_path, monkeypatch):
    """pub-1 as it would come from the hub, and where it is kept."""
    server.content = write_pub(tmp_path / "made", "task_1").read_bytes()
    monkeypatch.setitem(entry("pub-1").dataset.files, "task_1.zip", {"url": server.url})
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "hub"))
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "hub" / "pteb_eval" / "implicit" / "pub"


FETCH = {"task": {"implicit": "pub-1"}, "scope": "pteb", "max_instances": None}


def test_the_fetch_stage_downloads_and_later_stages_read_what_it_left(server, pub, tmp_path):
    fetch.run(FETCH, "", tmp_path / "texts.parquet")
    assert left(pub) == ["task_1.zip", "task_1.zip.sha256"]
    server.status = 404
    task = load_task(FETCH["task"])
    assert len(task.dataset["train"]) + len(task.dataset["test"]) < 40  # and the dev split
    assert len(server.ranges) == 1
    (pub / "task_1.zip").write_bytes(b"")
    with pytest.raises(UserError, match="changed since it was downloaded"):
        load_task(FETCH["task"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"breaks": 100}, "not downloaded"),
        ({"status": 404}, "the server answered 404"),
        ({"content": b"<html>Accept the terms</html>"}, "a web page came"),
        ({"content": b"no archive"}, "not a whole archive"),
    ],
)
def test_a_failed_fetch_leaves_no_texts(server, pub, tmp_path, change, message):
    for name, value in change.items():
        setattr(server, name, value)
    with pytest.raises(UserError, match=message):
        fetch.run(FETCH, "", tmp_path / "texts.parquet")
    assert not list(tmp_path.glob("*.parquet"))
    if "content" not in change or b"html" in change["content"]:
        assert "task_1.zip" not in left(pub)


def test_what_was_not_fetched_is_never_asked_for_later(server, pub, monkeypatch):
    with pytest.raises(UserError, match="run the fetch rules where there is a network"):
        load_task(FETCH["task"])
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match="run the fetch rules where there is a network"):
        load_task(FETCH["task"], fetching=True)
    assert server.ranges == []
