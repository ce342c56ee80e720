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
from pteb_eval.layout import FIGURES, Layout
from pteb_eval.provenance import library_versions
from pteb_eval.statistics.stage import AS_PERCENT
from pteb_eval.store import provenance_of, read_table, write_text
from pteb_eval.tables import rounded

TEMPLATE = Path(__file__).with_name("report.html.j2")
EXAMPLES = 10
P_VALUES = ("p", "p_holm", "min_attainable_p")


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
    summary = pd.read_csv(layout.table("summary"), dtype={"subset": str})
    significance = pd.read_csv(layout.table("significance"))
    effects = pd.read_csv(layout.table("effects"), dtype={"subset": str})
    warnings = pd.read_csv(layout.table("warnings"), keep_default_na=False)
    page = environment.get_template(TEMPLATE.name).render(
        name=settings["name"],
        answer=list(_answer(summary, effects)),
        warnings=warnings.to_dict("records"),
        tasks=[_task(layout, task) for task in _names(settings["tasks"])],
        generators=[_generator(layout, settings, name) for name in _names(settings["generators"])],
        summary=rounded(summary.dropna(axis="columns", how="all"), AS_PERCENT),
        significance=rounded(significance),
        figures=[_data_uri(layout.figure(figure, "svg")) for figure in FIGURES],
        examples=[
            {"generator": generator, "task": task, "rows": _examples(layout, generator, task)}
            for generator in _names(settings["generators"])
            for task in _names(settings["tasks"])
        ],
        signature=_signature(settings),
        configuration=yaml.safe_dump(settings, sort_keys=False, allow_unicode=True),
        libraries=library_versions(),
    )
    write_text(layout.report, page)


def _names(entries: list[dict[str, Any]]) -> list[str]:
    return [entry.get("name") or entry["mteb"] for entry in entries]


def _answer(summary: pd.DataFrame, effects: pd.DataFrame) -> Iterator[str]:
    """What the numbers say, in sentences; one for each task, subset and generator."""
    for (task, subset, generator), rows in summary.groupby(
        ["task", "subset", "generator"], sort=False
    ):
        keys = ["task", "subset", "generator"]
        tests = effects[(effects[keys] == [task, subset, generator]).all(axis=1)]
        drops = tests[tests["verdict"] == "drops"]["model"].tolist()
        tested = f"{len(drops)} of {len(rows)} models lose a detectable part of their score" + (
            f" ({', '.join(drops)})" if drops else ""
        )
        by_delta = rows.sort_values("delta").to_dict("records")
        least, most = by_delta[0], by_delta[-1]
        yield (
            f"On {task}, reworded by {generator}, {'' if tests.empty else tested + '; '}"
            f"the largest drop is {100 * most['delta']:.1f} points ({most['model']}), the "
            f"smallest {100 * least['delta']:.1f} ({least['model']})."
        )
        copied, failed = rows["copy_rate"].iloc[0], rows["failure_rate"].iloc[0]
        yield (
            f"{copied:.0%} of the usable paraphrases only copy their text and {failed:.1%} of all "
            f"failed; no judge has checked that the others keep the meaning, so a drop may be the "
            "paraphraser's doing as well as the model's."
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
