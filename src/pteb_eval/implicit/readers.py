"""From the published files of each data set to rows; each row left out is counted by reason."""

import ast
import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pteb_eval.errors import UserError
from pteb_eval.implicit.catalogue import Entry, split_rule
from pteb_eval.implicit.parts import Parts
from pteb_eval.implicit.rows import DEV, TEST, TRAIN, Rows, label_index, split_rows, without_repeats

STANCE_TARGETS = ("biden", "bernie", "trump")
UNKNOWN_LABEL = "a label that is not declared"


def read_rows(entry: Entry, parts: Parts) -> Rows:
    """The rows of a task, split and without repeats.

    Args:
        entry: the task.
        parts: the data set's files.

    Raises:
        UserError: a file or column is missing.
    """
    rows = Rows()
    _READERS[entry.dataset.name](entry, parts, rows)
    if "" in rows.splits:
        seed, shares = split_rule()
        rows.splits = split_rows(rows.splits[""], seed, shares)
        words = ", ".join(f"{share:.0%} {split}" for split, share in shares.items())
        rows.notes.append(
            f"comes without splits; divided by a hash of seed {seed} and text: {words}"
        )
    without_repeats(rows)
    return rows


def _pub(entry: Entry, parts: Parts, rows: Rows) -> None:
    """JSON lines of `pretext`, `options` and `correct answer`, which is one of the options."""
    for item in _objects(parts.text(f"{entry.part}.jsonl").split("\n"), rows):
        found = _pub_row(item)
        if isinstance(found, str):
            rows.dropped[found] += 1
        else:
            rows.add("", *found)


def _objects(texts: Iterable[str], rows: Rows) -> Iterator[dict[str, Any]]:
    """The JSON object of each text that is not blank."""
    for text in texts:
        if not text.strip():
            continue
        try:
            item = json.loads(text)
        except (ValueError, RecursionError):
            item = None
        if isinstance(item, dict):
            yield item
        else:
            rows.dropped["not JSON"] += 1


def _pub_row(item: dict[str, Any]) -> tuple[Any, list[str], int] | str:
    """Text, options and index of the answer, or why the row cannot be used."""
    if not {"pretext", "options", "correct answer"} <= item.keys():
        return "without pretext, options or correct answer"
    options = item["options"]
    if isinstance(options, str):
        options = _literal_list(options)
    if not isinstance(options, list) or len(options) < 2:
        return "fewer than two options"
    if not all(isinstance(word, str | int | float) for word in (*options, item["correct answer"])):
        return "an option or answer that is no text"
    words = [str(option).strip() for option in options]
    if len(set(words)) < len(words) or not all(words):
        return "an option that is empty or stands twice"
    folded = [word.casefold() for word in words]
    answer = str(item["correct answer"]).strip().casefold()
    if folded.count(answer) != 1:
        return "the correct answer is none of the options"
    return item["pretext"], words, folded.index(answer)


