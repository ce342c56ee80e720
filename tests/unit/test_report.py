"""What the report says and carries: its sentences, its heat map, the instances that it picks."""

import base64
import gzip
import json
import re

import numpy as np
import pandas as pd
import pytest
from report_run import FakeRun

from pteb_eval.layout import JUDGE_TABLES, SUITE_DELTA_TABLES, SUITE_TABLES, TABLES
from pteb_eval.report import about, instances, specs, stage
from pteb_eval.report.answer import answers, swaps
from pteb_eval.report.charts import charts
from pteb_eval.report.packed import packed
from pteb_eval.report.results import (
    digits_for,
    heat_maps,
    in_points,
    p_value,
    percent,
    points,
    with_verdicts,
)
from pteb_eval.report.vega import script
from pteb_eval.store import read_table, write_table

STS, ACCURACY, CLUSTERS = "cosine_spearman", "accuracy", "v_measure"


def unpacked(text):
    return json.loads(gzip.decompress(base64.b64decode(text)))


def page_of(run):
    stage.run(run.settings(), run.layout.root)
    return run.layout.report.read_text(encoding="utf-8")


def row(model, delta, verdict="no detectable drop", task="t", original=0.8, n=500, **more):
    low, high = delta - 0.01, delta + 0.01
    return {
        "generator": "gen", "model": model, "task": task, "subset": "default", "metric": STS,
        "original": original, "pteb_mean": original - delta, "delta": delta, "delta_ci_low": low,
        "delta_ci_high": high, "verdict": verdict, "p_adjusted": 0.2, "n_instances": n,
        "copy_rate": 0.02, "failure_rate": 0.0, "n_runs": 6, "judge_mean": np.nan, **more,
    }  # fmt: skip


def pair(model, other, flip, task="t"):
    return {"generator": "gen", "task": task, "subset": "default", "model": model,
            "other_model": other, "flip_probability": flip}  # fmt: skip


def said(rows, pairs=(), **more):
    frame = pd.DataFrame(pairs, columns=list(pair("", "", 0)))
    [answer] = answers(pd.DataFrame(rows), frame, 0.95, **more)
    return answer


def test_one_task_names_who_loses_how_much():
    answer = said([row("a", 0.103, "drops"), row("b", 0.002, original=0.79)], [pair("a", "b", 0.1)])
    assert answer.drops == (
        "1 of 2 models loses a detectable part of the score on t: "
        "a by 10.3 points (interval 9.3 to 11.3)."
    )
    assert answer.ranks.startswith("1 of 1 pairs of models changes places")
    assert answer.ranks.endswith("but none in at least 95 % of resamples: these changes may be "
                                 "chance.")  # fmt: skip


def test_several_tasks_are_counted_and_the_largest_named():
    rows = [row(m, d, "drops", t) for m, d, t in (("a", 0.01, "t"), ("a", 0.03, "u"))]
    rows += [row("b", 0.02, "drops"), row("b", -0.02, "rises", "u")]
    answer = said(rows, [pair("a", "b", 0.5), pair("a", "b", 0.99, "u")])
    assert answer.drops == (
        "3 of 4 scores (2 models on 2 tasks) drop detectably under rewording, by 1.0 to 3.0 points "
        "(median 2.0); the most: a on u; 1 rises."
    )


def test_only_orders_that_turn_around_in_most_resamples_are_real():
    rows = [row("a", 0.1, original=0.9), row("b", 0.0, original=0.85), row("c", 0.0, original=0.3)]
    pairs = [pair("a", "b", 0.97), pair("a", "c", 0.99), pair("b", "c", 0.0)]
    found = swaps(pd.DataFrame(rows), pd.DataFrame(pairs), 0.95)
    assert found[["model", "other_model", "real"]].to_numpy().tolist() == [["a", "b", True]]
    assert said(rows, pairs).ranks == (
        "1 of 3 pairs of models changes places in the ranking; 1 of them in at least 95 % of "
        "resamples (a and b)."
    )
    assert said(rows[1:], pairs[2:]).ranks == "No two models change places in the ranking."
    assert said(rows[:1]).ranks.startswith("With one model")


