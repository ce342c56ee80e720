"""Prompt files: a named, versioned template for one step of a generator, or for a judge."""

from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from pteb_eval.config.read import read_yaml, shown
from pteb_eval.errors import UserError
from pteb_eval.ids import digest


class _Template(BaseModel):
    """What all prompts have.

    Attributes:
        name: name shown in reports.
        version: raised whenever the wording changes.
        kind: `chat` (sent as one user turn) or `completion` (continued as it stands).
        template: the prompt.
        stop: strings that end an answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    version: int
    kind: Literal["chat", "completion"]
    template: str
    stop: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of everything in the prompt that can change an answer."""
        return digest([self.kind, self.template, list(self.stop)])


class Prompt(_Template):
    """One prompt.

    Attributes:
        template: the prompt, with `{text}` where the text goes and `{language}` where the name of
            its language goes; other braces are ordinary characters.
        same_language: whether the answer is in the language of the text; not so in the first step
            of a back-translation.
    """

    same_language: bool = True

    @field_validator("template")
    @classmethod
    def _has_text(cls, template: str) -> str:
        if "{text}" not in template:
            raise ValueError("must contain {text} where the text goes")
        return template

    def render(self, text: str, language: str = "") -> str:
        """The prompt for one text."""
        before, after = self.template.split("{text}", 1)
        fill = language or "the language of the text"
        return before.replace("{language}", fill) + text + after.replace("{language}", fill)


class JudgePrompt(_Template):
    """The prompt of a judge.

    Attributes:
        template: the prompt, with `{first}` and `{second}`, in this order, where the two texts go;
            other braces are ordinary characters.
    """

    @field_validator("template")
    @classmethod
    def _has_both(cls, template: str) -> str:
        if not 0 <= template.find("{first}") < template.find("{second}"):
            raise ValueError("must contain {first} and after it {second} where the texts go")
        return template

    def render(self, first: str, second: str) -> str:
        """The prompt for one pair."""
        before, rest = self.template.split("{first}", 1)
        between, after = rest.split("{second}", 1)
        return before + first + between + second + after


AnyPrompt = TypeVar("AnyPrompt", Prompt, JudgePrompt)


def load_prompt(path: Path) -> Prompt:
    """Read a prompt file of a generator.

    Raises:
        UserError: if it is missing or not a prompt.
    """
    return _load(path, Prompt, "`prompts` of a generator")


def load_judge_prompt(path: Path) -> JudgePrompt:
    """Read a prompt file of a judge.

    Raises:
        UserError: if it is missing or not a prompt.
    """
    return _load(path, JudgePrompt, "`prompt` of a judge")


def _load(path: Path, kind: type[AnyPrompt], key: str) -> AnyPrompt:
    content = read_yaml(path, f"no such prompt file (key {key})")
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        mistake = error.errors()[0]
        key = shown(".".join(map(str, mistake["loc"]))) or "content"
        raise UserError(f"{path}: {key}: {mistake['msg']}") from None
