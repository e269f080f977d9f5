"""The pairwise probabilities of one row, and the class probabilities they are coupled into."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.checks import one_of
from ..core.margins import Margins
from ..core.types import FloatArray
from ..decoding import PairwiseCoupling
from ..pipe.explanation import Explanation
from ._drawing import axes, class_labels, pyplot, readable_on, text_colour
from ._estimators import find_classifier

# With more classes there is no space for numbers in the cells.
NUMBERED = 12
# Right of the matrix, as shares of its width: all space, the gap before the bars, the longest bar.
SPACE, GAP, LONGEST = 0.5, 0.04, 0.32
# Above it, as a share of its height: space for the title of the bars.
HEAD = 0.12


class PairwiseDisplay:
    """The matrix of pairwise probabilities of one row, next to its class probabilities.

    A cell is the probability of its row's class, given that the class is that of its row or that of
    its column. The row of the winning class is all above 1/2 unless the pairs contradict
    each other.

    Parameters
    ----------
    r : array-like of shape (n_classes, n_classes)
        The pairwise probabilities; the diagonal has no meaning. ``r[i, j] + r[j, i]`` need not
        be 1.
    p : array-like of shape (n_classes,)
        The class probabilities.
    classes : array-like of shape (n_classes,), default=None
        The labels of the classes; their numbers by default.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the matrix was drawn.
    im_ : matplotlib image
        The matrix.
    bars_ : matplotlib BarContainer
        The class probabilities.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import PolychotomyClassifier
    >>> from polychotomy.plots import PairwiseDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = PolychotomyClassifier().fit(X, y)
    >>> display = PairwiseDisplay.from_estimator(clf, X[77])
    >>> round(float(display.r[1, 2] + display.r[2, 1]), 12)
    1.0
    >>> bool((display.p == clf.predict_proba(X[[77]])).all())
    True
    >>> plt.close(display.figure_)
    """

    def __init__(self, r: ArrayLike, p: ArrayLike, classes: Any = None) -> None:
        self.r = _checked_matrix(r)
        self.p = np.asarray(p, dtype=float)
        if self.p.shape != (len(self.r),):
            raise ValueError(
                f"p must be {len(self.r)} probabilities, one for each class; got an array of shape "
                f"{self.p.shape}."
            )
        self.classes = class_labels(classes, len(self.r))

    @classmethod
    def from_estimator(
        cls, estimator: Any, x: Any, *, ax: Any = None, **options: Any
    ) -> PairwiseDisplay:
        """Draw the pairwise and class probabilities of a fitted one-vs-one classifier for one row.

        Parameters
        ----------
        estimator : PolychotomyClassifier, or a pipeline or search around one
            The fitted classifier; its code is one-vs-one, and both its binary problems and its
            decoder have probabilities.
        x : array-like of shape (n_features,) or (1, n_features)
            The row.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            As for `plot`.

        Returns
        -------
        display : PairwiseDisplay
        """
        classifier, steps = find_classifier(estimator)
        if classifier.codebook_.pairs is None:
            raise ValueError(
                "Pairwise probabilities need a one-vs-one code; this classifier's code is "
                f"{classifier.codebook_.name!r}."
            )
        row = [x] if np.ndim(x) == 1 else x
        for step in steps:
            row = step.transform(row)
        labels = classifier.classes_.tolist()
        return cls(*_matrices(classifier.explain(row), labels), labels).plot(ax, **options)

    @classmethod
    def from_probabilities(
        cls,
        r: ArrayLike,
        classes: Any = None,
        *,
        p: ArrayLike | None = None,
        ax: Any = None,
        **options: Any,
    ) -> PairwiseDisplay:
        """Draw a matrix of pairwise probabilities.

        Parameters
        ----------
        r : array-like of shape (n_classes, n_classes)
            The pairwise probabilities; the diagonal has no meaning.
        classes : array-like of shape (n_classes,), default=None
            The labels of the classes; their numbers by default.
        p : array-like of shape (n_classes,), default=None
            The class probabilities; by default `PairwiseCoupling` of `r`.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            As for `plot`.

        Returns
        -------
        display : PairwiseDisplay
        """
        if p is None:
            p = PairwiseCoupling().decode(Margins(probability=_checked_matrix(r)[None]))[0]
        return cls(r, p, classes).plot(ax, **options)

    def plot(
        self, ax: Any = None, *, order: str = "classes", cmap: str = "PuOr"
    ) -> PairwiseDisplay:
        """Draw the matrix and the class probabilities.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        order : {"classes", "probability"}, default="classes"
            Whether to keep the order of the classes, or to put the most probable first.
        cmap : str or Colormap, default="PuOr"
            The colours from 0 to 1.

        Returns
        -------
        display : PairwiseDisplay
            Itself.
        """
        one_of(order, "order", ("classes", "probability"))
        plt = pyplot()
        n = len(self.p)
        size = 2.0 + 0.5 * n if n <= NUMBERED else min(3.5 + 0.24 * n, 14.0)
        ax = axes(ax, 1.3 * size + 2.0, size + 1.0)
        rank = np.argsort(-self.p, kind="stable") if order == "probability" else np.arange(n)
        r = self.r[np.ix_(rank, rank)].copy()
        np.fill_diagonal(r, np.nan)
        names = [str(label) for label in self.classes[rank]]
        # Grey, because a probability of 1/2 is as white as paper.
        colours = plt.get_cmap(cmap).with_extremes(bad="0.7")
        self.im_ = ax.imshow(r, cmap=colours, vmin=0.0, vmax=1.0, aspect="auto")
        if n <= NUMBERED:
            self._write_numbers(ax, r)
        self._draw_bars(ax, self.p[rank])
        ax.set_yticks(range(n), names)
        slanted = max(map(len, names)) > 2
        turn = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
        ax.set_xticks(range(n), names, **turn)
        ax.set_ylabel("class")
        ax.set_xlabel("against", x=0.5 / (1.0 + SPACE))
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.figure.colorbar(self.im_, ax=ax, location="top", aspect=40, label="pairwise probability")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _write_numbers(self, ax: Any, r: FloatArray) -> None:
        for i, j in np.argwhere(~np.isnan(r)):
            colour = readable_on(self.im_.cmap(self.im_.norm(r[i, j])))
            ax.text(
                j, i, f"{r[i, j]:.2f}", ha="center", va="center", fontsize="small", color=colour
            )

    def _draw_bars(self, ax: Any, p: FloatArray) -> None:
        """Draw the class probabilities right of the matrix, the largest LONGEST of its width."""
        n, ink = len(p), text_colour()
        start = n - 0.5 + GAP * n
        length = p / max(float(p.max()), 1e-300) * LONGEST * n
        self.bars_ = ax.barh(range(n), length, left=start, height=0.7, color=ink, alpha=0.55)
        numbers = [f"{value:.2f}" for value in p]
        ax.bar_label(self.bars_, numbers, padding=3, fontsize="small", color=ink)
        ax.text(start, -0.5, "class probability", ha="left", va="bottom", color=ink)
        ax.set(xlim=(-0.5, n - 0.5 + SPACE * n), ylim=(n - 0.5, -0.5 - HEAD * n))


def _checked_matrix(r: ArrayLike) -> FloatArray:
    """Return pairwise probabilities with 1/2 on the diagonal."""
    matrix = np.array(r, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise ValueError(
            "r must be a square matrix with a row and a column for each class; got an array of "
            f"shape {matrix.shape}."
        )
    np.fill_diagonal(matrix, 0.5)
    bad = np.argwhere(~((matrix >= 0.0) & (matrix <= 1.0)))
    if len(bad):
        i, j = bad[0].tolist()
        raise ValueError(f"r must hold probabilities; r[{i}, {j}] is {matrix[i, j]:g}.")
    return matrix


def _matrices(explanation: Explanation, labels: list[Any]) -> tuple[FloatArray, FloatArray]:
    """Return the pairwise and the class probabilities of an explained row."""
    number = {label: k for k, label in enumerate(labels)}
    r = np.full((len(labels), len(labels)), 0.5)
    for answer in explanation.answers:
        if answer["probability"] is None:
            raise ValueError(
                "The binary problems of this classifier have no probabilities; choose a "
                "calibrator, for example 'platt', and a decoder that uses them."
            )
        i, j = number[answer["positive"][0]], number[answer["negative"][0]]
        r[i, j], r[j, i] = answer["probability"], 1.0 - answer["probability"]
    p = np.zeros(len(labels))
    for entry in explanation.classes:
        if entry["probability"] is None:
            raise ValueError(
                f"{explanation.decoder} yields no class probabilities; choose a decoder that does, "
                "for example 'pairwise_coupling', or draw r with from_probabilities."
            )
        p[number[entry["class"]]] = entry["probability"]
    return r, p
