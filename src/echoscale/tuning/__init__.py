"""Tuning against the ridge solution: the gradient of the validation error by every hyper-parameter."""

from echoscale.tuning.space import BOUNDS
from echoscale.tuning.tuned import Tuned
from echoscale.tuning.tuner import ALL, tune

__all__ = ["ALL", "BOUNDS", "Tuned", "tune"]