def test_what_is_not_reliable_is_said():
    rows = [
        row("a", 0.1, "underpowered", n=66, copy_rate=0.26, failure_rate=0.013, n_runs=2),
        row("b", 0.1, "undefined", n=66, copy_rate=0.26, failure_rate=0.013, n_runs=2),
    ]
    care = said(rows, substituted=True).care
    for part in (
        "26 % of the paraphrases only copy their text, which makes Δ too small, and 1.3 % failed",
        "originals stand in for failed paraphrases",
        "1 of 2 verdicts is “underpowered”",
        "1 of 2 verdicts is “undefined”",
        "with fewer than 6 runs, here 2, Δ is not steady",
        "t has only 66 instances",
        "nobody has checked that the paraphrases keep the meaning",
    ):
        assert part in care
    rows = [row("a", 0.1, "drops", judge_mean=3.456)]
    care = said(rows, judge="reader (not reliable)").care
    assert care == (
        "Read with care: 2 % of the paraphrases only copy their text, and none failed; judge "
        "reader (not reliable) gives them 3.46 of 5 for keeping the meaning."
    )


def test_numbers_have_true_signs_and_few_digits():
    assert points(-0.0472, sign=True) == "−4.72" and points(0.1027, 1, sign=True) == "+10.3"
    assert points(-0.00001, 1, sign=True) == "0.0" and points(float("nan")) == "none"
    assert percent(0.0003, 1) == "< 0.1 %" and percent(0, 1) == "0.0 %" and percent(0.26) == "26 %"
    assert p_value(0.00012) == "< 0.001" and p_value(0.0395) == "0.040" and p_value(np.nan) == ""
    assert in_points("equivalent within ±0.02") == "equivalent within ±2 points"
    wide = pd.DataFrame([row("a", 0.1, delta_ci_low=0.05, delta_ci_high=0.2)])
    assert digits_for(wide) == 1 and digits_for(pd.DataFrame([row("a", 0.1)])) == 2


def test_a_cell_of_the_heat_map_tells_all():
    rows = [row("a", 0.1, "drops", p_adjusted=0.0004), row("a", -0.02, "rises", "u"), row("b", 0.0)]
    [found] = heat_maps(pd.DataFrame(rows))
    assert found["columns"] == ["t", "u"]
    (drop, rise), (zero, none) = (one["cells"] for one in found["rows"])
    assert (drop["kind"], drop["mark"], drop["delta"]) == ("drop-5", "▼", "+10.0")
    assert (rise["kind"], rise["mark"], rise["delta"]) == ("rise-1", "▲", "−2.0")
    assert zero["kind"] == "zero" and none is None
    assert drop["about"] == (
        "a on t: Δ +10.00, interval +9.00 to +11.00. cosine_spearman 80.00 on the original, 70.00 "
        "reworded. 500 instances. Verdict: drops (adjusted p < 0.001)."
    )


def test_a_score_without_a_test_is_called_so():
    keys = {"generator": "gen", "model": "a", "task": "t", "subset": "default"}
    summary = pd.DataFrame([keys | {"delta": 0.1}])
    none = pd.DataFrame([], columns=[*keys, "verdict", "p_adjusted"], dtype=object)
    assert with_verdicts(summary, none)["verdict"].tolist() == ["not tested"]


def test_every_table_that_can_be_opened_has_a_title():
    names = {*TABLES, *JUDGE_TABLES, *SUITE_TABLES, *SUITE_DELTA_TABLES}
    assert names - {"scores", "warnings", "judge_validation"} == about.TABLES.keys()


def test_packed_data_is_the_same_each_time_and_no_markup():
    data = {"text": "</script><!-- \ud800 \0", "n": 1.5}
    assert packed(data) == packed(data)
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", packed(data)) and unpacked(packed(data)) == data
    with pytest.raises(ValueError, match="not JSON compliant"):
        packed([float("nan")])


# Single instances


