"""A first network for a problem: formulas derive its timescales from the data, and a search on folds of time improves it.

Everything is measured on standardised data. With m the memory of the problem (`memory`; at least 3), tau_u the correlation time
of the input, and e the error of a linear filter of m inputs, the search starts from

    fastest level      leak_rate alpha_1 = min(1, 20 / tau_u): 1, unless the input is sampled very finely
    slowest level      alpha_K = 4 / m: the neurons' own timescale is a quarter of the memory; levels between them geometrically
    spectral_radius    1 - 1 / (alpha_1 m), so that the longest timescale of the fastest level is the memory
    drive of all levels  e / (1 + m / tau_u), e clipped to [0.15, 1]: the root mean square of the input's term inside tanh
    bias_scaling       0.2, which breaks the odd symmetry of tanh

`improved` searches from there on folds of time. The constants were set on one group of problems and judged on another
(benchmarks/suggest.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from echoscale._internal import checks
from echoscale._internal.plots import new_axes
from echoscale._internal.table import Table
from echoscale._internal.types import Floats
from echoscale.data.metrics import clearly_less
from echoscale.data.scaling import Scaling, scaling_of
from echoscale.data.series import Series, SeriesLike
from echoscale.network import Network, hierarchical
from echoscale.readouts.penalties import ROBUST
from echoscale.timescales.coding import Asked, asked
from echoscale.timescales.memory import Memory, counted, measured
from echoscale.timescales.season import season, trend
from echoscale.timescales.signal import decay_lag, of_signal
from echoscale.timescales.suggest_search import (
    LEAST_DRIVE,
    MOST_UNITS,
    Point,
    improved,
    input_scaling,
    of_lags,
    reduced,
    rows_of,
)
from echoscale.timescales.theory import bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST_MEMORY, FINE_SAMPLING, SHARE_OF_MEMORY, LEAST_NONLINEARITY, BIAS = 3, 20, 4, 0.15, 0.2
RADII = (0.5, 0.99)
LARGE_OFFSET = 0.75  # largest constant that the input's mean may add inside tanh
# Steps of data per unit: fewer if nonlinear filters are better, or if the next input follows from the last ones.
STEPS_PER_UNIT, STEPS_PER_PLAIN_UNIT, STEPS_PER_DYNAMIC_UNIT = 10, 20, 5
UNITS, DYNAMIC_UNITS = (50, 500), (100, 1000)
NONLINEAR = 0.9  # share of the linear filter's error
DYNAMICS, MUCH_BETTER = 0.1, 0.7  # error of a nonlinear filter, and its ratio to the error of the linear one
# In closed loop a network feeds its own errors back: it is judged further ahead and must not depend on rounding.
LEAST_DYNAMIC_DRIVE, LEAST_CORRELATION_TIMES = 0.1, 20
TREND = 0.5  # share of the variance
MOST_COLUMNS = 4  # columns that are searched for trends and seasons
FEWEST_SEQUENCES = 8  # fewest sequences to hold out whole ones
POOR = 0.95  # error in standard deviations of the target; the mean alone has 1


@dataclass(frozen=True, eq=False, repr=False)
class Suggested:
    """A suggested network and the reasons for its hyper-parameters: the result of `suggest`. Print it to read them.

    Attributes
    ----------
    network : Network
        Suggested network.
    error : float or None
        Error of the network on held-out folds, in standard deviations of the target; None if no network was tried.
    reasons : tuple of str
        Reasons for the hyper-parameters. The last reason is the verdict: a comparison with ridge regression on lags.
    washout : int
        Recommended washout in steps: three times the longest timescale of the last level, or a tenth of the shortest series
        if that is less.
    memory : Memory
        Errors of filters of the last inputs for several lengths of the window.

    Examples
    --------
    >>> import echoscale as es
    >>> found = es.timescales.suggest(*es.tasks.narma(500))
    >>> found.network.units
    50
    >>> found.reasons[0][:7]
    'Memory:'
    >>> found.plot().get_xlabel()
    'steps'
    """

    network: Network
    error: float | None
    reasons: tuple[str, ...]
    washout: int
    memory: Memory

    @property
    def table(self) -> Table:
        """Errors of linear and nonlinear filters of the last inputs, one row per window."""
        return self.memory.table

    def plot(self, axes: Axes | None = None) -> Axes:
        """Plot the errors of the filters against the length of their windows, with the timescales of every level as a band.

        A band reaches from the neurons' own timescale, 1 / leak rate, to the longest timescale of the level.

        Parameters
        ----------
        axes : matplotlib Axes or None
            Axes to plot into; None: a new figure.
        """
        axes = new_axes() if axes is None else axes
        axes.plot(self.memory.windows, self.memory.linear, ".--", color="C0", label="linear filter")
        axes.plot(self.memory.windows, self.memory.nonlinear, ".-", color="C1", label="nonlinear filter")
        axes.axvline(self.memory.steps, color="black", linewidth=0.8, label="memory")
        for level, each in enumerate(self.network.reservoirs, start=1):
            longest = bounds(each.leak_rate, each.spectral_radius)[1]
            axes.axvspan(1 / each.leak_rate, longest, color=f"C{level + 1}", alpha=0.2, linewidth=0, label=f"R{level}")
        axes.set(xscale="log", xlabel="steps", ylabel="error in standard deviations")
        axes.legend(frameon=False, fontsize="small")
        return axes

    def __repr__(self) -> str:
        return "\n".join([f"Suggested: {self.network!r}", "", *(f"- {reason}" for reason in self.reasons)])


def suggest(
    u: SeriesLike,
    y: SeriesLike | None = None,
    levels: int = 2,
    *,
    units: int | None = None,
    longest: int | None = None,
    labels: bool | None = None,
    scale: str | None = "standard",
    trials: bool = True,
    seed: int = 0,
) -> Suggested:
    """Suggest a network whose levels cover the timescales of a problem, the fast level first.

        alpha_1 = min(1, 20 / tau_u),   alpha_K = 4 / m,   rho = 1 - 1 / (alpha_1 m)

    alpha_1 and alpha_K are the leak rates of the first and last level, and rho is the spectral radius of all levels. m is the
    memory of the problem in steps (`memory`), and tau_u is the correlation time of the input. From these values, a search tries
    about a hundred networks of at most 100 units on folds of the data. The result is a starting point, not an optimum. It
    explains the choice, gives advice on trends and seasons, and compares the network with ridge regression on the last inputs,
    on the same held-out folds.

    Parameters
    ----------
    u : (T, F), (B, T, F) or list of (T_b, F)
        Inputs.
    y : (T, O), (B, T, O), list of (T_b, O), labels, or None
        Targets of every step, or labels: one per step, (T,) or a list of (T_b,), or one per sequence, (B,). None: the next
        input is the target.
    levels : int
        Number of reservoirs; each drives the next.
    units : int or None
        Total number of neurons. None: one neuron per ten steps of data, or per twenty steps if a linear filter is as good,
        within 50 to 500; for dynamics without noise one per five steps, within 100 to 1,000.
    longest : int or None
        Longest memory to look for, in steps; see `memory`.
    labels : bool or None
        Whether y holds labels. None: text, truth values, and whole numbers with few distinct values that are not the next
        input are labels.
    scale : "standard" or None
        Units of the inputs. "standard": the input scaling is for standardised inputs, as the estimators make them. None: the
        input scaling is for raw inputs.
    trials : bool
        Whether to try networks on the data, which takes about two seconds. False: the formulas alone.
    seed : int
        Random seed of the memory measurement and of the weights in the trials.

    Returns
    -------
    Suggested
        Network and reasons; print the result to read them.

    See Also
    --------
    tune : Improve the hyper-parameters of a network by gradients.
    echoscale.timescales.memory : Measure the memory of a problem alone.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.narma(1000)
    >>> found = es.timescales.suggest(u, y)
    >>> [each.units for each in found.network.reservoirs]
    [50, 50]
    """
    levels = checks.integer(levels, "levels", minimum=1)
    units = None if units is None else checks.integer(units, "units", minimum=levels)
    problem = asked(u, y, labels)
    in_raw_units = scaling_of(scale, problem.inputs).is_none
    whole = problem.per_sequence and problem.inputs.count >= FEWEST_SEQUENCES
    found = measured(problem.inputs, problem.targets, longest, seed, whole=whole)
    standard = problem._replace(
        inputs=Scaling.of(problem.inputs.values).apply(problem.inputs),
        targets=Scaling.of(problem.targets.values).apply(problem.targets),
    )
    dynamic = _is_dynamic(problem, found)
    units = _units(int(problem.inputs.lengths.sum()), levels, found, dynamic) if units is None else units
    correlation_time = _correlation_time(standard.inputs)
    start = _start(found, correlation_time)
    best, verdict = start, "Verdict: none, since no network was tried (trials=False). Compare with ridge regression on lags."
    series, targets, weakest, floor = standard.inputs, [standard.targets], LEAST_DRIVE, ROBUST
    if dynamic:
        # Noise-free dynamics need all digits: a lower bound on the drive keeps the network away from rounding.
        series, targets = _and_later(standard, max(round(correlation_time), 2))
        weakest, floor = LEAST_DYNAMIC_DRIVE, 0.0
    if trials:
        start, best = improved(start, series, targets, levels, units, BIAS, seed, weakest, whole, floor)
        window, error = of_lags(found.windows.tolist(), series, targets, whole, floor)
        limit = clearly_less(rows_of(reduced(series, targets, whole)[0], whole))
        verdict = _verdict(best.error, error, window, limit, later=len(targets) > 1, pooled=whole)
    rows = np.concatenate([np.asarray(each) for each in problem.inputs.values])
    means, spreads = rows.mean(axis=0), rows.std(axis=0)
    network = hierarchical(
        [len(part) for part in np.array_split(np.arange(units), levels)],
        leak_rate=[_rounded(each) for each in np.geomspace(best.fast, best.slow, levels)],
        spectral_radius=_rounded(best.radius),
        input_scaling=_rounded(input_scaling(best.drive, spreads if in_raw_units else np.ones(len(spreads)))),
        bias_scaling=BIAS,
        inputs="all",
    )
    slowest = network.reservoirs[-1]
    forgotten = int(np.ceil(3 * bounds(slowest.leak_rate, slowest.spectral_radius)[1]))
    washout = min(forgotten, int(problem.inputs.lengths.min()) // 10)
    enough = f"three times the longest timescale of R{levels}" if washout == forgotten else "a tenth of the shortest series"
    reasons = [
        *_about_the_problem(problem, found, correlation_time, dynamic, trials and len(targets) > 1),
        *_about_the_network(network, best, units, trials),
        *([_about_the_trials(start, best)] if np.isfinite(best.error) else []),
        f"Wash out the first {counted(washout)}: {enough}.",
        *_warnings(problem, found, trials),
        *(_about_units(best.drive, means, spreads) if in_raw_units else []),
        *([] if problem.classes or dynamic else _trends_and_seasons(_columns(problem))),
        verdict,
    ]
    return Suggested(network, best.error if np.isfinite(best.error) else None, tuple(reasons), washout, found)


def _start(found: Memory, correlation_time: float) -> Point:
    m = max(found.steps, min(LEAST_MEMORY, int(found.windows[-1])))
    unexplained = float(found.linear[found.windows == m][0])
    fastest = min(1.0, FINE_SAMPLING / correlation_time)
    return Point(
        fast=fastest,
        slow=min(fastest, SHARE_OF_MEMORY / m),
        radius=float(np.clip(1 - 1 / (fastest * m), *RADII)),
        drive=min(max(unexplained, LEAST_NONLINEARITY), 1) / (1 + m / correlation_time),
    )


def _is_dynamic(problem: Asked, found: Memory) -> bool:
    """Whether the next input follows nonlinearly and almost without noise from the last ones."""
    best = float(found.nonlinear.min())
    return problem.of_itself and best < DYNAMICS and best < MUCH_BETTER * float(found.linear.min())


def _and_later(problem: Asked, later: int) -> tuple[Series, list[Series]]:
    """Inputs, and the targets at the same step and `later` steps after it, as in a forecast in closed loop."""
    if problem.inputs.lengths.min() < LEAST_CORRELATION_TIMES * later:
        return problem.inputs, [problem.targets]
    cut = [
        Series([np.asarray(each)[first : len(each) - later + first] for each in side.values], "list", side.name)
        for side, first in ((problem.inputs, 0), (problem.targets, 0), (problem.targets, later))
    ]
    return cut[0], cut[1:]


def _units(steps: int, levels: int, found: Memory, dynamic: bool) -> int:
    """A number of units for this number of steps, in tens."""
    gains = found.nonlinear[found.place] < NONLINEAR * found.linear[found.place]
    each = STEPS_PER_DYNAMIC_UNIT if dynamic else STEPS_PER_UNIT if gains else STEPS_PER_PLAIN_UNIT
    return max(int(np.clip(10 * round(steps / each / 10), *(DYNAMIC_UNITS if dynamic else UNITS))), levels)


def _correlation_time(series: Series) -> float:
    """The lag at which the input's autocorrelation falls to 1/e (the last lag if it stays above), mean over the features."""
    found = of_signal(series.values)
    lags = [decay_lag(found.inputs[:, f]) or int(found.lags[-1]) for f in range(found.inputs.shape[1])]
    return float(np.mean(lags))


