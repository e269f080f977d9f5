"""Checks a built site: links lead somewhere, nothing is fetched elsewhere, every name is there."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import api_pages
from sphinx.util.inventory import InventoryFile

# Attributes that make a browser fetch something as soon as it opens a page.
FETCHED = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("video", "src"),
}
FETCHED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch"}
# In scripts, a fetch of an absolute address; in style sheets, an import or a font.
ELSEWHERE = re.compile(r"""(?:@import|url\()\s*["']?(?:https?:)?//""")


class Page(HTMLParser):
    """The anchors and links of a page, and what it fetches."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Collect what an element has."""
        given = {name: value or "" for name, value in attributes}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and set(given.get("rel", "").split()) & FETCHED_LINKS:
            self.fetched.append(given.get("href", ""))
        self.fetched += [given[name] for kind, name in FETCHED if kind == tag and name in given]


def problems(site: Path) -> list[str]:
    """Return all that is wrong with a site, a line each."""
    files = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    pages = {path: Page(path.read_text("utf-8")) for path in files}
    found = []
    for path, page in sorted(pages.items()):
        name = path.relative_to(site)
        found += [f"{name} fetches {one}" for one in page.fetched if urlsplit(one).netloc]
        for address in [*page.links, *page.fetched]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{name} links to {address}, which does not exist")
            elif parts.fragment and target in pages:
                anchors = pages[target].anchors
                if unquote(parts.fragment) not in anchors:
                    found.append(f"{name} links to {address}, which has no such anchor")
    styles = (path for path in site.rglob("*.css") if ELSEWHERE.search(path.read_text("utf-8")))
    found += [f"{path.relative_to(site)} fetches from another host" for path in styles]
    with (site / "objects.inv").open("rb") as file:
        known = {
            name
            for kind in InventoryFile.load(file, "", lambda _, uri: uri).values()
            for name in kind
        }
    for names in api_pages.entries().values():
        found += [f"{name} is not in the reference" for name in names if name not in known]
    return found


def main() -> int:
    """Check the site that the command names."""
    site = Path(sys.argv[1]).resolve()
    found = problems(site)
    for line in found[:50]:
        print(line, file=sys.stderr)
    n_pages = sum(1 for _ in site.rglob("*.html"))
    n_names = sum(map(len, api_pages.entries().values()))
    print(f"{n_pages} pages, {n_names} public names, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
