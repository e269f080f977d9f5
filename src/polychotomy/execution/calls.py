"""Calls of one function with many arguments: what all executors make, and how each call ends."""

from __future__ import annotations

import os
import pickle
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Generic, TypeVar

from ..core.threads import single_threaded

DEATHS_ALLOWED = 1


@dataclass(frozen=True, eq=False)
class Call:
    """A call to make.

    Attributes
    ----------
    argument : object
        The second argument of the function; the first is the context.
    until : float or None
        When the call is ended, by `time.perf_counter`.
    latest : float or None
        When it is ended if a process had to be started for it first, which `until` does not allow
        for.
    """

    argument: Any
    until: float | None = None
    latest: float | None = None

    def until_after(self, seconds: float) -> float | None:
        """Return when it is ended if it could only begin after so many seconds."""
        if self.until is None or self.latest is None:
            return self.until
        return max(self.until, min(self.until + seconds, self.latest))

    @property
    def is_late(self) -> bool:
        """Whether its time is up."""
        return self.until is not None and perf_counter() >= self.until


@dataclass(frozen=True)
class Answer:
    """How a call ended.

    Attributes
    ----------
    value : object
        What the function returned.
    failure : str or None
        Why there is no value, in words.
    late : bool
        Whether its time was up.
    seconds : float
        How long it took.
    error : BaseException or None
        What the function raised.
    """

    value: Any = None
    failure: str | None = None
    late: bool = False
    seconds: float = 0.0
    error: BaseException | None = None


Take = Callable[[], Call | None]
OnAnswer = Callable[[Call, Answer], None]
Function = Callable[[Any, Any], Any]


def answered(function: Function, context: Any, argument: Any) -> Answer:
    """Call a function in one thread; an exception is an answer too."""
    start = perf_counter()
    try:
        with single_threaded():
            return Answer(function(context, argument), seconds=perf_counter() - start)
    except (Exception, SystemExit) as error:
        if os.environ.get("POLYCHOTOMY_DEBUG"):
            traceback.print_exc()
        words, seconds = in_words(error), perf_counter() - start
        return Answer(failure=words, seconds=seconds, error=_portable(error))


def too_late(seconds: float) -> Answer:
    """Return the answer of a call whose time is up."""
    return Answer(failure="out of time", late=True, seconds=seconds)


def in_words(error: BaseException) -> str:
    """Return an exception in one line."""
    if isinstance(error, MemoryError):
        return "not enough memory"
    text = str(error).strip()
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__


def _portable(error: BaseException) -> BaseException:
    """Return an exception that can be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


T = TypeVar("T")


class Backlog(Generic[T]):
    """What is still to run, and how often the worker of each item has died.

    An item whose worker died comes back after all others, when fewer neighbours compete for
    memory; when its worker dies again, the item has failed.

    Parameters
    ----------
    items : iterable
        What is to run. A None in it means that there is nothing at the moment.

    Examples
    --------
    >>> from polychotomy.execution.calls import Backlog
    >>> backlog = Backlog(["a unit"])
    >>> backlog.take(), backlog.lost("a unit", "SIGSEGV"), backlog.take()
    ('a unit', None, 'a unit')
    >>> backlog.lost("a unit", "SIGSEGV")
    'Its worker died 2 times, the last time by SIGSEGV.'
    """

    def __init__(self, items: Iterable[T | None]) -> None:
        self._fresh = iter(items)
        self._returned: list[T] = []
        self._again: deque[T] = deque()
        self._deaths: Counter[T] = Counter()

    @classmethod
    def of(cls, take: Callable[[], T | None]) -> Backlog[T]:
        """Return a backlog that asks a function for each item."""
        return cls(iter(take, object()))

    def take(self) -> T | None:
        """Return the next item, or None if there is none at the moment."""
        item = self._returned.pop() if self._returned else next(self._fresh, None)
        if item is None and self._again:
            item = self._again.popleft()
        return item

    def put_back(self, item: T) -> None:
        """Take back an item that no worker has started; it will be the next one.

        Parameters
        ----------
        item : object
            The item.
        """
        self._returned.append(item)

    def lost(self, item: T, how: str) -> str | None:
        """Record that the worker of an item died; return a sentence if the item is to blame.

        Parameters
        ----------
        item : object
            The item of the worker.
        how : str
            How the worker died.
        """
        self._deaths[item] += 1
        deaths = self._deaths[item]
        if deaths <= DEATHS_ALLOWED:
            self._again.append(item)
            return None
        return f"Its worker died {deaths} times, the last time by {how}."
