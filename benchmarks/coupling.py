"""How fast, and how exact, the coupling of binary probabilities is.

One run, one thread, prints rows a second for 3, 10 and 26 classes, of the compiled couplings and
of their peers in NumPy: batched solves of Wu, Lin and Weng's bordered system, LIBSVM's iteration
for the same problem, and Hastie and Tibshirani's iteration, both over all rows at once with its
usual or our own tolerance. "ratio" is the speed relative to the first line of the same problem;
"difference" is the largest difference in p to the exact solution (the bordered system; Newton's
method to 1e-14; for the Markov chain a batched linear solve).

The input is the sigmoid of independent normal logits of deviation 3, within [1e-7, 1 - 1e-7];
code coupling gets one-vs-rest columns, normal noise of deviation 0.05 on Dirichlet p.

Then coupling for any code with 26, 100, 300 and 1,000 classes, in processor time: one-vs-rest by
its scalar equation, by the general solver, and by the scalar equation in NumPy, over all rows.
"difference" is that to the general solver at a tolerance of 1e-14 (on the first rows). Last,
one-vs-one and random codes: ours, the general solver and vectorised iterations in NumPy (that of
Bradley and Terry's model for one-vs-one, Fisher's scoring for the others), with the difference
between the first two, and to NumPy's.

    python benchmarks/coupling.py --rows 100000
    python benchmarks/coupling.py --only-codes
"""

import argparse
from collections.abc import Callable
from time import perf_counter, process_time

import numpy as np
from _table import Table, add_csv_option
from threadpoolctl import threadpool_limits

from polychotomy import native as native
from polychotomy.native import _core

Array = np.ndarray
OURS = (
    "Rows coupled per second by `benchmarks/coupling.py`, and the largest difference in p to the "
    "exact solution."
)
THEIRS = (
    "How many times slower the peers of coupling are on the same rows, by "
    "`benchmarks/coupling.py`, and their difference to the exact solution."
)


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


Figures = dict[str, tuple[float, float]]


def speeds(n_rows: int, entries: dict[str, Callable[[], Array]], exact: Array) -> Figures:
    """Return rows per second of each, and its largest difference to the exact answer."""
    found = {}
    for name, function in entries.items():
        p, seconds = timed(function, repeats=3)
        found[name] = n_rows / seconds, float(np.abs(p - exact).max())
        print(f"  {name:<38}{found[name][0]:>14,.0f} rows/s  difference {found[name][1]:.1e}")
    return found


