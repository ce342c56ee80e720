"""A real SLURM of one node on loopback, as an ordinary process tree of this test.

Debian's packages munge and slurm-wlm bring the programs. The node pretends to have more processors
and memory than there are, and one GPU that is no device.
"""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol")
SETTINGS = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
GresTypes=gpu
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
InactiveLimit=0
KillWait=5
MinJobAge=600
SchedulerParameters=sched_interval=2,batch_sched_delay=0
MaxArraySize=1001
NodeName={host} NodeAddr=127.0.0.1 CPUs=64 RealMemory=512000 Gres=gpu:1
PartitionName=cpu Nodes={host} Default=YES MaxTime=120 OverSubscribe=NO
PartitionName=gpu Nodes={host} MaxTime=600 OverSubscribe=NO
"""


def missing() -> list[str]:
    """Programs that are not here; with some missing there is no cluster to be had."""
    path = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
    return [name for name in PROGRAMS if shutil.which(name, path=path) is None]


class NotStarted(RuntimeError):
    """The daemons do not run on this machine."""


class Cluster:
    """The scheduler; `environment` makes its commands talk to it.

    Args:
        folder: where its state goes; its path must be short, since a socket lies there.
    """

    def __init__(self, folder):
        self.folder, self.host = Path(folder), socket.gethostname().split(".")[0]
        self.processes = []

    @property
    def environment(self):
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    @property
    def programs(self):
        """A folder with an `srun` that finds this cluster.

        Within a job, Snakemake's plugin takes away all variables of SLURM before it calls `srun`.
        """
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        script = folder / "srun"
        settings = self.folder / "slurm.conf"
        script.write_text(
            f"#!/bin/sh\nSLURM_CONF='{settings}' exec {shutil.which('srun')} \"$@\"\n"
        )
        script.chmod(0o755)
        return folder

    def start(self):
        """Start all three daemons and wait for the node.

        Raises:
            NotStarted: if this machine does not let them run.
        """
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        settings = SETTINGS.format(folder=self.folder, host=self.host, ports=_free_ports(2))
        (self.folder / "slurm.conf").write_text(settings)
        (self.folder / "gres.conf").write_text("Name=gpu File=/dev/null\n")
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        try:
            self._start(
                "munged", "--foreground", "--force", f"--key-file={key}",
                *(f"--{name}-file={self.folder}/munge.{name}" for name in ("log", "pid", "seed")),
                f"--socket={self.folder}/munge.socket",
            )  # fmt: skip
            self._wait((self.folder / "munge.socket").exists, "munged")
            self._start("slurmctld", "-D", "-i")
            self._start("slurmd", "-D", "-N", self.host)
            self._wait(lambda: self.state() == "idle", "the node")
        except BaseException:
            self.stop()
            raise

    def stop(self):
        """End the daemons."""
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def call(self, *command):
        """What one of SLURM's commands prints."""
        return subprocess.run(
            command, env={**os.environ, **self.environment}, capture_output=True, text=True,
            check=True, timeout=60,
        ).stdout.strip()  # fmt: skip

    def state(self):
        """The node's state, such as `idle`, `mix` or `drain`; empty while nobody answers."""
        try:
            return self.call("sinfo", "--noheader", "--format=%t", "--partition=cpu")
        except subprocess.CalledProcessError:
            return ""

    def jobs(self, *states, name="%k"):
        """Jobs in these states: (id, comment, partition), or another field for the comment."""
        lines = self.call(
            "squeue", "--noheader", "--array", f"--states={','.join(states or ['all'])}",
            f"--format=%A|{name}|%P",
        ).splitlines()  # fmt: skip
        return [tuple(line.split("|")) for line in lines]

    def _start(self, name, *arguments):
        program = shutil.which(name, path=os.pathsep.join(["/usr/sbin", "/sbin", os.defpath]))
        log = (self.folder / f"{name}.out").open("w")
        self.processes.append(
            subprocess.Popen(
                [program, *arguments], env={**os.environ, **self.environment}, stdout=log,
                stderr=log,
            )
        )  # fmt: skip

    def _wait(self, condition, what):
        end = time.monotonic() + 60
        while not condition():
            if time.monotonic() > end or any(p.poll() is not None for p in self.processes):
                logs = "".join(p.read_text()[-1000:] for p in self.folder.glob("*.out"))
                raise NotStarted(f"SLURM: {what} did not start here: {logs}")
            time.sleep(0.2)


def _free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
