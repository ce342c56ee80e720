"""One door to every embedding model: packaged, a local folder, or whatever mteb can load."""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pteb_eval.embed.bag_of_tokens import BagOfTokens
from pteb_eval.embed.packaged import PACKAGES, load_packaged, packaged_revision
from pteb_eval.errors import UserError
from pteb_eval.hub import advice, is_offline
from pteb_eval.ids import file_sha256

_PROBE = "pteb probe"


@dataclass
class Encoder:
    """A loaded model.

    Attributes:
        model: an mteb encoder, or `BagOfTokens`.
        identity: everything but prompt and text that can change a vector, as JSON values.
        similarity: `cosine`, `dot` or another name of an mteb similarity function.
    """

    model: Any
    identity: dict[str, Any]
    similarity: str

    def prompt(self, task_metadata: Any, prompt_type: str | None) -> str:
        """The literal prompt that the model puts before a text of this task and role.

        Read by watching a probe pass through sentence-transformers. A model that does not go
        through it (an API, say) builds its prompt out of sight: then task and role stand for it.
        """
        if isinstance(self.model, BagOfTokens):
            return ""
        network = self._network()
        if network is None:
            return f"<set by the model's own code for {task_metadata.name}, {prompt_type or 'any'}>"
        with _watched(network) as seen:
            self._encode([_PROBE], task_metadata, prompt_type, batch_size=1)
        prompt, text = seen[0]
        literal = prompt + text.split(_PROBE)[0]
        # A router sends queries and documents through different weights, be their prompts the same.
        routed = prompt_type and type(network[0]).__name__ == "Router"
        return f"<{prompt_type} route>{literal}" if routed else literal

    def encode(
        self, texts: list[str], task_metadata: Any, prompt_type: str | None, batch_size: int
    ) -> NDArray[np.float32]:
        """Vectors of texts, shape (len(texts), dimensions), float32."""
        if isinstance(self.model, BagOfTokens):
            return self.model.encode_texts(texts)
        vectors = self._encode(texts, task_metadata, prompt_type, batch_size)
        return np.asarray(vectors, dtype=np.float32)

    def count_tokens(self, texts: list[str], prompt: str) -> list[tuple[int, bool]] | None:
        """Tokens of each text with its prompt, and whether the model cut it; None if unknown."""
        if isinstance(self.model, BagOfTokens):
            return [(count, False) for count in self.model.count_tokens(texts)]
        network = self._network()
        if network is None or not hasattr(network[0], "tokenizer"):
            return None
        literal = re.sub(r"^<\w+ route>", "", prompt)
        counts = _token_counts(network.tokenizer, [literal + text for text in texts])
        limit = network.max_seq_length or float("inf")
        return [(int(min(count, limit)), count > limit) for count in counts]

    def _network(self) -> Any:
        from sentence_transformers import SentenceTransformer

        network = getattr(self.model, "model", None)
        return network if isinstance(network, SentenceTransformer) else None

    def _encode(
        self, texts: list[str], task_metadata: Any, prompt_type: str | None, batch_size: int
    ) -> Any:
        from datasets import Dataset
        from mteb.types import PromptType
        from torch.utils.data import DataLoader

        return self.model.encode(
            DataLoader(Dataset.from_dict({"text": texts}), batch_size=batch_size),
            task_metadata=task_metadata,
            hf_split="",
            hf_subset="",
            prompt_type=PromptType(prompt_type) if prompt_type else None,
            batch_size=batch_size,
            show_progress_bar=False,
        )


def load_encoder(settings: dict[str, Any], device: str | None) -> Encoder:
    """Load a model.

    Args:
        settings: a `config.Model` as JSON values.
        device: where to run it; None: what sentence-transformers finds.

    Raises:
        UserError: if there is no such model, or it cannot be reached.
    """
    name = settings["name"]
    model_kwargs = {"dtype": settings["dtype"]} if settings["dtype"] else {}
    with _own_code(name, settings["trust_remote_code"]):
        if settings["path"]:
            folder = Path(settings["path"])
            model, revision = _from_folder(name, folder, device, settings, model_kwargs)
        elif name in PACKAGES:
            model = _wrapped(load_packaged(name, device, model_kwargs))
            revision = f"package {packaged_revision(name)}"
        else:
            model, revision = _from_mteb(name, device, settings, model_kwargs)
    network = getattr(model, "model", None)
    if settings["max_length"] and network is not None:
        network.max_seq_length = settings["max_length"]
    return Encoder(model, _identity(settings, revision, network), _similarity_name(model))


def is_local(settings: dict[str, Any]) -> bool:
    """Whether a model comes from a folder or a package, not from a hub."""
    return bool(settings["path"]) or settings["name"] in PACKAGES


