"""Stage `fetch`: load a task, online if need be, and list its distinct texts and their slots."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from pteb_eval.errors import UserError
from pteb_eval.hub import offline_unless_reachable
from pteb_eval.ids import text_id
from pteb_eval.progress import say
from pteb_eval.provenance import stamp
from pteb_eval.store import write_table
from pteb_eval.tasks import Instance, Slot
from pteb_eval.tasks.load import load_task, structure_for
from pteb_eval.tasks.scope import scope_filter

SLOT = pa.struct(
    [
        ("subset", pa.string()),
        ("split", pa.string()),
        ("role", pa.string()),
        ("row", pa.string()),
        ("position", pa.int32()),
        ("reworded", pa.bool_()),
    ]
)
SCHEMA = pa.schema(
    [
        ("text_id", pa.string()),
        ("text", pa.string()),
        ("languages", pa.list_(pa.string())),
        ("reworded", pa.bool_()),
        ("slots", pa.list_(SLOT)),
    ]
)


def run(settings: dict[str, Any], code: str, output: Path) -> None:
    """Write the texts of a task.

    Args:
        settings: `task` (what `load_task` takes), `scope`, `max_instances`.
        code: fingerprint of this stage.
        output: the Parquet file to write, columns as in `SCHEMA`: one row a distinct text, in the
            order of first occurrence.

    Raises:
        UserError: if the task cannot be loaded or nothing of it is in scope.
    """
    if "mteb" in settings["task"]:
        offline_unless_reachable()
    table, about = texts_table(settings, fetching=True)
    say(
        f"fetch {about['task']}: {table.num_rows} distinct texts, "
        f"{sum(table['reworded'].to_pylist())} to reword"
    )
    write_table(output, table, stamp("fetch", settings, code, **about))


def texts_table(
    settings: dict[str, Any], *, fetching: bool = False
) -> tuple[pa.Table, dict[str, Any]]:
    """The table that `run` writes, and what reports say of the task."""
    task = load_task(settings["task"], fetching=fetching)
    structure = structure_for(task)
    compared = _first(structure.instances(task), settings["max_instances"])
    languages = task.metadata.hf_subsets_to_langscripts
    in_scope = scope_filter(task, settings["scope"])
    rows: dict[str, dict[str, Any]] = {}
    for slot, text in structure.slots(task):
        reworded = in_scope(slot) and (
            compared is None
            or any(
                instance.part or instance in compared
                for instance in structure.instance_of(task, slot)
            )
        )
        row = rows.setdefault(text_id(text), _new_row(text, _languages(slot, languages)))
        row["slots"].append(_slot(slot, reworded))
        row["reworded"] |= reworded
    if not any(row["reworded"] for row in rows.values()):
        raise UserError(
            f"task {task.metadata.name}: no text is in scope {settings['scope']!r}; "
            f"its roles are {', '.join(structure.roles)}"
        )
    return pa.Table.from_pylist(list(rows.values()), SCHEMA), describe(task)


def describe(task: Any) -> dict[str, Any]:
    """What reports say of a task."""
    notes = list(getattr(task, "notes", ()))
    for note in notes:
        say(f"fetch {task.metadata.name}: {note}")
    from mteb.languages import ISO_TO_LANGUAGE

    codes = {code for found in task.metadata.hf_subsets_to_langscripts.values() for code in found}
    return {
        "task": task.metadata.name,
        "language_names": {code: ISO_TO_LANGUAGE.get(code.split("-")[0], code) for code in codes},
        "n_instances": len(structure_for(task).instances(task)),
        "task_type": getattr(task, "kind", task.metadata.type),
        "main_metric": task.metadata.main_score,
        "task_revision": task.metadata.dataset["revision"],
        "description": task.metadata.description,
        "notes": notes,
        "offensive": getattr(task, "offensive", False),
    }


def _first(instances: list[Instance], limit: int | None) -> set[Instance] | None:
    """The first `limit` instances of each subset and split; None for all."""
    if limit is None:
        return None
    taken: dict[tuple[str, str], list[Instance]] = {}
    for instance in instances:
        taken.setdefault((instance.subset, instance.split), []).append(instance)
    return {instance for group in taken.values() for instance in group[:limit]}


def _languages(slot: Slot, by_subset: dict[str, list[str]]) -> list[str]:
    """Languages that a text may be in; of parallel texts the role names the one."""
    if slot.subset == "parallel":
        return [slot.role.replace("_", "-")]
    return by_subset.get(slot.subset, [])


def _new_row(text: str, languages: list[str]) -> dict[str, Any]:
    return {
        "text_id": text_id(text),
        "text": text,
        "languages": list(languages),
        "reworded": False,
        "slots": [],
    }


def _slot(slot: Slot, reworded: bool) -> dict[str, Any]:
    return {
        "subset": slot.subset,
        "split": slot.split,
        "role": slot.role,
        "row": slot.row,
        "position": slot.position,
        "reworded": reworded,
    }
