"""Pages that no table of contents names yet are listed by themselves."""

from __future__ import annotations

import re
from pathlib import Path

MARK = "<!-- other pages -->"
# Files beside the folder of the documentation, as pages of the site.
OUTSIDE = {"../CONTRIBUTING.md": "contributing.md", "../CHANGELOG.md": "changelog.md"}


def complete(app, name: str, source: list[str]) -> None:
    """Fill in the mark, and lead links to files outside to their pages."""
    for path, page in OUTSIDE.items():
        source[0] = source[0].replace(f"({path})", f"({page})")
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, "\n".join(unlisted(Path(app.srcdir))))


def unlisted(folder: Path) -> list[str]:
    """Return the pages of the folder itself that no toctree of its pages names."""
    pages = {path.stem for path in folder.glob("*.md")} - {"index"}
    listed: set[str] = set()
    for path in [*folder.glob("*.md"), *folder.glob("tasks/*.md")]:
        for block in re.findall(r"```\{toctree\}(.*?)```", path.read_text("utf-8"), re.DOTALL):
            for line in block.splitlines():
                entry = re.sub(r"^.*<(.*)>$", r"\1", line.strip())
                listed.add(entry.strip("/"))
    return sorted(pages - listed)
