"""Random pipes on random, often extreme, rows: a clear error, or answers that make sense.

    python tests/fuzz/fuzz.py --calls 100000 --seed 0

Every call has a number, from which it can be repeated alone: ``--only NUMBER``. It prints what went
wrong, and ends with exit code 1 if anything did. With ``--log FILE`` every call is written down,
with its processor time, and the same command goes on where it was:

    nice -n 19 python tests/fuzz/fuzz.py --calls 100000 --log fuzz.jsonl
"""

import sys
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import polychotomy as pc
from polychotomy.core.registry import parts
from resumable import main

# What may be raised: sentences about the input, not about our insides.
CLEAR = (ValueError, TypeError, MemoryError)


def rows(rng):
    """Return inputs, labels and weights, each plain or extreme."""
    n_classes = int(rng.integers(2, 6))
    n_rows, n_features = int(rng.integers(n_classes, 40)), int(rng.integers(1, 5))
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)])
    X = rng.normal(size=(n_rows, n_features)) + (y[:, None] if rng.random() < 0.7 else 0.0)
    kind = rng.choice(["plain", "scaled", "mixed", "twins", "constant", "whole", "offset"])
    if kind == "scaled":
        X *= 10.0 ** rng.integers(-200, 150)
    elif kind == "mixed":
        X *= 10.0 ** rng.integers(-30, 30, n_features)
    elif kind == "twins":
        X = X[rng.integers(0, max(1, n_rows // 3), n_rows)]
    elif kind == "constant":
        X[:, 0] = rng.choice([0.0, 1.0, 1e8])
    elif kind == "whole":
        X = np.round(X)
    elif kind == "offset":
        X += 10.0 ** rng.integers(0, 12)
    weights = None
    if rng.random() < 0.4:
        weights = rng.choice([0.0, 1.0, 2.0, 1e-12, 1e12, 1e-100, 1e100], n_rows)
        if rng.random() < 0.6:
            weights = rng.uniform(0.1, 3.0, n_rows)
    if rng.random() < 0.2:
        X = csr_array(np.where(np.abs(X) < 0.5, 0.0, X))
    labels = y if rng.random() < 0.6 else np.array(["a", "b", "c", "d", "e", "f"])[y]
    return X, labels, weights


def machine(rng):
    """Return a binary machine with random parameters."""
    C = float(10.0 ** rng.integers(-6, 9))
    kernel = str(rng.choice(["rbf", "rbf", "laplacian", "linear", "poly"]))
    options = {"kernel": kernel}
    if kernel in ("rbf", "poly") and rng.random() < 0.5:
        options["gamma"] = float(10.0 ** rng.integers(-8, 8))
    return [
        # Without a limit, weights of 1e100 take all of the call's time, and end with a warning.
        lambda: pc.SVM(C, max_iter=100_000 if rng.random() < 0.1 else 3000, **options),
        lambda: pc.KernelLogisticRegression(C, **options),
        lambda: pc.LSSVM(C, **options),
        lambda: pc.LSSVM(**options),
        # A random code has up to 100 columns and folds: the default solver took most of all time.
        lambda: LogisticRegression(C=C, solver="newton-cholesky"),
        lambda: DecisionTreeClassifier(random_state=0),
    ][rng.integers(6)]()


def pipe(rng):
    """Return a classifier of random parts; they need not go together."""
    decoders = [one for cls in parts("decoder").values() for one in cls.examples()]
    chosen = machine(rng)
    cv = 3
    if isinstance(chosen, pc.LSSVM | pc.KernelLogisticRegression) and rng.random() < 0.4:
        cv = "leave_one_out"
    return pc.PolychotomyClassifier(
        chosen,
        str(rng.choice(sorted(parts("code")))),
        [None, "auto", "auto", *sorted(parts("calibrator"))][rng.integers(7)],
        "auto" if rng.random() < 0.4 else decoders[rng.integers(len(decoders))],
        tempering=bool(rng.random() < 0.3),
        cv=cv,
        class_weight="balanced" if rng.random() < 0.15 else None,
        random_state=0,
    )


def check(clf, X):
    """Check answers against what must always hold."""
    answer = clf.predict(X)
    assert answer.shape == (X.shape[0],), "predict has another shape"
    assert np.isin(answer, clf.classes_).all(), "predict is not one of the classes"
    if hasattr(clf, "predict_proba"):
        p = clf.predict_proba(X)
        assert np.isfinite(p).all(), "predict_proba is not finite"
        assert (p >= 0).all(), "predict_proba is negative"
        assert np.allclose(p.sum(axis=1), 1.0, atol=1e-9), "predict_proba does not sum to 1"
        assert (clf.classes_[p.argmax(axis=1)] == answer).all(), "predict is not the argmax"
    if hasattr(clf, "decision_function"):
        scores = clf.decision_function(X)
        assert np.isfinite(scores).all(), "decision_function is not finite"
        if scores.ndim == 2:
            assert (clf.classes_[scores.argmax(axis=1)] == answer).all(), "scores disagree"
    assert np.isfinite(clf.binary_scores(X)).all(), "binary_scores are not finite"
    assert str(clf.explain(X[:1])), "explain says nothing"


def call(number, seed):
    """Make one call; return "answered", "refused", or a report of what went wrong."""
    rng = np.random.default_rng([seed, number])
    X, y, weights = rows(rng)
    clf = pipe(rng)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            clf.fit(X, y, sample_weight=weights)
            check(clf, X)
    except CLEAR as error:
        # NumPy's LinAlgError is a ValueError, and no sentence for users.
        clear = type(error) in CLEAR and len(str(error)) > 10
        return "refused" if clear else report(number, clf, error)
    except Exception as error:
        return report(number, clf, error)
    return "answered"


def report(number, clf, error):
    """Say what went wrong, where."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(repr(clf).split())
    return f"{number}: {type(error).__name__}: {error} ({where.filename}:{where.lineno}) {text}"


if __name__ == "__main__":
    sys.exit(main(call, __doc__, calls=2000))
