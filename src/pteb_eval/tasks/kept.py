"""A copy of a task's data as it was loaded, so that later steps need no hub.

The hub's own caches do not do: without a network `datasets` does not know the names of a
repository's tables, and takes the newest copy in place of the pinned revision.
"""

import json
import shutil
import uuid
from pathlib import Path
from typing import Any

from pteb_eval.ids import digest
from pteb_eval.store.files import disk_errors, write_text
from pteb_eval.tasks.structure import Task

_INDEX = "data.json"
_PLAIN = (str, int, float, bool, type(None))


def folder_of(task: Task) -> Path:
    """Where the copy of a task's data stands: by data set, revision, and what of it was loaded."""
    import mteb
    from datasets import config

    data = task.metadata.dataset
    part = [task.metadata.name, sorted(task.hf_subsets), sorted(task.eval_splits), mteb.__version__]
    name = f"{data['path'].replace('/', '___')}@{data['revision']}"
    return Path(config.HF_DATASETS_CACHE) / "pteb_eval" / name / digest(part)[:16]


def is_kept(task: Task) -> bool:
    """Whether there is a copy."""
    return (folder_of(task) / _INDEX).is_file()


def load_kept(task: Task) -> bool:
    """Give the task its data from the copy; False if there is none."""
    folder = folder_of(task)
    if not (folder / _INDEX).is_file():
        return False
    stored = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
    plain, arrays = _read(stored.pop("random"), folder)
    task.rng_state.setstate(plain)
    task.np_rng.bit_generator.state = arrays
    for name, value in stored.items():
        setattr(task, name, _read(value, folder))
    return True


def keep(task: Task, before: dict[str, Any]) -> bool:
    """Copy the data that loading gave a task.

    Args:
        task: the loaded task.
        before: its attributes before it was loaded.

    Returns:
        False if it holds something that is neither a data set nor plain data: then no copy is made.
    """
    folder = folder_of(task)
    new = {
        name: value
        for name, value in vars(task).items()
        if name not in before or before[name] is not value
    }
    part = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.tmp")
    with disk_errors(folder):
        try:
            stored = {name: _write(value, part) for name, value in new.items()}
            stored["random"] = _write(_random_state(task), part)  # loading may have drawn from it
            write_text(part / _INDEX, json.dumps(stored))
            part.replace(folder)
        except TypeError:
            return False
        except OSError:
            if not (folder / _INDEX).is_file():  # else another job was quicker
                raise
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return True


def _random_state(task: Task) -> tuple[Any, Any]:
    return task.rng_state.getstate(), task.np_rng.bit_generator.state


def _write(value: Any, folder: Path) -> Any:
    """A value as JSON; data sets beside it. Keys may be numbers, so pairs are listed."""
    from datasets import Dataset, DatasetDict

    if isinstance(value, Dataset):
        name = uuid.uuid4().hex
        value.save_to_disk(str(folder / name))
        return {"dataset": name}
    if isinstance(value, dict):
        kind = "splits" if isinstance(value, DatasetDict) else "mapping"
        return {kind: [[_write(k, folder), _write(v, folder)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_write(item, folder) for item in value]}
    if isinstance(value, _PLAIN):
        return value
    raise TypeError(f"{type(value).__name__} is no plain data")


def _read(stored: Any, folder: Path) -> Any:
    from datasets import Dataset, DatasetDict

    if not isinstance(stored, dict):
        return stored
    ((kind, value),) = stored.items()
    if kind == "dataset":
        return Dataset.load_from_disk(str(folder / value))
    if kind in ("mapping", "splits"):
        pairs = {_read(k, folder): _read(v, folder) for k, v in value}
        return DatasetDict(pairs) if kind == "splits" else pairs
    items = [_read(item, folder) for item in value]
    return tuple(items) if kind == "tuple" else items
