"""Claims of drivers on units, so that several drivers can work on one store."""

from __future__ import annotations

import os
import socket
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any
from uuid import uuid4

from ..execution.units import Unit


def new_holder() -> str:
    """Return a name for a driver that claims units: its host, its process, and a random part.

    Examples
    --------
    >>> from polychotomy.study.store import new_holder
    >>> new_holder().count("/")
    2
    """
    return f"{socket.gethostname()}/{os.getpid()}/{uuid4().hex[:8]}"


class Claims(ABC):
    """The claims in a store."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """Begin a transaction, which ends with the block."""

    @abstractmethod
    def _select(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Return the rows of a query."""

    def claim(self, unit: Unit, holder: str, seconds: float) -> bool:
        """Claim a unit for a driver, unless it is finished or claimed by another.

        Parameters
        ----------
        unit : Unit
            The unit to run.
        holder : str
            The driver, from `new_holder`.
        seconds : float
            When the claim expires, unless it is renewed before.

        Returns
        -------
        claimed : bool

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from polychotomy.study.store import Store, new_holder
        >>> from polychotomy.execution.units import Unit
        >>> unit = Unit("demo", "iris", "0f3a", 0, "svm", {})
        >>> one, two = new_holder(), new_holder()
        >>> with TemporaryDirectory() as folder, Store(folder + "/study.db") as store:
        ...     first = store.claim(unit, one, 60.0), store.claim(unit, two, 60.0)
        ...     store.release(one)
        ...     first, store.claim(unit, two, 60.0)
        ((True, False), True)
        """
        with self._transaction() as db:
            if db.execute("SELECT 1 FROM unit WHERE key = ?", [unit.key]).fetchone():
                return False
            found = db.execute(
                "SELECT holder, expires FROM claim WHERE unit = ?", [unit.key]
            ).fetchone()
            if found and found[0] != holder and _holds(*found):
                return False
            db.execute("DELETE FROM claim WHERE unit = ?", [unit.key])
            row = [unit.key, holder, time.time() + seconds]
            db.execute("INSERT INTO claim (unit, holder, expires) VALUES (?, ?, ?)", row)
        return True

    def renew(self, holder: str, seconds: float) -> None:
        """Extend all claims of a driver.

        Parameters
        ----------
        holder : str
            The driver.
        seconds : float
            When they expire, from now.
        """
        with self._transaction() as db:
            db.execute(
                "UPDATE claim SET expires = ? WHERE holder = ?", [time.time() + seconds, holder]
            )

    def release(self, holder: str) -> None:
        """Release all claims of a driver.

        Parameters
        ----------
        holder : str
            The driver.
        """
        with self._transaction() as db:
            db.execute("DELETE FROM claim WHERE holder = ?", [holder])

    def claims(self) -> dict[str, str]:
        """Return who holds which unit: a driver for each key of a claimed unit."""
        rows = self._select("SELECT unit, holder FROM claim")
        return {row["unit"]: row["holder"] for row in rows}


def _holds(holder: Any, expires: Any) -> bool:
    """Return whether a claim is good: complete, not expired, its driver not known to be dead."""
    if not isinstance(holder, str) or not isinstance(expires, float) or holder.count("/") < 2:
        return False  # damaged on the disk; at worst, two drivers run one unit
    return expires > time.time() and not _is_dead(holder)


def _is_dead(holder: str) -> bool:
    """Return whether a driver is a process of this machine that has ended.

    A driver that was killed leaves its claims behind; without this, whoever resumes at once would
    have to wait for them to expire. If in doubt, it lives.
    """
    host, pid, _ = holder.rsplit("/", 2)
    if os.name != "posix" or host != socket.gethostname():
        return False
    with suppress(PermissionError, ValueError, OverflowError):
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            return True
    return False
