"""Attacks on files: models, features, finished jobs, MNIST; damaged, or crafted."""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import safetensors
import safetensors.numpy
from outcomes import Attack, Found, clear, flipped

import echoscale as es
from echoscale.data.scaling import Scaling
from echoscale.engine.hyper import with_lanes
from echoscale.forecasting import AutoModel, SequenceModel
from echoscale.forecasting.lags import LinearMap
from echoscale.forecasting.model import Group
from echoscale.forecasting.networks import Drive
from echoscale.forecasting.sequences import SequenceMember
from echoscale.network.fingerprint import fingerprint
from echoscale.readouts import Pools
from echoscale.readouts.features import FeaturesError
from echoscale.readouts.ridge import Readout
from echoscale.storage import save_load
from echoscale.sweeps import jobs
from echoscale.tasks import mnist

MOST_MEMORY = 300 << 10  # KiB that loading one small file may take, JAX included


@cache
def models() -> tuple[Any, ...]:
    """Small models of all kinds."""
    u, y = es.tasks.narma(200, order=5, seed=3)
    rng = np.random.default_rng(0)
    batch = rng.normal(size=(12, 20, 1))
    esn = es.hierarchical([4, 3], connections=2).build(1, seed=0)
    return (
        esn,
        es.ESNRegressor(units=5, washout=20, random_state=0).partial_fit(u, y),
        es.ESNStepClassifier(units=5, washout=20, random_state=0).fit(u, np.where(y[:, 0] > y.mean(), "high", "low")),
        es.ESNClassifier(units=5, pools=Pools("mean"), random_state=0).fit(batch, np.arange(12) % 2),
        es.OnlineLearner(esn.network, washout=5, record=20).partial_fit(u, y),
        es.learning.RLS(1e-3).partial_fit(rng.normal(size=(20, 3)), rng.normal(size=20)),
    )


@cache
def found_models() -> tuple[Any, ...]:
    """Small models of es.auto, of numbers, labels of steps and labels of sequences; forecasters; networks of other neurons."""
    rng = np.random.default_rng(1)
    u = rng.normal(size=(30, 2))
    esn = es.single(4, leak_rate=0.5).build(2, seed=0)
    group = Group(esn, with_lanes(esn.hyper, {"leak_rate[0]": [0.2, 1.0]}), rng.normal(size=(2, 3, 4)))
    linear = LinearMap((0, 2), rng.normal(size=(3, 4)), np.ones(3))
    units, outputs, drive = Scaling.of([u]), Scaling.none(3), Drive(np.array([True, False]), np.ones(2))
    batch = rng.normal(size=(6, 10, 2))
    both = np.concatenate([batch, np.diff(batch, axis=1, prepend=batch[:, :1])], axis=2)
    pools = es.ESNFeatures(units=(3, 2), pools=Pools(("mean", "last"), changes=False), random_state=0).fit(both)
    rank_pools = es.ESNFeatures(units=3, pools=Pools(ranks=True, changes=False), random_state=0).fit(batch)
    names = np.array(["a", "b"])
    of_two, of_ranks, of_summary = (
        Readout(rng.normal(size=(2, columns)), np.zeros(2), np.array(1e-3)) for columns in (10, 12, 8)
    )
    members = (SequenceMember(pools, of_two, changes=True), SequenceMember(rank_pools, of_ranks))
    y = 3 + np.sin(np.pi * np.arange(180) / 6) + 0.1 * rng.normal(size=180)
    turned = es.Network(
        [es.Reservoir(4, leak_rate=es.LogUniform(0.1, 1.0), residual="orthogonal"), es.Reservoir(3, residual="shift")]
    )
    return (
        turned.build(1, seed=0),
        es.NVAR().fit(u[:-1], u[1:]),
        AutoModel(linear, (group,), units, outputs, None, False, drive, np.zeros(12)),
        AutoModel(linear, (group,), units, outputs, np.array(["a", "b", "c"]), False, drive, np.zeros(12)),
        SequenceModel(members, None, Scaling.none(2), names, 2.0),
        SequenceModel((), of_summary, Scaling.none(2), names, 2.0),
        es.Forecaster(4, season=12, mode="closed loop", difference="none", log=False).fit(y),
        es.Forecaster(3, season=None, mode="direct", past=[1]).fit(
            np.stack([y[:40], y[40:80]], axis=1), rng.normal(size=(40, 2))
        ),
        es.Forecaster(2, networks=False).fit(pd.Series(y[:40], pd.date_range("2020-01-01", periods=40, freq="MS", tz="UTC"))),
    )


