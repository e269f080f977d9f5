"""Figures as SVG that takes its colours from the page it stands in."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.extras import needed

# Placeholder colours for matplotlib, used nowhere else; they are replaced by the page's own.
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


@contextmanager
def page_style() -> Iterator[Any]:
    """Set matplotlib up for the page, and give what makes a figure of a size."""
    matplotlib = needed(
        "matplotlib",
        "plot",
        "The figures of a report need matplotlib",
        instead="write Markdown or LaTeX tables, which do not",
    )
    from matplotlib.figure import Figure

    def figure_of(width: float, height: float) -> Any:
        return Figure(figsize=(width, height), layout="constrained")

    with matplotlib.rc_context(STYLE):
        yield figure_of


def svg_of(figure: Any, name: str, label: str) -> str:
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
