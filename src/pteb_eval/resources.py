"""Files of the repository that the package reads, such as `published.yaml`."""

from pathlib import Path

from pteb_eval.errors import UserError

_FOLDERS = (Path(__file__).parents[2] / "resources", Path("resources"))


def resource(name: str) -> Path:
    """A file of `resources`.

    Raises:
        UserError: outside the repository.
    """
    for folder in _FOLDERS:
        if (folder / name).is_file():
            return folder / name
    raise UserError(f"no resources/{name} here: run this in the folder of the repository")
