"""Fitted state, declared in the class that it belongs to.

In `fitted_state` a class declares the attributes that fitting sets, with their kinds and shapes.
Model files contain nothing else, and every value is checked against its declaration before use.

A shape is a string with one letter per dimension. "M" is the number of classes, "L" the number of
columns of the code, "T" the number of columns with their own machine, and "d" the number of inputs.
Any other letter is a length that only this object has. The same letter means the same number
everywhere in an object, and in the parts that share it.

Note: a declaration covers most attributes. Checks that it cannot express are in a method
``check_state(self, sizes)`` of the class, which calls `require`. Check functions in a separate
package were tried before: every new part then needed a second file, which was forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .state_check import State

Sizes = dict[str, int]
MAX_FEATURES = 1 << 31
MAX_ROWS = 1 << 62


class StateError(Exception):
    """An object with an invalid state; the message says where and what is wrong."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where} {what}")


def require(condition: Any, owner: Any, what: str) -> None:
    """Raise StateError about an object unless a condition holds."""
    if not condition:
        raise StateError(f"The {type(owner).__name__} in the model", what)


class Field:
    """The kind of an attribute; `check` refuses a value of another kind.

    Parameters
    ----------
    optional : bool, default=False
        Whether the attribute may be missing, or None.
    """

    def __init__(self, *, optional: bool = False) -> None:
        self.optional = optional

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Refuse a value of another kind; record the sizes that the value determines."""
        raise NotImplementedError


class Array(Field):
    """A dense array of numbers.

    Parameters
    ----------
    shape : str
        A letter for every dimension.
    kinds : str, default="f"
        The letters of NumPy's kinds that are allowed. Floats must be finite and double precision.
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
        # A letter that no field before has shown is a mistake in the declaration: KeyError.
        below = sizes[self.below] if isinstance(self.below, str) else self.below
        inside = (
            (self.at_least is None or (value >= self.at_least).all())
            and (self.above is None or (value > self.above).all())
            and (self.at_most is None or (value <= self.at_most).all())
            and (below is None or (value < below).all())
        )
        require(inside, owner, f"has {name} out of range")


class Indices(Array):
    """An array of nonnegative indices; `below` bounds them, by a number or a letter."""

    def __init__(
        self, shape: str, *, below: float | str | None = None, optional: bool = False
    ) -> None:
        super().__init__(shape, "iu", at_least=0, below=below, optional=optional)


class Flags(Array):
    """An array of booleans."""

    def __init__(self, shape: str, *, optional: bool = False) -> None:
        super().__init__(shape, "b", optional=optional)


class Inputs(Field):
    """Rows of inputs: a dense matrix, or a sparse one.

    Parameters
    ----------
    shape : str
        Two letters.
    formats : tuple of str, default=("csr",)
        The formats that a sparse matrix may have.
    """

    def __init__(
        self, shape: str, *, formats: tuple[str, ...] = ("csr",), optional: bool = False
    ) -> None:
        super().__init__(optional=optional)
        self.shape, self.formats = shape, formats

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check type, shape and finiteness."""
        from scipy.sparse import issparse

        if not issparse(value):
            Array(self.shape).check(state, owner, name, value, sizes)
            return
        fine = value.format in self.formats and value.dtype == np.float64
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
    at_least, above, at_most : float, default=None
        Bounds.
    """

    def __init__(
        self,
        *,
        at_least: float | None = None,
        above: float | None = None,
        at_most: float | None = None,
        optional: bool = False,
    ) -> None:
        super().__init__(optional=optional)
        self.at_least, self.above, self.at_most = at_least, above, at_most

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check that it is a finite number within its bounds."""
        require(is_number(value), owner, f"has a {name} that is not a finite number")
        inside = (self.at_least is None or value >= self.at_least) and (
            self.above is None or value > self.above
        )
        inside = inside and (self.at_most is None or value <= self.at_most)
        require(inside, owner, f"has a {name} out of range")


class Whole(Field):
    """A whole number.

    Parameters
    ----------
    low, high : int
        Bounds.
    letter : str, default=None
        The shape letter whose length it is.
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
    """An object of exactly one of some types, not of their subclasses.

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
    """An object of some types or their subclasses; its contents are checked elsewhere."""

    def __init__(self, *types: type, optional: bool = False) -> None:
        super().__init__(optional=optional)
        self.types = types

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check the type."""
        require(isinstance(value, self.types), owner, f"has no valid {name}")


class Holds(Field):
    """An object with its own fitted state.

    Parameters
    ----------
    *types : type
        The types it may be an instance of, including subclasses; by default, any type with a state.
    share : str, default=""
        The letters that mean the same number in both objects.
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
    """A dictionary with string keys and fields of one kind."""

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


class Distinct(Field):
    """Labels that are distinct, in any order and of any types, such as actions.

    Parameters
    ----------
    letter : str
        The letter of their number.
    """

    def __init__(self, letter: str, *, optional: bool = False) -> None:
        super().__init__(optional=optional)
        self.letter = letter

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check that they are distinct."""
        require(type(value) is np.ndarray and value.ndim == 1, owner, f"has no valid {name}")
        plain = all(isinstance(each, str | int | float | type(None)) for each in value.tolist())
        distinct = plain and len(set(value.tolist())) == len(value) > 0
        require(distinct, owner, f"has {name} that are not distinct")
        same = sizes.setdefault(self.letter, len(value)) == len(value)
        require(same, owner, f"has {name} of another number")


class Names(Field):
    """An array of strings, one name per input."""

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check their number and type."""
        fine = type(value) is np.ndarray and value.shape == (sizes.get("d"),)
        fine = fine and all(isinstance(each, str) for each in value.tolist())
        require(fine, owner, f"has no valid {name}")


class Plain(Field):
    """A value that no computation uses, such as a table of results."""

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Accept everything; the contents have been checked separately."""


class Code(Field):
    """A codebook, whose constructor has checked the matrix; it sets "M", "L" and "T"."""

    def check(self, state: State, owner: Any, name: str, value: Any, sizes: Sizes) -> None:
        """Check its type and size."""
        from .codebook import Codebook

        require(type(value) is Codebook, owner, f"has no valid {name}")
        lengths = {"M": value.n_classes, "L": value.n_columns, "T": len(value.trained[0])}
        for letter, length in lengths.items():
            same = sizes.setdefault(letter, length) == length
            require(same, owner, f"has a {name} {_OTHER[letter]}")


# The attributes that scikit-learn sets on every fitted estimator.
INPUTS: Mapping[str, Field] = {
    "n_features_in_": Whole(1, MAX_FEATURES, letter="d"),
    "feature_names_in_": Names(optional=True),
}


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return (
        isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))
    )
