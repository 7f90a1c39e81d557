"""Starts over the cores: groups of starts, each with its own slice of the lanes, run the same compiled loop in threads.

    start s  ->  group s // n, place s % n             n = ceil(S / groups) starts each; idle ones repeat the last start

Starts are independent, so a group is a learner with fewer lanes. Between two buffers there is one carry of all starts, for any
number of cores: saving, printing and the protocol do not depend on groups.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Indices
from echoscale.engine import devices
from echoscale.engine.devices import device_of
from echoscale.engine.lanes import lane_count
from echoscale.learning.online import loop
from echoscale.learning.online.settings import LearnerSettings

VECTOR = 16  # fewer lanes take as long


class Places(NamedTuple):
    """Indices into carries side by side: lanes, starts, and columns of arrays with one column per lane, or with a single column
    for one start (see `loop.Carry`)."""

    lanes: Indices
    starts: Indices
    columns: Indices


class Groups(NamedTuple):
    """The plan of every group, the places of each group in the whole carry, and the places of the whole in all groups."""

    plan: loop.LoopPlan
    apart: tuple[Places, ...]
    together: Places


def over_cores(settings: LearnerSettings, plan: loop.LoopPlan) -> Groups:
    """At most one group per core; one group on other devices than the CPU."""
    workers = devices.cores() if devices.on_cpu(device_of(settings.device)) else 1
    return cut(plan, settings.starts, count(settings.starts, plan.sequences, workers))


def padded(starts: int, sequences: int) -> tuple[int, int]:
    """Numbers of starts and sequences with idle ones added: the least product that fills whole vectors of lanes."""
    if starts == 1:
        return 1, lane_count(sequences)
    pairs = [(s, b) for s in range(starts, starts + 16) for b in range(sequences, sequences + 16) if s * b % 16 == 0]
    return min(pairs, key=lambda pair: (pair[0] * pair[1], pair[0]))


def count(starts: int, sequences: int, workers: int) -> int:
    """The least number of groups for which the widest group, idle lanes included, is as narrow as possible."""

    def width(parts: int) -> int:
        return max(int(np.prod(padded(-(-starts // parts), sequences))), VECTOR)

    return min(range(1, min(workers, starts) + 1), key=lambda parts: (width(parts), parts))


def cut(plan: loop.LoopPlan, starts: int, parts: int) -> Groups:
    """Groups of equal size; the last one has idle starts if the division leaves a remainder."""
    size = -(-starts // parts)
    wide, batch = padded(size, plan.sequences)
    each = plan._replace(starts=wide, batch=batch)
    first = size * np.arange(parts)
    apart = [
        _places(each, np.minimum(begin + np.minimum(np.arange(each.starts), size - 1), starts - 1), plan) for begin in first
    ]
    group, place = np.divmod(np.minimum(np.arange(plan.starts), starts - 1), size)
    return Groups(each, tuple(apart), _places(plan, group * each.starts + place, each, group))


def _places(to: loop.LoopPlan, of: Indices, source: loop.LoopPlan, group: Indices | int = 0) -> Places:
    """Places of the starts `of` in one carry, or in several carries one after another (`group` is the index of the carry).

    A sequence that the source does not have is idle and repeats the source's last sequence.
    """
    sequence = np.minimum(np.arange(to.batch), source.batch - 1)[:, None] * source.starts
    at = (group * source.starts * (source.batch - 1) + of + sequence).ravel()
    if source.starts == 1:
        return Places(at, of, np.tile(of, to.batch))
    return Places(at, of, of if to.starts == 1 else at)


def run(
    groups: Groups, settings: LearnerSettings, fixed: loop.Fixed, carry: loop.Carry, data: loop.StepRows, n: int
) -> tuple[loop.Carry, int, bool]:
    """`loop.program` for all starts: n steps, or fewer, up to the first fault of any start.

    `fixed` and `carry` hold all starts. `data` has the lanes of one group and is the same for every group.
    """
    program = loop.program(devices.on_cpu(device_of(settings.device)))
    if len(groups.apart) == 1:
        new, made, well = program(groups.plan, fixed, carry, data, np.int32(n))
        return new, int(made), bool(well)
    found: dict[int, tuple[loop.Carry, int, bool]] = {}

    def job(which: int) -> None:
        places = groups.apart[which]
        with settings.context():
            new, made, well = program(groups.plan, _fixed(fixed, places), _carry([carry], places), data, np.int32(n))
            found[which] = (new, int(made), bool(well))

    devices.in_threads(job, range(len(groups.apart)), len(groups.apart), threading.Event())
    parts = [found[which] for which in range(len(groups.apart))]
    made = min(each[1] for each in parts)
    if any(each[1] > made for each in parts):  # a fault ended one group early: run the others up to the same step
        return run(groups, settings, fixed, carry, data, made)
    return _carry([each[0] for each in parts], groups.together), made, all(each[2] for each in parts)


def _carry(carries: Sequence[loop.Carry], places: Places) -> loop.Carry:
    """The carry at these places."""

    def take(which: Indices, axis: int, *leaves: Any) -> npt.NDArray[Any]:
        whole = np.concatenate(leaves, axis) if len(leaves) > 1 else np.asarray(leaves[0])
        return np.take(whole, which, axis)

    def every(name: str, which: Indices, axis: int = -1) -> Any:
        return jax.tree.map(partial(take, which, axis), *(getattr(each, name) for each in carries))

    sums = [each.sums for each in carries]
    return loop.Carry(
        state=every("state", places.lanes),
        traces=every("traces", places.lanes),
        theta=every("theta", places.starts),
        readout=every("readout", places.columns),
        values=every("values", places.columns),
        moments=every("moments", places.starts),
        squares=every("squares", places.starts, 0),
        average=every("average", places.starts),
        sums=(take(places.starts, -1, *(each for each, _ in sums)), sums[0][1]),
    )


def _fixed(fixed: loop.Fixed, places: Places) -> loop.Fixed:
    """The constants at these places of one carry: numbers with one value per lane, and rates."""

    def own(leaf: npt.ArrayLike) -> npt.NDArray[Any]:
        values = np.asarray(leaf)
        return values[places.columns] if len(values) > 1 else values

    return fixed._replace(
        hyper=fixed.hyper.map(own), rule=fixed.rule._replace(rate=np.asarray(fixed.rule.rate)[:, places.starts])
    )
