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
from typing import Literal

from pteb_eval.paraphrase.engines import FinishReason
from pteb_eval.paraphrase.language import identify

CLEANING_VERSION = 1

Status = Literal["ok", "empty", "refusal", "too_long", "language_changed", "engine_error"]

_TOO_LONG = 5  # times the original, as in the published protocol
_SHORT = 30  # characters; originals shorter than this count as this long
_FLAGS = re.IGNORECASE | re.VERBOSE

# What the thing is called that was asked for; stems, so that endings of each language pass.
_REWORDING = r"""(?:
    paraphras\w* | re-?phras\w* | re-?word\w* | re-?writ\w+ | rewrote | reformul\w* | restate\w*
  | umformulier\w* | umschreib\w* | neuformulier\w*
  | par[aá]fras\w* | riformul\w* | herformuler\w* | herschreven | omformuler\w* | omskriv\w*
  | omskrevet | parafraz\w* | przeformuł\w* | yeniden\ ifade\w* | başka\ bir\ ifade\w*
  | перефраз\w* | парафраз\w* | переформул\w*
  | 改写\w{0,2} | 改寫\w{0,2} | 转述 | 释义 | 言い換え\w{0,2} | 바꿔\ ?쓰기 | 다시\ ?쓴\ 문장 | إعادة\ صياغة | إعادة\ الصياغة
)"""
_OPENING = (
    r"""(?:
    (?:sure|certainly|of\ course|absolutely|okay|ok|great)\b
  | here(?:'s|’s|\ is|\ are)\b | this\ is\b | the\ following\b | below\ is\b
  | (?:the|a|an|my|one|one\ possible)\ (?=\W*"""
    + _REWORDING
    + r""")
  | hier\ (?:ist|sind|is)\b | natürlich\b | gerne\b | voici\b | bien\ sûr\b | aquí\ (?:está|tienes|hay)\b
  | claro\b | por\ supuesto\b | ecco\b | certo\b | aqui\ está\b | her\ er\b | här\ är\b
  | oto\b | вот\b | конечно\b | 以下是 | 好的 | 当然 | 以下は | 以下に | 다음은 | 물론 | إليك | بالتأكيد | işte\b
)"""
)
# At a colon: an opening and a name of the thing in one line, or a line of an opening by itself.
_LEAD_IN = re.compile(
    rf"""\A(?:
        {_OPENING} [^\n:：]{{0,80}}? {_REWORDING} [^\n:：]{{0,80}} \s* [:：] [*_]{{0,3}} \s*
      | {_OPENING} [^\n]{{0,120}} [:：] [*_]{{0,3}} \s* \n+
    )""",
    _FLAGS,
)
_LABEL = re.compile(
    rf"""\A [*_\#\s]{{0,5}} \[?
    {_REWORDING} (?:\s+(?:text|version|sentence|satz|version|texte?|frase|phrase|текст|вариант)\w*)?
    \s* \d{{0,2}} \]? \s* [*_]{{0,3}} \s* [:：] [*_]{{0,3}} \s*""",
    _FLAGS,
)
_AFTERTHOUGHT = re.compile(
    r"""\n\s*\n\s* [(\[*_]{0,4} (?:
        note\b | explanation\b | (?:key\ |main\ )?changes\b | alternativ\w* | or\b\W{0,4}\n | or[:,]
      | let\ me\ know\b | i\ hope\b | hope\ this\b | would\ you\ like\b | do\ you\ want\b
      | this\ (?:version|paraphrase|rephras\w*|rewording)\b | i\ (?:have\ )?(?:kept|changed|replaced)\b
      | hinweis\b | erklärung\b | oder\b\W{0,4}\n | oder: | remarque\b | explication\b | ou\s?:
      | nota\b | explicación\b | spiegazione\b | explicação\b | opmerking\b | uitleg\b | bemærk\b
      | uwaga\b | примечание\b | объяснение\b | 注[:：] | 说明 | 注意 | 補足 | 참고 | ملاحظة
    ).*\Z""",
    _FLAGS | re.DOTALL,
)
_ITEM = re.compile(
    r"""^[ \t]* [*_]{0,3} (?:
        (?:option|alternative|version|variante?|paraphrase|opción|variant|вариант|选项)\ ?\d{1,2}
        (?:\ *\([^)\n]*\))? [*_]{0,3} [:.)：] [*_]{0,3}
      | \d{1,2} [.)] | [-•‣·] | \*(?=\s)
    ) \s+""",
    _FLAGS | re.MULTILINE,
)
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

