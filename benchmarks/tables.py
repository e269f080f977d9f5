"""Put the tables of `benchmarks/results` into the documentation.

A page says ``<!-- table: NAME -->`` where the table of ``NAME.csv`` belongs, and ``<!-- end -->``
after it. What stands between the two is replaced; a test compares pages and files.

    python benchmarks/tables.py
"""

from __future__ import annotations

import re
from pathlib import Path

from _table import RESULTS, markdown, read_table

DOCS = RESULTS.parents[1] / "docs"
MARKED = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages() -> list[Path]:
    """Return the pages that have tables of files."""
    found = [*DOCS.glob("*.md"), *DOCS.glob("tasks/*.md")]
    return sorted(page for page in found if MARKED.search(page.read_text("utf-8")))


def shown(name: str) -> str:
    """Return a table of the results with a line that says where it is from."""
    words, (head, *rows) = read_table(RESULTS / f"{name}.csv")
    return f"{markdown(head, rows)}\n\n*`results/{name}.csv`. {words[1]}*\n"


def filled(text: str) -> str:
    """Return the text of a page with the tables of the files that it names."""
    return MARKED.sub(lambda mark: f"{mark[1]}\n{shown(mark[2])}\n{mark[3]}", text)


if __name__ == "__main__":
    for page in pages():
        page.write_text(filled(page.read_text("utf-8")), encoding="utf-8")
