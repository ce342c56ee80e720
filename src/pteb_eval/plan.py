"""What a run would cost, before anything is started. Asks neither a hub nor an engine."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pteb_eval.config import Generator, ImplicitTask, MtebTask
from pteb_eval.config.base import ORIGINAL
from pteb_eval.config.judges import LlmJudge
from pteb_eval.estimates import Size, estimated_size
from pteb_eval.fetch import texts_table
from pteb_eval.hub import go_offline
from pteb_eval.ids import canonical_json
from pteb_eval.implicit.build import is_here
from pteb_eval.judge.llm import LlmRater
from pteb_eval.paraphrase.prompts import load_prompt
from pteb_eval.paraphrase.stage import Generation, wordings_of
from pteb_eval.progress import Progress, duration
from pteb_eval.rates import measured_rate
from pteb_eval.store import provenance_of, read_table
from pteb_eval.tasks.kept import is_kept
from pteb_eval.tasks.load import unloaded_task
from pteb_eval.workflow import Workflow

CHARACTERS_PER_TOKEN = 4  # of English text; less in other scripts


@dataclass(frozen=True)
class Work:
    """One line of a plan.

    Attributes:
        step: `paraphrase`, `judge` or `embed`.
        task: the task.
        who: the generator or model.
        texts: slots of the task.
        distinct: distinct texts that the step is about.
        total: generations or vectors in all.
        done: of them, those in the cache or in a finished file.
        tokens: tokens that an LLM reads and writes, at four characters each; None for vectors.
        rate: pieces a second, or None if never measured nor stated.
        estimate: whether the counts come from mteb's statistics, since the data is not here.
    """

    step: str
    task: str
    who: str
    texts: int
    distinct: int
    total: int
    done: int
    tokens: tuple[int, int] | None
    rate: float | None
    estimate: bool

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
    go_offline()
    for task in flow.tasks:
        table = _texts(flow, task)
        size = _size(flow, task) if table is None else _counted(table)
        for generator in flow.generators.values():
            if isinstance(generator, Generator):
                yield _paraphrases(flow, task, generator, size, table)
        for judge in flow.judges.values():
            if isinstance(judge, LlmJudge):
                for name in flow.generators:
                    yield _judgements(flow, task, name, judge, size, table is None)
        for slug, model in flow.models.items():
            for name in (ORIGINAL, *flow.generators):
                total = size.distinct if name == ORIGINAL else size.reworded * flow.runs
                file = flow.layout.embeddings(slug, name, task)
                identity = {"model": model.model_dump(mode="json")}
                yield Work(
                    "embed", task, f"{model.name} ({name})", size.texts, size.distinct, total,
                    total if file.is_file() else 0, None,
                    measured_rate(flow.cache, "embed", identity), table is None,
                )  # fmt: skip


def summed(works: list[Work]) -> list[Work]:
    """The same with one line for each model's vectors of all tasks: a grid has hundreds."""
    groups: dict[tuple[str, str], list[Work]] = {}
    for work in works:
        groups.setdefault((work.step, work.who), []).append(work)
    lines = [work for work in works if work.step != "embed"]
    for (step, who), group in groups.items():
        if step == "embed":
            name = group[0].task if len(group) == 1 else f"{len(group)} tasks"
            counts = (
                sum(work.texts for work in group),
                sum(work.distinct for work in group),
                sum(work.total for work in group),
                sum(work.done for work in group),
            )
            estimate = any(work.estimate for work in group)
            lines.append(Work(step, name, who, *counts, None, group[0].rate, estimate))
    return lines


HEAD = ["step", "task", "by", "texts", "distinct", "in all", "to do", "tokens", "rate", "time"]


def shown(works: list[Work]) -> tuple[list[list[str]], list[str]]:
    """Rows under `HEAD`, and the lines below the table."""
    lines = [
        [
            work.step,
            work.task + (" ~" if work.estimate else ""),
            work.who,
            f"{work.texts:,}",
            f"{work.distinct:,}",
            f"{work.total:,}",
            f"{work.todo:,}",
            "" if work.tokens is None else f"{_millions(sum(work.tokens))}",
            "" if work.rate is None else f"{work.rate:.1f}/s",
            "not measured yet" if work.seconds is None else duration(work.seconds),
        ]
        for work in summed(works)
    ]
    return lines, list(_notes(works))


