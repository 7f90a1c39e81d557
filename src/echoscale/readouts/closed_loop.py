"""Closed loop: outputs become inputs of the next step, either alone (`forecast`) or beside other inputs (`fed_back`).

    u(t) = (s(t), y(t-1)),   x(t) = step(x(t-1), u(t)),   y(t) = W_out (x(t), products, u(t), u(t-1), ...) + b

    forecast      u(t) = y(t-1)
    fed_back      known inputs s(t); the network receives its own outputs, or known outputs if there are any

The loop runs in units of the network: in units of the data, a large offset would cost digits of float32. The readout is in
float64, as in open loop: its coefficients may be large if its penalty is small.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Array
from echoscale.data.scaling import Scaling
from echoscale.data.series import Series
from echoscale.engine import dynamics, feed, lanes
from echoscale.engine.devices import DeviceLike, device_of, precision_and_device
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.readouts.columns import Columns, Pairs
from echoscale.readouts.ridge import Readout

# The state, and the rest of the next window after s(t): y(t-1), u(t-1), ..., newest first, (K, B).
Carry = tuple[Any, jax.Array]
# s(t) (T, F, B), known outputs y(t) (T, O, B) with NaN where they are not known, and which series still run (T, B).
Given = tuple[jax.Array | None, jax.Array | None, jax.Array | None]
# Functions of a state and the window u(t), u(t-1), ..., newest first (W, B): the next state, and the outputs (O, B).
Step = Callable[[Any, jax.Array], Any]
Read = Callable[[Any, jax.Array], jax.Array]
NO_PAIRS: Pairs = np.zeros((0, 2), np.int32)


def loop(step: Step, read: Read, carry: Carry, given: Given, length: int | None = None) -> tuple[jax.Array, Carry]:
    """Outputs (T, O, B) and the last carry."""

    def body(carry: Carry, now: Given) -> tuple[Carry, jax.Array]:
        (state, behind), (s, known, live) = carry, now
        window = behind if s is None else jnp.concatenate([s, behind])
        new = step(state, window)
        y = read(new, window)
        heard = y if known is None else jnp.where(jnp.isnan(known), y, known)
        after = new, jnp.concatenate([heard, window])[: len(behind)]
        return after if live is None else jax.tree.map(lambda one, other: jnp.where(live, one, other), after, carry), y

    last, outputs = jax.lax.scan(body, carry, given, length)
    return outputs, last


def from_now(step: Step, read: Read, state: Any, window: jax.Array, steps: int, known: jax.Array | None = None) -> jax.Array:
    """Outputs (steps, O, B) from the state and the window of now; known: s(t+1), s(t+2), ... (steps - 1, F, B)."""
    y = read(state, window)
    behind = len(window) - (0 if known is None else known.shape[1])
    carry = state, jnp.concatenate([y, window])[:behind]
    outputs, _ = loop(step, read, carry, (known, None, None), steps - 1)
    return jnp.concatenate([y[None], outputs])


class Net(NamedTuple):
    """A network with a readout for every group of successive lanes: coef (G, O, features) and intercept (G, O)."""

    weights: dynamics.Weights
    hyper: Hyper
    coef: jax.Array | Array
    intercept: jax.Array | Array
    pairs: Any = NO_PAIRS

    def step(self, state: dynamics.State, window: jax.Array) -> dynamics.State:
        """The next state."""
        heard = self.weights.inputs[0].shape[1] + (self.weights.feedback[0].shape[1] if self.weights.feedback else 0)
        return dynamics.step(self.weights, self.hyper, state, window[:heard].astype(state[0].dtype))

    def read(self, state: dynamics.State, window: jax.Array) -> jax.Array:
        """The outputs, (O, lanes)."""
        coef, intercept, pairs = self.coef, self.intercept, self.pairs
        wide = jnp.concatenate(state).astype(window.dtype)
        features = jnp.concatenate([wide, wide[pairs[:, 0]] * wide[pairs[:, 1]], window])[: coef.shape[2]]
        if len(coef) == 1:
            return jnp.matmul(coef[0], features, precision="highest") + intercept[0][:, None]
        grouped = features.reshape(len(features), len(coef), -1)
        found = jnp.einsum("gof,fgr->ogr", coef, grouped, precision="highest") + intercept.T[:, :, None]
        return found.reshape(len(found), -1)


@partial(jax.jit, static_argnames="steps")
def network_from_now(net: Any, state: Any, window: Any, steps: int, known: jax.Array | None = None) -> jax.Array:
    """`from_now` of a network, or of another pytree with `step` and `read`."""
    return from_now(net.step, net.read, state, window, steps, known)


@jax.jit
def _network_loop(net: Net, carry: Carry, given: Given) -> tuple[jax.Array, Carry]:
    return loop(net.step, net.read, carry, given)


class Loop(NamedTuple):
    """A fitted model that receives only its own outputs, after a warm-up; everything in units of the network.

    net     `step(state, window)` and `read(state, window)`, as a pytree
    state   states after the last known input, (n_k, B) for every reservoir; () without a network
    window  the last inputs, newest first, (W, B)
    units   units of inputs and outputs
    one     whether there is one series, so that outputs have no axis of series
    device  device that runs the loop
    """

    net: Any
    state: Any
    window: Array
    units: Scaling
    one: bool
    device: DeviceLike


def of_network(
    esn: ESN, readout: Readout, columns: Columns, state: npt.ArrayLike, window: npt.ArrayLike, inputs: Scaling
) -> Loop:
    """The loop of a network with a readout.

    state   (N,) or (B, N) after the last known input
    window  the last inputs, newest first, in units of the network, (W,) or (B, W)
    inputs  units of inputs and outputs
    """
    states, last = np.atleast_2d(np.asarray(state, esn.dtype)), np.atleast_2d(window).T.astype(np.float64)
    with precision_and_device(np.float64, device_of(esn.device)):
        return Loop(
            _net(esn, len(states), readout, inputs, columns), _parts(esn, states), last, inputs, np.ndim(state) == 1, esn.device
        )


def forecast(model: Loop, steps: int) -> Array:
    """Outputs (steps, O) or (B, steps, O) in units of the data."""
    ahead = lanes.power_of_two(steps)  # so that other horizons rarely need a compilation
    with precision_and_device(np.float64, device_of(model.device)):
        outputs = network_from_now(model.net, model.state, model.window, ahead)
        result = np.array(outputs, np.float64)[:steps].transpose(2, 0, 1)
    result = result if model.units.is_none else model.units.back(result)
    return result[0] if model.one else result


def advance(net: Any, place: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
    """The next (*states, window) of a loop: the output becomes the newest input, and the network makes a step."""
    *state, window = place
    after = jnp.concatenate([net.read(tuple(state), window), window])[: len(window)]
    return (*net.step(tuple(state), after), after)


def fed_back(
    esn: ESN,
    readout: Readout,
    columns: Columns,
    series: Series,
    known: Series | None,
    start: tuple[npt.ArrayLike | None, npt.ArrayLike | None, npt.ArrayLike | None],
    units: Scaling,
) -> tuple[list[Array], Array]:
    """Outputs (T_b, O) of every series in units of the data, and the state after the last step (B, ...).

    series  s(t) in units of the network
    known   outputs that are known, in units of the network; NaN where they are not
    start   states, inputs before the first, newest first, and outputs before the first; None is 0
    units   units of the outputs
    """
    widths, count = (esn.units, columns.past(esn), esn.n_outputs), series.count
    states, past, heard = (
        np.zeros((count, width)) if each is None else np.broadcast_to(np.asarray(each), (count, width))
        for each, width in zip(start, widths, strict=True)
    )
    steps = lanes.round_up(int(series.lengths.max()))  # so that other lengths rarely need a compilation
    s = feed.inputs(series, np.arange(count), 0, steps, np.float64)
    truth = np.full((steps, esn.n_outputs, count), np.nan)
    if known is not None:
        truth = feed.inputs(known, np.arange(count), 0, steps, np.float64)
    with precision_and_device(np.float64, device_of(esn.device)):
        outputs, (state, behind) = _network_loop(
            _net(esn, count, readout, units, columns),
            (_parts(esn, np.asarray(states, esn.dtype)), np.concatenate([heard, past], axis=1).T.astype(np.float64)),
            (s, truth, np.arange(steps)[:, None] < series.lengths),
        )
    made = np.array(outputs, np.float64)
    after = np.concatenate([*map(np.asarray, state), behind[esn.n_outputs :], behind[: esn.n_outputs]]).T
    return [units.back(made[:length, :, b]) for b, length in enumerate(series.lengths)], after


def _parts(esn: ESN, states: Array) -> Any:
    """States (B, N) in the form of the step, (n_k, B) for every reservoir."""
    return tuple(np.split(np.ascontiguousarray(states.T), np.cumsum(esn.sizes)[:-1]))


def _net(esn: ESN, count: int, readout: Readout, units: Scaling, columns: Columns) -> Net:
    """The network with a readout of outputs in units of the network."""
    coef, intercept = (readout.coef / units.spread[:, None])[None], units.forward(readout.intercept)[None]
    return Net(esn.weights(count), esn.numbers(), coef, intercept, columns.pairs(esn))
