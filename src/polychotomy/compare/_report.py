"""A comparison as one HTML page."""

from __future__ import annotations

import platform
from base64 import b64encode
from hashlib import sha256
from time import perf_counter
from typing import Any

import numpy as np
import sklearn

from ..core.words import counted, duration
from ..plots.svg import BAR, BOX, INK, page_style, svg_of
from ._comparison import MethodComparison
from ._decision_section import decision_section
from ._decisions import ComparedDecisions
from ._pages import environment
from ._per_class import day_words
from ._sections import MOST_WRITTEN, sections, with_point_titles, with_titles
from ._words import behind, number

MOST_PANELS = 12
MOST_COLUMNS = 6


def html_report(
    comparison: MethodComparison,
    title: str,
    *,
    X: Any = None,
    rows: Any = None,
    commands: str = "",
    code: str = "",
    notes: tuple[str, ...] = (),
    decisions: ComparedDecisions | None = None,
    until: float | None = None,
) -> str:
    """Write a comparison as one self-contained HTML page.

    Parameters
    ----------
    comparison : MethodComparison
        The comparison.
    title : str
        The name of the data.
    X : DataFrame, default=None
        The inputs, shown for doubtful rows.
    rows : array-like of int, default=None
        The numbers of the rows in the user's file; counted from 0 by default.
    commands, code : str
        How to use the recommended method: on the command line, in Python.
    notes : tuple of str
        Notes about the data.
    decisions : ComparedDecisions, default=None
        What is decided with the probabilities, for a section of its own.
    until : float, default=None
        By `time.perf_counter`: reliability diagrams, and the chart of the ranking, are left out if
        they are not drawn by then.

    Returns
    -------
    page : str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy.compare import compare_methods, html_report
    >>> X, y = load_iris(return_X_y=True)
    >>> comparison = compare_methods(X[::2], y[::2], ["MWV_SVM", "PWC_PSVM"], n_splits=2)
    >>> page = html_report(comparison, "iris")
    >>> page.startswith("<!DOCTYPE html>"), "MWV_SVM" in page
    (True, True)
    """
    templates = environment("The HTML report needs jinja2")
    from markupsafe import Markup

    script = templates.get_template("comparison.js").render()
    page = _page(comparison, Markup, until) | sections(comparison, X, Markup)
    labels = [str(label) for label in comparison.classes.tolist()]
    curves = comparison.reliability()
    panels = [] if curves is None else _panels(curves, labels, Markup, until)
    page |= {
        "panels": panels,
        "panels_left": "" if curves is None else _panels_left(len(labels), len(panels) - 1),
        "script": Markup(script),
        # The page allows this script and no other.
        "script_hash": b64encode(sha256(script.encode()).digest()).decode(),
        "title": title,
        "commands": commands,
        "code": code or _plain_code(comparison),
        "notes": [*notes, *comparison.notes, _versions()],
        "decisions": None if decisions is None else decision_section(decisions, Markup),
        **_doubtful(comparison, X, rows),
    }
    return str(templates.get_template("comparison.html").render(page=page)).lstrip()


def _page(comparison: MethodComparison, markup: Any, until: float | None) -> dict[str, Any]:
    labels = [str(label) for label in comparison.classes.tolist()]
    facts = [
        ("rows", len(comparison.y)),
        ("classes", len(labels)),
        ("methods judged", len(comparison.candidates) - 1),  # the baseline is none
        ("splits", comparison.n_splits),
        ("time", duration(comparison.seconds)),
    ]
    pairs = comparison.hard_pairs()
    written = len(labels) <= MOST_WRITTEN
    titles = {name: one.title for name, one in comparison.candidates.items()}
    chart = None if _is_over(until) else markup(_chart(comparison))
    return {
        "titles": titles,
        "margin": f"{comparison.margin:.4f}",
        "facts": facts,
        "winner": titles[comparison.recommended],
        "reasons": comparison.reasons,
        "protocol": comparison.protocol,
        "tuned": comparison.level.tuned,
        "some_untuned": any(not runs[0].tuned for runs in comparison.others.values()),
        "chart": chart,
        "rows": [_row(row) for row in comparison.rows],
        "groups": [group for group in comparison.groups if len(group) > 1],
        "confusion": _confusion(comparison, labels) if written else None,
        "pairs": _pair_grid(pairs[1], labels) if pairs and written else None,
        "pairs_method": None if pairs is None else pairs[0],
        "hardest": None if pairs is None else _hardest(pairs[1], labels),
    }


