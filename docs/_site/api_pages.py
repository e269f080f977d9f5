"""The API reference: a page for every public package, a page for every public name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import shutil
from pathlib import Path

import polychotomy

# What users need not look into: implementation, and what has the names of others.
HIDDEN = ("polychotomy.native", "polychotomy.machines.")


def modules() -> dict[str, list[str]]:
    """Return every public module with the names that it declares, the package itself first."""
    found = {"polychotomy": list(polychotomy.__all__)}
    for module in pkgutil.walk_packages(polychotomy.__path__, "polychotomy."):
        private = any(part.startswith("_") for part in module.name.split("."))
        if private or module.name.startswith(HIDDEN):
            continue
        loaded = importlib.import_module(module.name)
        if loaded.__name__ == module.name and hasattr(loaded, "__all__"):
            found[module.name] = list(loaded.__all__)
    return found


def entries() -> dict[str, list[str]]:
    """Return the full names of each module's page; an object stands on one page only."""
    seen: set[int] = set()
    pages = {}
    for module, names in modules().items():
        loaded = importlib.import_module(module)
        here = []
        for name in names:
            value = getattr(loaded, name)
            if id(value) in seen or not (inspect.isclass(value) or inspect.isfunction(value)):
                continue
            seen.add(id(value))
            here.append(f"{module}.{name}")
        pages[module] = here
    return pages


def write(folder: Path) -> None:
    """Write the pages of the reference."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines = ["# API reference", "", "Every public name, by package.", "", "```{toctree}"]
    lines += [":maxdepth: 1", ""]
    for module, names in entries().items():
        if not names:
            continue
        (folder / f"{module}.rst").write_text(_page(module, names), encoding="utf-8")
        lines.append(module)
    (folder / "index.md").write_text("\n".join([*lines, "```", ""]), encoding="utf-8")


def _page(module: str, names: list[str]) -> str:
    words = inspect.getdoc(importlib.import_module(module)) or ""
    text = [module, "=" * len(module), "", words.split("\n\n")[0].replace("`", "``"), ""]
    for family, members in _families(module, names).items():
        if family:
            text += [family, "-" * len(family), ""]
        text += [".. autosummary::", "   :toctree: names", "   :template: name.rst", ""]
        text += [f"   ~{name}" for name in members] + [""]
    return "\n".join(text)


FAMILIES = {
    "pipe": "Classifiers",
    "probabilistic_svc": "Classifiers",
    "ensemble": "Classifiers",
    "machines": "Binary machines",
    "codes": "Codes",
    "calibration": "Calibrators",
    "decoding": "Decoders",
    "tempering": "After decoding",
    "decisions": "After decoding",
    "tuning": "Searches and comparisons",
    "recipes": "Methods by name",
}


def _families(module: str, names: list[str]) -> dict[str, list[str]]:
    if module != "polychotomy":
        return {"": names}
    found: dict[str, list[str]] = {title: [] for title in [*FAMILIES.values(), "Everything else"]}
    for name in names:
        package = getattr(polychotomy, name.rpartition(".")[2]).__module__.split(".")[1]
        found[FAMILIES.get(package, "Everything else")].append(name)
    return {title: members for title, members in found.items() if members}
