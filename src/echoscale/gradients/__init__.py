"""Derivatives of the states: exact traces forwards, and back-propagation through time as the reference."""

from echoscale.gradients import bptt, traces

__all__ = ["bptt", "traces"]
