"""The executor for Dask clusters.

Design note: Dask's own futures, each bound to a worker. joblib's backend for Dask hangs when a
task kills its worker, and does not say which task that was.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from queue import Empty, SimpleQueue
from time import monotonic, perf_counter
from typing import Any

from ..core.extras import needed
from .calls import Answer, Backlog, Call, OnAnswer, Take, answered, too_late
from .interface import Executor, OnDone, deliver
from .processes import usable_cores
from .units import Unit
from .work import load_function

_CONNECT_SECONDS = 5.0
_GATHER_SECONDS = 30.0
_LOOK_SECONDS = 1.0
# To tell the scheduler that a worker is to be restarted; nobody waits for the restart itself.
_FAREWELL_SECONDS = 0.5
# Workers that are threads of one process share the context, too.
_ONE_AT_A_TIME = threading.Lock()
_PATIENT = {"distributed.deploy.lost-worker-timeout": "1 day"}


class DaskCluster(Executor):
    """Run everything on a Dask cluster, by Dask's own futures.

    Each worker process has one call at a time, bound to it, so that it is known which call a
    worker was on when it died. Give a cluster of your own as many workers as cores, with one
    thread each (``dask worker --nworkers 8 --nthreads 1``), and polychotomy on every machine (and
    for studies the data sets). When a run is stopped, the workers of a local cluster end; those of
    another finish the call that they are on, and its result is dropped. A worker whose call is
    past its time limit is restarted by its nanny; without a nanny, it gets no other call until it
    has finished.

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
    ...     processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"
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

    def __deepcopy__(self, memo: Any) -> DaskCluster:
        """Return itself: a client cannot be copied."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the address in place of a client."""
        if self.client is None:
            return self.__dict__
        return {**self.__dict__, "client": None, "address": self.client.scheduler.address}

    @property
    def size(self) -> int:
        """How many workers there are now; at least 1, because others may come."""
        with self._connected() as client:
            return max(1, len(client.nthreads()))

    @contextmanager
    def opened(self) -> Iterator[Executor]:
        """Give an executor for several rounds of calls, which connects only once."""
        with self._connected() as client:
            yield DaskCluster(client=client, patience=self.patience)

    def call(self, task: str, context: Any, take: Take, on_answer: OnAnswer) -> None:
        """Make calls; see `Executor.call`."""
        with self._connected() as client:
            foreman = _Foreman(client, (task, context), on_answer, self.patience)
            try:
                foreman.work(Backlog.of(take))
            except OSError as error:
                raise ConnectionError(
                    f"The Dask cluster can no longer be reached ({error})."
                ) from error
            finally:
                foreman.cancel()

    def run(self, units: Iterable[Unit], task: str, on_done: OnDone) -> None:
        """Run a task on units; see `Executor.run`."""
        with self.opened() as connected:
            try:
                Executor.run(connected, units, task, on_done)
            except ConnectionError as error:
                raise ConnectionError(
                    f"{error} Finished units are recorded; run again to continue."
                ) from error

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
                        dashboard_address=":0",
                    )
                )
            usual = dask.utils.parse_timedelta(dask.config.get("distributed.comm.timeouts.connect"))
            try:
                client = make.Client(
                    where, set_as_default=False, timeout=min(usual, _CONNECT_SECONDS)
                )
            except (OSError, ValueError) as error:
                raise ConnectionError(
                    f"There is no Dask scheduler at {where}; check that it runs and that the "
                    f"address is right ({error})."
                ) from error
            yield stack.enter_context(client)


def _call_there(task: str, context: Any, argument: Any) -> Answer:
    """Make a call, on a worker."""
    with _ONE_AT_A_TIME:
        return answered(load_function(task), context, argument)