def test_instances_are_the_most_changed_a_sample_and_those_left_out(tmp_path, monkeypatch):
    run = FakeRun(tmp_path, ["a", "b"], {"t": STS}, judged=True)
    monkeypatch.setattr(instances, "MOST", 3)
    monkeypatch.setattr(instances, "SAMPLE", 2)
    [block] = instances.blocks(run.layout, [("a", "a"), ("b", "b")], ["gen"], ["t"], ["reader"])
    assert block["total"] == 30  # 29 scored and one left out
    data = unpacked(block["data"])
    assert block["shown"] == len(data["items"]) and data["value"] == "cosine_similarity"
    why = {reason: [] for reason in ("change", "sample", "left out")}
    for item in data["items"]:
        for reason in item["why"]:
            why[reason].append(item)
    assert [len(found) for found in why.values()] == [3, 2, 1]

    tables = [read_table(run.layout.instances(model, "gen", "t")).to_pandas() for model in "ab"]
    changes = [
        own.groupby("row", sort=False)["value"].apply(lambda v: abs(v.iloc[0] - v.iloc[1:].mean()))
        for own in tables
    ]
    change = (changes[0] + changes[1]) / 2
    assert [item["key"][2] for item in why["change"]] == change.nlargest(3).index.tolist()
    first = why["change"][0]
    assert first["key"] == ["default", "test", "0"] and first["gold"] == 0
    assert first["values"] == [[0.9] + [0.1] * 6] * 2
    [(role, one), (other, _)] = first["texts"]
    assert (role, other) == ("sentence1", "sentence2")
    assert data["texts"][one]["text"] == run.firsts[0]
    rewordings = data["texts"][one]["runs"]
    assert [reworded["run"] for reworded in rewordings] == [1, 2, 3, 4, 5, 6]
    assert rewordings[0]["copy"] and "copy" not in rewordings[1]
    assert rewordings[0]["scores"] == [1]
    [lost] = why["left out"]
    assert "values" not in lost
    assert data["texts"][lost["texts"][1][1]]["runs"][1] == {
        "run": 2, "status": "empty", "text": "", "scores": [5],
    }  # fmt: skip


def test_another_order_of_rows_changes_no_value(tmp_path):
    run = FakeRun(tmp_path, ["a", "b"], {"t": STS})
    arguments = [("a", "a"), ("b", "b")], ["gen"], ["t"], []
    [before] = instances.blocks(run.layout, *arguments)
    path = run.layout.instances("b", "gen", "t")
    table = read_table(path)
    write_table(path, table.take(np.random.default_rng(1).permutation(table.num_rows)), {})
    [after] = instances.blocks(run.layout, *arguments)
    assert after["data"] == before["data"]


def test_without_values_of_instances_texts_are_picked_by_id(tmp_path):
    run = FakeRun(tmp_path, ["a"], {"t": CLUSTERS})
    [block] = instances.blocks(run.layout, [("a", "a")], ["gen"], ["t"], [])
    data = unpacked(block["data"])
    assert data["value"] is None
    assert {tuple(item["why"]) for item in data["items"]} == {("sample",)}
    assert all(item["texts"] and "values" not in item for item in data["items"])


