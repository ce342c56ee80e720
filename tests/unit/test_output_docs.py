"""docs/output.md names every file, table, figure and column that there is."""

import re
from pathlib import Path

import pytest

from pteb_eval import fetch
from pteb_eval.embed.inputs import INPUT_COLUMNS
from pteb_eval.implicit import results
from pteb_eval.judge import gold, instances, validation
from pteb_eval.judge import stage as judge
from pteb_eval.layout import (
    FIGURES,
    JUDGE_FIGURES,
    JUDGE_TABLES,
    REVIEW_TABLES,
    SUITE_DELTA_TABLES,
    SUITE_FIGURES,
    SUITE_TABLES,
    TABLES,
    Layout,
)
from pteb_eval.paraphrase import stage as paraphrase
from pteb_eval.paraphrase.summary import COLUMNS as QUALITY_COLUMNS
from pteb_eval.review import agreement
from pteb_eval.review.key import SCHEMA as KEY
from pteb_eval.score.instances import INSTANCES
from pteb_eval.score.stage import SCORES
from pteb_eval.score.surface import SURFACE
from pteb_eval.statistics import (
    drift,
    judges,
    paraphrasers,
    rank,
    significance,
    stage,
    summary,
    surface_table,
)

PAGE = (Path(__file__).parents[2] / "docs" / "output.md").read_text(encoding="utf-8")
COLUMNS = {
    "scores.csv": stage.SCORE_COLUMNS,
    "summary.csv": summary.SUMMARY_COLUMNS,
    "significance.csv": significance.SIGNIFICANCE_COLUMNS,
    "effects.csv": significance.EFFECTS_COLUMNS,
    "runs.csv": summary.RUNS_COLUMNS,
    "warnings.csv": summary.WARNING_COLUMNS,
    "ranking.csv": rank.RANKING_COLUMNS,
    "model_pairs.csv": rank.PAIR_COLUMNS,
    "across_tasks.csv": rank.ACROSS_COLUMNS,
    "paraphrase_quality.csv": QUALITY_COLUMNS,
    "surface.csv": surface_table.COLUMNS,
    "inputs.csv": INPUT_COLUMNS,
    "review.csv": agreement.COLUMNS,
    "review_raters.csv": agreement.RATER_COLUMNS,
    "review key": KEY.names,
    "judge_validation.csv": validation.COLUMNS,
    "drift.csv": drift.DRIFT_COLUMNS,
    "drift_regression.csv": drift.REGRESSION_COLUMNS,
    "paraphrasers.csv": paraphrasers.PARAPHRASER_COLUMNS,
    "judge_agreement.csv": judges.AGREEMENT_COLUMNS,
    "judgements": judge.SCHEMA.names,
    "validation": judge.GOLD_SCHEMA.names,
    "gold": gold.SCHEMA.names,
    "drift": instances.SCHEMA.names,
    "judged": ["min_judge"],
    "implicit.csv": results.SUITE_COLUMNS,
    "implicit_delta.csv": results.DELTA_COLUMNS,
    "texts": fetch.SCHEMA.names,
    "paraphrases": paraphrase.SCHEMA.names,
    "scores": SCORES.names,
    "instances": INSTANCES.names,
    "surface": SURFACE.names,
}


def section(heading):
    _, _, rest = PAGE.partition(f"\n### {heading}\n")
    assert rest, f"docs/output.md has no section {heading}"
    return re.split(r"\n##", rest, maxsplit=1)[0]


@pytest.mark.parametrize("name", COLUMNS)
def test_every_column_is_described(name):
    described = set(re.findall(r"`([\w&-]+)`", section(name)))
    assert set(COLUMNS[name]) - described == set()


def test_every_table_and_figure_has_its_place():
    tables = (*TABLES, *JUDGE_TABLES, *REVIEW_TABLES, *SUITE_TABLES, *SUITE_DELTA_TABLES)
    assert {f"{table}.csv" for table in tables} <= COLUMNS.keys()
    figures = (*FIGURES, *JUDGE_FIGURES, *SUITE_FIGURES)
    assert all(f"| `{figure}` |" in PAGE for figure in figures)


def test_every_kind_of_file_stands_in_the_tree():
    layout = Layout(Path())
    paths = [
        layout.texts("<task>"),
        layout.model("<model>"),
        layout.generator("<generator>"),
        layout.paraphrases("<generator>", "<task>"),
        layout.review_page("<sample>"),
        layout.review_key("<sample>"),
        layout.judge("<judge>"),
        layout.judgements("<judge>", "<generator>", "<task>"),
        layout.drift("<judge>", "<generator>", "<task>"),
        layout.gold("<task>"),
        layout.validation("<judge>", "<task>"),
        layout.judged_scores("<model>", "<generator>", "<task>"),
        layout.judged_instances("<model>", "<generator>", "<task>"),
        layout.embeddings("<model>", "<generator>", "<task>"),
        layout.scores("<model>", "<generator>", "<task>"),
        layout.surface("<model>", "<generator>", "<task>"),
        layout.mteb("<model>", "<revision>", "<task>"),
        layout.suite("<model>", "<dataset>"),
        layout.suite_summary("<model>"),
        layout.auto_runs,
        layout.report,
        layout.figure("<figure>_column", "{pdf,svg,png}"),
        layout.captions("md"),
        layout.captions("md", "implicit"),
    ]
    assert [str(path) for path in paths if f"\n  {path} " not in PAGE] == []


def test_every_figure_and_table_has_a_caption_for_snakemake_s_report():
    figures = (*FIGURES, *JUDGE_FIGURES, *SUITE_FIGURES)
    tables = (*TABLES, *JUDGE_TABLES, *SUITE_TABLES, *SUITE_DELTA_TABLES)
    wanted = {Path("figures") / f"{name}.rst" for name in figures}
    wanted |= {Path("tables") / f"{name}.rst" for name in tables if name != "scores"}
    folder = Path(__file__).parents[2] / "workflow" / "report"
    assert {path.relative_to(folder) for path in folder.glob("*/*.rst")} == wanted