def run(n_classes: int, n_rows: int) -> tuple[Figures, Figures]:
    """Return rows per second of ours, and how many times slower the peers are."""
    rng = np.random.default_rng(0)
    logits = 3 * rng.standard_normal((n_rows, n_classes * (n_classes - 1) // 2))
    r = np.clip(1 / (1 + np.exp(-logits)), 1e-7, 1 - 1e-7)
    few = max(1, n_rows // 10)
    print(f"\n{n_classes} classes, {n_rows:,} rows ({few:,} for peers and code coupling)")
    peers = r[:few]
    exact = bordered_system(r, n_classes)
    ours = speeds(n_rows, {"Wu-Lin-Weng": lambda: native.couple_wu_lin_weng(r)}, exact)
    theirs = slower(
        few,
        {
            "ours": lambda: native.couple_wu_lin_weng(peers),
            "`numpy.linalg.solve` of the bordered systems": lambda: bordered_system(
                peers, n_classes
            ),
            "LIBSVM's iteration, vectorised in NumPy": lambda: libsvm_iteration(peers, n_classes),
        },
        exact[:few],
    )
    chain = stationary_distribution(r, n_classes)
    ours |= speeds(n_rows, {"Markov chain": lambda: native.couple_markov(r)}, chain)
    exact = native.couple_hastie_tibshirani(r, tolerance=1e-14)[0]
    iteration = {"Hastie-Tibshirani": lambda: native.couple_hastie_tibshirani(r)[0]}
    ours |= speeds(n_rows, iteration, exact)
    theirs |= slower(
        few,
        {
            "ours": lambda: native.couple_hastie_tibshirani(peers)[0],
            "the plain Hastie-Tibshirani iteration in NumPy": lambda: hastie_tibshirani_iteration(
                peers, n_classes
            ),
        },
        exact[:few],
    )
    matrix = (2 * np.eye(n_classes) - 1).astype(np.int8)
    p = rng.dirichlet(np.ones(n_classes), size=few)
    noisy = np.clip(p + 0.05 * rng.standard_normal(p.shape), 0, 1)
    general = {
        "any code, the general solver (of one-vs-rest)": lambda: native.couple_code(noisy, matrix)[
            0
        ]
    }
    ours |= speeds(few, general, native.couple_code(noisy, matrix, tolerance=1e-16)[0])
    return ours, theirs


def slower(n_rows: int, entries: dict[str, Callable[[], Array]], exact: Array) -> Figures:
    """Return how many times slower than ours the others are, and their differences."""
    found = speeds(n_rows, entries, exact)
    own, _ = found.pop("ours")
    return {name: (own / speed, difference) for name, (speed, difference) in found.items()}


def by_classes(name: str, words: str, found: dict[int, Figures], number: str) -> Table:
    """Print a table with a column for every number of classes."""
    table = Table(name, words, ["", *(f"{m} classes" for m in found), "difference"])
    for row in next(iter(found.values())):
        cells = [figures[row] for figures in found.values()]
        largest = max(difference for _, difference in cells)
        table.add(row, *(format(figure, number) for figure, _ in cells), f"{largest:.0e}")
    return table


def one_vs_rest_in_numpy(r: Array) -> Array:
    """Solve lambda p^2 + (1 - lambda) p = r with sum p = 1 for all rows at once, without a pull."""
    r = np.clip(r, 1e-12, 1 - 1e-12)
    n_classes = r.shape[1]
    many = r.sum(axis=1) >= 1
    low = np.where(many, -float(n_classes), 0.0)
    high = np.where(many, 0.0, n_classes / (n_classes - 1))
    level = np.zeros(len(r))
    for _ in range(60):
        t = level[:, None]
        below = (1 + t) ** 2 - 4 * t * (1 - r)
        root = np.sqrt(np.where(t < 0, below, (1 - t) ** 2 + 4 * t * r))
        with np.errstate(divide="ignore", invalid="ignore"):
            p = np.where(t <= 1, 2 * r / (1 - t + root), (t - 1 + root) / (2 * t))
        excess = p.sum(axis=1) - 1
        if (np.abs(excess) <= 1e-15 * n_classes).all():
            break
        low, high = np.where(excess < 0, level, low), np.where(excess > 0, level, high)
        newton = level - excess / (p * (1 - p) / root).sum(axis=1)
        inside = (newton > low) & (newton < high)
        level = np.where(inside, newton, (low + high) / 2)
    return p / p.sum(axis=1, keepdims=True)


def random_code(n_classes: int, n_columns: int, dont_cares: bool) -> Array:
    rng = np.random.default_rng(0)
    entries = np.array([-1, 0, 0, 1] if dont_cares else [-1, 1], np.int8)
    while True:
        matrix = rng.choice(entries, size=(n_classes, n_columns))
        if ((matrix > 0).any(axis=0) & (matrix < 0).any(axis=0)).all():
            return matrix


def one_vs_one_code(n_classes: int) -> Array:
    i, j = np.triu_indices(n_classes, 1)
    matrix = np.zeros((n_classes, len(i)), np.int8)
    matrix[i, np.arange(len(i))], matrix[j, np.arange(len(i))] = 1, -1
    return matrix


def noisy_columns(matrix: Array, n_rows: int) -> Array:
    """Return what Dirichlet p with a few likely classes imply, with noise of 0.7 on the logits."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(len(matrix), 0.3), size=n_rows) + 1e-6
    log_odds = np.log(p @ (matrix > 0)) - np.log(p @ (matrix < 0))
    return 1 / (1 + np.exp(-log_odds - 0.7 * rng.standard_normal(log_odds.shape)))


def bradley_terry_iteration(r: Array, n_classes: int, tolerance: float = 1e-10) -> Array:
    """Return the iteration of all classes at once, ``p_i = sum_j r_ij / sum_j 1 / (p_i + p_j)``."""
    wins = square(np.clip(r, 1e-12, 1 - 1e-12), n_classes).sum(axis=2)
    p = wins / wins.sum(axis=1, keepdims=True)
    active = np.arange(len(r))
    for _ in range(10_000):
        before = p[active]
        # The term of the class itself is not part of the sum.
        sums = (1 / (before[:, :, None] + before[:, None, :])).sum(axis=2) - 0.5 / before
        after = wins[active] / sums
        after /= after.sum(axis=1, keepdims=True)
        p[active] = after
        active = active[np.abs(after - before).max(axis=1) > tolerance]
        if not len(active):
            break
    return p


def scoring_iteration(r: Array, matrix: Array, tolerance: float = 1e-10) -> Array:
    """Return Fisher's scoring in log p for all rows at once, with clipped steps."""
    plus, minus = (matrix > 0).astype(float), (matrix < 0).astype(float)
    r, n_classes, pull = np.clip(r, 1e-12, 1 - 1e-12), len(matrix), 1e-8
    diagonal = np.arange(n_classes)
    p = np.full((len(r), n_classes), 1 / n_classes)
    active = np.arange(len(r))
    for _ in range(200):
        q = p[active]
        a, b = q @ plus, q @ minus
        mu = a / (a + b)
        excess, logs = mu - r[active], np.log(q)
        gradient = q * ((excess / a) @ plus.T - (excess / b) @ minus.T)
        gradient += pull * q * (logs - (q * logs).sum(axis=1, keepdims=True))
        shares = q[:, :, None] * (plus / a[:, None] - minus / b[:, None])
        hessian = (shares * (mu * (1 - mu))[:, None]) @ shares.transpose(0, 2, 1)
        hessian += q[:, :, None] * q[:, None, :]
        hessian[:, diagonal, diagonal] += pull * q + 1e-13
        step = np.linalg.solve(hessian, -gradient[:, :, None])[:, :, 0]
        step -= (q * step).sum(axis=1, keepdims=True)
        after = np.maximum(q * np.exp(np.clip(step, -2, 2)), 1e-200)
        p[active] = after / after.sum(axis=1, keepdims=True)
        active = active[(q * step**2).sum(axis=1) > tolerance]
        if not len(active):
            break
    return p


def run_many_rows() -> Table:
    table = Table(
        "coupling_codes",
        "Coupling of one-vs-one and of random codes by `benchmarks/coupling.py`: rows per second "
        "of processor time.",
        ["", "`CodeCoupling`", "general solver", "NumPy", "times NumPy", "difference"],
    )
    for n_classes, n_rows, few in (
        (10, 20_000, 1000),
        (26, 5000, 300),
        (100, 200, 12),
        (300, 24, 4),
    ):
        matrix = one_vs_one_code(n_classes)
        r = noisy_columns(matrix, n_rows)
        ours, p = rows_a_second(
            lambda r=r: native.couple_hastie_tibshirani(r, tolerance=1e-16, pull=1e-8)[0], n_rows
        )
        numpy, _ = rows_a_second(lambda r=r[:few], m=n_classes: bradley_terry_iteration(r, m), few)
        general, other = rows_a_second(lambda r=r[:few], m=matrix: native.couple_code(r, m)[0], few)
        table.add(
            f"one-vs-one, {n_classes} classes",
            *(f"{ours:,.0f}", f"{general:,.0f}", f"{numpy:,.0f}", f"{ours / numpy:.0f}"),
            f"{np.abs(p[:few] - other).max():.0e}",
        )
    for n_classes, n_columns, dont_cares, n_rows, few in (
        (10, 33, False, 4000, 200),
        (10, 50, True, 4000, 200),
        (26, 47, False, 1000, 50),
        (26, 70, True, 1000, 50),
        (100, 200, False, 40, 4),
    ):
        matrix = random_code(n_classes, n_columns, dont_cares)
        r = noisy_columns(matrix, n_rows)
        ours, p = rows_a_second(lambda r=r, m=matrix: native.couple_code(r, m)[0], n_rows)
        numpy, twin = rows_a_second(lambda r=r[:few], m=matrix: scoring_iteration(r, m), few)
        kind = "with don't-cares" if dont_cares else "random columns"
        # The median: NumPy's is far from converged in some rows.
        difference = np.median(np.abs(p[:few] - twin).max(axis=1))
        table.add(
            f"{n_classes} classes, {n_columns} {kind}",
            *("", f"{ours:,.0f}", f"{numpy:,.0f}", f"{ours / numpy:.0f}", f"{difference:.0e}"),
        )
    return table


def rows_a_second(function: Callable[[], Array], n_rows: int) -> tuple[float, Array]:
    function()
    start = process_time()
    result = function()
    return n_rows / (process_time() - start), result


def run_codes() -> Table:
    table = Table(
        "coupling_one_vs_rest",
        "Coupling of one-vs-rest by `benchmarks/coupling.py`: thousand rows per second of "
        "processor time.",
        [
            *("classes", "scalar equation, ours", "scalar equation in NumPy", "general solver"),
            "difference",
        ],
    )
    for n_classes, n_rows, few in (
        (26, 100_000, 2000),
        (100, 30_000, 60),
        (300, 10_000, 6),
        (1000, 3_000, 0),
    ):
        rng = np.random.default_rng(0)
        p = rng.dirichlet(np.ones(n_classes), size=n_rows)
        r = np.clip(p + 0.05 * rng.standard_normal(p.shape), 0, 1)
        matrix = (2 * np.eye(n_classes) - 1).astype(np.int8)
        ours, found = rows_a_second(lambda r=r: native.couple_one_vs_rest(r), n_rows)
        numpy, _ = rows_a_second(lambda r=r: one_vs_rest_in_numpy(r), n_rows)
        beside = ("", "")
        if few:
            some = r[:few]
            general, _ = rows_a_second(lambda s=some, m=matrix: native.couple_code(s, m)[0], few)
            exact = native.couple_code(some, matrix, tolerance=1e-14)[0]
            beside = (f"{general / 1e3:.3g}", f"{np.abs(found[:few] - exact).max():.0e}")
        table.add(f"{n_classes:,}", f"{ours / 1e3:,.0f}", f"{numpy / 1e3:,.0f}", *beside)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000, help="rows for 10 classes")
    parser.add_argument("--only-codes", action="store_true", help="only coupling for any code")
    add_csv_option(parser)
    arguments = parser.parse_args()
    print(f"One thread, lanes for {_core.lanes_in_use()}")
    with threadpool_limits(1):
        if not arguments.only_codes:
            found = {
                n_classes: run(n_classes, max(10, int(arguments.rows * share)))
                for n_classes, share in ((3, 4.0), (10, 1.0), (26, 0.2))
            }
            ours = {n_classes: own for n_classes, (own, _) in found.items()}
            theirs = {n_classes: peers for n_classes, (_, peers) in found.items()}
            by_classes("coupling", OURS, ours, ",.0f").save(arguments.csv)
            by_classes("coupling_peers", THEIRS, theirs, ".0f").save(arguments.csv)
        run_codes().save(arguments.csv)
        run_many_rows().save(arguments.csv)


if __name__ == "__main__":
    main()
