"""Peak memory of each stage on a large retrieval task, above that on a tiny one.

    python benchmarks/memory.py --documents 200000 --queries 5000

Every stage runs as the workflow calls it, in a process of its own, twice: on the generated task,
and on one of a few documents, which shows what the libraries and the model take alone.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pteb_eval.config import parse_config
from pteb_eval.ids import text_id
from pteb_eval.paraphrase.stage import SCHEMA
from pteb_eval.store import read_table, write_table
from pteb_eval.workflow import Workflow

MIB = 2**20
TASK, GENERATOR = "generated", "made"
VOCABULARY = ["".join(pair) for pair in zip("abcdefghij" * 500, map(str, range(5000)), strict=True)]


def words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choices(VOCABULARY, k=count))


def make_task(folder: Path, n_documents: int, n_queries: int) -> None:
    """A folder in BEIR's layout: documents of 60 words, queries of 8 of their words."""
    rng = random.Random(42)
    folder.mkdir(parents=True)
    documents = [words(rng, 60) for _ in range(n_documents)]
    wanted = [rng.randrange(n_documents) for _ in range(n_queries)]
    queries = [" ".join(rng.sample(documents[place].split(), 8)) for place in wanted]
    for name, texts in (("corpus", documents), ("queries", queries)):
        ids = [f"{name[0]}{row}" for row in range(len(texts))]
        pq.write_table(pa.table({"_id": ids, "text": texts}), folder / f"{name}.parquet")
    judgements = {
        "query-id": [f"q{row}" for row in range(n_queries)],
        "corpus-id": [f"c{place}" for place in wanted],
        "score": [1] * n_queries,
    }
    pq.write_table(pa.table(judgements), folder / "qrels.parquet")


def make_paraphrases(flow: Workflow, runs: int) -> None:
    """Rewordings of each query: its words in another order, and one more."""
    rng = random.Random(43)
    texts = read_table(flow.layout.texts(TASK))
    rows = [
        {
            "text_id": text_id(text),
            "run": run,
            "paraphrase": " ".join([*rng.sample(text.split(), len(text.split())), words(rng, 1)]),
            "status": "ok",
            "copy": False,
            "edit_distance": 0.5,
            "word_overlap": 0.9,
            "length_ratio": 1.1,
            "finish_reason": "stop",
            "attempt": 0,
            "n_tokens": 12,
            "seed": 0,
        }
        for text, reworded in zip(
            texts["text"].to_pylist(), texts["reworded"].to_pylist(), strict=True
        )
        if reworded
        for run in range(1, runs + 1)
    ]
    write_table(flow.layout.paraphrases(GENERATOR, TASK), pa.Table.from_pylist(rows, SCHEMA), {})


def peak(arguments: list[str]) -> tuple[float, float]:
    """Runs a stage; its peak memory in MiB and its seconds."""
    began = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-c", "from pteb_eval.cli import main; main()", *arguments],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    messages = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(arguments[:1])} failed: {messages[-2000:]}")
    return usage.ru_maxrss * 1024 / MIB, time.monotonic() - began


def measure(
    folder: Path, model: str, n_documents: int, n_queries: int, runs: int
) -> dict[str, tuple[float, float]]:
    """Peaks of all stages on one task."""
    make_task(folder / "data", n_documents, n_queries)
    task = {"type": "retrieval", "name": TASK, "path": str(folder / "data")}
    generator = {"name": GENERATOR, "engine": "openai", "model": "none"}
    generator["prompts"] = ["resources/prompts/paraphrase_chat.yaml"]
    config: dict[str, Any] = {"name": "run", "tasks": [task], "models": [model], "runs": runs}
    config["generators"] = [generator]
    flow = Workflow(parse_config(config, "benchmark"), folder)
    layout = flow.layout
    texts = ["--texts", str(layout.texts(TASK))]
    reworded = ["--paraphrases", str(layout.paraphrases(GENERATOR, TASK))]
    vectors = [str(layout.embeddings(model, name, TASK)) for name in ("original", GENERATOR)]
    embed = ["embed", "--settings", flow.embed_settings(model, TASK), *texts]
    embed += ["--cache", str(flow.cache)]

    def score(name: str) -> list[str]:
        outputs = [
            *("--scores", str(layout.scores(model, name, TASK))),
            *("--instances", str(layout.instances(model, name, TASK))),
        ]
        return ["score", "--settings", flow.score_settings(model, TASK, name), *texts, *outputs]

    surface = ["--surface", str(layout.surface(model, GENERATOR, TASK))]
    stages = {
        "fetch": ["fetch", "--settings", flow.fetch_settings(TASK), "--output", texts[1]],
        "embed originals": [*embed, "--output", vectors[0]],
        "embed paraphrases": [*embed, *reworded, "--output", vectors[1]],
        "score original": [*score("original"), "--embeddings", vectors[0]],
        "score paraphrases": [
            *score(GENERATOR),
            *reworded,
            *surface,
            *("--embeddings", vectors[0], "--embeddings", vectors[1]),
        ],
        "test": ["test", "--settings", flow.test_settings(), "--root", str(layout.root)],
    }
    found = {}
    for stage, arguments in stages.items():
        found[stage] = peak(arguments)
        print(f"{n_documents} documents, {stage}: {found[stage][0]:.0f} MiB", file=sys.stderr)
        if stage == "fetch":
            make_paraphrases(flow, runs)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=5_000)
    parser.add_argument("--model", default="wordllama", help="a packaged model")
    parser.add_argument("--runs", type=int, default=6, help="paraphrases of each query")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        tiny = measure(Path(name) / "tiny", arguments.model, 50, 10, arguments.runs)
        size = arguments.documents, arguments.queries, arguments.runs
        large = measure(Path(name) / "large", arguments.model, *size)
    print(f"{arguments.documents} documents, {arguments.queries} queries, {arguments.model}")
    for stage, (memory, seconds) in large.items():
        above = (memory - tiny[stage][0]) / 1024
        print(
            f"{stage:20} peak {memory / 1024:5.2f} GiB, {above:5.2f} above tiny, {seconds:5.0f} s"
        )
    worst = max(large[stage][0] - tiny[stage][0] for stage in large) / 1024
    print(json.dumps({"worst_gib_above_model": round(worst, 2)}))


if __name__ == "__main__":
    main()
