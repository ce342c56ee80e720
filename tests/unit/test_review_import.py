"""From what people hand in to tables: hand-computed, and whatever a file may hold."""

import csv
import io
import json
import math
import re
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from review_run import GENERATORS, TASKS, judge_run, make_run
from scipy.stats import spearmanr

from pteb_eval.cli import main
from pteb_eval.errors import UserError
from pteb_eval.report.answer import meaning
from pteb_eval.review.agreement import alpha, correlation, review_rows, wilson
from pteb_eval.review.collect import collect
from pteb_eval.review.export import export
from pteb_eval.review.key import CHECK, PAIR, read_key
from pteb_eval.review.ratings import read_ratings
from pteb_eval.store import provenance_of, write_table


@pytest.fixture
def sample(tmp_path):
    """A run with a sample of 12 pairs and 4 checks: workflow, key, id."""
    flow = make_run(tmp_path, GENERATORS, TASKS[:1], judges=["judge"])
    checks = {"n_checks": 4, "checks_from": str(tmp_path / "checks.csv")}
    path, key, _ = export(flow, n_pairs=12, **checks, threshold=4.0, seed=7)
    return flow, read_key(key)[0], path.stem


def saved(path, sample, rater, ratings):
    """A file as the page saves it; `ratings` by item."""
    rows = [{"item": item, "rating": rating} for item, rating in ratings.items()]
    content = {"format": "pteb-eval ratings 1", "sample": sample, "rater": rater, "ratings": rows}
    path.write_text(json.dumps(content))
    return path


def saved_csv(path, sample, rater, ratings, delimiter=",", encoding="utf-8-sig"):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(["sample", "rater", "item", "rating"])
    writer.writerows([sample, rater, item, rating] for item, rating in ratings.items())
    path.write_text(text.getvalue(), encoding=encoding, newline="")
    return path


def rated(key, pairs, checks=lambda row: row.gold):
    """Ratings by item: what `pairs` and `checks` say of each row of the key."""
    return {
        row.item: int(pairs(row) if row.kind == PAIR else checks(row)) for row in key.itertuples()
    }


def test_tables_by_hand(sample, tmp_path):
    """Of 6 pairs a generator, people agree on 5 and differ on one: 5 and 2, mean 3.5 < 4."""
    flow, key, name = sample
    judge_run(flow, lambda row: 5 * row["edit_distance"])
    first = {item: 4 + i % 2 for i, item in enumerate(key["item"])}
    differs = [rows["item"].iloc[0] for _, rows in key[key["kind"] == PAIR].groupby("generator")]
    first |= dict.fromkeys(differs, 5)
    second = {**first, **dict.fromkeys(differs, 2)}
    first |= rated(key[key["kind"] == CHECK], None)
    second |= rated(key[key["kind"] == CHECK], None, lambda row: 5 - row.gold)
    files = [
        saved(tmp_path / "a.json", name, "Ana", first),
        saved_csv(tmp_path / "b.csv", name, "Bo, B.", second, delimiter=";"),
    ]
    review, raters = collect(flow, files)
    assert set(review["generator"].iloc[:-1]) == set(GENERATORS)
    assert review["generator"].iloc[-1] == "all"
    low, high = wilson(5, 6, 0.95)
    for row in review[review["generator"] != "all"].itertuples():
        assert (row.n_pairs, row.n_raters, row.n_ratings, row.threshold) == (6, 2, 12, 4.0)
        assert (row.kept_share, row.kept_low, row.kept_high) == (5 / 6, low, high)
        assert (row.judge, row.verdict, row.n_judged) == ("judge", "not validated", 6)
        pairs = key[(key["generator"] == row.generator)]
        means = [(first[item] + second[item]) / 2 for item in pairs["item"]]
        assert row.mean_rating == pytest.approx(np.mean(means))
        assert row.rho == pytest.approx(spearmanr(means, pairs["edit_distance"]).statistic)
        assert row.rho_low <= row.rho <= row.rho_high
        matrix = [[one[item] for item in pairs["item"]] for one in (first, second)]
        assert row.alpha == pytest.approx(alpha(np.array(matrix, float)))
    assert review["n_pairs"].iloc[-1] == 12
    ana, bo = raters.itertuples()
    assert (ana.rater, ana.n_pairs, ana.n_checks, ana.checks_passed) == ("Ana", 12, 4, 1.0)
    # Upside down, 0 5 1 4 become 5 0 4 1: off by 5, 5, 3, 3.
    assert (bo.rater, bo.checks_passed, bo.check_error) == ("Bo? B.", 0.0, 4.0)
    for table in ("review", "review_raters"):
        assert all(flow.layout.table(table, kind).is_file() for kind in ("csv", "md", "tex"))
    back = pd.read_csv(flow.layout.table("review"))
    assert "5 of" not in (said := meaning(back, GENERATORS[0], TASKS[0]))
    assert said.startswith("People rated 6 of the usable ones: 83% keep the meaning (44% to 97%)")
    assert "nobody" in meaning(back, GENERATORS[0], "another task")


