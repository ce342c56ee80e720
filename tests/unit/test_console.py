"""`pteb-eval summary`: what it prints on a terminal, in a pipe, and where there is nothing yet."""

import io
import re

import pytest
import synthetic_run
import yaml
from synthetic_run import settings, write_run
from typer.testing import CliRunner

from pteb_eval.cli.app import app
from pteb_eval.config import parse_config
from pteb_eval.console import show
from pteb_eval.errors import UserError
from pteb_eval.layout import Layout
from pteb_eval.statistics import stage

CONFIG = """\
name: small
tasks: [{mteb: BIOSSES}, {mteb: ArguAna}]
models: [organization/a-model-with-a-long-name-v1.5-instruct, bag-of-tokens]
generators:
  - {name: gen, engine: llamacpp, model: m, prompts: [p.yaml]}
"""
PROMPT = "name: p\nversion: 1\nkind: completion\ntemplate: '{text}'\n"
MODELS = ["organization__a-model-with-a-long-name-v1.5-instruct", "bag-of-tokens"]
NAMES = [name.replace("__", "/") for name in MODELS]
ANSI = re.compile("\x1b\\[[0-9;]*m")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "c.yaml").write_text(CONFIG)
    (tmp_path / "p.yaml").write_text(PROMPT)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make_tables(folder, monkeypatch, models=MODELS, tasks=("BIOSSES", "ArguAna")):
    kinds = {"BIOSSES": "sts", "ArguAna": "search"}
    monkeypatch.setattr(synthetic_run, "TASKS", {t: synthetic_run.TASKS[kinds[t]] for t in tasks})
    root = folder / "results" / "small"
    write_run(root, dict.fromkeys(models, 0.0) | {models[0]: 0.8}, tasks)
    chosen = settings(models, tasks, resamples=100)
    chosen["models"] = {model: model.replace("__", "/") for model in models}
    stage.run(chosen, root)
    return Layout(root)


def printed(terminal=None):
    out = terminal or io.StringIO()
    show(parse_config(yaml.safe_load(CONFIG), "c.yaml"), "c.yaml", out)
    return out.getvalue()


def test_in_a_pipe_all_columns_stand_whole_and_without_colors(folder, monkeypatch):
    layout = make_tables(folder, monkeypatch)
    done = CliRunner().invoke(app, ["summary", "c.yaml"])
    assert done.exit_code == 0
    assert done.output == printed() and "\x1b" not in done.output
    lines = done.output.splitlines()
    assert re.fullmatch(r"Reworded by gen: .*drops \d.* \(of 4\)\. Scores × 100\.", lines[0])
    edges = [match.span() for match in re.finditer("-+", lines[2])]
    cells = [[line[low:high].strip() for low, high in edges] for line in (lines[1], *lines[3:7])]
    head, *rows = cells
    assert head[:3] == ["task", "model", "original"] and head[-1] == "verdict"
    assert [row[0] for row in rows] == ["BIOSSES", "BIOSSES", "ArguAna", "ArguAna"]
    assert {row[1] for row in rows} == set(NAMES)
    for row in rows:
        original, pteb, change = (float(row[head.index(n)]) for n in ("original", "PTEB", "Δ"))
        assert change == pytest.approx(original - pteb, abs=0.011)
    broken = [row for row in rows if row[1] == NAMES[0]]
    assert {row[-1] for row in broken} == {"drops"}
    assert f"{layout.root.name}/report.html: not there yet" in done.output.replace("\\", "/")


def test_on_a_terminal_verdicts_are_colored(folder, monkeypatch):
    make_tables(folder, monkeypatch)
    text = printed(Terminal())
    assert "\x1b[1;31mdrops" in text
    assert max(len(line) for line in ANSI.sub("", text).splitlines()) <= 100
    assert re.search(r"\bstd\b", text)
    monkeypatch.setenv("COLUMNS", "70")
    narrow = ANSI.sub("", printed(Terminal()))
    assert max(len(line) for line in narrow.splitlines()) <= 70
    assert not re.search(r"\bstd\b", narrow) and "drops" in narrow
    monkeypatch.setenv("NO_COLOR", "1")
    text = printed(Terminal())
    assert "drops" in text and not re.search("\x1b\\[[0-9;]*3[0-7]", text)


def test_what_is_missing_is_said_with_what_makes_it(folder, monkeypatch):
    done = CliRunner().invoke(app, ["summary", "c.yaml"])
    assert isinstance(done.exception, UserError)
    assert str(done.exception) == (
        "results/small/tables/summary.csv: not there yet (0 of 8 score files are); "
        "make it with: pteb-eval run c.yaml"
    )
    make_tables(folder, monkeypatch, MODELS[:1], ["BIOSSES"])
    text = printed()
    assert "model not in the tables yet: bag-of-tokens; run again: pteb-eval run c.yaml" in text
    assert "task not in the tables yet: ArguAna; run again" in text


def test_without_generators_there_is_nothing_to_sum_up(folder):
    (folder / "d.yaml").write_text(CONFIG[: CONFIG.index("generators")])
    done = CliRunner().invoke(app, ["summary", "d.yaml"])
    assert "d.yaml: no `generators`, so nothing is reworded" in str(done.exception)
