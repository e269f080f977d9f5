"""Where data sets come from: a folder, a generator, scikit-learn, OpenML."""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.types import FloatArray
from ._facts import Facts
from ._generators import generate

# Columns of OpenML that name a row.
IDENTIFIERS = {"animal", "id"}
NUMBER_OF_TEXT = {"false": 0.0, "true": 1.0, "": np.nan, "?": np.nan}


@dataclass(frozen=True)
class Raw:
    """The contents of a source: inputs, classes, names of the inputs, and parts if it has them."""

    X: FloatArray
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    split: NDArray[Any] | None = None

    def only(self, classes: list[str]) -> Raw:
        """Return the rows of some classes."""
        keep = np.isin(self.y, classes)
        return replace(self, X=self.X[keep], y=self.y[keep])


def file_of(name: str, folder: Path) -> Path | None:
    """Return the file with a data set, or the one it is a part of, if the folder has it."""
    names = [name, "letter"] if name == "abe" else [name]
    files = [folder / f"{stem}{ending}" for stem in names for ending in (".csv.gz", ".csv")]
    return next((file for file in files if file.is_file()), None)


def from_file(path: Path, facts: Facts) -> Raw:
    """Read a CSV file: a header, the inputs, then "split" if there is one, then "class"."""
    first, *lines = _lines_of(path)
    header = first.split(",")
    ending = ["split", "class"] if "split" in header else ["class"]
    n_inputs = len(header) - len(ending)
    if header[n_inputs:] != ending:
        raise ValueError(
            f"{path} must have the inputs, then {' and '.join(ending)} as its last columns; its "
            f"header ends in {', '.join(header[-2:])}."
        )
    for number, line in enumerate(lines, start=2):
        if line.count(",") != len(header) - 1:
            raise ValueError(
                f"{path} has {line.count(',') + 1} fields in line {number}, but {len(header)} in "
                "its header."
            )
    last = np.array([line.rsplit(",", len(ending))[1:] for line in lines], dtype=str)
    split = last[:, 0] if len(ending) == 2 else None
    raw = Raw(_numbers(lines, n_inputs, path), last[:, -1], tuple(header[:n_inputs]), split)
    return raw.only(list(facts.classes)) if facts.name == "abe" else raw


def _lines_of(path: Path) -> list[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise ValueError(f"{path} cannot be read ({error}). Get the file again.") from error
    if len(lines) < 2:
        raise ValueError(f"{path} has no rows.")
    return lines


def _numbers(lines: list[str], n_inputs: int, path: Path) -> FloatArray:
    """Read the inputs; an empty field is a missing value."""
    try:
        return np.loadtxt(lines, delimiter=",", usecols=range(n_inputs), ndmin=2)
    except ValueError:  # an empty field, or a wrong one, which the slow way below can name
        X = np.empty((len(lines), n_inputs))
    for number, line in enumerate(lines):
        try:
            fields = line.split(",")[:n_inputs]
            X[number] = [float(field) if field else np.nan for field in fields]
        except ValueError as error:
            raise ValueError(f"{path}, line {number + 2}: {error}.") from None
    return X


def from_generator(facts: Facts, n_rows: int | None, seed: int) -> Raw:
    """Draw a data set from its law."""
    X, y = generate(facts.name, n_rows, seed)
    return Raw(X, y, facts.feature_names)


def from_scikit_learn(facts: Facts) -> Raw:
    """Load a data set that scikit-learn ships, with the classes named as in the papers."""
    from sklearn import datasets

    load: Any = getattr(datasets, f"load_{facts.name}")
    X, y = load(return_X_y=True)
    return Raw(X.astype(np.float64), np.array(list(facts.classes))[y], facts.feature_names)


def from_openml(facts: Facts) -> Raw:
    """Download a data set from OpenML, with inputs and classes named as in the papers."""
    from sklearn.datasets import fetch_openml

    # This parser needs no pandas; nominal inputs come as numbers of their categories.
    bunch = fetch_openml(data_id=facts.openml, as_frame=False, parser="liac-arff")
    X = np.array(bunch.data, dtype=np.float64)
    for column, name in enumerate(bunch.feature_names):
        texts = (bunch.categories or {}).get(name)
        if texts is not None and name.lower() not in IDENTIFIERS:
            X[:, column] = _decoded(X[:, column], texts)
    kept = [i for i, name in enumerate(bunch.feature_names) if name.lower() not in IDENTIFIERS]
    names = tuple(bunch.feature_names[i] for i in kept)
    y = np.array([str(label).strip("'\" ") for label in bunch.target], dtype=str)
    raw = Raw(X[:, kept], y, names)
    if facts.name == "abe":
        return raw.only(list(facts.classes))
    return replace(raw, y=_renamed(raw.y, facts))


def _decoded(codes: FloatArray, texts: list[str]) -> FloatArray:
    """Return the numbers that the categories of a nominal input stand for."""
    values = [NUMBER_OF_TEXT[t.lower()] if t.lower() in NUMBER_OF_TEXT else float(t) for t in texts]
    missing = np.isnan(codes)
    return np.where(missing, np.nan, np.array(values)[np.where(missing, 0, codes).astype(int)])


def _renamed(y: NDArray[Any], facts: Facts) -> NDArray[Any]:
    """Name the classes as the papers do; if the names differ, match them by their sizes."""
    counts = Counter(y.tolist())
    if set(counts) == set(facts.classes):
        return y
    ours = {count: label for label, count in facts.classes.items()}
    if len(ours) < len(facts.classes) or sorted(ours) != sorted(counts.values()):
        return y
    return np.array([ours[counts[label]] for label in y.tolist()])
