"""Networks of a few neurons, and the passes of XLA that scans leave out: loops over less than a kilobyte compile differently.

What goes wrong there ends the whole process, so the networks run in another.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import jax
import naive
import numpy as np
import pytest

from echoscale import ESN, Concentric, hierarchical, parallel, single
from echoscale.engine import devices, scan
from echoscale.engine.hyper import Hyper
from echoscale.network.topologies import TOPOLOGIES

TOLERANCE = {"float64": 1e-12, "float32": 1e-5}
STEPS = 17  # no multiple of any chunk: the series ends within one
EVERY = (1, 2, 3, 4, None)  # None: `run_chunks` without a consumer, one stretch
KINDS = ("single", "parallel", "hierarchical")


class Case(NamedTuple):
    """A network of so many units in all, and how it is run."""

    units: int
    series: int
    every: int | None
    dtype: str
    topology: str
    coupling_delay: int
    kind: str

    def build(self) -> ESN:
        parts = [-(-self.units // 2), self.units // 2]
        own: Any = Concentric(rings=1) if self.topology == "concentric" and parts[-1] < 2 else self.topology
        settings: dict[str, Any] = {"leak_rate": 0.6, "spectral_radius": 0.9, "bias_scaling": 0.3, "topology": own}
        if self.kind == "single" or self.units == 1:
            network = single(self.units, **settings)
        elif self.kind == "parallel":
            network = parallel(parts, **settings)
        else:
            network = hierarchical(parts, coupling_delay=self.coupling_delay, **settings)
        return network.build(1, seed=4, dtype=self.dtype)


def cases() -> list[Case]:
    """Every kind of run where the loops are smallest, and all sizes up to 16 units with up to 4 series; the rest drawn."""
    rng = np.random.default_rng(0)

    def drawn(units: int, series: int, every: int | None) -> Case:
        dtype, topology = str(rng.choice(list(TOLERANCE))), str(rng.choice(TOPOLOGIES))
        return Case(units, series, every, dtype, topology, int(rng.integers(2)), str(rng.choice(KINDS)))

    smallest = [drawn(units, 1, every) for units in (2, 5) for every in EVERY]
    return smallest + [drawn(units, 1 + units % 4, EVERY[units % 5]) for units in range(1, 17)]


def check(case: Case) -> None:
    """The states of the network against the scalar loops."""
    print(case, flush=True)  # the last one printed is the one that ended the process
    esn = case.build()
    u = np.random.default_rng(case.units).uniform(-2, 2, (case.series, STEPS, 1))
    expected = np.stack([naive.states_of(esn, each) for each in u])
    if case.every is None:
        states, expected = esn.run_chunks(u), expected[:, -1]
    else:
        states, expected = esn.snapshots(u, case.every), expected[:, case.every - 1 :: case.every]
    np.testing.assert_allclose(states, expected, rtol=0, atol=TOLERANCE[case.dtype], err_msg=str(case))


def test_small_networks_follow_the_scalar_loops() -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(check, cases()))


@pytest.mark.parametrize(("units", "dtype"), [(11, "float32"), (6, "float64")])
def test_step_by_step_is_run_bit_for_bit(units: int, dtype: str) -> None:
    """At these sizes a loop of two steps has less than a kilobyte, a loop of sixteen has more."""
    esn = single(units).build(1, dtype=dtype)
    u = np.random.default_rng(0).normal(size=(16, 1))
    state, states = None, []
    for each in u:
        state = esn.step(each, state)
        states.append(state)
    np.testing.assert_array_equal(states, esn.run(u))


# ----------------------------------------------------------------------------------------------------- passes that are left out


def compiled(units: int, width: int, every: int, *passes: str) -> str:
    """The scan as XLA optimised it without these passes; two steps a turn where `every` is even."""
    esn = single(units, connections=3).build(1)
    numbers = Hyper(*(tuple(np.full(1, leaf, np.float32) for leaf in each) for each in esn.hyper))
    state, u = (np.zeros((units, width), np.float32),), np.zeros((16, 1, width), np.float32)
    options = devices.without(*passes)

    def run(weights: Any, state: Any, u: Any, left: Any) -> Any:  # a new function is traced anew
        return scan._scan(weights, numbers, state, u, left, every, pairs=True)

    arrays = esn.weights(width), state, u, np.full(width, 16, np.int32)
    return str(jax.jit(run, compiler_options=options).lower(*arrays).compile().as_text())


def most_at_once(text: str) -> int:
    """The most times that one kernel writes tanh: 2 where it computes the first step anew for what the second needs."""
    return max(kernel.count(" tanh(") for kernel in text.split("\n}"))


PASSES = devices.SCAN_OPTIONS["xla_disable_hlo_passes"].split(",")


@pytest.mark.parametrize(
    ("name", "shape", "sign"),
    [
        (devices.SHARING_KERNELS, (512, 128, 1), "outer_dimension_partitions"),
        (devices.AGAINST_BARRIERS[1], (3, 1, 1), "xla_cpu_small_call"),
    ],
)
def test_a_pass_does_its_work_unless_left_out(name: str, shape: tuple[int, int, int], sign: str) -> None:
    """XLA says nothing of a name it does not know, and leaves out no pass then."""
    assert sign in compiled(*shape, *(each for each in PASSES if each != name))
    assert sign not in compiled(*shape, *PASSES)


def test_the_barrier_keeps_two_steps_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """With our passes it stays, and without it XLA computes steps anew.

    Where its pass is not left out it goes: before the kernels are made (JAX up to 0.10) or after (0.11, where it does no harm).
    """
    apart = compiled(64, 16, 4, *PASSES)
    assert "opt-barrier(" in apart
    assert most_at_once(apart) == 1
    assert "opt-barrier(" not in compiled(64, 16, 4, *(each for each in PASSES if each != devices.AGAINST_BARRIERS[0]))
    monkeypatch.setattr(jax.lax, "optimization_barrier", lambda values: values)
    together = compiled(64, 16, 4, *PASSES)
    assert "opt-barrier(" not in together
    assert most_at_once(together) == 2
