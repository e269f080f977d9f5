"""Threads, processes, processors and Ctrl-C: the same bits, or an end within a second.

    python tests/attack/processes.py            # everything, in a few minutes
    python tests/attack/processes.py threads

Each attack prints what was tried and what failed. The exit code is 1 if anything did.
"""

import argparse
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine

import polychotomy as pc
from polychotomy.native import _core

warnings.simplefilter("ignore")


def rows(load=load_wine):
    X, y = load(return_X_y=True)
    return (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9), y


def estimators():
    """Return one of every kind, small."""
    return {
        "svm": pc.PolychotomyClassifier(pc.SVM(), tempering="auto"),
        "klr": pc.PolychotomyClassifier(pc.KernelLogisticRegression(), "one_vs_rest"),
        "lssvm": pc.PolychotomyClassifier(pc.LSSVM(), "one_vs_rest", decoder="bayesian"),
        "soft-max": pc.PolychotomyClassifier(pc.SVM(), decoder="soft_max"),
        "search": pc.TwoStepSearchCV(
            pc.PolychotomyClassifier(pc.SVM(), calibrator="platt"),
            {"machine__C": [0.1, 1.0, 10.0], "machine__sigma2": [1.0, 10.0]},
        ),
        "metric": pc.MetricClassifier(),
    }


def answers(name):
    """Fit one estimator and return its probabilities as bytes."""
    X, y = rows()
    return estimators()[name].fit(X, y).predict_proba(X).tobytes()


def threads(times):
    """Fits and predictions from 16 threads at once have the bits of one alone."""
    names = list(estimators())
    alone = {name: answers(name) for name in names}
    work = names * times
    with ThreadPoolExecutor(16) as pool:
        failed = sum(
            found != alone[name] for name, found in zip(work, pool.map(answers, work), strict=True)
        )
    X, y = rows()
    fitted = {name: estimators()[name].fit(X, y) for name in names}
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda name: fitted[name].predict_proba(X).tobytes(), work))
    failed += sum(one != alone[name] for name, one in zip(work, found, strict=True))
    return 2 * len(work), failed


def _in_child(name, queue):
    queue.put((name, answers(name)))


def processes(times):
    """Processes that are spawned, or forked before and after the library has used threads."""
    names = list(estimators())
    tried = failed = 0
    alone = {name: answers(name) for name in names}
    for way in ("spawn", "forkserver", "fork"):
        context = multiprocessing.get_context(way)
        for _ in range(max(1, times // 10)):
            queue = context.SimpleQueue()
            children = [context.Process(target=_in_child, args=(name, queue)) for name in names]
            for child in children:
                child.start()
            for _ in children:
                name, found = queue.get()
                tried, failed = tried + 1, failed + (found != alone[name])
            for child in children:
                child.join(60)
                failed += child.exitcode != 0
    return tried, failed


def servers(times):
    """A server loads a model, forks its workers (as gunicorn does), and each of them predicts."""
    X, y = rows()
    models = {name: each.fit(X, y) for name, each in estimators().items()}
    alone = {name: model.predict_proba(X).tobytes() for name, model in models.items()}
    tried = failed = 0
    for _ in range(times):
        for name, model in models.items():
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(reading)
                same = model.predict_proba(X).tobytes() == alone[name]
                os.write(writing, b"1" if same else b"0")
                os._exit(0)
            os.close(writing)
            tried, failed = tried + 1, failed + (os.read(reading, 1) != b"1")
            os.close(reading)
            os.waitpid(child, 0)
    return tried, failed


def lanes(times, sets=(load_iris, load_wine, load_digits)):
    """AVX2 against the baseline: how far probabilities are apart."""
    tried = failed = 0
    for load in sets:
        X, y = rows(load)
        X, y = X[:400], y[:400]
        for name, clf in estimators().items():
            if load is load_digits and name in ("metric", "search"):
                continue
            found = []
            for only_baseline in (False, True):
                _core.use_baseline_lanes(only_baseline)
                try:
                    found.append(clf.fit(X, y).predict_proba(X))
                finally:
                    _core.use_baseline_lanes(False)
            apart = float(np.abs(found[0] - found[1]).max())
            print(f"  {load.__name__[5:]:<8}{name:<10}{apart:.1e}")
            tried, failed = tried + 1, failed + (apart > 0.01)
    return tried, failed


INTERRUPTED = """
import signal, sys, warnings
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
warnings.simplefilter("ignore")
import numpy as np
import polychotomy as pc
from sklearn.datasets import make_classification

X, y = make_classification(3000, 20, n_informative=10, n_classes=5, random_state=0)
what = {
    "search": lambda: pc.TwoStepSearchCV(pc.recipe("PWC_PSVM")).fit(X, y),
    "search of KLR": lambda: pc.TwoStepSearchCV(pc.recipe("PWC_KLR")).fit(X, y),
    "pool": lambda: pc.PolychotomyPool().fit(X, y),
    "sweep": lambda: pc.MethodSweep(["MWV_SVM", "SMC1v1", "WTA_KLR"]).fit(X, y),
    "compare": lambda: pc.compare.compare_methods(X, y),
}[sys.argv[1]]
pc.compare
print("ready", flush=True)
try:
    what()
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


def interrupts(times):
    """Ctrl-C at random moments in searches, pools and comparisons: seconds until it has ended."""
    rng = np.random.default_rng(0)
    tried = failed = 0
    for what in ("search", "search of KLR", "pool", "sweep", "compare"):
        waits = []
        for _ in range(times):
            with subprocess.Popen(
                [sys.executable, "-c", INTERRUPTED, what], stdout=subprocess.PIPE, text=True
            ) as process:
                assert process.stdout.readline() == "ready\n"
                time.sleep(rng.uniform(0.2, 4.0))
                process.send_signal(signal.SIGINT)
                start = time.monotonic()
                said = process.stdout.readline()
                waits.append(time.monotonic() - start)
                process.kill()
            tried, failed = tried + 1, failed + (said != "stopped\n")
        print(f"  {what:<16} longest {max(waits):.2f} s, median {np.median(waits):.2f} s")
    return tried, failed


def pickles(times):
    """Estimators that are sent between threads and processes by pickle."""
    X, y = rows()
    tried = failed = 0
    for each in estimators().values():
        fitted = each.fit(X, y)
        again = pickle.loads(pickle.dumps(fitted))
        tried += 1
        failed += not np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    return tried, failed


ATTACKS = {
    "threads": (threads, 20),
    "processes": (processes, 10),
    "servers": (servers, 20),
    "lanes": (lanes, 1),
    "interrupts": (interrupts, 5),
    "pickles": (pickles, 1),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=", ".join(ATTACKS))
    parser.add_argument("--times", type=int, default=None)
    options = parser.parse_args()
    all_failed = 0
    for name in options.attacks or ATTACKS:
        attack, times = ATTACKS[name]
        print(f"{name}: {attack.__doc__.splitlines()[0]}", flush=True)
        tried, failed = attack(options.times or times)
        print(f"{name}: tried {tried}, failed {failed}", flush=True)
        all_failed += failed
    return 1 if all_failed else 0


if __name__ == "__main__":
    sys.exit(main())
