"""`ESNRegressor`: predict a series from a series."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import validate_data

from echoscale import _checks
from echoscale.estimators.base import ESNEstimator, as_table, counted, map_given, name_gaps
from echoscale.estimators.closed_loop import closed_loop
from echoscale.readouts import recent
from echoscale.scaling import Scaling, scaling_of
from echoscale.series import Series, SeriesLike, as_series, as_targets, axes, check_longer_than
from echoscale.undo import all_or_nothing

Array = npt.NDArray[Any]


class ESNRegressor(RegressorMixin, ESNEstimator):
    """y(t) = W_out [x(t), u(t), ..., u(t - direct + 1)] + b, with x(t) the states of an echo state network driven by X.

    W_out is found by ridge regression on the states and the last inputs. X is one series (T, F), a batch (B, T, F) or a list of
    (T_b, F); y has the same lengths, with or without an axis of outputs. Row t of a prediction has seen X[t].

    **What resets the state, and what carries it on.** `fit`, `predict` and `score` start every series from the zero state.
    `predict(X, state=model.state_)` carries on from the end of the training data (or of the last `partial_fit`);
    `predict(X, return_state=True)` also returns where it ended, for the next piece. `partial_fit` always carries on from the
    chunk before, unless told `new_series=True`. `forecast` carries on from `state_`.

    A network whose states are of no use, near +-1 or hardly moving, raises a `StateWarning`.

    Parameters
    ----------
    units : int or tuple of int
        Neurons, of every level.
    structure : "single", "parallel" or "hierarchical"
        How the levels are joined. Two levels: units=(50, 50), structure="hierarchical".
    leak_rate : float or tuple
        alpha in (0, 1] of all levels, or of each; 1 forgets at once.
    spectral_radius : float or tuple
        Of the recurrent weights.
    input_scaling : float or tuple
        Of the input weights. In a hierarchy, one number is that of the first level; the others have 0.
    bias_scaling : float or tuple
        Of the biases; 0 is none.
    coupling : float or tuple
        Strength of the links of a hierarchy.
    connections : int, tuple or None
        Non-zero weights in each row; None: 10, or all where there are fewer units.
    topology : str, Concentric or (units, units) matrix
        "normal", "uniform", "delay_line", "ring", "concentric", or weights of your own.
    coupling_delay : 0 or 1
        Steps that a link takes.
    network : Network or None
        Any network, in place of all the parameters above.
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
        states, the best on held-out folds; a list: the best of it. Where the smallest of the path is among the best, it goes on
        down to 0 with an exact solution that needs the states of all steps at once (up to 512 MiB). With too little data for
        two folds of four steps, "auto" is 1e-4 times that mean square. In `partial_fit`, every chunk
        is a block, dealt out to the folds in turn, and "auto" chooses anew at every call; before there are two folds it is 1e-4
        times the mean square, and after a `fit` the relative penalty of that fit stays.
    validation : int or float
        What a penalty is chosen by: a number of folds, which are blocks of time with a gap of a twentieth of a fold between
        them (whole series where there are as many series as folds; fewer folds where data are short), or the share of a
        validation tail.
    fit_intercept : bool
        Whether the readout has an intercept, which is not penalised. Without one, and with `scale`, targets have their mean.
    direct : bool, int or None
        How many of the last inputs u(t), u(t-1), ... the readout sees beside the states; True is 1, False none. Those before
        the start of a series are 0, in units of the network. None: 13, or fewer, so that there are five steps after the
        washout for each column of them, and 1 at least (`direct_`). A stream of `partial_fit` takes 13, since its end is not
        known, or those of a `fit` before it.
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
    readout_ : Readout
        W_out (O, N + direct_ F) and b (O,), from states and scaled inputs to targets in units of the data.
    ridge_ : float
        The penalty, as given or as chosen, in units of the scaled data.
    ridge_curve_ : RidgeCurve or None
        The error of the held-out folds against the penalty, with `plot()` and `table()`; None where nothing was chosen.
    scaling_, target_scaling_ : Scaling
        `mean` and `spread` of every input, and of every target.
    washout_ : int
        The steps that the last fit did not count.
    direct_ : int
        The last inputs that the readout sees.
    statistics_ : Statistics
        Of states and scaled targets; `partial_fit` adds to them.
    state_ : (N,) or (B, N) array
        The states after the last step that was fitted. With direct_ > 1, (N + (direct_ - 1) F,): the states, then the last
        inputs, newest first, in units of the network.
    last_target_ : (O,) or (B, O) array
        The last target, after which `forecast` begins.
    n_features_in_ : int
        F.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.narma(1500, order=10, seed=0)
    >>> model = es.ESNRegressor(units=50, input_scaling=0.2, random_state=0).fit(u[:1000], y[:1000])
    >>> model.washout_, model.predict(u[1000:], state=model.state_).shape
    (100, (500, 1))
    >>> model.score(u[1000:], y[1000:]) > 0.5
    True
    """

    @all_or_nothing
    def fit(self, X: SeriesLike, y: SeriesLike) -> ESNRegressor:
        """Run the network over X from the zero state and solve for the readout.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs; a pandas Series is one column. An array of one axis needs a second, X[:, None].
        y : (T,), (T, O), (B, T), (B, T, O) or list
            Targets of every step.

        Returns
        -------
        ESNRegressor
            Itself.
        """
        self._fit_steps(*self._data(X, y, reset=True, least=2))
        return self

    @all_or_nothing
    def partial_fit(self, X: SeriesLike, y: SeriesLike, *, new_series: bool = False) -> ESNRegressor:
        """Add a chunk: the state is carried on from the chunk before.

        The first chunk sets the scaling. With `scale=None`, a fixed ridge and the same washout, chunks equal one `fit`.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            The next steps of every series.
        y : (T,), (T, O), (B, T), (B, T, O) or list
            Targets of every step.
        new_series : bool
            Begin from the zero state, and wash out again, keeping all that was learned.

        Returns
        -------
        ESNRegressor
            Itself.
        """
        series, targets = self._data(X, y, reset=not hasattr(self, "esn_"))
        self._partial_fit_steps(series, targets, new_series)
        return self

    def predict(self, X: SeriesLike, *, state: npt.ArrayLike | None = None, return_state: bool = False) -> Any:
        """y(t) = W_out [x(t), u(t), ...] + b for every step of X, washout included.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        state : as `state_`, or None
            Where the network begins; None: zero.
        return_state : bool
            Also return the last states, for the next piece.

        Returns
        -------
        (T, O), (B, T, O) or list of (T_b, O)
            Outputs, without the last axis where y of the fit had none; with `return_state`, also the states, as `state_`.
        """
        self._check_ready()
        outputs, last = self._outputs(self._series(X, reset=False), state)
        if self.flat_targets_:
            outputs = map_given(lambda each: each[..., 0], outputs)
        return (outputs, last) if return_state else outputs

    def score(self, X: SeriesLike, y: SeriesLike, sample_weight: SeriesLike | None = None) -> float:
        """R^2 = 1 - sum (y - y_hat)^2 / sum (y - mean)^2 of `predict(X)` over the steps after the washout.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        y : as in `fit`
            Targets.
        sample_weight : (T,), (B, T), list of (T_b,), or None
            How much each step counts; None: all alike.

        Returns
        -------
        float
            1 is best. The default washout is that of these series.
        """
        self._check_ready()
        series, targets = self._data(X, y, reset=False)
        washout = self._washout(series)
        check_longer_than(series, washout, "X")
        guess, _ = self._outputs(series, None)
        weights: Any = sample_weight
        if series.kind == "one":
            guess, weights = [guess], None if weights is None else [weights]
        weights = None if weights is None else counted(weights, washout)
        rows = counted(targets.values, washout), counted(guess, washout)
        return float(r2_score(*rows, sample_weight=weights))

    def forecast(self, steps: int, *, warmup: SeriesLike | None = None) -> Array:
        """u(t+1) = y(t): predict, feed the prediction back as the next input, and so on.

        For models fitted to predict their own next input, `fit(u[:-1], u[1:])`. The forecast begins after the last value that
        the model was shown, so its first row is the step after u's end.

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
        steps = _checks.integer(steps, "steps", minimum=1)
        outputs = len(self.readout_.intercept)
        if outputs != self.n_features_in_:
            raise ValueError(
                f"forecast feeds outputs back as inputs, but this model has {outputs} outputs and "
                f"{self.n_features_in_} inputs; fit it to predict its own next input: fit(u[:-1], u[1:])."
            )
        direct = max(self.direct_, 1)
        if warmup is None:
            # The last target is a value of the series too: the network hears it before it is left alone.
            last_input = self.scaling_.forward(self.last_target_)
            units = self.esn_.units
            state = self.esn_.step(last_input, self.state_[..., :units])
            inputs = np.concatenate([last_input, self.state_[..., units:]], axis=-1)
        else:
            series = self.scaling_.apply(self._series(warmup, reset=False))
            state = self.esn_.run_chunks(series)
            windows = [recent.windows(each, direct)[-1] for each in series.values]
            inputs = windows[0] if series.kind == "one" else np.stack(windows)
        return closed_loop(self.esn_, self.readout_, state, inputs, steps, self.scaling_)

    def _scaling_of_targets(self, targets: Series) -> Scaling:
        return scaling_of(self.scale, targets)

    def _data(self, X: SeriesLike, y: Any, reset: bool, least: int = 1) -> tuple[Series, Series]:
        if self._many(X):
            series = self._series(X, reset)
            targets = as_targets(y, series)
            flat = axes(y) == 2 if series.kind == "batch" else all(axes(each) == 1 for each in y)
        else:
            name_gaps(X, y)
            X, y = validate_data(
                self,
                as_table(X),
                y,
                reset=reset,
                dtype=np.float64,
                ensure_all_finite=False,
                multi_output=True,
                y_numeric=True,
                ensure_min_samples=least,
            )
            series = as_series(X, name="X")
            targets, flat = as_targets(y, series), np.ndim(y) == 1
        if reset:
            self.flat_targets_ = flat
        elif hasattr(self, "readout_") and targets.features != len(self.readout_.intercept):
            raise ValueError(f"y has {targets.features} outputs, the model was fitted with {len(self.readout_.intercept)}.")
        return series, targets

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        tags.input_tags.three_d_array = True
        return tags
