"""Eligibility traces: forward sensitivities of the states with respect to any hyper-parameters of the network.

    e_ki(t) = d x_k(t) / d theta_i,      e_k(t+1) = d step_k / d theta + sum over l of (d step_k / d x_l) e_l(t)

They are the tangents of `dynamics.drive` and `dynamics.move`, so they hold for any graph of reservoirs and for every leaf of
`Hyper`. With them, sum over t of (dE/dx(t)) e(t) is the gradient of back-propagation through time, computed forwards (paper,
"Online Learning").

"exact"      all terms: the trace of the paper's appendix
"truncated"  without the path through a reservoir's own recurrent weights: the form of the paper's main text, an e-prop form
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from echoscale._internal import checks
from echoscale.engine import dynamics
from echoscale.engine.dynamics import State, Weights
from echoscale.engine.hyper import Hyper, Parameter, put

__all__ = ["Traces", "init", "reaches", "step"]

FORMS = ("exact", "truncated")


class Traces(NamedTuple):
    """Traces e_ki = d x_k / d theta_i of all learned hyper-parameters.

    Attributes
    ----------
    blocks : tuple of tuples of arrays (n_k, lanes)
        One tuple per parameter, with an array for every reservoir k that it `reaches`. All other traces are zero and not
        stored.
    """

    blocks: tuple[tuple[Array, ...], ...]


def reaches(weights: Weights, parameter: Parameter) -> tuple[int, ...]:
    """Returns the reservoirs whose states depend on a parameter: its own, and all reservoirs that couplings reach from there.

    Parameters
    ----------
    weights : echoscale.engine.dynamics.Weights
        Weights, from `esn.weights(lanes)`.
    parameter : echoscale.engine.hyper.Parameter
        One leaf of `Hyper`.

    Returns
    -------
    tuple of int
        Numbers of the reservoirs, in ascending order.

    Examples
    --------
    >>> import echoscale as es
    >>> from echoscale.engine import Parameter
    >>> weights = es.hierarchical([4, 3]).build(n_inputs=1).weights()
    >>> es.engine.traces.reaches(weights, Parameter("leak_rate", 0))
    (0, 1)
    >>> es.engine.traces.reaches(weights, Parameter("leak_rate", 1))
    (1,)
    """
    own = weights.links[parameter.place][1] if parameter.name == "coupling" else parameter.place
    found = {own}
    while new := {target for source, target in weights.links if source in found} - found:
        found |= new
    return tuple(sorted(found))


def init(weights: Weights, learned: Sequence[Parameter], state: State) -> Traces:
    """Returns the initial traces e(0) = 0: a given state depends on no parameter.

    Parameters
    ----------
    weights : echoscale.engine.dynamics.Weights
        Weights, from `esn.weights(lanes)`.
    learned : sequence of echoscale.engine.hyper.Parameter
        Hyper-parameters that are learned.
    state : tuple of arrays (n_k, lanes)
        State of every reservoir.

    Returns
    -------
    Traces

    Examples
    --------
    See `step`.

    >>> from echoscale.engine.traces import init
    """
    return Traces(tuple(tuple(jnp.zeros_like(state[k]) for k in reaches(weights, each)) for each in learned))


def step(
    weights: Weights,
    hyper: Hyper,
    state: State,
    traces: Traces,
    u: Array,
    learned: Sequence[Parameter],
    form: str = "exact",
) -> tuple[State, Traces]:
    """Advances the states and their traces by one time step.

        e_k(t+1) = d step_k / d theta + sum over l of (d step_k / d x_l) e_l(t)

    Parameters
    ----------
    weights : echoscale.engine.dynamics.Weights
        Weights, from `esn.weights(lanes)`.
    hyper : Hyper
        Hyper-parameters with leaves (1,) or (lanes,); `esn.numbers()` for one network.
    state : tuple of arrays (n_k, lanes)
        States x_k(t).
    traces : Traces
        Traces e_k(t); `init` gives the first.
    u : array (F, lanes)
        Input of the step.
    learned : sequence of echoscale.engine.hyper.Parameter
        Hyper-parameters that are learned.
    form : "exact" or "truncated", default "exact"
        Form of the traces. "truncated" leaves out the path through a reservoir's own recurrent weights.

    Returns
    -------
    states : tuple of arrays (n_k, lanes)
    traces : Traces

    Examples
    --------
    >>> import numpy as np, echoscale as es
    >>> from echoscale.engine import Parameter
    >>> esn = es.single(3, leak_rate=0.5).build(n_inputs=1)
    >>> weights, learned = esn.weights(), [Parameter("leak_rate", 0)]
    >>> state = (np.zeros((3, 1), np.float32),)
    >>> traces = es.engine.traces.init(weights, learned, state)
    >>> state, traces = es.engine.traces.step(weights, esn.numbers(), state, traces, np.ones((1, 1), np.float32), learned)
    >>> bool(np.allclose(state[0], 0.5 * traces.blocks[0][0]))  # from zero, x = alpha tanh(h): dx/dalpha = x / alpha
    True
    """
    truncated = checks.choice(form, FORMS, "the form of a trace") == "truncated"
    numbers = dynamics.resolved(weights, hyper)
    new: list[Array] = []
    fired: list[Array] = []
    for k, x in enumerate(state):
        h = dynamics.drive(weights, numbers, k, state, new, u, x)
        # Computed once: all traces need this term, and XLA would compute it again in each of them.
        fired.append(jax.lax.optimization_barrier(dynamics.activate(weights, k, h)))  # type: ignore[no-untyped-call]
        new.append(dynamics.move(weights, numbers, k, x, fired[k]))
    blocks = []
    for parameter, block in zip(learned, traces.blocks, strict=True):
        which = reaches(weights, parameter)
        leaf, slope = dynamics.moved_leaf(weights, hyper, parameter)

        # The other reservoirs do not depend on the parameter, so their derivative is not computed.
        def moved(value: Array, parts: State, leaf: Parameter = leaf, which: tuple[int, ...] = which) -> State:
            near, states, after = put(numbers, [leaf], [value]), list(state), list(new)
            for k, part in zip(which, parts, strict=True):
                states[k] = part
            for k in which:
                h = dynamics.drive(weights, near, k, states, after, u, state[k] if truncated else states[k])
                known = h if weights.linear and weights.linear[k] else _tanh(h, fired[k])
                after[k] = dynamics.move(weights, near, k, states[k], known)
            return tuple(after[k] for k in which)

        value = jnp.asarray(leaf.of(numbers))
        _, tangents = jax.jvp(moved, (value, tuple(state[k] for k in which)), (slope, block))
        blocks.append(tangents)
    return tuple(new), Traces(tuple(blocks))


@jax.custom_jvp
def _tanh(h: Array, f: Array) -> Array:
    """tanh(h), which is known to be f; its derivative is 1 - f^2."""
    return f


@_tanh.defjvp
def _tanh_tangent(at: tuple[Array, Array], along: tuple[Array, Any]) -> tuple[Array, Array]:
    f = at[1]
    return f, (1 - f * f) * along[0]
