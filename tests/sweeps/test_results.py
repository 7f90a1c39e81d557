"""Sweeps out of their folder: the Dataset that was returned when they ran, also of half a sweep, and as files."""

from __future__ import annotations

import csv
import importlib.util
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import xarray

import echoscale as es
from echoscale.sweeps import Data, Job, Protocol, Runner, SweepWarning, Task, export, jobs, recall

SHORT = Protocol(washout=20, train=200, validation=80, test=80, ridge=(1e-5, 1e-2, 1.0))
NARMA = Task("narma", {"order": 3})


def moody(length: int, seed: int) -> tuple[Any, Any]:
    """Works for all seeds but one."""
    if seed == 2:
        raise RuntimeError(f"no series today for seed {seed}")
    return es.tasks.narma(length, order=3, seed=seed)


def numbers(k: int) -> dict[str, Any]:
    return {"numbers": np.arange(k)}


def chain(**options: Any) -> es.Network:
    return es.hierarchical([8, 6], input_scaling=0.5, **options)


def own_data() -> Data:
    u, y = es.tasks.narma(SHORT.length, order=3, seed=5)
    return Data(u, y)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def assert_same(found: xarray.Dataset, expected: xarray.Dataset) -> None:
    """Bits, types, dimensions in their order, coordinates and what they were made with."""
    assert list(found.data_vars) == list(expected.data_vars)
    assert list(found.coords) == list(expected.coords)
    for name in expected.variables:
        assert found[name].dims == expected[name].dims
        assert found[name].dtype == expected[name].dtype, name
        np.testing.assert_array_equal(found[name].values, expected[name].values)
    for name in ("settings", "sweep"):
        assert found.attrs[name] == expected.attrs[name]


AXES: dict[str, dict[str, Any]] = {
    "a leaf between": {"leak_rate[0]": [0.2, 0.6], "seed": [4, 0, 2], "leak_rate[1]": [1.0, 0.1]},
    "leaf last": {"seed": [1], "spectral_radius": np.linspace(0.5, 0.9, 4)},
    "no leaf": {"task_seed": [1, 0], "weights_seed": [3]},
    "fields": {"units[1]": [4, 9], "leak_rate": [0.3], "topology": ["ring", "normal"], "normalise": [True, False]},
    "nothing for all": {"connections": [None, 3], "coupling_delay": [1, 0]},
    "task": {"task.order": [5, 2], "coupling": [-0.5, 0.5]},
    "arrays": {"seed": np.arange(2), "input_scaling[0]": np.array([0.1, 0.2], np.float32)},
}


@pytest.mark.parametrize("name", AXES)
def test_a_finished_sweep_comes_back_as_it_was(name: str, path: Path) -> None:
    data = es.sweep(chain(), NARMA, AXES[name], protocol=SHORT, folder=path)
    assert np.isfinite(data.test).all()
    found = recall(path, data.attrs["sweep"])
    assert list(found.test.dims) == list(AXES[name])
    assert_same(found, data)


def test_a_network_axis(path: Path) -> None:
    networks = {"one": es.single(9), "chain": chain(coupling=0.3), "wide": es.parallel([5, 4], leak_rate=[1.0, 0.2])}
    axes = {"leak_rate": [0.3, 0.9], "network": networks, "seed": [1, 0]}
    data = es.sweep(None, NARMA, axes, protocol=SHORT, folder=path)
    found = recall(path, data.attrs["sweep"])
    assert found["network"].values.tolist() == ["one", "chain", "wide"]
    assert_same(found, data)


def test_a_network_with_a_matrix_of_its_own(path: Path) -> None:
    matrix = np.random.default_rng(0).normal(size=(6, 6))
    data = es.sweep(es.single(6, topology=matrix), NARMA, {"leak_rate": [0.3, 0.9]}, protocol=SHORT, folder=path)
    assert_same(recall(path, data.attrs["sweep"]), data)


