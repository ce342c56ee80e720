"""What an LLM engine is: it takes requests and yields completions as they finish.

Three adapters implement `Engine`: `llamacpp` (in process), `openai` (any compatible endpoint) and
`vllm` (offline batches). An adapter knows nothing of paraphrases, tasks or caches.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

FinishReason = Literal["stop", "length", "prompt_too_long", "error"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """All sampling fields, each explicit: no model's own generation config may fill a gap.

    Attributes:
        temperature: softmax temperature; 0 is greedy.
        top_p: nucleus mass in (0, 1].
        top_k: number of candidates, 0 for no limit.
        min_p: least probability relative to the best candidate; 0 for no limit.
        repetition_penalty: 1.0 is none.
        max_tokens: most tokens in an answer.
        stop: strings that end an answer (not part of it).
    """

    temperature: float = 0.8
    top_p: float = 0.9
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    max_tokens: int = 512
    stop: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The fields as JSON values, for identities and provenance."""
        return asdict(self) | {"stop": list(self.stop)}


@dataclass(frozen=True, slots=True)
class Request:
    """One request for one answer.

    Attributes:
        key: the caller's id of the request, handed back with its completion.
        prompt: the rendered prompt. A chat engine sends it as one user turn.
        seed: seed of this request alone, in [0, 2³¹).
        choices: if given, the answer must be one of these strings (constrained decoding).
    """

    key: str
    prompt: str
    seed: int
    choices: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer.

    Attributes:
        key: the request's key.
        text: the raw answer; empty where `finish_reason` is `prompt_too_long` or `error`.
        finish_reason: `stop`, `length` (cut at `max_tokens`), `prompt_too_long` (never sent) or
            `error` (still failing after the engine's bounded retries).
        n_prompt_tokens: tokens of the prompt, as the engine counts them; 0 if unknown.
        n_tokens: tokens of the answer; 0 if unknown.
        error: one line on what went wrong, where `finish_reason` is `error`.
    """

    key: str
    text: str
    finish_reason: FinishReason
    n_prompt_tokens: int = 0
    n_tokens: int = 0
    error: str = ""


class Engine(Protocol):
    """An LLM behind a small door. Used as a context manager; `__enter__` loads or connects."""

    def identity(self) -> dict[str, Any]:
        """What of the engine and model changes an answer, as JSON values: part of every cache key.

        Engine name, model name, revision or SHA-256 of the weights, dtype, quantization, prompt
        kind and all sampling fields. Never: batch sizes, threads, addresses, keys.
        """
        ...

    def generate(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Yield one completion for every request, as each finishes, in any order.

        Raises:
            UserError: if the engine itself is unusable (no such model, no connection at all).
        """
        ...

    def __enter__(self) -> "Engine": ...

    def __exit__(self, *exc: object) -> None: ...


PromptKind = Literal["chat", "completion"]

__all__ = [
    "Completion",
    "Engine",
    "FinishReason",
    "PromptKind",
    "Request",
    "Sampling",
]
