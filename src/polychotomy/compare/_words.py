"""A comparison in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.words import counted
from ._candidates import BASELINE
from ._record import FAILED, NO_MEMORY

if TYPE_CHECKING:
    from ._comparison import MethodComparison
    from ._judging import HeldOut

# A method this many times faster gets a sentence.
MUCH_FASTER = 5.0
# Advice about --methods, and the same for a command that trains one method.
_METHODS = re.compile(r"(name fewer|choose other) methods with --methods")
_ONE_METHOD = "name one with --method"
NAMES = {"nll": "negative log-likelihood", "error": "error"}


def ranking_text(comparison: MethodComparison) -> str:
    """Write the ranking as a table of text, with the sentences below it."""
    rows = comparison.rows
    titles = {row["method"]: comparison.candidates[row["method"]].title for row in rows}
    width = max(len("method"), *map(len, titles.values())) + 1
    heads = ("nll", "error", "brier", "calib.", "seconds")
    lines = [f"   {'method':<{width}}" + "".join(f"{head:>9}" for head in heads) + "  behind"]
    place = 0
    for row in rows:
        figures = "".join(
            f"{number(row[key]):>9}" for key in ("nll", "error", "brier", "calibration")
        )
        ranked = row["method"] in comparison.held_out and row["method"] != BASELINE.name
        place += ranked
        line = f"{place if ranked else '':>2} {titles[row['method']]:<{width}}{figures}"
        lines.append(f"{line}{row['seconds']:>9.2f}  {behind(row)}".rstrip())
    lines += ["", *comparison.reasons]
    return "\n".join(lines)


def number(value: float) -> str:
    """Write a figure; an empty text for NaN."""
    return "" if np.isnan(value) else f"{value:.4f}"


def behind(row: dict[str, Any]) -> str:
    """Return the distance of a method to the best, in words."""
    verdict = row["verdict"]
    if verdict == "best":
        return "best" + _useless(row)
    if verdict == "on fewer rows":
        return f"only judged on {row['extent']}"
    if np.isnan(row["difference"]):
        return "no probabilities"
    text = f"{row['difference']:+.4f}"
    if np.isnan(row["standard_error"]):
        return text + _useless(row)
    text += f" ± {row['standard_error']:.4f}"
    return text + ("" if verdict == "behind" else f", {verdict}") + _useless(row)


def extent(runs: Sequence[HeldOut]) -> str:
    """Return on how many rows and splits a method was judged, in words."""
    rows, splits = counted(runs[0].train_rows, "row"), counted(len(runs), "split")
    return f"{rows}, {splits}{'' if runs[0].tuned else ', not tuned'}"


def _useless(row: dict[str, Any]) -> str:
    return ", worse than the majority class" if row["worse_than_majority"] else ""


def for_fit(sentence: str) -> str:
    """Return a sentence about a comparison with the options of 'fit', which trains one method.

    Examples
    --------
    >>> from polychotomy.compare._words import for_fit
    >>> for_fit("Allow more with --time, or name fewer methods with --methods.")
    'Allow more with --time, or name one with --method.'
    """
    return _METHODS.sub(_ONE_METHOD, sentence)


def reasons(comparison: MethodComparison) -> list[str]:
    """Return why a method is recommended, and what speaks against it."""
    rows, key = comparison.rows, comparison.criterion
    name = comparison.recommended
    chosen = next(row for row in rows if row["method"] == name)
    if name == BASELINE.name:
        return [*_nothing(comparison), *_skipped(comparison)]
    best = next(row for row in rows if row["method"] == comparison.methods[0])
    sentences = _choice(comparison, chosen, best)
    sentences += _uncertainty(
        comparison, [row for row in rows if row["method"] in comparison.methods]
    )
    sentences += _faster(comparison, chosen, rows)
    sentences += _by_error(
        chosen, [row for row in rows if row["method"] in comparison.methods], key
    )
    if comparison.storable not in (None, name):
        sentences.append(
            f"{name} cannot be kept in a model file; the best that can is {comparison.storable}."
        )
    return sentences + _skipped(comparison)


def _nothing(comparison: MethodComparison) -> list[str]:
    return [
        "Only the baseline could be judged, which always answers with the shares of the classes: "
        "allow more time with --time, or choose other methods with --methods."
    ]


def _skipped(comparison: MethodComparison) -> list[str]:
    sentences = []
    if comparison.others:
        words = []
        for name, runs in comparison.others.items():
            why = f": {comparison.why[name]}" if name in comparison.why else ""
            words.append(f"{name} ({extent(runs)}{why})")
        sentences.append(f"Judged less thoroughly: {'; '.join(words)}.")
    if comparison.left_out:
        words = [f"{name} ({why})" for name, why in comparison.left_out.items()]
        sentences.append(f"Skipped: {'; '.join(words)}.")
    if NO_MEMORY in (*comparison.left_out.values(), *comparison.why.values()):
        sentences.append(
            "Where memory was not enough, more time does not help: --jobs 1 lets one process use "
            "most of what is free, and methods with landmarks (LSL) need less."
        )
    whys = [*comparison.left_out.values()]
    whys += [why for name, why in comparison.why.items() if name in comparison.others]
    if any(not why.startswith(FAILED) for why in whys):
        sentences.append("Allow more with --time, or name fewer methods with --methods.")
    return sentences


def _choice(
    comparison: MethodComparison, chosen: dict[str, Any], best: dict[str, Any]
) -> list[str]:
    name, key = chosen["method"], comparison.criterion
    # More time does not mend what failed for another reason.
    failed = comparison.why.get(name, "").startswith(FAILED)
    start = f"Recommended: {comparison.candidates[name].title}:"
    if name in comparison.others:
        runs = comparison.others[name]
        return [
            f"{start} its {NAMES[key]} on rows it had not seen, {chosen[key]:.4f} ({extent(runs)}; "
            f"a training part has {comparison.most_rows:,} rows), is less than that of "
            f"{best['method']} on the same rows. That has {best[key]:.4f} on "
            f"{counted(best['train_rows'], 'row')} and {counted(best['splits'], 'split')}.",
            *([] if failed else ["More time would judge it more thoroughly: --time."]),
        ]
    worth = f"; {comparison.worth}" if comparison.worth else ""
    seen = f"on rows it had not seen, {chosen[key]:.4f} ({comparison.protocol}{worth})"
    if chosen is best:
        sentences = [f"{start} the least {NAMES[key]} {seen}."]
    else:
        sentences = [
            f"{start} its {NAMES[key]} {seen}, is within one standard error of the least, "
            f"{best[key]:.4f} of {best['method']}.",
            "A pool stays near the best of its members, while a single method may be ahead by "
            "chance.",
        ]
    base = next(row for row in comparison.rows if row["method"] == BASELINE.name)
    if chosen["worse_than_majority"]:
        nothing = ": no method has learned anything from these columns"
        sentences.append(
            "But it is worse than always answering with the shares of the classes, "
            f"{base[key]:.4f}{nothing if best['worse_than_majority'] else ''}."
        )
    elif base["verdict"] == "cannot tell" and comparison.n_splits > 1:
        why = "the columns may say nothing about the class"
        if comparison.few_splits:
            why = f"{comparison.n_splits} are few"
        sentences.append(
            f"The splits cannot tell {best['method']} from always answering with the shares of the "
            f"classes, {base[key]:.4f}: {why}."
        )
    if comparison.level.rows < comparison.most_rows:
        sentences.append("More time would judge the best methods on more rows: --time.")
    elif not comparison.level.tuned and not failed:
        sentences.append("More time would tune the methods, and judge them on more splits: --time.")
    return sentences


def _uncertainty(comparison: MethodComparison, rows: list[dict[str, Any]]) -> list[str]:
    if len(rows) == 1 and comparison.recommended in comparison.methods:
        return ["No other method was judged with it, so that nothing says that it is a good one."]
    if comparison.n_splits < 2:
        return ["With one split the uncertainty of the ranking is unknown."]
    few = f" ({comparison.n_splits} splits are few)" if comparison.few_splits else ""
    sentences = []
    for verdict, words in (
        ("as good", f"As good as {rows[0]['method']}, within {comparison.margin:.4f}: "),
        ("cannot tell", f"Cannot tell from {rows[0]['method']}{few}: "),
        ("behind", "Distinguishably behind: "),
    ):
        names = [row["method"] for row in rows[1:] if row["verdict"] == verdict]
        if names:
            sentences.append(f"{words}{', '.join(names)}.")
    return sentences


def _faster(
    comparison: MethodComparison, chosen: dict[str, Any], rows: list[dict[str, Any]]
) -> list[str]:
    """Name a much faster method, if it is as good within the margin."""
    fast = [
        row
        for row in rows
        if chosen["method"] in comparison.methods
        and row["method"] in comparison.methods
        and row is not chosen
        and row["seconds"] * MUCH_FASTER < chosen["seconds"]
        and comparison.is_as_good(row["method"], chosen["method"])
    ]
    if not fast:
        return []
    row = min(fast, key=lambda one: one["seconds"])
    times = chosen["seconds"] / max(row["seconds"], 1e-3)
    return [
        f"If time matters: {row['method']} takes 1/{times:.0f} of the time, and is not behind "
        f"{chosen['method']} by more than {comparison.margin:.4f} (2 % of what the best gains over "
        "the majority class) with 95 % confidence."
    ]


def _by_error(chosen: dict[str, Any], rows: list[dict[str, Any]], key: str) -> list[str]:
    """Name the method with the least error, if it is another one."""
    if key == "error":
        return []
    least = min(rows, key=lambda row: row["error"])
    # Differences of rounding, or too small for the figures shown, are none.
    if round(least["error"], 4) >= round(chosen["error"], 4):
        return []
    return [
        f"The least error is that of {least['method']}, {least['error']:.4f} against "
        f"{chosen['error']:.4f}."
    ]
