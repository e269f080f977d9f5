"""What follows from class probabilities, for all classifiers that have them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .types import FloatArray


class ProbabilityAnswers:
    """Mixin: `predict` and `predict_log_proba` of a classifier with `predict_proba`.

    Note: a mixin, because these two methods were written again in eight classifiers. Classifiers
    that decide in another way have a `predict` of their own.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.core.answers import ProbabilityAnswers
    >>> class Constant(ProbabilityAnswers):
    ...     classes_ = np.array(["ale", "stout"])
    ...     def predict_proba(self, X):
    ...         return np.tile([0.25, 0.75], (len(X), 1))
    >>> Constant().predict([[0], [1]]).tolist()
    ['stout', 'stout']
    """

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every class; classifiers have their own."""
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of largest probability.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        winners = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[winners]
        return labels

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probability of every class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        log_p : ndarray of shape (n_rows, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
