"""Killed again and again at random moments: nothing that was kept is made again, nothing is lost.

One round; all twenty take minutes: `PTEB_EVAL_SLOW=1 pytest` with this file.
"""

import os
import random
import signal
import threading
import time

import pytest
from filelock import FileLock
from project import CONFIG, JUDGED, Project

from pteb_eval.ids import text_id
from pteb_eval.store import read_table

ROUNDS = 20 if os.environ.get("PTEB_EVAL_SLOW") else 1
SHARD, CORES = 5, 2
STAGES = ("fetch", "paraphrase", "judge", "embed", "score", "test", "rank", "plot", "report")
SMALL = {
    **JUDGED,
    "tasks": CONFIG["tasks"][:1],
    "models": ["fake-a"],
    "validate_judge": [],
}
KINDS = {"answer": "paraphrases", "rating": "judgements", "vector": "vectors"}


@pytest.fixture(scope="module")
def starts(zygote_socket, tmp_path_factory):
    """Projects to start from, and what an undisturbed run gives.

    In the first nothing was run yet; the second was run to its end with fewer runs.
    """
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with FileLock(shared / "rounds.lock"):
        new = Project(shared / "rounds", zygote_socket)
        fewer = Project(shared / "rounds of fewer runs", zygote_socket)
        whole = Project(shared / "rounds whole", zygote_socket)
        if not new.folder.exists():
            new.create().configure(SMALL)
            new.copy_to(fewer.folder).configure({**SMALL, "runs": 1})
            new.copy_to(whole.folder)
            for project in (fewer, whole) if ROUNDS > 1 else (whole,):
                result = project.snakemake("--cores", str(CORES), FAKE_SHARD=str(SHARD))
                assert result.status == 0, result.output
            fewer.configure(SMALL)
    return (new, fewer), whole


class Disturbed:
    """A project that is run and killed, with the books of what was made and what was kept."""

    def __init__(self, project, rng):
        self.project, self.rng = project, rng
        self.pids = project.folder / "pids"
        self.books = []
        self.n_killed = 0

    def run(self, *moments):
        """Run the workflow; each moment gives the process to kill as soon as it can."""
        running, watchers = [True], []

        def watch(workflow):
            for moment in moments:
                watcher = threading.Thread(target=self._kill, args=(moment, workflow, running))
                watcher.start()
                watchers.append(watcher)

        result = self.project.snakemake(
            "--cores", str(CORES), on_start=watch, FAKE_DELAY="0.005",
            FAKE_SHARD=str(SHARD), FAKE_PIDS=str(self.pids),
        )  # fmt: skip
        running.clear()
        for watcher in watchers:
            watcher.join()
        time.sleep(0.2)  # until the jobs of a killed workflow have ended too
        kept = {kind: set(self.project.kept(folder)) for kind, folder in KINDS.items()}
        self.books.append((self.project.work(), kept))
        return result

    def _kill(self, moment, workflow, running):
        while running:
            if (kill := moment(workflow)) is not None:
                time.sleep(self.rng.uniform(0, 0.5))
                try:
                    kill()
                except ProcessLookupError:
                    continue  # it was faster: the next one
                self.n_killed += 1
                return
            time.sleep(0.01)

    def a_worker_of(self, stage):
        """The next process of this stage."""
        seen = {pid for pid, _ in self.jobs()}

        def moment(workflow):
            own = [pid for pid, name in self.jobs() if name == stage and pid not in seen]
            seen.update(own[:1])
            return (lambda: os.kill(own[0], signal.SIGKILL)) if own else None

        return moment

    def everything(self):
        """The workflow and all its jobs, once some of them have begun."""
        jobs = len(self.jobs()) + self.rng.randint(0, 6)
        return lambda workflow: (
            (lambda: os.killpg(workflow, signal.SIGKILL)) if len(self.jobs()) > jobs else None
        )

    def jobs(self):
        """Process id and stage of the jobs so far."""
        if not self.pids.exists():
            return []
        lines = self.pids.read_text(encoding="utf-8").split("\n")[:-1]
        return [(int(line.split()[0]), line.split()[1]) for line in lines]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_workflow_killed_at_random_moments_loses_nothing(starts, tmp_path, seed):
    from_which, whole = starts
    rng = random.Random(seed)
    project = from_which[seed % 2].copy_to(tmp_path / "killed")
    disturbed = Disturbed(project, rng)
    stages = (STAGES[(4 * seed + place) % len(STAGES)] for place in (1, 3))
    disturbed.run(*map(disturbed.a_worker_of, stages))
    disturbed.run(disturbed.everything())
    result = disturbed.run()
    if "Directory cannot be locked" in result.output or "LockException" in result.output:
        assert "--unlock" in result.output
        assert project.snakemake("--unlock", "--cores", "1").status == 0
        result = disturbed.run()
    assert result.status == 0, result.output
    assert disturbed.n_killed

    assert project.contents() == whole.contents()
    for work, kept in disturbed.books:
        for (kind, *_, what), _ in (project.work() - work).items():
            key = text_id(what) if kind == "vector" else what
            assert key not in kept[kind], f"made again: {kind} {what}"
    # Of each killed job the shard in the making, and each rating or answer on its way to it.
    again = sum(count - 1 for count in project.work().values())
    assert again <= disturbed.n_killed * CORES * (SHARD + 1)
    for folder in KINDS.values():
        keys = project.kept(folder)
        assert sorted(keys) == sorted(set(keys))
    for path in (project.folder / "results" / "cache").rglob("shard-*.parquet"):
        assert read_table(path).num_rows <= SHARD
