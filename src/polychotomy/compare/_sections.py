"""The sections of a page about the recommended method: classes, columns, rows, slices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from ..core.words import counted
from ..plots.svg import BAR, BOX, INK, page_style, svg_of
from ._comparison import MethodComparison
from ._per_class import MOST_TEMPERED, error_of_all_rows, slices, worst_confusions

# A matrix of more classes is drawn, not written.
MOST_WRITTEN = 30
# The side of a drawn matrix, in pixels.
SIDE = 640
# The least side of a square in it, and how faint it may be.
SMALLEST, FAINTEST = 5.0, 0.25
MOST_COLUMNS = 30
MOST_CURVES = 6


def sections(comparison: MethodComparison, X: Any, markup: Any) -> dict[str, Any]:
    """Return what the page shows about the recommended method, beside reliability."""
    labels = [str(label) for label in comparison.classes.tolist()]
    return {
        "per_class": _class_rows(comparison, labels),
        "worst": _numbered(worst_confusions(comparison, 20), comparison),
        "map": markup(_map(comparison, labels)) if len(labels) > MOST_WRITTEN else None,
        "calibration": comparison.recalibrated,
        "calibration_words": _why_not_recalibrated(comparison),
        "importance": (comparison.importance or [])[:MOST_COLUMNS],
        "importance_chart": markup(_importance_chart(comparison)) if comparison.importance else "",
        "curve": _curve_rows(comparison),
        "curve_chart": markup(_curve_chart(comparison)) if _curve_rows(comparison) else "",
        "curve_words": _curve_words(comparison),
        "slices": slices(comparison, X) if X is not None and hasattr(X, "columns") else None,
        "error": f"{error_of_all_rows(comparison):.4f}",
    }


def _class_rows(comparison: MethodComparison, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Return the figures of every class, and what it is most often taken for."""
    wrong = comparison.confusion()
    np.fill_diagonal(wrong, 0)
    most = wrong.argmax(axis=1)
    taken = [
        f"{labels[j]} ({row[j]})" if row[j] else "" for row, j in zip(wrong, most, strict=True)
    ]
    return [
        {**row, "number": k, "taken_for": taken[k]} for k, row in enumerate(comparison.per_class)
    ]


def _why_not_recalibrated(comparison: MethodComparison) -> str:
    """Say why it is not known what tempering would change."""
    why = "the test rows are too few"
    if len(comparison.runs()) < 2:
        why = "this needs a second split"
    elif len(comparison.classes) > MOST_TEMPERED:
        why = f"this takes too long with more than {MOST_TEMPERED} classes"
    return f"It is not shown what tempering would change: {why}."


def _numbered(pairs: list[dict[str, Any]], comparison: MethodComparison) -> list[dict[str, Any]]:
    place = {label: number for number, label in enumerate(comparison.classes.tolist())}
    return [{**one, "numbers": f"{place[one['class']]} {place[one['taken_for']]}"} for one in pairs]


def _map(comparison: MethodComparison, labels: Sequence[str]) -> str:
    """Draw the confusion matrix: a square for every pair that occurs, with its numbers."""
    counts = comparison.confusion()
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    n, step = len(labels), SIDE / len(labels)
    # Of hundreds of classes, a square of its own size could not be seen, nor found by the pointer.
    side = max(step, SMALLEST)
    squares = []
    # Confusions stand above what is right, and those of large shares above others.
    pairs = sorted(np.argwhere(counts).tolist(), key=lambda at: (at[0] != at[1], share[*at]))
    for i, j in pairs:
        number = counted(int(counts[i, j]), "test row")
        words = escape(f"{labels[i]} predicted as {labels[j]}: {number}")
        kind = "right" if i == j else "wrong"
        squares.append(
            f'<rect class="{kind}" x="{_start(j, step, side):.2f}" y="{_start(i, step, side):.2f}" '
            f'width="{side:.2f}" height="{side:.2f}" '
            f'fill-opacity="{max(FAINTEST, share[i, j]):.2f}">'
            f"<title>{words}</title></rect>"
        )
    return (
        f'<svg class="map" viewBox="0 0 {SIDE} {SIDE}" role="img" style="--width: {SIDE}px" '
        f'aria-label="Confusion matrix of {n} classes">'
        f'<rect class="frame" width="{SIDE}" height="{SIDE}"/>{"".join(squares)}</svg>'
    )


def _start(place: int, step: float, side: float) -> float:
    """Return where a square begins, in the middle of its place and inside of the frame."""
    return min(max(0.0, (place + 0.5) * step - side / 2), SIDE - side)


