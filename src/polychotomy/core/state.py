"""Fitted state, declared beside the class it belongs to.

A class says in `fitted_state` which attributes fitting gives it, of which kind and shape. Model
files hold nothing else, and every value is checked against its declaration before it is used.

A shape is a word with a letter for every dimension. "M" is the number of classes, "L" that of the
columns of the code, "T" that of the columns that have a machine of their own, "d" that of the
inputs. Any other letter is a length of the object's own. The same letter is the same number
wherever it stands in an object, and in the parts that share it.

Note: a declaration says what most attributes need. What it cannot say is in a method
``check_state(self, sizes)`` of the class, which calls `require`. Checks as functions in a package
of their own were tried before: a new part then needed a second file, which was forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np

Sizes = dict[str, int]
MAX_FEATURES = 1 << 31
MAX_ROWS = 1 << 62


class StateError(Exception):
    """Something that an object must not be: where it is, and what is wrong with it."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where} {what}")


def require(condition: Any, owner: Any, what: str) -> None:
    """Refuse an object of which something does not hold."""
    if not condition:
        raise StateError(f"The {type(owner).__name__} in the model", what)


class Field:
    """The kind of an attribute; `check` refuses a value that is not of it.

    Parameters
    ----------
    optional : bool, default=False
        Whether the attribute may be missing, or None.
    """

    def __init__(self, *, optional: bool = False) -> None:
        self.optional = optional

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Refuse a value that is not of this kind; note the sizes that it shows."""
        raise NotImplementedError


class Array(Field):
    """A dense array of numbers.

    Parameters
    ----------
    shape : str
        A letter for every dimension.
    kinds : str, default="f"
        NumPy's letters of the types it may have. Floats must be finite and of double precision.
    at_least, above, at_most, below : float or str, default=None
        Bounds of the entries; `below` may be a letter of a shape.
    """

    def __init__(
        self,
        shape: str,
        kinds: str = "f",
        *,
        at_least: float | None = None,
        above: float | None = None,
        at_most: float | None = None,
        below: float | str | None = None,
        optional: bool = False,
    ) -> None:
        super().__init__(optional=optional)
        self.shape, self.kinds = shape, kinds
        self.at_least, self.above, self.at_most, self.below = at_least, above, at_most, below

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check type, shape, finiteness and bounds."""
        fine = type(value) is np.ndarray and value.dtype.kind in self.kinds
        require(fine, owner, f"has no valid {name}")
        fits = value.ndim == len(self.shape) and all(
            sizes.setdefault(letter, length) == length
            for letter, length in zip(self.shape, value.shape, strict=True)
        )
        require(fits, owner, f"has {name} of shape {value.shape}, which does not fit")
        if value.dtype.kind == "f":
            require(np.isfinite(value).all(), owner, f"has a NaN or infinite value in {name}")
            require(value.dtype == np.float64, owner, f"has {name} of another precision")
        below = sizes.get(self.below) if isinstance(self.below, str) else self.below
        inside = (
            (self.at_least is None or (value >= self.at_least).all())
            and (self.above is None or (value > self.above).all())
            and (self.at_most is None or (value <= self.at_most).all())
            and (below is None or (value < below).all())
        )
        require(inside, owner, f"has {name} out of range")


class Indices(Array):
    """An array of indices, from 0 on; `below` bounds them, by a number or a letter."""

    def __init__(
        self, shape: str, *, below: float | str | None = None, optional: bool = False
    ) -> None:
        super().__init__(shape, "iu", at_least=0, below=below, optional=optional)


class Flags(Array):
    """An array of booleans."""

    def __init__(self, shape: str, *, optional: bool = False) -> None:
        super().__init__(shape, "b", optional=optional)


