"""Searches on a sample of the rows, where there are more than exact machines are quick for."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_consistent_length

from ..core.checks import check_sparse, refuse_weightless_classes, weight_array
from ..core.contents import sample_by_content
from ..core.rows import AnyRows
from ..core.types import IntArray
from ..machines.kernel_machine import KernelMachine
from ..pipe.classifier import PolychotomyClassifier
from ..pipe.folds import folds_among, list_folds

# A search takes at most this many rows, but at least these of every class.
SEARCH_ROWS, ROWS_A_CLASS = 5_000, 20
# Machines that are slow without landmarks take this many in a search of more rows than these.
SEARCH_LANDMARKS, EXACT_SEARCH_ROWS = 500, 1_500


@dataclass(frozen=True)
class Given:
    """What `fit` was called with.

    Parameters
    ----------
    X, y, sample_weight, fit_params
        As for `PolychotomyClassifier.fit`.
    """

    X: Any
    y: Any
    sample_weight: Any
    fit_params: dict[str, Any]

    def checked(self) -> Given:
        """Return the same as rows can be drawn from, or refuse what a fit would refuse."""
        check_sparse(self.X)
        check_consistent_length(self.X, self.y)
        X = self.X.tocsr() if issparse(self.X) else self.X
        weights = self.sample_weight
        if weights is not None:
            weights = weight_array(weights, len(self.y))
            classes, numbers = np.unique(np.asarray(self.y), return_inverse=True)
            refuse_weightless_classes(weights, np.ravel(numbers), classes)
        return Given(X, self.y, weights, self.fit_params)

    def of_rows(self, rows: IntArray) -> Given:
        """Return the same for some of the rows."""
        n_rows = len(self.y)

        def cut(value: Any) -> Any:
            if not hasattr(value, "__len__") or isinstance(value, str) or len(value) != n_rows:
                return value
            return AnyRows(value)[rows].value

        params = {name: cut(value) for name, value in self.fit_params.items()}
        return Given(AnyRows(self.X)[rows].value, cut(self.y), cut(self.sample_weight), params)


def searches_a_sample(classifier: PolychotomyClassifier, y: Any, most: int | None = None) -> bool:
    """Whether a search takes a sample: ``landmarks="auto"``, many rows, folds by number or listed.

    Note: a splitter may need what a sample does not have, such as the groups of all rows.
    """
    machine = classifier.machine
    return (
        hasattr(y, "__len__")
        and len(y) > (most or SEARCH_ROWS)
        and np.size(y) == len(y)
        and isinstance(machine, KernelMachine)
        and isinstance(machine.landmarks, str)
        and isinstance(classifier.cv, Integral | list)
        and not (isinstance(machine.kernel, str) and machine.kernel == "precomputed")
    )


def search_rows(given: Given, seed: int = 0, most: int | None = None) -> IntArray:
    """Draw the rows of a search by content, some of every class.

    Note: rows of weight 0 are not drawn, because they are not trained on.

    Parameters
    ----------
    given : Given
        All rows.
    seed : int, default=0
        Other seeds draw other rows.
    most : int, default=None
        How many, but for the rows that every class has; 5,000 by default.

    Returns
    -------
    rows : ndarray of int
        Row numbers, ascending.
    """
    classes, numbers = np.unique(np.asarray(given.y), return_inverse=True)
    rows = np.arange(len(numbers))
    if given.sample_weight is not None:
        rows = np.flatnonzero(np.asarray(given.sample_weight))
    X = given.X if hasattr(given.X, "shape") else AnyRows(given.X)
    order = sample_by_content(X, len(rows), seed, rows, np.ravel(numbers))
    chosen = np.zeros(len(numbers), dtype=bool)
    chosen[order[: most or SEARCH_ROWS]] = True
    own = np.ravel(numbers)[order]
    for number in range(len(classes)):
        chosen[order[own == number][:ROWS_A_CLASS]] = True
    return np.flatnonzero(chosen)


def folds_of_sample(cv: Any, rows: IntArray) -> Any:
    """Return the folds of a sample: a number as it is, of a list what is left of its folds.

    None if too few rows are left of a fold to train without it.
    """
    return (folds_among(list_folds(cv, None, None), rows) or None) if isinstance(cv, list) else cv


def for_search(classifier: PolychotomyClassifier, n_rows: int) -> PolychotomyClassifier:
    """Set the machine of a classifier, in place, to what searches a sample quickly."""
    machine = classifier.machine
    exact = machine.exact_on_demand or n_rows <= EXACT_SEARCH_ROWS
    machine.set_params(landmarks=None if exact else SEARCH_LANDMARKS)
    return classifier
