"""Figures: the same bytes each time, what stands in them, and that all of it can be read."""

import math
import re
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from colorspacious import cspace_convert, deltaE
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from synthetic_run import settings, write_run

from pteb_eval.layout import COLUMN_SUFFIX, FIGURE_FORMATS, FIGURES, TABLES, Layout
from pteb_eval.plot import stage as plot
from pteb_eval.plot.critical_difference import critical_difference
from pteb_eval.plot.delta import delta
from pteb_eval.plot.interval_width import interval_width
from pteb_eval.plot.original_vs_pteb import original_vs_pteb
from pteb_eval.plot.panels import (
    COLORS,
    GRAY,
    NARROW,
    PAGE,
    SMALL,
    WIDE,
    fitted,
    line_style,
    short_names,
    text_width,
)
from pteb_eval.plot.rank_changes import rank_changes
from pteb_eval.statistics import rank, stage

DROPS = {"steady": 0.0, "shaky": 0.6, "broken": 1.0}
MODELS = [f"organization/a-model-of-some-length-{number}-instruct" for number in range(18)]
MODELS += ["bag", "organization/the-longest-name-of-all-embedding-models-there-are-v1.5-large"]
NAMES = [f"Task{number}" for number in range(17)]
NAMES += ["AmazonCounterfactualClassification", "MasakhaNEWSClusteringS2S", "STS"]


def asked(statistics):
    return {
        "figures": FIGURES,
        "tables": TABLES,
        "statistics": statistics,
        "on_failure": "exclude",
    }


def run_of(folder, drops, tasks):
    write_run(folder, drops, tasks)
    chosen = settings(drops, tasks, resamples=100)
    stage.run(chosen, folder)
    rank.run(chosen, folder)
    return Layout(folder), asked(chosen["statistics"])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return run_of(tmp_path_factory.mktemp("run"), DROPS, ["sts", "search"])


@pytest.fixture(scope="module")
def layout(made):
    return made[0]


@pytest.fixture(scope="module", autouse=True)
def style():
    with rc_context(fname=str(plot.STYLE)):
        yield


def table(layout, name):
    return pd.read_csv(layout.table(name), dtype={"subset": str})


def only(figures):
    (figure,) = figures
    return figure


def titles(figure):
    return [text.get_text() for text in figure.texts]


def test_same_tables_same_bytes(made, monkeypatch):
    layout, chosen = made
    monkeypatch.setattr(plot, "MOST_PIXELS", 300)
    plot.run(chosen, layout.root)
    names = [name + suffix for name in FIGURES for suffix in ("", COLUMN_SUFFIX)]
    files = [layout.figure(name, ending) for name in names for ending in FIGURE_FORMATS]
    first = [path.read_bytes() for path in files]
    assert all(first)
    for path in files:
        width = NARROW if path.stem.endswith(COLUMN_SUFFIX) else WIDE
        if path.suffix == ".svg":
            assert f'width="{72 * width:g}pt"' in path.read_text()
        if path.suffix == ".pdf":
            box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", path.read_bytes())
            assert float(box[1]) == pytest.approx(72 * width)
    plot.run(chosen, layout.root)
    assert [path.read_bytes() for path in files] == first


def test_models_are_told_apart_without_colors():
    looks = [line_style(place) for place in range(20)]
    assert len({(str(look["linestyle"]), look["marker"]) for look in looks}) == 20


@pytest.mark.parametrize("kind", ["deuteranomaly", "protanomaly"])
def test_colors_differ_for_color_blind_readers(kind):
    """At least 10 apart in CAM02-UCS, where about 1 is just noticeable."""
    seen = {"name": "sRGB1+CVD", "cvd_type": kind, "severity": 100}

    def as_seen(color):
        rgb = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        return np.clip(cspace_convert(rgb, seen, "sRGB1"), 0, 1)

    for one, other in combinations([*COLORS, GRAY], 2):
        assert deltaE(as_seen(one), as_seen(other)) > 10, (one, other)


def grown(frame, models=MODELS, tasks=NAMES):
    """A table of many models on many tasks, its rows taken in turn from a small one."""
    rows = frame.to_dict("records")
    made = []
    keys = list(product(tasks, models if "model" in frame else [None]))
    for place, (task, model) in enumerate(keys):
        row = rows[place % len(rows)] | {"generator": "a-generator-27b-it"}
        row |= {key: value for key, value in (("task", task), ("model", model)) if key in frame}
        made.append(row)
    return pd.DataFrame(made)


