"""All states after the washout as one matrix, for readouts that need the rows themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.esn import ESN
from echoscale.readouts import recent
from echoscale.readouts.products import Pairs, width_of, with_products
from echoscale.series import Series

Array = npt.NDArray[Any]


def state_rows(
    esn: ESN,
    series: Series,
    washout: int,
    direct: int = 0,
    dtype: npt.DTypeLike | None = None,
    *,
    pairs: Pairs | None = None,
) -> tuple[Array, Array]:
    """Run from the zero state and keep (x(t), u(t), u(t-1), ...) of every step after the washout, series after series.

    Parameters
    ----------
    esn : ESN
        The network.
    series : Series
        Inputs.
    washout : int
        Steps at the start of every series that are left out; every series is longer.
    direct : int
        How many of the last inputs stand beside the states.
    dtype : data type, optional
        Of the rows; that of the network unless given.
    pairs : (P, 2), optional
        Products of two states that stand after them.

    Returns
    -------
    rows : (R, N + P + direct F)
        Features.
    last : (N,) or (B, N)
        The last states.
    """
    lengths = series.lengths - washout
    ends = np.cumsum(lengths)
    width = width_of(esn.units, pairs)
    rows = np.empty((int(ends[-1]), width + direct * series.features), dtype or esn.dtype)

    def keep(lanes: Any, start: int, states: Any) -> None:
        for place, b in enumerate(lanes):
            live = np.asarray(states)[max(washout - start, 0) : max(int(series.lengths[b]) - start, 0), place]
            first = int(ends[b] - lengths[b]) + max(start - washout, 0)
            rows[first : first + len(live), :width] = live if pairs is None else with_products(live, pairs)

    last = esn.run_chunks(series, keep)
    if direct:
        rows[:, width:] = np.concatenate([recent.windows(each, direct)[washout:] for each in series.values])
    return rows, last
