"""The command line: one verb a stage, and a few for people."""

import os
import signal
import sys
from types import FrameType

from pteb_eval.errors import UserError


def main() -> None:
    """Run the command line; a user's mistake ends in one line and status 2."""
    signal.signal(signal.SIGTERM, _terminate)
    # Progress bars and notices of libraries would drown the progress of a stage.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from pteb_eval.cli.app import app

    try:
        app()
    except UserError as error:
        print(f"pteb-eval: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("pteb-eval: interrupted; what was finished is kept", file=sys.stderr)
        sys.exit(130)


def _terminate(number: int, frame: FrameType | None) -> None:
    """Leave by way of all `finally` blocks, so that finished work reaches the cache."""
    raise SystemExit(128 + number)
