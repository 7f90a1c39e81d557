"""Memory capacity: how well a linear readout recalls past inputs, measured and in closed form for the linear regime.

    m(k) = 1 - min_w mean (u(t - k) - w x(t) - b)^2 / var u            memory function, k = 0, 1, ...
    MC   = sum of m(k) over k >= 1                                      memory capacity (Jaeger 2001)

x(t) depends on u(t), so m(0) is not memory and does not count. The sum over all k >= 0 is at most N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.data.series import SeriesLike
from echoscale.engine.devices import one_thread
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.measures.explained_variance import explained
from echoscale.measures.inputs import check_white, first_step, one_series
from echoscale.measures.results import labelled, slabs

if TYPE_CHECKING:
    import xarray


# Least number of steps per neuron: with fewer, the correction for chance would dominate the result.
ROWS_PER_NEURON = 5
# Powers of the map count until they are below GONE; after MOST_DOUBLINGS doublings the map does not fade.
GONE, MOST_DOUBLINGS = 1e-17, 40


def memory_capacity(
    esn: ESN,
    u: SeriesLike,
    *,
    lags: int | None = None,
    washout: int | None = None,
    hyper: Hyper | None = None,
) -> xarray.Dataset:
    """Memory function m(k) and memory capacity MC: how well a linear readout recalls the input k steps ago.

        m(k) = 1 - min_w mean (u(t-k) - w x(t) - b)^2 / var u,   MC = sum of m(k) over k >= 1

    There is no ridge penalty. On n steps, a readout of r directions explains a share r / n of any target by chance. This bias
    is removed, 1 - (1 - m)(n - 1) / (n - r - 1), so m(k) may be a little below 0. Directions with amplitudes below 1e-8 of the
    others do not count.

    Parameters
    ----------
    esn : ESN
        Network.
    u : (T, F)
        Independent inputs, as `noise` makes them.
    lags : int, optional
        Largest lag k; by default twice the number of neurons.
    washout : int, optional
        Number of steps at the start that are left out; by default 100, or a tenth of u if that is less; at least `lags`.
    hyper : Hyper, optional
        Hyper-parameters in place of the network's own, with or without lanes.

    Returns
    -------
    xarray.Dataset
        `memory` m(k) over (lane, lag, input), `capacity` MC over (lane,), summed over the inputs, and the `rank` r.

    Examples
    --------
    A ring of 20 neurons remembers 19 steps in its linear regime:

    >>> import echoscale as es
    >>> esn = es.single(20, topology="ring", spectral_radius=0.8, input_scaling=0.01).build(1, seed=0)
    >>> found = es.measures.memory_capacity(esn, es.measures.noise(3000))
    >>> round(float(found.capacity), 1)
    19.0
    """
    series, used = one_series(esn, u), esn.hyper if hyper is None else hyper
    most = 2 * esn.units if lags is None else checks.integer(lags, "lags", minimum=1)
    why = f"a memory of {esn.units} neurons over {most} lags"
    first = first_step(series, washout, ROWS_PER_NEURON * esn.units, why, least=most)
    check_white(series)
    values = np.asarray(series.values[0], np.float64)
    shifted = values - values.mean(axis=0)

    def targets(begin: int, end: int) -> Floats:
        return np.concatenate([shifted[begin - k : end - k] for k in range(most + 1)], axis=1)

    found = explained(esn, series, targets, (most + 1) * series.features, first, used)
    memory = found.unbiased().reshape(-1, most + 1, series.features)
    return _labelled(used, memory, found.rank, rows=found.rows)


def linear_memory_capacity(esn: ESN, *, lags: int | None = None, hyper: Hyper | None = None) -> xarray.Dataset:
    """Memory function and memory capacity of the linear regime, x(t+1) = M x(t) + B s(t), exact for white inputs.

        m(k) = K_k^T C^-1 K_k,   K_k = M^k B,   C = sum_k K_k K_k^T

    `esn.linearised()` gives M and B. Directions down to an amplitude of 1e-16 count; no readout in float64 can use smaller
    ones. The sum of m(k) over all k is the number of these directions, `rank`.

    Parameters
    ----------
    esn : ESN
        Network.
    lags : int, optional
        Largest lag k; by default twice the number of neurons.
    hyper : Hyper, optional
        Hyper-parameters in place of the network's own, with or without lanes.

    Returns
    -------
    xarray.Dataset
        The same as from `memory_capacity`, but `capacity` counts all k >= 1, also beyond `lags`.

    Examples
    --------
    >>> import echoscale as es
    >>> esn = es.single(100, topology="ring", spectral_radius=0.9).build(n_inputs=1, seed=0)
    >>> round(float(es.measures.linear_memory_capacity(esn).capacity), 6)
    99.0
    """
    used = esn.hyper if hyper is None else hyper
    most = 2 * esn.units if lags is None else checks.integer(lags, "lags", minimum=1)
    lanes, features = used.lanes or 1, esn.columns
    memory, rank = np.empty((lanes, most + 1, features)), np.empty(lanes, np.int64)
    for which, part in slabs(used, 8 * esn.units * (8 * esn.units + 2 * (most + 1) * features)):
        systems = [esn.linearised(part.lane(k)) for k in range(part.lanes or 1)]
        M, B = np.stack([each.M.toarray() for each in systems]), np.stack([each.B for each in systems])
        with one_thread():
            memory[which], rank[which] = _leverages(M, B, most)
    return _labelled(used, memory, rank, rank - memory[:, 0].sum(axis=1))


def _leverages(M: Floats, B: Floats, lags: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    """K_k^T C^-1 K_k, (H, lags + 1, F), and the rank of C, (H,).

    C is kept as a square root, C = S S^T, and doubled by S <- (S, M^m S).
    """
    features = B.shape[2]
    root, kernel, power = B, B, M
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(MOST_DOUBLINGS):
            root = _compressed(np.concatenate([root, power @ root], axis=2))
            if kernel.shape[2] < (lags + 1) * features:
                kernel = np.concatenate([kernel, power @ kernel], axis=2)
            power = power @ power
            size = np.abs(power).max(axis=(1, 2))
            if not np.isfinite(size).all() or not (size < 1e100).all():
                break
            if (size < GONE).all() and kernel.shape[2] >= (lags + 1) * features:
                break
    if not (size < GONE).all():
        worst = int(np.argmax(np.where(np.isnan(size), np.inf, size)))
        radius = float(np.abs(np.linalg.eigvals(M[worst])).max())
        raise ValueError(
            f"the linear regime has no memory function: an eigenvalue of lane {worst} has the size {radius:.6g}, so inputs "
            "never fade. Lower spectral_radius, or measure with memory_capacity."
        )
    while kernel.shape[2] < (lags + 1) * features:  # the powers were gone before
        kernel = np.concatenate([kernel, np.zeros_like(kernel)], axis=2)
    size = np.linalg.norm(root, axis=2)
    unit = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)[..., None]
    left, values, _ = np.linalg.svd(root * unit)
    used = values > np.finfo(np.float64).eps * values.shape[1] * values[:, :1]
    scale = np.where(used, 1 / np.where(used, values, 1.0), 0.0)
    turned = scale[..., None] * (np.swapaxes(left, 1, 2) @ (kernel[..., : (lags + 1) * features] * unit))
    return (turned**2).sum(axis=1).reshape(len(M), lags + 1, features), used.sum(axis=1)


def _compressed(root: Floats) -> Floats:
    """A square S, (H, N, N), with the same S S^T, if S has more columns than rows."""
    if root.shape[2] <= root.shape[1]:
        return root
    return np.asarray(np.swapaxes(np.linalg.qr(np.swapaxes(root, 1, 2), mode="r"), 1, 2))


def _labelled(
    hyper: Hyper, memory: Floats, rank: npt.NDArray[np.int64], capacity: Floats | None = None, **attrs: object
) -> xarray.Dataset:
    found = memory[:, 1:].sum(axis=(1, 2)) if capacity is None else capacity
    values = {"memory": (("lag", "input"), memory), "capacity": ((), found), "rank": ((), rank)}
    coords = {"lag": np.arange(memory.shape[1]), "input": np.arange(memory.shape[2])}
    return labelled("memory capacity", hyper, values, coords, **attrs)