def test_without_a_judge_and_with_gaps(sample, tmp_path):
    flow, key, name = sample
    ratings = rated(key, lambda row: 3)
    half = dict(list(ratings.items())[:8])
    review, raters = collect(flow, [saved(tmp_path / "a.json", name, "A", half)])
    assert review["judge"].isna().all() and review["alpha"].isna().all()
    assert raters["n_pairs"].iloc[0] + raters["n_checks"].iloc[0] == 8
    assert (review["kept_share"] == 0).all()


def test_the_same_ratings_handed_in_twice_count_once(sample, tmp_path):
    flow, key, name = sample
    ratings = rated(key, lambda row: 5)
    files = [saved(tmp_path / "a.json", name, "A", ratings)]
    files.append(saved_csv(tmp_path / "a.csv", name, "A", ratings))
    review, raters = collect(flow, files)
    assert len(raters) == 1 and review["n_ratings"].iloc[-1] == 12
    other = saved(tmp_path / "b.json", name, "A", {**ratings, key["item"][0]: 1})
    with pytest.raises(UserError, match="rater 'A' has other ratings in"):
        collect(flow, [files[0], other])


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_what_spreadsheets_make_of_a_csv_is_read(sample, tmp_path, delimiter):
    _, key, name = sample
    ratings = {item: "4.0" for item in key["item"]}
    path = saved_csv(tmp_path / "a.csv", name, " Zoë \n Z ", ratings, delimiter)
    read = read_ratings(path)
    assert (read.rater, set(read.by_item.values())) == ("Zoë Z", {4})


# Agreement


def test_alpha_of_a_published_example():
    """The example of Krippendorff's manual for ordinal data: 0.815."""
    nan = math.nan
    ratings = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
        [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
    ]
    assert alpha(np.array(ratings)) == pytest.approx(0.815, abs=5e-4)


@pytest.mark.parametrize(
    "ratings",
    [[[1, 2, 3]], [[1, math.nan], [math.nan, 2]], [[4, 4], [4, 4]], [[1, 4], [math.nan, 4]]],
)
def test_alpha_is_undefined_where_nothing_can_be_compared(ratings):
    assert math.isnan(alpha(np.array(ratings, float)))


def test_only_agreement_among_people_needs_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "krippendorff", None)
    assert math.isnan(alpha(np.array([[1.0, 5, 3]])))
    with pytest.raises(UserError, match=r"pip install 'pteb-eval\[review\]'"):
        alpha(np.array([[1.0, 5, 3], [1, 5, 3]]))


def test_alpha_of_full_agreement_is_one():
    assert alpha(np.array([[1.0, 5, 3], [1, 5, 3]])) == 1


@given(st.integers(0, 40), st.integers(1, 40), st.sampled_from([0.9, 0.95]))
def test_wilson_is_its_formula(count, n, confidence):
    from scipy.stats import norm

    count, z = min(count, n), norm.ppf((1 + confidence) / 2)
    share = count / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    assert wilson(count, n, confidence) == pytest.approx(
        (max(middle - half, 0), min(middle + half, 1)), abs=1e-9
    )


