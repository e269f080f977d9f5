"""Fits on Dask arrays and data frames: the bits of a fit in this process, whoever dies."""

import os
import signal
import threading

import dask.array
import dask.dataframe
import distributed
import numpy as np
import pandas
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import polychotomy as pc
from polychotomy.blocks import RowBlocks, block, first_reading
from polychotomy.blocks.cluster import DaskBlocks
from polychotomy.blocks.first_reading import survey

pytestmark = pytest.mark.usefixtures("fork_server")

X, Y = load_wine(return_X_y=True)
ORDER = np.random.default_rng(3).permutation(len(Y))
X, Y = scale(X)[ORDER], Y[ORDER]
WEIGHTS = np.random.default_rng(1).uniform(0.2, 3.0, len(Y))
NAMES = [f"x{k}" for k in range(X.shape[1])]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(block, "MOST_ROWS", 20)
    monkeypatch.setattr(block, "LEAST_ROWS", 1)


def pipe():
    machine = pc.LSSVM(landmarks=30, gamma=0.03)
    return pc.PolychotomyClassifier(machine, "one_vs_rest", decoder="shrunk_soft_max")


def expected():
    return pipe().fit(RowBlocks.from_arrays(X, Y, WEIGHTS)).predict_proba(X)


def arrays(rows, columns, labels):
    return (
        dask.array.from_array(X, chunks=(rows, columns)),
        dask.array.from_array(Y, chunks=labels),
        dask.array.from_array(WEIGHTS, chunks=rows),
    )


@pytest.fixture
def client():
    """A cluster with one worker in this process, which costs little."""
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def check_collections():
    p = expected()
    given, labels, weights = arrays(33, 5, 50)
    clf = pipe().fit(given, labels, sample_weight=weights)
    assert np.array_equal(clf.predict_proba(X), p)
    frame = pandas.DataFrame(X, columns=NAMES).assign(y=Y, w=WEIGHTS)
    parts = dask.dataframe.from_pandas(frame, npartitions=3)
    clf = pipe().fit(parts[NAMES], parts["y"], sample_weight=parts["w"])
    assert np.array_equal(clf.predict_proba(frame[NAMES]), p)
    assert clf.feature_names_in_.tolist() == NAMES
    # Chunks of unknown sizes.
    clf = pipe().fit(parts[NAMES].values, parts["y"].values, sample_weight=parts["w"].values)
    assert np.array_equal(clf.predict_proba(X), p)


def test_arrays_and_data_frames_without_a_cluster():
    check_collections()


def test_arrays_and_data_frames_on_a_cluster(client):
    check_collections()
    assert client.status == "running"


def test_a_sample_drawn_by_workers_is_the_same(client, monkeypatch):
    monkeypatch.setattr(first_reading, "SAMPLE_ROWS", 40)
    monkeypatch.setattr(first_reading, "ROWS_A_CLASS", 3)
    ours = survey(DaskBlocks(*arrays(33, 5, 50))).sample
    plain = survey(RowBlocks.from_arrays(X, Y, WEIGHTS)).sample
    assert len(plain.y) < 50
    for name in ("X", "y", "weights", "ranks", "shares"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(plain, name))


def test_faults_are_named(client):
    given, labels, _ = arrays(33, 13, 33)
    wrong = X.copy()
    wrong[40, 2] = np.nan
    with pytest.raises(ValueError, match=r"Block 1, row 7, has a missing .* in input 2"):
        pipe().fit(dask.array.from_array(wrong, chunks=(33, 13)), labels)
    with pytest.raises(ValueError, match="X has 178 rows, but y has the shape"):
        pipe().fit(given, labels[:-1])
    with pytest.raises(ValueError, match="needs the classes"):
        pipe().fit(given)
    with pytest.raises(ValueError, match="SVM cannot be trained on blocks of rows"):
        pc.PolychotomyClassifier().fit(given, labels)


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_two_workers_one_of_which_dies(tmp_path):
    p = expected()
    marks = tmp_path / "marks"
    marks.mkdir()

    def slow(part, block_info=None):
        """Keep the worker that reads the first part for the second time, for the sums."""
        import time

        if block_info and block_info[0]["chunk-location"][0] == 0:
            name = next(name for name in ("read", "victim", "again") if not (marks / name).exists())
            (marks / name).write_text(str(os.getpid()))
            if name == "victim":
                time.sleep(60)
        return part

    given, labels, weights = arrays(33, 13, 33)
    given = given.map_blocks(slow, dtype=given.dtype, meta=np.empty((0, 0)))

    done = threading.Event()

    def kill():
        while not done.wait(0.01):
            if (marks / "victim").exists() and (victim := (marks / "victim").read_text()):
                os.kill(int(victim), signal.SIGKILL)
                return

    killer = threading.Thread(target=kill)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        killer.start()
        try:
            clf = pipe().fit(given, labels, sample_weight=weights)
        finally:
            done.set()
            killer.join()
    assert (marks / "again").exists()
    assert np.array_equal(clf.predict_proba(X), p)
