"""Consistency and echo state index: how similar the responses of a network to one input are, from different starts.

Consistency (Uchida et al. 2004; Lymburn et al. 2019):

    gamma   = mean over neurons of the correlation of x(t) and x'(t), two responses to the same input
    Theta   = tr(C^-1 C'),   C = <x x^T>,  C' = <x x'^T>, centred: consistent directions, at most the rank of C

If the network forgets its start, gamma is 1 and Theta is N. With lower values, the response depends on more than the input.

Echo state index (Ceni et al. 2020), the number of different responses to the same input:

    index 1       the echo state property holds for this input: all starts end in one response
    index n > 1   n stable responses, and the start decides which of them the network reaches

If every start ends in a response of its own, the network is chaotic under this input, or u is too short to tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.data.series import Series, SeriesLike
from echoscale.engine.devices import one_thread
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.measures.explained_variance import whitening
from echoscale.measures.inputs import first_step, one_series
from echoscale.measures.results import labelled, slabs

if TYPE_CHECKING:
    import xarray

# Least number of steps that count: with fewer, the results are chance.
FEWEST_STEPS = 100


def consistency(
    esn: ESN,
    u: SeriesLike,
    *,
    starts: int = 2,
    washout: int | None = None,
    seed: int = 0,
    hyper: Hyper | None = None,
) -> xarray.Dataset:
    """Consistency: similarity of the responses to the same input from different starts.

        gamma = mean over neurons of the correlation of two responses,   Theta = tr(C^-1 C')

    C is the covariance of a response, C' the cross-covariance of two responses. If the network forgets its start, gamma is 1
    and Theta is N.

    Parameters
    ----------
    esn : ESN
        Network.
    u : (T, F)
        Inputs.
    starts : int
        Number of random starts, uniform in [-1, 1]; all pairs count.
    washout : int, optional
        Number of steps at the start that are left out; by default 100, or a tenth of u if that is less.
    seed : int
        Random seed of the starts.
    hyper : Hyper, optional
        Hyper-parameters in place of the network's own, with or without lanes.

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
    first = first_step(series, washout, max(FEWEST_STEPS, esn.units + 1), f"the consistency of {esn.units} neurons")
    begin = starts_of(esn, starts, seed)
    many = copies(series, len(begin))
    values = np.empty((3, used.lanes or 1))
    for which, part in slabs(used, 16 * len(begin) * int(series.lengths[0]) * esn.units):
        states = esn.run(many, state=begin, hyper=part)[:, :, first:]
        with one_thread():
            values[:, which] = _compared(states.astype(np.float64))
    names = ("consistency", "capacity", "rank")
    return labelled("consistency", used, {name: ((), each) for name, each in zip(names, values, strict=True)}, {})


def echo_index(
    esn: ESN,
    u: SeriesLike,
    *,
    starts: int = 32,
    tolerance: float = 1e-3,
    seed: int = 0,
    hyper: Hyper | None = None,
) -> xarray.Dataset:
    """Echo state index: the number of different states at the end of u, from random starts.

    Index 1 means that the network has the echo state property for this input.

    Parameters
    ----------
    esn : ESN
        Network.
    u : (T, F)
        Inputs, long enough for transients to end: more than 10 / |l| steps for the exponent l of `lyapunov_exponents`.
    starts : int
        Number of random starts, uniform in [-1, 1]; the largest possible index.
    tolerance : float
        Largest root mean square difference over the neurons at which two states count as equal.
    seed : int
        Random seed of the starts.
    hyper : Hyper, optional
        Hyper-parameters in place of the network's own, with or without lanes.

    Returns
    -------
    xarray.Dataset
        `index` over (lane,), and the `response` of every start over (lane, start), numbered from 0 in order of appearance.

    Examples
    --------
    Without input, tanh neurons with a spectral radius of 1.5 have several stable states:

    >>> import numpy as np, echoscale as es
    >>> esn = es.single(1, connections=1).build(n_inputs=1, seed=0)
    >>> both = esn.hyper.replace(spectral_radius=[np.array([0.5, 1.5])])
    >>> es.measures.echo_index(esn, np.zeros((200, 1)), hyper=both).index.values
    array([1, 2])
    """
    series, used = one_series(esn, u), esn.hyper if hyper is None else hyper
    first_step(series, 0, FEWEST_STEPS, "an echo state index")
    least = checks.non_negative(tolerance, "tolerance", "It is a distance.")
    begin = starts_of(esn, starts, seed)
    many = copies(series, len(begin))
    labels = np.empty((used.lanes or 1, len(begin)), np.int64)
    for which, part in slabs(used, 8 * len(begin) * (len(begin) + esn.units)):
        last = esn.run_chunks(many, state=begin, hyper=part).astype(np.float64)
        labels[which] = _numbered(last, least)
    values = {"index": ((), labels.max(axis=1) + 1), "response": (("start",), labels)}
    return labelled("echo index", used, values, {"start": np.arange(len(begin))}, tolerance=least)


def starts_of(esn: ESN, count: int, seed: int) -> Floats:
    """Random states, independent and uniform in [-1, 1], (S, N)."""
    rng = np.random.default_rng(checks.integer(seed, "seed"))
    return np.asarray(rng.uniform(-1, 1, (checks.integer(count, "starts", minimum=2), esn.units)))


def copies(series: Series, count: int) -> Series:
    """One series, repeated `count` times."""
    values = np.asarray(series.values[0])
    return Series(np.broadcast_to(values, (count, *values.shape)), "batch", series.name)


def _compared(states: Floats) -> Floats:
    """gamma, Theta and the rank, (3, H), from states (H, S, T, N)."""
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


def _numbered(states: npt.NDArray[np.float64], tolerance: float) -> npt.NDArray[np.int64]:
    """The number of every start's response, (H, S). A response is new if no earlier start ended within the tolerance."""
    squares = (states**2).mean(axis=2)
    products = states @ np.swapaxes(states, 1, 2) / states.shape[2]
    near = squares[:, :, None] + squares[:, None, :] - 2 * products <= tolerance**2
    first = near.argmax(axis=2)  # the first start that ended here, itself unless there was one before
    leads = first == np.arange(states.shape[1])
    numbers = np.cumsum(leads, axis=1) - 1
    # A start near another that is near a third belongs to the first of them.
    for _ in range(states.shape[1].bit_length()):
        first = np.take_along_axis(first, first, axis=1)
    return np.asarray(np.take_along_axis(numbers, first, axis=1))
