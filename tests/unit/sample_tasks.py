"""Tasks of every type, large enough for mteb's sampling to matter, made of seeded nonsense.

Each `make` takes a function that changes every text that the evaluation reads: that is the task
"whose texts were replaced by hand".
"""

import random

from datasets import Dataset
from mteb import abstasks

from pteb_eval.tasks.files.base import empty_task, make_task

WORDS = ["ash", "birch", "cedar", "dogwood", "elm", "fir", "gum", "hazel", "ivy", "oak", "pine"]


def texts(seed, n, change=str):
    rng = random.Random(seed)
    return [change(" ".join(rng.choices(WORDS, k=rng.randint(3, 7)))) for _ in range(n)]


def labels(seed, n, n_labels=3):
    rng = random.Random(seed)
    return [rng.randrange(n_labels) for _ in range(n)]


def settings(kind, subsets=("default",)):
    language = "eng-Latn" if subsets == ("default",) else dict.fromkeys(subsets, "eng-Latn")
    return {"name": f"sample-{kind}", "type": kind, "language": language}


def sts(change=str, order=None):
    columns = {
        "sentence1": texts(1, 20, change),
        "sentence2": texts(2, 20, change),
        "score": [float(x) for x in labels(3, 20, 6)],
    }
    if order is not None:
        columns = {name: [values[row] for row in order] for name, values in columns.items()}
    data = {"default": {"test": columns}}
    return make_task(abstasks.AbsTaskSTS, settings("sts"), data, "0", "cosine_spearman")


def _pairs(change):
    return {"sentence1": texts(4, 16, change), "sentence2": texts(5, 16, change)}


def pairs(change=str):
    data = {"default": {"test": {**_pairs(change), "labels": labels(6, 16, 2)}}}
    return make_task(
        abstasks.AbsTaskPairClassification, settings("pair_classification"), data, "0", "max_ap"
    )


def pairs_in_one_row(change=str):
    one = {name: [column] for name, column in _pairs(change).items()} | {
        "labels": [labels(6, 16, 2)]
    }
    return make_task(
        abstasks.AbsTaskPairClassification,
        settings("pair_classification"),
        {"default": {"test": one}},
        "0",
        "max_ap",
    )


def _classes(seed, n, change, n_labels=3):
    return {"text": texts(seed, n, change), "label": labels(seed + 1, n, n_labels)}


def classification(change=str):
    """A small part of the train split is read, and another one in each subset."""
    data = {
        subset: {"train": _classes(seed, 150, change), "test": _classes(seed + 2, 20, change)}
        for subset, seed in (("a", 10), ("b", 20))
    }
    return make_task(
        abstasks.AbsTaskClassification,
        settings("classification", ("a", "b")),
        data,
        "0",
        "accuracy",
        samples_per_label=3,
        n_experiments=2,
    )


def classification_train_is_test(change=str):
    return make_task(
        abstasks.AbsTaskClassification,
        settings("classification"),
        {"default": {"test": _classes(30, 60, change)}},
        "0",
        "accuracy",
        samples_per_label=3,
        n_experiments=2,
        train_split="test",
    )


def cross_validation(change=str):
    return make_task(
        abstasks.AbsTaskClassification,
        settings("classification"),
        {"default": {"test": _classes(40, 60, change)}},
        "0",
        "accuracy",
        is_cross_validation=True,
        n_splits=2,
        train_split="test",
    )


def regression(change=str):
    def part(seed, n):
        columns = _classes(seed, n, change, n_labels=100)
        return {"text": columns["text"], "value": [label / 10 for label in columns["label"]]}

    return make_task(
        abstasks.AbsTaskRegression,
        settings("classification"),
        {"default": {"train": part(50, 200), "test": part(52, 15)}},
        "0",
        "kendalltau",
        n_samples=40,
        n_experiments=2,
    )


def multilabel(change=str):
    """The test split is cut, and the train samples depend on the subsets before."""

    def part(seed, n):
        rng = random.Random(seed)
        return {
            "text": texts(seed, n, change),
            "label": [sorted(rng.sample(range(4), rng.randint(1, 2))) for _ in range(n)],
        }

    return make_task(
        abstasks.AbsTaskMultilabelClassification,
        settings("classification", ("a", "b")),
        {
            "a": {"train": part(60, 80), "test": part(61, 40)},
            "b": {"train": part(62, 80), "test": part(63, 10)},
        },
        "0",
        "accuracy",
        max_eval_samples=20,
        n_experiments=2,
        samples_per_label=4,
    )


def multilabel_train_is_test(change=str):
    """The test split is a cut of the split that it is trained on."""
    task = multilabel(change)
    for subset in ("a", "b"):
        task.dataset[subset].pop("train")
    task.train_split = "test"
    return task


