"""The section of the page on decisions: costs, the risk-coverage curve, sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.words import printable
from ..decisions import RiskCoverage, SetReport
from ..plots.risk_coverage import RiskCoverageDisplay
from ..plots.svg import page_style, svg_of
from ._decisions import ComparedDecisions

MOST_CURVES, MOST_POINTS, MOST_CLASSES, MOST_SIZES = 5, 150, 30, 10
COLUMN_WORDS = {
    "answered": "the share of rows that are answered",
    "error": "the error among these",
    "area": "the mean error over all shares of rows that could be answered",
    "set size": "the mean number of classes in a set",
    "covered": "the share of rows whose set has the true class",
}


def decision_section(decisions: ComparedDecisions, markup: Any) -> dict[str, Any]:
    """Return what the template shows."""
    heads, lines = decisions.table()
    best = decisions.rows[0]["method"]
    return {
        "criterion": decisions.criterion,
        "best": best,
        "recommended": decisions.recommended,
        "heads": heads,
        "lines": lines,
        "explained": "; ".join(
            f"{head}: {COLUMN_WORDS[head]}" for head in heads if head in COLUMN_WORDS
        ),
        "goal": None if decisions.coverage is None else f"{100 * decisions.coverage:g} %",
        "chart": markup(_chart(decisions)),
        "curve": _facts(decisions.curves[best]),
        "sets": None if decisions.sets is None else _sets(decisions.sets),
    }


def _chart(decisions: ComparedDecisions) -> str:
    shown = {row["method"]: row["area"] for row in decisions.rows[:MOST_CURVES]}
    with page_style() as figure_of:
        figure = figure_of(5.2, 3.8)
        curves = {
            printable(name): _thinned(decisions.curves[name], area) for name, area in shown.items()
        }
        drawn = RiskCoverageDisplay(curves).plot(figure.subplots())
        (ax,) = figure.axes
        title = ax.get_legend().get_title().get_text()
        # On a narrow screen, a legend at the side would leave no space for the curves.
        place = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.2), "alignment": "left"}
        ax.legend(handles=drawn.lines_.values(), title=title, ncols=2, frameon=False, **place)
        return svg_of(figure, "risk", "Error among answered rows by the share of rows answered")


def _thinned(curve: RiskCoverage, area: float) -> RiskCoverage:
    """Return a curve with fewer points, for a smaller page, and the area of the table above."""
    places = np.unique(np.linspace(0, len(curve.risk) - 1, MOST_POINTS).round().astype(int))
    return RiskCoverage(
        curve.coverage[places],
        curve.risk[places],
        curve.threshold[places],
        area,
        curve.best_area,
    )


def _facts(curve: RiskCoverage) -> list[tuple[str, str]]:
    return [(f"{share:.0%}", f"{curve.at(share):.1%}") for share in (1.0, 0.9, 0.8, 0.5)]


def _sets(report: SetReport) -> dict[str, Any]:
    total = int(report.counts.sum())
    tested = np.flatnonzero(report.counts)
    # If there are too many, those that are covered least, in the order of the classes.
    worst = tested[np.argsort(report.class_coverage[tested], kind="stable")][:MOST_CLASSES]
    labels = report.classes.tolist()
    classes = [
        (
            printable(labels[k]),
            str(report.counts[k]),
            f"{report.class_coverage[k]:.1%}",
            f"{report.class_sizes[k]:.2f}",
        )
        for k in sorted(worst.tolist())
    ]
    sizes = [
        (str(size), f"{count / total:.1%}")
        for size, count in enumerate(report.sizes[: MOST_SIZES + 1])
        if count
    ]
    more = int(report.sizes[MOST_SIZES + 1 :].sum())
    if more:
        sizes.append((f"more than {MOST_SIZES}", f"{more / total:.1%}"))
    return {
        "coverage": f"{report.coverage:.1%}",
        "mean_size": f"{report.mean_size:.2f}",
        "classes": classes,
        "left_of": len(tested) if len(tested) > len(classes) else None,
        "sizes": sizes,
    }
