"""Saved models come back whole, and bad files are told apart from good ones."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy
import scipy.sparse

import echoscale as es
from echoscale.data.scaling import Scaling
from echoscale.engine.hyper import with_lanes
from echoscale.forecasting import AutoModel, SequenceModel
from echoscale.forecasting.lags import LinearMap
from echoscale.forecasting.model import Group
from echoscale.forecasting.networks import Drive
from echoscale.forecasting.sequences import SequenceMember
from echoscale.readouts.ridge import Readout
from echoscale.storage import save_load
from echoscale.storage.save_load import FORMAT_VERSION, StorageError


def series(length: int = 400) -> tuple[Any, Any]:
    return es.tasks.narma(length, order=5, seed=3)


KINDS = ("regressor", "graph, columns, float64", "rings", "steps", "sequences")


@cache
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
        "graph, columns, float64": es.ESNRegressor(
            network=graph, columns=es.readouts.Columns(1, squares=True), dtype="float64", random_state=1
        ).fit(u, y),
        "rings": es.ESNRegressor(
            network=es.hierarchical([10, 12], leak_rate=[1.0, 0.2], topology=es.Concentric(rings=2)), ridge=(1e-4, 1e-2)
        ).fit(u, y),
        "steps": es.ESNStepClassifier(units=20, random_state=0).fit(u, (y[:, 0] > y.mean()).astype(int)),
        "sequences": es.ESNClassifier(units=20, pools=es.readouts.Pools("mean"), random_state=0).fit(batch, labels),
    }


@pytest.fixture(scope="module", params=KINDS)
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
    for name in ours.keys() - {"random_state"}:
        assert theirs[name] == ours[name], name
    if hasattr(model, "state_"):
        np.testing.assert_array_equal(loaded.state_, model.state_)


def saved(tmp_path: Path) -> tuple[Path, bytes]:
    path = es.save(models()["regressor"], tmp_path / "model.es")
    return path, path.read_bytes()


def with_header(content: bytes, change: Callable[[str], str], entry: str = save_load.FORMAT) -> bytes:
    """The same file with another entry in its metadata."""
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    header["__metadata__"] = {entry: change(header["__metadata__"][save_load.FORMAT])}
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
    path.write_bytes(with_header(content, lambda entry: str(FORMAT_VERSION + 1) + entry[1:]))
    with pytest.raises(StorageError, match=f"version {FORMAT_VERSION + 1}.*newer echoscale"):
        es.load(path)


def test_safetensors_of_others_are_refused(tmp_path: Path) -> None:
    path, content = saved(tmp_path)
    path.write_bytes(with_header(content, str, entry="format"))
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


# ------------------------------------------------------------------------------------------------ files with a wrong content


def crafted(path: Path, change: Callable[[Any, Any], Any]) -> Path:
    """The file with another content, and the checksum of that: `change(about, tensors)` may change both in place."""
    with safetensors.safe_open(path, framework="numpy") as file:
        header, tensors = file.metadata()[save_load.FORMAT], {name: file.get_tensor(name).copy() for name in file.keys()}  # noqa: SIM118
    about = json.loads(header.split(" ", 2)[2])
    text = change(about, tensors)
    text = text if isinstance(text, str) else json.dumps(about, sort_keys=True)
    path.write_bytes(safetensors.numpy.save(tensors, metadata=save_load.described(text, tensors)))
    return path


BOUNDED = """
import resource, sys
import echoscale as es

