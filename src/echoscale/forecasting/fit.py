"""Fit a forecasting model: candidates in the units of the data and in logarithms, their weights, and the intervals.

The weights w of the candidates follow from their errors e at judged origins:

    w = (u + v) / 2
    u = argmin mean over origins and horizons of (sum_k u_k e_k)^2 + sum_k u_k^2 mean e_k^2,   u >= 0,   sum u = 1
    v_k proportional to (error_k / least error)^-8, 0 for errors far above the least

Errors are in units of the least error of their horizon, so that all horizons count alike. u takes into account which errors
cancel. In u, variances are counted twice, since the best of many candidates looks better than it is (Bates and Granger 1969),
and errors far from the other errors of a candidate are clipped. v takes into account the sizes of errors alone. Short and long
horizons have their own weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.data import differencing
from echoscale.forecasting import intervals
from echoscale.forecasting.candidates import Candidate, Contest
from echoscale.forecasting.data import Line, Units, held, worth_a_logarithm
from echoscale.forecasting.model import NAIVE, Core, Part, View
from echoscale.forecasting.selection.weights import of_errors
from echoscale.forecasting.splits import Timing, timing
from echoscale.timescales.season import season as season_of

# Values of a series, at least: fewer leave no forecast to judge.
LEAST_STEPS = 12
# Steps before the first cut: this number of seasons, and this number of steps more.
SEASONS, MORE = 2, 10
# Candidates with smaller weights are left out: they would change the forecast little, and take as long as the others.
LEAST_WEIGHT = 0.02
# Steps that are forecast unless the user says otherwise: these, or a season of at most the second number of steps.
DEFAULT_HORIZON, LONGEST_DEFAULT = 24, 60
# The values are this many times the longest horizon, at least: longer horizons leave too few forecasts to judge.
SHARE = 3
# The last values of a series that are used: more take longer, and older values may mislead.
MOST_STEPS = 10_000
AUTO = "auto"

# The exponent of v, and the error above which v is 0, in least errors: larger exponents trust the best candidate more.
POWER, WORST = 8.0, 1.3
# Errors beyond this many mean absolute errors of their candidate are clipped: a few of them would decide u.
FAR = 4.0
# Horizons up to these share weights, which come from the horizons from two thirds of the first to one and a half of the last.
GROUPS = (2, 6, 12, 24, 48)
ABOUT = 1.5
# Candidates that may share u, the best first: among more of them, chance decides.
MOST = 12
# Judged rows that a candidate must have, as a share of the largest number that a candidate has.
LEAST_SHARE = 0.8


@dataclass(frozen=True)
class Choices:
    """What the user left open, or chose.

    Attributes
    ----------
    period : int, None or "auto"
        Of the season.
    mode : "auto", "direct" or "closed loop"
        Which readers.
    difference : "auto" or one of `differencing.DIFFERENCES`
        What readers start from.
    log : bool or "auto"
        Whether logarithms are used.
    networks : bool
        Whether networks take part.
    seed : int
        Of all that is drawn.
    """

    period: int | str | None = AUTO
    mode: str = AUTO
    difference: str = AUTO
    log: bool | str = AUTO
    networks: bool = True
    seed: int = 0

    @property
    def only_readers(self) -> bool:
        """Whether the user asked for readers of one kind, so that smoothing is none of it."""
        return self.mode != AUTO or self.difference != AUTO


def longest_horizon(lengths: Sequence[int]) -> int:
    """What errors can be judged at."""
    return min(lengths) // SHARE


def default_horizon(lengths: Sequence[int], period: int | None) -> int:
    """24 steps, or a season that is not much longer, if errors can be judged there."""
    season = period if period is not None and period <= LONGEST_DEFAULT else 0
    return min(max(DEFAULT_HORIZON, season), max(longest_horizon(lengths), 1))


def period_of(values: Sequence[Floats], choices: Choices) -> int | None:
    """The season of all series: as chosen, or what most of them show."""
    shortest = min(map(len, values))
    if choices.period != AUTO:
        period = choices.period
        assert not isinstance(period, str)
        if period is not None and period * 2 + 2 > shortest:
            raise ValueError(
                f"season={period} is too long for {shortest} values: two seasons and two values more are needed at least."
            )
        return None if period == 1 else period
    found = [season_of(each) for each in values]
    seen = [each for each in found if each is not None and SEASONS * each + MORE <= shortest * 0.8]
    if 2 * len(seen) < len(found) or not seen:
        return None
    kinds, counts = np.unique(seen, return_counts=True)
    return int(kinds[np.argmax(counts)])


def learn(
    values: Sequence[Floats],
    future: Sequence[Floats],
    past: Sequence[Floats],
    horizon: int,
    period: int | None,
    choices: Choices,
) -> Core:
    """All that is known of some series, together."""
    lengths = [len(each) for each in values]
    times = timing(lengths, SEASONS * (period or 0) + MORE, horizon)
    logs = [False]
    if choices.log is True:
        logs = [True]
    elif choices.log == AUTO and all(worth_a_logarithm(each) for each in values):
        logs = [False, True]
    views: list[View] = []
    found: list[tuple[int, Candidate]] = []
    for log in logs:
        units = [Units.of(each, log) for each in values]
        lines = [
            Line(held(unit.forward(y)), ~np.isnan(y), x, p) for unit, y, x, p in zip(units, values, future, past, strict=True)
        ]
        candidates, lanes = _candidates(lines, period, horizon, times, choices, first=log == logs[0])
        found += [(len(views), each) for each in candidates]
        views.append(View(units, lines, lanes))
    scales = np.array([_scale(each) for each in values])
    floors = np.array([0.0 if np.nanmin(each) >= 0 else -np.inf for each in values])
    judged = [_members(views[view], candidate) for view, candidate in found]
    means = [[np.maximum(each[0], floor) for each, floor in zip(one, floors, strict=True)] for one in judged]
    truth = [_truth(y, times, b, horizon) for b, y in enumerate(values)]
    errors = [np.concatenate([(t - each) / scale for t, each, scale in zip(truth, one, scales, strict=True)]) for one in means]
    weights = by_horizon(errors, np.array([_usable(candidate) for _, candidate in found]))
    weights = np.where(weights >= LEAST_WEIGHT, weights, 0.0)
    weights = weights / weights.sum(axis=0)
    used = np.flatnonzero(weights.any(axis=1))
    together = sum(np.where(weights[k] > 0, weights[k] * errors[k], 0.0) for k in used)
    order = _in_time(truth)
    scatter = _scatter([judged[k] for k in used], weights[used], scales)
    usual = intervals.usual(scatter)
    share = intervals.share_of(len(scatter))
    wider = intervals.wider(scatter, usual, share)
    table = intervals.quantiles((np.asarray(together) / np.where(np.isfinite(wider), wider, 1.0))[order])
    parts = [part for k in used for part in _parts(found[k][0], found[k][1], weights[k])]
    for place, view in enumerate(views):
        if not any(part.view == place and part.trend >= 0 and part.trend not in NAIVE for part in parts):
            view.lanes = []
    sizes = [float(np.nanmean(np.abs(each))) if np.isfinite(each).any() else np.inf for each in errors]
    names = [("log, " if views[view].units[0].log else "") + candidate.name for view, candidate in found]
    report = sorted(zip(names, sizes, weights.mean(axis=1).tolist(), strict=True), key=lambda each: each[1])
    return Core(period, horizon, views, parts, scales, table, usual, share, floors, tuple(report), times.origins.edges)


def by_horizon(errors: Sequence[Floats], usable: npt.NDArray[np.bool_]) -> Floats:
    """w of every horizon, (K, H)."""
    horizon = errors[0].shape[1]
    edges = [0, *(each for each in GROUPS if each < horizon), horizon]
    found = np.zeros((len(errors), horizon))
    for low, high in pairwise(edges):
        first, last = int(low / ABOUT), int(np.ceil(high * ABOUT))
        found[:, low:high] = weights([each[:, first:last] for each in errors], usable)[:, None]
    return found


def weights(errors: Sequence[Floats], usable: npt.NDArray[np.bool_]) -> Floats:
    """w, (K,)."""
    every = np.stack(errors)
    counts = np.isfinite(every).sum(axis=(1, 2))
    good = np.flatnonzero(usable & (counts > 0) & (counts >= LEAST_SHARE * counts.max()))
    found = np.zeros(len(every))
    if not len(good):
        found[usable] = 1 / max(int(usable.sum()), 1)
        return found
    some = every[good]
    # Horizons that nobody could be judged at say nothing.
    some = some[:, :, np.isfinite(some).any(axis=(0, 1))]
    size = np.nanmean(np.abs(some), axis=1)
    least = np.where(size.min(axis=0) > 0, size.min(axis=0), 1.0)
    score = np.exp(np.log(np.maximum(size / least, 1e-12)).mean(axis=1))
    score = score / score.min()
    v = np.where(score <= WORST, score**-POWER, 0.0)
    best = np.argsort(score, kind="stable")[:MOST]
    u = np.zeros(len(good))
    u[best] = _least_squares(some[best] / least)
    found[good] = (u + v / v.sum()) / 2
    return found


def _candidates(
    lines: list[Line], period: int | None, horizon: int, times: Timing, choices: Choices, first: bool
) -> tuple[list[Candidate], list]:  # type: ignore[type-arg]
    used = differencing.DIFFERENCES if choices.difference == AUTO else (choices.difference,)
    loops = {"auto": (False, True), "direct": (False,), "closed loop": (True,)}[choices.mode]
    search = Contest(lines, period, horizon, times, used, loops)
    candidates, lanes = search.smoothing()
    readers, best = search.lags()
    if choices.networks and first:
        readers += search.networks(best, choices.seed)
    if choices.only_readers and readers:
        return readers, []
    if first:  # they are the same in other units
        candidates += search.naive()
    return candidates + readers, lanes


def _members(view: View, candidate: Candidate) -> list[Floats]:
    """Mean and mean square about it of the members of a candidate, at the judged origins of every series, (2, O_b, H)."""
    found = []
    for unit, blocks in zip(view.units, candidate.judged, strict=True):
        each = [unit.back(block) for block in blocks]
        with np.errstate(over="ignore", invalid="ignore"):  # of a logarithm that ran away
            found.append(np.concatenate([np.stack([block.mean(axis=0), block.var(axis=0)]) for block in each], axis=1))
    return found


def _scatter(judged: Sequence[list[Floats]], weights: Floats, scales: Floats) -> Floats:
    """Weighted mean square of the members about their mean, (O, H), in `scales`."""
    found = []
    for b, scale in enumerate(scales):
        means, within = np.stack([each[b] for each in judged], axis=1)
        used = np.where(weights[:, None] > 0, 1.0, np.nan)  # (K, 1, H): what has no weight may be missing
        total = np.nansum(weights[:, None] * means * used, axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            square = weights[:, None] * used * (within + (means - total) ** 2)
            missing = (np.isnan(means) & (weights[:, None] > 0)).any(axis=0)
            found.append(np.where(missing, np.nan, np.nansum(square, axis=0)) / scale**2)
    return np.concatenate(found)


def _usable(candidate: Candidate) -> bool:
    """Whether it can forecast: a reader that was never fitted cannot."""
    if candidate.trend >= 0:
        return True
    return all(float(each.statistics.count.min()) >= 2 for each in candidate.readers)


def _parts(view: int, candidate: Candidate, weights: Floats) -> list[Part]:
    if candidate.trend >= 0:
        return [Part(weights, view, candidate.trend, None, [])]
    found = []
    for reader, option in zip(candidate.readers, candidate.options, strict=True):
        units = 0 if reader.net is None else reader.net.esn.units
        trails = [rows.shared[-(len(reader.relative) + 1) :, :units].copy() for rows in option.rows]
        found.append(Part(weights / len(candidate.readers), view, -1, reader, trails))
    return found


def _truth(values: Floats, times: Timing, b: int, horizon: int) -> Floats:
    """y(t+h) at the judged origins, (O, H); NaN in gaps and after the end."""
    origins = times.judged(b)
    padded = np.concatenate([values, np.full(horizon, np.nan)])
    return np.asarray(padded[origins[:, None] + np.arange(1, horizon + 1)])


def _in_time(truth: Sequence[Floats]) -> npt.NDArray[np.int64]:
    """The rows of several series below each other, in the order of time: by how far each lies before its end."""
    before = np.concatenate([np.arange(len(each))[::-1] for each in truth])
    return np.argsort(-before, kind="stable")


def _scale(values: Floats) -> float:
    """The mean change from one value to the next; 1 for a series that never changes."""
    changes = np.abs(np.diff(values[~np.isnan(values)]))
    mean = float(changes.mean()) if len(changes) else 0.0
    return mean if mean > 0 else 1.0


def _least_squares(errors: Floats) -> Floats:
    """u of candidates (K, O, H)."""
    both = np.isfinite(errors).all(axis=0)
    far = FAR * np.nanmean(np.abs(errors), axis=1, keepdims=True)
    return of_errors(np.clip(errors, -far, far)[:, both])
