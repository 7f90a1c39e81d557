"""The study of hierarchies: errors by least squares, choices by hand, and the command that makes it."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import xarray
from naive import states_of

import echoscale as es
from echoscale.sweeps import Job, Runner
from paper import __main__ as command
from paper import gallery, hierarchy, hierarchy_networks, hierarchy_results
from paper.hierarchy_networks import Task
from paper.processes import Processes

Floats = npt.NDArray[np.float64]

SMOKE = hierarchy.SETTINGS["smoke"]


@pytest.fixture(scope="module")
def data() -> xarray.Dataset:
    return hierarchy.compute(SMOKE, "smoke", Runner())


def ridge_errors(states: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Validation and test NRMSE of every penalty, each by least squares on augmented rows."""
    edges = np.cumsum([SMOKE.washout, SMOKE.train, SMOKE.validation, SMOKE.test])
    train, *parts = (slice(low, high) for low, high in pairwise(edges))
    mean, level = states[train].mean(axis=0), y[train].mean()
    x, found = states[train] - mean, []
    unit = (x**2).sum() / x.shape[1]
    for ridge in np.geomspace(10, 1e-8, 19):
        rows = np.concatenate([x, np.sqrt(ridge * unit) * np.eye(x.shape[1])])
        weights = np.linalg.lstsq(rows, np.concatenate([y[train] - level, np.zeros(x.shape[1])]), rcond=None)[0]
        found.append([np.sqrt(np.mean(((states[p] - mean) @ weights + level - y[p]) ** 2) / y[p].var()) for p in parts])
    validation, test = np.array(found).T
    return validation, test


@pytest.mark.parametrize("kind", ["single", "spread", "parallel 2", "first 2", "all 2"])
def test_errors_are_those_of_naive_states_and_least_squares(kind: str) -> None:
    points = hierarchy_networks.random_points(kind, 3)
    found = hierarchy.errors_of(SMOKE, kind, 8, 5, points)["error"]
    esn = hierarchy_networks.network_of(kind, 8).build(1, seed=5, dtype="float64")
    hyper = hierarchy_networks.hyper_of(esn.hyper, kind, points)
    states = np.asarray(states_of(esn, hierarchy.series_of(SMOKE, 5)[0], hyper=hyper, lane=1))
    for t, task in enumerate(hierarchy.tasks_of(SMOKE)):
        for w, share in enumerate(SMOKE.shares):
            _, y = es.tasks.averages(850, 5, timescales=task.timescales, inside=share)
            validation, test = ridge_errors(states, y[:, 0])
            assert found[1, t, w] == pytest.approx(test[validation.argmin()], rel=1e-4)


def test_points_set_the_numbers_of_their_names() -> None:
    points = hierarchy_networks.random_points("first 3", 50)
    names = hierarchy_networks.learned("first 3")
    assert names[:4] == ["leak_rate[0]", "leak_rate[1]", "leak_rate[2]", "spectral_radius[0]"]
    assert "input_scaling[1]" not in names
    leaks = points[:, :3]
    np.testing.assert_allclose(leaks[:, 1] ** 2, leaks[:, 0] * leaks[:, 2])
    esn = hierarchy_networks.network_of("first 3", 30).build(1)
    hyper = hierarchy_networks.hyper_of(esn.hyper, "first 3", points)
    assert hyper.lanes == 50
    np.testing.assert_array_equal(hyper.leak_rate[2], points[:, 2])
    np.testing.assert_array_equal(hyper.coupling[1], points[:, names.index("coupling[1]")])
    assert [float(each) for each in hyper.input_scaling[1:]] == [0, 0]
    everywhere = hierarchy_networks.network_of("all 3", 30)
    assert [each.input_scaling > 0 for each in everywhere.reservoirs] == [True] * 3
    assert [each.units for each in everywhere.reservoirs] == [10, 10, 10]
    assert (hierarchy_networks.random_points("single", 50)[:, 0] == leaks[:, 0]).all()


def test_timescales_of_equal_ratios_around_ten_steps() -> None:
    np.testing.assert_allclose(Task(3, 100.0).timescales, [1, 10, 100])
    np.testing.assert_allclose(Task(1, 1.0).timescales, [10])
    assert len(hierarchy.tasks_of(hierarchy.SETTINGS["paper"])) == 13


def test_choices_are_the_least_mean_log_errors() -> None:
    points = np.array([[0.9, 0.1], [0.1, 0.9], [0.8, 0.2]])
    errors = np.array([[0.1, 0.2, 0.5], [0.9, 0.2, 0.5]])[:, :, None, None]  # (draws, points, tasks, shares)
    any_order, fast, slow = (each[0, 0] for each in hierarchy.chosen("first 2", points, errors).point)
    assert (any_order, fast, slow) == (1, 0, 1)
    np.testing.assert_allclose(hierarchy.chosen("first 2", points, errors).error[:, 0, 0], [0.2, 0.3, 0.2])
    assert hierarchy.chosen("first 2", points[[0, 2]], errors[:, [0, 2]]).point[2, 0, 0] == -1
    assert hierarchy.chosen("single", points, errors).point[:, 0, 0].tolist() == [1, -1, -1]


