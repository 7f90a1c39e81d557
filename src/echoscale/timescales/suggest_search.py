"""Search for a network by its error on held-out blocks of time.

    E = sqrt(mean over folds and outputs of (y - W x - b)^2 / var y),   W, b ridge regression on the other folds

With one label per sequence, rows are pooled states of whole sequences, and folds are sequences. `of_lags` judges ridge
regression on the last inputs on the same folds.

Each round varies hyper-parameters on the lanes of one run: first the `candidates` from which the estimators choose, then drive
and spectral radius, then the leak rates, both again, and finally drive and spectral radius in finer steps. A round changes the
network only for a clear gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.data.lags import lagged
from echoscale.data.metrics import clearly_less
from echoscale.data.series import Series, washout_steps
from echoscale.engine.hyper import with_lanes
from echoscale.network import Network, hierarchical
from echoscale.readouts import splits
from echoscale.readouts.penalties import RELATIVE, ROBUST, fold_errors, least
from echoscale.readouts.pooling import Pools, standard_rows, standardising, statistics_of
from echoscale.readouts.ridge import turned
from echoscale.readouts.statistics import Statistics, of_rows, split_statistics
from echoscale.timescales.candidates import Candidate, candidates, shortened

MOST_STEPS, MOST_UNITS = 4000, 100  # in a trial: more would change little and cost time
MOST_SEQUENCE_STEPS, SEQUENCE_FOLDS = 40_000, 5  # if whole sequences are judged
DRAWS = 2  # random draws of the weights
PENALTIES = RELATIVE[::2]  # a decade apart
SMALLEST = 1e-24  # a smaller squared error is rounding
DRIVES, RADII = (0.01, 0.03, 0.1, 0.3, 1.0), (0.3, 0.7, 0.9, 0.97)
RATES, SLOWEST = 6, 0.07  # leak rates from 1 down to this, or to the slowest of the best network so far
FINER_DRIVES, FINER_GAPS = (0.55, 1.0, 1.8, 3.0), (0.4, 0.65, 1.0, 1.6, 2.5)
LEAST_DRIVE, LARGEST_RADIUS = 0.003, 0.995


@dataclass(frozen=True)
class Point:
    """Hyper-parameters of a hierarchy for standardised inputs, and their error.

    Attributes
    ----------
    fast, slow : float
        Leak rates of the first and the last level; levels between are spaced geometrically.
    radius : float
        Spectral radius of all levels.
    drive : float
        Root mean square of the input's term inside tanh.
    error : float
        E, in standard deviations of the targets; infinite before the trial.
    """

    fast: float
    slow: float
    radius: float
    drive: float
    error: float = np.inf


def improved(
    start: Point,
    series: Series,
    targets: Sequence[Series],
    levels: int,
    units: int,
    bias: float,
    seed: int,
    least_drive: float = LEAST_DRIVE,
    per_sequence: bool = False,
    floor: float = ROBUST,
) -> tuple[Point, Point]:
    """The start and the best point found from it, both with their errors."""
    series, targets = reduced(series, targets, per_sequence)
    sizes = [len(each) for each in np.array_split(np.arange(min(units, MOST_UNITS)), levels)]
    network = hierarchical(sizes, bias_scaling=bias, inputs="all")
    gain = clearly_less(rows_of(series, per_sequence))
    first = candidates(int(series.lengths.max()))
    lanes = 1 + RATES * (RATES + 1) // 2  # the same number in every round: all rounds share one compiled program
    best = start = replace(start, drive=max(start.drive, least_drive))
    seen: list[list[Point]] = []
    for around in (partial(_candidates, first, series.features), _strengths, _leaks, _strengths, _leaks, _finer):
        others = [replace(each, drive=max(each.drive, least_drive), error=np.inf) for each in around(best)]
        if others in seen:
            continue  # tried before
        seen.append(others)
        tried = [best, *others, *[best] * (lanes - 1 - len(others))]
        errors = errors_of(tried, network, series, targets, seed, per_sequence, floor)
        start = start if np.isfinite(start.error) else replace(start, error=float(errors[0]))
        place = int(np.argmin(errors))
        place = place if errors[place] < gain * errors[0] else 0
        best = replace(tried[place], error=float(errors[place]))
    return start, best


def _candidates(first: Sequence[Candidate], features: int, best: Point) -> list[Point]:
    per_drive = input_scaling(1.0, np.ones(features))
    return [replace(best, fast=each.fast, slow=each.slow, drive=each.input_scaling / per_drive) for each in first]


def _strengths(best: Point) -> list[Point]:
    return [replace(best, drive=drive, radius=radius) for drive in DRIVES for radius in RADII]


def _leaks(best: Point) -> list[Point]:
    rates = np.geomspace(1, min(SLOWEST, best.slow), RATES).tolist()
    return [replace(best, fast=fast, slow=slow) for k, fast in enumerate(rates) for slow in rates[k:]]


def _finer(best: Point) -> list[Point]:
    return [
        replace(
            best,
            drive=best.drive * more,
            radius=float(np.clip(1 - gap * (1 - best.radius), 0, LARGEST_RADIUS)),
        )
        for more in FINER_DRIVES
        for gap in FINER_GAPS
    ]


def errors_of(
    points: Sequence[Point],
    network: Network,
    series: Series,
    targets: Sequence[Series],
    seed: int,
    per_sequence: bool = False,
    floor: float = ROBUST,
) -> Floats:
    """E of every point, (points,): the geometric mean over draws of the weights and over targets."""
    rates = np.array([np.geomspace(each.fast, each.slow, len(network.reservoirs)) for each in points])
    lanes: dict[str, Sequence[float]] = {f"leak_rate[{k}]": column.tolist() for k, column in enumerate(rates.T)}
    lanes["spectral_radius"] = [each.radius for each in points]
    lanes["input_scaling"] = [input_scaling(each.drive, np.ones(series.features)) for each in points]
    beside = _side_by_side(targets)
    logs = []
    for draw in range(DRAWS):
        esn = network.build(series.features, seed=seed + draw)
        hyper = with_lanes(esn.hyper, lanes)
        if per_sequence:
            judged = _sequence_pairs(standard_rows(esn, series, Pools(), hyper, np.ones(series.count, bool)), beside)
        else:
            folds = _folds(series)
            parts, _ = split_statistics(esn, series, beside, folds.edges, hyper=hyper)
            judged = splits.pairs(parts, folds.splits)
        logs += _log_errors(judged, targets, floor)
    return np.asarray(np.exp(np.mean(logs, axis=0)), np.float64)


def of_lags(
    windows: Sequence[int], series: Series, targets: Sequence[Series], per_sequence: bool = False, floor: float = ROBUST
) -> tuple[int, float]:
    """The best window, and E of ridge regression on the inputs u(t), ..., u(t - window + 1)."""
    series, targets = reduced(series, targets, per_sequence)
    beside = _side_by_side(targets)
    errors = []
    if per_sequence:
        for window in windows:
            rows = np.stack([_pooled(lagged(np.asarray(each), range(window))[window - 1 :]) for each in series.values])
            judged = _sequence_pairs(turned(standardising(rows).forward(rows)).rows[None], beside)
            errors.append(np.exp(np.mean(_log_errors(judged, targets, floor))))
    else:
        longest, folds = max(windows), _folds(series)
        both = (
            lagged(np.asarray(u), range(longest), beside=np.asarray(y))
            for u, y in zip(series.values, beside.values, strict=True)
        )
        counted = np.concatenate([each[cut[0] :] for each, cut in zip(both, folds.edges, strict=True)])
        columns = longest * series.features
        parts = [of_rows(counted[which, :columns], counted[which, columns:]) for which in folds.rows()]
        for window in windows:
            judged = splits.pairs([_first_columns(each, window * series.features) for each in parts], folds.splits)
            errors.append(np.exp(np.mean(_log_errors(judged, targets, floor))))
    best = int(np.argmin(errors))
    return int(windows[best]), float(errors[best])


def rows_of(series: Series, per_sequence: bool) -> int:
    """The number of rows that judge a trial: sequences or steps."""
    return series.count if per_sequence else int(series.lengths.sum())


def _log_errors(judged: Sequence[tuple[Statistics, Statistics]], targets: Sequence[Series], floor: float) -> list[Floats]:
    """log E of every target, with the best penalty for each."""
    allowed = PENALTIES[0.9 * floor < PENALTIES]
    ends = np.cumsum([each.features for each in targets])[:-1]
    means = [squares.mean(axis=-1) for squares in np.split(fold_errors(judged, allowed), ends, axis=-1)]
    return [np.log(np.maximum(least(each).error, SMALLEST)) / 2 for each in means]


def _side_by_side(targets: Sequence[Series]) -> Series:
    return Series([np.concatenate(each, axis=1) for each in zip(*(one.values for one in targets), strict=True)], "list", "y")


def _folds(series: Series) -> splits.Splits:
    """Blocks of time that are held out in turn, with gaps between them."""
    return splits.folds(series.lengths, washout_steps(None, int(series.lengths.min())))


def _sequence_pairs(rows: Floats, targets: Series) -> list[tuple[Statistics, Statistics]]:
    """Training and held-out statistics of sequences; each fold has about equally many of every class."""
    codes = np.stack([np.asarray(each[-1], np.float64) for each in targets.values])
    folds = splits.by_class(_classes(targets), SEQUENCE_FOLDS)
    return splits.pairs([statistics_of(rows, codes, each) for each in folds.rows()], folds.splits)


def _pooled(rows: Floats) -> Floats:
    """The pools `pooling.WHOLE` of rows in an array."""
    return np.concatenate([rows.mean(axis=0), rows.std(axis=0), rows.max(axis=0), rows.min(axis=0)])


def _first_columns(whole: Statistics, features: int) -> Statistics:
    """The same rows with their first features only."""
    kept = np.r_[:features, whole.features : len(whole.mean)]
    return Statistics(whole.count, whole.mean[kept], whole.scatter[np.ix_(kept, kept)], features)


def _classes(targets: Series) -> npt.NDArray[np.int64]:
    """The class of every sequence as a whole number, (B,); two classes may be a single column."""
    last = np.stack([np.asarray(each[-1]) for each in targets.values])
    return np.unique(last, axis=0, return_inverse=True)[1].reshape(-1)


def input_scaling(drive: float, spreads: Floats) -> float:
    """The input scaling at which inputs of these standard deviations (F,) add `drive` inside tanh: W_in has variance 1/3."""
    return float(drive * np.sqrt(3 / (spreads**2).sum()))


def reduced(series: Series, targets: Sequence[Series], per_sequence: bool) -> tuple[Series, list[Series]]:
    """The data for the trials: `fewer` sequences or `shortened` series."""
    if per_sequence:
        return fewer(series, targets)
    return shortened(series, MOST_STEPS), [shortened(each, MOST_STEPS) for each in targets]


def fewer(series: Series, targets: Sequence[Series]) -> tuple[Series, list[Series]]:
    """Whole sequences, evenly from every class, with at most MOST_SEQUENCE_STEPS in all; at least one for each fold."""
    kept = max(int(MOST_SEQUENCE_STEPS / (series.lengths.sum() / series.count)), SEQUENCE_FOLDS)
    by_class = np.argsort(_classes(targets[0]), kind="stable")
    which = np.sort(by_class[np.unique(np.linspace(0, series.count - 1, min(kept, series.count)).round().astype(int))])
    inputs, *others = (Series([np.asarray(each.values[b]) for b in which], "list", each.name) for each in (series, *targets))
    return inputs, others
