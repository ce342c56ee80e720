"""Stage `report`: gather what the page shows and fill the template."""

import base64
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from pteb_eval import __version__
from pteb_eval.ids import digest
from pteb_eval.implicit.catalogue import task_name
from pteb_eval.layout import (
    FIGURES,
    JUDGE_FIGURES,
    REVIEW_TABLES,
    TABLES,
    Layout,
    judge_tables,
)
from pteb_eval.provenance import library_versions
from pteb_eval.statistics.drift import judge_verdict, marked_summary
from pteb_eval.statistics.stage import AS_PERCENT
from pteb_eval.store import provenance_of, read_table, write_text
from pteb_eval.tables import read_csv, rounded

TEMPLATE = Path(__file__).with_name("report.html.j2")
EXAMPLES = 10
CAPTIONS = {
    "original_vs_pteb": "Ring: original. Dot: PTEB score, the mean over runs; its bar is the "
    "bootstrap interval of Δ, laid from the original. Ticks: single runs.",
    "rank_changes": "Each model's rank on the original and on the paraphrases; bars are intervals.",
    "critical_difference": "Average ranks over tasks; models joined by a bar do not differ by "
    "more than the critical difference.",
    "paraphrasers": "Each generator's mean rating, with the middle half of its ratings, against "
    "its mean edit distance. Joined: those that no other one beats in both. Dotted: 4, nearly the "
    "same meaning.",
    "delta_by_judge": "Δ with its interval on only those instances of which the judge gave every "
    "text in every run at least so many points of 5. `all` is the default, which leaves none of "
    "them out.",
    "interval_width": "Expected width of Δ's interval against the number of runs.",
}


