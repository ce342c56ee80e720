"""Scores where the meaning was kept, and what of a drop goes with drift."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st
from synthetic_run import GENERATOR, PARAPHRASES, settings, write_run
from test_score import BAG, DEMO, Chain, main_scores

from pteb_eval.errors import UserError
from pteb_eval.judge import instances
from pteb_eval.judge.stage import SCHEMA as JUDGEMENTS
from pteb_eval.layout import JUDGE_FIGURES, Layout
from pteb_eval.paraphrase.stage import SCHEMA as WORDINGS
from pteb_eval.plot import stage as plot
from pteb_eval.plot.delta_by_judge import delta_by_judge
from pteb_eval.plot.panels import NARROW, PAGE, WIDE
from pteb_eval.plot.paraphrasers import paraphrasers
from pteb_eval.score import judged
from pteb_eval.statistics import stage
from pteb_eval.statistics.drift import TOO_FEW, regression
from pteb_eval.statistics.paraphrasers import paraphraser_rows
from pteb_eval.store import read_table, write_table
from pteb_eval.tasks import Instance

HEAD = "judge,task,spearman,verdict\n"


# Scores of what is left


def validation(folder, verdict="reliable"):
    path = folder / "judge_validation.csv"
    path.write_text(HEAD + f"j,average,0.9,{verdict}\n")
    return path


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    return Chain(tmp_path_factory.mktemp("chain"), DEMO, BAG, max_instances=30)


def reword(text, run):
    return " ".join(text.split()[run:])


def least(row):
    """The least rating of a pair: every third is 2, one is not rated, the others are 4."""
    return None if row == 5 else (2 if row % 3 == 0 else 4)


def judge_chain(chain, thresholds, verdict="reliable", rating=least):
    paraphrases = chain.paraphrase(reword)
    rows = [
        {**Instance("default", "test", str(row))._asdict(), "judge_min": rating(row)}
        for row in range(30)
    ]
    drift = chain.folder / "drift.parquet"
    write_table(drift, pa.Table.from_pylist(rows, instances.SCHEMA), {})
    outputs = {kind: chain.folder / f"judged-{kind}.parquet" for kind in ("scores", "instances")}
    given_settings = {"model": BAG["name"], "task": DEMO, "judge": "j", "min_judge": thresholds,
                      "min_judge_spearman": 0.7}  # fmt: skip
    judged.run(
        given_settings, "", chain.texts, paraphrases, [chain.embed(), chain.embed(paraphrases)],
        {"instances": drift, "validation": validation(chain.folder, verdict)}, outputs,
    )  # fmt: skip
    return read_table(outputs["scores"]).to_pandas(), read_table(outputs["instances"]).to_pandas()


def test_scores_are_those_of_a_run_in_which_the_left_out_pairs_failed(chain):
    scores, values = judge_chain(chain, [1, 3])
    texts = pd.DataFrame(read_table(chain.texts).to_pylist())
    for threshold, n_left in ((1, 29), (3, 19)):
        out = {str(row) for row in range(30) if not (least(row) or 0) >= threshold}
        lost = {
            row["text"] for row in texts.to_dict("records")
            if any(slot["row"] in out for slot in row["slots"])
        }  # fmt: skip
        outputs = chain.score_paraphrases(
            lambda text, run, lost=lost: None if text in lost else reword(text, run)
        )
        expected = main_scores(outputs["scores"])
        own = scores[(scores["min_judge"] == threshold) & (scores["metric"] == "main_score")]
        found = {
            (row["variant"], None if math.isnan(row["run"]) else int(row["run"])): (
                row["value"], row["n_instances"],
            )
            for row in own.to_dict("records")
        }  # fmt: skip
        assert found == expected
        assert {count for _, count in found.values()} == {n_left}
        kept = values[values["min_judge"] == threshold]
        assert set(kept["row"]) == {str(row) for row in range(30)} - out


def test_too_few_instances_have_no_score_but_their_number(chain):
    scores, values = judge_chain(chain, [5], rating=lambda row: 5 if row == 7 else 4)
    assert scores[["metric", "n_instances"]].to_numpy().tolist() == [["main_score", 1]]
    assert scores["value"].isna().all() and values.empty


@pytest.mark.parametrize("verdict", ["not reliable", "not validated"])
def test_a_judge_that_is_not_reliable_cannot_filter(chain, verdict):
    with pytest.raises(UserError, match="min_judge: judge 'j' is not reliable"):
        judge_chain(chain, [3], verdict)


# Regression


@settings_of_hypothesis(deadline=None)  # the first call imports statsmodels
@given(st.integers(0, 1000), st.floats(-0.5, 0.5), st.floats(0.01, 0.3), st.floats(-1, 1))
def test_planted_coefficients_are_found_and_the_parts_add_up(seed, kept, per_point, per_distance):
    rng = np.random.default_rng(seed)
    judge, distance = rng.uniform(0, 5, 60), rng.uniform(0, 1, 60)
    change = kept + per_point * (5 - judge) + per_distance * (distance - distance.mean())
    found = regression(change, judge, distance, 0.95)
    assert found["delta_kept"] == pytest.approx(kept, abs=1e-9)
    assert found["per_point"] == pytest.approx(per_point, abs=1e-9)
    assert found["per_edit_distance"] == pytest.approx(per_distance, abs=1e-9)
    assert found["delta_kept"] + found["delta_drift"] == pytest.approx(found["delta"], abs=1e-9)


def test_an_interval_covers_and_unrated_instances_are_left_out():
    rng = np.random.default_rng(0)
    judge, distance = rng.uniform(0, 5, 400), rng.uniform(0, 1, 400)
    change = 0.1 + 0.05 * (5 - judge) + rng.normal(0, 0.1, 400)
    judge[::4] = np.nan
    found = regression(change, judge, distance, 0.95)
    assert found["n"] == 300
    assert found["delta"] == pytest.approx(change[~np.isnan(judge)].mean())
    assert found["delta_kept_ci_low"] < 0.1 < found["delta_kept_ci_high"]
    assert found["p_per_point"] < 1e-10 < found["p_per_edit_distance"]


def test_what_says_nothing_is_not_fitted():
    ones = np.ones(20)
    some = np.arange(20) / 4
    assert "all ratings are equal" in regression(some, ones, some, 0.95)["note"]
    assert "all edit distances are equal" in regression(some, some, ones, 0.95)["note"]
    assert "fewer than 10" in regression(ones[:5], ones[:5], ones[:5], 0.95)["note"]
    assert regression(ones, np.nan * ones, ones, 0.95)["n"] == 0
    assert "all changes are equal" in regression(ones, ones, ones, 0.95)["note"]


# Tables


def write_judged(root, verdict, thresholds=(3.0,)):
    """What the judge stages and `score_judged` leave for the task `sts` of a synthetic run."""
    layout = Layout(root)
    rng = np.random.default_rng(3)
    rows = [{"text_id": row["text_id"], "run": row["run"], "score": score}
            for row, score in zip(PARAPHRASES, [5, 4, 1, None], strict=True)]  # fmt: skip
    for judge in ("j", "k"):
        table = pa.Table.from_pylist(rows, JUDGEMENTS)
        write_table(layout.judgements(judge, GENERATOR, "sts"), table, {})
    drift = [
        {**Instance("default", "test", str(row))._asdict(), "judge_min": score,
         "judge_mean": score, "edit_distance": rng.uniform()}
        for row, score in enumerate(rng.uniform(0, 5, 60))
    ]  # fmt: skip
    write_table(
        layout.drift("j", GENERATOR, "sts"), pa.Table.from_pylist(drift, instances.SCHEMA), {}
    )
    layout.table("judge_validation").parent.mkdir(parents=True, exist_ok=True)
    layout.table("judge_validation").write_text(
        HEAD + f"j,average,0.2,{verdict}\nk,average,0.9,reliable\n"
    )
    for kind, schema in (("scores", judged.JUDGED_SCORES), ("instances", judged.JUDGED_INSTANCES)):
        rows = read_table(getattr(layout, kind)("m", GENERATOR, "sts")).to_pylist()
        made = [{**row, "min_judge": threshold} for threshold in thresholds for row in rows]
        if kind == "scores":
            made.append({"subset": "default", "split": "test", "variant": "original",
                         "metric": "main_score", "n_instances": 1, "min_judge": 4.5})  # fmt: skip
        target = getattr(layout, f"judged_{kind}")("m", GENERATOR, "sts")
        write_table(target, pa.Table.from_pylist(made, schema), {})
    return layout


@pytest.fixture(scope="module", params=["reliable", "not reliable"])
def run_with_judges(request, tmp_path_factory):
    root = tmp_path_factory.mktemp("run")
    write_run(root, {"m": 0.5})
    layout = write_judged(root, request.param)
    judges = {"judges": ["j", "k"], "validated": True, "min_judge": True}
    stage.run(settings(["m"], ["sts"]) | judges, root)
    return layout, request.param


def table(layout, name):
    return pd.read_csv(layout.table(name))


def test_the_summary_has_the_mean_rating_with_the_mark_of_its_judge(run_with_judges):
    layout, verdict = run_with_judges
    assert table(layout, "summary")["judge_mean"].tolist() == pytest.approx([10 / 3])
    shown = layout.table("summary", "md").read_text()
    assert ("3.333 (not reliable)" in shown) == (verdict == "not reliable")
    warnings = table(layout, "warnings")
    told = warnings[warnings["kind"] == "judge"]["message"].tolist()
    assert len(told) == (verdict == "not reliable")
    assert all("judge j is not reliable" in line for line in told)


def test_the_default_is_never_replaced_and_each_threshold_stands_below_it(run_with_judges):
    layout, verdict = run_with_judges
    drift, summary = table(layout, "drift"), table(layout, "summary")
    assert set(drift["verdict"]) == {verdict}
    assert drift["min_judge"].fillna(0).tolist() == [0, 3, 4.5]
    columns = ["original", "pteb_mean", "delta", "delta_ci_low", "delta_ci_high", "n_instances"]
    # The synthetic threshold keeps all instances, so its scores and resamples are the default's.
    for row in (0, 1):
        assert drift.loc[row, columns].tolist() == summary.loc[0, columns].tolist()
    assert drift.loc[2, "n_instances"] == 1
    assert drift.loc[2, "note"] == TOO_FEW
    assert math.isnan(drift.loc[2, "delta"])


def test_the_regression_is_on_the_values_of_instances(run_with_judges):
    layout, _ = run_with_judges
    [row] = table(layout, "drift_regression").to_dict("records")
    assert row["n"] == 60
    assert row["delta"] == pytest.approx(table(layout, "summary")["delta"][0])
    assert row["delta_kept"] + row["delta_drift"] == pytest.approx(row["delta"])


def test_paraphrasers_are_compared_on_what_all_could_reword(tmp_path):
    """One copies, one rewords, one drifts and fails once, and one is beaten in both."""
    layout = Layout(tmp_path)
    made = {"copier": (5, 0.0), "reworder": (4.5, 0.6), "drifter": (2, 0.9), "worse": (4.2, 0.5)}
    for name, (score, distance) in made.items():
        keys = [{"text_id": f"t{number}", "run": 1} for number in range(4)]
        fails = [name == "drifter" and number == 3 for number in range(4)]
        rows = [
            {**key, "status": "empty" if failed else "ok", "copy": distance == 0,
             "edit_distance": 1.0 if failed else distance, "n_tokens": 7}
            for key, failed in zip(keys, fails, strict=True)
        ]  # fmt: skip
        rated = [{**key, "score": None if failed else score}
                 for key, failed in zip(keys, fails, strict=True)]  # fmt: skip
        write_table(layout.paraphrases(name, "t"), pa.Table.from_pylist(rows, WORDINGS), {})
        table = pa.Table.from_pylist(rated[::-1], JUDGEMENTS)
        write_table(layout.judgements("j", name, "t"), table, {})
    asked = {"judges": ["j"], "generators": list(made), "tasks": ["t"]}
    rows = paraphraser_rows(asked, layout, tmp_path, "reliable")
    assert {row["n"] for row in rows} == {3}
    found = {row["generator"]: row for row in rows}
    assert [found[name]["edit_distance"] for name in made] == pytest.approx([0, 0.6, 0.9, 0.5])
    assert [found[name]["kept_share"] for name in made] == [1, 1, 0, 1]
    assert [found[name]["lost_share"] for name in made] == [0, 0, 1, 0]
    assert [found[name]["failure_rate"] for name in made] == [0, 0, 0.25, 0]
    assert [found[name]["pareto"] for name in made] == [True, True, True, False]
    assert [found[name]["recommended"] for name in made] == [False, True, False, False]
    rows = paraphraser_rows(asked, layout, tmp_path, "not reliable")
    assert not any(row["recommended"] for row in rows)
    (figure,) = paraphrasers(pd.DataFrame(rows), NARROW, PAGE)
    assert "(not reliable)" in figure.texts[1].get_text()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(made)


def test_published_figures_of_a_paraphraser_stand_beside(tmp_path):
    layout = Layout(tmp_path)
    keys = [{"text_id": "t", "run": 1}, {"text_id": "t", "run": 2}]
    rows = [{**key, "status": "ok", "copy": False, "edit_distance": 0.5, "n_tokens": 7}
            for key in keys]  # fmt: skip
    for name, model in (("big", "google/gemma-3-27b-it"), ("other", "google/gemma-3-4b-it")):
        about = {"engine": {"model": model}}
        write_table(layout.paraphrases(name, "t"), pa.Table.from_pylist(rows, WORDINGS), about)
        rated = pa.Table.from_pylist([{**key, "score": 4.5} for key in keys], JUDGEMENTS)
        write_table(layout.judgements("j", name, "t"), rated, {})
    asked = {"judges": ["j"], "generators": ["big", "other"], "tasks": ["t"]}
    big, other = paraphraser_rows(asked, layout, tmp_path, "reliable")
    assert (big["published_judge_mean"], big["published_edit_distance"]) == (4.23, 0.81)
    assert big["judge_mean_difference"] == pytest.approx(0.27)
    assert big["edit_distance_difference"] == pytest.approx(-0.31)
    assert np.isnan([other["published_judge_mean"], other["judge_mean_difference"]]).all()
    (figure,) = paraphrasers(pd.DataFrame([big, other]), NARROW, PAGE)
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["big (recommended)", "other", "as published"]


def test_judges_that_say_the_same_agree(run_with_judges):
    layout, verdict = run_with_judges
    [row] = table(layout, "judge_agreement").to_dict("records")
    assert (row["verdict"], row["other_verdict"]) == (verdict, "reliable")
    assert (row["n"], row["spearman"], row["weighted_kappa"]) == (3, 1, 1)
    assert row["mean"] == row["other_mean"] == pytest.approx(10 / 3)


def test_the_figure_shows_each_threshold_with_what_is_left(run_with_judges):
    layout, verdict = run_with_judges
    (figure,) = delta_by_judge(table(layout, "drift"), WIDE, PAGE)
    axis = figure.axes[0]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["all", "3", "4.5"]
    assert [note.get_text() for note in axis.texts] == ["n = 60", "n = 60", "n = 1"]
    assert ("not reliable" in axis.get_xlabel()) == (verdict == "not reliable")
    declared = settings([], [])["statistics"]
    asked = {"figures": JUDGE_FIGURES, "tables": ["drift", "paraphrasers"], "statistics": declared}
    plot.run(asked | {"on_failure": "exclude"}, layout.root)
    captions = layout.captions("md").read_text()
    assert "says that the meaning was kept. n = 1 to 60 instances." in captions
    assert "paraphrasers_table.** Generators by the judge's ratings" in captions
    assert layout.figure("delta_by_judge").stat().st_size > 1000
    (nothing,) = delta_by_judge(table(layout, "drift").iloc[:1], WIDE, PAGE)
    assert "set `min_judge`" in nothing.texts[0].get_text()


def test_without_judges_nothing_of_them_is_written(tmp_path):
    write_run(tmp_path, {"m": 0.5})
    stage.run(settings(["m"], ["sts"]), tmp_path)
    assert table(Layout(tmp_path), "summary")["judge_mean"].isna().all()
    assert not Layout(tmp_path).table("drift").exists()
