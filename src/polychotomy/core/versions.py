"""Versions of everything that can change a result, for reports of defects and for stores."""

from __future__ import annotations

import platform
import re
import sys
from importlib import metadata

from threadpoolctl import threadpool_info


def installed(name: str) -> str | None:
    """Return the installed version of a package, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def blas_in_use() -> str:
    """Return the BLAS libraries that are loaded, with version and processor kernel."""
    found = {
        f"{library['internal_api']} {library['version']} {library.get('architecture', '')}".strip()
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }
    return ", ".join(sorted(found))


def show_versions() -> None:
    """Print the versions of Python, this library and the packages that it can use.

    Put the output into a report of a defect.

    Examples
    --------
    >>> import polychotomy
    >>> polychotomy.show_versions()  # doctest: +ELLIPSIS +NORMALIZE_WHITESPACE
    system
      python        3...
      machine       ...
      blas          ...
    packages
      polychotomy   ...
    """
    packages = {name: installed(name) for name in ("polychotomy", *_declared())}
    system = {
        "python": f"{platform.python_version()} ({sys.executable})",
        "machine": f"{platform.platform()}, {platform.machine()}",
        "blas": blas_in_use(),
    }
    width = max(map(len, packages)) + 1
    for title, values in (("system", system), ("packages", packages)):
        print(title)
        for name, value in values.items():
            print(f"  {name:{width}} {value or 'not installed'}")


def _declared() -> list[str]:
    """Return the packages of our own metadata: the base first, then those of the extras."""
    ours = [
        text for text in metadata.requires("polychotomy") or [] if not _FOR_DEVELOPERS.search(text)
    ]
    names = (re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in ours)
    return [name for name in dict.fromkeys(names) if name != "polychotomy"]


_FOR_DEVELOPERS = re.compile(r"extra == ['\"](test|dev|docs)['\"]")
