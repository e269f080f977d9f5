"""What every code has in common."""

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
    """A rule that makes a codebook for a number of classes.

    A code of your own is a subclass with a method ``_build(n_classes, rng)`` that returns the code
    matrix; `register` gives it a name. A single matrix needs only
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
        """Make the codebook.

        Parameters
        ----------
        n_classes : int
            The number of classes, at least two.
        random_state : int, RandomState instance or None, default=None
            Seeds the codes that are drawn at random: the same seed gives the same codebook.
            The other codes do not depend on it.

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
        """Return the name of the decoder that goes with the code, with binary probabilities or not.

        A code names its decoder, and does not import it: the pipe is where they meet.
        """
        return "code_coupling" if probabilities else "loss"

    def _build(self, n_classes: int, rng: np.random.Generator) -> SignArray:
        raise NotImplementedError(f"{type(self).__name__} does not say how it is built.")


def positive_integer(value: Any, name: str) -> int:
    """Return `value` as an int after checking that it is a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a positive integer, got {value!r}.")
    if value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}.")
    return int(value)


def fewest_columns(n_classes: int) -> int:
    """Return ceil(log2 M), the fewest columns of +1 and -1 that tell M classes apart."""
    return (n_classes - 1).bit_length()


def checked_columns(n_columns: int | None, default: int, n_classes: int, existing: int) -> int:
    """Return the number of columns of a random code: as asked for, and at most all there are."""
    wanted = default if n_columns is None else positive_integer(n_columns, "n_columns")
    fewest = fewest_columns(n_classes)
    if wanted < fewest:
        raise ValueError(
            f"n_columns={wanted} is too few to give each of {n_classes} classes a codeword of its "
            f"own; at least {fewest} columns are needed."
        )
    return min(wanted, existing)
