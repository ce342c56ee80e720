"""Tasks made of a user's own files, as subclasses of mteb's task classes built on the spot."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from pteb_eval.errors import UserError
from pteb_eval.tasks.files import retrieval, rows
from pteb_eval.tasks.names import near
from pteb_eval.tasks.structure import Task

_COMMON = ("type", "name", "language", "description", "prompt")
_ONE_TABLE = ("path", "format", "columns")
_RANGE = ("min_score", "max_score")
TYPES: dict[str, tuple[Callable[[Mapping[str, Any]], Task], tuple[str, ...]]] = {
    "sts": (rows.sts, (*_ONE_TABLE, *_RANGE)),
    "pair_classification": (rows.pair_classification, (*_ONE_TABLE, "positive")),
    "classification": (rows.classification, (*_ONE_TABLE, "train", "samples_per_label")),
    "clustering": (rows.clustering, _ONE_TABLE),
    "texts": (rows.texts, _ONE_TABLE),
    "summarization": (rows.summarization, (*_ONE_TABLE, *_RANGE)),
    "retrieval": (
        retrieval.retrieval,
        ("path", "corpus", "queries", "qrels", "ignore_identical_ids"),
    ),
    "reranking": (retrieval.reranking, _ONE_TABLE),
}


def file_task(settings: Mapping[str, Any]) -> Task:
    """The task that a user's settings describe, loaded.

    Args:
        settings: `type`, one of `TYPES`; `name`; `language`, such as `eng-Latn`, or a mapping from
            subset to language; `path`, a file or a list of files of the same columns; optionally
            `format` (see `tables.read_table`), `columns` (from role to the column's name, or its
            number from 0 in a file without header; the role's own name is the default; the role
            `subset` names a column that divides the rows, as by language), `description`, `prompt`
            (for instruction models, as in mteb's metadata); and what the type needs, see
            docs/tasks.md. None is the same as a key left out.

    Returns:
        A loaded `AbsTask` with attribute `notes`; its data set's revision is the file's SHA-256, or
        that of the files' digests where there are several.

    Raises:
        UserError: any mistake in the settings or the files.
    """
    settings = {key: value for key, value in settings.items() if value is not None}
    name, kind = settings.get("name"), settings.get("type")
    if kind not in TYPES:
        raise UserError(f"task {name!r}: unknown type {kind!r}: use one of {', '.join(TYPES)}")
    build, own_keys = TYPES[kind]
    for key in settings:
        if key not in (*_COMMON, *own_keys):
            raise UserError(
                f"task {name!r}: type {kind} has no key {key!r}{near(key, (*_COMMON, *own_keys))}"
            )
    _check_name(name)
    if "path" not in settings and kind != "retrieval":
        raise UserError(f"task {name!r}: no path: set it to the data file")
    return build(settings)


def _check_name(name: Any) -> None:
    from mteb.get_tasks import _TASKS_REGISTRY

    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise UserError(
            f"task name {name!r}: give a name of letters, digits, dots, dashes and underscores, "
            "since it becomes a file's name"
        )
    if name in _TASKS_REGISTRY:
        raise UserError(f"task name {name!r} is one of mteb's own: choose another name")
