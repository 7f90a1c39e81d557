"""Set up before anything is imported."""

import os
from collections.abc import Iterator

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
    jax.clear_caches()  # type: ignore[no-untyped-call]


@pytest.fixture(autouse=True)
def environment_kept() -> Iterator[None]:
    """Commands run in this process set variables, such as the folder of compiled programs: no later test inherits them."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)
