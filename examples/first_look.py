"""Handwritten digits: ten classes from forty-five binary machines, with probabilities.

Trains one support vector machine for every pair of digits, turns their scores into class
probabilities, judges them on rows held out, compares the decoders on one set of scores,
and shows for one doubtful digit what each machine said.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split

from polychotomy import SVM, PolychotomyClassifier, compare_decoders


def main() -> None:
    """Run the example."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X / 16.0, y, train_size=600, stratify=y, random_state=0
    )

    clf = PolychotomyClassifier(SVM(C=5), code="one_vs_one").fit(X_train, y_train)
    p = clf.predict_proba(X_test)
    error = 1.0 - accuracy_score(y_test, clf.predict(X_test))
    print(f"{clf.codebook_.n_columns} binary machines, {len(y_test)} rows held out")
    print(f"error {error:.3f}, negative log-likelihood {log_loss(y_test, p):.3f}\n")

    print("All decoders for one-vs-one, cross-validated on the training rows:")
    print(compare_decoders(clf, X_train, y_train), "\n")

    doubtful = int(np.sort(p, axis=1)[:, -1].argmin())
    print(f"The most doubtful row held out (a {y_test[doubtful]}):")
    print("\n".join(str(clf.explain(X_test[doubtful])).splitlines()[-12:]))


if __name__ == "__main__":
    main()
