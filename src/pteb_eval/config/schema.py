"""What a configuration may say. Unknown keys are errors; every default is written out."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from pteb_eval.config.base import CACHE, ORIGINAL, Name, Strict
from pteb_eval.config.judges import Judge
from pteb_eval.config.models import GeneratorEntry, Model
from pteb_eval.config.tasks import FileTask, Task, tasks_of


class Embedding(Strict):
    """How texts are embedded.

    Attributes:
        batch_size: texts in one batch. Values change in the last digits with it, so keep it fixed.
        device: `cpu`, `cuda`, `cuda:1` …; None: what sentence-transformers finds.
    """

    batch_size: int = Field(default=64, ge=1)
    device: str | None = Field(default=None, pattern=r"^[a-z]+(:\d+)?$")


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
    generators: list[GeneratorEntry] = Field(default=[])
    judges: list[Judge] = Field(default=[])
    validate_judge: list[Task] = Field(default=[])
    min_judge_spearman: float = Field(default=0.7, ge=-1, le=1)
    min_judge: list[Annotated[float, Field(gt=0, le=5)]] = Field(default=[])
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
        return [part for entry in found for part in tasks_of(entry)]

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
            folded = [name.lower() for name in names]  # some file systems do not tell A from a
            twice = [name for name in names if folded.count(name.lower()) > 1]
            if twice:
                case = "" if names.count(twice[0]) > 1 else ", and not in their case alone"
                raise ValueError(f"{key}: {twice[0]!r} stands there twice; names must differ{case}")
        if self.name.lower() == CACHE:
            raise ValueError(f"name: {self.name!r} is kept for the folder of the caches")
        if ORIGINAL in {entry.name for entry in self.generators}:
            raise ValueError(f"generators: the name {ORIGINAL!r} is kept for the texts as they are")
        return self
