"""Where every file of a run lies: the one place that rules, stages and documents agree on."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TEST_TABLES = (
    "scores",
    "summary",
    "significance",
    "effects",
    "runs",
    "paraphrase_quality",
    "surface",
    "inputs",
    "warnings",
)
RANK_TABLES = ("ranking", "model_pairs", "across_tasks")
SUITE_TABLES = ("implicit",)
SUITE_DELTA_TABLES = ("implicit_delta",)
SUITE_FIGURES = ("implicit_levels",)
TABLES = (*TEST_TABLES, *RANK_TABLES)
REVIEW_TABLES = ("review", "review_raters")  # of `pteb-eval review import`; no rule makes them
JUDGE_TABLES = (
    "judge_validation",
    "drift",
    "drift_regression",
    "paraphrasers",
    "judge_agreement",
)
TABLE_FORMATS = ("csv", "md", "tex")
FIGURES = ("delta", "original_vs_pteb", "rank_changes", "critical_difference", "interval_width")
JUDGE_FIGURES = ("delta_by_judge", "paraphrasers")
CAPTION_FORMATS = ("md", "tex", "rst")
COLUMN_SUFFIX = "_column"  # of figures as wide as one column of a two-column page
FIGURE_FORMATS = ("pdf", "svg", "png")


def judge_tables(n_judges: int, validated: bool) -> list[str]:
    """Those of `JUDGE_TABLES` that a run with so many judges has."""
    has = {
        "judge_validation": validated,
        "drift": n_judges > 0,
        "drift_regression": n_judges > 0,
        "paraphrasers": n_judges > 0,
        "judge_agreement": n_judges > 1,
    }
    return [name for name in JUDGE_TABLES if has[name]]


@dataclass(frozen=True)
class Layout:
    """Files below `results/<name>`; arguments may be Snakemake wildcards such as `{model}`."""

    root: Path

    def texts(self, task: str) -> Path:
        """Distinct texts of a task and their slots."""
        return self.root / "texts" / f"{task}.parquet"

    def model(self, model: str) -> Path:
        """What a model was when it was fetched."""
        return self.root / "models" / f"{model}.json"

    def generator(self, generator: str) -> Path:
        """What a generator's model was when it was fetched."""
        return self.root / "models" / "generators" / f"{generator}.json"

    def paraphrases(self, generator: str, task: str) -> Path:
        """A generator's paraphrases of a task's texts."""
        return self.root / "paraphrases" / generator / f"{task}.parquet"

    def paraphrase_shard(self, generator: str, task: str, shard: str) -> Path:
        """One shard of a paraphrase file, such as `2-of-8`."""
        return self.root / "paraphrases" / generator / "shards" / f"{task}.{shard}.parquet"

    def judge(self, judge: str) -> Path:
        """What a judge's model was when it was fetched."""
        return self.root / "models" / "judges" / f"{judge}.json"

    def judgements(self, judge: str, generator: str, task: str) -> Path:
        """A judge's ratings of a generator's paraphrases of a task."""
        return self.root / "judgements" / judge / generator / f"{task}.parquet"

    def judgement_shard(self, judge: str, generator: str, task: str, shard: str) -> Path:
        """One shard of a file of judgements, such as `2-of-8`."""
        folder = self.root / "judgements" / judge / generator / "shards"
        return folder / f"{task}.{shard}.parquet"

    def gold(self, task: str) -> Path:
        """Pairs of a task that people rated."""
        return self.root / "gold" / f"{task}.parquet"

    def validation(self, judge: str, task: str) -> Path:
        """A judge's ratings of these pairs."""
        return self.root / "validation" / judge / f"{task}.parquet"

    def drift(self, judge: str, generator: str, task: str) -> Path:
        """How well the texts of each instance kept their meaning."""
        return self.root / "drift" / judge / generator / f"{task}.parquet"

    def judged_scores(self, model: str, generator: str, task: str) -> Path:
        """Scores on instances whose meaning was kept, for each threshold of `min_judge`."""
        return self.root / "judged" / "scores" / model / generator / f"{task}.parquet"

    def judged_instances(self, model: str, generator: str, task: str) -> Path:
        """The per-instance values behind them."""
        return self.root / "judged" / "instances" / model / generator / f"{task}.parquet"

    def review_page(self, sample: str) -> Path:
        """The page on which people rate a sample of pairs."""
        return self.root / "review" / f"{sample}.html"

    def review_key(self, sample: str) -> Path:
        """What the items of such a page are."""
        return self.root / "review" / f"{sample}.key.parquet"

    def embeddings(self, model: str, generator: str, task: str) -> Path:
        """A model's vectors of a task's own texts (`original`) or of a generator's paraphrases."""
        return self.root / "embeddings" / model / generator / f"{task}.parquet"

    def scores(self, model: str, generator: str, task: str) -> Path:
        """A model's scores of the original, or of a generator's runs beside it."""
        return self.root / "scores" / model / generator / f"{task}.parquet"

    def instances(self, model: str, generator: str, task: str) -> Path:
        """The per-instance values behind a scores file."""
        return self.root / "instances" / model / generator / f"{task}.parquet"

    def surface(self, model: str, generator: str, task: str) -> Path:
        """How far each text's vector moved in each run."""
        return self.root / "surface" / model / generator / f"{task}.parquet"

    def mteb(self, model: str, revision: str, task: str) -> Path:
        """The original's score as an mteb `TaskResult`."""
        return self.root / "mteb" / model / revision / f"{task}.json"

    def table(self, table: str, extension: str = "csv") -> Path:
        """A table of the whole run."""
        return self.root / "tables" / f"{table}.{extension}"

    def figure(self, figure: str, extension: str = "svg") -> Path:
        """A figure of the whole run."""
        return self.root / "figures" / f"{figure}.{extension}"

    def suite(self, model: str, dataset: str, extension: str = "csv") -> Path:
        """A model's results on one data set of the implicit suite, in its benchmark's layout."""
        return self.root / "implicit" / model / f"{dataset}_results.{extension}"

    def suite_summary(self, model: str) -> Path:
        """A model's averages over the implicit suite."""
        return self.root / "implicit" / model / "summary.json"

    def captions(self, extension: str, part: str = "") -> Path:
        """What stands under each figure and table; `part`: `implicit` for those of the suite."""
        return self.root / f"captions{part and '_' + part}.{extension}"

    @property
    def auto_runs(self) -> Path:
        """The number of runs that `runs: auto` has come to."""
        return self.root / "auto_runs.json"

    @property
    def report(self) -> Path:
        """The page that shows everything."""
        return self.root / "report.html"

    def log(self, *parts: str) -> Path:
        """Log of a job."""
        return self.root.joinpath("logs", *parts[:-1], f"{parts[-1]}.log")


def figure_files(layout: Layout, names: Iterable[str]) -> list[str]:
    """The files of figures, in both widths and all formats."""
    return [
        str(layout.figure(name + suffix, extension))
        for name in names
        for suffix in ("", COLUMN_SUFFIX)
        for extension in FIGURE_FORMATS
    ]


def has_caption(path: Path) -> bool:
    """Whether Snakemake's own report shows a file: a figure once, a table that is not too long."""
    if path.parent.name == "figures":
        return path.suffix == ".svg" and not path.stem.endswith(COLUMN_SUFFIX)
    return path.parent.name == "tables" and path.suffix == ".csv" and path.stem != "scores"
