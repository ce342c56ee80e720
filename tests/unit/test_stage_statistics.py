"""From mteb's scores and values of instances to tables: which statistic, test and words."""

import tempfile
from dataclasses import replace
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from encoders import HashingEncoder
from sample_tasks import SAMPLES
from scipy.stats import wilcoxon
from synthetic_run import settings, write_run

from pteb_eval.layout import Layout
from pteb_eval.score.instances import INSTANCES, instance_rows
from pteb_eval.statistics import rank, stage
from pteb_eval.statistics.best import Best
from pteb_eval.statistics.bootstrap import pooled, resample
from pteb_eval.statistics.cells import Cell
from pteb_eval.statistics.measured import Measured, analyze, measured
from pteb_eval.statistics.precision import AveragePrecision
from pteb_eval.statistics.statistic import Mean, observed
from pteb_eval.statistics.summary import WHOLE_RUNS, warning_rows
from pteb_eval.tasks.load import structure_for

datasets.disable_progress_bars()
KINDS = {make.__name__: make for make in SAMPLES}
CHANGES = [str, lambda text: "the " + text, lambda text: text.replace("o", "a") + " again"]


def scored(kind):
    """A cell of a real task, its texts changed by hand in two runs, scored by mteb."""
    scores, instances = [], []
    for run, change in enumerate(CHANGES):
        made = KINDS[kind]()
        task = structure_for(made).replaced(made, lambda slot, text, change=change: change(text))
        variant = {"variant": "paraphrase" if run else "original", "run": run or None}
        with tempfile.TemporaryDirectory() as folder:
            found = task.evaluate(
                HashingEncoder(),
                split="test",
                prediction_folder=Path(folder),
                encode_kwargs={"batch_size": 8, "show_progress_bar": False},
            )
            rows = instance_rows(task, "test", Path(folder), found)
            instances += [{**row, **variant} for row in rows]
        scores += [
            {
                "subset": subset,
                "split": "test",
                **variant,
                "metric": "main_score",
                "value": float(values["main_score"]),
                "n_instances": 10,
            }
            for subset, values in found.items()
        ]
    return Cell(
        "model",
        "generator",
        kind,
        task.metadata.type,
        task.metadata.main_score,
        pd.DataFrame(scores),
        pd.DataFrame(instances, columns=INSTANCES.names),
        {},
        0.0,
        0.0,
    )


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("sts", "correlation"),
        ("pairs", "whole"),
        ("classification", "mean"),
        ("multilabel", "mean"),
        ("zero_shot", "mean"),
        ("clustering", "experiments"),
        ("cluster_sets", "experiments"),
        ("summarization", "mean"),
        ("retrieval", "mean"),
        ("instruction_reranking", "mean"),
    ],
)
def test_the_statistic_is_what_mteb_reports(kind, expected):
    found = list(measured(scored(kind)))
    assert found
    for one in found:
        assert one.note == ""
        assert one.kind == expected
        scores = one.resampled(10, seed=1).scores
        # mteb rounds retrieval to five decimals.
        assert scores == pytest.approx([one.original, *one.runs], abs=1e-5)
        if one.values is not None:
            assert one.values.mean(axis=1) == pytest.approx(scores)


def test_best_similarity_is_chosen_for_each_variant():
    """Of real pairs: no single similarity gives mteb's `max_ap` in all variants."""
    cell = scored("pairs")
    (one,) = measured(cell)
    part = one.parts[0]
    singles = np.array([observed(single) for single in part.parts])
    assert observed(part) == pytest.approx(singles.max(axis=0))
    assert len(singles) > 1
    best = singles.argmax(axis=0)
    for variant, row in enumerate(part.influence()):
        assert row == pytest.approx(part.parts[best[variant]].influence()[variant])


