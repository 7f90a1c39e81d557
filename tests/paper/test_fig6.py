"""Fig. 6: the points of its surfaces recomputed by other means, its splits, its paths, its pictures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from matplotlib.container import ErrorbarContainer
from scipy.special import expit
from sklearn.datasets import load_digits

import echoscale as es
from echoscale.sweeps import Runner
from echoscale.tasks import mnist
from paper import fig6_psmnist as fig6
from paper.sequence_learner import SequenceLearner

SMOKE = fig6.SETTINGS["smoke"]


@pytest.fixture(scope="module")
def data() -> xarray.Dataset:
    return fig6.compute(fig6.SETTINGS["smoke"], "smoke", Runner())


def test_parts_of_the_images_do_not_overlap() -> None:
    found = fig6.images(SMOKE)
    train, test = es.tasks.psdigits("train"), es.tasks.psdigits("test")
    np.testing.assert_array_equal(found.u[:150], train.u[:150])
    np.testing.assert_array_equal(found.u[150:200], train.u[-50:])
    np.testing.assert_array_equal(found.u[found.tested], test.u[:60])
    np.testing.assert_array_equal(found.labels, np.concatenate([train.labels[:150], train.labels[-50:], test.labels[:60]]))
    assert found.held_out.tolist() == list(range(150, 200))
    assert found.fitted == slice(0, 200)
    with pytest.raises(ValueError, match=r"train \+ validation asks for 1500 images"):
        fig6.split("digits", 0, 1450, 50, 10)


def adam_by_hand(x: Any, labels: Any, rows: Any, rate: float, epochs: int, size: int, seed: int) -> tuple[Any, Any]:
    """Sigmoid cross-entropy, Adam with a cosine rate, in NumPy; the order of rows is that of `minibatches.tables`."""
    from echoscale.readouts import minibatches

    hot = np.eye(10)[labels]
    share = np.clip(hot[rows].mean(axis=0), 1e-12, 1)
    W, b = np.zeros((10, x.shape[1])), np.log(share / (1 - share))
    moments = [[np.zeros_like(each), np.zeros_like(each)] for each in (W, b)]
    steps = minibatches.steps(len(rows), size)
    done = 0
    for epoch in range(epochs):
        [(_, table)] = minibatches.tables([rows], size, np.random.default_rng([seed, epoch]))
        for which in table[:steps]:
            which = which[which >= 0]
            apart = (expit(x[which] @ W.T + b) - hot[which]) / len(which)
            done += 1
            now = rate * 0.5 * (1 + np.cos(np.pi * (done - 1) / (steps * epochs)))
            for value, slope, (mean, square) in zip((W, b), (apart.T @ x[which], apart.sum(axis=0)), moments, strict=True):
                mean += 0.1 * (slope - mean)
                square += 0.001 * (slope**2 - square)
                value -= now * (mean / (1 - 0.9**done)) / (np.sqrt(square / (1 - 0.999**done)) + 1e-8)
    return W, b


def test_a_point_is_what_a_network_and_a_readout_by_hand_reach(data: xarray.Dataset) -> None:
    settings, seed, leaks = SMOKE, 1, (1.0, 0.1)
    images = fig6.images(settings)
    network = es.hierarchical(
        [10, 10],
        leak_rate=list(leaks),
        spectral_radius=settings.spectral_radius,
        input_scaling=1.0,
        coupling=settings.coupling,
        connections=10,
        coupling_connections=10,
    )
    states = network.build(1, seed=seed).run(images.u).astype(np.float64)
    for count, rate in zip(settings.snapshots, settings.rates, strict=True):
        every = 64 // count
        x = states[:, every - 1 :: every].reshape(len(states), -1)
        W, b = adam_by_hand(x, images.labels, np.arange(150), rate, settings.epochs, settings.minibatch, seed)
        outputs = x @ W.T + b
        stored = data["accuracy"].sel(network="connected", alpha1=1.0, alpha2=0.1, seed=seed, snapshots=count)
        for part, rows in (("validation", images.held_out), ("test", np.arange(200, 260))):
            best = np.sort(outputs[rows], axis=1)
            near = (best[:, -1] - best[:, -2] < 1e-4).mean()  # float32 may decide these otherwise
            right = (outputs[rows].argmax(axis=1) == images.labels[rows]).mean()
            assert abs(float(stored.sel(part=part)) - right) <= near + 1e-6


def test_a_path_is_that_of_a_sequence_learner(data: xarray.Dataset) -> None:
    """The first stretch, before the readout begins anew; start by start, in float32 as the figure."""
    images = fig6.images(SMOKE)
    short = replace(SMOKE, path_minibatches=3)
    found = fig6.learned_path(short, "unconnected", 1, 0)["path"]
    np.testing.assert_allclose(found[:, 0], SMOKE.path_starts, rtol=1e-6)
    for leaks, path in zip(SMOKE.path_starts, found, strict=True):
        network = es.parallel([10, 10], leak_rate=list(leaks), spectral_radius=0.99, input_scaling=1.0, connections=10)
        learner = SequenceLearner(
            network.build(1, seed=0), 10, 64 // 16, readout_rate=SMOKE.path_rates[1], parameter_rate=1e-4, seed=0
        )
        learner.start(64)
        training = learner.rng.permutation(150)
        for k in range(3):
            which = training[25 * k : 25 * (k + 1)]
            learner.partial_fit(images.u[which], images.labels[which])
            np.testing.assert_allclose(path[k + 1], learner.values, atol=2e-6)
    assert data["path"].shape == (2, 2, 1, 3, 101, 2)


def test_autocorrelations_are_those_of_the_pixels(data: xarray.Dataset) -> None:
    digits = load_digits()
    permutation = np.random.default_rng(SMOKE.permutation).permutation(64)
    test = es.tasks.psdigits("test", None)
    for digit in SMOKE.examples:
        image = test.u[np.flatnonzero(test.labels == digit)[0], :, 0].astype(np.float64)
        assert any(np.allclose(image * 16, each.ravel()) for each in digits.images[digits.target == digit])
        for name, pixels in (("in order", image), ("permuted", image[permutation])):
            centred = pixels - pixels.mean()
            expected = [centred[: 64 - k] @ centred[k:] / (centred @ centred) for k in range(63)]
            np.testing.assert_allclose(data["correlation"].sel(order=name, digit=digit), expected, atol=1e-6)


def test_best_points_are_chosen_by_held_out_images() -> None:
    alphas, rng = np.array([0.1, 1.0]), np.random.default_rng(0)
    dims = ("network", "alpha1", "alpha2", "seed", "snapshots", "part")
    coords = {
        "network": list(fig6.NETWORKS),
        "alpha1": alphas,
        "alpha2": alphas,
        "part": list(fig6.PARTS),
        "snapshots": [4, 28],
    }
    data = xarray.Dataset(
        {
            "accuracy": (dims, rng.random((2, 2, 2, 3, 2, 2))),
            "single": (("alpha", "seed", "snapshots", "part"), rng.random((2, 3, 2, 2))),
        },
        {**coords, "alpha": alphas},
    )
    found = fig6.best_points(data)
    for network, count in ((n, c) for n in fig6.NETWORKS for c in (4, 28)):
        both = data["accuracy"].sel(network=network, snapshots=count)
        means = both.sel(part="validation").values.mean(axis=-1)
        i, j = np.unravel_index(means.argmax(), means.shape)
        chosen = found.sel(network=network, snapshots=count)
        assert [float(chosen["best_alpha1"]), float(chosen["best_alpha2"])] == [float(alphas[i]), float(alphas[j])]
        np.testing.assert_array_equal(chosen["best"], both.sel(part="test").values[i, j])


def test_all_is_there_and_drawn(data: xarray.Dataset) -> None:
    for name in ("accuracy", "single", "path"):
        values = data[name].values
        assert np.isfinite(values).all()
        assert (values >= 0).all()
        assert (values <= 1).all()
    assert json.loads(data.attrs["settings"])["data"] == "digits"
    both = fig6.draw(data), fig6.draw_supplement(data)
    found = [{ax.get_title(loc="left"): ax for ax in figure.axes if ax.get_title(loc="left")} for figure in both]
    assert ["".join(sorted(each)) for each in found] == ["ABCDEFGH", "ILMN"]
    panels = {**found[0], **found[1]}
    scales = {letter: panels[letter].collections[0].get_clim() for letter in "EFGHILMN"}
    assert all(scales[one] == scales[other] for one, other in ("EF", "GH", "IL", "MN"))
    titles = [panels[letter].get_title() for letter in "EFGH"]
    assert titles == [f"{kind}, {count} snapshots" for count in (4, 16) for kind in ("parallel", "hierarchical")]
    assert titles == [panels[letter].get_title() for letter in "ILMN"]
    for figure in both:
        bars = [ax.get_ylabel() for ax in figure.axes if not ax.get_title(loc="left")]
        assert len(bars) == 2
        assert all(each.startswith("test accuracy") for each in bars)
    [curve] = panels["B"].containers
    assert isinstance(curve, ErrorbarContainer)
    means = data["single"].sel(snapshots=4, part="test").values.astype(np.float64)
    ends = np.array([segment[:, 1] for segment in curve.lines[2][0].get_segments()])
    error = means.std(axis=-1, ddof=1) / means.shape[-1] ** 0.5
    np.testing.assert_allclose(np.diff(ends)[:, 0], 2 * error, atol=1e-12)


def test_the_quick_scale_takes_mnist_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for there in (True, False):
        monkeypatch.setattr(mnist, "available", lambda there=there: there)
        assert fig6.settings_of("quick").data == ("mnist" if there else "digits")
        assert fig6.settings_of("smoke").data == "digits"
        assert fig6.settings_of("paper").data == "mnist"


def test_connected_reservoirs_are_ahead_in_the_committed_data() -> None:
    """Recomputed from the surfaces: best points by the held-out images, all seeds by the test images."""
    file = Path(__file__).parents[2] / "docs" / "figures" / "fig6-paper.nc"
    with xarray.open_dataset(file, engine="scipy") as opened:
        data = opened.load()
    assert json.loads(data.attrs["settings"])["units"] == 1200
    for count in (4, 28):
        found = {}
        for network in fig6.NETWORKS:
            surface = (
                data["accuracy"].sel(network=network, snapshots=count).transpose("alpha1", "alpha2", "seed", "part").values
            )
            place = np.unravel_index(surface[..., 0].mean(axis=-1).argmax(), surface.shape[:2])
            found[network] = surface[place][:, 1]
            stored = data["best"].sel(network=network, snapshots=count).values
            np.testing.assert_allclose(found[network], stored, rtol=1e-6)
        curve = data["single"].sel(snapshots=count).transpose("alpha", "seed", "part").values
        found["single"] = curve[curve[..., 0].mean(axis=-1).argmax(), :, 1]
        assert len(found["single"]) == 3
        assert (found["connected"] > found["unconnected"]).all()
        assert (found["connected"] > found["single"]).all()
