"""Matrices larger than memory should hold: in an unnamed file, of which pages come and go."""

import mmap
import os
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pteb_eval.store.files import disk_errors

IN_MEMORY = 2**28  # bytes


def room_for(n_rows: int, dimensions: int) -> NDArray[np.float32]:
    """An empty matrix, in memory if it is small, else in the temporary folder (TMPDIR).

    The file has no name and goes with the matrix. Its room is reserved first, since a mapped file
    on a full disk ends the process without a word.

    Raises:
        UserError: if the temporary folder is full.
    """
    n_bytes = n_rows * dimensions * np.dtype(np.float32).itemsize
    if n_bytes <= IN_MEMORY:
        return np.empty((n_rows, dimensions), np.float32)
    with disk_errors(Path(tempfile.gettempdir())), tempfile.TemporaryFile() as file:
        os.posix_fallocate(file.fileno(), 0, n_bytes)
        return np.memmap(file, np.float32, "r+", shape=(n_rows, dimensions))


def let_go(matrix: NDArray[np.float32]) -> None:
    """Give the memory of a mapped matrix back to the system, which reads it again when needed."""
    if isinstance(matrix, np.memmap) and isinstance(matrix.base, mmap.mmap):
        matrix.base.madvise(mmap.MADV_DONTNEED)