def _row(row: dict[str, Any]) -> dict[str, Any]:
    p = row["p_value"]
    figures = [number(row[key]) for key in ("nll", "error", "brier", "calibration")]
    figures += [f"{row['seconds']:.2f}", behind(row)]
    figures.append("" if np.isnan(p) or row["difference"] == 0 else f"{p:.3f}")
    return {
        "method": row["method"],
        "useless": row["worse_than_majority"],
        "figures": figures,
        "alike": row["verdict"] in ("best", "as good"),
    }


def _chart(comparison: MethodComparison) -> str:
    """Draw the distance of every method to the best."""
    rows = [row for row in comparison.rows if row["method"] in comparison.methods]
    rows = [row for row in rows if not np.isnan(row["difference"])]
    if not rows:
        return ""
    titles = {}
    with page_style() as figure_of:
        figure = figure_of(5.2, 0.26 * len(rows) + 0.7)
        ax = figure.add_subplot()
        for place, row in enumerate(rows):
            error = 0.0 if np.isnan(row["standard_error"]) else row["standard_error"]
            ends = [row["difference"] - error, row["difference"] + error]
            ax.plot(ends, [place, place], color=INK, linewidth=1.4)
            face = {"behind": BAR, "cannot tell": "none"}.get(row["verdict"], BOX)
            (point,) = ax.plot(
                row["difference"], place, "o", color=INK, markerfacecolor=face, markersize=6
            )
            point.set_gid(f"method-{place}-")
            titles[f"method-{place}-"] = f"{row['method']}: {behind(row)}"
        ax.axvline(0.0, color=INK, linewidth=0.8, linestyle=(0, (1, 2)), zorder=0)
        ax.set_yticks(range(len(rows)), [row["method"] for row in rows])
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x", color=INK, alpha=0.15, linewidth=0.6)
        name = "NLL" if comparison.criterion == "nll" else "error"
        ax.set_xlabel(f"{name} behind the best, ± one standard error")
        chart = svg_of(figure, "behind", "How far every method is behind the best")
        return with_titles(chart, titles)


def _panels(
    curves: Any, labels: list[str], markup: Any, until: float | None
) -> list[dict[str, Any]]:
    """Draw the predicted class and every class; if there are many, those with the largest error."""
    order = sorted(curves.classes, key=lambda k: -curves.classes[k].error)
    named = [("the predicted class", None, curves.confidence)]
    named += [(labels[k], k, curves.classes[k]) for k in order[:MOST_PANELS]]
    panels: list[dict[str, Any]] = []
    for place, (name, k, curve) in enumerate(named):
        if _is_over(until):
            break
        panels.append(
            {
                "name": name,
                "number": k,
                "svg": markup(_panel(curve, f"reliability-{place}", name)),
                "error": f"{curve.error:.3f}",
            }
        )
    # In the order of the classes.
    return panels[:1] + sorted(panels[1:], key=lambda panel: int(panel["number"]))


def _is_over(until: float | None) -> bool:
    return until is not None and perf_counter() > until


def _panels_left(n_classes: int, n_drawn: int) -> str:
    """Say which classes have no panel; the panel of the predicted class is not counted."""
    if n_drawn >= n_classes:
        return ""
    if n_drawn < 1:
        return "There was no time to draw the reliability of the classes: allow more with --time."
    words = f"The {n_drawn} of {n_classes} classes with the largest calibration error are shown."
    if n_drawn == 1:
        words = f"The one of {n_classes} classes with the largest calibration error is shown."
    if n_drawn < MOST_PANELS:
        words += " There was no time to draw more: allow more with --time."
    return words


