"""Ratings of judges, where the run has any."""

from collections.abc import Iterable

import pandas as pd

from pteb_eval.layout import Layout
from pteb_eval.store import read_table

COLUMNS = ["judge", "text_id", "run", "score"]


def judged(layout: Layout, judges: Iterable[str], generator: str, task: str) -> pd.DataFrame:
    """What judges say of one generator's paraphrases of one task, as far as they have rated them.

    Returns:
        Columns `judge`, `text_id`, `run`, `score` (0 to 5); only ratings whose status is `ok`, a
        mean where a judge rated a pair more than once. Empty without a judge.
    """
    frames = [pd.DataFrame(columns=COLUMNS)]
    for judge in judges:
        path = layout.judgements(judge, generator, task)
        if not path.is_file():
            continue
        rows = read_table(path, columns=["text_id", "run", "score", "status"]).to_pandas()
        rows = rows[rows["status"] == "ok"].assign(judge=judge)
        frames.append(rows.groupby(COLUMNS[:3], as_index=False)["score"].mean())
    return pd.concat(frames[1:] or frames, ignore_index=True)
