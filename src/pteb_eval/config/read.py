"""YAML as people write it: what it may hold, and one line for whatever else is in a file."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from pteb_eval.errors import UserError

MOST_VALUES, DEEPEST, LONGEST = 50_000, 50, 20_000
_BIGGEST = 2**63  # what files and other programs hold of a whole number


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, but a key that stands twice is a mistake and not the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(
                    problem=f"key {key.value!r} stands there twice", problem_mark=key.start_mark
                )
            if isinstance(key.value, str):
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path, missing: str) -> Any:
    """The content of a YAML file, checked by `check_values`.

    Args:
        path: the file.
        missing: what to say if it is not there.

    Raises:
        UserError: if it cannot be read, is no YAML, or holds what no configuration can.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8-sig"), _Loader)
    except FileNotFoundError:
        raise UserError(f"{path}: {missing}") from None
    except Exception as error:  # PyYAML's parts raise what odd scalars and deep nesting make them
        line = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{path}: cannot be read as YAML: {line[:300]}") from None
    check_values(content, str(path))
    return content


def check_values(content: Any, source: str) -> None:
    """Refuse what YAML can say, but neither JSON nor a command line, on which settings travel.

    Aliases are counted wherever they stand, so that a few lines cannot unfold to millions.

    Raises:
        UserError: naming `source` and the key.
    """
    waiting: list[tuple[tuple[str, ...], Any]] = [((), content)]
    n_values = 0
    while waiting:
        place, value = waiting.pop()
        n_values += 1 + (len(value) // 100 if isinstance(value, str) else 0)
        if n_values > MOST_VALUES:
            raise UserError(f"{source}: over {MOST_VALUES} values: a list or an alias is too much")
        fault = _fault(value) or ("nested too deep" if len(place) > DEEPEST else "")
        if fault:
            raise UserError(f"{source}: {shown('.'.join(place)) or 'content'}: {fault}")
        waiting += [((*place, key), part) for key, part in _parts(value)]


def shown(text: str) -> str:
    """A key or value in at most 80 characters of one line, whatever is in it."""
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= 80 else text[:79] + "…"


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((str(key), part) for key, part in value.items())
    elif isinstance(value, list | tuple):
        yield from ((str(number), part) for number, part in enumerate(value))


def _fault(value: Any) -> str:
    """What is wrong with a value itself; empty if nothing is."""
    if isinstance(value, Mapping):
        faults = (_fault(key) or _no_key(key) for key in value)
        return next((f"one of its keys {fault}" for fault in faults if fault), "")
    if isinstance(value, str):
        return _fault_of_text(value)
    if isinstance(value, int | float):
        return "" if abs(value) < _BIGGEST else "is too large a number, or none"
    if value is None or isinstance(value, list | tuple):
        return ""
    return f"is a {type(value).__name__}, which no key takes: put it in quotes"


def _no_key(key: Any) -> str:
    return "" if isinstance(key, str) else f"is no text ({shown(str(key))}): put it in quotes"


def _fault_of_text(text: str) -> str:
    if "\0" in text or re.search(r"[\ud800-\udfff]", text):
        return "holds a NUL or half a surrogate pair, which no file name or command line can"
    return f"is longer than {LONGEST} characters" if len(text) > LONGEST else ""
