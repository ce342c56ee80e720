"""The files of a data set, wherever they lie: in a folder, compressed, or in an archive."""

import gzip
import hashlib
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from pteb_eval.errors import UserError
from pteb_eval.tasks.files.tables import joint_sha256

# What the libraries raise: on encrypted or strangely packed members, too.
_DAMAGE = (
    OSError, EOFError, zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError,
    RuntimeError, ValueError, OverflowError,
)  # fmt: skip
_ZIP, _TAR = (".zip",), (".tgz", ".tar.gz", ".tar")


class Parts:
    """Files below a path, found by the end of their name.

    Args:
        path: a folder, an archive (.zip, .tgz), or a single file. A folder's archives are looked
            into, too, and `.gz` files are opened.

    Raises:
        UserError: no such path, or a damaged archive.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: dict[str, Callable[[], bytes]] = {}
        self._digests: dict[str, str] = {}
        if not path.exists():
            raise UserError(f"{path}: no such file or folder")
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.is_file():
                self._add(file)

    def names(self, ending: str = "") -> list[str]:
        """Names of all files that end so, without `.gz`."""
        return [name for name in self._read if name.endswith(ending)]

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return self._full_name(name) is not None

    def text(self, name: str) -> str:
        """A file's text (UTF-8).

        Raises:
            UserError: no such file, or it cannot be read.
        """
        full = self._full_name(name)
        if full is None:
            raise UserError(f"{self.path}: no {name} in it (also looked for .gz, .zip and .tgz)")
        try:
            raw = self._read[full]()
            self._digests[full] = hashlib.sha256(raw).hexdigest()
            text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise UserError(f"{self.path}: {name}: not UTF-8: save it as UTF-8") from None
        except _DAMAGE as error:
            raise UserError(f"{self.path}: {name}: cannot be read ({error})") from None
        return text

    @property
    def sha256(self) -> str:
        """One digest of all files read so far, by name."""
        return joint_sha256(*(self._digests[name] for name in sorted(self._digests)))

    def _full_name(self, name: str) -> str | None:
        if name in self._read:
            return name
        return next((full for full in self._read if full.endswith("/" + name)), None)

    def _add(self, file: Path) -> None:
        own = file.name if file == self.path else file.relative_to(self.path).as_posix()
        try:
            if own.endswith(_ZIP):
                archive = zipfile.ZipFile(file)
                for member in archive.namelist():
                    self._read[member.removesuffix(".gz")] = lambda m=member: archive.read(m)  # type: ignore[misc]
            elif own.endswith(_TAR):
                # Members of a .tgz can only be found one after the other: all are taken at once.
                with tarfile.open(file) as tar:
                    for info in tar:
                        content = tar.extractfile(info) if info.isfile() else None
                        if content is not None:
                            raw = content.read()
                            self._read[info.name.removeprefix("./")] = lambda raw=raw: raw  # type: ignore[misc]
            else:
                self._read[own.removesuffix(".gz")] = file.read_bytes
        except _DAMAGE as error:
            raise UserError(
                f"{file}: not a whole archive ({error}): delete it and fetch again, or replace it"
            ) from None
