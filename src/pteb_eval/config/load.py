"""Read a configuration file; every mistake becomes one line that names the key."""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from pteb_eval.config.read import check_values, read_yaml, shown
from pteb_eval.config.schema import Config
from pteb_eval.errors import UserError

_LARGEST = 100_000  # characters; Linux takes 131,072 bytes in one argument
# Parts of a place that are no keys: which kind of entry, or of value, was meant.
_KIND = re.compile(r"<\w+>|constrained-\w+|literal\[.*\]|function-\w+\[.*\]|list\[.*\]")


def load_config(path: Path) -> Config:
    """Read and check a YAML configuration.

    Raises:
        UserError: if the file is missing, is no YAML mapping, or says something unknown or wrong.
    """
    content = read_yaml(path, "no such configuration file")
    if not isinstance(content, dict):
        raise UserError(f"{path}: must be a mapping of keys to values, see config/README.md")
    return parse_config(content, str(path))


def parse_config(content: Mapping[str, Any], source: str) -> Config:
    """Check a configuration that was read already.

    Raises:
        UserError: naming `source`, the key, the value and what is expected.
    """
    check_values(content, source)
    try:
        config = Config.model_validate(content)
    except ValidationError as error:
        raise UserError(f"{source}: {_first_line(error)}") from None
    size = len(config.model_dump_json())
    if size > _LARGEST:
        raise UserError(
            f"{source}: {size} characters with all defaults; jobs get their settings on the "
            f"command line, which holds {_LARGEST}: split it into several configurations"
        )
    return config


def _first_line(error: ValidationError) -> str:
    """The first mistake, unknown keys first: they often cause the others."""
    mistakes = sorted(error.errors(), key=lambda mistake: mistake["type"] != "extra_forbidden")
    mistake = mistakes[0]
    parts = [str(part) for part in mistake["loc"] if not _KIND.fullmatch(str(part))]
    key = shown(".".join(parts))
    more = f" (and {len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
    if mistake["type"] == "extra_forbidden":
        return f"unknown key '{key}'{_near_match(str(mistake['loc'][-1]))}{more}"
    if mistake["type"] == "missing":
        return f"key '{key}' is missing{more}"
    message = " ".join(mistake["msg"].removeprefix("Value error, ").split())
    value = mistake["input"]
    given = "" if isinstance(value, Mapping) else f" (value {str(value)[:80]!r})"
    return f"{key + ': ' if key else ''}{message}{given}{more}"


def _near_match(key: str) -> str:
    near = get_close_matches(key, _all_keys(Config), n=1)
    return f": did you mean {near[0]!r}?" if near else "; see config/README.md for the keys"


def _all_keys(model: type[BaseModel]) -> set[str]:
    keys = set(model.model_fields)
    for field in model.model_fields.values():
        for nested in _models_in(field.annotation):
            keys |= _all_keys(nested)
    return keys


def _models_in(annotation: Any) -> Iterable[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)
