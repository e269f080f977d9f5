"""How fast, and how exact, the coupling of binary probabilities is.

One run, one thread, prints rows a second for 3, 10 and 26 classes, of the compiled couplings and
of their peers in NumPy: batched solves of Wu, Lin and Weng's bordered system, LIBSVM's iteration
for the same problem, and Hastie and Tibshirani's iteration, both over all rows at once with its
usual or our own tolerance. "ratio" is the speed relative to the first line of the same problem;
"difference" is the largest difference in p to the exact solution (the bordered system; Newton's
method to 1e-14; for the Markov chain a batched linear solve).

The input is the sigmoid of independent normal logits of deviation 3, within [1e-7, 1 - 1e-7];
code coupling gets one-vs-rest columns, normal noise of deviation 0.05 on Dirichlet p.

    python benchmarks/coupling.py --rows 100000
"""

import argparse
from collections.abc import Callable
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from polychotomy import native as native
from polychotomy.native import _core

Array = np.ndarray


def square(r: Array, n_classes: int) -> Array:
    full = np.zeros((len(r), n_classes, n_classes))
    i, j = np.triu_indices(n_classes, 1)
    full[:, i, j], full[:, j, i] = r, 1 - r
    return full


def wu_lin_weng_matrices(full: Array) -> Array:
    q = -full * full.transpose(0, 2, 1)
    diagonal = np.arange(full.shape[1])
    q[:, diagonal, diagonal] = (full**2).sum(axis=1)
    return q


def bordered_system(r: Array, n_classes: int) -> Array:
    border = np.ones((len(r), n_classes + 1, n_classes + 1))
    border[:, :-1, :-1] = wu_lin_weng_matrices(square(r, n_classes))
    border[:, -1, -1] = 0
    right = np.zeros((len(r), n_classes + 1, 1))
    right[:, -1] = 1
    return np.linalg.solve(border, right)[:, :-1, 0]


def stationary_distribution(r: Array, n_classes: int) -> Array:
    """Solve Q p = p for all rows, one equation replaced by sum p = 1."""
    chain = square(r, n_classes) / (n_classes - 1)
    diagonal = np.arange(n_classes)
    chain[:, diagonal, diagonal] = chain.sum(axis=2) - 1
    chain[:, -1] = 1
    right = np.zeros((len(r), n_classes, 1))
    right[:, -1] = 1
    return np.linalg.solve(chain, right)[:, :, 0]


def libsvm_iteration(r: Array, n_classes: int) -> Array:
    """Return LIBSVM's multiclass_probability for all rows at once, a row frozen when done."""
    q = wu_lin_weng_matrices(square(r, n_classes))
    p = np.full((len(r), n_classes), 1 / n_classes)
    active = np.arange(len(r))
    for _ in range(max(100, n_classes)):
        qa, pa = q[active], p[active]
        qp = np.einsum("nij,nj->ni", qa, pa)
        pqp = (pa * qp).sum(axis=1)
        going = np.abs(qp - pqp[:, None]).max(axis=1) >= 0.005 / n_classes
        active, qa, pa, qp, pqp = active[going], qa[going], pa[going], qp[going], pqp[going]
        if not len(active):
            break
        for t in range(n_classes):
            change = (pqp - qp[:, t]) / qa[:, t, t]
            pa[:, t] += change
            scale = 1 + change
            pqp = (pqp + change * (change * qa[:, t, t] + 2 * qp[:, t])) / scale**2
            qp = (qp + change[:, None] * qa[:, t]) / scale[:, None]
            pa /= scale[:, None]
        p[active] = pa
    return p


