"""What made a file: versions, settings, machine. Written into every file that a stage makes."""

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from pteb_eval import __version__
from pteb_eval.ids import digest

LIBRARIES = (
    "mteb",
    "sentence-transformers",
    "transformers",
    "torch",
    "datasets",
    "numpy",
    "scipy",
    "statsmodels",
    "pyarrow",
    "xllamacpp",
    "vllm",
)


def library_versions() -> dict[str, str]:
    """Installed versions of the libraries that can change a result; absent ones are left out."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def stamp(stage: str, settings: Mapping[str, Any], code: str = "", **more: Any) -> dict[str, Any]:
    """Provenance of a file.

    Args:
        stage: the verb that made it.
        settings: all settings that changed its content.
        code: fingerprint of the stage's code, or its step version.
        more: what else is known, such as a model's revision or a device.
    """
    return {
        "stage": stage,
        "pteb_eval": __version__,
        "settings": dict(settings),
        "settings_digest": digest(dict(settings)),
        "code": code,
        "libraries": library_versions(),
        "platform": platform.platform(),
        **more,
    }
