"""Prompt files: what they may say, and the prompt that an engine is given."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pteb_eval.errors import UserError
from pteb_eval.paraphrase.prompts import Prompt, load_prompt

PROMPTS = Path(__file__).parents[2] / "resources" / "prompts"
PLAIN = {"name": "p", "version": 1, "kind": "chat", "template": "Say again in {language}: {text}"}


def prompt(**changes):
    return Prompt.model_validate({**PLAIN, **changes})


def test_text_and_language_take_their_places():
    assert prompt().render("Hello.", "German") == "Say again in German: Hello."


def test_an_unknown_language_is_put_in_words():
    assert prompt().render("Hello.") == "Say again in the language of the text: Hello."


def test_braces_are_ordinary_characters():
    shown = prompt(template='{"a": {0}} {text} {b} {{c}}').render("x")
    assert shown == '{"a": {0}} x {b} {{c}}'


def test_a_text_with_placeholders_in_it_stays_as_it_is():
    text = "{text} and {language} and {0}"
    assert prompt().render(text, "German") == f"Say again in German: {text}"


def test_the_language_may_stand_on_both_sides_of_the_text():
    both = prompt(template="{language}: {text} ({language})")
    assert both.render("x", "French") == "French: x (French)"


@settings(max_examples=50, deadline=None)
@given(st.text(), st.text())
def test_different_texts_give_different_prompts(first, second):
    """Else two texts would share an answer in the cache."""
    rendered = [prompt().render(text, "German") for text in (first, second)]
    assert (rendered[0] == rendered[1]) == (first == second)
    assert rendered[0].endswith(first)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"template": "Say it again in {language}: {text}"}, False),
        ({"kind": "completion"}, False),
        ({"stop": ["\n"]}, False),
        ({"name": "q"}, True),
        ({"version": 2}, True),
    ],
)
def test_the_digest_holds_what_changes_an_answer(change, same):
    assert (prompt(**change).digest == prompt().digest) == same


def load(path, content):
    path.write_text(yaml.safe_dump(content))
    return load_prompt(path)


def test_a_prompt_file_is_read(tmp_path):
    assert load(tmp_path / "p.yaml", {**PLAIN, "stop": ["\n"]}) == prompt(stop=("\n",))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"template": "Say again."}, "template: .*must contain {text}"),
        ({"kind": "system"}, "kind: "),
        ({"version": "new"}, "version: "),
        ({"temperature": 1}, "temperature: "),
        ({"stop": "\n"}, "stop: "),
    ],
)
def test_a_mistake_in_a_prompt_file_is_one_line_with_its_key(tmp_path, change, message):
    path = tmp_path / "p.yaml"
    with pytest.raises(UserError, match=message) as caught:
        load(path, {**PLAIN, **change})
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_prompt(tmp_path):
    path = tmp_path / "p.yaml"
    with pytest.raises(UserError, match=r"no such prompt file \(key `prompts` of a generator\)"):
        load_prompt(path)
    path.write_text("template: [")
    with pytest.raises(UserError, match="cannot be read as YAML"):
        load_prompt(path)
    with pytest.raises(UserError, match="content: "):
        load(path, ["a", "list"])


def test_the_prompts_of_this_repository():
    found = {path.stem: load_prompt(path) for path in sorted(PROMPTS.glob("*.yaml"))
             if not path.stem.startswith("judge_")}  # fmt: skip
    assert {"paraphrase_chat", "paraphrase_completion"} <= found.keys()
    assert all(name == loaded.name for name, loaded in found.items())
    examples = found["paraphrase_completion"]
    assert (examples.kind, examples.stop) == ("completion", ("\n",))
    shown = examples.render("It rains.")
    assert shown.count("Sentence:") == 4
    assert shown.endswith("Sentence: It rains.\nParaphrase:")
