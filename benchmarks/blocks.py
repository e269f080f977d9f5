"""Rows in blocks: memory, Dask workers, and what 10^8 rows on 100 machines would take.

The data are the noisy ones of `benchmarks/scale.py` (30 inputs, 6 classes), generated block by
block, so that no process ever holds them. "seconds" is processor time, "MB" the peak memory of a
fresh process.

    python benchmarks/blocks.py memory --rows 100000 400000 1000000     # peak memory
    python benchmarks/blocks.py tool --rows 1000000                     # fit and predict, Parquet
    python benchmarks/blocks.py dask --rows 1000000                     # one worker and two
    python benchmarks/blocks.py model                                   # constants, and an estimate

`dask` compares wall-clock times, which need two idle cores, and processor times, which other
programs disturb less: "allowed" is the ratio of those of the busiest worker and the driver
together.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time, thread_time

import numpy as np
from scale import noisy

SIZE = 50_000


def source(n_rows: int):
    from polychotomy.blocks import RowBlocks

    def read():
        for start in range(0, n_rows, SIZE):
            yield noisy(min(SIZE, n_rows - start), 1 + start)

    return RowBlocks(read)


def classifier(landmarks: int):
    import polychotomy as pc

    machine = pc.LSSVM(landmarks=landmarks)
    return pc.PolychotomyClassifier(machine, "one_vs_rest", decoder="shrunk_soft_max")


def fit_once(n_rows: int, landmarks: int) -> dict[str, float]:
    """Fit in this process; the time of generating the rows is taken off."""
    X, y = noisy(20_000, 2)
    start = process_time()
    for _ in source(n_rows).blocks():
        pass
    generating = process_time() - start
    start = process_time()
    clf = classifier(landmarks).fit(source(n_rows))
    spent = process_time() - start - 2.0 * generating
    p = clf.predict_proba(X)
    return {
        "rows": n_rows,
        "m": landmarks,
        "seconds": round(spent, 1),
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "NLL": round(float(-np.log(p[np.arange(len(y)), y]).mean()), 4),
    }


def in_a_process(*arguments: object) -> str:
    command = [sys.executable, __file__, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def memory(rows: list[int], landmarks: int) -> None:
    print(f"{'rows':>10}{'m':>6}{'seconds':>9}{'MB':>7}{'NLL':>8}")
    for n_rows in rows:
        found = json.loads(in_a_process("once", "--rows", n_rows, "--landmarks", landmarks))
        print(
            f"{found['rows']:>10}{found['m']:>6}{found['seconds']:>9}{found['MB']:>7}"
            f"{found['NLL']:>8}",
            flush=True,
        )


def tool(n_rows: int) -> None:
    """Fit and predict a Parquet file by the command line."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        path, model = Path(folder) / "big.parquet", Path(folder) / "model"
        writer = None
        for start in range(0, n_rows, SIZE):
            X, y = noisy(min(SIZE, n_rows - start), 1 + start)
            columns = {f"x{k}": X[:, k].astype(np.float64) for k in range(X.shape[1])}
            table = pa.table({**columns, "y": np.array(list("abcdef"))[y]})
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
        writer.close()
        commands = (
            ["fit", str(path), "--target", "y", "--time", "none", "-o", str(model)],
            ["predict", str(model), str(path), "-o", str(Path(folder) / "answers.parquet")],
        )
        print(f"{'command':<10}{'rows':>10}{'seconds':>9}{'MB':>7}")
        for command in commands:
            code = f"import sys; from polychotomy.cli import main; sys.exit(main({command!r}))"
            process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            if status:
                raise SystemExit(f"{command[0]} failed.")
            spent = usage.ru_utime + usage.ru_stime
            size = usage.ru_maxrss // 1024
            print(f"{command[0]:<10}{n_rows:>10}{spent:>9.1f}{size:>7}", flush=True)


def part(block_info=None):
    start = block_info[None]["array-location"][0][0]
    n_rows = block_info[None]["chunk-shape"][0]
    X, y = noisy(n_rows, 1 + start)
    return np.column_stack([X, y.astype(np.float32)])


