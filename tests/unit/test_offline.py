"""Nothing but the fetch step asks the hub; what was not fetched ends in one quick, clear line."""

import http.server
import json
import logging
import os
import socket
import subprocess
import sys
import threading

import datasets
import mteb
import pytest
from mteb import mocks

from pteb_eval import fetch, fetch_models, hub
from pteb_eval.cli import stages
from pteb_eval.ids import digest
from pteb_eval.tasks.kept import is_kept, keep, load_kept
from pteb_eval.tasks.load import structure_for
from pteb_eval.tasks.sampling import pinned

datasets.disable_progress_bars()
MOCKS = list(dict.fromkeys(map(type, mocks.MOCK_TASK_TEST_GRID)))


@pytest.fixture
def datasets_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)


@pytest.mark.usefixtures("datasets_cache")
@pytest.mark.parametrize("cls", MOCKS, ids=lambda cls: cls.__name__)
def test_a_kept_task_is_the_task(cls):
    loaded, again = cls(), cls()
    assert not load_kept(again)
    before = dict(vars(loaded))
    loaded.load_data()
    assert keep(loaded, before)
    assert is_kept(again) and load_kept(again)
    # As the loader does: samples are drawn after loading, and must be the same.
    first, second = pinned(loaded), pinned(again)
    structure = structure_for(first)
    assert list(structure.slots(second)) == list(structure.slots(first))
    assert list(structure.inputs(second)) == list(structure.inputs(first))
    assert structure.instances(second) == structure.instances(first)


@pytest.mark.usefixtures("datasets_cache")
def test_each_part_of_a_data_set_has_its_own_copy():
    task = mteb.get_task("STS17", hf_subsets=["en-en"])
    before = dict(vars(task))
    task.dataset = {"en-en": datasets.DatasetDict({"test": datasets.Dataset.from_dict({"a": [1]})})}
    assert keep(task, before)
    assert is_kept(mteb.get_task("STS17", hf_subsets=["en-en"]))
    assert not is_kept(mteb.get_task("STS17", hf_subsets=["es-es"]))
    other = mteb.get_task("STS17", hf_subsets=["en-en"])
    other.metadata = other.metadata.model_copy(
        update={"dataset": {**other.metadata.dataset, "revision": "0" * 40}}
    )
    assert not is_kept(other)


@pytest.fixture
def silent_hub():
    """A server that takes connections and closes them without a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up():
            while True:
                try:
                    server.accept()[0].close()
                except OSError:
                    return

        threading.Thread(target=hang_up, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def offline(tmp_path, silent_hub):
    """The command line on a fresh machine without network variables, beside that server."""
    unset = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN")
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in unset and not name.lower().endswith("_proxy")
    }
    environment |= {"HF_ENDPOINT": silent_hub, "HF_HOME": str(tmp_path / "hub")}

    def call(*arguments):
        done = subprocess.run(
            [sys.executable, "-c", "from pteb_eval.cli import main; main()", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 2, done.stderr
        lines = [line for line in done.stderr.splitlines() if line.startswith("pteb-eval: ")]
        assert len(lines) == 1 and "Traceback" not in done.stderr, done.stderr
        assert not any(path.suffix != ".log" for path in tmp_path.glob("out*"))
        return lines[0]

    return call


TASK = {"mteb": "BIOSSES"}
MODEL = {
    "name": "intfloat/multilingual-e5-small",
    "revision": "fd1525a9fd15316a2d503bf26ab031a61d056e98",
    "path": None,
    "dtype": None,
    "max_length": None,
    "trust_remote_code": False,
}


def test_fetching_without_a_hub(offline):
    settings = {"task": TASK, "scope": "pteb", "max_instances": None}
    line = offline("fetch", "--settings", json.dumps(settings), "--output", "out.parquet")
    assert "BIOSSES" in line and "mteb/biosses-sts" in line and "not reached" in line
    line = offline("fetch", "--model", json.dumps(MODEL), "--output", "out.json")
    assert "multilingual-e5-small" in line and "not reached" in line


def test_embedding_what_was_not_fetched(offline, tmp_path):
    (tmp_path / "pairs.csv").write_text("sentence1,sentence2,score\nOak.,Elm.,1\nAsh.,Fir.,2\n")
    own = {"type": "sts", "name": "own", "path": str(tmp_path / "pairs.csv")}
    own["language"] = "eng-Latn"
    texts = tmp_path / "texts.parquet"
    fetch.run({"task": own, "scope": "pteb", "max_instances": None}, "", texts)
    for task, named in ((own, MODEL["name"]), (TASK, "mteb/biosses-sts")):
        settings = {"model": MODEL, "task": task, "batch_size": 8}
        line = offline(
            *("embed", "--settings", json.dumps(settings), "--texts", str(texts)),
            *("--cache", str(tmp_path / "cache"), "--output", "out.parquet"),
        )
        assert named in line and "run the fetch rules" in line


def test_the_stages_go_offline_and_fetching_does_not(monkeypatch):
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.setenv(name, "")
    stages._begin("{}", None, may_ask_hub=True)
    assert not hub.is_offline()
    stages._begin("{}", None)
    assert hub.is_offline()
    logging.disable(logging.NOTSET)  # `_begin` quiets the libraries


def test_a_packaged_model_needs_no_hub(monkeypatch, tmp_path):
    monkeypatch.setattr(hub, "reachable", lambda url: pytest.fail("asked the hub"))
    settings = {**MODEL, "name": "bag-of-tokens", "revision": None}
    fetch_models.fetch_model(settings, tmp_path / "model.json")
    found = json.loads((tmp_path / "model.json").read_text())
    assert found["name"] == found["identity"]["model"] == "bag-of-tokens"
    assert found["revision"] == found["identity"]["revision"]
    assert found["digest"] == digest(found["identity"])


def test_what_counts_as_an_answer(silent_hub):
    assert not hub.reachable(silent_hub)
    assert not hub.reachable("no address")

    class Refusing(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(503)

        def log_message(self, *args):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        assert hub.reachable(f"http://127.0.0.1:{server.server_port}")