def run(settings: dict[str, Any], root: Path) -> None:
    """Write `report.html`.

    Args:
        settings: the whole configuration as JSON values.
        root: the run's folder `results/<name>`.
    """
    from jinja2 import Environment, FileSystemLoader

    layout = Layout(root)
    environment = Environment(
        loader=FileSystemLoader(TEMPLATE.parent), autoescape=True, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    judges, validated = _names(settings["judges"]), bool(settings["validate_judge"])
    judged = judge_tables(len(judges), validated)
    tables = {name: _read(layout, name) for name in (*TABLES, *judged) if name != "scores"}
    verdict = judge_verdict(layout, judges[0], validated) if judges else ""
    reviews = {name: _read(layout, name) for name in REVIEW_TABLES if layout.table(name).is_file()}
    page = environment.get_template(TEMPLATE.name).render(
        name=settings["name"],
        runs=settings["runs"],
        confidence=settings["statistics"]["confidence"],
        substituted=settings["on_failure"] == "substitute",
        answer=list(
            _answer(tables, f"{judges[0]} ({verdict})" if judges else "", reviews.get("review"))
        ),
        tasks=[_task(layout, task) for task in _names(settings["tasks"])],
        generators=[_generator(layout, settings, name) for name in _names(settings["generators"])],
        results=_results(tables),
        tables={name: rounded(table, AS_PERCENT) for name, table in tables.items()}
        | {"summary": marked_summary(tables["summary"], AS_PERCENT, verdict)},
        reviews=[
            rounded(table.dropna(axis=1, how="all"), AS_PERCENT) for table in reviews.values()
        ],
        figures=[
            {"name": name, "uri": _data_uri(layout.figure(name, "svg"))}
            for name in (*FIGURES, *(JUDGE_FIGURES if judges else ()))
            # Average ranks over a single task are its ranks, and their difference says nothing.
            if name != "critical_difference" or len(settings["tasks"]) > 1
        ],
        examples=[
            {
                "generator": generator,
                "task": task,
                "offensive": _is_offensive(layout, task),
                "rows": _examples(layout, generator, task),
            }
            for generator in _names(settings["generators"])
            for task in _names(settings["tasks"])
        ],
        captions=CAPTIONS,
        numeric=[
            column
            for table in (*tables.values(), *reviews.values())
            for column in table.select_dtypes("number").columns
        ],
        signature=_signature(settings),
        configuration=yaml.safe_dump(settings, sort_keys=False, allow_unicode=True),
        libraries=library_versions(),
    )
    write_text(layout.report, page)


def _read(layout: Layout, table: str) -> pd.DataFrame:
    return read_csv(layout.table(table), dtype={"subset": str}, keep_default_na=True)


def _names(entries: list[dict[str, Any]]) -> list[str]:
    return [
        task_name(entry) if "implicit" in entry else entry.get("name") or entry["mteb"]
        for entry in entries
    ]


def _results(tables: dict[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """Rows of the main table: scores and drop, with the verdict on it."""
    keys = ["generator", "model", "task", "subset"]
    verdicts = tables["effects"].drop_duplicates(keys)[[*keys, "verdict", "p_adjusted"]]
    rows = tables["summary"].merge(verdicts, on=keys, how="left")
    return [dict(row) for row in rows.to_dict("records")]


def _answer(
    tables: dict[str, pd.DataFrame], judge: str, review: pd.DataFrame | None
) -> Iterator[str]:
    """What the numbers say, in sentences; for each task, subset and generator.

    Args:
        tables: by name.
        judge: the first judge with the verdict on it; empty if there is none.
        review: the table `review`, if people rated a sample.
    """
    results = pd.DataFrame(_results(tables))
    for (task, subset, generator), rows in results.groupby(
        ["task", "subset", "generator"], sort=False
    ):
        name = task if subset == "default" else f"{task} ({subset})"
        by_delta = rows.sort_values("delta").to_dict("records")
        least, most = by_delta[0], by_delta[-1]
        drops = rows[rows["verdict"] == "drops"]["model"].tolist()
        yield (
            f"On {name}, reworded by {generator}, {len(drops) or 'none'} of {len(rows)} models "
            f"{'lose' if len(drops) != 1 else 'loses'} a detectable part of the score"
            + (f": {', '.join(drops)}" if drops else "")
            + f". Δ goes from {100 * least['delta']:+.1f} points ({least['model']}) to "
            f"{100 * most['delta']:+.1f} ({most['model']})."
        )
        copied, failed = rows["copy_rate"].iloc[0], rows["failure_rate"].iloc[0]
        rating = rows["judge_mean"].iloc[0]
        rated = (
            f"Judge {judge} gives them {rating:.2f} of 5 for keeping the meaning: see drift and "
            "drift regression below."
            if pd.notna(rating)
            else ""
        )
        yield (
            f"Of its paraphrases {copied:.0%} only copy the text and {failed:.1%} failed. "
            + _meaning(review, str(generator), str(task), rated)
        )


def _meaning(review: pd.DataFrame | None, generator: str, task: str, rated: str = "") -> str:
    """Whether the meaning was kept, as far as people or a judge rated it."""
    if review is not None:
        for row in review[
            (review["generator"] == generator) & (review["task"] == task)
        ].itertuples():
            return (
                f"People rated {row.n_pairs} of the usable ones: {row.kept_share:.0%} keep the "
                f"meaning ({row.kept_low:.0%} to {row.kept_high:.0%}), see below. {rated}".strip()
            )
    return rated or (
        "Nobody has checked that the others keep the meaning: a drop may be the paraphraser's "
        "doing as well as the model's."
    )


def _task(layout: Layout, task: str) -> dict[str, Any]:
    table = read_table(layout.texts(task), columns=["reworded"])
    return {
        **provenance_of(table.schema),
        "n_texts": table.num_rows,
        "n_reworded": sum(table["reworded"].to_pylist()),
    }


def _generator(layout: Layout, settings: dict[str, Any], name: str) -> dict[str, Any]:
    statuses: Counter[str] = Counter()
    about: dict[str, Any] = {}
    for task in _names(settings["tasks"]):
        table = read_table(layout.paraphrases(name, task), columns=["status"])
        about = provenance_of(table.schema)
        statuses.update(table["status"].to_pylist())
    return {"name": name, "statuses": dict(statuses.most_common()), **about}


def _is_offensive(layout: Layout, task: str) -> bool:
    """Whether a task's texts offend, so that nobody should see them unasked."""
    table = read_table(layout.texts(task), columns=["text_id"])
    return bool(provenance_of(table.schema).get("offensive"))


def _examples(layout: Layout, generator: str, task: str) -> list[dict[str, Any]]:
    """Ten paraphrases spread evenly over the texts and runs, chosen by id and not by quality."""
    texts = read_table(layout.texts(task), columns=["text_id", "text"]).to_pandas()
    rows = read_table(
        layout.paraphrases(generator, task),
        columns=["text_id", "run", "paraphrase", "status", "copy", "edit_distance"],
    ).to_pandas()
    rows = rows.merge(texts, on="text_id")
    rows["order"] = [digest([row.text_id, row.run]) for row in rows.itertuples()]
    chosen = rows.sort_values("order").head(EXAMPLES)
    return [dict(row) for row in chosen.to_dict("records")]


def _data_uri(path: Path) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(path.read_bytes()).decode()


def _signature(settings: dict[str, Any]) -> str:
    """One line that stands for all that produced the numbers, after sacrebleu's example."""
    parts = {
        "runs": settings["runs"],
        "seed": settings["seed"],
        "scope": settings["scope"],
        "failed": settings["on_failure"],
        "config": digest(settings)[:12],
        "pteb-eval": __version__,
        "mteb": library_versions().get("mteb", "?"),
    }
    return " | ".join(f"{key}:{value}" for key, value in parts.items())
