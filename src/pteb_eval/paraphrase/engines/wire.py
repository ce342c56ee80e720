"""OpenAI's protocol and the dialects of its servers: what goes into a request, what comes back."""

import json
from collections.abc import Sequence
from typing import Any, Literal

from pteb_eval.errors import UserError
from pteb_eval.paraphrase.engines import Completion, PromptKind, Request, Sampling
from pteb_eval.paraphrase.engines.llamacpp import choices_grammar, sampling_body

Server = Literal["openai", "vllm", "llamacpp"]
_EXTENSIONS = {"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}


def check(server: Server, sampling: Sampling) -> None:
    """Refuse sampling that the plain protocol cannot say and a server would silently ignore.

    Raises:
        UserError: naming the field.
    """
    if server not in ("openai", "vllm", "llamacpp"):
        raise UserError(f"options.server: {server}: unknown; choose openai, vllm or llamacpp")
    for name, neutral in _EXTENSIONS.items():
        value = getattr(sampling, name)
        if server == "openai" and value != neutral:
            raise UserError(
                f"sampling.{name}: {value}: not in OpenAI's protocol: set it to {neutral}, or say "
                "whose extensions the endpoint has in options.server: vllm or llamacpp"
            )


def body(
    request: Request, sampling: Sampling, prompt_kind: PromptKind, server: Server
) -> dict[str, Any]:
    """The fields of a request but for the model's name; every sampling field is explicit."""
    fields = _sampling_fields(server, sampling) | {"seed": request.seed}
    if prompt_kind == "chat":
        fields["messages"] = [{"role": "user", "content": request.prompt}]
    else:
        fields["prompt"] = request.prompt
    if request.choices is not None:
        fields |= _choice_fields(server, request.choices)
    return fields


def completion(
    request: Request, answer: Any, prompt_kind: PromptKind, server: Server
) -> Completion:
    """The completion in a response.

    Raises:
        ValueError, LookupError, TypeError: if the response is not one of the protocol.
    """
    choice, usage = answer["choices"][0], answer.get("usage")
    text = (choice["message"]["content"] if prompt_kind == "chat" else choice["text"]) or ""
    if not isinstance(text, str):
        raise TypeError(f"a {type(text).__name__} in place of a text")
    if text and request.choices is not None and server == "openai":
        text = str(json.loads(text)["answer"])
    return Completion(
        request.key,
        text,
        "length" if choice["finish_reason"] == "length" else "stop",
        _count(usage, "prompt_tokens"),
        _count(usage, "completion_tokens"),
    )


def _count(usage: Any, name: str) -> int:
    """Tokens as the server counts them; 0 where it does not."""
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and 0 <= count < 2**31 else 0


def _sampling_fields(server: Server, sampling: Sampling) -> dict[str, Any]:
    if server == "llamacpp":
        return sampling_body(sampling)
    fields = sampling.as_json()
    if server == "openai":
        fields = {name: fields[name] for name in fields.keys() - _EXTENSIONS.keys()}
    if not fields["stop"]:
        del fields["stop"]
    return fields | {"presence_penalty": 0.0, "frequency_penalty": 0.0}


def _choice_fields(server: Server, choices: Sequence[str]) -> dict[str, Any]:
    if server == "llamacpp":
        return {"grammar": choices_grammar(choices)}
    if server == "vllm":
        return {"structured_outputs": {"choice": list(choices)}}
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": list(choices)}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    json_schema = {"name": "answer", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": json_schema}}
