"""From settings to an engine; only the adapter that is asked for is imported."""

import inspect
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from pteb_eval.errors import UserError
from pteb_eval.paraphrase.engines import Engine, Sampling
from pteb_eval.paraphrase.engines.gguf_folder import folder_name, gguf_to_folder
from pteb_eval.paraphrase.engines.packaged import (
    gguf_from_package,
    is_installed,
    is_package_name,
    package_digest,
)

_ADAPTERS = {"llamacpp": "LlamaCppEngine", "openai": "OpenAIEngine", "vllm": "VllmEngine"}
_COMMON = {"prompt_kind", "revision", "digest"}  # given by this module


def load_engine(settings: Mapping[str, Any], *, cache_dir: Path) -> Engine:
    """Build an engine, without loading or connecting to its model: entering it does that.

    Args:
        settings: `engine` (llamacpp, openai or vllm), `model` (name of an installed package, path,
            or model name), `revision` (or None), `prompt_kind` (chat or completion), `sampling`
            (fields of `Sampling`) and `options` (the adapter's own, such as `parallel`).
        cache_dir: where a packaged model is put together.

    Raises:
        UserError: on an unknown engine, option or sampling field, or a model that is not there.
    """
    if not _is_packaged(settings):
        return _build(settings, settings["model"])
    path = gguf_from_package(settings["model"], cache_dir)
    if settings["engine"] == "vllm":
        path = gguf_to_folder(path, cache_dir / folder_name(path))
    return _build(settings, str(path), digest=package_digest(settings["model"]))


def engine_identity(settings: Mapping[str, Any]) -> dict[str, Any]:
    """`identity()` of the engine that `load_engine` would build; nothing is loaded or written.

    Raises:
        UserError: as `load_engine`.
    """
    digest = package_digest(settings["model"]) if _is_packaged(settings) else None
    return _build(settings, settings["model"], digest=digest).identity()


class OnDemand:
    """An engine that is loaded only when something must be asked, and let go at the end.

    Args:
        settings: as of `load_engine`.
        cache: the cache folder, in which packaged models are put together.

    Raises:
        UserError: as `load_engine`.
    """

    def __init__(self, settings: Mapping[str, Any], cache: Path) -> None:
        self.identity = engine_identity(settings)
        self._settings, self._cache_dir = settings, cache / "models"
        self._stack = ExitStack()
        self._engine: Engine | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def open(self) -> Engine:
        """The engine, loaded."""
        if self._engine is None:
            engine = load_engine(self._settings, cache_dir=self._cache_dir)
            self._engine = self._stack.enter_context(engine)
        return self._engine


def _build(settings: Mapping[str, Any], model: str, digest: str | None = None) -> Engine:
    engine, adapter = _adapter(settings)
    given = {"prompt_kind": settings["prompt_kind"], **_options(settings, adapter)}
    if engine != "llamacpp":
        given["revision"] = settings.get("revision")
    if digest is not None:
        given["digest"] = digest
    built: Engine = adapter(
        Path(model) if engine == "llamacpp" else model, _sampling(settings), **given
    )
    return built


def _is_packaged(settings: Mapping[str, Any]) -> bool:
    """Whether the model comes inside a package: llama.cpp knows no other names, vLLM the hub's."""
    engine, model = settings["engine"], settings["model"]
    return is_package_name(model) and (
        engine == "llamacpp" or (engine == "vllm" and is_installed(model))
    )


def _adapter(settings: Mapping[str, Any]) -> tuple[str, Any]:
    engine = settings["engine"]
    if engine not in _ADAPTERS:
        raise UserError(f"engine: {engine}: unknown; choose one of {', '.join(_ADAPTERS)}")
    module = import_module(f"pteb_eval.paraphrase.engines.{engine}")
    return engine, getattr(module, _ADAPTERS[engine])


def _sampling(settings: Mapping[str, Any]) -> Sampling:
    given = dict(settings.get("sampling") or {})
    _check_names(given, [field.name for field in fields(Sampling)], "sampling")
    if "stop" in given:
        given["stop"] = tuple(given["stop"])
    return Sampling(**given)


def _options(settings: Mapping[str, Any], adapter: Any) -> dict[str, Any]:
    """The adapter's own options: what its constructor takes by keyword."""
    given = dict(settings.get("options") or {})
    what = f"options of engine {settings['engine']}"
    own = {
        name: parameter
        for name, parameter in inspect.signature(adapter).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name not in _COMMON
    }
    _check_names(given, list(own), what)
    for name, parameter in own.items():
        if name in given:
            given[name] = _checked(given[name], parameter.annotation, f"{what}: {name}")
        elif parameter.default is parameter.empty:
            raise UserError(f"{what}: {name}: missing, and it has no default")
    return given


def _checked(value: Any, annotation: Any, what: str) -> Any:
    """An option's value, of the type that its adapter declares."""
    try:
        return TypeAdapter(annotation).validate_python(value)
    except ValidationError as error:
        raise UserError(f"{what}: {error.errors()[0]['msg']} (value {str(value)[:80]!r})") from None


def _check_names(given: Mapping[str, Any], known: list[str], what: str) -> None:
    for name in given:
        if name not in known:
            raise UserError(f"{what}: {name}: unknown; choose from {', '.join(known)}")