def test_best_swaps_whole_pairs():
    gold = [1, 0, 1, 0]
    first = np.array([[0.9, 0.1, 0.8, 0.2], [0.1, 0.9, 0.8, 0.2]])
    second = -first[::-1]
    best = Best([AveragePrecision(gold, first), AveragePrecision(gold, second)])
    assert best.values.tolist() == [[0, 0, 0, 0], [1, 1, 0, 0]]
    swapped = best.values.copy()
    swapped[:, 0] = swapped[::-1, 0]
    swapped[:, 1] = swapped[::-1, 1]
    assert observed(best.with_values(swapped)) == pytest.approx(observed(best)[::-1])


@pytest.mark.parametrize("kind", ["bitext", "regression"])
def test_metrics_without_values_have_no_statistic(kind):
    for one in measured(scored(kind)):
        assert one.parts == ()
        assert "has no values of instances" in one.note
        assert one.resampled(10, seed=1) is None


def test_a_score_that_values_do_not_give_has_no_statistic():
    cell = scored("classification_train_is_test")
    wrong = cell.scores.assign(value=cell.scores["value"] + 2e-5)
    (one,) = measured(replace(cell, scores=wrong))
    assert one.parts == ()
    assert "not what the values of instances give" in one.note


def test_splits_weigh_the_same():
    """The score over two splits is their mean, however many instances each has."""
    rng = np.random.default_rng(3)
    parts = [Mean(rng.random((3, 5))), Mean(rng.random((3, 40)))]
    drawn = pooled([resample(part, n_resamples=4000, seed=k) for k, part in enumerate(parts)])
    expected = np.mean([part.values.mean(axis=1) for part in parts], axis=0)
    assert drawn.scores == pytest.approx(expected)
    variance = sum(part.values[0].var() / part.values.shape[1] for part in parts) / 4
    assert drawn.resampled[0].var() == pytest.approx(variance, rel=0.1)
    assert np.square(drawn.influence[0]).sum() / 45**2 == pytest.approx(variance)


def tables(folder, drops, tasks, run=None, stages=(stage,), **declared):
    """Run `test`, or the stages given, on a synthetic run and read the tables."""
    write_run(folder, drops, tasks, **(run or {}))
    chosen = settings(drops, tasks, **declared)
    for one in stages:
        one.run(chosen, folder)
    read = {"dtype": {"subset": str}, "keep_default_na": True}
    return {path.stem: pd.read_csv(path, **read) for path in (folder / "tables").glob("*.csv")}


DROPS = {"steady": 0.0, "shaky": 0.6, "broken": 1.0}


def test_tables_of_one_task(tmp_path):
    found = tables(tmp_path, DROPS, ["sts"], epsilon=0.02)
    summary, tests, effects = found["summary"], found["significance"], found["effects"]
    assert summary.columns.tolist() == [
        "model", "generator", "task", "task_type", "subset", "metric", "original", "pteb_mean",
        "pteb_std", "delta", "delta_ci_low", "delta_ci_high", "n_runs", "n_instances",
        "excluded_instances", "failure_rate", "copy_rate", "judge_mean",
    ]  # fmt: skip
    assert tests.columns.tolist() == [
        "family", "unit", "model", "task", "n", "n_ties", "statistic", "p", "p_holm", "reject",
        "effect_size", "min_attainable_p", "verdict",
    ]  # fmt: skip
    assert summary["delta"].to_numpy() == pytest.approx(
        (summary["original"] - summary["pteb_mean"]).to_numpy()
    )
    assert (summary["delta_ci_low"] < summary["delta"]).all()
    assert (summary["delta_ci_high"] > summary["delta"]).all()
    assert summary["failure_rate"].tolist() == [0.25] * 3
    assert tests["family"].unique().tolist() == ["gen / sts / default (m = 3)"]
    assert tests["verdict"].tolist()[1:] == ["drops", "drops"]
    assert tests["verdict"][0] != "drops"
    assert effects["method"].tolist() == ["signed_rank"] * 3
    assert effects["verdict"].tolist() == tests["verdict"].tolist()
    # Holm by hand: the sorted p times 3, 2, 1, never falling.
    order = tests["p"].sort_values().index
    steps = np.maximum.accumulate(tests["p"][order].to_numpy() * [3, 2, 1])
    assert tests["p_holm"][order].to_numpy() == pytest.approx(np.minimum(steps, 1))
    assert set(found["runs"]["target_width"]) == {0.04}


