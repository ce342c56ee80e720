"""Progress lines with counts, rate and time left, for a terminal, a log file or a batch job."""

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from pteb_eval.store.files import disk_errors, write_text

INTERVAL = 5.0  # seconds between two lines


_log: Path | None = None


def log_to(path: Path | None) -> None:
    """Let `say` write to this file too, which is begun anew."""
    global _log  # noqa: PLW0603 - one process runs one stage, which has one log
    _log = path
    if path is not None:
        write_text(path, "")


def say(message: str) -> None:
    """One line to standard error, where jobs of a workflow report, and to the stage's log."""
    print(message, file=sys.stderr, flush=True)
    if _log is not None:
        with disk_errors(_log), _log.open("a", encoding="utf-8", errors="replace") as file:
            file.write(message + "\n")


@dataclass
class Progress:
    """Counts finished work and says so every few seconds.

    Attributes:
        what: what is counted, such as `paraphrase demo`.
        total: how much there is to do in all.
        cached: how much of it was done before; not part of the rate.
        failed: how much of the finished work failed.
    """

    what: str
    total: int
    cached: int = 0
    failed: int = 0
    _done: int = 0
    _start: float = field(default_factory=time.monotonic)
    _last: float = field(default_factory=time.monotonic)

    def begin(self, cached: int) -> None:
        """Say what there is to do, before anything slow is started."""
        self.cached = cached
        say(f"{self.what}: {self.total} in all, {cached} cached, {self._left()} to do")

    def advance(self, count: int = 1, failed: int = 0) -> None:
        """Count finished work; print if the last line is old enough."""
        self._done += count
        self.failed += failed
        now = time.monotonic()
        if now - self._last >= INTERVAL:
            self._last = now
            say(self._line())

    def close(self) -> None:
        """The last line."""
        if self._done:
            say(self._line())

    @property
    def done(self) -> int:
        """How much was finished since the start, cached work not counted."""
        return self._done

    @property
    def rate(self) -> float:
        """Finished per second since the start, cached work not counted."""
        return self._done / max(time.monotonic() - self._start, 1e-9)

    def _left(self) -> int:
        return max(0, self.total - self.cached - self._done)

    def _line(self) -> str:
        done = min(self.total, self.cached + self._done)
        share = 100 * done / max(self.total, 1)
        line = f"{self.what}: {done}/{self.total} ({share:.0f} %), {self.rate:.1f}/s"
        if self._left() > 0:
            line += f", {duration(self._left() / max(self.rate, 1e-9))} left"
        return line + (f", {self.failed} failed" if self.failed else "")


def duration(seconds: float) -> str:
    """A time in the unit that reads best."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
