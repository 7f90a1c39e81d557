"""Outputs at every step of a series: from inputs and targets to the statistics of a readout, and from a readout to outputs.

    z(t) = W_out (x(t), columns(t)) + b       in units of the network
    y(t) = mean + spread z(t)                 in units of the data

Output feedback adds the last target to the inputs before the fit. `difference="last"` subtracts the last known value from the
targets before the fit, and adds it to the readout after the fit.

`Steps` is a network with the columns of its readout and the units of its data; `StepEstimator` fits one and keeps the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from echoscale._internal.types import Array, Floats, Indices
from echoscale.data.differencing import LAST, NONE
from echoscale.data.scaling import STANDARD, Scaling, scaling_of
from echoscale.data.series import Series, check_longer_than, teacher_forced, washout_steps
from echoscale.data.stored import Place, in_memory, is_stored
from echoscale.engine import feed
from echoscale.engine.esn import ESN
from echoscale.estimators._validation import as_given, counted, last_rows, penalties_of, seed_of
from echoscale.estimators.base import ESNEstimator
from echoscale.estimators.difference import added_back, changes
from echoscale.network import Network
from echoscale.readouts import closed_loop, fit, pieces
from echoscale.readouts.columns import Columns
from echoscale.readouts.fit import Fitted
from echoscale.readouts.penalties import RidgeCurve
from echoscale.readouts.ridge import Readout
from echoscale.readouts.states import at_rest, check_states, state_rows
from echoscale.readouts.statistics import Statistics, split_statistics, with_noise
from echoscale.timescales import candidates
from echoscale.timescales.candidates import Candidate, Candidates


@dataclass(frozen=True)
class Steps:
    """A network, the columns that its readout sees, and the units of inputs and targets.

    difference  "last": the readout is fitted to y(t) minus the last known value
    noise       standard deviation of noise on the states while the readout is fitted
    """

    esn: ESN
    columns: Columns
    inputs: Scaling
    outputs: Scaling
    difference: str = NONE
    noise: float = 0.0

    def prepared(self, series: Series, targets: Series, last: Array | None = None) -> tuple[Series, Series]:
        """The inputs of the network and the targets of the readout, in units of the network; last: the outputs before the first
        step.
        """
        heard = self.inputs.apply(series)
        if self.esn.n_outputs:
            heard = teacher_forced(heard, self.outputs.apply(targets), last)
        return heard, wanted_of(heard, targets, self.columns, self.inputs, self.outputs, self.difference)

    def statistics(
        self, series: Series, targets: Series, edges: Sequence[Indices], state: Array | None = None
    ) -> tuple[list[Statistics], Array]:
        """The statistics of segments of time, and the state after the last step; state=None begins new series."""
        begin, last = self._split(state)
        heard, wanted = self.prepared(series, targets, last)
        parts, after = split_statistics(self.esn, heard, wanted, edges, begin, columns=self.columns)
        parts = [with_noise(each, self.noise * self.noise, self.esn.units) for each in parts] if self.noise else parts
        return parts, self.joined(after, targets)

    def fitted(
        self,
        series: Series,
        targets: Series,
        washout: int,
        ridge: Floats | None,
        folds: int,
        tie: float,
        executor: Executor | None = None,
    ) -> tuple[Fitted, Array]:
        """The readout of all series, run from the zero state, and the state after the last step; tie as in `RidgeCurve`."""
        held_out = fit.splits_of(folds, series.lengths, washout, ridge is None or len(ridge) > 1)
        if executor is None:
            parts, state = pieces.in_turn(self.statistics, series, targets, held_out.edges)
        else:
            past = max(washout, int(self.columns.inputs or 0))
            parts, state = pieces.spread(self.statistics, series, targets, held_out.edges, past, executor)
        refuse_few(int(sum(each.count for each in parts)), washout)

        def rows() -> tuple[Array, Array, list[Indices]]:
            heard, wanted = self.prepared(in_memory(series), in_memory(targets))
            features, _ = state_rows(self.esn, heard, washout, self.columns, np.float64)
            values = counted(wanted.values, washout)
            unknown = np.asarray(np.isnan(values).any(axis=1))
            return features, values, [each[~unknown[each]] for each in held_out.rows()]

        # Noise bounds the eigenvalues of the Gram matrix from below, so rounding loses nothing and no exact solution is needed.
        found = fit.fit_readout(parts, held_out.splits, ridge, None if self.noise else rows, tie)
        return found, state

    def in_units_of_data(self, readout: Readout) -> Readout:
        """The readout of y(t), in units of the data."""
        if self.difference == LAST:
            readout = added_back(readout, self.esn, self.inputs, self.outputs, self.columns)
        return fit.in_units_of(readout, self.outputs)

    def predicted(
        self, readout: Readout, series: Series, state: npt.ArrayLike, known: Series | None = None
    ) -> tuple[Any, Array]:
        """Outputs of every step, (T, O), (B, T, O) or a list, and the state after them.

        With output feedback, the network receives its own outputs, or the known ones.
        """
        esn, columns, scaled = self.esn, self.columns, self.inputs.apply(series)
        if esn.n_outputs:
            heard = Series([np.zeros((1, esn.columns))] * series.count, series.kind)  # only its form is used
            begin, last = self._split(state)
            truth = None if known is None else self.outputs.apply(known)
            start = (*columns.split(begin, heard, esn), last)
            made, after = closed_loop.fed_back(esn, readout, columns, scaled, truth, start, self.outputs)
            return as_given(made, series), after[0] if series.kind == "one" else after
        width = columns.width_of_states(esn)
        begin, before = columns.split(state, series, esn)
        inputs_of = columns.of_inputs(scaled, before) if columns.inputs else None

        def read(_: int, b: int, steps: slice, states: Array) -> Array:
            made: Array = columns.of_states(states, esn) @ readout.coef[:, :width].T + readout.intercept
            if inputs_of is not None:
                made += inputs_of[b][steps] @ readout.coef[:, width:].T
            return made

        [outputs], collect = feed.into_outputs(scaled, len(readout.intercept), read)
        after = esn.run_chunks(scaled, collect, state=begin)
        return as_given(outputs, series), columns.joined(after, scaled, before)

    def at_rest(self, known_mean: bool) -> Array:
        """The state from which a series with an unknown past starts; zero if the mean of the inputs is not known."""
        esn = self.esn
        found = at_rest(esn) if known_mean and not esn.n_outputs else None
        states = np.zeros(esn.units, esn.dtype) if found is None else found
        return np.concatenate([states, np.zeros(self.columns.past(esn) + esn.n_outputs, states.dtype)])

    def check_states(self, found: Statistics) -> None:
        """Warn of states that are saturated or hardly move."""
        units = self.esn.units
        squares = np.diagonal(found.scatter)[:units] / found.count - self.noise * self.noise  # without the noise
        check_states(found.mean[:units], squares, self.esn)

    def joined(self, state: Array, targets: Series) -> Array:
        """The state after a fit; with output feedback, it includes the last targets."""
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


def wanted_of(heard: Series, targets: Series, columns: Columns, inputs: Scaling, outputs: Scaling, difference: str) -> Series:
    """The targets of the readout in units of the network: the values, or their changes since the last known value."""
    wanted = outputs.apply(targets)
    return changes(heard, wanted, inputs, outputs, int(columns.inputs or 0)) if difference == LAST else wanted


def refuse_few(left: int, washout: int) -> None:
    """Refuses to fit a readout to fewer than two steps."""
    if left < 2:
        raise ValueError(
            f"X leaves {left} step with a target after washout={washout}: a readout needs at least 2 steps to be fitted to."
        )


class StepEstimator(ESNEstimator):
    """An estimator with an output at every step: it keeps the network, the readout and the last state of a fit."""

    columns: Columns | None
    washout: int | None
    scale: str | None
    ridge: float | Sequence[float] | str
    folds: int
    _tie: ClassVar[float] = 0.0  # as in `RidgeCurve`

    candidates_: Candidates | None
    readout_: Readout
    ridge_: float
    ridge_curve_: RidgeCurve | None
    statistics_: Statistics
    fold_statistics_: list[Statistics]
    columns_: Columns
    scaling_: Scaling
    target_scaling_: Scaling
    washout_: int
    state_: Array
    rest_: Array
    last_target_: Array
    steps_seen_: npt.NDArray[np.int64]

    def _penalties(self) -> Floats | None:
        """The penalties as an array, or None for "auto"; the other parameters of the fit are checked."""
        if self.columns is not None and not isinstance(self.columns, Columns):
            raise TypeError(f"columns must be an echoscale.readouts.Columns or None, got {self.columns!r}.")
        washout_steps(self.washout)
        return penalties_of(self)

    def _washout(self, series: Series) -> int:
        """The number of washout steps for these series: as given, or from the shortest series."""
        return washout_steps(self.washout, int(series.lengths.min()))

    def _counted_targets(self, series: Series, targets: Series, washout: int) -> Array:
        """Targets of the steps after the washout; too few targets raise an error."""
        check_longer_than(series, washout, "X")
        values = counted(targets.values, washout)
        refuse_few(int((~np.isnan(values).any(axis=1)).sum()), washout)
        return values

    def _steps(
        self,
        series: Series,
        targets: Series,
        columns: Columns,
        outputs: Scaling,
        washout: int | None,
        *,
        n_outputs: int | None = None,
        executor: Executor | None = None,
        **options: Any,
    ) -> Steps:
        """A network for these data; folds choose the leak rates and the input scaling that are left open.

        washout    None: a stream, whose end is not known
        n_outputs  number of outputs that may be fed back
        """
        self.candidates_ = None
        described, seed, inputs = self.make_network(), seed_of(self.random_state), scaling_of(self.scale, series, executor)
        if described is not self.network and (self.leak_rate is None or self.input_scaling is None):
            settled, longest = columns.settled(series.lengths, series.features, washout), int(series.lengths.max())
            near, wanted = candidates.recent(series), candidates.recent(targets)
            self.candidates_ = self._chosen(inputs.apply(near), wanted, settled, inputs, outputs, seed, longest, **options)
        esn = self._build(series.features, n_outputs, seed)
        return Steps(esn, columns.settled(series.lengths, esn.columns, washout), inputs, outputs, **options)

    def _chosen(
        self,
        heard: Series,
        targets: Series,
        columns: Columns,
        inputs: Scaling,
        outputs: Scaling,
        seed: int,
        longest: int,
        difference: str = NONE,
        noise: float = 0.0,
    ) -> Candidates | None:
        """The candidates with their errors on held-out data; None if the data are too short."""
        wanted = wanted_of(heard, targets, columns, inputs, outputs, difference)
        spread = 1.0 if self.scale == STANDARD else float(Scaling.of(heard.values).spread.max())
        tried = candidates.candidates(longest, self.leak_rate is None, self.input_scaling is None, spread)
        sizes = candidates.fewer_units(self._sizes())

        def network(candidate: Candidate) -> Network:
            return self._described(sizes, candidate)

        return candidates.choose(
            tried, network, heard, wanted, columns, noise=noise, seed=seed, dtype=self.dtype, device=self.device
        )

    def _candidate(self) -> Candidate:
        """The candidate that the last fit chose, or the first one."""
        found = getattr(self, "candidates_", None)
        return candidates.FIRST if found is None else found.chosen

    def _fitted_steps(self, **options: Any) -> Steps:
        """The network of the last fit."""
        return Steps(self.esn_, self.columns_, self.scaling_, self.target_scaling_, **options)

    def _check_ready(self) -> None:
        if hasattr(self, "esn_") and not hasattr(self, "readout_"):
            raise NotFittedError(
                f"the {int(self.steps_seen_.max())} steps so far are all in the washout of {self.washout_}: there is no "
                "readout yet. Add more steps with partial_fit, or set a smaller washout."
            )
        check_is_fitted(self, "readout_")

    def _fit_steps(
        self,
        steps: Steps,
        series: Series,
        targets: Series,
        ridge: Floats | None,
        washout: int,
        executor: Executor | None = None,
    ) -> None:
        """Fits the readout to the targets of every step; all series start from the zero state."""
        check_longer_than(series, washout, "X")
        found, state = steps.fitted(series, targets, washout, ridge, self.folds, self._tie, executor)
        # Deleted only now: if a fit fails, the model before it stays complete.
        self.__dict__.pop("fold_statistics_", None)
        self._keep_network(steps, washout)
        self._keep_readout(found, steps)
        self.state_, self.steps_seen_, self.last_target_ = state, series.lengths, last_rows(targets)
        steps.check_states(found.statistics)

    def _add_steps(self, steps: Steps, series: Series, targets: Series, ridge: Floats | None, new_series: bool) -> None:
        """Adds a chunk that continues the series of the last call, or begins new ones."""
        if ridge is not None and len(ridge) > 1:
            raise ValueError(f"partial_fit needs one fixed ridge or 'auto', got {len(ridge)} penalties.")
        first = not hasattr(self, "esn_")
        # The length of a stream is not known: the washout of an earlier fit is used, or 100 steps.
        washout = self.washout_ if self.washout is None and not first else washout_steps(self.washout)
        begin = first or new_series
        if not begin and np.shape(self.state_)[:-1] != (() if series.kind == "one" else (series.count,)):
            raise ValueError(
                f"this chunk holds {series.count} series, the last one had {np.shape(self.state_)[:-1] or 1}; "
                "pass new_series=True to begin others."
            )
        seen = np.zeros(series.count, np.int64) if begin else self.steps_seen_
        edges = list(np.stack([np.clip(washout - seen, 0, series.lengths), series.lengths], axis=1))
        [part], state = steps.statistics(series, targets, edges, None if begin else self.state_)
        if first:
            self._keep_network(steps, washout)
        self.washout_ = washout
        folds = getattr(self, "fold_statistics_", None)
        before, curve = (None, None) if first else (self.statistics_, self.ridge_curve_)
        found, folds = fit.fit_stream(before, part, folds, curve, ridge, self.folds, self._tie)
        if folds is not None:
            self.fold_statistics_ = list(folds)
        ready = hasattr(self, "readout_")
        self._keep_readout(found, steps)
        if not ready and found.statistics.count > 1:
            steps.check_states(found.statistics)
        self.state_, self.steps_seen_, self.last_target_ = state, seen + series.lengths, last_rows(targets)

    def _keep_network(self, steps: Steps, washout: int) -> None:
        self.esn_, self.columns_, self.washout_ = steps.esn, steps.columns, washout
        self.scaling_, self.target_scaling_ = steps.inputs, steps.outputs
        self.rest_ = steps.at_rest(self.scale == STANDARD)

    def _keep_readout(self, found: Fitted, steps: Steps) -> None:
        """Keeps the fitted readout in units of the targets; no readout if all steps are in the washout."""
        self.statistics_, self.ridge_, self.ridge_curve_ = found.statistics, found.ridge, found.curve
        if found.statistics.count > 0:
            self.readout_ = steps.in_units_of_data(found.readout)

    def _outputs(self, series: Series, state: npt.ArrayLike | None, known: Series | None = None) -> tuple[Any, Array]:
        """Outputs of every step, (T, O), (B, T, O) or a list, and the state after them."""
        steps, begin = self._fitted_steps(), self.rest_ if state is None else state
        if not is_stored(series):
            return steps.predicted(self.readout_, series, begin, known)
        made = [np.empty((int(length), len(self.readout_.intercept))) for length in series.lengths]

        def one(place: Place, parts: list[Series], now: Array) -> Array:
            outputs, after = steps.predicted(self.readout_, parts[0], now, *parts[1:])
            for b, rows in enumerate([outputs] if series.kind == "one" else outputs, place.first):
                made[b][place.begin : place.begin + len(rows)] = rows
            return after

        last = pieces.along(one, begin, series, *([] if known is None else [known]))
        return as_given(made, series), last
