"""Back-propagation through time, the reference for every gradient that is computed forwards.

    E = mean over series and counted steps t of E(t),      z(t) = coef x(t) + intercept
    E(t) = 1/2 |z - y|^2  (mse)  |  - sum [y log p + (1 - y) log(1 - p)], p = sigmoid(z)  |  - sum y log softmax(z)

E is differentiated through the scan over `dynamics.step`, with respect to the readout and to any hyper-parameters. The series
is cut into stretches of about sqrt(T) steps. Only the states between stretches are kept, and the backward pass runs each
stretch once more. Memory thus grows with sqrt(T), at the cost of about one more forward pass. States start from zero, and the
parameters stay fixed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import Array

from echoscale._internal import checks
from echoscale.data import losses
from echoscale.data.series import Series, SeriesLike, as_series, as_targets, check_longer_than, washout_steps
from echoscale.engine import devices, dynamics, feed
from echoscale.engine.devices import precision_and_device
from echoscale.engine.dynamics import State, Weights
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper, Parameter, checked, chosen, put, without_lanes


class Linear(Protocol):
    """Any object with `coef` (outputs, N) and `intercept` (outputs,), such as a `Readout`."""

    @property
    def coef(self) -> npt.ArrayLike:
        """(outputs, N)."""

    @property
    def intercept(self) -> npt.ArrayLike:
        """(outputs,)."""


__all__ = ["Gradient", "gradient"]


class Gradient(NamedTuple):
    """Gradient of E.

    Attributes
    ----------
    coef : (outputs, N)
        Derivative dE/dcoef.
    intercept : (outputs,)
        Derivative dE/dintercept.
    parameters : dict of float
        Derivative dE/dtheta for every hyper-parameter, by name.
    """

    coef: npt.NDArray[Any]
    intercept: npt.NDArray[Any]
    parameters: dict[str, float]


def gradient(
    esn: ESN,
    u: SeriesLike | Series,
    y: SeriesLike | Series,
    readout: Linear,
    *,
    loss: str = "mse",
    parameters: str | Sequence[str | Parameter] = ("leak_rate",),
    washout: int | None = None,
    hyper: Hyper | None = None,
    checkpoint: int | None = None,
) -> tuple[float, Gradient]:
    """Computes the error E and its gradient by back-propagation through time.

        E = mean over series and counted steps t of E(t)

    Parameters
    ----------
    esn : ESN
        Network; states start from zero.
    u : (T, F), (B, T, F) or list of (T_b, F)
        Inputs.
    y : (T,), (T, O), (B, T, O) or list of (T_b, O)
        Targets of every step.
    readout : object with `coef` (outputs, N) and `intercept` (outputs,)
        Readout of the states.
    loss : "mse", "sigmoid" or "softmax", default "mse"
        Error E(t) of one step; see `echoscale.data.losses`.
    parameters : str or sequence of str, default ("leak_rate",)
        Names of hyper-parameters, such as "leak_rate" (of all reservoirs) or "coupling[0]".
    washout : int, optional
        Number of steps at the start of every series that are not counted; by default 100, or a tenth of the shortest series if
        that is less.
    hyper : Hyper, optional
        Hyper-parameters in place of the network's own, without lanes.
    checkpoint : int, optional
        Number of steps of a stretch; about sqrt(T) by default. With T or more, no step is run twice and all states are kept.

    Returns
    -------
    float, Gradient
        Error E and its derivatives.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.narma(length=200, seed=0)
    >>> esn = es.single(10).build(n_inputs=1, seed=0)
    >>> readout = es.readouts.ridge(es.readouts.statistics(esn, u, y), 1e-3)
    >>> error, found = es.engine.bptt.gradient(esn, u, y, readout)
    >>> list(found.parameters)
    ['leak_rate[0]']
    """
    dtype = np.dtype(esn.dtype)
    checks.choice(loss, losses.LOSSES, "loss")
    series = as_series(u, esn.columns, dtype=dtype)
    targets = as_targets(y, series, dtype=dtype)
    first = washout_steps(washout, int(series.lengths.min()))
    check_longer_than(series, first)
    used = without_lanes(checked(hyper, esn.hyper))
    learned = chosen(parameters, used)
    coef, intercept = _readout(readout, esn.units, targets.features, dtype)
    longest = int(series.lengths.max())
    length = math.isqrt(longest - 1) + 1 if checkpoint is None else checks.integer(checkpoint, "checkpoint", minimum=1)
    length = min(length, longest)
    steps = -(-longest // length) * length
    t = np.arange(steps)[:, None]
    blocks = [feed.inputs(each, np.arange(each.count), 0, steps, dtype) for each in (series, targets)]
    blocks.append(((t >= first) & (t < series.lengths)).astype(dtype))
    with precision_and_device(dtype, esn.device):
        numbers = used.map(lambda leaf: jnp.reshape(jnp.asarray(leaf, dtype), (1,)))
        value, (by_readout, by_values) = differentiated(
            ((coef, intercept), [each.of(numbers) for each in learned]),
            esn.weights(series.count),
            numbers,
            *(each.reshape(-1, length, *each.shape[1:]) for each in blocks),
            learned,
            loss,
        )
    slopes = {str(each): float(slope[0]) for each, slope in zip(learned, by_values, strict=True)}
    return float(value), Gradient(np.array(by_readout[0]), np.array(by_readout[1]), slopes)


def error(
    variables: tuple[tuple[Array, Array], Sequence[Array]],
    weights: Weights,
    hyper: Hyper,
    u: Array,
    y: Array,
    counted: Array,
    learned: tuple[Parameter, ...],
    loss: str,
) -> Array:
    """E as a function of ((coef, intercept), values): u (S, L, F, lanes), y (S, L, outputs, lanes), counted (S, L, lanes)."""
    (coef, intercept), values = variables
    numbers = dynamics.resolved(weights, put(hyper, learned, values))

    def body(state: State, given: tuple[Array, Array, Array]) -> tuple[State, Array]:
        u_t, y_t, counts = given
        state = dynamics.step(weights, numbers, state, u_t)
        z = jnp.matmul(coef, jnp.concatenate(state), precision="highest") + intercept[:, None]
        return state, jnp.sum(jnp.where(counts > 0, losses.slope_and_value(loss, z, y_t)[1], 0))

    def stretch(state: State, given: tuple[Array, Array, Array]) -> tuple[State, Array]:
        state, errors = jax.lax.scan(body, state, given)
        return state, errors.sum()

    start = tuple(jnp.zeros((each.shape[0], u.shape[-1]), u.dtype) for each in weights.biases)
    totals: Array = jax.lax.scan(stretch if len(u) == 1 else jax.checkpoint(stretch), start, (u, y, counted))[1]
    return totals.sum() / counted.sum()


differentiated = jax.jit(
    jax.value_and_grad(error), static_argnames=("learned", "loss"), compiler_options=devices.COMPILER_OPTIONS
)


def _readout(readout: Linear, units: int, outputs: int, dtype: npt.DTypeLike) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    coef, intercept = np.asarray(readout.coef, dtype), np.asarray(readout.intercept, dtype)
    if coef.shape != (outputs, units) or intercept.shape != (outputs,):
        raise ValueError(
            f"the readout must have coef ({outputs}, {units}) and intercept ({outputs},) for these targets and this network, "
            f"got {coef.shape} and {intercept.shape}."
        )
    return coef, intercept
