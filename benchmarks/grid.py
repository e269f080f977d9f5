"""How long the search of C and sigma2 takes, against scikit-learn, LIBSVM and liquidSVM.

The job: the 49 cells of C and sigma2 in 1e-3..1e3, 5-fold stratified cross-validation of the
multi-class error, two threads, standardised inputs. The peers:

- svc: GridSearchCV over SVC, with n_jobs=2, as everybody does it; one-vs-one;
- one_vs_one_svc, one_vs_rest_svc: the same over OneVsOneClassifier(SVC) and
  OneVsRestClassifier(SVC);
- *_intelex: these three with the SVC of scikit-learn-intelex;
- shared_*: LIBSVM on a Gram matrix shared by hand: distances once, exp once for each sigma2,
  SVC(kernel="precomputed") on the folds' parts, all C and folds by two threads;
- liquid_*: liquidSVM, all-vs-all and one-vs-all, hinge loss, on the same values of gamma and cost.

liquidSVM has no bias, makes its stratified folds itself (given ones cannot be passed from Python)
and chooses the cell for each binary problem separately; its score is therefore the accuracy on
every fold of a search on the other four, which is not in its time. It builds with

    pip install wheel "setuptools<81"
    LIQUIDSVM_CONFIGURE_ARGS="native -fpermissive -w" pip install --no-build-isolation liquidSVM

Every measurement is made in a process of its own, after a search on a few rows that loads what has
to be loaded; a round goes through all peers, and medians over --repeats rounds are printed. "ratio"
is the time over ours with the same code, "score" the accuracy of the best cell. "processor" is the
same ratio for the processor time of the process and its workers (if psutil is installed), which
says more on a machine that has other work to do. Peers that are not installed are left out.

    python benchmarks/grid.py --data digits segment satimage --rows 500 --repeats 3
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np
from _data import GRID, Array, load, squared_distances
from _table import Table, add_csv_option
from joblib import Parallel, delayed
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.svm import SVC

Folds = list[tuple[Array, Array]]
DECODERS = {"one_vs_one": "max_wins", "one_vs_rest": "winner_takes_all"}
N_THREADS = 2
SEARCHES = {
    "svc": "`GridSearchCV(SVC)`",
    "one_vs_one_svc": "`GridSearchCV(OneVsOneClassifier(SVC))`",
    "one_vs_rest_svc": "`GridSearchCV(OneVsRestClassifier(SVC))`, against our one-vs-rest",
}
# What the peers are called in the table.
NAMES = {
    **SEARCHES,
    **{f"{key}_intelex": f"{words}, scikit-learn-intelex" for key, words in SEARCHES.items()},
    "shared_one_vs_one": "LIBSVM on a Gram matrix shared by hand",
    "shared_one_vs_rest": "LIBSVM on a Gram matrix shared by hand, against our one-vs-rest",
    "liquid_one_vs_one": "liquidSVM, all-vs-all",
    "liquid_one_vs_rest": "liquidSVM, one-vs-all, against our one-vs-rest",
}
# Short measurements are repeated in the same process until they took this many seconds together.
LEAST_SECONDS = 1.0


def ours(X: Array, y: Array, folds: Folds, code: str) -> float:
    from polychotomy import SVM, PolychotomyClassifier, TwoStepSearchCV

    classifier = PolychotomyClassifier(SVM(), code=code, decoder=DECODERS[code])
    search = TwoStepSearchCV(classifier, fine=None, cv=folds, n_jobs=N_THREADS, refit=False)
    return float(search.fit(X, y).best_score_)


def grid_search(X: Array, y: Array, folds: Folds, code: str | None, intelex: bool) -> float:
    machine = SVC()
    if intelex:
        from sklearnex import svm

        machine = svm.SVC()
    wrapper = {"one_vs_one": OneVsOneClassifier, "one_vs_rest": OneVsRestClassifier}
    classifier = wrapper[code](machine) if code else machine
    prefix = "estimator__" if code else ""
    grid = {f"{prefix}C": GRID, f"{prefix}gamma": 1 / (2 * GRID)}
    search = GridSearchCV(classifier, grid, cv=folds, n_jobs=N_THREADS, refit=False)
    return float(search.fit(X, y).best_score_)


def shared_gram(X: Array, y: Array, folds: Folds, code: str) -> float:
    score = {"one_vs_one": score_pairs, "one_vs_rest": score_rest}[code]
    distances = squared_distances(X)
    scores = []
    with Parallel(n_jobs=N_THREADS, backend="threading") as parallel:
        for sigma2 in GRID:
            gram = np.exp(-distances / (2 * sigma2))
            parts = [(gram[np.ix_(a, a)], gram[np.ix_(b, a)], y[a], y[b]) for a, b in folds]
            jobs = (delayed(score)(*part, C) for C, part in product(GRID, parts))
            scores.append(np.reshape(parallel(jobs), (len(GRID), len(folds))).mean(axis=1))
    return float(np.max(scores))


def score_pairs(gram: Array, between: Array, y: Array, truth: Array, C: float) -> float:
    machine = SVC(C=C, kernel="precomputed", cache_size=1000).fit(gram, y)
    return float((machine.predict(between) == truth).mean())


def score_rest(gram: Array, between: Array, y: Array, truth: Array, C: float) -> float:
    scores = [
        SVC(C=C, kernel="precomputed", cache_size=1000).fit(gram, y == k).decision_function(between)
        for k in range(y.max() + 1)
    ]
    return float((np.argmax(scores, axis=0) == truth).mean())


def liquid_search(X: Array, y: Array, code: str) -> Any:
    # It looks for its library by a name that Python 3 does not know.
    sysconfig.get_config_vars()["SO"] = sysconfig.get_config_var("EXT_SUFFIX")
    import liquidSVM

    reduction = {"one_vs_one": "AvA_hinge", "one_vs_rest": "OvA_hinge"}[code]
    machine = liquidSVM.SVM(
        X,
        y,
        scenario=f"MC {reduction}",
        threads=N_THREADS,
        display=0,
        folds=5,
        folds_kind="STRATIFIED",
        gammas=list(np.sqrt(2 * GRID)),  # its kernel is exp(-d2 / gamma^2)
        c_values=list(GRID),
        random_seed=1,
    )
    machine.train()
    machine.select()
    return machine


def liquid(X: Array, y: Array, folds: Folds, code: str) -> None:
    liquid_search(X, y, code).clean()


def liquid_score(X: Array, y: Array, folds: Folds, code: str) -> float:
    return float(
        np.mean([(liquid_search(X[a], y[a], code).predict(X[b]) == y[b]).mean() for a, b in folds])
    )


@dataclass(frozen=True)
class Peer:
    """A way to do the job, the code it uses, and the module it needs.

    The search returns the score of the best cell, or `score` finds it afterwards.
    """

    code: str
    search: Callable[..., float | None]
    module: str = "sklearn"
    score: Callable[..., float] | None = None


def peers() -> dict[str, Peer]:
    found = {}
    for code in DECODERS:
        found[f"ours_{code}"] = Peer(code, partial(ours, code=code))
        found[f"shared_{code}"] = Peer(code, partial(shared_gram, code=code))
        found[f"liquid_{code}"] = Peer(
            code, partial(liquid, code=code), "liquidSVM", partial(liquid_score, code=code)
        )
    for intelex, ending in ((False, ""), (True, "_intelex")):
        module = "sklearnex" if intelex else "sklearn"
        found[f"svc{ending}"] = Peer(
            "one_vs_one", partial(grid_search, code=None, intelex=intelex), module
        )
        for code in DECODERS:
            found[f"{code}_svc{ending}"] = Peer(
                code, partial(grid_search, code=code, intelex=intelex), module
            )
    return found


def folds_of(X: Array, y: Array) -> Folds:
    return list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))


def processor_seconds() -> float:
    """Return the processor time of this process and its workers so far, or NaN."""
    if importlib.util.find_spec("psutil") is None:
        return np.nan
    import psutil

    this = psutil.Process()
    times = [p.cpu_times() for p in (this, *this.children(recursive=True))]
    return sum(t.user + t.system for t in times)


def measure(peer: Peer, name: str, n_rows: int, with_score: bool) -> dict[str, float | None]:
    """Measure one peer in this process."""
    warnings.simplefilter("ignore")
    few, classes = load("digits", 60)
    classes = classes % 2
    peer.search(few, classes, folds_of(few, classes))
    X, y = load(name, n_rows)
    y = y.astype(float) if peer.module == "liquidSVM" else y
    folds = folds_of(X, y)
    times, score = [], None
    before = processor_seconds()
    while sum(times) < LEAST_SECONDS:
        start = perf_counter()
        score = peer.search(X, y, folds)
        times.append(perf_counter() - start)
    processor = (processor_seconds() - before) / len(times)
    if with_score and peer.score is not None:
        score = peer.score(X, y, folds)
    return {"seconds": float(np.median(times)), "processor": processor, "score": score}


def measure_apart(key: str, name: str, n_rows: int, with_score: bool, limit: float) -> dict:
    """Measure one peer in a process of its own."""
    command = [sys.executable, __file__, "--measure", key, "--data", name, "--rows", str(n_rows)]
    command += ["--with-score"] * with_score
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"seconds": np.inf, "processor": np.inf, "score": None}
    if done.returncode != 0:
        reason = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        print(f"  {key} failed: {reason}", flush=True)
        return {"seconds": np.nan, "processor": np.nan, "score": None}
    return json.loads(done.stdout.splitlines()[-1])


def run(name: str, n_rows: int, keys: list[str], repeats: int, limit: float) -> dict[str, dict]:
    """Print the table of one data set and return the ratios to ours."""
    y = load(name, n_rows)[1]
    print(f"\n{name}, {len(y)} rows, {y.max() + 1} classes", flush=True)
    rounds: dict[str, list[dict[str, Any]]] = {key: [] for key in keys}
    for number, key in product(range(repeats), keys):
        if rounds[key] and not np.isfinite(rounds[key][-1]["seconds"]):
            continue
        rounds[key].append(measure_apart(key, name, n_rows, number == 0, limit))
        print(f"  (round {number + 1}, {key}: {rounds[key][-1]})", flush=True)
    print(f"  {'':28s} {'seconds':>9s} {'ratio':>8s} {'processor':>9s}    score")
    ratios, medians = {}, {}
    for figure in ("seconds", "processor"):
        medians[figure] = {key: median(rounds[key], figure) for key in keys}
        ratios[figure] = {
            key: value / medians[figure].get(f"ours_{peers()[key].code}", np.nan)
            for key, value in medians[figure].items()
        }
    for key in keys:
        score = next((r["score"] for r in rounds[key] if r["score"] is not None), None)
        accuracy = "" if score is None else f"{score:.4f}"
        print(f"  {key:28s} {medians['seconds'][key]:9.3f} {ratios['seconds'][key]:8.2f}", end="")
        print(f" {ratios['processor'][key]:9.2f}    {accuracy}", flush=True)
    return ratios


def table_of(ratios: dict[str, dict[str, dict]], n_rows: int) -> Table:
    """Print the ratios of all sets, and their geometric means."""
    table = Table(
        f"grid_{n_rows}",
        f"The search of C and sigma2 with {n_rows:,} rows, by `benchmarks/grid.py`: the peer's "
        "time over ours, in brackets its processor time over ours.",
        ["", *ratios, "geometric mean"],
    )
    for key, words in NAMES.items():
        found = np.array(
            [[r[f].get(key, np.nan) for f in ("seconds", "processor")] for r in ratios.values()]
        )
        if not key.startswith("ours") and not np.isnan(found).all():
            cells = [*found, np.exp(np.log(found).mean(axis=0))]
            table.add(words, *(f"{wall:.1f} ({processor:.1f})" for wall, processor in cells))
    return table


def median(measured: list[dict[str, Any]], figure: str) -> float:
    return float(np.median([one[figure] for one in measured]))


def available(chosen: list[str]) -> Iterator[str]:
    for key in chosen:
        module = peers()[key].module
        if importlib.util.find_spec(module) is None:
            print(f"{key} is left out: {module} is not installed")
        else:
            yield key


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", default=["digits", "segment", "satimage"])
    parser.add_argument("--rows", type=int, nargs="+", default=[500], help="500 to 2000")
    parser.add_argument("--peers", nargs="+", choices=list(peers()), default=list(peers()))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=1800, help="seconds for a measurement")
    parser.add_argument("--measure", choices=list(peers()), help=argparse.SUPPRESS)
    parser.add_argument("--with-score", action="store_true", help=argparse.SUPPRESS)
    add_csv_option(parser)
    given = parser.parse_args()
    if given.measure:
        peer = peers()[given.measure]
        print(json.dumps(measure(peer, given.data[0], given.rows[0], given.with_score)))
        return
    keys = list(available(given.peers))
    all_ratios = {
        (n_rows, name): run(name, n_rows, keys, given.repeats, given.limit)
        for n_rows, name in product(given.rows, given.data)
    }
    for n_rows in given.rows:
        table_of({name: all_ratios[n_rows, name] for name in given.data}, n_rows).save(given.csv)


if __name__ == "__main__":
    main()
