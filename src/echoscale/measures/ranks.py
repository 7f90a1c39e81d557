"""Ranks and dimension of the states: how well a network separates inputs, and in how many directions its states move.

Kernel rank and generalisation rank (Legenstein and Maass 2007):

    kernel rank           rank of the last states of m different inputs: large if the network separates different inputs
    generalisation rank   the same for inputs that share their last steps: small if the network forgets the distant past

Dimension: the participation ratio of the covariance of the states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from echoscale._internal import checks
from echoscale.data.series import Series, SeriesLike
from echoscale.engine.devices import one_thread
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.measures.inputs import first_step, one_series
from echoscale.measures.results import labelled, slabs
from echoscale.readouts.statistics import statistics

if TYPE_CHECKING:
    import xarray

# Least number of steps before the shared steps: with fewer, the inputs would hardly differ.
OLD_STEPS = 10


def ranks(
    esn: ESN,
    u: SeriesLike,
    *,
    inputs: int | None = None,
    shared: int = 10,
    tolerance: float = 0.01,
    hyper: Hyper | None = None,
) -> xarray.Dataset:
    """Kernel rank and generalisation rank: how well a network separates inputs, and how well it forgets the distant past.

    Each rank is the number of large singular values of the last states (m, N) of m pieces of u. A high kernel rank means good
    separation. The generalisation rank is for pieces that share their last steps: a low rank means good forgetting.

    Parameters
    ----------
    esn : ESN
        Network.
    u : (T, F)
        Inputs, which are cut into m pieces of T // m steps. Each piece runs from the zero state.
    inputs : int, optional
        Number m of pieces; by default the number of neurons.
    shared : int
        Number of last steps that all pieces share, for the generalisation rank.
    tolerance : float
        Threshold: singular values below this share of the largest do not count.
    hyper : Hyper, optional
        Hyper-parameters in place of the network's own, with or without lanes.

    Returns
    -------
    xarray.Dataset
        `kernel_rank` and `generalisation_rank` over (lane,), and the singular values of both, `kernel` and `generalisation`,
        over (lane, place).

    Examples
    --------
    >>> import echoscale as es
    >>> esn = es.single(30, spectral_radius=0.5).build(n_inputs=1, seed=0)
    >>> found = es.measures.ranks(esn, es.measures.noise(900))
    >>> int(found.kernel_rank) > int(found.generalisation_rank)
    True
    """
    series, used = one_series(esn, u), esn.hyper if hyper is None else hyper
    count = esn.units if inputs is None else checks.integer(inputs, "inputs", minimum=2)
    shared = checks.integer(shared, "shared", minimum=1)
    least = checks.non_negative(tolerance, "tolerance", "It is a share of the largest singular value.")
    first_step(series, 0, count * (shared + OLD_STEPS), f"a rank of {count} inputs, {shared} steps of them shared,")
    steps = int(series.lengths[0]) // count
    pieces = np.array(series.values[0][: steps * count]).reshape(count, steps, -1)
    alike = pieces.copy()
    alike[:, -shared:] = pieces[0, -shared:]
    both = Series(np.concatenate([pieces, alike]), "batch", series.name)
    lanes, size = used.lanes or 1, min(count, esn.units)
    values = np.empty((2, lanes, size))
    for which, part in slabs(used, 32 * count * esn.units):
        last = esn.run_chunks(both, hyper=part).astype(np.float64)
        with one_thread():
            values[:, which] = np.moveaxis(np.linalg.svd(last.reshape(-1, 2, count, esn.units), compute_uv=False), 1, 0)
    found = (values > least * values[..., :1]).sum(axis=-1)
    return labelled(
        "ranks",
        used,
        {
            "kernel_rank": ((), found[0]),
            "generalisation_rank": ((), found[1]),
            "kernel": (("place",), values[0]),
            "generalisation": (("place",), values[1]),
        },
        {"place": np.arange(size)},
        tolerance=least,
    )


def dimension(esn: ESN, u: SeriesLike, *, washout: int | None = None, hyper: Hyper | None = None) -> xarray.Dataset:
    """Dimension of the states: the participation ratio of the eigenvalues l_i of their covariance.

        (sum_i l_i)^2 / sum_i l_i^2

    The dimension is 1 if all states lie on one line, and N if they spread equally in all directions.

    Parameters
    ----------
    esn : ESN
        Network.
    u : (T, F)
        Inputs.
    washout : int, optional
        Number of steps at the start that are left out; by default 100, or a tenth of u if that is less.
    hyper : Hyper, optional
        Hyper-parameters in place of the network's own, with or without lanes.

    Returns
    -------
    xarray.Dataset
        `dimension` over (lane,).

    Examples
    --------
    >>> import echoscale as es
    >>> esn = es.single(20, topology="delay_line", spectral_radius=0.99, input_scaling=0.01).build(n_inputs=1, seed=0)
    >>> 1 < float(es.measures.dimension(esn, es.measures.noise(1000)).dimension) < 20
    True
    """
    series, used = one_series(esn, u), esn.hyper if hyper is None else hyper
    first = first_step(series, washout, esn.units + 1, f"a dimension of {esn.units} neurons")
    found = np.empty(used.lanes or 1)
    for which, part in slabs(used, 16 * (esn.units + 2) ** 2):
        # Any target will do: only the scatter of the states is used.
        scatter = statistics(esn, series, series, washout=first, hyper=part).scatter[:, : esn.units, : esn.units]
        squares = (scatter**2).sum(axis=(1, 2))
        found[which] = np.trace(scatter, axis1=1, axis2=2) ** 2 / np.where(squares > 0, squares, 1.0)
    return labelled("dimension", used, {"dimension": ((), found)}, {})
