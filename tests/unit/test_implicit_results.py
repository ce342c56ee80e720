"""The suite's averages, its table beside the published figures, and its command line."""

import json
import math
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from suite_files import write_pstance, write_pub
from test_score import BAG, Chain
from typer.testing import CliRunner

from pteb_eval.cli.app import app
from pteb_eval.config import parse_config
from pteb_eval.errors import UserError
from pteb_eval.implicit import results
from pteb_eval.implicit.catalogue import GROUPS, LEVELS, entries, entry, scores
from pteb_eval.implicit.figure import levels
from pteb_eval.layout import Layout
from pteb_eval.published import published
from pteb_eval.workflow import Workflow

BAG_OF_TOKENS = {
    "P-IMP": 0.565, "P-PRE": 0.753, "P-R&D": 0.482, "pstance": 0.734,
    "sbic": 0.606, "implicit_hate": 0.606, "article_bias": 0.606,
}  # fmt: skip


def rows_with(values):
    return [
        {"name": task, "accuracy": values[score]}
        for score, tasks in scores().items()
        for task in tasks
        if score in values
    ]


def test_averages_are_those_of_the_published_table():
    """Its utterance and total follow from the seven scores; society is given as their mean."""
    found = results.averages(rows_with(BAG_OF_TOKENS))
    assert round(100 * found["levels"]["utterance"], 1) == 60.0
    assert round(100 * found["total"], 1) == 62.2
    assert found["levels"]["speaker"] == pytest.approx(0.734)
    assert found["missing"] == []


def test_every_published_total_is_the_mean_of_seven():
    found = published("implicit")
    assert len(found) == 7
    for one in found:
        of = one.figures["average"]
        total = (3 * of["utterance"] + of["speaker"] + 3 * of["society"]) / 7
        assert total == pytest.approx(of["total"], abs=0.001)


def test_what_lacks_a_task_has_no_average():
    found = results.averages([row for row in rows_with(BAG_OF_TOKENS) if row["name"] != "pub-7"])
    assert found["missing"] == ["pub-7"]
    assert math.isnan(found["total"]) and math.isnan(found["levels"]["utterance"])
    assert math.isnan(found["scores"]["P-IMP"]) and found["scores"]["P-PRE"] == 0.753
    assert found["levels"]["society"] == pytest.approx(0.606)


def test_tasks_that_only_stand_beside_do_not_count():
    aside = {name for name, one in entries().items() if not one.counts}
    assert aside == {"pstance-all", "implicit_hate-3way", "article_bias-media"}
    more = [{"name": name, "accuracy": 1.0} for name in aside]
    assert results.averages(rows_with(BAG_OF_TOKENS) + more) == results.averages(
        rows_with(BAG_OF_TOKENS)
    )


def summary(model, **values):
    return {"model": model, "revision": "1", **results.averages(rows_with(BAG_OF_TOKENS | values))}


def test_ours_stand_beside_the_published_ones():
    table = results.suite_table([summary("bag-of-tokens"), summary("other", sbic=0.676)])
    assert list(table) == results.SUITE_COLUMNS
    ours = table[table["source"] == "this run"].set_index("model")
    assert ours.loc["other", "gain"] == pytest.approx(0.01)
    published = table[table["source"] == "published"].set_index("model")
    assert published.loc["E5-Mistral", "gain"] == pytest.approx(0.749 - 0.622)
    groups = published.loc["Bag-of-tokens", list(GROUPS)].tolist()
    assert groups == pytest.approx([0.565, 0.753, 0.482])
    bag = table[table["model"] == "bag-of-tokens"].iloc[0]
    assert bag["total_difference"] == pytest.approx(bag["total"] - 0.622)
    assert bag["P-PRE_difference"] == pytest.approx(0)
    assert ours.loc["other"].filter(like="published_").isna().all()
    shown = results.shown_suite(table).set_index("model")
    assert shown.loc["bag-of-tokens", "total"] == "62.2 (62.2, +0.0)"
    assert shown.loc["other", "total"] == f"**{100 * ours.loc['other', 'total']:.1f}**"
    assert shown.loc[["bag-of-tokens", "other"], "speaker"].tolist() == [
        "**73.4** (73.4, +0.0)",
        "**73.4**",
    ]
    assert shown.loc["E5-Mistral", "total"] == "74.9"
    (figure,) = levels(table, 6.3, 100)
    titles = [text.get_text() for text in figure.texts]
    assert titles[::2] == list(LEVELS)
    assert len(figure.axes[1].get_yticks()) == len(table)


