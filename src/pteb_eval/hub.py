"""The model hub: asked for in the fetch step only, and never waited for without end."""

import os
import re
import urllib.error
import urllib.request

_OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")
_PATIENCE = 10.0  # seconds


def go_offline() -> None:
    """Let no library of this process ask the hub; call it before they are imported."""
    for name in _OFFLINE:
        os.environ[name] = "1"


def is_offline() -> bool:
    """Whether the hub may not be asked."""
    return any(os.environ.get(name, "").upper() in {"1", "ON", "YES", "TRUE"} for name in _OFFLINE)


def offline_unless_reachable() -> None:
    """Go offline if the hub does not answer, since its clients would wait for minutes each."""
    if is_offline() or reachable(endpoint()):
        return
    go_offline()


def endpoint() -> str:
    """Address of the hub."""
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"


def reachable(url: str) -> bool:
    """Whether a server answers there at all, be it with a refusal."""
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE):
            return True
    except urllib.error.HTTPError:
        return True
    except (OSError, ValueError):
        return False


def advice(what: str) -> str:
    """What to do about something that is not on this machine, for the end of a message."""
    where = re.sub(r"//[^/]*@", "//", endpoint())  # a mirror's address may hold a password
    if is_offline():
        return (
            f"{what} is not on this machine and the hub ({where}) is not reached from here: "
            "run the fetch rules where it is, with the same HF_HOME"
        )
    return f"check the name of {what}, its revision and your access to it at {where}"
