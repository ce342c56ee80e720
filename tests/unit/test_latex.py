"""LaTeX tables: what stands in them, and that a real LaTeX sets them whatever a name holds."""

import shutil
import subprocess

import pandas as pd
import pytest
from synthetic_run import settings, write_run

from pteb_eval.captions import write_captions
from pteb_eval.latex import PAGE_ROWS, escaped, latex_table
from pteb_eval.layout import TABLES, Layout
from pteb_eval.plot.captions import PRINTED, run_captions
from pteb_eval.statistics import rank, stage
from pteb_eval.statistics.paper_table import paper_summary
from pteb_eval.tables import bold_best, write_tables

NASTY = r"a_b 5% & #1 $x$ {y} ~^\ <z> é Łódź 模型 Ж [c] *d* | e"
HEAD = r"""\documentclass[twoside]{article}
\usepackage[T1]{fontenc}
\usepackage{booktabs,graphicx,longtable}
\begin{document}
"""


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("gemma_3 & 5 %", r"gemma\_3 \& 5 \%"),
        ("#1 $ {a} a\\b", r"\#1 \$ \{a\} a\textbackslash{}b"),
        ("Δ × 100 ± ε", r"$\Delta$ $\times$ 100 $\pm$ $\varepsilon$"),
        ("−1.2 [−2, 1]", "$-$1.2 [$-$2, 1]"),
        ("é Łódź", "é Łódź"),
        ("模 Ж", "U+6A21 U+0416"),
        ("**a_b** c", r"\textbf{a\_b} c"),
    ],
)
def test_escaping(text, latex):
    assert escaped(text) == latex


def test_all_that_read_the_same_as_the_best_are_bold():
    texts = ["0.50", "0.49", "0.50", "undefined"]
    values = [0.501, 0.49, 0.499, float("nan")]
    assert bold_best(texts, values) == ["**0.50**", "0.49", "**0.50**", "undefined"]
    assert bold_best(texts, values, largest=False) == ["0.50", "**0.49**", "0.50", "undefined"]
    assert bold_best(["-"], [float("nan")]) == ["-"]


def test_columns_of_one_value_are_said_once():
    frame = pd.DataFrame({"run": ["x_1", "x_1"], "model": ["a", "b"], "n": ["6", "6"]})
    table = latex_table(frame, numeric=["n"], blocks=["model"])
    assert r"% the same in all rows: run = x\_1" in table
    body = table[table.index(r"\toprule") :].split("\n")
    assert body[:4] == [r"\toprule model & n \\ \midrule", r"a & 6 \\", r"\midrule", r"b & 6 \\"]
    assert r"\begin{tabular}{lr}" in table
    assert r"\begin{longtable}" in latex_table(pd.concat([frame] * (PAGE_ROWS // 2 + 1)))


def summary_of(**columns):
    row = {
        "generator": "g", "task": "t", "subset": "default", "metric": "m", "pteb_std": 0.01,
        "delta": 0.1, "delta_ci_low": -0.05, "delta_ci_high": 0.2, "n_instances": 60,
    }  # fmt: skip
    return pd.DataFrame([row | dict(zip(columns, values, strict=True))
                         for values in zip(*columns.values(), strict=True)])  # fmt: skip


def test_paper_table_marks_tests_and_the_best_of_each_task():
    verdicts = ["drops", "equivalent within ±0.02", "no detectable drop", "underpowered"]
    summary = summary_of(
        task=["t", "t", "t", "u"],
        model=["a", "b", "c", "a"],
        original=[0.5, 0.7, 0.70001, 0.2],
        pteb_mean=[0.6, 0.4, 0.5, float("nan")],
    )
    effects = summary.assign(verdict=verdicts, p_adjusted=0.01)
    lines = paper_summary(summary, effects).splitlines()
    rows = [line.split(" & ") for line in lines if " & " in line][1:]
    assert [row[1] for row in rows] == ["a", "b", "c", "a"]
    best = r"\textbf{70.00}"
    assert [row[2] for row in rows] == ["50.00", best, best, r"\textbf{20.00}"]
    assert [row[3] for row in rows] == [r"\textbf{60.00}", "40.00", "50.00", ""]
    assert [row[5] for row in rows] == ["10.00*", r"10.00$\approx$", "10.00", "10.00?"]
    assert rows[0][6] == "[$-$5.00, 20.00]"
    assert lines.count(r"\midrule") == 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All tables and captions of a run, one table of many rows, and one of nasty names."""
    root = tmp_path_factory.mktemp("latex")
    write_run(root, {"m_1": 0.0, "m_2": 0.6}, ["sts", "search"], n_runs=3, n=40)
    chosen = settings(["m_1", "m_2"], ["sts", "search"], resamples=100, epsilon=0.02)
    stage.run(chosen, root)
    rank.run(chosen, root)
    layout = Layout(root)
    frame = pd.DataFrame({NASTY: [NASTY, "**b_1**"], "value": [0.5, float("nan")]})
    write_tables(frame, layout.table("nasty"), ("value",))
    write_tables(pd.concat([frame] * 60), layout.table("long"))
    asked = {"figures": ["delta"], "tables": TABLES, "on_failure": "exclude"}
    asked["statistics"] = chosen["statistics"]
    captions = run_captions(asked, lambda name: pd.read_csv(layout.table(name)))
    write_captions(captions | {"nasty": NASTY, "long": "Long."}, layout, printed=PRINTED)
    return root


def test_real_latex_sets_all_tables_and_captions(folder):
    if not shutil.which("pdflatex"):
        pytest.skip("no pdflatex: apt-get install texlive-latex-base texlive-latex-recommended")
    names = [*TABLES, "nasty", "long"]
    body = "".join(
        rf"\ptebcaption{{{name}}}\par\input{{tables/{name}.tex}}\clearpage" + "\n"
        if name in ("scores", "long")  # these may break over pages
        else rf"\begin{{table}}\caption{{\ptebcaption{{{name}}}}}\input{{tables/{name}.tex}}"
        rf"\end{{table}}\clearpage" + "\n"
        for name in names
    )
    document = HEAD + "\\input{captions.tex}\n" + body + "\\end{document}\n"
    (folder / "paper.tex").write_text(document, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=folder, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    log = (folder / "paper.log").read_text(errors="replace")
    assert "Missing character" not in log
    wide = [line for line in log.splitlines() if line.startswith("Overfull \\hbox")]
    assert not [line for line in wide if "alignment" not in line]
    if shutil.which("pdftotext"):
        text = subprocess.run(
            ["pdftotext", "paper.pdf", "-"], cwd=folder, capture_output=True, text=True, check=True
        ).stdout
        flat = " ".join(text.split())
        for word in ("a_b 5% &", "#1 $x$ {y}", "U+6A21U+578B U+0416", "m_1"):
            assert word in flat, word
