"""The store of a study: one SQLite file that survives being killed at any moment.

Design note: a file for each unit would survive too, but thousands of them are slow to read, and
two drivers could run the same unit. SQLite in WAL mode has transactions, claims and readers beside
a writer in one file. The price is a local disk: WAL does not work over a network.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..execution.units import Outcome, Unit
from . import _export, _rows
from ._claims import Claims
from ._claims import new_holder as new_holder
from ._database import RUN_AGAIN, SCHEMA_VERSION, Database, keys_of
from ._database import StoreError as StoreError


class Store(Database, Claims):
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

    # Damage

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
            raise StoreError(self._damage(reason, RUN_AGAIN))

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
                [keys_of(units)],
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


def _insertion(table: str, row: dict[str, Any]) -> tuple[str, list[Any]]:
    marks = ", ".join("?" * len(row))
    return f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values())
