"""Forks `pteb-eval` and Snakemake from a process that has imported the heavy libraries already.

Importing mteb takes five seconds, and a workflow of forty jobs would do it forty times. The package
itself is imported after the fork, from the PYTHONPATH of the call. A program leads a process group
of its own, and ends at once when its caller does: whoever kills a workflow kills its jobs.

    python zygote.py SOCKET                      the server
    python zygote.py SOCKET pteb-eval ARGUMENTS  a call, as the jobs of a workflow make it

Programs are `snakemake`, `pteb-eval` with the stand-ins of this folder, and `real-pteb-eval`.
"""

import contextlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import tempfile
from pathlib import Path

FAKED = Path(__file__).with_name("pteb_eval_faked.py")


def call(address, program, arguments, cwd, env, stdout, stderr, on_start=lambda pid: None):
    """Run a program in a fork of the server; returns its exit status, negative for a signal."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        request = json.dumps([program, arguments, str(cwd), env]).encode()
        socket.send_fds(connection, [len(request).to_bytes(8, "big")], [stdout, stderr])
        connection.sendall(request)
        with connection.makefile("r") as answers:
            on_start(int(answers.readline()))
            return int(answers.readline())


def forward_signals(pid):
    """The caller stands for the program: what it is told is meant for that."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: os.kill(pid, number))


def serve(address):
    """Answer calls until killed, each in a process of its own."""
    import matplotlib.figure  # noqa: F401
    import mteb  # noqa: F401
    import scipy.stats  # noqa: F401
    import sentence_transformers  # noqa: F401
    import snakemake.cli  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen(64)
        while True:
            connection, _ = server.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                server.close()
                _handle(connection)
                os._exit(0)
            connection.close()


def _handle(connection):
    head, descriptors, _, _ = socket.recv_fds(connection, 8, 2)
    with connection.makefile("rb") as file:
        program, arguments, cwd, env = json.loads(file.read(int.from_bytes(head, "big")))
    if (pid := os.fork()) == 0:
        os.setpgid(0, 0)
        connection.close()
        _work(program, arguments, cwd, env, descriptors)
    with contextlib.suppress(PermissionError):  # it has done so itself, and more
        os.setpgid(pid, pid)
    connection.sendall(f"{pid}\n".encode())
    ended = os.pidfd_open(pid)
    if ended not in select.select([ended, connection], [], [])[0]:
        os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _work(program, arguments, cwd, env, descriptors):
    for number, descriptor in enumerate(descriptors, start=1):
        os.dup2(descriptor, number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    tempfile.tempdir = None  # a library may have asked before the fork
    sys.path[:0] = env["PYTHONPATH"].split(os.pathsep)
    sys.argv = [program, *arguments]
    status = 1
    try:
        if program == "snakemake":
            from snakemake.cli import main

            main()
        elif program == "real-pteb-eval":
            from pteb_eval.cli import main

            main()
        else:
            runpy.run_path(str(FAKED), run_name="__main__")
        status = 0
    except SystemExit as end:
        status = (
            end.code if isinstance(end.code, int | None) else print(end.code, file=sys.stderr) or 1
        )
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status or 0)


if __name__ == "__main__":
    if sys.argv[2:]:
        program, *arguments = sys.argv[2:]
        given = (program, arguments, Path.cwd(), dict(os.environ), 1, 2)
        sys.exit(call(sys.argv[1], *given, on_start=forward_signals) % 256)
    serve(sys.argv[1])
