"""Hyper-parameters that `tune` makes of the best lanes, from the data before the first origin alone.

What it finds takes part in a round like all others: at every origin folds decide, on data that the tuning has not seen too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from echoscale.automatic.pool import Member
from echoscale.automatic.steps import TimeRows
from echoscale.esn import ESN
from echoscale.hyper import Hyper, with_lanes
from echoscale.tuning import tune

LEAST_ROWS = 300
STARTS, STEPS = 4, 10


class OutOfTimeError(Exception):
    """The clock stopped the tuning: what it has so far would depend on the machine."""


def tuned_lanes(rows: TimeRows, esn: ESN, hyper: Hyper, members: list[Member], late: Callable[[], bool]) -> Hyper:
    """The hyper-parameters after some steps downhill, one lane for every start.

    Parameters
    ----------
    rows : TimeRows
        The data.
    esn : ESN
        The network whose lanes the members read.
    hyper : Hyper
        All its lanes.
    members : list of Member
        The best candidates of the first origin; those of this network are the starts.
    late : function
        Whether time is up; asked after every step.
    """
    origin = rows.judging.origins[0]
    [edges] = rows.judging.edges
    end = int(edges[2 * origin.trained - 1])
    u = np.asarray(rows.heard.values[0])[:end]
    width, outputs = rows.width, rows.question.outputs
    first = width + (outputs if members[0].change else 0)
    y = np.asarray(rows.beside.values[0])[:end, first : first + outputs]
    lanes = list(dict.fromkeys(each.lane for each in members))[:STARTS]
    starts = hyper.on(np.array(lanes), np.float64)

    def tell(done: int, total: int, note: str) -> None:
        if late():
            raise OutOfTimeError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = tune(
            esn.network,
            u,
            y,
            starts=starts,
            seed=esn.seed,
            washout=rows.question.washout,
            test=0.0,
            scale=None,
            rounds=STEPS,
            relocate=False,
            dtype=esn.dtype,
            progress=tell,
        )
    last = found.history["value"].isel(round=-1)
    learned = {str(name): last.sel(parameter=name).values.tolist() for name in last["parameter"].values if "[" in str(name)}
    return with_lanes(starts, learned) if learned else starts
