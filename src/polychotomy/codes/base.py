"""The base class of all codes, and checks that they share."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ..core.codebook import Codebook
from ..core.registry import Part
from ..core.types import SignArray


class Code(Part, BaseEstimator):
    """A rule that builds a codebook for a given number of classes.

    To write your own code, subclass it with a method ``_build(n_classes, rng)`` that returns the
    code matrix; `register` gives it a name. For a single matrix, use
    :class:`~polychotomy.codes.CustomCode`.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.codes import Code
    >>> class FirstAgainstEach(Code):
    ...     name = "first_against_each"
    ...     def _build(self, n_classes, rng):
    ...         return np.vstack([np.ones(n_classes - 1), -np.eye(n_classes - 1)])
    >>> FirstAgainstEach().build(3)
    Codebook(first_against_each, 3 classes, 2 columns)
       0  1
    0  +  +
    1  -  .
    2  .  -
    """

    part_kind: ClassVar[str] = "code"

    def build(self, n_classes: int, random_state: Any = None) -> Codebook:
        """Build the codebook.

        Parameters
        ----------
        n_classes : int
            The number of classes, at least two.
        random_state : int, RandomState instance or None, default=None
            The seed of codes that are drawn at random: the same seed gives the same codebook.
            Other codes do not depend on it.

        Returns
        -------
        codebook : Codebook
        """
        n_classes = positive_integer(n_classes, "n_classes")
        if n_classes < 2:
            raise ValueError(f"A code needs at least two classes; got n_classes={n_classes}.")
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=4)
        return Codebook(self._build(n_classes, np.random.default_rng(seed)), name=self.name)

    def default_decoder(self, probabilities: bool) -> str:
        """Return the name of the code's default decoder, given binary probabilities or not.

        Note: a code names its decoder but does not import it. Only the pipe knows both packages.
        """
        return "code_coupling" if probabilities else "loss"

    def _build(self, n_classes: int, rng: np.random.Generator) -> SignArray:
        raise NotImplementedError(f"{type(self).__name__} must define _build(n_classes, rng).")


def positive_integer(value: Any, name: str) -> int:
    """Return `value` as an int after checking that it is a positive whole number."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a positive integer, got {value!r}.")
    if value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}.")
    return int(value)


def fewest_columns(n_classes: int) -> int:
    """Return ceil(log2 M), the fewest columns of +1 and -1 that tell M classes apart."""
    return (n_classes - 1).bit_length()


def checked_columns(n_columns: int | None, default: int, n_classes: int, existing: int) -> int:
    """Return the number of columns of a random code: the requested number, or all that exist."""
    wanted = default if n_columns is None else positive_integer(n_columns, "n_columns")
    fewest = fewest_columns(n_classes)
    if wanted < fewest:
        raise ValueError(
            f"n_columns={wanted} is too few to give each of {n_classes} classes its own "
            f"codeword; at least {fewest} columns are needed."
        )
    return min(wanted, existing)
