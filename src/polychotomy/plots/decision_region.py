"""Decision regions: the class that a classifier chooses, over two of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from ..core.checks import listed
from ..core.types import FloatArray, IntArray
from ._drawing import PALETTE, axes, class_styles, put_legend, text_colour

# Points of the grid are predicted in pieces of this size, so that memory stays bounded.
ROWS_AT_ONCE = 10_000
LARGEST_GRID = 1000
# How far the grid goes beyond the rows, as a share of their range.
MARGIN = 0.08
# The least and the largest strength of a class's colour.
FAINT, FULL = 0.1, 0.75


@dataclass(frozen=True)
class DecisionRegions:
    """The predictions of a classifier on a grid over two inputs.

    Attributes
    ----------
    x, y : ndarray of shape (grid_size,)
        The values of the first and of the second input.
    winner : ndarray of shape (grid_size, grid_size)
        The number of the chosen class, in `classes`; the first axis is that of `y`.
    probability : ndarray of shape (grid_size, grid_size) or None
        Its probability, if the classifier has probabilities.
    classes : ndarray of shape (n_classes,)
        The class labels.
    names : tuple of str
        The names of the two inputs.
    fixed : dict
        The other inputs, and the values at which they are held.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import PolychotomyClassifier
    >>> from polychotomy.plots import decision_regions
    >>> X, y = load_iris(return_X_y=True)
    >>> regions = decision_regions(PolychotomyClassifier().fit(X, y), X, (2, 3), grid_size=20)
    >>> regions.winner[[0, -1], [0, -1]]
    array([0, 2])
    >>> {name: float(value) for name, value in regions.fixed.items()}
    {'input 0': 5.8, 'input 1': 3.0}
    """

    x: FloatArray
    y: FloatArray
    winner: IntArray
    probability: FloatArray | None
    classes: NDArray[Any]
    names: tuple[str, str]
    fixed: dict[str, Any]


def decision_regions(
    estimator: Any, X: Any, features: Sequence[Any] = (0, 1), *, grid_size: int = 150
) -> DecisionRegions:
    """Evaluate a classifier on a grid over two of its inputs.

    Parameters
    ----------
    estimator : classifier
        Any fitted classifier. With `predict_proba` the chosen class is that of largest probability,
        otherwise that of `predict`.
    X : array-like or DataFrame of shape (n_rows, n_features)
        Rows that determine the range of the grid and the values of the other inputs: medians, or
        the most frequent value of an input that is not a number.
    features : pair of int or str, default=(0, 1)
        The two inputs, by position or name.
    grid_size : int, default=150
        The number of grid values of each, at most 1000.

    Returns
    -------
    regions : DecisionRegions

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import PolychotomyClassifier
    >>> from polychotomy.plots import decision_regions
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = PolychotomyClassifier().fit(X, y)
    >>> regions = decision_regions(clf, X, ("petal length (cm)", 3), grid_size=20)
    >>> regions.names
    ('petal length (cm)', 'petal width (cm)')
    """
    check_is_fitted(estimator)
    whole = isinstance(grid_size, int | np.integer) and not isinstance(grid_size, bool)
    if not whole or not 2 <= grid_size <= LARGEST_GRID:
        raise ValueError(
            f"grid_size must be a whole number from 2 to {LARGEST_GRID}, got {grid_size!r}."
        )
    table = _table(X)
    names = [str(name) for name in table] if hasattr(X, "columns") else _numbered(len(table))
    pair = _places(features, list(table), names)
    ranges = [_range(table[list(table)[place]], names[place], grid_size) for place in pair]
    held = {
        place: _typical(column) for place, column in enumerate(table.values()) if place not in pair
    }
    across, along = np.meshgrid(*ranges)
    points = {pair[0]: across.ravel(), pair[1]: along.ravel()}
    winner, probability = _ask(estimator, _rows(X, table, points, held), across.shape)
    return DecisionRegions(
        x=ranges[0],
        y=ranges[1],
        winner=winner,
        probability=probability,
        classes=np.asarray(estimator.classes_),
        names=(names[pair[0]], names[pair[1]]),
        fixed={names[place]: value for place, value in held.items()},
    )


def _table(X: Any) -> dict[Any, NDArray[Any]]:
    """Return the names of the inputs, or their positions if they have none."""
    if issparse(X):
        raise TypeError("Decision regions need a dense X; call toarray() on a small sparse one.")
    if hasattr(X, "columns"):
        return {name: np.asarray(X[name]) for name in X.columns}
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"X must have 2 dimensions; got an array of shape {array.shape}.")
    return dict(enumerate(array.T))


def _numbered(n_features: int) -> list[str]:
    return [f"input {place}" for place in range(n_features)]


def _places(features: Sequence[Any], known: list[Any], names: list[str]) -> tuple[int, int]:
    """Return the positions of the two inputs that are drawn."""
    if len(names) < 2:
        raise ValueError("Decision regions need at least two inputs; X has one.")
    if isinstance(features, str) or len(features) != 2:
        raise ValueError(f"features must be two inputs, such as (0, 1); got {features!r}.")
    places = []
    for feature in features:
        if isinstance(feature, str) and feature in known:
            places.append(known.index(feature))
        elif isinstance(feature, int | np.integer) and 0 <= feature < len(known):
            places.append(int(feature))
        else:
            raise ValueError(
                f"features has {feature!r}, which is not an input; X has {len(names)}: "
                f"{listed(names[:10], 'and')}{' and more' if len(names) > 10 else ''}."
            )
    if places[0] == places[1]:
        raise ValueError(f"features must be two different inputs, got {features!r}.")
    return places[0], places[1]


def _range(column: NDArray[Any], name: str, grid_size: int) -> FloatArray:
    try:
        values = column.astype(float)
    except (TypeError, ValueError):
        raise ValueError(f"{name!r} holds no numbers; choose other features.") from None
    if np.isnan(values).all():
        raise ValueError(f"{name!r} holds no numbers; choose other features.")
    low, high = np.nanmin(values), np.nanmax(values)
    beyond = MARGIN * (high - low) or 1.0
    return np.linspace(low - beyond, high + beyond, grid_size)


def _typical(column: NDArray[Any]) -> Any:
    """Return the median, or the most frequent value where there is none."""
    if column.dtype.kind in "biuf":
        return np.nanmedian(column.astype(float))
    values, counts = np.unique(column.astype(str), return_counts=True)
    frequent = values[counts.argmax()]
    return next(value for value in column if str(value) == frequent)


def _rows(
    X: Any, table: dict[Any, NDArray[Any]], points: dict[int, FloatArray], held: dict[int, Any]
) -> Any:
    """Return the points of the grid as rows, in a frame if X is one."""
    n_points = len(next(iter(points.values())))
    columns = [
        points[place] if place in points else np.full(n_points, held[place])
        for place in range(len(table))
    ]
    if not hasattr(X, "columns"):
        return np.stack(columns, axis=1)
    return type(X)(dict(zip(table, columns, strict=True)))


def _ask(estimator: Any, rows: Any, shape: tuple[int, ...]) -> tuple[IntArray, FloatArray | None]:
    """Return the chosen class of every row, and its probability if there is one."""
    starts = range(0, len(rows), ROWS_AT_ONCE)
    pieces = [rows[start : start + ROWS_AT_ONCE] for start in starts]
    if hasattr(estimator, "predict_proba"):
        p = np.concatenate([estimator.predict_proba(piece) for piece in pieces])
        return p.argmax(axis=1).reshape(shape), p.max(axis=1).reshape(shape)
    labels = np.concatenate([estimator.predict(piece) for piece in pieces])
    return np.searchsorted(estimator.classes_, labels).reshape(shape), None


class DecisionRegionDisplay:
    """The regions of two inputs where each class is chosen.

    A class has a colour; where the classifier has probabilities, the colour is the fainter the less
    probable the class is. Inputs beyond the two are held at their medians, which the title says:
    rows are drawn where their two inputs are, but their other inputs are their own, so that a row
    can lie in a region of another class and still be classified correctly.

    Parameters
    ----------
    regions : DecisionRegions
        The regions to draw.
    points : ndarray of shape (n_rows, 2), default=None
        Rows to draw, by their two inputs.
    y : array-like of shape (n_rows,), default=None
        Their classes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    im_ : matplotlib image
        The regions.

    See Also
    --------
    decision_regions : The numbers alone.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import PolychotomyClassifier
    >>> from polychotomy.plots import DecisionRegionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = PolychotomyClassifier().fit(X, y)
    >>> display = DecisionRegionDisplay.from_estimator(clf, X, y, features=(2, 3), grid_size=50)
    >>> display.ax_.get_title()
    '2 other inputs at their medians'
    >>> plt.close(display.figure_)
    """

    def __init__(
        self, regions: DecisionRegions, points: FloatArray | None = None, y: Any = None
    ) -> None:
        self.regions = regions
        self.points = points
        self.y = y

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        features: Sequence[Any] = (0, 1),
        *,
        grid_size: int = 150,
        ax: Any = None,
        **options: Any,
    ) -> DecisionRegionDisplay:
        """Draw the regions of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            Any fitted classifier.
        X : array-like or DataFrame of shape (n_rows, n_features)
            Rows, for example those of training.
        y : array-like of shape (n_rows,), default=None
            Their classes; without them no rows are drawn.
        features, grid_size
            As in `decision_regions`.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            As for `plot`.

        Returns
        -------
        display : DecisionRegionDisplay
        """
        regions = decision_regions(estimator, X, features, grid_size=grid_size)
        points = None
        if y is not None:
            table = _table(X)
            known = list(table)
            places = _places(features, known, [str(name) for name in known])
            points = np.stack([table[known[k]].astype(float) for k in places], axis=1)
            if np.shape(y) != (len(points),):
                raise ValueError(
                    f"y must hold one class for each of the {len(points)} rows of X; got an array "
                    f"of shape {np.shape(y)}."
                )
        return cls(regions, points, y).plot(ax, **options)

    def plot(
        self, ax: Any = None, *, boundaries: bool = True, label_regions: bool | None = None
    ) -> DecisionRegionDisplay:
        """Draw the regions and the rows.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        boundaries : bool, default=True
            Whether to draw lines between the regions.
        label_regions : bool, default=None
            Whether to write every class into its region instead of a legend; by default if there
            are more classes than colours.

        Returns
        -------
        display : DecisionRegionDisplay
            Itself.
        """
        regions = self.regions
        ax = axes(ax, 6.4, 4.8)
        # Each point of the grid is the middle of a pixel.
        half = [(axis[1] - axis[0]) / 2.0 for axis in (regions.x, regions.y)]
        box = [
            axis[end] + side * h
            for axis, h in zip((regions.x, regions.y), half, strict=True)
            for end, side in ((0, -1), (-1, 1))
        ]
        self.im_ = ax.imshow(
            self._colours(), extent=box, origin="lower", aspect="auto", interpolation="nearest"
        )
        if boundaries:
            self._draw_boundaries(ax)
        self._draw_points(ax)
        if label_regions or (label_regions is None and len(regions.classes) > len(PALETTE)):
            self._label_regions(ax)
        else:
            self._legend(ax)
        ax.set(xlim=box[:2], ylim=box[2:], xlabel=regions.names[0], ylabel=regions.names[1])
        if regions.fixed:
            ax.set_title(_held(regions.fixed), fontsize="medium")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _colours(self) -> FloatArray:
        """Return the class colours, transparent where the class is uncertain."""
        from matplotlib.colors import to_rgba

        regions = self.regions
        styles = class_styles(len(regions.classes))
        colours = np.array([to_rgba(style["color"], FULL) for style in styles])[regions.winner]
        if regions.probability is not None:
            # The chosen class has at least the probability 1 / n_classes.
            even = 1.0 / len(regions.classes)
            sure = np.clip((regions.probability - even) / (1.0 - even), 0.0, 1.0)
            colours[..., 3] = FAINT + (FULL - FAINT) * sure
        return colours

    def _draw_boundaries(self, ax: Any) -> None:
        regions = self.regions
        for number in np.unique(regions.winner)[:-1]:
            inside = (regions.winner == number).astype(float)
            ax.contour(
                regions.x, regions.y, inside, levels=[0.5], colors=[text_colour()], linewidths=0.7
            )

    def _draw_points(self, ax: Any) -> None:
        if self.points is None:
            return
        given = np.asarray(self.y)
        edge = text_colour()
        for label, style in zip(
            self.regions.classes, class_styles(len(self.regions.classes)), strict=True
        ):
            of_class = self.points[given == label]
            ax.scatter(*of_class.T, s=24, linewidths=0.5, edgecolors=edge, zorder=3, **style)

    def _label_regions(self, ax: Any) -> None:
        """Write the name of a class at the point of its region that is farthest from any other."""
        from scipy.ndimage import distance_transform_edt

        regions = self.regions
        box = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "alpha": 0.7, "pad": 1.0}
        for number, label in enumerate(regions.classes):
            inside = np.pad(regions.winner == number, 1)
            if inside.any():
                depth = distance_transform_edt(inside)[1:-1, 1:-1]
                row, column = np.unravel_index(depth.argmax(), depth.shape)
                x, y = regions.x[column], regions.y[row]
                ax.text(
                    x,
                    y,
                    str(label),
                    ha="center",
                    va="center",
                    color=text_colour(),
                    bbox=box,
                    zorder=4,
                )

    def _legend(self, ax: Any) -> None:
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], linestyle="", markersize=7, label=str(label), **style)
            for label, style in zip(
                self.regions.classes, class_styles(len(self.regions.classes)), strict=True
            )
        ]
        put_legend(ax, handles, "class")


def _held(fixed: dict[str, Any]) -> str:
    """Return the fixed values of the other inputs, in words."""
    typical = "medians" if all(isinstance(at, float) for at in fixed.values()) else "typical values"
    if len(fixed) == 1:
        ((name, value),) = fixed.items()
        return f"{name} = {value:.3g}" if isinstance(value, float) else f"{name} = {value}"
    return f"{len(fixed)} other inputs at their {typical}"