def test_drops_on_implicit_tasks_against_drops_on_surface_tasks():
    def row(task, kind, delta, half):
        return {
            "model": "m", "generator": "g", "task": task, "task_type": kind, "original": 0.8,
            "pteb_mean": 0.8 - delta, "delta": delta, "delta_ci_low": delta - half,
            "delta_ci_high": delta + 2 * half,
        }  # fmt: skip

    summary = pd.DataFrame(
        [
            row("pstance-biden", "Classification", 0.02, 0.03),
            row("pub-1", "Classification", 0.06, 0.04),
            row("pstance-all", "Classification", 0.9, 0.5),  # stands beside
            row("Banking77", "Classification", 0.01, 0.01),
            row("STS12", "STS", 0.3, math.nan),
        ]
    )
    tasks = {name: name for name in ("pstance-biden", "pub-1", "pstance-all")}
    found = results.delta_table(summary, tasks).set_index(["meaning", "task_type"])
    implicit = found.loc["implicit", "Classification"]
    assert implicit["n_tasks"] == 2 and implicit["delta"] == pytest.approx(0.04)
    assert implicit["delta_ci_low"] == pytest.approx(0.04 - 0.05 / 2)
    assert implicit["delta_ci_high"] == pytest.approx(0.04 + 0.1 / 2)
    assert found.loc["surface", "Classification"]["delta"] == pytest.approx(0.01)
    assert math.isnan(found.loc["surface", "STS"]["delta_ci_low"])


