"""The number of threads that BLAS may use, and work in threads with results in order."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


@lru_cache(maxsize=1)
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


@lru_cache(maxsize=1)
def _all_thread_pools(n_modules: int) -> ThreadpoolController:
    return ThreadpoolController()


def single_threaded() -> AbstractContextManager[Any]:
    """Pin all libraries that are loaded to one thread inside the context.

    Note: looking for the libraries takes 3 ms, as long as a small fit. It is done again when
    modules have been imported, which may have loaded others.
    """
    limiter: AbstractContextManager[Any] = _all_thread_pools(len(sys.modules)).limit(limits=1)
    return limiter


def single_threaded_blas() -> AbstractContextManager[Any]:
    """Pin BLAS to one thread inside the context.

    Note: without this, the number of jobs decides how many threads BLAS has, and BLAS splits its
    sums by threads. So the last bits of a fit would depend on n_jobs; a test with four threads
    showed it. Also, our threads times those of BLAS would compete for the same cores. Columns,
    folds and members run in parallel instead.
    """
    limiter: AbstractContextManager[Any] = _thread_pools().limit(limits=1, user_api="blas")
    return limiter


def in_order(
    function: Callable[[Item], Result], items: Iterable[Item], n_threads: int
) -> Iterator[Result]:
    """Yield the result for every item, in the order of the items, computed in some threads.

    At most one result more than there are threads is waiting, so memory stays bounded. If an item
    fails, those that have not started are dropped.
    """
    if n_threads <= 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BaseException:
            for future in waiting:
                future.cancel()
            raise
