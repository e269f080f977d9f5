"""Drivers, workers, schedulers, clocks and disks that fail while a study runs.

    python tests/attack/stores.py                      # everything, in a few minutes
    python tests/attack/stores.py drivers --times 200  # one attack

Each attack prints what was tried and what was lost: results that differ from those of an
undisturbed run, are missing, or are stored twice. The exit code is 1 if anything was lost.
"""

import argparse
import contextlib
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import study_tasks
from polychotomy.execution.cluster import DaskCluster
from polychotomy.study.driver import run_study
from polychotomy.study.store import Store, StoreError
from study import harness
from study_tasks import runs, units, wait_until


def differences(path, expected):
    """Return how many rows are missing, changed or stored twice."""
    found = harness.contents(path)
    lost = sum(row not in found for row in expected)
    return lost + sum(row not in expected for row in found) + max(0, len(found) - len(expected))


def drivers(folder, times, rng):
    """SIGKILL the driver at random moments, and start it again."""
    log, path = folder / "log", folder / "study.db"
    work = units(3 * times, sleep=0.003, log=str(log))
    expected = harness.uninterrupted(folder, work)
    log.unlink()
    kills = 0
    while kills < times:
        with harness.driver(path, work, "compute") as process:
            until = len(runs(log)) + rng.choice([0, 1, 1, 2])
            wait_until(lambda until=until: len(runs(log)) >= until)
            time.sleep(rng.uniform(0.0, 0.015))
            process.kill()
            if harness.ended(process) != -signal.SIGKILL:
                raise RuntimeError(f"All was done after {kills} kills; use more units.")
        kills += 1
    with harness.driver(path, work, "compute") as process:
        assert harness.ended(process) == 0
    return kills, differences(path, expected)


def workers(folder, times, rng):
    """SIGKILL Dask workers at random moments; the scheduler starts others.

    Units are many times more than kills, so that hardly any is hit twice: a unit whose worker
    died twice is recorded as failed, which is its right.
    """
    log, path = folder / "log", folder / "study.db"
    work = units(4 * times, sleep=0.12, log=str(log))
    expected = harness.uninterrupted(folder, units(4 * times))
    done, killed, victims = threading.Event(), [], set()

    def kill():
        while len(killed) < times and not done.is_set():
            busy = {pid for _, pid in runs(log)[-2:]} - victims
            for pid in busy:
                time.sleep(rng.uniform(0.0, 0.1))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                victims.add(pid)
                break
            time.sleep(0.02)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        last = run_study(work, "study_tasks:compute", path, DaskCluster(n_workers=2))
    finally:
        done.set()
        killer.join()
    failed = [row for row in harness.contents(path) if row["method"] is None]
    said = all("worker died 2 times" in row["failure"] for row in failed)
    run_study(work, "study_tasks:compute", path, retry_failed=True)
    figures = {(row["partition"], row["method"]): row["error"] for row in expected}
    found = harness.contents(path)
    lost = len(found) != len(expected)
    lost += sum(figures.get((row["partition"], row["method"])) != row["error"] for row in found)
    print(f"  {last.failed} units were hit twice, and recorded as such: {said}")
    return len(killed), lost + (not said)


def scheduler(folder, times, rng):
    """SIGKILL the scheduler in mid run; start a new one, and go on."""
    path = folder / "study.db"
    work = units(12 * times, sleep=0.05)
    expected = harness.uninterrupted(folder, work)
    for _ in range(times):
        program = (
            "import distributed, time\n"
            "if __name__ == '__main__':\n"
            "    c = distributed.LocalCluster(n_workers=1, threads_per_worker=1,"
            " processes=False, protocol='tcp', dashboard_address=':0')\n"
            "    print(c.scheduler_address, flush=True)\n"
            "    time.sleep(600)\n"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment
        ) as process:
            address = process.stdout.readline().strip()
            wanted = harness.count_finished(path, work) + 2 if path.exists() else 2

            def kill(process=process, wanted=wanted):
                wait_until(lambda: path.exists() and harness.count_finished(path, work) >= wanted)
                process.kill()

            killer = threading.Thread(target=kill)
            killer.start()
            try:
                run_study(work, "study_tasks:compute", path, DaskCluster(address))
            except (ConnectionError, OSError, RuntimeError) as error:
                print(f"  said: {str(error)[:110]}")
            killer.join()
    run_study(work, "study_tasks:compute", path)
    return times, differences(path, expected)