def _identity(settings: dict[str, Any], revision: str, network: Any) -> dict[str, Any]:
    from importlib.metadata import version

    limit = getattr(network, "max_seq_length", None)
    modules = [type(module).__name__ for module in network] if network is not None else []
    return {
        "model": settings["name"],
        "revision": revision,
        "dtype": settings["dtype"]
        or str(getattr(network, "dtype", "float32")).removeprefix("torch."),
        "max_length": None if limit in {None, float("inf")} else limit,
        "truncate_dim": getattr(network, "truncate_dim", None),
        "normalized": "Normalize" in modules,
        "sentence_transformers": version("sentence-transformers"),
    }


def _from_folder(
    name: str,
    folder: Path,
    device: str | None,
    settings: dict[str, Any],
    model_kwargs: dict[str, Any],
) -> tuple[Any, str]:
    from sentence_transformers import SentenceTransformer

    if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
        raise UserError(
            f"model {name!r}: {folder} is no model folder (no modules.json or config.json in it): "
            "give the folder that SentenceTransformer.save wrote"
        )
    try:
        network = SentenceTransformer(
            str(folder),
            device=device,
            model_kwargs=model_kwargs,
            trust_remote_code=settings["trust_remote_code"],
            local_files_only=True,
        )
    except UserError:
        raise
    except Exception as error:  # whatever a library raises on a folder that is no model
        raise UserError(f"model {name!r}: {folder} cannot be loaded: {_one_line(error)}") from error
    return _wrapped(network), f"files {folder_digest(folder)}"


def _from_mteb(
    name: str, device: str | None, settings: dict[str, Any], model_kwargs: dict[str, Any]
) -> tuple[Any, str]:
    import mteb

    kwargs: dict[str, Any] = {"model_kwargs": model_kwargs} if model_kwargs else {}
    if settings["trust_remote_code"]:
        kwargs["trust_remote_code"] = True
    try:
        model = mteb.get_model(name, settings["revision"], device=device, **kwargs)
    except UserError:
        raise
    except Exception as error:  # hub, network, registry and loader errors share no base class
        revision = settings["revision"]
        what = f"model {name}" + (f" at revision {revision}" if revision else "")
        reason = "not fetched" if is_offline() else f"cannot be loaded ({_one_line(error)})"
        raise UserError(
            f"model {name!r}: {reason}: {advice(what)}; packaged models: {', '.join(PACKAGES)}"
        ) from error
    if not hasattr(model, "encode"):
        raise UserError(f"model {name!r} is no embedding model (it has no `encode`)")
    return model, str(model.mteb_model_meta.revision)


@contextmanager
def _own_code(name: str, trusted: bool) -> Iterator[None]:
    """Run no code that comes with a model unless it is trusted, whatever its loader says.

    mteb's loaders of over a hundred models trust it by themselves. All of them, transformers and
    sentence-transformers come by this one function to import it.
    """
    from transformers import dynamic_module_utils as library

    def refuse(*_: Any, **__: Any) -> None:
        raise UserError(
            f"model {name!r} runs code that comes with it: look at that code, then set "
            "trust_remote_code: true in its entry of `models`"
        )

    import_class = library.get_class_in_module
    library.get_class_in_module = import_class if trusted else refuse
    try:
        yield
    finally:
        library.get_class_in_module = import_class


def _wrapped(network: Any) -> Any:
    """Mteb's encoder around a SentenceTransformer; a `BagOfTokens` stays as it is."""
    if isinstance(network, BagOfTokens):
        return network
    from mteb.models.sentence_transformer_wrapper import SentenceTransformerEncoderWrapper

    return SentenceTransformerEncoderWrapper(network)


def _similarity_name(model: Any) -> str:
    network = getattr(model, "model", None)
    name = getattr(network, "similarity_fn_name", None)
    if name is None:
        meta = getattr(model, "mteb_model_meta", None)
        name = getattr(meta, "similarity_fn_name", None)
    return str(getattr(name, "value", name) or "cosine")


@contextmanager
def _watched(network: Any) -> Iterator[list[tuple[str, str]]]:
    """Collects (prompt, text) of each text that the network is given, while open."""
    seen: list[tuple[str, str]] = []
    preprocess = network.preprocess

    def spy(inputs: Any, prompt: str | None = None, **kwargs: Any) -> Any:
        seen.extend((prompt or "", str(text)) for text in inputs)
        return preprocess(inputs, prompt=prompt, **kwargs)

    network.preprocess = spy
    try:
        yield seen
    finally:
        del network.preprocess


def _token_counts(tokenizer: Any, texts: list[str]) -> list[int]:
    if hasattr(tokenizer, "encode_batch"):  # tokenizers.Tokenizer, as static models have it
        return [len(e.ids) for e in tokenizer.encode_batch(texts, add_special_tokens=False)]
    lengths = tokenizer(texts, truncation=False, return_attention_mask=False, return_length=True)
    return [int(length) for length in lengths["length"]]


def folder_digest(folder: Path) -> str:
    """SHA-256 over the names and contents of a folder's files, 64 hexadecimal digits."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        total.update(f"{path.relative_to(folder).as_posix()} {file_sha256(path)}\n".encode())
    return total.hexdigest()


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else text[:200] + "…"
