"""How far back a target reaches: the error of filters that see only the last L inputs, against L.

    linear      y(t) ~ A z(t) + b                          z(t) = (u(t), ..., u(t - L + 1)), standardised
    nonlinear   y(t) ~ A z(t) + B tanh(C z(t) + d) + b     C, d random and fixed

Both are ridge regressions, judged on data that they were not fitted to. Where longer windows stop helping, the memory that
the problem needs ends; what the linear filter leaves unexplained there is how nonlinear it is. Correlations alone cannot say
that: a product of two inputs may be uncorrelated with both of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from echoscale import _checks
from echoscale.engine.machine import one_thread
from echoscale.series import Series, SeriesLike, as_series, as_targets
from echoscale.table import Table
from echoscale.timescales.signal import centred

Floats = npt.NDArray[np.float64]

MOST_ROWS = 8000  # more data would change little and cost time
MOST_COLUMNS = 512  # lags times features
RANDOM_FEATURES = 200
GAIN = 0.5
PENALTIES = 10.0 ** np.arange(-8, 3, 2)
# A window suffices when no longer one is better by more than this.
TOLERANCE = 1.1


@dataclass(frozen=True, eq=False)
class Memory:
    """Errors of filters of the last L inputs on held-out data, in standard deviations of the target there.

    Attributes
    ----------
    windows : (n,) array
        L, in steps.
    linear : (n,) array
        Error of the linear filter.
    nonlinear : (n,) array
        Error of the better of the two filters.
    steps : int
        m, the shortest window that is about as good as any.
    """

    windows: npt.NDArray[np.int64]
    linear: Floats
    nonlinear: Floats

    @property
    def place(self) -> int:
        """Which of the windows is the memory."""
        return int(np.flatnonzero(self.nonlinear <= TOLERANCE * self.nonlinear.min())[0])

    @property
    def steps(self) -> int:
        """m, the shortest window that is about as good as any."""
        return int(self.windows[self.place])

    def table(self) -> Table:
        """The errors of all windows."""
        rows = zip(self.windows.tolist(), self.linear.tolist(), self.nonlinear.tolist(), strict=True)
        note = f"Memory: {counted(self.steps)}, the shortest window within {TOLERANCE:g} of the least error."
        return Table(("window", "linear_error", "nonlinear_error"), tuple(rows), "Filters of the last inputs", (note,))

    def __repr__(self) -> str:
        return str(self.table())


def memory(u: SeriesLike, y: SeriesLike, *, longest: int | None = None, seed: int = 0) -> Memory:
    """The memory that predicting y(t) from u(t), u(t-1), ... takes: the error of filters of the last L inputs, against L.

        linear      y(t) ~ A z(t) + b                          z(t) = (u(t), ..., u(t - L + 1)), standardised
        nonlinear   y(t) ~ A z(t) + B tanh(C z(t) + d) + b     C, d random and fixed

    Both are ridge regressions, judged on data that they were not fitted to.

    Parameters
    ----------
    u : (T, F), (B, T, F) or list of (T_b, F)
        Inputs.
    y : (T, O), (B, T, O) or list of (T_b, O)
        Targets, step by step.
    longest : int or None
        The longest window, in steps; None is 128, less for short series or many features.
    seed : int
        Of the random features of the nonlinear filter.

    Returns
    -------
    Memory

    Examples
    --------
    >>> import echoscale as es, numpy as np
    >>> u = np.random.default_rng(0).uniform(size=(1000, 1))
    >>> es.timescales.memory(u, np.roll(u, 3)).steps
    4
    """
    series = as_series(u)
    targets = as_targets(y, series)
    rng = np.random.default_rng(_checks.integer(seed, "seed"))
    longest = _longest(series, longest)
    windows = np.array(_lengths(longest))
    inputs, outputs = (_standardised(each, longest) for each in (series, targets))
    projection = rng.standard_normal((longest, series.features, RANDOM_FEATURES))
    offset = rng.uniform(-1, 1, RANDOM_FEATURES)
    with one_thread():
        errors = np.array([_errors(inputs, outputs, int(each), longest, projection, offset) for each in windows])
    return Memory(windows, errors[:, 0], errors.min(axis=1))


def _errors(
    inputs: list[Floats], outputs: list[Floats], window: int, longest: int, projection: Floats, offset: Floats
) -> tuple[float, float]:
    """Held-out error of the linear and of the nonlinear filter."""
    seen = [lagged(each, window)[longest - 1 :] for each in inputs]
    train, held_out = (np.concatenate(part) for part in zip(*(_split(each) for each in seen), strict=True))
    known, unknown = (np.concatenate(part) for part in zip(*(_split(each[longest - 1 :]) for each in outputs), strict=True))
    mixing = GAIN / np.sqrt(train.shape[1]) * projection[:window].reshape(train.shape[1], -1)
    rows, judged = (np.concatenate([each, np.tanh(each @ mixing + offset)], axis=1) for each in (train, held_out))
    mean, middle, spread = rows.mean(axis=0), known.mean(axis=0), unknown.std(axis=0)
    spread = np.where(spread > 0, spread, 1)  # a target that is constant there: in units of its whole
    rows, judged, known, unknown = rows - mean, judged - mean, known - middle, unknown - middle
    gram, cross = rows.T @ rows, rows.T @ known
    results = []
    for columns in (train.shape[1], rows.shape[1]):
        own = slice(0, columns)
        fits = (np.linalg.solve(gram[own, own] + penalty * np.eye(columns), cross[own]) for penalty in PENALTIES)
        results.append(min(float(np.sqrt((((judged[:, own] @ fit - unknown) / spread) ** 2).mean())) for fit in fits))
    return results[0], results[1]


def lagged(rows: Floats, window: int) -> Floats:
    """(T, F) -> (T, window * F): the inputs at t, t - 1, ..., t - window + 1; zero before the series begins."""
    padded = np.concatenate([np.zeros((window - 1, rows.shape[1])), rows])
    views = np.lib.stride_tricks.sliding_window_view(padded, window, axis=0)  # (T, F, window), oldest first
    return views[:, :, ::-1].transpose(0, 2, 1).reshape(len(rows), -1)


def _lengths(longest: int) -> list[int]:
    """1, 2, ... 8, 10, 12, 14, 16, 24, 32, 48 ...: two to the octave from 16 on."""
    lengths = [1, 2, 3]
    while lengths[-1] < longest:
        octave = 1 << (lengths[-1].bit_length() - 1)
        lengths.append(lengths[-1] + max(octave // 4, 1) * (1 if octave < 16 else 2))
    return [each for each in lengths if each < longest] + [longest]


def _longest(series: Series, longest: int | None) -> int:
    shortest = int(series.lengths.min())
    if longest is None:
        longest = max(min(128, shortest // 10, MOST_COLUMNS // series.features), 1)
    else:
        longest = _checks.integer(longest, "longest", minimum=1)
        if longest * series.features > 4 * MOST_COLUMNS:
            raise ValueError(
                f"windows of {longest} steps of {series.features} features are too many numbers for a filter; at most "
                f"{4 * MOST_COLUMNS // series.features} steps. Sample more coarsely to look further back."
            )
    if shortest < 4 * longest + 8:
        raise ValueError(
            f"the shortest series has {shortest} steps, too few to judge windows of {longest}: at least {4 * longest + 8} are "
            "needed. Give longer series or a smaller `longest`."
        )
    return longest


def _standardised(series: Series, longest: int) -> list[Floats]:
    """Every feature with mean 0 and variance 1; the first steps of the first series where there are too many."""
    share = max(MOST_ROWS // series.count, 4 * longest + 8)
    rows = [each[:share] for each in series.values]
    kept = int(np.searchsorted(np.cumsum([len(each) for each in rows]), MOST_ROWS)) + 1
    some = Series(rows[:kept], "list", series.name)
    return [each * np.sqrt(some.lengths.sum()) for each in centred(some)]


def counted(steps: float) -> str:
    """ "1 step", "14 steps", "9,678 steps"."""
    number = f"{steps:.3g}" if steps < 1000 else f"{steps:,.0f}"
    return f"{number} step" if number == "1" else f"{number} steps"


def _split(rows: Floats) -> tuple[Floats, Floats]:
    """The first three quarters and the rest."""
    cut = 3 * len(rows) // 4
    return rows[:cut], rows[cut:]
