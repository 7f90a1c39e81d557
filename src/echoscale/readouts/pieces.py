"""Statistics and outputs of data in pieces: one piece after another, with the state between them, or spread over an executor.

in_turn   the state after a piece is the start of the next one: the same as one run
spread    pieces run anywhere, each from the zero state; steps before the first counted one are its washout
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale._internal.executors import results
from echoscale._internal.types import Array, Indices
from echoscale.data.series import Series
from echoscale.data.stored import PIECE_BYTES, Place, places, to_send, view, walk

if TYPE_CHECKING:
    from echoscale.readouts.statistics import Statistics

# run(series, targets, edges, state): the statistics of every segment, and the states after the last step.
Run = Callable[[Series, Series, Sequence[Indices], Any], tuple[list["Statistics"], Array]]
# Groups of series for the workers of an executor, if there are as many series.
GROUPS = 64


def along(run: Callable[..., Array], state: npt.ArrayLike | None, *series: Series) -> Array:
    """Calls state = run(place, pieces, state) along time for every group of series; returns the last states of all series."""
    first, ends, now = None if state is None else np.asarray(state), [], None
    for place, pieces in walk(*series):
        if place.begin == 0:
            now = first if first is None or first.ndim == 1 else first[..., place.first : place.last, :]
            now = first if series[0].kind == "one" else now
        now = run(place, pieces, now)
        if place.end == series[0].lengths[place.first : place.last].max():
            ends.append(now)
    return ends[0] if len(ends) == 1 else np.concatenate(ends, axis=-2)


def in_turn(
    run: Run, series: Series, targets: Series, edges: Sequence[Indices], state: npt.ArrayLike | None = None
) -> tuple[list[Statistics], Array]:
    """The statistics of consecutive segments of time from one run, and the states after it."""
    found: dict[int, Statistics] = {}

    def one(place: Place, pieces: list[Series], now: Any) -> Array:
        here = np.clip(np.stack(edges[place.first : place.last]) - place.begin, 0, pieces[0].lengths[:, None])
        touched = np.flatnonzero(np.diff(here, axis=1).any(axis=0))
        low, high = (touched[0], touched[-1] + 1) if len(touched) else (0, 1)
        parts, after = run(pieces[0], pieces[1], list(here[:, low : high + 1]), now)
        _add(found, dict(enumerate(parts, int(low))))
        return after

    last = along(one, state, series, targets)
    return _filled(found, len(edges[0]) - 1), last


def spread(
    run: Run, series: Series, targets: Series, edges: Sequence[Indices], washout: int, executor: Executor
) -> tuple[list[Statistics], Array]:
    """The same from pieces on an executor, summed as they arrive."""

    def calls() -> Iterator[tuple[Place, tuple[Any, ...]]]:
        for place in places(series, PIECE_BYTES, GROUPS):
            wider = place._replace(begin=max(place.begin - washout, 0))
            counted = [np.clip(edges[b], place.begin, place.end) - wider.begin for b in range(place.first, place.last)]
            yield place, (to_send(view(series, wider)), to_send(view(targets, wider)), counted)

    found: dict[int, Statistics] = {}
    ends: dict[int, Array] = {}
    for place, (parts, last) in results(calls(), partial(_of_piece, run), executor):
        _add(found, parts)
        if place.end == series.lengths[place.first : place.last].max():
            ends[place.first] = last
    states = [ends[first] for first in sorted(ends)]
    return _filled(found, len(edges[0]) - 1), states[0] if len(states) == 1 else np.concatenate(states, axis=-2)


def _of_piece(run: Run, series: Series, targets: Series, edges: Sequence[Indices]) -> tuple[dict[int, Statistics], Array]:
    """What a worker does. A Dask array is computed in its thread: as tasks of the cluster, many would be loaded at once."""
    dask = sys.modules.get("dask")
    with dask.config.set(scheduler="synchronous") if dask else nullcontext():
        parts, last = in_turn(run, series, targets, edges)
    return {s: part for s, part in enumerate(parts) if np.any(part.count)} or {0: parts[0]}, last


def _add(found: dict[int, Statistics], parts: dict[int, Statistics]) -> None:
    for s, part in parts.items():
        found[s] = found[s] + part if s in found else part


def _filled(found: dict[int, Statistics], segments: int) -> list[Statistics]:
    """The statistics of all segments; those that no piece has are empty."""
    some = next(iter(found.values()))
    empty = type(some)(0 * some.count, 0 * some.mean, 0 * some.scatter, some.features)
    return [found.get(s, empty) for s in range(segments)]
