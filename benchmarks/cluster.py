"""A search and a comparison of real size on one and on two Dask workers.

Shows the wall-clock seconds, the processor seconds of every worker and of the driver, and two
speed-ups over one worker: the one measured, which needs an idle machine with as many cores as
workers; and the one that processor time allows, which other programs disturb less: the busiest
worker, and the driver's own thread, which works while the others wait. All runs must find the same
figures, to the last bit.

Results are kept in a file after each run, and only what is missing is run again: delete the file to
start afresh.

    python benchmarks/cluster.py [--workers 1 2] [--repeats 3] [--rows 1797] [--keep cluster.json]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from _data import load
from distributed import Client, LocalCluster

import polychotomy as pc
from polychotomy.compare import compare_methods

METHODS = ["PWC_PSVM", "WTA_PSVM", "PWC_KLR"]
COMPARED = ["PWC_PSVM", "WTA_PSVM", "PWC_KLR", "PSVC", "logistic", "forest"]


def search(X: Any, y: Any, client: Client) -> list[np.ndarray]:
    found = pc.MethodSweep(METHODS, executor=client).fit(X, y)
    return [found.cells_["cv_error"], found.cells_["cv_nll"]]


def comparison(X: Any, y: Any, client: Client) -> list[np.ndarray]:
    found = compare_methods(X, y, COMPARED, n_splits=4, executor=client, show_progress=False)
    return [found.figures("nll")[name] for name in COMPARED]


WORK = {"search": search, "comparison": comparison}


def processor_seconds(client: Client) -> list[float]:
    return list(client.run(time.process_time).values())


def measured(name: str, n_workers: int, X: Any, y: Any) -> dict[str, Any]:
    """Run a piece of work once on a new cluster, whose workers have imported what they need."""
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        client.run(__import__, "polychotomy.compare")
        before, own, start = processor_seconds(client), time.thread_time(), time.perf_counter()
        figures = WORK[name](X, y, client)
        seconds, own = time.perf_counter() - start, time.thread_time() - own
        workers = np.subtract(processor_seconds(client), before)
    digest = hashlib.sha256(b"".join(one.tobytes() for one in figures)).hexdigest()[:12]
    return {
        **{"work": name, "workers": n_workers, "rows": len(y), "seconds": seconds},
        **{"processor": workers.tolist(), "driver": own, "figures": digest},
    }


def show(runs: list[dict[str, Any]]) -> None:
    print(
        "work         workers  runs  seconds  processor seconds of each   driver  speed-up  allowed"
    )
    for work in dict.fromkeys(run["work"] for run in runs):
        of_work = [run for run in runs if run["work"] == work]
        alone = [run for run in of_work if run["workers"] == 1]
        for n_workers in sorted({run["workers"] for run in of_work}):
            own = [run for run in of_work if run["workers"] == n_workers]
            best = min(own, key=lambda run: run["seconds"])
            ratio = allowed = float("nan")
            if alone:
                ratio = min(run["seconds"] for run in alone) / best["seconds"]
                allowed = busiest(alone) / busiest(own)
            each = " ".join(f"{one:.1f}" for one in sorted(best["processor"]))
            print(
                f"{work:12} {n_workers:7} {len(own):5} {best['seconds']:8.1f}  {each:26} "
                f"{best['driver']:7.1f} {ratio:9.2f} {allowed:8.2f}"
            )
        same = len({run["figures"] for run in of_work}) == 1
        print(f"{work:12} {'the same bits in all runs' if same else 'FIGURES DIFFER'}")


def busiest(runs: list[dict[str, Any]]) -> float:
    """Return the median processor time of the busiest worker and the driver."""
    return float(np.median([max(run["processor"]) + run["driver"] for run in runs]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--work", nargs="+", choices=list(WORK), default=list(WORK))
    parser.add_argument("--data", default="digits", help="or a set of POLYCHOTOMY_DATA")
    parser.add_argument("--rows", type=int, default=1797)
    parser.add_argument("--keep", type=Path, default=Path("cluster.json"))
    given = parser.parse_args()
    X, y = load(given.data, given.rows)
    runs = json.loads(given.keep.read_text()) if given.keep.exists() else []
    for repeat in range(given.repeats):
        for work in given.work:
            for n_workers in given.workers:
                keys = {"work": work, "workers": n_workers, "rows": len(y)}
                done = [run for run in runs if all(run[key] == keys[key] for key in keys)]
                if len(done) <= repeat:
                    runs.append(measured(work, n_workers, X, y))
                    given.keep.write_text(json.dumps(runs))
    show([run for run in runs if run["rows"] == len(y)])


if __name__ == "__main__":
    main()
