"""The figures of a report, as SVG that takes its colours from the page."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .critical_difference import CriticalDifferenceDisplay
from .results import StudyResults
from .statistics import MethodRanking
from .tables import TimeRow

# matplotlib wants colours; these, which nothing else uses, become the page's own.
INK, BOX, BAR = "#0f0e0d", "#0a0b0c", "#0b0c0d"
PARTS = ("#1a1b1c", "#1b1c1d", "#1c1d1e")
PAGE_COLOURS = {
    INK: "currentColor",
    BOX: "var(--accent)",
    BAR: "var(--bar)",
    **{colour: f"var(--part{i})" for i, colour in enumerate(PARTS, 1)},
}
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "polychotomy",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
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
    with _style() as figure_of:
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
        return _svg(figure, f"box-{results.datasets.index(dataset)}", label)


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

    with _style():
        display = CriticalDifferenceDisplay(ranking).plot(color=INK, bar_color=BAR)
        try:
            words = (f"{m} {r:.2f}" for m, r in zip(ranking.methods, ranking.ranks, strict=True))
            label = f"Mean ranks by {figure}: {', '.join(words)}"
            return _svg(display.figure_, f"ranks-{figure}", label)
        finally:
            plt.close(display.figure_)


def time_bars(rows: Sequence[TimeRow], what: str) -> str:
    """Draw where the time went."""
    scale, unit = _time_unit(max((row.total for row in rows), default=0.0))
    with _style() as figure_of:
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
        return _svg(figure, f"time-{what.replace(' ', '-')}", f"Time of work by {what}")


def _time_unit(seconds: float) -> tuple[float, str]:
    if seconds > 2 * 3600:
        return 3600.0, "hours"
    return (60.0, "minutes") if seconds > 120 else (1.0, "seconds")


@contextmanager
def _style() -> Iterator[Any]:
    """Set matplotlib up for the page, and give what makes a figure of a size."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "The figures of a report need matplotlib: pip install 'polychotomy[plot]', or write "
            "Markdown or LaTeX tables, which do not."
        ) from error

    def figure_of(width: float, height: float) -> Any:
        return Figure(figsize=(width, height), layout="constrained")

    with matplotlib.rc_context(STYLE):
        yield figure_of


def _svg(figure: Any, name: str, label: str) -> str:
    """Write a figure as an SVG element, with ids that no other figure of the page has."""
    from markupsafe import escape

    file = io.StringIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    # Its style sheet would hold for the whole page, which has these rules of its own.
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = re.sub(r"font-family: [^;\"]*|(?<=px )'DejaVu Sans'[^;\"]*", _font, text)
    for colour, of_the_page in PAGE_COLOURS.items():
        text = text.replace(colour, of_the_page)
    width = math.ceil(figure.get_figwidth() * 96)
    head = f'<svg role="img" aria-label="{escape(label)}" style="--width: {width}px" '
    text = re.sub(r'^<svg [^>]*?(viewBox="[^"]*")[^>]*>', lambda found: f"{head}{found[1]}>", text)
    return text.strip()


def _font(found: re.Match[str]) -> str:
    return "font-family: inherit" if found[0].startswith("font-family") else "sans-serif"
