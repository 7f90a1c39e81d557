"""Timescales in data: autocorrelations of input and target, and their cross-correlation.

    r_ab(k) = sum_t (a(t - k) - mean a)(b(t) - mean b) / sqrt(sum_t (a - mean a)^2 sum_t (b - mean b)^2)

(paper, Figs. 3B, 4B and 6B: the autocorrelation of a task shows its timescales).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.table import Table
from echoscale._internal.types import Flags, Floats
from echoscale.data.series import Series, SeriesLike, as_series, as_targets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_LAGS = 1000


@dataclass(frozen=True, eq=False)
class SignalTimescales:
    """Autocorrelations and cross-correlations of input and target, with limits of significance: the result of `of_signal`.

    A correlation beyond its limit is significant: by chance, any lag exceeds the limit with probability `level`.

    Attributes
    ----------
    lags : (L + 1,) array
        Lags 0 ... L, in steps.
    inputs : (L + 1, F) array
        Autocorrelation of the input.
    targets : (L + 1, O) array
        Autocorrelation of the target; O = 0 without a target.
    cross : (L + 1, F, O) array
        Correlation of u(t - lag) and y(t).
    input_limit, target_limit : (L + 1, F) and (L + 1, O) arrays
        Limits for signals that are uncorrelated from this lag on (Bartlett).
    cross_limit : (F, O) array
        Limit for unrelated signals with these autocorrelations (Bartlett).
    level : float
        Probability that chance marks any lag of a signal.
    dt : float
        Time between two steps.
    """

    lags: npt.NDArray[np.int64]
    inputs: Floats
    targets: Floats
    cross: Floats
    input_limit: Floats
    target_limit: Floats
    cross_limit: Floats
    level: float
    dt: float = 1.0

    @property
    def significant_inputs(self) -> Flags:
        """Whether each lag of the input's autocorrelation is significant, (L + 1, F)."""
        return np.abs(self.inputs) > self.input_limit

    @property
    def significant_targets(self) -> Flags:
        """Whether each lag of the target's autocorrelation is significant, (L + 1, O)."""
        return np.abs(self.targets) > self.target_limit

    @property
    def significant_cross(self) -> Flags:
        """Whether each lag of the cross-correlation is significant, (L + 1, F, O)."""
        return np.abs(self.cross) > self.cross_limit

    @property
    def table(self) -> Table:
        """One row per signal and pair: the lag of decay to 1/e, the strongest lag after 0, and the last significant lag."""
        rows = [_row(f"u{f}", self.inputs[:, f], self.significant_inputs[:, f], self.dt) for f in range(self.inputs.shape[1])]
        outputs = range(self.targets.shape[1])
        rows += [_row(f"y{o}", self.targets[:, o], self.significant_targets[:, o], self.dt) for o in outputs]
        rows += [
            _row(f"u{f} → y{o}", self.cross[:, f, o], self.significant_cross[:, f, o], self.dt, after=-1)
            for f in range(self.inputs.shape[1])
            for o in outputs
        ]
        columns = ("signal", "below_1/e", "strongest_lag", "correlation", "last_significant", "significant_lags")
        note = f"Lags in units of time, up to {self.lags[-1] * self.dt:g}; significant at level {self.level:g} over all lags."
        missing = any(value is None for row in rows for value in row)
        gone = ("– : not below 1/e up to the last lag (autocorrelations only), or nothing significant.",) if missing else ()
        return Table(columns, tuple(rows), "Correlations of input u and target y", (note, *gone))

    def __repr__(self) -> str:
        return str(self.table)

    def plot(self) -> Figure:
        """Plot autocorrelations (left) and cross-correlations (right). Dots are significant lags, bands are chance level."""
        from matplotlib.figure import Figure

        panels = 2 if self.targets.shape[1] else 1
        figure = Figure(figsize=(4.5 * panels, 3.2), layout="constrained")
        axes = figure.subplots(1, panels, squeeze=False)[0]
        times = (self.lags * self.dt).astype(np.float64)
        own = [(f"input {f}", self.inputs[:, f], self.significant_inputs[:, f]) for f in range(self.inputs.shape[1])]
        own += [(f"target {o}", self.targets[:, o], self.significant_targets[:, o]) for o in range(self.targets.shape[1])]
        _panel(axes[0], times, own, np.hstack([self.input_limit, self.target_limit]).max(axis=1), "autocorrelation")
        if panels == 2:
            pairs = [
                (f"input {f} → target {o}", self.cross[:, f, o], self.significant_cross[:, f, o])
                for f, o in np.ndindex(self.cross.shape[1:])
            ]
            _panel(axes[1], times, pairs, np.full(len(times), self.cross_limit.max()), "correlation of u(t − lag) and y(t)")
        return figure


