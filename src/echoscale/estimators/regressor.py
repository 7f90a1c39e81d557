"""`ESNRegressor`: predict a series from a series."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted, validate_data

from echoscale import _checks
from echoscale.estimators.base import ESNEstimator, counted, last_rows, map_given, name_gaps
from echoscale.estimators.closed_loop import closed_loop
from echoscale.series import Series, as_series, as_targets, axes, check_longer_than

Array = npt.NDArray[Any]


class ESNRegressor(RegressorMixin, ESNEstimator):
    """y(t) = W_out x(t) + b, with x(t) the states of an echo state network driven by X, and W_out by ridge regression.

    X is one series (T, F), a batch (B, T, F) or a list of (T_b, F); y has the same lengths, with or without an axis of outputs.
    Row t of a prediction has seen X[t].

    **What resets the state, and what carries it on.** `fit`, `predict` and `score` start every series from the zero state.
    `predict(X, state=model.state_)` carries on from the end of the training data (or of the last `partial_fit`);
    `predict(X, return_state=True)` also returns where it ended, for the next piece. `partial_fit` always carries on from the
    chunk before, unless told `new_series=True`. `forecast` carries on from `state_`.

    Parameters
    ----------
    units, structure : size(s) and "single" | "parallel" | "hierarchical". Two levels: units=(50, 50), structure="hierarchical".
    leak_rate, spectral_radius, input_scaling, bias_scaling, coupling, connections, topology, coupling_delay :
        as in `echoscale.hierarchical`: one number for all levels or a tuple with one for each.
    network : any `Network`, in place of all the parameters above.
    washout : steps at the start of every series that neither fit nor score counts.
    ridge : the penalty, or a list of penalties of which the best on validation data is taken (`ridge_`).
    validation : with a list of penalties, the share of a validation tail (0.2), or a number of folds, which are blocks of time.
    fit_intercept : whether the readout has an intercept (not penalised).
    direct : whether the readout sees the input as well as the states.
    dtype, device : "float32" or "float64"; None, "cpu", "gpu" or a `jax.Device`.
    random_state : seed of the weights.

    Attributes
    ----------
    esn_, readout_, ridge_, statistics_, state_, last_target_, n_features_in_
    """

    def fit(self, X: Any, y: Any) -> ESNRegressor:
        """Run the network over X from the zero state and solve for the readout. Returns self."""
        self._fit_steps(*self._data(X, y, reset=True, least=2))
        return self

    def partial_fit(self, X: Any, y: Any, *, new_series: bool = False) -> ESNRegressor:
        """Add a chunk: the state is carried on from the chunk before, so chunks equal one `fit` of the whole.

        new_series=True begins from the zero state (and washes out again), keeping all that was learned.
        """
        series, targets = self._data(X, y, reset=not hasattr(self, "esn_"))
        self._partial_fit_steps(series, targets, new_series)
        return self

    def predict(self, X: Any, *, state: Any = None, return_state: bool = False) -> Any:
        """Outputs for every step of X, washout included, from the zero state unless `state` is given."""
        check_is_fitted(self, "readout_")
        outputs, last = self._outputs(self._series(X, reset=False), state)
        if self.flat_targets_:
            outputs = map_given(lambda each: each[..., 0], outputs)
        return (outputs, last) if return_state else outputs

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of `predict(X)` over the steps after the washout."""
        check_is_fitted(self, "readout_")
        series, targets = self._data(X, y, reset=False)
        check_longer_than(series, self.washout, "X")
        guess, _ = self._outputs(series, None)
        if series.kind == "one":
            guess, sample_weight = [guess], None if sample_weight is None else [sample_weight]
        weights = None if sample_weight is None else counted(sample_weight, self.washout)
        rows = counted(targets.values, self.washout), counted(guess, self.washout)
        return float(r2_score(*rows, sample_weight=weights))

    def forecast(self, steps: int, *, warmup: Any = None) -> Array:
        """Closed loop: predict, feed the prediction back as the next input, and so on; (steps, F).

        For models fitted to predict their own next input, `fit(u[:-1], u[1:])`. The forecast begins after the last value that
        the model was shown, so its first row is the step after u's end. With `warmup`, a series (T, F), it begins after the end
        of that series instead.
        """
        check_is_fitted(self, "readout_")
        steps = _checks.integer(steps, "steps", minimum=1)
        outputs = len(self.readout_.intercept)
        if outputs != self.n_features_in_:
            raise ValueError(
                f"forecast feeds outputs back as inputs, but this model has {outputs} outputs and "
                f"{self.n_features_in_} inputs; fit it to predict its own next input: fit(u[:-1], u[1:])."
            )
        if warmup is None:
            # The last target is a value of the series too: the network hears it before it is left alone.
            last_input = self.last_target_
            state = self.esn_.step(last_input, self.state_)
        else:
            series = self._series(warmup, reset=False)
            state, last_input = self.esn_.run_chunks(series), last_rows(series)
        return closed_loop(self.esn_, self.readout_, state, last_input, steps)

    def _data(self, X: Any, y: Any, reset: bool, least: int = 1) -> tuple[Series, Series]:
        if self._many(X):
            series = self._series(X, reset)
            targets = as_targets(y, series)
            flat = axes(y) == 2 if series.kind == "batch" else all(axes(each) == 1 for each in y)
        else:
            name_gaps(y)
            X, y = validate_data(
                self,
                X,
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