def test_data_of_ones_own(path: Path) -> None:
    """The folder holds no series, only their fingerprint: enough to find the results."""
    data = es.sweep(chain(), own_data(), {"weights_seed": [0, 1], "leak_rate": [0.3, 0.9]}, protocol=SHORT, folder=path)
    assert_same(recall(path, data.attrs["sweep"]), data)
    assert sum(each.stat().st_size for each in path.iterdir()) < 20_000


def test_other_jobs_in_the_same_folder_are_no_sweeps(path: Path) -> None:
    list(Runner(path)([Job.of(numbers, k=3)]))
    data = es.sweep(chain(), NARMA, {"seed": [0]}, protocol=SHORT, folder=path)
    assert recall(path, "").equals(data)


@pytest.mark.parametrize("problem", [NARMA, own_data()], ids=["task", "data"])
def test_half_a_sweep(problem: Task | Data, path: Path) -> None:
    axes: dict[str, Any] = {"leak_rate": [0.3, 0.9], "seed": [5, 3, 1, 0]}

    def stop(done: int, total: int, note: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        es.sweep(chain(), problem, axes, protocol=SHORT, folder=path, progress=stop)
    [sweep] = jobs.sweeps(path)
    assert (sweep["jobs"], sweep["done"], sweep["failed"]) == (4, 2, 0)
    half = recall(path, sweep["id"])
    done = half["seed"].values[np.isfinite(half.test).all("leak_rate")]
    others = [seed for seed in axes["seed"] if seed not in done]
    assert len(done) == 2
    assert np.isnan(half.sel(seed=others).to_dataarray()).all()
    data = es.sweep(chain(), problem, axes, protocol=SHORT, folder=path)
    assert data.attrs["sweep"] == sweep["id"]
    assert half.sel(seed=done).equals(data.sel(seed=done))
    assert half.test.dims == data.test.dims
    assert half["seed"].equals(data["seed"])
    assert_same(recall(path, sweep["id"]), data)


def test_a_sweep_in_several_pieces(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes of one network spread over jobs, of which the second is missing."""
    monkeypatch.setattr("echoscale.sweeps.grid.MOST_LANES", 4)
    axes = {"leak_rate[0]": [0.2, 0.4, 0.6, 0.8], "leak_rate[1]": [0.1, 0.5]}
    data = es.sweep(chain(), NARMA, axes, protocol=SHORT, folder=path)
    assert_same(recall(path, data.attrs["sweep"]), data)
    (path / f"{json.loads((path / (data.attrs['sweep'] + '.json')).read_text())['jobs'][1]}.npz").unlink()
    half = recall(path, data.attrs["sweep"])
    assert half.isel({"leak_rate[0]": slice(2)}).equals(data.isel({"leak_rate[0]": slice(2)}))
    assert np.isnan(half.isel({"leak_rate[0]": slice(2, None)}).to_dataarray()).all()


def test_failed_jobs_are_holes(path: Path) -> None:
    with pytest.warns(SweepWarning, match="1 of 3 jobs failed"):
        data = es.sweep(chain(), Task(moody), {"seed": [1, 2, 3]}, protocol=SHORT, folder=path)
    found = recall(path, data.attrs["sweep"])
    assert found.equals(data)
    assert np.isnan(found.test.values).tolist() == [False, True, False]


def test_failed_jobs_are_named(path: Path) -> None:
    with pytest.warns(SweepWarning, match="1 of 3 jobs failed"):
        data = es.sweep(chain(), Task(moody), {"seed": [1, 2, 3]}, protocol=SHORT, folder=path)
    found = recall(path, data.attrs["sweep"])
    assert found.attrs["failed_jobs"] == 1
    assert json.loads(found.attrs["errors"]) == ["RuntimeError: no series today for seed 2 (at seed = 2)"]


@pytest.mark.parametrize(
    "axes",
    [{"leak_rate": {"slow": 0.1, "fast": 0.9}}, {"seed": [0], "leak_rate": [1]}, {"units": {"small": 5, "large": 9}}],
    ids=["names of leaves", "whole numbers", "names of fields"],
)
def test_labels_come_back(axes: dict[str, Any], path: Path) -> None:
    data = es.sweep(chain(), NARMA, axes, protocol=SHORT, folder=path)
    assert_same(recall(path, data.attrs["sweep"]), data)


@pytest.mark.parametrize("topology", [es.Concentric(2), np.eye(8)], ids=["concentric", "matrix"])
def test_an_axis_of_topologies_that_are_no_words(topology: Any, path: Path) -> None:
    axes = {"topology": {"rings": topology, "random": "normal"}, "seed": [0]}
    data = es.sweep(es.single(8), NARMA, axes, protocol=SHORT, folder=path)
    assert_same(recall(path, data.attrs["sweep"]), data)


# Ids


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder with enough sweeps that two begin alike: there are sixteen digits."""
    path, names = tmp_path_factory.mktemp("several"), []
    for k in range(17):
        data = es.sweep(es.single(3), NARMA, {"weights_seed": [0], "leak_rate": [(k + 1) / 20]}, protocol=SHORT, folder=path)
        names.append(data.attrs["sweep"])
    return path, names


def test_ids_by_their_beginning(several: tuple[Path, list[str]]) -> None:
    path, names = several
    for k, name in enumerate(names):
        shortest = next(name[:n] for n in range(1, 13) if sum(each.startswith(name[:n]) for each in names) == 1)
        for begin in (shortest, name):
            found = recall(path, begin)
            assert found.attrs["sweep"] == name
            assert found["leak_rate"].values.tolist() == [(k + 1) / 20]


def test_ids_that_are_not_unique(several: tuple[Path, list[str]]) -> None:
    path, names = several
    first = [name[0] for name in names]
    shared = next(each for each in first if first.count(each) > 1)
    with pytest.raises(ValueError, match=f"the sweep '{shared}' is not unique: there are ") as caught:
        recall(path, shared)
    assert all((name in str(caught.value)) == name.startswith(shared) for name in names)


def test_ids_that_are_unknown(path: Path) -> None:
    path.mkdir()
    with pytest.raises(ValueError, match=rf"the sweep 'x' is not in {path}: there are none\."):
        recall(path, "x")
    name = es.sweep(es.single(3), NARMA, {"seed": [0]}, protocol=SHORT, folder=path).attrs["sweep"]
    with pytest.raises(ValueError, match=rf"the sweep 'x' is not in {path}: there are {name}\."):
        recall(path, "x")
    with pytest.raises(ValueError, match="is not in"):
        recall(path, name + "0")


def test_reading_makes_no_folder(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        recall(path, "x")
    assert not path.exists()


def test_a_file_is_no_folder(path: Path) -> None:
    path.write_text("leak_rate,error\n")
    with pytest.raises(NotADirectoryError, match="cannot be a folder: there is a file of that name"):
        es.sweep(chain(), NARMA, {"seed": [0]}, protocol=SHORT, folder=path)


def test_a_damaged_list_of_jobs_is_written_again(path: Path) -> None:
    axes = {"seed": [0, 1]}
    data = es.sweep(chain(), NARMA, axes, protocol=SHORT, folder=path)
    file = path / f"{data.attrs['sweep']}.json"
    for old, new in ((b"SEED", b"sead"), (b'"seed", [0, 1]', b'"seed", [0, 2]'), (b'"jobs": ["', b'"jobs": ["0')):
        whole = file.read_bytes()
        file.write_bytes(whole.replace(old, new) if old in whole else whole[:-20])
        with pytest.raises(ValueError, match=r"is damaged: run the sweep again\. Its finished jobs do not run again"):
            recall(path, "")
        assert jobs.sweeps(path)[0]["created"] == "damaged: run it again"
        es.sweep(chain(), NARMA, axes, protocol=SHORT, folder=path)
        assert recall(path, "").equals(data)


# Files


@pytest.fixture(scope="module")
def data() -> xarray.Dataset:
    """With a hole, words, numbers and a leaf in front."""
    axes = {"leak_rate": [0.3, 0.9], "network": {"one": es.single(9), "chain": chain()}, "seed": [1, 2]}
    with pytest.warns(SweepWarning, match="2 of 4 jobs failed"):
        return es.sweep(None, Task(moody), axes, protocol=SHORT)


COLUMNS = ["leak_rate", "network", "seed", "test", "validation", "train", "ridge"]
Point = tuple[float, str, int]


def points_of(data: xarray.Dataset) -> dict[Point, list[float]]:
    """In the order of the dimensions."""
    names = [data[name].values.tolist() for name in ("leak_rate", "network", "seed")]
    return {
        point: [data[name].sel(dict(zip(COLUMNS, point, strict=False))).item() for name in COLUMNS[3:]]
        for point in itertools.product(*names)
    }


def points_in(rows: list[dict[str, Any]]) -> dict[Point, list[float]]:
    """In the order of the file; what is missing is empty."""
    return {
        (float(row["leak_rate"]), row["network"], int(row["seed"])): [float(row[name] or "nan") for name in COLUMNS[3:]]
        for row in rows
    }


def read_csv(target: Path) -> list[dict[str, Any]]:
    with target.open(newline="") as file:
        return list(csv.DictReader(file))


def test_netcdf(data: xarray.Dataset, tmp_path: Path) -> None:
    target = tmp_path / "results.nc"
    assert export(data, target) == target
    with xarray.open_dataset(target, engine="scipy") as found:
        assert found.equals(data)
        assert found.test.dims == data.test.dims
        assert dict(found.attrs) == dict(data.attrs)
    assert [each.name for each in tmp_path.iterdir()] == ["results.nc"]


def test_csv(data: xarray.Dataset, tmp_path: Path) -> None:
    assert export(data, tmp_path / "results.csv") == tmp_path / "results.csv"
    np.testing.assert_equal(points_in(read_csv(tmp_path / "results.csv")), points_of(data))
    assert [each.name for each in tmp_path.iterdir()] == ["results.csv"]


def test_columns_and_rows_in_the_order_of_the_axes(data: xarray.Dataset, tmp_path: Path) -> None:
    rows = read_csv(export(data, tmp_path / "results.csv"))
    assert list(rows[0]) == COLUMNS
    assert list(points_in(rows)) == list(points_of(data))


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="needs pyarrow")
def test_parquet(data: xarray.Dataset, tmp_path: Path) -> None:
    assert export(data, tmp_path / "results.parquet") == tmp_path / "results.parquet"
    rows: Any = pandas.read_parquet(tmp_path / "results.parquet").to_dict("records")
    np.testing.assert_equal(points_in(rows), points_of(data))


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is not None, reason="pyarrow is there")
def test_parquet_without_pyarrow(data: xarray.Dataset, tmp_path: Path) -> None:
    with pytest.raises(ImportError, match="pyarrow"):
        export(data, tmp_path / "results.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["results.xlsx", "results", "results.nc.gz", ".nc"])
def test_other_endings(name: str, data: xarray.Dataset, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"{name} must end in one of \.nc, \.csv, \.parquet\."):
        export(data, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_whole_or_not_at_all(data: xarray.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "results.csv"
    target.write_text("older")

    def fails(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pandas.DataFrame, "to_csv", fails)
        with pytest.raises(KeyboardInterrupt):
            export(data, target)
    assert target.read_text() == "older"
    export(data, target)
    np.testing.assert_equal(points_in(read_csv(target)), points_of(data))


def test_names_of_ones_own_survive_the_file(path: Path, tmp_path: Path) -> None:
    """From the folder to a file and back."""
    axes = {"leak_rate[0]": [0.3], "task.order": [2, 3], "seed": [0]}
    es.sweep(chain(), NARMA, axes, protocol=SHORT, folder=path)
    found = recall(path, "")
    with xarray.open_dataset(export(found, tmp_path / "results.nc"), engine="scipy") as written:
        assert written.equals(found)
        assert json.loads(written.attrs["settings"])["axes"][0] == ["leak_rate[0]", "leaf", [0.3], [0.3]]


def test_a_folder_is_no_target(tmp_path: Path) -> None:
    data = es.sweep(chain(), NARMA, {"seed": [0]}, protocol=SHORT)
    (tmp_path / "seeds.nc").mkdir()
    with pytest.raises(IsADirectoryError, match=r"seeds\.nc is a folder: give the name of a file"):
        export(data, tmp_path / "seeds.nc")
