"""Load a data set by name, from the first source that has it."""

from __future__ import annotations

import os
from functools import lru_cache
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np

from ..core.checks import one_of
from ._dataset import Dataset, checksum, disagreement
from ._facts import Facts
from ._sources import Raw, file_of, from_file, from_generator, from_openml, from_scikit_learn
from ._table import TABLE

SOURCES = ("auto", "folder", "generated", "scikit-learn", "openml")
VARIABLE = "POLYCHOTOMY_DATA"


def names() -> list[str]:
    """List the data sets.

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> from polychotomy import datasets
    >>> datasets.names()[:4]
    ['abe', 'balance-scale', 'dermatology', 'digits']
    """
    return list(TABLE)


def facts(name: str) -> Facts:
    """Return what is known about a data set.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    facts : Facts

    Examples
    --------
    >>> from polychotomy import datasets
    >>> print(datasets.facts("iris"))
    iris: Iris
    150 rows, 4 inputs (4 continuous), 3 classes
    classes: Iris-setosa 50, Iris-versicolor 50, Iris-virginica 50
    papers: VANGESTEL (iri)
    cite: Fisher, R. A. (1936), Iris, UCI Machine Learning Repository
    licence: CC BY 4.0, as the UCI repository states for its data sets; cite the entry and its donors
    ways to get it:
    - iris.csv.gz in a folder given as folder=... or in the environment variable POLYCHOTOMY_DATA
    - from scikit-learn, which ships it: source="scikit-learn", exact=False (rows 35 and 38 follow Fisher's table, where the UCI file of the papers has typing errors)
    - downloaded from OpenML, data set 61: source="openml"
    """  # noqa: E501
    one_of(name, "data set", TABLE)
    return TABLE[name]


def load(
    name: str,
    source: str = "auto",
    *,
    folder: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    n_rows: int | None = None,
    missing: str = "keep",
    drop_constant: bool = False,
    exact: bool = True,
) -> Dataset:
    """Load a data set of the papers, and check that its rows are theirs.

    Parameters
    ----------
    name : str
        One of `names`.
    source : {"auto", "folder", "generated", "scikit-learn", "openml"}, default="auto"
        The source. "auto" tries, in this order: the folder, if it has the file; a
        generator or scikit-learn; OpenML. It skips sources whose rows are known not to be
        the papers' (see `Facts.differs`), unless ``exact=False``.
    folder : path, default=None
        A folder with files ``name.csv.gz`` or ``name.csv``: a header row, the inputs, then
        "split" for usps, then "class"; an empty field is a missing value. By default the folder
        in the environment variable POLYCHOTOMY_DATA, if it is set.
    seed : int, default=None
        For waveform and led: draw a sample of the law of the data with this seed. Asks for
        ``source="generated"``, whose seed is 0 by default.
    n_rows : int, default=None
        For waveform and led: how many rows to draw; as many as in the papers by default.
    missing : {"keep", "drop"}, default="keep"
        What to do with rows that have missing values. Only dermatology has any: 8 ages of 366.
        VANGESTEL counts 366 rows, so the rows are kept by default, with NaN for the age; the
        paper does not say what it put there. ``Dataset.filled(rows)``, or ``SimpleImputer()``
        before the classifier, puts the mean of the training part in its place.
    drop_constant : bool, default=False
        Skip inputs with only one value: one of segment's 19 (DUAN03 counts 19), and 3
        of the 64 of digits.
    exact : bool, default=True
        Refuse data whose rows are not those of the papers. Samples of a law that were asked for
        by ``source="generated"`` are never refused.

    Returns
    -------
    dataset : Dataset
        It has its own arrays, although a file is read only once in a process.

    Raises
    ------
    FileNotFoundError
        If no source has it. The message lists the ways to get it.
    ValueError
        If what was read is not the data of the papers, or an option does not fit.

    Notes
    -----
    Rows come in the order of their source. OpenML shuffles some data sets, so that the same seed
    gives other training parts; compare `Dataset.checksum` with `Facts.checksum` to see whether
    the order is the papers' files'.

    Examples
    --------
    >>> from polychotomy import datasets
    >>> scale = datasets.load("balance-scale", source="generated")
    >>> scale.X[[0, 1]], scale.y[:2], scale.exact
    (array([[1., 1., 1., 1.],
           [1., 1., 1., 2.]]), array(['B', 'R'], dtype='<U1'), True)
    >>> print(datasets.load("waveform", seed=3, n_rows=500))
    waveform: 500 rows, 21 inputs, 3 classes, from generated, not the rows of the papers
    """
    known = facts(name)
    one_of(source, "source", SOURCES)
    one_of(missing, "missing", ("keep", "drop"))
    if seed is not None or n_rows is not None:
        source = _for_a_sample(known, source, seed, n_rows)
    place = _folder(folder)
    if source == "auto":
        dataset = _first(known, place, exact)
    else:
        _refuse(known, source, place, exact)
        dataset = _checked(known, source, place, exact, seed or 0, n_rows)
    dataset = dataset.without_missing() if missing == "drop" else dataset
    dataset = dataset.without_constants() if drop_constant else dataset
    return dataset.copy()


