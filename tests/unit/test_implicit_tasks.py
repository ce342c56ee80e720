"""The suite's three evaluations: against sklearn, against brute force, and through all stages."""

import datasets
import mteb
import numpy as np
import pytest
from encoders import HashingEncoder
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score
from suite_files import write_articles, write_pstance, write_pub, write_sbic
from test_score import BAG, Chain, main_scores

from pteb_eval.errors import UserError
from pteb_eval.ids import text_id
from pteb_eval.implicit.tasks import baselines, chosen
from pteb_eval.implicit.thresholds import at_threshold, best_threshold
from pteb_eval.statistics.cells import Cell
from pteb_eval.statistics.measured import measured
from pteb_eval.store import provenance_of, read_table
from pteb_eval.tasks.load import load_task, structure_for

datasets.disable_progress_bars()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("suite")
    write_pstance(found / "pstance")
    write_pub(found / "pub", "task_1")
    write_pub(found / "pub", "task_4")
    write_sbic(found / "sbic", parts=("dev", "tst"))
    write_articles(found / "article_bias")
    return found


def settings(folder, task, **more):
    return {"implicit": task, "path": str(folder / task.split("-")[0]), **more}


TASKS = [
    ("pstance-biden", {}),
    ("pub-1", {}),
    ("pub-4", {}),
    ("pub-1", {"evaluation": "zero_shot"}),
    ("pub-4", {"evaluation": "pairs"}),
    ("pstance-trump", {"evaluation": "pairs"}),
    ("sbic", {"train_on": "dev"}),
    ("sbic", {"evaluation": "pairs"}),
    ("article_bias-media", {}),
]
every_task = pytest.mark.parametrize(("name", "more"), TASKS, ids=str)


def evaluated(task, encoder=None):
    [result] = mteb.evaluate(
        encoder or HashingEncoder(), task, cache=None, co2_tracker=False, show_progress_bar=False
    ).task_results
    return result.scores["test"][0]


@every_task
def test_the_structure_knows_what_is_encoded(folder, name, more):
    task = load_task(settings(folder, name, **more))
    encoder = HashingEncoder()
    evaluated(task, encoder)
    inputs = {(item.text, item.prompt_type) for item in structure_for(task).inputs(task)}
    assert inputs == {(text, kind) for text, kind, _, _ in encoder.calls}


def vectors(texts):
    return np.stack([HashingEncoder.vector(text, None) for text in texts])


def test_classification_is_one_logistic_regression_on_all_training_rows(folder):
    task = load_task(settings(folder, "pstance-all"))
    scores = evaluated(task)
    train, test = task.dataset["train"], task.dataset["test"]
    model = LogisticRegression(max_iter=1000, random_state=task.seed)
    order = task.pins["default"][0]  # solvers are not exactly indifferent to the rows' order
    model.fit(vectors(train["text"])[order], np.array(train["label"])[order])
    predicted, labels = model.predict(vectors(test["text"])), test["label"]
    assert len(train) == len(order) == 60
    for name, expected in {
        "accuracy": accuracy_score(labels, predicted),
        "f1": f1_score(labels, predicted, average="macro"),
        "f1_micro": f1_score(labels, predicted, average="micro"),
        "f1_weighted": f1_score(labels, predicted, average="weighted"),
        "precision": precision_score(labels, predicted, average="macro"),
        "recall": recall_score(labels, predicted, average="macro"),
    }.items():
        assert scores[name] == pytest.approx(expected), name


def test_baselines():
    train, test = [0, 0, 0, 1, 2], [0, 1, 1, 2]
    found = baselines(train, test)
    dummy = DummyClassifier(strategy="most_frequent").fit(np.zeros((5, 1)), train)
    assert found["majority_baseline"] == dummy.score(np.zeros((4, 1)), test) == 0.25
    # 3/5 · 1/4 + 1/5 · 2/4 + 1/5 · 1/4
    assert found["random_baseline"] == pytest.approx(0.3)


def test_ties_count_as_if_one_of_the_best_were_drawn():
    similarities = [np.array(own) for own in ([0.1, 0.9], [0.5, 0.5, 0.2], [0, 0, 0], [0.3, 0.1])]
    credit, tied = chosen(similarities, [1, 2, 0, 1])
    assert credit.tolist() == [1, 0, pytest.approx(1 / 3), 0]
    assert tied.tolist() == [False, True, True, False]


def test_zero_shot_takes_the_most_similar_of_each_items_own_options(folder):
    task = load_task(settings(folder, "pub-4"))
    scores, rows = evaluated(task), task.dataset["test"]
    right = [
        np.argmax(vectors(own) @ HashingEncoder.vector(text, None)) == label
        for text, own, label in zip(rows["text"], rows["options"], rows["label"], strict=True)
    ]
    assert scores["ties"] == 0
    assert scores["accuracy"] == pytest.approx(np.mean(right))
    assert scores["random_baseline"] == 0.25
    assert "majority_baseline" not in scores


COSINES = st.lists(
    st.tuples(st.sampled_from([-0.99, -0.5, 0.0, 0.3, 0.30001, 0.9, 1.0]), st.booleans()),
    min_size=2,
    max_size=30,
).filter(lambda pairs: len({label for _, label in pairs}) == 2)


