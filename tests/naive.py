"""The paper's equations as scalar loops, unit by unit and sum by sum: slow, obvious, and importing nothing of the library.

x_k(t+1) = (1 - leak_k) O_k x_k(t) + leak_k tanh(h_k(t))
h_k(t)   = gamma_k W_in_k s(t) + phi_k W_fb_k y(t-1) + rho_k W_k x_k(t) + beta_k b_k
           + sum over couplings l -> k of strength_kl W_kl x_l(t)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Vector = list[float]


class Reservoir(NamedTuple):
    """Plain arrays and factors of one reservoir: W (n, n), W_in (n, F), bias (n,), W_fb (n, O)."""

    W: Array
    W_in: Array
    bias: Array
    leak: float | Array  # one number, or (n,)
    rho: float
    gamma: float
    beta: float
    W_fb: Array = np.zeros((0, 0))
    phi: float = 0.0
    O: Array = np.zeros((0, 0))  # noqa: E741  (n, n); empty: the identity
    linear: bool = False


class Coupling(NamedTuple):
    """Reservoir `source` drives reservoir `target` through strength * W, W (n_target, n_source)."""

    source: int
    target: int
    strength: float
    W: Array


def run(
    reservoirs: Sequence[Reservoir],
    couplings: Sequence[Coupling],
    coupling_delay: int,
    u: Any,
    start: Any = None,
    y: Any = None,
) -> Array:
    """All states (T, N) of one series u (T, F); row t has seen u[t], and y[t - 1] of outputs y (T, O), 0 before the first."""
    sizes = [len(each.bias) for each in reservoirs]
    flat = [0.0] * sum(sizes) if start is None else [float(x) for x in start]
    state = [flat[sum(sizes[:k]) : sum(sizes[: k + 1])] for k in range(len(sizes))]
    rows = []
    for t, s in enumerate(u):
        fed_back = [] if y is None else [float(value) if t else 0.0 for value in y[t - 1]]
        state = step(reservoirs, couplings, coupling_delay, state, [float(value) for value in s], fed_back)
        rows.append([x for part in state for x in part])
    return np.array(rows)


def step(
    reservoirs: Sequence[Reservoir],
    couplings: Sequence[Coupling],
    coupling_delay: int,
    state: list[Vector],
    s: Vector,
    fed_back: Sequence[float] = (),
) -> list[Vector]:
    """One time step of every reservoir, in the order of the list; `fed_back` is the output of the step before."""
    new: list[Vector] = []
    for k, reservoir in enumerate(reservoirs):
        moved = []
        for i, x in enumerate(state[k]):
            h = reservoir.gamma * weighted_sum(reservoir.W_in[i], s)
            if fed_back:
                h += reservoir.phi * weighted_sum(reservoir.W_fb[i], list(fed_back))
            h += reservoir.rho * weighted_sum(reservoir.W[i], state[k])
            h += reservoir.beta * float(reservoir.bias[i])
            for coupling in couplings:
                if coupling.target == k:
                    already_moved = coupling_delay == 0 and coupling.source < k
                    heard = new[coupling.source] if already_moved else state[coupling.source]
                    h += coupling.strength * weighted_sum(coupling.W[i], heard)
            leak = leak_of(reservoir, i)
            kept = weighted_sum(reservoir.O[i], state[k]) if len(reservoir.O) else x
            moved.append((1 - leak) * kept + leak * (h if reservoir.linear else math.tanh(h)))
        new.append(moved)
    return new


def leak_of(reservoir: Reservoir, i: int) -> float:
    """The leak rate of neuron i."""
    return float(reservoir.leak) if np.ndim(reservoir.leak) == 0 else float(np.asarray(reservoir.leak)[i])


def weighted_sum(row: Any, x: Vector) -> float:
    """sum_j row_j x_j."""
    total = 0.0
    for weight, value in zip(row, x, strict=True):
        total += float(weight) * value
    return total


def states_of(esn: Any, u: Any, *, hyper: Any = None, lane: int | None = None, start: Any = None, y: Any = None) -> Array:
    """The naive run of a built network: its drawn arrays, and its numbers or those of one lane of `hyper`."""
    reservoirs, couplings = _parts(esn, hyper, lane)
    return run(reservoirs, couplings, esn.network.coupling_delay, np.asarray(u, np.float64), start, y)


def own_outputs_of(esn: Any, coef: Array, intercept: Array, u: Any) -> tuple[Array, Array]:
    """Outputs (T, O) and states (T, N) from zero, each output heard in the next step: y(t) = coef x(t) + intercept."""
    reservoirs, couplings = _parts(esn)
    state = [[0.0] * len(each.bias) for each in reservoirs]
    fed_back = [0.0] * len(intercept)
    outputs, rows = [], []
    for s in np.asarray(u, np.float64).tolist():
        state = step(reservoirs, couplings, esn.network.coupling_delay, state, s, fed_back)
        flat = [x for part in state for x in part]
        fed_back = [weighted_sum(row, flat) + float(b) for row, b in zip(coef, intercept, strict=True)]
        outputs.append(fed_back)
        rows.append(flat)
    return np.array(outputs), np.array(rows)


def _parts(esn: Any, hyper: Any = None, lane: int | None = None) -> tuple[list[Reservoir], list[Coupling]]:
    numbers = esn.hyper if hyper is None else hyper

    def factor(leaf: Any) -> float:
        return float(leaf if np.ndim(leaf) == 0 else leaf[lane])

    reservoirs = [
        Reservoir(
            W=esn.drawn.recurrent[k].toarray(),
            W_in=esn.drawn.inputs[k],
            bias=esn.drawn.biases[k],
            leak=_leaks(esn, k, factor(numbers.leak_rate[k]), factor(numbers.leak_spread[k]) if numbers.leak_spread else 0.0),
            rho=factor(numbers.spectral_radius[k]),
            gamma=factor(numbers.input_scaling[k]),
            beta=factor(numbers.bias_scaling[k]),
            W_fb=esn.drawn.feedback[k] if esn.drawn.feedback else np.zeros((0, 0)),
            phi=factor(numbers.feedback_scaling[k]) if numbers.feedback_scaling else 0.0,
            O=esn.drawn.residuals[k].toarray() if esn.drawn.residuals else np.zeros((0, 0)),
            linear=esn.network.reservoirs[k].activation == "identity",
        )
        for k in range(len(esn.drawn.recurrent))
    ]
    couplings = [
        Coupling(link.source, link.target, factor(numbers.coupling[j]), esn.drawn.couplings[j].toarray())
        for j, link in enumerate(esn.network.couplings)
    ]
    return reservoirs, couplings


def _leaks(esn: Any, k: int, fastest: float, spread: float) -> Any:
    """alpha_i = fastest exp(-spread q_i)."""
    if not spread:
        return fastest
    return np.array([fastest * math.exp(-spread * float(q)) for q in esn.drawn.leak_places[k]])


def traces_of(esn: Any, u: Any, name: str, place: int, *, own: bool, y: Any = None) -> Array:
    """d x(t) / d theta (T, N) for theta = leaf `name` of reservoir (or coupling) number `place`, from zero.

    e_k(t+1) = (1 - leak_k) O_k e_k + [dleak_k / dtheta] (tanh h_k - O_k x_k)
               + leak_k (1 - tanh^2 h_k) ([dh_k / dtheta] + sum over l -> k of strength_kl W_kl e_l + own rho_k W_k e_k)

    Without `own` this is the eligibility trace of the paper's main text; with it, that of its appendix.
    """
    reservoirs, couplings = _parts(esn)
    delay = esn.network.coupling_delay
    state = [[0.0] * len(each.bias) for each in reservoirs]
    trace = [[0.0] * len(each.bias) for each in reservoirs]
    rows = []
    for t, s in enumerate(np.asarray(u, np.float64).tolist()):
        fed_back = [] if y is None else [float(value) if t else 0.0 for value in y[t - 1]]
        new = step(reservoirs, couplings, delay, state, s, fed_back)
        after: list[Vector] = []
        for k, reservoir in enumerate(reservoirs):
            moved = []
            for i, x in enumerate(state[k]):
                here = place == k
                h = reservoir.gamma * weighted_sum(reservoir.W_in[i], s)
                h += reservoir.rho * weighted_sum(reservoir.W[i], state[k]) + reservoir.beta * float(reservoir.bias[i])
                if fed_back:
                    h += reservoir.phi * weighted_sum(reservoir.W_fb[i], fed_back)
                change = reservoir.rho * weighted_sum(reservoir.W[i], trace[k]) if own else 0.0
                if here and name == "feedback_scaling":
                    change += weighted_sum(reservoir.W_fb[i], fed_back)
                if here and name == "input_scaling":
                    change += weighted_sum(reservoir.W_in[i], s)
                if here and name == "spectral_radius":
                    change += weighted_sum(reservoir.W[i], state[k])
                if here and name == "bias_scaling":
                    change += float(reservoir.bias[i])
                for j, coupling in enumerate(couplings):
                    if coupling.target == k:
                        already = delay == 0 and coupling.source < k
                        heard = new[coupling.source] if already else state[coupling.source]
                        heard_trace = after[coupling.source] if already else trace[coupling.source]
                        h += coupling.strength * weighted_sum(coupling.W[i], heard)
                        change += coupling.strength * weighted_sum(coupling.W[i], heard_trace)
                        if name == "coupling" and place == j:
                            change += weighted_sum(coupling.W[i], heard)
                f = h if reservoir.linear else math.tanh(h)
                slope = 1.0 if reservoir.linear else 1 - f * f
                leak = leak_of(reservoir, i)
                turned = weighted_sum(reservoir.O[i], trace[k]) if len(reservoir.O) else trace[k][i]
                kept = weighted_sum(reservoir.O[i], state[k]) if len(reservoir.O) else x
                e = (1 - leak) * turned + leak * slope * change
                if here and name == "leak_rate":
                    e += (leak / float(esn.hyper.leak_rate[k])) * (f - kept)
                if here and name == "leak_spread":
                    e += -float(esn.drawn.leak_places[k][i]) * leak * (f - kept)
                moved.append(e)
            after.append(moved)
        state, trace = new, after
        rows.append([e for part in trace for e in part])
    return np.array(rows)