@pytest.fixture(scope="module")
def many(layout):
    """The tables of 20 models on 20 tasks; panels are drawn of three tasks."""
    summary = grown(table(layout, "summary"))
    kinds = dict(zip(NAMES, ["STS"] * 8 + ["Reranking"] * 4 + ["Clustering"] * 8, strict=True))
    summary["task_type"] = summary["task"].map(kinds)
    scores = table(layout, "scores").query("variant == 'paraphrase' and metric == 'main_score'")
    scores = pd.concat(
        [scores.assign(model=model, task=task, generator="a-generator-27b-it")
         for model in MODELS for task in NAMES[-3:]]
    )  # fmt: skip
    ranking = grown(table(layout, "ranking"), tasks=NAMES[-3:])
    for column, order in (("before", range(1, 21)), ("after", [2, 1, 3, 5, 4, *range(6, 21)])):
        ranking[f"rank_{column}"] = [float(rank) for rank in order] * 3
        ranking[f"rank_{column}_low"] = (ranking[f"rank_{column}"] - 3).clip(1, 20)
        ranking[f"rank_{column}_high"] = (ranking[f"rank_{column}"] + 3).clip(1, 20)
    across = table(layout, "across_tasks").query("tasks == 'all types'")
    across = pd.concat([across.iloc[[0]].assign(model=model) for model in MODELS])
    across["average_rank_after"] = np.linspace(1.5, 19.2, 20)
    across["critical_difference"] = 6.6
    few = summary[summary["task"].isin(NAMES[-3:])]
    return {
        "delta": lambda *size: delta(summary, grown(table(layout, "effects")), *size),
        "original_vs_pteb": lambda *size: original_vs_pteb(few, scores, *size),
        "rank_changes": lambda *size: rank_changes(ranking, *size),
        "critical_difference": lambda *size: critical_difference(across, *size),
        "interval_width": lambda *size: interval_width(
            grown(table(layout, "runs"), tasks=NAMES[-3:]), *size
        ),
    }


def drawn_texts(figure):
    """All texts that are printed; ticks that lie outside of an axis, or of none, are not."""
    FigureCanvasAgg(figure).draw()
    hidden = set()
    for axes in figure.findobj(lambda artist: hasattr(artist, "get_xticklabels")):
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            labels = zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True)
            shown = {
                label
                for place, label in labels
                if axes.axison and low - 1e-9 <= place <= high + 1e-9
            }
            hidden |= {text for text in axis.findobj(Text) if text is not axis.label} - shown
            if not axes.axison:
                hidden.add(axis.label)
    return [
        text for text in figure.findobj(Text)
        if text not in hidden and text.get_visible() and text.get_text().strip()
    ]  # fmt: skip


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("size", ["few", "many"])
@pytest.mark.parametrize("name", FIGURES)
def test_all_texts_can_be_read(layout, many, name, size, width):
    """None lies on another or is cut off, and none is smaller than six points."""
    few = {
        "delta": lambda *size: delta(table(layout, "summary"), table(layout, "effects"), *size),
        "original_vs_pteb": lambda *size: original_vs_pteb(
            table(layout, "summary"), table(layout, "scores"), *size
        ),
        "rank_changes": lambda *size: rank_changes(table(layout, "ranking"), *size),
        "critical_difference": lambda *size: critical_difference(
            table(layout, "across_tasks"), *size
        ),
        "interval_width": lambda *size: interval_width(table(layout, "runs"), *size),
    }
    figure = only((many if size == "many" else few)[name](width, math.inf))
    texts = drawn_texts(figure)
    assert len(texts) > 5
    assert min(text.get_fontsize() for text in texts) >= SMALL
    boxes = [text.get_window_extent() for text in texts]
    for text, box in zip(texts, boxes, strict=True):
        inside = (
            box.x0 > -1,
            box.y0 > -1,
            box.x1 < figure.bbox.x1 + 1,
            box.y1 < figure.bbox.y1 + 1,
        )
        assert all(inside), text
    for (one, first), (other, second) in combinations(zip(texts, boxes, strict=True), 2):
        across = min(first.x1, second.x1) - max(first.x0, second.x0)
        down = min(first.y1, second.y1) - max(first.y0, second.y0)
        assert min(across, down) < 1, (one, other)


def test_what_is_taller_than_a_page_breaks(many, tmp_path):
    pages = many["original_vs_pteb"](NARROW, PAGE)
    assert len(pages) == 2
    assert all(figure.get_figheight() <= PAGE for figure in pages)
    plot.save(many["original_vs_pteb"], Layout(tmp_path), "long")
    assert (
        len(re.findall(rb"/Type /Page\b", (tmp_path / "figures/long_column.pdf").read_bytes())) == 2
    )


def test_names_are_shortened_and_stay_different():
    names = short_names(["a/model", "b/model", "b/other"])
    assert names == {"a/model": "a/model", "b/model": "b/model", "b/other": "other"}
    short = fitted("a-name-that-is-too-long", 0.6)
    assert text_width(short) <= 0.6 and short[0] == "a" and short[-1] == "g" and "…" in short
    assert fitted("fits", 0.6) == "fits"


