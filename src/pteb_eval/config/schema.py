"""What a configuration may say. Unknown keys are errors; every default is written out here."""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from pteb_eval.implicit.catalogue import datasets, task_name

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=100)]
ORIGINAL = "original"  # stands where a generator's name stands, for the texts as they are


class Strict(BaseModel):
    """A mapping with known keys only."""

    model_config = ConfigDict(extra="forbid", frozen=True)


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
    revision: str | None = None
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
    path: Path | None = None
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
    path: Path | list[Path] | None = None
    columns: dict[str, str | int] | None = None
    format: FileFormat | None = None
    train: Path | None = None
    samples_per_label: int | None = Field(default=None, ge=1)
    positive: str | int | list[str | int] | None = None
    corpus: Path | None = None
    queries: Path | None = None
    qrels: Path | None = None
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


def _tasks_of(entry: Any) -> list[Any]:
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


class Model(Strict):
    """A text-embedding model.

    Attributes:
        name: a packaged model (`pteb-eval list models`), or a name that mteb or the hub knows.
        revision: revision on the hub; None: the one that mteb pins.
        path: folder of a sentence-transformers model, used instead of the hub.
        dtype: of the weights; None: as stored.
        max_length: longest input in tokens; None: the model's own.
        trust_remote_code: run code that comes with the model. Off unless set here, and then shown.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$", max_length=150)
    revision: str | None = None
    path: Path | None = None
    dtype: Literal["float32", "bfloat16", "float16"] | None = None
    max_length: int | None = Field(default=None, ge=1)
    trust_remote_code: bool = False

    @property
    def slug(self) -> str:
        """The name as one path segment, with mteb's `__` for `/`."""
        return self.name.replace("/", "__")


# Options of engines that change answers, by engine; the others change speed alone.
ANSWER_OPTIONS = {
    "llamacpp": frozenset[str](),
    "openai": frozenset({"server", "extra_body"}),
    "vllm": frozenset({"dtype", "quantization"}),
}


class SamplingConfig(Strict):
    """Sampling of the generator; every field explicit, the values of the PTEB protocol.

    Attributes:
        temperature: softmax temperature; 0 is greedy.
        top_p: nucleus mass.
        top_k: number of candidates; 0: no limit.
        min_p: least probability relative to the best candidate; 0: no limit.
        repetition_penalty: 1 is none.
        max_tokens: most tokens of an answer.
    """

    temperature: float = Field(default=0.8, ge=0, le=5)
    top_p: float = Field(default=0.9, gt=0, le=1)
    top_k: int = Field(default=0, ge=0)
    min_p: float = Field(default=0, ge=0, le=1)
    repetition_penalty: float = Field(default=1, gt=0)
    max_tokens: int = Field(default=512, ge=1)


class Generator(Strict):
    """What rewords the texts: an engine, a model, its sampling and one or more prompts in a chain.

    Attributes:
        name: name in files and tables.
        engine: `llamacpp` (in process), `openai` (any compatible endpoint), `vllm`.
        model: the engine's name of the model; for `llamacpp` a GGUF file or a packaged GGUF.
        revision: revision of the model on the hub.
        prompts: prompt files, applied one after the other to each text (paraphrase: one).
        sampling: sampling fields.
        attempts: times that a text is asked for, each with a seed of its own, until an answer can
            be used. 1: never asked again.
        options: the engine's own options, such as `parallel`. Most change speed and not answers;
            those of `ANSWER_OPTIONS` do change answers.
        rate: paraphrases a second that `pteb-eval plan` reckons with until it has measured one.
        shards: jobs that one task's generation is split into; the results do not depend on it.
    """

    name: Name
    engine: Literal["llamacpp", "openai", "vllm"]
    model: str
    revision: str | None = None
    prompts: list[Path] = Field(min_length=1)
    sampling: SamplingConfig = SamplingConfig()
    attempts: int = Field(default=1, ge=1, le=10)
    options: dict[str, Any] = {}
    rate: float | None = Field(default=None, gt=0)
    shards: int = Field(default=1, ge=1, le=1000)