def _panel(curve: Any, name: str, label: str) -> str:
    with page_style() as figure_of:
        figure = figure_of(2.4, 2.2)
        ax = figure.add_subplot()
        ax.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
        ax.fill_between(curve.predicted, curve.lower, curve.upper, color=BOX, alpha=0.6, lw=0)
        style = {"color": INK, "linewidth": 1.4, "markersize": 3.5}
        (line,) = ax.plot(curve.predicted, curve.observed, "o-", **style)
        line.set_gid("points-")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="predicted", ylabel="observed")
        ax.set_xticks([0, 0.5, 1])
        ax.set_yticks([0, 0.5, 1])
        svg = svg_of(figure, name, f"Reliability of the probabilities: {label}")
    points = zip(
        *(curve.predicted, curve.observed, curve.lower, curve.upper, curve.count), strict=True
    )
    titles = [
        f"predicted {predicted:.3f}, observed {observed:.3f} (95 %: {lower:.3f} to {upper:.3f}), "
        f"{counted(int(count), 'row')}"
        for predicted, observed, lower, upper, count in points
    ]
    return with_point_titles(svg, "points-", titles) if titles else svg


def _confusion(comparison: MethodComparison, labels: list[str]) -> dict[str, Any]:
    counts = comparison.confusion()
    totals = np.maximum(counts.sum(axis=1), 1)
    cells = [
        [
            {
                "text": str(count) if count else "·",
                "share": _share(count / totals[i]),
                "kind": "right" if i == j else "",
            }
            for j, count in enumerate(row.tolist())
        ]
        for i, row in enumerate(counts)
    ]
    return {"rows": labels, "columns": labels, "cells": cells}


def _pair_grid(errors: Any, labels: list[str]) -> dict[str, Any]:
    largest = np.nanmax(errors) if np.isfinite(errors).any() else 0.0
    cells = [
        [
            {"text": "", "share": None, "kind": ""}
            if np.isnan(value)
            else {
                "text": f"{100 * value:.1f}",
                "share": _share(value / largest if largest else 0.0),
                "kind": "",
            }
            for value in row
        ]
        for row in errors
    ]
    return {"rows": labels, "columns": labels, "cells": cells}


def _share(value: float) -> int | None:
    """Return the strength of a cell's colour in percent; text stays readable below 75."""
    return round(70 * min(1.0, value)) or None


def _hardest(errors: Any, labels: list[str]) -> str:
    i, j = np.triu_indices(len(labels), 1)
    values = np.nan_to_num(errors[i, j])
    order = [k for k in np.argsort(-values, kind="stable")[:3] if values[k] > 0]
    return ", ".join(
        f"{labels[i[k]]} against {labels[j[k]]} ({100 * values[k]:.1f} %)" for k in order
    )


def _doubtful(comparison: MethodComparison, X: Any, rows: Any) -> dict[str, Any]:
    names = [] if X is None or not hasattr(X, "columns") else list(X.columns)[:MOST_COLUMNS]
    lines = []
    for found in comparison.doubtful():
        place = found["row"]
        known = place if rows is None else int(rows[place])
        values = [_shown(X[name].iloc[place]) for name in names]
        line = [known, found["class"], f"{found['probability']:.3f}", found["predicted"]]
        lines.append([*line, *values])
    return {"doubtful": lines, "doubtful_columns": names}


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:g}"
    if value != value:  # a date that is missing
        return ""
    return (day_words(value) if hasattr(value, "isoformat") else str(value))[:30]


def _plain_code(comparison: MethodComparison) -> str:
    return (
        "from polychotomy.compare import tuned_pipeline\n\n"
        f'model = tuned_pipeline("{comparison.recommended}", y).fit(X, y)\n'
        "model.predict_proba(X_new)"
    )


def _versions() -> str:
    from .. import __version__

    return (
        f"Made with polychotomy {__version__}, scikit-learn {sklearn.__version__}, Python "
        f"{platform.python_version()}."
    )
