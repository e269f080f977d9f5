"""What machines in features share: blocks of rows, and whether all sums fit into memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.margins import Margins
from ..core.types import FloatArray, IntArray
from ..kernels import settle_memory_limit
from .layout import Layout


def in_blocks(rows: IntArray, size: int) -> list[IntArray]:
    """Cut row numbers into blocks of a fixed size."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def join_margins(blocks: list[Margins], n_columns: int, mean: FloatArray | None = None) -> Margins:
    """Put the margins of blocks of rows below each other; `mean`, if given, has the scores."""
    if len(blocks) == 1:
        return blocks[0]
    if not blocks:
        return Margins(np.zeros((0, n_columns)))

    def join(name: str) -> FloatArray | None:
        parts: list[Any] = [getattr(block, name) for block in blocks]
        return None if parts[0] is None else np.concatenate(parts)

    scores = join("mean") if mean is None else mean
    return Margins(scores, join("variance"), blocks[0].noise, join("probability"))


def fits_together(
    memory_limit: Any, n_landmarks: int, layout: Layout, n_subsets: int, n_threads: int
) -> bool:
    """Return whether the sums of all subsets fit into memory; if not, they are taken in turn.

    Raises
    ------
    MemoryError
        If not even those of one subset fit.
    """
    limit = settle_memory_limit(memory_limit)
    matrix = 8.0 * n_landmarks**2
    # Each problem keeps a matrix; each thread has two to work in, and blocks of rows.
    kept = n_subsets * max((len(layout.problems(k)) for k in range(n_subsets)), default=0)
    working = n_threads * (2.0 * matrix + 3.0 * 8.0 * (1 << 23))
    if (layout.n_cells + kept + 1) * matrix + working <= limit:
        return True
    in_turn = -(-layout.n_cells // max(1, n_subsets - 1))
    needed = (in_turn + kept + 1) * matrix + working
    if needed <= limit:
        return False
    raise MemoryError(
        f"{n_landmarks} landmarks need {needed / 2**30:.1f} GiB for the sums of {in_turn} "
        f"groups of rows and {kept} solutions; the memory limit is {limit / 2**30:.1f} GiB. Use "
        "fewer landmarks, raise memory_limit, or choose code='one_vs_rest', which needs the fewest "
        "sums."
    )


def feature_seconds(n_rows: int, n_landmarks: int) -> float:
    """Return a rough estimate of the training time of a machine in features on one core."""
    return 1e-3 + 2e-11 * n_landmarks**2 * (n_rows + 5.0 * n_landmarks)
