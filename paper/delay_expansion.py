"""`DelayExpansion`: fixed linear features of the recent past of a series, in place of a first reservoir."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from echoscale._internal import checks
from echoscale._internal.transaction import all_or_nothing
from echoscale.data.series import Series, SeriesLike
from echoscale.estimators import validation
from echoscale.estimators.validation import RandomState, as_given, seed_of

Floats = npt.NDArray[np.float64]

# Far from the numbers by which `weights.draw` tells its matrices apart: one seed may serve this and a network.
STREAM = 1000
# Windows are laid out in blocks of about 32 MB, so that long delays of long series fit into memory.
BLOCK = 1 << 22


class DelayExpansion(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """x_i(t) = sum_{j=0..delay} xi_ij decay^j s(t - j),   xi_ij ~ N(0, sigma^2),   sigma^2 Var[s] sum_j decay^2j = 1.

    The "delayed signal" of the paper's appendix: what a fast first reservoir hands to the second one, without the reservoir.
    `fit` chooses sigma such that the variance of x_i over time, averaged over the draws of xi, is 1 for every delay; with
    several features it is that of their sum. Before a series begins s is 0, as the state of a network is.

    X is one series (T, F), a batch (B, T, F) or a list of (T_b, F); `transform` gives as many rows of `units` columns, row t
    of which has seen X[t]. Every piece of a series begins anew: give it the `delay` steps before it, and drop their rows.

    In a hierarchy the second reservoir hears the first through 10 weights N(0, 1) a row, of variance 10 in all. A dense
    U[-1, 1] input matrix on `units` inputs of variance 1 drives it as strongly with input_scaling = sqrt(10 * 3 / units), and
    mixed by xi both drives are nearly Gaussian. The states of a first reservoir have a smaller variance than 1: to drive the
    second as strongly as they do, multiply by their standard deviation (Fig. 9 shows what difference that makes).

        make_pipeline(DelayExpansion(delay=10), ESNRegressor(network=single(50, input_scaling=(30 / 50) ** 0.5), direct=True))

    Parameters
    ----------
    delay : int
        How many steps back the features reach; 0 is the current step alone.
    units : int
        The number of features x_i.
    decay : float
        How much less every step further back counts, in (0, 1].
    random_state : int, numpy.random.RandomState or None
        Seed of xi. A longer delay, more units or more input features keep the xi of fewer, up to their common sigma.

    Attributes
    ----------
    mixing_ : (units, delay + 1, F) array
        xi_ij decay^j for every input feature.
    sigma_ : float
        The standard deviation of xi.
    n_features_in_ : int
        F.

    Examples
    --------
    >>> import numpy as np
    >>> from echoscale import DelayExpansion
    >>> s = np.random.default_rng(0).normal(size=(1000, 1))
    >>> x = DelayExpansion(delay=5, units=200).fit_transform(s)
    >>> x.shape, bool(abs(x.var(axis=0).mean() - 1) < 0.1)
    ((1000, 200), True)
    """

    mixing_: Floats
    sigma_: float
    n_features_in_: int

    def __init__(self, delay: int = 10, units: int = 50, decay: float = 0.8, random_state: RandomState = 0) -> None:
        self.delay = delay
        self.units = units
        self.decay = decay
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: SeriesLike, y: object = None) -> DelayExpansion:
        """Draw the mixing and scale it by the variance of X, all its series taken together.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Series.
        y : ignored
            For pipelines.

        Returns
        -------
        DelayExpansion
            Itself.
        """
        delay = checks.integer(self.delay, "delay")
        units = checks.integer(self.units, "units", minimum=1)
        decay = checks.number(self.decay, "decay")
        if not 0 < decay <= 1:
            raise ValueError(f"decay must lie in (0, 1], got {decay}: the past may count as much as the present, not more.")
        seed = seed_of(self.random_state)
        series = validation.inputs(self, X, reset=True, least=2, flat=False)
        weights = decay ** np.arange(delay + 1)
        self.sigma_ = 1 / (_spread(series) * float(np.linalg.norm(weights)))
        self.mixing_ = self.sigma_ * weights[:, None] * _draw(seed, units, delay, series.features)
        return self

    def transform(self, X: SeriesLike) -> Any:
        """x_i(t) of every step.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Series.

        Returns
        -------
        (T, units), (B, T, units) or list of (T_b, units)
            Features.
        """
        check_is_fitted(self, "mixing_")
        series = validation.inputs(self, X, reset=False, flat=False)
        return as_given([_expand(each, self.mixing_) for each in series.values], series)

    @property
    def _n_features_out(self) -> int:
        return len(self.mixing_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


def _draw(seed: int, units: int, delay: int, features: int) -> Floats:
    """N(0, 1), (units, delay + 1, features): one child seed for every lag and feature, so that each keeps its own numbers."""
    xi = np.empty((units, delay + 1, features))
    for j, f in np.ndindex(delay + 1, features):
        child = np.random.SeedSequence(seed, spawn_key=(STREAM, j, f))
        xi[:, j, f] = np.random.default_rng(child).standard_normal(units)
    return xi


def _spread(series: Series) -> float:
    """sqrt(sum of the variances of the features), over the steps of all series."""
    rows = np.concatenate(list(series.values))
    if (rows == rows[0]).all():
        raise ValueError(f"X is constant ({rows[0].tolist()} at every step): its variance is 0, and no sigma makes it 1.")
    apart = rows - rows.mean(axis=0)
    largest = np.abs(apart).max()  # so that the squares of very small or large numbers stay numbers
    return float(largest * np.linalg.norm(apart / largest) / len(rows) ** 0.5)


def _expand(s: Floats, mixing: Floats) -> Floats:
    """x(t) = sum_j mixing_j s(t - j), (T, units), as products of windows (rows, F * lags) with (F * lags, units)."""
    units, lags, features = mixing.shape
    padded = np.concatenate([np.zeros((lags - 1, features)), s])
    windows = np.lib.stride_tricks.sliding_window_view(padded, lags, axis=0)  # (T, F, lags), the oldest step first
    matrix = mixing[:, ::-1].transpose(2, 1, 0).reshape(features * lags, units)
    expanded = np.empty((len(s), units))
    rows = max(1, BLOCK // (features * lags))
    for start in range(0, len(s), rows):
        block = windows[start : start + rows]
        np.matmul(block.reshape(len(block), -1), matrix, out=expanded[start : start + rows])
    return expanded
