"""The reference gradient: finite differences of a loss computed from plain runs, and memory that grows with sqrt(T)."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest
from naive import states_of, traces_of
from woven import build, few_weaves

import echoscale as es
from echoscale.engine import bptt
from echoscale.engine.devices import precision_and_device
from echoscale.engine.hyper import Hyper, chosen, put
from echoscale.readouts.ridge import Readout

Floats = npt.NDArray[np.float64]

ESN = es.hierarchical([6, 5], leak_rate=[0.8, 0.3], input_scaling=[0.5, 0.2], bias_scaling=0.2, connections=3).build(
    2, seed=1, dtype="float64"
)
RNG = np.random.default_rng(0)
READOUT = Readout(RNG.normal(size=(3, ESN.units)), RNG.normal(size=3), np.zeros(()))
U = RNG.normal(size=(2, 23, 2))
Y = {
    "mse": RNG.normal(size=(2, 23, 3)),
    "sigmoid": RNG.integers(2, size=(2, 23, 3)).astype(float),
    "softmax": np.eye(3)[RNG.integers(3, size=(2, 23))],
}


def loss_of(u: Any, y: Any, readout: Readout, loss: str, washout: int, hyper: Hyper) -> float:
    """The mean over all counted steps, from the states of plain runs."""
    errors = []
    for s, wanted in zip(u, y, strict=True):
        z = ESN.run(s, hyper=hyper)[washout:] @ readout.coef.T + readout.intercept
        t = np.asarray(wanted)[washout:]
        p = 1 / (1 + np.exp(-z))
        if loss == "mse":
            each = 0.5 * ((z - t) ** 2).sum(axis=1)
        elif loss == "sigmoid":
            each = -(t * np.log(p) + (1 - t) * np.log(1 - p)).sum(axis=1)
        else:
            each = -np.log((np.exp(z) * t).sum(axis=1) / np.exp(z).sum(axis=1))
        errors.append(each)
    return float(np.concatenate(errors).mean())


@pytest.mark.parametrize("loss", list(Y))
def test_the_gradient_is_that_of_finite_differences(loss: str) -> None:
    washout, learned = 5, chosen(Hyper._fields, ESN.hyper)
    y = Y[loss]
    value, found = bptt.gradient(ESN, U, y, READOUT, loss=loss, parameters=Hyper._fields, washout=washout)
    assert value == pytest.approx(loss_of(U, y, READOUT, loss, washout, ESN.hyper), rel=1e-12)
    d = 1e-6
    for parameter in learned:
        ends = [
            loss_of(U, y, READOUT, loss, washout, put(ESN.hyper, [parameter], [parameter.of(ESN.hyper) + each]))
            for each in (d, -d)
        ]
        assert found.parameters[str(parameter)] == pytest.approx((ends[0] - ends[1]) / (2 * d), rel=1e-6, abs=1e-8)
    for place in [(0, 0), (2, 7)]:
        move = np.zeros_like(READOUT.coef)
        move[place] = d
        ends = [loss_of(U, y, READOUT._replace(coef=READOUT.coef + each), loss, washout, ESN.hyper) for each in (move, -move)]
        assert found.coef[place] == pytest.approx((ends[0] - ends[1]) / (2 * d), rel=1e-6, abs=1e-8)
    move = np.array([0.0, d, 0.0])
    ends = [
        loss_of(U, y, READOUT._replace(intercept=READOUT.intercept + each), loss, washout, ESN.hyper) for each in (move, -move)
    ]
    assert found.intercept[1] == pytest.approx((ends[0] - ends[1]) / (2 * d), rel=1e-6, abs=1e-8)


def test_stretches_do_not_change_the_numbers() -> None:
    """The default, five stretches of five steps, the last one not full, against one stretch that keeps all states."""
    value, found = bptt.gradient(ESN, U, Y["mse"], READOUT, parameters=Hyper._fields, washout=3)
    other, same = bptt.gradient(ESN, U, Y["mse"], READOUT, parameters=Hyper._fields, washout=3, checkpoint=1000)
    assert other == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(same.coef, found.coef, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(same.intercept, found.intercept, rtol=1e-11, atol=1e-13)
    for name in found.parameters:
        assert same.parameters[name] == pytest.approx(found.parameters[name], rel=1e-10, abs=1e-13)


def test_series_of_unequal_length_and_other_numbers() -> None:
    """All steps of all series count alike, and those past an end do not."""
    hyper = ESN.hyper.replace(leak_rate=[0.5, 0.9])
    u, y = [U[0], U[1, :9]], [Y["mse"][0], Y["mse"][1, :9]]
    value, found = bptt.gradient(ESN, u, y, READOUT, parameters=Hyper._fields, washout=2, hyper=hyper)
    assert value == pytest.approx(loss_of(u, y, READOUT, "mse", 2, hyper), rel=1e-12)
    d = 1e-6
    ends = [loss_of(u, y, READOUT, "mse", 2, hyper.replace(leak_rate=[0.5 + each, 0.9])) for each in (d, -d)]
    assert found.parameters["leak_rate[0]"] == pytest.approx((ends[0] - ends[1]) / (2 * d), rel=1e-6)


@few_weaves
def test_every_topology_graph_and_delay_is_errors_times_traces(woven: tuple[str, str, int]) -> None:
    """dE/dtheta = mean of (z - y) coef . dx/dtheta over three series of unequal length, with states and traces from loops."""
    esn = build(*woven)
    lengths, washout = (9, 5, 7), 2
    rng = np.random.default_rng(4)
    u, y = ([rng.normal(size=(n, 2)) for n in lengths] for _ in range(2))
    readout = Readout(rng.normal(size=(2, esn.units)), rng.normal(size=2), np.zeros(()))
    value, found = bptt.gradient(esn, u, y, readout, parameters=Hyper._fields, washout=washout)
    states = [states_of(esn, each)[washout:] for each in u]
    apart = [x @ readout.coef.T + readout.intercept - each[washout:] for x, each in zip(states, y, strict=True)]
    count = sum(map(len, apart))
    assert value == pytest.approx(sum(0.5 * (each**2).sum() for each in apart) / count, rel=1e-12)
    by_coef = sum(each.T @ x for each, x in zip(apart, states, strict=True)) / count
    np.testing.assert_allclose(found.coef, by_coef, rtol=0, atol=1e-12 * np.abs(by_coef).max())
    np.testing.assert_allclose(found.intercept, sum(each.sum(axis=0) for each in apart) / count, rtol=1e-11)
    for parameter in chosen(Hyper._fields, esn.hyper):
        traces = [traces_of(esn, each, parameter.name, parameter.place, own=True)[washout:] for each in u]
        slope = sum(((each @ readout.coef) * e).sum() for each, e in zip(apart, traces, strict=True)) / count
        assert found.parameters[str(parameter)] == pytest.approx(slope, rel=1e-9, abs=1e-12)


def temporary_bytes(esn: Any, steps: int, length: int) -> int:
    learned = chosen("leak_rate", esn.hyper)
    with precision_and_device("float32", None):
        numbers = esn.numbers()
        shape = (steps // length, length)
        lowered = bptt.differentiated.lower(
            ((jnp.ones((1, esn.units)), jnp.ones(1)), [each.of(numbers) for each in learned]),
            esn.weights(8),
            numbers,
            jnp.ones((*shape, 1, 8)),
            jnp.ones((*shape, 1, 8)),
            jnp.ones((*shape, 8)),
            learned,
            "mse",
        )
    analysis: Any = lowered.compile().memory_analysis()
    return int(analysis.temp_size_in_bytes)


def test_memory_grows_with_the_root_of_the_length() -> None:
    esn = es.single(30, leak_rate=0.5).build(1, seed=0)
    plain = temporary_bytes(esn, 4096, 4096)
    rooted = [temporary_bytes(esn, steps, int(steps**0.5)) for steps in (1024, 4096)]
    assert plain > 4096 * esn.units * 8 * 4, "every state is kept"
    assert rooted[1] < plain / 10
    assert rooted[1] < 2.5 * rooted[0], "four times the steps, about twice the memory"


def test_float32_and_its_settings_are_left_alone() -> None:
    esn = es.single(10, leak_rate=0.4).build(1, seed=0)
    readout = Readout(np.ones((1, 10)), np.zeros(1), np.zeros(()))
    u = np.random.default_rng(1).normal(size=(40, 1))
    value, found = bptt.gradient(esn, u, u[:, 0], readout, parameters="spectral_radius")
    double = es.single(10, leak_rate=0.4).build(1, seed=0, dtype="float64")
    expected, exact = bptt.gradient(double, u, u[:, 0], readout, parameters="spectral_radius")
    assert found.coef.dtype == np.float32
    assert value == pytest.approx(expected, rel=1e-5)
    assert found.parameters["spectral_radius[0]"] == pytest.approx(exact.parameters["spectral_radius[0]"], rel=1e-4)
    assert jnp.ones(1).dtype == jnp.float32


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": "hinge"}, "loss must be one of 'mse', 'sigmoid', 'softmax'; got 'hinge'"),
        ({"washout": 23}, "not more than washout=23"),
        ({"checkpoint": 0}, "checkpoint must be at least 1"),
        ({"parameters": "leak"}, "unknown parameter 'leak'"),
        ({"hyper": ESN.hyper.replace(leak_rate=np.array([0.1, 0.2]))}, "the Hyper has 2 lanes"),
        ({"readout": READOUT._replace(intercept=np.zeros(2))}, r"coef \(3, 11\) and intercept \(3,\)"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bptt.gradient(ESN, U, Y["mse"], **{"readout": READOUT, **changes})
