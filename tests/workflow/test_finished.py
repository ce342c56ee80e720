"""What a finished run holds, and what it costs to go on from there."""

import csv
import json
import re
import zipfile
from pathlib import Path

import pytest
import yaml
from mteb import TaskResult
from project import CONFIG

from pteb_eval.store import provenance_of, read_table

RUNS, TASKS, MODELS = CONFIG["runs"], ("pairs", "BIOSSES"), ("fake-a", "fake-b")
COLUMNS = {
    "scores": "model generator task task_type subset split variant run metric value n_instances",
    "summary": "model generator task task_type subset metric original pteb_mean pteb_std delta "
    "delta_ci_low delta_ci_high n_runs n_instances excluded_instances failure_rate copy_rate "
    "judge_mean",
    "significance": "family unit model task n n_ties statistic p p_holm reject effect_size "
    "min_attainable_p verdict",
}


@pytest.fixture(scope="module")
def results(finished):
    return finished.folder / "results" / "small"


def table(results, name):
    with (results / "tables" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", COLUMNS)
def test_tables_have_exactly_these_columns(results, name):
    rows = table(results, name)
    assert list(rows[0]) == COLUMNS[name].split()
    assert {(row["model"], row["task"]) for row in rows} == {(m, t) for m in MODELS for t in TASKS}


def test_a_pair_with_a_failed_text_counts_on_neither_side(results):
    """One sentence of eight pairs fails, in both runs."""
    for row in table(results, "summary"):
        pairs = row["task"] == "pairs"
        assert (row["n_instances"], row["excluded_instances"]) == (
            ("7", "1") if pairs else ("4", "0")
        )
        assert float(row["failure_rate"]) == (2 / 32 if pairs else 0)
        assert row["n_runs"] == str(RUNS)
        assert float(row["delta"]) == pytest.approx(
            float(row["original"]) - float(row["pteb_mean"])
        )
    counts = {
        (row["variant"], row["run"]): row["n_instances"]
        for row in table(results, "scores")
        if row["task"] == "pairs"
    }
    assert counts == {
        ("original_all", ""): "8", ("original", ""): "7",
        ("paraphrase", "1"): "7", ("paraphrase", "2"): "7",
    }  # fmt: skip


def test_the_summary_is_the_mean_of_the_scores(results):
    scores = [row for row in table(results, "scores") if row["metric"] == "main_score"]
    for cell in table(results, "summary"):
        own = [
            row for row in scores if (row["model"], row["task"]) == (cell["model"], cell["task"])
        ]
        runs = [float(row["value"]) for row in own if row["variant"] == "paraphrase"]
        [original] = [float(row["value"]) for row in own if row["variant"] == "original"]
        assert len(runs) == RUNS
        assert float(cell["pteb_mean"]) == pytest.approx(sum(runs) / RUNS)
        assert float(cell["original"]) == pytest.approx(original)


def test_mteb_reads_the_originals_back(results):
    for model in MODELS:
        for task in TASKS:
            revision = "local" if model == "fake-b" else "default"
            read = TaskResult.from_disk(results / "mteb" / model / revision / f"{task}.json")
            [row] = [
                row for row in table(results, "scores")
                if (row["model"], row["task"], row["variant"], row["metric"])
                == (model, task, "original_all", "main_score")
            ]  # fmt: skip
            assert read.task_name == task
            assert read.get_score() == pytest.approx(float(row["value"]))


def test_every_file_says_where_it_comes_from(finished, results):
    files = [path for path in results.rglob("*.parquet") if path.is_file()]
    assert len(files) > 20
    for path in files:
        about = provenance_of(read_table(path).schema)
        stage = path.relative_to(results).parts[0]
        verb = {
            "texts": "fetch", "paraphrases": "paraphrase", "embeddings": "embed",
        }.get(stage, "score")  # fmt: skip
        assert about["stage"] == verb, path
        assert about["pteb_eval"] and about["code"] and about["settings"] and about["libraries"]
        assert str(finished.folder) not in json.dumps(about), path


def test_everything_was_made_once(finished, results):
    work = finished.work()
    assert set(work.values()) == {1}
    n_reworded = sum(
        sum(read_table(results / "texts" / f"{task}.parquet")["reworded"].to_pylist())
        for task in TASKS
    )
    assert sum(kind == "answer" for kind, *_ in work) == n_reworded * RUNS


# Going on


def test_more_runs_cost_that_many_generations_a_text_and_no_more(project, results):
    project.configure({**yaml.safe_load((project.folder / "my.yaml").read_text()), "runs": 4})
    before = project.work()
    result = project.snakemake("--cores", "2")
    assert result.status == 0, result.output
    added = project.work() - before
    assert set(project.work().values()) == {1}
    paraphrases = project.folder / "results" / "small" / "paraphrases" / "shuffler"
    new_texts = set()
    for task in TASKS:
        old = read_table(results / "paraphrases" / "shuffler" / f"{task}.parquet").to_pylist()
        new = read_table(paraphrases / f"{task}.parquet").to_pylist()
        assert [row for row in new if row["run"] <= 2] == old
        assert len(new) == 2 * len(old)
        new_texts |= {row["paraphrase"] for row in new if row["status"] == "ok"}
    n_texts = sum(kind == "answer" for kind, *_ in before) / RUNS
    assert sum(kind == "answer" for kind, *_ in added) == 2 * n_texts
    embedded = {text for kind, *what in before for text in what[1:]}
    assert {text for kind, _, *text in added for text in text} == new_texts - embedded


def test_making_everything_again_costs_no_generation_and_gives_the_same(project, results):
    before = project.work()
    result = project.snakemake("--cores", "2", "--forceall")
    assert result.status == 0, result.output
    assert project.work() == before
    again = project.folder / "results" / "small"
    for name in ("scores", "summary", "significance", "ranking"):
        path = f"tables/{name}.csv"
        assert (again / path).read_bytes() == (results / path).read_bytes()
    for figure in results.glob("figures/*"):
        assert (again / "figures" / figure.name).read_bytes() == figure.read_bytes(), figure.name


def test_a_cache_is_shared_by_all_configurations(project):
    """A second run under another name with one model more: only that model's vectors are made."""
    config = {**CONFIG, "name": "second", "models": [*CONFIG["models"], "fake-c"]}
    project.configure({**config, "tasks": CONFIG["tasks"][:1]})
    before = project.work()
    result = project.snakemake("--cores", "2")
    assert result.status == 0, result.output
    added = project.work() - before
    assert added
    assert {(kind, *what[:1]) for kind, *what in added} == {("vector", "fake-c")}


def test_ratings_of_people_reach_the_report_and_nothing_else_is_made(project):
    result = project.run("pteb-eval", "review", "export", "my.yaml", "--pairs", "20")
    assert result.status == 0, result.output
    folder = project.folder / "results" / "small"
    [key_path] = (folder / "review").glob("*.key.parquet")
    key = read_table(key_path).to_pylist()
    assert {row["task"] for row in key if row["kind"] == "pair"} == set(TASKS)
    content = {"format": "pteb-eval ratings 1", "sample": key_path.name.split(".")[0]}
    ratings = [{"item": row["item"], "rating": 5} for row in key]
    project.write("a.json", json.dumps({**content, "rater": "Ana", "ratings": ratings}))
    result = project.run("pteb-eval", "review", "import", "a.json", "--config", "my.yaml")
    assert result.status == 0, result.output
    assert {row["kept_share"] for row in table(folder, "review")} == {"1.0"}
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.*") if path.is_file()}
    result = project.snakemake("--cores", "1")
    assert result.status == 0, result.output
    changed = {path.name for path, time in before.items() if path.stat().st_mtime_ns != time}
    assert changed == {"report.html", "report.log"}
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "What people say of the meaning" in page and "People rated 10 of the usable" in page


def test_snakemake_s_own_report_has_figures_and_tables_with_their_captions(project, results):
    result = project.snakemake("--report", "report.zip")
    assert result.status == 0, result.output
    with zipfile.ZipFile(project.folder / "report.zip") as packed:
        page = packed.read("report/report.html").decode()
        files = {Path(name).name for name in packed.namelist() if "/raw/" in name}
        assert {"report.html", "delta.svg", "summary.csv", "ranking.csv"} <= files
        assert "scores.csv" not in files and "delta_column.svg" not in files
    assert not re.search(r"<(script|link)[^>]+(src|href)=.?https?:", page)  # opens offline
    for category in ("Figures", "Tables", "Page"):
        assert f'"{category}"' in page
    said = (results / "captions.md").read_text()
    for sentence in (
        "n = 4 to 7 instances a task, 0 to 1 left out for a failed paraphrase.",
        "Intervals: 95 % percentile bootstrap, 100 resamples of the instances.",
        "p adjusted by Holm within the models on one task (m = 2), α = 0.05.",
    ):
        assert sentence in said
        assert sentence in page or json.dumps(sentence)[1:-1] in page


def test_the_summary_of_a_run_on_the_console(project):
    result = project.run("pteb-eval", "summary", "my.yaml")
    assert result.status == 0, result.output
    assert result.output.startswith("Reworded by shuffler: ")
    lines = result.output.splitlines()[3:7]
    assert [line.split()[:2] for line in lines] == [[t, m] for t in TASKS for m in MODELS]
    (project.folder / "results" / "small" / "tables" / "effects.csv").unlink()
    result = project.run("pteb-eval", "summary", "my.yaml")
    assert result.status == 2
    assert "results/small/tables/effects.csv: not there yet (8 of 8 score" in result.output
