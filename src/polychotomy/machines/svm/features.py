"""Support vector machines in features: the solvers of a linear kernel, on the features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.threads import single_threaded_blas
from ...core.types import FloatArray, IntArray, SignArray
from ...kernels import FeatureRows, Landmarks, LinearRows
from ..feature_blocks import in_blocks
from ..kernel_columns import fits, most_threads
from ..solved import Solved, SolvedPath

# Up to this many rows, the Gram matrix of the features is faster than the features.
MOST_ROWS_OF_GRAM = 4000


def solve_svm_in_features(
    machine: Any,
    state: FeatureRows,
    landmarks: Landmarks,
    labels: SignArray,
    subsets: Sequence[IntArray],
    C_values: Sequence[float],
    weights: FloatArray | None,
    memory_limit: float,
    n_threads: int,
) -> SolvedPath:
    """Solve every column on every subset for every C.

    The features of all rows are kept. Up to 4,000 rows their Gram matrix is the one of the exact
    solver, which follows C from one value to the next. With more, each C is solved without a
    Gram matrix, from an interior point if there are at most 500 landmarks.

    Note: an SVM needs many looks at few rows, so features are not computed again in every pass.
    Stochastic or smoothed solvers would need less memory, but do not reach the solution.
    """
    used = np.unique(np.concatenate(subsets))
    needed = 8.0 * len(used) * len(landmarks)
    if needed > memory_limit:
        raise MemoryError(
            f"The features of {len(used)} rows and {len(landmarks)} landmarks have "
            f"{needed / 2**30:.1f} GiB; the memory limit is {memory_limit / 2**30:.1f} GiB. Use "
            "fewer landmarks, raise memory_limit, or use LSSVM or KernelLogisticRegression, which "
            "do not keep features."
        )
    place = np.full(len(labels), -1)
    place[used] = np.arange(len(used))
    inside = [place[subset] for subset in subsets]
    own_labels, own_weights = labels[used], None if weights is None else weights[used]
    with single_threaded_blas():
        z = np.concatenate(
            [landmarks.features(state.X[rows]) for rows in in_blocks(used, landmarks.block_rows)]
        )
        if len(used) <= MOST_ROWS_OF_GRAM and fits(len(used), memory_limit):
            threads = most_threads(len(used), n_threads, memory_limit)
            path = _by_gram(machine, z @ z.T, own_labels, inside, C_values, own_weights, threads)
        else:
            path = _by_rows(machine, z, own_labels, inside, C_values, own_weights)
        w = np.tensordot(path.coefficients, z, axes=1)
        flat = landmarks.of_columns(w.reshape(-1, len(landmarks)).T).T
    return SolvedPath(
        flat.reshape(w.shape), path.biases, path.trained, path.converged, path.iterations
    )


def _by_gram(
    machine: Any,
    gram: FloatArray,
    labels: SignArray,
    subsets: Sequence[IntArray],
    C_values: Sequence[float],
    weights: FloatArray | None,
    n_threads: int,
) -> SolvedPath:
    if np.isfinite(C_values).all():
        path: SolvedPath = machine.solve_path(gram, labels, subsets, C_values, weights, n_threads)
        return path
    return _as_path([machine.solve(gram, labels, subsets, weights, n_threads)])


def _by_rows(
    machine: Any,
    z: FloatArray,
    labels: SignArray,
    subsets: Sequence[IntArray],
    C_values: Sequence[float],
    weights: FloatArray | None,
) -> SolvedPath:
    from sklearn.base import clone

    source = LinearRows(z)
    return _as_path(
        [
            clone(machine).set_params(C=C).solve_rows(source, labels, subsets, weights)
            for C in C_values
        ]
    )


def _as_path(solved: list[Solved]) -> SolvedPath:
    return SolvedPath(
        *(
            np.stack([getattr(each, name) for each in solved], axis=1)
            for name in Solved.__dataclass_fields__
        )
    )