_CANNOT = r"(?:can(?:no|['’]?)t|can\ not|am\ (?:unable|not\ able)\ to|['’]m\ (?:unable|not\ able)\ to|won['’]?t|will\ not)"
_HELP = (
    r"(?:help|assist|fulfil|comply|provide|process|(?:re)?phrase|paraphrase|rewrite|reword|answer"
    r"|generate|create|complete|engage|participate|respond|do\ (?:that|this)|discuss)"
)
_REFUSAL = re.compile(
    rf"""\A\W*(?:
        (?:(?:i['’]?m|i\ am)\ (?:really\ |very\ |so\ )?sorry\W+|sorry\W+|i\ apologi[sz]e\W+|unfortunately\W+)?
          (?:but\ )? I\ ?{_CANNOT}\ {_HELP}
      | as\ an?\ (?:ai|artificial\ intelligence|(?:large\ )?language\ model)\b
      | I\ (?:am|['’]m)\ an?\ (?:ai|(?:large\ )?language\ model)\b
      | (?:please|could\ you)\ (?:please\ )?provide\ (?:me\ with\ )?(?:the|a|your|more)\ (?:text|sentence|original|context)
      | (?:es\ tut\ mir\ leid|tut\ mir\ leid|entschuldigung)\W+(?:aber\ )?(?:ich\ kann|dabei|da\ kann|das\ kann)\b
      | ich\ kann\ (?:dir|ihnen|dabei|diese\w*|das|den|die)\b.{{0,40}}nicht\b
      | als\ (?:ki|künstliche|(?:großes\ )?sprachmodell)\b
      | (?:je\ suis\ )?d[ée]sol[ée]\w*\W+(?:mais\ )?je\ ne\ (?:peux|suis)\b | je\ ne\ peux\ pas\ (?:vous\ aider|répondre|reformuler|fournir)
      | en\ tant\ qu['’](?:ia|intelligence|assistant|modèle)
      | lo\ siento\W+(?:pero\ )?no\ puedo\b | no\ puedo\ (?:ayudar|cumplir|proporcionar|reformular|parafrasear)
      | como\ (?:modelo\ de\ l(?:enguaje|inguagem)|una?\ (?:ia|inteligencia))\b
      | mi\ dispiace\W+(?:ma\ )?non\ posso\b | come\ (?:modello|intelligenza)\b
      | (?:desculpe|lamento|sinto\ muito)\W+(?:mas\ )?não\ posso\b
      | (?:het\ )?spijt\ me\W+(?:maar\ )?ik\ kan\b | (?:jeg\ )?beklager\W+(?:men\ )?jeg\ kan\ ikke\b
      | (?:jag\ )?(?:beklagar|tyvärr)\W+(?:men\ )?(?:jag\ )?kan\ (?:jag\ )?(?:tyvärr\ )?inte\ (?:hjälpa|svara|göra)
      | przepraszam\W+(?:ale\ )?nie\ mogę\b | jako\ (?:model|sztuczna)
      | (?:извините|простите|к\ сожалению)\W+(?:но\ )?я\ не\ могу\b | как\ (?:языковая\ модель|ии)\b
      | (?:很抱歉|抱歉|对不起|對不起)[，,\s]*(?:但)?我(?:无法|不能|無法) | 作为(?:一个)?(?:ai|人工智能|语言模型)
      | 申し訳(?:ありません|ございません).{{0,12}}(?:できません|お手伝い) | 죄송(?:하지만|합니다).{{0,16}}(?:없습니다|어렵습니다)
      | عذر[اًا]*\W+(?:لا\ (?:أستطيع|يمكنني)) | üzgünüm\W+(?:ama\ |ancak\ )?.{{0,30}}(?:edemem|yapamam|olamam)
    )""",
    _FLAGS,
)  # fmt: skip


def clean(raw: str, original: str = "") -> str:
    """The bare paraphrase in a raw answer; empty where there is none.

    Args:
        raw: the answer as the LLM gave it.
        original: the text that was to be reworded, if at hand: marks that it has itself (quotation
            marks around it, a label, a list, markdown) are kept in the answer.
    """
    text = _TOKENS.sub("", _CHANNEL.sub("", _THINKING.sub("", raw))).strip()
    original = original.strip()
    while True:
        peeled = _peel(text, original).strip()
        if peeled == text:
            return text
        text = peeled


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
    if finish_reason == "error":
        return "engine_error"
    if finish_reason in ("length", "prompt_too_long"):
        return "too_long"
    if not cleaned or (_has_word(original) and not _has_word(cleaned)):
        return "empty"
    if _REFUSAL.match(cleaned) and not _REFUSAL.match(original):
        return "refusal"
    if len(cleaned) > _TOO_LONG * max(len(original), _SHORT):
        return "too_long"
    if same_language and _language_changed(original, cleaned):
        return "language_changed"
    return "ok"


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
    """The first item where an answer is nothing but a list of several, or of one."""
    items = _ITEM.split(text)
    if not _ITEM.match(text) or not any(item.strip() for item in items):
        return text
    return items[1]


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


def _language_changed(original: str, cleaned: str) -> bool:
    before = identify(original)
    if before is None:
        return False
    after = identify(cleaned)
    return after is not None and after != before
