"""The executor for Dask clusters."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from ..core.extras import needed
from .executors import Backlog, OnDone, usable_cores
from .units import Outcome, Unit
from .work import perform

_GATHER_SECONDS = 30.0
_LOOK_SECONDS = 1.0
_PATIENT = {"distributed.deploy.lost-worker-timeout": "1 day"}


class DaskCluster:
    """Run the units on a Dask cluster, by Dask's own futures.

    Each worker process has one unit at a time, bound to it, so that it is known which unit a
    worker was on when it died. Give a cluster of your own as many workers as cores, with one
    thread each (``dask worker --nworkers 8 --nthreads 1``), and polychotomy and the data sets on
    every machine. When a run is stopped, the workers of a local cluster end; those of another
    finish the unit that they are on, and its result is dropped.

    Parameters
    ----------
    address : str, optional
        The scheduler's address, as in ``"tcp://10.0.0.1:8786"``. By default a cluster is started
        on this machine for each run.
    n_workers : int, optional
        The number of workers of the local cluster; by default the number of cores.
    client : distributed.Client, optional
        A client of the cluster, instead of an address. It stays open.
    patience : float, default=300.0
        The seconds to wait for workers when there are none.

    Examples
    --------
    >>> from distributed import Client
    >>> from polychotomy.execution.cluster import DaskCluster
    >>> from polychotomy.execution.units import Unit
    >>> units = [Unit("demo", "iris", "0f3a", i, "svm", {"methods": ["a", "b"]}) for i in (0, 1)]
    >>> def on_done(unit, outcome):
    ...     print(unit.partition, [result.method for result in outcome.results])
    >>> with Client(
    ...     processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None
    ... ) as client:
    ...     DaskCluster(client=client).run(units, "polychotomy.execution.work:example", on_done)
    0 ['a', 'b']
    1 ['a', 'b']
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        n_workers: int | None = None,
        client: Any = None,
        patience: float = 300.0,
    ) -> None:
        given = [value for value in (address, n_workers, client) if value is not None]
        if len(given) > 1:
            raise ValueError("Give an address, a client, or the n_workers of a local cluster.")
        self.address = address
        self.n_workers = n_workers
        self.client = client
        self.patience = patience

    def run(self, units: Iterable[Unit], task: str, on_done: OnDone) -> None:
        """Run a task on units; see `Executor.run`."""
        with self._connected() as client:
            foreman = _Foreman(client, task, on_done, self.patience)
            try:
                foreman.work(Backlog(units))
            except OSError as error:
                raise ConnectionError(
                    f"The Dask cluster can no longer be reached ({error}). Finished units are "
                    "recorded; run again to continue."
                ) from error
            finally:
                foreman.cancel()

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        distributed = needed("distributed", "cluster", "A Dask cluster needs distributed")
        import dask

        if self.client is not None:
            yield self.client
            return
        make: Any = distributed  # whose constructors have no types
        with ExitStack() as stack:
            where = self.address
            if where is None:
                # On a busy machine a worker that died may take longer to come back than the 15
                # seconds after which Dask would give it up for good.
                stack.enter_context(dask.config.set(_PATIENT))
                where = stack.enter_context(
                    make.LocalCluster(
                        n_workers=self.n_workers or usable_cores(),
                        threads_per_worker=1,
                        processes=True,
                        dashboard_address=None,
                    )
                )
            try:
                client = make.Client(where, set_as_default=False)
            except OSError as error:
                raise ConnectionError(
                    f"There is no Dask scheduler at {where}; check that it runs and that the "
                    f"address is right ({error})."
                ) from error
            yield stack.enter_context(client)


class _Foreman:
    """Keeps one unit on each worker of a cluster, and notices workers that die."""

    def __init__(self, client: Any, task: str, on_done: OnDone, patience: float) -> None:
        self.client, self.task, self.on_done, self.patience = client, task, on_done, patience
        self.running: dict[str, tuple[Unit, Any]] = {}
        self.news: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self.last_seen = monotonic()
        self.warned: set[str] = set()

    def work(self, backlog: Backlog) -> None:
        while True:
            workers = self.workers()
            for address in [address for address in self.running if address not in workers]:
                self.lose(address, backlog)
            unit = None
            for address in workers:
                if address not in self.running:
                    unit = backlog.take()
                    if unit is None:
                        break
                    self.submit(unit, address)
            if not self.running and not self.waiting(backlog, workers):
                return
            self.collect(backlog)

    def waiting(self, backlog: Backlog, workers: dict[str, int]) -> bool:
        """Whether units are waiting for a worker."""
        if workers:
            return False
        unit = backlog.take()
        if unit is None:
            return False
        backlog.put_back(unit)
        if monotonic() - self.last_seen > self.patience:
            raise RuntimeError(
                f"The Dask cluster has had no worker for {self.patience:g} seconds. Start workers "
                "and run again."
            )
        return True

    def workers(self) -> dict[str, int]:
        workers: dict[str, int] = self.client.nthreads()
        if workers:
            self.last_seen = monotonic()
        for address, threads in workers.items():
            if threads > 1 and address not in self.warned:
                self.warned.add(address)
                warnings.warn(
                    f"The Dask worker {address} has {threads} threads, but only one is used: start "
                    "as many workers as cores, with one thread each.",
                    stacklevel=2,
                )
        return workers

    def submit(self, unit: Unit, address: str) -> None:
        future = self.client.submit(
            perform,
            self.task,
            unit,
            pure=False,
            workers=[address],
            allow_other_workers=False,
        )
        self.running[address] = (unit, future)
        future.add_done_callback(lambda future: self.news.put((address, future)))

    def collect(self, backlog: Backlog) -> None:
        """Wait for workers, and hand over finished outcomes."""
        try:
            address, future = self.news.get(timeout=_LOOK_SECONDS)
        except Empty:
            return
        unit, current = self.running.get(address, (None, None))
        if unit is None or current is not future:
            return  # of a worker that is gone, whose unit was taken back
        outcome = self.outcome(future)
        if outcome is None:
            self.lose(address, backlog)
        else:
            del self.running[address]
            self.on_done(unit, outcome)

    def outcome(self, future: Any) -> Outcome | None:
        """Return the outcome of a finished future, or None if its worker died."""
        from distributed import KilledWorker

        if future.status in ("cancelled", "lost"):
            raise ConnectionError("the scheduler has dropped a unit; was it restarted?")
        try:
            outcome: Outcome = future.result(timeout=_GATHER_SECONDS)
        except (KilledWorker, TimeoutError):
            return None  # a timeout: the worker died before the result was fetched from it
        return outcome

    def lose(self, address: str, backlog: Backlog) -> None:
        unit, future = self.running.pop(address)
        future.cancel(force=True)
        outcome = backlog.lost(unit, f"the loss of the Dask worker {address}")
        if outcome is not None:
            self.on_done(unit, outcome)

    def cancel(self) -> None:
        futures = [future for _, future in self.running.values()]
        if futures and self.client.status == "running":
            self.client.cancel(futures, force=True)
