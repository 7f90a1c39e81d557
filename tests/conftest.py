"""Set up before anything is imported."""

import os
import tempfile
from collections.abc import Iterator
from typing import Any

# scikit-learn's check of array API input is skipped without it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Folders and files about mathematics, not about machine code. What they compile runs for milliseconds, so it is compiled fast
# rather than well; the engine, streams and their oracle in NumPy, features and sweeps are tested as users run them.
FAST = {
    "automatic",
    "benchmarks",
    "estimators",
    "forecasting",
    "gradients",
    "paper",
    "readouts",
    "timescales",
    "tuning",
    "test_learner",
    "test_learner_readout",
    "test_sequence_starts",
}
SWITCH = "JAX_DISABLE_MOST_OPTIMIZATIONS"
# Kernels by the older of XLA's two emitters: half the time to compile, and slower by nothing that matters here.
EMITTERS = "xla_cpu_use_fusion_emitters"


def pytest_configure(config: pytest.Config) -> None:
    """Programs that several workers, modules or processes need are compiled once, into a folder that goes with the run."""
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:  # of the user, or of the run that this worker belongs to
        folder = tempfile.TemporaryDirectory(prefix="echoscale-tests-", ignore_cleanup_errors=True)
        config.add_cleanup(folder.cleanup)
        os.environ["JAX_COMPILATION_CACHE_DIR"] = folder.name


def emitters_switched(fast: bool) -> None:
    """JAX has no setting for it."""
    from jax._src import compiler

    given: Any = getattr(compiler.get_compile_options, "__wrapped__", compiler.get_compile_options)

    def options(*arguments: Any, env_options_overrides: dict[str, Any] | None = None, **named: Any) -> Any:
        return given(*arguments, env_options_overrides={**(env_options_overrides or {}), EMITTERS: False}, **named)

    options.__wrapped__ = given  # type: ignore[attr-defined]
    compiler.get_compile_options = options if fast else given


@pytest.fixture(autouse=True, scope="module")
def compiled_fast_or_well(request: pytest.FixtureRequest) -> None:
    """For this process and those that it starts; programs compiled in the other way are forgotten."""
    fast = not FAST.isdisjoint((request.path.parent.name, request.path.stem))
    if fast == (SWITCH in os.environ):
        return
    import jax

    if fast:
        os.environ[SWITCH] = "1"
    else:
        del os.environ[SWITCH]
    jax.config.update("jax_disable_most_optimizations", fast)  # type: ignore[no-untyped-call]
    emitters_switched(fast)
    jax.clear_caches()  # type: ignore[no-untyped-call]


@pytest.fixture(autouse=True)
def environment_kept() -> Iterator[None]:
    """Commands run in this process set variables, such as the folder of compiled programs: no later test inherits them."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)
