"""Lorenz: the chaotic flow of three coupled equations."""

from __future__ import annotations

import numpy as np

from echoscale._internal import checks
from echoscale._internal.types import Floats

# The attractor is about as large as its constants: a solution this many times farther out does not return.
DIVERGED = 1e3
# Relative change per sample beyond which no step is small enough: a solver would shorten its step for ever.
FASTEST = 1e12
TOLERANCE = 1e-11


def lorenz(
    length: int,
    seed: int = 0,
    *,
    horizon: int = 1,
    sigma: float = 10.0,
    rho: float = 28.0,
    beta: float = 8 / 3,
    dt: float = 0.02,
    discard: int = 1000,
) -> tuple[Floats, Floats]:
    """Lorenz system, a chaotic flow: predict all three variables `horizon` samples ahead.

        dx/dt = sigma (y - x),   dy/dt = x (rho - z) - y,   dz/dt = x y - beta z
        u[n] = (x, y, z)((discard + n) dt),   y[n] = u[n + horizon]

    The solution starts at a random point around both lobes, and the first `discard` samples are left out. Each step of the
    integrator has an error of at most 1e-11. Chaos amplifies rounding: on another machine, the same seed gives the same
    beginning, but later a different part of the same attractor.

    Parameters
    ----------
    length : int
        Number of steps.
    seed : int
        Random seed.
    horizon : int
        Number of samples to predict ahead.
    sigma, rho, beta : float
        Constants of the flow; chaotic with the defaults.
    dt : float
        Time between two samples.
    discard : int
        Number of samples at the start that are left out.

    Returns
    -------
    (u, y)
        Input and target, each (length, 3), float64.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.lorenz(100, horizon=5)
    >>> bool((u[5:] == y[:-5]).all())
    True
    """
    length = checks.integer(length, "length", minimum=1)
    rng = np.random.default_rng(checks.integer(seed, "seed"))
    horizon = checks.integer(horizon, "horizon", minimum=1)
    discard = checks.integer(discard, "discard")
    sigma, rho, beta = checks.number(sigma, "sigma"), checks.number(rho, "rho"), checks.number(beta, "beta")
    dt = checks.time_step(dt)
    from scipy.integrate import solve_ivp

    bound = DIVERGED * (1 + abs(sigma) + abs(rho) + abs(beta))
    fastest = FASTEST / dt

    def flow(_: float, state: Floats) -> list[float]:
        x, y, z = state.tolist()  # Python floats: NumPy scalars would be slower
        rates = [sigma * (y - x), x * (rho - z) - y, x * y - beta * z]
        size = max(abs(x), abs(y), abs(z))
        # An escaping solution needs ever smaller steps: stop here. (NaN is not below the bound either.)
        if not size <= bound or not max(map(abs, rates)) <= fastest * (1 + size):
            raise OverflowError
        return rates

    # The centres of the lobes are x = y = +-sqrt(beta (rho - 1)), z = rho - 1.
    start = (1 + abs(beta * (rho - 1)) ** 0.5) * rng.uniform(-1, 1, 3) + (0, 0, rho - 1)
    time = dt * np.arange(discard + length + horizon)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            solution = solve_ivp(flow, (0, time[-1]), start, method="DOP853", t_eval=time, rtol=TOLERANCE, atol=TOLERANCE)
        escaped = solution.status != 0
    except OverflowError:
        escaped = True
    if escaped:
        raise ValueError(f"Lorenz with sigma={sigma}, rho={rho}, beta={beta} runs away; take sigma and beta above 0.")
    x = solution.y.T[discard:]
    return x[:length].copy(), x[horizon:].copy()
