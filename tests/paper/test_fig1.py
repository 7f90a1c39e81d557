"""Fig. 1 at its smallest scale: its numbers against NumPy and SciPy, its panels, its file."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import xarray
from matplotlib.figure import Figure
from scipy import stats

import echoscale as es
from echoscale.sweeps import Runner
from paper import fig1_timescales as fig1
from paper import make

Floats = npt.NDArray[np.float64]
S = fig1.SETTINGS["smoke"]
TWO = fig1.STRUCTURES[3:]


@pytest.fixture(scope="module")
def data() -> xarray.Dataset:
    return fig1.compute(fig1.SETTINGS["smoke"], "smoke", Runner())


@pytest.fixture(scope="module")
def picture(data: xarray.Dataset) -> Figure:
    figure = fig1.draw(data)
    figure.draw_without_rendering()
    return figure


def panel(figure: Figure, letter: str) -> Any:
    [found] = [ax for ax in figure.axes if ax.get_title(loc="left") == letter]
    return found


def lines(ax: Any) -> list[Any]:
    return [np.asarray(line.get_xydata()) for line in ax.lines]


def assert_among(curve: Any, drawn: list[Any]) -> None:
    assert any(each.shape == np.shape(curve) and np.allclose(each, curve) for each in drawn)


def dense(network: es.Network, seed: int) -> tuple[Any, Any]:
    """W and the linear map I - A + A W, from the exported matrices."""
    m = network.build(n_inputs=1, seed=seed).matrices()
    W = m.W.toarray()
    return W, np.eye(len(W)) - np.diag(m.leak_rate) + np.diag(m.leak_rate) @ W


@cache
def times(network: es.Network, seed: int) -> Floats:
    return np.sort(1 / (1 - np.linalg.eigvals(dense(network, seed)[1]).real))


def position(tau: Any, alpha: Any, rho: Any) -> Any:
    """Re lambda_W, from tau = 1 / (alpha (1 - rho Re lambda_W)). In an even disc it follows Wigner's semicircle."""
    return (1 - 1 / (alpha * np.asarray(tau))) / rho


def test_eigenvalues_of_the_weights_and_of_the_system(data: xarray.Dataset) -> None:
    W, M = dense(es.single(S.shown, leak_rate=S.leak_rate, spectral_radius=S.spectral_radius), S.seed)
    for name, matrix in (("W", W / S.spectral_radius), ("system", M)):
        found = (data.eigenvalue_real + 1j * data.eigenvalue_imag).sel(matrix=name).values
        distance = np.abs(found[:, None] - np.linalg.eigvals(matrix))
        assert distance.shape == (S.shown, S.shown)
        assert max(distance.min(axis=0).max(), distance.min(axis=1).max()) < 1e-9
    real, imag = data.eigenvalue_real.values, data.eigenvalue_imag.values
    assert np.hypot(real[0], imag[0]).max() == pytest.approx(1)
    assert np.hypot(real[1] - (1 - S.leak_rate), imag[1]).max() == pytest.approx(S.leak_rate * S.spectral_radius)


@pytest.mark.parametrize("law", fig1.LAWS)
def test_histograms_count_the_timescales_and_integrate_to_one(data: xarray.Dataset, law: str) -> None:
    edges, units = data.tau_edge.values, S.sizes[-1]
    for seed in S.seeds:
        found = data.density.sel(law=law, seed=seed).values
        assert (found * np.diff(edges)).sum() == pytest.approx(1)
        network = es.single(units, leak_rate=S.leak_rate, spectral_radius=S.spectral_radius, topology=law)
        counts = np.diff(np.searchsorted(times(network, seed), edges))
        np.testing.assert_allclose(found * np.diff(edges) * units, counts, atol=1e-9)


