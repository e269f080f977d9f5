"""A page that documents a model, from the figures in its file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.words import counted
from ._candidates import BASELINE, candidates
from ._pages import environment


def html_card(facts: Mapping[str, Any]) -> str:
    """Write a page about a model.

    Parameters
    ----------
    facts : mapping
        What ``polychotomy show --json`` prints: "method", "title", "data", "rows", "classes",
        "target", "columns", "comparison" (None if there was none), and, if there is anything to
        say, "trained_rows", "training" (what there was no time for) and "decisions" (sentences).

    Returns
    -------
    page : str

    Examples
    --------
    >>> from polychotomy.compare import html_card
    >>> facts = {"method": "PSVC", "title": "SVM (PSVC)", "data": "a.csv", "rows": 9,
    ...          "classes": ["x", "y"], "target": "kind", "columns": [], "comparison": None}
    >>> "It was not compared" in html_card(facts)
    True
    """
    shown = [
        ("rows", facts["rows"] or "unknown"),
        ("classes", len(facts["classes"])),
        ("columns", len(facts["columns"])),
    ]
    if facts.get("written"):
        shown.append(("written", str(facts["written"])[:10]))
    template, comparison = environment().get_template("card.html"), facts["comparison"]
    judged, listed = "", False
    if comparison is not None:
        judged = how_judged(comparison, facts["method"])
        listed = was_judged(comparison, facts["method"])
    titles = {one.name: one.title for one in [*candidates().values(), BASELINE]}
    judged += fewer_rows(facts)
    values = {
        "card": facts,
        "facts": shown,
        "comparison": comparison,
        "judged": judged,
        "listed": listed,
    }
    return str(template.render(**values, titles=titles)).lstrip()


def fewer_rows(facts: Mapping[str, Any]) -> str:
    """Say that the model in the file learned from fewer rows than where it was judged, if it did.

    Parameters
    ----------
    facts : mapping
        As for `html_card`, with "trained_rows".

    Returns
    -------
    words : str
        Empty, or what follows how it was judged.

    Examples
    --------
    >>> from polychotomy.compare._card import fewer_rows
    >>> ranking = [{"method": "LSL", "train_rows": 3000}]
    >>> facts = {"method": "LSL", "trained_rows": 1500, "comparison": {"ranking": ranking}}
    >>> fewer_rows(facts)
    '; trained on 3,000 rows there, and on 1,500 in the file, so that it is less good'
    >>> fewer_rows({**facts, "trained_rows": 4000})
    ''
    """
    comparison, known = facts["comparison"], facts.get("trained_rows")
    own = [row for row in (comparison or {}).get("ranking", ()) if row["method"] == facts["method"]]
    if not own or known is None or known >= own[0]["train_rows"]:
        return ""
    rows = counted(own[0]["train_rows"], "row")
    return f"; trained on {rows} there, and on {known:,} in the file, so that it is less good"


def was_judged(comparison: Mapping[str, Any], method: str) -> bool:
    """Whether a method was judged: if there is no time to train those that were, another is."""
    return any(row["method"] == method for row in comparison["ranking"])


def how_judged(comparison: Mapping[str, Any], method: str) -> str:
    """Return how thoroughly a method was judged, in words.

    Parameters
    ----------
    comparison : mapping
        The summary of a comparison.
    method : str
        The method, which may have been judged on fewer rows or splits than the others.

    Returns
    -------
    words : str

    Examples
    --------
    >>> from polychotomy.compare._card import how_judged
    >>> row = {"method": "POOL", "verdict": "on fewer rows", "train_rows": 1000, "splits": 1}
    >>> how_judged({"protocol": "3 of the 5 planned splits", "ranking": [row]}, "POOL")
    'trained on 1,000 rows, 1 split; other methods: 3 of the 5 planned splits'
    """
    worth = f"; {comparison['worth']}" if comparison.get("worth") else ""
    whole = f"{comparison['protocol']}{worth}"
    row = next((row for row in comparison["ranking"] if row["method"] == method), None)
    if row is None or row["verdict"] != "on fewer rows":
        return whole
    rows, splits = counted(row["train_rows"], "row"), counted(row["splits"], "split")
    return f"trained on {row.get('extent') or f'{rows}, {splits}'}; other methods: {whole}"
