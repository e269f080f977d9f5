"""How long one binary machine takes to train, against its peers, and how that grows with the rows.

One run, one thread, processor time: `SVM`, `KernelLogisticRegression` and `LSSVM` as binary
classifiers, from inputs to a fitted machine, at an easy and a hard pair of C and sigma2. The peers:

SVM
    scikit-learn's SVC, the SVC of scikit-learn-intelex if it is installed, and ours without AVX2.
KLR
    scikit-learn's LogisticRegression ("newton-cholesky") on the rows of a Cholesky factor F of the
    Gram matrix, K = F F' (1e-10 is added to the diagonal): the same problem. SciPy's L-BFGS-B on
    the objective in the coefficients and the bias, to a gradient of 1e-4 C or 3000 iterations.
    IRLS in NumPy: Newton's method with LAPACK's Cholesky factor of I + W^1/2 K W^1/2.
LS-SVM
    scikit-learn's KernelRidge, which has no bias, and the bordered system (4) in SciPy.
LS-SVM by evidence
    C of the largest evidence; scikit-learn's GaussianProcessRegressor maximises the same marginal
    likelihood over the strengths of the kernel and of the noise (without a bias, no restarts).

Medians over --repeats rounds that go through all peers; "ratio" is a peer's time over ours.
"difference" is the largest difference on 200 rows to our solution at a very small tolerance: of
decision values, for KLR of probabilities; none where the peer solves a problem without bias.
"growth" is the exponent of the number of rows in a fit of the times. Peers that take long are left
out above --slow-rows. The data are the noisy waveforms of Breiman et al. (1984), class 0 against
the others, or with --data the first class of a set against the others.

    python benchmarks/solve.py --rows 500 1000 2000 5000
"""

import argparse
import importlib.util
import warnings
from collections.abc import Callable
from time import process_time

import numpy as np
from _data import Array, load
from _table import Table, add_csv_option
from scipy.linalg import cho_factor, cho_solve, cholesky, solve
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from polychotomy import LSSVM, SVM, KernelLogisticRegression
from polychotomy.native import _core

# A peer trains on inputs and labels for C and sigma2, and returns what gives its outputs on rows.
Outputs = Callable[[Array], Array]
Peer = Callable[[Array, Array, float, float], Outputs]
N_COMPARED = 200


def waveforms(n_rows: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    i = np.arange(1, 22)
    h1, h2, h3 = (np.maximum(6 - abs(i - centre), 0) for centre in (11, 15, 7))
    first, second = np.array([h2, h1, h1]), np.array([h3, h3, h2])
    y = rng.integers(0, 3, n_rows)
    u = rng.random((n_rows, 1))
    X = u * first[y] + (1 - u) * second[y] + rng.standard_normal((n_rows, 21))
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(y == 0, 1, -1)


def first_class(name: str, n_rows: int) -> tuple[Array, Array]:
    X, y = load(name, n_rows)
    shuffled = np.random.default_rng(1).permutation(len(y))
    return X[shuffled], np.where(y == 0, 1, -1)[shuffled]


# ---- SVM ----------------------------------------------------------------------------------------


def svm(X: Array, y: Array, C: float, sigma2: float, tol: float = 1e-3) -> Outputs:
    return SVM(C, sigma2=sigma2, tol=tol).fit(X, y).decision_function


def svm_without_avx2(X: Array, y: Array, C: float, sigma2: float) -> Outputs:
    _core.use_baseline_lanes(True)
    try:
        return svm(X, y, C, sigma2)
    finally:
        _core.use_baseline_lanes(False)


def svc(X: Array, y: Array, C: float, sigma2: float) -> Outputs:
    return SVC(C=C, gamma=1 / (2 * sigma2)).fit(X, y).decision_function


def svc_intelex(X: Array, y: Array, C: float, sigma2: float) -> Outputs:
    from sklearnex import svm as intelex

    return intelex.SVC(C=C, gamma=1 / (2 * sigma2)).fit(X, y).decision_function


# ---- kernel logistic regression -----------------------------------------------------------------


def klr(X: Array, y: Array, C: float, sigma2: float, tol: float = 1e-6) -> Outputs:
    machine = KernelLogisticRegression(C, sigma2=sigma2, tol=tol).fit(X, y)
    return lambda Z: machine.predict_proba(Z)[:, 1]


def klr_outputs(X: Array, coefficients: Array, bias: float, sigma2: float) -> Outputs:
    return lambda Z: expit(rbf_kernel(Z, X, gamma=1 / (2 * sigma2)) @ coefficients + bias)


def logistic_regression(X: Array, y: Array, C: float, sigma2: float) -> Outputs:
    gram = rbf_kernel(X, gamma=1 / (2 * sigma2))
    gram[np.diag_indices_from(gram)] += 1e-10
    factor = cholesky(gram, lower=True, overwrite_a=True)
    machine = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-6, max_iter=200)
    machine.fit(factor, y)
    return lambda Z: machine.predict_proba(factor[: len(Z)])[:, 1]


