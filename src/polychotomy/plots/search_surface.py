"""The scores of a search over its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..core.checks import listed, one_of
from ..core.types import FloatArray
from ..tuning.method_sweep import MethodSweep
from ..tuning.search import TwoStepSearchCV
from ._drawing import PALETTE, axes, text_colour

FIGURES = {"error": "cross-validated error", "nll": "cross-validated NLL"}
STEPS = ("coarse", "fine")
HATCH = "////"
# The width of the cell of a value without neighbours, as a factor.
ALONE = 10**0.5
# An axis that spans less than this factor shows more than powers of 10.
FEW_POWERS = 10**2.5


@dataclass(frozen=True)
class SearchSurface:
    """The figures of the cells of a search over one or two of its parameters.

    Attributes
    ----------
    names : tuple of str
        The parameters, such as ``("machine__C", "machine__sigma2")``.
    values : ndarray of shape (n_cells, n_parameters)
        Their values in every cell.
    figure : ndarray of shape (n_cells,)
        The error or NLL; NaN where a cell failed.
    failed : ndarray of shape (n_cells,)
        Whether a cell failed.
    step : ndarray of shape (n_cells,)
        "coarse" or "fine".
    best : ndarray of shape (n_parameters,)
        The parameters that the search chose.
    figure_name : {"error", "nll"}
        What `figure` is.
    fixed : dict
        The other parameters, and the values, which are the chosen ones, at which they are held.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import TwoStepSearchCV
    >>> from polychotomy.plots import search_surface
    >>> search = TwoStepSearchCV(coarse={"machine__C": [0.1, 1, 10]}, fine=None)
    >>> surface = search_surface(search.fit(*load_iris(return_X_y=True)))
    >>> surface.names, surface.values.ravel()
    (('machine__C',), array([ 0.1,  1. , 10. ]))
    """

    names: tuple[str, ...]
    values: FloatArray
    figure: FloatArray
    failed: NDArray[np.bool_]
    step: NDArray[Any]
    best: FloatArray
    figure_name: str
    fixed: dict[str, Any]

    def grid(self, step: str) -> tuple[FloatArray, FloatArray, FloatArray, NDArray[np.bool_]]:
        """Return a step's values of both parameters, and its figures and failures on their grid.

        A cell of the fine grid that the coarse one has already is taken from there.
        """
        axis = [np.unique(column) for column in self.values[self.step == step].T]
        shape = len(axis[1]), len(axis[0])
        figure, failed = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
        inside = np.isin(self.values[:, 0], axis[0]) & np.isin(self.values[:, 1], axis[1])
        place = tuple(np.searchsorted(axis[k], self.values[inside, k]) for k in (1, 0))
        figure[place], failed[place] = self.figure[inside], self.failed[inside]
        return axis[0], axis[1], figure, failed


def search_surface(
    search: Any,
    figure: str = "error",
    *,
    method: str | None = None,
    parameters: Sequence[str] | None = None,
) -> SearchSurface:
    """Return the cells of a search over one or two of its parameters.

    Parameters
    ----------
    search : TwoStepSearchCV or MethodSweep
        The fitted search, or a pipeline that ends with it.
    figure : {"error", "nll"}, default="error"
        The share of rows misclassified, or the mean negative log-likelihood.
    method : str, default=None
        Which method of a `MethodSweep`.
    parameters : sequence of str, default=None
        One or two parameters that were searched; all with several numbers by default. The others
        are held at their best values.

    Returns
    -------
    surface : SearchSurface

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import MethodSweep
    >>> from polychotomy.plots import search_surface
    >>> grid = {"machine__C": [0.1, 1, 10], "machine__sigma2": [1, 10]}
    >>> sweep = MethodSweep(["MWV_SVM", "PWC_PSVM"], grid, fine=None)
    >>> surface = search_surface(sweep.fit(*load_iris(return_X_y=True)), "nll", method="PWC_PSVM")
    >>> surface.figure.shape, bool(surface.figure.min() < 0.2)
    ((6,), True)
    """
    one_of(figure, "figure", FIGURES)
    table, columns, best = _table(search, method)
    names = _chosen(parameters, columns)
    fixed = {name: best[name] for name in columns if name not in names}
    rows = np.ones(len(table["status"]), dtype=bool)
    for name, value in fixed.items():
        rows &= np.array([entry == value for entry in columns[name]])
    found = np.asarray(table[f"cv_{figure}"], dtype=float)[rows]
    failed = np.asarray(table["status"])[rows] != "ok"
    if figure == "nll" and np.isnan(found[~failed]).all():
        raise ValueError(
            "This search has no negative log-likelihoods, because its decoder yields no "
            "probabilities; choose figure='error'."
        )
    return SearchSurface(
        names=names,
        values=np.stack([np.asarray(columns[name][rows], dtype=float) for name in names], axis=1),
        figure=np.where(failed, np.nan, found),
        failed=failed,
        step=np.asarray(table["step"])[rows],
        best=np.array([best[name] for name in names], dtype=float),
        figure_name=figure,
        fixed={
            name: value for name, value in fixed.items() if len(set(columns[name].tolist())) > 1
        },
    )


def _table(
    search: Any, method: str | None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]], dict[str, Any]]:
    """Return a search's cells, their parameters by name, and the best parameters."""
    if isinstance(search, Pipeline):
        search = search.steps[-1][1]
    if isinstance(search, TwoStepSearchCV):
        check_is_fitted(search, "cv_results_")
        table = search.cv_results_
        columns = {
            name.removeprefix("param_"): np.asarray(values)
            for name, values in table.items()
            if name.startswith("param_")
        }
        return table, columns, search.best_params_
    if not isinstance(search, MethodSweep):
        raise TypeError(
            "A search surface is drawn from a TwoStepSearchCV or MethodSweep, or a pipeline that "
            f"ends with one; got {type(search).__name__}."
        )
    check_is_fitted(search, "cells_")
    if method is None and len(search.best_params_) == 1:
        method = next(iter(search.best_params_))
    if method is None:
        raise ValueError(f"method must be one of {listed(search.best_params_)}.")
    one_of(method, "method", search.best_params_)
    rows = search.cells_["method"] == method
    table = {name: values[rows] for name, values in search.cells_.items()}
    best = search.best_params_[method]
    return table, {name: table[name] for name in best}, best