def test_correlation_is_scipys_and_its_interval_that_of_a_plain_bootstrap():
    rng = np.random.default_rng(3)
    people = rng.integers(0, 6, 40).astype(float)
    judge = people + rng.normal(0, 1.5, 40)
    found = correlation(people, judge, 0.9, 2000, seed=1)
    assert found["rho"] == pytest.approx(spearmanr(people, judge).statistic)
    picks = rng.integers(0, 40, (2000, 40))
    plain = [spearmanr(people[pick], judge[pick]).statistic for pick in picks]
    low, high = np.quantile(plain, [0.05, 0.95])
    assert found["rho_low"] == pytest.approx(low, abs=0.03)
    assert found["rho_high"] == pytest.approx(high, abs=0.03)


def test_a_correlation_that_is_undefined_is_empty():
    found = correlation([4.0, 4.0, 4.0], [1.0, 2.0, 3.0], 0.95, 100, seed=1)
    assert all(math.isnan(value) for value in found.values())


def test_each_judge_has_a_row():
    ratings = pd.DataFrame(
        {"kind": PAIR, "generator": "g", "task": "t", "text_id": list("abc"), "run": 1,
         "item": list("xyz"), "rater": "A", "rating": [1, 3, 5]}
    )  # fmt: skip
    judged = pd.concat(
        ratings[["generator", "task", "text_id", "run"]].assign(judge=judge, score=score)
        for judge, score in (("good", [1.0, 2.0, 3.0]), ("bad", [3.0, 2.0, 1.0]))
    )
    options = {"threshold": 3, "confidence": 0.95, "resamples": 50, "seed": 1}
    verdicts = {"good": "reliable", "bad": "not reliable"}
    rows = list(review_rows(ratings, judged, verdicts, **options))
    found = [(row["judge"], row["verdict"], row["rho"]) for row in rows]
    assert found == [("bad", "not reliable", -1), ("good", "reliable", 1)]
    assert all(row["kept_share"] == 2 / 3 for row in rows)


# Mistakes


def changed(content, **changes):
    return json.dumps({**content, **changes})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sample": "s000000000000"}, "sample 's000000000000' was not exported from"),
        ({"sample": 5}, "sample 5 is no id of a sample"),
        ({"rater": " "}, "rater ' ' is no name"),
        ({"format": "other"}, "no ratings: a file of the review page says format"),
        ({"ratings": {}}, "ratings {} is no list of item and rating"),
        ({"ratings": []}, "no rating in it"),
        ({"ratings": [{"item": "i1", "rating": 6}]}, "rating 1: 6 is no whole number from 0 to 5"),
        ({"ratings": [{"item": "i1", "rating": True}]}, "rating 1: True is no whole number"),
        ({"ratings": [{"item": "i1", "rating": 4.5}]}, "rating 1: 4.5 is no whole number"),
        ({"ratings": [{"item": "i1", "rating": None}]}, "rating 1: None is no whole number"),
        ({"ratings": [{"item": "i1", "rating": 4}] * 2}, "rating 2: item 'i1' is no item, or"),
        ({"ratings": [{"item": "i1", "rating": 4}]}, "item 'i1' is not in sample"),
    ],
)
def test_a_wrong_file_is_one_line(sample, tmp_path, change, message):
    flow, _, name = sample
    content = {"format": "pteb-eval ratings 1", "sample": name, "rater": "A"}
    path = tmp_path / "r.json"
    path.write_text(json.dumps({**content, "ratings": [{"item": "i1", "rating": 4}], **change}))
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        collect(flow, [path])
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_ratings_of_two_samples_are_not_mixed(sample, tmp_path):
    flow, key, name = sample
    files = [saved(tmp_path / "a.json", name, "A", rated(key, lambda row: 5))]
    files.append(saved(tmp_path / "b.json", "sother", "B", {"i1": 5}))
    with pytest.raises(UserError, match=r"b.json: of sample 'sother', but .*a.json is of"):
        collect(flow, files)


def test_paraphrases_that_were_made_anew_are_noticed(sample, tmp_path):
    flow, key, name = sample
    path = flow.layout.paraphrases(GENERATORS[0], TASKS[0])
    table = pa.parquet.read_table(path)
    column = pa.array([text + "!" for text in table["paraphrase"].to_pylist()])
    place = table.column_names.index("paraphrase")
    write_table(path, table.set_column(place, "paraphrase", column), {})
    file = saved(tmp_path / "a.json", name, "A", rated(key, lambda row: 5))
    with pytest.raises(UserError, match="6 of 6 rated paraphrases are no longer in it"):
        collect(flow, [file])


