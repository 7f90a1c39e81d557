"""How many threads BLAS may take."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS on one thread inside this context.

    For small products, and wherever JAX computes at the same time: BLAS threads that wait for a busy core cost ten times
    the work. The setting belongs to the whole process, so the first to come sets it and the last to leave puts it back.
    """
    global _inside, _limit
    with _lock:
        if _inside == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
            _limit.__enter__()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.__exit__(None, None, None)


@cache
def _controller() -> ThreadpoolController:
    """Found once: looking for the loaded libraries takes a millisecond."""
    import numpy.linalg  # noqa: F401  (loads the libraries that are to be found)
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


_lock = threading.Lock()
_inside = 0
_limit: Any = None
