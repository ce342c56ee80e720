"""Stage `paraphrase`: ask for what is not in the cache, give each answer a status, write it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pteb_eval.errors import UserError
from pteb_eval.ids import request_seed, text_id
from pteb_eval.paraphrase.answers import AnswerCache, Question, ask
from pteb_eval.paraphrase.cleaning import CLEANING_VERSION, clean, status_of
from pteb_eval.paraphrase.engines import Completion
from pteb_eval.paraphrase.engines.load import OnDemand
from pteb_eval.paraphrase.prompts import Prompt
from pteb_eval.paraphrase.quality import QUALITY_FIELDS, measure
from pteb_eval.progress import Progress
from pteb_eval.provenance import stamp
from pteb_eval.rates import keep_rate
from pteb_eval.store import provenance_of, read_table, write_table
from pteb_eval.versions import PARAPHRASE_STEP

SCHEMA = pa.schema(
    [
        ("text_id", pa.string()),
        ("run", pa.int32()),
        ("paraphrase", pa.string()),
        ("status", pa.string()),
        ("seed", pa.int64()),
        ("n_tokens", pa.int32()),
        ("attempt", pa.int32()),
        ("finish_reason", pa.string()),
        ("raw", pa.list_(pa.string())),
        *QUALITY_FIELDS,
    ]
)


@dataclass
class Wording:
    """One text in one run, on its way through the generator's prompts.

    Attributes:
        original: the text.
        language: English name of its language; empty if unknown.
        run: number of the run, from 1.
        attempt: how often it was asked for before.
        raw: the raw answer of each prompt so far.
        text: the cleaned answer of the last prompt.
        status: `ok`, or why the answer cannot be used.
        answer: the engine's last completion.
        seed: seed of the last request.
    """

    original: str
    language: str
    run: int
    attempt: int = 0
    raw: tuple[str, ...] = ()
    text: str = ""
    status: str = ""
    answer: Completion | None = None
    seed: int = 0


class Generation:
    """A generator at work: an engine, opened when first needed, and the cache before it."""

    def __init__(
        self, settings: dict[str, Any], options: dict[str, Any], cache: Path, progress: Progress
    ) -> None:
        self.settings = settings
        self.prompts = [Prompt.model_validate(prompt) for prompt in settings["prompts"]]
        kinds = {(prompt.kind, prompt.stop) for prompt in self.prompts}
        if len(kinds) > 1:
            raise UserError(
                f"generator {settings['generator']}: its prompts differ in `kind` or `stop`: "
                "a chain needs one kind and one list of stops"
            )
        engine = {
            **{key: settings[key] for key in ("engine", "model", "revision")},
            "prompt_kind": self.prompts[0].kind,
            "sampling": {**settings["sampling"], "stop": list(self.prompts[0].stop)},
            "options": options,
        }
        self._engine = OnDemand(engine, cache)
        self.identity = self._engine.identity
        self.cache = AnswerCache(cache, "paraphrases", self.identity)
        self.progress = progress

    def __enter__(self) -> "Generation":
        return self

    def __exit__(self, *exc: object) -> None:
        self._engine.__exit__(*exc)

    def n_cached(self, wordings: Sequence[Wording]) -> int:
        """How many wordings have the answer to their first question in the cache."""
        questions = [self._question(wording, self.prompts[0], 0) for wording in wordings]
        return len(self.cache.store.known([question.key for question in questions]))

    def word(self, wordings: Sequence[Wording]) -> None:
        """Send wordings through all prompts; an unusable answer of one prompt ends its way."""
        for step, prompt in enumerate(self.prompts):
            ongoing = [w for w in wordings if step == 0 or w.status == "ok"]
            questions = [self._question(w, prompt, step) for w in ongoing]
            answers = ask(self._engine.open, self.cache, questions, self._count)
            for wording, question in zip(ongoing, questions, strict=True):
                self._take(wording, question, answers[question.key], prompt)

    def _question(self, wording: Wording, prompt: Prompt, step: int) -> Question:
        source = wording.text if step else wording.original
        seed = request_seed(
            self.settings["seed"], text_id(wording.original), wording.run, step, wording.attempt
        )
        rendered = prompt.render(source, wording.language)
        return Question(
            wording.original,
            rendered,
            self.settings["seed"],
            wording.run,
            step,
            wording.attempt,
            seed,
        )

    def _take(
        self, wording: Wording, question: Question, answer: Completion, prompt: Prompt
    ) -> None:
        wording.answer, wording.seed = answer, question.seed
        wording.raw = (*wording.raw, answer.text)
        wording.text = clean(answer.text, wording.original)
        wording.status = status_of(
            wording.original,
            wording.text,
            answer.finish_reason,
            same_language=prompt.same_language,
        )

    def _count(self, answer: Completion) -> None:
        self.progress.advance(failed=answer.finish_reason != "stop")


def run(
    settings: dict[str, Any],
    texts: Path,
    cache: Path,
    output: Path,
    options: dict[str, Any],
    shard: tuple[int, int] | None = None,
) -> None:
    """Write the paraphrases of a task's texts in scope.

    Args:
        settings: `task`, `generator` (its name), `engine`, `model`, `revision`, `sampling`,
            `prompts` (their contents), `attempts`, `seed`, `runs`, `max_failure_rate`.
        texts: the task's texts file.
        cache: the cache folder.
        output: the Parquet file to write, columns as in `SCHEMA`: one row a text and run.
        options: the engine's own options, which change speed and not answers.
        shard: (i, n) for the i-th of n shards, from 1; None: all texts. A text's shard follows from
            its id alone, so that other texts never move it.

    Raises:
        UserError: if the engine cannot be used, or more paraphrases failed than
            `max_failure_rate`; what was made stays in the cache either way.
    """
    table = read_table(texts)
    wordings = [
        w for w in wordings_of(table, settings["runs"]) if in_shard(text_id(w.original), shard)
    ]
    label = f"paraphrase {settings['task']} with {settings['generator']}"
    label += f", shard {shard[0]} of {shard[1]}" if shard else ""
    progress = Progress(label, len(wordings))
    with Generation(settings, options, cache, progress) as generation:
        progress.begin(generation.n_cached(wordings))
        todo = wordings
        for attempt in range(settings["attempts"]):
            for wording in todo:
                wording.attempt, wording.raw = attempt, ()
            generation.word(todo)
            todo = [w for w in todo if w.status != "ok"]
            if not todo:
                break
        progress.close()
        keep_rate(cache, "paraphrase", generation.identity, progress.done, progress.rate)
        if shard is None:
            errors = [w.answer.error for w in wordings if w.answer and w.answer.error]
            check_failures(settings, [wording.status for wording in wordings], errors)
        rows = [_row(wording) for wording in wordings]
        write_table(
            output,
            pa.Table.from_pylist(rows, SCHEMA),
            stamp(
                "paraphrase",
                settings,
                PARAPHRASE_STEP,
                engine=generation.identity,
                prompts=[
                    {"name": p.name, "version": p.version, "digest": p.digest}
                    for p in generation.prompts
                ],
                cleaning_version=CLEANING_VERSION,
            ),
        )


def wordings_of(texts: pa.Table, runs: int) -> list[Wording]:
    """Every text in scope in every run: all runs of a text together, so that engines reuse it."""
    names = provenance_of(texts.schema)["language_names"]
    rows = zip(
        texts["text"].to_pylist(),
        texts["languages"].to_pylist(),
        texts["reworded"].to_pylist(),
        strict=True,
    )
    return [
        Wording(text, " or ".join(names.get(code, code) for code in languages), run)
        for text, languages, reworded in rows
        if reworded
        for run in range(1, runs + 1)
    ]


def in_shard(identity: str, shard: tuple[int, int] | None) -> bool:
    """Whether a text, by its id, is in the i-th of n shards."""
    return shard is None or int(identity[:12], 16) % shard[1] == shard[0] - 1


def check_failures(
    settings: dict[str, Any], statuses: Sequence[str], errors: Sequence[str] = ()
) -> None:
    """Stop a run whose generator fails too often.

    Raises:
        UserError: if the share of failed paraphrases is above `max_failure_rate`.
    """
    failed = Counter(status for status in statuses if status != "ok")
    rate = failed.total() / max(len(statuses), 1)
    if rate <= settings["max_failure_rate"]:
        return
    kinds = ", ".join(f"{count} {status}" for status, count in failed.most_common())
    raise UserError(
        f"generator {settings['generator']}, task {settings['task']}: {rate:.1%} of "
        f"{len(statuses)} paraphrases failed ({kinds}), more than max_failure_rate "
        f"{settings['max_failure_rate']:.1%}: raise `attempts` or `max_failure_rate`, or use "
        f"another generator{'; last error: ' + errors[-1] if errors else ''}"
    )


def _row(wording: Wording) -> dict[str, Any]:
    assert wording.answer is not None
    return {
        "text_id": text_id(wording.original),
        "run": wording.run,
        "paraphrase": wording.text,
        "status": wording.status,
        "seed": wording.seed,
        "n_tokens": wording.answer.n_tokens,
        "attempt": wording.attempt,
        "finish_reason": wording.answer.finish_reason,
        "raw": list(wording.raw),
        **measure(wording.original, wording.text),
    }
