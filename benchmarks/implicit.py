"""The implicit suite end to end: processor time of embedding and of scoring, and their ratio.

    python benchmarks/implicit.py --data data --pub-rows 1900

Data sets are read from `<data>/<dataset>`; what is not there is left out. PUB's fourteen tasks are
made up, in its published layout. Each task goes through the stages as the workflow calls them, with
one cache for all, so a text that several tasks share is embedded once.
"""

import argparse
import json
import random
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from pteb_eval.embed import stage as embed
from pteb_eval.fetch import run as fetch
from pteb_eval.implicit.catalogue import entries
from pteb_eval.score import stage as score
from pteb_eval.store import read_table

WORDS = ["tea", "late", "train", "rain", "sister", "book", "never", "perhaps", "rather", "garden"]


def make_pub(folder: Path, n_rows: int) -> None:
    """Rows of about 60 words: seven tasks of two fixed options, seven of four options a row."""
    rng = random.Random(42)
    folder.mkdir()
    for number in range(1, 15):
        lines = []
        for row in range(n_rows):
            options = ["Direct answer", "Indirect answer"]
            if number % 2:
                options = [" ".join(rng.choices(WORDS, k=8)) + f" {i}" for i in range(4)]
            text = f"Context: {row}. " + " ".join(rng.choices(WORDS, k=58))
            item = {"pretext": text, "options": options, "correct answer": rng.choice(options)}
            lines.append(json.dumps(item) + "\n")
        (folder / f"task_{number}.jsonl").write_text("".join(lines))


def run_task(name: str, path: Path, model: dict, folder: Path, cache: Path) -> tuple[int, ...]:
    """Distinct texts, and milliseconds of the processor for loading, embedding and scoring."""
    task = {"implicit": name, "path": str(path)}
    if path.name == "sbic" and not list(path.glob("*trn*")) + list(path.glob("*.tgz")):
        task["train_on"] = "dev"
    folder.mkdir()
    texts, vectors = folder / "texts.parquet", folder / "vectors.parquet"
    outputs = {kind: folder / f"{kind}.parquet" for kind in ("scores", "instances")}
    times = [time.process_time()]
    fetch({"task": task, "scope": "pteb", "max_instances": None}, "", texts)
    times.append(time.process_time())
    embed.run({"model": model, "task": task, "batch_size": 64}, texts, None, cache, vectors)
    times.append(time.process_time())
    score.run_original({"model": model["name"], "task": task}, "", texts, vectors, outputs)
    times.append(time.process_time())
    spans = [round(1000 * (b - a)) for a, b in pairwise(times)]
    return read_table(texts, ["text_id"]).num_rows, *spans


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of data sets")
    parser.add_argument("--pub-rows", type=int, default=1900, help="made rows of each PUB task")
    parser.add_argument("--model", default="all-MiniLM-L6-v2", help="a packaged model")
    arguments = parser.parse_args()
    model = {"name": arguments.model, "revision": None, "path": None, "dtype": None}
    model |= {"max_length": None, "trust_remote_code": False}
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make_pub(folder / "pub", arguments.pub_rows)
        for name, one in entries().items():
            data = folder if one.dataset.name == "pub" else arguments.data
            path = data / one.dataset.name
            if path.is_dir() and one.part != "media":
                rows.append((name, *run_task(name, path, model, folder / name, folder / "cache")))
    print(f"{'task':22}{'texts':>8}{'load s':>9}{'embed s':>9}{'score s':>9}")
    sums = [sum(column) for column in zip(*(row[1:] for row in rows), strict=True)]
    for name, texts, *spans in [*rows, ("together", *sums)]:
        print(f"{name:22}{texts:>8}" + "".join(f"{span / 1000:>9.1f}" for span in spans))
    print(f"scoring takes {sums[3] / sums[2]:.2f} of the time of embedding")


if __name__ == "__main__":
    main()