class Inputs(Field):
    """Rows of inputs: a dense matrix, or a sparse one in rows.

    Parameters
    ----------
    shape : str
        Two letters.
    """

    def __init__(self, shape: str, *, optional: bool = False) -> None:
        super().__init__(optional=optional)
        self.shape = shape

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check type, shape and finiteness."""
        from scipy.sparse import issparse

        if not issparse(value):
            Array(self.shape).check(state, owner, name, value, sizes)
            return
        fine = value.format == "csr" and value.dtype == np.float64
        require(fine, owner, f"has no valid {name}")
        require(np.isfinite(value.data).all(), owner, f"has a NaN or infinite value in {name}")
        fits = all(
            sizes.setdefault(letter, length) == length
            for letter, length in zip(self.shape, value.shape, strict=True)
        )
        require(fits, owner, f"has {name} of shape {value.shape}, which does not fit")


class Number(Field):
    """A finite number.

    Parameters
    ----------
    at_least, above : float, default=None
        Bounds.
    """

    def __init__(
        self, *, at_least: float | None = None, above: float | None = None, optional: bool = False
    ) -> None:
        super().__init__(optional=optional)
        self.at_least, self.above = at_least, above

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check that it is a finite number within its bounds."""
        require(is_number(value), owner, f"has a {name} that is not a finite number")
        inside = (self.at_least is None or value >= self.at_least) and (
            self.above is None or value > self.above
        )
        require(inside, owner, f"has a {name} out of range")


class Whole(Field):
    """A whole number.

    Parameters
    ----------
    low, high : int
        Bounds.
    letter : str, default=None
        The letter of shapes that it is the length of.
    """

    def __init__(
        self,
        low: int = -MAX_ROWS,
        high: int = MAX_ROWS,
        *,
        letter: str | None = None,
        optional: bool = False,
    ) -> None:
        super().__init__(optional=optional)
        self.low, self.high, self.letter = low, high, letter

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check that it is a whole number within its bounds."""
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        require(whole and self.low <= int(value) <= self.high, owner, f"has a {name} out of range")
        if self.letter is not None:
            same = sizes.setdefault(self.letter, int(value)) == int(value)
            require(same, owner, f"has a {name} that does not fit")


class OneOf(Field):
    """One of a few plain values."""

    def __init__(self, *values: Any, optional: bool = False) -> None:
        super().__init__(optional=optional)
        self.values = values

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check that it is one of them."""
        plain = isinstance(value, str | bool | int | float | type(None))
        require(plain and value in self.values, owner, f"has no valid {name}")


class Instance(Field):
    """An object of one of some types: these very types, no subclasses.

    Parameters
    ----------
    *types : type
        The types.
    """

    def __init__(self, *types: type, optional: bool = False) -> None:
        super().__init__(optional=optional)
        self.types = types

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check the type."""
        require(type(value) in self.types, owner, f"has no valid {name}")


class IsA(Field):
    """An object of some types or their subclasses; what is in it is checked elsewhere."""

    def __init__(self, *types: type, optional: bool = False) -> None:
        super().__init__(optional=optional)
        self.types = types

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check the type."""
        require(isinstance(value, self.types), owner, f"has no valid {name}")


class Holds(Field):
    """An object with a fitted state of its own.

    Parameters
    ----------
    *types : type
        What it may be an instance of, subclasses included; none for any object with a state.
    share : str, default=""
        The letters that mean the same number in both.
    fitted : bool, default=True
        Whether it must be fitted.
    """

    def __init__(
        self, *types: type, share: str = "", fitted: bool = True, optional: bool = False
    ) -> None:
        super().__init__(optional=optional)
        self.types, self.share, self.fitted = types, share, fitted

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check type, fitted state and shared sizes."""
        fine = isinstance(value, self.types) if self.types else True
        require(fine and state.knows(type(value)), owner, f"has no valid {name}")
        inner = state.sizes_of(value)
        if inner is None:
            require(not self.fitted, owner, f"has a {name} that is not fitted")
            return
        for letter in self.share:
            if letter in inner:
                same = sizes.setdefault(letter, inner[letter]) == inner[letter]
                require(same, owner, f"has a {name} {_OTHER.get(letter, 'of another size')}")


_OTHER = {
    "M": "of other classes",
    "L": "of another code",
    "T": "of another code",
    "d": "of another number of inputs",
}


class ListOf(Field):
    """A list of fields of one kind."""

    def __init__(self, entry: Field, letter: str | None = None, *, optional: bool = False) -> None:
        super().__init__(optional=optional)
        self.entry, self.letter = entry, letter

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check every entry."""
        require(type(value) is list, owner, f"has no valid {name}")
        if self.letter is not None:
            same = sizes.setdefault(self.letter, len(value)) == len(value)
            require(same, owner, f"has {name} of another length")
        for each in value:
            if each is None and self.entry.optional:
                continue
            self.entry.check(state, owner, name, each, sizes)


