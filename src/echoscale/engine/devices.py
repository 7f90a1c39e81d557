"""Devices, cores, threads, precision and compiler options. Only this module deals with the machine.

JAX is imported inside the functions that need it: eigenvalues and BLAS threads work without JAX.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    import jax

Job = TypeVar("Job")
VARIABLE = "ECHOSCALE_CORES"
# The name of JAX's event for a compiled program, and the number of programs kept: for 100 to 300 networks, below a gigabyte.
COMPILED, MOST_PROGRAMS = "/jax/core/compile/backend_compile_duration", 300

# Devices that users may pass: None for JAX's choice, "cpu", "gpu", or a device itself.
DeviceLike: TypeAlias = "str | jax.Device | None"

# Vectors of 512 bits if the processor has them: faster, mostly for many lanes (XLA prefers 256).
COMPILER_OPTIONS = {"xla_cpu_prefer_vector_width": 512}

# Passes of XLA that are left out where they do harm. The first distributes kernels over threads, which slows down kernels of a
# few microseconds: blocks of lanes share the cores better. The second removes the barrier between two steps, which in JAX
# before 0.11 happens too early to keep them apart. The third makes one kernel of a loop over less than a kilobyte, and aborts
# the process if the loop still holds a barrier.
SHARING_KERNELS = "cpu-parallel-task-assigner"
AGAINST_BARRIERS = ("cse_barrier_expander", "small-while-loop-hoisting")


def without(*passes: str) -> dict[str, Any]:
    """Compiler options that leave out these passes."""
    return {**COMPILER_OPTIONS, "xla_disable_hlo_passes": ",".join(passes)}


SCAN_OPTIONS = without(SHARING_KERNELS, *AGAINST_BARRIERS)


def device_of(device: DeviceLike) -> jax.Device | None:
    """Returns the `jax.Device` of a name like "gpu", or None for JAX's choice.

    Parameters
    ----------
    device : None, "cpu", "gpu" or a jax.Device
        Device, by name or itself.

    Examples
    --------
    >>> import echoscale as es
    >>> es.engine.device_of("cpu").platform
    'cpu'
    """
    if device is None:
        return None
    if not isinstance(device, str):
        if hasattr(device, "platform"):
            return device
        raise TypeError(f"device must be None, a name like 'cpu' or 'gpu', or a jax.Device, got {device!r}.")
    import jax

    try:
        return jax.devices(device)[0]
    except RuntimeError as error:
        have = sorted({each.platform for each in jax.devices()})
        raise ValueError(f"device={device!r} is not there; JAX sees {', '.join(have)}. ({error})") from error


def on_cpu(device: DeviceLike) -> bool:
    """Returns whether a device is the CPU.

    Parameters
    ----------
    device : None, "cpu", "gpu" or a jax.Device
        Device, by name or itself. None: JAX's choice.

    Examples
    --------
    >>> import echoscale as es
    >>> es.engine.on_cpu("cpu")
    True
    """
    import jax

    found = device_of(device)
    return bool((found.platform if found is not None else jax.default_backend()) == "cpu")


def cores() -> int:
    """Returns the number of cores to use: all that the process may use, or the environment variable ECHOSCALE_CORES.

    For small networks and those with shared runs, the last bits of results depend on this number. Set the variable to reproduce
    the bits of another machine.

    Examples
    --------
    >>> import echoscale as es
    >>> es.engine.cores() >= 1
    True
    """
    if own := os.environ.get(VARIABLE):
        if not own.isdecimal() or int(own) < 1:
            raise ValueError(f"the environment variable {VARIABLE} must be a whole number from 1 on, got {own!r}.")
        return int(own)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def precision_and_device(dtype: npt.DTypeLike, device: DeviceLike) -> Iterator[None]:
    """Context manager in which JAX computes in this precision on this device; global settings of JAX stay unchanged.

    Parameters
    ----------
    dtype : "float32" or "float64"
        Precision.
    device : None, "cpu", "gpu" or a jax.Device
        Device. None: JAX's choice.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import echoscale as es
    >>> with es.engine.precision_and_device("float64", None):
    ...     print(jnp.ones(1).dtype)
    float64
    """
    import jax

    _programs.enter()
    try:
        with jax.enable_x64(np.dtype(dtype) == np.float64), jax.default_device(device_of(device)) if device else nullcontext():
            yield
    finally:
        _programs.leave()


def to_device(values: npt.ArrayLike, dtype: npt.DTypeLike) -> jax.Array:
    """Moves numbers from the host to the device, without the program that `jnp.asarray` compiles for every new shape.

    Outside of `precision_and_device("float64", ...)`, numbers of 64 bits become numbers of 32 bits.

    Parameters
    ----------
    values : array_like
        Numbers on the host.
    dtype : dtype
        Type on the device.

    Examples
    --------
    >>> import echoscale as es
    >>> es.engine.to_device([1, 2], "float32").dtype
    dtype('float32')
    """
    import jax

    # Arrays, not tracers, even while a program is traced: callers keep them for later programs.
    with jax.ensure_compile_time_eval():
        return jax.device_put(np.asarray(values, dtype))  # type: ignore[no-any-return,unused-ignore]


class Programs:
    """Counts the programs that JAX compiles, and clears them when there are many.

    JAX keeps every compiled program, so memory would grow without end in a process with ever new shapes. Programs that are used
    again are compiled again. Programs are cleared only while none of ours is in use.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = self.forgotten = 0
        self._users = 0
        self._lock = threading.Lock()
        self._listening = False

    def enter(self) -> None:
        """Marks the start of a block in which our programs may run."""
        import jax

        with self._lock:
            if not self._listening:
                self._listen()
            if self.count > self.most and not self._users:
                jax.clear_caches()  # type: ignore[no-untyped-call]
                self.count = 0
                self.forgotten += 1
            self._users += 1

    def leave(self) -> None:
        """Marks the end of the block."""
        with self._lock:
            self._users -= 1

    def _listen(self) -> None:
        import jax.monitoring

        def heard(event: str, duration_secs: float, **_: str | int) -> None:
            self.count += event == COMPILED

        jax.monitoring.register_event_duration_secs_listener(heard)
        self._listening = True


def in_threads(run: Callable[[Job], None], jobs: Sequence[Job], workers: int, stop: threading.Event) -> None:
    """Run all jobs on this number of threads; an interrupt or an error stops the others too."""
    with one_thread():
        if workers == 1:
            for job in jobs:
                run(job)
            return
        with ThreadPoolExecutor(workers) as pool:
            try:
                for done in [pool.submit(run, job) for job in jobs]:
                    done.result()
            except BaseException:
                stop.set()  # so that the other jobs end early
                pool.shutdown(cancel_futures=True)
                raise


@contextmanager
def one_thread() -> Iterator[None]:
    """Context manager in which BLAS uses one thread.

    One thread is faster for small products, and where JAX computes at the same time on the same cores. `benchmarks/choices.py`
    times a fit with and without it. The setting belongs to the whole process: the first block that is entered sets it, and the
    last block that is left restores it.

    Examples
    --------
    >>> import numpy as np
    >>> import echoscale as es
    >>> with es.engine.one_thread():
    ...     spectrum = np.linalg.eigvals(np.eye(3))
    >>> spectrum.real
    array([1., 1., 1.])
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
    """The thread controller, kept: searching the loaded libraries takes a millisecond."""
    import numpy.linalg  # noqa: F401  (loads the libraries that are to be found)
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


_programs = Programs(MOST_PROGRAMS)
_lock = threading.Lock()
_inside = 0
_limit: Any = None
