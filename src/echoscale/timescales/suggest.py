"""A first network for a problem: its numbers follow from the memory, the smoothness and the nonlinearity of the data.

With m the memory of the problem (`memory`; at least 3), tau_u the correlation time of the input, and e the error that a linear
filter of m inputs makes:

    fastest level      leak_rate alpha_1 = min(1 - 0.05 / tau_u, 20 / tau_u): almost 1, unless the input is sampled very finely
    slowest level      alpha_K = 4 / m: the neurons' own timescale is a quarter of the memory; levels between them geometrically
    spectral_radius    1 - 1 / (alpha_1 m), so that the longest timescale of the fastest level is the memory
    drive              e / (1 + m / tau_u), e kept in [0.15, 1]: the root mean square of what the input adds inside tanh.
                       Nonlinear enough for what a linear filter leaves unexplained, less so the more is to be remembered
    bias_scaling       0.2, which breaks the odd symmetry of tanh

The longest timescale of a reservoir is the theory's. The constants 0.05, 20, 4, 0.15 and 0.2 were set by hand on seven
problems, with other seeds than those that benchmarks/suggest.py judges.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import numpy.typing as npt

from echoscale import _checks
from echoscale.network import Network, hierarchical
from echoscale.series import SeriesLike, as_series, as_targets
from echoscale.timescales.memory import Memory, counted, memory
from echoscale.timescales.signal import decay_lag, of_signal
from echoscale.timescales.theory import bounds

Floats = npt.NDArray[np.float64]

LEAST_MEMORY, WHITE, FINE_SAMPLING, SHARE_OF_MEMORY, LEAST_NONLINEARITY, BIAS = 3, 0.05, 20, 4, 0.15, 0.2
RADII = (0.5, 0.99)
LARGE_OFFSET = 0.75  # of what the input's mean adds inside tanh


class Suggestion(Network):
    """A `Network` that knows why: equal to any network with the same reservoirs and couplings. Made by `suggest`.

    Parameters
    ----------
    reservoirs, couplings, coupling_delay : as in `Network`
        The network.

    Attributes
    ----------
    reasons : tuple of str
        Why these hyper-parameters, in words.
    washout : int
        Steps after which the slowest level has forgotten its start.
    memory : Memory
        What was measured: errors of filters against the length of their windows.

    Examples
    --------
    >>> import echoscale as es
    >>> found = es.timescales.suggest(*es.tasks.narma(500))
    >>> found == es.Network(found.reservoirs, found.couplings)
    True
    >>> found.reasons[0][:7]
    'Memory:'
    """

    reasons: tuple[str, ...] = ()
    washout: int = 0
    memory: Memory

    @classmethod
    def of(cls, network: Network, reasons: list[str], washout: int, measured: Memory) -> Suggestion:
        """The network with its reasons.

        Parameters
        ----------
        network : Network
            What is suggested.
        reasons : list of str
            Why, in words.
        washout : int
            Steps to wash out.
        measured : Memory
            The memory of the problem.
        """
        made = cls(network.reservoirs, network.couplings, network.coupling_delay)
        for name, value in (("reasons", tuple(reasons)), ("washout", washout), ("memory", measured)):
            object.__setattr__(made, name, value)
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.reservoirs, self.couplings, self.coupling_delay))

    def __str__(self) -> str:
        return "\n".join([repr(self), "", *(f"- {reason}" for reason in self.reasons)])


def suggest(
    u: SeriesLike,
    y: SeriesLike | None = None,
    levels: int = 2,
    *,
    units: int = 100,
    longest: int | None = None,
    seed: int = 0,
) -> Suggestion:
    """A network whose levels cover the timescales of the problem, fast first: a starting point, not an optimum.

        alpha_1 = min(1 - 0.05 / tau_u, 20 / tau_u),   alpha_K = 4 / m,   rho = 1 - 1 / (alpha_1 m)

    m is the memory of the problem in steps (`memory`), tau_u the correlation time of the input, alpha_1 and alpha_K the leak
    rates of the first and last level, rho the spectral radius of all. The input scaling follows from m, tau_u and the error
    of a linear filter; the module's docstring has the rest. The constants were set by hand on seven problems.

    Parameters
    ----------
    u : (T, F), (B, T, F) or list of (T_b, F)
        Inputs.
    y : (T, O), (B, T, O), list of (T_b, O) or None
        Targets; None: the next input is to be predicted.
    levels : int
        How many reservoirs, each driving the next.
    units : int
        Neurons in all, shared evenly.
    longest : int or None
        The longest memory to look for, in steps; see `memory`.
    seed : int
        Of the random features with which the memory is measured.

    Returns
    -------
    Suggestion
        A `Network` with its reasons: print it.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.narma(1000)
    >>> found = es.timescales.suggest(u, y)
    >>> [each.units for each in found.reservoirs]
    [50, 50]
    """
    levels = _checks.integer(levels, "levels", minimum=1)
    units = _checks.integer(units, "units", minimum=levels)
    series = as_series(u)
    if y is None:
        if series.lengths.min() < 2:
            raise ValueError("without y the task is to predict the next input: u needs at least two steps.")
        y = [each[1:] for each in series.values]
        series = as_series([each[:-1] for each in series.values])
    targets = as_targets(y, series)
    found = memory(series.values, targets.values, longest=longest, seed=seed)
    m = max(found.steps, min(LEAST_MEMORY, int(found.windows[-1])))
    unexplained = float(found.linear[found.windows == m][0])
    correlation_time = _correlation_time(series.values)
    fastest = min(1 - WHITE / correlation_time, FINE_SAMPLING / correlation_time)
    leaks = np.geomspace(fastest, min(fastest, SHARE_OF_MEMORY / m), levels)
    radius = float(np.clip(1 - 1 / (fastest * m), *RADII))
    drive = min(max(unexplained, LEAST_NONLINEARITY), 1) / (1 + m / correlation_time)
    rows = np.concatenate([np.asarray(each) for each in series.values])
    means, spreads = rows.mean(axis=0), rows.std(axis=0)
    network = hierarchical(
        [len(part) for part in np.array_split(np.arange(units), levels)],
        leak_rate=[_rounded(each) for each in leaks],
        spectral_radius=_rounded(radius),
        # W_in is uniform in [-1, 1], with variance 1/3.
        input_scaling=_rounded(drive * np.sqrt(3 / (spreads**2).sum())),
        bias_scaling=BIAS,
    )
    slowest = network.reservoirs[-1]
    forgotten = int(np.ceil(3 * bounds(slowest.leak_rate, slowest.spectral_radius)[1]))
    washout = min(forgotten, int(series.lengths.min()) // 5)
    enough = (
        f"three times the longest timescale of R{levels}." if washout == forgotten else "a fifth of the series: more is safer."
    )
    reasons = [
        *_reasons(network, found, correlation_time, drive),
        f"Wash out the first {counted(washout)}, {enough}",
        *_warnings(found, drive, means, spreads),
    ]
    return Suggestion.of(network, reasons, washout, found)


def _correlation_time(series: SeriesLike) -> float:
    """The lag at which the input's autocorrelation has fallen to 1/e, mean over its features; the last lag if it has not."""
    found = of_signal(series)
    lags = [decay_lag(found.inputs[:, f]) or int(found.lags[-1]) for f in range(found.inputs.shape[1])]
    return float(np.mean(lags))


