"""How far each text's vector moves with its wording: no labels needed, so for every task."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from pteb_eval.ids import text_id
from pteb_eval.score.serving import ServingEncoder
from pteb_eval.statistics.surface import invariance
from pteb_eval.variants import Variants

SURFACE = pa.schema(
    [
        ("text_id", pa.string()),
        ("run", pa.int32()),
        ("prompt_type", pa.string()),
        ("cosine", pa.float32()),
        ("rank", pa.float64()),
    ]
)


def surface_rows(encoder: ServingEncoder, variants: Variants) -> Iterator[dict[str, Any]]:
    """Rows of `SURFACE`: each reworded text against its paraphrase of each run.

    `cosine` is that of the two vectors, `rank` that of the text's own paraphrase among all of the
    run by cosine to the text, 1 the nearest. Texts without a usable paraphrase are left out, and so
    are those that an evaluator only ever hands over joined with others (instructed queries).
    """
    slots = variants.structure.slots(variants.task)
    texts = dict.fromkeys(text for slot, text in slots if slot in variants.reworded)
    for kind in encoder.prompt_types:
        for run in variants.runs:
            pairs = [
                (text, variants.paraphrases[text_id(text), run])
                for text in texts
                if (text_id(text), run) in variants.paraphrases
            ]
            pairs = [pair for pair in pairs if all(encoder.knows(text, kind) for text in pair)]
            if not pairs:
                continue
            originals, paraphrases = zip(*pairs, strict=True)
            found = invariance(encoder.vectors(originals, kind), encoder.vectors(paraphrases, kind))
            for text, cosine, rank in zip(originals, found.cosine, found.rank, strict=True):
                yield {
                    "text_id": text_id(text),
                    "run": run,
                    "prompt_type": kind,
                    "cosine": np.float32(cosine),
                    "rank": rank,
                }
