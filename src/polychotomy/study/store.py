"""The store of a study: one SQLite file that survives being killed at any moment.

Design note: a file for each unit would survive too, but thousands of them are slow to read, and
two drivers could run the same unit. SQLite in WAL mode has transactions, claims and readers beside
a writer in one file. The price is a local disk: WAL does not work over a network.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..execution.units import Outcome, Unit
from . import _export, _rows
from ._claims import Claims
from ._claims import new_holder as new_holder

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
_RUN_AGAIN = "Run the study again with this store; it computes only what is damaged or missing"
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


class Store(Claims):
    """Results of studies, in one SQLite file in WAL mode.

    A unit's results are written in one transaction, when all its methods are done, under keys
    that hash everything that determines them. A finished unit is never overwritten. Several
    drivers may share the file (on one machine: SQLite's WAL mode is not for network file
    systems); a driver claims a unit before it runs it, and claims expire unless renewed.

    Parameters
    ----------
    path : path-like
        The file; it is created if it does not exist.
    read_only : bool, default=False
        Whether to open an existing store only for reading.
    patience : float, default=60.0
        The seconds to wait while another process writes.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from polychotomy.study.store import Store
    >>> from polychotomy.execution.units import MethodResult, Outcome, Unit
    >>> unit = Unit("demo", "iris", "0f3a", 0, "svm", {"methods": ["max_wins"]})
    >>> with TemporaryDirectory() as folder, Store(folder + "/study.db") as store:
    ...     print(store.record(unit, Outcome((MethodResult("max_wins", error=0.04),))))
    ...     print(store.record(unit, Outcome((MethodResult("max_wins", error=0.05),))))
    ...     print([(row["dataset"], row["method"], row["error"]) for row in store.results()])
    True
    False
    [('iris', 'max_wins', 0.04)]
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

    # Damage

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
            raise StoreError(self._damage(text, _RUN_AGAIN if " index " in text else _NEW_FILE))
        self._is_sound = True

    def _damaged(
        self, column: str = "", units: Iterable[Unit] | None = None, keys: list[str] | None = None
    ) -> list[_rows.Damaged]:
        rows = self._read("SELECT rowid, * FROM unit WHERE {}", column, units, keys)
        own = json.dumps([str(row["key"]) for row in rows])
        results = self._select(
            "SELECT * FROM result WHERE unit IN (SELECT value FROM json_each(?))", [own]
        )
        strict = self._pragma("user_version") >= SCHEMA_VERSION
        return _rows.damaged_units(rows, results, strict)

    def _refuse_damage(
        self, column: str = "", units: Iterable[Unit] | None = None, keys: list[str] | None = None
    ) -> None:
        found = self._damaged(column, units, keys)
        if found:
            more = f" (and of {len(found) - 1} more units)" if len(found) > 1 else ""
            reason = f"the results of {found[0].where}{more} are not what was written"
            raise StoreError(self._damage(reason, _RUN_AGAIN))

    def forget_damaged(self) -> int:
        """Delete the units that were damaged on the disk, so that they are run again.

        Each is named in a warning.

        Returns
        -------
        n_units : int
            How many.

        Raises
        ------
        StoreError
            If more than the content of units is damaged.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from polychotomy.study.store import Store
        >>> with TemporaryDirectory() as folder, Store(folder + "/study.db") as store:
        ...     store.forget_damaged()
        0
        """
        with suppress(StoreError):
            self._check_structure()
            if not self._damaged():
                return 0
        with self._transaction() as db:
            if not self._is_sound:
                # A damaged key no longer fits its index. The index can be made again; the row
                # then has the wrong checksum.
                db.execute("REINDEX")
                self._check_structure()
            found = self._damaged()
            for unit in found:
                db.execute("DELETE FROM unit WHERE rowid = ?", [unit.rowid])
            db.execute(
                "DELETE FROM result WHERE NOT EXISTS "
                "(SELECT 1 FROM unit WHERE unit.key = result.unit)"
            )
        for unit in found:
            warnings.warn(
                f"The results of {unit.where} were damaged in the store {self.path}, and are "
                "deleted; a run of the study computes them again.",
                stacklevel=2,
            )
        return len(found)

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

    # Results

    def record(self, unit: Unit, outcome: Outcome) -> bool:
        """Write the outcome of a unit in one transaction, and drop the claim on it.

        Results replace a failure of the same unit; nothing replaces results.

        Parameters
        ----------
        unit : Unit
            The unit.
        outcome : Outcome
            Its outcome.

        Returns
        -------
        recorded : bool
            False if the unit was finished already (by another driver), and nothing was written.
        """
        with self._transaction() as db:
            found = db.execute("SELECT failure FROM unit WHERE key = ?", [unit.key]).fetchone()
            if found and (found[0] is None or outcome.failure is not None):
                return False
            if found:
                db.execute("DELETE FROM unit WHERE key = ?", [unit.key])
            results = list(_rows.result_rows(unit, outcome))
            row = _rows.unit_row(unit, outcome)
            seal = _rows.seal_unit(row, [one["checksum"] for one in results])
            db.execute(*_insertion("unit", row | {"checksum": seal}))
            for one in results:
                db.execute(*_insertion("result", one))
            db.execute("DELETE FROM claim WHERE unit = ?", [unit.key])
        return True

    def finished(self, units: Iterable[Unit]) -> set[str]:
        """Return the keys of those units that have an outcome, failures included.

        Parameters
        ----------
        units : iterable of Unit
            The units to look for.
        """
        self._check_structure()
        return {row["key"] for row in self._read("SELECT key FROM unit WHERE {}", "key", units)}

    def failed(self, units: Iterable[Unit] | None = None) -> list[dict[str, Any]]:
        """Return the units that failed as a whole, with the reason.

        Parameters
        ----------
        units : iterable of Unit, optional
            The units to look at; all by default.

        Returns
        -------
        rows : list of dict
            With "study", "dataset", "partition", "sweep", "unit" (its key), "failure" and
            "traceback".
        """
        self._check_structure()
        self._refuse_damage("failure IS NOT NULL AND key", units)
        return self._read(
            "SELECT study, dataset, partition, sweep, key AS unit, failure, traceback FROM unit "
            "WHERE failure IS NOT NULL AND {} ORDER BY study, dataset, sweep, partition, key",
            "key",
            units,
        )

    def families(self) -> list[dict[str, Any]]:
        """Return the families of units in the store: results of one family may be averaged.

        Returns
        -------
        rows : list of dict
            With "study", "dataset", "sweep", "family" (a hash), "definition", "dataset_checksum",
            "results_version", "numerics_version" (None in old stores), "n_units" and "recorded",
            the time of the last outcome.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from polychotomy.study.store import Store
        >>> with TemporaryDirectory() as folder, Store(folder + "/study.db") as store:
        ...     store.families()
        []
        """
        self._check_structure()
        self._refuse_damage()
        numerics = "numerics_version" if "numerics_version" in self._columns("unit") else "NULL"
        rows = self._read(
            "SELECT study, dataset, sweep, family, min(definition) AS definition, "
            "min(dataset_checksum) AS dataset_checksum, min(results_version) AS results_version, "
            f"min({numerics}) AS numerics_version, "
            "count(*) AS n_units, max(recorded) AS recorded FROM unit WHERE {} GROUP BY family "
            "ORDER BY study, dataset, sweep, family",
            "key",
            None,
        )
        for row in rows:
            row["definition"] = json.loads(row["definition"])
        return rows

    def results(
        self, units: Iterable[Unit] | None = None, *, families: Iterable[str] | None = None
    ) -> list[dict[str, Any]]:
        """Return one row for each method of each unit, and one for each unit that failed.

        Parameters
        ----------
        units : iterable of Unit, optional
            Which units' results to return. Without it, all are; that is refused if the store
            holds results of several definitions of one study, data set and sweep, which must
            not be mixed.
        families : iterable of str, optional
            In place of units, the families (see `families`) whose results to return.

        Returns
        -------
        rows : list of dict
            Ordered by study, data set, sweep and partition. A unit that failed as a whole has
            the method None and its reason as "failure".

        Raises
        ------
        StoreError
            If a unit among them was damaged on the disk, which its checksum shows.
        """
        self._check_structure()
        units = None if units is None else list(units)
        if families is not None:
            column, keys = "unit.family", list(families)
        else:
            column, keys = "unit.key", None
        self._refuse_damage(column, units, keys)
        if keys is None and units is None:
            self._refuse_mixture()
        rows = self._read(
            "SELECT unit.study, unit.dataset, unit.dataset_checksum, unit.partition, unit.sweep, "
            "result.method, result.error, result.nll, result.figures, result.parameters, "
            "result.seconds_shared, result.seconds_own, result.warnings, "
            "coalesce(result.failure, unit.failure) AS failure, unit.seconds AS seconds_unit, "
            "unit.versions, unit.recorded, unit.definition, unit.results_version, "
            "unit.key AS unit, result.key "
            "FROM unit LEFT JOIN result ON result.unit = unit.key WHERE {} "
            "ORDER BY unit.study, unit.dataset, unit.sweep, unit.partition, unit.key, "
            "result.position",
            column,
            units,
            keys,
        )
        empty = {"figures": "{}", "parameters": "{}", "warnings": "[]"}
        for row in rows:
            for name in ("figures", "parameters", "warnings", "versions", "definition"):
                row[name] = json.loads(row[name] or empty[name])
        return rows

    def forget(self, units: Iterable[Unit], *, only_failed: bool = False) -> int:
        """Delete the outcomes of units, so that they are run again; return how many.

        Parameters
        ----------
        units : iterable of Unit
            The units to forget.
        only_failed : bool, default=False
            Whether to keep the units with results.
        """
        which = " AND failure IS NOT NULL" if only_failed else ""
        with self._transaction() as db:
            cursor = db.execute(
                f"DELETE FROM unit WHERE key IN (SELECT value FROM json_each(?)){which}",
                [_keys(units)],
            )
            return cursor.rowcount

    def export_csv(self, path: str | os.PathLike[str], units: Iterable[Unit] | None = None) -> None:
        """Write the results as CSV; numbers are written so that they read back exactly.

        Parameters
        ----------
        path : path-like
            The file; it is replaced when everything is written.
        units : iterable of Unit, optional
            As for `results`.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from polychotomy.study.store import Store
        >>> with TemporaryDirectory() as folder, Store(folder + "/study.db") as store:
        ...     store.export_csv(folder + "/study.csv")
        ...     Path(folder, "study.csv").read_text()[:46]
        'study,dataset,dataset_checksum,partition,sweep'
        """
        _export.write_csv(self.results(units), Path(path))

    def export_parquet(
        self, path: str | os.PathLike[str], units: Iterable[Unit] | None = None
    ) -> None:
        """Write the results as Parquet, which needs pyarrow.

        Parameters
        ----------
        path : path-like
            The file; it is replaced when everything is written.
        units : iterable of Unit, optional
            As for `results`.
        """
        _export.write_parquet(self.results(units), Path(path))

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
            wanted = _keys(units)
        chosen = "1" if wanted is None else f"{column} IN (SELECT value FROM json_each(?))"
        return self._select(query.format(chosen), [] if wanted is None else [wanted])

    def _select(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        with self._in_words():
            cursor = self._db.execute(query, values)
            names = [description[0] for description in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def _refuse_mixture(self) -> None:
        mixed = self._read(
            "SELECT study, dataset, sweep FROM unit WHERE {} GROUP BY study, dataset, sweep "
            "HAVING count(DISTINCT family) > 1 ORDER BY study, dataset, sweep LIMIT 1",
            "key",
            None,
        )
        if mixed:
            where = mixed[0]
            raise ValueError(
                f"The store {self.path} holds results of several definitions of sweep "
                f"{where['sweep']!r} on {where['dataset']!r} in study {where['study']!r}; pass the "
                "units of the one that you want."
            )


def _keys(units: Iterable[Unit]) -> str:
    return json.dumps([unit.key for unit in units])


def _insertion(table: str, row: dict[str, Any]) -> tuple[str, list[Any]]:
    marks = ", ".join("?" * len(row))
    return f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values())
