"""How many threads BLAS may take."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """BLAS on one thread inside this context.

    For small products, and wherever JAX computes at the same time: BLAS threads that wait for a busy core cost ten times
    the work.
    """
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> ThreadpoolController:
    """Found once: looking for the loaded libraries takes a millisecond."""
    import numpy.linalg  # noqa: F401  (loads the libraries that are to be found)
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()
