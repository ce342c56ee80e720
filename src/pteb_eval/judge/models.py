"""Evidence for meaning beside LLMs: entailment both ways, cosine, and edit distance as a baseline.

Each is put on the scale from 0 to 5. That makes them comparable in order, not in size: what a
cosine of 0.6 is worth in points of the scale is a convention.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from pteb_eval.errors import UserError, one_line
from pteb_eval.ids import digest
from pteb_eval.judge.ratings import HIGHEST, Pair, Rating
from pteb_eval.progress import Progress
from pteb_eval.store import ShardStore

SCHEMA = pa.schema([("key", pa.string()), ("score", pa.float32())])
BATCH, CHUNK = 64, 4096

Score = Callable[[Sequence[Pair]], NDArray[np.float32]]
"""Scores of pairs in [0, 5], (n_pairs,)."""


class ModelRater:
    """A judge that computes its ratings.

    Args:
        settings: `engine` (`nli`, `cosine` or `edit_distance`), `model`, `revision`.
        cache: the cache folder; ratings of models are kept there.
        label: what progress lines begin with.

    Raises:
        UserError: if there is no such model, or it cannot be reached.
    """

    def __init__(self, settings: dict[str, Any], cache: Path, label: str) -> None:
        self.label = label
        self.identity, self._score = _SCORES[settings["engine"]](settings)
        self._store = ShardStore(cache / "judgements" / digest(self.identity)[:32], SCHEMA)
        self._keeps = settings["engine"] != "edit_distance"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing to let go."""

    def rate(self, pairs: Sequence[Pair]) -> dict[Pair, Rating]:
        """The rating of each distinct pair."""
        by_key = {digest(list(pair)): pair for pair in pairs}
        kept = self._store.lookup(by_key) if self._keeps else SCHEMA.empty_table()
        scores = dict(zip(kept["key"].to_pylist(), kept["score"].to_pylist(), strict=True))
        # Longest first, so that batches are even.
        todo = sorted(
            by_key.keys() - scores.keys(), key=lambda key: (-len("".join(by_key[key])), key)
        )
        progress = Progress(self.label, len(by_key))
        progress.begin(len(scores))
        for start in range(0, len(todo), CHUNK):
            keys = todo[start : start + CHUNK]
            made = self._score([by_key[key] for key in keys])
            if self._keeps:
                self._store.append(pa.table({"key": keys, "score": made}, SCHEMA))
            scores |= dict(zip(keys, made.tolist(), strict=True))
            progress.advance(len(keys))
        progress.close()
        return {pair: Rating(scores[key], ratings=(scores[key],)) for key, pair in by_key.items()}


def _edit_distance(settings: dict[str, Any]) -> tuple[dict[str, Any], Score]:
    def score(pairs: Sequence[Pair]) -> NDArray[np.float32]:
        kept = [1 - Levenshtein.normalized_distance(*pair) for pair in pairs]
        return np.array(kept, np.float32) * HIGHEST

    return {"engine": "edit_distance"}, score


def _cosine(settings: dict[str, Any]) -> tuple[dict[str, Any], Score]:
    """Texts are embedded as sentences of an STS task, which decides the prompt of some models."""
    from pteb_eval.embed.encoders import load_encoder
    from pteb_eval.tasks.load import task_metadata

    form = {"path": None, "dtype": None, "max_length": None, "trust_remote_code": False}
    model = {"name": settings["model"], "revision": settings["revision"], **form}
    encoder, metadata = load_encoder(model, None), task_metadata("STSBenchmark")
    prompt = encoder.prompt(metadata, None)

    def score(pairs: Sequence[Pair]) -> NDArray[np.float32]:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        vectors = encoder.encode(texts, metadata, None, BATCH)
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        place = {text: row for row, text in enumerate(texts)}
        first, second = (vectors[[place[pair[side]] for pair in pairs]] for side in (0, 1))
        cosine = np.einsum("ij,ij->i", first, second)
        return np.asarray(HIGHEST * np.clip(cosine, 0, 1), np.float32)

    return {"engine": "cosine", "encoder": encoder.identity, "prompt": prompt}, score


def _nli(settings: dict[str, Any]) -> tuple[dict[str, Any], Score]:
    from importlib.metadata import version

    from sentence_transformers import CrossEncoder
    from torch.nn import Softmax

    name, revision = settings["model"], settings["revision"]
    try:
        model = CrossEncoder(name, revision=revision)
    except Exception as error:  # hub, network and file errors share no base class
        reason = one_line(error)
        raise UserError(
            f"judge model {name!r}: cannot be loaded ({reason}): give the folder of a "
            "cross-encoder, or fetch it where there is a network (`fetch_all`)"
        ) from error
    labels = {str(label).lower(): int(i) for i, label in model.config.id2label.items()}
    entails = [i for label, i in labels.items() if label.startswith("entail")]
    if len(entails) != 1:
        raise UserError(
            f"judge model {name!r}: its labels are {', '.join(labels)}: an NLI model with a label "
            "`entailment` is needed"
        )

    def score(pairs: Sequence[Pair]) -> NDArray[np.float32]:
        both = [list(pair) for pair in pairs] + [list(reversed(pair)) for pair in pairs]
        probabilities = model.predict(
            both, batch_size=BATCH, activation_fn=Softmax(dim=-1), show_progress_bar=False
        )
        entailed = np.asarray(probabilities, np.float64)[:, entails[0]].reshape(2, -1)
        return np.asarray(HIGHEST * entailed.mean(axis=0), np.float32)

    files = Path(name).is_dir()
    identity = {
        "engine": "nli",
        "model": name,
        "revision": _folder_digest(name) if files else model.config._commit_hash or revision,
        "max_length": model.max_length,
        "sentence_transformers": version("sentence-transformers"),
    }
    return identity, score


def _folder_digest(folder: str) -> str:
    from pteb_eval.embed.encoders import folder_digest

    return f"files {folder_digest(Path(folder))}"


_SCORES: dict[str, Callable[[dict[str, Any]], tuple[dict[str, Any], Score]]] = {
    "edit_distance": _edit_distance,
    "cosine": _cosine,
    "nli": _nli,
}
