"""The SQLite file of a store: opening, its tables, transactions, and errors in words."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..execution.units import Unit
from . import _rows

SCHEMA_VERSION = 2  # 2: checksums, and versions of the core's numbers
_APPLICATION_ID = 0x706F6C79  # "poly", in the file's header: says whose database this is

_SCHEMA = """
CREATE TABLE unit (
    key TEXT PRIMARY KEY,
    family TEXT NOT NULL,
    study TEXT NOT NULL,
    dataset TEXT NOT NULL,
    dataset_checksum TEXT NOT NULL,
    partition INTEGER NOT NULL,
    sweep TEXT NOT NULL,
    definition TEXT NOT NULL,
    results_version INTEGER NOT NULL,
    failure TEXT,
    traceback TEXT,
    seconds REAL NOT NULL,
    versions TEXT NOT NULL,
    recorded TEXT NOT NULL,
    numerics_version INTEGER,
    checksum TEXT
);
CREATE TABLE result (
    key TEXT PRIMARY KEY,
    unit TEXT NOT NULL REFERENCES unit (key) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    method TEXT NOT NULL,
    error REAL,
    nll REAL,
    figures TEXT NOT NULL,
    parameters TEXT NOT NULL,
    seconds_shared REAL NOT NULL,
    seconds_own REAL NOT NULL,
    warnings TEXT NOT NULL,
    failure TEXT,
    checksum TEXT,
    UNIQUE (unit, method)
);
CREATE TABLE claim (
    unit TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    expires REAL NOT NULL
);
"""

_COLUMNS = {
    "unit": {*_rows.UNIT} - {"numerics_version"},
    "result": {*_rows.RESULT},
    "claim": {"unit", "holder", "expires"},
}
_NEW_FILE = "Restore it from a copy, or move it away and run the study again"
RUN_AGAIN = "Run the study again with this store; it computes only what is damaged or missing"
_WORDS = {
    "SQLITE_FULL": "the disk is full. Free some space and run again; what it holds is intact",
    "SQLITE_IOERR": "the disk cannot be written, it may be full. What it holds is intact; run "
    "again when there is space",
    "SQLITE_READONLY": "it is read-only. Make the file and its folder writable",
    "SQLITE_CANTOPEN": "it cannot be opened. Check that its folder exists and is writable",
    "SQLITE_NOTADB": "it is not a SQLite database. Choose another name",
    "SQLITE_CORRUPT": f"the file is damaged. {_NEW_FILE}",
    "SQLITE_BUSY": "another process keeps it locked. Stop that one, and run again",
}


class StoreError(RuntimeError):
    """A store cannot be opened, read or written; the message has the reason.

    Examples
    --------
    >>> from polychotomy.study.store import Store
    >>> Store("no/such/folder/study.db")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    polychotomy.study.store.StoreError: The store ...study.db cannot be used: it cannot be opened...
    """

    # Where users find it, and tracebacks and pickles name it.
    __module__ = "polychotomy.study.store"


class Database:
    """A SQLite file in WAL mode with the tables of a store.

    Parameters
    ----------
    path : path-like
        The file; it is created if it does not exist.
    read_only : bool, default=False
        Whether to open an existing store only for reading.
    patience : float, default=60.0
        The seconds to wait while another process writes.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, read_only: bool = False, patience: float = 60.0
    ) -> None:
        self.path = Path(path)
        self.read_only = read_only
        self._is_sound = False
        with self._in_words():
            self._db = self._connect(patience)
        try:
            with self._in_words():
                self._prepare()
        except BaseException:
            self._db.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    # Opening

    def _connect(self, patience: float) -> sqlite3.Connection:
        if not self.read_only:
            return self._open("mode=rwc", patience)
        db = self._open("mode=ro", patience)
        try:
            db.execute("PRAGMA user_version")
        except sqlite3.OperationalError:
            # In a read-only folder a WAL database opens only as immutable. It is, if there is no
            # log of another process next to it.
            db.close()
            if self.path.with_name(self.path.name + "-wal").exists():
                raise
            db = self._open("immutable=1", patience)
        return db

    def _open(self, query: str, patience: float) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?{query}"
        db = sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None)
        # Damaged text need not be UTF-8. It is read as it is, and then has the wrong checksum.
        db.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        return db

    def _prepare(self) -> None:
        """Check that this is a store, and create the tables of a new one."""
        self._db.execute("PRAGMA foreign_keys = ON")
        if self.read_only:
            self._check_schema(self._pragma("user_version"))
            return
        if self._is_empty():
            self._use_wal()
        # FULL: a commit is on the disk when it returns, whatever happens to the machine.
        self._db.execute("PRAGMA synchronous = FULL")
        with self._transaction():  # which a read-only file refuses here, not hours later
            if self._is_empty():
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            self._check_schema(self._pragma("user_version"))
            if self._pragma("user_version") < SCHEMA_VERSION:
                self._migrate()
        self._use_wal()

    def _use_wal(self) -> None:
        """Switch to WAL mode; SQLite does not wait for others by itself here."""
        give_up = time.monotonic() + 30
        while True:
            try:
                mode = self._pragma("journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > give_up:
                    raise
                time.sleep(0.01)
                continue
            if mode != "wal":
                raise StoreError(
                    f"The store {self.path} does not support WAL mode; keep it on a local disk."
                )
            return

    def _pragma(self, words: str) -> Any:
        return self._db.execute(f"PRAGMA {words}").fetchone()[0]

    def _is_empty(self) -> bool:
        return not self._db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()

    def _check_schema(self, version: int) -> None:
        if self._pragma("application_id") != _APPLICATION_ID:
            raise StoreError(
                f"{self.path} is a SQLite database, but not a store. Choose another name."
            )
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"The store {self.path} was written by a newer polychotomy (schema {version}; this "
                f"one reads up to {SCHEMA_VERSION}). Update polychotomy, or choose another store."
            )
        for table, oldest in _COLUMNS.items():
            added = _rows.ADDED.get(table, {}) if version == SCHEMA_VERSION else {}
            if {*oldest, *added} - self._columns(table):
                raise StoreError(self._damage(f"its table {table!r} has lost columns"))

    def _columns(self, table: str) -> set[str]:
        return {str(row[1]) for row in self._db.execute(f"PRAGMA table_info({table})")}

    def _migrate(self) -> None:
        """Give the tables of schema 1 the new columns, and all their rows checksums."""
        self._check_structure()
        for table, columns in _rows.ADDED.items():
            for name in columns.keys() - self._columns(table):
                self._db.execute(f"ALTER TABLE {table} ADD COLUMN {name} {columns[name]}")
        seals: dict[str, list[str]] = {}
        seal = "UPDATE {} SET checksum = ? WHERE key = ? AND checksum IS NULL"
        for row in filter(_rows.is_readable, self._select("SELECT * FROM result")):
            seals.setdefault(row["unit"], []).append(row["checksum"] or _rows.seal_result(row))
            self._db.execute(seal.format("result"), [seals[row["unit"]][-1], row["key"]])
        for row in filter(_rows.is_readable, self._select("SELECT * FROM unit")):
            checksum = _rows.seal_unit(row, seals.get(row["key"], []))
            self._db.execute(seal.format("unit"), [checksum, row["key"]])
        self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    # Damage, and errors

    def _damage(self, reason: str, advice: str = _NEW_FILE) -> str:
        return f"The store {self.path} is damaged: {reason}. {advice}."

    def _check_structure(self) -> None:
        """Refuse a file whose pages do not fit together; once, as it reads all of them."""
        if self._is_sound:
            return
        with self._in_words():
            found = [str(text) for (text,) in self._db.execute("PRAGMA integrity_check(1)")]
        if found != ["ok"]:
            text = " ".join(" ".join(found).removeprefix("*** in database main ***").split())
            # What `forget_damaged` repairs: rows that are not in an index, or not the same.
            raise StoreError(self._damage(text, RUN_AGAIN if " index " in text else _NEW_FILE))
        self._is_sound = True

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """Turn SQLite's errors into sentences."""
        try:
            yield
        except UnicodeDecodeError as error:  # in the name of a column
            raise StoreError(self._damage(str(error))) from error
        except sqlite3.Error as error:
            name = str(getattr(error, "sqlite_errorname", ""))
            words = next((text for start, text in _WORDS.items() if name.startswith(start)), None)
            text = " ".join(str(error).split())
            reason = f"{words} ({text})" if words else text
            raise StoreError(f"The store {self.path} cannot be used: {reason}.") from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Write everything or nothing, however the process ends."""
        with self._in_words():
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    # Reading

    def _read(
        self,
        query: str,
        column: str,
        units: Iterable[Unit] | None,
        keys: list[str] | None = None,
    ) -> list[dict[str, Any]]:
        """Run a query with {} for the condition that chooses units, or keys."""
        wanted = None if keys is None else json.dumps(keys)
        if wanted is None and units is not None:
            wanted = keys_of(units)
        chosen = "1" if wanted is None else f"{column} IN (SELECT value FROM json_each(?))"
        return self._select(query.format(chosen), [] if wanted is None else [wanted])

    def _select(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        with self._in_words():
            cursor = self._db.execute(query, values)
            names = [description[0] for description in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]


def keys_of(units: Iterable[Unit]) -> str:
    return json.dumps([unit.key for unit in units])