def two_drivers(folder, times, rng):
    """Two drivers on one store, one of which is killed and started again all the time."""
    log, path = folder / "log", folder / "study.db"
    work = units(10 * times, sleep=0.01, log=str(log))
    expected = harness.uninterrupted(folder, work)
    log.unlink()
    kills = 0
    with harness.driver(path, work, "compute") as steady:
        while kills < times and steady.is_alive():
            with harness.driver(path, work, "compute") as process:
                time.sleep(rng.uniform(0.02, 0.3))
                process.kill()
                kills += harness.ended(process) == -signal.SIGKILL
        assert harness.ended(steady) == 0
    twice = len(runs(log)) - len({partition for partition, _ in runs(log)})
    print(f"  {twice} units were run again after their driver was killed")
    return kills, differences(path, expected) + max(0, twice - kills)


def _jumpy(path, work, seed):
    """Drive with a clock that jumps by up to a week, to and fro."""
    true, rng = time.time, random.Random(seed)
    time.time = lambda: true() + rng.choice([0, 0, 60, -60, 3600, -3600, 604800, -604800])
    study_tasks.drive(path, work, "compute", lease=1.0)


def clocks(folder, times, rng):
    """Two drivers whose clocks jump by up to a week between any two looks at them."""
    path, context = folder / "study.db", multiprocessing.get_context("spawn")
    work = units(10 * times, sleep=0.002)
    expected = harness.uninterrupted(folder, work)
    pair = [context.Process(target=_jumpy, args=(str(path), work, seed)) for seed in (1, 2)]
    for process in pair:
        process.start()
    for process in pair:
        process.join(study_tasks.HANGS_AFTER)
    ends = [process.exitcode for process in pair]
    if ends != [0, 0]:
        print(f"  drivers ended with {ends}")
    run_study(work, "study_tasks:compute", path)
    return times, differences(path, expected)


@contextlib.contextmanager
def _small_disk(size):
    folder = Path(tempfile.mkdtemp())
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)
        folder.rmdir()


def full_disk(folder, times, rng):
    """A small mounted disk that is full at a random moment; room is made, and it goes on.

    Needs the right to mount.
    """
    lost = 0
    work = units(60)
    expected = harness.uninterrupted(folder, work)
    for number in range(times):
        with _small_disk("3m") as disk:
            path, ballast = disk / "study.db", disk / "ballast"
            ballast.write_bytes(bytes(int(rng.uniform(2_400_000, 3_000_000))))
            try:
                run_study(work, "study_tasks:compute", path)
            except StoreError as error:
                if number == 0:
                    print(f"  said: {str(error)[:110]}")
            kept = 0
            # Opening a store takes a little room, too.
            with contextlib.suppress(StoreError):
                kept = harness.count_finished(path, work)
            ballast.unlink()
            lost += harness.count_finished(path, work) < kept
            run_study(work, "study_tasks:compute", path)
            lost += differences(path, expected)
    return times, lost


def read_only(folder, times, rng):
    """Stores that cannot be written: a read-only mount. Reading works, and writing is refused."""
    path, lost = folder / "study.db", 0
    work = units(20)
    expected = harness.uninterrupted(folder, work)
    run_study(work[:10], "study_tasks:compute", path)
    for number in range(times):
        with _small_disk("4m") as disk:
            shutil.copy(path, disk / "study.db")
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
            try:
                with Store(disk / "study.db", read_only=True) as store:
                    lost += len(store.finished(work)) != 10
            except StoreError as error:
                if number == 0:
                    print(f"  reading said: {str(error)[:110]}")
            try:
                run_study(work, "study_tasks:compute", disk / "study.db")
                lost += 1
            except StoreError as error:
                if number == 0:
                    print(f"  writing said: {str(error)[:110]}")
            shutil.copy(disk / "study.db", folder / "back.db")
        run_study(work, "study_tasks:compute", folder / "back.db")
        lost += differences(folder / "back.db", expected)
    return times, lost


ATTACKS = {
    "drivers": (drivers, 200),
    "workers": (workers, 200),
    "scheduler": (scheduler, 10),
    "two_drivers": (two_drivers, 50),
    "clocks": (clocks, 30),
    "full_disk": (full_disk, 20),
    "read_only": (read_only, 5),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=", ".join(ATTACKS))
    parser.add_argument("--times", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    all_lost = 0
    for name in options.attacks or ATTACKS:
        attack, times = ATTACKS[name]
        with tempfile.TemporaryDirectory() as folder:
            print(f"{name}: {attack.__doc__.splitlines()[0]}", flush=True)
            tried, lost = attack(Path(folder), options.times or times, random.Random(options.seed))
        print(f"{name}: tried {tried}, lost {lost}", flush=True)
        all_lost += lost
    return 1 if all_lost else 0


if __name__ == "__main__":
    sys.exit(main())