class FrozenSet(Strict):
    """Paraphrases that were made before, in place of a generator: no LLM is needed.

    Attributes:
        name: name in files and tables.
        frozen: folder that `pteb-eval paraphrases export` wrote, with a file for each task.
    """

    name: Name
    frozen: Path


def _generator_kind(value: Any) -> str:
    if isinstance(value, FrozenSet) or (isinstance(value, dict) and "frozen" in value):
        return "<frozen>"
    return "<engine>"


GeneratorEntry = Annotated[
    Annotated[Generator, Tag("<engine>")] | Annotated[FrozenSet, Tag("<frozen>")],
    Discriminator(_generator_kind),
]


class JudgeSampling(SamplingConfig):
    """Sampling of a judge: one greedy answer of a few tokens, unless set otherwise.

    Attributes:
        temperature: softmax temperature; 0 is greedy.
        top_p: nucleus mass.
        max_tokens: most tokens of an answer.
    """

    temperature: float = Field(default=0, ge=0, le=5)
    top_p: float = Field(default=1, gt=0, le=1)
    max_tokens: int = Field(default=8, ge=1)


class LlmJudge(Strict):
    """An LLM that rates from 0 to 5 how close two texts are in meaning.

    Attributes:
        name: name in files and tables.
        engine: `llamacpp` (in process), `openai` (any compatible endpoint), `vllm`.
        model: as of a generator.
        revision: revision of the model on the hub.
        prompt: prompt file, with `{first}` and `{second}` where the texts go.
        sampling: sampling fields.
        ratings: ratings of a pair that are averaged, each with a seed of its own; more than one
            needs a temperature above 0.
        both_orders: rate each pair in both orders and average, since judges lean to one side.
        constrained: allow the engine no answer but 0 to 5; else the rating is read from its words.
        attempts: times that a pair is asked for, each with a seed of its own, until a rating can be
            read; more than one needs a temperature above 0.
        options: the engine's own options, as of a generator.
        shards: jobs that one task's judgements are split into; the results do not depend on it.
    """

    name: Name
    engine: Literal["llamacpp", "openai", "vllm"]
    model: str
    revision: str | None = None
    prompt: Path
    sampling: JudgeSampling = JudgeSampling()
    ratings: int = Field(default=1, ge=1, le=100)
    both_orders: bool = True
    constrained: bool = True
    attempts: int = Field(default=1, ge=1, le=10)
    options: dict[str, Any] = {}
    shards: int = Field(default=1, ge=1, le=1000)

    @model_validator(mode="after")
    def _draws_differ(self) -> "LlmJudge":
        for key in ("ratings", "attempts"):
            if getattr(self, key) > 1 and self.sampling.temperature == 0:
                raise ValueError(
                    f"{key}: {getattr(self, key)} greedy answers are all the same: set "
                    "sampling.temperature above 0"
                )
        return self


class ModelJudge(Strict):
    """Evidence for meaning that is no LLM, on the same scale from 0 to 5.

    Attributes:
        name: name in files and tables.
        engine: `nli`: five times the mean probability, over both directions, that one text entails
            the other; `cosine`: five times the cosine of the two vectors, at least 0;
            `edit_distance`: five times 1 − the normalized edit distance, a baseline without sense.
        model: for `nli` a cross-encoder's name or folder; for `cosine` a packaged model or a name
            that mteb or the hub knows.
        revision: revision of the model on the hub.
    """

    name: Name
    engine: Literal["nli", "cosine", "edit_distance"]
    model: str | None = None
    revision: str | None = None

    @model_validator(mode="after")
    def _has_its_model(self) -> "ModelJudge":
        if (self.model is None) != (self.engine == "edit_distance"):
            need = "takes no" if self.model else "needs a"
            raise ValueError(f"engine {self.engine} {need} `model`")
        return self


