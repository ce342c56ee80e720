"""What holds for all tests: no hub, no other machine, one thread a process."""

import os
import socket

import pytest

# Before any library reads them.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

_connect = socket.socket.connect


def _loopback_only(self, address):
    if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
        raise OSError(f"tests talk to loopback only, not to {address}")
    return _connect(self, address)


@pytest.fixture(autouse=True)
def _no_other_machine(monkeypatch):
    monkeypatch.setattr(socket.socket, "connect", _loopback_only)