def _rounded(value: float) -> float:
    """The value with two digits: more would pretend precision."""
    return float(f"{value:.2g}")


def _about_the_problem(problem: Asked, found: Memory, correlation_time: float, dynamic: bool, later: bool) -> list[str]:
    m, linear, best = found.steps, found.linear[found.place], found.nonlinear[found.place]
    beyond = "longer windows gain less than a tenth" if m < found.windows[-1] else "no longer window was tried"
    what = "class" if problem.classes else "target"
    if best > POOR:
        reasons = [
            f"Memory: unknown. No filter of up to {counted(found.windows[-1])} predicts the {what} (error {best:.2g} standard "
            f"deviations); the formulas assume {counted(m)}."
        ]
    else:
        reasons = [
            f"Memory: {counted(m)}. A filter that sees the last {counted(m)} predicts the {what} with an error of {best:.2g} "
            f"standard deviations (a linear one with {linear:.2g}); {beyond}."
        ]
    if problem.classes:
        each = "every sequence, judged by its pooled states" if problem.per_sequence else "every step"
        reasons.append(f"Labels: {len(problem.classes)} classes, one for {each}.")
    if len(found.targets) > 1 and not problem.classes:
        told = [f"target {o} reaches back {counted(each.steps)}" for o, each in enumerate(found.targets[:8])]
        more = f", and {len(found.targets) - 8} others" if len(found.targets) > 8 else ""
        text = f"{', '.join(told)}{more}: the formulas start from the longest memory."
        reasons.append(text[0].upper() + text[1:])
    reasons.append(
        f"The input's correlation time is {counted(correlation_time)}: the memory spans {m / correlation_time:.2g} of them."
    )
    if dynamic:
        reasons.append(
            "Dynamics: the next input follows nonlinearly and almost without noise from the last ones. For a forecast in "
            "closed loop, fit the next input with dtype='float64', and judge the forecast itself: the error of one step does "
            "not show how far the forecast reaches."
            + (" The trials judged the next step, and the step one correlation time later." if later else "")
        )
    return reasons


