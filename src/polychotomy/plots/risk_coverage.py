"""The error among answered rows against the share of rows that are answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..decisions.risk_coverage import RiskCoverage, risk_coverage
from ._drawing import PALETTE, axes, put_legend, text_colour


class RiskCoverageDisplay:
    """Risk-coverage curves of one or several classifiers.

    Rows are answered in the order of their largest class probability. To the left only the surest
    rows are answered, to the right all of them. A lower curve is better. The number after a name
    is the area under its curve: the mean error over all coverages.

    Parameters
    ----------
    curves : dict of str to RiskCoverage
        The curves to draw, by name.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : dict
        The line of every curve, by its name.

    See Also
    --------
    polychotomy.decisions.risk_coverage : The numbers alone.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import PolychotomyClassifier
    >>> from polychotomy.plots import RiskCoverageDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = PolychotomyClassifier().fit(X[::2], y[::2])
    >>> display = RiskCoverageDisplay.from_estimator(clf, X[1::2], y[1::2])
    >>> display.curves["PolychotomyClassifier"].area < 0.02
    True
    >>> plt.close(display.figure_)
    """

    def __init__(self, curves: Mapping[str, RiskCoverage]) -> None:
        self.curves = dict(curves)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, name: str | None = None, ax: Any = None
    ) -> RiskCoverageDisplay:
        """Draw the curve of a fitted classifier on rows it was not trained on.

        Parameters
        ----------
        estimator : classifier
            Any fitted classifier with `predict_proba`.
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The true classes.
        name : str, default=None
            The name in the legend; that of the class by default.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : RiskCoverageDisplay
        """
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                "A risk-coverage curve needs class probabilities, which this "
                f"{type(estimator).__name__} does not have; choose a classifier that yields them."
            )
        shown = type(estimator).__name__ if name is None else name
        p = estimator.predict_proba(X)
        return cls.from_predictions(y, {shown: p}, estimator.classes_, ax=ax)

    @classmethod
    def from_predictions(
        cls, y: ArrayLike, p: Any, classes: Any = None, *, ax: Any = None
    ) -> RiskCoverageDisplay:
        """Draw the curves of class probabilities.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            The true classes.
        p : array-like of shape (n_rows, n_classes), or dict of str to array-like
            The predicted probabilities, of one classifier or of several by name.
        classes : array-like of shape (n_classes,), default=None
            The labels of the columns of `p`; those in `y`, sorted, by default.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : RiskCoverageDisplay
        """
        several = p if isinstance(p, Mapping) else {"classifier": p}
        curves = {name: risk_coverage(y, one, classes) for name, one in several.items()}
        return cls(curves).plot(ax)

    def plot(self, ax: Any = None) -> RiskCoverageDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : RiskCoverageDisplay
            Itself.
        """
        ax = axes(ax, 7.4, 4.2)
        self.lines_: dict[str, Any] = {}
        for number, (name, curve) in enumerate(self.curves.items()):
            first = number == 0
            (line,) = ax.plot(
                curve.coverage,
                curve.risk,
                color=text_colour() if first else PALETTE[(number - 1) % len(PALETTE)],
                linewidth=2.2 if first else 1.2,
                label=f"{name} ({curve.area:.4f})",
            )
            self.lines_[name] = line
        top = max((float(np.max(curve.risk)) for curve in self.curves.values()), default=0.0)
        ax.set(
            xlim=(0.0, 1.0),
            ylim=(0.0, 1.05 * top if top > 0 else 1.0),
            xlabel="share of rows answered",
            ylabel="error among them",
        )
        put_legend(ax, list(self.lines_.values()), "area under the curve")
        self.ax_, self.figure_ = ax, ax.figure
        return self
