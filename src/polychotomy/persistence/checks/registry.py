"""What has to hold of our own fitted objects before any of them is used.

Every class that may be in a model file is registered: the attributes that fitting gives it, and a
function that checks them. An attribute that is not named is refused. An object is checked after the
objects inside it, so that a check may rely on theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from inspect import signature
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

from .._values import require

MAX_FEATURES = 1 << 31


class Check(NamedTuple):
    """What is known of a class: the attributes of fitted objects, and what must hold of them."""

    fitted: frozenset[str]
    function: Callable[[Any], None]


CHECKS: dict[type, Check] = {}


def checks(
    *classes: type, fitted: str = ""
) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Register the check of some classes; `fitted` names what fitting adds to their parameters."""

    def register(function: Callable[[Any], None]) -> Callable[[Any], None]:
        for cls in classes:
            CHECKS[cls] = Check(frozenset(fitted.split()), function)
        return function

    return register


def check_own(owner: Any) -> None:
    """Check an object of one of our own classes."""
    cls, known = type(owner), CHECKS[type(owner)]
    if is_dataclass(cls):
        names = {field.name for field in fields(cls)}
        require(set(vars(owner)) == names, owner, "has not the attributes that it should have")
    elif issubclass(cls, BaseEstimator):
        # By the signature: `get_params` would read attributes, which may be missing.
        parameters = set(signature(cls).parameters)
        require(parameters <= set(vars(owner)), owner, "lacks a parameter")
        unknown = set(vars(owner)) - parameters - known.fitted
        require(not unknown, owner, f"has the unknown attribute {min(unknown, default='')!r:.60}")
        if known.fitted and not known.fitted & set(vars(owner)):
            return  # as its user made it, not fitted
    else:
        unknown = set(vars(owner)) ^ known.fitted
        require(not unknown, owner, "has not the attributes that it should have")
    known.function(owner)