es.load(sys.argv[1])
with open("/proc/self/statm") as now:
    limit = int(now.read().split()[0]) * resource.getpagesize() + (200 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for path in sys.argv[2:]:
    try:
        es.load(path)
    except es.storage.StorageError as error:
        print(str(error).removeprefix(path))
"""
STATE = dict.fromkeys(("weight", "mean", "target", "coef", "inverse", "turn"), "array")


def declared(
    path: Path, size: int, right: bool = True, name: str = "state.mean", state: Any = STATE, more: tuple[int, ...] = ()
) -> str:
    """A file of few blocks on the disk that holds one array of so many zeros, with a right checksum or a wrong one."""
    text, digest = json.dumps({"kind": "RLS", "model": {"ridge": 1.0, "forgetting": 1.0, "state": state}}), hashlib.sha256()
    if right:
        digest.update(f"{FORMAT_VERSION} {text}{name} float64 {(size // 8, *more)}".encode())
        for _ in range(0, size, 1 << 20):
            digest.update(bytes(1 << 20))
    about = {save_load.FORMAT: f"{FORMAT_VERSION} {digest.hexdigest()} {text}"}
    array = {"dtype": "F64", "shape": [size // 8, *more], "data_offsets": [0, size]}
    header = json.dumps({"__metadata__": about, name: array}).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + size)
    return str(path)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is set as Linux has it")
def test_memory_is_asked_for_after_checksum_and_shape_are_right(tmp_path: Path) -> None:
    good = es.save(models()["regressor"], tmp_path / "good.es")
    huge = 1 << 28
    files = [
        declared(tmp_path / "checksum.es", huge, right=False),
        declared(tmp_path / "shape.es", huge, more=(1,)),
        declared(tmp_path / "unknown.es", huge, name="more", state=None),
        declared(tmp_path / "right.es", huge),
    ]
    done = subprocess.run([sys.executable, "-c", BOUNDED, str(good), *files], capture_output=True, text=True, check=True)
    checksum, shape, unknown, right = done.stdout.splitlines()
    assert "checksum does not match" in checksum
    assert "state.mean must have shape (any), not (33554432, 1)" in shape
    assert "a RLS has no array more" in unknown
    assert right.startswith(" needs more memory than there is (")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"shape": [1 << 40]}, "does not fit its place"),
        ({"shape": [-8]}, "does not fit its place"),
        ({"shape": [8.0]}, "damaged"),
        ({"shape": [0, 1 << 70], "data_offsets": [0, 0]}, "do not fill the file"),
        ({"shape": [0] * 100, "data_offsets": [0, 0]}, "do not fill the file"),
        ({"data_offsets": [-64, 0]}, "does not fit its place"),
        ({"data_offsets": [64, 128]}, "does not fit its place"),
        ({"shape": [4], "data_offsets": [0, 32]}, "do not fill the file"),
        ({"dtype": "C64"}, "C64, which no model holds"),
        ({"dtype": []}, "damaged"),
    ],
)
def test_arrays_that_do_not_fit_the_file_are_refused(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = Path(declared(tmp_path / "model.es", 64, right=True))
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    header["state.mean"] |= change
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])
    with pytest.raises(StorageError, match=words):
        es.load(path)


EVERY_KIND = (
    "network",
    "lags",
    "turned",
    "automatic",
    "automatic, sequences",
    "regressor",
    "classifier",
    "sequences",
    "learner",
    "rls",
    "forecaster",
)


@cache
def every_kind() -> dict[str, Any]:
    """Small models of all kinds that a file may hold."""
    u, y = series(200)
    rng = np.random.default_rng(0)
    batch, labels = rng.normal(size=(12, 20, 1)), np.arange(12) % 2
    esn = es.hierarchical([4, 3], connections=2).build(1, seed=0)
    turned = es.Network([es.Reservoir(4, residual="orthogonal"), es.Reservoir(3, leak_rate=es.LogUniform(0.1, 1.0))])
    two = es.single(3).build(1, seed=0)
    lanes = Group(two, with_lanes(two.hyper, {"leak_rate[0]": [0.2, 1.0]}), rng.normal(size=(2, 2, 3)))
    drive, units = Drive(np.array([True]), np.ones(1)), Scaling(np.zeros(1), np.full(1, 2.0))
    linear = LinearMap((0, 2), rng.normal(size=(2, 2)), np.ones(2))
    pools = es.ESNFeatures(units=3, pools=es.readouts.Pools("mean", changes=False), random_state=0).fit(batch)
    member = SequenceMember(pools, Readout(rng.normal(size=(2, 3)), np.zeros(2), np.array(1e-3)))
    return {
        "network": esn,
        "lags": es.NVAR().fit(u, y),
        "turned": turned.build(1, seed=0),
        "automatic": AutoModel(linear, (lanes,), units, Scaling.none(2), np.arange(2), False, drive, np.zeros(8)),
        "automatic, sequences": SequenceModel((member,), None, units, np.arange(2), 2.0),
        "regressor": es.ESNRegressor(units=5, washout=20, random_state=0).partial_fit(u, y),
        "classifier": es.ESNStepClassifier(units=5, washout=20, random_state=0).fit(u, y[:, 0] > y.mean()),
        "sequences": es.ESNClassifier(units=5, pools=es.readouts.Pools("mean"), random_state=0).fit(batch, labels),
        "learner": es.OnlineLearner(esn.network, washout=5, record=20).partial_fit(u, y),
        "rls": es.learning.RLS(1e-3).partial_fit(rng.normal(size=(20, 3)), rng.normal(size=20)),
        "forecaster": es.Forecaster(4, networks=False, season=None).fit(np.cumsum(rng.normal(size=60))),
    }


# Where a number may be missing: an error that was not computed, the loss of a window without targets, a look that was not taken
# yet, a gap in the data, a target that is not known, and where a forecast has no floor.
MAY_BE_NAN = (
    *(f"candidates_.{name}" for name in ("slow", "fast", "input_scaling")),  # given by the user
    "ridge_curve_.errors",
    "stream.history.loss",
    "stream.history.gradient",
    "stream.memory.",
    "_data.values.",
    "last_target_",
    "_cores.0.floors",
)


def test_no_kind_is_left_out() -> None:
    """The names are written out, since nothing should be fitted where tests are only collected."""
    assert tuple(models()) == KINDS
    assert tuple(every_kind()) == EVERY_KIND


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_array_of_a_model_is_checked(kind: str, tmp_path: Path) -> None:
    """NaN in it, one row less, one axis more, text in place of numbers, or not there at all: with a right checksum."""
    path = es.save(every_kind()[kind], tmp_path / "model.es")
    whole = path.read_bytes()
    with safetensors.safe_open(path, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    assert type(es.load(path)).__name__
    wrongs: dict[str, Callable[[Any], Any]] = {
        "nan": lambda array: np.where(np.arange(array.size).reshape(array.shape) == 0, np.nan, array).astype(array.dtype),
        "shorter": lambda array: array[:-1],
        "more axes": lambda array: array[None, None],
        "other numbers": lambda array: np.zeros(array.shape, np.int16 if array.dtype.kind == "f" else np.float32),
        "gone": lambda array: None,
    }
    silent = []
    for name, array in arrays.items():
        for what, wrong in wrongs.items():
            if (what == "nan" and (array.dtype.kind != "f" or not array.size or name.startswith(MAY_BE_NAN))) or (
                what == "shorter" and (not array.ndim or not array.size)
            ):
                continue
            path.write_bytes(whole)

            def change(about: Any, tensors: Any, name: str = name, wrong: Callable[[Any], Any] = wrong) -> None:
                new = wrong(tensors.pop(name))
                if new is not None:
                    tensors[name] = np.ascontiguousarray(new)

            crafted(path, change)
            try:
                es.load(path)
                silent.append(f"{name}: {what}")
            except StorageError:
                pass
    assert not silent


def set_index(about: Any, tensors: Any) -> None:
    tensors["drawn.recurrent.0.indices"][0] = 1 << 30


def turn_rows(about: Any, tensors: Any) -> None:
    tensors["drawn.recurrent.0.indptr"][1:3] = tensors["drawn.recurrent.0.indptr"][[2, 1]] + [1, -1]


def end_at_nothing(about: Any, tensors: Any) -> None:
    tensors["drawn.recurrent.0.indptr"][-1] = 0


def end_before_the_start(about: Any, tensors: Any) -> None:
    tensors["drawn.recurrent.0.indptr"][-1] = -(2**31)


def nest(about: Any, tensors: Any) -> str:
    return "[" * 200_000 + "]" * 200_000


def set_in(*path: Any) -> Callable[[Any, Any], None]:
    """Another value at a place of the description."""

    def change(about: Any, tensors: Any) -> None:
        *way, last, value = path
        for each in way:
            about = about[each]
        about[last] = value

    return change


HOSTILE: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "a matrix that does not turn": ("turned", lambda about, tensors: tensors["drawn.residuals.0.data"].fill(1e300)),
    "changes in units of nothing": ("automatic", lambda about, tensors: tensors["drive.spread"].fill(0.0)),
    "more inputs before than it keeps": ("automatic", set_in("model", "linear", "lags", 1, 10**9)),
    "more labels than outputs": ("automatic", lambda about, tensors: tensors.update(classes_=np.arange(3))),
    "another horizon": ("forecaster", set_in("model", "horizon_", 10**9)),
    "a season that was not learned": ("forecaster", set_in("model", "_cores", 0, "period", 7)),
    "times of no kind": ("forecaster", set_in("model", "_data", "clocks", 0, "kind", "none")),
    "two names for one series": ("forecaster", set_in("model", "_data", "form", "names", ["a", "b"])),
    "a spread of nothing": ("forecaster", set_in("model", "_cores", 0, "views", 0, "units", 0, "spread", 0.0)),
    "an index outside the matrix": ("network", set_index),
    "rows out of order": ("network", turn_rows),
    "rows that end at nothing": ("network", end_at_nothing),
    "rows that end before the start": ("network", end_before_the_start),
    "a leak rate of 5": ("network", lambda about, tensors: tensors["hyper.leak_rate.0"].fill(5.0)),
    "a network of a billion neurons": ("network", set_in("model", "network", "Network", "reservoirs", 0, "units", 10**9)),
    "other inputs": ("network", set_in("model", "n_inputs", 2)),
    "half a description": ("network", lambda about, tensors: about.pop("model")),
    "a list for a description": ("network", lambda about, tensors: "[1, 2, 3]"),
    "nested too deeply": ("network", nest),
    "a dtype that is none": ("network", set_in("model", "dtype", "float7")),
    "a device that is none": ("network", set_in("model", "device", ["cpu"])),
    "an unknown kind": ("network", set_in("kind", "Pickle")),
    "no lags": ("lags", set_in("model", "lags", 0)),
    "lags of another number of products": ("lags", set_in("model", "degree", 3)),
    "a parameter that is none": ("regressor", set_in("model", "os.system", "true")),
    "an attribute that is none": ("regressor", set_in("model", "predict", 1)),
    "a negative washout": ("regressor", set_in("model", "washout_", -1)),
    "more features than there are": ("regressor", set_in("model", "n_features_in_", 7)),
    "statistics of other features": ("regressor", set_in("model", "statistics_", "features", 2)),
    "more labels": ("sequences", lambda about, tensors: tensors.update(classes_=np.arange(5))),
    "a washout that is no number": ("sequences", set_in("model", "transformer_", "washout", float("nan"))),
    "a label twice": ("sequences", lambda about, tensors: tensors.update(classes_=np.zeros(2, np.int64))),
    "a billion sequences": ("learner", set_in("model", "sequences", 10**9)),
    "a billion outputs": ("learner", set_in("model", "outputs", 10**9)),
    "half a step": ("learner", set_in("model", "stream", "step", 0.5)),
    "an unknown loss": ("learner", set_in("model", "loss", "none")),
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_a_crafted_file_is_refused(name: str, tmp_path: Path) -> None:
    kind, change = HOSTILE[name]
    path = crafted(es.save(every_kind()[kind], tmp_path / "model.es"), change)
    with pytest.raises(StorageError, match=r"model\.es is damaged or not a whole echoscale model") as refused:
        es.load(path)
    assert len(str(refused.value)) < 1000


def test_numbers_that_are_too_large_are_refused_where_they_are_used(tmp_path: Path) -> None:
    def steep(about: Any, tensors: Any) -> None:
        about["model"]["steepness"] = 1e308
        tensors["members.0.readout.intercept"].fill(10.0)

    path = crafted(es.save(every_kind()["automatic, sequences"], tmp_path / "model.es"), steep)
    with pytest.warns(RuntimeWarning, match="overflow"), pytest.raises(ValueError, match="not finite"):
        es.load(path).predict_proba(np.full((2, 20, 1), 3.0))
    path = es.save(every_kind()["automatic"], tmp_path / "model.es")
    crafted(path, lambda about, tensors: tensors["linear.coef"].fill(1e308))
    with pytest.warns(RuntimeWarning, match="overflow"), pytest.raises(ValueError, match="not finite"):
        es.load(path).predict_scores(np.full((9, 1), 3.0))


def test_numbers_that_numpy_does_not_have_are_refused(tmp_path: Path) -> None:
    """Eight bits a number: safetensors has them."""
    path, content = saved(tmp_path)
    (length,) = struct.unpack("<Q", content[:8])
    path.write_bytes(content[:8] + content[8 : 8 + length].replace(b'"I64"', b'"F64"', 1) + content[8 + length :])
    with pytest.raises(StorageError):
        es.load(path)
    about = {save_load.FORMAT: f"{FORMAT_VERSION} 0 {{}}"}
    header = json.dumps({"__metadata__": about, "a": {"dtype": "F8_E5M2", "shape": [1], "data_offsets": [0, 1]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"\0")
    with pytest.raises(StorageError, match="damaged"):
        es.load(path)


@pytest.mark.parametrize("version", ["\u00b2", "0", "-1", "", "1e3", "9" * 5000])
def test_versions_that_are_none_are_refused(version: str, tmp_path: Path) -> None:
    path, content = saved(tmp_path)
    path.write_bytes(with_header(content, lambda entry: version + entry[1:]))
    with pytest.raises(StorageError, match="format version"):
        es.load(path)


def test_no_flipped_bit_goes_unnoticed(tmp_path: Path) -> None:
    """Every bit of the header, and some of the numbers: refused, or the very same model."""
    path = es.save(es.single(3).build(1, seed=0), tmp_path / "model.es")
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.permutation(len(content) * 8)[:600]:
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << (place % 8)
        path.write_bytes(bytes(damaged))
        with pytest.raises(StorageError):
            es.load(path)


# ------------------------------------------------------------------------------------------------------------- nothing is lost


def test_the_same_model_gives_the_same_file(tmp_path: Path) -> None:
    """safetensors orders several entries of metadata at random: there is one."""
    for kind in ("regressor", "forecaster"):
        files = {es.save(every_kind()[kind], tmp_path / f"{k}.es").read_bytes() for k in range(9)}
        assert len(files) == 1


def test_parameters_of_any_number_type_come_back(tmp_path: Path) -> None:
    u, y = series(200)
    given: dict[str, Any] = {"units": range(4, 6), "ridge": Fraction(1, 8), "leak_rate": np.float32(0.5)}
    model = es.ESNRegressor(**given).fit(u, y)
    loaded = es.load(es.save(model, tmp_path / "model.es"))
    assert loaded.units == (4, 5)
    assert loaded.ridge == 0.125
    assert loaded.leak_rate == 0.5
    loaded.fit(u, y)


def test_a_parameter_that_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    u, y = series(200)
    model = es.ESNRegressor(units=5).fit(u, y)
    model.set_params(scale={"by": 3})
    with pytest.raises(TypeError, match=r"scale=.*cannot be saved"):
        es.save(model, tmp_path / "model.es")


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["2020-01-01", "2021-06-01"], "M8[D]"),
        np.array([3, 5], "m8[s]"),
        np.array(["yes", "no"]),
        np.array(["yes", "no"], object),
        np.array([True, False]),
        np.array([2, 7], np.int8),
        np.array([2.0, 3.0]),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_come_back_as_they_were(labels: Any, tmp_path: Path) -> None:
    u, y = series(200)
    model = es.ESNStepClassifier(units=5, random_state=0).fit(u, labels[(y[:, 0] > y.mean()).astype(int)])
    loaded = es.load(es.save(model, tmp_path / "model.es"))
    assert loaded.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(loaded.predict(u), model.predict(u))


def test_labels_that_cannot_be_kept_are_refused(tmp_path: Path) -> None:
    u, y = series(200)
    labels = np.array([2, (1, 2)], object)
    model = es.ESNStepClassifier(units=5, random_state=0).fit(u, (y[:, 0] > y.mean()).astype(int))
    model.classes_ = labels
    with pytest.raises(TypeError, match="labels must be numbers, strings or times to be saved, got 2 of int"):
        es.save(model, tmp_path / "model.es")


def test_notes_are_kept_with_a_model_and_under_its_checksum(tmp_path: Path) -> None:
    esn = es.single(5).build(1)
    path = es.save(esn, tmp_path / "a.safetensors", notes={"targets": ["y"], "season": None})
    assert save_load.notes(path) == {"targets": ["y"], "season": None}
    assert es.load(path).units == 5
    path.write_bytes(path.read_bytes().replace(b"targets", b"tergets"))
    with pytest.raises(save_load.StorageError, match="checksum"):
        save_load.notes(path)
    assert save_load.notes(es.save(esn, tmp_path / "b.safetensors")) == {}