def _for_a_sample(known: Facts, source: str, seed: Any, n_rows: Any) -> str:
    """Check the options of a generated sample, and return its source."""
    drawn = ("led", "waveform")
    option = "seed" if seed is not None else "n_rows"
    if known.name not in drawn:
        raise ValueError(
            f"{option} is for data sets that are drawn at random, led and waveform, not for "
            f"{known.name}."
        )
    if source not in ("auto", "generated"):
        raise ValueError(f'{option} goes with source="generated", not with source={source!r}.')
    for option, value, least in (("seed", seed, 0), ("n_rows", n_rows, 1)):
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if value is not None and not (whole and value >= least):
            raise ValueError(f"{option} must be a whole number of at least {least}, got {value!r}.")
    return "generated"


def _folder(folder: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder with data files that was given or that the environment names."""
    given = folder if folder is not None else os.environ.get(VARIABLE)
    if not given:
        return None
    path = Path(given)
    if not path.is_dir():
        who = "folder" if folder is not None else f"the environment variable {VARIABLE}"
        raise FileNotFoundError(f"{who} names {str(path)!r}, which is not a folder.")
    return path


def _first(known: Facts, place: Path | None, exact: bool) -> Dataset:
    """Return the data from the first source that has them."""
    for source in known.sources:
        if exact and source in known.differs:
            continue
        if source == "folder" and (place is None or file_of(known.name, place) is None):
            continue
        return _checked(known, source, place, exact, 0, None)
    raise _not_available(known, "" if place is None else f"There is no file of it in {place}.")


def _not_available(known: Facts, why: str) -> FileNotFoundError:
    return FileNotFoundError(
        f"The data set {known.name!r} is not available. {why}{' ' if why else ''}Ways to get it:\n"
        f"{known.ways()}"
    )


def _refuse(known: Facts, source: str, place: Path | None, exact: bool) -> None:
    """Refuse a source that does not have the data, or has other data."""
    if source not in known.sources:
        raise ValueError(
            f"source={source!r} does not have {known.name!r}. Ways to get it:\n{known.ways()}"
        )
    if source == "folder":
        if place is None:
            raise FileNotFoundError(
                f'source="folder" needs folder=... or the environment variable {VARIABLE}.'
            )
        if file_of(known.name, place) is None:
            raise _not_available(known, f"There is no file of it in {place}.")
    if exact and source != "generated" and source in known.differs:
        raise ValueError(
            f"{known.name} from {source} is not the papers' data: {known.differs[source]}. Pass "
            "exact=False to use it anyway."
        )


def _checked(
    known: Facts, source: str, place: Path | None, exact: bool, seed: int, n_rows: int | None
) -> Dataset:
    """Read the data and compare them with what is known."""
    path = file_of(known.name, place) if source == "folder" and place is not None else None
    changed = None if path is None else path.stat().st_mtime_ns
    raw, problem, summed = _read(known.name, source, path, changed, seed, n_rows)
    if problem is not None and exact and source != "generated":
        where = source if path is None else path
        raise ValueError(
            f"{known.name} from {where} is not the papers' data: {problem}. Pass exact=False to "
            "use it anyway."
        )
    feature_names = known.feature_names if problem is None else raw.feature_names
    # Other sources may use other names for the same inputs.
    inputs = known.feature_names if raw.X.shape[1] == known.inputs else feature_names
    continuous = np.array([name not in known.discrete for name in inputs])
    return Dataset(
        name=known.name,
        X=raw.X,
        y=raw.y,
        feature_names=feature_names,
        continuous=continuous,
        split=raw.split,
        facts=known,
        source=source,
        exact=problem is None,
        checksum=summed,
    )


@lru_cache(maxsize=64)
def _read(
    name: str, source: str, path: Path | None, changed: int | None, seed: int, n_rows: int | None
) -> tuple[Raw, str | None, str]:
    """Read a data set once in a process; return how it differs from the papers', and checksums.

    `changed` is the time of the file's last change: a file that has changed is read again.
    """
    known = TABLE[name]
    if path is not None:
        raw = from_file(path, known)
    elif source == "generated":
        raw = from_generator(known, n_rows, seed)
    elif source == "scikit-learn":
        raw = from_scikit_learn(known)
    else:
        try:
            raw = from_openml(known)
        except (OSError, HTTPException) as error:
            raise _not_available(known, f"OpenML could not be reached ({error}).") from error
    problem = disagreement(raw.X, raw.y, raw.split, known)
    return raw, problem, checksum(raw.X, raw.y, raw.split)
