"""`es.auto`: what it returns is right in its own terms, and better than simple methods where there is something to find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import skew

import echoscale as es
from echoscale.data.lags import lagged
from echoscale.data.scaling import Scaling
from echoscale.data.series import as_series
from echoscale.forecasting import AutoModel, methods, networks, sequences


def cosine_map(steps: int = 260) -> np.ndarray:
    """Chaos that is no polynomial: products of lags do not explain it."""
    x = np.full(steps + 100, 0.1)
    for t in range(2, len(x)):
        x[t] = np.cos(2.8 * x[t - 1]) + 0.3 * x[t - 2]
    return x[100:]


SERIES = cosine_map()
TRAIN = 200


@pytest.fixture(scope="module")
def found() -> es.forecasting.Found:
    return es.auto(SERIES[:TRAIN], SERIES[1 : TRAIN + 1], rounds=1)


def error(model: AutoModel, series: np.ndarray, end: int, horizon: int = 1) -> float:
    guess = model.predict(series[end:-horizon], state=model.state_)
    truth = series[end + horizon :]
    return float(np.sqrt(((guess - truth) ** 2).mean()) / truth.std())


def test_a_map_that_no_line_fits_is_found(found: es.forecasting.Found) -> None:
    assert found.winner == methods.NETWORKS
    ridge = dict(zip(found.table["method"], found.table["NRMSE"], strict=True))[methods.RIDGE]
    assert found.error < 0.1 * ridge
    # What it says is about what comes.
    assert error(found.model, SERIES, TRAIN) < 3 * found.error


def test_pieces_are_the_whole(found: es.forecasting.Found) -> None:
    whole = found.model.predict(SERIES)
    first, state = found.model.predict(SERIES[:90], return_state=True)
    # Products of fewer rows may round otherwise; states are the same bits.
    np.testing.assert_allclose(np.concatenate([first, found.model.predict(SERIES[90:], state=state)]), whole, rtol=1e-9)
    carried = found.model.predict(SERIES[:TRAIN], return_state=True)[1]
    np.testing.assert_array_equal(carried, found.model.state_)


def test_predictions_are_lags_and_states_read_out(found: es.forecasting.Found) -> None:
    """With the states of `ESN.run`, network by network."""
    model = found.model
    z = model.scaling.forward(SERIES[:, None])
    want = model.linear.outputs(lagged(z, model.linear.lags))
    for group in model.groups:
        states = group.esn.run(z, hyper=group.hyper)
        want = want + np.einsum("mtn,mon->to", states, group.coef)
    np.testing.assert_allclose(
        model.predict(SERIES, state=np.zeros_like(model.state_)), model.target_scaling.back(want)[:, 0], rtol=1e-9, atol=1e-12
    )


def test_a_saved_model_predicts_the_same_bits(found: es.forecasting.Found, tmp_path: Path) -> None:
    again = es.load(es.save(found.model, tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(
        again.predict(SERIES, state=again.state_), found.model.predict(SERIES, state=found.model.state_)
    )


def test_units_do_not_matter(found: es.forecasting.Found) -> None:
    other = es.auto(1e4 * SERIES[:TRAIN] + 1e6, 1e4 * SERIES[1 : TRAIN + 1] + 1e6, rounds=1)
    assert other.winner == found.winner
    guess = (other.model.predict(1e4 * SERIES + 1e6) - 1e6) / 1e4
    # The data themselves have lost digits, and large weights make more of it in the first steps, which nothing was fitted to.
    np.testing.assert_allclose(guess[20:], found.model.predict(SERIES)[20:], atol=1e-5)


def test_the_same_seed_and_rounds_give_the_same_model(found: es.forecasting.Found) -> None:
    again = es.auto(SERIES[:TRAIN], SERIES[1 : TRAIN + 1], seconds=1e-6, rounds=1)
    np.testing.assert_array_equal(again.model.predict(SERIES), found.model.predict(SERIES))
    other = es.auto(SERIES[:TRAIN], SERIES[1 : TRAIN + 1], seed=1, rounds=1)
    assert not np.array_equal(other.model.predict(SERIES), found.model.predict(SERIES))


def test_noise_that_a_line_explains_is_left_to_lags() -> None:
    """An autoregression: no method does better than its innovations, and ridge on lags comes near."""
    rng = np.random.default_rng(3)
    x = np.zeros(460)
    for t in range(2, len(x)):
        x[t] = 1.6 * x[t - 1] - 0.8 * x[t - 2] + rng.standard_normal()
    result = es.auto(x[:300], x[1:301], rounds=1)
    guess = result.model.predict(x[300:-1], state=result.model.state_)
    assert np.sqrt(((guess - x[301:]) ** 2).mean()) < 1.1
    assert not result.networks


def test_gaps_in_targets_are_skipped() -> None:
    y = SERIES[1 : TRAIN + 1].copy()
    y[50:60] = np.nan
    y[120] = np.nan
    result = es.auto(SERIES[:TRAIN], y, rounds=1)
    assert result.winner == methods.NETWORKS
    assert error(result.model, SERIES, TRAIN) < 0.1


@pytest.mark.parametrize("gap", [slice(0, 100), slice(100, None)], ids=["at the start", "at the end"])
def test_half_of_the_targets_may_be_missing(gap: slice) -> None:
    y = SERIES[1 : TRAIN + 1].copy()
    y[gap] = np.nan
    result = es.auto(SERIES[:TRAIN], y, rounds=1)
    assert error(result.model, SERIES, TRAIN) < 0.2
    assert np.isfinite(result.error)


def test_labels_of_steps() -> None:
    """The sign of a product of two inputs: no linear method tells more than chance."""
    u = np.random.default_rng(0).normal(size=TRAIN + 100)
    labels = np.where(u[1:] * u[:-1] > 0, "same", "other")
    result = es.auto(u[1:][:TRAIN], labels[:TRAIN], rounds=1)
    guess = result.model.predict(u[1:][TRAIN:], state=result.model.state_)
    assert (guess == labels[TRAIN:]).mean() > 0.7
    assert set(guess) <= {"same", "other"}
    scores = result.model.predict_scores(u[1:][TRAIN:], state=result.model.state_)
    np.testing.assert_array_equal(np.array(["other", "same"])[scores.argmax(axis=1)], guess)


def test_labels_of_sequences(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    speed = np.tile([0.2, 0.5], 15)
    X = [np.sin(s * np.arange(40 + k) + rng.uniform(0, 6))[:, None] for k, s in enumerate(speed)]
    result = es.auto(X[:20], np.where(speed[:20] > 0.3, "fast", "slow"), rounds=1)
    guess = result.model.predict(X[20:], state=result.model.state_)
    assert (guess == np.where(speed[20:] > 0.3, "fast", "slow")).mean() == 1
    again = es.load(es.save(result.model, tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(again.predict_scores(X[20:]), result.model.predict_scores(X[20:]))
    with pytest.raises(ValueError, match="this model labels whole sequences"):
        result.model.predict(X[0])


def test_members_that_hear_changes_from_the_end_are_saved(tmp_path: Path) -> None:
    X = as_series(np.random.default_rng(0).normal(size=(12, 15, 2)), name="X")
    codes = np.eye(2)[np.arange(12) % 2]
    judged = sequences.judge(X, codes, sequences.Plan(es.single(5), False, "only", True), 0, 0)
    [member] = sequences.joined([(0.3, judged[0]), (0.7, judged[1])])
    model = es.forecasting.SequenceModel((member,), None, Scaling.none(2), np.array([3, 4]), 1.0)
    again = es.load(es.save(model, tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(again.predict_scores(X.values), model.predict_scores(X.values))
    # What it hears, by hand: the changes from the end to the start.
    turned = np.diff(np.asarray(X.values)[:, ::-1], axis=1, prepend=np.asarray(X.values)[:, -1:])
    states = member.transformer.esn_.run(member.transformer.scaling_.forward(turned))
    cuts = [(0, 4), (3, 8), (7, 12), (11, 15)]  # quarters of 15 steps; neighbours share the step that lies in both
    whole, parts = [], []
    for each in states:
        moved = np.abs(np.diff(each, axis=0)).sum(axis=0) / len(each)
        rest = [each.std(0), each.max(0), each.min(0), skew(each, axis=0), (each > 0).mean(axis=0), moved]
        whole.append(np.concatenate([each.mean(0), *rest]))
        parts.append(np.concatenate([*(each[a:b].mean(0) for a, b in cuts), *rest]))
    want = 0.3 * judged[0].member.readout.predict(np.array(whole)) + 0.7 * judged[1].member.readout.predict(np.array(parts))
    np.testing.assert_allclose(model.predict_scores(X.values), want, atol=1e-5)


def test_several_series_and_outputs() -> None:
    many = [cosine_map(120 + 10 * k)[k:] for k in range(3)]
    result = es.auto([x[:-1, None] for x in many], [np.stack([x[1:], x[1:] ** 2], axis=1) for x in many], rounds=1)
    outputs = result.model.predict([x[:-1, None] for x in many])
    assert [each.shape for each in outputs] == [(len(x) - 1, 2) for x in many]
    assert result.error < 0.6  # ridge on lags has 0.94


def test_few_sequences_and_inputs_that_stand_still_are_let_through() -> None:
    rng = np.random.default_rng(0)
    result = es.auto(rng.normal(size=(4, 20, 1)), [0, 1, 0, 1], rounds=1)
    assert set(result.model.predict(rng.normal(size=(5, 20, 1)))) <= {0, 1}
    u = np.stack([SERIES, np.full(len(SERIES), 5.0)], axis=1)
    still = es.auto(u[:TRAIN], SERIES[1 : TRAIN + 1], rounds=1)
    assert still.winner == methods.NETWORKS


def test_a_target_that_is_the_input_is_copied() -> None:
    result = es.auto(SERIES[:TRAIN], SERIES[:TRAIN], rounds=1)
    np.testing.assert_allclose(result.model.predict(SERIES), SERIES, atol=1e-9)


def test_an_interruption_returns_the_best_so_far() -> None:
    def stop(done: int, total: int, note: str) -> None:
        raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted: this is the result of the rounds so far"):
        result = es.auto(SERIES[:TRAIN], SERIES[1 : TRAIN + 1], rounds=5, progress=stop)
    assert result.rounds == 1
    assert np.isfinite(result.model.predict(SERIES)).all()


def test_the_plot_shows_all_methods(found: es.forecasting.Found) -> None:
    axes: Any = found.plot()
    assert [each.get_text() for each in axes.get_yticklabels()] == list(reversed(found.table["method"]))
    assert [bar.get_width() for bar in axes.patches] == list(reversed(found.table["NRMSE"]))


def test_the_report_says_what_won(found: es.forecasting.Found) -> None:
    text = str(found)
    assert "Output 0 is input 0, 1 step later." in text
    assert found.table["choice"].count("taken") == 1
    assert found.table["method"][found.table["choice"].index("taken")] == found.winner
    assert len(found.networks) == sum(len(group.coef) for group in found.model.groups)


def test_a_simple_winner_is_returned() -> None:
    """A random walk: nothing is better than its last value, and what comes back is hardly worse."""
    x = np.cumsum(np.random.default_rng(7).standard_normal(460)) + 1000
    result = es.auto(x[:200], x[6:206], rounds=1)
    assert result.winner in (methods.SIMPLE, methods.NAIVE)
    assert "networks were not clearly better" in str(result)
    forecasts = result.model.predict(x[200:-6], state=result.model.state_)
    assert es.nrmse(x[206:], forecasts) < 1.05 * es.nrmse(x[206:], x[200:-6])
    assert not result.networks


@pytest.mark.parametrize("structure", networks.ROUNDS)
def test_every_structure_is_tried_saved_and_exported(structure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "ROUNDS", (structure,))
    found = es.auto(SERIES[:TRAIN], SERIES[1 : TRAIN + 1], rounds=1)
    assert found.winner == methods.NETWORKS
    first = [network.reservoirs[0] for network in found.networks]
    assert all((each.residual == "shift") == (structure == "residual") for each in first)
    assert all((each.leak_spread > 0) == (structure == "spread") for each in first)
    again = es.load(es.save(found.model, tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(again.predict(SERIES), found.model.predict(SERIES))
    assert es.export(found.model, tmp_path / "model.c").exists()