def of_signal(
    u: SeriesLike, y: SeriesLike | None = None, *, lags: int | None = None, dt: float = 1.0, level: float = 0.01
) -> SignalTimescales:
    """Timescales in data: autocorrelations of input and target, and their cross-correlation.

        r_ab(k) = sum_t (a(t - k) - mean a)(b(t) - mean b) / sqrt(sum_t (a - mean a)^2 sum_t (b - mean b)^2)

    Parameters
    ----------
    u : (T, F), (B, T, F) or list of (T_b, F)
        Inputs.
    y : (T, O), (B, T, O), list of (T_b, O) or None
        Targets of every step; None: no targets.
    lags : int or None
        Largest lag, in steps; None: a quarter of the shortest series, at most 1,000.
    dt : float
        Time between two steps.
    level : float
        Probability that chance marks any lag of a signal as significant.

    Returns
    -------
    SignalTimescales

    See Also
    --------
    echoscale.timescales.memory : Memory of a problem, also if it is nonlinear.

    Examples
    --------
    >>> import echoscale as es, numpy as np
    >>> u = np.random.default_rng(0).uniform(size=(1000, 1))
    >>> found = es.timescales.of_signal(u, np.roll(u, 3), lags=10)
    >>> np.flatnonzero(found.significant_cross[:, 0, 0])
    array([3])
    """
    series = as_series(u)
    targets = None if y is None else as_targets(y, series)
    level = checks.number(level, "level")
    if not 0 < level < 1:
        raise ValueError(f"level is a probability in (0, 1), got {level}.")
    checks.time_step(dt)
    shortest = int(series.lengths.min())
    default = max(min(shortest // 4, MOST_LAGS), 1)
    last = default if lags is None else checks.integer(lags, "lags", minimum=1)
    if last >= shortest:
        raise ValueError(
            f"the shortest series has {shortest} steps, too few for lags up to {last}: give a longer one or fewer lags."
        )
    inputs = centred(series)
    outputs = [np.empty((len(each), 0)) for each in inputs] if targets is None else centred(targets)
    # Chance depends on the autocorrelations at all lags, also beyond `lags`.
    auto_in, auto_out = (_diagonal(each, max(last, default)) for each in (inputs, outputs))
    cross = correlation(inputs, outputs, last)
    total = int(series.lengths.sum())
    # An autocorrelation is always 1 at lag 0.
    z_own, z_cross = (NormalDist().inv_cdf(1 - level / (2 * count)) for count in (last, last + 1))
    shown = slice(0, last + 1)
    limit_in, limit_out = (z_own * np.sqrt(_variance_beyond(each[shown]) / total) for each in (auto_in, auto_out))
    # The sum over both directions of the product of the autocorrelations, lag 0 counted once.
    spread = np.maximum(2 * np.einsum("kf,ko->fo", auto_in, auto_out) - 1, 1)
    limit_cross = z_cross * np.sqrt(spread / total)
    own = auto_in[shown], auto_out[shown]
    return SignalTimescales(np.arange(last + 1), *own, cross, limit_in, limit_out, limit_cross, level, float(dt))


def centred(series: Series) -> list[Floats]:
    """Every series minus the mean of all series, scaled so that the squares of each feature sum to 1 over all series."""
    rows = [np.asarray(each, np.float64) for each in series.values]
    mean = np.concatenate(rows).mean(axis=0)
    apart = [each - mean for each in rows]
    largest = np.max([np.abs(each).max(axis=0) for each in apart], axis=0)
    flat = np.flatnonzero(largest <= 1e-12 * np.abs(mean))
    if len(flat):
        raise ValueError(
            f"feature {flat[0]} of {series.name} is constant ({mean[flat[0]]:g}) over {sum(map(len, rows))} steps: it has no "
            "timescale. Leave it out."
        )
    apart = [each / largest for each in apart]  # squares must neither overflow nor vanish
    size = np.sqrt(sum((each**2).sum(axis=0) for each in apart))
    return [each / size for each in apart]


def correlation(before: list[Floats], after: list[Floats], lags: int) -> Floats:
    """sum_t before(t - k) after(t) for k = 0 ... lags, (lags + 1, columns before, columns after)."""
    import scipy.fft

    total = np.zeros((lags + 1, before[0].shape[1], after[0].shape[1]))
    for a, b in zip(before, after, strict=True):
        size = scipy.fft.next_fast_len(len(a) + lags, real=True)
        first, second = (scipy.fft.rfft(each, size, axis=0) for each in (a, b))
        for f, o in np.ndindex(total.shape[1:]):
            total[:, f, o] += scipy.fft.irfft(first[:, f].conj() * second[:, o], size)[: lags + 1]
    return total


def _diagonal(rows: list[Floats], lags: int) -> Floats:
    columns = [
        correlation([each[:, [f]] for each in rows], [each[:, [f]] for each in rows], lags) for f in range(rows[0].shape[1])
    ]
    return np.stack([each[:, 0, 0] for each in columns], axis=1) if columns else np.empty((lags + 1, 0))


def _variance_beyond(correlations: Floats) -> Floats:
    """1 + 2 sum_{0 < i < k} r_i^2, (L + 1, columns): T times the variance of r_k if no correlation is left from lag k on."""
    squares = np.cumsum(correlations**2, axis=0) - correlations**2  # sum over the lags before each lag
    return np.maximum(1 + 2 * (squares - 1), 1)


def decay_lag(correlations: Floats) -> int | None:
    """The first lag at which |correlation| is below 1/e of its value at lag 0; None if it stays above."""
    below = np.flatnonzero(np.abs(correlations) < abs(correlations[0]) / math.e)
    return int(below[0]) if len(below) else None


def _row(name: str, values: Floats, marked: Flags, dt: float, after: int = 0) -> tuple[Any, ...]:
    """One row of the table. The strongest lag is sought beyond `after`, since an autocorrelation is always strongest at 0."""
    decayed = decay_lag(values) if after == 0 else None
    strongest = after + 1 + int(np.abs(values[after + 1 :]).argmax())
    hits = np.flatnonzero(marked[after + 1 :]) + after + 1
    last = float(hits[-1] * dt) if len(hits) else None
    below = None if decayed is None else float(decayed * dt)
    return (name, below, float(strongest * dt), float(values[strongest]), last, len(hits))


COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")


def _panel(ax: Axes, times: Floats, curves: list[tuple[str, Floats, Flags]], limit: Floats, label: str) -> None:
    ax.fill_between(times, -limit, limit, color="0.9", linewidth=0, zorder=0)
    ax.axhline(0, color="0.6", linewidth=0.5)
    for place, (name, values, marked) in enumerate(curves):
        colour = COLOURS[place % len(COLOURS)]
        ax.plot(times, values, color=colour, linewidth=1, label=name)
        ax.plot(times[marked], values[marked], ".", color=colour, markersize=3)
    ax.set(xlabel="lag", ylabel=label)
    ax.legend(frameon=False, fontsize=8)
