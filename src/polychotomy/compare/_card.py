"""A page that documents a model, from the figures in its file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._pages import environment


def html_card(facts: Mapping[str, Any]) -> str:
    """Write a page about a model.

    Parameters
    ----------
    facts : mapping
        What ``polychotomy show --json`` prints: "method", "title", "data", "rows", "classes",
        "target", "columns", "comparison" (None if there was none), and, if there is anything to
        say, "training" (what there was no time for) and "decisions" (sentences).

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
    template = environment().get_template("card.html")
    return str(template.render(card=facts, facts=shown, comparison=facts["comparison"])).lstrip()
