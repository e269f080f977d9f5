"""How fast, and how exact, kernel logistic regression is solved.

One run, one thread. For some cells (C, sigma2) and numbers of rows it prints the time of
`solve_klr` for one C alone and the ratio to it of

- scikit-learn's LogisticRegression ("newton-cholesky", and "lbfgs") on the rows of a factor F of
  the Gram matrix, K = F F' (its eigenvectors, those of eigenvalues below 1e-13 of the largest
  left out), the time of the factor not counted: the same problem;
- SciPy's L-BFGS-B on the primal objective in the coefficients and the bias;
- IRLS in NumPy: Newton's method with LAPACK's Cholesky factor of I + W^1/2 K W^1/2, full steps.

After the ratio, the largest difference in a probability to a solution of tolerance 1e-10. Peers
stop at tolerances of 1e-6 (newton-cholesky, IRLS), 1e-7 (lbfgs) or a gradient of 1e-4 C (SciPy,
which mostly runs out of its 3000 iterations below that). The last columns: all seven values
1e-3..1e3 of C, as a path from small to large, relative to the sum of each alone, and relative to
this cell.

The data are the noisy waveforms of Breiman et al. (1984), class 0 against the others, or of a
folder of the papers' data sets: --data folder/segment.csv.gz.

    python benchmarks/klr_solver.py --rows 500 1000 2000
"""

import argparse
import warnings
from collections.abc import Callable
from time import perf_counter

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from polychotomy._native.klr import solve_klr

Array = np.ndarray

GRID = 10.0 ** np.arange(-3, 4)
CELLS = [(0.1, 1.0), (1.0, 10.0), (10.0, 100.0), (100.0, 10.0), (1000.0, 100.0), (1000.0, 1000.0)]


def waveforms(n_rows: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    i = np.arange(1, 22)
    h1, h2, h3 = (np.maximum(6 - abs(i - centre), 0) for centre in (11, 15, 7))
    first, second = np.array([h2, h1, h1]), np.array([h3, h3, h2])
    y = rng.integers(0, 3, n_rows)
    u = rng.random((n_rows, 1))
    X = u * first[y] + (1 - u) * second[y] + rng.standard_normal((n_rows, 21))
    return X, np.where(y == 0, 1, -1)


def from_file(path: str, n_rows: int) -> tuple[Array, Array]:
    import pandas as pd

    frame = pd.read_csv(path, dtype={"class": str}).sample(n_rows, random_state=0)
    X = frame.iloc[:, :-1].to_numpy(dtype=float)
    classes = frame["class"].to_numpy()
    return X[:, X.std(axis=0) > 0], np.where(classes == np.unique(classes)[0], 1, -1)


def ours(gram: Array, y: Array, C: Array, tolerance: float = 1e-6) -> Array:
    solution = solve_klr(gram, y[:, None], [np.arange(len(y))], C, tolerance=tolerance)
    assert (solution.status == 0).all()
    return expit(gram @ solution.coefficients[0, -1, 0] + solution.biases[0, -1, 0])


def features_of(gram: Array) -> Array:
    values, vectors = eigh(gram)
    kept = values > 1e-13 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def scikit_learn(solver: str, tolerance: float, F: Array, y: Array, C: float) -> Array:
    machine = LogisticRegression(C=C, solver=solver, tol=tolerance, max_iter=5000)
    return machine.fit(F, y).predict_proba(F)[:, 1]


def scipy_primal(gram: Array, y: Array, C: float) -> Array:
    def objective(theta: Array) -> tuple[float, Array]:
        gc = gram @ theta[:-1]
        margin = y * (gc + theta[-1])
        dual = C * y * expit(-margin)
        value = 0.5 * theta[:-1] @ gc + C * np.logaddexp(0, -margin).sum()
        return value, np.append(gc - gram @ dual, -dual.sum())

    options = {"maxiter": 3000, "maxfun": 3000, "gtol": 1e-4 * C, "ftol": 0.0}
    theta = minimize(
        objective, np.zeros(len(y) + 1), jac=True, method="L-BFGS-B", options=options
    ).x
    return expit(gram @ theta[:-1] + theta[-1])


def irls(gram: Array, y: Array, C: float) -> Array:
    c, b = np.zeros(len(y)), np.log((y > 0).sum() / (y < 0).sum())
    f = np.full(len(y), b)
    for _ in range(200):
        s = np.sqrt(C * expit(f) * expit(-f))
        r = C * y * expit(-y * f) - c
        if np.sqrt(((r / s) ** 2).sum() / (s**2).sum()) < 1e-6:
            break
        system = s[:, None] * gram * s
        system[np.diag_indices_from(system)] += 1
        solved = cho_solve(cho_factor(system, overwrite_a=True), np.stack([r / s, s], axis=1))
        shift = s @ solved[:, 0] / (s @ solved[:, 1])
        c += s * (solved[:, 0] - shift * solved[:, 1])
        b += shift
        f = gram @ c + b
    return expit(f)


def timed(function: Callable[[], Array], repeats: int = 1) -> tuple[float, Array]:
    best = np.inf
    for _ in range(repeats):
        start = perf_counter()
        result = function()
        best = min(best, perf_counter() - start)
    return best, result


def run_cell(gram: Array, F: Array, y: Array, C: float) -> str:
    own, p = timed(lambda: ours(gram, y, [C]), 5)
    exact = ours(gram, y, [C], 1e-10)
    peers = [
        lambda: scikit_learn("newton-cholesky", 1e-6, F, y, C),
        lambda: scikit_learn("lbfgs", 1e-7, F, y, C),
        lambda: scipy_primal(gram, y, C),
        lambda: irls(gram, y, C),
    ]
    text = f"{1e3 * own:8.1f} ms {np.abs(p - exact).max():7.0e}"
    for peer in peers:
        seconds, p = timed(peer)
        text += f" {seconds / own:8.1f}x {np.abs(p - exact).max():7.0e}"
    path, _ = timed(lambda: ours(gram, y, GRID), 3)
    alone = sum(timed(lambda C=C: ours(gram, y, [C]), 3)[0] for C in GRID)
    return text + f" {path / alone:8.2f}x {path / own:7.1f}x"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 1000])
    parser.add_argument("--data", default=None)
    arguments = parser.parse_args()
    peers = ["newton-cholesky", "lbfgs", "scipy L-BFGS", "IRLS"]
    print(f"{'rows':>5s} {'C':>6s} {'sigma2':>6s} {'ours':>19s}", end="")
    print("".join(f"{peer:>18s}" for peer in peers), f"{'path/alone':>10s} path/cell")
    for n_rows in arguments.rows:
        X, y = from_file(arguments.data, n_rows) if arguments.data else waveforms(n_rows)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        squared = cdist(X, X, "sqeuclidean")
        for C, sigma2 in CELLS:
            gram = np.exp(-squared / (2 * sigma2))
            line = run_cell(gram, features_of(gram), y, C)
            print(f"{n_rows:5d} {C:6g} {sigma2:6g} {line}", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
