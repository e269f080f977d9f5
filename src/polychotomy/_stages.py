"""How long the stages of a piece of work take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter

_seconds: ContextVar[dict[str, float] | None] = ContextVar("_seconds", default=None)


@contextmanager
def timed() -> Iterator[dict[str, float]]:
    """Collect the seconds of all stages inside, by name."""
    found: dict[str, float] = {}
    token = _seconds.set(found)
    try:
        yield found
    finally:
        _seconds.reset(token)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Add the time inside to a stage, if somebody collects."""
    found = _seconds.get()
    if found is None:
        yield
        return
    start = perf_counter()
    try:
        yield
    finally:
        found[name] = found.get(name, 0.0) + perf_counter() - start
