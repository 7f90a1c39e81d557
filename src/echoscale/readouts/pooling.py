"""Pool the states x(1), ..., x(T) of a whole sequence to one row of fixed length: the features of one label per sequence.

    mean       1/T sum over t of x(t)
    std        the standard deviation of x(t) over t
    max, min   of every neuron over t
    skew       the third moment of x(t) about its mean, over std^3
    positive   the share of steps with x(t) > 0
    variation  1/T sum over t of |x(t) - x(t-1)|
    last       x(T)
    segments   means over P parts of equal length, side by side
    snapshots  x(M), x(2M), ..., x(SM), side by side; or P of them at relative positions, x(ceil(k T / P)), k = 1, ..., P

States are pooled chunk by chunk as they are computed: memory does not grow with the length of a sequence.

`standard_rows` standardises the rows of many networks on lanes, and `statistics_of` gives their statistics:

    f = (pool(x(1), ..., x(T)) - mean) / spread        mean and spread of every column, over the training sequences
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Floats, Indices
from echoscale.data.scaling import Scaling
from echoscale.data.series import Series, check_longer_than
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.readouts.ridge import turned
from echoscale.readouts.statistics import Statistics

POOLS = ("mean", "std", "max", "min", "skew", "positive", "variation", "last", "segments", "snapshots")
WHOLE = ("mean", "std", "max", "min")  # the pools of a sequence unless the user names others
SUMS = {"mean", "std", "skew", "positive"}  # the pools that are sums over the steps
AUTO = "auto"

# Share of the largest spread of all features: a smaller variation is rounding of the states, and is not scaled up to size 1.
LEAST_SPREAD = 1e-5
# If a state varies less over a sequence, its skewness is rounding.
LEAST_STD = 1e-4


@dataclass(frozen=True)
class Pools:
    """Settings of the features of a sequence: the inputs of the network, and how its states are pooled to one row.

    Parameters
    ----------
    features : "auto", str or tuple of str, default "auto"
        Pools of the states of a sequence, side by side: "mean", "std", "max", "min", "last", "segments" (means of `parts` parts
        of equal length), "snapshots" (states at `parts` relative positions, or after every `every` steps), "skew", "positive",
        "variation". "auto": ("mean", "std", "max", "min"); a classifier adds ("skew", "positive", "variation"), also tries
        "segments" in place of "mean", and takes the better set on held-out sequences.
    every : int or None
        Number of steps from one snapshot to the next, for sequences of one length. None: `parts` snapshots at relative
        positions, x(ceil(k T / parts)), k = 1, 2, ..., for any length T.
    parts : int, default 4
        Number of segments, and of snapshots at relative positions.
    changes : bool or None
        Whether the network receives the changes u(t) - u(t-1) beside the inputs. None: yes; a classifier tries both.
    ranks : bool or None
        Whether the network receives normal scores of the inputs, in place of `scale`: the rank of a value in the training data,
        mapped to a standard normal variable. This suits inputs with a few huge values. None: no; a classifier with
        scale="standard" tries both.
    standardise : bool, default True
        Whether features have mean 0 and standard deviation 1 over the training data. Readouts trained by minibatches always see
        standardised features.

    Examples
    --------
    >>> import echoscale as es
    >>> es.readouts.Pools("mean").features
    ('mean',)
    """

    features: str | Sequence[str] = AUTO
    every: int | None = None
    parts: int = 4
    changes: bool | None = None
    ranks: bool | None = None
    standardise: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.features, str) or self.features != AUTO:
            object.__setattr__(self, "features", check_pools(self.features))
        if self.every is not None:
            checks.integer(self.every, "every", minimum=1)
        checks.integer(self.parts, "parts", minimum=1)
        checks.choice(self.changes, (True, False, None), "changes")
        checks.choice(self.ranks, (True, False, None), "ranks")
        checks.choice(self.standardise, (True, False), "standardise")

    @property
    def with_changes(self) -> bool:
        """Whether the network receives changes; True if the option is open."""
        return self.changes is not False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the pools; the default pools for "auto"."""
        return WHOLE if self.features == AUTO else tuple(self.features)

    def columns(self, units: int, width: int) -> dict[str, slice]:
        """Returns the columns of every pool in a row of features.

        Parameters
        ----------
        units : int
            Number of neurons.
        width : int
            Number of all columns.
        """
        fixed = sum(self.parts if name == "segments" else 1 for name in self.names if name != "snapshots")
        return columns(self.names, units, self.parts, width // units - fixed)


def check_pools(pools: object) -> tuple[str, ...]:
    """The names of pools as a tuple; unknown and repeated names raise an error."""
    names = (pools,) if isinstance(pools, str) else tuple(pools) if isinstance(pools, Sequence) else ()
    for name in names:
        if name not in POOLS:
            raise ValueError(f"features must be one of {', '.join(map(repr, POOLS))}, or several of them; got {name!r}.")
    if not names or len(set(names)) < len(names):
        raise ValueError(f"features must name at least one way of pooling, and each once; got {pools!r}.")
    return names


def columns(pools: Sequence[str], units: int, parts: int, snapshots: int) -> dict[str, slice]:
    """The columns of every pool in a row."""
    widths = {name: units * {"segments": parts, "snapshots": snapshots}.get(name, 1) for name in pools}
    ends = np.cumsum(list(widths.values())).tolist()
    return {name: slice(end - width, end) for (name, width), end in zip(widths.items(), ends, strict=True)}


def pooled(
    esn: ESN,
    series: Series,
    pools: Sequence[str],
    *,
    parts: int = 4,
    every: int | None = None,
    washout: int = 0,
    state: npt.ArrayLike | None = None,
    hyper: Hyper | None = None,
) -> Floats:
    """One row for every sequence, (B, columns), or (H, B, columns) with lanes."""
    check_longer_than(series, washout, "X")
    lengths, count, lanes, units = series.lengths, series.count, (hyper or esn.hyper).lanes, esn.units
    first, end = _parts(lengths, washout, parts if "segments" in pools else 1)
    taken = _moments(lengths, parts, every) if "snapshots" in pools else np.zeros((count, 0), np.int64)
    where = columns(pools, units, parts, taken.shape[1])
    rows = np.zeros((count * (lanes or 1), sum(each.stop - each.start for each in where.values())))
    total, squares, before = np.zeros((3, len(rows), units))  # before: the last states so far
    for name, worst in (("max", -np.inf), ("min", np.inf)):
        if name in where:
            rows[:, where[name]] = worst

    def add(which: Indices, start: int, states: Any) -> None:
        x, own = np.asarray(states, np.float64), which % count
        times = start + np.arange(len(x))
        live = (times[:, None] >= washout) & (times[:, None] < lengths[own])
        if not SUMS.isdisjoint(where):
            counted = x if live.all() else np.where(live[..., None], x, 0.0)
            total[which] += counted.sum(axis=0)
            if "std" in where or "skew" in where:
                squares[which] += np.einsum("tbn,tbn->bn", counted, counted)
            if "skew" in where:
                rows[which, where["skew"]] += np.einsum("tbn,tbn,tbn->bn", counted, counted, counted)
            if "positive" in where:
                rows[which, where["positive"]] += (counted > 0).sum(axis=0)
        # Rows past the end of a sequence repeat its last state: they change no extreme and add no variation.
        for name, extreme in (("max", np.maximum), ("min", np.minimum)):
            if name in where and start + len(x) > washout:
                found = extreme.reduce(x[max(washout - start, 0) :], axis=0)
                rows[which, where[name]] = extreme(rows[which, where[name]], found)
        if "variation" in where:
            late = x[max(washout - start, 0) :]
            rows[which, where["variation"]] += np.abs(late[1:] - late[:-1]).sum(axis=0)
            if start > washout:
                rows[which, where["variation"]] += np.abs(x[0] - before[which])
            before[which] = x[-1]
        if "segments" in where:
            inside = (times >= first[own, :, None]) & (times < end[own, :, None])  # (b, P, t)
            rows[which, where["segments"]] += (inside.astype(np.float64) @ x.swapaxes(0, 1)).reshape(len(which), -1)
        if taken.shape[1]:
            lane, place = np.nonzero((taken[own] >= start) & (taken[own] < start + len(x)))
            kept = rows[:, where["snapshots"]].reshape(len(rows), -1, units)  # a view
            kept[which[lane], place] = x[taken[own[lane], place] - start, lane]

    last = esn.run_chunks(series, add, state=state, hyper=hyper)
    steps = np.tile(lengths - washout, lanes or 1)[:, None].astype(np.float64)
    mean, std = total / steps, np.sqrt(np.maximum(squares / steps - (total / steps) ** 2, 0))
    if "mean" in where:
        rows[:, where["mean"]] = mean
    if "std" in where:
        rows[:, where["std"]] = std
    if "skew" in where:
        third = rows[:, where["skew"]] / steps - 3 * mean * std**2 - mean**3
        rows[:, where["skew"]] = np.where(std > LEAST_STD, third / np.maximum(std, LEAST_STD) ** 3, 0.0)
    for name in ("positive", "variation"):
        if name in where:
            rows[:, where[name]] /= steps
    if "segments" in where:
        rows[:, where["segments"]] /= np.repeat(np.tile(end - first, (lanes or 1, 1)), units, axis=1)
    if "last" in where:
        rows[:, where["last"]] = np.asarray(last).reshape(len(rows), -1)
    return rows if lanes is None else rows.reshape(lanes, count, -1)


def _parts(lengths: Indices, washout: int, parts: int) -> tuple[Indices, Indices]:
    """First step of every part and the one after its last, (B, P) each; neighbours share a step that lies in both."""
    cuts = np.arange(parts + 1) * (lengths - washout)[:, None]
    return washout + cuts[:, :-1] // parts, washout - (-cuts[:, 1:] // parts)


def _moments(lengths: Indices, parts: int, every: int | None) -> Indices:
    """The step of every snapshot, (B, S), from 0 on."""
    if every is None:
        return -(-np.arange(1, parts + 1) * lengths[:, None] // parts) - 1
    shortest, longest = int(lengths.min()), int(lengths.max())
    if shortest != longest:
        raise ValueError(
            f"snapshots every {every} steps need sequences of one length, got {shortest} to {longest} steps. Leave `every` "
            "out: snapshots are then taken at relative positions."
        )
    if longest < every:
        raise ValueError(f"every={every} is longer than the sequences of {longest} steps: there would be no snapshot.")
    return np.tile(np.arange(every, longest + 1, every) - 1, (len(lengths), 1))


def standardising(features: npt.NDArray[Any]) -> Scaling:
    """Means and spreads of features over the rows."""
    found = Scaling.of(np.asarray(features)[None])
    constant = np.asarray(features).min(axis=0) == np.asarray(features).max(axis=0)
    moving = found.spread[~constant]
    least = LEAST_SPREAD * float(moving.max(initial=0.0))
    spread = np.where(constant, 1.0, np.maximum(found.spread, least))
    return Scaling(found.mean, spread)


def standard_rows(esn: ESN, series: Series, pools: Pools, hyper: Hyper, trains: npt.NDArray[np.bool_]) -> Floats:
    """One row for every sequence and network, (H, B, min(B, columns)); reduced by `turned` if there are more columns than
    sequences.
    """
    rows = pooled(esn, series, pools.names, parts=pools.parts, every=pools.every, hyper=hyper)
    if pools.standardise:
        rows = np.stack([standardising(each[trains]).forward(each) for each in rows])
    return np.stack([turned(each).rows for each in rows])


def statistics_of(rows: Floats, codes: Floats, which: Indices) -> Statistics:
    """The statistics of selected sequences, for every network."""
    count = len(which)
    both = np.concatenate([rows[:, which], np.broadcast_to(codes[which], (len(rows), count, codes.shape[1]))], axis=2)
    mean = both.sum(axis=1) / max(count, 1)
    centred = both - mean[:, None]
    return Statistics(np.full(len(rows), float(count)), mean, centred.swapaxes(1, 2) @ centred, rows.shape[2])
