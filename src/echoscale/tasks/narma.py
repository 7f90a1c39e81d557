"""NARMA: a nonlinear autoregressive moving average driven by uniform noise (paper, NARMA10)."""

from __future__ import annotations

import math

import numpy as np

from echoscale._internal import checks
from echoscale._internal.types import Floats

# No trajectory returns from above this value: stable ones stay below about 1.3.
DIVERGED = 10.0
LONGEST_REDRAW = 1 << 14
LOOK_AHEAD = 100  # a series must also stay bounded for this number of steps after its end


def narma(
    length: int,
    order: int = 10,
    seed: int = 0,
    *,
    a: float = 0.3,
    b: float = 0.05,
    c: float = 1.5,
    d: float = 0.1,
    saturate: bool = False,
) -> tuple[Floats, Floats]:
    """NARMA: predict a nonlinear autoregressive moving average of uniform noise.

        y_n = y_{n-1} (a + b sum_{k=1..D} y_{n-k}) + c s_{n-1} s_{n-D} + d,   s_n ~ U[0, 0.5],   D = order

    y starts at 0, so wash out the first steps. The recursion can diverge (at order 10 about 6 times in a million steps). The
    inputs of the last steps are then drawn again, further and further back until the series stays bounded.

    With saturate=True the right side goes through tanh and no order diverges. Order 20 needs tanh: without it, order 20 has no
    fixed point at the mean input and raises an error. The literature uses d=0.01 at order 20 (Rodan and Tino 2011).

    Parameters
    ----------
    length : int
        Number of steps.
    order : int
        Number D of past steps in the recursion.
    seed : int
        Random seed.
    a, b, c, d : float
        Constants of the recursion.
    saturate : bool
        Whether the right side goes through tanh.

    Returns
    -------
    (u, y)
        Input u[n] = s_n and target y[n] = y_n, each (length, 1), float64.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.narma(1000, order=10, seed=1)
    >>> u.shape, y.shape, float(y[0, 0])
    ((1000, 1), (1000, 1), 0.0)
    """
    length = checks.integer(length, "length", minimum=1)
    order = checks.integer(order, "order", minimum=1)
    rng = np.random.default_rng(checks.integer(seed, "seed"))
    a, b, c, d = (checks.number(value, name) for value, name in ((a, "a"), (b, "b"), (c, "c"), (d, "d")))
    if not isinstance(saturate, bool):
        raise TypeError(f"saturate must be True or False, got {saturate!r}.")
    s = rng.uniform(0, 0.5, length).tolist()
    if length <= order:
        return np.array(s)[:, None], np.zeros((length, 1))
    s += np.random.default_rng([seed, 1]).uniform(0, 0.5, LOOK_AHEAD).tolist()
    y = [0.0] * order
    back = furthest = 0
    # A plain loop over Python floats: every step needs the previous one, and NumPy scalars would be ten times slower.
    while len(y) < len(s):
        n = len(y)
        new = y[n - 1] * (a + b * sum(y[n - order : n])) + c * s[n - 1] * s[n - order] + d
        if saturate:
            new = math.tanh(new)
        if abs(new) < DIVERGED:
            y.append(new)
            continue
        back = 50 if n > furthest else 2 * back  # diverged at the same place again: go further back
        furthest = max(n, furthest)
        if back > LONGEST_REDRAW:
            raise ValueError(
                f"NARMA with order={order}, a={a}, b={b}, c={c}, d={d} diverges whatever the input; lower b or c, or set "
                "saturate=True (order 20 of the literature: with d=0.01)."
            )
        keep = max(min(n, length) - back, order)
        del y[keep:]
        s[keep - 1 : length] = rng.uniform(0, 0.5, length - keep + 1).tolist()
    return np.array(s[:length])[:, None], np.array(y[:length])[:, None]
