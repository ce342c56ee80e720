"""Numbers of a paraphrase, counted by hand; languages where they are clear."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pteb_eval.paraphrase import language
from pteb_eval.paraphrase.quality import QUALITY_FIELDS, duplicate_runs, fold, measure


def test_measures_by_hand():
    measured = measure("The cat sat.", "The dog sat")
    assert set(measured) == {name for name, _ in QUALITY_FIELDS}
    assert measured["copy"] is False
    assert measured["edit_distance"] == pytest.approx(4 / 12)  # c, a, t and the full stop
    assert measured["word_overlap"] == pytest.approx(2 / 4)
    assert measured["length_ratio"] == pytest.approx(11 / 12)


@pytest.mark.parametrize(
    ("original", "paraphrase"),
    [
        ("It's late.", "it’s  LATE"),
        ("Straße?", "STRASSE"),
        ("ＡＢＣ，", "abc"),
        ("हिन्दी।", "हिन्दी"),
    ],
)
def test_case_punctuation_and_width_make_no_paraphrase(original, paraphrase):
    assert measure(original, paraphrase)["copy"] is True


@pytest.mark.parametrize(("a", "b"), [("C++", "C"), ("हिन्दी", "हन्दी"), ("5", "6"), ("😀", "😢")])
def test_what_carries_meaning_is_not_folded(a, b):
    assert fold(a) != fold(b)


def test_characters_are_the_words_of_unspaced_scripts():
    assert measure("我爱猫。", "我爱狗。")["word_overlap"] == pytest.approx(2 / 4)


def test_an_empty_paraphrase_has_numbers():
    measured = measure("The cat sat.", "")
    assert (measured["edit_distance"], measured["word_overlap"]) == (1.0, 0.0)
    assert (measured["length_ratio"], measured["language"]) == (0.0, None)


def test_duplicate_runs():
    assert duplicate_runs(["A b.", "a b", "A c.", "a  B!", "x", "y"]) == 2
    assert duplicate_runs([]) == 0


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_bounds_and_symmetry(a, b):
    one, other = measure(a, b), measure(b, a)
    for name in ("edit_distance", "word_overlap"):
        assert 0.0 <= one[name] <= 1.0
        assert one[name] == other[name]
    assert measure(a, a)["edit_distance"] == 0.0
    assert measure(a, a)["word_overlap"] == 1.0
    assert fold(fold(a)) == fold(a)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The weather was far better than anybody had expected.", "en"),
        ("Das Wetter war viel besser, als alle erwartet hatten.", "de"),
        ("Le temps était bien meilleur que prévu par tout le monde.", "fr"),
        ("Погода была намного лучше, чем все ожидали.", "ru"),
        ("天气比大家预期的要好得多，我们都很高兴。", "zh"),
        ("كان الطقس أفضل بكثير مما توقعه الجميع.", "ar"),
        ("OK", None),
        ("12345 67890 12345", None),
        ("", None),
        ("Bonjour tout le monde, comment allez-vous ?\ud800", "fr"),
    ],
)
def test_language(text, code):
    assert language.identify(text) == code


def test_changed_only_where_both_are_clear():
    english, german = "The weather was far better today.", "Das Wetter war heute viel besser."
    assert language.changed(english, german)
    assert not language.changed(english, "OK")
    assert not language.changed("OK", german)
    assert not language.changed(english, english.upper())
    danish, norwegian = "Jeg ved ikke hvad jeg skal gøre.", "Jeg vet ikke hva jeg skal gjøre."
    assert language.identify(danish) != language.identify(norwegian)
    assert not language.changed(danish, norwegian)


def test_the_model_is_loaded_only_when_asked():
    code = (
        "import sys, pteb_eval.paraphrase.quality as q; assert 'fasttext' not in sys.modules;"
        "q.measure('a', 'The weather was far better today.'); assert 'fasttext' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