def _judge_type(value: Any) -> str:
    engine = value.get("engine") if isinstance(value, dict) else value.engine
    return "<model>" if engine in ("nli", "cosine", "edit_distance") else "<llm>"


Judge = Annotated[
    Annotated[LlmJudge, Tag("<llm>")] | Annotated[ModelJudge, Tag("<model>")],
    Discriminator(_judge_type),
]


class Embedding(Strict):
    """How texts are embedded.

    Attributes:
        batch_size: texts in one batch. Values change in the last digits with it, so keep it fixed.
        device: `cpu`, `cuda`, `cuda:1` …; None: what sentence-transformers finds.
    """

    batch_size: int = Field(default=64, ge=1)
    device: str | None = None


class Statistics(Strict):
    """What is tested and how, declared before the run.

    Attributes:
        unit: what a test counts as one observation: `instance`, or `dataset` (one Δ a task, so one
            test a model over all tasks).
        alternative: `two-sided`, or `greater` (the score drops) where only a drop is of interest.
        wilcoxon: `each_run` ranks the original against every run, which keeps the level of the
            test; `mean_of_runs` is the plain test on original − mean of runs, which does not: it
            rejects true nulls far too often where values are skewed (docs/method.md).
        zero_method: what a signed-rank test does with instances that did not change.
        permutations: of the test of metrics without a value for each instance.
        family: tests that are adjusted together: those of all models on one `task`, those of one
            `model` on all tasks, or `all`; in each case of one generator.
        correction: `holm` (family-wise error) or `fdr_bh` (false discovery rate), within a family.
        alpha: level of the tests.
        epsilon: largest drop that would not matter, as a fraction (0.01 is one point); with it, a
            verdict can be `equivalent`. None: not declared.
        max_width: widest interval of Δ that still says something, as a fraction; wider is
            `underpowered`. None: twice epsilon, or any width without one.
        interval: bootstrap interval: `percentile`, or `bca` (corrected for bias and skewness).
        confidence: of the intervals.
        resamples: bootstrap resamples.
    """

    unit: Literal["instance", "dataset"] = "instance"
    alternative: Literal["two-sided", "greater"] = "two-sided"
    wilcoxon: Literal["each_run", "mean_of_runs"] = "each_run"
    zero_method: Literal["wilcox", "pratt", "zsplit"] = "wilcox"
    permutations: int = Field(default=2000, ge=100)
    family: Literal["task", "model", "all"] = "task"
    correction: Literal["holm", "fdr_bh"] = "holm"
    alpha: float = Field(default=0.05, gt=0, lt=1)
    epsilon: float | None = Field(default=None, gt=0, lt=1)
    max_width: float | None = Field(default=None, gt=0)
    interval: Literal["percentile", "bca"] = "percentile"
    confidence: float = Field(default=0.95, gt=0, lt=1)
    resamples: int = Field(default=2000, ge=100)


