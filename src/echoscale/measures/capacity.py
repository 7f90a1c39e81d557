"""Information processing capacity (Dambre et al. 2012): which functions of past inputs a linear readout can compute.

    z(t) = product over (k, f) of sqrt(2 d_kf + 1) P_{d_kf}(u_f(t - k)),     P_d: Legendre's polynomials, u uniform in [-1, 1]
    C_d  = sum of C[z] over all z of degree d = sum of d_kf

These z are orthonormal, so the sum of all C[z] is at most N. It is N if the network has fading memory and the windows are long
enough. Without bias, states are odd functions of the inputs, and all even degrees have capacity 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement, pairwise
from math import comb
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from numpy.polynomial import legendre
from scipy.stats import chi2

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.data.series import Series, SeriesLike
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.measures.explained_variance import explained
from echoscale.measures.inputs import CLEARLY, check_white, first_step, one_series
from echoscale.measures.memory_capacity import ROWS_PER_NEURON
from echoscale.measures.results import labelled

if TYPE_CHECKING:
    import xarray


# Largest number of functions of one degree if no windows are given, and of all degrees.
FUNCTIONS_PER_DEGREE, MOST_FUNCTIONS = 1000, 20_000
# Probability that at least one function counts by chance.
BY_CHANCE = 0.01


def processing_capacity(
    esn: ESN,
    u: SeriesLike,
    *,
    degree: int = 3,
    lags: int | Sequence[int] | None = None,
    washout: int | None = None,
    hyper: Hyper | None = None,
) -> xarray.Dataset:
    """Information processing capacity: how well a linear readout computes nonlinear functions of past inputs, by degree.

        C_d = sum of C[z] over all products z of degree d of Legendre polynomials of u(t), ..., u(t - L + 1)

    On n steps, a readout of r directions explains a share r / n of any target by chance. This bias is subtracted, and a
    function counts only if n C is significant by a chi^2 test with r degrees of freedom (1 % for all functions together). Short
    inputs lose many small capacities: take at least 100 steps per neuron.

    Parameters
    ----------
    esn : ESN
        Network.
    u : (T, F)
        Independent and uniform inputs, as `noise` makes them.
    degree : int
        Largest degree d.
    lags : int or one for each degree, optional
        Number L of recent inputs in the functions of a degree. By default twice the number of neurons, or fewer if the degree
        would have more than 1000 functions; the sum is then a lower bound.
    washout : int, optional
        Number of steps at the start that are left out; by default 100, or a tenth of u if that is less; at least the largest
        L.
    hyper : Hyper, optional
        Hyper-parameters in place of the network's own, with or without lanes.

    Returns
    -------
    xarray.Dataset
        `capacity` C_d over (lane, degree), its sum `total` and the `rank` r over (lane,), `lags` and number of `functions` of
        each degree.

    Examples
    --------
    >>> import echoscale as es
    >>> esn = es.single(20, topology="ring", input_scaling=0.3).build(n_inputs=1, seed=0)
    >>> found = es.measures.processing_capacity(esn, es.measures.noise(5000), degree=2)
    >>> bool(found.capacity.sel(degree=1) > 15), float(found.capacity.sel(degree=2))
    (True, 0.0)
    """
    series, used = one_series(esn, u), esn.hyper if hyper is None else hyper
    degree = checks.integer(degree, "degree", minimum=1)
    windows = _windows(lags, degree, esn.units, series.features)
    why = f"a capacity of {esn.units} neurons over {max(windows)} lags"
    first = first_step(series, washout, ROWS_PER_NEURON * esn.units, why, least=max(windows) - 1)
    check_white(series)
    terms = _polynomials(_uniform_units(series, degree), degree)
    places = [_places(d, window * series.features) for d, window in enumerate(windows, 1)]

    def targets(begin: int, end: int) -> Floats:
        """The products as columns, degree by degree, in the order of `places`."""
        # (degree + 1, rows, lags * F): every polynomial at every lag and feature.
        lagged = np.concatenate([terms[:, begin - k : end - k] for k in range(max(windows))], axis=2)
        table = [lagged[..., : window * series.features] for window in windows]
        return np.concatenate([_products(each, place) for each, place in zip(table, places, strict=True)], axis=1)

    count = sum(len(each) for each in places)
    found = explained(esn, series, targets, count, first, used)
    threshold = np.asarray(chi2.isf(BY_CHANCE / count, found.rank)) / found.rows
    kept = np.where(found.shares > threshold[:, None], found.unbiased(), 0.0)
    edges = np.cumsum([0, *(len(each) for each in places)])
    capacity = np.stack([kept[:, low:high].sum(axis=1) for low, high in pairwise(edges)], axis=1)
    values = {
        "capacity": (("degree",), capacity),
        "total": ((), capacity.sum(axis=1)),
        "rank": ((), found.rank),
    }
    coords = {
        "degree": np.arange(1, degree + 1),
        "lags": ("degree", np.array(windows)),
        "functions": ("degree", np.diff(edges)),
    }
    return labelled("processing capacity", used, values, coords, rows=found.rows)


def _windows(lags: int | Sequence[int] | None, degree: int, units: int, features: int) -> list[int]:
    """The window L of every degree, checked."""
    if lags is None:
        found = []
        for d in range(1, degree + 1):
            most = MOST_FUNCTIONS // 2 if d == 1 else FUNCTIONS_PER_DEGREE
            fits = [k for k in range(1, 2 * units + 1) if comb(k * features + d - 1, d) <= most]
            found.append(max(fits, default=1))
    elif isinstance(lags, Sequence | np.ndarray):
        found = [checks.integer(each, "lags", minimum=1) for each in lags]
        if len(found) != degree:
            raise ValueError(f"lags has {len(found)} windows for {degree} degrees: give one for each degree, or one for all.")
    else:
        found = [checks.integer(lags, "lags", minimum=1)] * degree
    count = sum(comb(window * features + d - 1, d) for d, window in enumerate(found, 1))
    if count > MOST_FUNCTIONS:
        raise ValueError(
            f"degree={degree} with lags={found} and {features} inputs has {count} functions, more than {MOST_FUNCTIONS}: "
            "give shorter windows for the higher degrees, such as lags=[200, 40, 15]."
        )
    return found


def _polynomials(u: Floats, degree: int) -> Floats:
    """sqrt(2 d + 1) P_d(u) for d = 0 ... degree, (degree + 1, T, F): Legendre's, orthonormal over uniform u in [-1, 1]."""
    scale = np.sqrt(2 * np.arange(degree + 1) + 1)
    return np.asarray(np.moveaxis(legendre.legvander(u, degree), -1, 0) * scale[:, None, None])


