"""What a linear readout recalls of inputs long ago: measured, and in closed form for the linear regime.

    m(k) = 1 - min_w mean (u(t - k) - w x(t) - b)^2 / var u            memory function, k = 0, 1, ...
    MC   = sum of m(k) over k >= 1                                      memory capacity (Jaeger 2001)

x(t) has seen u(t), so m(0) is no memory and is not counted. Over all k >= 0 the sum is at most N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.data.series import SeriesLike, washout_steps
from echoscale.engine.devices import one_thread
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.measures.explained_variance import explained
from echoscale.measures.grids import check_steps, labelled, one_series, slabs
from echoscale.measures.noise import check_white

if TYPE_CHECKING:
    import xarray


# Steps that count for every neuron: with fewer, what is subtracted for chance would be most of what is found.
ROWS_PER_NEURON = 5
# Powers of the map are followed until they are below this; doublings until it is said that they never will be.
GONE, MOST_DOUBLINGS = 1e-17, 40


def memory_capacity(
    esn: ESN,
    u: SeriesLike,
    *,
    lags: int | None = None,
    washout: int | None = None,
    hyper: Hyper | None = None,
) -> xarray.Dataset:
    """m(k) = 1 - min_w mean (u(t-k) - w x(t) - b)^2 / var u, and MC = sum of m(k) over k >= 1, of every lane.

    Without a ridge, and without the bias of finite samples: of n steps, a readout of r directions seems to explain r / n of
    what it cannot know, which is taken off, 1 - (1 - m)(n - 1) / (n - r - 1). So m(k) may be a little below 0. Directions
    whose amplitude is below 1e-8 of the others do not count.

    Parameters
    ----------
    esn : ESN
        The network.
    u : (T, F)
        Independent inputs, as `noise` makes them.
    lags : int, optional
        The largest k; twice the number of neurons unless given.
    washout : int, optional
        Steps that do not count; 100 unless given, or a tenth of u where that is less; at least `lags`.
    hyper : Hyper, optional
        Other hyper-parameters than the network's own, with lanes or without.

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
    length = int(series.lengths[0])
    first = max(washout_steps(washout, length), most)
    check_steps(length, first, ROWS_PER_NEURON * esn.units, f"a memory of {esn.units} neurons over {most} lags")
    check_white(series)
    values = np.asarray(series.values[0], np.float64)
    shifted = values - values.mean(axis=0)

    def targets(begin: int, end: int) -> Floats:
        return np.concatenate([shifted[begin - k : end - k] for k in range(most + 1)], axis=1)

    found = explained(esn, series, targets, (most + 1) * series.features, first, used)
    memory = found.unbiased().reshape(-1, most + 1, series.features)
    return _labelled("memory capacity", used, memory, found.rank, rows=found.rows)


def linear_memory_capacity(esn: ESN, *, lags: int | None = None, hyper: Hyper | None = None) -> xarray.Dataset:
    """m(k) = K_k^T C^-1 K_k with K_k = M^k B and C = sum_k K_k K_k^T: exact for x(t+1) = M x(t) + B s(t) and white inputs.

    M and B are those of `esn.linearised()`. C is kept as a square root, C = S S^T, doubled with S <- (S, M^m S), so that
    directions down to 1e-16 in amplitude count. Those below are lost to any readout in float64. Over all k, m sums to the
    number of directions that are left, `rank`.

    Parameters
    ----------
    esn : ESN
        The network.
    lags : int, optional
        The largest k; twice the number of neurons unless given.
    hyper : Hyper, optional
        Other hyper-parameters than the network's own, with lanes or without.

    Returns
    -------
    xarray.Dataset
        As `memory_capacity` gives it; `capacity` counts all k >= 1, beyond `lags` too.

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
    return _labelled("memory capacity", used, memory, rank, rank - memory[:, 0].sum(axis=1))


def _leverages(M: Floats, B: Floats, lags: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    """K_k^T C^-1 K_k, (H, lags + 1, F), and the rank of C, (H,)."""
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
            f"the linear regime has no memory function: an eigenvalue of lane {worst} has the size {radius:.6g}, so that "
            "inputs never fade. Lower spectral_radius, or measure with memory_capacity."
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
    """(H, N, N) with the same S S^T, where S has more columns than rows."""
    if root.shape[2] <= root.shape[1]:
        return root
    return np.asarray(np.swapaxes(np.linalg.qr(np.swapaxes(root, 1, 2), mode="r"), 1, 2))


def _labelled(
    measure: str, hyper: Hyper, memory: Floats, rank: npt.NDArray[np.int64], capacity: Floats | None = None, **attrs: object
) -> xarray.Dataset:
    found = memory[:, 1:].sum(axis=(1, 2)) if capacity is None else capacity
    values = {"memory": (("lag", "input"), memory), "capacity": ((), found), "rank": ((), rank)}
    coords = {"lag": np.arange(memory.shape[1]), "input": np.arange(memory.shape[2])}
    return labelled(measure, hyper, values, coords, **attrs)