def test_starts_hold_the_best_of_both_orders() -> None:
    points = np.array([[0.9, 0.1], [0.8, 0.1], [0.7, 0.1], [0.1, 0.9]])
    means = np.array([0.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(hierarchy.best_starts("all 2", points, means, 3), points[[0, 3, 1]])
    np.testing.assert_array_equal(hierarchy.best_starts("single", points, means, 2), points[[0, 1]])


def test_draws_that_chose_are_not_reported() -> None:
    with pytest.raises(ValueError, match=r"draw 1 would choose the networks and report them: give other --seeds than \[1\]"):
        hierarchy.compute(replace(SMOKE, seeds=(1, 50)), "smoke", Runner())
    for settings in hierarchy.SETTINGS.values():
        assert not set(settings.seeds) & set(settings.development)
        assert settings.least_ridge >= 1e-8
        assert all(Task(*each[:2]) in hierarchy.tasks_of(settings) and each[2] in settings.shares for each in settings.anchors)


def test_reported_errors_are_those_of_the_chosen_points(data: xarray.Dataset) -> None:
    """Every network, in a draw that chose nothing, from its leak rates."""
    assert data["error"].dims == ("network", "order", "task", "share", "seed")
    kind = "all 2"
    at = data.sel(network=kind, order="any").isel(task=2, share=2)
    points = hierarchy_networks.random_points(kind, SMOKE.points)
    if not int(at["tuned"]):
        [place] = np.flatnonzero(np.isclose(points[:, 0], float(at["leak_rate"][0])))
        expected = hierarchy.errors_of(SMOKE, kind, SMOKE.units, 11, points[[place]])["error"][0, 2, 2]
        assert float(at["error"].sel(seed=11)) == pytest.approx(float(expected), rel=1e-5)
    assert np.isnan(data["error"].sel(network="single", order="fast first")).all()
    fast = data["leak_rate"].sel(network=kind, order="fast first").values
    assert (fast[..., 0] >= fast[..., 1]).all()
    assert np.isfinite(data["error"].sel(order="any")).all()
    np.testing.assert_array_equal(
        data["size_error"].sel(units=20, size_network="single"), data["error"].sel(network="single", order="any")
    )


def test_tuning_lowers_the_error_that_it_tunes_for() -> None:
    points = hierarchy_networks.random_points("all 2", 8)[:2]
    ends = hierarchy.tuned_points(replace(SMOKE, rounds=3), "all 2", 0, [2, 30.0], 1.0, points)["points"]
    assert ends.shape == points.shape
    before, after = (hierarchy.errors_of(SMOKE, "all 2", 20, 0, each)["error"][:, 2, 2] for each in (points, ends))
    assert after.min() < before.min()


def test_comparisons_by_hand() -> None:
    one, other = np.array([1.0, 2.0, 4.0]), np.array([2.0, 2.0, 2.0])
    found = hierarchy_results.compared(one, other)
    assert float(found.mean) == 0
    assert float(found.reach) == pytest.approx(4.302652729911275 / np.sqrt(3))  # t of two degrees of freedom, spread 1
    clear = hierarchy_results.compared(np.array([1.0, 1.01, 0.99]), other)
    assert (bool(clear.less), bool(clear.more)) == (True, False)


def test_the_best_of_a_family_is_chosen_by_the_draws_that_chose() -> None:
    data = xarray.Dataset(
        {
            "error": (("network", "order", "task", "share", "seed"), np.array([1.0, 2.0, 9.0]).reshape(3, 1, 1, 1, 1)),
            "choice": (("network", "order", "task", "share"), np.array([3.0, 2.0, 1.0]).reshape(3, 1, 1, 1)),
        },
        {"network": ["first 2", "first 3", "all 2"], "order": ["any"]},
    )
    errors, place = hierarchy_results.best(data, ["first"])
    assert (errors.item(), place.item()) == (2, 1)


def test_answer_and_table_hold_numbers_of_the_data(data: xarray.Dataset) -> None:
    said = hierarchy_results.answer(data)
    first, both = (hierarchy_results.against_flat(data, name) for name in ("first", "all"))
    assert f"on {int(both.less.sum())} of 9 tasks, and a clearly larger one on {int(both.more.sum())}." in said
    assert f"smaller on {int(first.less.sum())} tasks and clearly larger on {int(first.more.sum())}." in said
    rows = hierarchy_results.by_share(data).splitlines()
    assert len(rows) == 2 + 3
    assert rows[4].split(" | ")[1] == f"{2 ** first.mean[:, 2].mean():.2f}"
    rows = hierarchy_results.table(data).splitlines()
    assert len(rows) == 2 + 2 * 3
    assert f"{float(data['error'].sel(network='spread', order='any').isel(task=0, share=2).mean()):.3f}" in rows[2]


def test_the_command_makes_it_and_uses_it_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["hierarchy", "--scale", "smoke", "--out", str(tmp_path), "--quiet"]
    assert command.main(asked) == 0
    assert capsys.readouterr().out.startswith("Study hierarchy (smoke, computed in ")
    found = gallery.read(tmp_path / "hierarchy-smoke.nc")
    assert json.loads(found.attrs["settings"])["development"] == [0, 1]
    assert set(found.attrs) >= {"commit", "date", "machine"}
    assert (tmp_path / "hierarchy-smoke.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert command.main(asked) == 0
    assert "data of an earlier run" in capsys.readouterr().out


def test_jobs_in_processes_give_the_same_results(tmp_path: Path) -> None:
    points = hierarchy_networks.random_points("single", 2)
    jobs = [Job.of(hierarchy.errors_of, settings=SMOKE, kind="single", units=8, seed=s, points=points) for s in (1, 2)]
    here = [each["error"] for each in Runner()(jobs)]
    with Processes(tmp_path, 2) as there:
        np.testing.assert_allclose([each["error"] for each in there(jobs)], here, rtol=1e-6)
        np.testing.assert_allclose([each["error"] for each in there(jobs[::-1])], here[::-1], rtol=1e-6)
    assert there.seconds > 0
    assert len(list(tmp_path.glob("*.npz"))) == 2
