"""The values of a study: a unit of work, the result of each method, and the outcome of a unit."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from ..native import NUMERICS_VERSION

RESULTS_VERSION = 2
"""Part of every unit's key. Raise it when a change of the library changes any result: all units
are then new, and results of an older library are not mixed with new ones."""


def plain(value: Any, where: str, *, finite: bool = False) -> Any:
    """Return a copy of `value` that consists of JSON's types only, or raise an error.

    Parameters
    ----------
    value : object
        Mappings with string keys, lists, tuples, strings, numbers, booleans and None, nested as
        you like. NumPy's scalars become Python's, tuples lists.
    where : str
        The name of the value in error messages.
    finite : bool, default=False
        Whether to refuse infinite numbers and NaN.

    Examples
    --------
    >>> from polychotomy.execution.units import plain
    >>> plain({"C": (1, 10.0)}, "definition")
    {'C': [1, 10.0]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if finite and not math.isfinite(value):
            raise ValueError(f"{where} is {value}, which JSON cannot represent; write it as text.")
        return value
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}[{i}]", finite=finite) for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{where} has the key {key!r}; its keys must be strings.")
        return {key: plain(item, f"{where}[{key!r}]", finite=finite) for key, item in value.items()}
    raise TypeError(
        f"{where} is a {type(value).__name__}; use numbers, strings, lists, dicts and None."
    )


def canonical(value: Any) -> str:
    """Write a plain value as JSON, the same text for equal values.

    Examples
    --------
    >>> from polychotomy.execution.units import canonical
    >>> canonical({"b": [0.1], "a": None})
    '{"a":null,"b":[0.1]}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of a plain value's canonical JSON.

    Examples
    --------
    >>> from polychotomy.execution.units import digest
    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    return sha256(canonical(value).encode()).hexdigest()


@dataclass(frozen=True)
class Unit:
    """One unit of work: all methods of one sweep, on one partition of one data set.

    Parameters
    ----------
    study : str
        The name of the study.
    dataset : str
        The name of the data set, which workers load themselves.
    dataset_checksum : str
        The checksum of its content: other data with the same name are other units.
    partition : int
        The number of the partition into training and test rows.
    sweep : str
        The name of the sweep: the machines whose scores all its methods share.
    definition : mapping
        Everything else that determines the result (the task or protocol, methods, grids, sizes,
        seed), in types that JSON has.
    cost : float, default=0.0
        A hint: units with a greater cost start first. It is not part of the key.
    results_version : int, default=RESULTS_VERSION
        The version of the library's numbers. The versions of Python, NumPy and so on are recorded
        beside each result, and are no part of the key: a minor update of NumPy in the middle of a
        long study must not throw away what is finished.
    numerics_version : int or None, default=NUMERICS_VERSION
        The version of the numbers of the compiled core; None for results from before it had one.

    Examples
    --------
    >>> from polychotomy.execution.units import Unit
    >>> unit = Unit("demo", "iris", "0f3a", 0, "svm_ovo", {"folds": 5, "seed": 7})
    >>> len(unit.key)
    64
    >>> other = Unit("demo", "iris", "0f3a", 0, "klr_ovo", {"folds": 5, "seed": 7})
    >>> other.key == unit.key, other.seed("partition") == unit.seed("partition")
    (False, True)
    """

    study: str
    dataset: str
    dataset_checksum: str
    partition: int
    sweep: str
    definition: Mapping[str, Any]
    cost: float = field(default=0.0, compare=False)
    results_version: int = RESULTS_VERSION
    numerics_version: int | None = NUMERICS_VERSION

    def __post_init__(self) -> None:
        copied = plain(self.definition, "definition", finite=True)
        object.__setattr__(self, "definition", copied)
        object.__setattr__(self, "partition", int(self.partition))

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return f"{self.study}, {self.dataset}, partition {self.partition}, {self.sweep}"

    @cached_property
    def key(self) -> str:
        """The hash of everything that determines the unit's results."""
        return digest({"family": self.family, "partition": self.partition})

    @cached_property
    def family(self) -> str:
        """The hash of all but the partition: results of one family may be averaged."""
        parts = {
            "study": self.study,
            "dataset": self.dataset,
            "dataset_checksum": self.dataset_checksum,
            "sweep": self.sweep,
            "definition": self.definition,
            "results_version": self.results_version,
        }
        if self.numerics_version is not None:
            parts["numerics_version"] = self.numerics_version
        return digest(parts)

    def seed(self, purpose: str) -> int:
        """Return a random seed for a purpose, from the unit alone.

        The sweep is not in it, so that all sweeps see the same partitions and folds; name it in
        `purpose` where each sweep should have a seed of its own.

        Parameters
        ----------
        purpose : str
            What the seed is for.

        Returns
        -------
        seed : int
            A number below 2**32. Change ``definition["seed"]`` to get others.
        """
        parts = [self.study, self.dataset, self.partition, self.definition.get("seed"), purpose]
        return int(digest(parts)[:8], 16)


