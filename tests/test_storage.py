"""Saved models come back whole, and bad files are told apart from good ones."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy
import scipy.sparse

import echoscale as es
from echoscale import storage
from echoscale.storage import FORMAT_VERSION, StorageError


def series(length: int = 400) -> tuple[Any, Any]:
    return es.tasks.narma(length, order=5, seed=3)


def models() -> dict[str, Any]:
    """One fitted model of every kind that a file must hold."""
    u, y = series()
    rng = np.random.default_rng(0)
    batch, labels = rng.normal(size=(12, 20, 2)), np.array(["no", "yes"] * 6)
    own = scipy.sparse.random(20, 20, density=0.2, random_state=1, format="csr")
    graph = es.Network(
        reservoirs=[es.Reservoir(15, leak_rate=0.5, bias_scaling=0.3), es.Reservoir(20, topology=own, spectral_radius=0.5)],
        couplings=[es.Coupling(0, 1, 0.7), es.Coupling(1, 0, 0.2, topology=rng.normal(size=(15, 20)))],
        coupling_delay=0,
    )
    return {
        "regressor": es.ESNRegressor(units=30, leak_rate=0.4, washout=50, random_state=7).fit(u, y[:, 0]),
        "graph, direct, float64": es.ESNRegressor(network=graph, direct=True, dtype="float64", random_state=1).fit(u, y),
        "hierarchy by parameters": es.ESNRegressor(
            units=(10, 12), structure="hierarchical", leak_rate=(1.0, 0.2), topology=es.Concentric(rings=2), ridge=(1e-4, 1e-2)
        ).fit(u, y),
        "steps": es.ESNClassifier(units=20, random_state=0).fit(u, (y[:, 0] > y.mean()).astype(int)),
        "sequences": es.ESNClassifier(units=20, features="mean", random_state=0).fit(batch, labels),
    }


@pytest.fixture(scope="module", params=list(models()))
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Any]:
    """A model, the same model saved and loaded, and data that it accepts."""
    model = models()[request.param]
    path = es.save(model, tmp_path_factory.mktemp("models") / "model.es")
    data = np.random.default_rng(5).normal(size=(4, 20, 2)) if request.param == "sequences" else series(100)[0]
    return model, es.load(path), data


def test_predictions_are_the_same_bits(pair: tuple[Any, Any, Any]) -> None:
    model, loaded, data = pair
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.predict(data), model.predict(data))


def test_parameters_network_and_state_come_back(pair: tuple[Any, Any, Any]) -> None:
    model, loaded, _ = pair
    assert loaded.esn_.network == model.esn_.network
    assert loaded.make_network() == model.make_network()
    ours, theirs = model.get_params(), loaded.get_params()
    assert ours.keys() == theirs.keys()
    for name in ("washout", "ridge", "direct", "dtype", "leak_rate", "units", "structure"):
        assert theirs[name] == ours[name], name
    if hasattr(model, "state_"):
        np.testing.assert_array_equal(loaded.state_, model.state_)


def test_partial_fit_carries_on_where_the_saved_model_was(tmp_path: Path) -> None:
    u, y = series(600)
    model = es.ESNRegressor(units=25, washout=30, random_state=2).partial_fit(u[:300], y[:300])
    loaded = es.load(es.save(model, tmp_path / "half.es"))
    model.partial_fit(u[300:], y[300:])
    loaded.partial_fit(u[300:], y[300:])
    np.testing.assert_array_equal(loaded.readout_.coef, model.readout_.coef)


def test_a_built_network_is_saved_with_its_weights(tmp_path: Path) -> None:
    esn = es.hierarchical([20, 30], leak_rate=[1.0, 0.3]).build(2, seed=4)
    loaded = es.load(es.save(esn, tmp_path / "network.es"))
    u = np.random.default_rng(0).normal(size=(50, 2))
    np.testing.assert_array_equal(loaded.run(u), esn.run(u))


def saved(tmp_path: Path) -> tuple[Path, bytes]:
    path = es.save(models()["regressor"], tmp_path / "model.es")
    return path, path.read_bytes()


def with_header(content: bytes, change: dict[str, str]) -> bytes:
    """The same file with other entries in its metadata."""
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    header["__metadata__"] |= change
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + length :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut at the end": lambda content: content[:-1],
    "cut in the middle": lambda content: content[: len(content) // 2],
    "cut to nothing": lambda content: b"",
    "another file": lambda content: b"PK\x03\x04 this is no model at all",
    "one bit of an array": lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_files_are_refused(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path, content = saved(tmp_path)
    path.write_bytes(damage(content))
    with pytest.raises(StorageError, match=r"model\.es"):
        es.load(path)


def test_a_changed_description_is_refused(tmp_path: Path) -> None:
    path, content = saved(tmp_path)
    path.write_bytes(content.replace(b'\\"washout\\": 50', b'\\"washout\\": 51'))
    assert path.read_bytes() != content
    with pytest.raises(StorageError, match="checksum"):
        es.load(path)


def test_a_newer_format_is_refused_by_its_number(tmp_path: Path) -> None:
    path, content = saved(tmp_path)
    path.write_bytes(with_header(content, {"version": str(FORMAT_VERSION + 1)}))
    with pytest.raises(StorageError, match=f"version {FORMAT_VERSION + 1}.*newer echoscale"):
        es.load(path)


def test_safetensors_of_others_are_refused(tmp_path: Path) -> None:
    path, content = saved(tmp_path)
    path.write_bytes(with_header(content, {"format": "pt"}))
    with pytest.raises(StorageError, match="not an echoscale model"):
        es.load(path)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, content = saved(tmp_path)

    def broken(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        es.save(models()["steps"], path)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path], "no temporary file is left behind"


def test_what_cannot_be_saved_or_loaded_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        es.save(es.ESNRegressor(), tmp_path / "x.es")
    with pytest.raises(TypeError, match="Network"):
        es.save(es.single(10), tmp_path / "x.es")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match=r"missing\.es"):
        es.load(tmp_path / "missing.es")


def test_a_model_of_the_first_format_sees_the_units_of_the_data(tmp_path: Path) -> None:
    """It knew of no scale: a file without its traces is read as a model without scaling."""
    u, y = series()
    model = es.ESNRegressor(units=30, washout=50, scale=None, ridge=1e-5, random_state=7).fit(u, y)
    path = es.save(model, tmp_path / "model.es")
    with safetensors.safe_open(path, framework="numpy") as file:
        header, tensors = dict(file.metadata()), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    tensors = {name: each for name, each in tensors.items() if "scaling_." not in name}
    about = json.loads(header["model"])
    assert about["parameters"].pop("scale", "missing") is None
    text = json.dumps(about, sort_keys=True)
    old = header | {"version": "1", "model": text, "sha256": storage._digest(text, tensors)}
    path.write_bytes(safetensors.numpy.save(tensors, metadata=old))
    loaded = es.load(path)
    np.testing.assert_array_equal(loaded.predict(u), model.predict(u))
    assert loaded.get_params()["scale"] is None
    loaded.partial_fit(u, y)
