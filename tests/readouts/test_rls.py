"""Recursive least squares against the direct solution and against the textbook's row-by-row rule."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import echoscale as es
from echoscale.readouts import rls
from echoscale.readouts.rls import RLS
from echoscale.readouts.statistics import of_rows


def rows(count: int = 400, features: int = 12, outputs: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Correlated features with a mean, targets with a mean of their own, and noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, features)) @ rng.normal(size=(features, features)) + rng.normal(size=features) * 3
    return x, x @ rng.normal(size=(features, outputs)) + 5 + rng.normal(size=(count, outputs))


@pytest.mark.parametrize("ridge", [1e-6, 1.0])
def test_a_pass_gives_the_ridge_solution(ridge: float) -> None:
    x, y = rows()
    found = RLS(ridge).partial_fit(x, y).readout
    direct = es.readouts.ridge(of_rows(x, y), ridge)
    np.testing.assert_allclose(found.coef, direct.coef, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.intercept, direct.intercept, rtol=1e-8, atol=1e-8)
    assert found.ridge == ridge


def test_states_of_a_network_with_a_small_penalty() -> None:
    u, y = es.tasks.narma(3000, order=10, seed=0)
    states = es.hierarchical([30, 30], leak_rate=[0.9, 0.3]).build(1, seed=0).run(u)[200:]
    found, direct = RLS(1e-5).partial_fit(states, y[200:]).readout, es.readouts.ridge(of_rows(states, y[200:]), 1e-5)
    np.testing.assert_allclose(found.coef, direct.coef, rtol=0, atol=1e-8 * np.abs(direct.coef).max())
    np.testing.assert_allclose(found.intercept, direct.intercept, rtol=1e-8)


def test_forgetting_solves_the_weighted_problem() -> None:
    x, y = rows(300)
    ridge, forgetting = 1e-7, 0.97
    weight = forgetting ** np.arange(len(x))[::-1]
    centre, middle = np.average(x, axis=0, weights=weight), np.average(y, axis=0, weights=weight)
    gram = (x - centre).T @ (weight[:, None] * (x - centre)) + ridge * np.eye(x.shape[1])
    coef = np.linalg.solve(gram, (x - centre).T @ (weight[:, None] * (y - middle))).T
    found = RLS(ridge, forgetting).partial_fit(x, y).readout
    np.testing.assert_allclose(found.coef, coef, rtol=1e-6)
    np.testing.assert_allclose(found.intercept, middle - coef @ centre, rtol=1e-6)


def test_a_block_of_rows_counts_as_one_step_and_idle_rows_not_at_all() -> None:
    x, y = rows(40, features=5, outputs=1)
    with jax.enable_x64(True):
        update = jax.jit(rls.update, static_argnames="back")
        state = rls.init(5, 1, 0.1)
        for begin in range(0, 40, 8):
            padded = [np.concatenate([each[begin : begin + 8], np.full((3, each.shape[1]), np.nan)]) for each in (x, y)]
            counts = np.arange(11) < 8
            state = update(state, *padded, ridge=0.1, counts=counts)
        nothing = update(state, *padded, ridge=0.1, forgetting=0.5, back=3, counts=np.zeros(11, bool))
        found, intercept = np.asarray(state.coef).T, np.asarray(rls.intercept_of(state))
    direct = es.readouts.ridge(of_rows(x, y), 0.1)
    np.testing.assert_allclose(found, direct.coef, rtol=1e-10)
    np.testing.assert_allclose(intercept, direct.intercept, rtol=1e-10)
    for before, after in zip(state, nothing, strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("forgetting", [0.5, 0.99])
def test_what_nothing_excites_does_not_wind_up(forgetting: float) -> None:
    """Half of the features are 0 for ever: their share of P stays at 1 / ridge, where forgetting alone would overflow."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(20_000, 4)), np.zeros((20_000, 4))], axis=1)
    model = RLS(1e-3, forgetting).partial_fit(x, x[:, :1])
    assert model.state is not None
    largest = np.linalg.eigvalsh(np.asarray(model.state.inverse))
    assert largest[0] > 0
    assert 500 < largest[-1] < 1000 * math.e
    np.testing.assert_array_equal(model.state.inverse, np.asarray(model.state.inverse).T)
    np.testing.assert_allclose(model.readout.coef[0, :4], [1, 0, 0, 0], atol=0.05)


