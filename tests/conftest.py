"""Set up before anything is imported."""

import gc
import inspect
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from typing import Any

# scikit-learn's check of array API input is skipped without it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# Threads of scikit-learn's trees that wait for each other leave the cores to the other worker.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import pytest
from hypothesis import settings

pytest_plugins = ["watched"]  # the browser, for the tests that ask for it

# Tracing makes objects by the million and few cycles: looking for them in all that was imported took a tenth of the time.
gc.set_threshold(100_000, 50, 100)

# How long an example takes says more about the machine than about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Programs are compiled fast rather than well, since they run for milliseconds: without most optimisations, with the older of
# XLA's two ways to emit kernels, and each as one piece. As users have them are tested: what XLA once aborted on, cuts of the
# work that must change no bit, a million steps, and the tests marked `well`.
WELL = {"test_small_networks", "test_over_cores", "test_flat_memory"}
SWITCH, EMITTERS = "JAX_DISABLE_MOST_OPTIMIZATIONS", "xla_cpu_use_fusion_emitters"
OLDER = f"--{EMITTERS}=false --xla_cpu_parallel_codegen_split_count=1"
USERS_FLAGS = os.environ.get("XLA_FLAGS", "").replace(OLDER, "").strip()  # a worker inherits what its run has set
FAST_FLAGS = f"{USERS_FLAGS} {OLDER}".strip()
os.environ[SWITCH], os.environ["XLA_FLAGS"] = "1", FAST_FLAGS
MOVED = (
    "this JAX has no jax._src.compiler.get_compile_options(env_options_overrides=...), by which tests marked `well` are "
    "compiled as for users: find where it went and mend _options_of_programs in tests/conftest.py."
)


def pytest_configure(config: pytest.Config) -> None:
    """Programs that several workers, modules or processes need are compiled once: their folder goes with the run."""
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:  # of the user, or of the run that this worker belongs to
        folder = tempfile.TemporaryDirectory(prefix="echoscale-tests-", ignore_cleanup_errors=True)
        config.add_cleanup(folder.cleanup)
        os.environ["JAX_COMPILATION_CACHE_DIR"] = folder.name


def pytest_collection_finish() -> None:
    gc.freeze()  # modules and tests stay to the end


@pytest.fixture(autouse=True, scope="module")
def compiled_fast_or_well(request: pytest.FixtureRequest) -> None:
    _compile(fast=request.path.stem not in WELL)


@pytest.fixture(autouse=True)
def compiled_well_where_marked(request: pytest.FixtureRequest) -> None:
    """Neighbours that are marked alike share their programs: the next test that is not changes back."""
    _compile(fast=request.path.stem not in WELL and request.node.get_closest_marker("well") is None)


def _compile(fast: bool) -> None:
    """For this process and those that it starts; programs compiled in the other way are forgotten, processes that wait end."""
    if fast == (SWITCH in os.environ):
        return
    import jax

    jax.config.update("jax_disable_most_optimizations", fast)  # type: ignore[no-untyped-call]
    compiler, given = _options_of_programs()
    given(1, 1)  # XLA reads its flags once, here at the latest: users' are then set back program by program
    compiler.get_compile_options = given if fast else partial(_with_emitters, given)
    jax.clear_caches()  # type: ignore[no-untyped-call]
    if fast:
        os.environ[SWITCH], os.environ["XLA_FLAGS"] = "1", FAST_FLAGS
    else:
        del os.environ[SWITCH]
        os.environ["XLA_FLAGS"] = USERS_FLAGS
    if "joblib.externals.loky" in sys.modules:  # its processes wait for minutes, and compile as this one did when they began
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True, kill_workers=True)


def _options_of_programs() -> tuple[Any, Any]:
    """The module of JAX that gives every program its options, and the function. There is no public way to all programs.

    `jax.jit(compiler_options=...)` reaches one function, `XLA_FLAGS` is read once a process.
    """
    try:
        from jax._src import compiler

        given: Any = getattr(compiler.get_compile_options, "args", [compiler.get_compile_options])[0]
        asked = inspect.signature(given).parameters
    except (ImportError, AttributeError) as error:
        raise RuntimeError(MOVED) from error
    if "env_options_overrides" not in asked:
        raise RuntimeError(MOVED)
    return compiler, given


def _with_emitters(given: Any, *arguments: Any, env_options_overrides: dict[str, Any] | None = None, **named: Any) -> Any:
    return given(*arguments, env_options_overrides={**(env_options_overrides or {}), EMITTERS: True}, **named)


@pytest.fixture(autouse=True)
def environment_kept() -> Iterator[None]:
    """Commands run in this process set variables, such as the folder of compiled programs: no later test inherits them."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)
