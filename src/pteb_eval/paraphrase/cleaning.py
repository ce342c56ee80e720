"""From an LLM's raw answer to the bare paraphrase, and whether it can be used.

`clean` takes off what LLMs habitually put around an answer, outermost first, until nothing changes:

1. thinking blocks (`<think>…</think>`), channel marks and end-of-turn tokens;
2. lead-ins ("Sure! Here is a paraphrase:") and labels ("Paraphrase:", "**Umformulierung:**");
3. afterthoughts in paragraphs of their own ("Note: …", "Let me know if …", "Or: …");
4. all but the first of several alternatives (lists, "Option 1: …");
5. markdown (fences, quotes, headings, bold, an answer all in italics) and quotation marks around
   the whole.

A habit that the original has itself is left alone. A reader who doubts a rule finds the raw answer
in the paraphrases file. Whoever changes a rule raises `CLEANING_VERSION`.
"""

import re
from collections.abc import Iterable
from typing import Literal

from pteb_eval.paraphrase.engines import FinishReason
from pteb_eval.paraphrase.language import changed
from pteb_eval.paraphrase.phrases import (
    AFTERTHOUGHTS,
    ALTERNATIVES,
    OPENINGS,
    REFUSALS,
    REWORDINGS,
)

CLEANING_VERSION = 1

Status = Literal["ok", "empty", "refusal", "too_long", "language_changed", "engine_error"]

_TOO_LONG = 5  # times the original, as in the published protocol
_MOST_LAYERS = 100  # an LLM caught in a loop repeats a label a thousand times
_SHORT = 30  # characters; originals shorter than this count as this long
_FLAGS = re.IGNORECASE | re.MULTILINE
_COLON = r"\s*[:：][*_]{0,3}\s*"


def _any(fragments: Iterable[str]) -> str:
    return "(?:" + "|".join(fragments) + ")"


# At a colon: an opening and a name of the thing in one line, or a line of an opening by itself.
_LEAD_IN = re.compile(
    rf"\A{_any(OPENINGS)}(?:[^\n:：]{{0,80}}?{_any(REWORDINGS)}[^\n:：]{{0,80}}{_COLON}"
    r"|[^\n]{0,120}[:：][*_]{0,3}[ \t]*\n\s*)",
    _FLAGS,
)
_LABEL = re.compile(
    rf"\A[*_#\s]{{0,5}}\[?{_any(REWORDINGS)}"
    r"(?:\s+(?:text|version|sentence|satz|texte?|frase|phrase|текст|вариант)\w*)?"
    rf"\s*\d{{0,2}}\]?\s*[*_]{{0,3}}{_COLON}",
    _FLAGS,
)
# A paragraph break is tried once, from its start, and never taken back: some LLMs end in a thousand
# newlines, which a pattern that may try every division of them does not get through.
_AFTERTHOUGHT = re.compile(
    rf"(?<!\s)[^\S\n]*+\n[^\S\n]*+\n\s*+[(\[*_]{{0,4}}{_any(AFTERTHOUGHTS)}.*\Z", _FLAGS | re.DOTALL
)
_NAMED = (
    rf"[*_]{{0,3}}{_any(ALTERNATIVES)} ?\d{{1,2}}(?: *\([^)\n]*\))?[*_]{{0,3}}[:.)：][*_]{{0,3}}"
)
_ITEM = re.compile(rf"^[ \t]*(?:{_NAMED}|\*{{0,2}}\d{{1,2}}[.)]|[-•‣·*])\s+", _FLAGS)
_ORDINAL = re.compile(r"\A\s*\*{0,2}\d")
_REFUSAL = re.compile(rf"\A\W*+{_any(REFUSALS)}", _FLAGS)
_THINKING = re.compile(
    r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)|\A.*</(?:think|thinking|reasoning)>",
    re.IGNORECASE | re.DOTALL,
)
_CHANNEL = re.compile(r"\A.*<\|channel\|>final<\|message\|>", re.DOTALL)
_TOKENS = re.compile(
    r"<(?:bos|eos|pad|unk|s|/s|start_of_turn|end_of_turn)>"
    r"|<\|(?:im_start|im_end|endoftext|eot_id|end|return|begin_of_text|end_of_text)\|>"
)
_FENCE = re.compile(r"\A(`{3,}|~{3,})\w*\n(.*?)\n?\1\Z", re.DOTALL)
_BOLD = re.compile(r"(?<![*\w])\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*(?![*\w])")
_ITALIC = re.compile(r"\A([*_])(?=[^\s*_])([^*_]+)(?<=\S)\1\Z")
_HEADING = re.compile(r"\A#{1,6} +(?=\S)")
_QUOTES = {
    '"': '"', "'": "'", "`": "`", "“": "”", "”": "”", "„": "“”", "‚": "‘’", "‘": "’", "«": "»",
    "»": "«", "‹": "›", "「": "」", "『": "』", "《": "》",
}  # fmt: skip


