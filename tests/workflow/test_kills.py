"""Killed in the middle and started again: nothing finished is lost, nothing is made twice."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from project import CONFIG, FAKES

from pteb_eval.ids import text_id
from pteb_eval.store import read_table

RUNS = 40  # of 16 texts: enough to be in the middle of them for a while
PARAPHRASES = "paraphrases/shuffler/pairs"


def arguments(project, stage, runs=RUNS):
    """A stage of the finished run, called again for more runs, as a rule calls it."""
    results = project.results
    common = ["--texts", str(results / "texts" / "pairs.parquet"), "--cache", "results/cache"]
    if stage == "paraphrase":
        settings = {**project.settings_of(PARAPHRASES), "runs": runs}
        output = results / f"{PARAPHRASES}.parquet"
    else:
        settings = project.settings_of("embeddings/fake-a/shuffler/pairs")
        common += ["--paraphrases", str(results / f"{PARAPHRASES}.parquet")]
        output = results / "embeddings" / "fake-a" / "shuffler" / "pairs.parquet"
    return [stage, "--settings", json.dumps(settings), *common, "--output", str(output)], output


def kept(project, kind):
    """What the caches hold of one kind, by key."""
    keys = []
    for path in (project.folder / "results" / "cache" / kind).rglob("shard-*.parquet"):
        keys += read_table(path)["key"].to_pylist()
    return keys


def run_until(project, command, number, condition, **env):
    """Run a stage; send it a signal as soon as the condition holds."""
    ended = []

    def watch(pid):
        def wait():
            while not condition() and not ended:
                time.sleep(0.02)
            if not ended:
                os.kill(pid, number)

        threading.Thread(target=wait).start()

    result = project.run("pteb-eval", *command, on_start=watch, **env)
    ended.append(True)
    return result


def test_a_paraphrase_stage_killed_at_once_loses_only_what_was_not_written_yet(project):
    command, output = arguments(project, "paraphrase")
    before, cached = output.read_bytes(), set(kept(project, "paraphrases"))
    result = run_until(
        project, command, signal.SIGKILL,
        lambda: len(kept(project, "paraphrases")) > len(cached), FAKE_DELAY="0.02",
    )  # fmt: skip
    assert result.status == -signal.SIGKILL
    assert output.read_bytes() == before
    finished = set(kept(project, "paraphrases"))
    made = project.work()
    assert cached < finished
    assert len(finished) < 16 * RUNS
    assert project.run("pteb-eval", *command).status == 0
    again = project.work() - made
    assert not {("answer", key) for key in finished} & set(again)
    assert read_table(output).num_rows == 16 * RUNS
    assert sorted(kept(project, "paraphrases")) == sorted(set(kept(project, "paraphrases")))


def test_a_paraphrase_stage_told_to_end_keeps_every_answer(project):
    command, output = arguments(project, "paraphrase")
    cached = len(kept(project, "paraphrases"))
    started = len(project.work())
    result = run_until(
        project, command, signal.SIGTERM,
        lambda: len(project.work()) > started + 60, FAKE_DELAY="0.02",
    )  # fmt: skip
    assert result.status == 128 + signal.SIGTERM, result.output
    assert "Traceback" not in result.output
    answered = len(project.work()) - started
    # The answer in the making when the signal came is the only one that may be missing.
    assert answered - 1 <= len(kept(project, "paraphrases")) - cached <= answered
    assert project.run("pteb-eval", *command).status == 0
    assert sum(count - 1 for count in project.work().values()) <= 1
    assert read_table(output).num_rows == 16 * RUNS


def test_an_embed_stage_killed_at_once_makes_no_finished_vector_again(project):
    command, paraphrases = arguments(project, "paraphrase")
    assert project.run("pteb-eval", *command).status == 0
    command, output = arguments(project, "embed")
    cached = set(kept(project, "vectors"))
    result = run_until(
        project, command, signal.SIGKILL,
        lambda: set(kept(project, "vectors")) > cached, FAKE_DELAY="0.005",
    )  # fmt: skip
    assert result.status == -signal.SIGKILL
    finished, made = set(kept(project, "vectors")) - cached, project.work()
    assert project.run("pteb-eval", *command).status == 0
    again = {text_id(text) for _, _, text in project.work() - made}
    assert finished
    assert again
    assert not finished & again
    usable = [row for row in read_table(paraphrases).to_pylist() if row["status"] == "ok"]
    texts = set(read_table(project.results / "texts" / "pairs.parquet")["text_id"].to_pylist())
    wanted = {text_id(row["paraphrase"]) for row in usable} - texts
    assert set(read_table(output)["text_id"].to_pylist()) == wanted
    assert wanted <= cached | finished | again


@pytest.fixture
def slow_package(tmp_path):
    """A package with a model file of 40 parts, which takes its time to put it together."""
    code = """
