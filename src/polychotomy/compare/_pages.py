"""What the pages of comparisons and models share."""

from __future__ import annotations

from typing import Any

from ..core.extras import needed


def environment(sentence: str = "A page needs jinja2") -> Any:
    """Return the templates, with the style that all pages share."""
    needed("jinja2", "tool", sentence)
    from jinja2 import ChoiceLoader, Environment, PackageLoader

    return Environment(
        loader=ChoiceLoader(
            [PackageLoader("polychotomy.compare"), PackageLoader("polychotomy.plots")]
        ),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
