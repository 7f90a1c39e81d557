"""Fig. 9: grid points recomputed through the estimators, and what is derived from them by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import xarray
from naive import states_of

import echoscale as es
from echoscale.sweeps import Runner
from paper import fig9_delayed_input as fig9
from paper import gallery
from paper.delay_expansion import DelayExpansion

Floats = npt.NDArray[np.float64]

SMOKE = fig9.SETTINGS["smoke"]
CUT = SMOKE.protocol
KNOWN, LENGTH = CUT.washout + CUT.train, CUT.length


@pytest.fixture(scope="module")
def data() -> xarray.Dataset:
    return fig9.compute(fig9.SETTINGS["smoke"], "smoke", Runner())


def best_of_path(model: Any, u: Floats, y: Floats) -> tuple[float, float]:
    """Validation and test NRMSE of the penalty that is best on the validation part, one fit and prediction for each."""
    parts = slice(KNOWN, KNOWN + CUT.validation), slice(KNOWN + CUT.validation, LENGTH)
    errors = []
    for penalty in CUT.ridge:
        model.set_params(ridge=penalty).fit(u[:KNOWN], y[:KNOWN])
        guess = model.predict(u)  # from the beginning, so that the state at the end of training is carried on
        validation, test = (float(es.nrmse(y[part], guess[part])) for part in parts)
        errors.append((validation, test))
    return min(errors)


@pytest.mark.parametrize("drive", fig9.DRIVES)
def test_a_delayed_input_error_is_that_of_an_estimator(data: xarray.Dataset, drive: str) -> None:
    seed, delay, alpha2 = 1, 10, 0.6
    u, y = es.tasks.narma(LENGTH, order=10, seed=seed)
    strength = 1.0 if drive == "as printed" else float(data["first_level_spread"].sel(seed=seed))
    network = es.single(20, leak_rate=alpha2, spectral_radius=0.95, input_scaling=strength * (3 * 10 / 20) ** 0.5)
    expanded = DelayExpansion(delay=delay, units=20, seed=seed).fit(u[:KNOWN]).transform(u)
    columns = es.readouts.Columns(1)
    model = es.ESNRegressor(network=network, columns=columns, washout=CUT.washout, scale=None, random_state=seed)
    validation, test = best_of_path(model, expanded, y)
    place = {"drive": drive, "delay": delay, "alpha2": alpha2, "seed": seed}
    # States are float32, and the lanes of a grid are summed in another order than one network.
    assert float(data["validation"].sel(place)) == pytest.approx(validation, rel=1e-4)
    assert float(data["test"].sel(place)) == pytest.approx(test, rel=1e-4)


def test_a_hierarchy_error_is_that_of_an_estimator(data: xarray.Dataset) -> None:
    seed, alpha2 = 0, 0.2
    u, y = es.tasks.narma(LENGTH, order=10, seed=seed)
    network = es.hierarchical([20, 20], leak_rate=[1.0, alpha2], spectral_radius=0.95, input_scaling=0.2, coupling=1.0)
    columns = es.readouts.Columns(0)
    model = es.ESNRegressor(network=network, columns=columns, washout=CUT.washout, scale=None, random_state=seed)
    validation, test = best_of_path(model, u, y)
    place = {"alpha2": alpha2, "seed": seed}
    assert float(data["hierarchy_validation"].sel(place)) == pytest.approx(validation, rel=1e-4)
    assert float(data["hierarchy_test"].sel(place)) == pytest.approx(test, rel=1e-4)


def test_the_spread_is_that_of_the_first_reservoir(data: xarray.Dataset) -> None:
    """From the naive simulation of the whole hierarchy, at another leak rate of the second level."""
    network = es.hierarchical([20, 20], leak_rate=[1.0, 0.3], spectral_radius=0.95, input_scaling=0.2)
    u, _ = es.tasks.narma(LENGTH, order=10, seed=1)
    states = states_of(network.build(1, seed=1), u[:KNOWN])[CUT.washout :, :20]
    expected = np.sqrt(np.mean([np.var(states[:, i]) for i in range(20)]))
    assert float(data["first_level_spread"].sel(seed=1)) == pytest.approx(expected, rel=1e-4)


def test_the_drive_of_the_hierarchy_is_that_of_its_coupling() -> None:
    """Var[W_in x] over inputs and neurons equals Var[W_21 x1], both 10 times the variance of x1: on average over draws."""
    settings = fig9.SETTINGS["paper"]
    ratios = []
    for seed in range(10):
        spread = fig9.first_level_spread(settings, seed)
        u, _ = es.tasks.narma(2_000, seed=seed)
        expanded = DelayExpansion(10, seed=seed).fit(u).transform(u)
        delayed = expanded @ fig9.delayed_network(settings).build(50, seed=seed).matrices().W_in.T * spread
        esn = fig9.hierarchy(settings).build(1, seed=seed)
        coupled = esn.run(u)[200:, :50] @ esn.drawn.couplings[0].T
        ratios.append(np.log(delayed[200:].var(axis=0).mean() / coupled.var(axis=0).mean()))
    # Features and neurons are few and correlated, so that each ratio scatters; their mean must not, by 4 standard errors.
    error = np.std(ratios, ddof=1) / len(ratios) ** 0.5
    assert error < 0.1
    assert abs(np.mean(ratios)) < 4 * error


def test_the_best_leak_rates_are_those_of_the_validation_errors(data: xarray.Dataset) -> None:
    for d, drive in enumerate(fig9.DRIVES):
        for k, delay in enumerate(SMOKE.delays):
            means = [float(np.mean(data["validation"].values[d, k, a])) for a in range(len(SMOKE.leak_rates))]
            best = SMOKE.leak_rates[int(np.argmin(means))]
            row = data.sel(drive=drive, delay=delay)
            assert float(row["best_alpha2"]) == best
            assert float(row["best_test"]) == pytest.approx(float(row["test"].sel(alpha2=best).mean()))
            assert float(row["best_alpha2_low"]) <= float(row["best_alpha2_high"])
    least = int(np.argmin(data["hierarchy_validation"].values.sum(axis=1)))
    assert float(data["hierarchy_best_alpha2"]) == SMOKE.leak_rates[least]


def test_resampled_seeds_that_agree_leave_no_interval() -> None:
    """Where every seed has the same best leak rate, so has every resample; where two of them disagree evenly, both appear."""
    agreed = np.array([[0.9, 0.8], [0.1, 0.3], [0.5, 0.6]])
    split = np.array([[0.1, 0.9], [0.9, 0.9], [0.8, 0.15]])
    grid = np.stack([[agreed, split], [agreed, split]])
    parts = {"validation": (("drive", "delay", "alpha2", "seed"), grid), "test": (("drive", "delay", "alpha2", "seed"), grid)}
    whole = {"hierarchy_validation": (("alpha2", "seed"), agreed), "hierarchy_test": (("alpha2", "seed"), agreed)}
    found = fig9.best_leak_rates(xarray.Dataset({**parts, **whole}, {"alpha2": list(SMOKE.leak_rates)}), SMOKE)
    np.testing.assert_array_equal(found["best_alpha2"], [[0.6, 1.0]] * 2)
    np.testing.assert_array_equal(found["best_alpha2_low"], [[0.6, 0.2]] * 2)
    np.testing.assert_array_equal(found["best_alpha2_high"], [[0.6, 1.0]] * 2)
    assert float(found["hierarchy_best_alpha2_low"]) == float(found["hierarchy_best_alpha2_high"]) == 0.6


def test_progress_counts_all_jobs() -> None:
    """One for each seed and model: the hierarchy and every delay."""
    seen: list[tuple[int, int, str]] = []
    fig9.compute(fig9.SETTINGS["smoke"], "smoke", Runner(progress=lambda *told: seen.append(told)))
    jobs = len(SMOKE.seeds) * (1 + len(SMOKE.delays))
    assert [told[:2] for told in seen] == [(k, jobs) for k in range(jobs + 1)]


def test_the_figure_and_its_file(data: xarray.Dataset, tmp_path: Path) -> None:
    made = gallery.make(9, "smoke", tmp_path)
    again = gallery.make(9, "smoke", tmp_path)
    assert (made.reused, again.reused) == (False, True)
    for name in [*data.data_vars, *data.coords]:
        np.testing.assert_array_equal(again.data[name], data[name])
        assert again.data[name].attrs == data[name].attrs
    assert made.picture.stat().st_size > 10_000
    figure = fig9.draw(again.data)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["A", "B", "C"]


def test_the_paper_scale_is_that_of_the_paper() -> None:
    paper = fig9.SETTINGS["paper"]
    assert (*paper.protocol.edges.tolist(), len(paper.seeds)) == (200, 5000, 6500, 9000, 20)
    assert min(paper.protocol.ridge) == pytest.approx(1e-5)
    assert len(paper.leak_rates) == 20
    assert (min(paper.leak_rates), max(paper.leak_rates)) == (0.05, 1.0)
    assert fig9.delayed_network(paper).reservoirs[0].input_scaling == pytest.approx((10 * 3 / 50) ** 0.5)
