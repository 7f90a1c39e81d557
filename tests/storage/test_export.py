"""Exported files, compiled or run by another program, give what `predict` gives."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse
from flat import flat
from sklearn.exceptions import NotFittedError

import echoscale as es
from echoscale.data.scaling import Scaling
from echoscale.forecasting import AutoModel
from echoscale.forecasting.lags import LinearMap, ProductMap
from echoscale.forecasting.model import Group
from echoscale.forecasting.networks import Drive
from echoscale.storage.export.formula import formula_of
from echoscale.storage.export.onnx import onnx_bytes

Floats = npt.NDArray[np.float64]
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
RNG = np.random.default_rng(0)
U = RNG.uniform(-1, 1, (220, 2)) * [1, 30] + [0, 100]
# Depends on both inputs, on the past and on itself.
Y = np.zeros((220, 2))
for t in range(2, 220):
    z = (U[t] - [0, 100]) / [1, 30]
    Y[t] = 5 + 0.4 * (Y[t - 1] - 5) + [z[0] * z[1], 20 * z[1] - z[0]]
LABELS = np.array(["low", '*/ "high"', "é"])[np.digitize(Y[:, 0], [4.8, 5.2])]
GAUSS = es.LogNormal(0.3, 0.5)


def orthogonal(units: int) -> Floats:
    return np.asarray(np.linalg.qr(RNG.standard_normal((units, units)))[0])


def regressor(network: es.Network | None = None, **options: Any) -> es.ESNRegressor:
    if network is not None:
        options = {"network": network, **options}
    elif "feedback_scaling" in options:
        options = {"units": 12, **options}
    return flat(es.ESNRegressor, ridge=1e-3, dtype="float64", random_state=3, **options).fit(U, Y)


def classifier(**options: Any) -> es.ESNStepClassifier:
    network, columns = es.single(15, input_scaling=0.5), es.readouts.Columns(2)
    model = es.ESNStepClassifier(network=network, columns=columns, dtype="float64", random_state=0, **options)
    return model.fit(U, LABELS)


def levels(coupling_delay: int) -> es.Network:
    """Three levels of unlike kinds, with couplings both ways."""
    reservoirs = [
        es.Reservoir(8, leak_rate=GAUSS, input_scaling=0.4, bias_scaling=0.3),
        es.Reservoir(5, leak_rate=0.3, residual=orthogonal(5), activation="identity", spectral_radius=0.5, input_scaling=0.2),
        es.Reservoir(6, leak_rate=0.2, residual="shift", input_scaling=0.0, feedback_scaling=0.0, topology="ring"),
    ]
    links = [es.Coupling(0, 1, 0.4), es.Coupling(1, 2, 0.3), es.Coupling(2, 0, 0.2)]
    return es.Network(reservoirs, links, coupling_delay=coupling_delay)


def automatic(classes: list[str] | None = None, trend: bool = False) -> AutoModel:
    """As `es.auto` makes them: lags, products of some, lanes of two networks, and a linear network with products of states."""
    rng = np.random.default_rng(1)
    deep = es.hierarchical([6, 4], leak_rate=[0.8, 0.3], coupling_delay=0).build(2, seed=1, dtype="float64")
    spread = es.single(5, leak_rate=GAUSS, residual="shift").build(2, seed=2, dtype="float64")
    slow = es.single(4, leak_rate=0.3, spectral_radius=0.0, activation="identity").build(2, seed=3, dtype="float64")
    columns = es.readouts.Columns(0, squares=True, products=3)
    groups = [
        Group(slow, slow.hyper.replace(leak_rate=[[0.3]]), rng.normal(size=(1, 2, 11)), columns),
        Group(deep, deep.hyper.replace(leak_rate=[[1.0, 0.5], 0.2]), rng.normal(size=(2, 2, 10))),
        Group(spread, spread.hyper.replace(spectral_radius=[[0.1, 0.4, 0.7]]), rng.normal(size=(3, 2, 5))),
    ]
    linear = LinearMap((0, 1, 4), rng.normal(size=(2, 6)), rng.normal(size=2), (ProductMap((0, 1), rng.normal(size=(2, 10))),))
    labels = None if classes is None else np.array(classes)
    drive = Drive(np.array([trend, False]), np.ones(2))
    scalings = (Scaling.of(U[None]), Scaling.of(Y[None]))
    model = AutoModel(linear, tuple(groups), *scalings, labels, False, drive, np.zeros(0))
    model.state_ = rng.uniform(-1, 1, model.state_size)
    return model


MODELS: dict[str, Callable[[], Any]] = {
    "plain": lambda: regressor(es.single(15, input_connections=1)),
    "levels": lambda: regressor(levels(1), inputs=3),
    "levels at once": lambda: regressor(levels(0), inputs=0, squares=True, products=9),
    "feedback": lambda: regressor(feedback_scaling=0.2, inputs=2, scale="standard"),
    "in its own units": lambda: regressor(es.single(6, input_scaling=0.01), scale=None),
    "nvar": lambda: es.NVAR(lags=3, stride=2, degree=3, ridge=1e-3).fit(U, Y),
    "nvar of one step": lambda: es.NVAR(lags=1, degree=2, ridge=1e-3).fit(U, Y[:, 0]),
    "automatic": lambda: automatic(),
    "automatic classes": lambda: automatic(["no", "yes"]),
    "classes": lambda: classifier(),
    "classes one by one": lambda: classifier(readout=es.readouts.Sigmoid(epochs=2), ridge=1e-3),
}


def expected(model: Any, state: Floats | None = None) -> Floats:
    predict = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    predict = model.predict_scores if isinstance(model, AutoModel) and model.classes_ is not None else predict
    return np.asarray(predict(U, state=state)).reshape(len(U), -1)


def apart(found: Floats, wanted: Floats) -> float:
    """The largest difference, in units of the outputs."""
    return float((np.abs(found - wanted).max(axis=0) / wanted.std(axis=0)).max())


def run_c(source: Path, state: Floats | None = None, dtype: str = "float64", name: str = "echoscale") -> Floats:
    """All steps of U through the compiled file."""
    library = source.with_suffix(".so")
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"]
    subprocess.run([str(COMPILER), *strict, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"], check=True)
    code = ctypes.CDLL(str(library))
    step, reset = getattr(code, f"{name}_step"), getattr(code, f"{name}_reset")
    outputs = int(source.read_text().split(f"{name}_outputs = ")[1].split(",")[0])
    values, made = np.full(10_000, 7.0, dtype), np.zeros((len(U), outputs), dtype)
    reset(ctypes.c_void_p(values.ctypes.data))
    if state is not None:
        values[: len(state)] = state
        assert (values[len(state) :] == 7).all()
    given = np.ascontiguousarray(U, dtype)
    for u, y in zip(given, made, strict=True):
        step(*(ctypes.c_void_p(each.ctypes.data) for each in (values, u, y)))
    return made.astype(np.float64)


def run_onnx(path: Path, state: Floats, dtype: str = "float64") -> tuple[Floats, Floats]:
    """A batch of two: from where a series begins, and from this state."""
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    start = np.array(json.loads(session.get_modelmeta().custom_metadata_map["start"]))
    given = {"X": np.stack([U, U]).astype(dtype), "state": np.stack([start, state]).astype(dtype)}
    y, last = session.run(["y", "last_state"], given)
    return y.astype(np.float64), last.astype(np.float64)


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    return MODELS[request.param]()


needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


@needs_compiler
def test_c_is_predict(model: Any, tmp_path: Path) -> None:
    source = es.export(model, tmp_path / "model.c")
    assert apart(run_c(source, model.state_), expected(model, model.state_)) < 1e-9
    assert apart(run_c(source), expected(model)) < 1e-9


def test_onnx_is_predict(model: Any, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    y, last = run_onnx(es.export(model, tmp_path / "model.onnx"), model.state_)
    assert apart(y[0], expected(model)) < 1e-9
    assert apart(y[1], expected(model, model.state_)) < 1e-9
    np.testing.assert_allclose(last[1], model.predict(U, state=model.state_, return_state=True)[1], atol=1e-9)


@needs_compiler
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_model_of_float32(dtype: str, tmp_path: Path) -> None:
    """Rounding of states, times the weights of the readout, in every step: none of it grows."""
    model = es.ESNRegressor(15, ridge=1e-3, dtype="float32", columns=es.readouts.Columns(1), random_state=0).fit(U, Y)
    wanted, rounding = expected(model), np.finfo(np.float32).eps * np.abs(model.readout_.coef).sum(axis=1) / Y.std(axis=0)
    assert apart(run_c(es.export(model, tmp_path / "m.c", dtype=dtype), dtype=dtype), wanted) < 4 * rounding.max()
    y, _ = run_onnx(es.export(model, tmp_path / "m.onnx", dtype=dtype), model.state_, dtype)
    assert apart(y[0], wanted) < 4 * rounding.max()


@needs_compiler
def test_two_models_and_their_labels_in_one_program(tmp_path: Path) -> None:
    """Labels that would end a comment or a string are told whole."""
    es.export(classifier(), tmp_path / "one.c", name="one")
    es.export(MODELS["nvar"](), tmp_path / "two.c", name="two")
    main = '#include <stdio.h>\n#include "one.c"\n#include "two.c"\nint main(void) { for (int i = 0; i < one_outputs; i++)'
    (tmp_path / "main.c").write_text(main + " puts(one_classes[i]); return 0; }")
    subprocess.run([str(COMPILER), "-std=c99", "main.c", "-o", "main", "-lm"], check=True, cwd=tmp_path)
    said = subprocess.run([str(tmp_path / "main")], capture_output=True, check=True).stdout.decode()
    assert said.splitlines() == sorted(set(LABELS))


def test_onnx_tells_the_labels(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    about = {each.key: each.value for each in onnx.load(es.export(classifier(), tmp_path / "m.onnx")).metadata_props}
    assert json.loads(about["classes"]) == sorted(set(LABELS))
    assert about["model"] == "ESNStepClassifier"


def test_what_cannot_be_said_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    good = MODELS["nvar"]()
    sequences = es.ESNClassifier(10, random_state=0).fit(U.reshape(22, 10, 2), np.arange(22) % 2)
    small = es.NVAR(lags=1).fit(U * 1e-60, Y)
    cases: list[tuple[type[Exception], str, Any, str, dict[str, Any]]] = [
        (NotFittedError, "call fit", es.ESNRegressor(10), "m.c", {}),
        (TypeError, "got Forecaster", es.Forecaster(), "m.c", {}),
        (TypeError, "got ESN\\.", es.single(10).build(1), "m.c", {}),
        (TypeError, "one label per sequence", sequences, "m.onnx", {}),
        (ValueError, "changes of inputs with a trend", automatic(trend=True), "m.c", {}),
        (ValueError, "ending of path", good, "model.py", {}),
        (ValueError, "dtype must be one of", good, "m.c", {"dtype": "float16"}),
        (ValueError, "name must begin a name in C", good, "m.c", {"name": "a-b"}),
        (ValueError, "float32 cannot", small, "m.c", {"dtype": "float32"}),
    ]
    for error, said, model, path, options in cases:
        with pytest.raises(error, match=said):
            es.export(model, tmp_path / path, **options)
    assert not list(tmp_path.iterdir())


def test_a_network_too_large_for_onnx_is_refused() -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    plain, row = formula_of(MODELS["plain"]()), np.ones((1, 20_000))
    drive = scipy.sparse.csr_array((row[0], np.arange(20_000), [0] * 19_999 + [0, 20_000]), shape=(20_000, 20_000))
    huge = plain._replace(drive=drive, leak_rate=row[0], blocks=(slice(0, 20_000),))
    with pytest.raises(ValueError, match=r"20000 neurons take 3\.0 GiB in ONNX, .* write a C file"):
        onnx_bytes(huge, "m", "float64", "0")


def test_without_onnx_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model = MODELS["nvar"]()
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install \"echoscale\[onnx\]\""):
        es.export(model, tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


@needs_compiler
def test_the_program_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/export.md: its C program gives what its model predicts."""
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
    python, program = (re.search(rf"^```{each}\n(.*?)^```", page, re.DOTALL | re.MULTILINE) for each in ("python", "c"))
    assert python is not None
    assert program is not None
    found: dict[str, Any] = {}
    exec(python[1], found)
    Path("main.c").write_text(program[1])
    subprocess.run([str(COMPILER), "main.c", "-o", "main", "-lm"], check=True)
    u = found["u"][:300]
    said = subprocess.run(["./main"], input="\n".join(map(repr, u[:, 0].tolist())), capture_output=True, text=True, check=True)
    np.testing.assert_allclose(np.array(said.stdout.split(), float), found["model"].predict(u)[:, 0], atol=1e-5)
