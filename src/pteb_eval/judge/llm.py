"""An LLM as a judge: constrained to the scale, or read from its words; every answer is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Self

from pteb_eval.ids import canonical_json, request_seed, text_id
from pteb_eval.judge.ratings import CHOICES, OK, Pair, Rating, read_rating
from pteb_eval.paraphrase.answers import AnswerCache, Question, ask
from pteb_eval.paraphrase.engines import Completion
from pteb_eval.paraphrase.engines.load import OnDemand
from pteb_eval.paraphrase.prompts import JudgePrompt
from pteb_eval.progress import Progress
from pteb_eval.rates import keep_rate

_FAILED = {"error": "engine_error", "prompt_too_long": "too_long"}


@dataclass(frozen=True, slots=True)
class _Single:
    """One rating wanted of a pair.

    Attributes:
        pair: the texts in their own order.
        turned: whether they are shown in the other order.
        number: number of the rating, from 1.
    """

    pair: Pair
    turned: bool
    number: int


class LlmRater:
    """An LLM with a prompt, and the cache of its answers before it.

    A pair's ratings depend on its texts, the seed and the judge alone, so equal paraphrases of a
    text are asked about once.

    Args:
        settings: `engine`, `model`, `revision`, `prompt` (its content), `sampling`, `ratings`,
            `both_orders`, `constrained`, `attempts`, `seed`.
        options: the engine's own options.
        cache: the cache folder.
        label: what progress lines begin with.

    Raises:
        UserError: if the engine cannot be used.
    """

    def __init__(
        self, settings: dict[str, Any], options: dict[str, Any], cache: Path, label: str
    ) -> None:
        self.settings, self.label, self._cache_folder = settings, label, cache
        self.prompt = JudgePrompt.model_validate(settings["prompt"])
        engine = {
            **{key: settings[key] for key in ("engine", "model", "revision")},
            "prompt_kind": self.prompt.kind,
            "sampling": {**settings["sampling"], "stop": list(self.prompt.stop)},
            "options": options,
        }
        self._engine = OnDemand(engine, cache)
        self.identity = self._engine.identity
        self.cache = AnswerCache(cache, "judgements", self.identity)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._engine.__exit__(*exc)

    def singles(self, pairs: Sequence[Pair]) -> list[_Single]:
        """All ratings wanted, those of a pair together."""
        orders = (False, True) if self.settings["both_orders"] else (False,)
        numbers = range(1, self.settings["ratings"] + 1)
        distinct = dict.fromkeys(pairs)
        return [_Single(pair, turned, n) for pair in distinct for turned in orders for n in numbers]

    def n_cached(self, singles: Sequence[_Single]) -> int:
        """How many ratings have the answer to their first question in the cache."""
        return len(self.cache.store.known([self._question(one, 0).key for one in singles]))

    def rate(self, pairs: Sequence[Pair]) -> dict[Pair, Rating]:
        """The rating of each distinct pair."""
        singles = self.singles(pairs)
        progress = Progress(self.label, len(singles))
        progress.begin(self.n_cached(singles))
        found: dict[_Single, tuple[Completion, float | None]] = {}
        todo = singles
        for attempt in range(self.settings["attempts"]):
            questions = {one: self._question(one, attempt) for one in todo}
            answers = ask(
                self._engine.open,
                self.cache,
                list(questions.values()),
                lambda answer: progress.advance(failed=answer.finish_reason in _FAILED),
            )
            for one, question in questions.items():
                answer = answers[question.key]
                found[one] = answer, read_rating(answer.text)
            todo = [one for one in todo if found[one][1] is None]
            if not todo:
                break
        progress.close()
        keep_rate(self._cache_folder, "judge", self.identity, progress.done, progress.rate)
        parts: dict[Pair, list[tuple[Completion, float | None]]] = {}
        for one in singles:
            parts.setdefault(one.pair, []).append(found[one])
        return {pair: _mean(singles_of) for pair, singles_of in parts.items()}

    def _question(self, one: _Single, attempt: int) -> Question:
        first, second = one.pair
        shown = (second, first) if one.turned else (first, second)
        joined = canonical_json([first, second])
        base, step = self.settings["seed"], int(one.turned)
        return Question(
            joined,
            self.prompt.render(*shown),
            base,
            one.number,
            step,
            attempt,
            request_seed(base, text_id(joined), one.number, step, attempt),
            CHOICES if self.settings["constrained"] else None,
        )


def _mean(singles: Sequence[tuple[Completion, float | None]]) -> Rating:
    ratings = [float("nan") if rating is None else rating for _, rating in singles]
    failed = [answer for answer, rating in singles if rating is None]
    return Rating(
        None if failed else fmean(ratings),
        _FAILED.get(failed[0].finish_reason, "unparsable") if failed else OK,
        tuple(ratings),
        tuple(answer.text for answer, _ in singles),
        sum(answer.n_tokens for answer, _ in singles),
        failed[0].error if failed else "",
    )
