"""An mteb encoder that computes nothing: it serves vectors from the files of the embed stage."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pteb_eval.errors import UserError
from pteb_eval.ids import text_id
from pteb_eval.store import let_go, provenance_of, read_batches, read_table, room_for


class ServingEncoder:
    """Looks up the vector of each text under the prompt that its role calls for.

    mteb takes any object with `encode`, `similarity`, `similarity_pairwise` and `mteb_model_meta`.

    Args:
        name: the model's name.
        files: files of the embed stage; the same text in two of them has the same vector.

    Raises:
        UserError: if the files were made by different models.
    """

    def __init__(self, name: str, files: Sequence[Path]) -> None:
        tables = [read_table(path, ["prompt_id", "text_id"]) for path in files]
        stamps = [provenance_of(table.schema) for table in tables]
        if any(stamp["encoder"] != stamps[0]["encoder"] for stamp in stamps):
            raise UserError(f"{files[-1]}: made by another model than {files[0]}: run embed again")
        self.provenance = stamps[0]
        prompts = {kind: text for stamp in stamps for kind, text in stamp["prompts"].items()}
        self._prompt_ids = {kind: text_id(prompt) for kind, prompt in prompts.items()}
        self._vectors = _matrix(
            sum(table.num_rows for table in tables),
            [path for path, table in zip(files, tables, strict=True) if table.num_rows],
        )
        keys = [
            key
            for table in tables
            for key in zip(
                table["prompt_id"].to_pylist(), table["text_id"].to_pylist(), strict=True
            )
        ]
        self._row = {key: row for row, key in enumerate(keys)}
        self._similarity = self.provenance["similarity"]
        self.mteb_model_meta = _meta(name, self.provenance["encoder"]["revision"])

    def encode(self, inputs: Any, *, prompt_type: Any = None, **kwargs: Any) -> NDArray[np.float32]:
        """Vectors of a data loader's texts, in its order; shape (texts, dimensions)."""
        kind = str(getattr(prompt_type, "value", prompt_type) or "")
        return self.vectors((text for batch in inputs for text in batch["text"]), kind)

    @property
    def prompt_types(self) -> list[str]:
        """`query`, `document` or the empty string: the roles that texts were embedded in."""
        return list(self._prompt_ids)

    def knows(self, text: str, kind: str) -> bool:
        """Whether there is a vector of the text in this role."""
        return (self._prompt_ids.get(kind, ""), text_id(text)) in self._row

    def vectors(self, texts: Iterable[str], kind: str) -> NDArray[np.float32]:
        """Vectors of texts in a role; shape (texts, dimensions).

        Raises:
            UserError: if a text was not embedded.
        """
        prompt_id = self._prompt_ids.get(kind, "")
        try:
            rows = [self._row[prompt_id, text_id(text)] for text in texts]
        except KeyError:
            raise UserError(
                f"model {self.mteb_model_meta.name!r}: a text has no vector under the prompt of "
                f"{kind or 'no role'}: run embed again"
            ) from None
        found = np.asarray(self._vectors[rows])
        let_go(self._vectors)
        return found

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """All against all, by the model's own similarity."""
        return _similarity_functions(self._similarity)[0](embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Row by row, by the model's own similarity."""
        return _similarity_functions(self._similarity)[1](embeddings1, embeddings2)


def _similarity_functions(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Mteb's functions for a similarity: all against all, and row by row."""
    from mteb import similarity_functions as functions

    if name == "dot":
        return functions.dot_score, functions.pairwise_dot_score
    if name == "euclidean":
        return functions.euclidean_sim, functions.pairwise_euclidean_sim
    if name == "cosine":
        return functions.cos_sim, functions.pairwise_cos_sim
    raise UserError(f"similarity {name!r} of the model is not one that a vector a text allows")


def _matrix(n_rows: int, files: Sequence[Path]) -> NDArray[np.float32]:
    """The vectors of all files, one below the other, read in blocks."""
    matrix = room_for(0, 1)
    row = 0
    for path in files:
        for column in read_batches(path, "vector", 8192):
            block = column.flatten().to_numpy().reshape(len(column), -1)
            if not len(matrix):
                matrix = room_for(n_rows, block.shape[1])
            matrix[row : row + len(block)] = block
            row += len(block)
            let_go(matrix)
    return matrix


def _meta(name: str, revision: str) -> Any:
    from mteb.models.model_meta import ModelMeta

    return ModelMeta.create_empty(overwrites={"name": name, "revision": revision})
