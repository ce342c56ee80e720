"""What all parts of the schema share: strict mappings, names that become file names, paths."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
MODEL_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._/-]*$"
LONGEST_NAME = 100  # characters; what files add to it fits the 255 bytes that systems allow
CACHE = "cache"  # stands beside the runs' folders
ORIGINAL = "original"  # stands where a generator's name stands, for the texts as they are


def _can_be_a_path(value: Any) -> Any:
    """Looking for a longer one is an error of the system, not merely a file that is not there."""
    parts = [part.encode() for part in str(value).split("/")]
    if max(map(len, parts)) > 255 or sum(map(len, parts)) + len(parts) > 4095:
        raise ValueError("is longer than a path can be")
    return value


Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=LONGEST_NAME)]
Revision = Annotated[str, Field(pattern=MODEL_PATTERN, max_length=LONGEST_NAME)]
FilePath = Annotated[Path, AfterValidator(_can_be_a_path)]
ModelName = Annotated[str, Field(min_length=1), AfterValidator(_can_be_a_path)]
"""A name on the hub, of a package or at an endpoint, or a path."""


class Strict(BaseModel):
    """A mapping with known keys only."""

    model_config = ConfigDict(extra="forbid", frozen=True)
