"""Grids whose lanes share runs: the same statistics as lanes that are run one by one, from fewer runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import echoscale as es
from echoscale.data.series import as_series, as_targets
from echoscale.engine import devices, feed
from echoscale.engine import shared_runs as sharing
from echoscale.readouts.columns import Columns
from echoscale.readouts.statistics import split_statistics

Floats = npt.NDArray[np.float64]

A, B, C = np.array([0.2, 0.5, 1.0]), np.array([0.1, 0.3, 0.6, 0.9]), np.array([0.4, 0.8])


def product(*axes: Floats) -> list[Floats]:
    return [each.ravel() for each in np.meshgrid(*axes, indexing="ij")]


def shuffled(values: list[Floats], seed: int = 0) -> list[Floats]:
    order = np.random.default_rng(seed).permutation(len(values[0]))
    return [each[order] for each in values]


PAIR, TRIPLE = product(A, B), product(A, B, C)
HIERARCHY = es.hierarchical([12, 9], input_scaling=0.5, bias_scaling=0.2)
UNCONNECTED = es.parallel([12, 9], input_scaling=0.5)
CASES: dict[str, tuple[es.Network, dict[str, Any]]] = {
    "hierarchy": (HIERARCHY, {"leak_rate": PAIR}),
    "hierarchy, axes swapped": (HIERARCHY, {"leak_rate": product(B, A)[::-1]}),
    "hierarchy, lanes in any order": (HIERARCHY, {"leak_rate": shuffled(PAIR)}),
    "hierarchy, a lane twice": (HIERARCHY, {"leak_rate": [np.tile(each, 2) for each in PAIR]}),
    "hierarchy, second level only": (HIERARCHY, {"leak_rate": [0.7, np.linspace(0.1, 1, 11)]}),
    "hierarchy, new states": (es.hierarchical([12, 9], input_scaling=0.5, coupling_delay=0), {"leak_rate": PAIR}),
    "hierarchy, couplings and radii": (HIERARCHY, {"spectral_radius": [PAIR[0], 0.9], "coupling": [PAIR[1]]}),
    "unconnected": (UNCONNECTED, {"leak_rate": PAIR}),
    "unconnected, lanes in any order": (UNCONNECTED, {"leak_rate": shuffled(PAIR)}),
    "three levels": (es.hierarchical([15, 8, 6], input_scaling=0.5), {"leak_rate": TRIPLE}),
    "three unconnected": (es.parallel([7, 8, 6], input_scaling=0.5), {"leak_rate": TRIPLE}),
    "a fork": (
        es.Network(
            [es.Reservoir(14), es.Reservoir(6, input_scaling=0.0), es.Reservoir(5, input_scaling=0.3)],
            [es.Coupling(0, 1), es.Coupling(0, 2)],
        ),
        {"leak_rate": [PAIR[0], PAIR[1], 0.5]},
    ),
}


def task(steps: int = 300) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(5)
    u = rng.uniform(-1, 1, (steps, 2)) + 0.3
    return u, np.stack([np.roll(u[:, 0], 2), 1e3 + u[:, 1] ** 2], axis=1)


def gathered(network: es.Network, numbers: dict[str, Any], direct: bool = False) -> tuple[Any, Any]:
    esn = network.build(2, seed=3, dtype="float64")
    u, y = task()
    series = as_series(u)
    return split_statistics(
        esn,
        series,
        as_targets(y, series),
        [np.array([20, 180, 180, 300])],
        columns=Columns(int(direct)),
        hyper=esn.hyper.replace(**numbers),
    )


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_statistics_are_those_of_lanes_run_one_by_one(case: str, direct: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    network, numbers = CASES[case]
    monkeypatch.setattr(sharing, "WORTH_IT", 1.0)
    assert_shares(network, numbers)
    shared, last = gathered(network, numbers, direct)
    monkeypatch.setattr(sharing, "plans", lambda *_: None)
    alone, expected = gathered(network, numbers, direct)
    np.testing.assert_allclose(last, expected, rtol=0, atol=1e-14)
    for ours, theirs in zip(shared, alone, strict=True):
        assert ours.features == theirs.features
        np.testing.assert_array_equal(ours.count, theirs.count)
        np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(ours.scatter, theirs.scatter, rtol=0, atol=1e-10 * max(np.abs(theirs.scatter).max(), 1))
    assert not shared[1].count.any(), "a segment without steps"


def assert_shares(network: es.Network, numbers: dict[str, Any]) -> None:
    hyper = network.build(2, seed=3).hyper.replace(**numbers)
    made = sharing.plans(network, hyper, parts=2)
    assert made is not None
    runs = sum(sum(plan.runs) for plan in made)
    assert runs < len(network.reservoirs) * (hyper.lanes or 1)


def test_the_states_of_a_shared_run_are_those_of_its_lanes() -> None:
    """Chunk by chunk, against `run` with every lane by itself."""
    esn = HIERARCHY.build(2, seed=3, dtype="float64")
    hyper = esn.hyper.replace(leak_rate=PAIR)
    series = as_series(task()[0])
    plans = sharing.plans(esn.network, hyper, devices.cores())
    assert plans is not None
    expected = esn.run(series.values[0], hyper=hyper)
    seen = np.zeros(len(PAIR[0]), int)

    def compare(place: int, start: int, states: tuple[Floats, ...]) -> None:
        plan = plans[place]
        for own, part, run_of in zip(esn.network.slices, states, plan.run_of, strict=True):
            rows = part[:, run_of].transpose(1, 0, 2)
            np.testing.assert_allclose(rows, expected[plan.lanes, start : start + len(part), own], rtol=0, atol=1e-14)
        seen[plan.lanes] += len(states[0])

    feed.feed_shared(esn, plans, series, compare)
    assert (seen == len(series.values[0])).all()


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("case", CASES)
def test_plans_cover_every_lane_once_with_its_own_numbers(case: str, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "WORTH_IT", 1.0)
    network, numbers = CASES[case]
    hyper = network.build(2, seed=3).hyper.replace(**numbers)
    made = sharing.plans(network, hyper, parts)
    if made is None:
        assert parts > 1, "only a cut can make a product irregular"
        return
    assert sorted(np.concatenate([plan.lanes for plan in made]).tolist()) == list(range(hyper.lanes or 0))
    assert len(made) <= parts
    for plan in made:
        for name in ("leak_rate", "spectral_radius", "input_scaling", "bias_scaling"):
            for k, leaf in enumerate(getattr(hyper, name)):
                ours = np.broadcast_to(getattr(plan.hyper, name)[k], (plan.runs[k],))
                np.testing.assert_array_equal(ours[plan.run_of[k]], np.broadcast_to(leaf, (hyper.lanes or 1,))[plan.lanes])
        for j, coupling in enumerate(network.couplings):
            ours = np.broadcast_to(plan.hyper.coupling[j], (plan.runs[coupling.target],))
            theirs = np.broadcast_to(hyper.coupling[j], (hyper.lanes or 1,))[plan.lanes]
            np.testing.assert_array_equal(ours[plan.run_of[coupling.target]], theirs)


def test_how_many_runs_a_grid_has() -> None:
    hyper = HIERARCHY.build(1).hyper.replace(leak_rate=PAIR)
    made = sharing.plans(HIERARCHY, hyper, 1)
    assert made is not None
    assert made[0].runs == (3, 12)
    made = sharing.plans(UNCONNECTED, hyper._replace(coupling=()), 1)
    assert made is not None
    assert made[0].runs == (3, 4)


LOOP = es.Network([es.Reservoir(5), es.Reservoir(4)], [es.Coupling(0, 1), es.Coupling(1, 0, 0.1)])
RANDOM = list(np.random.default_rng(1).uniform(0.1, 1, (2, 12)))


@pytest.mark.parametrize(
    ("network", "leaks"),
    [
        (HIERARCHY, [0.5, 0.5]),
        (HIERARCHY, [np.array([0.5]), np.array([0.5])]),
        (HIERARCHY, RANDOM),
        (LOOP, PAIR),
        (HIERARCHY, [np.delete(each, 1) for each in PAIR]),
        (es.single(9), [A]),
    ],
    ids=["one", "one lane", "all different", "a cycle", "a hole in the grid", "single"],
)
def test_where_nothing_is_shared_there_is_no_plan(network: es.Network, leaks: Any) -> None:
    assert sharing.plans(network, network.build(1).hyper.replace(leak_rate=leaks), 2) is None


@given(st.data())
def test_any_lanes_give_a_sound_plan_or_none(data: st.DataObject) -> None:
    """What the products of runs rely on: groups of equal size behind couplings, consecutive partners."""
    values = st.sampled_from([0.2, 0.5, 1.0])
    lanes = data.draw(st.lists(st.tuples(values, values), min_size=2, max_size=12))
    leaks = [np.array(each) for each in zip(*lanes, strict=True)]
    network = data.draw(st.sampled_from([HIERARCHY, UNCONNECTED]))
    made = sharing.plans(network, network.build(1).hyper.replace(leak_rate=leaks), data.draw(st.integers(1, 3)))
    for plan in made or []:
        first, second = plan.run_of
        if network is HIERARCHY:
            size = plan.runs[1] // plan.runs[0]
            assert plan.runs[1] == size * plan.runs[0]
            np.testing.assert_array_equal(first, second // size)
        for run in range(plan.runs[0]):
            partners = np.unique(second[first == run])
            np.testing.assert_array_equal(partners, np.arange(partners[0], partners[0] + len(partners)))


def test_an_error_in_a_consumer_stops_the_run() -> None:
    esn = HIERARCHY.build(2, seed=3)
    series = as_series(task()[0])
    plans = sharing.plans(esn.network, esn.hyper.replace(leak_rate=PAIR), devices.cores())
    assert plans is not None

    def fails(*_: Any) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        feed.feed_shared(esn, plans, series, fails)


def test_several_series_and_given_states_are_run_lane_by_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    esn = HIERARCHY.build(2, seed=3, dtype="float64")
    hyper = esn.hyper.replace(leak_rate=PAIR)
    u, y = task()
    whole = es.readouts.statistics(esn, u, y, washout=20, hyper=hyper)
    monkeypatch.setattr(feed, "feed_shared", None)
    twice = es.readouts.statistics(esn, np.stack([u, u]), np.stack([y, y]), washout=20, hyper=hyper)
    np.testing.assert_allclose(twice.scatter, 2 * whole.scatter, rtol=0, atol=2e-10 * np.abs(whole.scatter).max())
    _, last = esn.run(u[:100], hyper=hyper, return_state=True)
    rest = es.readouts.statistics(esn, u[100:], y[100:], washout=0, hyper=hyper, state=last)
    monkeypatch.undo()
    both = es.readouts.statistics(esn, u[:100], y[:100], washout=20, hyper=hyper) + rest
    np.testing.assert_allclose(both.scatter, whole.scatter, rtol=0, atol=1e-10 * np.abs(whole.scatter).max())