@pytest.mark.parametrize(
    ("task", "n", "method", "unit", "size"),
    [
        ("sts", 60, "signed_rank", "instance", True),
        ("sts", 19, "permutation", "instance", True),
        ("pairs", 30, "permutation", "instance", False),
        ("classes", 19, "signed_rank", "instance", True),
        ("search", 30, "signed_rank", "instance", True),
        ("groups", 10, "permutation", "experiment", False),
    ],
)
def test_the_test_fits_the_metric(tmp_path, task, n, method, unit, size):
    found = tables(tmp_path, DROPS, [task], {"n": n})
    tests = found["significance"]
    assert set(found["effects"]["method"]) == {method}
    assert set(tests["unit"]) == {unit}
    assert tests["n"].tolist() == [n] * 3
    assert tests["effect_size"].notna().tolist() == [size] * 3
    assert tests["verdict"][2] == "drops"
    assert (tests["min_attainable_p"] <= tests["p"]).all()


def test_identical_and_undefined(tmp_path):
    found = tables(tmp_path, {"still": 0.0, "moves": 1.0}, ["sts", "mining"], {"noise": 0})
    tests = found["significance"].set_index(["model", "task"])
    assert tests.loc[("still", "sts"), ["p", "verdict"]].tolist() == [1.0, "identical"]
    assert tests["verdict"].loc[("moves", "sts")] == "drops"
    assert set(tests["verdict"].loc[:, "mining"]) == {"undefined"}
    assert tests["p"].loc[:, "mining"].isna().all()
    assert tests["family"].loc[("still", "mining")] == "gen / mining / default (m = 0)"
    (row,) = found["warnings"].query("kind == 'no interval'").to_dict("records")
    assert row["task"] == "mining"
    assert row["model"] == "still, moves"
    assert "f1" in row["message"]
    summary = found["summary"].set_index(["model", "task"])
    assert summary[["delta_ci_low", "delta_ci_high"]].loc[("still", "mining")].isna().all()
    assert summary["delta"].loc[("still", "sts")] == 0


@pytest.mark.parametrize(
    ("family", "names"),
    [
        ("task", {"gen / sts / a (m = 2)", "gen / sts / b (m = 2)"}),
        ("model", {"gen / steady (m = 2)", "gen / broken (m = 2)"}),
        ("all", {"gen / all tests (m = 4)"}),
    ],
)
def test_families(tmp_path, family, names):
    drops = {"steady": 0.0, "broken": 1.0}
    found = tables(tmp_path, drops, ["sts"], {"subsets": ("a", "b")}, family=family)
    tests = found["significance"]
    assert set(tests["family"]) == names
    shown = {"sts"} if family == "task" else {"sts (a)", "sts (b)"}
    assert set(tests["task"]) == shown
    sizes = found["effects"]["family_size"]
    assert [f"(m = {size})" in name for size, name in zip(sizes, tests["family"], strict=True)]


def test_data_sets_as_units(tmp_path):
    """Six tasks that all drop: Wilcoxon's two-sided p is 2/2⁶, and one test a model."""
    tasks = ["sts", "sts2", "pairs", "classes", "search", "groups"]
    drops = {"shaky": 0.7, "broken": 1.0}
    found = tables(tmp_path, drops, tasks, unit="dataset", correction="fdr_bh")
    tests = found["significance"]
    assert tests["unit"].tolist() == ["dataset"] * 2
    assert tests["n"].tolist() == [6, 6]
    assert tests["p"].tolist() == [2 / 64] * 2
    assert tests["min_attainable_p"].tolist() == [2 / 64] * 2
    assert tests["verdict"].tolist() == ["drops"] * 2
    assert tests["family"].unique().tolist() == ["gen / all data sets (m = 2)"]


