"""A `Formula` as an ONNX graph: X (batch, time, F) and state (batch, S) to y (batch, time, O) and last_state (batch, S).

A Scan over time whose body is the step. Weights are dense: ONNX has no product with a sparse matrix.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.storage.export.formula import SIGMOID, VALUES, Formula

# Low versions, for older runtimes.
OPSET, IR_VERSION = 17, 8
MOST_BYTES = 2**31 - 2**20  # of one file


def onnx_bytes(formula: Formula, name: str, dtype: str, version: str) -> bytes:
    """The content of the ONNX file."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError('ONNX files need the package onnx: pip install "echoscale[onnx]".') from error
    dense = sum((block.stop - block.start) * len(np.unique(formula.drive[block].indices)) for block in formula.blocks)
    size = np.dtype(dtype).itemsize * (dense + formula.coef.size)
    if size > MOST_BYTES:
        raise ValueError(
            f"the dense weights of {formula.units} neurons take {size / 2**30:.1f} GiB in ONNX, and a file holds 2: write a C "
            "file, whose weights are sparse."
        )
    helper, kind = onnx.helper, onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    body = Body(dtype)
    step(formula, body)

    def tensor(name: str, *shape: int | str) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    inner = helper.make_graph(
        body.nodes,
        "step",
        [tensor("before", "batch", formula.state), tensor("input", "batch", formula.n_inputs)],
        [tensor("after", "batch", formula.state), tensor("output", "batch", formula.n_outputs)],
    )
    scan = helper.make_node(
        "Scan",
        ["state", "X"],
        ["last_state", "y"],
        body=inner,
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_output_axes=[1],
    )
    graph = helper.make_graph(
        [scan],
        name,
        [tensor("X", "batch", "time", formula.n_inputs), tensor("state", "batch", formula.state)],
        [tensor("y", "batch", "time", formula.n_outputs), tensor("last_state", "batch", formula.state)],
        initializer=[onnx.numpy_helper.from_array(array, each) for each, array in body.constants.items()],
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="echoscale",
        producer_version=version,
    )
    start = np.zeros(formula.state) if formula.start is None else formula.start
    about = {"model": formula.kind, "start": json.dumps(start.tolist())}
    if formula.classes:
        about["classes"] = json.dumps(formula.classes)
    helper.set_model_props(model, about)
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())


class Body:
    """Nodes of a graph one after another, and the arrays that they use."""

    def __init__(self, dtype: str) -> None:
        self.dtype = np.dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: dict[str, npt.NDArray[Any]] = {}

    def add(self, operator: str, *inputs: str | npt.NDArray[Any], axis: int | None = None, output: str | None = None) -> str:
        """Append a node; arrays become constants. Returns the name of its output."""
        import onnx

        attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
        name = output or f"value_{len(self.nodes)}"
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(onnx.helper.make_node(operator, names, [name], **attributes))
        return name

    def constant(self, array: npt.NDArray[Any]) -> str:
        """The name of an array; floats become numbers of the precision."""
        name = f"constant_{len(self.constants)}"
        self.constants[name] = np.ascontiguousarray(array, self.dtype if array.dtype.kind == "f" else np.int64)
        return name

    def take(self, of: str, places: npt.NDArray[Any], output: str | None = None) -> str:
        """Columns of (batch, n)."""
        return self.add("Gather", of, places, axis=1, output=output)

    def join(self, parts: Sequence[str], output: str | None = None) -> str:
        """Columns side by side."""
        return self.add("Concat", *parts, axis=1, output=output)


def step(f: Formula, body: Body) -> None:
    """From `before` (batch, S) and `input` (batch, F) to `after` and `output`."""
    z = body.add("Div", body.add("Sub", "input", f.inputs.mean), f.inputs.spread)
    heard = np.arange(f.units + f.past, f.state)
    x = body.take("before", f.x_at + np.arange(f.units)) if f.units else ""
    parts = [z, body.take("before", np.r_[heard, f.past_at : f.past_at + f.past]) if f.state > f.units else "", x]
    # A column of ones before them.
    seen = body.add("Pad", body.join([each for each in parts if each]), np.array([0, 1, 0, 0]), np.array(1.0))
    for block in f.blocks:
        h = _driven(f, body, seen, block)
        fired = h if f.linear[block].all() else body.add("Tanh", h)
        moved = body.add("Mul", fired, f.leak_rate[block])
        seen = body.join([seen, body.add("Add", _kept(f, body, x, block), moved)])
    features = body.take(seen, f.factors[:, 0])
    for column in f.factors.T[1:]:
        features = body.add("Mul", features, body.take(seen, column))
    read = body.add("MatMul", features, f.coef.T)
    _finish(f, body, body.add("Add", read, f.intercept, output="output" if f.meaning == VALUES else None))
    kept = [np.arange(f.before + f.units, f.seen), np.arange(1, 1 + f.past)]
    after = [body.take(seen, np.concatenate(kept[::-1] if f.past_first else kept))] if f.units + f.past else []
    if f.fed_back is not None:
        after.append(body.add("Div", body.add("Sub", "output", f.fed_back.mean), f.fed_back.spread))
    body.join(after or ["before"], output="after")


def _driven(f: Formula, body: Body, seen: str, block: slice) -> str:
    """drive seen for a block, restricted to the columns in use if they are few."""
    rows = f.drive[block, : f.before + f.units + block.start]
    used = np.unique(rows.indices)
    if 2 * len(used) > rows.shape[1]:
        return body.add("MatMul", seen, rows.toarray().T)
    return body.add("MatMul", body.take(seen, used), rows[:, used].toarray().T)


def _kept(f: Formula, body: Body, x: str, block: slice) -> str:
    """keep x(t-1) of a block, whose states do not mix with other blocks: elementwise if O is the identity."""
    own = x if block == slice(0, f.units) else body.take(x, np.arange(block.start, block.stop))
    matrix = f.keep[block, block]
    row, column = matrix.tocoo().coords
    if (row == column).all():
        return body.add("Mul", own, matrix.diagonal())
    return body.add("MatMul", own, matrix.toarray().T)


def _finish(f: Formula, body: Body, z: str) -> None:
    """Scores of classes as probabilities."""
    if f.meaning == SIGMOID:
        # The logarithm of 1 / (1 + exp(-z)); runtimes have no Softplus in float64.
        shrunk = body.add("Exp", body.add("Neg", body.add("Abs", z)))
        z = body.add("Sub", body.add("Min", z, np.array(0.0)), body.add("Log", body.add("Add", shrunk, np.array(1.0))))
    if f.meaning != VALUES:
        body.add("Softmax", z, axis=-1, output="output")
