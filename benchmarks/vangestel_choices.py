"""What VANGESTEL leaves open, tried one by one: ties, codewords, the order of updates, tuning.

Some cells of the study `vangestel2002` are far from the printed ones. The paper does not say which
class wins a tie in Hamming decoding, which class has which word of the minimal code, in which order
Bayesian decoding takes the machines of one-versus-one, and whether C is chosen for each machine or
for all together. On the study's own partitions this prints the accuracy for several answers, beside
the printed number. It explains; no answer is chosen by it.

The sets come from the folder in POLYCHOTOMY_DATA, from scikit-learn or from OpenML.

    python benchmarks/vangestel_choices.py
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from polychotomy import BayesianDecoding, CustomCode, recipe
from polychotomy.codes import MinimalCode
from polychotomy.study.definition import load_study
from polychotomy.study.protocol import partition, units_of

GRID = np.logspace(-3, 3, 7)
# The three ways to tell four classes apart by two machines, as places in binary counting.
ASSIGNMENTS = {
    "bus opel | saab van, bus saab | opel van (ours)": [0, 1, 2, 3],
    "bus opel | saab van, bus van | opel saab": [0, 1, 3, 2],
    "bus saab | opel van, bus van | opel saab": [0, 3, 1, 2],
}


def partitions(name):
    """Return the study's partitions of a data set."""
    first = {}
    for unit in units_of(load_study("vangestel2002")):
        if unit.dataset == name:
            first.setdefault(unit.partition, unit)
    return [partition(unit) for unit in first.values()]


def accuracies(parts, answer):
    """Return mean and deviation of an answer's accuracy, in percent."""
    found = [100 * np.mean(answer(part) == part.y_test) for part in parts]
    return f"{np.mean(found):.1f} ± {np.std(found, ddof=1):.1f}"


def with_parts(method, **changes):
    """Return the answer of a method of the study, with some of its parts changed."""

    def answer(part):
        classifier = recipe(method).set_params(**changes)
        return classifier.fit(part.X_train, part.y_train).predict(part.X_test)

    return answer


def hamming_first(method):
    """Return the answer by Hamming decoding in which the first class wins a tie."""

    def answer(part):
        classifier = recipe(method).fit(part.X_train, part.y_train)
        signs = np.where(classifier.binary_scores(part.X_test) > 0, 1, -1)
        distance = (signs[:, None, :] != classifier.codebook_.matrix).sum(axis=2)
        return classifier.classes_[distance.argmin(axis=1)]

    return answer


def as_printed(method):
    """Return the answer by (20) as printed: the classes of a column get all the probability."""

    def answer(part):
        classifier = recipe(method).fit(part.X_train, part.y_train)
        ratio = classifier.decoder_._log_ratio(classifier._margins(part.X_test))
        p = np.full((len(ratio), len(classifier.classes_)), 1 / len(classifier.classes_))
        for column, word in enumerate(classifier.codebook_.matrix.T):
            concerned = np.flatnonzero(word)
            likelihood = 1 / (1 + np.exp(-np.outer(ratio[:, column], word[concerned])))
            new = p[:, concerned] * likelihood
            p[:, concerned] = new / new.sum(axis=1, keepdims=True)
        return classifier.classes_[p.argmax(axis=1)]

    return answer


def machines_alone(first_wins):
    """Return the answer of linear SVMs one-versus-all, C chosen for each machine alone."""

    def answer(part):
        classes, scores = np.unique(part.y_train), []
        for one in classes:
            folds = StratifiedKFold(10, shuffle=True, random_state=0)
            search = GridSearchCV(SVC(kernel="linear"), {"C": GRID}, cv=folds)
            search.fit(part.X_train, part.y_train == one)
            scores.append(search.decision_function(part.X_test))
        scores = np.transpose(scores)
        words = 2 * np.eye(len(classes)) - 1
        distance = (np.where(scores > 0, 1, -1)[:, None, :] != words).sum(axis=2)
        if not first_wins:
            distance = np.where(distance == distance.min(axis=1, keepdims=True), -scores, np.inf)
        return classes[distance.argmin(axis=1)]

    return answer


