"""Fig. 7: every form of the gradient against another way to it, what is derived from them, and what is drawn."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import numpy as np
import pytest
import xarray

from echoscale.engine import precision_and_device
from echoscale.sweeps import Runner
from paper import fig7_online_gradient as fig7
from paper import gallery
from paper import snapshots as sequences
from paper.sequence_learner import SequenceLearner

SMOKE = fig7.SETTINGS["smoke"]
EVERY = SMOKE.side**2 // SMOKE.snapshots[0]


@pytest.fixture(scope="module")
def data() -> xarray.Dataset:
    return fig7.compute(fig7.SETTINGS["smoke"], "smoke", Runner())


def first_minibatch(settings: fig7.Settings) -> tuple[SequenceLearner, fig7.Minibatch]:
    u, labels = next(fig7.minibatches(settings, 0))
    learner = fig7.learner_of(settings, 0, 0).start(u.shape[1])
    with precision_and_device("float64", None):
        return learner, fig7.Minibatch.of(learner, u, labels)


def test_exact_traces_are_back_propagation_and_truncated_ones_are_not(data: xarray.Dataset) -> None:
    off = data["deviation"]
    assert float(off.sel(form="exact trace").max()) < 1e-12
    assert float(off.sel(form="truncated trace").min()) > 0.05
    moved = off.sel(form=list(fig7.MOVING))
    assert ((moved > 1e-5) & (moved < 0.3)).all()
    curves = data["gradient"]
    np.testing.assert_allclose(curves.sel(curve="exact trace"), curves.sel(curve="BPTT"), rtol=1e-9, atol=1e-13)


def test_deviations_are_those_of_the_curves(data: xarray.Dataset) -> None:
    for place in range(2):
        curves = data["gradient"].isel(snapshots=place)
        truncated, reference = (curves.sel(curve=name).values for name in ("truncated trace", "BPTT"))
        expected = np.sqrt(((truncated - reference) ** 2).sum() / (reference**2).sum())
        found = data["deviation"].isel(snapshots=place, seed=0).sel(form="truncated trace")
        assert float(found) == pytest.approx(expected, rel=1e-12)


def test_its_back_propagation_is_the_gradient_by_traces() -> None:
    _, now = first_minibatch(SMOKE)
    with precision_and_device("float64", None):
        backwards, total = fig7.through_time(now, EVERY)
        run = jax.jit(partial(sequences.gradients, learned=fig7.LEARNED, every=EVERY))
        _, expected = run(*now)
        still = fig7.moving(now, EVERY, np.zeros((SMOKE.side**2, 2)))
    np.testing.assert_allclose(backwards, expected.parameters, rtol=1e-11)
    np.testing.assert_allclose(still, backwards, rtol=1e-10, err_msg="leaks that do not move")
    # Behind the last snapshot there is the readout alone: dE/dx = coef^T dE/dz, and dE/dintercept = sum over lanes of dE/dz.
    coef = now.readout.coef[:, -1]
    by_z = np.linalg.lstsq(coef.T, total[-1], rcond=None)[0]
    np.testing.assert_allclose(coef.T @ by_z, total[-1], atol=1e-12)
    np.testing.assert_allclose(by_z.sum(axis=1), expected.intercept, atol=1e-12)


def test_as_printed_counts_nothing_twice_where_there_is_one_snapshot(data: xarray.Dataset) -> None:
    one = replace(SMOKE, snapshots=(1, 1))
    _, now = first_minibatch(one)
    with precision_and_device("float64", None):
        backwards, total = fig7.through_time(now, one.side**2)
        np.testing.assert_allclose(fig7.printed(now, one.side**2, total), backwards, rtol=1e-10)
    off = data["deviation"].sel(form="as printed").mean("seed").values
    assert off[0] > 0.01
    assert off[1] > off[0], "the more snapshots, the more is counted twice"


def test_leaks_move_against_the_gradient_and_arrive() -> None:
    offsets = fig7.path(np.array([2.0, -3.0]), 6, 2, 0.1)
    np.testing.assert_allclose(offsets[:, 0], [0.2, 0.2, 0.1, 0.1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(offsets[:, 1], -offsets[:, 0], atol=1e-15)


def test_running_averages_are_means() -> None:
    values = np.random.default_rng(0).normal(size=(9, 2))
    expected = [values[k : k + 4].mean(axis=0) for k in range(6)]
    np.testing.assert_allclose(fig7.running_average(values, 4), expected, rtol=1e-12)


def test_images_are_shown_pixel_by_pixel_in_one_order() -> None:
    small, labels = fig7.digits(8)
    assert small.shape == (1797, 64)
    assert (small.min(), small.max()) == (0, 1)
    large, same = fig7.digits(28)
    assert large.shape == (1797, 784)
    np.testing.assert_array_equal(labels, same)
    corners = large.reshape(-1, 28, 28)[:, [0, 0, -1, -1], [0, -1, 0, -1]]
    np.testing.assert_allclose(corners, small.reshape(-1, 8, 8)[:, [0, 0, -1, -1], [0, -1, 0, -1]], atol=1e-12)
    settings = replace(SMOKE, minibatch=1797, minibatches=2)
    (u, first), (again, second) = fig7.minibatches(settings, 0)
    order, other = np.lexsort(u[..., 0].T), np.lexsort(again[..., 0].T)
    np.testing.assert_array_equal(u[order], again[other], err_msg="an epoch holds all images, permuted alike")
    assert sorted(first) == sorted(second) == sorted(labels)
    np.testing.assert_array_equal(np.sort(u[..., 0].sum(axis=1)), np.sort(small.sum(axis=1)))


def test_training_goes_on_along_the_curves(data: xarray.Dataset) -> None:
    leaks = data["leak_rate"].values
    np.testing.assert_allclose(leaks[:, 0], [SMOKE.leak_rates] * 2)
    moved = np.abs(np.diff(leaks, axis=1))
    assert ((moved > 0) & (moved < 1.1 * SMOKE.leak_learning_rate)).all()
    first = data["gradient"].sel(curve="exact trace").values[:, 0]
    np.testing.assert_array_equal(np.sign(leaks[:, 1] - leaks[:, 0]), -np.sign(first))
    assert (data["loss"] > 0).all()


def test_the_figure_and_its_file(data: xarray.Dataset, tmp_path: Path) -> None:
    made = gallery.make(7, "smoke", tmp_path)
    again = gallery.make(7, "smoke", tmp_path)
    assert (made.reused, again.reused) == (False, True)
    for name in data.data_vars:
        np.testing.assert_array_equal(again.data[name], data[name])
        assert np.isfinite(data[name]).all()
    assert made.picture.stat().st_size > 10_000
    figure = fig7.draw(data)
    assert [ax.get_title(loc="left") for ax in figure.get_axes()] == list("ABCDE")
    assert [ax.get_title() for ax in figure.get_axes()[2:4]] == ["4 snapshots", "16 snapshots"]


def test_snapshots_divide_the_sequences() -> None:
    for settings in fig7.SETTINGS.values():
        assert all(settings.side**2 % count == 0 for count in settings.snapshots)
        assert settings.window < settings.minibatches
    assert fig7.SETTINGS["paper"].snapshots == (4, 28)
    assert fig7.SETTINGS["paper"].side ** 2 == 784
