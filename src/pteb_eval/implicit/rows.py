"""Rows of the suite's data sets: a text, its answer options, and the right one."""

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from pteb_eval.errors import UserError

_HALVES = re.compile("[\ud800-\udfff]")
TRAIN, DEV, TEST = "train", "dev", "test"


@dataclass(frozen=True)
class Row:
    """One item.

    Attributes:
        text: what is read.
        options: the possible answers, of this item or of the whole task.
        answer: index of the right one.
    """

    text: str
    options: tuple[str, ...]
    answer: int


@dataclass
class Rows:
    """The rows of a task by split, and what was dropped on the way.

    Attributes:
        splits: rows by split; all under the empty name until `split_rows`, if there are none.
        dropped: how many rows were left out for each reason.
        notes: what else a reader must know, one line each.
    """

    splits: dict[str, list[Row]] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def add(self, split: str, text: Any, options: Sequence[str], answer: int) -> None:
        """Add a row, unless its text is missing."""
        if not isinstance(text, str) or not text.strip():
            self.dropped["no text"] += 1
            return
        if any(_HALVES.search(part) for part in (text, *options)):
            self.dropped["half a surrogate pair, which is no character"] += 1
            return
        rows = self.splits.setdefault(split, [])
        rows.append(Row(text.strip(), tuple(options), answer))

    @property
    def fixed_options(self) -> tuple[str, ...] | None:
        """The options of all rows, if they are the same."""
        options = {row.options for rows in self.splits.values() for row in rows}
        return next(iter(options)) if len(options) == 1 else None

    def all_notes(self) -> Iterator[str]:
        """Notes, and a line on what was dropped."""
        yield from self.notes
        if self.dropped:
            reasons = "; ".join(f"{reason}: {n}" for reason, n in sorted(self.dropped.items()))
            yield f"rows left out, by reason: {reasons}"


def label_index(labels: Mapping[str, Sequence[str]], cell: Any) -> int | None:
    """Index of the label that a cell names, in words of any case or as a number; None if none."""
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        return None
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    spelling = str(cell).strip().casefold()
    if spelling.endswith(".0"):
        spelling = spelling.removesuffix(".0")
    for index, (label, spellings) in enumerate(labels.items()):
        if spelling == label.casefold() or spelling in map(str.casefold, spellings):
            return index
    return None


def without_repeats(rows: Rows) -> None:
    """Drop rows that repeat an earlier one of their split, or one of a split that is scored.

    The test split goes first, so that what is scored does not depend on the rest.
    """
    seen: dict[tuple[str, tuple[str, ...]], tuple[str, int]] = {}
    for split in sorted(rows.splits, key=(TEST, DEV, TRAIN).index):
        kept = []
        for row in rows.splits[split]:
            key = (row.text, row.options)
            if key not in seen:
                seen[key] = (split, row.answer)
                kept.append(row)
                continue
            where, answer = seen[key]
            reason = "repeats an earlier row" if where == split else f"stands in {where} as well"
            rows.dropped[reason + (", with another label" if answer != row.answer else "")] += 1
        rows.splits[split] = kept


def split_rows(rows: Sequence[Row], seed: int, shares: Mapping[str, float]) -> dict[str, list[Row]]:
    """Splits of rows that come without: by a hash of seed and text.

    A row's split depends on nothing else, so it stays when other rows come or go, and rows of the
    same text are never divided.

    Args:
        rows: all rows.
        seed: of the suite.
        shares: share of each split; they add up to 1.
    """
    names, edges = list(shares), list(accumulate(shares.values()))
    splits: dict[str, list[Row]] = {split: [] for split in names}
    for row in rows:
        drawn = int(hashlib.sha256(f"{seed}\n{row.text}".encode()).hexdigest()[:15], 16) / 16**15
        splits[names[min(bisect_right(edges, drawn), len(names) - 1)]].append(row)
    return splits


def check(rows: Rows, where: str, needed: Sequence[str]) -> None:
    """Whether there is something to tell apart.

    Raises:
        UserError: an empty split, or one label only.
    """
    for split in needed:
        found = rows.splits.get(split, [])
        if not found:
            reasons = "; ".join(f"{reason}: {n}" for reason, n in sorted(rows.dropped.items()))
            raise UserError(f"{where}: no usable rows for {split} (left out: {reasons or 'none'})")
        if len({row.options[row.answer] for row in found}) < 2:
            label = found[0].options[found[0].answer][:80]
            raise UserError(f"{where}: all {len(found)} rows of {split} have the answer {label!r}")
