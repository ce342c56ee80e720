"""The paper's grid: its tasks are the registry's, at the revisions that mteb pins."""

import re
from pathlib import Path

import mteb
import pytest

from pteb_eval.config import load_config
from pteb_eval.estimates import estimated_size
from pteb_eval.layout import FIGURES, JUDGE_FIGURES, JUDGE_TABLES, REVIEW_TABLES, TABLES
from pteb_eval.tasks.load import task_metadata
from pteb_eval.workflow_judges import task_settings

ROOT = Path(__file__).parents[2]
# Texts of each data set as the paper's public registry counts them; of retrieval the queries.
TEXTS = {
    "STSBenchmark": 2758,
    "BIOSSES": 200,
    "STS12": 6216,
    "STS13": 3000,
    "STS14": 7500,
    "STS15": 6000,
    "STS16": 2372,
    "SICK-R": 19854,
    "STS17": 10692,
    "STS22": 8056,
    "TwitterSemEval2015": 33554,
    "RTE3": 3846,
    "Banking77Classification": 13083,
    "AmazonCounterfactualClassification": 27090,
    "TwentyNewsgroupsClustering": 59545,
    "MasakhaNEWSClusteringS2S": 5831,
    "HALClusteringS2S.v2": 2048,
    "ArguAna": 1406 + 8674,
    "TwitterHjerneRetrieval": 78 + 262,
    "LegalQuAD": 200 + 200,
    "AskUbuntuDupQuestions": 7581,
    "RuBQReranking": 38998,
    "SummEvalSummarization.v2": 2700,
}


@pytest.fixture(scope="module")
def config():
    return load_config(ROOT / "config" / "paper.yaml")


def test_the_paper_s_tables_and_figures_are_named_with_files_that_there_are():
    comment = "".join(
        line for line in (ROOT / "config" / "paper.yaml").open() if line.startswith("#")
    )
    there = {
        "tables": {*TABLES, *JUDGE_TABLES, *REVIEW_TABLES},
        "figures": {*FIGURES, *JUDGE_FIGURES},
    }
    named = re.findall(r"\b(tables|figures)/(\w+)", comment)
    assert len(named) >= 8
    assert [name for kind, name in named if name not in there[kind]] == []


def test_protocol(config):
    (generator,) = config.generators
    assert config.runs == 6 and config.scope == "pteb"
    assert (generator.sampling.temperature, generator.sampling.top_p) == (0.8, 0.9)
    assert (generator.engine, generator.model) == ("vllm", "google/gemma-3-27b-it")
    assert [path.name for path in generator.prompts] == ["paraphrase_chat.yaml"]


def test_tasks_and_revisions(config):
    assert [task.name for task in config.tasks] == list(TEXTS)
    for task in config.tasks:
        assert re.fullmatch("[0-9a-f]{40}", task.revision)
        assert task.revision == task_metadata(task.name).dataset["revision"]


def test_sizes_are_the_registry_s(config, monkeypatch):
    # The registry counts train splits as a whole.
    monkeypatch.setattr("pteb_eval.estimates._train_share", lambda part, task: 1.0)
    sizes = {task.name: estimated_size(task_settings(task), "pteb").texts for task in config.tasks}
    assert sizes == TEXTS


def test_models_and_revisions(config):
    assert len(config.models) == 10
    for model in config.models:
        assert model.revision == mteb.get_model_meta(model.name).revision


def test_size_of_the_graph(config):
    """Jobs stay under 2,000: fetch and paraphrase a task; embed, score, export a cell."""
    n_tasks, n_models, n_generators = 23, len(config.models), len(config.generators)
    cells = n_tasks * n_models
    assert n_tasks * (1 + n_generators) + n_models + cells * (2 + 1 + 2 * n_generators) + 10 < 2000