def test_theory_is_the_semicircle_of_an_even_disc(data: xarray.Dataset) -> None:
    tau, alpha, rho = data.tau_fine.values, S.leak_rate, S.spectral_radius
    slope = 1 / (alpha * rho * tau**2)  # d Re lambda_W / d tau
    np.testing.assert_allclose(data.density_theory, stats.semicircular.pdf(position(tau, alpha, rho)) * slope, atol=1e-6)
    low, peak, high = data.tau_landmark.values
    assert (low, high) == pytest.approx((1 / (alpha * (1 + rho)), 1 / (alpha * (1 - rho))))
    assert peak == pytest.approx(tau[np.argmax(data.density_theory.values)], rel=0.01)


def test_distances_are_those_of_kolmogorov_and_smirnov_and_fall_with_size(data: xarray.Dataset) -> None:
    for law, units, seed in itertools.product(fig1.LAWS, S.sizes, S.seeds):
        network = es.single(units, leak_rate=S.leak_rate, spectral_radius=S.spectral_radius, topology=law)
        # Rounding may put the outermost eigenvalue beyond the disc.
        places = np.clip(position(times(network, seed), S.leak_rate, S.spectral_radius), -1, 1)
        expected = stats.kstest(places, stats.semicircular.cdf).statistic
        assert float(data.distance.sel(law=law, units=units, seed=seed)) == pytest.approx(expected, abs=1e-6)
    assert (data.distance.mean("seed").diff("units") < 0).all()


def test_leak_rate_is_a_unit_of_measure(data: xarray.Dataset) -> None:
    """The paper's caption is backwards: lower leak rates give longer timescales, and the same ratio of them."""
    scaled = data.tau_of_alpha.values * data.alpha.values[:, None]
    np.testing.assert_allclose(scaled, np.broadcast_to(scaled[-1], scaled.shape), rtol=1e-9)
    np.testing.assert_allclose(scaled[-1], times(es.single(S.swept, spectral_radius=S.spectral_radius), S.seed), rtol=1e-9)
    assert (data.quantile_of_alpha.diff("alpha") < 0).all()
    ends = data.tau_landmark_of_alpha
    np.testing.assert_allclose(ends.sel(landmark="tau_max") / ends.sel(landmark="tau_min"), 1.9 / 0.1)


def test_spectral_radius_spreads_the_timescales(data: xarray.Dataset) -> None:
    places = position(data.tau_of_rho.values, S.leak_rate, data.rho.values[:, None])
    np.testing.assert_allclose(places, np.broadcast_to(places[0], places.shape), atol=1e-7)
    spread = data.quantile_of_rho.sel(quantile=0.95) / data.quantile_of_rho.sel(quantile=0.05)
    assert (spread.diff("rho") > 0).all()
    ends = data.tau_landmark_of_rho
    rho = data.rho_fine.values
    np.testing.assert_allclose(ends.sel(landmark="tau_max") / ends.sel(landmark="tau_min"), (1 + rho) / (1 - rho))


@pytest.mark.parametrize("name", ["alpha", "rho"])
def test_bodies_and_quantiles_of_the_pirate_plots(data: xarray.Dataset, name: str) -> None:
    for value in data[name].values:
        found = data.sel({name: value})
        alpha, rho = (value, S.spectral_radius) if name == "alpha" else (S.leak_rate, value)
        tau, body = found[f"body_tau_of_{name}"].values, found[f"body_of_{name}"].values
        expected = stats.semicircular.pdf(np.clip(position(tau, alpha, rho), -1, 1)) / tau  # of log tau, up to a factor
        np.testing.assert_allclose(body, expected / expected.max(), atol=1e-6)
        below = [(found[f"tau_of_{name}"].values <= each).mean() for each in found[f"quantile_of_{name}"].values]
        np.testing.assert_allclose(below, data["quantile"], atol=1 / S.swept)


