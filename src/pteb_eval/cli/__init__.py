"""The command line: one verb a stage, and a few for people."""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from pteb_eval.errors import UserError

_told_to_end = 0  # the signal, once one came


def main() -> None:
    """Run the command line; a user's mistake ends in one line and status 2.

    So does being told to end (SIGTERM, as batch systems send it some time before they kill, or
    SIGINT), with 128 and the signal's number, after what was finished has reached the cache.
    """
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, _end)
    # Progress bars and notices of libraries would drown the progress of a stage.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from pteb_eval.cli.app import app

    try:
        app()
    except BaseException as error:
        if _told_to_end:  # whatever else went wrong on the way out is its consequence
            _leave(_told_to_end)
        if isinstance(error, UserError):
            print(f"pteb-eval: {error}", file=sys.stderr)
            sys.exit(2)
        raise


def _end(number: int, frame: FrameType | None) -> None:
    """Leave by way of all `finally` blocks, so that finished work reaches the cache."""
    global _told_to_end  # noqa: PLW0603 - of the process, as signals are
    _told_to_end = number
    # Both a batch system and Snakemake may send it; a second one must not stop the writing.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(128 + number)


def _leave(number: int) -> NoReturn:
    """End at once: an engine's threads may wait for answers for longer than anyone waits for us."""
    name = signal.Signals(number).name
    print(f"pteb-eval: told to end ({name}); what was finished is kept: run again to go on",
          file=sys.stderr)  # fmt: skip
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(128 + number)