def _chosen(parameters: Sequence[str] | None, columns: dict[str, NDArray[Any]]) -> tuple[str, ...]:
    """Return the names of the axes: C first, if it is there."""
    if parameters is not None:
        names = [parameters] if isinstance(parameters, str) else list(parameters)
        for name in names:
            one_of(name, "parameter", columns)
            if not _is_positive(columns[name]):
                raise ValueError(
                    f"The surface is drawn over positive numbers, which the values of {name!r} "
                    "are not."
                )
    else:
        names = [
            name
            for name, values in columns.items()
            if _is_positive(values) and len(np.unique(values)) > 1
        ]
        names.sort(key=lambda name: not name.endswith("__C"))
    if len(set(names)) != len(names) or len(names) not in (1, 2):
        raise ValueError(
            f"A surface has one or two parameters, got {len(names)}; choose with parameters= from "
            f"{listed(columns)}."
            if columns
            else "This search had no parameters to choose, so there is nothing to draw."
        )
    return tuple(names)


def _is_positive(values: NDArray[Any]) -> bool:
    numbers = values.tolist()
    return all(
        isinstance(value, int | float) and not isinstance(value, bool) and value > 0
        for value in numbers
    )


class SearchSurfaceDisplay:
    """The scores of a search: a heat map over C and sigma2, or a curve over one parameter.

    The cells of the fine step are drawn over those of the coarse one, within a frame; the chosen
    cell has a star. Cells that failed are hatched.

    Parameters
    ----------
    surface : SearchSurface
        What to draw.
    title : str, default=""
        The title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.

    See Also
    --------
    search_surface : The numbers alone.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import TwoStepSearchCV
    >>> from polychotomy.plots import SearchSurfaceDisplay
    >>> grid = {"machine__C": [0.1, 1, 10], "machine__sigma2": [1, 10]}
    >>> search = TwoStepSearchCV(coarse=grid, fine=None).fit(*load_iris(return_X_y=True))
    >>> display = SearchSurfaceDisplay.from_search(search)
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('C', 'sigma2')
    >>> plt.close(display.figure_)
    """

    def __init__(self, surface: SearchSurface, title: str = "") -> None:
        self.surface = surface
        self.title = title

    @classmethod
    def from_search(
        cls,
        search: Any,
        figure: str = "error",
        step: str | None = None,
        *,
        method: str | None = None,
        parameters: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> SearchSurfaceDisplay:
        """Draw the scores of a fitted search.

        Parameters
        ----------
        search : TwoStepSearchCV or MethodSweep
            The fitted search, or a pipeline that ends with it.
        figure : {"error", "nll"}, default="error"
            The share of rows misclassified, or the mean negative log-likelihood.
        step : {"coarse", "fine"} or None, default=None
            One step, or both.
        method, parameters
            As in `search_surface`.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            As for `plot`.

        Returns
        -------
        display : SearchSurfaceDisplay
        """
        surface = search_surface(search, figure, method=method, parameters=parameters)
        return cls(surface, method or "").plot(ax, step=step, **options)

    def plot(
        self, ax: Any = None, *, step: str | None = None, cmap: str = "viridis_r"
    ) -> SearchSurfaceDisplay:
        """Draw the surface.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        step : {"coarse", "fine"} or None, default=None
            One step, or both.
        cmap : str or Colormap, default="viridis_r"
            The colours of a heat map, from the least figure to the largest.

        Returns
        -------
        display : SearchSurfaceDisplay
            Itself.
        """
        present = [each for each in STEPS if each in self.surface.step]
        if step is not None:
            one_of(step, "step", STEPS)
            if step not in present:
                raise ValueError(
                    f"The search has no {step} cells of its own; choose step={present[0]!r}."
                )
            present = [step]
        ax = axes(ax, 6.4, 4.8)
        ax.set_xscale("log")
        ax.set_xlabel(self.surface.names[0].rpartition("__")[2])
        if len(self.surface.names) == 2:
            self._draw_map(ax, present, cmap)
        else:
            self._draw_curve(ax, present)
        _name_ticks(ax.xaxis, ax.get_xlim())
        if len(self.surface.names) == 2:
            _name_ticks(ax.yaxis, ax.get_ylim())
        held = [f"{name.rpartition('__')[2]} = {at}" for name, at in self.surface.fixed.items()]
        ax.set_title(", ".join([self.title, *held] if self.title else held))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_map(self, ax: Any, steps: list[str], cmap: str) -> None:
        from matplotlib.colors import PowerNorm

        surface = self.surface
        ax.set_yscale("log")
        ax.set_ylabel(surface.names[1].rpartition("__")[2])
        grids = [surface.grid(step) for step in steps]
        shown = np.concatenate([figure[np.isfinite(figure)] for _, _, figure, _ in grids])
        # Cells without a finite figure get the last colour.
        least, largest = (shown.min(), shown.max()) if len(shown) else (0.0, 1.0)
        # The square root shows differences between good cells, however bad the worst are.
        norm = PowerNorm(0.5, least, largest)
        for number, (x, y, figure, failed) in enumerate(grids):
            across, along = _edges(x), _edges(y)
            image = ax.pcolormesh(
                across,
                along,
                np.ma.masked_invalid(np.minimum(figure, largest)),
                cmap=cmap,
                norm=norm,
            )
            for i, j in np.argwhere(failed):
                ax.add_patch(_failed_cell(ax, across[j : j + 2], along[i : i + 2]))
            if number:
                ax.add_patch(_frame(across, along))
        # On cells of any colour, so black and white in every style.
        ax.plot(
            *surface.best,
            marker="*",
            markersize=15,
            color="white",
            markeredgecolor="black",
            linestyle="",
        )
        ticks = norm.inverse(np.linspace(0.0, 1.0, 6))
        bar = ax.figure.colorbar(image, ax=ax, label=FIGURES[surface.figure_name], ticks=ticks)
        bar.ax.set_yticklabels([f"{tick:.3g}" for tick in ticks])

    def _draw_curve(self, ax: Any, steps: list[str]) -> None:
        surface = self.surface
        rows = np.isin(surface.step, steps)
        order = np.argsort(surface.values[rows, 0])
        x, y = surface.values[rows, 0][order], surface.figure[rows][order]
        step, failed = surface.step[rows][order], surface.failed[rows][order]
        ink = text_colour()
        good = np.isfinite(y)
        ax.plot(x[good], y[good], color=ink, linewidth=1, alpha=0.6)
        for number, each in enumerate(STEPS):
            at = good & (step == each)
            if at.any():
                ax.plot(x[at], y[at], "os"[number], color=PALETTE[number], label=f"{each} step")
        chosen = good & (x == surface.best[0])
        if chosen.any():
            ax.plot(x[chosen], y[chosen], "*", markersize=15, color=PALETTE[2], label="chosen")
        if failed.any():
            self._mark_failed(ax, x[failed])
        ax.set_ylabel(FIGURES[surface.figure_name])
        ax.legend()

    def _mark_failed(self, ax: Any, x: FloatArray) -> None:
        """Put a cross on the upper edge for every value that failed."""
        ax.plot(
            x,
            np.full(len(x), 0.97),
            "x",
            transform=ax.get_xaxis_transform(),
            color=text_colour(),
            label="failed",
        )


def _failed_cell(ax: Any, x: FloatArray, y: FloatArray) -> Any:
    """Return a hatched rectangle on the background."""
    from matplotlib.patches import Rectangle

    return Rectangle(
        (x[0], y[0]),
        x[1] - x[0],
        y[1] - y[0],
        facecolor=ax.get_facecolor(),
        edgecolor=text_colour(),
        hatch=HATCH,
        linewidth=0.5,
    )


def _frame(x: FloatArray, y: FloatArray) -> Any:
    """Return a frame around the cells of the fine step, visible on any colour."""
    from matplotlib.patches import Rectangle
    from matplotlib.patheffects import withStroke

    frame = Rectangle((x[0], y[0]), x[-1] - x[0], y[-1] - y[0], fill=False, linewidth=1.2)
    frame.set(edgecolor="black", path_effects=[withStroke(linewidth=3.5, foreground="white")])
    return frame


def _name_ticks(axis: Any, ends: tuple[float, float]) -> None:
    """Name the powers of 10 of a logarithmic axis, and their 2 and 5 fold where they are few."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    axis.set_minor_formatter(NullFormatter())
    if ends[1] / ends[0] < FEW_POWERS:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FormatStrFormatter("%g"))


def _edges(values: FloatArray) -> FloatArray:
    """Return the edges between values on a logarithmic axis."""
    logs = np.log10(values)
    if len(logs) == 1:
        return np.array([values[0] / ALONE, values[0] * ALONE])
    middle = (logs[1:] + logs[:-1]) / 2.0
    first, last = 2 * logs[0] - middle[0], 2 * logs[-1] - middle[-1]
    edges: FloatArray = 10.0 ** np.concatenate([[first], middle, [last]])
    return edges
