"""Mackey-Glass: a chaotic series from one delay differential equation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.polynomial import chebyshev, legendre

from echoscale._internal import checks, hints
from echoscale._internal.types import Floats

# A panel is an interval of time on which the solution is one polynomial, given by its values at these points, ends included.
# 28 points, or panels half as long, change the default series by less than 1e-13 in the first ten delays.
NODES = 16
POINTS = (1 - np.cos(np.pi * np.arange(NODES) / (NODES - 1))) / 2
# From the values to the coefficients of Chebyshev polynomials.
COEFFICIENTS = np.linalg.inv(chebyshev.chebvander(2 * POINTS - 1, NODES - 1))
# Panels or samples in memory at once: a long series needs little more than its own memory.
BLOCK = 1 << 15
# Largest number of panels: more would take too long.
MOST = 1e9


@hints.options
def mackey_glass(
    length: int,
    seed: int = 0,
    *,
    horizon: int = 1,
    delay: float = 17.0,
    beta: float = 0.2,
    gamma: float = 0.1,
    power: float = 10.0,
    dt: float = 1.0,
    discard: int = 1000,
) -> tuple[Floats, Floats]:
    """Mackey-Glass equation, a chaotic series with a delay: predict the series `horizon` samples ahead.

        dx/dt = beta x(t - delay) / (1 + x(t - delay)^power) - gamma x(t)
        u[n] = x((discard + n) dt),   y[n] = u[n + horizon]

    Before t = 0 the solution is a straight line between two levels drawn from U[0.5, 1.3]. The first `discard` samples are left
    out. The integration does not depend on dt: any delay can be combined with any dt. Its cost grows with the number of delays.
    Chaos amplifies rounding: on another machine, the same seed gives the same beginning, but later a different part of the same
    attractor.

    Parameters
    ----------
    length : int
        Number of steps.
    seed : int
        Random seed.
    horizon : int
        Number of samples to predict ahead.
    delay : float
        Delay in units of time. The series is chaotic for delays from about 17.
    beta, gamma, power : float
        Other constants of the equation.
    dt : float
        Time between two samples.
    discard : int
        Number of samples at the start that are left out.

    Returns
    -------
    (u, y)
        Input and target, each (length, 1), float64.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.mackey_glass(100, delay=17, horizon=6)
    >>> bool((u[6:] == y[:-6]).all())
    True
    """
    length = checks.integer(length, "length", minimum=1)
    rng = np.random.default_rng(checks.integer(seed, "seed"))
    horizon = checks.integer(horizon, "horizon", minimum=1)
    discard = checks.integer(discard, "discard")
    delay, dt = checks.number(delay, "delay"), checks.time_step(dt)
    beta, gamma, power = checks.number(beta, "beta"), checks.number(gamma, "gamma"), checks.number(power, "power")
    if not delay > 0:
        raise ValueError(f"delay must be above 0, got {delay}: without a delay the equation only settles.")

    # Kinks of the solution lie where windows of one delay meet, so the solution is smooth inside a panel. The delayed term has
    # poles about pi / power off the real axis, and x changes no faster than about beta: a panel is short compared with that.
    per_delay = max(4.0, delay * (abs(gamma) + abs(beta) * (1 + abs(power) / 2)))
    delays = (discard + length + horizon) * dt / delay
    if not max(1, delays) * per_delay <= MOST:
        raise ValueError(
            f"delay={delay} and dt={dt} are too much work with beta={beta}, gamma={gamma}, power={power}: the series lasts "
            f"{delays:.3g} delays; take a shorter dt or a longer delay, and constants near the defaults."
        )
    panels = int(np.ceil(per_delay))
    first, last = rng.uniform(0.5, 1.3, 2)
    history = first + (last - first) * (np.arange(panels)[:, None] + POINTS) / panels
    windows = _windows(history, delay / panels, beta, gamma, power)

    time = np.arange(discard + length + horizon) * (dt / delay * panels)
    panel = time.astype(np.int64)
    x = np.empty(len(time))
    needed, at_once = int(panel[-1]) // panels + 1, max(1, int(BLOCK / max(panels, delay / dt)))
    for begin in range(0, needed, at_once):
        block = np.concatenate(list(islice(windows, min(at_once, needed - begin))))
        if not np.isfinite(block).all():
            raise ValueError(
                f"Mackey-Glass with delay={delay}, beta={beta}, gamma={gamma}, power={power} runs away or leaves the real "
                "numbers; take gamma above 0 and beta not below 0."
            )
        offset = begin * panels
        here = slice(*np.searchsorted(panel, [offset, offset + len(block)]))
        coefficients = block[panel[here] - offset] @ COEFFICIENTS.T
        x[here] = chebyshev.chebval(2 * (time[here] - panel[here]) - 1, coefficients.T, tensor=False)
    x = x[discard:, None]
    return x[:length].copy(), x[horizon:].copy()


def _windows(window: Floats, step: float, beta: float, gamma: float, power: float) -> Iterator[Floats]:
    """x(t + s) = exp(-gamma s) x(t) + int_0^s exp(-gamma (s - r)) f(t + r) dr,   f the delayed term of the equation.

    Yields window after window of one delay, each (panels, NODES), from the previous window. With a known delayed term the
    equation is linear: the integral of the polynomial through f is one matrix, the same for all panels.
    """
    from scipy.signal import lfilter

    s = step * POINTS
    node, weight = legendre.leggauss(NODES)
    share = (1 + node) / 2  # of s, where the integrand is evaluated
    polynomials = chebyshev.chebvander(2 * POINTS[:, None] * share - 1, NODES - 1) @ COEFFICIENTS
    integral = np.einsum("sr,srj->js", s[:, None] * weight / 2 * np.exp(-gamma * s[:, None] * (1 - share)), polynomials)
    fade = np.exp(-gamma * s)
    while True:
        with np.errstate(all="ignore"):
            forced = beta * window / (1 + window**power) @ integral
            start = window[-1, -1]
            # The end of one panel is the start of the next.
            ends, _ = lfilter([1.0], [1.0, -fade[-1]], forced[:, -1], zi=[fade[-1] * start])
            window = np.concatenate([[start], ends[:-1]])[:, None] * fade + forced
        yield window
