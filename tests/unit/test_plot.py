"""Figures: the same bytes each time, what stands in them, and runs with little to draw."""

import numpy as np
import pandas as pd
import pytest
from synthetic_run import settings, write_run

from pteb_eval.layout import FIGURE_FORMATS, FIGURES, Layout
from pteb_eval.plot import stage as plot
from pteb_eval.plot.critical_difference import critical_difference
from pteb_eval.plot.interval_width import interval_width
from pteb_eval.plot.original_vs_pteb import original_vs_pteb
from pteb_eval.plot.panels import line_style
from pteb_eval.plot.rank_changes import rank_changes
from pteb_eval.statistics import rank, stage

DROPS = {"steady": 0.0, "shaky": 0.6, "broken": 1.0}


def run_of(folder, drops, tasks):
    write_run(folder, drops, tasks)
    chosen = settings(drops, tasks, resamples=100)
    stage.run(chosen, folder)
    rank.run(chosen, folder)
    return Layout(folder)


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    return run_of(tmp_path_factory.mktemp("run"), DROPS, ["sts", "search"])


def table(layout, name):
    return pd.read_csv(layout.table(name), dtype={"subset": str})


def test_same_tables_same_bytes(layout, monkeypatch):
    monkeypatch.setattr(plot, "MOST_PIXELS", 300)
    plot.run({"figures": FIGURES}, layout.root)
    files = [layout.figure(name, ending) for name in FIGURES for ending in FIGURE_FORMATS]
    first = [path.read_bytes() for path in files]
    assert all(first)
    plot.run({"figures": FIGURES}, layout.root)
    assert [path.read_bytes() for path in files] == first


def test_single_runs_original_and_mean_are_drawn_where_they_lie(layout):
    summary, scores = table(layout, "summary"), table(layout, "scores")
    axis = original_vs_pteb(summary, scores).axes[0]
    assert axis.get_title() == "sts, reworded by gen, n = 60"
    rows = summary[summary["task"] == "sts"].reset_index(drop=True)
    by_label = {}
    for points in axis.collections:
        by_label.setdefault(points.get_label(), []).append(np.asarray(points.get_offsets()))
    runs = scores[(scores["task"] == "sts") & (scores["variant"] == "paraphrase")]
    for place, row in rows.iterrows():
        (original,) = by_label["original"][place]
        assert original[0] == pytest.approx(100 * row["original"])
        own = 100 * runs.loc[runs["model"] == row["model"], "value"]
        assert by_label["single runs"][place][:, 0] == pytest.approx(own.to_numpy())
        low, high = (
            axis.containers[place].lines[1][0].get_xdata(),
            axis.containers[place].lines[1][1].get_xdata(),
        )
        assert low[0] == pytest.approx(100 * (row["original"] - row["delta_ci_high"]))
        assert high[0] == pytest.approx(100 * (row["original"] - row["delta_ci_low"]))


def test_rank_changes_joins_ranks(layout):
    ranking = table(layout, "ranking")
    axis = rank_changes(ranking).axes[0]
    rows = ranking[ranking["task"] == "sts"]
    slopes = [list(line.get_ydata()) for line in axis.lines if list(line.get_xdata()) == [0, 1]]
    assert slopes == rows[["rank_before", "rank_after"]].to_numpy().tolist()
    assert "Kendall" in axis.get_title()


def test_tied_models_share_a_label(layout):
    ranking = table(layout, "ranking").query("task == 'sts'").assign(rank_before=2.0)
    words = [text.get_text() for text in rank_changes(ranking).axes[0].texts]
    assert "steady and 2 more" in words


def test_critical_difference_shows_groups_of_several_tasks(layout):
    across = table(layout, "across_tasks")
    figure = critical_difference(across)
    (axis,) = figure.axes
    assert axis.get_title() == "all types, 2 tasks, reworded by gen"
    words = [text.get_text() for text in axis.texts]
    assert any(word.startswith("critical difference") for word in words)
    mean = across[across["tasks"] == "all types"].set_index("model")["average_rank_after"]
    assert any(f"{mean['broken']:.2f}" in word and "broken" in word for word in words)


def test_interval_width_passes_through_the_runs_there_are(layout):
    runs = table(layout, "runs")
    axis = interval_width(runs).axes[0]
    curves = [line for line in axis.lines if len(line.get_xdata()) == 20]
    assert len(curves) == 3
    row = runs.iloc[0]
    variance = row["instance_variance"] + row["run_variance"] / row["n_runs"]
    assert curves[0].get_ydata()[5] == pytest.approx(100 * 2 * 1.959964 * variance**0.5)


def test_one_model_without_intervals(tmp_path):
    layout = run_of(tmp_path, {"only": 0.5}, ["mining"])
    plot.run({"figures": FIGURES}, layout.root)
    assert "No metric here has an interval" in layout.figure("interval_width").read_text()
    assert "need two models" in layout.figure("critical_difference").read_text()


def test_every_model_has_its_own_line():
    styles = [str(line_style(place)) for place in range(21)]
    assert len(set(styles)) == 21
