"""Tasks of texts without labels: scored by whether a reworded text finds its own original."""

import json

import numpy as np
import pytest
from encoders import HashingEncoder

from pteb_eval.statistics.surface import invariance
from pteb_eval.tasks.instances import instance_values
from pteb_eval.tasks.load import load_task, structure_for
from pteb_eval.tasks.scope import roles_in_scope

TEXTS = [f"Sentence {i} speaks of the {word}." for i, word in enumerate(("sea", "sky", "sun"))]


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("text\n" + "\n".join([*TEXTS, TEXTS[0]]) + "\n", encoding="utf-8")
    return load_task({"type": "texts", "name": "mine", "path": str(path), "language": "eng-Latn"})


def test_repeated_texts_count_once_and_it_is_said(task):
    structure = structure_for(task)
    assert [text for _, text in structure.slots(task)] == TEXTS
    assert task.notes == ["texts that repeat an earlier one, left out: 1"]
    assert roles_in_scope(task, "pteb") == {"text"}


def test_the_original_finds_itself_and_the_encoder_is_asked_for_what_inputs_say(task):
    encoder = HashingEncoder()
    scores = task.evaluate(encoder, split="test", encode_kwargs={})["default"]
    assert scores["main_score"] == scores["mrr"] == scores["hit_at_1"] == 1
    assert scores["cosine"] == pytest.approx(1)
    asked = [(i.text, i.prompt_type, i.subset, i.split) for i in structure_for(task).inputs(task)]
    assert encoder.calls == asked


def test_a_run_is_scored_against_the_originals(task, tmp_path):
    swapped = dict(zip(TEXTS, [TEXTS[1], TEXTS[0], TEXTS[2]], strict=True))
    run = structure_for(task).replaced(task, lambda slot, text: swapped[text])
    scores = run.evaluate(
        HashingEncoder(), split="test", encode_kwargs={}, prediction_folder=tmp_path
    )["default"]
    vectors = [
        np.stack([HashingEncoder.vector(text, None) for text in texts])
        for texts in (TEXTS, list(swapped.values()))
    ]
    expected = invariance(*vectors)
    assert scores["mrr"] == expected.mrr < 1
    assert scores["hit_at_1"] == pytest.approx(1 / 3)
    predictions = json.loads((tmp_path / run.prediction_file_name).read_text())
    values = [value.value for value in instance_values(run, predictions)]
    assert values == (1 / expected.rank).tolist()
