"""Export fitted models to files for programs without Python: C and ONNX."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

import echoscale
from echoscale._internal import checks
from echoscale._internal.files import write_atomically
from echoscale.estimators import NVAR, ESNRegressor, ESNStepClassifier
from echoscale.forecasting import AutoModel
from echoscale.storage.export.c import TYPES, c_source
from echoscale.storage.export.formula import Formula, formula_of
from echoscale.storage.export.onnx import onnx_bytes

SUFFIXES = (".c", ".onnx")


def export(
    model: ESNRegressor | ESNStepClassifier | NVAR | AutoModel,
    path: str | os.PathLike[str],
    *,
    dtype: str = "float64",
    name: str = "echoscale",
) -> Path:
    """Writes a fitted model as a C file or an ONNX graph, for programs without Python.

    The ending of the path sets the format. The file holds all of `predict`: scaling of inputs and outputs, all levels with
    their leak rates, residual and linear levels, output feedback, the last inputs, squares, products and the intercept. For a
    classifier it holds `predict_proba`. The initial state has the layout of `model.state_`. The write is atomic.

    **C.** C99 without libraries, with weights as sparse lists: `NAME_reset(&state)`, `NAME_step(&state, input, output)`.

    **ONNX.** X (batch, time, F) and state (batch, S) to y (batch, time, O) and last_state (batch, S). Needs the package onnx.

    Parameters
    ----------
    model : ESNRegressor, ESNStepClassifier, NVAR or AutoModel
        Fitted model; for `es.auto`, `found.model`.
    path : path
        Path of the file, which ends with .c or .onnx; an existing file is replaced.
    dtype : "float64" or "float32", default "float64"
        Precision of weights, states, inputs and outputs in the file, for any precision of the model.
    name : str, default "echoscale"
        Prefix of all names in the C file, so that a program can hold several models; name of the graph in ONNX.

    Returns
    -------
    Path
        The same path.

    See Also
    --------
    echoscale.save : Stores a model for Python.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.narma(500, order=10, seed=0)
    >>> model = es.ESNRegressor(units=20, random_state=0).fit(u, y)
    >>> source = es.export(model, "narma.c", name="narma").read_text()
    >>> print(next(line for line in source.splitlines() if line.startswith("void narma_step")))
    void narma_step(narma_state *state, const narma_real *input, narma_real *output);
    """
    target = Path(path)
    checks.choice(target.suffix.lower(), SUFFIXES, "the ending of path")
    checks.choice(dtype, tuple(TYPES), "dtype")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,60}", name):
        raise ValueError(f"name must begin a name in C (letters, digits and _, no digit first), got {name!r}.")
    found = formula_of(model)
    _check_range(found, dtype)
    if target.suffix.lower() == ".c":
        content = c_source(found, name, dtype, echoscale.__version__).encode()
    else:
        content = onnx_bytes(found, name, dtype, echoscale.__version__)
    write_atomically(target, content)
    return target


def _check_range(found: Formula, dtype: str) -> None:
    """Checks that all numbers are finite in this precision, and no spread is 0."""
    scalings = [found.inputs, *([] if found.fed_back is None else [found.fed_back])]
    numbers = [found.drive.data, found.coef, found.intercept, *(part for each in scalings for part in each)]
    with np.errstate(over="ignore"):
        finite = all(np.isfinite(each.astype(dtype)).all() for each in numbers)
    if not finite or not all(each.spread.astype(dtype).all() for each in scalings):
        raise ValueError(f"this model holds numbers that {dtype} cannot: rescale the data, or use dtype='float64'.")
