"""Echo state index (Ceni et al. 2020): how many different responses one and the same input can have.

Index 1: the echo state property holds for this input; all starts end in one response. Index n > 1: n stable responses, and
the start decides which. Where every start goes its own way, the network is chaotic under this input, or u too short to tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from echoscale import _checks
from echoscale.esn import ESN
from echoscale.hyper import Hyper
from echoscale.measures.labels import check_steps, labelled, one_series, slabs
from echoscale.measures.responses import FEWEST_STEPS, copies, starts_of
from echoscale.series import SeriesLike

if TYPE_CHECKING:
    import xarray


def echo_index(
    esn: ESN,
    u: SeriesLike,
    *,
    starts: int = 32,
    tolerance: float = 1e-3,
    seed: int = 0,
    hyper: Hyper | None = None,
) -> xarray.Dataset:
    """The number of responses at the end of u that are farther than `tolerance` from each other, from random starts.

    Parameters
    ----------
    esn : ESN
        The network.
    u : (T, F)
        Inputs, long enough for transients to end: with the exponent l (`lyapunov_exponents`), more than 10 / |l| steps.
    starts : int
        How many starts, uniform in [-1, 1]; the index cannot be larger.
    tolerance : float
        States whose difference has a smaller root mean square over the neurons are the same.
    seed : int
        Draws the starts.
    hyper : Hyper, optional
        Other hyper-parameters than the network's own, with lanes or without.

    Returns
    -------
    xarray.Dataset
        `index` over (lane,), and the `response` of every start over (lane, start), numbered from 0 as they are met.

    Examples
    --------
    Without input, tanh neurons with a spectral radius of 1.5 have several states to rest in:

    >>> import numpy as np, echoscale as es
    >>> esn = es.single(1, connections=1).build(n_inputs=1, seed=0)
    >>> both = esn.hyper.replace(spectral_radius=[np.array([0.5, 1.5])])
    >>> es.measures.echo_index(esn, np.zeros((200, 1)), hyper=both).index.values
    array([1, 2])
    """
    series, used = one_series(esn, u), esn.hyper if hyper is None else hyper
    check_steps(int(series.lengths[0]), 0, FEWEST_STEPS, "an echo state index")
    least = _checks.non_negative(tolerance, "tolerance", "It is a distance.")
    begin = starts_of(esn, starts, seed)
    many = copies(series, len(begin))
    labels = np.empty((used.lanes or 1, len(begin)), np.int64)
    for which, part in slabs(used, 8 * len(begin) * (len(begin) + esn.units)):
        last = esn.run_chunks(many, state=begin, hyper=part).astype(np.float64)
        labels[which] = _numbered(last, least)
    values = {"index": ((), labels.max(axis=1) + 1), "response": (("start",), labels)}
    return labelled("echo index", used, values, {"start": np.arange(len(begin))}, tolerance=least)


def _numbered(states: npt.NDArray[np.float64], tolerance: float) -> npt.NDArray[np.int64]:
    """The number of the response of every start, (H, S): a new one where no earlier start ended within the tolerance."""
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