def with_titles(svg: str, titles: dict[str, str]) -> str:
    """Give groups of an SVG, by the end of their id, a text to show when the pointer is there."""
    for name, text in titles.items():
        svg = re.sub(
            rf'(<g id="[^"]*{re.escape(name)}"[^>]*>)',
            lambda found, text=text: f"{found[1]}<title>{escape(text)}</title>",  # type: ignore[misc]
            svg,
            count=1,
        )
    return svg


def with_point_titles(svg: str, name: str, titles: Sequence[str]) -> str:
    """Give the points of one line, whose id ends with a name, texts to show in the same way."""
    before, found, after = svg.partition(f'{name}"')
    texts = iter(titles)
    after = re.sub(
        r"(<use [^>]*)/>",
        lambda found: f"{found[1]}><title>{escape(next(texts))}</title></use>",
        after,
        count=len(titles),
    )
    return before + found + after


def _importance_chart(comparison: MethodComparison) -> str:
    rows = (comparison.importance or [])[:MOST_COLUMNS]
    titles = {}
    with page_style() as figure_of:
        figure = figure_of(5.2, 0.24 * len(rows) + 0.7)
        ax = figure.add_subplot()
        for place, row in enumerate(rows):
            ax.plot([row["lower"], row["upper"]], [place, place], color=INK, linewidth=1.4)
            face = BAR if row["lower"] > 0 else BOX
            (point,) = ax.plot(
                row["importance"], place, "o", color=INK, markerfacecolor=face, markersize=6
            )
            point.set_gid(f"column-{place}-")
            titles[f"column-{place}-"] = (
                f"{row['column']}: {row['importance']:.4f}, from {row['lower']:.4f} to "
                f"{row['upper']:.4f}"
            )
        ax.axvline(0.0, color=INK, linewidth=0.8, linestyle=(0, (1, 2)), zorder=0)
        ax.set_yticks(range(len(rows)), [row["column"][:30] for row in rows])
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("growth of the NLL if the column is shuffled, 95 % interval")
        return with_titles(svg_of(figure, "importance", "How much every column matters"), titles)


def _curve_rows(comparison: MethodComparison) -> list[dict[str, Any]]:
    """Return the points of methods that were judged on several numbers of rows."""
    points = [point for point in comparison.curve if point["tuned"] and np.isfinite(point["nll"])]
    names = [point["method"] for point in points]
    return [point for point in points if names.count(point["method"]) > 1]


def _curve_chart(comparison: MethodComparison) -> str:
    points, titles = _curve_rows(comparison), {}
    names = list(dict.fromkeys(point["method"] for point in points))
    names.sort(key=lambda name: name != comparison.recommended)
    with page_style() as figure_of:
        figure = figure_of(5.2, 3.0)
        ax = figure.add_subplot()
        for k, name in enumerate(names[:MOST_CURVES]):
            own = [point for point in points if point["method"] == name]
            rows, nll = [one["rows"] for one in own], [one["nll"] for one in own]
            style = "-" if name == comparison.recommended else (0, (1 + k, 2))
            ax.plot(rows, nll, color=INK, linewidth=1.2, linestyle=style)
            for number, one in enumerate(own):
                (mark,) = ax.plot(one["rows"], one["nll"], "o", color=INK, markersize=5)
                mark.set_gid(f"curve-{k}-{number}-")
                titles[f"curve-{k}-{number}-"] = f"{name}, {one['rows']:,} rows: {one['nll']:.4f}"
            ax.annotate(name, (rows[-1], nll[-1]), (5, 0), textcoords="offset points", va="center")
        ax.set_xscale("log")
        ax.set(xlabel="training rows", ylabel="NLL")
        sizes = sorted({point["rows"] for point in points})
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
        ax.minorticks_off()
        return with_titles(svg_of(figure, "curve", "Learning curve"), titles)


def _curve_words(comparison: MethodComparison) -> str:
    """Say whether more rows are likely to help."""
    own = [row for row in _curve_rows(comparison) if row["method"] == comparison.recommended]
    if len(own) < 2:
        return ""
    gain = own[-2]["nll"] - own[-1]["nll"]
    times = own[-1]["rows"] / own[-2]["rows"]
    step = f"From {own[-2]['rows']:,} to {own[-1]['rows']:,} training rows"
    if gain > comparison.margin:
        return (
            f"{step} the NLL of {comparison.recommended} fell by {gain:.4f}. {times:.1f} times as "
            "many rows may help again."
        )
    return (
        f"{step} the NLL of {comparison.recommended} changed by {-gain:+.4f}, within the margin "
        f"of {comparison.margin:.4f}: more rows of the same kind are unlikely to help much."
    )
