"""Checks of constructor parameters, in scikit-learn's words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np


class ParameterError(ValueError, TypeError):
    """A parameter that makes no sense. As scikit-learn's own error it is of both kinds."""


@dataclass(frozen=True)
class Rule:
    """What a parameter may be.

    Parameters
    ----------
    says : str
        In words, after "must be".
    allows : callable
        Says whether a value is allowed.

    Examples
    --------
    >>> from polychotomy.machines.parameters import number, one_of_these
    >>> rule = one_of_these("auto") | number(0.0)
    >>> rule.says
    "a str among {'auto'} or a float in the range (0.0, inf)"
    >>> rule.allows(-1.0)
    False
    """

    says: str
    allows: Callable[[Any], bool]

    def __or__(self, other: Rule) -> Rule:
        return Rule(
            f"{self.says} or {other.says}",
            lambda value: self.allows(value) or other.allows(value),
        )


def number(low: float, *, from_low: bool = False, infinite: bool = False) -> Rule:
    """Return the rule of numbers above `low`; `from_low` lets it be `low`, `infinite` infinite."""

    def allows(value: Any) -> bool:
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            return False
        size = float(value)
        above = size >= low if from_low else size > low
        return above and (infinite or size < np.inf)

    brackets = "[" if from_low else "(", "]" if infinite else ")"
    return Rule(f"a float in the range {brackets[0]}{low}, inf{brackets[1]}", allows)


def whole(low: int) -> Rule:
    """Return the rule of whole numbers from `low` on."""

    def allows(value: Any) -> bool:
        return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= low

    return Rule(f"an int in the range [{low}, inf)", allows)


def one_of_these(*names: str) -> Rule:
    """Return the rule of a few strings."""
    listed = ", ".join(map(repr, sorted(names)))
    return Rule(
        f"a str among {{{listed}}}", lambda value: isinstance(value, str) and value in names
    )


def instance_of(*types: type) -> Rule:
    """Return the rule of objects of some types."""
    names = [
        t.__name__ if t.__module__ == "builtins" else f"{t.__module__.split('.')[0]}.{t.__name__}"
        for t in types
    ]
    says = " or ".join(f"an instance of {name!r}" for name in names)
    return Rule(says, lambda value: isinstance(value, types))


FLAG = instance_of(bool, np.bool_)
NOTHING = Rule("None", lambda value: value is None)


def check_parameters(estimator: Any, rules: Mapping[str, Rule]) -> None:
    """Refuse an estimator with a parameter that makes no sense.

    Examples
    --------
    >>> from polychotomy import SVM
    >>> from polychotomy.machines.parameters import check_parameters, number
    >>> check_parameters(SVM(tol=0), {"tol": number(0.0)})
    Traceback (most recent call last):
    ...
    polychotomy.machines.parameters.ParameterError: The 'tol' parameter of SVM must be a float in \
the range (0.0, inf). Got 0 instead.
    """
    for name, rule in rules.items():
        value = getattr(estimator, name)
        if not rule.allows(value):
            raise ParameterError(
                f"The {name!r} parameter of {type(estimator).__name__} must be {rule.says}. "
                f"Got {value!r} instead."
            )