def show(title, rows):
    print(f"\n{title}\n")
    print("| answer | ours | printed |\n|---|---|---|")
    for name, ours, printed in rows:
        print(f"| {name} | {ours} | {printed} |", flush=True)


def codewords(parts):
    for kernel, printed in (("LIN", "69.3 ± 2.1"), ("RBF", "80.7 ± 2.4")):
        words = MinimalCode().build(4).matrix
        rows = (
            (
                name,
                accuracies(
                    parts, with_parts(f"LSSVM_{kernel}_MOC_Hamming", code=CustomCode(words[order]))
                ),
                printed,
            )
            for name, order in ASSIGNMENTS.items()
        )
        show(f"vehicle, LSSVM_{kernel}_MOC_Hamming: the words of the minimal code", rows)


def random_codewords(parts):
    random = np.random.default_rng(0)
    orders = [random.permutation(6) for _ in range(6)]
    for kernel, printed in (("LIN", "47.2 ± 3.9"), ("RBF", "50.7 ± 5.6")):
        words = MinimalCode().build(6).matrix
        method = f"LSSVM_{kernel}_MOC_Hamming"
        rows = (
            (
                f"classes in the order {order}",
                accuracies(parts, with_parts(method, code=CustomCode(words[order]))),
                printed,
            )
            for order in (np.arange(6), *orders)
        )
        show(f"glass, {method}: words of the minimal code, ours and six by chance", rows)


def updates(name, parts, printed):
    for kernel, number in printed.items():
        method = f"LSSVM_{kernel}_1vs1_Bayes"
        parallel = with_parts(method, decoder=BayesianDecoding(update="parallel"))
        rows = [
            ("one after the other (ours)", accuracies(parts, with_parts(method)), number),
            ("(20) as printed", accuracies(parts, as_printed(method)), number),
            ("free of any order", accuracies(parts, parallel), number),
        ]
        show(f"{name}, {method}: the order of the machines", rows)


def ties(name, parts, method, printed):
    rows = [
        ("by outputs (ours)", accuracies(parts, with_parts(method)), printed),
        ("the first class", accuracies(parts, hamming_first(method)), printed),
    ]
    show(f"{name}, {method}: ties", rows)


def tuning(name, parts, printed):
    rows = [
        ("the largest output wins a tie", accuracies(parts, machines_alone(False)), printed),
        ("the first class", accuracies(parts, machines_alone(True)), printed),
    ]
    show(f"{name}, SVM_LIN_1vsA_Hamming: C for each machine", rows)


def main():
    warnings.simplefilter("ignore")
    iris, thyroid, vehicle, glass = map(partitions, ("iris", "new-thyroid", "vehicle", "glass"))
    codewords(vehicle)
    random_codewords(glass)
    updates("vehicle", vehicle, {"LIN": "80.7 ± 1.3", "RBF": "82.8 ± 1.5"})
    updates("glass", glass, {"LIN": "58.3 ± 5.0", "RBF": "58.5 ± 6.1"})
    ties("iris", iris, "LSSVM_LIN_ECOC_Hamming", "72.0 ± 4.8")
    ties("vehicle", vehicle, "LSSVM_LIN_ECOC_Hamming", "68.0 ± 1.9")
    ties("vehicle", vehicle, "LSSVM_RBF_ECOC_Hamming", "76.2 ± 2.2")
    ties("vehicle", vehicle, "LSSVM_RBF_1vsA_Hamming", "76.0 ± 4.8")
    ties("glass", glass, "LSSVM_RBF_1vsA_Hamming", "54.4 ± 4.4")
    tuning("iris", iris, "72.4 ± 4.7")
    tuning("new-thyroid", thyroid, "90.0 ± 4.3")


if __name__ == "__main__":
    main()
