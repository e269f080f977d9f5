"""Tasks and drivers for the tests of studies, importable in other processes."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from threadpoolctl import threadpool_info

from polychotomy.execution.executors import InProcess, LocalProcesses
from polychotomy.execution.units import MethodResult, Unit
from polychotomy.execution.work import load_once
from polychotomy.study.driver import run_study

HANGS_AFTER = 120.0
"""Seconds after which a wait is taken for a hang; no test needs more than a few."""


def units(n: int, **definition) -> list[Unit]:
    """Return units of one study, which differ in the partition."""
    return [Unit("trial", "wave", "c0ffee", i, "svm", definition) for i in range(n)]


def wait_until(condition) -> None:
    """Wait for a state of the world."""
    give_up = time.monotonic() + HANGS_AFTER
    while not condition():
        assert time.monotonic() < give_up, "this hangs"
        time.sleep(0.01)


def compute(unit: Unit) -> list[MethodResult]:
    """Multiply and invert matrices."""
    _log(unit)
    time.sleep(unit.definition.get("sleep", 0.0))
    rng = np.random.default_rng(unit.seed("matrix"))
    size = unit.definition.get("size", 40)
    X = rng.normal(size=(size, size))
    threads = max(library["num_threads"] for library in threadpool_info())
    inverse = np.linalg.inv(X @ X.T + np.eye(size))
    return [
        MethodResult(
            f"power {i}",
            error=float(abs(inverse[i, i])),
            nll=float(np.log(abs(inverse).sum())) if i else None,
            figures={"trace": np.trace(inverse)},
            parameters={"C": 10.0**i, "threads": threads},
            seconds_shared=time.perf_counter(),
            warnings=["slow"] if i else [],
        )
        for i in range(3)
    ]


def misbehave(unit: Unit) -> list[MethodResult]:
    """Do what the definition says for this partition, or compute as usual."""
    deed = unit.definition["deeds"].get(str(unit.partition))
    first = _first_time(unit)
    if deed == "kill" or (deed == "kill once" and first):
        os.kill(os.getpid(), signal.SIGKILL)
    if deed == "exit":
        sys.exit("enough")
    if deed == "raise":
        raise ZeroDivisionError("of all things")
    if deed == "nothing":
        return []
    if deed == "sleep":
        _log(unit)
        time.sleep(10 * HANGS_AFTER)
    if deed == "hold once" and first:
        _log(unit)
        wait_until((Path(unit.definition["folder"]) / "go").exists)
    if deed == "meet":
        _log(unit)
        wait_until(lambda: len({pid for _, pid in runs(unit.definition["log"])}) >= 2)
    return compute(unit)


def read_dataset(unit: Unit) -> list[MethodResult]:
    """Load the data set of the unit, and note who loaded it."""

    def load(name: str):
        folder = Path(unit.definition["folder"])
        with (folder / "loads").open("a") as file:
            file.write(f"{name} {os.getpid()}\n")
        return SimpleNamespace(checksum=unit.definition.get("found", unit.dataset_checksum))

    load_once(unit.dataset, unit.dataset_checksum, load)
    return [MethodResult("read", error=0.0)]


def look_around(unit: Unit) -> list[MethodResult]:
    """Say where the worker is."""
    where = {"folder": os.getcwd(), "variable": os.environ.get("STUDY_TRIAL")}
    return [MethodResult("look", error=0.0, parameters=where)]


def _first_time(unit: Unit) -> bool:
    try:
        (Path(unit.definition["folder"]) / unit.key).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _log(unit: Unit) -> None:
    """Note that a unit is run, in a line written at once."""
    if "log" in unit.definition:
        with Path(unit.definition["log"]).open("a") as file:
            file.write(f"{unit.partition} {os.getpid()}\n")


def runs(log) -> list[tuple[int, int]]:
    """Return the partition and process of each run that was begun."""
    if not Path(log).exists():
        return []
    lines = Path(log).read_text().splitlines()
    return [(int(partition), int(pid)) for partition, pid in map(str.split, lines)]


def drive(path: str, work: list[Unit], task: str, n_workers: int = 0, lease: float = 60.0) -> None:
    """Run a study as a process of its own does."""
    # The server process that this one is forked from may have been started with Ctrl-C blocked.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    executor = LocalProcesses(n_workers) if n_workers else InProcess()
    run_study(work, f"study_tasks:{task}", path, executor, lease=lease)
