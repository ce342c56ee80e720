"""The SLURM profile on a real scheduler: same results, and nothing lost to it."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager

import pytest
import slurm
import yaml
from project import CONFIG, FAKES

from pteb_eval.store import read_table

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(slurm.missing()), reason=f"no {', '.join(slurm.missing())} here"),
    pytest.mark.skipif(os.geteuid() != 0, reason="starting SLURM's daemons needs root"),
    pytest.mark.timeout(600),
]
PROFILE = ["--workflow-profile", "workflow/profiles/slurm"]
# What this cluster is not: large, with accounting, with a slow file system, with GPUs for all.
HERE = {
    "slurm-status-command": "squeue",
    "slurm-no-account": True,
    "slurm-init-seconds-before-status-checks": 1,
    "seconds-between-status-checks": 1,
    "latency-wait": 10,
}
PARAPHRASES = "paraphrases/shuffler/pairs"
RUNS = 40


@pytest.fixture(scope="module")
def cluster():
    folder = tempfile.mkdtemp(prefix="slurm-")  # short, for the socket
    running = slurm.Cluster(folder)
    try:
        running.start()
    except slurm.NotStarted as error:
        pytest.skip(str(error))
    try:
        yield running
    finally:
        running.stop()
        shutil.rmtree(folder)


def adapt_profile(project, **resources):
    """The profile as it ships, but for this cluster and other resources of some rules."""
    path = project.folder / PROFILE[1] / "config.yaml"
    profile = yaml.safe_load(path.read_text()) | HERE
    profile["set-resources"] = {
        rule: {**old, **resources.get(rule, {})} for rule, old in profile["set-resources"].items()
    }
    path.write_text(yaml.safe_dump(profile))


def environment(project, cluster, *first, **more):
    """Variables of the programs, with folders that come first on PATH."""
    env = project.environment(**cluster.environment, **more)
    env["PATH"] = os.pathsep.join([*map(str, first), str(cluster.programs), env["PATH"]])
    return env


def test_the_profile_gives_the_results_of_a_local_run(cluster, project, finished):
    shutil.rmtree(project.folder / "results")
    (project.folder / "work.log").unlink()
    on_cpu = {"slurm_partition": "cpu", "gpu": 0}
    adapt_profile(project, embed_original=on_cpu, embed_paraphrases=on_cpu)
    result = project.snakemake(*PROFILE, **environment(project, cluster))
    assert result.status == 0, result.output
    for name in ("scores.csv", "summary.csv", "significance.csv", "paraphrase_quality.csv"):
        ours, local = (p.results / "tables" / name for p in (project, finished))
        assert ours.read_text() == local.read_text(), name
    assert project.work() == finished.work()
    assert (project.results / "report.html").exists()

    rules = {}
    for _, comment, partition in cluster.jobs():
        rule = comment.removeprefix("rule_").split("_wildcards")[0]
        rules.setdefault(rule, set()).add(partition)
    assert rules.pop("paraphrase") == {"gpu"}
    assert {partition for found in rules.values() for partition in found} == {"cpu"}
    assert not any(rule.startswith("fetch") for rule in rules)  # no network on the nodes
    assert "Submitted array job" in result.output


def test_the_generic_profile_gives_them_too(cluster, project, finished):
    """With `sbatch` as the command; pairs alone, since the graph is that of the test above."""
    pytest.importorskip("snakemake_executor_plugin_cluster_generic")
    shutil.rmtree(project.folder / "results")
    path = project.folder / "workflow" / "profiles" / "generic" / "config.yaml"
    profile = yaml.safe_load(path.read_text())
    profile |= {"latency-wait": 10, "seconds-between-status-checks": 1}
    for rule in ("embed_original", "embed_paraphrases"):
        profile["set-resources"][rule] = {"queue": "cpu", "gpu": 0}
    path.write_text(yaml.safe_dump(profile))
    target = "results/small/scores/fake-a/shuffler/pairs.parquet"
    result = project.snakemake(
        "--workflow-profile", "workflow/profiles/generic", "--", target,
        **environment(project, cluster),
    )  # fmt: skip
    assert result.status == 0, result.output
    assert read_table(project.folder / target) == read_table(finished.folder / target)
    jobs = {name: partition for _, name, partition in cluster.jobs(name="%j")}
    assert jobs["paraphrase"] == "gpu" and jobs["score_paraphrases"] == "cpu"
    assert list((project.folder / ".snakemake" / "cluster-logs").iterdir())


@contextmanager
def running(project, cluster, **env):
    """Snakemake in the background, with a `pteb-eval` that ends when its job ends."""
    programs = project.folder / "alone"
    programs.mkdir()
    script = programs / "pteb-eval"
    script.write_text(
        f"#!/bin/sh\nexec '{sys.executable}' '{FAKES / 'pteb_eval_faked.py'}' \"$@\"\n"
    )
    script.chmod(0o755)
    env = environment(project, cluster, programs, **env)
    target = str((project.results / f"{PARAPHRASES}.parquet").relative_to(project.folder))
    with (project.folder / "log").open("wb") as log:
        workflow = subprocess.Popen(
            [sys.executable, "-m", "snakemake", "--configfile", "my.yaml", *PROFILE,
             "--", target],
            cwd=project.folder, env=env, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            yield workflow
        finally:
            workflow.terminate()
            workflow.wait()


def wait_for(condition, workflow, seconds=200):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert workflow.poll() is None
        assert time.monotonic() < end
        time.sleep(0.3)
    return found


def all_made_once(project):
    """Every answer is there; of those in the making at a stop, at most one was made again."""
    assert read_table(project.results / f"{PARAPHRASES}.parquet").num_rows == 16 * RUNS
    assert sum(count - 1 for count in project.work().values()) <= 1


def test_a_drained_node_and_a_cancelled_job_cost_nothing_but_time(cluster, project):
    project.configure({**CONFIG, "runs": RUNS})
    adapt_profile(project)
    cluster.call(
        "scontrol", "update", f"nodename={cluster.host}", "state=drain", "reason=maintenance"
    )
    with running(project, cluster, FAKE_DELAY="0.03") as workflow:
        [(job, *_)] = wait_for(lambda: cluster.jobs("pending"), workflow)
        started = len(project.work())
        assert cluster.state().startswith("drain")
        cluster.call("scontrol", "update", f"nodename={cluster.host}", "state=resume")
        wait_for(lambda: len(project.work()) > started + 60, workflow)
        assert cluster.jobs("running")[0][0] == job
        cluster.call("scancel", job)
        assert workflow.wait(200) == 0, (project.folder / "log").read_text()
    all_made_once(project)


def test_a_job_that_exceeds_its_walltime_goes_on_in_the_next(cluster, project):
    project.configure({**CONFIG, "runs": RUNS})
    adapt_profile(project, paraphrase={"runtime": "attempt"})
    with running(project, cluster, FAKE_DELAY="0.2") as workflow:
        assert workflow.wait(500) == 0, (project.folder / "log").read_text()
    assert cluster.jobs("timeout")
    all_made_once(project)
