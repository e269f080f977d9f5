"""Packages that only some features need: imported on first use, or named with their extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(module: str, extra: str, sentence: str, *, instead: str = "") -> Any:
    """Import a module of an optional package, or say which extra installs it.

    Note: a package that is installed but cannot be imported raises its own error. "Install it"
    would be the wrong advice there.

    Parameters
    ----------
    module : str
        The module to import.
    extra : str
        The extra of polychotomy that installs it.
    sentence : str
        What needs which package, without the full stop.
    instead : str, default=""
        What else the user can do.

    Returns
    -------
    module : module

    Raises
    ------
    ModuleNotFoundError
        If the package is not installed.

    Examples
    --------
    >>> from polychotomy.core.extras import needed
    >>> needed("json", "files", "Text needs json").dumps([1])
    '[1]'
    >>> needed("no_such_package", "files", "Files need no_such_package")
    Traceback (most recent call last):
        ...
    ModuleNotFoundError: Files need no_such_package: pip install 'polychotomy[files]'.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise
        advice = f"pip install 'polychotomy[{extra}]'{instead and ', or '}{instead}"
        raise ModuleNotFoundError(f"{sentence}: {advice}.", name=error.name) from None
