"""Write the configuration's page, `config/README.md`, and its JSON schema, `config/schema.json`.

Both come from the schema and the docstrings. Run `python -m pteb_eval.config.document` in the
repository after a change there; a test fails until then.
"""

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from pteb_eval.config.schema import Config
from pteb_eval.paraphrase.engines.load import _ADAPTERS, _COMMON
from pteb_eval.paraphrase.prompts import JudgePrompt, Prompt
from pteb_eval.store import write_text

FOLDER = Path("config")

_INTRO = """\
# Configuration

<!-- Made by `python -m pteb_eval.config.document` from the code's docstrings: edit those. -->

One YAML file describes one run: `snakemake --cores N --configfile my.yaml`, or
`pteb-eval run my.yaml`. In this folder: `demo.yaml`, the default; `own_sts.yaml`, your own sentence
pairs and your own model, with comments; `judge.yaml`, judges and what they are checked against;
`schema.json`, which lets an editor complete and check keys
(`# yaml-language-server: $schema=schema.json` in the first line of a file beside it).

- A key that is not listed here is an error that names the nearest key.
- `null` is the same as leaving a key out, where null is possible.
- Paths start at the folder in which the workflow runs.
- A *name* has letters, digits, dots, dashes and underscores, and begins with a letter or digit; a
  model's name may have slashes.
- Of `tasks`, `models` and `validate_judge`, an entry that says nothing but a name can be that name:
  `tasks: [STSBenchmark]`.
"""


class _Documented(GenerateJsonSchema):
    """Takes descriptions from the sections of the docstrings, and leaves the keys' titles out."""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        made = super().model_schema(schema)
        made["description"] = _summary(schema["cls"])
        texts = attributes(schema["cls"])
        for key, described in made["properties"].items():
            described["description"] = texts[key]
        return made

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def attributes(model: type) -> dict[str, str]:
    """What the docstrings of a class and its parents say of each attribute, a line each."""
    texts: dict[str, str] = {}
    for parent in reversed(model.__mro__):
        texts |= _section(parent, "Attributes")
    return texts


def json_schema() -> dict[str, Any]:
    """The JSON schema of a configuration; bare names of tasks and models are allowed for."""
    made = Config.model_json_schema(schema_generator=_Documented)
    for key in ("tasks", "models", "validate_judge"):
        entry = made["properties"][key]
        entry["items"] = {"anyOf": [{"type": "string"}, entry["items"]]}
    return made


def readme() -> str:
    """The page that lists every key."""
    schema = json_schema()
    models = schema["$defs"]
    parts = [_INTRO, "## Top level\n", _key_table(schema)]
    for name in dict.fromkeys(_references(schema, models)):
        parts += [f"## {name}\n", models[name]["description"] + "\n", _key_table(models[name])]
        if name == "Generator":
            parts += list(_option_tables())
    prompt = Prompt.model_json_schema(schema_generator=_Documented)
    parts += ["## Prompt files\n", _PROMPT, _key_table(prompt)]
    prompt = JudgePrompt.model_json_schema(schema_generator=_Documented)
    parts += ["## Prompt files of judges\n", _JUDGE_PROMPT, _key_table(prompt)]
    return "\n".join(parts)


_PROMPT = """\
Each of a generator's `prompts` is a YAML file with these keys; some are in `resources/prompts`. All
prompts of a chain have the same `kind` and `stop`.
"""


_JUDGE_PROMPT = """\
A judge's `prompt` is a YAML file with these keys; `judge_chat.yaml` and `judge_completion.yaml` are
in `resources/prompts`.
"""


def main() -> None:
    """Write both files into `config`."""
    write_text(
        FOLDER / "schema.json", json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    )
    write_text(FOLDER / "README.md", readme())


def _summary(documented: type) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join(inspect.cleandoc(documented.__doc__ or "").split("\n\n")[0].split())


def _section(documented: Any, heading: str) -> dict[str, str]:
    """Entries of a section of a Google docstring, each on one line."""
    _, _, rest = inspect.cleandoc(documented.__doc__ or "").partition(f"\n{heading}:\n")
    section = re.split(r"\n(?=\S)", rest, maxsplit=1)[0]
    entries = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", section, re.MULTILINE)
    return {name: re.sub(r"\bNone\b", "null", " ".join(text.split())) for name, text in entries}


def _references(node: Any, models: Mapping[str, Any]) -> Iterator[str]:
    """Names of the models below a node, each followed by those within it."""
    if isinstance(node, dict):
        if "$ref" in node:
            name = node["$ref"].rpartition("/")[2]
            yield name
            yield from _references(models[name], models)
        node = [value for key, value in node.items() if key != "$defs"]
    if isinstance(node, list):
        for value in node:
            yield from _references(value, models)


def _key_table(model: Mapping[str, Any]) -> str:
    required = model.get("required", [])
    rows = [
        (
            f"`{key}`",
            _type(described),
            "required" if key in required else _default(described.get("default")),
            described["description"],
        )
        for key, described in model["properties"].items()
    ]
    return _table(("Key", "Type", "Default", "Meaning"), rows)


def _option_tables() -> Iterator[str]:
    """The keys of `options`, which are keyword arguments of each engine's adapter."""
    for engine, name in _ADAPTERS.items():
        adapter = getattr(import_module(f"pteb_eval.paraphrase.engines.{engine}"), name)
        texts = _section(adapter, "Args")
        rows = [
            (
                f"`{key}`",
                "required" if value.default is value.empty else _default(value.default),
                texts[key],
            )
            for key, value in inspect.signature(adapter).parameters.items()
            if value.kind is value.KEYWORD_ONLY and key not in _COMMON
        ]
        yield f"### `options` of engine `{engine}`\n"
        yield _table(("Key", "Default", "Meaning"), rows)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines
    )


def _type(described: Mapping[str, Any]) -> str:
    """A JSON schema's type in words, with links to the models' sections."""
    if "$ref" in described:
        name = described["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for key in ("anyOf", "oneOf"):
        if key in described:
            kinds = [_type(part) for part in described[key] if part.get("type") != "null"]
            return " or ".join(kinds)
    if "enum" in described:
        return ", ".join(f"`{value}`" for value in described["enum"])
    if "const" in described:
        return f"`{described['const']}`"
    return _plain_type(described)


def _plain_type(described: Mapping[str, Any]) -> str:
    kind = described.get("type")
    if kind == "array":
        return f"list of {_type(described['items'])}"
    if kind == "object":
        values = described.get("additionalProperties")
        return f"mapping to {_type(values)}" if isinstance(values, dict) else "mapping"
    if kind == "string":
        is_name = described.get("pattern", "").startswith("^[A-Za-z0-9]")
        return "name" if is_name else described.get("format", "text")
    bounds = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    limits = [f"{sign} {described[key]:g}" for key, sign in bounds.items() if key in described]
    words = {"boolean": "true or false", "integer": "whole number", "number": "number"}
    return " ".join([words[str(kind)], ", ".join(limits)]).strip()


def _default(value: Any) -> str:
    """A default as YAML has it; defaults that are models stand in their own tables."""
    if isinstance(value, dict) and value:
        return "as below"
    return f"`{json.dumps(value, ensure_ascii=False)}`"


if __name__ == "__main__":
    main()
