"""Tuning against the ridge solution: the gradient of the validation error by every number of the network."""

from echoscale.tuning.driver import ALL, tune
from echoscale.tuning.result import Tuned
from echoscale.tuning.space import BOUNDS

__all__ = ["ALL", "BOUNDS", "Tuned", "tune"]
