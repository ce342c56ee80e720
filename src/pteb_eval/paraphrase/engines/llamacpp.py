"""llama.cpp in this process: GGUF models, no server to start, no account."""

import json
import mmap
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

from pydantic import Field
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from pteb_eval.errors import UserError
from pteb_eval.paraphrase.engines import Completion, PromptKind, Request, Sampling
from pteb_eval.paraphrase.engines.packaged import METADATA_BYTES, file_sha256

ATTEMPTS = 3
_PENALTY_WINDOW = 2**15
# Temperature comes first, as in vLLM, so that top-p means the same in every engine.
_SAMPLERS = ["penalties", "temperature", "min_p", "top_k", "top_p"]


class _EngineFailure(Exception):
    """An answer that is an error; worth another try."""


class LlamaCppEngine:
    """Engine of one GGUF file.

    Args:
        model_path: the GGUF file.
        sampling: sampling fields of every request.
        prompt_kind: `completion` for base models, `chat` for models with a chat template.
        parallel: requests in flight, each with a slot of its own.
        threads: CPU threads; all that this process may use if None.
        context: tokens of a slot: a prompt and its answer must fit.
        digest: SHA-256 of the file where it is known already.
    """

    def __init__(
        self,
        model_path: Path,
        sampling: Sampling,
        *,
        prompt_kind: PromptKind = "completion",
        parallel: Annotated[int, Field(ge=1)] = 4,
        threads: Annotated[int, Field(ge=0)] | None = None,
        context: Annotated[int, Field(ge=1)] = 1024,
        digest: str | None = None,
    ) -> None:
        self.model_path = model_path
        self.sampling = sampling
        self.prompt_kind = prompt_kind
        self.parallel = parallel
        self.threads = threads or len(os.sched_getaffinity(0))
        self.context = context
        self._digest = digest
        self._server: Any = None

    def identity(self) -> dict[str, Any]:
        """What changes an answer; the file counts by its SHA-256, not by its name."""
        return {
            "engine": "llamacpp",
            "sha256": self._digest or file_sha256(self.model_path),
            "prompt_kind": self.prompt_kind,
            "sampling": self.sampling.as_json(),
        }

    def __enter__(self) -> Self:
        """Load the model.

        Raises:
            UserError: if llama.cpp is not installed, or the file is no model or of the wrong kind.
        """
        # Threads that spin on while they wait make llama.cpp five times slower beside other work;
        # those that sleep at once make it a fifth slower when there is none.
        os.environ.setdefault("GOMP_SPINCOUNT", "300")
        try:
            import xllamacpp
        except ModuleNotFoundError as error:
            raise UserError(
                "engine llamacpp: xllamacpp is not installed: pip install 'pteb-eval[llamacpp]'"
            ) from error
        if self.prompt_kind == "chat" and not has_chat_template(self.model_path):
            raise UserError(
                f"{self.model_path}: a base model without chat template: "
                "use a prompt of kind completion"
            )
        try:
            self._server = xllamacpp.Server(self._params(xllamacpp.CommonParams()))
        except RuntimeError as error:
            raise UserError(
                f"{self.model_path}: llama.cpp cannot load it: "
                "name a whole GGUF file that fits into memory"
            ) from error
        return self

    def __exit__(self, *exc: object) -> None:
        """Free the model."""
        self._server = None

    def generate(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Yield the completions as they finish; `parallel` requests are in flight."""
        waiting = iter(requests)
        pool = ThreadPoolExecutor(self.parallel)
        # A short queue: whoever stops iterating leaves these few unanswered only.
        running: set[Future[Completion]] = {
            pool.submit(self._complete, request) for request in islice(waiting, 2 * self.parallel)
        }
        try:
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                running |= {
                    pool.submit(self._complete, request) for request in islice(waiting, len(done))
                }
                for future in done:
                    yield future.result()
        finally:
            # Without waiting for what is in the making: a stopped job has finished answers to keep.
            pool.shutdown(wait=False, cancel_futures=True)

    @property
    def base_url(self) -> str:
        """Where the loaded model also answers on loopback, as an OpenAI-compatible endpoint."""
        return f"{self._server.listening_address}/v1"

    def count_tokens(self, prompt: str) -> int:
        """Tokens of a prompt as the model sees it, the chat template and special ones included."""
        if self.prompt_kind == "chat":
            prompt = self._post("/apply-template", {"messages": _turn(prompt)})["prompt"]
        return len(self._post("/tokenize", {"content": prompt, "add_special": True})["tokens"])

    def _complete(self, request: Request) -> Completion:
        try:
            n_prompt = self.count_tokens(request.prompt)
            if n_prompt + self.sampling.max_tokens > self.context:
                return Completion(request.key, "", "prompt_too_long", n_prompt)
            retries = Retrying(
                retry=retry_if_exception_type(_EngineFailure),
                stop=stop_after_attempt(ATTEMPTS),
                wait=wait_exponential(0.1, max=2),
                reraise=True,
            )
            answer = retries(self._ask, request)
        except Exception as error:  # one broken request must not take the others with it
            line = (str(error).splitlines() or [""])[0]
            return Completion(request.key, "", "error", error=line or type(error).__name__)
        choice, usage = answer["choices"][0], answer["usage"]
        return Completion(
            request.key,
            choice["text"] if "text" in choice else choice["message"]["content"] or "",
            "length" if choice["finish_reason"] == "length" else "stop",
            usage["prompt_tokens"],
            usage["completion_tokens"],
        )

    def _ask(self, request: Request) -> dict[str, Any]:
        body = sampling_body(self.sampling) | {"seed": request.seed, "cache_prompt": True}
        if request.choices is not None:
            body["grammar"] = choices_grammar(request.choices)
        if self.prompt_kind == "chat":
            answer = self._server.handle_chat_completions(
                body | {"messages": _turn(request.prompt)}
            )
        else:
            answer = self._server.handle_completions(body | {"prompt": request.prompt})
        if "error" in answer:
            raise _EngineFailure(answer["error"]["message"])
        return dict(answer)

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask the in-process server's loopback door, which alone offers the tokenizer."""
        request = HttpRequest(
            self._server.listening_address + path,
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urlopen(request) as response:
            return dict(json.load(response))

    def _params(self, params: Any) -> Any:
        params.model.path = str(self.model_path)
        params.n_parallel = self.parallel
        params.n_ctx = self.context * self.parallel
        params.cpuparams.n_threads = self.threads
        params.cpuparams_batch.n_threads = self.threads
        # A model with sliding windows drops the shared prompt prefix unless all is kept.
        params.swa_full = True
        params.verbosity = 0
        return params


def has_chat_template(model_path: Path) -> bool:
    """Whether a GGUF file brings a chat template; without one llama.cpp would make one up."""
    try:
        with (
            model_path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            return content.find(b"tokenizer.chat_template", 0, METADATA_BYTES) >= 0
    except (OSError, ValueError) as error:
        raise UserError(f"{model_path}: no readable model file: name a GGUF file") from error


def choices_grammar(choices: Sequence[str]) -> str:
    """A GBNF grammar of exactly these answers."""
    return "root ::= " + " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)


def _turn(prompt: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt}]


def sampling_body(sampling: Sampling) -> dict[str, Any]:
    """Every sampling field of llama.cpp's server, those that are switched off included."""
    return {
        "samplers": _SAMPLERS,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "repeat_penalty": sampling.repetition_penalty,
        "repeat_last_n": _PENALTY_WINDOW,
        "max_tokens": sampling.max_tokens,
        "stop": list(sampling.stop),
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "dynatemp_range": 0.0,
        "typical_p": 1.0,
        "top_n_sigma": -1.0,
        "xtc_probability": 0.0,
        "dry_multiplier": 0.0,
        "mirostat": 0,
        "logit_bias": [],
        "ignore_eos": False,
    }
