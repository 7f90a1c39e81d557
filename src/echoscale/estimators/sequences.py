"""The choice of features for a classifier of sequences.

Options that are left open (leak rates, input scaling, changes and ranks of the inputs, pools) are chosen by the leave-one-out
error of a ridge readout, also for trained readouts. The choice uses few neurons: first changes and ranks, then leak rates and
input scalings on the lanes of one run. Only the best choice is run with all neurons.
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
from echoscale.estimators.features import ESNFeatures
from echoscale.readouts.classes import least_error
from echoscale.readouts.pooling import AUTO, WHOLE, Pools
from echoscale.readouts.states import check_states
from echoscale.timescales.candidates import Candidate, Candidates, fewer_units, side_by_side

# Candidates for options that are left open. Set on half of the data sets of benchmarks/classification.py, and on synthetic
# sequences of many classes with few examples each. Changes and ranks are chosen with the first leak rates and input scaling.
SHAPE = ("skew", "positive", "variation")
POOLS = ((*WHOLE, *SHAPE), ("segments", "std", "max", "min", *SHAPE))
SLOWEST = (0.1, 0.03, 0.3)
INPUT_SCALINGS = (1.0, 0.3)


def choose(
    shared: dict[str, Any], pools: Pools, series: Series, codes: Floats
) -> tuple[ESNFeatures, Floats, Candidates | None]:
    """The transformer with the smallest error on held-out sequences, its rows (B, columns), and all candidates.

    shared  parameters of all transformers; they include the seed, so all have the same weights
    The rows are not standardised.
    """
    sets = POOLS if pools.features == AUTO else (pools.names,)
    changes = [True, False] if pools.changes is None and shared["network"] is None else [pools.with_changes]
    ranks = [False, True] if pools.ranks is None and shared["scale"] is not None else [bool(pools.ranks)]
    heard = [replace(pools, changes=each, ranks=ranked, standardise=False) for each, ranked in product(changes, ranks)]
    given = shared["network"] is not None
    rates, scalings = (given or shared[name] is not None for name in ("leak_rate", "input_scaling"))
    tried = candidates(int(series.lengths.max()), not rates, not scalings)
    errors = np.zeros((1, 1))
    if len(heard) * len(tried) * len(sets) > 1:
        # The first candidate chooses changes and ranks; the other candidates then use the best of them.
        first = [errors_of(shared, tried[:1], each, sets, series, codes) for each in heard]
        best = int(np.argmin([each.min() for each in first]))
        heard, errors = heard[best : best + 1], first[best]
        if len(tried) > 1:
            errors = np.concatenate([errors, errors_of(shared, tried[1:], heard[0], sets, series, codes)])
    place, kept = np.unravel_index(errors.argmin(), errors.shape)
    made = ESNFeatures(**{**shared, "pools": replace(heard[0], features=sets[kept])})
    if not np.isnan(tried[place].fast):
        made.set_params(leak_rate=tried[place].leak_rate(made._sizes()))
    if not np.isnan(tried[place].input_scaling):
        made.set_params(input_scaling=tried[place].input_scaling)
    slow, fast, scaling = np.array(tried).T
    found = Candidates(slow, fast, scaling, np.sqrt(errors.min(axis=1)), series.count, tie=0.0) if len(tried) > 1 else None
    return made, made.begin(series).pool(series), found


def errors_of(
    shared: dict[str, Any],
    tried: Sequence[Candidate],
    pools: Pools,
    sets: Sequence[tuple[str, ...]],
    series: Series,
    codes: Floats,
) -> Floats:
    """Leave-one-out errors, (candidates, sets of pools): all candidates run on lanes, with few neurons."""
    model, given = ESNFeatures(**shared), shared["network"]
    networks = [model._described(fewer_units(model._sizes()), each) for each in tried] if given is None else [given]
    # All candidates have the same weights. A network that spreads its leak rates has the hyper-parameters of all others.
    widest = next((each for each in networks if each.spreads_leaks), networks[0])
    options = {name: shared[name] for name in ("washout", "scale", "dtype", "device", "random_state")}
    every = replace(pools, features=union(sets))
    made = ESNFeatures(**options, network=widest, pools=every).begin(series)
    lanes = made.pool(series, hyper=side_by_side(networks))
    where = every.columns(made.esn_.units, lanes.shape[2])
    found = [np.concatenate([rows[:, where[name]] for name in names], axis=1) for rows, names in product(lanes, sets)]
    return np.array([least_error(rows, codes) for rows in found]).reshape(len(lanes), len(sets))


def candidates(longest: int, leak_rates: bool = True, input_scalings: bool = True) -> list[Candidate]:
    """Leak rates and input scalings to try, NaN where they are given; the slowest timescale is at most the longest sequence."""
    slowest = [each for each in SLOWEST if each * longest >= 1] or [1.0]
    ranges = [(each, 1.0) for each in slowest] if leak_rates else [(np.nan, np.nan)]
    return [Candidate(*each, scaling) for each, scaling in product(ranges, INPUT_SCALINGS if input_scalings else (np.nan,))]


def union(sets: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """All pools of all sets, each once."""
    return tuple(dict.fromkeys(name for pools in sets for name in pools))


def warn_of_states(rows: Floats, pools: Pools, esn: ESN) -> None:
    """Warns of states that are saturated or hardly move, as far as the pools show it."""
    where = pools.columns(esn.units, rows.shape[1])
    levels = next((name for name in ("mean", "segments", "last", "snapshots") if name in where), None)
    if levels is None or len(rows) < 2:
        return
    each = rows[:, where[levels]].reshape(-1, esn.units)
    within = (rows[:, where["std"]] ** 2).mean(axis=0) if "std" in where else 0.0
    check_states(each.mean(axis=0), each.var(axis=0) + within, esn)