def _rounded(value: float) -> float:
    """Two digits: more would feign precision."""
    return float(f"{value:.2g}")


def _reasons(network: Network, found: Memory, correlation_time: float, drive: float) -> list[str]:
    m, linear, best = found.steps, found.linear[found.place], found.nonlinear[found.place]
    first, last = network.reservoirs[0], network.reservoirs[-1]
    beyond = "longer windows gain less than a tenth" if m < found.windows[-1] else "no longer window was tried"
    reasons = [
        f"Memory: {counted(m)}. A filter that sees the last {counted(m)} predicts the target with an error of {best:.2g} "
        f"standard deviations (a linear one with {linear:.2g}); {beyond}.",
        f"The input's correlation time is {counted(correlation_time)}: the memory spans {m / correlation_time:.2g} of them.",
        f"R1 is the fast level, leak rate {first.leak_rate:g}"
        + (": the input is sampled finely." if correlation_time > FINE_SAMPLING else ": it follows every step."),
    ]
    if last is not first:
        why = "a quarter of the memory" if last.leak_rate < first.leak_rate else "since little memory is needed"
        own = f"its neurons' own timescale is {counted(1 / last.leak_rate)}, {why}."
        reasons.append(f"R{len(network.reservoirs)} is the slow one, leak rate {last.leak_rate:g}: {own}")
    longest = bounds(first.leak_rate, first.spectral_radius)[1]
    return [
        *reasons,
        f"Spectral radius {first.spectral_radius:g}: the longest timescale of R1 is {counted(longest)}.",
        f"Input scaling {first.input_scaling:g}: the input adds about {drive:.2g} (root mean square) inside tanh. What a "
        "linear filter leaves unexplained asks for more, what must be remembered for less.",
    ]


def _warnings(found: Memory, drive: float, means: Floats, spreads: Floats) -> list[str]:
    warnings = []
    if found.nonlinear[found.place] > 0.95:
        warnings.append(
            "No filter predicts the target: these inputs may not tell about it at all, and this network is a guess."
        )
    if found.steps == found.windows[-1]:
        warnings.append(
            f"The longest window tried was the best; the memory may be longer than {counted(found.steps)}: raise `longest`."
        )
    if spreads.max() > 10 * spreads.min():
        warnings.append(
            f"The features' standard deviations differ by a factor of {spreads.max() / spreads.min():,.0f}: standardise them, "
            "or the large ones drown the small ones."
        )
    offset = float(np.linalg.norm(means) / np.linalg.norm(spreads))
    if drive * offset > LARGE_OFFSET:
        warnings.append(
            f"The input's mean is {offset:,.0f} times its standard deviation: subtract it, or it drives tanh into saturation."
        )
    return warnings
