"""The embed stage against plain SentenceTransformer.encode: ratios, measured in one run.

    python benchmarks/encode.py --texts 10000

A generated STS task with its paraphrases goes through the stage as the workflow calls it: the task
is loaded, the model is loaded, vectors go to an empty cache and from there to the file. Beside it
the bare model encodes (a) the same distinct texts, (b) every variant on its own, as a loop over
runs does: the original and each run, with all texts that repeat.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from pteb_eval.embed import stage
from pteb_eval.embed.packaged import load_packaged
from pteb_eval.fetch import run as fetch
from pteb_eval.ids import text_id
from pteb_eval.store import read_table, write_table

BATCH = 64
RUNS = 6
COPIES = 0.2  # share of paraphrases that are the text itself, or that of an earlier run
REPEATS = 0.25  # share of second sentences that occur before, as in STS tasks
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]


def sentences(rng: random.Random) -> Iterator[str]:
    """Sentences of 4 to 14 made-up words: about 20 tokens, as STS sentences have."""
    vocabulary = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 2))) for _ in range(3000)]
    while True:
        yield " ".join(rng.choices(vocabulary, k=rng.randint(4, 14))).capitalize() + "."


def make_task(n_texts: int, folder: Path) -> tuple[dict, list[list[str]]]:
    """Files of a task whose variants hold about `n_texts` distinct texts; its variants' texts."""
    rng = random.Random(42)
    source = sentences(rng)
    n_originals = max(8, round(n_texts / (1 + RUNS * (1 - COPIES))))
    originals = list(dict.fromkeys(next(source) for _ in range(n_originals)))
    first = originals
    second = [
        rng.choice(originals) if rng.random() < REPEATS else text for text in reversed(originals)
    ]
    rows = ["sentence1,sentence2,score"]
    rows += [f"{a},{b},{rng.uniform(0, 5):.2f}" for a, b in zip(first, second, strict=True)]
    (folder / "task.csv").write_text("\n".join(rows) + "\n")
    task = {"type": "sts", "name": "generated", "path": str(folder / "task.csv")}
    task["language"] = "eng-Latn"
    fetch({"task": task, "scope": "all", "max_instances": None}, "", folder / "texts.parquet")
    reworded = {
        text: [text if rng.random() < COPIES else next(source) for _ in range(RUNS)]
        for text in originals
    }
    write_paraphrases(reworded, folder / "paraphrases.parquet")
    slots = first + second
    return task, [slots] + [[reworded[text][run] for text in slots] for run in range(RUNS)]


def write_paraphrases(reworded: dict[str, list[str]], path: Path) -> None:
    rows = [
        {"text_id": text_id(text), "run": run, "paraphrase": new, "status": "ok"}
        for text, texts in reworded.items()
        for run, new in enumerate(texts, start=1)
    ]
    write_table(path, pa.Table.from_pylist(rows), {})


def run_stage(name: str, task: dict, folder: Path) -> set[str]:
    """Both embed jobs of a model, with an empty cache; the ids of the texts that got a vector."""
    model = {"name": name, "revision": None, "path": None, "dtype": None}
    model |= {"max_length": None, "trust_remote_code": False}
    settings = {"task": task, "model": model, "batch_size": BATCH}
    embedded = set()
    for paraphrases in (None, folder / "paraphrases.parquet"):
        output = folder / "vectors.parquet"
        stage.run(settings, folder / "texts.parquet", paraphrases, folder / "cache", output)
        embedded |= set(read_table(output, ["text_id"])["text_id"].to_pylist())
    return embedded


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and of all processors."""
    wall, cpu = time.monotonic(), time.process_time()
    work()
    return time.monotonic() - wall, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=10_000, help="distinct texts, about")
    parser.add_argument("--model", default="all-MiniLM-L6-v2", help="a packaged model")
    arguments = parser.parse_args()
    network = load_packaged(arguments.model, None, {})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task, variants = make_task(arguments.texts, folder)
        distinct = list(dict.fromkeys(text for variant in variants for text in variant))
        network.encode(distinct[:256], batch_size=BATCH)  # warm

        def plain() -> None:
            network.encode(distinct, batch_size=BATCH)

        def separately() -> None:
            for variant in variants:
                network.encode(variant, batch_size=BATCH)

        # The plain model before and after, so that a machine that slows down favors neither.
        before = timed(plain)
        staged = timed(lambda: check(run_stage(arguments.model, task, folder), distinct))
        after = timed(plain)
        apart = timed(separately)
    print(f"{len(distinct)} distinct texts, {sum(map(len, variants))} in {len(variants)} variants")
    for unit, place in (("clock", 0), ("processor", 1)):
        base = (before[place] + after[place]) / 2
        print(
            f"by the {unit}: plain {len(distinct) / base:.0f} texts/s; the stage runs at "
            f"{base / staged[place]:.2f} of that, and {apart[place] / staged[place]:.2f} times as "
            "fast as encoding every variant separately"
        )


def check(embedded: set[str], texts: list[str]) -> None:
    assert embedded == {text_id(text) for text in texts}, "the stage left texts out"


if __name__ == "__main__":
    main()
