"""The weights of the inputs in a learned metric."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.checks import finite_array
from ._drawing import PALETTE, axes


class FeatureWeightsDisplay:
    """The weights of the inputs as bars, the largest on top.

    Parameters
    ----------
    weights : array-like of shape (n_features,)
        The weights.
    names : array-like of shape (n_features,), default=None
        The names of the inputs; ``x0``, ``x1``, ... by default.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where they were drawn.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import LearnedMetric
    >>> from polychotomy.plots import FeatureWeightsDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = FeatureWeightsDisplay.from_estimator(LearnedMetric().fit(X, y), most=2)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['petal length (cm)', 'petal width (cm)']
    >>> plt.close(display.figure_)
    """

    def __init__(self, weights: ArrayLike, names: Any = None) -> None:
        self.weights = weights
        self.names = names

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, most: int | None = None, ax: Any = None
    ) -> FeatureWeightsDisplay:
        """Draw the weights that a metric has learned.

        Parameters
        ----------
        estimator : LearnedMetric or MetricClassifier, or a pipeline that starts with one
            The fitted estimator.
        most : int, default=None
            The number of inputs to draw, those of largest weight; all by default.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : FeatureWeightsDisplay
        """
        found = estimator[0] if hasattr(estimator, "steps") else estimator
        weights = getattr(found, "feature_weights_", None)
        if weights is None:
            raise TypeError(
                "estimator must be a fitted LearnedMetric or MetricClassifier, or a pipeline that "
                f"starts with one; got {estimator!r}."
            )
        return cls(weights, getattr(found, "feature_names_in_", None)).plot(ax, most)

    def plot(self, ax: Any = None, most: int | None = None) -> FeatureWeightsDisplay:
        """Draw the weights.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        most : int, default=None
            The number of inputs to draw, those of largest weight; all by default.

        Returns
        -------
        display : FeatureWeightsDisplay
            Itself.
        """
        weights = finite_array(self.weights, "weights", (1,))
        names = [f"x{j}" for j in range(len(weights))] if self.names is None else list(self.names)
        if len(names) != len(weights):
            raise ValueError(
                f"names must be {len(weights)} names, one for each weight; got {len(names)}."
            )
        order = np.argsort(-weights, kind="stable")[:most]
        self.ax_ = axes(ax, 6.0, 1.0 + 0.25 * len(order))
        self.ax_.barh(np.arange(len(order)), weights[order], color=PALETTE[0])
        self.ax_.set_yticks(np.arange(len(order)), [str(names[j]) for j in order])
        self.ax_.invert_yaxis()
        self.ax_.set_xlabel("weight of the input")
        self.figure_ = self.ax_.figure
        return self
