"""The number of threads that BLAS may use."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def single_threaded_blas() -> AbstractContextManager[Any]:
    """Pin BLAS to one thread inside the context.

    Note: without this, the number of jobs decides how many threads BLAS has, and BLAS splits its
    sums by threads. So the last bits of a fit would depend on n_jobs; a test with four threads
    showed it. Also, our threads times those of BLAS would compete for the same cores. Columns,
    folds and members run in parallel instead.
    """
    limiter: AbstractContextManager[Any] = _thread_pools().limit(limits=1, user_api="blas")
    return limiter
