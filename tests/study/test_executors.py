"""Executors in this process and in local processes: the same results, whoever dies."""

import multiprocessing
import os

import pytest

from polychotomy.execution import processes
from polychotomy.execution.executors import InProcess, LocalProcesses
from polychotomy.execution.units import Unit
from polychotomy.execution.work import WorkerError, load_task, perform
from polychotomy.study import executors, work
from study_tasks import units


def own_children():
    """Return the processes that are left of ours; joblib keeps its own for other tests.

    One that was still starting when the work ended finds its pipe closed, and ends by itself.
    """
    left = multiprocessing.active_children()
    ours = [child for child in left if not type(child).__name__.startswith("Loky")]
    for child in ours:
        child.join(30)
    return [child for child in ours if child.is_alive()]


def run(executor, work, task):
    """Return the outcomes by partition."""
    outcomes = {}

    def on_done(unit, outcome):
        assert unit.partition not in outcomes
        outcomes[unit.partition] = outcome

    executor.run(iter(work), f"study_tasks:{task}", on_done)
    return outcomes


def figures(outcomes):
    """Return all that was computed, without times."""
    return {
        partition: [(r.method, r.error, r.nll, r.figures, r.parameters) for r in outcome.results]
        for partition, outcome in outcomes.items()
    }


@pytest.mark.usefixtures("several_blas_threads")
def test_results_are_bit_equal_on_any_number_of_workers():
    work = units(5, size=300)
    alone = run(InProcess(), work, "compute")
    assert figures(run(LocalProcesses(1), work, "compute")) == figures(alone)
    assert figures(run(LocalProcesses(3), work, "compute")) == figures(alone)
    assert sorted(alone) == [0, 1, 2, 3, 4]
    assert alone[0].results[0].parameters["threads"] == 1  # more would add up in another order
    assert alone[0].versions["numpy"]
    assert alone[0].seconds > 0


def test_who_dies_is_run_again_and_who_kills_twice_is_recorded(tmp_path):
    deeds = {"1": "kill", "2": "kill once", "3": "raise"}
    work = units(6, deeds=deeds, folder=str(tmp_path))
    outcomes = run(LocalProcesses(2), work, "misbehave")
    assert sorted(outcomes) == [0, 1, 2, 3, 4, 5]
    assert outcomes[1].failure == "Its worker died 2 times, the last time by SIGKILL."
    assert outcomes[3].failure == "ZeroDivisionError: of all things"
    fine = {i: outcomes[i] for i in (0, 2, 4, 5)}
    assert figures(fine) == figures(run(InProcess(), [work[i] for i in fine], "misbehave"))
    assert own_children() == []


def test_a_failing_task_is_an_outcome(tmp_path):
    deeds = {"0": "raise", "1": "exit", "2": "nothing"}
    outcomes = run(InProcess(), units(3, deeds=deeds, folder=str(tmp_path)), "misbehave")
    assert outcomes[0].failure == "ZeroDivisionError: of all things"
    assert "in misbehave" in outcomes[0].traceback
    assert outcomes[1].failure == "SystemExit: enough"
    assert "must return a list of MethodResult, not []" in outcomes[2].failure


@pytest.mark.parametrize("executor", [InProcess(), LocalProcesses(1)])
def test_a_data_set_is_loaded_once_in_each_worker(executor, tmp_path, monkeypatch):
    monkeypatch.setattr(work, "_datasets", work._datasets.copy())
    names = ["wave", "wave", "iris", "wave", "iris"]
    todo = [
        Unit("s", name, str(tmp_path), i, "svm", {"folder": str(tmp_path)})
        for i, name in enumerate(names)
    ]
    run(executor, todo, "read_dataset")
    loads = [line.split() for line in (tmp_path / "loads").read_text().splitlines()]
    assert [name for name, _ in loads] == ["wave", "iris"]
    assert (loads[0][1] == str(os.getpid())) == isinstance(executor, InProcess)


def test_only_some_data_sets_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(work, "_datasets", work._datasets.copy())
    todo = [
        Unit("s", f"set{i % 6}", str(tmp_path), i, "svm", {"folder": str(tmp_path)})
        for i in range(12)
    ]
    run(InProcess(), todo, "read_dataset")
    assert len((tmp_path / "loads").read_text().splitlines()) == 12
    assert len(work._datasets) == 4


@pytest.mark.parametrize("executor", [InProcess(), LocalProcesses(1)])
def test_a_worker_that_is_set_up_wrongly_stops_the_study(executor, tmp_path):
    other = units(1, folder=str(tmp_path), found="beef")
    with pytest.raises(WorkerError, match=r"'wave' on .* its checksum is 'beef', not 'c0ffee'"):
        run(executor, other, "read_dataset")
    assert own_children() == []


@pytest.mark.parametrize("what", ["results", "numerics"])
def test_a_library_with_other_results_is_refused(what):
    unit = Unit("s", "d", "c", 0, "svm", {}, **{f"{what}_version": 0})
    with pytest.raises(WorkerError, match=f"needs version 0 of the library's {what}, but the"):
        perform("study_tasks:compute", unit)


def test_a_task_that_is_not_there_is_refused():
    with pytest.raises(WorkerError, match="'study_tasks:nothing' cannot be imported on"):
        load_task("study_tasks:nothing")
    with pytest.raises(ValueError, match=r"must be written 'package\.module:function'"):
        load_task("study_tasks.compute")


def test_units_are_taken_when_there_is_a_worker_for_them():
    taken = []

    def work():
        for unit in units(6):
            taken.append(unit.partition)
            yield unit

    def on_done(unit, outcome):
        done.append(unit.partition)
        assert len(taken) - len(done) <= 1

    done = []
    LocalProcesses(2).run(work(), "study_tasks:compute", on_done)
    assert sorted(done) == taken


def test_workers_end_when_the_driver_cannot_record(tmp_path):
    def on_done(unit, outcome):
        raise OSError("no more")

    work = units(3, deeds={"1": "sleep"}, folder=str(tmp_path))
    with pytest.raises(OSError, match="no more"):
        LocalProcesses(2).run(work, "study_tasks:misbehave", on_done)
    assert own_children() == []


def test_workers_that_cannot_start_are_no_fault_of_the_units(monkeypatch):
    # As in a script without a guard: the new process ends before it is at work.
    monkeypatch.setattr(processes, "_serve", os._exit)
    with pytest.raises(
        RuntimeError, match=r"end with exit code 1 before .* __name__ == '__main__'"
    ):
        LocalProcesses(2).run(units(4), "study_tasks:compute", lambda unit, outcome: None)
    assert own_children() == []


def test_workers_follow_the_driver_s_folder_and_environment(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        monkeypatch.setenv("STUDY_TRIAL", name)
        [outcome] = run(LocalProcesses(1), units(1), "look_around").values()
        assert outcome.results[0].parameters == {"folder": os.getcwd(), "variable": name}


def test_a_unit_that_was_put_back_is_the_next_one():
    backlog = executors.Backlog(units(3))
    first = backlog.take()
    backlog.put_back(first)
    assert [backlog.take().partition for _ in range(3)] == [0, 1, 2]
    assert backlog.take() is None


def test_a_number_of_workers_below_one_is_refused():
    with pytest.raises(ValueError, match="n_workers must be at least 1, got 0"):
        LocalProcesses(0)
    assert LocalProcesses().n_workers >= 1