@cache
def written(make: Callable[[], tuple[Any, ...]]) -> tuple[bytes, ...]:
    """The files of some models."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return tuple(es.save(each, Path(folder) / "model.es").read_bytes() for each in make())


def damaged_model(rng: np.random.Generator, folder: Path) -> str:
    """A model file with damage is refused, whatever the damage."""
    contents = written(models) + written(found_models)
    content = contents[int(rng.integers(len(contents)))]
    spoilt = flipped(content, rng)
    path = folder / "model.es"
    path.write_bytes(spoilt)
    try:
        loaded(path)
    except Found:
        raise
    except Exception as error:
        return clear(error)
    if spoilt != content:
        raise Found("silent", "a damaged model was loaded")
    return "right"


HOSTILE: tuple[Any, ...] = (
    None,
    -1,
    0,
    1.5,
    1e308,
    10**12,
    2**70,
    "x",
    "",
    [],
    {},
    [[]],
    True,
    "\x00",
    ["a"] * 50,
    float("nan"),
)
SIZES = (3, 10**5, 10**9, 2**31)  # between what is right and what no memory holds


def crafted_model(rng: np.random.Generator, folder: Path) -> str:
    """A file with a right checksum and a wrong content is refused, or makes a model that works or refuses in words."""
    return _crafted(written(models), HOSTILE, rng, folder)


def crafted_found(rng: np.random.Generator, folder: Path) -> str:
    """The same for what es.auto found, and for forecasters."""
    return _crafted(written(found_models), HOSTILE + SIZES, rng, folder)


def peak_memory() -> int:
    """The most memory that this process has held, in KiB; 0 on Windows, which does not say."""
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def loaded(path: Path) -> Any:
    """`es.load`, which must not ask for much more memory than a small model needs."""
    before = peak_memory()
    try:
        return es.load(path)
    finally:
        grown = peak_memory() - before
        if grown > MOST_MEMORY:
            raise Found("abort", f"loading {path.stat().st_size:,} bytes took {grown >> 10} MiB")


def relabelled(content: bytes, rng: np.random.Generator) -> bytes:
    """The same bytes under another layout, with a right checksum: arrays of another kind or shape, or that change places."""
    length = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    about, names = header["__metadata__"], sorted(set(header) - {"__metadata__"})
    text = about[save_load.FORMAT].split(" ", 2)[2]
    one, other = (header[names[int(k)]] for k in rng.integers(len(names), size=2))
    kind = int(rng.integers(4))
    if kind == 0:
        one["dtype"] = str(rng.choice(["F16", "F32", "F64", "I8", "I32", "I64", "U8", "BOOL", "BF16", "C64", ""]))
    elif kind == 1:
        size = int(np.prod(one["shape"], dtype=object))
        one["shape"] = [[size], [1, size], [size, 1], [0, 2**40], [2**40, size], [-1, size], [2**62, 4]][int(rng.integers(7))]
    elif kind == 2:
        one["data_offsets"], other["data_offsets"] = other["data_offsets"], one["data_offsets"]
    else:
        one["dtype"], one["shape"], one["data_offsets"] = "U8", [len(data)], [0, len(data)]
        header = {"__metadata__": about, names[0]: one}
    digest = hashlib.sha256(f"{save_load.FORMAT_VERSION} {text}".encode())
    for name in sorted(set(header) - {"__metadata__"}):
        each = header[name]
        dtype = np.dtype(save_load.DTYPES.get(each["dtype"], "f8"))
        digest.update(f"{name} {dtype} {tuple(each['shape'])}".encode())
        digest.update(data[slice(*each["data_offsets"])])
    about[save_load.FORMAT] = f"{save_load.FORMAT_VERSION} {digest.hexdigest()} {text}"
    written = json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written + data


def relabelled_model(rng: np.random.Generator, folder: Path) -> str:
    """Arrays under another layout are refused, or make a model that works or refuses in words."""
    contents = written(models) + written(found_models)
    path = folder / "model.es"
    path.write_bytes(relabelled(contents[int(rng.integers(len(contents)))], rng))
    return _outcome(path)


def _crafted(contents: tuple[bytes, ...], hostile: tuple[Any, ...], rng: np.random.Generator, folder: Path) -> str:
    path = folder / "model.es"
    path.write_bytes(contents[int(rng.integers(len(contents)))])
    with safetensors.safe_open(path, framework="numpy") as file:
        header = file.metadata()[save_load.FORMAT]
        tensors = {name: file.get_tensor(name).copy() for name in file.keys()}  # noqa: SIM118
    about = json.loads(header.split(" ", 2)[2])
    if rng.random() < 0.5 or not tensors:
        _spoil_json(about, hostile, rng)
    else:
        _spoil_tensors(tensors, rng)
    text = json.dumps(about, sort_keys=True)
    path.write_bytes(safetensors.numpy.save(tensors, metadata=save_load.described(text, tensors)))
    return _outcome(path)


def _outcome(path: Path) -> str:
    """A crafted file is refused, or its model gives finite numbers, or it refuses to give any."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numbers that are too large: what comes out of them is refused
        try:
            model = loaded(path)
            outputs = _used(model)
        except Found:
            raise
        except Exception as error:
            return clear(error)
    if not np.isfinite(np.asarray(outputs, np.float64)).all():
        raise Found("silent", f"a crafted {type(model).__name__} gives numbers that are not finite")
    return "right"


