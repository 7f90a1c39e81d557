"""The models that `es.auto` fits: an `AutoModel` for targets of every step, a `SequenceModel` for labels of whole sequences.

    y(t) = A (u(t - l_1), ..., u(t - l_n)) + b + sum over networks and lanes of W_m x_m(t)              `AutoModel`
    z_b = sum over members m of (W_m f_m,b + b_m),   f_m,b pooled states of network m (`ESNFeatures`)    `SequenceModel`

An `AutoModel` is a linear map of recent inputs plus readouts of some networks, whatever method won: the simple methods have no
networks. A `SequenceModel` gives one label per sequence. Inputs and outputs are in units of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.data.lags import latest
from echoscale.data.losses import probabilities
from echoscale.data.normal_scores import heard_of
from echoscale.data.scaling import Scaling
from echoscale.data.series import Series, SeriesLike, as_series
from echoscale.engine import feed
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.estimators.features import ESNFeatures
from echoscale.forecasting.networks import Drive
from echoscale.forecasting.selection.lags import LinearMap
from echoscale.forecasting.selection.problem import Range, warn_of_range
from echoscale.readouts.ridge import Readout
from echoscale.readouts.states import at_rest


@dataclass(frozen=True, eq=False)
class Group:
    """A network, some lanes of it, and what is read out of each.

    Attributes
    ----------
    esn : ESN
        The network with its weights.
    hyper : Hyper
        Hyper-parameters of M lanes.
    coef : (M, O, N)
        Weights of every lane, already divided by the number of members.
    """

    esn: ESN
    hyper: Hyper
    coef: Floats


@dataclass(eq=False)
class AutoModel:
    """y(t) = A (u(t - l_1), ..., u(t - l_n)) + b + sum_m W_m x_m(t), in units of the data; made by `es.auto`.

    Attributes
    ----------
    linear : LinearMap
        A and b, in units of the network.
    groups : tuple of Group
        The networks; none where a simple method won.
    scaling, target_scaling : Scaling
        Units of inputs and of targets.
    classes_ : array or None
        The labels in the order of the outputs; None for numbers.
    flat : bool
        Whether predictions have no axis of outputs, as y had none.
    drive : Drive
        Which inputs the networks hear as changes.
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
            last = _add_outputs(group, driven, np.ascontiguousarray(states), outputs)
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


class SequenceMember(NamedTuple):
    """A network with its pools, and the readout of them.

    Attributes
    ----------
    transformer : ESNFeatures
        Pools the states of the network, which receives the inputs as `heard_of` prepares them.
    readout : Readout
        W and b.
    changes : bool or "only"
        Whether the network receives the changes of the inputs beside the inputs, not at all, or alone.
    backwards : bool
        Whether the network receives every sequence from its end to its start.
    """

    transformer: ESNFeatures
    readout: Readout
    changes: bool | str = False
    backwards: bool = False

    def scores(self, series: Series) -> Floats:
        """W f + b of every sequence, (B, O)."""
        return self.readout.predict(self.transformer.pool(heard_of(series, self.changes, self.backwards)))


@dataclass(eq=False)
class SequenceModel:
    """class of sequence b = argmax of the sum over members of W_m f_m,b + b_m; made by `es.auto` for one label per sequence.

    Attributes
    ----------
    members : tuple of SequenceMember
        The networks, each with its share in W_m and b_m; none where a ridge on a summary of the inputs won.
    summary : Readout or None
        Of the summary, where it won.
    scaling : Scaling
        Units of the inputs of both.
    classes_ : array
        The labels in the order of the outputs.
    steepness : float
        beta in p = softmax(beta z).
    state_ : None
        Every sequence begins anew.
    feature_names_in_ : tuple of str
        Names of the input columns, where the training data were data frames; `predict` refuses other columns.
    """

    members: tuple[SequenceMember, ...]
    summary: Readout | None
    scaling: Scaling
    classes_: npt.NDArray[Any]
    steepness: float
    state_: None = None
    feature_names_in_: tuple[str, ...] = ()

    def predict(self, X: SeriesLike, *, state: None = None) -> npt.NDArray[Any]:
        """The label of every sequence.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences, in units of the data.
        state : None
            Every sequence begins anew.

        Returns
        -------
        (B,)
            Labels.
        """
        return np.asarray(self.classes_[np.argmax(self.predict_scores(X, state=state), axis=1)])

    def predict_proba(self, X: SeriesLike) -> Floats:
        """softmax(beta z), (B, classes), calibrated on sequences left out one by one.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences, in units of the data.
        """
        return probabilities("softmax", self.steepness * self.predict_scores(X))

    def predict_scores(self, X: SeriesLike, *, state: None = None) -> Floats:
        """The outputs before the largest is taken, (B, classes): near 1 for the right class, near 0 for the others.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences.
        state : None
            Every sequence begins anew.
        """
        if state is not None:
            raise ValueError("state must be None: every sequence begins anew.")
        series = self.scaling.apply(as_series(X, len(self.scaling.mean), name="X", columns=self.feature_names_in_))
        if series.kind == "one":
            raise ValueError("this model labels whole sequences: pass (B, T, F) or a list of (T, F), for one sequence X[None].")
        if self.summary is not None:
            return checks.finite(self.summary.predict(summary_of(series)), "scores")
        return checks.finite(np.sum([each.scores(series) for each in self.members], axis=0), "scores")


def summary_of(series: Series) -> Floats:
    """Mean, standard deviation, first and last value of every input, (B, 4 F)."""
    rows = [np.asarray(each) for each in series.values]
    return np.stack([np.concatenate([each.mean(axis=0), each.std(axis=0), each[0], each[-1]]) for each in rows])


def _add_outputs(group: Group, series: Series, states: Floats, outputs: list[Floats]) -> Floats:
    """Add the readouts of all lanes of a group to the outputs; returns the last states (M, B, N)."""
    lanes, size = group.coef.shape[:2]
    parts, collect = feed.into_outputs(series, size, lambda lane, b, steps, rows: rows @ group.coef[lane].T, lanes)
    start = states[:, 0] if series.kind == "one" else states
    last = group.esn.run_chunks(series, collect, hyper=group.hyper, state=start)
    for lane in parts:
        for b, part in enumerate(lane):
            outputs[b] += part
    return np.asarray(last, np.float64).reshape(lanes, series.count, group.esn.units)
