"""Every answer that an LLM ever gave, kept: asked once, read from the cache ever after."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from pteb_eval.ids import digest
from pteb_eval.paraphrase.engines import Completion, Engine, Request
from pteb_eval.store import ShardStore

SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("text", pa.string()),
        ("finish_reason", pa.string()),
        ("seed", pa.int64()),
        ("n_prompt_tokens", pa.int32()),
        ("n_tokens", pa.int32()),
        ("error", pa.string()),
    ]
)
FIRST_FLUSH, LAST_FLUSH = 2.0, 60.0  # seconds; growing, so that long jobs do not leave many shards
MOST_ROWS = 5000


@dataclass(frozen=True, slots=True)
class Question:
    """One answer wanted, with all that sets it apart from other questions to the same engine.

    Attributes:
        text: the text asked about; for a judge, the texts joined in its own way.
        prompt: the rendered prompt.
        base_seed: the config's seed.
        run: number of the run, from 1.
        step: place in a chain of prompts, from 0.
        attempt: how often the same was asked before.
        seed: seed of the request.
        choices: the only answers allowed, if limited.
    """

    text: str
    prompt: str
    base_seed: int
    run: int
    step: int
    attempt: int
    seed: int
    choices: tuple[str, ...] | None = None

    @property
    def key(self) -> str:
        """Cache key within an engine's store."""
        fields = [self.text, self.prompt, self.base_seed, self.run, self.step, self.attempt]
        return digest([*fields, self.seed, list(self.choices or ())])


class AnswerCache:
    """Answers of one engine, model and sampling.

    Args:
        root: the cache folder shared by all configs.
        kind: `paraphrases` or `judgements`.
        identity: `Engine.identity()`: everything but the question that can change an answer.
    """

    def __init__(self, root: Path, kind: str, identity: dict[str, Any]) -> None:
        self.identity = identity
        self.store = ShardStore(root / kind / digest(identity)[:32], SCHEMA)

    def known(self, questions: Sequence[Question]) -> dict[str, Completion]:
        """The answers that the cache has, by question key."""
        rows = self.store.lookup(question.key for question in questions)
        return {
            row["key"]: Completion(
                row["key"],
                row["text"],
                row["finish_reason"],
                row["n_prompt_tokens"],
                row["n_tokens"],
                row["error"],
            )
            for row in rows.to_pylist()
        }

    def append(self, answers: Sequence[tuple[Question, Completion]]) -> None:
        """Keep finished answers.

        Engine errors are not kept, and neither are prompts found too long: another try, or a
        longer context, which is no part of the identity, may answer them.
        """
        rows = [
            {
                "key": question.key,
                "text": answer.text,
                "finish_reason": answer.finish_reason,
                "seed": question.seed,
                "n_prompt_tokens": answer.n_prompt_tokens,
                "n_tokens": answer.n_tokens,
                "error": answer.error,
            }
            for question, answer in answers
            if answer.finish_reason not in {"error", "prompt_too_long"}
        ]
        self.store.append(pa.Table.from_pylist(rows, SCHEMA), {"engine": self.identity})


def ask(
    open_engine: Callable[[], Engine],
    cache: AnswerCache,
    questions: Sequence[Question],
    on_answer: Callable[[Completion], None] = lambda answer: None,
) -> dict[str, Completion]:
    """Answers to all questions, by question key, asking only what the cache does not have.

    Args:
        open_engine: gives the entered engine; called only if something must be asked.
        cache: where answers are kept; what finished is kept even if the job is stopped.
        questions: what to ask.
        on_answer: told of each new answer, for progress.
    """
    answers = cache.known(questions)
    todo = {q.key: q for q in questions if q.key not in answers}
    if not todo:
        return answers
    requests = [Request(q.key, q.prompt, q.seed, q.choices) for q in todo.values()]
    for answer in _kept(open_engine().generate(requests), todo, cache):
        answers[answer.key] = answer
        on_answer(answer)
    # What a concurrent workflow kept first counts, so that a rerun assembles the same file.
    return answers | cache.known(list(todo.values()))


def _whole(answer: Completion) -> Completion:
    """An answer that files can hold: half a surrogate pair, which JSON lets pass, has no UTF-8."""
    if answer.text.isascii():
        return answer
    text = answer.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return replace(answer, text=text)


def _kept(
    stream: Iterator[Completion], todo: dict[str, Question], cache: AnswerCache
) -> Iterator[Completion]:
    """Pass answers on, putting them into the cache in growing intervals and at any end."""
    pending: list[tuple[Question, Completion]] = []
    interval, last = FIRST_FLUSH, time.monotonic()
    try:
        for answer in map(_whole, stream):
            pending.append((todo[answer.key], answer))
            yield answer
            if len(pending) >= MOST_ROWS or time.monotonic() - last >= interval:
                cache.append(pending)
                pending.clear()  # only now: a signal may have come while they were written
                interval, last = min(interval * 1.5, LAST_FLUSH), time.monotonic()
    finally:
        cache.append(pending)
