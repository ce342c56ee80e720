"""Mistakes of users: one line that says what to do, a status that is not 0, and nothing written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAIRS = "sentence1,sentence2,score\nA dog runs.,A dog is running.,4.5\nA cat.,A car.,1\n"
TASK = {"type": "sts", "name": "mine", "language": "eng-Latn"}
MODEL = {
    "revision": None, "path": None, "dtype": None, "max_length": None, "trust_remote_code": False,
}  # fmt: skip


def call(*arguments, cwd, **environment):
    """Run the command line as a rule does; (status, lines of standard error)."""
    done = subprocess.run(
        [sys.executable, "-c", "from pteb_eval.cli import main; main()", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "HF_HUB_OFFLINE": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stderr.strip().splitlines()


def fetch(tmp_path, task, **environment):
    settings = json.dumps({"task": task, "scope": "pteb", "max_instances": None})
    return call(
        "fetch", "--settings", settings, "--output", tmp_path / "out" / "t.parquet", cwd=tmp_path,
        **environment,
    )  # fmt: skip


def assert_refused(tmp_path, result, *parts):
    status, lines = result
    assert status == 2, lines
    assert lines[-1].startswith("pteb-eval: ")
    for part in parts:
        assert part in lines[-1]
    assert not any("Traceback" in line for line in lines)
    assert not (tmp_path / "out" / "t.parquet").exists()


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (PAIRS.replace("score", "rating"), ["pairs.csv", "score"]),
        (PAIRS.replace("4.5", "7"), ["pairs.csv", "line 2", "7"]),
        (PAIRS.replace("4.5", "high"), ["pairs.csv", "line 2", "high"]),
        (PAIRS.replace("A cat.", " "), ["pairs.csv", "line 3"]),
    ],
    ids=["missing column", "score outside the range", "no number", "empty text"],
)
def test_a_bad_file_is_named_with_its_line(tmp_path, content, parts):
    (tmp_path / "pairs.csv").write_text(content, encoding="utf-8")
    assert_refused(tmp_path, fetch(tmp_path, {**TASK, "path": "pairs.csv"}), *parts)


def test_a_pair_that_repeats_is_counted_kept_and_said(tmp_path):
    (tmp_path / "pairs.csv").write_text(PAIRS + PAIRS.splitlines()[1] + "\n", encoding="utf-8")
    status, lines = fetch(tmp_path, {**TASK, "path": "pairs.csv"})
    assert status == 0
    assert any("pairs that repeat an earlier one, kept: 1" in line for line in lines)


def test_an_unknown_mteb_task_has_near_matches(tmp_path):
    assert_refused(tmp_path, fetch(tmp_path, {"mteb": "STSBenchmrk"}), "STSBenchmark")


@pytest.mark.parametrize(
    ("model", "parts"),
    [
        ({"name": "mine", "path": "folder"}, ["folder", "no model folder"]),
        ({"name": "nobody/nothing"}, ["nobody/nothing"]),
    ],
    ids=["a folder that is no model", "no network"],
)
def test_a_model_that_cannot_be_had_is_named(tmp_path, model, parts):
    (tmp_path / "folder").mkdir()
    (tmp_path / "pairs.csv").write_text(PAIRS, encoding="utf-8")
    task = {**TASK, "path": "pairs.csv"}
    assert fetch(tmp_path, task)[0] == 0
    texts = (tmp_path / "out" / "t.parquet").rename(tmp_path / "texts.parquet")
    settings = json.dumps({"model": {**MODEL, **model}, "task": task, "batch_size": 8})
    result = call(
        "embed", "--settings", settings, "--texts", texts, "--cache", "cache",
        "--output", tmp_path / "out" / "t.parquet", cwd=tmp_path,
    )  # fmt: skip
    assert_refused(tmp_path, result, *parts)
    assert not (tmp_path / "cache").exists()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own of 64 KiB, where this process may mount one."""
    folder = tmp_path / "out"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting a file system needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_said_and_leaves_nothing_half_written(tmp_path, small_disk):
    import random

    words = random.Random(1)
    rows = "".join(f"{words.random()} a,{words.random()} b,1\n" for _ in range(20_000))
    (tmp_path / "pairs.csv").write_text("sentence1,sentence2,score\n" + rows, encoding="utf-8")
    result = fetch(tmp_path, {**TASK, "path": "pairs.csv"})
    assert_refused(tmp_path, result, "t.parquet", "the disk is full")
    assert list(small_disk.iterdir()) == []


def test_a_read_only_folder_is_said(tmp_path, small_disk):
    (tmp_path / "pairs.csv").write_text(PAIRS, encoding="utf-8")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    result = fetch(tmp_path, {**TASK, "path": "pairs.csv"})
    assert_refused(tmp_path, result, "t.parquet", "read-only")


def test_settings_that_are_no_json_are_said(tmp_path):
    result = call("fetch", "--settings", "{", "--output", "out/t.parquet", cwd=tmp_path)
    assert_refused(tmp_path, result, "--settings", "not JSON")
