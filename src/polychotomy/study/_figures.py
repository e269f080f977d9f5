"""The figures of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..plots.critical_difference import CriticalDifferenceDisplay
from ..plots.svg import BAR, BOX, INK, PARTS, page_style, svg_of
from ..statistics import MethodRanking
from .results import StudyResults
from .tables import TimeRow

WIDTH, ROW_HEIGHT = 4.4, 0.22


def box_plot(results: StudyResults, dataset: str) -> str | None:
    """Draw the test errors of all methods on a data set, as in DUAN05, figure 1."""
    methods = results.with_figure("error", dataset)
    runs = [
        [100 * error for error in results.runs("error", dataset, m).values() if error == error]
        for m in methods
    ]
    if not any(runs):
        return None
    with page_style() as figure_of:
        figure = figure_of(WIDTH, ROW_HEIGHT * len(methods) + 0.6)
        ax = figure.add_subplot()
        for place, values in enumerate(runs):
            if values:
                _draw_box(ax, place, values)
        ax.set_yticks(range(len(methods)), methods)
        ax.set_ylim(len(methods) - 0.4, -0.6)
        ax.set_xlabel("test error in percent")
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x", color=INK, alpha=0.15, linewidth=0.6)
        label = f"Boxplots of the test errors on {dataset}: {', '.join(methods)}"
        return svg_of(figure, f"box-{results.datasets.index(dataset)}", label)


def _draw_box(ax: Any, place: int, values: Sequence[float]) -> None:
    """Draw quartiles, median, whiskers of 1.5 boxes, and what lies beyond."""
    from matplotlib.cbook import boxplot_stats

    (stats,) = boxplot_stats(values)
    thin = {"color": INK, "linewidth": 0.9}
    ax.barh(
        place,
        stats["q3"] - stats["q1"],
        left=stats["q1"],
        height=0.6,
        color=BOX,
        edgecolor=INK,
        linewidth=0.9,
        zorder=2,
    )
    ax.plot([stats["med"]] * 2, [place - 0.3, place + 0.3], color=INK, linewidth=1.8, zorder=3)
    for end, side in (("whislo", "q1"), ("whishi", "q3")):
        ax.plot([stats[end], stats[side]], [place, place], zorder=1, **thin)
        ax.plot([stats[end]] * 2, [place - 0.15, place + 0.15], zorder=1, **thin)
    beyond = stats["fliers"]
    ax.plot(beyond, [place] * len(beyond), ".", color=INK, markersize=3.5, zorder=3)


def critical_difference(ranking: MethodRanking, figure: str) -> str:
    """Draw the mean ranks of the methods."""
    import matplotlib.pyplot as plt

    with page_style():
        display = CriticalDifferenceDisplay(ranking).plot(color=INK, bar_color=BAR)
        try:
            words = (f"{m} {r:.2f}" for m, r in zip(ranking.methods, ranking.ranks, strict=True))
            label = f"Mean ranks by {figure}: {', '.join(words)}"
            return svg_of(display.figure_, f"ranks-{figure}", label)
        finally:
            plt.close(display.figure_)


def time_bars(rows: Sequence[TimeRow], what: str) -> str:
    """Draw where the time went."""
    scale, unit = _time_unit(max((row.total for row in rows), default=0.0))
    with page_style() as figure_of:
        figure = figure_of(WIDTH, ROW_HEIGHT * len(rows) + 0.9)
        ax = figure.add_subplot()
        start = [0.0] * len(rows)
        for part, colour in zip(("shared", "own", "other"), PARTS, strict=True):
            lengths = [getattr(row, part) / scale for row in rows]
            ax.barh(range(len(rows)), lengths, left=start, height=0.7, color=colour, label=part)
            start = [a + b for a, b in zip(start, lengths, strict=True)]
        ax.set_yticks(range(len(rows)), [row.name for row in rows])
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.set_xlabel(f"work in {unit}")
        ax.tick_params(axis="y", length=0)
        figure.legend(loc="outside upper center", ncols=3, frameon=False)
        return svg_of(figure, f"time-{what.replace(' ', '-')}", f"Time of work by {what}")


def _time_unit(seconds: float) -> tuple[float, str]:
    if seconds > 2 * 3600:
        return 3600.0, "hours"
    return (60.0, "minutes") if seconds > 120 else (1.0, "seconds")
