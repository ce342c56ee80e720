"""The table of how far judges agree with people."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import spearmanr

from pteb_eval.errors import UserError
from pteb_eval.judge import validation
from pteb_eval.judge.stage import GOLD_SCHEMA
from pteb_eval.paraphrase.prompts import load_judge_prompt
from pteb_eval.published import figures_of, published
from pteb_eval.score.judged import check_reliable
from pteb_eval.store import write_table

ROOT = Path(__file__).parents[2]
PUBLISHED = """\
sources: {paper: A paper}
published:
  - source: paper
    table: 1
    kind: judge
    name: Good
    models: [good-model]
    figures: {average: {spearman: 0.8318}, first: {spearman: 0.9, mae: 0.5}}
"""
SETTINGS = {
    "judges": [["good", "maker/Good-Model"], ["bad", "bad.gguf"]],
    "min_judge_spearman": 0.7,
    "confidence": 0.95,
    "resamples": 300,
    "seed": 1,
}


def write_rated(folder, judge, task, score_of, *, graded=True, unread=(), n=60):
    gold = np.random.default_rng([n, len(task)]).integers(0, 6, n).astype(float)
    rows = [
        {
            "subset": "default", "split": "test", "row": str(row), "gold": value,
            "score": None if row in unread else float(score_of(row, value)),
            "status": "unparsable" if row in unread else "ok",
        }
        for row, value in enumerate(gold)
    ]  # fmt: skip
    path = folder / judge / f"{task}.parquet"
    about = {"settings": {"judge": judge, "task": task}, "graded": graded}
    write_table(path, pa.Table.from_pylist(rows, GOLD_SCHEMA), about)
    return path


@pytest.fixture
def made(tmp_path):
    (tmp_path / "published.yaml").write_text(PUBLISHED)

    def make(files, **changes):
        output = tmp_path / "judge_validation.csv"
        validation.run({**SETTINGS, **changes}, files, tmp_path / "published.yaml", output)
        frame = pd.read_csv(output, keep_default_na=True)
        return frame, output.with_suffix(".md").read_text(), output.with_suffix(".tex").read_text()

    return make


def near(row, value):
    return np.clip(value + (row % 3 - 1) * 0.5, 0, 5)


def noise(row, value):
    return np.random.default_rng(row).integers(0, 6)


@pytest.fixture
def two(tmp_path):
    return [
        write_rated(tmp_path, "good", "first", near, unread={0, 1, 2}),
        write_rated(tmp_path, "good", "second", near, graded=False),
        write_rated(tmp_path, "bad", "first", noise),
        write_rated(tmp_path, "bad", "second", noise, graded=False),
    ]


def test_figures_are_those_of_scipy_and_of_arithmetic(made, two):
    frame, _, _ = made(two)
    assert list(frame.columns) == validation.COLUMNS
    assert list(dict.fromkeys(frame["judge"])) == ["good", "bad"]  # as they are given
    for path in two[:3:2]:
        rows = pd.read_parquet(path)
        judge = path.parent.name
        rated = rows[rows["status"] == "ok"]
        row = frame[(frame["judge"] == judge) & (frame["task"] == "first")].iloc[0]
        rho = spearmanr(rated["gold"], rated["score"]).statistic
        assert row["spearman"] == pytest.approx(rho)
        assert row["mae"] == pytest.approx((rated["gold"] - rated["score"]).abs().mean())
        assert row["spearman_ci_low"] < rho < row["spearman_ci_high"]
        assert row["mae_ci_low"] < row["mae"] < row["mae_ci_high"]
        assert (row["n"], row["unparsable"]) == (
            60,
            pytest.approx(3 / 60 if judge == "good" else 0),
        )
    second = frame[frame["task"] == "second"]
    assert second["mae"].isna().all()  # 0 and 5 are labels there, not ratings
    average = frame[frame["task"] == "average"].set_index("judge")
    for judge, row in average.iterrows():
        own = frame[(frame["judge"] == judge) & (frame["task"] != "average")]
        assert row["spearman"] == pytest.approx(own["spearman"].mean())
        assert row["mae"] == pytest.approx(own["mae"].iloc[0])
        assert row["n"] == 120


def test_a_judge_below_the_threshold_is_marked_in_all_its_rows(made, two):
    frame, markdown, latex = made(two)
    verdicts = frame.groupby("judge")["verdict"].unique()
    assert list(verdicts["good"]) == ["reliable"]
    assert list(verdicts["bad"]) == ["not reliable"]
    assert "not reliable" in markdown and "not reliable" in latex
    frame, _, _ = made(two, min_judge_spearman=0.999)
    assert set(frame["verdict"]) == {"not reliable"}


def test_a_judge_that_says_the_same_of_all_pairs_is_not_reliable(made, tmp_path):
    files = [
        write_rated(tmp_path, "good", "first", near),
        write_rated(tmp_path, "good", "second", lambda row, value: 3),
        write_rated(tmp_path, "bad", "first", near),
    ]
    frame, _, _ = made(files)
    average = frame[frame["task"] == "average"].set_index("judge")
    assert np.isnan(average.loc["good", "spearman"])
    assert average.loc["good", "verdict"] == "not reliable"
    assert average.loc["bad", "verdict"] == "reliable"


def test_the_best_of_a_column_is_bold_and_published_figures_stand_beside(made, two):
    frame, markdown, latex = made(two)
    good = frame[(frame["judge"] == "good") & (frame["task"] == "first")].iloc[0]
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    lines = {line.split("|")[1].strip(): line for line in rows}
    assert f"**{100 * good['spearman']:.2f}**" in lines["good"]
    assert f"**{good['mae']:.2f}**" in lines["good"]
    assert "**" not in lines["bad"]
    more = f"difference {100 * good['spearman'] - 90:+.2f}"
    assert f"(published 90.00, {more})" in lines["good"]
    assert f"(published 0.50, difference {good['mae'] - 0.5:+.2f})" in lines["good"]
    assert "83.18 (" in lines["good"] and "published" not in lines["bad"]
    assert f"\\textbf{{{100 * good['spearman']:.2f}}}" in latex
    assert "**" not in latex and "ρ" not in latex
    assert good["published_spearman"] == 0.9
    assert good["spearman_difference"] == pytest.approx(good["spearman"] - 0.9)


def test_only_a_reliable_judge_may_filter(made, two, tmp_path):
    made(two)
    table = tmp_path / "judge_validation.csv"
    asked = {"min_judge_spearman": 0.7}
    check_reliable({"judge": "good", **asked}, table)
    message = r"min_judge: judge 'bad' is not reliable \(Spearman with gold -?0\.\d\d, min_judge_sp"
    with pytest.raises(UserError, match=message):
        check_reliable({"judge": "bad", **asked}, table)


def test_a_file_that_holds_no_published_figures(made, two, tmp_path):
    (tmp_path / "published.yaml").write_text("judges: [none]")
    with pytest.raises(UserError, match="no table of published figures"):
        validation.run(SETTINGS, two, tmp_path / "published.yaml", tmp_path / "out.csv")


def test_the_published_figures_and_prompts_of_this_repository():
    judges = published("judge", ROOT / "resources" / "published.yaml")
    for name in ("google/gemma-3-27b-it", "Gemma3:27b", "gemma-3:27b-it"):
        assert figures_of(judges, name) == {"average": {"spearman": 0.8318}}
    assert figures_of(judges, "gemma-3-4b-it") == {}
    assert all(0 < one.figures["average"]["spearman"] < 1 for one in judges)
    for path in (ROOT / "resources" / "prompts").glob("judge_*.yaml"):
        prompt = load_judge_prompt(path)
        assert prompt.name == path.stem
        shown = prompt.render("{second}", "{first}")
        assert shown.index("{second}") < shown.index("{first}")


@pytest.mark.parametrize("template", ["{first}", "{second} {first}", "{text}"])
def test_a_prompt_needs_both_texts_in_order(tmp_path, template):
    path = tmp_path / "p.yaml"
    path.write_text(f"name: p\nversion: 1\nkind: chat\ntemplate: '{template}'\n")
    with pytest.raises(UserError, match=r"p\.yaml: template: .*must contain {first} and after it"):
        load_judge_prompt(path)
