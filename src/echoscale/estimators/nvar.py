"""`NVAR`: ridge regression on products of recent inputs, without a network (next-generation reservoir computing).

y(t) = W (z, z_i z_j, ...) + b,   z = (u(t), u(t - s), ..., u(t - (k - 1) s))       (Gauthier et al. 2021)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from echoscale._internal import checks, hints
from echoscale._internal.transaction import all_or_nothing
from echoscale._internal.types import Array, Floats, Indices
from echoscale.data.differencing import NONE, WITHOUT_SEASON, LastValue
from echoscale.data.lags import lagged, latest
from echoscale.data.scaling import STANDARD, Scaling, scaling_of
from echoscale.data.series import Series, SeriesLike
from echoscale.data.targets import why_not_next_input
from echoscale.engine.devices import precision_and_device
from echoscale.estimators import _validation
from echoscale.estimators._validation import as_given, counted, explained_share, last_rows, map_given
from echoscale.readouts import closed_loop, fit, penalties, splits
from echoscale.readouts.penalties import RidgeCurve
from echoscale.readouts.ridge import Readout
from echoscale.readouts.statistics import Statistics, of_rows

MOST_PRODUCTS = 10_000
# Numbers in one block of rows of features: 32 MB.
BLOCK = 1 << 22


@hints.options
class NVAR(RegressorMixin, BaseEstimator):
    """Ridge regression on recent inputs and their products (nonlinear vector autoregression, NVAR), without a network.

        y(t) = W (z, all products of up to `degree` entries of z) + b,   z = (u(t), u(t - s), ..., u(t - (k - 1) s))

    The method is also called next-generation reservoir computing (Gauthier et al. 2021). Nothing is random. k lags of F inputs
    give comb(k F + degree, degree) features, including the constant b, so the method suits few inputs and short memory. X is
    one series (T, F), a batch (B, T, F) or a list of (T_b, F). The prediction for row t depends on rows up to t. Inputs before
    the start of a series are set to their mean.

    Parameters
    ----------
    lags : int, default 2
        Number k of inputs in the window z, including the present one.
    stride : int, default 1
        Number s of steps from one input of the window to the next.
    degree : int, default 2
        Largest number of factors in a product. 1 gives linear regression on lags.
    difference : "none" or "last", default "none"
        Target of the regression. "none": y(t). "last": the increment y(t) - u(t), to which u(t) is added back; this needs as
        many outputs as inputs.
    scale : "standard" or None, default "standard"
        Scaling of inputs and targets. "standard": mean 0 and standard deviation 1 in the model; results are in units of the
        data. None: data are used unchanged.
    ridge : "auto", float or list of floats, default "auto"
        Ridge penalty on W, as in `ESNRegressor`. "auto" or a list: chosen by cross-validation.
    folds : int, default 5
        Number of folds for the choice of the penalty; folds are blocks of time.

    Attributes
    ----------
    readout_ : Readout
        Weights W (O, features) and intercept b (O,), from products of scaled inputs to outputs in units of the data. The lags
        come first, newest first, then products of two, and so on.
    ridge_ : float
        Ridge penalty, given or chosen, in units of the scaled data.
    ridge_curve_ : RidgeCurve or None
        Error on held-out folds for every penalty; None if nothing was chosen.
    scaling_, target_scaling_ : Scaling
        Mean and spread of every input, and of every target.
    washout_ : int
        Number (k - 1) s of steps at the start of a series that are not fitted, since their window is incomplete.
    state_ : (washout_ F,) or (B, washout_ F) array
        Last inputs of the fit, newest first, scaled: `predict(X, state=model.state_)` continues from them.
    last_target_ : (O,) or (B, O) array
        Last target of every series, where `forecast` starts.
    no_forecast_ : str
        Reason why `forecast` is not possible; empty if y[t] is X[t + 1].
    n_features_in_ : int
        Number F of inputs.

    See Also
    --------
    echoscale.ESNRegressor : Regression with the states of an echo state network, for longer memory.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.narma(1500, order=10, seed=1)
    >>> model = es.NVAR(lags=12).fit(u[:1000], y[:1000])
    >>> model.readout_.coef.shape
    (1, 90)
    >>> round(model.score(u[1000:], y[1000:]), 2)
    0.86
    """

    n_features_in_: int
    flat_targets_: bool
    readout_: Readout
    ridge_: float
    ridge_curve_: RidgeCurve | None
    scaling_: Scaling
    target_scaling_: Scaling
    washout_: int
    state_: Floats
    last_target_: Floats
    no_forecast_: str
    feature_names_in_: npt.NDArray[np.object_]

    def __init__(
        self,
        lags: int = 2,
        stride: int = 1,
        degree: int = 2,
        *,
        difference: str = NONE,
        scale: str | None = "standard",
        ridge: float | Sequence[float] | str = "auto",
        folds: int = splits.FOLDS,
    ) -> None:
        self.lags = lags
        self.stride = stride
        self.degree = degree
        self.difference = difference
        self.scale = scale
        self.ridge = ridge
        self.folds = folds

    @all_or_nothing
    def fit(self, X: SeriesLike, y: SeriesLike) -> NVAR:
        """Fits W and b, with the penalty that the folds choose.

        Parameters
        ----------
        X : (T, F), (T,), (B, T, F) or list of (T_b, F)
            Inputs. An array with one axis, or a pandas Series, is one column.
        y : (T,), (T, O), (B, T), (B, T, O) or list
            Targets of every step. Steps with NaN are not counted.

        Returns
        -------
        NVAR
            The fitted estimator.
        """
        chosen_from = self._check_parameters()
        series, targets = _validation.inputs_and_targets(self, X, y, reset=True, least=2)
        washout, places = self._span(series), self._places(series.features)
        inputs, outputs = scaling_of(self.scale, series), scaling_of(self.scale, targets)
        scaled, wanted = inputs.apply(series), outputs.apply(targets)
        present = self._present(inputs, outputs)
        fitted = list(wanted.values)
        if present is not None:
            fitted = [present.taken_off(y, u) for u, y in zip(scaled.values, fitted, strict=True)]
        held_out = fit.splits_of(self.folds, series.lengths, washout, chosen_from is None or len(chosen_from) > 1)
        edges = held_out.edges
        # For every segment, the windows and the targets of all series.
        windows = [self._windows(u) for u in scaled.values]
        pieces = [
            [(z[cut[s] : cut[s + 1]], y[cut[s] : cut[s + 1]]) for z, y, cut in zip(windows, fitted, edges, strict=True)]
            for s in range(len(edges[0]) - 1)
        ]
        parts = [_statistics(piece, places) for piece in pieces]
        known = np.concatenate([~np.isnan(each[washout:]).any(axis=1) for each in fitted])
        if known.sum() < 2:
            raise ValueError(f"X leaves {known.sum()} steps with a whole window and a target: at least 2 are needed.")

        def rows() -> tuple[Array, Array, list[Indices]]:
            features = _products(counted(windows, washout), places)
            return features, counted(fitted, washout), [each[known[each]] for each in held_out.rows()]

        solved = fit.fit_readout(parts, held_out.splits, chosen_from, rows)
        readout = solved.readout
        if present is not None:
            coef, intercept = present.added_back(readout.coef, readout.intercept, 0)
            readout = readout._replace(coef=coef, intercept=intercept)
        self.readout_, self.ridge_, self.ridge_curve_ = fit.in_units_of(readout, outputs), solved.ridge, solved.curve
        self.scaling_, self.target_scaling_, self.washout_ = inputs, outputs, washout
        self.state_ = self._last(scaled, None)
        self.last_target_ = last_rows(targets)
        self.no_forecast_ = why_not_next_input(series, targets)
        return self

    def predict(self, X: SeriesLike, *, state: npt.ArrayLike | None = None, return_state: bool = False) -> Any:
        """Predicts the output at every step of X.

            y(t) = W (z, products) + b

        Parameters
        ----------
        X : (T, F), (T,), (B, T, F) or list of (T_b, F)
            Inputs.
        state : array like `state_`, or None
            Inputs before the first step. None: the mean of the inputs.
        return_state : bool, default False
            Whether the last inputs are returned too, for the next piece.

        Returns
        -------
        (T, O), (B, T, O) or list of (T_b, O)
            Outputs, without the last axis if y of the fit had none. With `return_state`, a pair of outputs and last inputs.
        """
        check_is_fitted(self, "readout_")
        series = self.scaling_.apply(_validation.inputs(self, X, reset=False))
        before = self._before(state, series)
        found = [checks.finite(each, "predictions") for each in self._outputs(series, before)]
        outputs = as_given(found, series)
        if self.flat_targets_:
            outputs = map_given(lambda each: each[..., 0], outputs)
        return (outputs, self._last(series, before)) if return_state else outputs

    def score(self, X: SeriesLike, y: SeriesLike, sample_weight: SeriesLike | None = None) -> float:
        """Returns the coefficient of determination of `predict(X)` over the steps with a complete window.

            R^2 = 1 - sum (y - y_hat)^2 / sum (y - mean)^2

        Parameters
        ----------
        X : (T, F), (T,), (B, T, F) or list of (T_b, F)
            Inputs.
        y : as in `fit`
            Targets.
        sample_weight : (T,), (B, T), list of (T_b,), or None
            Weight of every step. None: equal weights.

        Returns
        -------
        float
            R^2; 1 is a perfect prediction.
        """
        check_is_fitted(self, "readout_")
        series, targets = _validation.inputs_and_targets(self, X, y, reset=False)
        self._span(series)
        outputs = self._outputs(self.scaling_.apply(series), None)
        return explained_share(targets, outputs, self.washout_, sample_weight)

    def forecast(self, steps: int, *, warmup: SeriesLike | None = None) -> Array:
        """Forecasts the next steps: each prediction is fed back as the next input.

            u(t+1) = y(t)

        The model must have been fitted to predict its own next input, `fit(u[:-1], u[1:])`. If a forecast of noise-free data
        grows without bound, use ridge=1e-4 in place of "auto": one-step errors do not show which penalty keeps a long forecast
        stable.

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
        >>> wave = np.sin(0.2 * np.arange(300))[:, None]
        >>> model = es.NVAR(lags=2, degree=1).fit(wave[:-1], wave[1:])
        >>> print(model.forecast(3)[:, 0].round(3), np.sin(0.2 * np.arange(300, 303)).round(3))
        [-0.305 -0.488 -0.652] [-0.305 -0.488 -0.652]
        """
        check_is_fitted(self, "readout_")
        steps = checks.integer(steps, "steps", minimum=1)
        if self.no_forecast_:
            raise ValueError(
                f"forecast makes outputs the next inputs, but {self.no_forecast_} Fit a model to predict its own next input: "
                "fit(u[:-1], u[1:])."
            )
        features = self.n_features_in_
        if warmup is None:
            if np.isnan(self.last_target_).any():
                raise ValueError(
                    "the last target is NaN, and a forecast begins after it: give the last known values as warmup."
                )
            past = np.concatenate([self.scaling_.forward(self.last_target_), self.state_], axis=-1)
        else:
            series = self.scaling_.apply(_validation.inputs(self, warmup, reset=False))
            whole = [latest(u, self.washout_ + 1).ravel() for u in series.values]
            past = whole[0] if series.kind == "one" else np.stack(whole)
        windows = np.atleast_2d(past).reshape(-1, self.washout_ + 1, features)
        readout, scaling = self.readout_, self.scaling_
        with precision_and_device(np.float64, "cpu"):
            made = _forecast(
                windows.transpose(1, 2, 0),
                readout.coef / scaling.spread[:, None],
                scaling.forward(readout.intercept),
                self._places(features),
                int(self.stride),
                1 << (steps - 1).bit_length(),  # a power of two, so that other horizons rarely need a compilation
            )
        result = scaling.back(np.array(made)[:steps].transpose(2, 0, 1))
        return result if np.ndim(past) == 2 else result[0]

    def _check_parameters(self) -> Floats | None:
        """The penalties, as an array, or None for "auto"."""
        for name in ("lags", "stride", "degree"):
            checks.integer(getattr(self, name), name, minimum=1)
        checks.choice(self.difference, WITHOUT_SEASON, "difference")
        checks.choice(self.scale, (STANDARD, None), "scale")
        checks.integer(self.folds, "folds", minimum=2)
        return penalties.check(self.ridge)

    def _span(self, series: Series) -> int:
        """(k - 1) s, where every series is longer."""
        span = (self.lags - 1) * self.stride
        if series.lengths.min() < span + 2:
            raise ValueError(
                f"X has a series of {series.lengths.min()} steps, but lags={self.lags} with stride={self.stride} need at least "
                f"{span + 2}: {span} before the first whole window, and two to be fitted to."
            )
        return span

    def _places(self, features: int) -> Indices:
        """Places of the factors of every product in (1, z), (products, degree); the constant, all ones, is left out."""
        variables = self.lags * features
        count = comb(variables + self.degree, self.degree) - 1
        if count > MOST_PRODUCTS:
            raise ValueError(
                f"lags={self.lags} of {features} inputs have {count} products of degree {self.degree}, more than "
                f"{MOST_PRODUCTS}: lower lags or degree."
            )
        return np.array(list(combinations_with_replacement(range(variables + 1), self.degree)))[1:]

    def _present(self, inputs: Scaling, outputs: Scaling) -> LastValue | None:
        """The last value of the target, from u(t) as it is scaled; None without differencing."""
        if self.difference == NONE:
            return None
        if len(inputs.mean) != len(outputs.mean):
            raise ValueError(
                f"difference='last' takes the change from u(t) to y(t), but there are {len(inputs.mean)} inputs and "
                f"{len(outputs.mean)} outputs."
            )
        return LastValue.of(inputs, outputs)

    def _windows(self, u: Floats, before: Floats | None = None) -> Floats:
        """z of every step, (T, k F), the newest first."""
        return lagged(u, range(0, self.lags * self.stride, self.stride), before)

    def _outputs(self, series: Series, before: list[Floats] | None) -> list[Floats]:
        """Outputs of every series in units of the data, computed in blocks of rows."""
        places, found = self._places(series.features), []
        block = max(BLOCK // len(places), 1)
        for b, u in enumerate(series.values):
            z = self._windows(u, None if before is None else before[b])
            pieces = [_products(z[a : a + block], places) @ self.readout_.coef.T for a in range(0, len(z), block)]
            found.append(np.concatenate(pieces) + self.readout_.intercept)
        return found

    def _before(self, state: npt.ArrayLike | None, series: Series) -> list[Floats] | None:
        if state is None:
            return None
        given, size = np.asarray(state, np.float64), self.washout_ * series.features
        if given.shape not in ((size,), (series.count, size)):
            raise ValueError(f"state must have shape ({size},) or ({series.count}, {size}), got {given.shape}.")
        if not np.isfinite(given).all():
            raise ValueError("state must be finite: give one that fit or predict made.")
        return list(np.broadcast_to(given, (series.count, size)))

    def _last(self, series: Series, before: list[Floats] | None) -> Floats:
        """The last inputs of every series, newest first, as `state_`."""
        past = [None] * series.count if before is None else before
        ends = [latest(u, self.washout_, first).ravel() for u, first in zip(series.values, past, strict=True)]
        return np.asarray(ends[0] if series.kind == "one" else np.stack(ends))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        tags.input_tags.three_d_array = True
        return tags


def _products(z: Floats, places: Indices) -> Floats:
    """(rows, products) of the entries of (1, z)."""
    table = np.concatenate([np.ones((len(z), 1)), z], axis=1)
    product = table[:, places[:, 0]]
    for j in range(1, places.shape[1]):
        product *= table[:, places[:, j]]
    return product


def _statistics(pieces: Sequence[tuple[Floats, Floats]], places: Indices) -> Statistics:
    """Statistics of products and targets, computed in blocks of rows; unknown targets do not count."""
    outputs = pieces[0][1].shape[1]
    width, block = len(places) + outputs, max(BLOCK // len(places), 1)
    whole = Statistics(np.zeros(()), np.zeros(width), np.zeros((width, width)), len(places))
    for z, y in pieces:
        known = ~np.isnan(y).any(axis=1)
        z, y = z[known], y[known]
        for a in range(0, len(z), block):
            whole = whole + of_rows(_products(z[a : a + block], places), y[a : a + block])
    return whole


@partial(jax.jit, static_argnames=("stride", "steps"))
def _forecast(
    window: jax.Array, coef: jax.Array, intercept: jax.Array, places: jax.Array, stride: int, steps: int
) -> jax.Array:
    """(steps, F, B) from the last inputs (span + 1, F, B), newest first; W (F, products) and b give the next input, scaled."""
    span, features, count = window.shape

    def read(_: None, window: jax.Array) -> jax.Array:
        z = window.reshape(span, features, count)[::stride].reshape(-1, count)
        table = jnp.concatenate([jnp.ones((1, count)), z])
        products = jnp.prod(table[places], axis=1)
        return jnp.matmul(coef, products, precision="highest") + intercept[:, None]

    return closed_loop.from_now(lambda none, _: none, read, None, window.reshape(-1, count), steps)
