"""The time that each stage of some work takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter

_seconds: ContextVar[dict[str, float] | None] = ContextVar("_seconds", default=None)
_inside: ContextVar[list[float] | None] = ContextVar("_inside", default=None)


@contextmanager
def timed() -> Iterator[dict[str, float]]:
    """Collect the seconds of all stages inside, by name; nested time is counted once."""
    found: dict[str, float] = {}
    token = _seconds.set(found)
    try:
        yield found
    finally:
        _seconds.reset(token)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Record the elapsed time, excluding nested stages, if a collector is active."""
    found = _seconds.get()
    if found is None:
        yield
        return
    inner = [0.0]
    token, start = _inside.set(inner), perf_counter()
    try:
        yield
    finally:
        took = perf_counter() - start
        _inside.reset(token)
        outer = _inside.get()
        if outer is not None:
            outer[0] += took
        found[name] = found.get(name, 0.0) + took - inner[0]
