"""What happens inside a worker: find the task, load the data once, run one unit."""

from __future__ import annotations

import importlib
import platform
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from importlib import metadata
from time import perf_counter
from typing import Any

from ..core.threads import single_threaded
from ..core.versions import blas_in_use
from ..native import NUMERICS_VERSION
from .units import RESULTS_VERSION, MethodResult, Outcome, Unit

Task = Callable[[Unit], list[MethodResult]]

_DATASETS_KEPT = 4


class WorkerError(RuntimeError):
    """A worker is not set up correctly: the study stops with this message.

    Examples
    --------
    >>> from polychotomy.execution.work import WorkerError
    >>> issubclass(WorkerError, RuntimeError)
    True
    """


def example(unit: Unit) -> list[MethodResult]:
    """Run a task that takes no time, to test stores and executors.

    Examples
    --------
    >>> from polychotomy.execution.units import Unit
    >>> from polychotomy.execution.work import example
    >>> example(Unit("demo", "iris", "0f3a", 3, "svm", {"methods": ["max_wins"]}))[0].method
    'max_wins'
    """
    share = unit.seed("example") / 2**32
    return [MethodResult(name, error=share) for name in unit.definition["methods"]]


def load_task(name: str) -> Task:
    """Return the function that ``"package.module:function"`` names.

    Parameters
    ----------
    name : str
        Where to import the task from. It gets a unit, and returns a list of `MethodResult`.

    Examples
    --------
    >>> from polychotomy.execution.work import load_task
    >>> load_task("polychotomy.execution.work:example").__name__
    'example'
    """
    task: Task = load_function(name)
    return task


def load_function(name: str) -> Any:
    """Return the function that ``"package.module:function"`` names, whatever it takes.

    Parameters
    ----------
    name : str
        Where to import it from.
    """
    module, colon, function = name.partition(":")
    if not colon:
        raise ValueError(f"The task {name!r} must be written 'package.module:function'.")
    try:
        return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise WorkerError(
            f"The task {name!r} cannot be imported on {platform.node()}: {error}."
        ) from error


def perform(task: str, unit: Unit) -> Outcome:
    """Run one unit, and return its outcome.

    BLAS and OpenMP get one thread, so that the result does not depend on the number of cores. An
    exception of the task is an outcome like any other; only `WorkerError` is raised.

    Parameters
    ----------
    task : str
        The task as ``"package.module:function"``.
    unit : Unit
        The unit to run.

    Examples
    --------
    >>> from polychotomy.execution.units import Unit
    >>> from polychotomy.execution.work import perform
    >>> unit = Unit("demo", "iris", "0f3a", 3, "svm", {"methods": ["max_wins"]})
    >>> perform("polychotomy.execution.work:example", unit).results[0].method
    'max_wins'
    >>> unit = Unit("demo", "iris", "0f3a", 3, "svm", {})
    >>> perform("polychotomy.execution.work:example", unit).failure
    "KeyError: 'methods'"
    """
    for needed, found, what in (
        (unit.results_version, RESULTS_VERSION, "results"),
        (unit.numerics_version, NUMERICS_VERSION, "numerics"),
    ):
        if needed != found:
            raise WorkerError(
                f"The unit needs version {needed} of the library's {what}, but the library on "
                f"{platform.node()} has version {found}. Install the same version of polychotomy "
                "everywhere."
            )
    function = load_task(task)
    start = perf_counter()
    with single_threaded():
        try:
            results = _checked(function(unit), task)
        except WorkerError:
            raise
        except (Exception, SystemExit) as error:
            return Outcome(
                failure=f"{type(error).__name__}: {error}",
                traceback=traceback.format_exc(),
                seconds=perf_counter() - start,
                versions=versions(),
            )
    return Outcome(results, seconds=perf_counter() - start, versions=versions())


def _checked(results: Any, task: str) -> tuple[MethodResult, ...]:
    """Check what a task returned before it is sent anywhere."""
    if not isinstance(results, list | tuple) or not results:
        raise TypeError(f"The task {task!r} must return a list of MethodResult, not {results!r}.")
    for result in results:
        if not isinstance(result, MethodResult):
            raise TypeError(f"The task {task!r} returned a {type(result).__name__} as a result.")
    return tuple(results)


@cache
def versions() -> dict[str, str]:
    """Return the versions of everything that can change a result, BLAS kernels included.

    Examples
    --------
    >>> from polychotomy.execution.work import versions
    >>> list(versions())
    ['polychotomy', 'numpy', 'scipy', 'scikit-learn', 'python', 'machine', 'blas']
    """
    packages = ("polychotomy", "numpy", "scipy", "scikit-learn")
    found = {name: metadata.version(name) for name in packages}
    return {
        **found,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "blas": blas_in_use(),
    }


_datasets: OrderedDict[tuple[str, str], Any] = OrderedDict()
_loading = threading.Lock()


def load_once(name: str, checksum: str, load: Callable[[str], Any]) -> Any:
    """Return a data set by name, loaded once in each worker.

    The data sets used last are kept. What `load` returns must have a `checksum`, which is
    compared with the driver's: a worker with other data of the same name is refused.

    Parameters
    ----------
    name : str
        The data set's name.
    checksum : str
        The checksum that the driver saw.
    load : callable
        Called with the name.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from polychotomy.execution.work import load_once
    >>> def load(name):
    ...     print("loading", name)
    ...     return SimpleNamespace(rows=150, checksum="0f3a")
    >>> load_once("iris", "0f3a", load).rows
    loading iris
    150
    >>> load_once("iris", "0f3a", load).rows
    150
    """
    with _loading:
        if (name, checksum) not in _datasets:
            _datasets[name, checksum] = _loaded(name, checksum, load)
            if len(_datasets) > _DATASETS_KEPT:
                _datasets.popitem(last=False)
        _datasets.move_to_end((name, checksum))
        return _datasets[name, checksum]


def _loaded(name: str, checksum: str, load: Callable[[str], Any]) -> Any:
    try:
        dataset = load(name)
    except Exception as error:
        raise WorkerError(
            f"The data set {name!r} cannot be loaded on {platform.node()}: {error}"
        ) from error
    if dataset.checksum != checksum:
        raise WorkerError(
            f"The data set {name!r} on {platform.node()} differs from the driver's: its checksum "
            f"is {dataset.checksum!r}, not {checksum!r}. Give all workers the same files."
        )
    return dataset
