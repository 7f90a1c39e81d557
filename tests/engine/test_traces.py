"""Traces are derivatives: finite differences, back-propagation through time and loops over the paper's equations agree."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest
from naive import states_of, traces_of
from woven import build, every_weave

import echoscale as es
from echoscale.engine import dynamics, matrices, traces
from echoscale.engine.devices import precision_and_device
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper, Parameter, chosen, put
from echoscale.network import Network

Floats = npt.NDArray[np.float64]

STEPS = 25
SHARED: dict[str, Any] = {"input_scaling": 0.7, "bias_scaling": 0.3, "connections": 3}


def chain(levels: int, delay: int) -> Network:
    leaks = [0.9, 0.5, 0.3, 0.15][:levels]
    return es.hierarchical([6, 5, 4, 7][:levels], leak_rate=leaks, coupling=0.6, coupling_delay=delay, **SHARED)


# Unequal sizes; those of `woven` have cycles.
NETWORKS = {
    "single": es.single(7, leak_rate=0.4, **SHARED),
    "parallel": es.parallel([5, 6], leak_rate=[0.8, 0.1], **SHARED),
    **{f"chain of {n}, delay {d}": chain(n, d) for n, d in ((2, 0), (2, 1), (4, 0), (4, 1))},
    "spread, residual, linear": es.hierarchical(
        [6, 5, 4],
        leak_rate=[es.LogUniform(0.1, 0.9), 0.4, 0.3],
        residual=["shift", "orthogonal", "identity"],
        activation=["tanh", "tanh", "identity"],
        coupling=0.6,
        **SHARED,
    ),
}


U: Floats = np.random.default_rng(0).normal(size=(STEPS, 2))
every_network = pytest.mark.parametrize("name", NETWORKS)
FEW = ("single", "chain of 2, delay 0")


@cache
def built(name: str) -> ESN:
    return NETWORKS[name].build(2, seed=3, dtype="float64")


def lanes_of(hyper: Hyper) -> Hyper:
    """Every leaf with an axis for lanes, as `dynamics.step` has it."""
    return Hyper(*(tuple(jnp.reshape(jnp.asarray(leaf), (-1,)) for leaf in leaves) for leaves in hyper))


def start_of(esn: ESN, lanes: int = 1) -> dynamics.State:
    return tuple(jnp.zeros((n, lanes), esn.dtype) for n in esn.sizes)


@partial(jax.jit, static_argnames=("learned", "form"))
def scanned(
    weights: Any, hyper: Hyper, state: Any, u: Any, learned: tuple[Parameter, ...], form: str = "exact"
) -> tuple[Any, traces.Traces]:
    """All states and traces of a series (T, F, lanes)."""

    def body(carry: Any, u_t: Any) -> tuple[Any, Any]:
        new = traces.step(weights, hyper, carry[0], carry[1], u_t, learned, form)
        return new, new

    states, found = jax.lax.scan(body, (state, traces.init(weights, learned, state)), u)[1]
    return states, found


def whole(esn: ESN, learned: tuple[Parameter, ...], found: traces.Traces) -> Floats:
    """All traces (parameter, T, lanes, N), the blocks that are not kept filled with zeros."""
    weights = esn.weights()
    shape = found.blocks[0][0].shape
    full = np.zeros((len(learned), shape[0], shape[2], esn.units))
    for i, (parameter, blocks) in enumerate(zip(learned, found.blocks, strict=True)):
        for k, block in zip(traces.reaches(weights, parameter), blocks, strict=True):
            full[i, :, :, esn.network.slices[k]] = np.asarray(block).transpose(0, 2, 1)
    return full


@cache
def all_traces(esn: ESN, form: str = "exact") -> Floats:
    """The traces (parameter, T, N) of every leaf for one series."""
    learned = chosen(Hyper._fields, esn.hyper)
    with precision_and_device("float64", None):
        states, found = scanned(esn.weights(), lanes_of(esn.hyper), start_of(esn), jnp.asarray(U)[..., None], learned, form)
    steps = np.concatenate([np.asarray(each)[..., 0] for each in states], axis=1)
    np.testing.assert_allclose(steps, states_of(esn, U), atol=1e-13)
    return whole(esn, learned, found)[:, :, 0]


def differences(esn: ESN, step: float = 1e-5) -> Floats:
    """(x(theta + step) - x(theta - step)) / (2 step) of every leaf, (parameter, T, N), by the naive loops."""

    def moved(parameter: Parameter, by: float) -> Floats:
        return states_of(esn, U, hyper=put(esn.hyper, [parameter], [parameter.of(esn.hyper) + by]))

    learned = chosen(Hyper._fields, esn.hyper)
    return np.stack([moved(each, step) - moved(each, -step) for each in learned]) / (2 * step)


@every_network
def test_exact_traces_are_finite_differences_for_every_leaf(name: str) -> None:
    found, expected = all_traces(built(name)), differences(built(name))
    scale = np.abs(expected).max(axis=(1, 2), keepdims=True)
    assert (scale > 1e-3).all(), "every leaf matters somewhere"
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=1e-7)


@pytest.mark.parametrize(("name", "form"), [*((name, "exact") for name in NETWORKS), *((name, "truncated") for name in FEW)])
def test_both_forms_are_their_loops(name: str, form: str) -> None:
    """The eligibility trace of the main text and that of the appendix, written out unit by unit."""
    esn, short = built(name), U[:10]
    found = all_traces(esn, form)[:, :10]
    for i, parameter in enumerate(chosen(Hyper._fields, esn.hyper)):
        expected = traces_of(esn, short, parameter.name, parameter.place, own=form == "exact")
        np.testing.assert_allclose(found[i], expected, rtol=0, atol=1e-12 * max(np.abs(expected).max(), 1))


@pytest.mark.parametrize("esn", [*map(built, FEW), build("own matrix", "cycle", 1)], ids=[*FEW, "cycle"])
def test_the_truncated_form_is_another_one(esn: ESN) -> None:
    exact, truncated = all_traces(esn), all_traces(esn, "truncated")
    off = np.linalg.norm(truncated - exact, axis=(1, 2)) / np.linalg.norm(exact, axis=(1, 2))
    assert (off > 0.01).all()
    assert off.max() > 0.3
    np.testing.assert_allclose(truncated[:, 0], exact[:, 0], atol=1e-15, err_msg="from rest, nothing is dropped at first")


def test_without_recurrence_both_forms_are_one() -> None:
    esn = es.hierarchical([6, 5], leak_rate=[0.9, 0.4], spectral_radius=0.0, **SHARED).build(2, dtype="float64")
    learned = chosen(Hyper._fields, esn.hyper)
    exact, truncated = all_traces(esn), all_traces(esn, "truncated")
    same = [i for i, each in enumerate(learned) if each.name != "spectral_radius"]
    np.testing.assert_allclose(exact[same], truncated[same], rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", [*FEW, "chain of 4, delay 1"])
def test_errors_times_traces_are_back_propagation_through_time(name: str) -> None:
    """sum over t of dE(t)/dx(t) e(t), at fixed parameters: nothing is neglected."""
    esn = built(name)
    learned = chosen(Hyper._fields, esn.hyper)
    rng = np.random.default_rng(1)
    coef, target = rng.normal(size=(2, esn.units)), rng.normal(size=(STEPS, 2))
    with precision_and_device("float64", None):
        weights, numbers, inputs = esn.weights(), lanes_of(esn.hyper), jnp.asarray(U)[..., None]

        def error(values: list[Any]) -> Any:
            hyper = put(numbers, learned, values)

            def body(state: Any, u_t: Any) -> tuple[Any, Any]:
                state = dynamics.step(weights, hyper, state, u_t)
                return state, jnp.concatenate(state)[:, 0]

            states = jax.lax.scan(body, start_of(esn), inputs)[1]
            return 0.5 * jnp.sum((states @ coef.T - target) ** 2)

        expected = np.array([float(each[0]) for each in jax.jit(jax.grad(error))([each.of(numbers) for each in learned])])
    slopes = (states_of(esn, U) @ coef.T - target) @ coef  # dE(t)/dx(t), (T, N)
    found = np.einsum("tn,itn->i", slopes, all_traces(esn))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def test_what_a_number_reaches() -> None:
    chained, ring = (each.weights() for each in (chain(4, 1).build(1, seed=0), build("normal", "cycle", 1)))
    assert [traces.reaches(chained, Parameter("leak_rate", k)) for k in range(4)] == [(0, 1, 2, 3), (1, 2, 3), (2, 3), (3,)]
    assert traces.reaches(chained, Parameter("coupling", 1)) == (2, 3)
    assert traces.reaches(ring, Parameter("leak_rate", 1)) == (0, 1, 2)
    assert traces.reaches(ring, Parameter("coupling", 2)) == (0, 1, 2)
    apart = es.parallel([3, 4]).build(1, seed=0).weights()
    assert traces.reaches(apart, Parameter("input_scaling", 1)) == (1,)


@pytest.mark.parametrize("delay", [0, 1])
def test_blocks_that_are_zero_are_neither_kept_nor_computed(delay: int) -> None:
    """A chain of four has 10 of 16 blocks, and no product with a matrix beyond those that they need."""
    esn = es.hierarchical([16] * 4, leak_rate=0.5, coupling_delay=delay).build(1, seed=0)
    learned = chosen("leak_rate", esn.hyper)
    weights, state = esn.weights(2), start_of(esn, 2)
    assert not isinstance(weights.recurrent[0], matrices.Neighbours), "dense, so that products are seen in the program"
    empty = traces.init(weights, learned, state)
    assert [len(blocks) for blocks in empty.blocks] == [4, 3, 2, 1]
    step = jax.jit(partial(traces.step, learned=learned))
    lowered = step.lower(weights, lanes_of(esn.hyper), state, empty, jnp.ones((1, 2)))
    products = str(lowered.compile().as_text()).count(" dot(")
    # States: 4 recurrent and 3 coupling products. Traces: one recurrent product per block, and one per coupling into a block
    # from a block that is there (of parameter i: levels i to 3).
    assert products <= (4 + 3) + (4 + 3 + 2 + 1) + (3 + 2 + 1 + 0)
    assert products > 7


def test_lanes_are_networks_by_themselves() -> None:
    """Three lanes, each with its own series and numbers, in sparse storage."""
    options: dict[str, Any] = {**SHARED, "connections": 2, "coupling_connections": 2}
    esn = es.hierarchical([12, 9], leak_rate=[0.8, 0.3], **options).build(2, seed=2, dtype="float64")
    learned = chosen(["leak_rate", "coupling", "spectral_radius[1]"], esn.hyper)
    hyper = esn.hyper.replace(leak_rate=[np.array([0.9, 0.5, 0.2]), 0.3], coupling=[np.array([1.0, 0.5, -0.2])])
    series = np.random.default_rng(5).normal(size=(STEPS, 2, 3))
    with precision_and_device("float64", None):
        weights = esn.weights(3)
        assert isinstance(weights.recurrent[0], matrices.Neighbours)
        _, together = scanned(weights, lanes_of(hyper), start_of(esn, 3), jnp.asarray(series), learned)
        found = whole(esn, learned, together)
        for lane in range(3):
            one = Hyper(*(tuple(leaf if np.ndim(leaf) == 0 else leaf[lane] for leaf in leaves) for leaves in hyper))
            _, alone = scanned(weights, lanes_of(one), start_of(esn), jnp.asarray(series[..., lane : lane + 1]), learned)
            np.testing.assert_allclose(found[:, :, lane], whole(esn, learned, alone)[:, :, 0], rtol=0, atol=1e-12)


def test_float32_stays_float32() -> None:
    esn = chain(2, 1).build(1, seed=0)
    learned = chosen("leak_rate", esn.hyper)
    state = start_of(esn)
    shapes = jax.eval_shape(
        partial(traces.step, learned=learned),
        esn.weights(),
        lanes_of(esn.hyper),
        state,
        traces.init(esn.weights(), learned, state),
        jnp.ones((1, 1)),
    )
    assert {each.dtype for each in jax.tree.leaves(shapes)} == {jnp.dtype("float32")}


@every_weave
@pytest.mark.parametrize("form", traces.FORMS)
def test_every_topology_graph_and_delay_is_its_loop(woven: tuple[str, str, int], form: str) -> None:
    """Three reservoirs, all leaves, against sums over single units."""
    esn = build(*woven)
    found = all_traces(esn, form)[:, :6]
    for i, parameter in enumerate(chosen(Hyper._fields, esn.hyper)):
        expected = traces_of(esn, U[:6], parameter.name, parameter.place, own=form == "exact")
        np.testing.assert_allclose(found[i], expected, rtol=0, atol=1e-12 * max(np.abs(expected).max(), 1))


@every_weave
def test_every_topology_graph_and_delay_is_its_finite_difference(woven: tuple[str, str, int]) -> None:
    """Over all steps, where errors would have added up."""
    found, expected = all_traces(build(*woven)), differences(build(*woven))
    scale = np.abs(expected).max(axis=(1, 2), keepdims=True)
    assert (scale > 1e-3).all(), "every leaf matters somewhere"
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=1e-7)


HEARING = {
    "single": es.single(7, leak_rate=0.4, feedback_scaling=0.5, **SHARED),
    "parallel": es.parallel([5, 6], leak_rate=[0.8, 0.1], feedback_scaling=[0.0, 0.9], **SHARED),
    "chain": es.hierarchical([6, 5], leak_rate=[0.9, 0.3], feedback_scaling=[0.2, 0.4], coupling=0.6, **SHARED),
    "chain at once": es.hierarchical([6, 5], leak_rate=[0.9, 0.3], feedback_scaling=0.2, coupling_delay=0, **SHARED),
}


@pytest.mark.parametrize("network", HEARING.values(), ids=HEARING)
@pytest.mark.parametrize("form", traces.FORMS)
def test_traces_of_output_feedback(network: Network, form: str) -> None:
    """Of its strength, and of all others beside it: loops over the equation, and for the exact ones finite differences."""
    y = np.random.default_rng(1).normal(size=(STEPS, 3))
    esn = network.build(2, seed=3, dtype="float64", n_outputs=3)
    learned = chosen(("feedback_scaling", "leak_rate", "input_scaling"), esn.hyper)
    with precision_and_device("float64", None):
        drive = es.engine.teacher_forced(U, y).values[0][:, :, None]
        _, found = scanned(esn.weights(), lanes_of(esn.hyper), start_of(esn), drive, learned, form)
        all_traces = whole(esn, learned, found)[:, :, 0]
    for p, parameter in enumerate(learned):
        written_out = traces_of(esn, U, parameter.name, parameter.place, own=form == "exact", y=y)
        np.testing.assert_allclose(all_traces[p], written_out, atol=1e-13)
        if form == "exact":
            h = 1e-6
            up, down = (
                states_of(esn, U, y=y, hyper=put(esn.hyper, [parameter], [float(parameter.of(esn.hyper)) + step]))
                for step in (h, -h)
            )
            np.testing.assert_allclose(all_traces[p], (up - down) / (2 * h), atol=1e-8)
