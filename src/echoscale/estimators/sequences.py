"""One label per sequence: which features a classifier sees.

What a user leaves open (ranks, the input scaling, the pools) is chosen by the error of a ridge readout on sequences that are
left out one by one, whatever readout follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from echoscale._internal.types import Floats
from echoscale.data.series import Series
from echoscale.engine.esn import ESN
from echoscale.estimators.features import ESNFeatures, pools_of
from echoscale.readouts.classes import least_error
from echoscale.readouts.pooling import AUTO, WHOLE, Pools
from echoscale.readouts.states import check_states

# Candidates, where a user leaves them open. Set on half of the data sets of benchmarks/classification.py.
IN_PARTS = ("segments", "std", "max", "min")
INPUT_SCALINGS = (0.3, 1.0)


def choose(shared: dict[str, Any], pools: Pools, series: Series, codes: Floats) -> tuple[ESNFeatures, Floats]:
    """The transformer with the least error on held-out sequences, and its rows (B, columns), which are not standardised.

    shared  parameters of all transformers; the seed is one of them, so all have the same weights
    """
    sets = [WHOLE, IN_PARTS] if pools.features == AUTO else [pools.names]
    ranks = [False, True] if pools.ranks is None and shared["scale"] is not None else [bool(pools.ranks)]
    open_scaling = shared["input_scaling"] is None and shared["network"] is None
    scalings = INPUT_SCALINGS if open_scaling else [shared["input_scaling"]]
    several, tried = len(sets) * len(ranks) * len(scalings) > 1, []
    for each, scaling in product(ranks, scalings):
        every = replace(pools, features=union(sets), ranks=each, standardise=False)
        made = ESNFeatures(**{**shared, "input_scaling": scaling, "pools": every}).begin(series)
        rows = made.pool(series)
        where = every.columns(made.esn_.units, rows.shape[1])
        for names in sets:
            mine = np.concatenate([rows[:, where[name]] for name in names], axis=1)
            tried.append((least_error(mine, codes) if several else 0.0, made, names, mine))
    _, best, names, rows = min(tried, key=lambda one: one[0])
    # From now on, only the pools that were chosen are computed.
    chosen = replace(pools_of(best.pools), features=names)
    best.pools, best.columns_ = chosen, chosen.columns(best.esn_.units, rows.shape[1])
    return best, rows


def union(sets: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """All pools of all sets, each once."""
    return tuple(dict.fromkeys(name for pools in sets for name in pools))


def warn_of_states(rows: Floats, pools: Pools, esn: ESN) -> None:
    """Warn of states that are saturated or stand still, as far as pools tell."""
    where = pools.columns(esn.units, rows.shape[1])
    levels = next((name for name in ("mean", "segments", "last", "snapshots") if name in where), None)
    if levels is None or len(rows) < 2:
        return
    each = rows[:, where[levels]].reshape(-1, esn.units)
    within = (rows[:, where["std"]] ** 2).mean(axis=0) if "std" in where else 0.0
    check_states(each.mean(axis=0), each.var(axis=0) + within, esn)
