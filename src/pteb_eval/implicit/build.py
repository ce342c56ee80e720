"""From an entry of the suite to a loaded mteb task."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pteb_eval.errors import UserError
from pteb_eval.hub import is_offline
from pteb_eval.implicit.catalogue import Entry, entry, task_name
from pteb_eval.implicit.parts import Parts
from pteb_eval.implicit.readers import read_rows
from pteb_eval.implicit.rows import DEV, TEST, TRAIN, Row, Rows, check
from pteb_eval.tasks.structure import Task

CLASSIFICATION, ZERO_SHOT, PAIRS = "classification", "zero_shot", "pairs"
EVALUATIONS = (CLASSIFICATION, ZERO_SHOT, PAIRS)


def implicit_task(settings: Mapping[str, Any], *, fetching: bool = False) -> Task:
    """A task of the suite, loaded.

    Args:
        settings: `implicit`, the task's name; `path`, a local copy of the data set, else what was
            fetched is used; `evaluation`, one of `EVALUATIONS`, else classification where all items
            have the same options and zero-shot where each has its own; `train_on`, `train` or
            `dev`.
        fetching: whether missing files may be downloaded.

    Returns:
        A loaded `AbsTask` with attribute `notes`. Its data set's revision is the SHA-256 of the
        digests of the files that it was read from.

    Raises:
        UserError: unknown name, data that cannot be had or used.
    """
    one = entry(settings["implicit"])
    parts = Parts(_data(one, settings.get("path"), fetching))
    rows = read_rows(one, parts)
    options = rows.fixed_options
    evaluation = settings.get("evaluation") or (CLASSIFICATION if options else ZERO_SHOT)
    train = settings.get("train_on", TRAIN)
    if evaluation == CLASSIFICATION and options is None:
        raise UserError(
            f"task {one.name!r}: its items have options of their own, which a classifier cannot "
            "learn: set evaluation to zero_shot or pairs"
        )
    needed = (TEST, train) if evaluation == CLASSIFICATION else (TEST,)
    if train == TRAIN and evaluation == CLASSIFICATION and TRAIN not in rows.splits:
        raise UserError(
            f"task {one.name!r}: {parts.path} holds no train part ({one.dataset.wanted}): add it, "
            "or set train_on: dev"
        )
    check(rows, f"task {one.name!r}: {parts.path}", needed)
    if train != TRAIN:
        rows.notes.append(f"trained on the {train} split, not on the train split")
    task: Task = _BUILDERS[evaluation](_Making(one, settings, rows, train, parts.sha256))
    task.notes = list(rows.all_notes())
    return task


def is_here(settings: Mapping[str, Any]) -> bool:
    """Whether a task's data is on this machine, or can only come as a local copy."""
    one = entry(settings["implicit"])
    return bool(settings.get("path")) or all(
        (kept_folder(one) / name).is_file() for name in files_of(one)
    )


def _data(one: Entry, path: str | None, fetching: bool) -> Path:
    """Folder or archive of the data set's files."""
    if path is not None:
        return Path(path)
    wanted = files_of(one)
    if not wanted:
        raise UserError(
            f"task {one.name!r}: {one.dataset.title} is handed out by its authors only: "
            f"{one.dataset.request}; then set path to a folder with {one.dataset.wanted}"
        )
    from pteb_eval.implicit.download import check_kept, digest_file, download

    folder = kept_folder(one)
    for name, about in wanted.items():
        target = folder / name
        if fetching and not is_offline():
            download(about["url"], target, about.get("sha256"))
        if not (target.is_file() and digest_file(target).is_file()):
            raise UserError(
                f"task {one.name!r}: {target} is not on this machine: run the fetch rules where "
                "there is a network, with the same HF_HOME, or set path to a copy"
            )
        check_kept(target)
    return folder if len(one.dataset.files) == 1 else folder / next(iter(wanted))


def files_of(one: Entry) -> dict[str, dict[str, str]]:
    """The data set's declared files that a task needs."""
    files = one.dataset.files
    own = {name: about for name, about in files.items() if name.split(".")[0] == one.part}
    return own or files


def kept_folder(one: Entry) -> Path:
    """Where the downloaded files of a data set lie."""
    from datasets import config

    return Path(config.HF_DATASETS_CACHE) / "pteb_eval" / "implicit" / one.dataset.name


class _Making:
    """All that the builders below need."""

    def __init__(
        self, one: Entry, settings: Mapping[str, Any], rows: Rows, train: str, sha256: str
    ) -> None:
        self.one, self.rows, self.train, self.sha256 = one, rows, train, sha256
        self.settings = {
            "name": task_name(settings),
            "language": "eng-Latn",
            "path": one.dataset.name,
            "description": f"{one.dataset.title}: {one.title}",
            "prompt": one.dataset.prompt,
        }

    def make(
        self,
        base: type[Any],
        kind: str,
        main_score: str,
        columns: Callable[[list[Row]], dict[str, list[Any]]],
        splits: list[str],
        **attributes: Any,
    ) -> Task:
        """A loaded task of some of the splits."""
        from pteb_eval.tasks.files.base import make_task

        data = {split: columns(self.rows.splits[split]) for split in splits}
        task = make_task(
            base,
            {**self.settings, "type": kind},
            {"default": data},
            self.sha256,
            main_score,
            **attributes,
        )
        task.offensive = self.one.dataset.offensive
        return task


def _classification(making: _Making) -> Task:
    from pteb_eval.implicit.tasks import LABEL, TEXT, AbsTaskImplicitClassification

    def columns(rows: list[Row]) -> dict[str, list[Any]]:
        return {TEXT: [row.text for row in rows], LABEL: [row.answer for row in rows]}

    return making.make(
        AbsTaskImplicitClassification,
        "classification",
        "accuracy",
        columns,
        [making.train, TEST],
        train_split=making.train,
    )


def _zero_shot(making: _Making) -> Task:
    from pteb_eval.implicit.tasks import LABEL, OPTIONS, TEXT, AbsTaskOptions

    def columns(rows: list[Row]) -> dict[str, list[Any]]:
        return {
            TEXT: [row.text for row in rows],
            OPTIONS: [list(row.options) for row in rows],
            LABEL: [row.answer for row in rows],
        }

    train = making.rows.splits.get(making.train, making.rows.splits[TEST])
    return making.make(
        AbsTaskOptions,
        "zero_shot",
        "accuracy",
        columns,
        [TEST],
        train_answers=[row.answer for row in train],
    )


def _pairs(making: _Making) -> Task:
    from pteb_eval.implicit.tasks import AbsTaskThresholdPairs

    def columns(rows: list[Row]) -> dict[str, list[Any]]:
        pairs = [
            (row.text, option, int(number == row.answer))
            for row in rows
            for number, option in enumerate(row.options)
        ]
        texts, options, labels = zip(*pairs, strict=True)
        return {"sentence1": list(texts), "sentence2": list(options), "labels": list(labels)}

    splits = [split for split in (DEV, TEST) if making.rows.splits.get(split)]
    if DEV not in splits:
        making.rows.notes.append(
            "no development split: the threshold is the best one on the evaluated labels, a "
            "diagnostic and no estimate"
        )
    return making.make(
        AbsTaskThresholdPairs,
        "pair_classification",
        "dev_accuracy" if DEV in splits else "best_accuracy",
        columns,
        splits,
    )


_BUILDERS = {CLASSIFICATION: _classification, ZERO_SHOT: _zero_shot, PAIRS: _pairs}
