"""What models were given: the literal prompt of each role, and how many texts were cut."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pteb_eval.config.base import ORIGINAL
from pteb_eval.ids import text_id
from pteb_eval.layout import Layout
from pteb_eval.store import provenance_of, read_table

INPUT_COLUMNS = (
    "model",
    "generator",
    "task",
    "variant",
    "prompt_type",
    "prompt",
    "n_texts",
    "truncated_share",
)


def input_rows(
    root: Path, models: dict[str, str], generators: Iterable[str], tasks: Iterable[str]
) -> Iterator[dict[str, Any]]:
    """One row a model, task, variant and prompt type, with the keys `INPUT_COLUMNS`.

    Args:
        root: the run's folder, `results/<name>`.
        models: name by slug, as the `test` stage has them.
        generators: names of the generators.
        tasks: names of the tasks.

    Yields:
        `variant` is `original` or `paraphrase`; `generator` is empty for the original. `n_texts`
        counts distinct texts under the prompt: types that share a prompt share their texts, so they
        must not be added up. `truncated_share` is in [0, 1], or None where the model does not tell.
    """
    layout, generators = Layout(root), list(generators)
    for task in tasks:
        for slug, model in models.items():
            for generator in (ORIGINAL, *generators):
                table = read_table(
                    layout.embeddings(slug, generator, task), ["prompt_id", "truncated"]
                )
                is_original = generator == ORIGINAL
                for row in _rows(table):
                    yield {
                        "model": model,
                        "generator": "" if is_original else generator,
                        "task": task,
                        "variant": ORIGINAL if is_original else "paraphrase",
                        **row,
                    }


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for kind, prompt in provenance_of(table.schema)["prompts"].items():
        own = table.filter(pc.equal(table["prompt_id"], text_id(prompt)))["truncated"]
        yield {
            "prompt_type": kind,
            "prompt": prompt,
            "n_texts": len(own),
            "truncated_share": pc.mean(own).as_py(),
        }
