"""Prompt files: a named, versioned template for one step of a generator."""

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from pteb_eval.errors import UserError
from pteb_eval.ids import digest


class Prompt(BaseModel):
    """One prompt.

    Attributes:
        name: name shown in reports.
        version: raised whenever the wording changes.
        kind: `chat` (sent as one user turn) or `completion` (continued as it stands).
        template: the prompt, with `{text}` where the text goes and `{language}` where the name of
            its language goes; other braces are ordinary characters.
        stop: strings that end an answer.
        same_language: whether the answer is in the language of the text; not so in the first step
            of a back-translation.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    version: int
    kind: Literal["chat", "completion"]
    template: str
    stop: tuple[str, ...] = ()
    same_language: bool = True

    @field_validator("template")
    @classmethod
    def _has_text(cls, template: str) -> str:
        if "{text}" not in template:
            raise ValueError("must contain {text} where the text goes")
        return template

    @property
    def digest(self) -> str:
        """SHA-256 of everything in the prompt that can change an answer."""
        return digest([self.kind, self.template, list(self.stop)])

    def render(self, text: str, language: str = "") -> str:
        """The prompt for one text."""
        before, after = self.template.split("{text}", 1)
        fill = language or "the language of the text"
        return before.replace("{language}", fill) + text + after.replace("{language}", fill)


def load_prompt(path: Path) -> Prompt:
    """Read a prompt file.

    Raises:
        UserError: if it is missing or not a prompt.
    """
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such prompt file (key `prompts` of a generator)") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{path}: cannot be read as YAML: {' '.join(str(error).split())}") from None
    try:
        return Prompt.model_validate(content)
    except ValidationError as error:
        mistake = error.errors()[0]
        key = ".".join(map(str, mistake["loc"])) or "content"
        raise UserError(f"{path}: {key}: {mistake['msg']}") from None
