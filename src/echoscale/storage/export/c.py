"""A `Formula` as one C file: C99 with math.h only, and no memory except the caller's and a few arrays on the stack."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from echoscale.storage.export.formula import SIGMOID, VALUES, Formula

# Precision -> its type in C, the digits that identify a number, and the suffixes of literals and of functions.
TYPES = {"float64": ("double", 17, ""), "float32": ("float", 9, "f")}


def c_source(formula: Formula, name: str, dtype: str, version: str) -> str:
    """The content of the C file."""
    kind, digits, suffix = TYPES[dtype]
    lines = [*_head(formula, name, kind, version), *_arrays(formula, name, digits, suffix), *_step(formula, name, suffix)]
    return "\n".join(lines) + "\n"


def _head(formula: Formula, name: str, kind: str, version: str) -> Iterator[str]:
    outputs = "numbers" if formula.meaning == VALUES else "probabilities"
    start = "the zero state" if formula.start is None else "a long time at the mean inputs"
    yield f"""/* {formula.kind}, written by echoscale {version}.

   {name}_state state;
   {name}_reset(&state);                 {start}, before the first step of a series
   {name}_step(&state, input, output);   {name}_inputs numbers in, {name}_outputs {outputs} out, in units of the data

   The values of a state are laid out as state_ of the Python model. Include this file, and link with -lm. */

#include <math.h>

typedef {kind} {name}_real;
enum {{ {name}_inputs = {formula.n_inputs}, {name}_outputs = {formula.n_outputs}, {name}_size = {formula.state} }};
typedef struct {{ {name}_real values[{max(formula.state, 1)}]; }} {name}_state;

void {name}_reset({name}_state *state);
void {name}_step({name}_state *state, const {name}_real *input, {name}_real *output);
"""
    if formula.classes:
        yield f"const char *const {name}_classes[] = {{{', '.join(map(_quoted, formula.classes))}}};"


def _arrays(formula: Formula, name: str, digits: int, suffix: str) -> Iterator[str]:
    def real(what: str, values: npt.NDArray[Any]) -> str:
        return _array(f"{name}_real {name}_{what}", (_number(each, digits, suffix) for each in np.ravel(values)))

    def whole(what: str, values: npt.NDArray[Any]) -> str:
        return _array(f"int {name}_{what}", map(str, np.ravel(values).tolist()))

    def sparse(what: str, matrix: scipy.sparse.csr_array) -> Iterator[str]:
        """Row i holds the entries start[i] to start[i + 1] - 1."""
        yield whole(f"{what}_start", matrix.indptr)
        yield whole(f"{what}_place", matrix.indices)
        yield real(f"{what}_weight", matrix.data)

    yield real("mean", formula.inputs.mean)
    yield real("spread", formula.inputs.spread)
    if formula.fed_back is not None:
        yield real("output_mean", formula.fed_back.mean)
        yield real("output_spread", formula.fed_back.spread)
    if formula.units:
        yield from sparse("drive", formula.drive)
        yield from sparse("keep", formula.keep)
        yield real("leak_rate", formula.leak_rate)
        if formula.linear.any():
            yield whole("linear", formula.linear.astype(int))
    if formula.start is not None:
        yield real("start", formula.start)
    yield whole("factors", formula.factors)
    yield real("coef", formula.coef)
    yield real("intercept", formula.intercept)


def _step(formula: Formula, name: str, suffix: str) -> Iterator[str]:
    f, products, degree = formula, *formula.factors.shape
    one, real = f"1.0{suffix}", f"{name}_real"
    start = "0" if f.start is None else f"{name}_start[i]"
    yield f"""
void {name}_reset({name}_state *state)
{{
    int i;
    for (i = 0; i < {name}_size; i++) state->values[i] = {start};
}}

