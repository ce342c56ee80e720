"""Entries of `tasks`: of mteb, of the implicit suite, from the user's own files."""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from pteb_eval.config.base import FilePath, Name, Revision, Strict
from pteb_eval.implicit.catalogue import datasets, task_name


class TaskBase(Strict):
    """What every task entry may say.

    Attributes:
        max_instances: reword and compare only the first so many instances of each subset and split;
            the original is scored on all of them besides. None: all.
    """

    max_instances: int | None = Field(default=None, ge=1)


class MtebTask(TaskBase):
    """A task of mteb, by its name.

    Attributes:
        mteb: mteb's name of the task, such as `STSBenchmark`.
        revision: revision of the data set (40 hexadecimal digits); None: the one that mteb pins.
        subsets: mteb's subsets (languages) to use; None: all.
        splits: splits to evaluate; None: the task's own.
    """

    mteb: Name
    revision: Revision | None = None
    subsets: list[str] | None = None
    splits: list[str] | None = None
    files: ClassVar[list[Path]] = []

    @property
    def name(self) -> str:
        """Name of the task in files and tables."""
        return self.mteb


class ImplicitTask(TaskBase):
    """A task of the implicit-semantics suite, see docs/implicit.md.

    Attributes:
        implicit: name of the task, such as `pstance-biden`; the name of a data set, such as
            `pstance`, stands for all its tasks.
        path: local copy of the data set, a folder or an archive, used instead of the download;
            needed where the authors hand out the data themselves.
        evaluation: `classification` (logistic regression on the train split), `zero_shot` (the
            option most like the text) or `pairs` (a threshold on the cosine of text and option);
            None: classification where all items have the same options, else zero-shot.
        train_on: split that a classifier is trained on; `dev` where a copy has no train part.
    """

    implicit: Name
    path: FilePath | None = None
    evaluation: Literal["classification", "zero_shot", "pairs"] | None = None
    train_on: Literal["train", "dev"] = "train"

    @property
    def name(self) -> str:
        """Name of the task in files and tables."""
        return task_name({"implicit": self.implicit, "evaluation": self.evaluation})

    @property
    def files(self) -> list[Path]:
        """The local copy, if there is one."""
        return [self.path] if self.path else []


class FileFormat(Strict):
    """How to read a CSV or TSV file.

    Attributes:
        delimiter: between cells; None: a comma, or a tab if the file's name says `.tsv`.
        header: whether the first row names the columns (None: yes); without one, columns are given
            by number.
        quoting: `minimal`: quotation marks group a cell's text; `none`: they are ordinary
            characters. None: as the kind of file has it.
        encoding: of the file; None: UTF-8.
    """

    delimiter: str | None = None
    header: bool | None = None
    quoting: Literal["minimal", "none"] | None = None
    encoding: str | None = None


class FileTask(TaskBase):
    """A task of the user's own, from local files.

    Attributes:
        type: kind of task.
        name: name of the task in files and tables.
        path: CSV, TSV, JSONL or Parquet file (`.gz` too), a list of them, or the folder of a
            retrieval task.
        train: file of the training rows of a classification task.
        samples_per_label: training rows of each label in an experiment of a classification task.
        positive: label, or labels, of pairs that belong together.
        corpus: file of a retrieval task's documents, in place of a folder.
        queries: file of its queries.
        qrels: file of its judgements.
        ignore_identical_ids: leave out the document whose id is the query's own.
        columns: which column holds what; by name, or by number from 0 in a file without header.
        format: how to read a CSV or TSV file.
        min_score: least gold score of an STS or summarization task; None: the type's own.
        max_score: greatest gold score of an STS or summarization task; None: the type's own.
        language: language and script of the texts as mteb writes it, such as `eng-Latn`; or one for
            each subset, if `columns.subset` names the column that says which subset a row is in.
        description: one line shown in the report; say here what readers must know of the data.
        prompt: instruction for models that take one.
    """

    type: Literal[
        "sts",
        "pair_classification",
        "classification",
        "clustering",
        "retrieval",
        "reranking",
        "summarization",
        "texts",
    ]
    name: Name
    path: FilePath | list[FilePath] | None = None
    columns: dict[str, str | Annotated[int, Field(ge=0)]] | None = None
    format: FileFormat | None = None
    train: FilePath | None = None
    samples_per_label: int | None = Field(default=None, ge=1)
    positive: str | int | list[str | int] | None = None
    corpus: FilePath | None = None
    queries: FilePath | None = None
    qrels: FilePath | None = None
    ignore_identical_ids: bool | None = None
    min_score: float | None = None
    max_score: float | None = None
    language: str | dict[str, str | list[str]] = "eng-Latn"
    description: str | None = None
    prompt: str | dict[Literal["query", "document"], str] | None = None

    @property
    def files(self) -> list[Path]:
        """All files and folders that the entry names."""
        several = self.path if isinstance(self.path, list) else [self.path]
        return [
            path
            for path in (*several, self.train, self.corpus, self.queries, self.qrels)
            if path is not None
        ]


def _task_kind(value: Any) -> str:
    if isinstance(value, MtebTask) or (isinstance(value, dict) and "mteb" in value):
        return "<mteb>"
    if isinstance(value, ImplicitTask) or (isinstance(value, dict) and "implicit" in value):
        return "<implicit>"
    return "<file>"


def tasks_of(entry: Any) -> list[Any]:
    """An entry that names a data set of the suite, as entries of its tasks."""
    name = entry.get("implicit") if isinstance(entry, dict) else None
    if not isinstance(name, str) or name not in datasets():
        return [entry]
    return [{**entry, "implicit": task} for task in datasets()[name].tasks]


Task = Annotated[
    Annotated[MtebTask, Tag("<mteb>")]
    | Annotated[ImplicitTask, Tag("<implicit>")]
    | Annotated[FileTask, Tag("<file>")],
    Discriminator(_task_kind),
]
