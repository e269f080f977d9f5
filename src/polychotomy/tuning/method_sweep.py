"""Several methods tuned together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..blocks.as_blocks import labels_given
from ..core.checks import suggestion
from ..core.diagram import Diagram, side_by_side
from ..pipe.classifier import PolychotomyClassifier
from .callbacks import TakesCallbacks, shown, with_callbacks
from .grid import FACTORS
from .recipe import find_pipe_recipe
from .steps import TakesExecutor
from .tune import Plan, Tuned, results_table, tune


class MethodSweep(TakesCallbacks, TakesExecutor):
    """Tune several methods together, each with its own best parameters.

    Methods with the same code and machine read the same scores, even if their calibrators and
    decoders differ. Their machines are trained once for every cell of the grids. Every method is
    judged in every cell of the coarse grid, and refined around its own optimum. No cell is
    computed twice. The result for each method is the same as if it were tuned alone.

    Parameters
    ----------
    methods : iterable of str or (str, PolychotomyClassifier), or dict
        Names of `recipes`, or classifiers with names of your own.
    coarse, fine, cv, refit, n_jobs, executor, show_progress
        As in `TwoStepSearchCV`.
    ties : str or dict, default="duan2003"
        The tie rule, for all methods or for each by its name.

    Attributes
    ----------
    classifiers_ : dict
        The tuned classifier of every method, fitted on all rows (if `refit`).
    best_params_ : dict
        The best parameters of every method.
    results_ : dict of arrays
        A row for every method: "method", its best parameters, "cv_error", "cv_nll",
        "seconds_shared" (machines and calibrators of its sweep, shared by all methods of the
        sweep) and "seconds_own" (its decoder).
    cells_ : dict of arrays
        A row for every method and cell: "method", "sweep", "step", the parameters, "cv_error",
        "cv_nll" and "status".
    seconds_ : dict
        For every sweep, the seconds of its stages.
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from polychotomy import MethodSweep
    >>> X, y = load_iris(return_X_y=True)
    >>> sweep = MethodSweep(["MWV_SVM", "PWC_PSVM", "WTA_SVM"]).fit(scale(X), y)
    >>> for name, params in sweep.best_params_.items():
    ...     print(name, params)
    MWV_SVM {'machine__C': 800.0, 'machine__sigma2': 60.0}
    PWC_PSVM {'machine__C': 40.0, 'machine__sigma2': 60.0}
    WTA_SVM {'machine__C': 200.0, 'machine__sigma2': 80.0}
    >>> sorted(sweep.seconds_)
    ['SVM, one_vs_one', 'SVM, one_vs_rest']
    """

    def __init__(
        self,
        methods: Any,
        coarse: Mapping[str, Any] | None = None,
        fine: Any = FACTORS,
        *,
        cv: Any = None,
        ties: str | Mapping[str, str] = "duan2003",
        refit: bool = True,
        n_jobs: int | None = None,
        executor: Any = None,
        show_progress: bool = True,
    ) -> None:
        self.methods = methods
        self.coarse = coarse
        self.fine = fine
        self.cv = cv
        self.ties = ties
        self.refit = refit
        self.n_jobs = n_jobs
        self.executor = executor
        self.show_progress = show_progress

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Tune all methods.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows, in training and in the figures.
        **fit_params : dict
            As for `PolychotomyClassifier.fit`.

        Returns
        -------
        self : MethodSweep
        """
        y = labels_given(self, X, y)
        methods = _named(self.methods)
        rules = _rules(self.ties, list(methods))
        with shown(self, self.show_progress, X, y) as tick:
            plan = Plan(
                *(self.coarse, self.fine, self.cv, self.n_jobs, self.refit, tick),
                executor=self.executor,
            )
            classifiers = {name: (clf, rules[name]) for name, clf in methods.items()}
            tuned = tune(classifiers, X, y, sample_weight, fit_params, plan)
        first = next(iter(tuned.values()))
        self.classes_ = first.method.session.classes
        self.best_params_ = {name: one.best_params for name, one in tuned.items()}
        self.seconds_ = {one.sweep.name: one.sweep.seconds for one in tuned.values()}
        self.results_ = _results(tuned)
        self.cells_ = _cells(tuned)
        self.__dict__.pop("classifiers_", None)
        if self.refit:
            self.classifiers_ = {name: one.classifier for name, one in tuned.items()}
        return self

    def _sk_visual_block_(self) -> Diagram:
        methods = getattr(self, "classifiers_", None) or _named(self.methods)
        return side_by_side(list(methods.items()))


def _named(methods: Any) -> dict[str, PolychotomyClassifier]:
    if isinstance(methods, str):
        methods = [methods]
    if not isinstance(methods, Iterable):
        raise TypeError(f"methods must be a list of names or classifiers, got {methods!r}.")
    pairs = methods.items() if isinstance(methods, Mapping) else methods
    named: dict[str, PolychotomyClassifier] = {}
    for entry in pairs:
        if isinstance(entry, str):
            recipe = find_pipe_recipe(entry)
            name, classifier = recipe.name, recipe.classifier()
        elif isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str):
            name, classifier = entry
        else:
            raise TypeError(
                "methods must hold names of recipes, or pairs of a name and a classifier; got "
                f"{entry!r}."
            )
        if name in named:
            raise ValueError(f"methods has the name {name!r} twice; names must be unique.")
        named[name] = classifier
    if not named:
        raise ValueError("methods must hold at least one method.")
    return named


def _rules(ties: Any, names: list[str]) -> dict[str, str]:
    if not isinstance(ties, Mapping):
        return dict.fromkeys(names, ties)
    unknown = [name for name in ties if name not in names]
    if unknown:
        raise ValueError(
            f"ties has the method {unknown[0]!r}, which is not in methods. "
            f"{suggestion(unknown[0], names)}"
        )
    return {name: ties.get(name, "duan2003") for name in names}


def _results(tuned: Mapping[str, Tuned]) -> dict[str, Any]:
    rows = []
    for name, one in tuned.items():
        outcome = one.method.outcomes[one.best]
        rows.append(
            {
                "method": name,
                "sweep": one.sweep.name,
                **one.best_params,
                "cv_error": outcome.error,
                "cv_nll": np.nan if outcome.nll is None else outcome.nll,
                "seconds_shared": sum(one.sweep.seconds.values()),
                "seconds_own": one.method.seconds,
            }
        )
    return _columns(rows)


def _cells(tuned: Mapping[str, Tuned]) -> dict[str, Any]:
    rows = []
    for name, one in tuned.items():
        table = results_table(one)
        for number, params in enumerate(table["params"]):
            figures = {key: table[key][number] for key in ("cv_error", "cv_nll", "status")}
            step = {"step": str(table["step"][number])}
            rows.append({"method": name, "sweep": one.sweep.name, **step, **params, **figures})
    return _columns(rows)


def _columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Turn rows into columns, with NaN for parameters that a row does not have."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: np.array([row.get(name, np.nan) for row in rows]) for name in names}
