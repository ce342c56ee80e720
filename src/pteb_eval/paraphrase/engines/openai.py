"""Any endpoint that speaks OpenAI's protocol: vLLM serve, llama.cpp's server, Ollama, hosted."""

import logging
import os
import queue
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import repeat
from typing import Annotated, Any, Self

from pydantic import Field
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
    stop_after_delay,
    wait_random_exponential,
)

from pteb_eval.errors import UserError
from pteb_eval.paraphrase.engines import Completion, PromptKind, Request, Sampling, wire
from pteb_eval.paraphrase.engines.wire import Server

logger = logging.getLogger(__name__)

LONGEST_WAIT = 600.0  # seconds, whatever a server's Retry-After says
LEAST_UNANSWERED = 8  # requests given up in a row before the server counts as gone
_TRY_AGAIN = {408, 409, 425, 429}
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|context (?:size|window)"
    r"|prompt is too long",
    re.IGNORECASE,
)


@dataclass
class Usage:
    """What an engine asked and got, since it was entered.

    Attributes:
        requests: HTTP requests sent, repeats included.
        responses: answers taken.
        prompt_tokens: tokens of prompts, as the server counts them.
        completion_tokens: tokens of answers.
        cost: by the given prices, in their currency; 0 without prices.
    """

    requests: int = 0
    responses: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0


class _Failure(Exception):
    """An exchange that failed in a way that may pass."""

    def __init__(self, line: str, retry_after: float = 0.0) -> None:
        super().__init__(line)
        self.retry_after = retry_after


class _Refused(Exception):
    """A request that the server will not take however often it is sent."""