void {name}_step({name}_state *state, const {real} *input, {real} *output)
{{
    {real} seen[{f.seen}]; /* 1, inputs, newest first, states before, states now */
    {f"{real} *const values = state->values;" if f.state else "(void)state;"}
    int i, j, k;

    seen[0] = 1;
    for (i = 0; i < {f.n_inputs}; i++) seen[1 + i] = (input[i] - {name}_mean[i]) / {name}_spread[i];"""
    if f.n_fed_back:
        yield f"    for (i = 0; i < {f.n_outputs}; i++) seen[{1 + f.n_inputs} + i] = values[{f.units + f.past} + i];"
    if f.past:
        yield f"    for (i = 0; i < {f.past}; i++) seen[{1 + f.columns} + i] = values[{f.past_at} + i];"
    if f.units:
        fired = f"tanh{suffix}(h)"
        fired = f"({name}_linear[i] ? h : {fired})" if f.linear.any() else fired
        yield f"""    for (i = 0; i < {f.units}; i++) seen[{f.before} + i] = values[{f.x_at} + i];
    for (i = 0; i < {f.units}; i++) {{
        {real} h = 0, kept = 0;
        for (k = {name}_drive_start[i]; k < {name}_drive_start[i + 1]; k++)
            h += {name}_drive_weight[k] * seen[{name}_drive_place[k]];
        for (k = {name}_keep_start[i]; k < {name}_keep_start[i + 1]; k++)
            kept += {name}_keep_weight[k] * seen[{f.before} + {name}_keep_place[k]];
        seen[{f.before + f.units} + i] = kept + {name}_leak_rate[i] * {fired};
    }}
    for (i = 0; i < {f.units}; i++) values[{f.x_at} + i] = seen[{f.before + f.units} + i];"""
    if f.past:
        yield f"    for (i = 0; i < {f.past}; i++) values[{f.past_at} + i] = seen[1 + i];"
    yield f"""    for (j = 0; j < {f.n_outputs}; j++) {{
        {real} sum = {name}_intercept[j];
        for (k = 0; k < {products}; k++) {{
            {real} product = {name}_coef[j * {products} + k];
            for (i = 0; i < {degree}; i++) product *= seen[{name}_factors[k * {degree} + i]];
            sum += product;
        }}
        output[j] = sum;
    }}"""
    if f.n_fed_back:
        scaled = f"(output[i] - {name}_output_mean[i]) / {name}_output_spread[i]"
        yield f"    for (i = 0; i < {f.n_outputs}; i++) values[{f.units + f.past} + i] = {scaled};"
    if f.meaning == SIGMOID:
        yield f"""    for (i = 0; i < {f.n_outputs}; i++) /* logarithms of 1 / (1 + exp(-z)) */
        output[i] = (output[i] < 0 ? output[i] : 0) - log1p{suffix}(exp{suffix}(-fabs{suffix}(output[i])));"""
    if f.meaning != VALUES:
        yield f"""    {{
        {real} most = output[0], sum = 0;
        for (i = 1; i < {f.n_outputs}; i++) most = output[i] > most ? output[i] : most;
        for (i = 0; i < {f.n_outputs}; i++) sum += output[i] = exp{suffix}(output[i] - most);
        for (i = 0; i < {f.n_outputs}; i++) output[i] *= {one} / sum;
    }}"""
    yield "}"


def _array(what: str, values: Iterable[str]) -> str:
    """`static const` and its values, in lines; an empty array gets one 0, since C has no empty arrays."""
    text = textwrap.fill(", ".join(values) or "0", 120, initial_indent="    ", subsequent_indent="    ")
    return f"static const {what}[] = {{\n{text}\n}};"


def _number(value: float, digits: int, suffix: str) -> str:
    text = f"{value:.{digits}g}"
    return f"{text if any(each in text for each in '.e') else text + '.0'}{suffix}"


def _quoted(text: str) -> str:
    """A string literal: bytes of UTF-8, all but plain letters as octal numbers."""
    plain = "".join(chr(each) if chr(each).isalnum() and each < 128 else f"\\{each:03o}" for each in text.encode())
    return f'"{plain}"'
