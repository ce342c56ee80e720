"""From a finished run to the page that people rate on, and its key."""

from pathlib import Path
from typing import Any

from pteb_eval.ids import digest, text_id
from pteb_eval.provenance import stamp
from pteb_eval.review.checks import draw_checks
from pteb_eval.review.key import CHECK, PAIR, write_key
from pteb_eval.review.page import RUBRIC, Item, page
from pteb_eval.review.sample import draw
from pteb_eval.store import write_text
from pteb_eval.workflow import Workflow


def export(
    flow: Workflow, *, n_pairs: int, n_checks: int, checks_from: str, threshold: float, seed: int
) -> tuple[Path, Path, int]:
    """Draw a sample and write its page and its key, named by the sample's id.

    Args:
        flow: the run, whose texts and paraphrases are made.
        n_pairs: pairs of original and paraphrase in all.
        n_checks: attention checks among them.
        checks_from: where the checks are from, see `draw_checks`.
        threshold: mean rating from which on the meaning counts as kept; declared here, before
            anybody rates.
        seed: decides which pairs, in which order, and which text of a pair stands first.

    Returns:
        The page, the key, and the number of items.

    Raises:
        UserError: if files are missing, or there are not enough pairs.
    """
    cells = [(generator, task) for generator in flow.generators for task in flow.tasks]
    judge = next(iter(flow.judges), None)
    rows = [_pair(row, seed) for row in draw(flow.layout, cells, judge, n_pairs, seed)]
    for check in draw_checks(flow, checks_from, n_checks, seed):
        row = {"kind": CHECK, "task": checks_from, "gold": check.gold}
        rows.append(_placed(row, check.first, check.second, [seed, CHECK, *check]))
    rows.sort(key=lambda row: row["item"])  # ids are hashes, so this order says nothing
    items = [Item(row["item"], *row.pop("texts")) for row in rows]
    sample = "s" + digest([items, RUBRIC, threshold])[:12]
    settings = {
        "pairs": n_pairs, "checks": n_checks, "checks_from": checks_from, "threshold": threshold,
        "seed": seed,
    }  # fmt: skip
    about = stamp("review export", settings, sample=sample, threshold=threshold)
    html, key = flow.layout.review_page(sample), flow.layout.review_key(sample)
    write_key(key, rows, about)
    write_text(html, page(sample, items))
    return html, key, len(items)


def _pair(drawn: dict[str, Any], seed: int) -> dict[str, Any]:
    paraphrase, text = drawn.pop("paraphrase"), drawn.pop("text")
    row = {**drawn, "kind": PAIR, "paraphrase_sha256": text_id(paraphrase)}
    identity = [seed, PAIR, *(drawn[name] for name in ("generator", "task", "text_id", "run"))]
    return _placed(row, text, paraphrase, identity)


def _placed(row: dict[str, Any], first: str, second: str, identity: list[Any]) -> dict[str, Any]:
    """The row with its id and its texts, in an order that its hash decides."""
    chance = digest(identity)
    in_order = int(chance[-1], 16) % 2 == 0
    return {
        **row,
        "item": f"i{chance[:12]}",
        "original_first": in_order,
        "texts": (first, second) if in_order else (second, first),
    }
