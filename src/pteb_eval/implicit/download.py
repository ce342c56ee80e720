"""Downloads that go on where they stopped, are checked, and appear whole or not at all."""

from pathlib import Path
from typing import Any

from pteb_eval.errors import UserError
from pteb_eval.ids import file_sha256
from pteb_eval.progress import say
from pteb_eval.store.files import disk_errors, write_text

ATTEMPTS = 4
_PATIENCE = 30.0  # seconds without a byte
_FIRST_WAIT = 0.5  # seconds before the second attempt


def download(url: str, target: Path, sha256: str | None = None) -> None:
    """Have a file, downloading it unless it is there.

    An interrupted download leaves `.<name>.part` beside the target, hidden; the next one goes on
    from there if the server says that the file is still the same (or a SHA-256 will tell). The
    digest of a whole file is kept as `<name>.sha256` and checked by `check_kept`.

    Args:
        url: address.
        target: where the file is to be.
        sha256: 64 hexadecimal digits that it must have; None: not known.

    Raises:
        UserError: the server refuses, breaks off again and again, or sends something else.
    """
    import httpx
    from filelock import FileLock
    from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

    part = target.with_name(f".{target.name}.part")
    retrying = Retrying(
        retry=retry_if_exception_type(httpx.TransportError),
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_exponential(_FIRST_WAIT, max=10),
        reraise=True,
    )
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    # Two tasks of one data set are fetched at the same time: the second waits for the first.
    with disk_errors(target), FileLock(target.with_name(f".{target.name}.lock")):
        if target.is_file() and digest_file(target).is_file():
            return
        try:
            retrying(_attempt, url, part, sha256 is not None)
        except httpx.TransportError as error:
            got = part.stat().st_size if part.is_file() else 0
            reason = " ".join(str(error).split()) or type(error).__name__
            raise UserError(
                f"{url}: not downloaded ({reason}; {got} bytes so far): run again, it goes on from "
                "there, or set `path` to a copy of your own"
            ) from None
        _accept(url, part, target, sha256)
    say(f"fetch {target.name}: {target.stat().st_size} bytes from {url}")


def digest_file(target: Path) -> Path:
    """Where the digest of a downloaded file stands."""
    return target.with_name(f"{target.name}.sha256")


def check_kept(target: Path) -> None:
    """Whether a downloaded file is still what it was.

    Raises:
        UserError: if its SHA-256 changed.
    """
    if file_sha256(target) != digest_file(target).read_text(encoding="utf-8").strip():
        raise UserError(f"{target}: changed since it was downloaded: delete it and fetch again")


def _attempt(url: str, part: Path, is_checked: bool) -> None:
    """Fetch what is missing of a file into `part`."""
    import httpx

    note = part.with_suffix(".etag")
    validator = note.read_text(encoding="utf-8") if note.is_file() else ""
    have = part.stat().st_size if part.is_file() and (validator or is_checked) else 0
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        if validator:
            headers["If-Range"] = validator
    with (
        httpx.Client(follow_redirects=True, timeout=_PATIENCE) as client,
        client.stream("GET", url, headers=headers) as response,
    ):
        if response.status_code == 416 and have:  # nothing is missing, or the part is not of it
            if response.headers.get("Content-Range", "").endswith(f"/{have}"):
                return
            part.unlink()
            raise httpx.ReadError("the file became shorter")
        _check_answer(url, response)
        continued = response.status_code == 206 and response.headers.get(
            "Content-Range", ""
        ).startswith(f"bytes {have}-")
        write_text(note, response.headers.get("ETag", response.headers.get("Last-Modified", "")))
        with part.open("ab" if continued else "wb") as file:
            for number, block in enumerate(response.iter_raw()):
                if number == 0 and not continued:
                    _check_start(url, block)
                file.write(block)


def _check_answer(url: str, response: Any) -> None:
    if response.status_code >= 500 or response.status_code == 429:
        import httpx

        raise httpx.ReadError(f"the server answered {response.status_code}")
    if response.status_code not in (200, 206):
        reason = f"{response.status_code} {response.reason_phrase}".strip()
        raise UserError(
            f"{url}: the server answered {reason}: look whether the data set moved, or set `path` "
            "to a copy of your own"
        )
    if response.headers.get("Content-Type", "").startswith("text/html"):
        raise _web_page(url)


def _check_start(url: str, block: bytes) -> None:
    if block.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        raise _web_page(url)


def _web_page(url: str) -> UserError:
    return UserError(
        f"{url}: a web page came in place of data, perhaps one that asks to log in: open it in a "
        "browser, and set `path` to what you get there"
    )


def _accept(url: str, part: Path, target: Path, sha256: str | None) -> None:
    """Check the digest and give the file its name."""
    found = file_sha256(part)
    part.with_suffix(".etag").unlink(missing_ok=True)
    if sha256 is not None and found != sha256:
        part.unlink()
        raise UserError(
            f"{url}: SHA-256 {found} came where {sha256} is declared: the file there changed or "
            "was damaged on the way; fetch again, or check the source in resources/implicit"
        )
    write_text(digest_file(target), found + "\n")
    part.replace(target)
