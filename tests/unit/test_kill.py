"""Workers killed in the middle: what was finished is neither lost nor made again."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from pteb_eval.fetch import SCHEMA as TEXTS
from pteb_eval.ids import text_id
from pteb_eval.store import ShardStore, read_table, write_table

SENTENCES = [f"Sentence number {i} speaks of the sea." for i in range(40)]
WORKER = """
import sys, time
from pathlib import Path
from pteb_eval.paraphrase import answers, stage
from pteb_eval.paraphrase.engines import Completion

folder, pause = Path(sys.argv[1]), float(sys.argv[2])

class SlowEngine:
    def __enter__(self): return self
    def __exit__(self, *exc): pass
    def generate(self, requests):
        for request in requests:
            time.sleep(pause)
            with (folder / "made.log").open("a") as log:
                log.write(request.key + "\\n")
            yield Completion(request.key, f"By the sea one speaks of {request.seed}.", "stop", 5, 7)

answers.FIRST_FLUSH = answers.LAST_FLUSH = 0.2
stage.load_engine = lambda settings, cache_dir: SlowEngine()
stage.engine_identity = lambda settings: {"engine": "slow"}
import pteb_eval.cli, signal
signal.signal(signal.SIGTERM, pteb_eval.cli._terminate)
settings = {
    "task": "sea", "generator": "slow", "engine": "llamacpp", "model": "m", "revision": None,
    "sampling": {}, "attempts": 1, "seed": 1, "runs": 3, "max_failure_rate": 0.0,
    "prompts": [{"name": "p", "version": 1, "kind": "completion", "template": "{text}"}],
}
stage.run(settings, folder / "texts.parquet", folder / "cache", folder / "out.parquet", {})
"""


@pytest.fixture
def folder(tmp_path):
    rows = [
        {"text_id": text_id(t), "text": t, "languages": ["eng-Latn"], "reworded": True, "slots": []}
        for t in SENTENCES
    ]
    names = {"language_names": {"eng-Latn": "English"}}
    write_table(tmp_path / "texts.parquet", pa.Table.from_pylist(rows, TEXTS), names)
    return tmp_path


def start(folder, pause):
    return subprocess.Popen([sys.executable, "-c", WORKER, str(folder), str(pause)])


def made(folder) -> list[str]:
    log = folder / "made.log"
    return log.read_text().split() if log.exists() else []


def kept(folder) -> set[str]:
    (root,) = (folder / "cache" / "paraphrases").iterdir()
    schema = pa.schema([("key", pa.string())])
    return ShardStore(root, schema).known(made(folder))


def stop_in_the_middle(folder: Path, number: int) -> None:
    worker = start(folder, 0.02)
    end = time.monotonic() + 60
    while len(made(folder)) < 45 and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(worker.pid, number)
    worker.wait(30)


def test_after_kill_9_no_kept_paraphrase_is_made_again(folder):
    stop_in_the_middle(folder, signal.SIGKILL)
    before = kept(folder)
    assert 0 < len(before) < 3 * len(SENTENCES)
    assert not (folder / "out.parquet").exists()
    assert start(folder, 0).wait(60) == 0
    counts = Counter(made(folder))
    assert len(counts) == 3 * len(SENTENCES)
    assert all(counts[key] == 1 for key in before)
    rows = read_table(folder / "out.parquet")
    assert rows.num_rows == 3 * len(SENTENCES)
    assert set(rows["status"].to_pylist()) == {"ok"}


def test_sigterm_loses_nothing_that_was_finished(folder):
    stop_in_the_middle(folder, signal.SIGTERM)
    finished = made(folder)
    # The one in flight may have been counted as made a moment before its answer was handed over.
    assert len(set(finished) - kept(folder)) <= 1
    assert start(folder, 0).wait(60) == 0
    assert sum(Counter(made(folder)).values()) <= 3 * len(SENTENCES) + 1


EMBED_WORKER = """
import sys, time
from pathlib import Path
import numpy as np
from pteb_eval.embed import vectors

folder, pause = Path(sys.argv[1]), float(sys.argv[2])

def encode(texts):
    time.sleep(pause)
    with (folder / "made.log").open("a") as log:
        log.write("".join(vectors.text_id(text) + "\\n" for text in texts))
    return np.ones((len(texts), 4), dtype=np.float32)

vectors.FIRST_CHUNK = vectors.LAST_CHUNK = 5
cache = vectors.VectorCache(folder / "cache", {"model": "m"}, "")
texts = [f"text {i}" for i in range(100)]
for _ in cache.fill(texts, encode, lambda texts: None):
    pass
assert cache.lookup(texts).num_rows == 100
"""


def test_after_kill_9_no_kept_vector_is_made_again(tmp_path):
    def worker(pause):
        return subprocess.Popen([sys.executable, "-c", EMBED_WORKER, str(tmp_path), str(pause)])

    first = worker(0.1)
    end = time.monotonic() + 60
    while len(made(tmp_path)) < 30 and time.monotonic() < end:
        time.sleep(0.01)
    first.kill()
    first.wait(30)
    (root,) = (tmp_path / "cache" / "vectors").iterdir()
    before = ShardStore(root, pa.schema([("key", pa.string())])).known(made(tmp_path))
    assert 0 < len(before) < 100
    assert worker(0).wait(60) == 0
    counts = Counter(made(tmp_path))
    assert len(counts) == 100
    assert all(counts[key] == 1 for key in before)
