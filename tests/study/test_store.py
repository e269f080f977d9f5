"""The store: exact, atomic, never overwritten, and clear about what is wrong."""

import csv
import json
import os
import sqlite3
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polychotomy.execution.units import RESULTS_VERSION, MethodResult, Outcome
from polychotomy.study.results import read_results
from polychotomy.study.store import Store, StoreError, new_holder
from study_tasks import units

from . import harness

UNITS = units(3)


def outcome(error=0.25, **more):
    return Outcome((MethodResult("vote", error=error, **more), MethodResult("max", error=0.5)))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.db"


@pytest.fixture
def store(path):
    with Store(path) as store:
        yield store


def test_the_file_is_in_wal_mode(store):
    assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


floats = st.floats(allow_nan=False)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(floats, floats, st.floats(), floats)
def test_numbers_come_back_exactly(path, error, nll, figure, parameter):
    with Store(path) as store:
        store.forget(UNITS)
        store.record(
            UNITS[0],
            outcome(error, nll=nll, figures={"brier": figure}, parameters={"C": parameter}),
        )
        row = store.results()[0]
    assert (row["error"], row["nll"], row["parameters"]) == (error, nll, {"C": parameter})
    assert repr(row["figures"]["brier"]) == repr(figure)


def test_a_row_has_all_that_was_recorded(store):
    vote = MethodResult(
        "vote",
        error=0.25,
        nll=0.7,
        figures={"brier": 0.1},
        parameters={"C": 10.0, "sigma2": [1, 2]},
        seconds_shared=2.0,
        seconds_own=0.5,
        warnings=["slow", "große Werte"],
    )
    broken = MethodResult("tree", failure="no probabilities")
    store.record(UNITS[2], Outcome((vote, broken), seconds=3.0, versions={"numpy": "2"}))
    first, second = store.results()
    first.pop("recorded")
    assert first.pop("key") != second["key"]
    assert first == {
        "study": "trial",
        "dataset": "wave",
        "dataset_checksum": "c0ffee",
        "partition": 2,
        "sweep": "svm",
        "method": "vote",
        "error": 0.25,
        "nll": 0.7,
        "figures": {"brier": 0.1},
        "parameters": {"C": 10.0, "sigma2": [1, 2]},
        "seconds_shared": 2.0,
        "seconds_own": 0.5,
        "seconds_unit": 3.0,
        "warnings": ["slow", "große Werte"],
        "failure": None,
        "versions": {"numpy": "2"},
        "definition": {},
        "results_version": RESULTS_VERSION,
        "unit": UNITS[2].key,
    }
    assert (second["method"], second["error"], second["failure"]) == (
        "tree",
        None,
        "no probabilities",
    )


def test_nothing_replaces_results(store):
    assert store.record(UNITS[0], outcome(0.25))
    assert not store.record(UNITS[0], outcome(0.75))
    assert not store.record(UNITS[0], Outcome(failure="late"))
    assert [row["error"] for row in store.results()] == [0.25, 0.5]


def test_results_replace_a_failure(store):
    assert store.record(UNITS[0], Outcome(failure="first"))
    assert not store.record(UNITS[0], Outcome(failure="second"))
    assert [row["failure"] for row in store.failed()] == ["first"]
    assert [(row["method"], row["failure"]) for row in store.results()] == [(None, "first")]
    assert store.finished(UNITS) == {UNITS[0].key}
    assert store.record(UNITS[0], outcome())
    assert store.failed() == []
    assert [row["method"] for row in store.results()] == ["vote", "max"]


def test_a_unit_is_written_as_a_whole_or_not_at_all(store):
    class Results(tuple):
        def __iter__(self):
            yield MethodResult("vote", error=0.1)
            raise KeyboardInterrupt

    broken = outcome()
    object.__setattr__(broken, "results", Results())
    with pytest.raises(KeyboardInterrupt):
        store.record(UNITS[0], broken)
    assert store.results() == []
    assert store.record(UNITS[0], outcome())


