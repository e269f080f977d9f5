"""Checks all objects of a model against the state that their classes declare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from inspect import signature
from typing import Any

from .state import Field, Sizes, require


def declared_state(cls: type) -> dict[str, Field]:
    """Return the fields of a class and of its bases."""
    found: dict[str, Field] = {}
    for base in reversed(cls.__mro__):
        found.update(vars(base).get("fitted_state", {}))
    return found


@dataclass
class State:
    """Checks all objects of a model, each of them once.

    Parameters
    ----------
    knows : callable
        Returns whether a class may be in a model.
    """

    knows: Callable[[type], bool]

    def __post_init__(self) -> None:
        self._found: dict[int, tuple[Any, Sizes | None]] = {}

    def sizes_of(self, owner: Any) -> Sizes | None:
        """Check an object against the state that its class declares.

        Returns
        -------
        sizes : dict or None
            The lengths of its shape letters; None if it is not fitted.
        """
        if id(owner) not in self._found:
            # The owner is kept too, so that no other object can get its id.
            self._found[id(owner)] = owner, self._checked(owner)
        return self._found[id(owner)][1]

    def _checked(self, owner: Any) -> Sizes | None:
        cls, there = type(owner), vars(owner)
        declared = declared_state(cls)
        if is_dataclass(cls):
            expected = {field.name for field in fields(cls)}
            _refuse_other(owner, expected - set(there), set(there) - expected)
        else:
            # From the signature: `get_params` would read attributes, which may be missing.
            is_estimator = hasattr(cls, "get_params")
            parameters = set(signature(cls).parameters) if is_estimator else set()
            _add_later(owner, parameters - set(there))
            _refuse_other(owner, parameters - set(there), set(there) - parameters - set(declared))
            if is_estimator and declared and not set(declared) & set(there):
                return None  # constructed, but not fitted
        sizes: Sizes = {}
        for name, field in declared.items():
            value = there.get(name)
            if value is None and field.optional:
                continue
            require(name in there, owner, f"has no {name}")
            field.check(self, owner, name, value, sizes)
        check = getattr(owner, "check_state", None)
        if check is not None:
            check(sizes)
        return sizes


def _add_later(owner: Any, missing: set[str]) -> None:
    """Give an object from an older file the parameters that its class has got since.

    The class lists them in `later_parameters`, with the values that change nothing.
    """
    later = getattr(type(owner), "later_parameters", {})
    for name in missing & set(later):
        setattr(owner, name, later[name])


def _refuse_other(owner: Any, missing: set[str], unexpected: set[str]) -> None:
    problems = []
    if missing:
        problems.append(f"lacks {', '.join(sorted(missing)):.100}")
    if unexpected:
        problems.append(f"has the unknown attribute {min(unexpected)!r:.60}")
    require(not problems, owner, " and ".join(problems))