def clustering(change=str):
    """A third of the documents is sampled; two subsets and two levels share a random state."""

    def part(seed):
        tops, subs = labels(seed + 1, 90), labels(seed + 2, 90)
        names = [
            [str(top)] if top == 2 else [str(top), f"{top}{sub}"]
            for top, sub in zip(tops, subs, strict=True)
        ]
        return {"sentences": texts(seed, 90, change), "labels": names}

    return make_task(
        abstasks.AbsTaskClustering,
        settings("clustering", ("a", "b")),
        {"a": {"test": part(70)}, "b": {"test": part(75)}},
        "0",
        "v_measure",
        max_fraction_of_documents_to_embed=None,
        max_document_to_embed=30,
        max_documents_per_cluster=40,
        n_clusters=3,
    )


def cluster_sets(change=str):
    """The middle set has a single label, which mteb does not even encode."""
    sets = [texts(80, 20, change), texts(81, 5, change), texts(82, 12, change)]
    names = [labels(83, 20), [1] * 5, labels(84, 12)]
    return make_task(
        abstasks.AbsTaskClusteringLegacy,
        settings("clustering"),
        {"default": {"test": {"sentences": sets, "labels": names}}},
        "0",
        "v_measure",
    )


def zero_shot(change=str):
    return make_task(
        abstasks.AbsTaskZeroShotClassification,
        settings("classification"),
        {"default": {"test": _classes(90, 12, change)}},
        "0",
        "accuracy",
        input_column_name="text",
        get_candidate_labels=lambda self: ["oak and elm", "pine and fir", "hazel"],
    )


def bitext(change=str):
    data = {s: {"test": _pairs(change)} for s in ("a", "b")}
    return make_task(abstasks.AbsTaskBitextMining, settings("sts", ("a", "b")), data, "0", "f1")


def parallel_bitext(change=str):
    columns = {name: texts(seed, 10, change) for seed, name in enumerate(("eng", "deu", "fra"))}
    subsets = ("eng-deu", "fra-eng")
    task = empty_task(
        abstasks.AbsTaskBitextMining,
        settings("sts", subsets),
        subsets,
        "0",
        "f1",
        parallel_subsets=True,
    )
    task.dataset = {"test": Dataset.from_dict(columns)}
    task.data_loaded = True
    return task


def summarization(change=str):
    data = {
        "text": texts(100, 6),
        "human_summaries": [texts(101 + row, 3, change) for row in range(6)],
        "machine_summaries": [texts(111 + row, 4, change) for row in range(6)],
        "relevance": [
            [1.0, 2.0, 3.0, 4.0],
            *([float(x) for x in labels(row, 4, 9)] for row in range(5)),
        ],
    }
    return make_task(
        abstasks.AbsTaskSummarization,
        settings("summarization"),
        {"default": {"test": data}},
        "0",
        "cosine_spearman",
        min_score=0,
        max_score=10,
    )


def _search(kind, change, ranked, **queries):
    n_queries, n_documents = 8, 20
    corpus = {
        "id": [f"d{row}" for row in range(n_documents)],
        "title": ["" if row % 3 == 0 else f"Title {row}" for row in range(n_documents)],
        "text": texts(130, n_documents, change),
    }
    ids = [f"q{row}" for row in range(n_queries)]
    rng = random.Random(131)
    qrels = {
        query: {f"d{d}": d % 3 for d in rng.sample(range(n_documents), 4)} for query in ids[:-1]
    }
    lists = {query: [f"d{d}" for d in rng.sample(range(n_documents), 9)] for query in ids}
    for query, judged in qrels.items():
        lists[query] += [d for d in judged if d not in lists[query]]
    task = empty_task(abstasks.AbsTaskRetrieval, settings(kind), ["default"], "0", "ndcg_at_10")
    task.dataset = {
        "default": {
            "test": {
                "corpus": Dataset.from_dict(corpus),
                "queries": Dataset.from_dict(
                    {"id": ids, "text": texts(132, n_queries, change), **queries}
                ),
                "relevant_docs": qrels,
                "top_ranked": lists if ranked else None,
            }
        }
    }
    task.data_loaded = True
    return task


def retrieval(change=str):
    return _search("retrieval", change, ranked=False)


def instruction_reranking(change=str):
    instructions = [f"Only number {row}" for row in range(8)]
    return _search("reranking", change, ranked=True, instruction=instructions)


SAMPLES = [
    sts,
    pairs,
    pairs_in_one_row,
    classification,
    classification_train_is_test,
    cross_validation,
    regression,
    multilabel,
    clustering,
    cluster_sets,
    zero_shot,
    bitext,
    parallel_bitext,
    summarization,
    retrieval,
    instruction_reranking,
]