def test_pieces_gaps_and_single_rows() -> None:
    x, y = rows(600)
    whole = RLS(1e-3, 0.999).partial_fit(x, y)
    pieces = RLS(1e-3, 0.999)
    for begin, end in [(0, 3), (3, 4), (4, 300), (300, 600)]:
        pieces.partial_fit(x[begin:end], y[begin:end])
    np.testing.assert_allclose(pieces.readout.coef, whole.readout.coef, rtol=1e-12)
    gaps = y.copy()
    gaps[10:20, 1] = np.nan
    with_gaps = RLS(1e-3, 0.999).partial_fit(x, gaps)
    without = RLS(1e-3, 0.999).partial_fit(np.delete(x, slice(10, 20), 0), np.delete(y, slice(10, 20), 0))
    np.testing.assert_allclose(with_gaps.readout.coef, without.readout.coef, rtol=1e-12)


def test_force_learning_follows_a_sine_in_closed_loop() -> None:
    """The network hears its own output while it learns; afterwards it goes on by itself."""
    esn = es.single(60, leak_rate=0.4, spectral_radius=0.95, bias_scaling=0.2).build(1, seed=1)
    wave = np.sin(2 * np.pi * np.arange(700) / 25)
    model, x, z = RLS(1e-2), np.zeros(60, np.float32), 0.0
    for target in wave[:600]:
        x = esn.step([z], x)
        model.partial_fit(x, target)
        z = float(model.predict(x)[0])
    errors = []
    for target in wave[600:]:
        x = esn.step([z], x)
        z = float(model.predict(x)[0])
        errors.append(z - target)
    assert np.sqrt(np.mean(np.square(errors))) < 0.1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RLS(0.0), "ridge must be above 0, got 0"),
        (lambda: RLS(forgetting=1.1), r"forgetting must lie in \(0, 1\], got 1.1"),
        (lambda: RLS().predict([[1.0]]), "has not seen any data"),
        (lambda: RLS().partial_fit(np.ones((3, 2)), np.ones(4)), r"one target for each of the 3 rows of X, got shape \(4,\)"),
        (lambda: RLS().partial_fit([[1.0], [np.nan]], [1, 2]), "X must be finite, found NaN or infinity in row 1"),
        (lambda: RLS().partial_fit([[1.0], [2.0]], [1, np.inf]), "found infinity in row 1"),
        (lambda: RLS().partial_fit(np.ones((3, 2)), np.ones(3)).partial_fit(np.ones((3, 4)), np.ones(3)), "learned 2 features"),
        (lambda: RLS().partial_fit(np.ones((3, 2)), np.ones(3)).predict(np.ones((1, 4))), r"must be \(T, 2\)"),
    ],
)
def test_errors_say_what_is_wrong(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_saved_rls_carries_on_bit_for_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 5)), rng.normal(size=(60, 2))
    whole = RLS(1e-3, 0.99).partial_fit(X, y)
    half = RLS(1e-3, 0.99).partial_fit(X[:30], y[:30])
    back = es.load(es.save(half, tmp_path / "half.es")).partial_fit(X[30:], y[30:])
    np.testing.assert_array_equal(back.readout.coef, whole.readout.coef)
    np.testing.assert_array_equal(back.predict(X), whole.predict(X))
    fresh = es.load(es.save(RLS(1e-2, 0.5), tmp_path / "fresh.es"))
    assert (fresh.ridge, fresh.forgetting, fresh.state) == (1e-2, 0.5, None)