def _about_the_network(network: Network, best: Point, units: int, tried: bool) -> list[str]:
    first = network.reservoirs[0]
    longest = bounds(first.leak_rate, first.spectral_radius)[1]
    kind = "almost linear" if best.drive < 0.05 else "a little nonlinear" if best.drive < 0.3 else "nonlinear"
    return [
        *_about_the_levels([each.leak_rate for each in network.reservoirs], tried),
        f"Spectral radius {first.spectral_radius:g}: the longest timescale of R1 is {counted(longest)}.",
        f"Input scaling {first.input_scaling:g}: the input adds about {best.drive:.2g} (root mean square) inside tanh, which "
        f"is {kind}.",
        f"Units: {units}.",
    ]


def _about_the_levels(rates: list[float], tried: bool) -> list[str]:
    """The fast level and the slow level, if they differ."""
    first, last = rates[0], rates[-1]
    if len(rates) == 1:
        return [f"R1 has leak rate {first:g}: its neurons' own timescale is {counted(1 / first)}."]
    if first == last:
        why = "different rates were no better in the trials" if tried else "the memory is too short for different rates"
        return [f"All levels have leak rate {first:g}: their neurons' own timescale is {counted(1 / first)}; {why}."]
    kinds = ("fast", "slow") if first > last else ("slow", "fast")
    return [
        f"R{level} is the {kind} level, leak rate {rate:g}: its neurons' own timescale is {counted(1 / rate)}."
        for level, kind, rate in zip((1, len(rates)), kinds, (first, last), strict=True)
    ]