def _uniform_units(series: Series, degree: int) -> Floats:
    """u scaled to [-1, 1] by its extremes, (T, F); raises an error if u is not uniform."""
    u = np.asarray(series.values[0], np.float64)
    low, high = u.min(axis=0), u.max(axis=0)
    scaled: Floats = 2 * (u - low) / (high - low) - 1
    means = _polynomials(scaled, max(degree, 4))[1:].mean(axis=1)
    if np.abs(means).max() > CLEARLY / len(u) ** 0.5:
        raise ValueError(
            "u is not uniform between its extremes, so Legendre polynomials of it are not orthogonal: use "
            "es.measures.noise(length, low=..., high=...)."
        )
    return scaled


def _places(degree: int, variables: int) -> npt.NDArray[np.int64]:
    """Indices of the factors of every function of a degree in a table (polynomials, variables), (functions, degree)."""
    drawn = np.array(list(combinations_with_replacement(range(variables), degree)))
    # A variable drawn p times in a row is one factor of degree p, at its first place; the others are 1 (polynomial 0).
    again = np.concatenate([np.zeros((len(drawn), 1), bool), drawn[:, 1:] == drawn[:, :-1]], axis=1)
    powers = np.where(again, 0, (drawn[:, :, None] == drawn[:, None, :]).sum(axis=2))
    return np.asarray(powers * variables + drawn)


def _products(table: Floats, places: npt.NDArray[np.int64]) -> Floats:
    """(rows, functions) from the polynomials (degree + 1, rows, variables)."""
    flat = np.moveaxis(table, 0, 1).reshape(table.shape[1], -1)
    product = flat[:, places[:, 0]]
    for j in range(1, places.shape[1]):
        product *= flat[:, places[:, j]]
    return product
