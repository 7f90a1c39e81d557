"""Memory of a problem: the error of filters of the last L inputs, against L.

    linear      y(t) ~ A z(t) + b                          z(t) = (u(t), ..., u(t - L + 1)), standardised
    nonlinear   y(t) ~ A z(t) + B tanh(C z(t) + d) + b     C, d random and fixed

Both are ridge regressions, judged on held-out data. The memory of the problem is the shortest window that no longer window
improves on. The error of the linear filter at this window shows how nonlinear the problem is. Correlations alone do not show
the memory: a product of two inputs may be uncorrelated with both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.table import Table
from echoscale._internal.types import Floats
from echoscale.data.lags import lagged
from echoscale.data.series import Series, SeriesLike, as_series, as_targets
from echoscale.engine.devices import one_thread
from echoscale.timescales.signal import centred

MOST_ROWS = 8000  # more data would change little and cost time
MOST_COLUMNS = 512  # lags times features
RANDOM_FEATURES = 200
GAIN = 0.5
PENALTIES = 10.0 ** np.arange(-8, 3, 2)
# A window suffices if no longer window is better by more than this factor.
TOLERANCE = 1.1


@dataclass(frozen=True, eq=False)
class Memory:
    """Memory of a problem: errors of filters of the last L inputs, in standard deviations of the held-out target.

    Attributes
    ----------
    windows : (n,) array
        Lengths L of the windows, in steps.
    linear : (n,) array
        Error of the linear filter.
    nonlinear : (n,) array
        Error of the better of the two filters.
    targets : tuple of Memory
        Memory of each target, if there are several targets.
    steps : int
        Memory m: the shortest window about as good as the best; for several targets, the longest memory.
    """

    windows: npt.NDArray[np.int64]
    linear: Floats
    nonlinear: Floats
    targets: tuple[Memory, ...] = ()

    @property
    def place(self) -> int:
        """Index of the memory among the windows."""
        if self.targets:
            return max(each.place for each in self.targets)
        return int(np.flatnonzero(self.nonlinear <= TOLERANCE * self.nonlinear.min())[0])

    @property
    def steps(self) -> int:
        """Memory m: the shortest window about as good as the best."""
        return int(self.windows[self.place])

    @property
    def table(self) -> Table:
        """Errors of both filters, one row per window."""
        rows = zip(self.windows.tolist(), self.linear.tolist(), self.nonlinear.tolist(), strict=True)
        note = f"Memory: {counted(self.steps)}, the shortest window within {TOLERANCE:g} of the least error."
        apart = [f"target {o}: {counted(each.steps)}" for o, each in enumerate(self.targets)]
        notes = (note, f"One by one, {'; '.join(apart)}.") if apart else (note,)
        return Table(("window", "linear_error", "nonlinear_error"), tuple(rows), "Filters of the last inputs", notes)

    def __repr__(self) -> str:
        return str(self.table)


def memory(u: SeriesLike, y: SeriesLike, *, longest: int | None = None, seed: int = 0) -> Memory:
    """Measure the memory of a problem: the number of last inputs needed to predict the target.

        linear      y(t) ~ A z(t) + b                          z(t) = (u(t), ..., u(t - L + 1)), standardised
        nonlinear   y(t) ~ A z(t) + B tanh(C z(t) + d) + b     C, d random and fixed

    Both filters are ridge regressions, judged on held-out data for several window lengths L. Several targets are judged
    together and one by one; the longest memory counts.

    Parameters
    ----------
    u : (T, F), (B, T, F) or list of (T_b, F)
        Inputs.
    y : (T, O), (B, T, O) or list of (T_b, O)
        Targets of every step.
    longest : int or None
        Longest window, in steps; None: 128, or less for short series or many features.
    seed : int
        Random seed of C and d in the nonlinear filter.

    Returns
    -------
    Memory

    See Also
    --------
    echoscale.timescales.of_signal : Timescales in data by correlations.

    Examples
    --------
    >>> import echoscale as es, numpy as np
    >>> u = np.random.default_rng(0).uniform(size=(1000, 1))
    >>> es.timescales.memory(u, np.roll(u, 3)).steps
    4
    """
    series = as_series(u)
    return measured(series, as_targets(y, series), longest, seed)


def measured(series: Series, targets: Series, longest: int | None, seed: int, *, whole: bool = False) -> Memory:
    """`memory` of checked series; `whole`: every fourth series is held out as a whole, not the last quarter of each."""
    rng = np.random.default_rng(checks.integer(seed, "seed"))
    longest = _longest(series, longest, whole)
    windows = np.array(_lengths(longest))
    inputs, outputs = (_standardised(each, longest, whole) for each in (series, targets))
    projection = rng.standard_normal((longest, series.features, RANDOM_FEATURES))
    offset = rng.uniform(-1, 1, RANDOM_FEATURES)
    with one_thread():
        squares = np.array([_squares(inputs, outputs, int(each), longest, projection, offset, whole) for each in windows])
    # (windows, filters, penalties, targets): each filter takes its best penalty, over all targets together and for each target.
    together = np.sqrt(squares.mean(axis=-1)).min(axis=-1)
    apart = np.sqrt(squares).min(axis=2)
    several = [
        Memory(windows, apart[:, 0, o], apart[:, :, o].min(axis=1)) for o in range(targets.features) if targets.features > 1
    ]
    return Memory(windows, together[:, 0], together.min(axis=1), tuple(several))


def _squares(
    inputs: list[Floats], outputs: list[Floats], window: int, longest: int, projection: Floats, offset: Floats, whole: bool
) -> Floats:
    """Held-out squared errors divided by the variance, (2 filters, penalties, targets): linear, then nonlinear."""
    seen = [lagged(each, range(window))[longest - 1 :] for each in inputs]
    train, held_out = _split(seen, whole)
    known, unknown = _split([each[longest - 1 :] for each in outputs], whole)
    mixing = GAIN / np.sqrt(train.shape[1]) * projection[:window].reshape(train.shape[1], -1)
    rows, judged = (np.concatenate([each, np.tanh(each @ mixing + offset)], axis=1) for each in (train, held_out))
    mean, middle, spread = rows.mean(axis=0), known.mean(axis=0), unknown.std(axis=0)
    spread = np.where(spread > 0, spread, 1)  # a target that is constant on held-out data keeps its units
    rows, judged, known, unknown = rows - mean, judged - mean, known - middle, unknown - middle
    gram, cross = rows.T @ rows, rows.T @ known
    results = []
    for columns in (train.shape[1], rows.shape[1]):
        own = slice(0, columns)
        fits = (np.linalg.solve(gram[own, own] + penalty * np.eye(columns), cross[own]) for penalty in PENALTIES)
        results.append([(((judged[:, own] @ fit - unknown) / spread) ** 2).mean(axis=0) for fit in fits])
    return np.array(results)


def _lengths(longest: int) -> list[int]:
    """1, 2, ... 8, 10, 12, 14, 16, 24, 32, 48 ...: two per octave from 16 on."""
    lengths = [1, 2, 3]
    while lengths[-1] < longest:
        octave = 1 << (lengths[-1].bit_length() - 1)
        lengths.append(lengths[-1] + max(octave // 4, 1) * (1 if octave < 16 else 2))
    return [each for each in lengths if each < longest] + [longest]


def _longest(series: Series, longest: int | None, whole: bool) -> int:
    shortest = int(series.lengths.min())
    # A window may be half of a series that is fitted or held out as a whole.
    most = max(shortest // 2, 1) if whole else (shortest - 8) // 4
    if longest is None:
        longest = max(min(128, most if whole else shortest // 10, MOST_COLUMNS // series.features), 1)
    else:
        longest = checks.integer(longest, "longest", minimum=1)
        if longest * series.features > 4 * MOST_COLUMNS:
            raise ValueError(
                f"windows of {longest} steps of {series.features} features are too many numbers for a filter; at most "
                f"{4 * MOST_COLUMNS // series.features} steps. Sample more coarsely to look further back."
            )
    if longest > most:
        needed = 2 * longest if whole else 4 * longest + 8
        raise ValueError(
            f"the shortest series has {shortest} steps, too few to judge windows of {longest}: at least {needed} are "
            "needed. Give longer series or a smaller `longest`."
        )
    return longest


def _standardised(series: Series, longest: int, whole: bool) -> list[Floats]:
    """Every feature with mean 0 and variance 1; long data are cut to some series and the first steps of each."""
    share = max(MOST_ROWS // series.count, 2 * longest if whole else 4 * longest + 8)
    rows = [np.asarray(each)[:share] for each in series.values]
    kept = int(np.searchsorted(np.cumsum([len(each) for each in rows]), MOST_ROWS)) + 1
    # Spread over all series, since the first ones may be of one kind.
    which = np.unique(np.linspace(0, len(rows) - 1, min(kept, len(rows))).round().astype(int))
    some = Series([rows[b] for b in which], "list", series.name)
    return [each * np.sqrt(some.lengths.sum()) for each in centred(some)]


def counted(steps: float) -> str:
    """ "1 step", "14 steps", "9,678 steps"."""
    number = f"{steps:.3g}" if steps < 1000 else f"{steps:,.0f}"
    return f"{number} step" if number == "1" else f"{number} steps"


def _split(rows: list[Floats], whole: bool) -> tuple[Floats, Floats]:
    """Training and held-out rows: three quarters of every series and the rest, or three of four series and the fourth."""
    if whole:
        return np.concatenate([each for b, each in enumerate(rows) if b % 4 < 3]), np.concatenate(rows[3::4])
    cuts = [3 * len(each) // 4 for each in rows]
    pairs = list(zip(rows, cuts, strict=True))
    return np.concatenate([each[:cut] for each, cut in pairs]), np.concatenate([each[cut:] for each, cut in pairs])
