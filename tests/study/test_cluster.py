"""Dask clusters: the same results as in this process, whoever dies."""

import os
import signal
import sys
import threading

import dask
import distributed
import pytest

from polychotomy.execution.cluster import DaskCluster
from polychotomy.execution.work import WorkerError
from polychotomy.study.driver import run_study
from study_tasks import runs, units, wait_until

from . import harness

pytestmark = pytest.mark.usefixtures("fork_server")


@pytest.fixture
def cluster():
    """A cluster with one worker in this process, which costs little."""
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        dashboard_address=":0",
    ) as cluster:
        yield cluster


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_workers_may_die_in_mid_run(tmp_path):
    # A worker is killed from outside, a unit kills its worker once, and one does so each time.
    log = tmp_path / "log"
    deeds = {"0": "hold once", "2": "kill", "5": "kill once"}
    work = units(8, sleep=0.1, deeds=deeds, folder=str(tmp_path), log=str(log))

    def kill_who_is_at_the_first_unit():
        wait_until(lambda: any(partition == 0 for partition, _ in runs(log)))
        [victim] = [pid for partition, pid in runs(log) if partition == 0]
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill_who_is_at_the_first_unit)
    killer.start()
    executor = DaskCluster(n_workers=2)
    last = run_study(work, "study_tasks:misbehave", tmp_path / "study.db", executor)
    killer.join()
    assert (last.finished, last.failed) == (8, 1)
    rows = harness.contents(tmp_path / "study.db")
    assert len(rows) == 7 * 3 + 1
    [failed] = [row for row in rows if row["method"] is None]
    assert failed["partition"] == 2
    assert failed["failure"].startswith("Its worker died 2 times, the last time by the loss of the")
    assert [partition for partition, _ in runs(log)].count(0) == 2
    assert os.getpid() not in {pid for _, pid in runs(log)}
    fine = [unit for unit in work if unit.partition != 2]
    rows.remove(failed)
    assert rows == harness.uninterrupted(tmp_path, fine, "misbehave")


def test_a_cluster_is_reached_by_its_address(cluster, tmp_path):
    work = units(3)
    run_study(
        work, "study_tasks:compute", tmp_path / "a.db", DaskCluster(cluster.scheduler_address)
    )
    assert harness.contents(tmp_path / "a.db") == harness.uninterrupted(tmp_path, work)
    other = units(1, folder=str(tmp_path), found="beef")
    with pytest.raises(WorkerError, match="its checksum is 'beef', not 'c0ffee'"):
        run_study(
            other,
            "study_tasks:read_dataset",
            tmp_path / "b.db",
            DaskCluster(cluster.scheduler_address),
        )
    assert harness.contents(tmp_path / "b.db") == []


def test_a_cluster_that_vanishes_is_said_to(cluster, tmp_path):
    work = units(3)

    def vanish(progress):
        if progress.unit is not None:
            cluster.close()

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}),
        pytest.raises(ConnectionError, match="Finished units are recorded; run again to continue"),
    ):
        run_study(
            work,
            "study_tasks:compute",
            tmp_path / "study.db",
            DaskCluster(cluster.scheduler_address),
            on_progress=vanish,
        )
    assert len(harness.contents(tmp_path / "study.db")) == 3


def test_a_cluster_without_workers_is_said_to_have_none(tmp_path):
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        executor = DaskCluster(client=client, patience=0.1)
        with pytest.raises(RuntimeError, match=r"no worker for 0\.1 seconds\. Start workers"):
            run_study(units(2), "study_tasks:compute", tmp_path / "study.db", executor)
    assert harness.contents(tmp_path / "study.db") == []


def test_threads_of_a_worker_that_lie_idle_are_pointed_out():
    with (
        distributed.Client(
            processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0"
        ) as client,
        pytest.warns(UserWarning, match="has 2 threads, but only one is used: start as many"),
    ):
        DaskCluster(client=client).run(units(2), "study_tasks:compute", lambda *_: None)


def test_an_address_where_nobody_is_is_refused():
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}),
        pytest.raises(
            ConnectionError, match=r"There is no Dask scheduler at tcp://127\.0\.0\.1:9;"
        ),
    ):
        DaskCluster("tcp://127.0.0.1:9").run(units(1), "study_tasks:compute", lambda *_: None)


def test_without_dask_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'polychotomy\[cluster\]'"):
        DaskCluster().run(units(1), "study_tasks:compute", lambda *_: None)


def test_one_cluster_is_given_in_one_way():
    with pytest.raises(ValueError, match="Give an address, a client, or the n_workers"):
        DaskCluster("tcp://127.0.0.1:8786", n_workers=2)
