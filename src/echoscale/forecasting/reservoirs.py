"""Networks that hear the changes of a series: their states stand beside the lags.

    s(t) = (d(t) / spread, known inputs at t, inputs known up to now)

Structures and hyper-parameters are drawn as `es.auto` draws them; lanes of one structure run together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from echoscale.automatic import design
from echoscale.esn import ESN
from echoscale.forecasting import bases
from echoscale.forecasting.lag_rows import Recipe
from echoscale.forecasting.lines import Line
from echoscale.hyper import Hyper

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(eq=False)
class Net:
    """One lane of a network.

    Attributes
    ----------
    esn : ESN
        The network with its weights.
    lanes : Hyper
        Hyper-parameters of all lanes that were run together.
    lane : int
        Place of this one among them.
    spread : float
        Of the changes.
    """

    esn: ESN
    lanes: Hyper
    lane: int
    spread: float

    @cached_property
    def hyper(self) -> Hyper:
        """Hyper-parameters of this lane."""
        return self.lanes.lane(self.lane)

    def states(self, recipe: Recipe, line: Line) -> Floats:
        """x(t) of every step of a line, (T, N); 0 before the first change. All lanes run, as in the fit: the same bits.

        Parameters
        ----------
        recipe : Recipe
            Which changes.
        line : Line
            The series.
        """
        return np.asarray(run_lanes(self.esn, self.lanes, self.spread, recipe, line)[self.lane])

    @cached_property
    def matrices(self) -> tuple[Floats, Floats, Floats, Floats]:
        """W^T, W_in^T, bias and leak rates."""
        found = self.esn.matrices(self.hyper)
        return found.W.toarray().T, found.W_in.T, found.bias, found.leak_rate

    def step(self, states: Floats, heard: Floats) -> Floats:
        """x(t+1), (R, N), of many networks at once; one step is over before a compiled one is called.

        Parameters
        ----------
        states : (R, N)
            x(t).
        heard : (R, F)
            s(t+1).
        """
        W, W_in, bias, leak = self.matrices
        return np.asarray((1 - leak) * states + leak * np.tanh(states @ W + heard @ W_in + bias))


def heard(recipe: Recipe, line: Line, spread: float) -> Floats:
    """s(t) from the first change on, (T - reach, F).

    Parameters
    ----------
    recipe : Recipe
        Which changes.
    line : Line
        The series.
    spread : float
        Of the changes.
    """
    first, count = bases.reach(recipe.base, recipe.period), len(line)
    changes = bases.changes(recipe.base, recipe.period, line.values) / spread
    return np.concatenate([changes[:, None], line.future[first:count], line.past[first:]], axis=1)


def run_lanes(esn: ESN, hyper: Hyper, spread: float, recipe: Recipe, line: Line) -> Floats:
    """States of all lanes, (lanes or 1, T, N); 0 before the first change.

    Parameters
    ----------
    esn : ESN
        The network.
    hyper : Hyper
        With lanes or without.
    spread : float
        Of the changes.
    recipe : Recipe
        Which changes.
    line : Line
        The series.
    """
    driven = heard(recipe, line, spread)
    states = np.asarray(esn.run(driven, hyper=hyper), np.float64)
    found = np.zeros((hyper.lanes or 1, len(line), esn.units))
    found[:, len(line) - len(driven) :] = states
    return found


def draw(structure: str, units: int, lanes: int, features: int, seed: int, number: int) -> tuple[ESN, Hyper]:
    """A network of this structure and hyper-parameters on lanes.

    Parameters
    ----------
    structure : str
        One of `design.STRUCTURES`.
    units : int
        Neurons.
    lanes : int
        How many.
    features : int
        Of s.
    seed : int
        Of all that is drawn.
    number : int
        Tells draws of one seed apart.
    """
    rng = np.random.default_rng([seed, number])
    esn = design.network(structure, units).build(features, seed=int(rng.integers(2**31)), dtype="float64")
    return esn, design.draw(esn.hyper, structure, lanes, features, rng)
