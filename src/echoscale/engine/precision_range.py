"""Sums that stay within the range of the precision: what could overflow is refused, for states would be NaN from there on.

|h_k| <= (input_scaling |W_in| + feedback_scaling |W_fb|) |u| + bias_scaling |b|
         + (spectral_radius |W| + sum of coupling |W_kl|) |x|
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.hyper import Hyper
from echoscale.network import Network
from echoscale.series import Series
from echoscale.weights.drawn import Drawn

Array = npt.NDArray[Any]

# The largest number that a state may begin with: its sums are then numbers of the precision.
MOST_STATE = {"float32": 1e19, "float64": 1e150}


class PrecisionRange:
    """The largest inputs that a network may hear, for one set of hyper-parameters after another.

    Parameters
    ----------
    network : Network
        The description.
    drawn : Drawn
        Its matrices.
    dtype : "float32" or "float64"
        The precision of states.
    """

    def __init__(self, network: Network, drawn: Drawn, dtype: str) -> None:
        self.network = network
        self.dtype = dtype
        self._sums = _row_sums(network, drawn)
        self._last: tuple[Hyper, float, int] | None = None

    def most_input(self, hyper: Hyper) -> tuple[float, int]:
        """The largest |u| for which no sum leaves the range, and the reservoir that decides it.

        Parameters
        ----------
        hyper : Hyper
            The factors, with lanes or without.
        """
        if self._last is not None and self._last[0] is hyper:
            return self._last[1], self._last[2]
        limit, state = float(np.finfo(self.dtype).max) / 4, MOST_STATE[self.dtype]
        largest = hyper.map(lambda leaf: float(np.max(np.abs(leaf))))
        found = []
        for k, (inputs, back, recurrent, coupled, bias) in enumerate(self._sums):
            radius, scaling = largest.spectral_radius[k], largest.input_scaling[k]
            fed = largest.feedback_scaling[k] if largest.feedback_scaling else 0.0
            heard = radius * recurrent + sum(largest.coupling[j] * each for j, each in coupled)
            left = limit - largest.bias_scaling[k] * bias - state * heard
            alone = max(radius, scaling, fed, largest.bias_scaling[k], *(largest.coupling[j] for j, _ in coupled))
            alone = max(alone, inputs, back, recurrent, bias, *(each for _, each in coupled))
            # Factors and weights by themselves must be numbers of this precision too: an infinity times 0 is NaN.
            found.append(-1.0 if alone > limit else min(left / max(scaling * inputs + fed * back, 1e-300), 4 * limit))
        place = int(np.argmin(found))
        self._last = hyper, found[place], place
        return found[place], place

    def check_inputs(self, series: Series, hyper: Hyper) -> None:
        """Raise where a sum could leave the range.

        Parameters
        ----------
        series : Series
            The inputs.
        hyper : Hyper
            The factors, with lanes or without.
        """
        most, place = self.most_input(hyper)
        values = series.values
        if isinstance(values, np.ndarray):
            if float(np.abs(values).max()) <= most:
                return
        elif all(float(np.abs(each).max()) <= most for each in values):
            return
        sizes = [np.abs(np.asarray(each)).max(axis=1) for each in series.values]
        b = int(np.argmax([each.max() for each in sizes]))
        t = int(np.argmax(sizes[b]))
        names = [name for name in Hyper._fields if name != "coupling" and getattr(hyper, name)]
        said = ", ".join(f"{name}={float(np.max(getattr(hyper, name)[place])):g}" for name in names)
        raise ValueError(
            f"the states of reservoir {place} may not be finite from step {t} of {series.called(b)} on: with an input of "
            f"{sizes[b][t]:.3g} and {said}, sums leave the range of {self.dtype}. Scale the inputs, or set smaller "
            "hyper-parameters" + (", or use dtype='float64'." if self.dtype == "float32" else ".")
        )

    def check_last(self, states: Array) -> Array:
        """The last states (lanes, N), or an error where a linear level has grown out of the range.

        Parameters
        ----------
        states : (lanes, N)
            After the last step.
        """
        if not self.network.linear or np.isfinite(states).all():
            return states
        broken = [not np.isfinite(states[:, own]).all() for own in self.network.slices]
        place = next(k for k, linear in enumerate(self.network.linear) if linear and broken[k])
        raise ValueError(
            f"the states of reservoir {place}, which is linear, left the range of {self.dtype}: they grow without bound. Set "
            f"its spectral radius (described as {self.network.reservoirs[place].spectral_radius:g}) below 1."
        )


def _row_sums(network: Network, drawn: Drawn) -> list[tuple[float, float, float, list[tuple[int, float]], float]]:
    """Of every reservoir: the largest sum over a row of |W_in|, |W_fb|, |W|, of the |W_kl| of each coupling, and of |b|."""

    def most(weights: Any) -> float:
        return float(np.max(np.asarray(abs(weights).sum(axis=1)), initial=0.0))

    links = list(enumerate(network.couplings))
    return [
        (
            most(drawn.inputs[k]),
            most(drawn.feedback[k]) if drawn.feedback else 0.0,
            most(drawn.recurrent[k]),
            [(j, most(drawn.couplings[j])) for j, each in links if each.target == k],
            float(np.max(np.abs(drawn.biases[k]), initial=0.0)),
        )
        for k in range(len(network.reservoirs))
    ]
