"""What goes wrong around a workflow: damage, two at once, the clock, another place."""

import os
import re
import shutil
import subprocess
import threading
import time

import pytest
import yaml
from project import CONFIG, ROOT, Project

from pteb_eval.ids import text_id
from pteb_eval.store import provenance_of, read_table

DAY = 86400
SET_TO_PRESENT = "find . -newermt now -type f -exec touch {} +"


def nothing_to_do(project, *targets):
    result = project.snakemake("--dry-run", "--quiet", "host", "--", *targets)
    assert result.status == 0, result.output
    assert "Nothing to be done" in result.output, result.output


def jobs_of(result):
    """Rule, and what a dry run says of it."""
    return re.findall(r"^(?:local)?rule (\w+):\n((?:    .*\n)*)", result.output, re.MULTILINE)


# Damage


def cut_off(raw):
    return raw[: len(raw) * 2 // 3]


def flipped(raw):
    """One bit in the footer, which says what the pages mean."""
    place = len(raw) - 100
    return raw[:place] + bytes([raw[place] ^ 4]) + raw[place + 1 :]


def damage(path, how):
    """As a disk does it: the file looks no newer."""
    times = path.stat()
    path.write_bytes(how(path.read_bytes()))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("how", [cut_off, flipped])
@pytest.mark.parametrize(
    "name",
    ["texts/pairs", "paraphrases/shuffler/pairs", "embeddings/fake-a/original/pairs",
     "embeddings/fake-a/shuffler/pairs"],
)  # fmt: skip
def test_a_damaged_output_is_named_and_not_used(project, name, how):
    damage(project.results / f"{name}.parquet", how)
    arguments, output = project.command("score", output=project.folder / "new.parquet")
    result = project.run("pteb-eval", *arguments)
    assert result.status == 2, result.output
    assert f"{name}.parquet: unreadable (" in result.output.splitlines()[-1]
    assert "Traceback" not in result.output
    assert not output.exists()


@pytest.mark.parametrize(
    ("name", "rule"),
    [("scores/fake-a/shuffler/pairs.parquet", "test"), ("tables/summary.csv", "report")],
)
def test_what_is_damaged_stops_the_workflow_and_deleted_is_made_again(project, name, rule):
    """And nothing else than what follows from it."""
    whole, work = project.contents(), project.work()
    damage(project.results / name, cut_off)
    result = project.snakemake("--cores", "2", "--forcerun", rule)
    assert result.status != 0
    assert f"pteb-eval: results/small/{name}: " in result.output
    assert "Traceback" not in result.output
    (project.results / name).unlink()
    result = project.snakemake("--cores", "2")
    assert result.status == 0, result.output
    assert project.contents() == whole
    assert project.work() == work


def test_a_damaged_shard_moved_away_costs_its_own_rows(project):
    arguments, output = project.command("embed")
    whole, work = read_table(output), project.work()
    keys = set(whole["text_id"].to_pylist())
    for shard in (project.folder / "results" / "cache" / "vectors").rglob("shard-*.parquet"):
        table = read_table(shard)
        own = set(table["key"].to_pylist())
        if keys & own and provenance_of(table.schema)["encoder"]["model"] == "fake-a":
            break
    damage(shard, flipped)
    result = project.run("pteb-eval", *arguments)
    assert result.status == 2, result.output
    assert f"{shard.name}: unreadable cache shard (" in result.output.splitlines()[-1]
    assert project.work() == work
    shard.rename(project.folder / shard.name)
    result = project.run("pteb-eval", *arguments)
    assert result.status == 0, result.output
    assert {text_id(text) for _, _, text in project.work() - work} == keys & own
    assert read_table(output).equals(whole)


# A job that fails


def test_a_job_that_failed_after_a_change_is_not_forgotten(project):
    """Snakemake takes its output away; without it nothing would seem to be left to do."""
    project.configure({**CONFIG, "runs": 3})
    shards = (project.folder / "results" / "cache" / "paraphrases").rglob("shard-*.parquet")
    whole = {shard: shard.read_bytes() for shard in shards}
    for shard in whole:
        damage(shard, cut_off)
    assert project.snakemake("--cores", "2").status != 0
    assert not (project.results / "paraphrases" / "shuffler" / "pairs.parquet").exists()
    for shard, content in whole.items():
        shard.write_bytes(content)
    result = project.snakemake("--dry-run", "--quiet", "host")
    assert {rule for rule, _ in jobs_of(result)} == {
        "all", "paraphrase", "embed_paraphrases", "score_paraphrases", "test", "rank", "plot",
        "report",
    }  # fmt: skip
    assert len(jobs_of(result)) == 2 + 4 + 4 + 5


# A disk that is full or may not be written


@pytest.fixture
def full(small_disk):
    """The small disk with 24 kB left."""
    (small_disk.folder / "filling").write_bytes(bytes(40 * 1024))
    return small_disk


def test_a_disk_that_is_full_for_vectors_loses_the_shard_in_the_making(project, full):
    arguments, _ = project.command("paraphrase", runs=40)
    assert project.run("pteb-eval", *arguments).status == 0
    arguments, output = project.command("embed", cache=full.folder / "cache")
    result = project.run("pteb-eval", *arguments, FAKE_SHARD="20")
    assert result.status == 2, result.output
    assert "shard-" in result.output.splitlines()[-1]
    assert "the disk is full: free some space and run again" in result.output.splitlines()[-1]
    shards = list((full.folder / "cache").rglob("shard-*.parquet"))
    kept = {key for path in shards for key in read_table(path)["key"].to_pylist()}
    made = project.work()
    assert len(kept) > 0
    assert not list(full.folder.rglob("*.tmp"))
    full.mount("remount,size=16m")
    result = project.run("pteb-eval", *arguments)
    assert result.status == 0, result.output
    assert not {text_id(text) for _, _, text in project.work() - made} & kept
    assert set(read_table(output)["text_id"].to_pylist()) > kept


def test_a_disk_that_is_full_for_scores_leaves_none(project, full):
    (full.folder / "rest").write_bytes(bytes(20 * 1024))
    arguments, _ = project.command("score", output=full.folder / "new.parquet")
    result = project.run("pteb-eval", *arguments)
    assert result.status == 2, result.output
    assert "the disk is full: free some space and run again" in result.output.splitlines()[-1]
    assert "Traceback" not in result.output
    assert {path.name for path in full.folder.iterdir()} == {"filling", "rest"}


def test_a_temporary_folder_that_is_full_is_named(project, full):
    """There mteb writes what it predicts; there is room for a folder and for no file in it."""
    if not full.mount("remount,nr_inodes=3"):
        pytest.skip("this system cannot count the files of a small disk")
    arguments, output = project.command("score", output=project.folder / "new.parquet")
    result = project.run("pteb-eval", *arguments, TMPDIR=str(full.folder))
    assert result.status == 2, result.output
    assert f"pteb-eval: {full.folder}: the disk is full: " in result.output.splitlines()[-1]
    assert "Traceback" not in result.output
    assert not output.exists()


def test_a_complete_cache_may_be_read_only(project, small_disk):
    """Somebody else's, say: what is in it is used, and what is not stops with one line."""
    small_disk.mount("remount,size=16m")
    shutil.copytree(project.folder / "results" / "cache", small_disk.folder / "cache")
    small_disk.mount("remount,ro")
    work = project.work()
    for stage in ("paraphrase", "embed"):
        arguments, output = project.command(stage, cache=small_disk.folder / "cache")
        whole = read_table(output)
        result = project.run("pteb-eval", *arguments)
        assert result.status == 0, result.output
        assert read_table(output).equals(whole)
    assert project.work() == work
    arguments, _ = project.command("paraphrase", cache=small_disk.folder / "cache", runs=9)
    result = project.run("pteb-eval", *arguments)
    assert result.status == 2, result.output
    assert "the file system is read-only" in result.output.splitlines()[-1]


# Two at once


def test_two_workflows_that_share_a_cache_give_what_each_gives_alone(project, finished):
    """One folder, two configurations with the same texts, and nothing in the cache yet."""
    for path in (project.folder / "results", project.folder / ".snakemake"):
        shutil.rmtree(path)
    (project.folder / "work.log").unlink()
    one = {"tasks": CONFIG["tasks"][:1], "models": CONFIG["models"][:1]}
    project.configure({**CONFIG, **one})
    project.write("other.yaml", yaml.safe_dump({**CONFIG, **one, "name": "other"}))
    results = {}

    def start(configfile):
        results[configfile] = project.snakemake(
            "--cores", "1", configfile=configfile, FAKE_DELAY="0.01", FAKE_SHARD="3"
        )

    workflows = [threading.Thread(target=start, args=(f"{name}.yaml",)) for name in ("my", "other")]
    for workflow in workflows:
        workflow.start()
    for workflow in workflows:
        workflow.join()
    for result in results.values():
        assert result.status == 0, result.output
    assert project.contents() == project.contents("other")
    whole = finished.contents()
    cells = {n: c for n, c in project.contents().items() if n.endswith(("parquet", "json"))}
    assert len(cells) > 8
    assert cells == {name: whole[name] for name in cells}
    answers = {key for kind, *_, key in project.work() if kind == "answer"}
    assert answers == set(project.kept("paraphrases"))
    vectors = {text_id(text) for kind, *_, text in project.work() if kind == "vector"}
    assert vectors == set(project.kept("vectors"))
    assert max(project.work().values()) <= 2


# The clock


def test_a_clock_that_was_set_back_stops_snakemake_and_loses_nothing(project):
    """All that is there was made tomorrow; files set to the present, the run goes on."""
    for path in project.folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (time.time() + DAY,) * 2)
    nothing_to_do(project)
    project.configure({**CONFIG, "runs": 3})
    targets = [
        f"results/small/{name}/shuffler/pairs.parquet" for name in ("paraphrases", "scores/fake-a")
    ]
    work = project.work()
    result = project.snakemake("--cores", "2", *targets)
    assert result.status != 0
    assert "This could indicate a clock skew problem" in result.output
    made = project.work()
    assert {kind for kind, *_ in made - work} == {"answer"}

    subprocess.run(SET_TO_PRESENT, cwd=project.folder, shell=True, check=True)
    result = project.snakemake("--cores", "2", *targets)
    assert result.status == 0, result.output
    assert set(project.work().values()) == {1}
    assert {kind for kind, *_ in project.work() - made} == {"vector"}
    assert read_table(project.results / "paraphrases" / "shuffler" / "pairs.parquet").num_rows == 48
    nothing_to_do(project, *targets)


