"""What the tests of studies share."""

import multiprocessing
from contextlib import contextmanager

import study_tasks
from polychotomy.study.driver import run_study
from polychotomy.study.store import Store

TIMES = ("seconds_shared", "seconds_own", "seconds_unit", "recorded")


def contents(path, units=None):
    """Return all of a store but times."""
    with Store(path) as store:
        rows = store.results(units)
        assert store._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert store.claims() == {}
    return [{name: value for name, value in row.items() if name not in TIMES} for row in rows]


def uninterrupted(folder, units, task="compute"):
    """Return the contents of a store that one undisturbed driver has written."""
    run_study(units, f"study_tasks:{task}", folder / "uninterrupted.db")
    return contents(folder / "uninterrupted.db")


def count_finished(path, units):
    with Store(path) as store:
        return len(store.finished(units))


@contextmanager
def driver(*args, **options):
    """Run a driver in a process that is forked from one with all imports done."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["polychotomy.study.driver"])
    process = context.Process(target=study_tasks.drive, args=args, kwargs=options)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join(study_tasks.HANGS_AFTER)
        process.close()


def ended(process):
    """Wait for a process, and return its exit code."""
    process.join(study_tasks.HANGS_AFTER)
    return process.exitcode