def _used(model: Any) -> Any:
    """What a model says, for some classes after it has learned on."""
    if isinstance(model, es.ESN):
        return model.run(np.ones((5, model.n_inputs)))
    if isinstance(model, es.learning.RLS):
        if model.state is None:
            return 0.0
        return model.partial_fit(np.ones((2, 3)), np.ones(2)).predict(np.ones((2, 3)))
    if isinstance(model, es.OnlineLearner):
        if model.stream is None:
            return 0.0
        model.partial_fit(np.ones((30, model.esn.n_inputs)), np.ones((30, model.settings.outputs)))
        return model.predict(np.ones((5, model.esn.n_inputs)))
    if isinstance(model, AutoModel):
        model.predict(np.ones((5, model.n_features_in_)), state=model.state_ if model.state_.ndim == 1 else None)
        predict = model.predict_scores if model.classes_ is not None else model.predict
        return predict(np.ones((5, model.n_features_in_)))
    if isinstance(model, SequenceModel):
        return model.predict_proba(np.ones((2, 10, len(model.scaling.mean))))
    if isinstance(model, es.Forecaster):
        return _forecast(model)
    if isinstance(model, es.ESNClassifier):
        return model.decision_function(np.ones((2, 20, model.n_features_in_)))
    if isinstance(model, es.ESNRegressor) and model.state_.ndim == 1:
        model.partial_fit(np.sin(np.arange(30))[:, None], np.cos(np.arange(30)))
    found = model.predict(np.ones((5, model.n_features_in_)))
    return np.zeros(1) if found.dtype.kind in "UO" else found


def _forecast(model: es.Forecaster) -> Any:
    """The next two steps, before and after one more."""
    known, columns = len(model.future_inputs_), len(model.inputs_)
    X = np.ones((2, known)) if known else None
    before = model.predict(2, X)
    model.update(before.mean, np.ones((2, columns)) if columns else None)
    return np.concatenate([each.frame().to_numpy().ravel() for each in (before, model.predict(2, X))])


def _spoil_json(about: Any, hostile: tuple[Any, ...], rng: np.random.Generator) -> None:
    """Another value somewhere in the description; or an entry more, or less."""
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            places.append((value, key))
            walk(value[key])

    walk(about)
    holder, key = places[int(rng.integers(len(places)))]
    kind = rng.random()
    if kind < 0.05:
        for _ in range(int(rng.integers(1, 900))):
            holder[key] = [holder[key]] if rng.random() < 0.5 else {"dict": holder[key]}
    elif kind < 0.8:
        holder[key] = hostile[int(rng.integers(len(hostile)))]
    elif kind < 0.9:
        del holder[key]
    elif isinstance(holder, dict):
        holder["more"] = 1


def _spoil_tensors(tensors: dict[str, Any], rng: np.random.Generator) -> None:
    name = list(tensors)[int(rng.integers(len(tensors)))]
    array = tensors[name]
    kind = int(rng.integers(8))
    if kind == 7:
        other = list(tensors)[int(rng.integers(len(tensors)))]
        tensors[name], tensors[other] = tensors[other], tensors[name]
    elif kind == 0:
        del tensors[name]
    elif kind == 1:
        tensors[name] = np.ascontiguousarray(array[None])
    elif kind == 2:
        tensors[name] = np.zeros((*array.shape, 2), array.dtype)
    elif kind == 3:
        with np.errstate(all="ignore"):
            tensors[name] = array.astype(rng.choice(["float32", "float64", "int32", "uint8", "bool"]))
    elif array.size:
        flat = array.reshape(-1)
        value: Any = [np.nan, np.inf, -1, 0, 1e300, 2**31 - 1][int(rng.integers(6))]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            flat[int(rng.integers(flat.size))] = np.array(value).astype(array.dtype)
        tensors[name] = flat.reshape(array.shape)


