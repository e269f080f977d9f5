"""The driver: resumes after any death, shares a store, and stops when told."""

import os
import random
import signal
import time
from dataclasses import replace

import pytest

from polychotomy.execution.work import WorkerError
from polychotomy.study.driver import Progress, run_study
from polychotomy.study.store import Store, StoreError, new_holder
from study_tasks import runs, units, wait_until

from . import harness

pytestmark = pytest.mark.usefixtures("fork_server")

posix = pytest.mark.skipif(os.name != "posix", reason="needs signals")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.db"


def begun(log):
    """Return the partitions that were begun, in order."""
    return [partition for partition, _ in runs(log)]


def test_finished_units_are_not_run_again(path, tmp_path):
    log = tmp_path / "log"
    work = units(4, log=str(log))
    run_study(work[:2], "study_tasks:compute", path)
    seen = []
    last = run_study(work, "study_tasks:compute", path, on_progress=seen.append)
    assert begun(log) == [0, 1, 2, 3]
    assert [(p.finished, p.failed, p.unit) for p in seen] == [
        (2, 0, None),
        (3, 0, work[2]),
        (4, 0, work[3]),
    ]
    assert last == Progress(total=4, finished=4, failed=0)
    assert harness.contents(path) == harness.uninterrupted(tmp_path, work)


def test_a_changed_definition_is_run_beside_the_old_one(path, tmp_path):
    old, new = units(2), units(2, size=41)
    run_study(old, "study_tasks:compute", path)
    run_study(new, "study_tasks:compute", path)
    assert harness.contents(path, new) == harness.uninterrupted(tmp_path, new)
    assert {row["definition"].get("size") for row in harness.contents(path, old)} == {None}


def test_dear_units_start_first(path, tmp_path):
    log = tmp_path / "log"
    work = [
        replace(unit, cost=cost)
        for unit, cost in zip(units(4, log=str(log)), [1, 3, 0, 3], strict=True)
    ]
    run_study(work, "study_tasks:compute", path)
    assert begun(log) == [1, 3, 0, 2]


def test_failed_units_are_run_again_only_when_asked(path, tmp_path):
    work = units(2, deeds={"0": "raise"}, folder=str(tmp_path), log=str(tmp_path / "log"))
    assert run_study(work, "study_tasks:misbehave", path).failed == 1
    assert run_study(work, "study_tasks:misbehave", path).failed == 1
    assert begun(tmp_path / "log") == [1]
    last = run_study(work, "study_tasks:compute", path, retry_failed=True)
    assert (last.finished, last.failed) == (2, 0)
    assert begun(tmp_path / "log") == [1, 0]


def test_without_resume_all_units_are_run_anew(path, tmp_path):
    work = units(2, log=str(tmp_path / "log"))
    other = units(1, size=41)
    run_study(work + other, "study_tasks:compute", path)
    run_study(work, "study_tasks:compute", path, resume=False)
    assert begun(tmp_path / "log") == [0, 1, 0, 1]
    assert len(harness.contents(path, work + other)) == 9


def test_what_makes_no_sense_is_refused_before_anything_is_run(path):
    with pytest.raises(
        ValueError, match=r"\(trial, wave, partition 0, svm\) is in the study twice"
    ):
        run_study(units(1) * 2, "study_tasks:compute", path)
    with pytest.raises(WorkerError, match="'study_tasks:nothing' cannot be imported"):
        run_study(units(1), "study_tasks:nothing", path)
    assert not path.exists()


@posix
def test_killed_at_random_moments_and_resumed_nothing_is_lost_or_stored_twice(path, tmp_path):
    log = tmp_path / "log"
    work = units(60, sleep=0.003, log=str(log))
    expected = harness.uninterrupted(tmp_path, work)
    log.unlink()
    rng = random.Random(7)
    counts = []
    for _ in range(10):
        with harness.driver(path, work, "compute") as process:
            # From the birth of the driver on, or from its first or second unit on.
            until = len(begun(log)) + rng.choice([0, 1, 1, 2, 2])
            wait_until(lambda until=until: len(begun(log)) >= until)
            time.sleep(rng.uniform(0.0, 0.015))
            process.kill()
            assert harness.ended(process) == -signal.SIGKILL, "all was done too soon"
        counts.append(harness.count_finished(path, work))
    assert counts == sorted(counts)
    assert 0 < counts[-1] < len(work)
    with harness.driver(path, work, "compute") as process:
        assert harness.ended(process) == 0
    assert harness.contents(path) == expected
    # Only a unit that was being run at a kill was run again.
    assert len(work) <= len(begun(log)) <= len(work) + len(counts)


