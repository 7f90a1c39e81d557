"""Outputs at every step of a series: from inputs and targets to the statistics of a readout, and from a readout to outputs.

    z(t) = W_out (x(t), columns(t)) + b       in units of the network
    y(t) = mean + spread z(t)                 in units of the data

Output feedback adds the last target to the inputs before the fit. `target="change"` subtracts the last known value from the
targets before the fit, and adds it to the readout after the fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Array, Floats, Indices
from echoscale.data.scaling import Scaling
from echoscale.data.series import Series, teacher_forced
from echoscale.engine.esn import ESN
from echoscale.estimators import change
from echoscale.estimators._validation import as_given, counted, last_rows
from echoscale.readouts import closed_loop, fit
from echoscale.readouts.columns import Columns
from echoscale.readouts.fit import Fitted
from echoscale.readouts.ridge import Readout
from echoscale.readouts.states import at_rest, check_states, state_rows
from echoscale.readouts.statistics import Statistics, split_statistics, with_noise


@dataclass(frozen=True)
class Steps:
    """A network, the columns that its readout sees, and the units of inputs and targets.

    change  the readout is fitted to y(t) minus the last known value
    noise   standard deviation of noise on the states while the readout is fitted
    """

    esn: ESN
    columns: Columns
    inputs: Scaling
    outputs: Scaling
    change: bool = False
    noise: float = 0.0

    def prepared(self, series: Series, targets: Series, last: Array | None = None) -> tuple[Series, Series]:
        """The input of the network and the targets of the readout, in units of the network; last: the outputs before."""
        heard, wanted = self.inputs.apply(series), self.outputs.apply(targets)
        if self.esn.n_outputs:
            heard = teacher_forced(heard, wanted, last)
        if self.change:
            wanted = change.changes(heard, wanted, self.inputs, self.outputs, int(self.columns.inputs or 0))
        return heard, wanted

    def statistics(
        self, heard: Series, wanted: Series, edges: list[Indices], state: Array | None = None
    ) -> tuple[list[Statistics], Array]:
        """The statistics of segments of time of prepared series, and the state after the last step."""
        parts, after = split_statistics(self.esn, heard, wanted, edges, columns=self.columns, state=state)
        return [with_noise(each, self.noise**2, self.esn.units) for each in parts] if self.noise else parts, after

    def fitted(
        self, series: Series, targets: Series, washout: int, ridge: Floats | None, validation: float | int
    ) -> tuple[Fitted, Array]:
        """The readout of all series from the zero state, and the state after the last step."""
        held_out = fit.splits_of(validation, series.lengths, washout, ridge is None or len(ridge) > 1)
        heard, wanted = self.prepared(series, targets)
        parts, state = self.statistics(heard, wanted, held_out.edges)

        def rows() -> tuple[Array, Array, list[Indices]]:
            features, _ = state_rows(self.esn, heard, washout, self.columns, np.float64)
            values = counted(wanted.values, washout)
            unknown = np.asarray(np.isnan(values).any(axis=1))
            return features, values, [each[~unknown[each]] for each in held_out.rows()]

        # Noise bounds the Gram matrix from below: what rounding might lose is lost in noise anyway.
        found = fit.fit_readout(parts, held_out.splits, ridge, None if self.noise else rows)
        return found, self.joined(state, targets)

    def added(self, series: Series, targets: Series, edges: list[Indices], state: Array | None) -> tuple[Statistics, Array]:
        """The statistics of one more piece, and the state after it; state=None begins new series."""
        begin, last = self._split(state)
        heard, wanted = self.prepared(series, targets, last)
        [part], after = self.statistics(heard, wanted, edges, begin)
        return part, self.joined(after, targets)

    def in_units_of_data(self, readout: Readout) -> Readout:
        """The readout of y(t), in units of the data."""
        if self.change:
            readout = change.added_back(readout, self.esn, self.inputs, self.outputs, self.columns)
        return fit.in_units_of(readout, self.outputs)

    def predicted(
        self, readout: Readout, series: Series, state: npt.ArrayLike, known: Series | None = None
    ) -> tuple[Any, Array]:
        """Outputs of every step, (T, O), (B, T, O) or a list, and the state after them.

        With output feedback, the network receives its own outputs, or the known ones.
        """
        esn, columns, scaled = self.esn, self.columns, self.inputs.apply(series)
        if esn.n_outputs:
            heard = Series([np.zeros((1, esn.columns))] * series.count, series.kind)  # its form alone
            begin, last = self._split(state)
            truth = None if known is None else self.outputs.apply(known)
            start = (*columns.split(begin, heard, esn), last)
            made, after = closed_loop.fed_back(esn, readout, columns, scaled, truth, start, self.outputs)
            return as_given(made, series), after[0] if series.kind == "one" else after
        width = columns.width_of_states(esn)
        begin, before = columns.split(state, series, esn)
        outputs = [np.empty((int(length), len(readout.intercept))) for length in series.lengths]
        inputs_of = columns.of_inputs(scaled, before) if columns.inputs else None

        def consume(lanes: Indices, start: int, states: Any) -> None:
            rows = np.asarray(states)
            for place, b in enumerate(lanes):
                out = outputs[b][start : start + len(rows)]
                seen = columns.of_states(rows[: len(out), place].astype(np.float64), esn)
                out[:] = seen @ readout.coef[:, :width].T + readout.intercept
                if inputs_of is not None:
                    out += inputs_of[b][start : start + len(out)] @ readout.coef[:, width:].T

        after = esn.run_chunks(scaled, consume, state=begin)
        return as_given(outputs, series), columns.joined(after, scaled, before)

    def at_rest(self, known_mean: bool) -> Array:
        """The state that a series starts from if its past is not known; zero if the mean of the inputs is not known."""
        esn = self.esn
        found = at_rest(esn) if known_mean and not esn.n_outputs else None
        states = np.zeros(esn.units, esn.dtype) if found is None else found
        return np.concatenate([states, np.zeros(self.columns.past(esn) + esn.n_outputs, states.dtype)])

    def check_states(self, found: Statistics) -> None:
        """Warn of states that are saturated or hardly move."""
        units = self.esn.units
        squares = np.diagonal(found.scatter)[:units] / found.count - self.noise**2  # the noise is not theirs
        check_states(found.mean[:units], squares, self.esn)

    def joined(self, state: Array, targets: Series) -> Array:
        """The state after a fit: with output feedback, the last targets are part of it."""
        return np.concatenate([state, self.outputs.forward(last_rows(targets))], axis=-1) if self.esn.n_outputs else state

    def _split(self, state: npt.ArrayLike | None) -> tuple[Any, Any]:
        """States and recent inputs, and the last outputs, which the network receives as inputs."""
        fed_back = self.esn.n_outputs
        if state is None or not fed_back:
            return state, None
        given, past = np.asarray(state), self.columns.past(self.esn)
        wanted = self.esn.units + past + fed_back
        if given.shape[-1:] != (wanted,):
            raise ValueError(
                f"state must end with an axis of {wanted}, got shape {given.shape}: {self.esn.units} states, "
                f"{past // self.esn.columns} recent inputs and fed-back outputs, and the last outputs."
            )
        return given[..., :-fed_back], given[..., -fed_back:]
