"""A comparison in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._comparison import MethodComparison

# A method this many times faster gets a sentence.
MUCH_FASTER = 5.0
NAMES = {"nll": "negative log-likelihood", "error": "error"}


def ranking_text(comparison: MethodComparison) -> str:
    """Write the ranking as a table of text, with the sentences below it."""
    rows = comparison.rows
    width = max(len("method"), *(len(row["method"]) for row in rows)) + 2
    heads = ("nll", "error", "brier", "calib.", "seconds", "behind the best")
    lines = [f"   {'method':<{width}}" + "".join(f"{head:>9}" for head in heads[:5]) + "  behind"]
    for place, row in enumerate(rows, 1):
        figures = "".join(
            f"{number(row[key]):>9}" for key in ("nll", "error", "brier", "calibration")
        )
        line = f"{place:>2} {row['method']:<{width}}{figures}{row['seconds']:>9.2f}"
        lines.append(f"{line}  {behind(row)}".rstrip())
    lines += ["", *comparison.reasons]
    return "\n".join(lines)


def number(value: float) -> str:
    """Write a figure; an empty text for NaN."""
    return "" if np.isnan(value) else f"{value:.4f}"


def behind(row: dict[str, Any]) -> str:
    """Return the distance of a method to the best, in words."""
    if row["p_value"] == 1.0 and row["difference"] == 0.0:
        return "best"
    if np.isnan(row["difference"]):
        return "no probabilities"
    text = f"+{row['difference']:.4f}"
    if np.isnan(row["standard_error"]):
        return text
    text += f" ± {row['standard_error']:.4f}"
    return text if row["distinguishable"] else f"{text}, not distinguishable"


def reasons(comparison: MethodComparison) -> list[str]:
    """Return why a method is recommended, and what speaks against it."""
    rows, key = comparison.rows, comparison.criterion
    chosen = next(row for row in rows if row["method"] == comparison.recommended)
    name = chosen["method"]
    sentences = _choice(comparison, chosen, rows[0])
    sentences += _uncertainty(comparison, rows)
    sentences += _faster(chosen, rows)
    sentences += _by_error(chosen, rows, key)
    if comparison.storable not in (None, name):
        sentences.append(
            f"{name} cannot be kept in a model file; the best that can is {comparison.storable}."
        )
    if comparison.left_out:
        words = "; ".join(f"{name} ({why})" for name, why in comparison.left_out.items())
        sentences.append(f"Skipped: {words}.")
    return sentences


def _choice(
    comparison: MethodComparison, chosen: dict[str, Any], best: dict[str, Any]
) -> list[str]:
    name, key = chosen["method"], comparison.criterion
    start = f"Recommended: {name} ({comparison.candidates[name].words}):"
    seen = f"on rows it had not seen, {chosen[key]:.4f} ({comparison.protocol})"
    if chosen is best:
        return [f"{start} the least {NAMES[key]} {seen}."]
    return [
        f"{start} its {NAMES[key]} {seen}, is within one standard error of the least, "
        f"{best[key]:.4f} of {best['method']}.",
        "A pool stays near the best of its members, while a single method may be ahead by chance.",
    ]


def _uncertainty(comparison: MethodComparison, rows: list[dict[str, Any]]) -> list[str]:
    if len(rows) == 1:
        return []
    if comparison.n_splits < 2:
        return ["With one split the uncertainty of the ranking is unknown."]
    alike = [row["method"] for row in rows[1:] if row["distinguishable"] is False]
    behind = [row["method"] for row in rows[1:] if row["distinguishable"]]
    few = f" ({comparison.n_splits} splits are few)" if comparison.n_splits < 5 else ""
    sentences = []
    if alike:
        it = "it" if comparison.recommended == rows[0]["method"] else rows[0]["method"]
        sentences.append(
            f"Not distinguishable from {it}{few}: {', '.join(alike)}. Their order may be chance."
        )
    if behind:
        sentences.append(f"Distinguishably behind: {', '.join(behind)}.")
    return sentences


def _faster(chosen: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    fast = [
        row
        for row in rows
        if row is not chosen
        and row["distinguishable"] is False
        and row["seconds"] * MUCH_FASTER < chosen["seconds"]
    ]
    if not fast:
        return []
    row = min(fast, key=lambda one: one["seconds"])
    times = chosen["seconds"] / max(row["seconds"], 1e-3)
    return [
        f"If time matters: {row['method']} is not distinguishable either and takes "
        f"1/{times:.0f} of the time."
    ]


def _by_error(chosen: dict[str, Any], rows: list[dict[str, Any]], key: str) -> list[str]:
    """Name the method with the least error, if it is another one."""
    if key == "error":
        return []
    least = min(rows, key=lambda row: row["error"])
    if least["error"] >= chosen["error"]:
        return []
    return [
        f"The least error is that of {least['method']}, {least['error']:.4f} against "
        f"{chosen['error']:.4f}."
    ]
