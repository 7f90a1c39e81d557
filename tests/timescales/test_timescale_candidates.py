"""Candidates for leak rates and input scalings: which there are, and their errors against ridge regression written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import echoscale as es
from echoscale.data.scaling import Scaling
from echoscale.data.series import Series, as_series, washout_steps
from echoscale.network import Network
from echoscale.readouts import splits
from echoscale.readouts.columns import Columns
from echoscale.timescales import candidates
from echoscale.timescales.candidates import FOLDS, PENALTIES, TIE, Candidate, Candidates


def standard(values: Any) -> Series:
    series = as_series(values)
    return Scaling.of(series.values).apply(series)


def network(each: Candidate, units: int = 8) -> Network:
    return es.single(
        units, leak_rate=each.leak_rate([units]), spectral_radius=0.8, input_scaling=each.input_scaling, bias_scaling=0.5
    )


def test_errors_are_those_of_networks_fitted_one_by_one() -> None:
    """E = sqrt(mean over held-out folds of (y - W x - b)^2 / var y), least over the penalties, every network alone."""
    u, y = es.tasks.narma(400, order=5, seed=3)
    inputs, targets, columns = standard(u), standard(y), Columns(2)
    tried = candidates.candidates(400)
    found = candidates.choose(tried, network, inputs, targets, columns, seed=5, dtype="float64")
    assert found is not None
    washout = washout_steps(None, 400)
    held_out = splits.folds([400], washout, FOLDS)
    rows, wanted = held_out.rows(), np.asarray(targets.values[0])[washout:]
    for place, each in enumerate(tried):
        esn = network(each).build(1, seed=5, dtype="float64")
        x = np.column_stack([esn.run(inputs.values[0]), inputs.values[0], np.roll(inputs.values[0], 1, axis=0)])[washout:]
        errors = []
        for relative in PENALTIES[PENALTIES >= 1e-8]:  # below, the Gram matrix is rounding
            squares = []
            for split in held_out.splits:
                train = np.concatenate([rows[k] for k in split.train])
                held = np.concatenate([rows[k] for k in split.held_out])
                centred = x[train] - x[train].mean(axis=0)
                ridge = Ridge(relative * (centred**2).sum() / x.shape[1], solver="svd").fit(x[train], wanted[train])
                squares.append((ridge.predict(x[held]).reshape(-1, 1) - wanted[held]) ** 2)
            counted = np.concatenate([wanted[rows[k]] for k in (*held_out.splits[0].train, *held_out.splits[0].held_out)])
            errors.append(np.sqrt(np.concatenate(squares).mean() / counted.var()))
        assert found.errors[place] <= min(errors) * (1 + 1e-6)
        assert found.errors[place] == pytest.approx(min(errors), rel=0.05)
    np.testing.assert_array_equal(np.column_stack([found.slow, found.fast, found.input_scaling]), np.array(tried))


def test_the_first_of_equals_is_chosen() -> None:
    ones = np.ones(4)
    errors = np.array([0.5, 0.3 * (1 + TIE / 2), 0.3, 0.4])
    found = Candidates(ones, ones, np.arange(1.0, 5), errors, 3)
    assert found.chosen == Candidate(1, 1, 2)
    assert (
        found.reason == "leak rate 1 and input scaling 2, chosen from 4 candidates by 3 folds; the next best has 1% less error"
    )
    assert Candidates(ones[:2], ones[:2], ones[:2], np.zeros(2), 3).place == 0


@pytest.mark.parametrize("steps", [50, 200, 1000, 10_000])
def test_data_hold_ten_of_the_slowest_timescales(steps: int) -> None:
    found = candidates.candidates(steps)
    assert min(each.slow for each in found) >= min(10 / steps, 1)
    assert all(each.slow < each.fast or each.slow == each.fast == 1 for each in found)
    assert len(set(found)) == len(found)
    if steps == 10_000:
        assert min(each.slow for each in found) == 0.003


def test_values_that_are_not_open_are_not_named() -> None:
    assert all(np.isnan(each.slow) for each in candidates.candidates(1000, leak_rates=False))
    assert all(np.isnan(each.input_scaling) for each in candidates.candidates(1000, input_scalings=False))
    assert str(Candidate(0.1, 1.0, np.nan)) == "leak rates 0.1 to 1"
    assert str(Candidate(np.nan, np.nan, 0.3)) == "input scaling 0.3"
    assert {each.input_scaling for each in candidates.candidates(1000, spread=10.0)} == {0.03, 0.1, 0.003, 0.3}


def test_several_reservoirs_divide_the_range() -> None:
    each = Candidate(0.01, 1.0, 0.3)
    assert each.leak_rate([5]) == es.LogUniform(0.01, 1.0)
    assert each.leak_rate([5, 5, 5]) == [1.0, 0.1, 0.01]
    assert Candidate(1.0, 1.0, 0.3).leak_rate([5]) == 1.0


def test_a_choice_takes_few_steps_neurons_and_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cost is bounded: the last 1,500 steps, a hundred neurons in proportion, a hundred columns of inputs."""
    assert candidates.fewer_units([1000]) == [100]
    assert candidates.fewer_units([300, 100]) == [75, 25]
    assert candidates.fewer_units([30, 20]) == [30, 20]
    seen = []

    def spied(esn: Any, series: Series, targets: Series, edges: Any, *, columns: Columns, hyper: Any) -> Any:
        seen.append((int(series.lengths.sum()), columns.inputs, hyper.lanes))
        raise InterruptedError

    monkeypatch.setattr(candidates, "split_statistics", spied)
    u = np.random.default_rng(0).normal(size=(5000, 20))
    with pytest.raises(InterruptedError):
        candidates.choose(candidates.candidates(5000), network, as_series(u), as_series(u), Columns(13), seed=0)
    assert seen == [(1500, 5, 10)]
