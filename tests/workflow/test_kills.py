"""Killed in the middle and started again: nothing finished is lost, nothing is made twice."""

import os
import signal
import subprocess
import sys
import time

import pytest
from project import CONFIG

from pteb_eval.ids import text_id
from pteb_eval.store import read_table

RUNS = 40  # of 16 texts: enough to be in the middle of them for a while
PARAPHRASES = "paraphrases/shuffler/pairs"


def test_a_paraphrase_stage_killed_at_once_loses_only_what_was_not_written_yet(project):
    command, output = project.command("paraphrase", runs=RUNS)
    before, cached = output.read_bytes(), set(project.kept("paraphrases"))
    result = project.run_until(
        lambda: len(project.kept("paraphrases")) > len(cached), signal.SIGKILL,
        *command, FAKE_DELAY="0.02",
    )  # fmt: skip
    assert result.status == -signal.SIGKILL
    assert output.read_bytes() == before
    finished = set(project.kept("paraphrases"))
    made = project.work()
    assert cached < finished
    assert len(finished) < 16 * RUNS
    assert project.run("pteb-eval", *command).status == 0
    again = project.work() - made
    assert not {("answer", key) for key in finished} & set(again)
    assert read_table(output).num_rows == 16 * RUNS
    assert sorted(project.kept("paraphrases")) == sorted(set(project.kept("paraphrases")))


@pytest.mark.parametrize("engine", ["", "llamacpp", "vllm"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stage_told_to_end_keeps_every_answer_and_waits_for_none(judged, engine, number):
    """What an LLM is busy with may take longer than the time until the stage is killed."""
    stage, kind, done = ("paraphrase", "answer", 21) if engine else ("judge", "rating", 20)
    settings = {"runs": RUNS} if stage == "paraphrase" else {"seed": 9}
    command, output = judged.command(stage, **settings)
    cache = {"paraphrase": "paraphrases", "judge": "judgements"}[stage]
    cached, started = set(judged.kept(cache)), judged.work()
    result = judged.run_until(
        lambda: (judged.work() - started).total() >= done and not time.sleep(0.5), number,
        *command, FAKE_ENGINE=engine, FAKE_STUCK=str(done),
    )  # fmt: skip
    assert result.status == 128 + number, result.output
    assert "Traceback" not in result.output
    line = f"pteb-eval: told to end ({number.name}); what was finished is kept"
    assert result.output.splitlines()[-1].startswith(line)
    made = judged.work() - started
    assert {key for _, key in made} == set(judged.kept(cache)) - cached
    assert judged.run("pteb-eval", *command, FAKE_ENGINE=engine).status == 0
    assert set((judged.work() - started).values()) == {1}
    assert {what for what, *_ in judged.work() - started - made} == {kind}
    assert read_table(output).num_rows


def test_an_embed_stage_killed_at_once_makes_no_finished_vector_again(project):
    command, paraphrases = project.command("paraphrase", runs=RUNS)
    assert project.run("pteb-eval", *command).status == 0
    command, output = project.command("embed")
    cached = set(project.kept("vectors"))
    result = project.run_until(
        lambda: set(project.kept("vectors")) > cached, signal.SIGKILL,
        *command, FAKE_DELAY="0.005",
    )  # fmt: skip
    assert result.status == -signal.SIGKILL
    finished, made = set(project.kept("vectors")) - cached, project.work()
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


def test_an_embed_stage_told_to_end_loses_at_most_the_chunk_in_the_making(project):
    command, _ = project.command("paraphrase", runs=8)
    assert project.run("pteb-eval", *command).status == 0
    command, output = project.command("embed")
    cached, started = set(project.kept("vectors")), project.work()
    result = project.run_until(
        lambda: (project.work() - started).total() >= 23, signal.SIGTERM,
        *command, FAKE_SHARD="5", FAKE_STUCK="23",
    )  # fmt: skip
    assert result.status == 128 + signal.SIGTERM, result.output
    assert result.output.splitlines()[-1].startswith("pteb-eval: told to end (SIGTERM)")
    kept = set(project.kept("vectors")) - cached
    assert len(kept) == 20
    made = project.work()
    assert project.run("pteb-eval", *command).status == 0
    assert not {text_id(text) for _, _, text in project.work() - made} & kept
    assert sum(count - 1 for count in (project.work() - started).values()) == 3
    assert read_table(output).num_rows > 20


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


@pytest.mark.parametrize(
    ("number", "send"), [(signal.SIGINT, os.killpg), (signal.SIGTERM, os.kill)]
)
def test_a_run_that_is_interrupted_leaves_its_folder_unlocked(project, number, send):
    """Ctrl-C reaches all programs of a terminal, SIGTERM the one that was started."""
    project.configure({**CONFIG, "runs": 6})
    started, cached = project.work(), set(project.kept("paraphrases"))
    result = project.run_until(
        lambda: project.work() != started, number,
        "run", "my.yaml", "--cores", "1", program="real-pteb-eval", send=send, FAKE_DELAY="0.05",
    )  # fmt: skip
    assert result.status != 0
    assert "Traceback" not in result.output
    kept = set(project.kept("paraphrases"))
    made = project.work()
    result = project.snakemake("--cores", "2", "results/small/paraphrases/shuffler/pairs.parquet")
    assert result.status == 0, result.output
    assert not {("answer", key) for key in kept} & set(project.work() - made)
    if number == signal.SIGTERM:  # Snakemake waits for its jobs then
        assert kept > cached
        assert set(project.work().values()) == {1}