import hashlib, time
PARTS = [bytes([number]) * 1000 for number in range(40)]
MODEL_NAME = "slow.gguf"
EXPECTED_SHA256 = hashlib.sha256(b"".join(PARTS)).hexdigest()

def assemble(path):
    with open(path, "wb") as file:
        for part in PARTS:
            file.write(part)
            file.flush()
            time.sleep(DELAY)
"""
    (tmp_path / "packages").mkdir()

    def write(delay):
        (tmp_path / "packages" / "slow_gguf.py").write_text(code.replace("DELAY)", f"{delay})"))
        return tmp_path / "packages"

    return write


def test_a_model_file_killed_while_it_is_put_together_is_made_whole_the_next_time(
    tmp_path, slow_package
):
    call = (
        "from pathlib import Path\n"
        "from pteb_eval.paraphrase.engines.packaged import gguf_from_package\n"
        "print(gguf_from_package('slow-gguf', Path('models')).stat().st_size)\n"
    )

    def start(delay):
        path = os.pathsep.join([str(slow_package(delay)), *sys.path])
        return subprocess.Popen(
            [sys.executable, "-c", call], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip

    models = tmp_path / "models"
    first = start(0.1)
    while not (list(models.glob(".*.tmp")) and next(models.glob(".*.tmp")).stat().st_size > 3000):
        assert first.poll() is None
        time.sleep(0.02)
    first.kill()
    first.communicate()
    assert not (models / "slow.gguf").exists()
    second = start(0)
    assert second.communicate()[0].strip() == "40000"
    assert second.returncode == 0


def test_a_workflow_killed_with_all_its_jobs_goes_on_where_it_was(project):
    project.configure({**CONFIG, "runs": RUNS})
    target = str((project.results / f"{PARAPHRASES}.parquet").relative_to(project.folder))
    # Without the server: its forks would live on.
    programs = project.folder / "alone"
    programs.mkdir()
    script = programs / "pteb-eval"
    faked = FAKES / "pteb_eval_faked.py"
    script.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{faked}' \"$@\"\n")
    script.chmod(0o755)
    env = project.environment(FAKE_DELAY="0.02")
    env["PATH"] = os.pathsep.join([str(programs), env["PATH"]])
    command = [sys.executable, "-m", "snakemake", "--configfile", "my.yaml", "--cores", "2", target]
    cached = len(kept(project, "paraphrases"))
    with (project.folder / "log").open("wb") as log:
        workflow = subprocess.Popen(
            command, cwd=project.folder, env=env, stdout=log, stderr=log, start_new_session=True
        )
        while len(kept(project, "paraphrases")) == cached:
            assert workflow.poll() is None, (project.folder / "log").read_text()
            time.sleep(0.05)
        os.killpg(workflow.pid, signal.SIGKILL)
        workflow.wait()
    finished, made = set(kept(project, "paraphrases")), project.work()
    assert len(finished) < 16 * RUNS

    locked = project.snakemake("--cores", "2", target)
    assert locked.status != 0
    assert "--unlock" in locked.output
    assert project.snakemake("--unlock", "--cores", "1").status == 0
    result = project.snakemake("--cores", "2", target)
    assert result.status == 0, result.output
    again = project.work() - made
    assert not {("answer", key) for key in finished} & set(again)
    assert read_table(project.folder / target).num_rows == 16 * RUNS
