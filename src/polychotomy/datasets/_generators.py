"""Data sets whose law is known, drawn from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.types import FloatArray

Drawn = tuple[FloatArray, NDArray[np.str_]]

# The segments of the digits 0 to 9: top, upper left, upper right, middle, lower left, lower right,
# bottom.
SEGMENTS = "1110111 0010010 1011101 1011011 0111010 1101011 1101111 1010010 1111111 1111011"


def balance_scale() -> Drawn:
    """Return all 625 states of a balance scale, and the side that goes down."""
    X = 1.0 + np.indices((5, 5, 5, 5)).reshape(4, -1).T.astype(np.float64)
    left, right = X[:, 0] * X[:, 1], X[:, 2] * X[:, 3]
    return X, np.select([left > right, left < right], ["L", "R"], "B")


def led(n_rows: int, seed: int) -> Drawn:
    """Draw digits of a seven-segment display, each segment wrong with probability 0.1."""
    random = np.random.RandomState(seed)
    digits = random.randint(0, 10, n_rows)
    lit = np.array([[int(bit) for bit in segments] for segments in SEGMENTS.split()])
    wrong = random.random_sample((n_rows, 7)) < 0.1
    return (lit[digits] ^ wrong).astype(np.float64), digits.astype(str)


def waveform(n_rows: int, seed: int) -> Drawn:
    """Draw random mixtures of two of three triangles, with noise of unit variance."""
    random = np.random.RandomState(seed)
    at = np.arange(1, 22)
    middle, right, left = (np.maximum(6.0 - abs(at - peak), 0.0) for peak in (11, 15, 7))
    classes = random.randint(0, 3, n_rows)
    share = random.random_sample((n_rows, 1))
    first = np.array([right, middle, middle])[classes]
    second = np.array([left, left, right])[classes]
    X = share * first + (1 - share) * second + random.standard_normal((n_rows, 21))
    return X, classes.astype(str)


def generate(name: str, n_rows: int | None, seed: int) -> Drawn:
    """Draw a data set by name; as many rows as the papers have unless told otherwise."""
    if name == "balance-scale":
        return balance_scale()
    draw: Any = {"led": led, "waveform": waveform}[name]
    rows = {"led": 600, "waveform": 5000}[name] if n_rows is None else n_rows
    drawn: Drawn = draw(rows, seed)
    return drawn