def hastie_tibshirani_iteration(r: Array, n_classes: int, tolerance: float = 1e-9) -> Array:
    """Return the plain iteration for all rows at once, a row frozen when p stands still."""
    full = square(r, n_classes)
    wins = full.sum(axis=2)
    p = wins / wins.sum(axis=1, keepdims=True)
    active = np.arange(len(r))
    for _ in range(10_000):
        before = p[active]
        pa = before.copy()
        for i in range(n_classes):
            mu = pa[:, [i]] / (pa[:, [i]] + pa)
            pa[:, i] *= wins[active, i] / (mu.sum(axis=1) - 0.5)
            pa /= pa.sum(axis=1, keepdims=True)
        p[active] = pa
        active = active[np.abs(pa - before).max(axis=1) > tolerance]
        if not len(active):
            break
    return p


def timed(function: Callable[[], Array], repeats: int) -> tuple[Array, float]:
    best = np.inf
    for _ in range(repeats):
        start = perf_counter()
        result = function()
        best = min(best, perf_counter() - start)
    return result, best


def report(title: str, n_rows: int, entries: dict[str, Callable[[], Array]], exact: Array) -> None:
    first = None
    print(title)
    for name, function in entries.items():
        p, seconds = timed(function, repeats=3)
        speed = n_rows / seconds
        first = first or speed
        print(
            f"  {name:<38}{speed:>14,.0f} rows/s  ratio {speed / first:>8.4f}"
            f"  difference {np.abs(p - exact).max():.1e}"
        )


def run(n_classes: int, n_rows: int) -> None:
    rng = np.random.default_rng(0)
    logits = 3 * rng.standard_normal((n_rows, n_classes * (n_classes - 1) // 2))
    r = np.clip(1 / (1 + np.exp(-logits)), 1e-7, 1 - 1e-7)
    few = max(1, n_rows // 10)
    print(f"\n{n_classes} classes, {n_rows:,} rows ({few:,} for peers and code coupling)")
    peers = r[:few]
    exact = bordered_system(r, n_classes)
    report(
        "Wu, Lin and Weng, ours",
        n_rows,
        {
            "couple_wu_lin_weng": lambda: native.couple_wu_lin_weng(r),
        },
        exact,
    )
    report(
        "  the same on fewer rows, with peers",
        few,
        {
            "couple_wu_lin_weng": lambda: native.couple_wu_lin_weng(peers),
            "numpy.linalg.solve, bordered system": lambda: bordered_system(peers, n_classes),
            "LIBSVM's iteration in NumPy": lambda: libsvm_iteration(peers, n_classes),
        },
        exact[:few],
    )
    report(
        "Markov chain, ours",
        n_rows,
        {
            "couple_markov": lambda: native.couple_markov(r),
        },
        stationary_distribution(r, n_classes),
    )
    exact = native.couple_hastie_tibshirani(r, tolerance=1e-14)[0]
    report(
        "Hastie and Tibshirani, ours",
        n_rows,
        {
            "couple_hastie_tibshirani": lambda: native.couple_hastie_tibshirani(r)[0],
        },
        exact,
    )
    report(
        "  the same on fewer rows, with its peer",
        few,
        {
            "couple_hastie_tibshirani": lambda: native.couple_hastie_tibshirani(peers)[0],
            "the plain iteration in NumPy": lambda: hastie_tibshirani_iteration(peers, n_classes),
        },
        exact[:few],
    )
    matrix = (2 * np.eye(n_classes) - 1).astype(np.int8)
    p = rng.dirichlet(np.ones(n_classes), size=few)
    noisy = np.clip(p + 0.05 * rng.standard_normal(p.shape), 0, 1)
    report(
        "Any code, ours",
        few,
        {
            "couple_code, one-vs-rest": lambda: native.couple_code(noisy, matrix)[0],
        },
        native.couple_code(noisy, matrix, tolerance=1e-16)[0],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000, help="rows for 10 classes")
    arguments = parser.parse_args()
    print(f"One thread, lanes for {_core.lanes_in_use()}")
    for n_classes, share in ((3, 4.0), (10, 1.0), (26, 0.2)):
        with threadpool_limits(1):
            run(n_classes, max(10, int(arguments.rows * share)))


if __name__ == "__main__":
    main()
