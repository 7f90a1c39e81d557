"""Networks: draws within their ranges, and a step of one lane against a run of all of them."""

from __future__ import annotations

import numpy as np
import pytest

from echoscale.forecasting import candidates, networks
from echoscale.forecasting.lags import Recipe
from echoscale.forecasting.networks import Drive, Net
from echoscale.forecasting.problem import Line, as_problem

STRUCTURES = networks.ROUNDS


@pytest.mark.parametrize("structure", STRUCTURES)
def test_draws_lie_in_their_ranges(structure: str) -> None:
    slowest = 0.01
    esn, hyper = networks.draw_network(structure, 21, 200, 4, [0, 1], slowest=slowest)
    assert esn.units == 21
    assert hyper.lanes == 200
    radii = networks.CYCLIC_RADII if structure in ("ring", "delay line") else networks.RADII
    for name, (low, high), size in (
        ("leak_rate", (slowest, 1.0), 1.0),
        ("spectral_radius", radii, 1.0),
        ("input_scaling", (networks.LATER_INPUTS[0], networks.INPUTS[1]), 0.5),  # 4 inputs: each half as strong
        ("bias_scaling", networks.BIASES, 1.0),
        ("coupling", networks.COUPLINGS, 1.0),
    ):
        for leaf in getattr(hyper, name):
            assert low * size <= leaf.min() <= leaf.max() <= high * size
    for fast, spread in zip(hyper.leak_rate, hyper.leak_spread, strict=False):
        least = fast * np.exp(-spread)
        assert slowest <= least.min() < 2 * slowest < 0.2 < least.max()
    assert bool(hyper.leak_spread) == (structure == "spread")


@pytest.mark.parametrize("structure", candidates.STRUCTURES)
@pytest.mark.parametrize("difference", ["none", "both"])
def test_a_step_is_a_step_of_the_run(structure: str, difference: str) -> None:
    rng = np.random.default_rng(0)
    line = Line(rng.normal(size=40), np.ones(40, bool), rng.normal(size=(45, 2)), rng.normal(size=(40, 1)))
    recipe = Recipe(difference, 2, (4,))
    esn, hyper = networks.draw_network(structure, 12, 3, 4, [0, 0])
    nets = [Net(esn, hyper.lane(lane), 0.7) for lane in range(3)]
    several, net = networks.states(nets, recipe, line), nets[1]
    states = several[1]
    np.testing.assert_array_equal(networks.states([net], recipe, line)[0], states)
    heard = networks.heard(recipe, line, 0.7)
    np.testing.assert_allclose(states[-len(heard) :], esn.run(heard, hyper=net.hyper), rtol=1e-9, atol=1e-12)
    first = 5 if difference == "both" else 0
    assert not states[:first].any()
    z = line.values
    before = np.zeros((1, 12))
    for t in range(first, 40):
        change = z[t] if difference == "none" else z[t] - z[t - 4] - z[t - 1] + z[t - 5]
        before = net.step(before, np.array([[change / 0.7, *line.future[t], *line.past[t]]]))
        np.testing.assert_allclose(before[0], states[t], rtol=1e-9, atol=1e-12)


def test_a_trend_is_heard_as_changes() -> None:
    rng = np.random.default_rng(0)
    u = np.stack([np.arange(80.0) + rng.normal(size=80), rng.normal(size=80)], axis=1)
    problem = as_problem(u, u[:, 1] ** 2, None, None)
    drive = Drive.of(problem)
    assert drive.changes.tolist() == [True, False]
    heard = drive.heard(u)
    np.testing.assert_allclose(heard[1:, 0], np.diff(u[:, 0]) / np.diff(u[:, 0]).std())
    assert heard[0, 0] == 0
    np.testing.assert_array_equal(heard[:, 1], u[:, 1])
    np.testing.assert_array_equal(drive.heard(u[30:], before=u[29]), heard[30:])


def test_the_first_lane_has_given_hyper_parameters() -> None:
    _, hyper = networks.draw_network("hierarchical", 20, 5, 1, [0])
    found = networks.with_first(hyper, hyper.lane(3))
    assert found.lanes == 5
    for leaves, drawn in zip(found, hyper, strict=True):
        for leaf, old in zip(leaves, drawn, strict=True):
            np.testing.assert_array_equal(leaf[1:], old[1:])
            assert leaf[0] == old[3]