def test_connected_and_unconnected_reservoirs_share_their_spectrum(data: xarray.Dataset) -> None:
    assert float(data.coupling_effect) < 1e-9
    np.testing.assert_array_equal(*(data.share.sel(structure=name) for name in TWO))
    # The solver of the library takes the network apart; NumPy does not, and the coupling costs it some digits.
    options: dict[str, Any] = {"leak_rate": S.structure_leak_rates, "spectral_radius": S.structure_spectral_radius}
    halves = [S.compared // 2] * 2
    coupled, apart = es.hierarchical(halves, **options), es.parallel(halves, **options)
    assert dense(coupled, 0)[0].any(axis=1).all()
    assert not np.array_equal(dense(coupled, 0)[0], dense(apart, 0)[0])
    np.testing.assert_allclose(times(coupled, 0), times(apart, 0), rtol=1e-6)
    pooled = np.concatenate([times(apart, seed) for seed in S.seeds])
    counts, _ = np.histogram(pooled, data.tau_bin_edge)
    np.testing.assert_allclose(data.share.sel(structure=TWO[0]), counts / len(pooled))


def test_two_leak_rates_give_two_modes(data: xarray.Dataset) -> None:
    fast, slow = (1 / alpha for alpha in S.structure_leak_rates)
    tau, share = data.tau_bin.values, data.share.sel(structure=TWO[0]).values
    middle = np.sqrt(fast * slow)
    modes = [tau[side][np.argmax(share[side])] for side in (tau < middle, tau >= middle)]
    assert modes == pytest.approx([fast, slow], rel=0.4)
    valley = share[(tau > modes[0]) & (tau < modes[1])].min()
    assert valley < 0.7 * min(share[tau == mode].item() for mode in modes)
    alone = data.share.sel(structure="single ESN").values
    assert alone[tau > slow].sum() < 0.1 < share[tau > slow].sum()


def test_a_delay_line_has_one_timescale_and_a_ring_those_of_the_circle(data: xarray.Dataset) -> None:
    alpha, rho, edges = S.structure_leak_rates[0], S.structure_spectral_radius, data.tau_bin_edge.values
    line = data.share.sel(structure="delay line").values
    [place] = np.flatnonzero(line)
    assert line[place] == 1
    assert edges[place] < 1 / alpha < edges[place + 1]
    assert float(data.longest.sel(structure="delay line")) == pytest.approx(1 / alpha)
    ring = 1 / (alpha * (1 - rho * np.cos(2 * np.pi * np.arange(S.compared) / S.compared)))
    np.testing.assert_allclose(data.share.sel(structure="ring"), np.histogram(ring, edges)[0] / S.compared)
    assert float(data.longest.sel(structure="ring")) == pytest.approx(ring.max())


def test_shares_sum_to_one_by_theory_and_by_measurement(data: xarray.Dataset) -> None:
    np.testing.assert_allclose(data.share.sum("tau_bin"), 1)
    np.testing.assert_allclose(data.share_theory.drop_sel(structure="ring").sum("tau_bin"), 1)
    alpha, rho, edges = S.structure_leak_rates, S.structure_spectral_radius, data.tau_bin_edge.values
    parts = [np.diff(stats.semicircular.cdf(np.clip(position(edges, each, rho), -1, 1))) for each in alpha]
    np.testing.assert_allclose(data.share_theory.sel(structure=TWO[0]), sum(parts) / 2, atol=1e-6)


def test_letters_and_labels(picture: Figure) -> None:
    letters = [ax.get_title(loc="left") for ax in picture.axes]
    assert letters == ["A", "B", "C", "D", "E1", "E2", "E3", "E4"]
    assert [ax.get_title() for ax in picture.axes[4:]] == ["delay line", "ring", "single", "two reservoirs"]
    assert all(panel(picture, letter).get_xlabel() for letter in ("A", "B", "C", "D", "E3", "E4"))
    assert all(panel(picture, letter).get_ylabel() for letter in ("A", "B", "C", "D", "E1", "E3"))
    assert len({ax.get_ylim() for ax in picture.axes[4:]}) == 1, "shares are compared on one axis"
    assert "Smoke scale" in picture.get_suptitle()
    assert [(ax.get_xscale(), ax.get_yscale()) for ax in (panel(picture, "C"), panel(picture, "D"))] == [("log", "log")] * 2


def test_circles_and_points_of_the_plane(data: xarray.Dataset, picture: Figure) -> None:
    drawn = lines(panel(picture, "A"))
    for name, centre, radius in (("W", 0.0, 1.0), ("system", 1 - S.leak_rate, S.leak_rate * S.spectral_radius)):
        found = data.sel(matrix=name)
        assert_among(np.stack([found.eigenvalue_real, found.eigenvalue_imag], axis=1), drawn)
        assert any(np.allclose(np.hypot(line[:, 0] - centre, line[:, 1]), radius) for line in drawn)


def test_density_is_drawn_with_its_marks(data: xarray.Dataset, picture: Figure) -> None:
    ax = panel(picture, "B")
    assert_among(np.stack([data.tau_fine, data.density_theory], axis=1), lines(ax))
    assert_among(np.stack([data.tau, data.density.sel(law="normal").mean("seed")], axis=1), lines(ax))
    for mark in data.tau_landmark.values:
        assert_among([[mark, 0], [mark, 1]], lines(ax))


@pytest.mark.parametrize(("letter", "name"), [("C", "alpha"), ("D", "rho")])
def test_pirate_plots_show_every_timescale_within_its_body(
    data: xarray.Dataset, picture: Figure, letter: str, name: str
) -> None:
    ax = panel(picture, letter)
    shown = lines(ax)
    width = np.diff(np.log(data[name].values)).min() / 2
    for value in data[name].values:
        tau = data[f"tau_of_{name}"].sel({name: value}).values
        [dots] = [each for each in shown if len(each) == len(tau) and np.allclose(each[:, 1], tau)]
        assert (np.abs(np.log(dots[:, 0] / value)) < width).all()
        assert_among([[value, float(data[f"quantile_of_{name}"].sel({name: value, "quantile": 0.5}))]], shown)
    for mark in fig1.LANDMARKS:
        curve = data[f"tau_landmark_of_{name}"].sel(landmark=mark)
        assert_among(np.stack([data[f"{name}_fine"], curve], axis=1), shown)
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    inside = np.concatenate(shown)
    assert (inside > (left, low)).all()
    assert (inside < (right, high)).all()


def test_histograms_of_the_structures(data: xarray.Dataset, picture: Figure) -> None:
    for ax, name in zip(picture.axes[4:], fig1.STRUCTURES, strict=False):
        np.testing.assert_array_equal(ax.patches[0].get_data().values, data.share.sel(structure=name))  # type: ignore[attr-defined]
        np.testing.assert_array_equal(ax.patches[0].get_data().edges, data.tau_bin_edge)  # type: ignore[attr-defined]
    overlaid = picture.axes[-1].patches[1]
    np.testing.assert_array_equal(overlaid.get_data().values, data.share.sel(structure=TWO[1]))  # type: ignore[attr-defined]


def test_round_trip_through_the_file(data: xarray.Dataset, tmp_path: Path) -> None:
    first = make(1, "smoke", tmp_path)
    again = make(1, "smoke", tmp_path)
    assert (first.reused, again.reused) == (False, True)
    assert again.file.stat().st_size < 100_000
    xarray.testing.assert_equal(again.data, data)
    assert {name: var.attrs for name, var in again.data.variables.items()} == {n: v.attrs for n, v in data.variables.items()}
    before, after = fig1.draw(data), fig1.draw(again.data)
    for one, other in zip(before.axes, after.axes, strict=True):
        for a, b in zip(lines(one), lines(other), strict=True):
            np.testing.assert_array_equal(a, b)


def test_every_variable_says_what_it_is(data: xarray.Dataset) -> None:
    assert all(var.attrs.get("long_name") for var in data.variables.values())
    assert all(var.attrs.get("units") for name, var in data.variables.items() if var.dtype.kind in "fi")
    assert {var.dtype.kind for var in data.variables.values()} <= set("fiU")


def test_progress_is_followed_job_by_job() -> None:
    seen: list[tuple[int, int, str]] = []
    fig1.compute(fig1.SETTINGS["smoke"], "smoke", Runner(progress=lambda *told: seen.append(told)))
    jobs = 1 + len(S.leak_rates) + len(S.spectral_radii) + len(S.seeds) * (len(fig1.STRUCTURES) + 2 * len(S.sizes))
    assert [told[:2] for told in seen] == [(k, jobs) for k in range(jobs + 1)]