class OpenAIEngine:
    """Engine behind an HTTP endpoint.

    Args:
        model: model name as the server knows it.
        sampling: sampling fields of every request.
        prompt_kind: `chat` asks `/chat/completions`, `completion` asks `/completions`.
        revision: what tells two models of one name apart; part of the identity, not sent.
        base_url: address up to and including the version, such as `http://localhost:8000/v1`.
        server: whose extensions the endpoint has. `openai` has none: only temperature, top-p,
            stop, seed and max_tokens exist there, and choices go as a JSON schema.
        concurrency: requests in flight.
        timeout: seconds that the server may be silent during one request.
        attempts: tries per request, at the least, before its completion is an error.
        patience: seconds for which it is tried, at the least: a server's restart loses nothing.
        api_key_env: name of the environment variable that holds the key; no key if None.
        prices: cost of a million tokens, `prompt` and `completion`.
        extra_body: further fields of every request; a field set to None is left out.
    """

    def __init__(
        self,
        model: str,
        sampling: Sampling,
        *,
        prompt_kind: PromptKind = "chat",
        revision: str | None = None,
        base_url: str,
        server: Server = "openai",
        concurrency: Annotated[int, Field(ge=1)] = 16,
        timeout: Annotated[float, Field(gt=0)] = 300.0,
        attempts: Annotated[int, Field(ge=1)] = 6,
        patience: Annotated[float, Field(ge=0)] = 180.0,
        api_key_env: str | None = None,
        prices: Mapping[str, float] | None = None,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        wire.check(server, sampling)
        self.model = model
        self.sampling = sampling
        self.prompt_kind = prompt_kind
        self.revision = revision
        self.base_url = base_url.rstrip("/")
        self.server = server
        self.concurrency = concurrency
        self.timeout = timeout
        self.attempts = attempts
        self.patience = patience
        self.api_key_env = api_key_env
        self.prices = dict(prices or {})
        self.extra_body = dict(extra_body or {})
        self.usage = Usage()
        self._key = ""
        self._unanswered = 0

    def identity(self) -> dict[str, Any]:
        """What changes an answer; two addresses of one model count as the same."""
        return {
            "engine": "openai",
            "model": self.model,
            "revision": self.revision,
            "server": self.server,
            "prompt_kind": self.prompt_kind,
            "sampling": self.sampling.as_json(),
            "extra_body": self.extra_body,
        }

    def __enter__(self) -> Self:
        """Look whether anybody answers.

        Raises:
            UserError: if nobody does, or the key is missing or refused.
        """
        import httpx

        self._key = self._read_key()
        self.usage = Usage()
        self._unanswered = 0
        try:
            with httpx.Client(headers=self._headers(), timeout=30.0) as client:
                answer = client.get(f"{self.base_url}/models")
        except (httpx.RequestError, httpx.InvalidURL, ValueError) as error:
            raise UserError(
                f"{self.base_url}: no answer ({type(error).__name__}): start the server, or mend "
                "options.base_url"
            ) from error
        self._check_access(answer.status_code)
        return self

    def __exit__(self, *exc: object) -> None:
        """Forget the key; log what was used."""
        self._key = ""
        logger.info("%s: %s", self.model, asdict(self.usage))

    def generate(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Yield the completions as they finish; `concurrency` requests are in flight.

        Raises:
            UserError: if the key is refused, or the server answers nothing any more.
        """
        from anyio.from_thread import start_blocking_portal

        done: queue.SimpleQueue[Completion | Exception | None] = queue.SimpleQueue()
        with start_blocking_portal() as portal:
            driver = portal.start_task_soon(self._drive, requests, done.put)
            try:
                while (item := done.get()) is not None:
                    if isinstance(item, Exception):
                        raise item
                    yield item
            finally:
                driver.cancel()

    async def _drive(
        self, requests: Sequence[Request], put: Callable[[Completion | Exception | None], None]
    ) -> None:
        """Work through the requests in the portal's thread; None comes last."""
        import anyio
        import httpx

        waiting = iter(requests)  # shared: every request is taken by one worker

        async def worker(client: httpx.AsyncClient) -> None:
            for request in waiting:
                put(await self._complete(client, request))

        limits = httpx.Limits(max_connections=self.concurrency)
        try:
            async with (
                httpx.AsyncClient(
                    headers=self._headers(), timeout=self.timeout, limits=limits
                ) as client,
                anyio.create_task_group() as group,
            ):
                for _ in repeat(None, min(self.concurrency, len(requests))):
                    group.start_soon(worker, client)
        except* Exception as failures:
            put(failures.exceptions[0])
        finally:
            put(None)

    async def _complete(self, client: Any, request: Request) -> Completion:
        retries = AsyncRetrying(
            retry=retry_if_exception_type(_Failure),
            stop=stop_after_attempt(self.attempts) & stop_after_delay(self.patience),
            wait=_wait,
            reraise=True,
        )
        try:
            return await retries(self._ask, client, request)
        except (_Failure, _Refused) as error:
            line = self._redacted(str(error))
            if isinstance(error, _Failure):
                self._count_unanswered(line)
            elif _TOO_LONG.search(line):
                return Completion(request.key, "", "prompt_too_long", error=line)
            return Completion(request.key, "", "error", error=line)

    def _count_unanswered(self, line: str) -> None:
        """One request that fails is an error of its own; many in a row are a server that is gone.

        Raises:
            UserError: in place of hours of waiting for each request that is left.
        """
        self._unanswered += 1
        if self._unanswered >= max(self.concurrency, LEAST_UNANSWERED):
            raise UserError(
                f"{self.base_url}: {self._unanswered} requests in a row were given up, each after "
                f"{self.attempts} tries and {self.patience:g} s or more (last: {line}). What "
                "finished is kept: look after the server and run again"
            )

    async def _ask(self, client: Any, request: Request) -> Completion:
        """One exchange.

        Raises:
            UserError: if the key or the address is wrong.
            _Failure: if it may work another time.
            _Refused: if it never will.
        """
        import httpx

        path = "/chat/completions" if self.prompt_kind == "chat" else "/completions"
        self.usage.requests += 1
        try:
            answer = await client.post(self.base_url + path, json=self._body(request))
        except httpx.RequestError as error:  # of the network, or of an answer packed wrongly
            raise _Failure(f"{type(error).__name__}: {error}") from error
        if answer.is_error:
            self._check_access(answer.status_code)
            # Without the key before it is cut, which could leave half of the key.
            said = self._redacted(" ".join(answer.text.split()))
            line = f"HTTP {answer.status_code}: {said[:300]}"
            if answer.status_code in _TRY_AGAIN or answer.is_server_error:
                raise _Failure(line, _retry_after(answer.headers.get("Retry-After", "")))
            raise _Refused(line)
        try:
            return self._taken(request, answer.json())
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise _Failure(f"unreadable answer: {type(error).__name__}: {error}") from error

    def _taken(self, request: Request, answer: Any) -> Completion:
        completion = wire.completion(request, answer, self.prompt_kind, self.server)
        completion = replace(completion, text=self._redacted(completion.text))
        self._unanswered = 0
        self.usage.responses += 1
        self.usage.prompt_tokens += completion.n_prompt_tokens
        self.usage.completion_tokens += completion.n_tokens
        self.usage.cost += completion.n_prompt_tokens * self.prices.get("prompt", 0.0) / 1e6
        self.usage.cost += completion.n_tokens * self.prices.get("completion", 0.0) / 1e6
        return completion

    def _body(self, request: Request) -> dict[str, Any]:
        body = {"model": self.model} | self.extra_body
        fields = wire.body(request, self.sampling, self.prompt_kind, self.server) | body
        return {name: value for name, value in fields.items() if value is not None}

    def _read_key(self) -> str:
        if self.api_key_env is None:
            return ""
        key = os.environ.get(self.api_key_env, "").strip()
        if not key:
            raise UserError(
                f"options.api_key_env: {self.api_key_env}: no such environment variable: "
                f"export {self.api_key_env} with the key of {self.base_url}"
            )
        if not (key.isascii() and key.isprintable()):
            raise UserError(
                f"options.api_key_env: {self.api_key_env}: holds characters that no key has: "
                "export it again"
            )
        return key

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def _redacted(self, line: str) -> str:
        """Servers like to quote the key that they refuse."""
        return line.replace(self._key, "[key]") if self._key else line

    def _check_access(self, status: int) -> None:
        if status in (401, 403):
            name = self.api_key_env or "none given"
            raise UserError(
                f"{self.base_url}: key refused (HTTP {status}; options.api_key_env: {name}): "
                "export a key that is valid there"
            )


_backoff = wait_random_exponential(multiplier=0.5, max=30.0)


def _wait(state: RetryCallState) -> float:
    """Back off, but never less than the server asks for."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, _Failure) else 0.0
    return min(max(asked, _backoff(state)), LONGEST_WAIT)


def _retry_after(header: str) -> float:
    """Seconds of a Retry-After header, which may be a number or a date; 0 if it is neither."""
    if re.fullmatch(r"[0-9]+", header.strip()):
        return float(header)
    try:
        until = parsedate_to_datetime(header)
        return max(0.0, (until - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):  # TypeError: of a date without a time zone
        return 0.0