def test_a_changed_key_is_noticed(sample, tmp_path):
    flow, key, name = sample
    path = flow.layout.review_key(name)
    table = pa.parquet.read_table(path)
    gold = pa.array([5.0] * len(table), pa.float32())
    told = provenance_of(table.schema)
    write_table(path, table.set_column(table.column_names.index("gold"), "gold", gold), told)
    with pytest.raises(UserError, match="its content is not what `pteb-eval review export` wrote"):
        collect(flow, [saved(tmp_path / "a.json", name, "A", rated(key, lambda row: 5))])


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8),
    st.sampled_from(["pteb-eval ratings 1", "i1", "4", 4]),
)  # fmt: skip
odd_json = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["format", "sample", "rater", "ratings", "item", "rating"]), inner
        ),
    ),
    max_leaves=12,
)
near_json = st.fixed_dictionaries(
    {
        "format": st.just("pteb-eval ratings 1"),
        "sample": scalars,
        "rater": scalars,
        "ratings": st.lists(st.fixed_dictionaries({"item": scalars, "rating": scalars})),
    }
)
odd_csv = st.one_of(
    st.text(max_size=80),
    st.lists(st.lists(st.text(max_size=6), max_size=5), max_size=5).map(
        lambda rows: "sample,rater,item,rating\n" + "\n".join(map(",".join, rows))
    ),
).map(lambda text: text.encode("utf-8", "surrogatepass"))
files = st.one_of(
    st.one_of(odd_json, near_json).map(lambda value: json.dumps(value).encode()),
    odd_csv,
    st.binary(max_size=60),
    st.integers(0, 200).map(lambda cut: json.dumps([{"format": "pteb"}] * 30)[:cut].encode()),
    st.just(b"[" * 100_000),
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300
)
@given(files, st.sampled_from(["r.json", "r.csv", "r.txt"]))
def test_no_file_ends_in_a_traceback(sample, tmp_path, content, name):
    flow, _, _ = sample
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        collect(flow, [path])
    assert len(str(caught.value).splitlines()) == 1 and str(caught.value).startswith(str(path))


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
@given(st.data())
def test_any_part_of_a_sample_gives_tables_or_one_line(sample, tmp_path, data):
    """Few ratings, odd names, a value that cannot be: with a judge, so that all is computed."""
    flow, key, name = sample
    judge_run(flow, lambda row: row["edit_distance"])
    names = st.text(st.sampled_from('aé|&{}\\$_%#,;"\n\t\u202e'), min_size=1, max_size=8)
    written = []
    for number in range(data.draw(st.integers(1, 3))):
        odd = data.draw(st.integers(0, 5)) == 0
        rating = scalars if odd else st.integers(0, 5)
        ratings = data.draw(st.dictionaries(st.sampled_from(list(key["item"])), rating, min_size=1))
        rater = data.draw(st.text(max_size=8) if odd else names)
        save, kind = data.draw(st.sampled_from([(saved, "json"), (saved_csv, "csv")]))
        try:
            written.append(save(tmp_path / f"{number}.{kind}", name, rater, ratings))
        except UnicodeEncodeError:
            return  # a lone surrogate, which no CSV file can hold
    try:
        review, raters = collect(flow, written)
    except UserError as error:
        assert len(str(error).splitlines()) == 1
        return
    assert set(raters["rater"]) and raters["n_pairs"].sum() + raters["n_checks"].sum() > 0
    shares = review[["kept_low", "kept_share", "kept_high"]].to_numpy()
    assert ((shares >= 0) & (shares <= 1)).all() and (np.diff(shares) >= -1e-12).all()
    assert pd.read_csv(flow.layout.table("review"))["n_pairs"].tolist() == list(review["n_pairs"])


def test_the_command_line_says_it_in_one_line(sample, tmp_path, monkeypatch, capsys):
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "c.yaml").write_text(json.dumps(sample[0].config.model_dump(mode="json")))
    command = ["pteb-eval", "review", "import", str(tmp_path / "bad.json")]
    monkeypatch.setattr("sys.argv", [*command, "--config", str(tmp_path / "c.yaml")])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert re.fullmatch(r"pteb-eval: .*bad\.json: no JSON \(.*\n", capsys.readouterr().err)
