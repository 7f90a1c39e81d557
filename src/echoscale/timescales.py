"""Closed forms for the timescales of one reservoir in the linear regime (paper, "Survey of timescales").

tau = dt / (leak_rate (1 - spectral_radius Re(lambda_W))),   lambda_W uniform in the unit disc
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale import _checks

Floats = npt.NDArray[np.float64]


def bounds(leak_rate: Any, spectral_radius: Any, dt: float = 1.0) -> tuple[Any, Any]:
    """tau_min = dt / (alpha (1 + rho)),  tau_max = dt / (alpha (1 - rho)), infinite at rho = 1."""
    alpha, rho = _checked(leak_rate, spectral_radius, dt)
    with np.errstate(divide="ignore"):
        return (dt / (alpha * (1 + rho)))[()], (dt / (alpha * (1 - rho)))[()]


def peak(leak_rate: Any, spectral_radius: Any, dt: float = 1.0) -> Any:
    """The most probable timescale: 5 dt / (4 alpha (1 - rho^2)) (1 - sqrt(1 - 24/25 (1 - rho^2))).

    Computed as (6/5) dt / alpha / (1 + sqrt(1 - 24/25 (1 - rho^2))), which is the same number and finite at rho = 1,
    where it is 0.6 dt / alpha.
    """
    alpha, rho = _checked(leak_rate, spectral_radius, dt)
    return (1.2 * dt / alpha / (1 + np.sqrt(1 - 24 / 25 * (1 - rho**2))))[()]


def _checked(leak_rate: Any, spectral_radius: Any, dt: float) -> tuple[Floats, Floats]:
    if not _checks.number(dt, "dt") > 0:
        raise ValueError(f"dt must be above 0, got {float(dt)}: it is the time between two steps.")
    alpha, rho = np.asarray(leak_rate, np.float64), np.asarray(spectral_radius, np.float64)
    if not ((alpha > 0) & (alpha <= 1)).all():
        raise ValueError(f"leak_rate must lie in (0, 1], got {leak_rate}.")
    if not ((rho >= 0) & (rho <= 1)).all():
        raise ValueError(f"the theory holds for a spectral radius in [0, 1], got {spectral_radius}: above 1 no tau_max exists.")
    return alpha, rho