@pytest.fixture
def finished(tmp_path):
    """The scores of three tasks in the workflow's layout."""
    write_pstance(tmp_path / "pstance")
    write_pub(tmp_path / "pub", "task_4")
    layout = Layout(tmp_path / "results" / "run")
    tasks = {
        "pstance-biden": {"implicit": "pstance-biden", "path": str(tmp_path / "pstance")},
        "pub-4": {"implicit": "pub-4", "path": str(tmp_path / "pub")},
        "pub-4-pairs": {
            "implicit": "pub-4", "path": str(tmp_path / "pub"), "evaluation": "pairs"
        },
    }  # fmt: skip
    for name, task in tasks.items():
        folder = tmp_path / name
        folder.mkdir()
        chain = Chain(folder, task, BAG)
        layout.texts(name).parent.mkdir(parents=True, exist_ok=True)
        layout.scores("bag-of-tokens", "original", name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(chain.texts, layout.texts(name))
        scored = chain.score_original()["scores"]
        shutil.copy(scored, layout.scores("bag-of-tokens", "original", name))
    settings = {
        "models": {"bag-of-tokens": "bag-of-tokens"},
        "tasks": {name: task["implicit"] for name, task in tasks.items()},
        "reworded": False,
    }
    results.run(settings, layout.root)
    return layout


def test_results_in_the_layout_of_the_benchmark(finished):
    folder = finished.root / "implicit" / "bag-of-tokens"
    assert sorted(path.name for path in folder.iterdir()) == [
        "pstance_results.csv", "pstance_results.json", "pub_results.csv", "pub_results.json",
        "summary.json",
    ]  # fmt: skip
    table = pd.read_csv(folder / "pub_results.csv")
    assert list(table) == results.RESULT_COLUMNS
    assert table["evaluation"].tolist() == ["zero_shot", "pairs"]
    assert table["evaluation_time"].min() > 0 and table["ties"][0] >= 0
    assert table["best_accuracy"][1] >= table["accuracy"][1]
    found = json.loads((folder / "pstance_results.json").read_text())
    [row] = found["results"]
    stance = pd.read_csv(folder / "pstance_results.csv").iloc[0]
    assert row["accuracy"] == stance["accuracy"] == pytest.approx(stance["f1_micro"])
    assert row["majority_baseline"] == 0.5
    assert len(row["data_revision"]) == 64 and found["citation"] and found["revision"]
    averages = json.loads((folder / "summary.json").read_text())
    assert averages["total"] is None and "pub-1" in averages["missing"]
    assert averages["scores"]["P-IMP"] is None
    assert finished.table("implicit", "tex").is_file()
    assert finished.figure("implicit_levels", "svg").is_file()


def test_a_summary_covers_all_results_in_a_folder(finished):
    folder = finished.root / "implicit" / "bag-of-tokens"
    again = results.summary_of(folder)
    assert again["missing"] == json.loads((folder / "summary.json").read_text())["missing"]
    other = json.loads((folder / "pub_results.json").read_text()) | {"revision": "another"}
    (folder / "pub_results.json").write_text(json.dumps(other))
    with pytest.raises(UserError, match="results of more than one model"):
        results.summary_of(folder)


SMALL = {"name": "s", "tasks": [{"implicit": "pub"}], "models": ["bag-of-tokens"]}


def test_a_data_set_stands_for_its_tasks_and_nothing_need_be_reworded():
    config = parse_config(SMALL, "c")
    assert [task.name for task in config.tasks] == [f"pub-{n}" for n in range(1, 15)]
    flow = Workflow(config)
    files = flow.final_files()
    assert "results/s/implicit/bag-of-tokens/pub_results.json" in files
    assert "results/s/tables/implicit.csv" in files
    assert not any("summary.csv" in name or "report" in name for name in files)


def test_settings_change_with_what_is_declared(monkeypatch):
    flow = Workflow(parse_config(SMALL, "c"))
    before = flow.fetch_settings("pub-1")
    assert flow.fetch_settings("pub-2") != before
    labels = dict(entry("pub-1").dataset.labels)
    monkeypatch.setitem(entry("pub-1").dataset.labels, "new", ["x"])
    assert flow.fetch_settings("pub-1") != before
    monkeypatch.delitem(entry("pub-1").dataset.labels, "new")
    assert entry("pub-1").dataset.labels == labels
    assert flow.fetch_settings("pub-1") == before


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ({"implicit": "pubs"}, "unknown implicit task 'pubs'"),
        ({"implicit": "pstance", "path": "nowhere"}, "nowhere: no such file .* on request"),
        ({"implicit": "sbic", "path": "nowhere"}, "nowhere: no such file .* leave out `path`"),
    ],
)
def test_mistakes_in_a_configuration(task, message):
    with pytest.raises(UserError, match=message):
        Workflow(parse_config({**SMALL, "tasks": [task]}, "c"))


def command(*arguments):
    return CliRunner().invoke(app, ["implicit", "--model", "bag-of-tokens", *arguments])


def test_the_command_line_names_data_sets_in_one_go(tmp_path, monkeypatch, finished):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Snakefile").touch()
    ran = []

    def snakemake(command, check):
        ran.append(json.loads(Path(command[-1]).read_text()))
        target = tmp_path / "results" / "implicit-suite"
        shutil.copytree(finished.root, target, dirs_exist_ok=True)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", snakemake)
    arguments = [
        "--datasets",
        "pub",
        "pstance",
        "--output",
        "out",
        "--cpu",
        "--data",
        str(tmp_path),
    ]
    result = command(*arguments)
    assert result.exit_code == 0, result.output
    assert [task["implicit"] for task in ran[0]["tasks"]] == ["pub", "pstance"]
    assert ran[0]["tasks"][1]["path"] == str(tmp_path / "pstance")
    assert ran[0]["embedding"] == {"device": "cpu"}
    folder = tmp_path / "out" / "bag-of-tokens"
    assert (folder / "pub_results.csv").is_file() and (folder / "summary.json").is_file()

    (folder / "pub_results.csv").unlink()
    assert command(*arguments, "--skip-existing").exit_code == 0
    assert [task["implicit"] for task in ran[1]["tasks"]] == ["pub"]
    assert command(*arguments, "--skip-existing").exit_code == 0
    assert len(ran) == 2  # nothing was left to do
    assert command("--datasets", "pub", "pubb", "--output", "out").exit_code == 1


def test_outside_the_repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = command("--output", "out")
    assert isinstance(result.exception, UserError) and "no Snakefile here" in str(result.exception)
