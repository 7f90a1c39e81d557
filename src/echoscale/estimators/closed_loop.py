"""Closed loop and output feedback: networks that receive the readout's output as an input of the next step.

    closed loop       u(t+1) = y(t)              the output is the only input
    output feedback   u(t) = (s(t), y(t-1))      the output stands beside other inputs

With output feedback, the network receives the targets while it is fitted, and its own outputs afterwards. `why_not` says
whether a model was fitted one step ahead, y(t) = u(t + 1), so that its outputs can be its next inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Array
from echoscale.data.scaling import Scaling
from echoscale.data.series import Series, as_targets, teacher_forced
from echoscale.data.targets import is_next_input
from echoscale.engine import dynamics, lanes
from echoscale.engine.devices import device_of, precision_and_device
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.readouts.columns import Pairs
from echoscale.readouts.ridge import Readout

# For readouts without products of states.
NO_PAIRS: Pairs = np.zeros((0, 2), np.int32)
# The reason of `why_not` where no data can decide.
NOT_SHOWN = "nothing that it was fitted to shows that y[t] is X[t + 1]."


def closed_loop(
    esn: ESN,
    readout: Readout,
    state: npt.ArrayLike,
    recent: npt.ArrayLike,
    steps: int,
    inputs: Scaling,
    pairs: Pairs | None = None,
) -> npt.NDArray[Any]:
    """y(t) = W_out (x(t), u(t), u(t-1), ...) + b, then u(t+1) = (y(t) - mean) / spread."""
    states = np.atleast_2d(np.asarray(state, esn.dtype))
    # The loop runs in units of the network: in those of the data, a large offset would cost digits of float32.
    coef, intercept = readout.coef / inputs.spread[:, None], inputs.forward(readout.intercept)
    weights, hyper, edges = esn.weights(len(states)), esn.numbers(), np.cumsum(esn.sizes)[:-1]
    # The readout is float64, as in open loop: its coefficients may be large where its penalty is small.
    with precision_and_device(np.float64, device_of(esn.device)):
        outputs = _scan(
            weights,
            hyper,
            tuple(np.split(np.ascontiguousarray(states.T), edges)),
            np.asarray(np.atleast_2d(recent).T, np.float64),
            coef,
            intercept[:, None],
            1 << (steps - 1).bit_length(),  # powers of two, so that another horizon seldom compiles again
            NO_PAIRS if pairs is None else pairs,
        )
    result = np.array(outputs, np.float64)[:, :steps]
    result = result if inputs.is_none else inputs.back(result)
    return result if np.ndim(state) == 2 else result[0]


class Generated(NamedTuple):
    """Outputs of every step, and what the step after the last one needs.

    outputs  (T_b, O) of every series, in units of the data
    state    (B, N); recent: the last inputs (B, (D - 1) C), newest first; heard: the last outputs (B, O), all in units of
             the network
    """

    outputs: list[npt.NDArray[Any]]
    state: npt.NDArray[Any]
    recent: npt.NDArray[Any]
    heard: npt.NDArray[Any]


def generated(
    esn: ESN,
    readout: Readout,
    series: Series,
    known: Series | None,
    start: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
    direct: int,
    outputs: Scaling,
    pairs: Pairs | None = None,
) -> Generated:
    """y(t) = W_out (x(t), u(t), u(t-1), ...) + b, where the network receives u(t) = (s(t), y(t-1))."""
    longest, size = int(series.lengths.max()), len(readout.intercept)
    steps = lanes.round_up(longest)  # so that another length seldom compiles again
    s = np.zeros((steps, series.features, series.count))
    truth = np.full((steps, size, series.count), np.nan)
    for b, values in enumerate(series.values):
        s[: len(values), :, b] = values
        if known is not None:
            truth[: len(values), :, b] = known.values[b]
    first, recent, heard = start
    weights, hyper, edges = esn.weights(series.count), esn.numbers(), np.cumsum(esn.sizes)[:-1]
    # The loop runs in units of the network, and the readout in float64: see `closed_loop`.
    with precision_and_device(np.float64, device_of(esn.device)):
        rows, (state, past, last) = _generate(
            weights,
            hyper,
            (
                tuple(np.split(np.ascontiguousarray(np.asarray(first, esn.dtype).T), edges)),
                np.asarray(recent, np.float64).T,
                np.asarray(heard, np.float64).T,
            ),
            (s, truth, np.arange(steps)[:, None] < series.lengths),
            readout.coef / outputs.spread[:, None],
            outputs.forward(readout.intercept)[:, None],
            direct,
            NO_PAIRS if pairs is None else pairs,
        )
    made = np.array(rows, np.float64)
    return Generated(
        [outputs.back(made[: int(length), :, b]) for b, length in enumerate(series.lengths)],
        np.concatenate([np.asarray(part) for part in state]).T,
        np.asarray(past).T,
        np.asarray(last).T,
    )


def taught(scaled: Series, targets: Series, before: npt.ArrayLike | None) -> Series:
    """(s(t), y(t-1)): the input of the network while it is fitted."""
    # Says where a target is unknown.
    as_targets(targets.values[0] if scaled.kind == "one" else list(targets.values), scaled)
    return teacher_forced(scaled, targets, before)


def followed(
    esn: ESN,
    readout: Readout,
    scaled: Series,
    known: Series | None,
    state: tuple[npt.ArrayLike | None, Array | None, npt.ArrayLike | None],
    direct: int,
    units: Scaling,
    pairs: Pairs | None,
) -> tuple[Generated, Array]:
    """Outputs of a network that receives its own outputs, or the known ones, as inputs; and the state after them, (B, ...)."""
    widths = esn.units, max(direct - 1, 0) * esn.columns, esn.n_outputs
    begins: Any = tuple(
        np.zeros((scaled.count, width)) if each is None else np.broadcast_to(each, (scaled.count, width))
        for each, width in zip(state, widths, strict=True)
    )
    made = generated(esn, readout, scaled, known, begins, direct, units, pairs)
    return made, np.concatenate([made.state, made.recent, made.heard], axis=-1)


def why_not(series: Series, targets: Series, ends: Array | None = None) -> str:
    """Why outputs cannot be the next inputs, in words; empty where y(t) = u(t + 1), as far as the data show."""
    if series.features != targets.features:
        return f"this one has {targets.features} outputs and {series.features} inputs."
    pairs = [*zip(series.values, targets.values, strict=True)]
    if ends is not None:
        first = np.reshape(ends, (series.count, -1))[:, None]
        pairs = [(np.concatenate([one, u]), np.concatenate([one, y])) for (u, y), one in zip(pairs, first, strict=True)]
    if all(np.isnan(y[:-1]).any(axis=1).all() for _, y in pairs):
        return NOT_SHOWN
    if all(is_next_input(u, y) for u, y in pairs):
        return ""
    known = [~np.isnan(y[:-1]).any(axis=1) for _, y in pairs]
    u, y = (np.concatenate([each[k] for each, k in zip(part, known, strict=True)]) for part in _next(pairs))
    with np.errstate(invalid="ignore", divide="ignore"):
        alike = [abs(np.corrcoef(u[:, k], y[:, k])[0, 1]) > 1 - 1e-6 for k in range(u.shape[1])] if len(u) > 2 else [False]
    if all(alike):
        return (
            "its targets are the next inputs in other units: a scaler stands before the model. Leave the scaler out; "
            'scale="standard" does the same inside.'
        )
    return "y[t] is not X[t + 1] in what it was fitted to (a model for more than one step ahead, or of another quantity)."


@partial(jax.jit, static_argnames="direct")
def _generate(
    weights: dynamics.Weights,
    hyper: Hyper,
    start: tuple[dynamics.State, jax.Array, jax.Array],
    given: tuple[jax.Array, jax.Array, jax.Array],
    coef: jax.Array,
    intercept: jax.Array,
    direct: int,
    pairs: jax.Array,
) -> tuple[jax.Array, tuple[dynamics.State, jax.Array, jax.Array]]:
    """Outputs (T, O, B) from s (T, F, B), known outputs (T, O, B) and which series still run (T, B)."""
    Carry = tuple[dynamics.State, jax.Array, jax.Array]

    def body(carry: Carry, now: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[Carry, jax.Array]:
        (state, recent, heard), (s, known, live) = carry, now
        u = jnp.concatenate([s, heard])
        new = dynamics.step(weights, hyper, state, u.astype(state[0].dtype))
        window = jnp.concatenate([u, recent])
        features = _features(new, window[: direct * len(u)], pairs)
        y = jnp.matmul(coef, features, precision="highest") + intercept
        after = new, window[: len(recent)], jnp.where(jnp.isnan(known), y, known)
        return jax.tree.map(lambda one, other: jnp.where(live, one, other), after, carry), y

    last, outputs = jax.lax.scan(body, start, given)
    return outputs, last


@partial(jax.jit, static_argnames="steps")
def _scan(
    weights: dynamics.Weights,
    hyper: Hyper,
    state: dynamics.State,
    recent: jax.Array,
    coef: jax.Array,
    intercept: jax.Array,
    steps: int,
    pairs: jax.Array,
) -> jax.Array:
    Carry = tuple[dynamics.State, jax.Array, jax.Array]

    def read(state: dynamics.State, recent: jax.Array) -> jax.Array:
        features = _features(state, recent, pairs)[: coef.shape[1]]
        return jnp.matmul(coef, features, precision="highest") + intercept

    def body(carry: Carry, _: None) -> tuple[Carry, jax.Array]:
        state, recent, y = carry
        new = dynamics.step(weights, hyper, state, y.astype(state[0].dtype))
        shifted = jnp.concatenate([y, recent])[: len(recent)]
        return (new, shifted, read(new, shifted)), y

    _, outputs = jax.lax.scan(body, (state, recent, read(state, recent)), None, length=steps)
    return jnp.transpose(outputs, (2, 0, 1))


def _features(state: dynamics.State, inputs: jax.Array, pairs: jax.Array) -> jax.Array:
    """What a readout sees, (features, B), in the precision of the inputs."""
    wide = jnp.concatenate(state).astype(inputs.dtype)
    return jnp.concatenate([wide, wide[pairs[:, 0]] * wide[pairs[:, 1]], inputs])


def _next(pairs: Sequence[tuple[Array, Array]]) -> tuple[list[Array], list[Array]]:
    """u(t + 1) and y(t)."""
    return [u[1:] for u, _ in pairs], [y[:-1] for _, y in pairs]
