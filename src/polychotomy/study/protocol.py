"""How a unit of a study is run: one partition, one sweep of machines, all methods that share it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import datasets
from ..core import scores
from ..core.checks import suggestion
from ..core.types import FloatArray, IntArray
from ..execution.units import MethodResult, Unit
from ..execution.work import load_once
from ..machines import guessed_seconds
from ..pipe.classifier import PolychotomyClassifier
from ..tuning.grid import FACTORS
from ..tuning.recipe import find_recipe
from ..tuning.tune import Plan, Tuned, tune
from .definition import DatasetPart, StudyDefinition, StudyMethod


@dataclass(frozen=True)
class Partition:
    """A data set divided into a training and a test part, with inputs scaled by the former.

    Parameters
    ----------
    X_train, X_test : ndarray
        The inputs.
    y_train, y_test : ndarray
        The classes.
    """

    X_train: FloatArray
    y_train: NDArray[Any]
    X_test: FloatArray
    y_test: NDArray[Any]


def run_unit(unit: Unit) -> list[MethodResult]:
    """Tune, fit and test all methods of a unit.

    Everything random comes from the unit alone. The methods see the training part only.

    Parameters
    ----------
    unit : Unit
        Its definition has "data" (options of `datasets.load`), "split", "train", "inputs",
        "search" and "methods"; see `polychotomy.study.definition`.

    Returns
    -------
    results : list of MethodResult
        One for every method.

    Examples
    --------
    >>> from polychotomy import datasets
    >>> from polychotomy.study.protocol import run_unit
    >>> from polychotomy.execution.units import Unit
    >>> options = {"name": "iris", "source": "scikit-learn", "exact": False}
    >>> definition = {
    ...     "data": options, "split": "stratified", "train": 75, "inputs": "continuous", "seed": 1,
    ...     "search": {"folds": 5, "ties": "duan2003", "steps": "coarse"},
    ...     "methods": [{"name": "MWV_SVM", "recipe": "MWV_SVM"}],
    ... }
    >>> checksum = datasets.load(**options).checksum
    >>> unit = Unit("demo", "iris", checksum, 0, "SVM one_vs_one", definition)
    >>> (result,) = run_unit(unit)
    >>> result.method, result.error < 0.1
    ('MWV_SVM', True)
    """
    part = partition(unit)
    classifiers = {
        entry["name"]: (_classifier(entry, unit), unit.definition["search"]["ties"])
        for entry in unit.definition["methods"]
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tuned = tune(classifiers, part.X_train, part.y_train, None, {}, _plan(unit, part.y_train))
        return [_tested(name, one, part, caught) for name, one in tuned.items()]


def partition(unit: Unit) -> Partition:
    """Divide the data set of a unit into its training and test part.

    Parameters
    ----------
    unit : Unit
        The unit.

    Returns
    -------
    part : Partition
    """
    name, options = unit.definition["data"]["name"], dict(unit.definition["data"])
    # Data that differ from the driver's are a fault of the worker, not of the unit.
    data = load_once(name, unit.dataset_checksum, lambda _: datasets.load(**options))
    train, test = _rows(data, unit)
    X = data.filled(train)
    inputs = unit.definition["inputs"]
    scaled = data.continuous if inputs == "continuous" else np.full(X.shape[1], inputs == "all")
    mean, deviation = X[train].mean(axis=0), X[train].std(axis=0)
    # An input that is constant in the training part is only centred.
    deviation[deviation <= 1e-12 * np.abs(mean)] = 1.0
    X = X.copy()
    X[:, scaled] = ((X - mean) / deviation)[:, scaled]
    return Partition(X[train], data.y[train], X[test], data.y[test])


def _rows(data: Any, unit: Unit) -> tuple[IntArray, IntArray]:
    from sklearn.model_selection import train_test_split

    split, size = unit.definition["split"], unit.definition["train"]
    rows = np.arange(len(data.y))
    if split == "given":
        return rows[data.split == "train"], rows[data.split == "test"]
    train, test = train_test_split(
        rows,
        train_size=size,
        stratify=data.y if split == "stratified" else None,
        random_state=unit.seed("partition"),
    )
    return np.sort(train), np.sort(test)


def _plan(unit: Unit, y: NDArray[Any]) -> Plan:
    from sklearn.model_selection import StratifiedKFold

    search = unit.definition["search"]
    # A random part of a small set may have no class with a row for every fold. Methods that are not
    # tuned need no folds, so that only the others fail if not even two are possible.
    largest = int(np.unique(y, return_counts=True)[1].max())
    n_folds = min(search["folds"], max(largest, 2))
    if n_folds < search["folds"]:
        warnings.warn(
            f"No class has more than {largest} training rows: {n_folds} folds instead of "
            f"{search['folds']}.",
            UserWarning,
            stacklevel=2,
        )
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=unit.seed("folds"))
    learner = unit.definition["methods"][0].get("learner")
    return Plan(
        coarse=None if learner in (None, "svm") else {},
        fine=FACTORS if search["steps"] == "two" else None,
        cv=folds,
        n_jobs=1,
        refit=True,
        tick=lambda name, done, total: None,
        judge_single=False,
    )


def _classifier(entry: Mapping[str, Any], unit: Unit) -> PolychotomyClassifier:
    method = StudyMethod(**entry)
    machine = method.machine(unit.seed("learner"))
    found: PolychotomyClassifier = find_recipe(method.recipe).classifier(
        machine, landmarks=None, random_state=unit.seed("codes")
    )
    return found


def _tested(name: str, tuned: Tuned, part: Partition, caught: Sequence[Any]) -> MethodResult:
    start = perf_counter()
    assert tuned.classifier is not None
    clf = tuned.classifier
    nll: float | None = None
    figures: dict[str, float | None] = {}
    if hasattr(clf, "predict_proba"):
        p = clf.predict_proba(part.X_test)
        predicted = clf.classes_[p.argmax(axis=1)]
        nll, figures = _likelihood(p, clf.classes_, part.y_test)
    else:
        predicted = clf.predict(part.X_test)
    outcome = tuned.method.outcomes.get(tuned.best)
    figures["cv_error"] = None if outcome is None else outcome.error
    figures["cv_nll"] = None if outcome is None else outcome.nll
    return MethodResult(
        method=name,
        error=float(scores.error(predicted, part.y_test)),
        nll=nll,
        figures=figures,
        parameters=tuned.best_params,
        seconds_shared=sum(tuned.sweep.seconds.values()),
        seconds_own=tuned.method.seconds + perf_counter() - start,
        warnings=tuple(dict.fromkeys(str(warning.message) for warning in caught)),
    )


def _likelihood(
    p: FloatArray, classes: NDArray[Any], y: NDArray[Any]
) -> tuple[float, dict[str, float | None]]:
    place = np.searchsorted(classes, y)
    known = classes[np.minimum(place, len(classes) - 1)] == y
    # Rows of a class that the training part does not have get the probability 0.
    numbers = np.where(known, place, -1)
    figures: dict[str, float | None] = {
        "brier": float(scores.brier(p, numbers)),
        "rows_of_unseen_classes": float(np.sum(~known)),
    }
    return float(scores.nll(p, numbers)), figures


def sweep_name(entry: Mapping[str, Any]) -> str:
    """Name the sweep that a method belongs to: its machine and its code.

    Parameters
    ----------
    entry : mapping
        A method of a study: "recipe", and "learner" if it has one.

    Returns
    -------
    name : str

    Examples
    --------
    >>> from polychotomy.study.protocol import sweep_name
    >>> sweep_name({"recipe": "PWC_PSVM"}), sweep_name({"recipe": "VOTE", "learner": "tree"})
    ('SVM one_vs_one', 'tree one_vs_one')
    """
    recipe = find_recipe(entry["recipe"])
    machine = entry.get("learner") or type(recipe.machine).__name__
    kernel = getattr(recipe.machine, "kernel", "rbf")
    words = [machine, *([] if kernel == "rbf" else [kernel]), recipe.code.name]
    if "refit" in recipe.decoder.needs:
        words.append("nested")
    return " ".join(words)


def units_of(
    study: StudyDefinition,
    datasets_wanted: Iterable[str] | None = None,
    methods_wanted: Iterable[str] | None = None,
    partitions: int | None = None,
    data: Mapping[str, Any] | None = None,
) -> list[Unit]:
    """Divide a study into its units of work.

    Parameters
    ----------
    study : StudyDefinition
        The study.
    datasets_wanted, methods_wanted : iterable of str, default=None
        Only some data sets (by their labels in the study) or methods; all by default.
    partitions : int, default=None
        The number of partitions; that of the study by default.
    data : mapping, default=None
        Options of `datasets.load` for all data sets.

    Returns
    -------
    units : list of Unit
        In the order of the study.

    Examples
    --------
    >>> from polychotomy.study.definition import load_study
    >>> from polychotomy.study.protocol import units_of
    >>> data = {"source": "generated"}
    >>> units = units_of(load_study("duan2003"), ["waveform"], partitions=1, data=data)
    >>> [unit.sweep for unit in units]
    ['SVM one_vs_rest', 'SVM one_vs_one', 'KernelLogisticRegression one_vs_rest', \
'KernelLogisticRegression one_vs_one']
    """
    labels = [part.label for part in study.datasets]
    wanted = _chosen(datasets_wanted, labels, "data set", study.name)
    names = [method.name for method in study.methods]
    methods = _chosen(methods_wanted, names, "method", study.name)
    units = []
    for part in study.datasets:
        if part.label in wanted:
            chosen = [
                method
                for method in study.methods
                if method.name in methods and method.name in part.methods
            ]
            units += _units_of_part(study, part, chosen, partitions, dict(data or {}))
    return units


def _units_of_part(
    study: StudyDefinition,
    part: DatasetPart,
    methods: Sequence[StudyMethod],
    partitions: int | None,
    options: dict[str, Any],
) -> list[Unit]:
    loaded = datasets.load(part.name, **options)
    sweeps: dict[str, list[dict[str, Any]]] = {}
    for method in methods:
        entry = {"name": method.name, "recipe": method.recipe, "learner": method.learner}
        sweeps.setdefault(sweep_name(entry), []).append(entry)
    number = part.partitions if partitions is None else min(partitions, part.partitions)
    return [
        Unit(
            study=study.name,
            dataset=part.label,
            dataset_checksum=loaded.checksum,
            partition=partition,
            sweep=name,
            definition={
                "data": {"name": part.name, **options},
                "split": part.split,
                "train": part.train_rows(len(loaded.y)),
                "inputs": study.inputs,
                "seed": study.seed,
                "search": asdict(study.search),
                "methods": entries,
            },
            cost=_cost(part, loaded, entries),
        )
        for partition in range(number)
        for name, entries in sweeps.items()
    ]


def _cost(part: DatasetPart, data: Any, entries: Sequence[Mapping[str, Any]]) -> float:
    """Return roughly how long a unit takes, so that the slow ones start first."""
    n_train = part.train_rows(len(data.y))
    recipe = find_recipe(entries[0]["recipe"])
    # Trees and neighbours are not tuned.
    machine = (
        0.1 * guessed_seconds(n_train)
        if entries[0]["learner"]
        else recipe.machine.expected_seconds(n_train)
    )
    # Pairs have fewer rows.
    share = 1.0 if recipe.code.name != "one_vs_one" else 0.3
    return float(machine * len(np.unique(data.y)) * share)


def _chosen(wanted: Iterable[str] | None, known: Sequence[str], what: str, study: str) -> set[str]:
    if wanted is None:
        return set(known)
    chosen = list(wanted)
    for name in chosen:
        if name not in known:
            raise ValueError(f"The study {study} has no {what} {name!r}. {suggestion(name, known)}")
    return set(chosen)
