"""Stage `fetch`, for models: everything that later steps load is on this machine afterwards."""

import json
from pathlib import Path
from typing import Any

from pteb_eval.errors import UserError, one_line
from pteb_eval.hub import advice, offline_unless_reachable
from pteb_eval.ids import digest
from pteb_eval.progress import say
from pteb_eval.store import write_text

# The same weights in other forms, which nothing here reads.
_OTHER_FORMS = ["*.gguf", "*.h5", "*.msgpack", "*.ot", "*.onnx*", "onnx/*", "openvino/*"]


def fetch_model(settings: dict[str, Any], output: Path) -> None:
    """Load an embedding model once, downloading what it needs, and say what it is.

    It is loaded as the embed stage loads it, so code and settings that lie in other repositories
    come too; that takes as much memory as its weights.

    Args:
        settings: a `config.Model` as JSON values.
        output: the JSON file to write: `name`, `revision`, `identity` (all that can change a vector
            but prompt and text), the identity's `digest`, and `trust_remote_code`.

    Raises:
        UserError: if there is no such model, or it cannot be reached.
    """
    from pteb_eval.embed.encoders import is_local, load_encoder

    if not is_local(settings):
        offline_unless_reachable()
    encoder = load_encoder(settings, "cpu")
    say(f"fetch {settings['name']}: revision {encoder.identity['revision']}")
    trusted = bool(settings["trust_remote_code"])
    if trusted:
        say(f"fetch {settings['name']}: runs code that comes with it (trust_remote_code: true)")
    _write(output, settings["name"], encoder.identity, trust_remote_code=trusted)


def fetch_generator(settings: dict[str, Any], output: Path) -> None:
    """Download a generator's model; not loaded, since it may fit on the GPU node only.

    Args:
        settings: `generator` (or judge), `model`, `revision`; with `engine: cosine` the model is an
            embedding model.
        output: the JSON file to write, as of `fetch_model`.

    Raises:
        UserError: if there is no such model, or it cannot be reached.
    """
    if settings.get("engine") == "cosine":
        form = {"path": None, "dtype": None, "max_length": None, "trust_remote_code": False}
        chosen = {"name": settings["model"], "revision": settings["revision"]}
        return fetch_model({**form, **chosen}, output)
    offline_unless_reachable()  # before its library is imported, which asks only once
    from huggingface_hub import snapshot_download

    name, revision = settings["model"], settings["revision"]
    try:
        folder = snapshot_download(name, revision=revision, ignore_patterns=_OTHER_FORMS)
    except Exception as error:  # hub, network and file errors share no base class
        reason = one_line(error)
        what = f"model {name}" + (f" at revision {revision}" if revision else "")
        raise UserError(
            f"generator {settings['generator']!r}: not fetched ({reason}): {advice(what)}"
        ) from error
    say(f"fetch {name}: revision {Path(folder).name}")
    return _write(output, name, {"model": name, "revision": Path(folder).name})


def _write(output: Path, name: str, identity: dict[str, Any], **more: Any) -> None:
    content = {
        **more,
        "name": name,
        "revision": identity["revision"],
        "identity": identity,
        "digest": digest(identity),
    }
    write_text(output, json.dumps(content, indent=2, sort_keys=True) + "\n")