def l_bfgs(X: Array, y: Array, C: float, sigma2: float) -> Outputs:
    gram = rbf_kernel(X, gamma=1 / (2 * sigma2))

    def objective(theta: Array) -> tuple[float, Array]:
        gc = gram @ theta[:-1]
        margin = y * (gc + theta[-1])
        dual = C * y * expit(-margin)
        value = 0.5 * theta[:-1] @ gc + C * np.logaddexp(0, -margin).sum()
        return value, np.append(gc - gram @ dual, -dual.sum())

    options = {"maxiter": 3000, "maxfun": 3000, "gtol": 1e-4 * C, "ftol": 0.0}
    start = np.zeros(len(y) + 1)
    theta = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
    return klr_outputs(X, theta[:-1], theta[-1], sigma2)


def irls(X: Array, y: Array, C: float, sigma2: float) -> Outputs:
    gram = rbf_kernel(X, gamma=1 / (2 * sigma2))
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
    return klr_outputs(X, c, b, sigma2)


# ---- LS-SVM -------------------------------------------------------------------------------------


def lssvm(X: Array, y: Array, C: float, sigma2: float) -> Outputs:
    machine = LSSVM(C, sigma2=sigma2).fit(X, y)
    return lambda Z: machine.latent(Z)[0]


def bordered_system(X: Array, y: Array, C: float, sigma2: float) -> Outputs:
    gram = rbf_kernel(X, gamma=1 / (2 * sigma2))
    ridged = gram + np.eye(len(y)) / C
    both = solve(ridged, np.column_stack([np.ones(len(y)), y]), assume_a="pos")
    bias = both[:, 1].sum() / both[:, 0].sum()
    coefficients = both[:, 1] - bias * both[:, 0]
    return lambda Z: rbf_kernel(Z, X, gamma=1 / (2 * sigma2)) @ coefficients + bias


def kernel_ridge(X: Array, y: Array, C: float, sigma2: float) -> Outputs:
    return KernelRidge(alpha=1 / C, kernel="rbf", gamma=1 / (2 * sigma2)).fit(X, y).predict


def lssvm_by_evidence(X: Array, y: Array, C: float, sigma2: float) -> Outputs:
    return LSSVM(sigma2=sigma2).fit(X, y).decision_function


def gaussian_process(X: Array, y: Array, C: float, sigma2: float) -> Outputs:
    width = RBF(np.sqrt(sigma2), length_scale_bounds="fixed")
    kernel = ConstantKernel() * width + WhiteKernel()
    return GaussianProcessRegressor(kernel, alpha=0.0).fit(X, y).predict


# ---- measuring ----------------------------------------------------------------------------------

# Ours come first.
TASKS: dict[str, dict[str, Peer]] = {
    "SVM": {"ours": svm, "SVC": svc, "SVC, intelex": svc_intelex, "no AVX2": svm_without_avx2},
    "KLR": {
        "ours": klr,
        "LogisticRegression": logistic_regression,
        "L-BFGS": l_bfgs,
        "IRLS": irls,
    },
    "LS-SVM": {"ours": lssvm, "KernelRidge": kernel_ridge, "bordered system": bordered_system},
    "LS-SVM by evidence": {"ours": lssvm_by_evidence, "GaussianProcess": gaussian_process},
}
REFERENCES: dict[str, Peer] = {
    "SVM": lambda *problem: svm(*problem, tol=1e-7),
    "KLR": lambda *problem: klr(*problem, tol=1e-10),
    "LS-SVM": bordered_system,
}
WITHOUT_BIAS = ("KernelRidge", "GaussianProcess")
SLOW = ("LogisticRegression", "L-BFGS", "IRLS", "GaussianProcess")


