"""What a run would cost, before anything is started."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from pteb_eval.config.schema import ORIGINAL
from pteb_eval.fetch import texts_table
from pteb_eval.ids import canonical_json
from pteb_eval.paraphrase.stage import Generation, wordings_of
from pteb_eval.progress import Progress
from pteb_eval.rates import measured_rate
from pteb_eval.store import provenance_of, read_table
from pteb_eval.workflow import Workflow


@dataclass(frozen=True)
class Work:
    """One line of a plan.

    Attributes:
        step: `paraphrase` or `embed`.
        task: the task.
        who: the generator or model.
        texts: slots of the task.
        distinct: distinct texts that the step is about.
        total: generations or vectors in all.
        done: of them, those in the cache or in a finished file.
        rate: pieces a second, or None if never measured nor stated.
    """

    step: str
    task: str
    who: str
    texts: int
    distinct: int
    total: int
    done: int
    rate: float | None

    @property
    def todo(self) -> int:
        """How much is left to make."""
        return max(0, self.total - self.done)

    @property
    def seconds(self) -> float | None:
        """Time that takes, or None if the rate is not known."""
        return self.todo / self.rate if self.rate else (0.0 if not self.todo else None)


def plan(flow: Workflow) -> Iterator[Work]:
    """The work of a run, task by task."""
    runs = flow.config.runs
    for task in flow.tasks:
        table = _texts(flow, task)
        n_slots = sum(len(slots) for slots in table["slots"].to_pylist())
        n_reworded = sum(table["reworded"].to_pylist())
        for name, generator in flow.generators.items():
            settings = _settings(flow.paraphrase_settings(task, name))
            progress = Progress("", 0)
            with Generation(settings, generator.options, flow.cache, progress) as generation:
                wordings = wordings_of(table, runs)
                rate = measured_rate(flow.cache, "paraphrase", generation.identity)
                yield Work(
                    "paraphrase", task, name, n_slots, n_reworded, len(wordings),
                    generation.n_cached(wordings), rate or generator.rate,
                )  # fmt: skip
        for slug, model in flow.models.items():
            for name in (ORIGINAL, *flow.generators):
                total = table.num_rows if name == ORIGINAL else n_reworded * runs
                file = flow.layout.embeddings(slug, name, task)
                identity = {"model": model.model_dump(mode="json")}
                yield Work(
                    "embed", task, f"{model.name} ({name})", n_slots, table.num_rows, total,
                    total if file.is_file() else 0, measured_rate(flow.cache, "embed", identity),
                )  # fmt: skip


def _texts(flow: Workflow, task: str) -> pa.Table:
    """The texts as the last fetch wrote them, if its settings are still these; else loaded now."""
    settings = _settings(flow.fetch_settings(task))
    path = flow.layout.texts(task)
    if path.is_file() and _newer(path, flow.data_files(task)):
        table = read_table(path)
        if canonical_json(provenance_of(table.schema)["settings"]) == canonical_json(settings):
            return table
    table, about = texts_table(settings)
    return table.replace_schema_metadata({b"pteb_eval": canonical_json(about).encode()})


def _newer(path: Path, sources: list[str]) -> bool:
    made = path.stat().st_mtime
    return all(Path(source).stat().st_mtime <= made for source in sources)


def _settings(text: str) -> dict[str, object]:
    import json

    loaded: dict[str, object] = json.loads(text)
    return loaded
