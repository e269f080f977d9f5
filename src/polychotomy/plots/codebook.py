"""Codebooks as heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.codebook import Codebook
from ._drawing import class_labels, pyplot
from ._estimators import find_classifier


class CodebookDisplay:
    """A codebook as a heat map: a row for every class, a column for every binary problem.

    Parameters
    ----------
    codebook : Codebook
        The codebook to draw.
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
        self.ax_ = draw_codebook(self.codebook, ax, labels.tolist())
        self.figure_ = self.ax_.figure
        return self


def draw_codebook(codebook: Codebook, ax: Any = None, classes: Sequence[Any] | None = None) -> Any:
    """Draw a codebook as a heat map, and return the axes."""
    plt = pyplot()
    from matplotlib.colors import BoundaryNorm, ListedColormap

    if ax is None:
        height = 1.2 + 0.3 * codebook.n_classes
        width = 2.0 + 0.3 * min(codebook.n_columns, 40)
        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    # Distinguishable without colour too: the negative side is light, the positive one dark.
    colours = ListedColormap(["#fdb863", "#f0f0f0", "#542788"])
    norm = BoundaryNorm([-1.5, -0.5, 0.5, 1.5], colours.N)
    image = ax.imshow(
        codebook.matrix, cmap=colours, norm=norm, aspect="auto", interpolation="nearest"
    )
    shrink = min(1.0, 6.0 / codebook.n_classes)
    bar = ax.figure.colorbar(image, ax=ax, ticks=[-1, 0, 1], shrink=shrink, aspect=12)
    bar.ax.set_yticklabels(["negative", "not used", "positive"])
    names = range(codebook.n_classes) if classes is None else classes
    ax.set_yticks(range(codebook.n_classes), [str(name) for name in names])
    step = max(1, -(-codebook.n_columns // 20))
    ax.set_xticks(range(0, codebook.n_columns, step))
    ax.set(xlabel="binary problem", ylabel="class", title=codebook.name.replace("_", " "))
    return ax
