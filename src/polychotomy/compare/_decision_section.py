"""The section of the page on decisions: costs, the risk-coverage curve, sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.words import printable
from ..decisions import RiskCoverage, SetReport
from ..plots.risk_coverage import RiskCoverageDisplay
from ..plots.svg import page_style, svg_of
from ._decisions import ComparedDecisions

MOST_CURVES, MOST_POINTS, MOST_CLASSES = 5, 150, 30


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
        "chart": markup(_chart(decisions)),
        "curve": _facts(decisions.curves[best]),
        "sets": None if decisions.sets is None else _sets(decisions.sets),
    }


def _chart(decisions: ComparedDecisions) -> str:
    shown = {row["method"]: row["area"] for row in decisions.rows[:MOST_CURVES]}
    with page_style() as figure_of:
        figure = figure_of(7.6, 3.2)
        curves = {
            printable(name): _thinned(decisions.curves[name], area) for name, area in shown.items()
        }
        RiskCoverageDisplay(curves).plot(figure.subplots())
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
    classes = [
        (printable(label), str(count), f"{coverage:.1%}", f"{size:.2f}")
        for label, count, coverage, size in zip(
            report.classes.tolist(),
            report.counts.tolist(),
            report.class_coverage.tolist(),
            report.class_sizes.tolist(),
            strict=True,
        )
        if count
    ]
    return {
        "coverage": f"{report.coverage:.1%}",
        "mean_size": f"{report.mean_size:.2f}",
        "classes": classes[:MOST_CLASSES],
        "left": max(0, len(classes) - MOST_CLASSES),
        "sizes": [
            (size, f"{count / total:.1%}") for size, count in enumerate(report.sizes) if count
        ],
    }
