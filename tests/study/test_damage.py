"""A store that a disk has changed: never other results, and a sentence that says what to do."""

import sqlite3

import pytest

from polychotomy.execution.units import MethodResult, Outcome
from polychotomy.study.driver import run_study
from polychotomy.study.store import Store, StoreError, new_holder
from study_tasks import units

UNITS = units(3)
NAME = "study 'trial', data set 'wave', partition 0, sweep 'svm'"


def outcome(error, **more):
    return Outcome((MethodResult("vote", error=error, **more), MethodResult("max", error=0.5)))


def all_that_is_read(path):
    with Store(path, read_only=True) as store:
        return store.families(), store.results(), store.results(UNITS), store.failed()


def change(path, statement):
    with sqlite3.connect(path) as db:
        db.execute(statement)
    db.close()


def take_checksums(path):
    """Make it a store of schema 1."""
    for column in ("unit.checksum", "unit.numerics_version", "result.checksum"):
        change(path, "ALTER TABLE {} DROP COLUMN {}".format(*column.split(".")))
    change(path, "PRAGMA user_version = 1")


@pytest.fixture
def path(tmp_path):
    """A store with results and a failure."""
    path = tmp_path / "study.db"
    with Store(path) as store:
        more = {"nll": 0.75, "figures": {"brier": 0.125}, "warnings": ["große Werte"]}
        store.record(UNITS[0], outcome(0.125, parameters={"C": 10.0}, **more))
        store.record(UNITS[1], outcome(0.375))
        store.record(UNITS[2], Outcome(failure="bad luck", traceback="Traceback"))
    return path


def test_a_flipped_bit_never_gives_other_results(path):
    truth, written = all_that_is_read(path), path.read_bytes()
    # Most of a small file is empty space, where nothing can go wrong.
    used = [at for at, byte in enumerate(written) if byte]
    sentences = []
    for number, at in enumerate(used[::17]):
        flipped = bytearray(written)
        flipped[at] ^= 1 << number % 8
        path.write_bytes(flipped)
        try:
            assert all_that_is_read(path) == truth, at
        except StoreError as error:
            sentences.append(str(error))
    assert len(sentences) > 100
    assert all(str(path) in text and len(text.splitlines()) == 1 for text in sentences)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE result SET error = 0.12 WHERE error = 0.125",
        "UPDATE result SET parameters = '{\"C\": 10.' WHERE error = 0.125",
        "UPDATE result SET warnings = CAST(x'5bff5d' AS TEXT) WHERE error = 0.125",
        "UPDATE result SET checksum = NULL WHERE error = 0.125",
        "UPDATE unit SET checksum = NULL WHERE partition = 0",
        "UPDATE unit SET versions = '{' WHERE partition = 0",
        "DELETE FROM result WHERE error = 0.125",
    ],
)
def test_a_damaged_unit_is_named_and_can_be_run_again(path, statement):
    truth = all_that_is_read(path)[1]
    change(path, statement)
    with (
        Store(path, read_only=True) as store,
        pytest.raises(StoreError, match=f"the results of {NAME} are not.*Run the study again"),
    ):
        store.results()
    with Store(path) as store:
        assert len(store.results(UNITS[1:])) == 3
        with pytest.warns(UserWarning, match=f"{NAME} were damaged in the store"):
            assert store.forget_damaged() == 1
        assert store.forget_damaged() == 0
        assert store.finished(UNITS) == {unit.key for unit in UNITS[1:]}
        assert store.results() == truth[2:]
        assert store.record(UNITS[0], outcome(0.125))


def test_a_run_computes_damaged_units_again(tmp_path):
    path, task = tmp_path / "study.db", "polychotomy.execution.work:example"
    some = units(3, methods=["a"])
    run_study(some, task, path)
    with Store(path) as store:
        truth = [row["error"] for row in store.results()]
    change(path, "UPDATE result SET error = error + 1")
    with pytest.warns(UserWarning, match="computes them again") as told:
        assert run_study(some, task, path).finished == 3
    assert len(told) == 3
    with Store(path) as store:
        assert [row["error"] for row in store.results()] == truth


def test_a_damaged_name_is_written_so_that_it_can_be_read(path):
    change(path, "UPDATE unit SET sweep = CAST(x'73ff1b6d' AS TEXT) WHERE partition = 0")
    with Store(path) as store, pytest.raises(StoreError, match=r"sweep 's\\udcff\\x1bm' are not"):
        store.families()


@pytest.mark.filterwarnings("ignore:The results of")
def test_a_key_that_is_not_in_its_index_is_repaired_by_a_run(path):
    written, key = path.read_bytes(), UNITS[0].key.encode()
    for at in range(written.count(key)):
        parts = written.split(key)
        parts[at : at + 2] = [parts[at] + b"x" + key[1:] + parts[at + 1]]
        path.write_bytes(key.join(parts))
        with (
            Store(path, read_only=True) as store,
            pytest.raises(StoreError, match=r"index.*Run the study again with this store"),
        ):
            store.results()
        with Store(path) as store:
            store.forget_damaged()
            for unit in UNITS:
                store.record(unit, outcome(0.25))
            assert len(store.results(UNITS)) == 6


def test_a_damaged_claim_holds_nothing(path):
    with Store(path) as store:
        store.forget(UNITS)
        store.claim(UNITS[0], new_holder(), 60)
        store._db.execute("UPDATE claim SET holder = 'x'")
        assert store.claim(UNITS[0], new_holder(), 60)


def test_a_store_without_checksums_is_read_and_gets_them(path):
    truth = all_that_is_read(path)
    truth[0][0]["numerics_version"] = None
    take_checksums(path)
    assert all_that_is_read(path) == truth
    with Store(path) as store:
        assert store.forget_damaged() == 0
    assert all_that_is_read(path) == truth
    change(path, "UPDATE result SET error = 0.12 WHERE error = 0.125")
    with pytest.raises(StoreError, match="are not what was written"):
        all_that_is_read(path)


def test_damaged_json_in_a_store_without_checksums_is_named(path):
    take_checksums(path)
    change(path, "UPDATE result SET figures = '{' WHERE error = 0.125")
    with pytest.raises(StoreError, match=f"{NAME} are not what was written"):
        all_that_is_read(path)
    with Store(path) as store, pytest.warns(UserWarning, match="partition 0"):
        assert store.forget_damaged() == 1