def test_mean_of_runs_is_scipys_wilcoxon_and_says_that_it_is_unsound(tmp_path):
    found = tables(tmp_path, {"shaky": 0.3}, ["search"], wilcoxon="mean_of_runs")
    rows = pq.read_table(Layout(tmp_path).instances("shaky", "gen", "search")).to_pandas()
    values = rows.assign(run=rows["run"].fillna(0)).pivot(
        index="row", columns="run", values="value"
    )
    differences = (values[0] - values.drop(columns=0).mean(axis=1)).round(6)
    test = found["significance"].iloc[0]
    assert test["p"] == pytest.approx(wilcoxon(differences).pvalue)
    assert "level" in found["warnings"]["message"][0]


def test_few_runs_are_warned_of_once(tmp_path):
    found = tables(tmp_path, DROPS, ["search"], {"n_runs": 2})
    few = found["warnings"][found["warnings"]["message"].str.startswith("2 runs")]
    assert few["model"].tolist() == ["steady, shaky, broken"]


def test_shifts_of_whole_runs_are_warned_of():
    cell = scored("classification_train_is_test")
    rng = np.random.default_rng(0)
    for spread, warned in ((0.0, False), (0.2, True)):
        values = rng.normal(size=(7, 200)) * 0.1 + spread * rng.normal(size=(7, 1))
        scores = values.mean(axis=1)
        one = Measured(cell, "default", scores[0], scores[1:], 200, (Mean(values),), "mean")
        row = analyze(one, {"resamples": 50, "confidence": 0.95, "interval": "percentile"}, 1)
        lines = [line["message"] for line in warning_rows([row], pd.DataFrame())]
        assert (WHOLE_RUNS in lines) == warned


def test_ranking_tables(tmp_path):
    drops = {"first": 1.0, "second": 0.0, "third": 0.1}
    found = tables(tmp_path, drops, ["sts", "sts2", "mining"], {"n": 80}, (stage, rank))
    ranking = found["ranking"].set_index(["task", "model"])
    assert ranking["rank_after"].loc[("sts", "first")] == 3
    assert ranking["rank_before"].loc[("sts", "first")] < 3
    pairs = found["model_pairs"].set_index(["task", "model", "other_model"])
    row = pairs.loc[("sts", "first", "second")]
    delta = found["summary"].set_index(["task", "model"])["delta"].loc["sts"]
    assert row["difference"] == pytest.approx(delta["first"] - delta["second"])
    assert row["difference_ci_low"] > 0
    assert row["p"] <= row["p_adjusted"] < 0.05
    assert row["flip_probability"] > 0.5
    assert pairs["p"].loc["mining"].isna().all()
    across = found["across_tasks"].set_index(["tasks", "model"])
    mean = found["summary"].query("task != 'mining'").groupby("model")["delta"].mean()
    assert across["delta"].loc["STS"]["first"] == pytest.approx(mean["first"])
    low, high = across.loc[("STS", "first"), ["delta_ci_low", "delta_ci_high"]]
    assert low < mean["first"] < high
    mixed = across.loc["all types"]
    assert mixed["delta"].isna().all()
    assert mixed["n_tasks"].tolist() == [3] * 3
    assert mixed["n_standardized"].tolist() == [2] * 3
    ranks = found["ranking"].groupby("model")["rank_after"].mean()
    assert mixed["average_rank_after"].to_dict() == pytest.approx(ranks.to_dict())


def test_same_seed_same_bytes(tmp_path):
    for name in ("a", "b"):
        tables(tmp_path / name, DROPS, ["pairs"], {"n": 30}, (stage, rank))
    for path in (tmp_path / "a" / "tables").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / "tables" / path.name).read_bytes()
