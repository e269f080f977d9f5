"""Critical-difference diagrams: mean ranks, and methods that are not distinguishable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..statistics import MethodRanking, rank_methods
from ._drawing import pyplot

# Heights below the axis, in rows of text.
FIRST_BAR, BAR_STEP, GAP, ROW = 0.45, 0.35, 0.7, 1.0
# The height above the axis, in the same unit.
TOP = 3.6


class CriticalDifferenceDisplay:
    """Mean ranks of methods on a line, with bars over those that are not distinguishable.

    After Demsar (2006), figure 1: the best method is on the left; a bar joins methods whose mean
    ranks are nearer than Nemenyi's critical difference, which is drawn above.

    Parameters
    ----------
    ranking : MethodRanking
        The ranking to draw.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from polychotomy.study import CriticalDifferenceDisplay
    >>> errors = [[0.1, 0.2, 0.3], [0.1, 0.3, 0.4], [0.2, 0.3, 0.5], [0.1, 0.2, 0.4]]
    >>> display = CriticalDifferenceDisplay.from_scores(errors, ["SVM", "KLR", "vote"])
    >>> display.ranking.methods
    ('SVM', 'KLR', 'vote')
    >>> plt.close(display.figure_)
    """

    def __init__(self, ranking: MethodRanking) -> None:
        self.ranking = ranking

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        methods: Sequence[str] | None = None,
        *,
        lower_is_better: bool = True,
        alpha: float = 0.05,
        ax: Any = None,
        **options: Any,
    ) -> CriticalDifferenceDisplay:
        """Rank methods by a table of scores, and draw them.

        Parameters
        ----------
        scores : array-like or DataFrame of shape (n_data_sets, n_methods)
            The figures; rows with a NaN are skipped.
        methods : sequence of str, default=None
            Their names; the columns of a DataFrame by default.
        lower_is_better : bool, default=True
            True for errors, False for accuracies.
        alpha : float, default=0.05
            The level of the critical difference.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            As for `plot`.

        Returns
        -------
        display : CriticalDifferenceDisplay
        """
        if methods is None:
            columns = getattr(scores, "columns", None)
            if columns is None:
                raise ValueError(
                    "methods must name the columns of scores, unless it is a DataFrame."
                )
            methods = [str(column) for column in columns]
        ranking = rank_methods(scores, methods, lower_is_better=lower_is_better, alpha=alpha)
        return cls(ranking).plot(ax, **options)

    def plot(
        self, ax: Any = None, *, color: str | None = None, bar_color: str = "tab:red"
    ) -> CriticalDifferenceDisplay:
        """Draw the ranks.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        color, bar_color : str, default=None and "tab:red"
            The colour of the axis and its labels (that of text by default), and of the bars.

        Returns
        -------
        display : CriticalDifferenceDisplay
            Itself.
        """
        plt = pyplot()
        color = plt.rcParams["text.color"] if color is None else color
        ranking = self.ranking
        if not np.isfinite(ranking.ranks).all():
            raise ValueError("There are no ranks to draw: some method failed on every data set.")
        n_methods = len(ranking.methods)
        labels_start = FIRST_BAR + BAR_STEP * len(ranking.groups) + GAP
        depth = labels_start + ROW * ((n_methods + 1) // 2 - 1) + 0.5
        if ax is None:
            figure = plt.figure(figsize=(7.0, 0.25 * (depth + TOP) + 0.1))
            ax = figure.add_axes((0.01, 0.0, 0.98, 1.0))
        ax.set_axis_off()
        ax.set_ylim(-depth, TOP)
        pen = {"color": color, "clip_on": False, "solid_capstyle": "butt"}
        self._draw_axis(ax, n_methods, pen)
        self._draw_difference(ax, n_methods, pen)
        self._draw_groups(ax, bar_color)
        self._draw_methods(ax, labels_start, pen)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_axis(self, ax: Any, n_methods: int, pen: dict[str, Any]) -> None:
        ax.plot([1, n_methods], [0, 0], linewidth=1.2, **pen)
        # At most about ten numbers.
        step = -(-n_methods // 10)
        for rank in range(1, n_methods + 1):
            ax.plot([rank, rank], [0, 0.3 if (rank - 1) % step == 0 else 0.15], linewidth=1, **pen)
            if (rank - 1) % step == 0:
                ax.text(rank, 0.4, str(rank), ha="center", va="bottom", color=pen["color"])

    def _draw_difference(self, ax: Any, n_methods: int, pen: dict[str, Any]) -> None:
        width, height = self.ranking.critical_difference, 1.9
        ends = [1, min(1 + width, n_methods)]
        ax.plot(ends, [height, height], linewidth=1.2, **pen)
        ax.plot([1, 1], [height - 0.2, height + 0.2], linewidth=1.2, **pen)
        if 1 + width <= n_methods:
            ax.plot([ends[1]] * 2, [height - 0.2, height + 0.2], linewidth=1.2, **pen)
        note = (
            f"mean ranks, 1 is best; critical difference {width:.2f} "
            f"(Nemenyi, {self.ranking.alpha:g})"
        )
        ax.text(1, height + 0.35, note, ha="left", va="bottom", color=pen["color"])

    def _draw_groups(self, ax: Any, bar_color: str) -> None:
        rank_of = dict(zip(self.ranking.methods, self.ranking.ranks, strict=True))
        reach = 0.006 * (len(rank_of) - 1)
        for number, group in enumerate(self.ranking.groups):
            y = -FIRST_BAR - BAR_STEP * number
            ends = [rank_of[group[0]] - reach, rank_of[group[-1]] + reach]
            ax.plot(ends, [y, y], linewidth=3, color=bar_color, solid_capstyle="butt")

    def _draw_methods(self, ax: Any, start: float, pen: dict[str, Any]) -> None:
        """Write the better half on the left, the others on the right, lines never crossing."""
        methods, ranks = self.ranking.methods, self.ranking.ranks
        n = len(methods)
        half, margin = (n + 1) // 2, 0.04 * (n - 1)
        texts = []
        for i, (method, rank) in enumerate(zip(methods, ranks, strict=True)):
            left = i < half
            y = -start - ROW * (i if left else n - 1 - i)
            edge = 1 - margin if left else n + margin
            ax.plot([rank, rank, edge], [0, y, y], linewidth=0.8, **pen)
            text = f"{method}  {rank:.2f} " if left else f" {rank:.2f}  {method}"
            side = "right" if left else "left"
            texts.append(ax.text(edge, y, text, ha=side, va="center", color=pen["color"]))
        widths = [text.get_window_extent().width for text in texts]
        _make_room(ax, (1 - margin, n + margin), max(widths[:half]), max(widths[half:]))


def _make_room(ax: Any, ends: tuple[float, float], left: float, right: float) -> None:
    """Choose the limits of x so that labels of these widths, in pixels, fit at both ends."""
    whole = ax.get_window_extent().width
    # However long the names, the ranks keep some of the width.
    unit = (ends[1] - ends[0]) / max(whole - left - right, 0.3 * whole)
    ax.set_xlim(ends[0] - left * unit, ends[1] + right * unit)
