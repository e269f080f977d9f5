"""A model for a file with probabilities of rows that it had not seen, by group or by period."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.checks import for_all_classes
from ..decisions import HeldOutClassifier
from ..decisions.held_out import HeldOut
from ._final import fit_method
from ._judging import kept_together, rows_of
from ._material import numbered
from ._splits import grouped_folds

FOLDS = 5


def fit_held_out_by_group(
    name: str,
    X: Any,
    y: ArrayLike,
    preprocessor: Any,
    groups: ArrayLike | None,
    order: ArrayLike | None,
    *,
    sample_weight: ArrayLike | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> HeldOutClassifier:
    """Fit a method to all rows, and to the rows outside each fold of groups.

    Parameters
    ----------
    name, X, y, preprocessor, sample_weight, random_state, n_jobs
        As in `fit_method`.
    groups, order : array-like of shape (n_rows,) or None
        As in `compare_methods`, one of them. Rows of the same group, or of the same fifth of the
        time, are in the same fold.

    Returns
    -------
    model : HeldOutClassifier

    Notes
    -----
    Everything is done again for every fold, tuning too. The folds that a method has anyway would
    cost less, but choose parameters by the rows that they hold out, and encode categories by the
    classes of their group.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy.compare._held_out_by_group import fit_held_out_by_group
    >>> X, y = load_iris(return_X_y=True)
    >>> groups = np.arange(150) % 10
    >>> fit_held_out_by_group("PWC_PSVM", X, y, "scale", groups, None).held_out().p.shape
    (150, 3)
    """
    X = X if hasattr(X, "iloc") else np.asarray(X)
    given = np.asarray(y)
    options: dict[str, Any] = {"random_state": random_state, "n_jobs": n_jobs}
    weights = None if sample_weight is None else np.asarray(sample_weight)
    model = fit_method(
        *(name, X, given, preprocessor),
        sample_weight=weights,
        groups=groups,
        order=order,
        **options,
    )
    rows = np.arange(len(given))
    times = None if order is None else np.asarray(order)
    together = kept_together(rows, numbered(groups), times)
    assert together is not None
    numbers = np.searchsorted(model.classes_, given)
    p = np.zeros((len(given), len(model.classes_)))
    for train, test in grouped_folds(numbers, together, FOLDS, random_state) or ():
        if weights is not None:
            # Rows of weight 0 may be the only ones of a class there.
            train = train[weights[train] > 0.0]
        own = together[train]
        apart = grouped_folds(numbers[train], own, FOLDS, random_state) is not None
        part = fit_method(
            *(name, rows_of(X, train), given[train], preprocessor),
            sample_weight=None if weights is None else weights[train],
            # Of two groups, one is left, whose rows cannot be kept apart.
            groups=own if apart else None,
            **options,
        )
        said = part.predict_proba(rows_of(X, test))
        p[test] = for_all_classes(said, part.classes_, model.classes_, name)
    used = rows if weights is None else np.flatnonzero(weights)
    return HeldOutClassifier.around(model, HeldOut(p[used], numbers[used]))
