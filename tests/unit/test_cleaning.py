"""What is taken off an answer, what is left alone, and which answers cannot be used."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pteb_eval.paraphrase.cleaning import clean, status_of

CLEANED = [
    # thinking, channels, special tokens
    ("<think>Let me see.\nYes.</think>\n\nThe cat sat.", "The cat sat."),
    ("Let me see.\n</think>\nThe cat sat.", "The cat sat."),
    ("<think>It was cut", ""),
    ("<|channel|>analysis<|message|>Hm.<|end|><|channel|>final<|message|>The cat.", "The cat."),
    ("The cat sat.<end_of_turn>", "The cat sat."),
    # lead-ins
    ("Here is a paraphrase: The cat sat.", "The cat sat."),
    ("Sure! Here's one way to rephrase it:\n\nThe cat sat.", "The cat sat."),
    ("Sure, here you go:\n\nThe cat sat.", "The cat sat."),
    ("The rewritten sentence: The cat sat.", "The cat sat."),
    ("Hier ist eine Umformulierung: „Die Katze saß.“", "Die Katze saß."),
    ("Voici une reformulation : Le chat dort.", "Le chat dort."),
    ("Claro, aquí tienes una paráfrasis:\nEl gato duerme.", "El gato duerme."),
    ("Ecco una parafrasi: Il gatto dorme.", "Il gatto dorme."),
    ("Her er en omformulering:\nKatten sover.", "Katten sover."),
    ("Вот перефразированный текст: Кошка спит.", "Кошка спит."),
    ("以下是改写后的句子：\n猫在睡觉。", "猫在睡觉。"),
    ("以下は言い換えです：\n猫が寝ている。", "猫が寝ている。"),
    # labels
    ("Paraphrase: The cat sat.", "The cat sat."),
    ("**Rephrased text:** The cat sat.", "The cat sat."),
    ("Paráfrasis: El gato duerme.", "El gato duerme."),
    ("Parafraza: Kot śpi.", "Kot śpi."),
    ("إعادة صياغة: القطة نائمة.", "القطة نائمة."),
    # afterthoughts
    ("The cat sat.\n\n(Note: I kept the tense.)", "The cat sat."),
    ("The cat sat.\n\nLet me know if you want another one!", "The cat sat."),
    ("Die Katze saß.\n\n**Erklärung:** Das Verb blieb.\n- so\n- und so", "Die Katze saß."),
    ("The cat sat.\n\nOr:\n\nThe feline sat.", "The cat sat."),
    # alternatives
    ("1. The cat sat.\n2. The feline sat.\n3. It sat.", "The cat sat."),
    ("Here are three options:\n\n* **Option 1 (formal):** The cat sat.\n* **Option 2:** It sat.",
     "The cat sat."),
    ("**Option 1:**\nThe cat sat.\n**Option 2:**\nIt sat.", "The cat sat."),
    ("- The cat sat.", "The cat sat."),
    # markdown and quotation marks
    ("```text\nThe cat sat.\n```", "The cat sat."),
    ("> The cat sat.\n> It slept.", "The cat sat.\nIt slept."),
    ("## The cat sat.", "The cat sat."),
    ("*The cat sat.*", "The cat sat."),
    ("The **black cat** sat.", "The black cat sat."),
    ('"The cat\'s mat."', "The cat's mat."),
    ("'The cat's mat.'", "The cat's mat."),
    ("„Die Katze saß.“", "Die Katze saß."),
    ("« Le chat dort. »", "Le chat dort."),
    ("「猫が寝ている。」", "猫が寝ている。"),
    # several at once
    ('<think>ok</think>Sure! Here is a paraphrase:\n\n**"The cat sat."**\n\nNote: short.',
     "The cat sat."),
]  # fmt: skip

KEPT = [
    '"Yes" and "no" are both answers.',
    "'Tis the season, said the dogs' owner.",
    "5 * 3 * 2 is 30 and 2**3**2 is 512.",
    "#1 in the charts; #winning.",
    "Here is the news: it rained.",
    "Sure, I will come: promise.",
    "The following day: rain.",
    "3. Oktober: Es regnete.",
    "3. Oktober war ein Montag.",
    "He wrote snake_case_names and _private ones.",
    "Note: the shop is closed.",
    "Paraphrasing is hard.",
    "I can't find my keys.",
    "First line.\nSecond line.\n\nThird paragraph.",
]


@pytest.mark.parametrize(("raw", "bare"), CLEANED)
def test_habits_are_taken_off(raw, bare):
    assert clean(raw) == bare


@pytest.mark.parametrize("text", KEPT)
def test_ordinary_text_is_left_alone(text):
    assert clean(text) == text


def test_a_habit_of_the_original_is_kept():
    assert clean('"So it goes."', '"That is life."') == '"So it goes."'
    assert clean("- one\n- two", "* eins\n* zwei") == "- one\n- two"
    assert clean("Paraphrase: same thing", "Paraphrase: a definition") == "Paraphrase: same thing"
    assert clean("**Now** or never", "**This instant** or not at all") == "**Now** or never"


words = st.lists(
    st.text(st.characters(categories=["L", "M", "N"]), min_size=1, max_size=9),
    min_size=1,
    max_size=12,
)


@settings(max_examples=200, deadline=None)
@given(words)
def test_plain_words_survive(parts):
    sentence = "It " + " ".join(parts) + "."
    assert clean(sentence) == sentence


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab \n\"'*#>-1.:«»“”`<think>/_(Option")))
def test_cleaning_ends_adds_nothing_and_is_done_at_once(raw):
    cleaned = clean(raw)
    assert clean(cleaned) == cleaned
    assert len(cleaned) <= len(raw)
    remaining = iter(raw)
    assert all(char in remaining for char in cleaned)  # in the same order


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_an_original_given_back_is_never_changed(text):
    assert clean(text, text) == text.strip()


ENGLISH = "The train to the coast leaves at nine in the morning."


@pytest.mark.parametrize(
    ("original", "cleaned", "finish_reason", "status"),
    [
        (ENGLISH, "At nine in the morning the train departs for the coast.", "stop", "ok"),
        (ENGLISH, "anything", "error", "engine_error"),
        (ENGLISH, "At nine in the", "length", "too_long"),
        (ENGLISH, "", "prompt_too_long", "too_long"),
        (ENGLISH, "word " * 60, "stop", "too_long"),
        ("Yes.", "That is right, indeed it is. " * 5, "stop", "ok"),  # short ones count as 30
        ("Yes.", "x" * 150, "stop", "ok"),
        ("Yes.", "x" * 151, "stop", "too_long"),
        (ENGLISH, "", "stop", "empty"),
        (ENGLISH, "...", "stop", "empty"),
        ("...", "…", "stop", "ok"),
        (ENGLISH, "I'm sorry, but I can't help with that.", "stop", "refusal"),
        (ENGLISH, "I cannot fulfill this request.", "stop", "refusal"),
        (ENGLISH, "As an AI language model, I have no trains.", "stop", "refusal"),
        (ENGLISH, "Please provide the text you would like me to rephrase.", "stop", "refusal"),
        ("Hm.", "Es tut mir leid, aber ich kann dabei nicht helfen.", "stop", "refusal"),
        ("Hm.", "Je suis désolé, mais je ne peux pas répondre.", "stop", "refusal"),
        ("Hm.", "Lo siento, pero no puedo ayudar con eso.", "stop", "refusal"),
        ("Hm.", "Извините, но я не могу помочь.", "stop", "refusal"),
        ("Hm.", "很抱歉，我无法提供帮助。", "stop", "refusal"),
        ("Hm.", "申し訳ありませんが、お手伝いできません。", "stop", "refusal"),
        ("My keys are lost.", "I can't find my keys.", "stop", "ok"),
        ("I can't help you.", "I cannot help you.", "stop", "ok"),  # the original begins so
        (ENGLISH, "Der Zug an die Küste fährt um neun Uhr morgens ab.", "stop", "language_changed"),
        ("Paris", "La ville de Paris", "stop", "ok"),  # a word is in no language for sure
    ],
)
def test_status(original, cleaned, finish_reason, status):
    assert status_of(original, cleaned, finish_reason) == status


def test_a_pivot_language_is_no_failure():
    german = "Der Zug an die Küste fährt um neun Uhr morgens ab."
    assert status_of(ENGLISH, german, "stop", same_language=False) == "ok"
