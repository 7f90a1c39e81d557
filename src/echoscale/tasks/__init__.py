"""Benchmark series: each task returns inputs and targets from a seed."""

from echoscale.tasks.narma import narma

__all__ = ["narma"]
