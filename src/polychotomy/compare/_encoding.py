"""Inputs as numbers, by a transformer that is fitted to the training rows.

Design note: where groups are kept together, so are they in the folds of an encoding by classes.
Otherwise a group tells its own class through its category. On simulated tables of two groups a
category, that cost new groups 0.02 to 0.04 of NLL. Where each group has a category of its own,
stratified folds would be better by up to 0.04: such a column says nothing of new groups.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn import __version__
from sklearn.base import clone

from ._peers import Conditions

# So many folds for encodings of categories by the classes.
ENCODING_FOLDS = 5


def fit_encoded(
    preprocessor: Any, X: Any, labels: NDArray[Any], conditions: Conditions
) -> tuple[Any, Any]:
    """Fit a copy of a transformer to training rows, and transform these.

    Parameters
    ----------
    preprocessor : transformer
        It is not changed.
    X : ndarray or DataFrame
        The training rows.
    labels : ndarray
        Their classes.
    conditions : Conditions
        Says which rows belong together.

    Returns
    -------
    fitted, encoded : transformer, ndarray
        The transformer for new rows, and the training rows for a classifier.

    Notes
    -----
    Not `fit` and then `transform`: an encoding of categories by the classes of their rows is
    cross-fitted, so that no row sees its own class, nor one of its group. Before version 1.9 of
    scikit-learn, the folds of a `TargetEncoder` cannot be given, and groups are not kept together
    there.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from polychotomy.compare import Conditions
    >>> from polychotomy.compare._encoding import fit_encoded
    >>> X, labels = np.array([[0.0], [2.0]]), np.array(["a", "b"])
    >>> fit_encoded(StandardScaler(), X, labels, Conditions())[1].tolist()
    [[-1.0], [1.0]]
    """
    fitted = clone(preprocessor)
    folds = conditions.splits(ENCODING_FOLDS)
    if folds is not None and _takes_folds():
        for part in _class_encoders(fitted):
            part.set_params(cv=folds)
    return fitted, fitted.fit_transform(X, labels)


def _takes_folds() -> bool:
    return tuple(int(part) for part in __version__.split(".")[:2]) >= (1, 9)


def _class_encoders(preprocessor: Any) -> list[Any]:
    """Return the parts of a transformer that encode categories by the classes."""
    from sklearn.preprocessing import TargetEncoder

    parts = [preprocessor, *preprocessor.get_params(deep=True).values()]
    return [part for part in parts if isinstance(part, TargetEncoder)]