@dataclass(frozen=True)
class MethodResult:
    """The result of one method of a unit, or why there is none.

    Parameters
    ----------
    method : str
        The method's name.
    error : float or None, default=None
        The share of test rows misclassified; None only with a `failure`.
    nll : float or None, default=None
        The mean negative log-likelihood, None where there are no probabilities.
    figures : mapping of str to float, optional
        Further figures by name.
    parameters : mapping, optional
        The parameters that were chosen.
    seconds_shared, seconds_own : float, default=0.0
        The time of what all methods of the sweep share, and of this method alone.
    warnings : sequence of str, optional
        The warnings of its fit.
    failure : str or None, default=None
        Why there is no result, if it failed.

    Examples
    --------
    >>> from polychotomy.execution.units import MethodResult
    >>> MethodResult("max_wins", error=0.04, parameters={"C": 10.0}).error
    0.04
    >>> MethodResult("max_wins")
    Traceback (most recent call last):
    ...
    ValueError: Method 'max_wins' has no error; give it, or a failure that says why not.
    """

    method: str
    error: float | None = None
    nll: float | None = None
    figures: Mapping[str, float | None] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seconds_shared: float = 0.0
    seconds_own: float = 0.0
    warnings: tuple[str, ...] = ()
    failure: str | None = None

    def __post_init__(self) -> None:
        where = f"Method {self.method!r}"
        if self.error is None and self.failure is None:
            raise ValueError(f"{where} has no error; give it, or a failure that says why not.")
        for name in ("error", "nll", "seconds_shared", "seconds_own"):
            value = getattr(self, name)
            if value is not None:
                if math.isnan(value):
                    raise ValueError(
                        f"{where} has {name} NaN; give a failure that says why instead."
                    )
                object.__setattr__(self, name, float(value))
        object.__setattr__(self, "warnings", tuple(str(text) for text in self.warnings))
        for name in ("figures", "parameters"):
            object.__setattr__(self, name, plain(getattr(self, name), f"{where}, {name}"))


@dataclass(frozen=True)
class Outcome:
    """How a unit ended: with the results of its methods, or with a failure.

    Parameters
    ----------
    results : tuple of MethodResult, default=()
        One for each method.
    failure : str or None, default=None
        Why the unit as a whole has no results.
    traceback : str or None, default=None
        The traceback of the failure.
    seconds : float, default=0.0
        How long it took.
    versions : mapping of str to str, optional
        The versions of the software that computed it.

    Examples
    --------
    >>> from polychotomy.execution.units import Outcome
    >>> Outcome(failure="MemoryError").failure
    'MemoryError'
    """

    results: tuple[MethodResult, ...] = ()
    failure: str | None = None
    traceback: str | None = None
    seconds: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [result.method for result in self.results]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"Method {twice[0]!r} has two results in one unit.")
