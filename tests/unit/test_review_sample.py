"""Which pairs people see, and that the page tells nothing else of them."""

import base64
import hashlib
import html.parser
import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from review_run import GENERATORS, HOSTILE, TASKS, judge_run, make_run

from pteb_eval.errors import UserError
from pteb_eval.review.checks import draw_checks
from pteb_eval.review.export import export
from pteb_eval.review.key import CHECK, PAIR, read_key
from pteb_eval.review.page import RUBRIC, Item, page
from pteb_eval.review.sample import allocate, draw, systematic
from pteb_eval.store import write_table

CELL = ("g", "t")


def exported(flow, folder, **changes):
    options = {"n_pairs": 12, "n_checks": 8, "checks_from": str(folder / "checks.csv")}
    return export(flow, **{**options, "threshold": 4.0, "seed": 7, **changes})


class Scripts(html.parser.HTMLParser):
    """The contents of a page's script elements, and all addresses that it names."""

    def __init__(self, text):
        super().__init__()
        self.found, self.addresses, self._open = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self._open = tag == "script"
        self.addresses += [value for name, value in attributes if name in ("src", "href")]

    def handle_endtag(self, tag):
        self._open = False

    def handle_data(self, data):
        if self._open:
            self.found.append(data)


def frame(scores, distances, n_runs=1):
    n = len(scores)
    return pd.DataFrame(
        {
            "text_id": np.repeat([f"t{i}" for i in range(n)], n_runs),
            "run": list(range(1, n_runs + 1)) * n,
            "judge_score": np.repeat(scores, n_runs),
            "edit_distance": np.repeat(distances, n_runs),
        }
    )


def test_what_a_small_cell_cannot_give_goes_to_the_others():
    assert allocate({("a", "t"): 3, ("b", "t"): 50, ("c", "t"): 50}, 33) == {
        ("a", "t"): 3,
        ("b", "t"): 15,
        ("c", "t"): 15,
    }
    assert allocate({("a", "t"): 0, ("b", "t"): 5}, 10) == {("a", "t"): 0, ("b", "t"): 5}


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 3.2, 5.0, np.nan]), st.floats(0, 1)), min_size=1,
             max_size=60),
    st.data(),
)  # fmt: skip
def test_every_stratum_is_there_in_proportion(pairs, data):
    """A judge's level of N_h of N pairs has N_h·n/N of the n drawn, rounded up or down."""
    rows = frame(*map(list, zip(*pairs, strict=True)))
    n = data.draw(st.integers(1, len(rows)))
    seed = data.draw(st.integers(0, 5))
    drawn = systematic(rows, n, seed, CELL)
    assert len(drawn) == n and drawn["text_id"].is_unique
    level = rows["judge_score"].fillna(-1)
    for value, size in level.value_counts().items():
        got = (drawn["judge_score"].fillna(-1) == value).sum()
        assert abs(got - size * n / len(rows)) < 1
    pd.testing.assert_frame_equal(drawn, systematic(rows.sample(frac=1), n, seed, CELL))


def test_edit_distance_is_spread_within_a_level():
    rows = frame([4.0] * 100, [i / 100 for i in range(100)])
    drawn = systematic(rows, 10, 1, CELL)
    assert sorted((drawn["edit_distance"] * 10).astype(int)) == list(range(10))


def test_every_pair_is_equally_likely():
    rows = frame([5.0] * 6 + [2.0] * 4, [i / 10 for i in range(10)])
    counts = pd.concat([systematic(rows, 3, seed, CELL) for seed in range(500)])["text_id"]
    # 500 · 3/10 = 150 times each, with a standard deviation of at most √(500·0.3·0.7) = 10.2.
    assert counts.value_counts().between(150 - 45, 150 + 45).all() and counts.nunique() == 10


def test_a_text_comes_twice_only_when_it_must():
    rows = frame([4.0] * 10, [0.5] * 10, n_runs=3)
    assert systematic(rows, 10, 1, CELL)["text_id"].is_unique
    assert systematic(rows, 20, 1, CELL)["text_id"].value_counts().max() == 2
    assert len(systematic(rows, 30, 1, CELL).drop_duplicates(["text_id", "run"])) == 30


def test_only_usable_paraphrases_are_drawn(tmp_path):
    flow = make_run(tmp_path, GENERATORS, TASKS, n_texts=20, n_runs=2)
    cells = [(generator, task) for generator in GENERATORS for task in TASKS]
    drawn = pd.DataFrame(draw(flow.layout, cells, None, 1000, seed=1))
    usable = sum((i * 2 + run) % 7 != 0 for i in range(20) for run in (1, 2))
    assert (drawn.groupby(["generator", "task"]).size() == usable).all()
    assert (drawn["paraphrase"] == drawn["text"] + ", run " + drawn["run"].astype(str)).all()


def test_the_judge_that_counts_decides_where_it_could_rate(tmp_path):
    flow = make_run(tmp_path, n_texts=10, n_runs=1, judges=["first", "other"])
    rated = lambda row: "ok" if row["edit_distance"] else "failed"  # noqa: E731
    judge_run(flow, lambda row: 1.0, "first", rated)
    judge_run(flow, lambda row: 4.0, "other")
    drawn = pd.DataFrame(draw(flow.layout, [(GENERATORS[0], TASKS[0])], "first", 9, seed=1))
    expected = np.where(drawn["edit_distance"] > 0, 1.0, np.nan)
    np.testing.assert_array_equal(drawn["judge_score"], expected)


