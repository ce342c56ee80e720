"""Every vector that a model ever made, kept: each distinct text once a model and prompt."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pteb_eval.ids import digest, text_id
from pteb_eval.store import ShardStore, let_go, room_for

SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("vector", pa.list_(pa.float32())),
        ("n_tokens", pa.int32()),
        ("truncated", pa.bool_()),
    ]
)
FIRST_CHUNK, LAST_CHUNK = 256, 8192  # texts
CHUNK_SECONDS = 10.0  # what a stopped job may lose, more or less

Encode = Callable[[list[str]], NDArray[np.float32]]
Count = Callable[[list[str]], list[tuple[int, bool]] | None]


class VectorCache:
    """Vectors of one model and prompt, by text id.

    Args:
        root: the cache folder shared by all configs.
        identity: `Encoder.identity`.
        prompt: the literal prompt.
    """

    def __init__(self, root: Path, identity: dict[str, Any], prompt: str) -> None:
        self.identity = {**identity, "prompt": prompt}
        self.store = ShardStore(root / "vectors" / digest(self.identity)[:32], SCHEMA)

    def missing(self, texts: Sequence[str]) -> list[str]:
        """The distinct texts without a vector, longest first so that batches are even."""
        by_id = {text_id(text): text for text in texts}
        known = self.store.known(list(by_id))
        return sorted(
            (text for identity, text in by_id.items() if identity not in known),
            key=lambda text: (-len(text), text),
        )

    def fill(self, texts: Sequence[str], encode: Encode, count: Count) -> Iterator[int]:
        """Embed the texts that have no vector yet; yields how many are done, chunk by chunk."""
        todo = self.missing(texts)
        start, size = 0, FIRST_CHUNK
        while start < len(todo):
            chunk = todo[start : start + size]
            began = time.monotonic()
            self.store.append(_rows(chunk, encode(chunk), count(chunk)), {"encoder": self.identity})
            start += len(chunk)
            yield len(chunk)
            if time.monotonic() - began < CHUNK_SECONDS / 2:
                size = min(2 * size, LAST_CHUNK)

    def lookup(self, texts: Sequence[str]) -> pa.Table:
        """Rows of these texts, one a distinct text, in no promised order."""
        return self.store.lookup(text_id(text) for text in texts)

    def gather(self, texts: Sequence[str]) -> pa.Table:
        """Text ids in order, with `vector` (fixed-size list), `n_tokens` and `truncated`.

        The vectors do not stay in memory if they are many.

        Raises:
            ValueError: if a vector is not finite.
        """
        ids = sorted({text_id(text) for text in texts})
        place = {identity: row for row, identity in enumerate(ids)}
        vectors = room_for(0, 1)
        tokens: list[int | None] = [None] * len(ids)
        cut: list[bool | None] = [None] * len(ids)
        for part in self.store.parts(ids):
            if not part.num_rows:
                continue
            block = part["vector"].combine_chunks().flatten().to_numpy()
            block = block.reshape(part.num_rows, -1)
            if not np.isfinite(block).all():
                raise ValueError("vectors that are not finite")
            if not len(vectors):
                vectors = room_for(len(ids), block.shape[1])
            rows = [place[key] for key in part["key"].to_pylist()]
            vectors[rows] = block
            let_go(vectors)
            counts = part["n_tokens"].to_pylist(), part["truncated"].to_pylist()
            for row, n_tokens, truncated in zip(rows, *counts, strict=True):
                tokens[row], cut[row] = n_tokens, truncated
        return pa.table(
            {
                "text_id": pa.array(ids, pa.string()),
                "vector": pa.FixedSizeListArray.from_arrays(
                    pa.array(vectors.ravel()), vectors.shape[1]
                ),
                "n_tokens": pa.array(tokens, pa.int32()),
                "truncated": pa.array(cut, pa.bool_()),
            }
        )


def _rows(
    texts: list[str], vectors: NDArray[np.float32], counts: list[tuple[int, bool]] | None
) -> pa.Table:
    n_tokens, truncated = zip(*counts, strict=True) if counts else ([None] * len(texts),) * 2
    offsets = np.arange(len(texts) + 1, dtype=np.int32) * vectors.shape[1]
    return pa.table(
        [
            pa.array([text_id(text) for text in texts]),
            pa.ListArray.from_arrays(offsets, pa.array(vectors.ravel())),
            pa.array(n_tokens, pa.int32()),
            pa.array(truncated, pa.bool_()),
        ],
        schema=SCHEMA,
    )
