"""The option --cluster of comparisons."""

import distributed
import pytest

from commands import Commands


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    impatient = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "0.5s"}
    return Commands(tmp_path_factory.mktemp("clusters"), impatient)


def test_compare_gives_the_same_answer_on_a_cluster(commands):
    asked = ["compare", "iris", "--methods", "logistic,PWC_PSVM", "--splits", "2", "--json"]
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="tcp"
    ) as cluster:
        there = commands.run(*asked, "--cluster", cluster.scheduler_address)
    here = commands.run(*asked, "--jobs", "1")
    assert (there.code, there.err) == (0, "")
    for key in ("figures", "parameters", "importance", "learning_curve", "left_out"):
        assert there.json[key] == here.json[key]


def test_a_cluster_that_is_not_there_is_said_before_anything_is_read(commands):
    said = commands.run("compare", "missing.csv", "--cluster", "tcp://127.0.0.1:9")
    assert said.code == 2
    assert said.err.startswith("polychotomy: error: There is no Dask scheduler at tcp://127.0.0.1")
    assert said.err.count("\n") == 1
    both = commands.run("compare", "iris", "--cluster", "tcp://127.0.0.1:9", "--jobs", "2")
    assert both.code == 2
    assert "--jobs is for this machine, and does not go with --cluster." in both.err
