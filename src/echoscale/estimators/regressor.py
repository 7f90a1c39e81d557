"""`ESNRegressor`: predict a series from a series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin

from echoscale._internal import checks
from echoscale._internal.transaction import all_or_nothing
from echoscale._internal.types import Array
from echoscale.data.differencing import NONE, WITHOUT_SEASON
from echoscale.data.lags import latest
from echoscale.data.scaling import scaling_of
from echoscale.data.series import Series, SeriesLike, as_targets, check_longer_than
from echoscale.data.targets import NOT_SHOWN, why_not_next_input
from echoscale.estimators import _validation
from echoscale.estimators._validation import RandomState, explained_share, map_given
from echoscale.estimators.steps import StepEstimator, Steps
from echoscale.network import Network
from echoscale.readouts import closed_loop, splits
from echoscale.readouts.columns import Columns

if TYPE_CHECKING:
    from echoscale.engine.devices import DeviceLike


# Set on one half of the problems of benchmarks/regressor.py: 0.9, 0.5 and less had larger errors on the worst problem.
SPECTRAL_RADIUS = 0.7


class ESNRegressor(RegressorMixin, StepEstimator):
    """Predict a series from a series: the states of an echo state network driven by X, read out by ridge regression.

        y(t) = W_out [x(t), u(t), u(t-1), ...] + b

    X is one series (T, F), a batch (B, T, F) or a list of (T_b, F); y has the same lengths, with or without an axis of outputs.
    Row t of a prediction has seen X[t].

    **The timescales.** Leak rates and input scaling that are left open are chosen: ten candidates, from quick to slow neurons
    with weak to strong inputs, run side by side on the last 1,500 steps, and the one with the least error on held-out blocks of
    time is fitted to all data. `candidates_` shows their errors. A value that is set is kept.

    **The network.** The parameters that people search are `units`, `leak_rate`, `spectral_radius` and `input_scaling`. Several
    numbers of units are reservoirs side by side (`es.parallel`). All other networks are described by `network=`: hierarchies
    (`es.hierarchical`), couplings, topologies, biases, output feedback.

    **Output feedback.** A network with `feedback_scaling` receives y(t-1) too. `fit` and `partial_fit` let it receive the
    targets (teacher forcing). `predict` lets it receive its own outputs, unless the known ones are given as y. The readout's
    last inputs are then u(t) and y(t-1), u(t-1) and y(t-2), and so on.

    **What resets the state, and what carries it on.** `fit` starts every series from the zero state, `predict` and
    `score` from rest: the state after a long time at the mean input (`rest_`). It is the zero state without biases, with
    scale=None, with output feedback, and where a linear level would grow without bound.
    `predict(X, state=model.state_)` carries on from the end of the training data (or of the last `partial_fit`);
    `predict(X, return_state=True)` also returns where it ended, for the next piece. `partial_fit` always carries on from the
    chunk before, unless told `new_series=True`. `forecast` carries on from `state_`.

    A network whose states are of no use, near +-1 or hardly moving, raises a `StateWarning`.

    Parameters
    ----------
    units : int or tuple of int
        Number of neurons, of one reservoir or of each of several.
    leak_rate : float, tuple or None
        alpha in (0, 1] of all reservoirs, or of each; 1 forgets at once. None: chosen by held-out error among 1 for all
        neurons, 0.1 to 1, and 0.003 to 0.2, spread over the neurons of one reservoir, or over several reservoirs. The slowest
        neuron's timescale, 1 / alpha, is at most a tenth of the longest series.
    spectral_radius : float or tuple
        Spectral radius of the recurrent matrices.
    input_scaling : float, tuple or None
        Scale of the input weights. None: chosen among 0.03, 0.3, 1 and 3, for inputs of standard deviation 1. With fewer than
        100 steps nothing is chosen: leak rates are 1 and the input scaling is 0.3.
    network : Network or None
        Any network, in place of the four parameters before.
    columns : Columns or None
        Inputs, squares and products of states that the readout sees beside the states, see `echoscale.readouts.Columns`.
        None: the last 13 inputs, or fewer for short data.
    difference : "none" or "last"
        "last": the readout is fitted to y(t) minus the last known value, which is added back: with output feedback y(t-1), else
        the input u(t), which needs as many outputs as inputs. A large ridge penalty then leaves that value instead of the mean.
    noise : float
        Standard deviation of noise on the states in `fit` and `partial_fit`, which the readout is to withstand, as of
        `es.tune(noise=...)`: n noise^2 is added to the squares of n steps, which is what such noise does on average. None is
        drawn, and `predict` has none. Squares and products have no noise.
    washout : int or None
        Steps at the start of every series that `fit` and `score` run but do not count. None: 100, or a tenth of the shortest
        series where that is less. `partial_fit` does not know the end of its series: None is then the washout of a `fit`
        before it, or 100. With a number, chunks equal one fit of the whole.
    scale : "standard" or None
        "standard": the network sees inputs and targets of mean 0 and standard deviation 1, over all data of `fit`, or over
        the first chunk of `partial_fit`; results are in units of the data. A column that is constant there becomes 0. None:
        the network sees the data as they are.
    ridge : "auto", float or list of floats
        The penalty on the readout's weights. "auto": from a path of 1e-12 to 1e4 times the mean squared singular value of the
        states, the largest whose error on held-out folds is within one per cent of the least; a list: the same for its
        penalties. Where the smallest of the path is among the best, it goes on down to 0 with an exact solution that needs the
        states of all steps at once (up to 512 MiB). With too little data for two folds of four steps, "auto" is 1e-4 times that
        mean square. In `partial_fit`, every chunk is a block, dealt out to the folds in turn, and "auto" chooses again at every
        call; before there are two folds it is 1e-4 times the mean square, and after a `fit` the relative penalty of that fit
        stays.
    folds : int
        Number of folds that choose a penalty: blocks of time with a gap of a twentieth of a fold between them (whole series
        where there are as many series as folds; fewer folds where data are short).
    dtype : "float32" or "float64"
        Precision of the network.
    device : None, "cpu", "gpu" or a jax.Device
        Where it runs; None: JAX's choice.
    random_state : int, numpy.random.RandomState or None
        Seed of the weights; None: fresh entropy.

    Attributes
    ----------
    esn_ : ESN
        The network with its weights.
    candidates_ : Candidates or None
        Leak rates, input scalings and held-out errors of the candidates, with `chosen`, `table` and `plot()`; None if nothing
        was chosen. In a stream, the first chunk chooses.
    readout_ : Readout
        W_out (O, N + P + D F) and b (O,), from states, P squares and products, and the last D scaled inputs to targets in units
        of the data.
    ridge_ : float
        The penalty, as given or as chosen, in units of the scaled data.
    ridge_curve_ : RidgeCurve or None
        The error of the held-out folds against the penalty, with `plot()` and `table()`; None where nothing was chosen.
    scaling_, target_scaling_ : Scaling
        `mean` and `spread` of every input, and of every target.
    washout_ : int
        The steps that the last fit did not count.
    columns_ : Columns
        What the readout sees beside the states; `columns_.inputs` is the number D of inputs.
    statistics_ : Statistics
        Of states and scaled targets; `partial_fit` adds to them.
    state_ : (N,) or (B, N) array
        The states after the last step that was fitted. With D > 1 inputs, (N + (D - 1) F,): the states, then the last
        inputs, newest first, in units of the network. With output feedback O more: the last output, in units of the network.
    rest_ : array
        The state from which `predict` starts a series, laid out as `state_`.
    last_target_ : (O,) or (B, O) array
        The last target, after which `forecast` begins.
    no_forecast_ : str
        Why `forecast` would be wrong, since y[t] is not X[t + 1] in what was fitted; empty where it is.
    n_features_in_ : int
        F.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.mackey_glass(2000, seed=0, horizon=30)
    >>> model = es.ESNRegressor(units=50, random_state=0).fit(u[:1500], y[:1500])
    >>> print(model.candidates_.chosen)
    leak rates 0.1 to 1 and input scaling 1
    >>> model.predict(u[1500:], state=model.state_).shape
    (500, 1)
    >>> model.score(u[1500:], y[1500:]) > 0.9
    True
    """

    no_forecast_: str

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
    def fit(self, X: SeriesLike, y: SeriesLike) -> ESNRegressor:
        """Run the network over X from the zero state and solve for the readout.

        Parameters
        ----------
        X : (T, F), (T,), (B, T, F) or list of (T_b, F)
            Inputs; an array of one axis or a pandas Series is one column.
        y : (T,), (T, O), (B, T), (B, T, O) or list
            Targets of every step; those with a NaN do not count. With output feedback all must be known.

        Returns
        -------
        ESNRegressor
            Itself.
        """
        series, targets = _validation.inputs_and_targets(self, X, y, reset=True, least=2)
        ridge, washout = self._penalties(), self._washout(series)
        self._fit_steps(self._begin(series, targets, washout), series, targets, ridge, washout)
        self.no_forecast_ = why_not_next_input(series, targets)
        return self

    @all_or_nothing
    def partial_fit(self, X: SeriesLike, y: SeriesLike, *, new_series: bool = False) -> ESNRegressor:
        """Add a chunk: the state is carried on from the chunk before.

        The first chunk sets the scaling. With `scale=None`, a fixed ridge and the same washout, chunks equal one `fit`.

        Parameters
        ----------
        X : (T, F), (T,), (B, T, F) or list of (T_b, F)
            The next steps of every series.
        y : (T,), (T, O), (B, T), (B, T, O) or list
            Targets of every step; those with a NaN do not count.
        new_series : bool
            Begin from the zero state, and wash out again, keeping all that was learned.

        Returns
        -------
        ESNRegressor
            Itself.
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
        """y(t) = W_out [x(t), u(t), ...] + b for every step of X, washout included.

        Parameters
        ----------
        X : (T, F), (T,), (B, T, F) or list of (T_b, F)
            Inputs.
        y : as in `fit`, or None
            With output feedback: outputs that are known, NaN where they are not. The network receives them in the step after;
            where they are not known, and without y, it receives its own outputs.
        state : as `state_`, or None
            Where the network begins; None: at rest (see above).
        return_state : bool
            Also return the last states, for the next piece.

        Returns
        -------
        (T, O), (B, T, O) or list of (T_b, O)
            Outputs, without the last axis where y of the fit had none; with `return_state`, also the states, as `state_`.
        """
        self._check_ready()
        series = _validation.inputs(self, X, reset=False)
        if y is not None and not self.esn_.n_outputs:
            raise ValueError(
                "y has a meaning for a model with output feedback alone (feedback_scaling of its network): leave it out."
            )
        known = None if y is None else as_targets(y, series, gaps=True)
        if known is not None and known.features != self.esn_.n_outputs:
            raise ValueError(f"y has {known.features} outputs, the model was fitted with {self.esn_.n_outputs}.")
        outputs, last = self._outputs(series, state, known)
        if self.flat_targets_:
            outputs = map_given(lambda each: each[..., 0], outputs)
        return (outputs, last) if return_state else outputs

    def score(self, X: SeriesLike, y: SeriesLike, sample_weight: SeriesLike | None = None) -> float:
        """R^2 = 1 - sum (y - y_hat)^2 / sum (y - mean)^2 of `predict(X)` over the steps after the washout.

        Parameters
        ----------
        X : (T, F), (T,), (B, T, F) or list of (T_b, F)
            Inputs.
        y : as in `fit`
            Targets. A model with output feedback does not hear them.
        sample_weight : (T,), (B, T), list of (T_b,), or None
            How much each step counts; None: all alike.

        Returns
        -------
        float
            1 is best. The default washout follows from these series.
        """
        self._check_ready()
        series, targets = _validation.inputs_and_targets(self, X, y, reset=False)
        washout = self._washout(series)
        check_longer_than(series, washout, "X")
        guess, _ = self._outputs(series, None)
        return explained_share(targets, [guess] if series.kind == "one" else guess, washout, sample_weight)

    def forecast(self, steps: int, *, warmup: SeriesLike | None = None) -> Array:
        """u(t+1) = y(t): predict, feed the prediction back as the next input, and so on.

        For models fitted to predict their own next input, `fit(u[:-1], u[1:])`; others are refused. The forecast begins after
        the last value that the model was shown, so its first row is the step after u's end. A model with output feedback
        hears its outputs in `predict(X, state=model.state_)`, with the inputs that are to come.

        Parameters
        ----------
        steps : int
            How many.
        warmup : (T, F) or None
            Begin after the end of this series instead.

        Returns
        -------
        (steps, F) or (B, steps, F) array
            The forecast.

        Examples
        --------
        >>> import numpy as np
        >>> import echoscale as es
        >>> wave = np.sin(0.2 * np.arange(600))[:, None]
        >>> model = es.ESNRegressor(units=50, leak_rate=0.5, random_state=0).fit(wave[:-1], wave[1:])
        >>> bool(np.abs(model.forecast(20)[:, 0] - np.sin(0.2 * np.arange(600, 620))).max() < 0.1)
        True
        """
        self._check_ready()
        steps = checks.integer(steps, "steps", minimum=1)
        if self.esn_.n_outputs:
            raise ValueError(
                "forecast makes outputs the next inputs; this model has output feedback, and hears its outputs beside its "
                "inputs: predict(X, state=model.state_), where X are the inputs of the steps to come."
            )
        if self.no_forecast_:
            raise ValueError(
                f"forecast makes outputs the next inputs, but {self.no_forecast_} Fit a model to predict its own next input: "
                "fit(u[:-1], u[1:])."
            )
        steps_of_model = self._fitted_steps()
        esn, columns = steps_of_model.esn, steps_of_model.columns
        if warmup is None:
            if np.isnan(self.last_target_).any():
                raise ValueError(
                    "the last target is NaN, and a forecast begins after it: give the last known values as warmup."
                )
            # The last target is a value of the series too: the network hears it before it is left alone.
            last_input = self.scaling_.forward(self.last_target_)
            state = esn.step(last_input, self.state_[..., : esn.units])
            inputs = np.concatenate([last_input, self.state_[..., esn.units :]], axis=-1)
        else:
            series = self.scaling_.apply(_validation.inputs(self, warmup, reset=False))
            state = esn.run_chunks(series)
            ends = [latest(each, max(int(columns.inputs or 0), 1)).ravel() for each in series.values]
            inputs = ends[0] if series.kind == "one" else np.stack(ends)
        return closed_loop.forecast(esn, self.readout_, columns, state, inputs, steps, self.scaling_)

    def _begin(self, series: Series, targets: Series, washout: int | None) -> Steps:
        """A network for these data; washout=None is for streams."""
        columns, outputs = self.columns or Columns(), scaling_of(self.scale, targets)
        return self._steps(series, targets, columns, outputs, washout, n_outputs=targets.features, **self._options())

    def _options(self) -> dict[str, Any]:
        """What the readout is fitted to, checked."""
        noise = checks.non_negative(self.noise, "noise", "0 is none.")
        return {"difference": checks.choice(self.difference, WITHOUT_SEASON, "difference"), "noise": noise}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        tags.input_tags.three_d_array = True
        return tags