@posix
def test_a_killed_driver_takes_its_workers_along(path, tmp_path):
    log = tmp_path / "log"
    deeds = {"2": "sleep", "3": "sleep"}
    work = units(5, deeds=deeds, folder=str(tmp_path), log=str(log))
    with harness.driver(path, work, "misbehave", n_workers=2) as process:
        wait_until(lambda: {0, 1, 2, 3} <= set(begun(log)))
        wait_until(lambda: harness.count_finished(path, work) == 2)
        process.kill()
        assert harness.ended(process) == -signal.SIGKILL
    wait_until(lambda: not living(pid for _, pid in runs(log)))
    run_study(work, "study_tasks:compute", path)
    assert sorted(begun(log)) == [0, 1, 2, 2, 3, 3, 4]
    assert harness.contents(path) == harness.uninterrupted(tmp_path, work)


def living(candidates):
    """Return those processes that live."""
    alive = set()
    for pid in candidates:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            continue
        alive.add(pid)
    return alive


@posix
@pytest.mark.parametrize("n_workers", [0, 2])
def test_ctrl_c_stops_within_seconds_and_keeps_what_is_finished(path, tmp_path, n_workers):
    deeds = {str(i): "sleep" for i in range(3, 8)}
    work = units(8, deeds=deeds, folder=str(tmp_path))
    with harness.driver(path, work, "misbehave", n_workers=n_workers) as process:
        wait_until(lambda: path.exists() and harness.count_finished(path, work) == 3)
        os.kill(process.pid, signal.SIGINT)
        start = time.monotonic()
        assert harness.ended(process) == 1
        assert time.monotonic() - start < 20  # the units sleep for longer
    assert len(harness.contents(path)) == 9


@posix
def test_two_drivers_share_a_store_and_run_each_unit_once(path, tmp_path):
    log = tmp_path / "log"
    work = units(30, sleep=0.003, deeds={"0": "meet"}, folder=str(tmp_path), log=str(log))
    with (
        harness.driver(path, work, "misbehave") as one,
        harness.driver(path, work, "misbehave") as two,
    ):
        assert harness.ended(one) == 0
        assert harness.ended(two) == 0
    assert sorted(begun(log)) == [0, *range(30)]  # the one that waits for the other notes it twice
    assert len({pid for _, pid in runs(log)}) == 2
    assert harness.contents(path) == harness.uninterrupted(tmp_path, work, "misbehave")


@posix
def test_a_driver_that_was_suspended_does_not_store_what_another_has_done(path, tmp_path):
    log = tmp_path / "log"
    work = units(3, deeds={"0": "hold once"}, folder=str(tmp_path), log=str(log))
    with harness.driver(path, work, "misbehave", lease=1.0) as sleeper:
        wait_until(lambda: begun(log))
        os.kill(sleeper.pid, signal.SIGSTOP)
        with harness.driver(path, work, "misbehave", lease=1.0) as other:
            assert harness.ended(other) == 0
        with Store(path) as store:
            before = store.results()
        (tmp_path / "go").touch()
        os.kill(sleeper.pid, signal.SIGCONT)
        assert harness.ended(sleeper) == 0
    assert sorted(begun(log)) == [
        0,
        0,
        0,
        1,
        2,
    ]  # held, taken over, run to its end
    with Store(path) as store:
        assert store.results() == before  # times too: these are the other's
    assert harness.contents(path) == harness.uninterrupted(tmp_path, work, "misbehave")


def test_the_claim_of_a_silent_driver_expires(path):
    work = units(2)
    with Store(path) as store:
        assert store.claim(work[0], new_holder(), 0.3)
        assert run_study(work, "study_tasks:compute", store, lease=0.2).finished == 2


@posix
def test_claims_are_renewed_while_a_unit_is_run(path, tmp_path):
    work = units(1, deeds={"0": "sleep"}, folder=str(tmp_path))

    def expiry():
        with Store(path) as store:
            found = store._db.execute("SELECT expires FROM claim").fetchone()
        return found[0] if found else 0.0

    with harness.driver(path, work, "misbehave", lease=0.4):
        wait_until(lambda: path.exists() and expiry() > 0)
        for _ in range(2):
            last = expiry()
            wait_until(lambda last=last: expiry() > last)


def test_a_full_disk_stops_the_study_and_keeps_what_is_finished(path, tmp_path):
    work = units(40)
    with Store(path) as store:
        store._db.execute(f"PRAGMA max_page_count = {store._pragma('page_count') + 6}")
        with pytest.raises(StoreError, match="the disk is full"):
            run_study(work, "study_tasks:compute", store)
    n_finished = harness.count_finished(path, work)
    assert 0 < n_finished < 40
    with Store(path) as store:
        assert len(store.results()) == 3 * n_finished
    run_study(work, "study_tasks:compute", path)
    assert harness.contents(path) == harness.uninterrupted(tmp_path, work)


def test_a_disk_that_refuses_to_write_is_said_to(path, tmp_path):
    resource = pytest.importorskip("resource")
    work = units(40)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, hard))
    try:
        with pytest.raises(StoreError, match="the disk cannot be written"):
            run_study(work, "study_tasks:compute", path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert 0 < harness.count_finished(path, work) < 40
    run_study(work, "study_tasks:compute", path)
    assert harness.contents(path) == harness.uninterrupted(tmp_path, work)