def chosen_peers(task: str, n_rows: int, slow_rows: int) -> dict[str, Peer]:
    peers = dict(TASKS[task])
    if importlib.util.find_spec("sklearnex") is None:
        peers.pop("SVC, intelex", None)
    return {name: peer for name, peer in peers.items() if n_rows <= slow_rows or name not in SLOW}


def run_cell(task: str, problem: tuple, slow_rows: int, repeats: int) -> dict[str, float]:
    """Print a line for every peer, and return the median times."""
    X, y, C, sigma2 = problem
    peers = chosen_peers(task, len(y), slow_rows)
    times: dict[str, list[float]] = {name: [] for name in peers}
    outputs = {}
    for peer in peers.values():  # loads what has to be loaded
        peer(X[:50], y[:50], C, sigma2)
    for _ in range(repeats):
        for name, peer in peers.items():
            start = process_time()
            outputs[name] = peer(*problem)
            times[name].append(process_time() - start)
    medians = {name: float(np.median(taken)) for name, taken in times.items()}
    exact = REFERENCES[task](*problem)(X[:N_COMPARED]) if task in REFERENCES else None
    for name, median in medians.items():
        difference = ""
        if exact is not None and name not in WITHOUT_BIAS:
            difference = f"{np.abs(outputs[name](X[:N_COMPARED]) - exact).max():.0e}"
        print(f"{task:18s} {len(y):6d} {C:6g} {sigma2:6g}  {name:20s}", end="")
        print(f"{median:9.4f} s {median / medians['ours']:8.2f}  {difference}", flush=True)
    return medians


def add_rows(table: Table, title: str, by_rows: dict[int, dict[str, float]]) -> None:
    """Add a row for every peer: its time over ours, and how both grow."""
    own = growth(by_rows, "ours")
    for name in {name: None for times in by_rows.values() for name in times if name != "ours"}:
        ratios = [
            f"{times[name] / times['ours']:.2g}" if name in times else ""
            for times in by_rows.values()
        ]
        table.add(f"{title}: {name}", *ratios, growth(by_rows, name), own)


def growth(by_rows: dict[int, dict[str, float]], name: str) -> str:
    rows = [n for n in by_rows if name in by_rows[n]]
    if len(rows) < 2:
        return ""
    slope = np.polyfit(np.log(rows), np.log([by_rows[n][name] for n in rows]), 1)[0]
    return f"n^{slope:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 1000, 2000, 5000])
    parser.add_argument("--slow-rows", type=int, default=2000)
    parser.add_argument("--cells", nargs="+", default=["1:10", "1000:100"], help="C:sigma2")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--data", default=None)
    parser.add_argument("--repeats", type=int, default=3)
    add_csv_option(parser)
    given = parser.parse_args()
    table = Table(
        "solve",
        "One binary problem by `benchmarks/solve.py`: the peer's processor time over ours, and how "
        "times grow with the rows.",
        ["", *(f"{n_rows:,} rows" for n_rows in given.rows), "grows as", "ours"],
    )
    print(f"{'machine':18s} {'rows':>6s} {'C':>6s} {'sigma2':>6s}  {'':20s}{'time':>11s}", end="")
    print(f" {'ratio':>8s}  difference")
    for task in given.tasks:
        for cell in given.cells if task != "LS-SVM by evidence" else given.cells[:1]:
            C, sigma2 = map(float, cell.split(":"))
            by_rows = {}
            for n_rows in given.rows:
                X, y = first_class(given.data, n_rows) if given.data else waveforms(n_rows)
                by_rows[len(y)] = run_cell(task, (X, y, C, sigma2), given.slow_rows, given.repeats)
            add_rows(table, f"{task}, C = {C:g}, sigma2 = {sigma2:g}", by_rows)
    table.save(given.csv)


if __name__ == "__main__":
    if importlib.util.find_spec("daal4py") is not None:
        import daal4py

        daal4py.daalinit(1)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
