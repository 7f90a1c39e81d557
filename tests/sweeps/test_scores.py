"""The ridge path chosen on validation and reported on test, against one fit and one prediction after another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from naive import states_of
from sklearn.linear_model import Ridge

import echoscale as es
from echoscale.sweeps.problem import Protocol
from echoscale.sweeps.scores import PathErrors, path_errors

Floats = npt.NDArray[np.float64]

PROTOCOL = Protocol(washout=30, train=300, validation=120, test=110, ridge=(1e-6, 1e-3, 1e-1, 10.0), dtype="float64")
LEAKS = (0.2, 0.6, 1.0)
NETWORK = es.hierarchical([6, 5], input_scaling=0.5)


def series() -> tuple[Floats, Floats]:
    """Two targets that ask for different penalties: one follows the input, the other is mostly noise."""
    u, y = es.tasks.narma(PROTOCOL.length + 1, order=3, seed=4)
    noise = np.random.default_rng(0).normal(size=y.shape)
    return u, np.concatenate([y, 0.1 * y + noise], axis=1)


def by_hand(leak: float, protocol: Protocol, targets: list[int], least: float = 0.0) -> tuple[dict[str, float], float]:
    """The errors of one lane with one set of targets that share a penalty, from naive states."""
    u, y = series()
    y = y[1 - protocol.lag :][: protocol.edges[-1], targets]
    u = u[: protocol.edges[-1]]
    if protocol.scale is not None:
        known = u[slice(*protocol.edges[:2])]
        u = (u - known.mean(axis=0)) / known.std(axis=0)
    esn = replace(NETWORK, reservoirs=[replace(each, leak_rate=leak) for each in NETWORK.reservoirs]).build(1, seed=2)
    x = states_of(esn, u)
    x = np.concatenate([x, u], axis=1) if protocol.direct else x
    begin = dict(zip(("train", "validation", "test"), protocol.edges, strict=False))
    parts = {name: slice(start, end) for (name, start), end in zip(begin.items(), protocol.edges[1:], strict=True)}
    found = []
    for penalty in protocol.ridge:
        if penalty < least:
            continue
        model = Ridge(penalty).fit(x[parts["train"]], y[parts["train"]])
        errors = {}
        for name, part in parts.items():
            squares = ((model.predict(x[part]).reshape(-1, len(targets)) - y[part]) ** 2).mean(axis=0)
            relative = squares if protocol.score == "mse" else squares / y[part].var(axis=0)
            errors[name] = float(relative.mean() ** (0.5 if protocol.score == "nrmse" else 1))
        found.append((errors, penalty))
    return min(found, key=lambda each: each[0]["validation"])


def found(protocol: Protocol, **options: Any) -> PathErrors:
    u, y = series()
    esn = NETWORK.build(1, seed=2, dtype="float64")
    hyper = esn.hyper.replace(leak_rate=[np.array(LEAKS)] * 2)
    return path_errors(esn, u, y, protocol, hyper, **options)


@pytest.mark.parametrize("score", ["nrmse", "nmse", "mse"])
@pytest.mark.parametrize("change", [{}, {"lag": 0}, {"direct": True}, {"scale": None}])
def test_targets_together_share_a_penalty(score: str, change: dict[str, Any]) -> None:
    protocol = replace(PROTOCOL, score=score, **change)
    best = found(protocol).best()
    for lane, leak in enumerate(LEAKS):
        errors, penalty = by_hand(leak, protocol, [0, 1])
        assert best.ridge[lane] == penalty
        for name, value in errors.items():
            assert getattr(best, name)[lane] == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("score", ["nrmse", "nmse", "mse"])
def test_units_of_the_data_change_nothing(score: str) -> None:
    """Inputs and targets times 1e4 plus 1e6; a mean squared error is in units of the targets."""
    (u, y), protocol = series(), replace(PROTOCOL, score=score)
    esn = NETWORK.build(1, seed=2, dtype="float64")
    plain, other = (path_errors(esn, *each, protocol).best() for each in ((u, y), (1e6 + 1e4 * u, 1e6 + 1e4 * y)))
    for name in ("train", "validation", "test"):
        assert getattr(other, name) == pytest.approx(getattr(plain, name) * (1e8 if score == "mse" else 1), rel=1e-6)
    assert other.ridge == plain.ridge


@pytest.mark.parametrize("least", [0.0, 1e-3, 0.05])
def test_targets_apart_have_penalties_of_their_own_under_any_floor(least: float) -> None:
    best = found(PROTOCOL, apart=True).best(at_least=least)
    for lane, leak in enumerate(LEAKS):
        for target in range(2):
            errors, penalty = by_hand(leak, PROTOCOL, [target], least)
            assert best.ridge[lane, target] == penalty >= least
            for name, value in errors.items():
                assert getattr(best, name)[lane, target] == pytest.approx(value, rel=1e-6)
    if not least:
        assert (best.ridge[:, 0] < best.ridge[:, 1]).any(), "the targets ask for different penalties"


def test_without_lanes_there_are_none() -> None:
    u, y = series()
    esn = NETWORK.build(1, seed=2, dtype="float64")
    one = path_errors(esn, u, y, PROTOCOL).best()
    alone = path_errors(esn, u, y, PROTOCOL, esn.hyper.replace(leak_rate=[np.array([0.4, 1.0]), 1.0])).best()
    assert np.shape(one.test) == np.shape(one.ridge) == ()
    assert float(one.test) == pytest.approx(alone.test[1], rel=1e-9)


def test_a_floor_above_all_penalties_is_refused() -> None:
    with pytest.raises(ValueError, match="no penalty of the path is as large as 11: its largest is 10"):
        found(PROTOCOL).best(at_least=11)


def test_what_is_no_number_is_never_the_best() -> None:
    path = found(PROTOCOL)
    best = path.best()
    errors = path.errors.copy()
    place = int(np.argmin(errors[:, 0]))
    errors[place, 0] = np.nan
    again = replace(path, errors=errors).best()
    assert again.ridge[0] != best.ridge[0]
    np.testing.assert_array_equal(again.test[1:], best.test[1:])


@pytest.mark.parametrize("short", [0, 1])
def test_series_that_are_too_short_are_named(short: int) -> None:
    both = list(series())
    both[short] = both[short][:200]
    with pytest.raises(ValueError, match=f"200 steps of {('inputs', 'targets')[short]}, the protocol needs 560"):
        path_errors(NETWORK.build(1), both[0], both[1], PROTOCOL)


@pytest.mark.parametrize("part", range(3))
def test_targets_that_are_constant_on_a_part_are_refused(part: int) -> None:
    """However far from the others they lie: their variance in float64 is rounding, and errors over it would be 1e8."""
    protocol = Protocol(washout=50, train=300, validation=100, test=100)
    esn = es.single(10).build(1, seed=0)
    rng = np.random.default_rng(0)
    for value in rng.uniform(-3, 3, 8):
        u, y = rng.normal(size=(2, 550, 1))
        y[protocol.edges[part] : protocol.edges[part + 1]] = value
        with pytest.raises(ValueError, match=f"constant on the {('training', 'validation', 'test')[part]} steps"):
            path_errors(esn, u, y, protocol)
        assert np.isfinite(path_errors(esn, u, y, replace(protocol, score="mse")).best().test).all()