class DictOf(Field):
    """A dictionary with strings for keys, and fields of one kind."""

    def __init__(self, entry: Field, *, optional: bool = False) -> None:
        super().__init__(optional=optional)
        self.entry = entry

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check every entry."""
        keys = type(value) is dict and all(isinstance(key, str) for key in value)
        require(keys, owner, f"has no valid {name}")
        for each in value.values():
            self.entry.check(state, owner, name, each, sizes)


class Labels(Field):
    """Class labels: distinct and in order.

    Parameters
    ----------
    letter : str, default="M"
        The letter of their number.
    """

    def __init__(self, letter: str = "M", *, optional: bool = False) -> None:
        super().__init__(optional=optional)
        self.letter = letter

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check that they are distinct and in order."""
        require(type(value) is np.ndarray and value.ndim == 1, owner, f"has no valid {name}")
        ordered = len(np.unique(value)) == len(value) and bool((value == np.unique(value)).all())
        require(len(value) >= 2 and ordered, owner, f"has {name} that are not in order")
        same = sizes.setdefault(self.letter, len(value)) == len(value)
        require(same, owner, f"has {name} of another number")


class Names(Field):
    """An array of strings, a name for every input."""

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check their number and type."""
        fine = type(value) is np.ndarray and value.shape == (sizes.get("d"),)
        fine = fine and all(isinstance(each, str) for each in value.tolist())
        require(fine, owner, f"has no valid {name}")


class Plain(Field):
    """Anything that nothing is computed from, such as a table of results."""

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Let everything pass; what is inside it has been checked on its own."""


class Code(Field):
    """A codebook, whose constructor has checked the matrix; it sets "M", "L" and "T"."""

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check its type, and that it is of the right size."""
        from .codebook import Codebook

        require(type(value) is Codebook, owner, f"has no valid {name}")
        lengths = {"M": value.n_classes, "L": value.n_columns, "T": len(value.trained[0])}
        for letter, length in lengths.items():
            same = sizes.setdefault(letter, length) == length
            require(same, owner, f"has a {name} {_OTHER[letter]}")


# What scikit-learn gives every fitted estimator.
INPUTS: Mapping[str, Field] = {
    "n_features_in_": Whole(1, MAX_FEATURES, letter="d"),
    "feature_names_in_": Names(optional=True),
}


def is_number(value: Any) -> bool:
    """Say whether a value is a finite number."""
    return (
        isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))
    )


def declared_state(cls: type) -> dict[str, Field]:
    """Return the fields of a class and of its bases."""
    found: dict[str, Field] = {}
    for base in reversed(cls.__mro__):
        found.update(vars(base).get("fitted_state", {}))
    return found


@dataclass
class State:
    """The check of all objects of a model; what has been checked is remembered.

    Parameters
    ----------
    knows : callable
        Says whether a class may be in a model at all.
    """

    knows: Callable[[type], bool]

    def __post_init__(self) -> None:
        self._found: dict[int, tuple[Any, Sizes | None]] = {}

    def sizes_of(self, owner: Any) -> Sizes | None:
        """Check an object against the state that its class declares.

        Returns
        -------
        sizes : dict or None
            What the letters of its shapes stand for; None if it is not fitted.
        """
        if id(owner) not in self._found:
            # The owner is kept as well, so that no other object gets its number.
            self._found[id(owner)] = owner, self._checked(owner)
        return self._found[id(owner)][1]

    def _checked(self, owner: Any) -> Sizes | None:
        cls, there = type(owner), vars(owner)
        declared = declared_state(cls)
        if is_dataclass(cls):
            expected = {field.name for field in fields(cls)}
            _refuse_other(owner, expected - set(there), set(there) - expected)
        else:
            # By the signature: `get_params` would read attributes, which may be missing.
            is_estimator = hasattr(cls, "get_params")
            parameters = set(signature(cls).parameters) if is_estimator else set()
            _refuse_other(owner, parameters - set(there), set(there) - parameters - set(declared))
            if is_estimator and declared and not set(declared) & set(there):
                return None  # as its user made it, not fitted
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


def _refuse_other(owner: Any, missing: set[str], unexpected: set[str]) -> None:
    problems = []
    if missing:
        problems.append(f"lacks {', '.join(sorted(missing)):.100}")
    if unexpected:
        problems.append(f"has the unknown attribute {min(unexpected)!r:.60}")
    require(not problems, owner, " and ".join(problems))
