"""Put the figures of a comparison's page into one picture, for the README.

    polychotomy compare vehicle --report vehicle.html
    python docs/images/comparison.py vehicle.html docs/images/comparison.svg

The figures are those of the page, with its colours for light and dark grounds.
"""

from __future__ import annotations

import re
import sys
from html import escape, unescape
from pathlib import Path

WIDTH, RANKING, MARGIN, GAP = 900, 600, 24, 14
COLOURS = "blue: best, or as good; empty: cannot tell; red: behind"
STYLE = """
svg { --text: #1d2226; --quiet: #566069; --ground: #fdfdfc; --accent: #a9cdf0; --bar: #b3261e;
  color: var(--text); font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
@media (prefers-color-scheme: dark) { svg { --text: #e4e8ea; --quiet: #a3adb4; --ground: #15191c;
  --accent: #2d5a86; --bar: #ff8f80; } }
text { fill: var(--text); } .quiet { fill: var(--quiet); } .ground { fill: var(--ground); }
"""


def ranking_of(page):
    """Return the figure of the ranking, the first one of a page."""
    return re.search(r"<figure>\s*(<svg.*?</svg>)", page, re.DOTALL)[1]


def classes_of(page):
    """Return the reliability of every class, with its name."""
    mark = r"<figure data-class=[^>]*>\s*<h3>(.*?)</h3>\s*(<svg.*?</svg>)"
    return [(unescape(name), svg) for name, svg in re.findall(mark, page, re.DOTALL)]


def shape(svg):
    """Return height over width."""
    _, _, width, height = map(float, re.search(r'viewBox="([^"]*)"', svg)[1].split())
    return height / width


def placed(svg, x, y, width):
    """Give a figure its place."""
    size = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{width * shape(svg):.1f}" '
    return svg.replace("<svg ", f"<svg {size}", 1)


def text(words, x, y, size, more=""):
    """Write words."""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" {more}>{escape(words)}</text>'


def picture(page):
    """Compose the picture: title, ranking, and the reliability of the recommended method."""
    title = unescape(re.search(r"<h1>(.*?): which method\?</h1>", page)[1])
    winner = unescape(re.search(r"probabilities of [^<]*\((.*?)\) be trusted\?", page)[1])
    protocol = unescape(re.search(r"<p>Means over (.*?);", page)[1])
    ranking, panels = ranking_of(page), classes_of(page)
    bold = 'font-weight="600"'
    parts = [
        text(f"polychotomy compare {title}", MARGIN, 40, 20, f'{bold} font-family="monospace"'),
        text(f"{protocol}; {COLOURS}", MARGIN, 62, 13, 'class="quiet"'),
        placed(ranking, MARGIN, 76, RANKING),
    ]
    y = 76 + RANKING * shape(ranking) + 40
    question = f"{winner}, recommended: of rows that get a probability, how many are of that class?"
    parts.append(text(question, MARGIN, y, 15, bold))
    width = (WIDTH - 2 * MARGIN - GAP * (len(panels) - 1)) / len(panels)
    for place, (name, svg) in enumerate(panels):
        x = MARGIN + place * (width + GAP)
        parts += [text(name, x, y + 28, 13, bold), placed(svg, x, y + 36, width)]
    height = y + 36 + width * shape(panels[0][1]) + MARGIN
    head = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}">'
    )
    ground = '<rect class="ground" width="100%" height="100%" rx="8"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", ground, *parts, "</svg>\n"])


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_text(picture(source.read_text(encoding="utf-8")), encoding="utf-8")
