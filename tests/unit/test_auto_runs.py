"""`runs: auto`: when to go on, when to stop, and what a config must say for it."""

import pandas as pd
import pytest

from pteb_eval.auto_runs import FIRST, add_runs, recorded_runs
from pteb_eval.config import parse_config
from pteb_eval.errors import UserError
from pteb_eval.layout import Layout

CONFIG = {
    "name": "a",
    "runs": "auto",
    "tasks": ["STSBenchmark"],
    "models": ["bag-of-tokens"],
    "generators": [{"name": "g", "engine": "llamacpp", "model": "m", "prompts": ["p.yaml"]}],
}


def finished(tmp_path, *, width, target=0.1, instances, runs, n_runs=FIRST):
    layout = Layout(tmp_path)
    layout.table("runs").parent.mkdir(parents=True, exist_ok=True)
    row = {
        "width": width,
        "target_width": target,
        "instance_variance": instances,
        "run_variance": runs,
        "n_runs": n_runs,
    }
    pd.DataFrame([row]).to_csv(layout.table("runs"), index=False)
    return layout


def test_begins_with_the_protocols_six(tmp_path):
    assert recorded_runs(Layout(tmp_path)) == FIRST == 6


def test_adds_what_the_split_asks_for_and_remembers_it(tmp_path):
    # Width 0.1 allows a variance of (0.1 / 3.92)² = 6.51e-4; the runs' part is 6e-3 / r, so the
    # instances' 1e-4 leaves 5.51e-4 for it: r = 10.9.
    layout = finished(tmp_path, width=0.13, instances=1e-4, runs=6e-3)
    assert add_runs(layout, 30, 0.95) == (6, 11)
    assert recorded_runs(layout) == 11


@pytest.mark.parametrize("content", ['{"runs": 1', "[]", '{"run": 8}', '{"runs": null}'])
def test_a_damaged_number_of_runs_is_one_clear_line(tmp_path, content):
    layout = Layout(tmp_path)
    layout.auto_runs.write_text(content)
    with pytest.raises(UserError, match=r"auto_runs\.json: unreadable .*delete it to begin with 6"):
        recorded_runs(layout)


def test_never_beyond_the_cap(tmp_path):
    assert add_runs(finished(tmp_path, width=0.13, instances=1e-4, runs=6e-3), 8, 0.95) == (6, 8)


@pytest.mark.parametrize(
    ("width", "instances"), [(0.09, 1e-4), (0.5, 1e-2)], ids=["wide enough", "instances too few"]
)
def test_stops_where_more_runs_are_not_needed_or_no_help(tmp_path, width, instances):
    layout = finished(tmp_path, width=width, instances=instances, runs=6e-3)
    assert add_runs(layout, 30, 0.95) == (6, 6)
    assert not layout.auto_runs.exists()


def test_auto_needs_a_width_to_reach():
    with pytest.raises(UserError, match=r"statistics\.max_width"):
        parse_config(CONFIG, "my.yaml")
    assert parse_config({**CONFIG, "statistics": {"max_width": 0.02}}, "my.yaml").runs == "auto"
