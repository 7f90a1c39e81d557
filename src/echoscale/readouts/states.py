"""States for a readout: the state at the start of a series, a check of the states, and all states as rows.

`at_rest` is the start of a series with an unknown past. `check_states` warns of states that are saturated near +-1 or hardly
move. `state_rows` returns all states after the washout as one matrix, for readouts that need the rows.
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

STEPS = 1000  # number of steps with the mean input: more steps come closer to x* and cost time
# Over the second half of these steps, a level that sums up its bias doubles. A level that forgets within 700 steps grows less.
GROWS = 1.5

# A network counts as saturated from this E[x^2] on: the mean over the neurons, and the value for one neuron.
SATURATED, SATURATED_NEURON = 0.8, 0.9
# A state that moves by less than this number of rounding errors has hardly any significant digit.
ROUNDINGS = 1000


def at_rest(esn: ESN, hyper: Hyper | None = None) -> npt.NDArray[Any] | None:
    """The state at rest x*, (N,), or (H, N) with lanes; None if it is zero since there is no bias.

        x* = f(x*, u = 0)     in units of the network, where the mean of the training inputs is 0

    x* is the state of a network that has received the mean input for a long time. A series with an unknown past starts from x*.
    If biases keep the network away from zero, the readout was trained on no state near zero, and its weights may be large: from
    the zero state, the first outputs can be a thousand times too large. A series from x* passes only through states of a
    possible past. This also holds for a network that never comes to rest but stays bounded, as every tanh network does. A
    linear level may grow without bound; the result is then zero.
    """
    used = esn.hyper if hyper is None else hyper
    if not any(np.any(scaling) and np.any(bias) for scaling, bias in zip(used.bias_scaling, esn.drawn.biases, strict=True)):
        return None
    # Not with `run_chunks`, which refuses all lanes if the states of one lane leave the range of the precision.
    series = as_series(np.zeros((STEPS // 2, esn.columns)), dtype=esn.dtype)
    half = feed.feed(esn, used, series)
    last = feed.feed(esn, used, series, half)
    for own, linear in zip(esn.network.slices, esn.network.linear, strict=False):
        if linear:
            before, after = (np.abs(states[:, own]).max(axis=1) for states in (half, last))
            last[~(np.isfinite(after) & (after <= GROWS * before))] = 0
    return last if used.lanes is not None else last[0]


class StateWarning(UserWarning):
    """Warning that the states of a network are of little use: saturated near +-1, or hardly moving."""


def check_states(mean: Array, variance: Array, esn: ESN, above: int = 4) -> None:
    """Warns if E[x^2] is near 1 for most tanh neurons, or if std(x) is near the rounding of x for most neurons."""
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
    """Runs from the zero state; returns the columns of a readout after the washout, series after series, and the last state."""
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