def clean(raw: str, original: str = "") -> str:
    """The bare paraphrase in a raw answer; empty where there is none.

    Args:
        raw: the answer as the LLM gave it.
        original: the text that was to be reworded, if at hand: marks that it has itself (quotation
            marks around it, a label, a list, markdown) are kept in the answer.
    """
    text, original = raw, original.strip()
    for pattern in (_THINKING, _CHANNEL, _TOKENS):
        if not pattern.search(original):
            text = pattern.sub("", text)
    text = text.strip()
    for _ in range(_MOST_LAYERS):
        peeled = _peel(text, original).strip()
        if peeled == text:
            break
        text = peeled
    return text


def status_of(
    original: str, cleaned: str, finish_reason: FinishReason, *, same_language: bool = True
) -> Status:
    """Whether an answer can stand for the original, and if not why.

    Args:
        original: the text that was to be reworded.
        cleaned: `clean` of the answer.
        finish_reason: how the answer ended.
        same_language: whether the answer must be in the original's language; false for the first
            step of a back-translation.

    Returns:
        `ok`; `engine_error`; `too_long` (prompt did not fit, answer cut at `max_tokens`, or more
        than five times as long as the original, which counts as at least 30 characters); `empty`
        (no letter or digit, though the original has one); `refusal`; `language_changed` (both
        languages are clear and differ).
    """
    cut = finish_reason in ("length", "prompt_too_long")
    faults: list[tuple[Status, bool]] = [
        ("engine_error", finish_reason == "error"),
        ("too_long", cut or len(cleaned) > _TOO_LONG * max(len(original), _SHORT)),
        ("empty", not cleaned or (_has_word(original) and not _has_word(cleaned))),
        ("refusal", bool(_REFUSAL.match(cleaned)) and not _REFUSAL.match(original)),
        ("language_changed", same_language and changed(original, cleaned)),
    ]
    return next((status for status, found in faults if found), "ok")


def _peel(text: str, original: str) -> str:
    """Take off one layer of each kind."""
    for pattern in (_LEAD_IN, _LABEL):
        if not pattern.match(original):
            text = pattern.sub("", text, count=1)
    if not _AFTERTHOUGHT.search(original):
        text = _AFTERTHOUGHT.sub("", text)
    if not _ITEM.search(original):
        text = _first_alternative(text.strip())
    return _without_quotes(_without_markdown(text.strip(), original).strip(), original)


def _first_alternative(text: str) -> str:
    """The first item where an answer is a list."""
    if not _ITEM.match(text):
        return text
    _, first, *others = _ITEM.split(text)
    # A number alone is more likely a date, as in "3. Oktober".
    return text if _ORDINAL.match(text) and not others else first


def _without_markdown(text: str, original: str) -> str:
    if fence := _FENCE.match(text):
        text = fence.group(2)
    if "**" not in original:
        text = _BOLD.sub(r"\1", text)
    if not _ITALIC.match(original):
        text = _ITALIC.sub(r"\2", text)
    if not _HEADING.match(original):
        text = _HEADING.sub("", text)
    lines = text.splitlines()
    if not original.startswith(">") and lines and all(line.startswith("> ") for line in lines):
        text = "\n".join(line[2:] for line in lines)
    return text


def _without_quotes(text: str, original: str) -> str:
    """Take off quotation marks around the whole, unless they belong to two quotations in it."""
    if not _is_quoted(text) or _is_quoted(original):
        return text
    inner = text[1:-1]
    # An apostrophe inside a word is no quotation mark.
    bare = re.sub(r"(?<=\w)['’](?=\w)", "", inner)
    return text if any(mark in bare for mark in text[0] + text[-1]) else inner


def _is_quoted(text: str) -> bool:
    return len(text) > 2 and text[-1] in _QUOTES.get(text[0], "")


def _has_word(text: str) -> bool:
    return any(map(str.isalnum, text))