def test_checks_have_clear_ratings_evenly(tmp_path):
    flow = make_run(tmp_path)
    checks = draw_checks(flow, str(tmp_path / "checks.csv"), 8, seed=1)
    assert sorted(check.gold for check in checks) == [0, 0, 1, 1, 4, 4, 5, 5]
    # The run's own task is made of the same file.
    assert {check.first for check in draw_checks(flow, TASKS[0], 16, seed=1)} == {
        f"check {level} {number} left" for level in (0, 1, 4, 5) for number in range(4)
    }
    assert draw_checks(flow, "no-such-file.csv", 0, seed=1) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_pairs": 3}, "--pairs 3: there are 4 pairs of generator and task"),
        ({"n_checks": 17}, "16 pairs are rated exactly 0, 1, 4 or 5 of 5, and --checks wants 17"),
        ({"checks_from": "no-such-task"}, "no-such-task: no such file"),
    ],
)
def test_mistakes_are_one_line(tmp_path, changes, message):
    flow = make_run(tmp_path, GENERATORS, TASKS)
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        exported(flow, tmp_path, **changes)
    assert "\n" not in str(caught.value)


def test_a_task_without_ratings_gives_no_checks(tmp_path):
    flow = make_run(tmp_path)
    (tmp_path / "texts.csv").write_text("text\none text\n")
    entry = flow.config.tasks[0].model_copy(
        update={"type": "texts", "path": tmp_path / "texts.csv", "name": "plain"}
    )
    flow.tasks["plain"] = entry
    with pytest.raises(UserError, match="has no rated pairs: name an STS task or a file"):
        draw_checks(flow, "plain", 4, seed=1)


def test_nothing_usable_is_said(tmp_path):
    flow = make_run(tmp_path)
    path = flow.layout.paraphrases(GENERATORS[0], TASKS[0])
    table = pa.parquet.read_table(path)
    status = pa.array(["empty"] * len(table))
    write_table(path, table.set_column(table.column_names.index("status"), "status", status), {})
    with pytest.raises(UserError, match="no paraphrase has the status ok"):
        exported(flow, tmp_path)


def test_the_page_is_blind_and_its_key_is_not(tmp_path):
    flow = make_run(tmp_path, GENERATORS, TASKS)
    judge_run(flow, lambda row: 4.875)
    path, key_path, n_items = exported(flow, tmp_path)
    text, (key, about) = path.read_text(), read_key(key_path)
    assert n_items == len(key) == 20 and (key["kind"] == CHECK).sum() == 8
    secrets = [*GENERATORS, *TASKS, "bag-of-tokens", "4.875", "checks.csv",
               *key["text_id"].dropna(), *key["paraphrase_sha256"].dropna()]  # fmt: skip
    assert [secret for secret in secrets if secret in text] == []
    scripts = Scripts(text)
    assert scripts.addresses == []
    data = json.loads(scripts.found[0])
    assert data["sample"] == about["sample"] == path.stem
    assert [set(item) for item in data["items"]] == [{"id", "first", "second"}] * 20
    # What the page shows is what the key says.
    by_id = {item["id"]: item for item in data["items"]}
    for row in key[key["kind"] == PAIR].itertuples():
        item = by_id[row.item]
        texts = (item["first"], item["second"])
        original, paraphrase = texts if row.original_first else texts[::-1]
        assert paraphrase == f"{original}, run {int(row.run)}"
    # Kinds and sides are mixed.
    kinds = "".join(key.sort_values("item")["kind"].str[0])
    assert "pc" in kinds and "cp" in kinds
    assert 0 < key["original_first"].sum() < 20


def test_the_same_settings_give_the_same_sample(tmp_path):
    flow = make_run(tmp_path)
    path, key_path, _ = exported(flow, tmp_path)
    before = path.read_bytes(), read_key(key_path)[0]
    assert exported(flow, tmp_path)[0] == path
    assert path.read_bytes() == before[0]
    pd.testing.assert_frame_equal(read_key(key_path)[0], before[1])
    others = {exported(flow, tmp_path, **change)[0] for change in ({"seed": 8}, {"threshold": 3.0})}
    assert len(others | {path}) == 3  # nothing was replaced


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5))
def test_any_text_reaches_the_page_as_data(pairs):
    pairs = [*pairs, ("</ScRiPt\x00>\ud800", "<!--<script>")]
    items = [Item(f"i{place}", *pair) for place, pair in enumerate(pairs)]
    text = page("s1", items).encode("utf-8", "replace").decode()
    data, program = Scripts(text).found
    assert [Item(**item) for item in json.loads(data)["items"]] == items
    policy = re.search(r"script-src '(sha256-[^']+)'", text).group(1)
    digest = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()
    assert policy == f"sha256-{digest}"


def test_hostile_texts_of_a_run_come_back_whole(tmp_path):
    flow = make_run(tmp_path, texts=HOSTILE, n_runs=1)
    path, _, _ = exported(flow, tmp_path, n_pairs=7, n_checks=0)
    items = json.loads(Scripts(path.read_text()).found[0])["items"]
    shown = {text for item in items for text in (item["first"], item["second"])}
    assert len(shown & set(HOSTILE)) == 7


def test_the_rubric_has_every_rating_once():
    assert [score for score, *_ in RUBRIC] == [5, 4, 3, 2, 1, 0]
