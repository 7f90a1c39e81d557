"""Consistency (Uchida et al. 2004; Lymburn et al. 2019): how alike the responses to one drive are, whatever the start.

    gamma   = mean over neurons of the correlation of x(t) and x'(t), two responses to the same input
    Theta   = tr(C^-1 C'),   C = <x x^T>,  C' = <x x'^T>, centred: consistent directions, at most the rank of C

1 (and N) where the start is forgotten; below that the network adds something of its own to what it hears.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from echoscale.engine.machine import one_thread
from echoscale.esn import ESN
from echoscale.hyper import Hyper
from echoscale.measures.explained import whitening
from echoscale.measures.labels import check_steps, labelled, one_series, slabs
from echoscale.measures.responses import FEWEST_STEPS, copies, starts_of
from echoscale.series import SeriesLike, washout_steps

if TYPE_CHECKING:
    import xarray

Floats = npt.NDArray[np.float64]


def consistency(
    esn: ESN,
    u: SeriesLike,
    *,
    starts: int = 2,
    washout: int | None = None,
    seed: int = 0,
    hyper: Hyper | None = None,
) -> xarray.Dataset:
    """gamma = mean correlation of a neuron's responses from two starts; Theta = tr(C^-1 C'), of every lane.

    Parameters
    ----------
    esn : ESN
        The network.
    u : (T, F)
        Inputs.
    starts : int
        Starts, uniform in [-1, 1]; all pairs of them count.
    washout : int, optional
        Steps that do not count; 100 unless given, or a tenth of u where that is less.
    seed : int
        Draws the starts.
    hyper : Hyper, optional
        Other hyper-parameters than the network's own, with lanes or without.

    Returns
    -------
    xarray.Dataset
        `consistency` gamma and `capacity` Theta over (lane,), and the `rank` of C.

    Examples
    --------
    >>> import echoscale as es
    >>> esn = es.single(20).build(n_inputs=1, seed=0)
    >>> round(float(es.measures.consistency(esn, es.measures.noise(600)).consistency), 3)
    1.0
    """
    series, used = one_series(esn, u), esn.hyper if hyper is None else hyper
    length = int(series.lengths[0])
    first = washout_steps(washout, length)
    check_steps(length, first, max(FEWEST_STEPS, esn.units + 1), f"the consistency of {esn.units} neurons")
    begin = starts_of(esn, starts, seed)
    many = copies(series, len(begin))
    values = np.empty((3, used.lanes or 1))
    for which, part in slabs(used, 16 * len(begin) * length * esn.units):
        states = esn.run(many, state=begin, hyper=part)[:, :, first:]
        with one_thread():
            values[:, which] = _compared(states.astype(np.float64))
    names = ("consistency", "capacity", "rank")
    return labelled("consistency", used, {name: ((), each) for name, each in zip(names, values, strict=True)}, {})


def _compared(states: Floats) -> Floats:
    """gamma, Theta and the rank, (3, H), of states (H, S, T, N)."""
    count = states.shape[1]
    states -= states.mean(axis=2, keepdims=True)
    own = np.einsum("hstn,hstn->hsn", states, states)
    # sum over pairs s != s' of x_s x_s' = (sum over s)^2 - sum over s of x_s^2, for correlations and for covariances.
    scale = np.divide(1.0, np.sqrt(own), out=np.zeros_like(own), where=own > 0)
    alike = np.einsum("hstn,hsn->htn", states, scale)
    moving = (own > 0).all(axis=1)
    pairs = ((alike**2).sum(axis=1) - count) / (count * (count - 1))
    gamma = np.where(moving, pairs, 0).sum(axis=1) / np.maximum(moving.sum(axis=1), 1)
    summed = states.sum(axis=1)
    within = np.matmul(np.swapaxes(states, 2, 3), states).sum(axis=1)
    between = (np.swapaxes(summed, 1, 2) @ summed - within) / (count - 1)
    white, rank = whitening(within)
    theta = np.einsum("hin,hnm,him->h", white, between, white, optimize=True)
    return np.stack([gamma, theta, rank])
