"""Eligibility traces: forward sensitivities of the states with respect to any numbers of the network.

    e_ki(t) = d x_k(t) / d theta_i,      e_k(t+1) = d step_k / d theta + sum over l of (d step_k / d x_l) e_l(t)

They are the tangents of `dynamics.step` itself, so they hold for any graph of reservoirs and for every leaf of `Hyper`. With
them, sum over t of (dE/dx(t)) e(t) is the gradient of back-propagation through time, computed forwards (paper, "Online
Learning").

"exact"      all terms: the trace of the paper's appendix
"truncated"  without the way through a reservoir's own recurrent weights: Eq. (elig) of the paper's main text, an e-prop form
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from echoscale import _checks
from echoscale.engine import dynamics
from echoscale.engine.dynamics import Array, State, Weights
from echoscale.hyper import Hyper, Parameter, put

__all__ = ["Traces", "init", "reaches", "step"]

FORMS = ("exact", "truncated")


class Traces(NamedTuple):
    """One tuple per parameter: (n_k, lanes) for every reservoir k that it `reaches`; all others are zero and not kept."""

    blocks: tuple[tuple[Array, ...], ...]


def reaches(weights: Weights, parameter: Parameter) -> tuple[int, ...]:
    """The reservoirs whose states depend on a parameter: its own, and all that can be reached from it along couplings."""
    own = weights.links[parameter.place][1] if parameter.name == "coupling" else parameter.place
    found = {own}
    while new := {target for source, target in weights.links if source in found} - found:
        found |= new
    return tuple(sorted(found))


def init(weights: Weights, learned: Sequence[Parameter], state: State) -> Traces:
    """Zero: a state that was given from outside depends on no parameter."""
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
    """One time step of states (n_k, lanes) and traces, given the input (F, lanes)."""
    own = state if _checks.choice(form, FORMS, "the form of a trace") == "truncated" else None
    fired: dict[int, Array] = {}

    def fire(k: int, h: Array) -> Array:
        # Written down once: all traces need it, and XLA would compute it anew in each of them.
        fired[k] = jax.lax.optimization_barrier(jnp.tanh(h))  # type: ignore[no-untyped-call]
        return fired[k]

    def known(k: int, h: Array) -> Array:
        return _tanh(h, fired[k])

    new = dynamics.step(weights, hyper, state, u, fire=fire)
    blocks = []
    for parameter, block in zip(learned, traces.blocks, strict=True):
        which = reaches(weights, parameter)

        # Only of what depends on the parameter: the derivative by the other states is not even written down.
        def moved(value: Array, parts: State, parameter: Parameter = parameter, which: tuple[int, ...] = which) -> State:
            states = list(state)
            for k, part in zip(which, parts, strict=True):
                states[k] = part
            after = dynamics.step(weights, put(hyper, [parameter], [value]), tuple(states), u, own, known)
            return tuple(after[k] for k in which)

        value = jnp.asarray(parameter.of(hyper))
        _, tangents = jax.jvp(moved, (value, tuple(state[k] for k in which)), (jnp.ones_like(value), block))
        blocks.append(tangents)
    return new, Traces(tuple(blocks))


@jax.custom_jvp
def _tanh(h: Array, f: Array) -> Array:
    """tanh(h), which is known to be f; its derivative is 1 - f^2."""
    return f


@_tanh.defjvp
def _tanh_tangent(at: tuple[Array, Array], along: tuple[Array, Any]) -> tuple[Array, Array]:
    f = at[1]
    return f, (1 - f * f) * along[0]
