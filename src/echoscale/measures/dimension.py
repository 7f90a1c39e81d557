"""How many directions the states use: the participation ratio of their covariance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from echoscale.esn import ESN
from echoscale.hyper import Hyper
from echoscale.measures.labels import check_steps, labelled, one_series, slabs
from echoscale.readouts.statistics import statistics
from echoscale.series import SeriesLike, washout_steps

if TYPE_CHECKING:
    import xarray


def dimension(esn: ESN, u: SeriesLike, *, washout: int | None = None, hyper: Hyper | None = None) -> xarray.Dataset:
    """(sum_i l_i)^2 / sum_i l_i^2 with the eigenvalues l_i of the covariance of the states, for every lane.

    1 where all states move along one line, N where all directions move alike.

    Parameters
    ----------
    esn : ESN
        The network.
    u : (T, F)
        Inputs, any.
    washout : int, optional
        Steps that do not count; 100 unless given, or a tenth of u where that is less.
    hyper : Hyper, optional
        Other hyper-parameters than the network's own, with lanes or without.

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
    length = int(series.lengths[0])
    first = washout_steps(washout, length)
    check_steps(length, first, esn.units + 1, f"a dimension of {esn.units} neurons")
    found = np.empty(used.lanes or 1)
    for which, part in slabs(used, 16 * (esn.units + 2) ** 2):
        # Any target will do: only the states' own scatter is used.
        scatter = statistics(esn, series, series, washout=first, hyper=part).scatter[:, : esn.units, : esn.units]
        squares = (scatter**2).sum(axis=(1, 2))
        found[which] = np.trace(scatter, axis1=1, axis2=2) ** 2 / np.where(squares > 0, squares, 1.0)
    return labelled("dimension", used, {"dimension": ((), found)}, {})