def test_a_changed_definition_is_never_mixed_with_an_old_one(store, tmp_path):
    old, new = UNITS, units(3, folds=10)
    store.record(old[0], outcome(0.1))
    store.record(new[1], outcome(0.2))
    assert store.finished(new) == {new[1].key}
    assert [row["error"] for row in store.results(new)] == [0.2, 0.5]
    with pytest.raises(ValueError, match="several definitions of sweep 'svm' on 'wave' in study"):
        store.results()
    with pytest.raises(ValueError, match="pass the units of the one that you want"):
        store.export_csv(tmp_path / "all.csv")
    assert not (tmp_path / "all.csv").exists()


def test_results_of_another_core_are_never_mixed(store):
    methods = [{"name": "vote"}, {"name": "max"}]
    new = units(2, methods=methods)
    old = [replace(unit, numerics_version=0) for unit in new]
    for unit in old:
        store.record(unit, outcome(0.1))
    store.record(new[0], outcome(0.2))
    store.record(replace(old[0], sweep="klr"), outcome(0.3))
    results = read_results(store)
    assert [row["error"] for row in results.rows] == [0.2, 0.5]
    assert results.left_out == ("wave: 3 units with another definition.",)


def test_other_data_of_the_same_name_is_other_work(store):
    store.record(UNITS[0], outcome())
    assert store.finished([replace(UNITS[0], dataset_checksum="beef")]) == set()


def test_forgotten_units_leave_nothing_behind(store):
    store.record(UNITS[0], outcome())
    store.record(UNITS[1], Outcome(failure="bad"))
    assert store.forget(UNITS, only_failed=True) == 1
    assert store.finished(UNITS) == {UNITS[0].key}
    assert store.forget(UNITS) == 1
    assert store._db.execute("SELECT count(*) FROM result").fetchone() == (0,)


# Claims. The holder "me" is this process, which lives, so that only time ends its claims.


def test_a_unit_is_claimed_by_one_driver_at_a_time(store):
    me, you = new_holder(), new_holder()
    assert store.claim(UNITS[0], me, 60)
    assert store.claim(UNITS[0], me, 60)
    assert not store.claim(UNITS[0], you, 60)
    store.release(me)
    assert store.claim(UNITS[0], you, 60)
    store.record(UNITS[0], outcome())
    assert store.claims() == {}
    assert not store.claim(UNITS[0], me, 60)


def test_a_claim_expires_unless_it_is_renewed(store):
    me, you = new_holder(), new_holder()
    store.claim(UNITS[0], me, -1)
    store.claim(UNITS[1], me, -1)
    assert store.claim(UNITS[0], you, 60)
    store.renew(me, 60)
    assert not store.claim(UNITS[1], you, 60)
    assert store.claims() == {UNITS[0].key: you, UNITS[1].key: me}


def test_a_dead_driver_holds_nothing(store):
    host, _, rest = new_holder().split("/")
    pid = 2**22 + 1  # above the greatest process number of Linux
    store.claim(UNITS[0], f"{host}/{pid}/{rest}", 60)
    store.claim(UNITS[1], f"elsewhere/{pid}/{rest}", 60)
    assert store.claim(UNITS[0], new_holder(), 60)
    assert not store.claim(UNITS[1], new_holder(), 60)


def test_many_at_once_make_one_store_and_record_each_unit_once(path):
    many = units(20)
    start = threading.Barrier(6)
    recorded, errors = [], []

    def work(number):
        try:
            start.wait()
            with Store(path) as store:
                recorded.extend(unit.key for unit in many if store.record(unit, outcome(number)))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(recorded) == sorted(unit.key for unit in many)
    assert len(harness.contents(path)) == 2 * len(many)


# Export.


