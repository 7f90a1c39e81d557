"""Networks whose states stand beside the lags: their input, structures, and random hyper-parameters on lanes.

    s(t) = (d(t) / spread, known inputs at t, inputs known up to now)

`Drive` replaces the inputs of a network that have a trend by their changes:

    s(t) = u(t),   or   s(t) = (u(t) - u(t-1)) / spread        where a straight line explains most of u

A level that keeps rising leads a network out of the range seen in training. Its changes stay in this range.

Structures are tried one after another, each with many hyper-parameters at once: lanes of one structure run together. `es.auto`
and `Forecaster` draw from the same distributions, but for the slowest leak rate. Leak rates, scalings and couplings are drawn
evenly in their logarithms, spectral radii evenly, for standardised inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from echoscale._internal.types import Flags, Floats
from echoscale.data import differencing
from echoscale.data.differencing import LAST
from echoscale.data.series import Series
from echoscale.engine.devices import one_thread
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.forecasting.lags import Recipe
from echoscale.forecasting.problem import Line, Problem
from echoscale.network import LogUniform, Network, hierarchical, parallel, single

# Structures of `es.auto`, in the order of their rounds: each suits other data.
ROUNDS = ("hierarchical", "residual", "ring", "parallel", "spread", "delay line")
# Ranges of the draws: wider ones suit more series, and hit good hyper-parameters more rarely. Cyclic: rings and delay lines.
# `es.auto` replaces the slowest leak rate by the slowest of the candidates, which the length of the data bounds.
LEAK_RATES = (0.05, 1.0)
RADII, CYCLIC_RADII = (0.2, 1.0), (0.5, 1.0)
INPUTS, LATER_INPUTS = (0.05, 1.5), (0.02, 0.5)  # of the first level, and of the others of a hierarchy
BIASES, COUPLINGS = (0.1, 1.0), (0.1, 1.0)
# Neurons: one for this many rows, within limits. More neurons fit more, overfit sooner and take longer.
UNITS = (20, 200)
ROWS_PER_UNIT = 4
# Lanes of a round, at least and at most.
LANES = (4, 16)
# Steps times lanes of a round: more lanes where series are short.
STEPS = 80_000


class Drive(NamedTuple):
    """Which inputs are received as changes, (F,), and the standard deviation of these changes, (F,)."""

    changes: Flags
    spread: Floats

    @classmethod
    def of(cls, problem: Problem) -> Drive:
        """Inputs with a trend are received as changes."""
        spread = np.std(np.concatenate([np.diff(np.asarray(each), axis=0) for each in problem.series.values]), axis=0)
        return cls(problem.trends, np.where(problem.trends & (spread > 0), spread, 1.0))

    def heard(self, values: Floats, before: Floats | None = None) -> Floats:
        """s(t) of every step, (T, F)."""
        if not self.changes.any():
            return values
        changes = differencing.changes(LAST, None, np.concatenate([values[:1] if before is None else before[None], values]))
        return np.where(self.changes, changes / self.spread, values)

    def over(self, series: Series) -> Series:
        """s(t) of whole series."""
        if not self.changes.any():
            return series
        values = [self.heard(np.asarray(each)) for each in series.values]
        return Series(values if series.kind == "list" else np.stack(values), series.kind, series.name)


@dataclass(eq=False)
class Net:
    """A network.

    Attributes
    ----------
    esn : ESN
        The network with its weights.
    hyper : Hyper
        Its hyper-parameters.
    spread : float
        Spread of the changes.
    """

    esn: ESN
    hyper: Hyper
    spread: float

    @cached_property
    def matrices(self) -> tuple[Floats, Floats, Floats, Floats]:
        """W^T, W_in^T, bias and leak rates."""
        found = self.esn.matrices(self.hyper)
        return found.W.toarray().T.copy(), found.W_in.T.copy(), found.bias, found.leak_rate

    def step(self, states: Floats, heard: Floats) -> Floats:
        """x(t+1), (R, N), of many states at once."""
        W, W_in, bias, leak = self.matrices
        return np.asarray((1 - leak) * states + leak * np.tanh(states @ W + heard @ W_in + bias))


def heard(recipe: Recipe, line: Line, spread: float) -> Floats:
    """s(t) from the first change on, (T - reach, F)."""
    first, count = differencing.reach(recipe.difference, recipe.period), len(line)
    changes = differencing.changes(recipe.difference, recipe.period, line.values) / spread
    return np.concatenate([changes[:, None], line.future[first:count], line.past[first:]], axis=1)


def states(nets: Sequence[Net], recipe: Recipe, line: Line) -> Floats:
    """x(t) of networks of equal size with one spread, (networks, T, N); 0 before the first change.

    Series are short: a loop is over before a compiled one could start. A network gives the same bits alone and among others.
    """
    W, W_in, bias, leak = (np.stack(each) for each in zip(*(net.matrices for net in nets), strict=True))
    driven, keep = heard(recipe, line, nets[0].spread), (1 - leak)[:, None]
    found = np.zeros((len(line) + 1, *bias[:, None].shape))
    with one_thread():
        inputs = np.moveaxis(driven @ W_in + bias[:, None], 1, 0)[:, :, None]
        for t, each in enumerate(inputs, len(line) - len(driven)):
            np.matmul(found[t], W, out=found[t + 1])
            found[t + 1] += each
            np.tanh(found[t + 1], out=found[t + 1])
            found[t + 1] *= leak[:, None]
            found[t + 1] += keep * found[t]
    return np.moveaxis(found[1:, :, 0], 1, 0)


def draw_network(
    structure: str,
    units: int,
    lanes: int,
    features: int,
    seed: Sequence[int],
    dtype: str = "float64",
    slowest: float = LEAK_RATES[0],
) -> tuple[ESN, Hyper]:
    """A network of this structure, and random hyper-parameters on lanes."""
    rng = np.random.default_rng(seed)
    esn = network(structure, units).build(features, seed=int(rng.integers(2**31)), dtype=dtype)
    return esn, draw_lanes(esn.hyper, structure, lanes, features, rng, slowest)


def network(structure: str, units: int) -> Network:
    """A network of this structure; its hyper-parameters are set on the lanes."""
    halves = [units - units // 2, units // 2]
    thirds = [units - 2 * (units // 3), units // 3, units // 3]
    made = {
        "hierarchical": lambda: hierarchical(halves),
        "residual": lambda: hierarchical(halves, residual=["shift", "identity"]),
        "ring": lambda: single(units, topology="ring"),
        "parallel": lambda: parallel(thirds),
        "single": lambda: single(units),
        "spread": lambda: single(units, leak_rate=LogUniform(*LEAK_RATES)),
        "delay line": lambda: single(units, topology="delay_line"),
    }
    return made[structure]()


def units_for(rows: int) -> int:
    """Number of neurons for a number of rows: a share of it, within limits, and even."""
    return int(np.clip(rows // ROWS_PER_UNIT, *UNITS)) // 2 * 2


def lanes_for(steps: int) -> int:
    """Number of lanes for series of this length."""
    return int(np.clip(STEPS // max(steps, 1), *LANES))


def draw_lanes(
    hyper: Hyper, structure: str, lanes: int, features: int, rng: np.random.Generator, slowest: float = LEAK_RATES[0]
) -> Hyper:
    """Random hyper-parameters on lanes."""

    def even(low: float, high: float) -> Floats:
        return rng.uniform(low, high, lanes)

    def logarithmic(low: float, high: float) -> Floats:
        return np.exp(rng.uniform(np.log(low), np.log(high), lanes))

    count, share = len(hyper.leak_rate), features**-0.5
    cyclic = structure in ("ring", "delay line")
    leaks = [logarithmic(slowest, LEAK_RATES[1]) for _ in range(count)]
    # The first level is fast; with one level only, its speed is drawn too, as that of a residual level, whose states travel.
    if cyclic:
        leaks[0] = np.where(rng.random(lanes) < 0.5, 1.0, leaks[0])
    elif count == 1:
        leaks[0] = np.maximum(leaks[0], 0.2)
    elif structure != "residual":
        leaks[0] = np.ones(lanes)
    inputs = [share * logarithmic(*(INPUTS if k == 0 or structure == "parallel" else LATER_INPUTS)) for k in range(count)]
    # The neurons of one level spread over all rates down to the slowest, or over fewer.
    spreads = {"leak_spread": [even(0.0, 1.0) * np.log(leaks[0] / slowest)]} if hyper.leak_spread else {}
    return hyper.replace(
        **spreads,
        leak_rate=leaks,
        spectral_radius=[even(*(CYCLIC_RADII if cyclic else RADII)) for _ in range(count)],
        input_scaling=inputs,
        bias_scaling=[logarithmic(*BIASES) for _ in range(count)],
        coupling=[logarithmic(*COUPLINGS) for _ in range(len(hyper.coupling))],
    )


def with_first(hyper: Hyper, own: Hyper) -> Hyper:
    """The lanes, the first of which has these hyper-parameters."""

    def joined(leaf: Floats, lanes: Floats) -> Floats:
        return np.concatenate([[float(leaf)], lanes[1:]])

    return Hyper(*(tuple(map(joined, ones, lanes)) for ones, lanes in zip(own, hyper, strict=True)))
