"""States for a readout: the state that a series starts from, a check that states can be read out, and all states as rows.

`at_rest` is the start of a series whose past is not known. `check_states` warns of states that are saturated at +-1 or hardly
move. `state_rows` returns all states after the washout as one matrix, for readouts that need the rows themselves.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Array
from echoscale.data.series import Series, as_series
from echoscale.engine import feed
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.network.description import LINEAR
from echoscale.readouts.columns import STATES, Columns

STEPS = 1000  # of the mean input: more come closer to x*, and cost time
# Over the second half of these steps, a level that sums up its bias doubles. One that forgets within 700 steps grows by less.
GROWS = 1.5

# E[x^2] from which on a network counts as saturated: its mean over the neurons, and its value for one neuron.
SATURATED, SATURATED_NEURON = 0.8, 0.9
# A state that moves by less than this number of roundings of its own size has hardly any digit to read.
ROUNDINGS = 1000


def at_rest(esn: ESN, hyper: Hyper | None = None) -> npt.NDArray[Any] | None:
    """x*, (N,), or (H, N) with lanes; zero where a linear level grows; None where it is zero since there is no bias.

        x* = f(x*, u = 0)     in units of the network, where the mean of the training inputs is 0

    x* is the state of a network that has received the mean input for a long time. A series whose past is not known starts from
    it. Where biases hold the network away from zero, a readout has seen no state near zero, and its weights may be large: from
    the zero state the first outputs can be a thousand times too large. From x* every state is the state of a possible past.
    This also holds for a network that never comes to rest but stays bounded, as every network of tanh does. A linear level may
    grow without bound: it has no such state, and starts at zero.
    """
    used = esn.hyper if hyper is None else hyper
    if not any(np.any(scaling) and np.any(bias) for scaling, bias in zip(used.bias_scaling, esn.drawn.biases, strict=True)):
        return None
    # Not by `run_chunks`, which refuses all lanes where one has grown beyond the range of its precision.
    series = as_series(np.zeros((STEPS // 2, esn.columns)), dtype=esn.dtype)
    half = feed.feed(esn, used, series)
    last = feed.feed(esn, used, series, half)
    for own, linear in zip(esn.network.slices, esn.network.linear, strict=False):
        if linear:
            before, after = (np.abs(states[:, own]).max(axis=1) for states in (half, last))
            last[~(np.isfinite(after) & (after <= GROWS * before))] = 0
    return last if used.lanes is not None else last[0]


class StateWarning(UserWarning):
    """The states of a network are of little use: saturated at +-1, or hardly moving."""


def check_states(mean: Array, variance: Array, esn: ESN, above: int = 4) -> None:
    """Warn where E[x^2] is near 1 for most neurons of tanh, or std(x) is near the rounding of x for most neurons."""
    square = mean**2 + variance
    still = np.sqrt(np.maximum(variance, 0)) <= ROUNDINGS * np.finfo(esn.dtype).eps * np.sqrt(square)
    bounded = square[np.repeat([each.activation != LINEAR for each in esn.network.reservoirs], esn.sizes)]
    if bounded.size and (bounded.mean() > SATURATED or (bounded > SATURATED_NEURON).mean() > 0.5):
        message = (
            f"the network is saturated: the mean square of its states is {bounded.mean():.2f}, near the bounds of tanh, and "
            "inputs hardly show in them. Lower input_scaling or bias_scaling, or use scale='standard'."
        )
    elif still.mean() > 0.5:
        message = (
            f"the network hardly moves: {still.mean():.0%} of its states vary by less than {ROUNDINGS} roundings of "
            f"{esn.dtype}. Raise input_scaling, use scale='standard', or look for inputs that are constant."
        )
    else:
        return
    warnings.warn(message, StateWarning, stacklevel=above)


def state_rows(
    esn: ESN, series: Series, washout: int, columns: Columns = STATES, dtype: npt.DTypeLike | None = None
) -> tuple[Array, Array]:
    """Run from the zero state: the columns of a readout at every step after the washout, series after series; and the state."""
    lengths = series.lengths - washout
    ends = np.cumsum(lengths)
    width = columns.width_of_states(esn)
    rows = np.empty((int(ends[-1]), columns.width(esn)), dtype or esn.dtype)

    def keep(_: int, b: int, steps: slice, states: Array) -> None:
        live = states[max(washout - steps.start, 0) :]
        end = int(ends[b] - lengths[b]) + steps.stop - washout
        rows[end - len(live) : end, :width] = columns.of_states(live, esn)

    last = esn.run_chunks(series, feed.one_by_one(series, keep))
    if columns.inputs:
        rows[:, width:] = np.concatenate([each[washout:] for each in columns.of_inputs(series)])
    return rows, columns.joined(last, series, None)