def test_map_of_delta_marks_what_a_test_finds(layout):
    summary, effects = table(layout, "summary"), table(layout, "effects")
    axis = only(delta(summary, effects, WIDE, PAGE)).axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == list(DROPS)
    found = effects.set_index(["model", "task"])["verdict"]
    value = summary.set_index(["model", "task"])["delta"]
    assert len(axis.texts) == 6
    for text in axis.texts:
        column, row = text.get_position()
        key = (list(DROPS)[int(row)], ["sts", "search"][int(column)])
        assert (text.get_weight() == "bold") == (found[key] in ("drops", "rises"))
        shown = float(text.get_text().replace("−", "-"))
        assert shown == pytest.approx(100 * value[key], abs=0.51)
    assert {text.get_weight() for text in axis.texts} == {"bold", "normal"}
    many = only(delta(grown(summary), grown(effects), NARROW, PAGE)).axes[0]
    assert [label.get_text() for label in many.get_xticklabels()] == [
        "STS (cosine_spearman)",
        "Retrieval (ndcg_at_10)",
    ]


def test_single_runs_original_and_mean_are_drawn_where_they_lie(layout):
    summary, scores = table(layout, "summary"), table(layout, "scores")
    figure = only(original_vs_pteb(summary, scores, WIDE, PAGE))
    axis = figure.axes[0]
    assert titles(figure)[:2] == ["sts", "reworded by gen, n = 60"]
    rows = summary[summary["task"] == "sts"].reset_index(drop=True)
    runs = scores[(scores["task"] == "sts") & (scores["variant"] == "paraphrase")]
    points = {part.get_label(): np.asarray(part.get_offsets()) for part in axis.collections}
    assert points["original"][:, 0] == pytest.approx(100 * rows["original"].to_numpy())
    ticks = points["single runs"]
    low, high = (line.get_xdata() for line in axis.containers[0].lines[1])
    for place, row in rows.iterrows():
        own = 100 * runs.loc[runs["model"] == row["model"], "value"]
        height = len(rows) - 1 - place
        assert ticks[np.round(ticks[:, 1]) == height, 0] == pytest.approx(own.to_numpy())
        assert low[place] == pytest.approx(100 * (row["original"] - row["delta_ci_high"]))
        assert high[place] == pytest.approx(100 * (row["original"] - row["delta_ci_low"]))


def test_rank_changes_joins_ranks(layout):
    ranking = table(layout, "ranking")
    figure = only(rank_changes(ranking, WIDE, PAGE))
    axis = figure.axes[0]
    rows = ranking[ranking["task"] == "sts"]
    slopes = [list(line.get_ydata()) for line in axis.lines if list(line.get_xdata()) == [0, 1]]
    assert slopes == rows[["rank_before", "rank_after"]].to_numpy().tolist()
    assert "τ = " in titles(figure)[1]


def test_tied_models_share_a_label(layout):
    ranking = table(layout, "ranking").query("task == 'sts'").assign(rank_before=2.0)
    words = [text.get_text() for text in only(rank_changes(ranking, WIDE, PAGE)).axes[0].texts]
    assert "steady and 2 more  2" in words


def test_critical_difference_shows_groups_of_several_tasks(layout):
    across = table(layout, "across_tasks")
    figure = only(critical_difference(across, WIDE, PAGE))
    (axis,) = figure.axes
    assert titles(figure) == ["all types, 2 tasks", "reworded by gen"]
    words = [text.get_text() for text in axis.texts]
    assert any(word.startswith("critical difference") for word in words)
    mean = across[across["tasks"] == "all types"].set_index("model")["average_rank_after"]
    assert any(f"{mean['broken']:.2f}" in word and "broken" in word for word in words)


def test_interval_width_passes_through_the_runs_there_are(layout):
    runs = table(layout, "runs")
    axis = only(interval_width(runs, WIDE, PAGE)).axes[0]
    curves = [line for line in axis.lines if len(line.get_xdata()) == 20]
    assert len(curves) == 3
    row = runs.iloc[0]
    variance = row["instance_variance"] + row["run_variance"] / row["n_runs"]
    assert curves[0].get_ydata()[5] == pytest.approx(100 * 2 * 1.959964 * variance**0.5)


def test_one_model_without_intervals(tmp_path):
    layout, chosen = run_of(tmp_path, {"only": 0.5}, ["mining"])
    plot.run(chosen, layout.root)
    assert "No metric here has an interval" in layout.figure("interval_width").read_text()
    assert "need two models" in layout.figure("critical_difference").read_text()