def test_long_texts_leave_room_for_fewer_instances(tmp_path, monkeypatch):
    monkeypatch.setattr(instances, "CUT", 50)
    run = FakeRun(tmp_path, ["a"], {"t": STS}, texts=["x" * 100_000])
    arguments = run.layout, [("a", "a")], ["gen"], ["t"], []
    [block] = instances.blocks(*arguments)
    text = next(one for one in unpacked(block["data"])["texts"] if one["text"][0] == "x")
    assert text["text"] == "x" * 50 and text["length"] == 100_000
    monkeypatch.setattr(instances, "BUDGET", len(block["data"]) // 2)
    [smaller] = instances.blocks(*arguments)
    assert 0 < smaller["shown"] < block["shown"] and len(smaller["data"]) <= instances.BUDGET
    assert smaller["total"] == block["total"]


# The page


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    tasks = {"first": STS, "second": ACCURACY, "offensive-one": ACCURACY}
    return FakeRun(
        tmp_path_factory.mktemp("small"), ["alpha", "beta", "gamma"], tasks, judged=True,
        drops={"alpha": 0.06, "beta": 0.05, "gamma": -0.01}, warnings=["a <b>bold</b> warning"],
    )  # fmt: skip


def test_same_run_same_bytes(small):
    assert page_of(small) == page_of(small)


def test_texts_stand_nowhere_in_the_open(small):
    page = page_of(small)
    assert not any(text in page for text in small.firsts)
    assert "a &lt;b&gt;bold&lt;/b&gt; warning" in page and "1 warning of this run" in page
    assert page.count(f"config:{about.digest(small.settings())[:12]}") >= 8


def test_code_of_a_model_that_was_run_is_named(small):
    settings = small.settings()
    assert "was run (<code>trust_remote_code" not in page_of(small)
    settings["models"][1]["trust_remote_code"] = True
    stage.run(settings, small.layout.root)
    page = small.layout.report.read_text(encoding="utf-8")
    assert "<p>beta: code that comes with this model was run (" in page


def test_every_chart_has_the_rows_of_every_task(small):
    tables = {name: stage._read(small.layout, name) for name in
              ("summary", "ranking", "across_tasks", "runs", "drift", "implicit")}  # fmt: skip
    scores = stage._single_runs(stage._read(small.layout, "scores"))
    drawn = charts(tables, scores, tables["implicit"])
    assert {name: len(chart["groups"]) for name, chart in drawn.items()} == {
        "spread": 3, "ranks": 3, "average": 1, "width": 3, "drift": 3, "levels": 4,
    }  # fmt: skip
    spread = drawn["spread"]["groups"][0]["rows"]
    alpha = {one["what"]: one["score"] for one in spread if one["model"] == "alpha"}
    assert alpha["original"] == 80 and alpha["mean of runs"] == 74 and alpha["run 6"] == 77
    width = drawn["width"]["groups"][0]["rows"]
    here = [one for one in width if one["here"]]
    assert {one["runs"] for one in here} == {6}
    expected = 100 * 2 * 1.959964 * (2e-4 + 1e-4 / 6) ** 0.5
    assert here[0]["width"] == pytest.approx(expected, abs=1e-3)


def test_charts_are_valid_and_pinned():
    vl_convert = pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")
    assert vl_convert.javascript_bundle() == script()
    for name in ("SPREAD", "RANKS", "AVERAGE", "WIDTH", "DRIFT", "LEVELS"):
        spec = specs.complete(getattr(specs, name)) | {"width": 300, "height": 100}
        svg = vl_convert.vegalite_to_svg(spec | {"datasets": {"rows": []}})
        assert svg.startswith("<svg")


def test_one_model_without_intervals_or_tests(tmp_path):
    run = FakeRun(tmp_path, ["only"], {"t": CLUSTERS})
    for name in ("effects", "model_pairs", "ranking", "runs", "significance"):
        path = run.layout.table(name)
        path.write_text(path.read_text().partition("\n")[0] + "\n")
    path = run.layout.table("summary")
    summary = pd.read_csv(path).assign(delta_ci_low=np.nan, delta_ci_high=np.nan, pteb_std=np.nan)
    path.write_text(summary.to_csv(index=False))
    page = page_of(run)
    assert "With one model there is no ranking that could change." in page
    assert "No metric of this run has an interval" in page
    assert ">not tested</td>" in page
    assert not re.search(r"\bnan\b", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))


def test_each_generator_has_its_answer_and_its_heat_map(tmp_path):
    run = FakeRun(tmp_path, ["a", "b"], {"t": STS, "u": STS}, generators=("one", "other"), n=8)
    settings = run.settings() | {"on_failure": "substitute"}
    stage.run(settings, run.layout.root)
    page = run.layout.report.read_text(encoding="utf-8")
    assert page.count('<div class="answer">') == 2 and page.count('<table class="heat">') == 2
    assert page.count("originals stand in for failed paraphrases") == 2
    assert '<option value="3">u, reworded by other</option>' in page
