"""Constraints that keep learned hyper-parameters in their range.

"clip"      the number itself is learned; after every step leak rates are clipped to [0.001, 1] and other sizes to 0 or above
            (couplings are free), as in the paper's code
"logistic"  an unconstrained number is learned: the logit of a leak rate, the logarithm of another size
"free"      the number itself is learned; an error is raised if a leak rate leaves (0, 1] or another size falls below 0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.engine.hyper import Parameter

CONSTRAINTS = ("clip", "logistic", "free")
LEAST_LEAK = 0.001


def bounds(parameter: Parameter, constraint: str) -> tuple[float, float]:
    """The least and the largest value that a learned number may have."""
    if parameter.name == "coupling":
        return -np.inf, np.inf
    if parameter.name == "leak_rate":
        # The smallest number above 0 in every precision.
        return (LEAST_LEAK if constraint == "clip" else float(np.finfo(np.float32).tiny)), 1.0
    return 0.0, float(checks.MOST_SPREAD) if parameter.name == "leak_spread" else np.inf


def to_free(values: Floats, learned: Sequence[Parameter], constraint: str) -> Floats:
    """Values (P, S) as the free numbers that the rule moves. A leak rate of 1 has no logit: it starts at 0.999."""
    if constraint != "logistic":
        return values
    rows = []
    for parameter, row in zip(learned, values, strict=True):
        if parameter.name == "leak_rate":
            inside = np.clip(row, LEAST_LEAK, 1 - LEAST_LEAK)
            row = np.log(inside) - np.log1p(-inside)
        elif parameter.name != "coupling":
            if (row <= 0).any():
                raise ValueError(
                    f"{parameter} is 0 at the start, which has no logarithm: with constraint='logistic' begin above 0, or use "
                    "constraint='clip'."
                )
            row = np.log(row)
        rows.append(row)
    return np.array(rows).reshape(values.shape)


def of_free(theta: Any, learned: Sequence[Parameter], constraint: str) -> tuple[Any, Any]:
    """Values (P, S) from free numbers, and their derivatives by the free numbers; for arrays of NumPy or JAX."""
    xp: Any = np if isinstance(theta, np.ndarray) else jnp
    if constraint != "logistic":
        return theta, xp.ones_like(theta)
    leak = np.array([each.name == "leak_rate" for each in learned], bool)[:, None]
    plain = np.array([each.name == "coupling" for each in learned], bool)[:, None]
    with np.errstate(over="ignore"):  # `allowed` finds infinities afterwards
        share, size = 1 / (1 + xp.exp(-theta)), xp.exp(xp.where(plain | leak, 0, theta))
    value = xp.where(leak, share, xp.where(plain, theta, size))
    return value, xp.where(leak, share * (1 - share), xp.where(plain, xp.ones_like(theta), size))


def allowed(values: Any, learned: Sequence[Parameter], constraint: str) -> Any:
    """Whether values (P, S) are finite and within their bounds; for arrays of NumPy or JAX."""
    edges = np.array([bounds(each, constraint) for each in learned]).reshape(-1, 2).astype(values.dtype)
    return (values >= edges[:, :1]) & (values <= edges[:, 1:]) & (abs(values) < np.inf)
