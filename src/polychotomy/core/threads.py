"""How many threads BLAS may use."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def single_threaded_blas() -> AbstractContextManager[Any]:
    """Pin BLAS to one thread: results must not depend on how much work runs beside it."""
    limiter: AbstractContextManager[Any] = _thread_pools().limit(limits=1, user_api="blas")
    return limiter
