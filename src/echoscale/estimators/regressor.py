"""`ESNRegressor`: predict one series from another."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin

from echoscale._internal import checks, executors, hints
from echoscale._internal.transaction import all_or_nothing
from echoscale._internal.types import Array
from echoscale.data.differencing import NONE, WITHOUT_SEASON
from echoscale.data.lags import latest
from echoscale.data.scaling import scaling_of
from echoscale.data.series import Series, SeriesLike, as_targets, check_longer_than
from echoscale.data.stored import is_stored, stored_targets
from echoscale.data.targets import NOT_SHOWN, why_not_next_input
from echoscale.estimators import _validation
from echoscale.estimators._validation import RandomState, check_loop, explained_share, map_given
from echoscale.estimators.steps import StepEstimator, Steps
from echoscale.network import Network
from echoscale.readouts import closed_loop, penalties, splits
from echoscale.readouts.columns import Columns
from echoscale.timescales.candidates import recent

if TYPE_CHECKING:
    from echoscale.engine.devices import DeviceLike


# Set on one half of the problems of benchmarks/regressor.py: 0.9, 0.5 and less had larger errors on the worst problem.
SPECTRAL_RADIUS = 0.7


@hints.options
class ESNRegressor(RegressorMixin, StepEstimator):
    """Regression from an input series to an output series, with an echo state network and a ridge readout.

        y(t) = W_out [x(t), u(t), u(t-1), ...] + b

    x(t) is the state of a network that receives the inputs X, and u(t) is row t of X. The prediction for row t depends on rows
    0 to t. X is one series (T, F), a batch (B, T, F) or a list of (T_b, F). y has the same lengths, with or without an axis of
    outputs.

    **Timescales.** Leak rates and the input scaling are chosen if they are left open. Ten candidates, from fast to slow neurons
    and from weak to strong inputs, run side by side on the last 1,500 steps. The candidate with the smallest error on held-out
    blocks of time is fitted to all data. `candidates_` shows all errors. A value that is set is kept.

    **Network.** `units`, `leak_rate`, `spectral_radius` and `input_scaling` describe one reservoir, or parallel reservoirs if
    `units` has several entries. `network=` takes any other network: hierarchies (`es.hierarchical`), couplings, topologies,
    biases, output feedback.

    **Output feedback.** A network with `feedback_scaling` also receives the output of the step before. `fit` and `partial_fit`
    feed back the targets (teacher forcing). `predict` feeds back the model's own outputs, or known outputs that are given as y.
    The readout then sees u(t) and y(t-1), u(t-1) and y(t-2), and so on.

    **State.** `fit` starts every series from the zero state. `predict` and `score` start from rest (`rest_`): the state after a
    long time at the mean input. The state at rest is zero for networks without biases or with output feedback, for scale=None,
    and where a linear level would grow without bound. `predict(X, state=model.state_)` continues after the training data.
    `return_state=True` also returns the last state, for the next piece. `partial_fit` and `forecast` continue from `state_`.

    A `StateWarning` warns of states that are saturated near +-1 or hardly move.

    Parameters
    ----------
    units : int or tuple of int, default 100
        Number of neurons of one reservoir, or of each parallel reservoir.
    leak_rate : float, tuple or None
        Leak rate alpha in (0, 1], one for all reservoirs or one for each. Smaller values give longer memory, of about 1 / alpha
        steps; with 1 a neuron forgets at once. None: chosen on held-out data among 1 for all neurons, 0.1 to 1, and 0.003 to
        0.2. A range is spread over the neurons of one reservoir, or over several reservoirs. The slowest timescale, 1 / alpha,
        is at most a tenth of the longest series.
    spectral_radius : float or tuple, default 0.7
        Spectral radius of the recurrent matrix W, one for all reservoirs or one for each. Larger values give longer memory.
    input_scaling : float, tuple or None
        Scale of the input weights, one for all reservoirs or one for each. Larger values drive tanh closer to saturation. None:
        chosen on held-out data among 0.03, 0.3, 1 and 3, for inputs of standard deviation 1. With fewer than 100 steps nothing
        is chosen: leak rates are 1 and the input scaling is 0.3.
    network : Network or None
        Description of any other network, in place of the four parameters above.
    columns : Columns or None
        Inputs, squares and products of states that the readout sees beside the states; see `echoscale.readouts.Columns`. None:
        the last 13 inputs, or fewer for short data.
    difference : "none" or "last", default "none"
        Target of the readout. "none": y(t). "last": the increment y(t) - y(t-1) with output feedback, and y(t) - u(t) without
        (which needs as many outputs as inputs); the last value is added back. A large ridge penalty then leads to the last
        value instead of the mean.
    noise : float, default 0.0
        Standard deviation of noise on the states during `fit` and `partial_fit`, which makes the readout robust. The noise is
        not sampled: its mean effect over n steps, n noise^2 on the squares of the states, is added exactly. Squares and
        products receive no noise, and `predict` uses none.
    washout : int or None
        Number of steps at the start of every series that `fit` and `score` run but do not count. None: 100, or a tenth of the
        shortest series if that is less. In `partial_fit`, None is the washout of the last `fit`, or 100. With a number, fitting
        chunk by chunk equals one fit of the whole series.
    scale : "standard" or None, default "standard"
        Scaling of inputs and targets. "standard": the network receives data of mean 0 and standard deviation 1, measured in
        `fit` or on the first chunk of `partial_fit`; results are in units of the data, and a constant column becomes 0. None:
        data are used unchanged.
    ridge : "auto", float or list of floats, default "auto"
        Ridge penalty on the readout weights. "auto": chosen by cross-validation from 1e-12 to 1e4 times the mean squared
        singular value of the states; of all penalties with an error within one per cent of the smallest, the largest is taken.
        A list: the best entry. If the smallest penalty of the path is among the best, the path continues down to 0 with an
        exact solution that keeps the states of all steps (up to 512 MiB). With too little data for two folds of four steps,
        "auto" is 1e-4 times the mean squared singular value.

        In `partial_fit`, every chunk is a block that is assigned to the folds in turn, and "auto" chooses again at every call.
        Before there are two folds, "auto" is 1e-4 times the mean squared singular value. After a `fit`, the relative penalty of
        that fit is kept.
    folds : int, default 5
        Number of folds for the choice of the penalty. Folds are blocks of time, separated by gaps of a twentieth of a fold;
        with at least as many series as folds, whole series are held out. Short data have fewer folds.
    dtype : "float32" or "float64", default "float32"
        Precision of the network.
    device : None, "cpu", "gpu" or a jax.Device
        Device that runs the network. None: JAX's choice.
    random_state : int, numpy.random.RandomState or None
        Random seed of the weights. None: a new seed at every fit.

    Attributes
    ----------
    esn_ : ESN
        The network with its weights.
    candidates_ : Candidates or None
        Leak rates, input scalings and held-out errors of all candidates, with `chosen`, `table` and `plot()`; None if nothing
        was chosen. In a stream, the first chunk chooses.
    readout_ : Readout
        Weights W_out (O, N + P + D F) and intercept b (O,), for N states, P squares and products, and the last D scaled inputs.
        Outputs are in units of the data.
    ridge_ : float
        Ridge penalty, given or chosen, in units of the scaled data.
    ridge_curve_ : RidgeCurve or None
        Error on held-out folds for every penalty, with `plot()` and `table()`; None if nothing was chosen.
    scaling_, target_scaling_ : Scaling
        Mean and spread of every input, and of every target.
    washout_ : int
        Washout of the last fit.
    columns_ : Columns
        Columns that the readout sees beside the states; `columns_.inputs` is the number D of inputs.
    statistics_ : Statistics
        Means and sums of products of states and scaled targets, to which `partial_fit` adds.
    state_ : (N,) or (B, N) array
        States after the last fitted step. With D > 1 inputs, (N + (D - 1) F,): the states, then the last inputs, newest first,
        scaled. With output feedback, the last O outputs follow, scaled.
    rest_ : array
        State from which `predict` starts a series, in the layout of `state_`.
    last_target_ : (O,) or (B, O) array
        Last target of every series, where `forecast` starts.
    no_forecast_ : str
        Reason why `forecast` is not possible, since y[t] is not X[t + 1] in the training data; empty if it is possible.
    n_features_in_ : int
        Number F of inputs.

    See Also
    --------
    echoscale.auto : Chooses a model and its settings on held-out data.
    echoscale.Forecaster : Forecasts tables with dates, seasons and several series.
    echoscale.ESNStepClassifier : Predicts one label per step.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.mackey_glass(2000, seed=0, horizon=30)
    >>> model = es.ESNRegressor(units=50, random_state=0).fit(u[:1500], y[:1500])
    >>> print(model.candidates_.chosen)
    leak rates 0.1 to 1 and input scaling 1
    >>> model.predict(u[1500:], state=model.state_).shape
    (500, 1)
    >>> round(model.score(u[1500:], y[1500:]), 3)
    0.998
    """

    no_forecast_: str
    _tie = penalties.TIE

    def __init__(
        self,
        units: int | Sequence[int] = 100,
        leak_rate: float | Sequence[float] | None = None,
        spectral_radius: float | Sequence[float] = SPECTRAL_RADIUS,
        input_scaling: float | Sequence[float] | None = None,
        *,
        network: Network | None = None,
        columns: Columns | None = None,
        difference: str = NONE,
        noise: float = 0.0,
        washout: int | None = None,
        scale: str | None = "standard",
        ridge: float | Sequence[float] | str = "auto",
        folds: int = splits.FOLDS,
        dtype: str = "float32",
        device: DeviceLike = None,
        random_state: RandomState = None,
    ) -> None:
        self.units = units
        self.leak_rate = leak_rate
        self.spectral_radius = spectral_radius
        self.input_scaling = input_scaling
        self.network = network
        self.columns = columns
        self.difference = difference
        self.noise = noise
        self.washout = washout
        self.scale = scale
        self.ridge = ridge
        self.folds = folds
        self.dtype = dtype
        self.device = device
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: SeriesLike, y: SeriesLike, *, executor: Executor | None = None) -> ESNRegressor:
        """Runs the network over X from the zero state and solves for the readout.

        Zarr, HDF5, Dask and xarray arrays and memory maps are read piece by piece: once for the scaling, and once for the fit.

        Parameters
        ----------
        X : (T, F), (T,), (B, T, F) or list of (T_b, F)
            Inputs. An array with one axis, or a pandas Series, is one column.
        y : (T,), (T, O), (B, T), (B, T, O) or list
            Targets of every step. Steps with NaN are not counted; with output feedback, all targets must be known.
        executor : concurrent.futures.Executor, optional
            Executor for pieces of the data, as in `echoscale.readouts.statistics`: every piece of a long series has a washout
            of its own. By default this process runs all.

        Returns
        -------
        ESNRegressor
            The fitted estimator.
        """
        executors.check(executor)
        series, targets = _validation.inputs_and_targets(self, X, y, reset=True, least=2, stored=True)
        ridge, washout = self._penalties(), self._washout(series)
        check_longer_than(series, washout, "X")
        self._fit_steps(self._begin(series, targets, washout, executor), series, targets, ridge, washout, executor)
        self.no_forecast_ = why_not_next_input(recent(series), recent(targets))
        return self

    @all_or_nothing
    def partial_fit(self, X: SeriesLike, y: SeriesLike, *, new_series: bool = False) -> ESNRegressor:
        """Adds a chunk of data that continues the chunk before.

        The first chunk sets the scaling. With `scale=None`, a fixed ridge penalty and a fixed washout, fitting chunk by chunk
        equals one `fit`.

        Parameters
        ----------
        X : (T, F), (T,), (B, T, F) or list of (T_b, F)
            The next steps of every series.
        y : (T,), (T, O), (B, T), (B, T, O) or list
            Targets of every step. Steps with NaN are not counted.
        new_series : bool, default False
            Whether the chunk begins new series, with the zero state and a washout. What was learned is kept.

        Returns
        -------
        ESNRegressor
            The fitted estimator.
        """
        first = not hasattr(self, "esn_")
        series, targets = _validation.inputs_and_targets(self, X, y, reset=first)
        ends = None if first or new_series else self.last_target_
        ridge = self._penalties()
        steps = self._begin(series, targets, None) if first else self._fitted_steps(**self._options())
        self._add_steps(steps, series, targets, ridge, new_series)
        found = why_not_next_input(series, targets, ends)
        before = NOT_SHOWN if first else self.no_forecast_
        self.no_forecast_ = found if before in ("", NOT_SHOWN) and found != NOT_SHOWN else before
        return self

    def predict(
        self,
        X: SeriesLike,
        *,
        y: SeriesLike | None = None,
        state: npt.ArrayLike | None = None,
        return_state: bool = False,
    ) -> Any:
        """Predicts the output at every step of X, washout included.

            y(t) = W_out [x(t), u(t), u(t-1), ...] + b

        Parameters
        ----------
        X : (T, F), (T,), (B, T, F) or list of (T_b, F)
            Inputs.
        y : as in `fit`, or None
            Known outputs, for networks with output feedback; NaN where an output is not known. The network receives known
            outputs one step later, and its own outputs elsewhere.
        state : array like `state_`, or None
            Initial state. None: the state at rest, `rest_`.
        return_state : bool, default False
            Whether the last state is returned too, for the next piece.

        Returns
        -------
        (T, O), (B, T, O) or list of (T_b, O)
            Outputs, without the last axis if y of the fit had none. With `return_state`, a pair of outputs and last state.
        """
        self._check_ready()
        series = _validation.inputs(self, X, reset=False, stored=True)
        if y is not None and not self.esn_.n_outputs:
            raise ValueError(
                "predict takes y only for a model with output feedback (feedback_scaling of its network): leave y out."
            )
        of = stored_targets if is_stored(series) else as_targets
        known = None if y is None else of(y, series, gaps=True)
        if known is not None and known.features != self.esn_.n_outputs:
            raise ValueError(f"y has {known.features} outputs, the model was fitted with {self.esn_.n_outputs}.")
        outputs, last = self._outputs(series, state, known)
        if self.flat_targets_:
            outputs = map_given(lambda each: each[..., 0], outputs)
        return (outputs, last) if return_state else outputs

    def score(self, X: SeriesLike, y: SeriesLike, sample_weight: SeriesLike | None = None) -> float:
        """Returns the coefficient of determination of `predict(X)` over the steps after the washout.

            R^2 = 1 - sum (y - y_hat)^2 / sum (y - mean)^2

        Parameters
        ----------
        X : (T, F), (T,), (B, T, F) or list of (T_b, F)
            Inputs.
        y : as in `fit`
            Targets. They are not fed back, even with output feedback.
        sample_weight : (T,), (B, T), list of (T_b,), or None
            Weight of every step. None: equal weights.

        Returns
        -------
        float
            R^2; 1 is a perfect prediction. The default washout depends on the length of these series.
        """
        self._check_ready()
        series, targets = _validation.inputs_and_targets(self, X, y, reset=False, stored=True)
        washout = self._washout(series)
        check_longer_than(series, washout, "X")
        guess, _ = self._outputs(series, None)
        return explained_share(targets, [guess] if series.kind == "one" else guess, washout, sample_weight)

    def forecast(self, steps: int, *, warmup: SeriesLike | None = None) -> Array:
        """Forecasts the next steps: each prediction is fed back as the next input.

            u(t+1) = y(t)

        The model must have been fitted to predict its own next input, `fit(u[:-1], u[1:])`. The forecast begins after the last
        target of the fit. For a model with output feedback, use `predict(X, state=model.state_)` with the future inputs X.

        Parameters
        ----------
        steps : int
            Number of steps.
        warmup : (T, F) or None
            Series after which the forecast begins. None: the training data.

        Returns
        -------
        (steps, F) or (B, steps, F) array
            Forecast values.

        Examples
        --------
        >>> import numpy as np
        >>> import echoscale as es
        >>> wave = np.sin(0.2 * np.arange(600))[:, None]
        >>> model = es.ESNRegressor(units=50, leak_rate=0.5, random_state=0).fit(wave[:-1], wave[1:])
        >>> print(model.forecast(3)[:, 0].round(2), np.sin(0.2 * np.arange(600, 603)).round(2))
        [0.58 0.73 0.85] [0.58 0.73 0.85]
        """
        self._check_ready()
        steps = checks.integer(steps, "steps", minimum=1)
        return closed_loop.forecast(self.loop(warmup), steps)

    def loop(self, warmup: SeriesLike | None = None, *, dtype: str | None = None) -> closed_loop.Loop:
        """Returns the closed loop of `forecast` as a map of its state, for `echoscale.measures.closed_loop`.

        Parameters
        ----------
        warmup : (T, F), (B, T, F), list of (T_b, F) or None
            Series after which the loop begins. None: the training data.
        dtype : "float32", "float64" or None
            Precision of the network. None: that of the model.

        Returns
        -------
        Loop
            Step, readout, state and last inputs, in units of the network.
        """
        self._check_ready()
        if self.esn_.n_outputs:
            raise ValueError(
                "forecast makes outputs the next inputs; this model has output feedback, and receives its outputs beside its "
                "inputs: predict(X, state=model.state_), where X are the inputs of the steps to come."
            )
        check_loop(self, warmup)
        steps = self._fitted_steps()
        columns, esn = steps.columns, steps.esn if dtype is None else replace(steps.esn, dtype=dtype)
        if warmup is None:
            # The last target is a value of the series too: the network receives it before the loop begins.
            last_input = self.scaling_.forward(self.last_target_)
            state = esn.step(last_input, self.state_[..., : esn.units])
            inputs = np.concatenate([last_input, self.state_[..., esn.units :]], axis=-1)
        else:
            series = self.scaling_.apply(_validation.inputs(self, warmup, reset=False))
            state = esn.run_chunks(series)
            ends = [latest(each, max(int(columns.inputs or 0), 1)).ravel() for each in series.values]
            inputs = ends[0] if series.kind == "one" else np.stack(ends)
        return closed_loop.of_network(esn, self.readout_, columns, state, inputs, self.scaling_)

    def _begin(self, series: Series, targets: Series, washout: int | None, executor: Executor | None = None) -> Steps:
        """A network for these data; washout=None is for streams."""
        columns, outputs = self.columns or Columns(), scaling_of(self.scale, targets, executor)
        given = {"n_outputs": targets.features, "executor": executor, **self._options()}
        return self._steps(series, targets, columns, outputs, washout, **given)

    def _options(self) -> dict[str, Any]:
        """The checked options that change the targets or the statistics of the readout."""
        noise = checks.non_negative(self.noise, "noise", "0 is none.")
        return {"difference": checks.choice(self.difference, WITHOUT_SEASON, "difference"), "noise": noise}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        tags.input_tags.three_d_array = True
        return tags
