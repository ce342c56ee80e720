"""From a GGUF file to the folder of weights, settings and tokenizer that vLLM loads."""

import mmap
import shutil
import uuid
from pathlib import Path

from pteb_eval.errors import UserError
from pteb_eval.paraphrase.engines.packaged import METADATA_BYTES, file_sha256
from pteb_eval.store.files import disk_errors

_ADD_BOS = b"tokenizer.ggml.add_bos_token" + (7).to_bytes(4, "little")


def gguf_to_folder(gguf: Path, folder: Path) -> Path:
    """Make the folder of a GGUF file, weights unpacked to bfloat16; a folder that is there is kept.

    It is made under another name and renamed when it is whole, so an interrupted one is made again.

    Args:
        gguf: the model file.
        folder: the folder to make; name it after the file's digest.

    Raises:
        UserError: if the packages that read GGUF are missing, or transformers cannot read the file.
    """
    if folder.is_dir():
        return folder
    part = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.tmp")
    with disk_errors(folder):
        try:
            part.mkdir(parents=True)
            _convert(gguf, part)
            _rename(part, folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return folder


def folder_name(gguf: Path) -> str:
    """Name of a GGUF file's folder in a cache."""
    return f"gguf-{file_sha256(gguf)[:16]}"


def _convert(gguf: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    try:
        loaded = AutoModelForCausalLM.from_pretrained(
            **source, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
        )
        # What transformers reads of a GGUF file leaves out whether BOS begins a prompt.
        tokenizer = AutoTokenizer.from_pretrained(**source, add_bos_token=_adds_bos(gguf))
    except ImportError as error:
        raise UserError(
            f"{gguf}: reading it needs more packages ({str(error).splitlines()[0]}): "
            "pip install gguf accelerate"
        ) from error
    except (ValueError, KeyError, OSError) as error:
        line = (str(error).splitlines() or [""])[0]
        raise UserError(
            f"{gguf}: transformers cannot read this GGUF file ({line}): name a folder with the "
            "original weights instead"
        ) from error
    loaded.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _adds_bos(gguf: Path) -> bool:
    """The file's own flag: its key, four bytes that say "boolean", one byte."""
    with gguf.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        at = content.find(_ADD_BOS, 0, METADATA_BYTES)
        return at < 0 or content[at + len(_ADD_BOS)] != 0


def _rename(part: Path, folder: Path) -> None:
    try:
        part.rename(folder)
    except OSError:
        # Another process was quicker, and its folder is as good.
        if not folder.is_dir():
            raise