def _about_the_trials(start: Point, best: Point) -> str:
    return (
        f"Tried on folds of held-out data, with at most {MOST_UNITS} units and the best ridge penalty, this network leaves an "
        f"error of {best.error:.2g} standard deviations"
        + (f"; the network of the formulas leaves {start.error:.2g}." if np.isfinite(start.error) else ".")
    )


def _verdict(network: float, lags: float, window: int, limit: float, *, later: bool, pooled: bool) -> str:
    """The comparison with ridge regression on the same held-out folds; a ratio of errors above the limit may be chance."""
    mean = " (geometric mean of the next step and a later one)" if later else ""
    rival = "the last input" if window == 1 else f"the last {window} inputs"
    whole = ", pooled over the sequence," if pooled else ""
    compared = f"an error of {network:.3g} standard deviations{mean}, ridge regression on {rival}{whole} {lags:.3g}"
    ratio = network / lags
    if min(network, lags) > POOR:
        said = "neither predicts the target, and this network is a guess"
    elif ratio < limit:
        said = f"{1 - ratio:.0%} less" if ratio > 0.1 else f"smaller by a factor of {1 / ratio:.3g}"
    else:
        said = "ridge regression on lags is enough"
    return f"Verdict: on the same held-out folds the suggested network leaves {compared}: {said}."