def test_the_command_that_sets_files_to_the_present_is_the_documented_one():
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    assert f"`{SET_TO_PRESENT}`" in page


# Another place


def test_results_that_were_moved_go_on_in_another_place(project, finished, tmp_path):
    """Results alone, into a new copy of the repository: Snakemake's own notes stay behind."""
    moved = Project(tmp_path / "another machine", project.zygote).create()
    for name in ("results", "models", "pairs.csv"):
        subprocess.run(["cp", "-a", project.folder / name, moved.folder], check=True)
    shutil.rmtree(project.folder)
    nothing_to_do(moved)
    os.utime(moved.folder / "pairs.csv")  # as if times had been lost
    assert moved.snakemake("--touch", "--cores", "1").status == 0
    nothing_to_do(moved)
    moved.configure({**CONFIG, "models": [*CONFIG["models"], "fake-c"]})
    result = moved.snakemake("--dry-run", "--quiet", "host")
    assert len(jobs_of(result)) > 10
    for rule, about in jobs_of(result):
        assert rule in ("all", "test", "rank", "plot", "report") or "model=fake-c" in about, rule
    result = moved.snakemake("--cores", "2", "results/small/scores/fake-c/shuffler/pairs.parquet")
    assert result.status == 0, result.output
    assert {what[:2] for what in moved.work()} == {("vector", "fake-c")}
    whole = finished.contents()
    assert {name: moved.contents()[name] for name in whole} == whole