ESN, INPUTS = es.single(6).build(1, seed=0), np.random.default_rng(0).normal(size=(40, 12, 1))


@cache
def snapshots() -> tuple[dict[str, bytes], int, Any]:
    """A file of features and its record by name, the bytes before the numbers, and the numbers."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        made = es.readouts.features.compute(ESN, INPUTS, 3, path=Path(folder) / "f.npy")
        contents = {each.name: each.read_bytes() for each in Path(folder).iterdir()}
        return contents, len(contents["f.npy"]) - made.array.nbytes, np.array(made.array)


def damaged_features(rng: np.random.Generator, folder: Path) -> str:
    """The record, or the header of the numbers, is damaged: refused or computed again. Numbers are not checked."""
    contents, header, expected = snapshots()
    path = folder / "f.npy"
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    if rng.random() < 0.5:
        record = folder / "f.npy.json"
        record.write_bytes(flipped(contents[record.name], rng))
    else:
        path.write_bytes(flipped(contents[path.name][:header], rng) + contents[path.name][header:])
    try:
        opened: Any = np.array(es.readouts.features.open(path).array)
    except Exception as error:
        clear(error)
        opened = None
    if opened is not None and not np.array_equal(opened, expected):
        raise Found("silent", "features of a damaged file were read")
    try:
        made = es.readouts.features.compute(ESN, INPUTS, 3, path=path)
    except FeaturesError:
        return "refused"
    if not np.array_equal(made.array, expected):
        raise Found("silent", "features of a damaged file were used")
    return "right" if opened is not None else "anew"


RESULTS = {"test": np.random.default_rng(0).random(40), "train": np.arange(5), "sure": np.array([True, False])}
SETTINGS = {"axes": [["a", 1, [0.5, 0.7]]]}
SWEEP, KEYS = fingerprint(SETTINGS)[:12], [f"{k:064x}" for k in range(12)]


@cache
def kept() -> tuple[bytes, bytes]:
    """The file of a finished job, and the file of a sweep."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        jobs.write(place / "job.npz", jobs.Outcome(RESULTS, None, 1.0))
        jobs.write_sweep(place, SETTINGS, KEYS)
        return (place / "job.npz").read_bytes(), (place / f"{SWEEP}.json").read_bytes()


def damaged_jobs(rng: np.random.Generator, folder: Path) -> str:
    """Results and lists of jobs that have changed are not read: the job runs again."""
    job, sweep = kept()
    (folder / "job.npz").write_bytes(flipped(job, rng))
    (folder / f"{SWEEP}.json").write_bytes(flipped(sweep, rng))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, listed = jobs.read(folder / "job.npz"), jobs.read_sweep(folder, SWEEP)
    except Exception as error:
        raise Found("obscure", f"{type(error).__name__}: {error}") from error
    if found is not None:
        results = found.results or {}
        if set(results) != set(RESULTS) or any(results[name].tobytes() != RESULTS[name].tobytes() for name in results):
            raise Found("silent", "changed results were read")
    if listed is not None and (listed["settings"], listed["jobs"]) != (SETTINGS, KEYS):
        raise Found("silent", "a changed list of jobs was read")
    return "anew" if found is None else "right"


IMAGES = b"\x00\x00\x08\x03" + b"".join(size.to_bytes(4, "big") for size in (3, 4, 5)) + bytes(range(60))


def damaged_images(rng: np.random.Generator, folder: Path) -> str:
    """A file of images is used only with the right SHA-256."""
    known = mnist.File("images", len(IMAGES), "none", hashlib.sha256(IMAGES).hexdigest())
    spoilt = flipped(IMAGES, rng)
    (folder / known.name).write_bytes(spoilt)
    try:
        [content] = mnist.contents(folder, [known])
    except Exception as error:
        return clear(error)
    if content != IMAGES:
        raise Found("silent", "changed images were used")
    return "right"


ATTACKS: dict[str, Attack] = {
    "model files, damaged": damaged_model,
    "model files, crafted with a right checksum": crafted_model,
    "files of es.auto, NVAR and forecasters, crafted": crafted_found,
    "model files, other layouts with a right checksum": relabelled_model,
    "feature files, damaged": damaged_features,
    "finished jobs, damaged": damaged_jobs,
    "image files, damaged": damaged_images,
}