def test_csv_and_parquet_hold_the_same_numbers_exactly(store, tmp_path):
    third = 1 / 3
    store.record(UNITS[0], outcome(third, nll=float("inf"), figures={"brier": third / 7}))
    store.record(UNITS[1], Outcome(failure='said "no",\nand left'))
    store.export_csv(tmp_path / "study.csv")
    store.export_parquet(tmp_path / "study.parquet")
    with (tmp_path / "study.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["vote", "max", ""]
    assert float(rows[0]["error"]) == third
    assert float(rows[0]["nll"]) == float("inf")
    assert float(rows[0]["figure_brier"]) == third / 7
    assert rows[1]["nll"] == rows[1]["figure_brier"] == ""
    assert rows[2]["failure"] == 'said "no",\nand left'
    assert json.loads(rows[0]["parameters"]) == {}

    from pyarrow import parquet

    table = parquet.read_table(tmp_path / "study.parquet")
    assert table.column_names == list(rows[0])
    columns = table.to_pydict()
    assert columns["error"] == [third, 0.5, None]
    assert columns["figure_brier"] == [third / 7, None, None]
    assert columns["partition"] == [0, 0, 1]
    assert sorted(os.listdir(tmp_path)) == [
        "study.csv",
        "study.db",
        "study.db-shm",
        "study.db-wal",
        "study.parquet",
    ]


def test_an_empty_store_exports_its_header(store, tmp_path):
    store.export_csv(tmp_path / "study.csv")
    store.export_parquet(tmp_path / "study.parquet")
    assert (tmp_path / "study.csv").read_text().startswith("study,dataset,dataset_checksum,")


def test_parquet_without_pyarrow_is_refused_with_a_sentence(store, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'polychotomy\[files\]', or export CSV"):
        store.export_parquet(tmp_path / "study.parquet")


# What can be wrong with a file.


def test_a_newer_schema_is_refused_and_left_alone(path):
    with Store(path) as store:
        store.record(UNITS[0], outcome())
        store._db.execute("PRAGMA user_version = 99")
    for read_only in (False, True):
        with pytest.raises(StoreError, match=r"newer polychotomy \(schema 99; this one reads"):
            Store(path, read_only=read_only)


def test_what_is_no_store_is_refused_and_left_alone(path, tmp_path):
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is a SQLite database, but not a store"):
        Store(path)
    assert path.read_bytes() == before
    (tmp_path / "notes.txt").write_text("not a database " * 100)
    with pytest.raises(StoreError, match="is not a SQLite database"):
        Store(tmp_path / "notes.txt")
    with pytest.raises(StoreError, match="Check that its folder exists"):
        Store(tmp_path / "nowhere" / "study.db")
    with pytest.raises(StoreError, match="it cannot be opened"):
        Store(tmp_path / "missing.db", read_only=True)
    assert not (tmp_path / "missing.db").exists()


def test_a_store_that_is_locked_is_said_to_be(path, store):
    store._db.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="another process keeps it locked"):
        Store(path, patience=0.01)
    store._db.execute("ROLLBACK")


def test_a_full_disk_leaves_the_store_as_it_was(path, store):
    store.record(UNITS[0], outcome())
    pages = store._pragma("page_count")
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    big = outcome(parameters={"text": "x" * 100_000})
    with pytest.raises(StoreError, match=r"the disk is full\. Free some space and run again"):
        store.record(UNITS[1], big)
    assert len(harness.contents(path)) == 2
    store._db.execute("PRAGMA max_page_count = 1000000")
    assert store.record(UNITS[1], big)
    assert len(harness.contents(path)) == 4


@pytest.fixture
def locked_folder():
    """A store in a folder that this process cannot write to, whoever it runs as."""
    if os.name != "posix":
        pytest.skip("needs POSIX permissions")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Store(folder / "study.db") as store:
            store.record(UNITS[0], outcome())
        (folder / "study.db").chmod(0o444)
        folder.chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            os.seteuid(user)
            folder.chmod(0o755)


def test_a_read_only_store_is_refused_at_once_and_can_be_read(locked_folder):
    path = locked_folder / "study.db"
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"it is read-only|it cannot be opened"):
        Store(path)
    with Store(path, read_only=True) as store:
        assert len(store.results()) == 2
        with pytest.raises(StoreError, match="it is read-only"):
            store.record(UNITS[1], outcome())
    assert path.read_bytes() == before