@settings_of_hypothesis(max_examples=40, deadline=None)
@given(COSINES)
def test_no_threshold_is_more_accurate_than_the_best(pairs):
    cosine, labels = (list(column) for column in zip(*pairs, strict=True))
    found = best_threshold(cosine, labels)
    assert -1 <= found <= 1
    reached = at_threshold(cosine, labels, found)["accuracy"]
    cuts = [-1, -0.75, -0.25, 0.15, 0.300005, 0.6, 0.95, 1]  # between all values that there are
    tried = [np.mean((np.array(cosine) > cut) == labels) for cut in cuts]
    assert reached >= max(tried) - 1e-9


@pytest.mark.parametrize(
    ("cosine", "labels", "threshold"),
    [
        ([0.2, 0.4, 0.6, 0.8], [0, 0, 1, 1], 0.5),
        ([0.2, 0.4, 0.6, 0.8], [1, 0, 0, 0], 0.9),  # none: 3 of 4 right
        ([0.2, 0.4, 0.6, 0.8], [1, 1, 1, 0], -0.4),  # all
        ([0.5, 0.5, 0.5], [0, 1, 1], -0.25),  # ties cannot be divided
    ],
)
def test_thresholds_by_hand(cosine, labels, threshold):
    assert best_threshold(cosine, labels) == pytest.approx(threshold)


def test_the_headline_of_pairs_uses_the_threshold_of_the_development_split(folder):
    task = load_task(settings(folder, "pstance-trump", evaluation="pairs"))
    scores = evaluated(task)

    def cosines(split):
        rows = task.dataset[split]
        first, second = vectors(rows["sentence1"]), vectors(rows["sentence2"])
        return (first * second).sum(axis=1), rows["labels"]

    threshold = best_threshold(*cosines("dev"))
    assert scores["dev_threshold"] == pytest.approx(threshold, abs=1e-6)
    expected = at_threshold(*cosines("test"), threshold)
    assert scores["main_score"] == scores["dev_accuracy"] == expected["accuracy"]
    assert scores["best_accuracy"] >= scores["dev_accuracy"]
    assert scores["majority_baseline"] == 0.5  # two options a tweet, one of them right


def reworded(text, run):
    return " ".join(reversed(text.split())) + f" {run}"


@every_task
def test_all_stages_original_and_paraphrased(folder, tmp_path, name, more):
    task = settings(folder, name, **more)
    chain = Chain(tmp_path, task, BAG)
    original = chain.score_original()
    [(everything, n)] = main_scores(original["scores"]).values()
    outputs = chain.score_paraphrases(lambda text, run: text)
    assert set(main_scores(outputs["scores"]).values()) == {(everything, n)}
    options = {
        text_id(option)
        for item in load_task(task).dataset["test"]
        for option in item.get("options", [item.get("sentence2", "")])
    }
    texts = read_table(chain.texts)
    assert not options & set(texts["text_id"].to_pylist())
    outputs = chain.score_paraphrases(reworded)
    about = provenance_of(texts.schema)
    frames = [read_table(outputs[kind]).to_pandas() for kind in ("scores", "instances")]
    cell = Cell("m", "g", name, about["task_type"], about["main_metric"], *frames, {}, 0.0, 0.0)
    [one] = measured(cell)
    assert one.note == "" and one.kind == "mean"
    assert one.values.mean(axis=1)[0] == pytest.approx(everything)


def test_a_failed_training_row_costs_no_instance(folder, tmp_path):
    chain = Chain(tmp_path, settings(folder, "pstance-biden"), BAG)
    failing = "train biden tweet 3,"
    outputs = chain.score_paraphrases(lambda text, run: None if failing in text else text)
    assert {n for _, n in main_scores(outputs["scores"]).values()} == {20}


@pytest.mark.parametrize(
    ("task", "more", "message"),
    [
        ("pub-4", {"evaluation": "classification"}, "options of their own"),
        ("sbic", {}, "set train_on: dev"),
        ("pstance-trump", {"path": None}, "handed out by its authors only"),
        ("pub-2", {}, r"no task_2\.jsonl"),
    ],
)
def test_mistakes_are_one_line(folder, task, more, message):
    with pytest.raises(UserError, match=message) as error:
        load_task({key: v for key, v in settings(folder, task, **more).items() if v})
    assert "\n" not in str(error.value)


def test_one_label_only_is_an_error(folder, tmp_path):
    write_pstance(tmp_path, n=1)
    with pytest.raises(UserError, match="all 1 rows of test have the answer 'against'"):
        load_task({"implicit": "pstance-biden", "path": str(tmp_path)})


@pytest.mark.parametrize(
    ("name", "more", "offensive"), [("sbic", {"train_on": "dev"}, True), ("pub-4", {}, False)]
)
def test_offensive_sets_are_marked_for_the_report(folder, tmp_path, name, more, offensive):
    chain = Chain(tmp_path, settings(folder, name, **more), BAG)
    assert provenance_of(read_table(chain.texts).schema)["offensive"] is offensive