class _Foreman:
    """Keeps one call on each worker of a cluster, and notices workers that die."""

    def __init__(
        self, client: Any, work: tuple[str, Any], on_answer: OnAnswer, patience: float
    ) -> None:
        self.client, self.on_answer, self.patience = client, on_answer, patience
        self.task, self.context = work
        self.contexts: dict[str, Any] = {}
        self.running: dict[str, tuple[Call, Any, float]] = {}
        self.ending: dict[str, Any] = {}
        self.news: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self.last_seen = monotonic()
        self.warned: set[str] = set()

    def work(self, backlog: Backlog[Call]) -> None:
        while True:
            workers = self.workers()
            for address in [address for address in self.running if address not in workers]:
                self.lose(address, backlog)
            self.ending = {key: one for key, one in self.ending.items() if key in workers}
            able = [address for address in workers if address not in self.ending]
            if able:
                self.last_seen = monotonic()
            for address in able:
                if address not in self.running:
                    call = backlog.take()
                    if call is None:
                        break
                    self.submit(call, address)
            if not self.running and not self.waiting(backlog, able):
                return
            self.collect(backlog)
            self.end_late()

    def waiting(self, backlog: Backlog[Call], able: list[str]) -> bool:
        """Whether calls are waiting for a worker."""
        call = None if able else backlog.take()
        if call is None:
            return False
        if call.is_late:
            deliver(call, too_late(0.0), self.on_answer)
            return True
        backlog.put_back(call)
        if monotonic() - self.last_seen > self.patience:
            raise RuntimeError(
                f"The Dask cluster has had no worker for {self.patience:g} seconds. Start workers "
                "and run again."
            )
        return True

    def workers(self) -> dict[str, int]:
        workers: dict[str, int] = self.client.nthreads()
        for address, threads in workers.items():
            if threads > 1 and address not in self.warned:
                self.warned.add(address)
                warnings.warn(
                    f"The Dask worker {address} has {threads} threads, but only one is used: start "
                    "as many workers as cores, with one thread each.",
                    stacklevel=2,
                )
        return workers

    def submit(self, call: Call, address: str) -> None:
        future = self.client.submit(
            _call_there,
            self.task,
            self.context_at(address),
            call.argument,
            pure=False,
            workers=[address],
            allow_other_workers=False,
        )
        self.running[address] = (call, future, perf_counter())
        future.add_done_callback(lambda future: self.news.put((address, future)))

    def context_at(self, address: str) -> Any:
        """Send the context to a worker once; its calls share it there."""
        if isinstance(self.context, str):
            return self.context
        if address not in self.contexts:
            # In a list, because the elements of other values would be sent one by one.
            (self.contexts[address],) = self.client.scatter(
                [self.context], workers=[address], hash=False
            )
        return self.contexts[address]

    def collect(self, backlog: Backlog[Call]) -> None:
        """Wait for workers, and hand over an answer."""
        ends = [call.until for call, _, _ in self.running.values() if call.until is not None]
        patience = min([_LOOK_SECONDS, *(max(0.0, end - perf_counter()) for end in ends)])
        try:
            address, future = self.news.get(timeout=patience)
        except Empty:
            return
        if self.ending.get(address) is future:
            del self.ending[address]  # a late worker has finished after all
        call, current, _ = self.running.get(address, (None, None, 0.0))
        if call is None or current is not future:
            return  # of a worker that is gone, whose call was taken back
        answer = self.answer(address, future)
        if answer is None:
            self.lose(address, backlog)
        else:
            del self.running[address]
            deliver(call, answer, self.on_answer)

    def answer(self, address: str, future: Any) -> Answer | None:
        """Return the answer of a finished future, or None if its worker died."""
        from distributed import KilledWorker

        if future.status in ("cancelled", "lost"):
            if address not in self.client.nthreads():
                return None  # and with the worker, the context that it had
            raise ConnectionError("the scheduler has dropped a unit; was it restarted?")
        try:
            answer: Answer = future.result(timeout=_GATHER_SECONDS)
        except (KilledWorker, TimeoutError):
            return None  # a timeout: the worker died before the result was fetched from it
        return answer

    def lose(self, address: str, backlog: Backlog[Call]) -> None:
        call, future, since = self.running.pop(address)
        self.contexts.pop(address, None)
        future.cancel(force=True)
        failure = backlog.lost(call, f"the loss of the Dask worker {address}")
        if failure is not None:
            seconds = perf_counter() - since
            deliver(call, Answer(failure=failure, seconds=seconds), self.on_answer)

    def end_late(self) -> None:
        """Answer calls whose time is up, and have their workers restarted."""
        late = [address for address, (call, _, _) in self.running.items() if call.is_late]
        for address in late:
            call, future, since = self.running.pop(address)
            self.contexts.pop(address, None)
            self.ending[address] = future
            deliver(call, too_late(perf_counter() - since), self.on_answer)
        if late:
            thread = threading.Thread(target=self.restart, args=(late,), daemon=True)
            thread.start()
            thread.join(_FAREWELL_SECONDS)

    def restart(self, addresses: list[str]) -> None:
        # Workers without a nanny are refused. The client may be closed before all are back.
        with suppress(BaseException):
            self.client.restart_workers(addresses, raise_for_error=False)

    def cancel(self) -> None:
        futures = [future for _, future, _ in self.running.values()] + list(self.ending.values())
        if futures and self.client.status == "running":
            self.client.cancel(futures, force=True)
