"""How fast LS-SVMs of many label columns on one Gram matrix are.

One run, one thread, prints for 500, 1000 and 2000 rows, 10 columns and 7 values of gamma the
seconds of each way to the same coefficients, and the ratio to the first line: one Cholesky
factorisation a gamma for all columns, one for each column, an eigendecomposition, and the
tridiagonal way, which then also finds the evidence's optimum for every column (level 2). Leave-one-
out scores of all columns for all gammas follow, by both ways of this library.

The peers: scikit-learn's KernelRidge with a precomputed kernel solves the same system without a
bias; its GaussianProcessRegressor maximises, by quasi-Newton over the strengths of the kernel
and of the noise, the marginal likelihood that level 2 has in closed form (without a bias, for the
first column, without the optimiser's restarts). "difference" is the largest difference of the
coefficients to those of the first line, relative to the largest coefficient.

    python benchmarks/lssvm.py --rows 500 1000 2000
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from time import perf_counter

import numpy as np
from scipy.linalg import eigh, solve
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from threadpoolctl import threadpool_limits

from polychotomy.machines.lssvm.evidence import optimise_hyperparameters
from polychotomy.machines.lssvm.solve import Factor, factorise
from polychotomy.machines.lssvm.tridiagonal import (
    Problem,
    fit,
    leave_one_out,
    tridiagonalise,
    with_targets,
)

Array = np.ndarray
GAMMAS = 10.0 ** np.arange(-3, 4)
N_COLUMNS = 10
N_INPUTS = 10
LENGTH = 3.0


def problem(n_rows: int) -> tuple[Array, Array, Array]:
    """Return inputs, their Gaussian Gram matrix and noisy labels of ten directions."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, N_INPUTS))
    squares = (X**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * X @ X.T
    noise = 0.5 * rng.standard_normal((n_rows, N_COLUMNS))
    targets = np.where(np.sin(X @ rng.standard_normal((N_INPUTS, N_COLUMNS))) + noise > 0, 1.0, -1)
    return X, np.exp(-np.maximum(distances, 0) / (2 * LENGTH**2)), targets


def factors(gram: Array) -> Iterator[tuple[float, Factor]]:
    for gamma in GAMMAS:
        yield gamma, factorise(gram, gamma, semidefinite=True)


def by_cholesky(gram: Array, targets: Array) -> Array:
    fits = (factor.solve(gram, targets, gamma) for gamma, factor in factors(gram))
    return np.array([fit.coefficients for fit in fits])


def column_by_column(gram: Array, targets: Array) -> Array:
    """Return the usual way: the paper's system (4), a factorisation for every column."""
    n_rows = len(gram)
    result = np.empty((len(GAMMAS), *targets.shape))
    for k, gamma in enumerate(GAMMAS):
        for column, y in enumerate(targets.T):
            omega = np.outer(y, y) * gram
            omega[np.diag_indices(n_rows)] += 1 / gamma
            both = solve(omega, np.column_stack([np.ones(n_rows), y]), assume_a="pos")
            bias = (y @ both[:, 0]) / (y @ both[:, 1])
            result[k, :, column] = y * (both[:, 0] - bias * both[:, 1])
    return result


def by_eigenvectors(gram: Array, targets: Array) -> Array:
    centred = gram - gram.mean(axis=0)
    centred -= centred.mean(axis=1)[:, None]
    values, vectors = eigh(centred)
    rotated = vectors.T @ (targets - targets.mean(axis=0))
    return np.array([vectors @ (rotated / (values[:, None] + 1 / gamma)) for gamma in GAMMAS])


def tridiagonal(gram: Array, targets: Array) -> tuple[Problem, Array]:
    columns = with_targets(tridiagonalise(gram), targets)
    return columns, np.array([fit(columns, gamma).coefficients for gamma in GAMMAS])


def with_level_two(gram: Array, targets: Array) -> Array:
    columns, coefficients = tridiagonal(gram, targets)
    chosen = optimise_hyperparameters(columns)
    fit(columns, chosen.gamma)
    return coefficients


def kernel_ridge(gram: Array, targets: Array) -> Array:
    return np.array(
        [
            KernelRidge(alpha=1 / gamma, kernel="precomputed").fit(gram, targets).dual_coef_
            for gamma in GAMMAS
        ]
    )


def gaussian_process(X: Array, targets: Array) -> None:
    kernel = ConstantKernel() * RBF(LENGTH, length_scale_bounds="fixed") + WhiteKernel()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        GaussianProcessRegressor(kernel, alpha=0.0).fit(X, targets[:, 0])


def one_column_by_evidence(gram: Array, targets: Array) -> None:
    columns = with_targets(tridiagonalise(gram), targets[:, :1])
    fit(columns, optimise_hyperparameters(columns).gamma)


def loo_by_cholesky(gram: Array, targets: Array) -> Array:
    return np.array([factor.leave_one_out(targets, gamma) for gamma, factor in factors(gram)])


def loo_tridiagonal(gram: Array, targets: Array) -> Array:
    columns = with_targets(tridiagonalise(gram), targets)
    return np.array([leave_one_out(columns, gamma) for gamma in GAMMAS])


def timed(function: Callable[[], Array | None], repeats: int) -> tuple[Array | None, float]:
    best = np.inf
    for _ in range(repeats):
        start = perf_counter()
        result = function()
        best = min(best, perf_counter() - start)
    return result, best


def report(entries: dict[str, tuple[Callable[[], Array | None], int]]) -> None:
    first: tuple[Array | None, float] | None = None
    for name, (function, repeats) in entries.items():
        result, seconds = timed(function, repeats)
        first = first or (result, seconds)
        line = f"  {name:<52}{seconds:>9.4f} s  ratio {seconds / first[1]:>8.2f}"
        if result is not None and first[0] is not None:
            scale = np.abs(first[0]).max(axis=(1, 2), keepdims=True)
            line += f"  difference {np.abs((result - first[0]) / scale).max():.0e}"
        print(line)


def run(n_rows: int, with_gaussian_process: bool) -> None:
    X, gram, targets = problem(n_rows)
    print(f"\n{n_rows} rows, {N_COLUMNS} columns, {len(GAMMAS)} gammas")
    report(
        {
            "one Cholesky a gamma, all columns (ours)": (lambda: by_cholesky(gram, targets), 3),
            "one Cholesky a gamma and column": (lambda: column_by_column(gram, targets), 1),
            "eigendecomposition": (lambda: by_eigenvectors(gram, targets), 2),
            "tridiagonal (ours)": (lambda: tridiagonal(gram, targets)[1], 3),
            "tridiagonal and level 2 (ours)": (lambda: with_level_two(gram, targets), 3),
            "KernelRidge a gamma, all columns (no bias)": (lambda: kernel_ridge(gram, targets), 2),
        }
    )
    print("  leave-one-out")
    report(
        {
            "Cholesky (ours)": (lambda: loo_by_cholesky(gram, targets), 3),
            "tridiagonal (ours)": (lambda: loo_tridiagonal(gram, targets), 3),
        }
    )
    if with_gaussian_process:
        print("  level 2, one column")
        report(
            {
                "tridiagonal (ours)": (lambda: one_column_by_evidence(gram, targets), 3),
                "GaussianProcessRegressor (no bias)": (lambda: gaussian_process(X, targets), 1),
            }
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 1000, 2000])
    arguments = parser.parse_args()
    with threadpool_limits(1):
        for n_rows in arguments.rows:
            run(n_rows, with_gaussian_process=n_rows <= 1000)


if __name__ == "__main__":
    main()
