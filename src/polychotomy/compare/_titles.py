"""What methods are called by people who have not read the papers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# By the name of a class: a part of the user's own gets its own name.
PARTS = {
    "SVM": "SVM",
    "KernelLogisticRegression": "kernel logistic",
    "LSSVM": "LS-SVM",
    "OneVsOne": "pairs",
    "OneVsRest": "one class against the rest",
    "MinimalCode": "minimal code",
    "ErrorCorrectingCode": "error-correcting code",
    "NestedCode": "nested dichotomies",
    "Platt": "calibrated",
    "PooledPlatt": "calibrated together",
    "MaxWins": "most votes",
    "WeightedVoting": "weighted votes",
    "PairwiseCoupling": "coupled",
    "WinnerTakesAll": "largest score",
    "SoftMax": "soft-max",
    "ShrunkSoftMax": "shrunk soft-max",
    "DecisionGraph": "decision graph",
    "ValuedPreference": "preferences",
    "NonDominance": "non-dominance",
    "BinaryTree": "tree of pairs",
    "Nesting": "nested pairs",
    "DynamicallyOrdered": "ordered by naive Bayes",
    "HammingDecoding": "nearest code word",
    "LossDecoding": "least loss",
    "BayesianDecoding": "Bayesian",
    "BranchProduct": "product of branches",
}
SILENT = ("NoCalibration",)
# The coupling of Hastie and Tibshirani is the one without a name.
COUPLINGS = {"wu_lin_weng": "coupled by Wu, Lin and Weng"}


def title_of(machine: Any, code: Any, calibrator: Any, decoder: Any) -> str:
    """Return what a pipe is, in plain words.

    Parameters
    ----------
    machine, code, calibrator, decoder : object
        The parts.

    Returns
    -------
    title : str

    Examples
    --------
    >>> from polychotomy import SVM, MaxWins, OneVsOne, Platt
    >>> from polychotomy.compare._titles import title_of
    >>> title_of(SVM(kernel="linear"), OneVsOne(), Platt(), MaxWins())
    'linear SVM, pairs, calibrated, most votes'
    """
    kernel = getattr(machine, "kernel", "rbf")
    first = _word(machine) if kernel == "rbf" else f"{kernel} {_word(machine)}"
    words = [first, *(_word(part) for part in (code, calibrator))]
    last = COUPLINGS.get(str(getattr(decoder, "method", "")), _word(decoder))
    coupled = last.startswith("coupled")
    if getattr(decoder, "C", "") is None:
        last = f"plain {last}"
    # Coupling needs probabilities, so that calibration goes without saying.
    words = [word for word in words if word and not (coupled and word == "calibrated")]
    return ", ".join([*words, last])


def _word(part: Any) -> str:
    name = type(part).__name__
    return "" if name in SILENT else PARTS.get(name, name)


def told_apart(titles: Mapping[str, str], same: Mapping[str, str]) -> dict[str, str]:
    """Return titles of which no two are equal.

    Parameters
    ----------
    titles : mapping of str to str
        The title of every method.
    same : mapping of str to str
        What every method is made of: equal for methods that are the same under two names.

    Returns
    -------
    titles : dict of str

    Examples
    --------
    >>> from polychotomy.compare._titles import told_apart
    >>> told_apart({"a": "x", "b": "x", "c": "x"}, {"a": "1", "b": "1", "c": "2"})
    {'a': 'x', 'b': 'x, the same as a', 'c': 'x, 2'}
    """
    found: dict[str, str] = {}
    first: dict[str, str] = {}
    for name, title in titles.items():
        if title in found.values():
            twin = first.get(same[name])
            title += f", the same as {twin}" if twin else f", {same[name]}"
        found[name] = title
        first.setdefault(same[name], name)
    return found