class Config(Strict):
    """A whole run.

    Attributes:
        name: names the folder `results/<name>`.
        seed: base seed of everything that draws at random.
        runs: paraphrases of each text (n = 6 in the PTEB protocol); `auto` begins with six and lets
            `pteb-eval run` add more until no interval of Δ is wider than `statistics.max_width`.
        max_runs: most runs of `runs: auto`.
        scope: which texts are reworded: `pteb` (the protocol's choice for each kind of task),
            `all`, `eval_only` (all but training texts), or a list of roles.
        on_failure: `exclude` leaves an instance with a failed paraphrase out of the original and of
            every run; `substitute` puts the original text in its place, for comparison with the
            reference code, and is marked wherever it shows.
        max_failure_rate: share of failed paraphrases above which a run stops.
        tasks: mteb names, or entries of tasks.
        models: names, or entries of models.
        generators: entries of generators, or of frozen sets; none: the texts are scored as they are
            and nothing is reworded.
        judges: what rates whether paraphrases keep the meaning (docs/judge.md). The first one fills
            `judge_mean` and filters; the others are compared with it.
        validate_judge: STS and pair classification tasks whose gold all judges are checked against;
            names of `tasks`, mteb names, or entries of tasks. `max_instances` limits the pairs.
        min_judge_spearman: Spearman's correlation with gold, mean over the data sets of
            `validate_judge`, below which a judge is marked *not reliable* and cannot filter.
        min_judge: ratings, such as [3, 4]: scores beside the default on only those instances of
            which the first judge gave every text in every run at least that.
        embedding: how texts are embedded.
        statistics: what is tested and how.
    """

    name: Name
    seed: int = Field(default=42, ge=0)
    runs: Annotated[int, Field(ge=1, le=1000)] | Literal["auto"] = 6
    max_runs: int = Field(default=30, ge=6, le=1000)
    scope: Literal["pteb", "all", "eval_only"] | list[str] = "pteb"
    on_failure: Literal["exclude", "substitute"] = "exclude"
    max_failure_rate: float = Field(default=0.05, ge=0, le=1)
    tasks: list[Task] = Field(min_length=1)
    models: list[Model] = Field(min_length=1)
    generators: list[GeneratorEntry] = []
    judges: list[Judge] = []
    validate_judge: list[Task] = []
    min_judge_spearman: float = Field(default=0.7, ge=-1, le=1)
    min_judge: list[Annotated[float, Field(gt=0, le=5)]] = []
    embedding: Embedding = Embedding()
    statistics: Statistics = Statistics()

    @field_validator("tasks", "models", mode="before")
    @classmethod
    def _names_are_entries(cls, entries: Any, info: Any) -> Any:
        """A bare name stands for an entry that says nothing else."""
        key = "mteb" if info.field_name == "tasks" else "name"
        if not isinstance(entries, list):
            return entries
        found = [{key: entry} if isinstance(entry, str) else entry for entry in entries]
        return [part for entry in found for part in _tasks_of(entry)]

    @field_validator("validate_judge", mode="before")
    @classmethod
    def _names_of_tasks(cls, entries: Any, info: Any) -> Any:
        """A bare name stands for that one of `tasks`, or else for a task of mteb."""
        if not isinstance(entries, list):
            return entries
        known = {task.name: task for task in info.data.get("tasks", ())}
        return [
            known.get(entry, {"mteb": entry}) if isinstance(entry, str) else entry
            for entry in entries
        ]

    @model_validator(mode="after")
    def _judges_fit(self) -> "Config":
        kinds = ("sts", "pair_classification")
        for task in self.validate_judge:
            if isinstance(task, FileTask) and task.type not in kinds:
                raise ValueError(
                    f"validate_judge: {task.name!r} is of type {task.type}: pairs with gold are "
                    f"needed, type {' or '.join(kinds)}"
                )
            if any(task.name == other.name and task != other for other in self.tasks):
                raise ValueError(f"validate_judge: {task.name!r} differs from that of `tasks`")
        if self.validate_judge and not self.judges:
            raise ValueError("validate_judge: there are no `judges` to validate")
        if self.min_judge and not (self.judges and self.validate_judge):
            raise ValueError(
                "min_judge: needs `judges`, and `validate_judge` to check them: a judge that was "
                "never held against people's ratings cannot filter"
            )
        return self

    @model_validator(mode="after")
    def _auto_has_a_target(self) -> "Config":
        if self.runs == "auto" and self.statistics.max_width is None:
            raise ValueError("runs: 'auto' needs statistics.max_width, the width to reach")
        return self

    @model_validator(mode="after")
    def _unique_names(self) -> "Config":
        for key in ("tasks", "models", "generators", "judges", "validate_judge"):
            # A model's slug names its files: a/b and a__b would share them.
            names = [getattr(entry, "slug", entry.name) for entry in getattr(self, key)]
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{key}: {twice[0]!r} stands there twice; names must differ")
        if ORIGINAL in {entry.name for entry in self.generators}:
            raise ValueError(f"generators: the name {ORIGINAL!r} is kept for the texts as they are")
        return self