def _literal_list(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _pstance(entry: Entry, parts: Parts, rows: Rows) -> None:
    """CSV files `raw_<split>_<target>.csv` with `Tweet`, `Target`, `Stance`."""
    labels = entry.dataset.labels
    targets = STANCE_TARGETS if entry.part == "all" else (entry.part,)
    for split, part in ((TRAIN, "train"), (DEV, "val"), (TEST, "test")):
        for target in targets:
            for row in _csv(parts, f"raw_{part}_{target}.csv", ("Tweet", "Stance")):
                stance = label_index(labels, row["Stance"])
                if stance is None:
                    rows.dropped[UNKNOWN_LABEL] += 1
                else:
                    rows.add(split, row["Tweet"], list(labels), stance)


def _sbic(entry: Entry, parts: Parts, rows: Rows) -> None:
    """CSV files `SBIC.v2.agg.<part>.csv`; a part may be missing, what needs it says so.

    The label is whether annotators wrote down a stereotype. `hasBiasedImplication` says the same
    the other way round than its name (0 where there is one); it must agree with the stereotypes.
    """
    labels = list(entry.dataset.labels)
    for split, part in ((TRAIN, "trn"), (DEV, "dev"), (TEST, "tst")):
        name = f"SBIC.v2.agg.{part}.csv"
        if not parts.has(name):
            continue
        for row in _csv(parts, name, ("post", "targetStereotype", "hasBiasedImplication")):
            stereotypes = _literal_list(row["targetStereotype"] or "[]")
            flag = (row["hasBiasedImplication"] or "").strip().removesuffix(".0")
            if not isinstance(stereotypes, list) or flag not in ("0", "1"):
                rows.dropped[UNKNOWN_LABEL] += 1
            elif bool(stereotypes) != (flag == "0"):
                rows.dropped["targetStereotype and hasBiasedImplication disagree"] += 1
            else:
                rows.add(split, row["post"], labels, 0 if stereotypes else 1)


def _implicit_hate(entry: Entry, parts: Parts, rows: Rows) -> None:
    """`implicit_hate_v1_stg1_posts.tsv`: post and class, a row a line.

    Cells with quotation marks are quoted as in CSV, but not all of them, and a reader that trusts
    the marks swallows whole rows: they are taken off cell by cell. One row holds 38 cells.
    """
    labels = dict(entry.dataset.labels)
    explicit = list(labels).index("explicit hate")
    options = [label for label in labels if entry.part == "3way" or label != "explicit hate"]
    name = "implicit_hate_v1_stg1_posts.tsv"
    # Not splitlines: a post may hold one of Unicode's other line separators.
    head, *lines = (line.removesuffix("\r") for line in parts.text(name).split("\n"))
    _check_columns(parts, name, head.split("\t"), ("post", "class"))
    for line in lines:
        cells = line.split("\t")
        if not line:
            continue
        if len(cells) != 2:
            rows.dropped[f"{len(cells)} cells in place of 2"] += 1
            continue
        label = label_index(labels, cells[1])
        if label is None:
            rows.dropped[UNKNOWN_LABEL] += 1
        elif label == explicit and entry.part != "3way":
            rows.dropped["explicit hate, which this task is not about"] += 1
        else:
            rows.add("", unquoted(cells[0]), options, label)


def unquoted(cell: str) -> str:
    """A cell without the marks that CSV puts around it; as it stands where they do not pair up."""
    if len(cell) < 2 or not (cell[0] == cell[-1] == '"'):
        return cell
    inner = cell[1:-1]
    return inner.replace('""', '"') if inner.replace('""', "").count('"') == 0 else cell


def _article_bias(entry: Entry, parts: Parts, rows: Rows) -> None:
    """The repository's lists of ids and articles, or one file of JSON lines a split."""
    labels = entry.dataset.labels
    for split, part in ((TRAIN, "train"), (DEV, "valid"), (TEST, "test")):
        for article in _articles(entry, parts, part, rows):
            bias = label_index(labels, article.get("bias", article.get("bias_text")))
            if bias is None:
                rows.dropped[UNKNOWN_LABEL] += 1
            else:
                rows.add(split, article.get("content"), list(labels), bias)


def _articles(entry: Entry, parts: Parts, part: str, rows: Rows) -> Iterator[dict[str, Any]]:
    name = f"data/splits/{entry.part}/{part}.tsv"
    if parts.has(name):
        articles = {path.rpartition("/")[2]: path for path in parts.names(".json")}
        for line in parts.text(name).splitlines()[1:]:
            path = articles.get(f"{line.split()[0]}.json") if line.strip() else None
            if path is None:
                rows.dropped["an article that is not among the files"] += 1
            else:
                yield from _objects([parts.text(path)], rows)
    elif entry.part == "random" and parts.has(f"{part}.jsonl"):
        yield from _objects(parts.text(f"{part}.jsonl").split("\n"), rows)
    else:
        also = f" nor {part}.jsonl" if entry.part == "random" else ""
        raise UserError(f"{parts.path}: no {name}{also} in it: task {entry.name!r} is made of it")


def _csv(parts: Parts, name: str, columns: tuple[str, ...]) -> Iterator[dict[str, str]]:
    csv.field_size_limit(2**31 - 1)
    reader = csv.DictReader(io.StringIO(parts.text(name), newline=""))
    _check_columns(parts, name, reader.fieldnames or [], columns)
    yield from reader


def _check_columns(parts: Parts, name: str, found: Any, wanted: tuple[str, ...]) -> None:
    for column in wanted:
        if column not in found:
            there = ", ".join(map(repr, list(found)[:20]))
            raise UserError(f"{parts.path}: {name}: no column {column!r} (it has {there})")


_READERS: dict[str, Callable[[Entry, Parts, Rows], None]] = {
    "pub": _pub,
    "pstance": _pstance,
    "sbic": _sbic,
    "implicit_hate": _implicit_hate,
    "article_bias": _article_bias,
}