def _warnings(problem: Asked, found: Memory, tried: bool) -> list[str]:
    warnings = []
    if found.nonlinear[found.place] > POOR and not tried:
        warnings.append(
            "No filter predicts the target: the inputs may hold no information about it, and this network is a guess."
        )
    if found.steps == found.windows[-1]:
        warnings.append(
            f"The longest window tried was the best; the memory may be longer than {counted(found.steps)}: raise `longest`."
        )
    pairs = zip(problem.inputs.values, problem.targets.values, strict=True)
    if all(np.array_equal(u, y) for u, y in pairs):
        warnings.append(
            "The target is the input of the same step: no network is needed. For a forecast, leave y out or shift it."
        )
    return warnings


def _about_units(drive: float, means: Floats, spreads: Floats) -> list[str]:
    """Warnings about raw inputs that would disturb the network."""
    warnings = []
    if spreads.max() > 10 * spreads.min():
        warnings.append(
            f"The features' standard deviations differ by a factor of {spreads.max() / spreads.min():,.0f}: standardise the "
            "features, or the large ones hide the small ones."
        )
    offset = float(np.linalg.norm(means) / np.linalg.norm(spreads))
    if drive * offset > LARGE_OFFSET:
        warnings.append(
            f"The input's mean is {offset:,.0f} times its standard deviation: subtract it, or it drives tanh into saturation."
        )
    return warnings


def _columns(problem: Asked) -> dict[str, Floats]:
    """The first targets and inputs of the longest series by name; only inputs if the targets are the next inputs."""
    longest = int(np.argmax(problem.inputs.lengths))
    sides = [("u", problem.inputs)] if problem.of_itself else [("y", problem.targets), ("u", problem.inputs)]
    return {
        f"{name}{k}": np.asarray(side.values[longest])[:, k]
        for name, side in sides
        for k in range(min(side.features, MOST_COLUMNS))
    }


def _trends_and_seasons(columns: dict[str, Floats]) -> list[str]:
    reasons = []
    trends = {name: share for name, each in columns.items() if (share := trend(each)) > TREND}
    if trends:
        told = ", ".join(f"{share:.0%} of the variance of {name}" for name, share in trends.items())
        reasons.append(
            f"Trend: a straight line explains {told}. A network does not follow a trend beyond the range of its training data: "
            "difference the series, or predict the change from the last value."
        )
    periods = {name: period for name, each in columns.items() if (period := season(each))}
    for period in dict.fromkeys(periods.values()):
        names = [name for name, each in periods.items() if each == period]
        reasons.append(
            f"Season: {' and '.join(names)} {'repeats' if len(names) == 1 else 'repeat'} after {counted(period)}. Give the "
            f"network the value {counted(period)} earlier as an input, or calendar inputs (sine and cosine of "
            f"2 pi t / {period}), or take differences over the season."
        )
    return reasons
