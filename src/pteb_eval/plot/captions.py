"""What stands under each figure and table, with n, units, tests and corrections of this run."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from pteb_eval.captions import several, span

CORRECTIONS = {"holm": "Holm", "fdr_bh": "Benjamini–Hochberg"}
FAMILIES = {"task": "the models on one task", "model": "the tasks of one model", "all": "all tests"}
TESTS = {
    "signed_rank": "signed-rank test of every run against the original",
    "permutation": "permutation test",
    "wilcoxon": "Wilcoxon's signed-rank test",
}
DRAWN: dict[str, str] = {
    "delta": "Δ = original − PTEB score × 100 (red: a drop), in points of each task's main metric. "
    "{marked}: the test finds a change. {test}",
    "original_vs_pteb": "Scores × 100. Ring: original; dot: PTEB score, the mean over runs, with "
    "the interval of Δ laid from the original; ticks: single runs. {interval}",
    "rank_changes": "Ranks of the models on the original and on the paraphrases, 1 the best; bars "
    "beside are intervals of the ranks. τ: Kendall's τ-b between both orders. {interval}",
    "critical_difference": "Average ranks over tasks by PTEB score; models under one thick bar do "
    "not differ by more than the critical difference (Nemenyi, α = {alpha:g}). Unit: the task.",
    "interval_width": "Expected width of Δ's interval × 100 against the number of runs; marks: the "
    "runs there are. Dotted: what instances alone leave; dashed: the declared width. {interval}",
    "delta_by_judge": "Δ × 100 on only those instances of which the judge gave every text in every "
    "run at least so many points of 5; n: instances left. {interval}",
    "paraphrasers": "Mean rating by the judge, with the middle half of the ratings, against the "
    "mean edit distance. Joined: generators that no other one beats in both; dotted: 4 of 5, "
    "nearly the same meaning. n = {n} texts and runs that every generator reworded.",
}
LISTED: dict[str, str] = {
    "scores": "All metrics of all variants, × 100.",
    "summary": "Main metric × 100: original, PTEB score (mean over runs, with its standard "
    "deviation) and Δ with its interval. {interval} {test}",
    "significance": "Tests of Δ. {test}",
    "effects": "The same tests with effect sizes, equivalence and shifts; Δ × 100. {test}",
    "runs": "What makes Δ's interval wide, and how many runs a declared width would take. "
    "{interval}",
    "paraphrase_quality": "Failures, copies and surface distance of the paraphrases; rates × 100.",
    "surface": "How far a text's vector moves when it is reworded, by cosine; no gold labels.",
    "inputs": "Prompts that the models put before texts, and the share (× 100) of texts they cut.",
    "warnings": "What readers of the other tables must know.",
    "ranking": "Ranks by original and by PTEB score (× 100), with intervals. {interval}",
    "model_pairs": "Differences of Δ between models on the same instances, × 100. {interval} "
    "p-values adjusted by {correction} over the pairs of a task.",
    "across_tasks": "Models over the tasks of one type and metric; Δ × 100, average ranks, "
    "Friedman's test and Nemenyi's critical difference (α = {alpha:g}). Unit: the task.",
    "judge_validation": "Judges against people's ratings: Spearman's ρ × 100 and mean absolute "
    "error of 5 points, n = {n} pairs; bold: the best of a column. {interval}",
    "drift": "Δ × 100 where the judge says that the meaning was kept. n = {n} instances. "
    "{interval}",
    "drift_regression": "What of Δ goes with lower ratings, × 100: a regression over n = {n} "
    "instances. {interval}",
    "paraphrasers": "Generators by the judge's ratings and the edit distance, over n = {n} texts "
    "and runs that every one reworded; shares × 100.",
    "judge_agreement": "Two judges on the same n = {n} paraphrases.",
}
"""`{n}` is counted in the table of that name, also for a figure."""
COUNTED = {"drift": "n_instances"}
"""The column that is counted, where it is not `n`."""


PRINTED = {
    "summary": "Bold: the best score of a task. After Δ: * the test finds a change, ≈ equivalent "
    "within ±ε, = identical, ? underpowered or undefined."
}
"""What is to be said of marks that only the LaTeX table has."""


def run_captions(settings: dict[str, Any], read: Callable[[str], pd.DataFrame]) -> dict[str, str]:
    """Captions by name; where a figure and a table share one, the table's is `<name>_table`.

    Args:
        settings: `figures`, `tables`, `statistics`, `on_failure`.
        read: reads a table of the run.
    """
    summary, effects = read("summary"), read("effects")
    declared = settings["statistics"]
    facts = {
        "marked": "Bold, or a dot where numbers do not fit",
        "interval": f"Intervals: {100 * declared['confidence']:g} % {declared['interval']} "
        f"bootstrap, {declared['resamples']:,} resamples of the instances.",
        "test": _test(effects, declared),
        "alpha": declared["alpha"],
        "correction": CORRECTIONS[declared["correction"]],
    }
    grid = _grid(summary, settings["on_failure"])
    found = {}
    for names, texts in ((settings["figures"], DRAWN), (settings["tables"], LISTED)):
        for name in names:
            n = span(read(name)[COUNTED.get(name, "n")]) if "{n}" in texts[name] else ""
            key = f"{name}_table" if name in found else name
            found[key] = f"{texts[name].format(**facts, n=n)} {grid}"
    return found


def _grid(summary: pd.DataFrame, on_failure: str) -> str:
    """What was compared, in a sentence."""
    generators = list(dict.fromkeys(summary["generator"]))
    text = (
        f"{several(summary['model'].nunique(), 'model')} on "
        f"{several(summary['task'].nunique(), 'task')}, reworded by {', '.join(generators)} in "
        f"{span(summary['n_runs'])} runs; n = {span(summary['n_instances'])} instances a task"
    )
    left_out = span(summary["excluded_instances"])
    if on_failure == "substitute":
        return f"{text}. Failed paraphrases were replaced by the original text."
    return f"{text}, {left_out} left out for a failed paraphrase."


def _test(effects: pd.DataFrame, declared: dict[str, Any]) -> str:
    """Which test, what its unit is, and how p-values are adjusted, in a sentence."""
    known = effects[effects["method"].notna()]
    if known.empty:
        return "No test is defined here."
    methods = ", ".join(TESTS.get(name, name) for name in dict.fromkeys(known["method"]))
    units = ", ".join(dict.fromkeys(known["unit"]))
    return (
        f"Test: {methods}, {declared['alternative']}, unit {units}; p adjusted by "
        f"{CORRECTIONS[declared['correction']]} within {FAMILIES[declared['family']]} "
        f"(m = {span(known['family_size'])}), α = {declared['alpha']:g}."
    )
