"""Codebooks as heat maps."""

from __future__ import annotations

from typing import Any

from .._types import Codebook
from ._drawing import class_labels
from ._estimators import find_classifier


class CodebookDisplay:
    """A codebook as a heat map: a row for every class, a column for every binary problem.

    Parameters
    ----------
    codebook : Codebook
        What to draw.
    classes : array-like of shape (n_classes,), default=None
        The labels of the classes; their numbers by default.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from polychotomy import OneVsOne
    >>> from polychotomy.plots import CodebookDisplay
    >>> display = CodebookDisplay.from_codebook(OneVsOne().build(3), ["cat", "dog", "owl"])
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['cat', 'dog', 'owl']
    >>> plt.close(display.figure_)
    """

    def __init__(self, codebook: Codebook, classes: Any = None) -> None:
        self.codebook = codebook
        self.classes = classes

    @classmethod
    def from_codebook(
        cls, codebook: Any, classes: Any = None, *, ax: Any = None
    ) -> CodebookDisplay:
        """Draw a codebook.

        Parameters
        ----------
        codebook : Codebook or array-like of shape (n_classes, n_columns)
            The codebook, or a matrix of -1, 0 and +1.
        classes : array-like of shape (n_classes,), default=None
            The labels of the classes; their numbers by default.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : CodebookDisplay
        """
        if not isinstance(codebook, Codebook):
            codebook = Codebook(codebook)
        return cls(codebook, classes).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> CodebookDisplay:
        """Draw the codebook of a fitted classifier.

        Parameters
        ----------
        estimator : PolychotomyClassifier, or a pipeline or search around one
            The fitted classifier.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : CodebookDisplay
        """
        classifier, _ = find_classifier(estimator)
        return cls(classifier.codebook_, classifier.classes_).plot(ax)

    def plot(self, ax: Any = None) -> CodebookDisplay:
        """Draw the codebook.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : CodebookDisplay
            Itself.
        """
        labels = class_labels(self.classes, self.codebook.n_classes)
        self.ax_ = self.codebook.plot(ax, labels.tolist())
        self.figure_ = self.ax_.figure
        return self