def _notes(works: list[Work]) -> Iterator[str]:
    for who in dict.fromkeys(work.who for work in works if work.tokens):
        own = [work for work in works if work.who == who and work.tokens]
        read, written = (sum(work.tokens[place] for work in own if work.tokens) for place in (0, 1))
        seconds = [work.seconds for work in own]
        known = sum(second for second in seconds if second is not None)
        time = "at a rate not known yet" if None in seconds else f"{duration(known)} at its rate"
        yield (
            f"{who}: {sum(work.total for work in own):,} generations, of which "
            f"{sum(work.todo for work in own):,} to do in {time}; about {_millions(read)} tokens "
            f"read and {_millions(written)} written, at {CHARACTERS_PER_TOKEN} characters a token."
        )
    if any(work.estimate for work in works):
        yield (
            "~ not fetched yet: counted by mteb's statistics, which count a text in two columns "
            "twice; of the implicit suite roughly, as declared."
        )
    known = sum(work.seconds for work in works if work.seconds is not None)
    unknown = sum(work.seconds is None for work in works)
    note = f", and {unknown} steps without a rate yet" if unknown else ""
    yield f"Together {duration(known)} on one job at a time{note}."


def _millions(count: int) -> str:
    return f"{count / 1e6:.1f} M" if count >= 1e6 else f"{count:,}"


def _paraphrases(
    flow: Workflow, task: str, generator: Generator, size: Size, table: pa.Table | None
) -> Work:
    settings = _settings(flow.paraphrase_settings(task, generator.name))
    with Generation(settings, generator.options, flow.cache, Progress("", 0)) as generation:
        wordings = [] if table is None else wordings_of(table, flow.runs)
        done = generation.n_cached(wordings) if wordings else 0
        rate = measured_rate(flow.cache, "paraphrase", generation.identity)
    total, answers = size.reworded * flow.runs, size.characters * flow.runs
    prompts = [load_prompt(path) for path in generator.prompts]
    framing = sum(len(prompt.template) for prompt in prompts) * total
    read = (framing + answers * len(prompts)) // CHARACTERS_PER_TOKEN
    written = answers * len(prompts) // CHARACTERS_PER_TOKEN
    return Work(
        "paraphrase", task, generator.name, size.texts, size.reworded, total, done,
        (read, written), rate or generator.rate, table is None,
    )  # fmt: skip


def _judgements(
    flow: Workflow, task: str, generator: str, entry: LlmJudge, size: Size, estimate: bool
) -> Work:
    """Ratings of a generator's paraphrases; pairs with gold are few beside them and not counted."""
    settings = _settings(flow.judge_settings(entry.name, task, generator))
    with LlmRater(settings, entry.options, flow.cache, "") as judge:
        rate = measured_rate(flow.cache, "judge", judge.identity)
        framing = len(judge.prompt.template)
    times = flow.runs * entry.ratings * (1 + entry.both_orders)
    total = size.reworded * times
    read = (framing * total + 2 * size.characters * times) // CHARACTERS_PER_TOKEN
    done = total if flow.layout.judgements(entry.name, generator, task).is_file() else 0
    return Work(
        "judge", task, f"{entry.name} ({generator})", size.texts, size.reworded, total, done,
        (read, total), rate, estimate,
    )  # fmt: skip


def _counted(table: pa.Table) -> Size:
    rows = zip(table["text"].to_pylist(), table["reworded"].to_pylist(), strict=True)
    lengths = [len(text) for text, reworded in rows if reworded]
    slots = sum(len(slots) for slots in table["slots"].to_pylist())
    return Size(slots, table.num_rows, len(lengths), sum(lengths))


def _size(flow: Workflow, task: str) -> Size:
    settings = _settings(flow.fetch_settings(task))
    return estimated_size(settings["task"], settings["scope"], settings["max_instances"])


def _texts(flow: Workflow, task: str) -> pa.Table | None:
    """The texts as the last fetch wrote them, if its settings are still these; else loaded now.

    None if they would have to be asked of the hub.
    """
    settings = _settings(flow.fetch_settings(task))
    path = flow.layout.texts(task)
    if path.is_file() and _newer(path, flow.data_files(task)):
        table = read_table(path)
        if canonical_json(provenance_of(table.schema)["settings"]) == canonical_json(settings):
            return table
    entry = flow.tasks[task]
    if isinstance(entry, MtebTask) and not is_kept(unloaded_task(settings["task"])):
        return None
    if isinstance(entry, ImplicitTask) and not is_here(settings["task"]):
        return None
    table, about = texts_table(settings)
    return table.replace_schema_metadata({b"pteb_eval": canonical_json(about).encode()})


def _newer(path: Path, sources: list[str]) -> bool:
    made = path.stat().st_mtime
    return all(Path(source).stat().st_mtime <= made for source in sources)


def _settings(text: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(text)
    return loaded
