"""Fig. 3: grid points recomputed through the estimator, what is derived from them by hand, and what is drawn."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import xarray
from matplotlib.figure import Figure

import echoscale as es
from echoscale import sweeps
from echoscale.sweeps import Runner
from paper import fig3_narma as fig3

Floats = npt.NDArray[np.float64]

SMOKE = fig3.SETTINGS["smoke"]
CUT = SMOKE.protocol
DEFAULT = "lag 1, ridge >= 1e-5"
EDGES = CUT.edges.tolist()
SHARED: dict[str, Any] = {"spectral_radius": 0.95, "input_scaling": 0.2}


@pytest.fixture(scope="module")
def data() -> xarray.Dataset:
    return fig3.compute(fig3.SETTINGS["smoke"], "smoke", Runner())


@pytest.fixture(scope="module")
def drawn(data: xarray.Dataset) -> Callable[..., Figure]:
    """The picture of a variant, smooth or not, drawn once."""
    return cache(partial(fig3.draw, data))


@pytest.fixture(scope="module")
def close_ups(data: xarray.Dataset) -> Callable[..., Figure]:
    """The supplement of a variant, smooth or not, drawn once."""
    return cache(partial(fig3.draw_supplement, data))


def panel(figure: Figure, letter: str) -> Any:
    [found] = [ax for ax in figure.get_axes() if ax.get_title(loc="left") == letter]
    return found


def heading(figure: Figure) -> str:
    """What stands above the surfaces."""
    return str(figure.subfigs[-1].get_suptitle())


def surface_of(ax: Any) -> Floats:
    """What a panel shows, (alpha1, alpha2)."""
    mesh, *_ = ax.collections  # and lines in a close-up
    return np.asarray(mesh.get_array(), np.float64).T


def cross_of(ax: Any) -> tuple[float, float]:
    [line] = [line for line in ax.lines if line.get_marker() == "x"]
    [[x, y]] = np.asarray(line.get_xydata())
    return float(x), float(y)


def errors_of(network: es.Network, order: int, seed: int, lag: int, least: float) -> tuple[float, float]:
    """Validation and test NRMSE at the penalty that is best on the validation part; one fit and prediction for each."""
    u, y = es.tasks.narma(EDGES[-1] + 1, order=order, seed=seed)
    u, y = u[: EDGES[-1]], y[1 - lag :][: EDGES[-1]]
    errors = []
    for penalty in 10 ** np.arange(np.log10(least), 1.01, 0.5):
        options: dict[str, Any] = {"washout": CUT.washout, "scale": None, "random_state": seed}
        model = es.ESNRegressor(network=network, columns=es.readouts.Columns(0), ridge=float(penalty), **options)
        guess = model.fit(u[: EDGES[1]], y[: EDGES[1]]).predict(u)
        validation, test = (float(es.nrmse(y[a:b], guess[a:b])) for a, b in (EDGES[1:3], EDGES[2:4]))
        errors.append((validation, test))
    return min(errors)


@pytest.mark.parametrize(
    ("surface", "network"),
    [
        ("NARMA10, unconnected", es.parallel([20, 20], leak_rate=[1 / 3, 1.0], **SHARED)),
        ("NARMA10, weak", es.hierarchical([20, 20], leak_rate=[1 / 3, 1.0], coupling=0.1, **SHARED)),
        ("NARMA5, strong", es.hierarchical([20, 20], leak_rate=[1 / 3, 1.0], coupling=1.0, **SHARED)),
    ],
)
@pytest.mark.parametrize("lag", [1, 0])
def test_a_point_of_a_surface_is_that_of_an_estimator(
    data: xarray.Dataset, surface: str, network: es.Network, lag: int
) -> None:
    order = 10 if surface.startswith("NARMA10") else 5
    validation, test = errors_of(network, order, seed=1, lag=lag, least=1e-5)
    point = data.sel(variant=f"lag {lag}, ridge >= 1e-5", surface=surface, alpha1=1 / 3, alpha2=1.0, seed=1)
    # States are float32, and the lanes of a grid are summed in another order than one network.
    assert float(point["validation"]) == pytest.approx(validation, rel=1e-4)
    assert float(point["test"]) == pytest.approx(test, rel=1e-4)


@pytest.mark.parametrize(("task", "rho"), [("NARMA10", 0.63), ("NARMA5", 1.0)])
def test_a_point_of_a_single_network_is_that_of_an_estimator(data: xarray.Dataset, task: str, rho: float) -> None:
    matrix = es.single(40).build(1, seed=0).matrices().W.toarray() / 0.95
    # As a matrix of its own: no warning of a radius of 1, and the same draw of the input weights.
    network = es.single(40, leak_rate=2 / 3, spectral_radius=0.95, input_scaling=0.2, topology=matrix * rho / 0.95)
    network = es.Network.from_dict(
        {**network.to_dict(), "reservoirs": [{**network.to_dict()["reservoirs"][0], "normalise": False}]}
    )
    validation, test = errors_of(network, fig3.TASKS[task], seed=0, lag=1, least=1e-5)
    point = data.sel(variant="lag 1, ridge >= 1e-5", task=task, rho=rho, alpha=2 / 3, seed=0)
    assert float(point["single_validation"]) == pytest.approx(validation, rel=1e-4)
    assert float(point["single_test"]) == pytest.approx(test, rel=1e-4)


def test_the_free_variants_may_choose_smaller_penalties(data: xarray.Dataset) -> None:
    for lag in fig3.LAGS:
        for name in ("validation", "single_validation"):
            free, held = (data[name].sel(variant=f"{lag}, {floor}") for floor in ("ridge free", "ridge >= 1e-5"))
            assert (free <= held).all()
            assert (free < held).any()


@pytest.mark.parametrize("variant", fig3.VARIANTS)
def test_a_sweep_gives_the_same(data: xarray.Dataset, variant: str) -> None:
    lag, least = int(variant[4]), -5.0 if ">=" in variant else -12.0
    found = sweeps.sweep(
        es.hierarchical([20, 20], coupling=1.0, **SHARED),
        sweeps.Task("narma", {"order": 10}),
        {"leak_rate[0]": SMOKE.leak_rates, "leak_rate[1]": SMOKE.leak_rates, "seed": SMOKE.seeds},
        protocol=replace(CUT, lag=lag, ridge=tuple(10 ** np.arange(least, 1.01, 0.5))),
    )
    for name in ("validation", "test"):
        expected = data[name].sel(variant=variant, surface="NARMA10, strong").values
        np.testing.assert_allclose(found[name].values, expected, rtol=1e-4)


def test_best_points_and_counts_follow_from_the_stored_errors(data: xarray.Dataset) -> None:
    """By loops over plain numbers."""

    def best(variant: int, index: int, prefix: str) -> tuple[tuple[float, float], list[float]]:
        validation, test = (data[f"{prefix}{part}"].values[variant, index].tolist() for part in ("validation", "test"))
        means = {(i, j): mean(cell) for i, row in enumerate(validation) for j, cell in enumerate(row)}
        i, j = min(means, key=lambda key: means[key])
        rows = data["rho" if prefix else "alpha1"].values
        return (rows[i], SMOKE.leak_rates[j]), test[i][j]

    for v, variant in enumerate(fig3.VARIANTS):
        alone = {}
        for t, task in enumerate(fig3.TASKS):
            place, alone[task] = best(v, t, "single_")
            found = data.sel(variant=variant, task=task)
            assert (float(found["single_best_rho"]), float(found["single_best_alpha"])) == place
            assert float(found["single_best_test"]) == pytest.approx(mean(alone[task]))
        for s, surface in enumerate(fig3.SURFACES):
            task = surface.split(",")[0]
            place, tests = best(v, s, "")
            _, apart = best(v, fig3.SURFACES.index(f"{task}, unconnected"), "")
            found = data.sel(variant=variant, surface=surface)
            assert (float(found["best_alpha1"]), float(found["best_alpha2"])) == place
            assert float(found["best_test"]) == pytest.approx(mean(tests))
            first, second = tests
            assert float(found["best_test_error"]) == pytest.approx(abs(first - second) / 2)  # of two seeds
            assert int(found["wins_over_single"]) == sum(a < b for a, b in zip(tests, alone[task], strict=True))
            assert int(found["wins_over_unconnected"]) == sum(a < b for a, b in zip(tests, apart, strict=True))


def test_best_is_chosen_on_validation_and_not_on_test_data(data: xarray.Dataset) -> None:
    """With the validation errors turned round the best point is the worst, whatever the test errors say."""
    turned = data.assign(validation=-data["validation"])
    worst = fig3.best_points(turned).sel(variant=fig3.VARIANTS[0], surface="NARMA10, strong")
    means = data["validation"].sel(variant=fig3.VARIANTS[0], surface="NARMA10, strong").astype(np.float64).mean("seed").values
    i, j = np.argwhere(means == means.max())[0]
    assert (float(worst["best_alpha1"]), float(worst["best_alpha2"])) == (SMOKE.leak_rates[i], SMOKE.leak_rates[j])
    xarray.testing.assert_equal(fig3.best_points(data.assign(test=data["test"] * 2))["best_alpha1"], data["best_alpha1"])


def test_the_signals_are_those_of_the_task_and_peak_where_it_remembers(data: xarray.Dataset) -> None:
    u, y = es.tasks.narma(CUT.washout + SMOKE.shown, order=10, seed=SMOKE.seeds[0])
    np.testing.assert_array_equal(data["input"], u[CUT.washout :, 0])
    np.testing.assert_array_equal(data["target"], y[CUT.washout :, 0])
    np.testing.assert_array_equal(data["peak"], [9, 4])
    # All seeds together, by definition.
    rows = [es.tasks.narma(CUT.washout + CUT.train, order=5, seed=seed)[1][CUT.washout :, 0] for seed in SMOKE.seeds]
    apart = [row - np.mean(rows) for row in rows]
    products = sum(float(row[:-4] @ row[4:]) for row in apart) / sum(float(row @ row) for row in apart)
    assert float(data["target_correlation"].sel(task="NARMA5", delay=4)) == pytest.approx(products)


def test_the_second_peak_is_not_the_first() -> None:
    assert fig3.second_peak([1, 0.6, 0.1, 0.2, 0.3, 0.25, 0.1]) == 4
    assert fig3.second_peak([1, 0.2, 0.5, 0.7, 0.3, 0.6]) == 3


def test_smoothing_is_a_running_median() -> None:
    values = np.random.default_rng(0).normal(size=(5, 7))
    for i, j in np.ndindex(values.shape):
        near = [
            values[min(max(i + a, 0), 4), min(max(j + b, 0), 6)]  # beyond an edge its values go on
            for a in (-1, 0, 1)
            for b in (-1, 0, 1)
        ]
        assert fig3.smoothed(values)[i, j] == median(near)


def test_letters_and_labels(drawn: Callable[..., Figure], close_ups: Callable[..., Figure]) -> None:
    for figure, letters, bars in (
        (drawn(DEFAULT), "ABCDEFGH", ["E, F, G: test NRMSE\n(log scale)", "H: test NRMSE\n(log scale)"]),
        (close_ups(DEFAULT), "ILMN", ["test NRMSE above the least of the panel (%)"]),
    ):
        axes = figure.get_axes()
        assert "".join(ax.get_title(loc="left") for ax in axes) == letters
        assert [ax.get_ylabel() for ax in axes if not ax.get_title(loc="left")] == bars
        assert "Smoke scale: means of 2 seeds" in figure.get_suptitle()
        for letter in set("EFGHILMN") & set(letters):
            assert panel(figure, letter).get_aspect() == 1
            assert panel(figure, letter).get_xlabel()


def test_surfaces_and_crosses_are_where_the_data_say(data: xarray.Dataset, drawn: Callable[..., Figure]) -> None:
    for variant in fig3.VARIANTS:
        figure = drawn(variant, False)
        chosen = data.sel(variant=variant)
        for letter, name in zip("EFGH", (*fig3.SURFACES[:3], "NARMA5, strong"), strict=True):
            ax, row = panel(figure, letter), chosen.sel(surface=name)
            expected = row["test"].values.astype(np.float64).mean(axis=-1)
            np.testing.assert_allclose(surface_of(ax), expected)
            assert cross_of(ax) == (float(row["best_alpha1"]), float(row["best_alpha2"]))
        scales = [panel(figure, letter).collections[0].norm for letter in "EFGH"]
        assert scales[0] is scales[1] is scales[2] is not scales[3]


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("variant", fig3.VARIANTS)
def test_close_ups_show_the_valleys(
    drawn: Callable[..., Figure], close_ups: Callable[..., Figure], variant: str, smooth: bool
) -> None:
    figure, supplement = (each(variant) if smooth else each(variant, False) for each in (drawn, close_ups))
    for letter, whole in zip("ILMN", "EFGH", strict=True):
        ax, above = panel(supplement, letter), panel(figure, whole)
        assert ax.get_title() == above.get_title()
        assert ax.get_xlim() == ax.get_ylim() == (0.1, 1)
        values = surface_of(ax)
        np.testing.assert_array_equal(values, surface_of(above))
        assert cross_of(ax) == cross_of(above)
        mesh, *lines = ax.collections
        least = float(values.min())
        assert (mesh.norm.vmin, mesh.norm.vmax) == pytest.approx((least, 1.3 * least))
        reached = [each * least for each in (1.05, 1.1, 1.2) if each * least < values.max()]
        assert [level for line in lines for level in line.levels] == pytest.approx(reached)


def test_contours_lie_where_the_error_is_that_of_their_level(data: xarray.Dataset) -> None:
    """On errors that rise with alpha1 alone from 1 to 2: vertical lines, and no cross outside of the limits."""
    plane = xarray.zeros_like(data["test"]) + 1 + (data["alpha1"] - 1 / 3) * 1.5
    moved = data.assign(test=plane.transpose(*data["test"].dims), best_alpha1=data["best_alpha1"] * 0 + 0.05)
    figure = fig3.draw_supplement(moved, smooth=False)
    for letter in "ILMN":
        _, lines = panel(figure, letter).collections
        for path, level in zip(lines.get_paths(), (1.05, 1.1, 1.2), strict=True):
            np.testing.assert_allclose(path.vertices[:, 0], 1 / 3 + (level - 1) / 1.5)
        assert not [line for line in panel(figure, letter).lines if line.get_marker() == "x"]


def test_close_ups_leave_out_what_is_beyond_their_limits(data: xarray.Dataset) -> None:
    """A least error at a leak rate of 0.05 changes no colours, and flat surfaces have no lines."""
    shifted = data.assign_coords({name: [0.05, 0.5, 1.0] for name in ("alpha1", "alpha2")})
    test = xarray.ones_like(shifted["test"])
    test[..., 0, :, :] = 0.1
    figure = fig3.draw_supplement(shifted.assign(test=test), smooth=False)
    for letter in "ILMN":
        [mesh] = panel(figure, letter).collections
        assert (mesh.norm.vmin, mesh.norm.vmax) == pytest.approx((1, 1.3))


def test_smooth_surfaces_keep_their_crosses(drawn: Callable[..., Figure], close_ups: Callable[..., Figure]) -> None:
    for draw, letters in ((drawn, "EFGH"), (close_ups, "ILMN")):
        smooth, plain = draw(DEFAULT), draw(DEFAULT, False)
        for letter in letters:
            np.testing.assert_allclose(surface_of(panel(smooth, letter)), fig3.smoothed(surface_of(panel(plain, letter))))
            assert cross_of(panel(smooth, letter)) == cross_of(panel(plain, letter))
    assert "smoothed" in heading(drawn(DEFAULT))
    assert "smoothed" not in heading(drawn(DEFAULT, False))


def test_lines_of_the_single_networks_and_of_the_best_pairs(data: xarray.Dataset, drawn: Callable[..., Figure]) -> None:
    for variant in fig3.VARIANTS:
        figure = drawn(variant)
        for letter, task in zip("CD", fig3.TASKS, strict=True):
            *curves, unconnected, connected = panel(figure, letter).lines
            for curve, rho in zip(curves, SMOKE.spectral_radii, strict=True):
                values = data["single_test"].sel(variant=variant, task=task, rho=rho).values.astype(np.float64)
                np.testing.assert_allclose(curve.get_ydata(), values.mean(axis=-1))
                assert f"{rho:g}" in curve.get_label()
            for line, kind in ((unconnected, "unconnected"), (connected, "strong")):
                best = float(data["best_test"].sel(variant=variant, surface=f"{task}, {kind}"))
                np.testing.assert_array_equal(line.get_ydata(), [best, best])


def test_paths_begin_at_their_starts_and_are_those_of_the_learner_and_of_tune(data: xarray.Dataset) -> None:
    starts = np.array(SMOKE.paths.starts)
    for walk in ("online_path", "tuned_path"):
        first = data[walk].values[:, :, :, 0]
        np.testing.assert_allclose(first, np.broadcast_to(starts, first.shape), rtol=1e-6)
    # One start of one surface again, alone: a learner by hand, on the same series.
    network = es.hierarchical([20, 20], coupling=0.1, leak_rate=[0.5, 0.5], **SHARED)
    seeds = range(10_000, 10_010)
    series = [es.tasks.narma(SMOKE.paths.steps, seed=seed) for seed in seeds]
    learner = es.learning.OnlineLearner(
        network,
        readout=es.learning.Adam(1e-3),
        rates=es.learning.Adam(5e-6 * SMOKE.paths.faster, 0.99),
        washout=200,
        protocol=es.learning.Reinitialise(every=SMOKE.paths.reset, tolerance=0),
        record=SMOKE.paths.steps // SMOKE.paths.records,
        seed=0,
    )
    u, y = (np.stack(each) for each in zip(*series, strict=True))
    learner.partial_fit(u, y)
    row = data["online_path"].sel(path_surface="NARMA10, weak").values[0, 1, 1:]
    alone = learner.history["value"].transpose("start", "step", "parameter").values[0]
    # The readouts of several starts are drawn one after the other, so that another start has another one.
    assert np.abs(row - 0.5).max() > 1e-4
    np.testing.assert_allclose(row, alone, atol=0.1 * SMOKE.paths.faster * 5e-6 * SMOKE.paths.steps)
    u, y = es.tasks.narma(EDGES[2], seed=0)
    share = CUT.validation / (CUT.validation + CUT.train)
    found = es.tune(
        network,
        u,
        y,
        "leak_rate",
        starts=network.build(1, seed=0).hyper,
        washout=CUT.washout,
        folds=share,
        test=0,
        scale=None,
        ridge=1e-5,
        relocate=False,
    )
    walked = data["tuned_path"].sel(path_surface="NARMA10, weak").values[0, 1]
    walked = walked[np.isfinite(walked).all(axis=1)]
    end = found.history["value"].values[-1, 0]
    np.testing.assert_allclose(walked[-1], end, atol=1e-3)
    assert np.abs(walked[-1] - walked[0]).max() > 0.05


def test_paths_are_drawn_for_the_alignment_they_were_learned_with(
    data: xarray.Dataset, close_ups: Callable[..., Figure]
) -> None:
    for variant in fig3.VARIANTS:
        ax = panel(close_ups(variant), "L")
        lines = [line.get_xydata() for line in ax.lines if len(line.get_xydata()) == SMOKE.paths.records + 1]
        if variant.startswith("lag 0"):
            assert not lines
            continue
        for path in data["online_path"].sel(path_surface="NARMA10, weak").values[0]:
            assert any(np.array_equal(path, line) for line in lines)


def test_variants_change_what_is_drawn_and_are_named(data: xarray.Dataset, drawn: Callable[..., Figure]) -> None:
    pictures = [drawn(variant) for variant in fig3.VARIANTS]
    for first, second in combinations(pictures, 2):
        assert first.get_suptitle() != second.get_suptitle()
        assert not np.allclose(surface_of(panel(first, "G")), surface_of(panel(second, "G")))
    assert fig3.draw(data).get_suptitle() == drawn(DEFAULT).get_suptitle()
    for variant, picture in zip(fig3.VARIANTS, pictures, strict=True):
        said = " ".join(picture.get_suptitle().split())
        assert ("received the current input" in said) == variant.startswith("lag 1")
        assert ("at least" in said) == (">=" in variant)


def test_progress_counts_all_jobs_and_the_label_says_what_was_done(data: xarray.Dataset) -> None:
    seen: list[tuple[int, int, str]] = []
    again = fig3.compute(fig3.SETTINGS["smoke"], "smoke", Runner(progress=lambda *told: seen.append(told)))
    jobs = len(SMOKE.seeds) * (len(fig3.SURFACES) + len(fig3.TASKS)) + len(fig3.DRAWN) * len(SMOKE.paths.seeds)
    assert [told[:2] for told in seen] == [(k, jobs) for k in range(jobs + 1)]
    xarray.testing.assert_identical(again, data)
    settings = json.loads(data.attrs["settings"])
    assert (data.attrs["figure"], data.attrs["scale"]) == (3, "smoke")
    assert settings["seeds"] == list(SMOKE.seeds)
    assert all(values.attrs["long_name"] for values in data.variables.values())


def test_the_file_holds_everything(data: xarray.Dataset, tmp_path: Path) -> None:
    file = tmp_path / "fig3.nc"
    file.write_bytes(bytes(data.to_netcdf(engine="scipy")))
    with xarray.open_dataset(file, engine="scipy") as opened:
        back = opened.load()
    xarray.testing.assert_equal(back, data)
    assert back.attrs["settings"] == data.attrs["settings"]
    assert back["test"].dtype == np.float32
    fig3.draw(back).savefig(tmp_path / "fig3.png")
    assert (tmp_path / "fig3.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