def dask_workers(n_rows: int, landmarks: int) -> None:
    import dask.array
    from distributed import Client, LocalCluster

    chunks = tuple(min(SIZE, n_rows - start) for start in range(0, n_rows, SIZE))
    both = dask.array.map_blocks(
        part, chunks=(chunks, (31,)), dtype=np.float32, meta=np.empty((0, 0), np.float32)
    )
    X, y = both[:, :30], both[:, 30].astype(int)
    heads = ("workers", 8), ("wall s", 8), ("busiest s", 11), ("driver s", 10), ("ratio", 7)
    print("".join(f"{word:>{width}}" for word, width in (*heads, ("allowed", 9))))
    first, bits = None, None
    for n_workers in (1, 2):
        with (
            LocalCluster(
                n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            client.run(lambda: __import__("polychotomy.machines.block_sums"))
            before = client.run(process_time)
            start, own = perf_counter(), thread_time()
            clf = classifier(landmarks).fit(X, y)
            spent, own = perf_counter() - start, thread_time() - own
            after = client.run(process_time)
        busiest = max(after[worker] - before[worker] for worker in before)
        first = first or (spent, busiest + own)
        print(
            f"{n_workers:>8}{spent:>8.1f}{busiest:>11.1f}{own:>10.1f}{first[0] / spent:>7.2f}"
            f"{first[1] / (busiest + own):>9.2f}",
            flush=True,
        )
        own = clf.predict_proba(noisy(1000, 2)[0])
        print("same bits:", bits is None or np.array_equal(bits, own))
        bits = own


def model() -> None:
    """Measure the constants of one core, and say what more rows on more machines take."""
    from polychotomy.blocks import Block
    from polychotomy.blocks.block import rows_a_block
    from polychotomy.blocks.first_reading import look
    from polychotomy.core.threads import single_threaded_blas
    from polychotomy.kernels import Gaussian, Summing, choose_landmarks

    X, y = noisy(60_000, 1)
    print(f"{'m':>6}{'a row, microseconds':>21}{'10^9 operations a second':>26}")
    rates = {}
    for m in (500, 1000, 2000):
        landmarks = choose_landmarks(Gaussian(0.02), X, m)
        summing = Summing(landmarks, landmarks.precision(X))
        rows, groups = np.arange(len(y)), np.zeros(len(y), dtype=int)
        start = process_time()
        with single_threaded_blas():
            summing.of_one_cell(X, rows, groups, None)
        a_row = (process_time() - start) / len(y)
        rates[m] = a_row
        print(f"{m:>6}{1e6 * a_row:>21.1f}{m * (60 + m) / a_row / 1e9:>26.1f}")
    start = process_time()
    look(Block(0, 0, X, y))
    survey = (process_time() - start) / len(y)
    start = process_time()
    total = np.zeros((2000, 2000))
    for _ in range(10):
        total += total
    adding = (process_time() - start) / 10
    print(f"first reading: {1e6 * survey:.2f} microseconds a row, without reading the file")
    n_rows, machines, m, folds, size = 10**8, 100, 2000, 5, rows_a_block(30)
    blocks = -(-n_rows // size)
    work = n_rows * (survey + rates[m]) / machines
    sums = 4 * folds * m * (m + 1)
    print(f"10^8 rows, {machines} machines with one core each, m = {m}, {folds} folds:")
    print(f"  reading and summing   {work:>8.0f} s on each machine")
    print(f"  {blocks} blocks of sums, {sums / 1e6:.0f} MB each, to one machine:")
    print(f"    at 1 GB a second    {blocks * sums / 1e9:>8.0f} s (beside the summing)")
    print(f"    adding them         {blocks * folds * adding:>8.0f} s")
    print(f"  memory of a worker    {(2 * sums + 3 * 8 * 2**23 + 4 * 30 * size) / 1e6:>8.0f} MB")
    print(f"  memory of the driver  {(3 * sums + (folds + 3) * 8 * m * m) / 1e6:>8.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["memory", "tool", "dask", "model", "once"])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--landmarks", type=int, default=1000)
    given = parser.parse_args()
    if given.what == "memory":
        memory(given.rows, given.landmarks)
    elif given.what == "once":
        print(json.dumps(fit_once(given.rows[0], given.landmarks)))
    elif given.what == "tool":
        tool(given.rows[0])
    elif given.what == "dask":
        dask_workers(given.rows[0], given.landmarks)
    else:
        model()


if __name__ == "__main__":
    main()
