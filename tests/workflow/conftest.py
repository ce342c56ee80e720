"""A finished run, made once and copied for each situation."""

import os
import subprocess
import sys
import time

import pytest
from fakes import zygote
from filelock import FileLock
from project import JUDGED, Project


@pytest.fixture(scope="session")
def zygote_socket(tmp_path_factory):
    """The server that starts programs; its path is short, as paths of sockets must be."""
    folder = tmp_path_factory.mktemp("zygote")
    socket = folder / "socket"
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, zygote.__file__, str(socket)],
            stdout=log,
            stderr=log,
            env={**os.environ, "HF_HOME": str(folder / "hub")},
        )
    while not socket.exists():
        assert server.poll() is None, (folder / "log").read_text()
        time.sleep(0.1)
    yield str(socket)
    server.kill()
    server.wait()


@pytest.fixture(scope="session")
def finished(tmp_path_factory, zygote_socket):
    """A finished run, shared by all workers of the tests: do not change it."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    # A path as people have them: blanks, quotes and letters beyond ASCII must not matter.
    folder = shared / "Évaluation of “models”" / "it's pteb eval"
    with FileLock(shared / "finished.lock"):
        project = Project(folder, zygote_socket)
        done = shared / "finished"
        if not done.exists():
            result = project.create().snakemake("--cores", "2")
            assert result.status == 0, result.output
            done.touch()
    return project


@pytest.fixture(scope="session")
def finished_judged(finished, tmp_path_factory):
    """The same run with a judge, finished too: do not change it."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with FileLock(shared / "judged.lock"):
        folder, done = shared / "judged run", shared / "judged"
        project = Project(folder, finished.zygote)
        if not done.exists():
            project = finished.copy_to(folder)
            project.configure(JUDGED)
            result = project.snakemake("--cores", "2")
            assert result.status == 0, result.output
            done.touch()
    return project


@pytest.fixture
def judged(finished_judged, tmp_path):
    """A copy of the finished run with a judge."""
    return finished_judged.copy_to(tmp_path / "judged é")


@pytest.fixture
def project(finished, tmp_path):
    """A copy of the finished run."""
    return finished.copy_to(tmp_path / "pteb eval é")


class SmallDisk:
    """A disk of 64 kB in place of a folder; only root can have one."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    def mount(self, options):
        """Mount it, or mount it anew with other options; whether that worked."""
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(project):
    """A small disk in place of the project's folder `disk`."""
    disk = SmallDisk(project.folder / "disk")
    if os.geteuid() != 0 or not disk.mount("size=64k"):
        pytest.skip("only root can mount a small disk, and not in every container")
    yield disk
    subprocess.run(["umount", str(disk.folder)], check=True)
