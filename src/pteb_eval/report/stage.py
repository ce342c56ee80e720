"""Stage `report`: gather what the page shows and fill the template."""

from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from pteb_eval.config.models import Model
from pteb_eval.implicit.catalogue import GROUPS, LEVELS, task_name
from pteb_eval.layout import (
    REVIEW_TABLES,
    SUITE_DELTA_TABLES,
    SUITE_TABLES,
    TABLES,
    Layout,
    judge_tables,
)
from pteb_eval.provenance import library_versions
from pteb_eval.report import about, results
from pteb_eval.report.answer import answers, swaps
from pteb_eval.report.charts import charts
from pteb_eval.report.instances import CUT, LEFT_OUT, MOST, SAMPLE, blocks
from pteb_eval.report.packed import packed, source
from pteb_eval.report.vega import script as vega
from pteb_eval.statistics.drift import judge_verdict, marked_summary
from pteb_eval.statistics.stage import AS_PERCENT
from pteb_eval.store import write_text
from pteb_eval.tables import read_csv, rounded

FOLDER = Path(__file__).parent
SCRIPTS = ("page.js", "tables.js", "charts.js", "words.js", "browser.js")
SUITE_AS_PERCENT = (*AS_PERCENT, "total", *LEVELS, *GROUPS, "gain")


def run(settings: dict[str, Any], root: Path) -> None:
    """Write `report.html`.

    Args:
        settings: the whole configuration as JSON values.
        root: the run's folder `results/<name>`.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined,
    )  # fmt: skip
    environment.filters |= {
        "points": results.points,
        "percent": results.percent,
        "p_value": results.p_value,
        "words": lambda name: name.replace("_", " "),
    }
    parts = {
        "style": (FOLDER / "report.css").read_text(encoding="utf-8"),
        "vega": vega(),
        "script": "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS),
    }
    page = environment.get_template("report.html.j2").render(
        **content(settings, Layout(root)),
        **{name: Markup(part) for name, part in parts.items()},  # our own files
        sources={name: source(part) for name, part in parts.items()},
    )
    # HTML has no NUL; a browser would show it as U+FFFD anyway.
    write_text(Layout(root).report, page.replace("\0", "\ufffd"))


def content(settings: dict[str, Any], layout: Layout) -> dict[str, Any]:
    """All that the templates show, by name."""
    tasks, generators = _names(settings["tasks"]), _names(settings["generators"])
    judges, validated = _names(settings["judges"]), bool(settings["validate_judge"])
    names = (*TABLES, *judge_tables(len(judges), validated))
    tables = {name: _read(layout, name) for name in names}
    scores = _single_runs(tables.pop("scores"))
    suite = _suite(settings, layout)
    verdict = judge_verdict(layout, judges[0], validated) if judges else ""
    reviews = {name: _read(layout, name) for name in REVIEW_TABLES if layout.table(name).is_file()}
    judge = f"{judges[0]} ({verdict})" if judges else ""
    drawn = charts(tables, scores, suite.get("implicit"))
    models = [Model.model_validate(entry) for entry in settings["models"]]
    slugs = [(model.slug, model.name) for model in models]
    return {
        "name": settings["name"],
        "runs": settings["runs"],
        **_told(settings, tables, judge, reviews.get("review")),
        "tasks": [about.task(layout, task) for task in tasks],
        "generators": [about.generator(layout, name, tasks) for name in generators],
        "charts": drawn,
        "packed_charts": packed(drawn),
        "pack": packed,
        "quality": tables["paraphrase_quality"].to_dict("records"),
        "judge": judge,
        "judging": tables["judge_validation"].to_dict("records") if validated and judges else [],
        "titles": about.TABLES,
        "reviews": {
            name: shown(table.dropna(axis=1, how="all"), AS_PERCENT)
            for name, table in reviews.items()
        },
        "tables": _shown_tables(tables, suite, verdict),
        "blocks": blocks(layout, slugs, generators, tasks, judges),
        "trusted": [model.name for model in models if model.trust_remote_code],
        "browser": {"models": [model.name for model in models], "judges": judges},
        "most": {"most": MOST, "sample": SAMPLE, "left": LEFT_OUT, "cut": CUT},
        "signature": about.signature(settings),
        "configuration": yaml.safe_dump(settings, sort_keys=False, allow_unicode=True),
        "libraries": library_versions(),
    }


def _told(
    settings: dict[str, Any],
    tables: dict[str, pd.DataFrame],
    judge: str,
    review: pd.DataFrame | None,
) -> dict[str, Any]:
    """The answer, and the results it rests on."""
    rows = results.with_verdicts(tables["summary"], tables["effects"])
    pairs, confidence = tables["model_pairs"], settings["statistics"]["confidence"]
    substituted = settings["on_failure"] == "substitute"
    told = answers(rows, pairs, confidence, judge, review, substituted=substituted)
    return {
        "confidence": results.percent(confidence),
        "alpha": settings["statistics"]["alpha"],
        "substituted": substituted,
        "answers": list(told),
        "warnings": tables["warnings"].fillna("").to_dict("records"),
        "heat_maps": results.heat_maps(rows),
        "steps": results.STEPS,
        "results": rows.to_dict("records"),
        "digits": results.digits_for(rows),
        "verdicts": sorted(rows["verdict"].unique()),
        "swaps": swaps(rows, pairs, confidence).to_dict("records"),
        "run_share": tables["runs"]["run_share"],
    }


def _shown_tables(
    tables: dict[str, pd.DataFrame], suite: dict[str, pd.DataFrame], verdict: str
) -> dict[str, Any]:
    """All tables as the page packs them."""
    summary = tables["summary"]
    return {
        **{name: shown(table, AS_PERCENT) for name, table in tables.items()},
        **{name: shown(table, SUITE_AS_PERCENT) for name, table in suite.items()},
        "summary": _as_read(summary, marked_summary(summary, AS_PERCENT, verdict)),
    }


def shown(table: pd.DataFrame, hundredfold: tuple[str, ...]) -> dict[str, Any]:
    """A table as the page packs it: columns, which of them are numbers, and rows of words."""
    words = table.assign(verdict=table["verdict"].map(_in_points)) if "verdict" in table else table
    return _as_read(table, rounded(words, hundredfold))


def _in_points(verdict: Any) -> Any:
    return results.in_points(verdict) if isinstance(verdict, str) else verdict


def _as_read(table: pd.DataFrame, words: pd.DataFrame) -> dict[str, Any]:
    numeric = set(table.select_dtypes("number").columns)
    return {
        "columns": [name.replace("_", " ") for name in words.columns],
        "numeric": [name in numeric for name in words.columns],
        "rows": words.to_numpy().tolist(),
    }


def _read(layout: Layout, table: str) -> pd.DataFrame:
    return read_csv(layout.table(table), dtype={"subset": str}, keep_default_na=True)


def _single_runs(scores: pd.DataFrame) -> pd.DataFrame:
    return scores[(scores["variant"] == "paraphrase") & (scores["metric"] == "main_score")]


def _suite(settings: dict[str, Any], layout: Layout) -> dict[str, pd.DataFrame]:
    """The tables of the implicit suite, if the run has tasks of it."""
    if not any("implicit" in entry for entry in settings["tasks"]):
        return {}
    return {name: _read(layout, name) for name in (*SUITE_TABLES, *SUITE_DELTA_TABLES)}


def _names(entries: list[dict[str, Any]]) -> list[str]:
    return [
        task_name(entry) if "implicit" in entry else entry.get("name") or entry["mteb"]
        for entry in entries
    ]
