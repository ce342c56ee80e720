"""What a run would cost: exact from texts that are here, estimated from mteb's counts else."""

import pytest
import yaml

from pteb_eval import hub
from pteb_eval.config import parse_config
from pteb_eval.errors import UserError
from pteb_eval.estimates import _train_share, estimated_size
from pteb_eval.plan import plan, shown
from pteb_eval.tasks.load import unloaded_task
from pteb_eval.workflow import Workflow

PROMPT = {"name": "p", "version": 1, "kind": "chat", "template": "Reword: {text}", "stop": []}


@pytest.fixture
def workflow(tmp_path, monkeypatch):
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "datasets")
    monkeypatch.setattr(hub, "reachable", lambda url: pytest.fail("asked the hub"))
    (tmp_path / "prompt.yaml").write_text(yaml.safe_dump(PROMPT))
    (tmp_path / "pairs.csv").write_text(
        "sentence1,sentence2,score\nOaks grow.,Elms grow.,1\nOaks grow.,Firs.,2\n"
    )
    own = {"type": "sts", "name": "own", "path": str(tmp_path / "pairs.csv")}

    def build(tasks=("own",), **more):
        entries = [{**own, "language": "eng-Latn"} if task == "own" else task for task in tasks]
        generator = {"name": "g", "engine": "openai", "model": "m", "rate": 2.0}
        generator |= {"options": {"base_url": "http://127.0.0.1:9/v1"}}
        generator |= {"prompts": [str(tmp_path / "prompt.yaml")]}
        config = {"name": "n", "runs": 3, "models": ["bag-of-tokens"], "generators": [generator]}
        return Workflow(parse_config({**config, "tasks": entries, **more}, "test"), tmp_path)

    return build


def test_texts_that_are_here_are_counted(workflow):
    paraphrase, original, reworded = plan(workflow())
    assert (paraphrase.texts, paraphrase.distinct, paraphrase.total) == (4, 3, 9)
    assert paraphrase.todo == 9 and paraphrase.seconds == 4.5 and not paraphrase.estimate
    # "Oaks grow.", "Elms grow." and "Firs." have 25 characters, the prompt adds 14 to each.
    characters = 3 * 25
    read = (characters + 9 * len(PROMPT["template"])) // 4
    assert paraphrase.tokens == (read, characters // 4)
    assert (original.total, reworded.total) == (3, 9)
    assert original.seconds is None  # nothing measured here yet


def test_ratings_are_counted_in_both_orders(workflow, tmp_path):
    prompt = {**PROMPT, "template": "Rate {first} and {second}"}
    (tmp_path / "judge.yaml").write_text(yaml.safe_dump(prompt))
    judge = {"name": "j", "engine": "openai", "model": "m", "prompt": str(tmp_path / "judge.yaml")}
    judge |= {"ratings": 2, "sampling": {"temperature": 1}}
    judge |= {"options": {"base_url": "http://127.0.0.1:9/v1"}}
    letters = {"name": "letters", "engine": "edit_distance"}
    _, work, *vectors = plan(workflow(judges=[judge, letters]))
    assert (work.step, work.who, work.distinct) == ("judge", "j (g)", 3)
    total = 3 * 3 * 2 * 2  # texts, runs, ratings, orders
    assert (work.total, work.todo, work.seconds) == (total, total, None)
    characters = 25 * 3 * 2 * 2
    assert work.tokens == ((total * len(prompt["template"]) + 2 * characters) // 4, total)
    assert {one.step for one in vectors} == {"embed"}


def test_only_the_first_instances(workflow, tmp_path):
    own = {"type": "sts", "name": "own", "path": str(tmp_path / "pairs.csv")}
    own |= {"language": "eng-Latn", "max_instances": 1}
    paraphrase, original, _ = plan(workflow([own]))
    assert (paraphrase.distinct, original.total) == (2, 3)


def test_what_is_not_fetched_is_estimated(workflow):
    works = list(plan(workflow([{"mteb": "BIOSSES"}, "own"])))
    estimate = works[0]
    # mteb's statistics of BIOSSES: 100 pairs, 97 and 92 distinct texts.
    assert (estimate.texts, estimate.distinct, estimate.total) == (200, 189, 567)
    assert [work.estimate for work in works] == [True, True, True, False, False, False]
    rows, notes = shown(works)
    assert [row[1] for row in rows] == ["BIOSSES ~", "own", "2 tasks ~", "2 tasks ~"]
    assert notes[0].startswith("g: 576 generations, of which 576 to do in 5 min at its rate")
    assert any(note.startswith("~ not fetched yet") for note in notes)


def test_of_retrieval_only_the_queries_are_reworded():
    queries = estimated_size({"mteb": "LegalQuAD"}, "pteb")
    everything = estimated_size({"mteb": "LegalQuAD"}, "all")
    assert (queries.texts, queries.distinct, queries.reworded) == (400, 400, 200)
    assert everything.reworded == 400 and queries.characters == 14393
    assert estimated_size({"mteb": "LegalQuAD"}, ["document"]).reworded == 200


def test_subsets_and_instances_limit_an_estimate():
    one = estimated_size({"mteb": "STS17", "subsets": ["en-en"]}, "pteb")
    assert one.texts == 500
    few = estimated_size({"mteb": "STS17", "subsets": ["en-en", "es-es"]}, "pteb", 10)
    assert few.reworded == 40 and few.texts == 1000


def test_of_a_train_split_the_share_that_is_drawn():
    task = unloaded_task({"mteb": "Banking77Classification"})
    task.samples_per_label, task.n_experiments = 1, 2
    labels = {"label_statistics": {"labels": {"a": {"count": 2}, "b": {"count": 1}}}}
    # Of two rows, two draws of one hold 1.5 on average; of one row all.
    assert _train_share(labels, task) == pytest.approx(2.5 / 3)
    size = estimated_size({"mteb": "Banking77Classification"}, "eval_only")
    assert size.reworded == 3080 < size.distinct < 13083


def test_no_statistics(monkeypatch):
    monkeypatch.setattr("mteb.abstasks.task_metadata.Path.exists", lambda path: False)
    with pytest.raises(UserError, match="STS12: not fetched yet, and mteb ships no statistics"):
        estimated_size({"mteb": "STS12"}, "pteb")


def test_summed_lines_keep_the_totals(workflow):
    works = list(plan(workflow([{"mteb": "STS12"}, {"mteb": "STS13"}])))
    rows, _ = shown(works)
    vectors = [work.total for work in works if work.who == "bag-of-tokens (g)"]
    (line,) = [row for row in rows if row[2] == "bag-of-tokens (g)"]
    assert line[5] == f"{sum(vectors):,}"
