"""`runs: auto`: how many runs to have next, from the widths of the last ones."""

import json

from pteb_eval.errors import UserError
from pteb_eval.layout import Layout

FIRST = 6  # the protocol's number; fewer make Δ and its spread unreliable


def recorded_runs(layout: Layout) -> int:
    """The number of runs that was come to so far."""
    try:
        return int(json.loads(layout.auto_runs.read_text(encoding="utf-8"))["runs"])
    except FileNotFoundError:
        return FIRST
    except (ValueError, LookupError, TypeError) as error:
        raise UserError(
            f"{layout.auto_runs}: unreadable ({error}): it is damaged; delete it to begin with "
            f"{FIRST} runs again, whose paraphrases are in the cache"
        ) from error


def add_runs(layout: Layout, cap: int, level: float) -> tuple[int, int]:
    """Record the next number of runs after a finished workflow.

    Args:
        layout: of the run.
        cap: most runs.
        level: of the intervals.

    Returns:
        The numbers before and after; equal ones mean that more runs are not needed or would not
        help, since the instances alone make an interval too wide.
    """
    from pteb_eval.statistics.runs import VarianceSplit, next_runs
    from pteb_eval.store import write_text
    from pteb_eval.tables import read_csv

    before = recorded_runs(layout)
    rows = read_csv(layout.table("runs")).to_dict("records")
    after = max(
        next_runs(
            row["width"],
            row["target_width"],
            before,
            cap,
            VarianceSplit(row["instance_variance"], row["run_variance"], int(row["n_runs"])),
            level,
        )
        for row in rows
    )
    if after != before:
        write_text(layout.auto_runs, json.dumps({"runs": after}) + "\n")
    return before, after
