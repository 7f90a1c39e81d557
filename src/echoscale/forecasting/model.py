"""The fitted models: weighted candidates, each in the form that forecasts.

`AutoModel`, of `es.auto`, is a linear map of recent inputs and readouts of some networks, whatever method won: of the simple
methods, leaky integrals are a linear network, and the others have none. Inputs and outputs are in units of the data:

    y(t) = A (u(t - l_1), ..., u(t - l_n)) + b + sum over networks and lanes of W_m x_m(t)

`Core`, of `Forecaster`, holds the parts in use, their weights, and where the series ended:

    forecast = sum over parts of weight * part,   interval = forecast + scale * g * quantile of the judged errors
    g from the growth of the series, see `intervals`

A part is a naive forecast, exponential smoothing or a `Reader`. A new value moves all of them on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Floats, Indices
from echoscale.data import differencing
from echoscale.data.lags import latest
from echoscale.data.scaling import Scaling
from echoscale.data.series import Series, SeriesLike, as_series
from echoscale.engine import feed
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.forecasting.lags import LinearMap
from echoscale.forecasting.networks import Drive
from echoscale.forecasting.problem import Line, Problem, Range, Units, warn_of_range
from echoscale.forecasting.readers import Reader
from echoscale.forecasting.smoothing import TRENDS, Smoothing
from echoscale.readouts.columns import STATES, Columns
from echoscale.readouts.states import at_rest

NAIVE_NAMES = {differencing.LAST: "persistence", differencing.SEASON: "seasonal naive"}


# ---------------------------------------------------------------------------------------------------- a target every step


@dataclass(frozen=True, eq=False)
class Group:
    """A network, some lanes of it, and what is read out of each.

    Attributes
    ----------
    esn : ESN
        The network with its weights.
    hyper : Hyper
        Hyper-parameters of M lanes.
    coef : (M, O, N + P)
        Weights of the states and of P products of every lane, already divided by the number of members.
    columns : Columns
        Which products of states are read out beside them.
    """

    esn: ESN
    hyper: Hyper
    coef: Floats
    columns: Columns = STATES


@dataclass(eq=False)
class AutoModel:
    """y(t) = A (u(t - l_1), ..., u(t - l_n)) + b + sum_m W_m x_m(t), in units of the data; made by `es.auto`.

    Attributes
    ----------
    linear : LinearMap
        A and b, in units of the network.
    groups : tuple of Group
        The networks. Where a simple method won, none, or the linear network whose states are leaky integrals of the inputs.
    scaling, target_scaling : Scaling
        Units of inputs and of targets.
    classes_ : array or None
        The labels in the order of the outputs; None for numbers.
    flat : bool
        Whether predictions have no axis of outputs, as y had none.
    drive : Drive
        Which inputs the networks receive as changes.
    state_ : (S,) or (B, S) array
        Where the training data ended: the inputs before, the newest first, then the states of all networks, lane by lane.
    feature_names_in_ : tuple of str
        Names of the input columns, where the training data were a data frame; `predict` refuses other columns.
    range_ : Range or None
        The lowest and the highest training input, in units of the network; `predict` warns where new inputs leave it. Infinite
        for an input with a trend whose future is predicted.
    """

    linear: LinearMap
    groups: tuple[Group, ...]
    scaling: Scaling
    target_scaling: Scaling
    classes_: npt.NDArray[Any] | None
    flat: bool
    drive: Drive
    state_: Floats
    feature_names_in_: tuple[str, ...] = ()
    range_: Range | None = None

    @property
    def n_features_in_(self) -> int:
        """F."""
        return len(self.scaling.mean)

    @property
    def past(self) -> int:
        """Inputs before the present one that are needed."""
        return max(*self.linear.lags, int(bool(self.groups) and self.drive.changes.any()))

    @property
    def state_size(self) -> int:
        """S."""
        return self.past * self.n_features_in_ + sum(len(group.coef) * group.esn.units for group in self.groups)

    @property
    def rest(self) -> Floats:
        """Where a series begins whose past is not known, (S,): past inputs at their mean, networks at rest."""
        parts = [np.zeros(self.past * self.n_features_in_)]
        for group in self.groups:
            found = at_rest(group.esn, group.hyper)
            parts.append(np.zeros(len(group.coef) * group.esn.units) if found is None else np.ravel(found).astype(np.float64))
        return np.concatenate(parts)

    def predict(self, X: SeriesLike, *, state: npt.ArrayLike | None = None, return_state: bool = False) -> Any:
        """The target at every step of X; row t has seen X[t].

        Parameters
        ----------
        X : (T,), (T, F), (B, T, F) or list of (T_b, F)
            Inputs, in units of the data.
        state : (S,) or (B, S), or None
            Where to begin: `state_` carries on from the end of the training data; None: as after a long
            time at the mean inputs.
        return_state : bool
            Also return where it ended, for the next piece.

        Returns
        -------
        (T, O), (B, T, O) or list of (T_b, O)
            Targets, without the last axis where y had none; or labels, (T,), (B, T) or list. With `return_state`, also the
            state.
        """
        series = self._series(X)
        outputs, last = self._run(series, state)
        found = [self._finished(each) for each in outputs]
        given: Any = found if series.kind == "list" else found[0] if series.kind == "one" else np.stack(found)
        return (given, last) if return_state else given

    def predict_scores(self, X: SeriesLike, *, state: npt.ArrayLike | None = None) -> Any:
        """The outputs before the largest is taken: near 1 for the right class, near 0 for the others. For labels.

        Parameters
        ----------
        X : (T,), (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        state : (S,) or (B, S), or None
            Where to begin.
        """
        if self.classes_ is None:
            raise ValueError("this model predicts numbers, not labels: use predict.")
        series = self._series(X)
        outputs = [checks.finite(each, "scores") for each in self._run(series, state)[0]]
        return outputs if series.kind == "list" else outputs[0] if series.kind == "one" else np.stack(outputs)

    def _finished(self, outputs: Floats) -> npt.NDArray[Any]:
        if self.classes_ is not None:
            return np.asarray(self.classes_[np.argmax(checks.finite(outputs, "scores"), axis=-1)])
        values = checks.finite(self.target_scaling.back(outputs), "predictions")
        return values[:, 0] if self.flat else values

    def after(self, series: Series) -> Floats:
        """The state after series in units of the network, from the beginning.

        Parameters
        ----------
        series : Series
            In units of the network.
        """
        return self._run(series, None)[1]

    def _series(self, X: SeriesLike) -> Series:
        series = self.scaling.apply(as_series(X, self.n_features_in_, name="X", columns=self.feature_names_in_))
        if self.range_ is not None:
            warn_of_range(self.range_, list(series.values), self.feature_names_in_)
        return series

    def _run(self, series: Series, state: npt.ArrayLike | None) -> tuple[list[Floats], Floats]:
        count, features = series.count, series.features
        start, fresh = self._start(state, series), state is None
        past = start[:, : self.past * features].reshape(count, self.past, features)
        outputs = [self.linear.along(np.asarray(values), past[b]) for b, values in enumerate(series.values)]
        ends = [latest(np.asarray(values), self.past, past[b]).ravel() for b, values in enumerate(series.values)]
        place = self.past * features
        if self.groups:
            heard = [
                self.drive.heard(np.asarray(values), None if fresh or not self.past else past[b, 0])
                for b, values in enumerate(series.values)
            ]
            driven = Series(heard if series.kind == "list" else np.stack(heard), series.kind, series.name)
        for group in self.groups:
            lanes, units = group.coef.shape[0], group.esn.units
            states = start[:, place : place + lanes * units].reshape(count, lanes, units).swapaxes(0, 1)
            last = add_outputs(group, driven, np.ascontiguousarray(states), outputs)
            ends = [np.concatenate([end, last[:, b].ravel()]) for b, end in enumerate(ends)]
            place += lanes * units
        stacked = np.stack(ends)
        return outputs, stacked[0] if series.kind == "one" else stacked

    def _start(self, state: npt.ArrayLike | None, series: Series) -> Floats:
        size = self.state_size
        if state is None:
            return np.broadcast_to(self.rest, (series.count, size))
        given = np.asarray(state, np.float64)
        if given.shape not in ((size,), (series.count, size)):
            raise ValueError(f"state must have shape ({size},) or ({series.count}, {size}), got {given.shape}.")
        return np.broadcast_to(given, (series.count, size))


def model_of(problem: Problem, drive: Drive, linear: LinearMap, groups: Sequence[Group]) -> AutoModel:
    """What was fitted to a problem, with its state at the end of the data."""
    made = AutoModel(
        linear,
        tuple(groups),
        problem.scaling,
        problem.target_scaling,
        problem.classes,
        problem.flat,
        drive,
        np.empty(0),
        problem.columns,
        problem.range,
    )
    made.state_ = made.after(problem.series)
    return made


def add_outputs(group: Group, series: Series, states: Floats | None, outputs: list[Floats]) -> Floats:
    """Add the readouts of all lanes of a group to the outputs; returns the last states (M, B, N). States None: 0."""
    lanes, size = group.coef.shape[:2]

    def read(lane: int, b: int, steps: slice, rows: Floats) -> Floats:
        return np.asarray(group.columns.of_states(rows, group.esn) @ group.coef[lane].T)

    parts, collect = feed.into_outputs(series, size, read, lanes)
    start = states[:, 0] if states is not None and series.kind == "one" else states
    last = group.esn.run_chunks(series, collect, hyper=group.hyper, state=start)
    for lane in parts:
        for b, part in enumerate(lane):
            outputs[b] += part
    return np.asarray(last, np.float64).reshape(lanes, series.count, group.esn.units)


# -------------------------------------------------------------------------------------------------- forecasts of horizons


class Naive(NamedTuple):
    """A forecast that needs no fit: the last value, or the value a season ago.

    Attributes
    ----------
    difference : str
        Whose start value it is, one of `differencing.DIFFERENCES`.
    period : int or None
        m.
    """

    difference: str
    period: int | None

    @property
    def name(self) -> str:
        """In words."""
        return NAIVE_NAMES[self.difference]

    def forecasts(self, values: Floats, at: int | Indices, steps: int) -> Floats:
        """From some origins, (..., steps)."""
        ahead = range(1, steps + 1)
        return np.stack([differencing.start(self.difference, self.period, values, at, h) for h in ahead], axis=-1)


class Trend(NamedTuple):
    """Exponential smoothing.

    Attributes
    ----------
    name : str
        One of `smoothing.TRENDS`.
    period : int or None
        m.
    """

    name: str
    period: int | None


Method: TypeAlias = Naive | Trend | Reader


@dataclass(eq=False)
class Part:
    """A candidate in use.

    Attributes
    ----------
    weights : (H,)
        Weights of its forecasts in units of the data, by horizon.
    view : int
        Which units it works in, a place in `Core.views`.
    method : Naive, Trend or Reader
        What forecasts.
    """

    weights: Floats
    view: int
    method: Method


@dataclass(eq=False)
class View:
    """The series in some units.

    Attributes
    ----------
    units : list of Units
        Units of every series.
    lines : list of Line
        The series in these units.
    lanes : list of Smoothing
        After the end of every series; none where smoothing is not in use.
    """

    units: list[Units]
    lines: list[Line]
    lanes: list[Smoothing] = field(default_factory=list)

    def forecast(self, method: Method, b: int, steps: int, future: Floats) -> Floats:
        """z(t+1), ..., z(t+steps) after the end of series b, with the known inputs of these steps."""
        if isinstance(method, Naive):
            return method.forecasts(self.lines[b].values, -1, steps)
        if isinstance(method, Trend):
            return np.asarray(self.lanes[b].forecasts(steps)[TRENDS.index(method.name)])
        return method.forecast(self.lines[b], b, steps, future)

    def growth(self, b: int, forecast: Floats, share: Floats) -> Floats:
        """(forecast / geometric mean)^share of a series in logarithms, else 1: what the errors of series b grow with."""
        units = self.units[b]
        if not units.log:
            return np.ones_like(forecast)
        lowest = units.back(self.lines[b].values.min())
        return np.asarray(np.exp(share * (np.log(np.maximum(forecast, lowest)) - units.mean)))

    def copied(self) -> View:
        """The same, with its own of all that an update changes in place."""
        return View(self.units, list(self.lines), [replace(lanes, seasons=lanes.seasons.copy()) for lanes in self.lanes])

    def update(self, values: Sequence[Floats], future: Sequence[Floats], past: Sequence[Floats]) -> None:
        """Take more values, in units of the data, and the inputs beside them."""
        for b, more in enumerate(values):
            z = self.units[b].forward(more)
            self.lines[b] = self.lines[b].continued(z, future[b], past[b])
            if self.lanes:
                for each in z.tolist():
                    self.lanes[b].step(each)


def shares_of(views: int, which: Sequence[int], weights: Floats) -> Floats:
    """Weight of every view, (views, H), from the view and the weight (H,) of every forecaster."""
    found = np.zeros((views, weights.shape[1]))
    np.add.at(found, list(which), weights)
    return found


@dataclass(eq=False)
class Core:
    """What was learned.

    Attributes
    ----------
    periods : tuple of int
        m of every season, the shortest first.
    horizon : int
        H.
    views : list of View
        The series as they are, and their logarithms where they are used.
    parts : list of Part
        The forecasters in use.
    scales : (B,)
        Scale of the errors of every series.
    table : (probabilities, H)
        Quantiles of errors in these scales, over g.
    floors : (B,)
        0 for series that were never negative, else minus infinity: no forecast lies below.
    candidates : tuple of (name, error, weight)
        All that were judged, the best first; errors in `scales`, mean over horizons.
    edges : (B, S + 1)
        Edges of the parts of time that were summed up at fit, of every series; the last is its length.
    """

    periods: tuple[int, ...]
    horizon: int
    views: list[View]
    parts: list[Part]
    scales: Floats
    table: Floats
    floors: Floats
    candidates: tuple[tuple[str, float, float], ...]
    edges: Indices

    def forecast(self, steps: int, future: Sequence[Floats]) -> list[tuple[Floats, Floats]]:
        """Forecasts of every series, (steps,), in units of the data; and the factors on the quantiles of errors."""
        found = []
        weights = np.stack([part.weights[:steps] for part in self.parts])
        shares = shares_of(len(self.views), [part.view for part in self.parts], weights)
        for b, scale in enumerate(self.scales):
            total = np.zeros(steps)
            for part in self.parts:
                view = self.views[part.view]
                total += part.weights[:steps] * view.units[b].back(view.forecast(part.method, b, steps, future[b]))
            growth = [view.growth(b, total, share) for view, share in zip(self.views, shares, strict=True)]
            found.append((np.maximum(total, self.floors[b]), scale * np.prod(growth, axis=0)))
        return found

    def updated(self, values: Sequence[Floats], future: Sequence[Floats], past: Sequence[Floats]) -> Core:
        """With more values of every series."""
        views = [view.copied() for view in self.views]
        parts = [replace(each, method=each.method.copied()) if isinstance(each.method, Reader) else each for each in self.parts]
        for view in views:
            view.update(values, future, past)
        for part in parts:
            if isinstance(part.method, Reader):
                part.method.update(views[part.view].lines, self.edges, [len(more) for more in values])
        return replace(self, views=views, parts=parts)
