"""One label per sequence: which features, which penalty, which readout.

What is left open (what the network hears, the input scaling, the pools) is chosen by the error of a ridge readout on sequences
that are left out one by one, whatever readout follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.data.series import Series
from echoscale.engine.esn import ESN
from echoscale.estimators.features import ESNFeatures
from echoscale.readouts import leave_one_out, pooling
from echoscale.readouts.states import check_states

AUTO = "auto"
# What is chosen from, where a user leaves it open. Set on half of the data sets of benchmarks/classification.py.
IN_PARTS = ("segments", "std", "max", "min")
INPUT_SCALINGS = (0.3, 1.0)


class ChosenFeatures(NamedTuple):
    """What sequences are judged by, and the ridge readout of it.

    Attributes
    ----------
    transformer : ESNFeatures
        The network and its pools.
    pools : tuple of str
        Those that the readout sees, in their order.
    rows : (B, columns)
        Features of these pools.
    found : RowReadout or None
        The ridge readout; None where another readout follows.
    """

    transformer: ESNFeatures
    pools: tuple[str, ...]
    rows: Floats
    found: leave_one_out.RowReadout | None


def settings(ranks: bool | None, input_scaling: object, scale: str | None, given_network: bool) -> list[dict[str, Any]]:
    """What is chosen from."""
    heard = [False, True] if ranks is None and scale is not None else [bool(ranks)]
    strengths: Sequence[Any] = INPUT_SCALINGS if input_scaling is None and not given_network else [input_scaling]
    return [{"ranks": each, "input_scaling": strength} for each, strength in product(heard, strengths)]


def pool_sets(features: object) -> list[tuple[str, ...]]:
    """The sets of pools to choose from."""
    return [pooling.WHOLE, IN_PARTS] if isinstance(features, str) and features == AUTO else [pooling.check_pools(features)]


def transformers(shared: dict[str, Any], sets: Sequence[tuple[str, ...]], tried: Sequence[dict[str, Any]]) -> list[ESNFeatures]:
    """What is chosen from: transformers with the same weights and all pools, not fitted yet."""
    shared = {**shared, "features": union(sets), "standardise": False}
    return [ESNFeatures(**{**shared, **each}) for each in tried]


def choose(
    candidates: Sequence[ESNFeatures],
    sets: Sequence[tuple[str, ...]],
    series: Series,
    codes: Floats,
    chosen_from: Floats | None,
    validation: float | int,
    *,
    standardise: bool,
    ridge: bool,
) -> ChosenFeatures:
    """The transformer and the pools with the least error on held-out sequences."""
    tried = []
    for each in candidates:
        rows = each.begin(series).pool(series)
        for pools in sets:
            mine = rows[:, _columns(each, pools)]
            several = len(candidates) * len(sets) > 1
            error = leave_one_out.least_error(mine, codes) if several else 0.0
            tried.append((error, each, pools, mine))
    _, transformer, pools, rows = min(tried, key=lambda one: one[0])
    # From now on, only the pools that were chosen are computed.
    transformer.set_params(features=pools)
    found = leave_one_out.solve(rows, codes, chosen_from, validation, standardise=standardise) if ridge else None
    return ChosenFeatures(transformer, pools, rows, found)


def _columns(transformer: ESNFeatures, pools: Sequence[str]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.arange(each.start, each.stop) for each in (transformer.columns_[name] for name in pools)])


def union(sets: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """All pools of all sets, each once."""
    return tuple(dict.fromkeys(name for pools in sets for name in pools))


def warn_of_states(rows: Floats, pools: Sequence[str], esn: ESN, parts: int) -> None:
    """Warn of states that are saturated or stand still, as far as pools tell."""
    units = esn.units
    snapshots = rows.shape[1] // units - sum(parts if name == "segments" else 1 for name in pools if name != "snapshots")
    where = pooling.columns(pools, units, parts, snapshots)
    levels = next((name for name in ("mean", "segments", "last", "snapshots") if name in where), None)
    if levels is None or len(rows) < 2:
        return
    each = rows[:, where[levels]].reshape(-1, units)
    within = (rows[:, where["std"]] ** 2).mean(axis=0) if "std" in where else 0.0
    check_states(each.mean(axis=0), each.var(axis=0) + within, esn)
