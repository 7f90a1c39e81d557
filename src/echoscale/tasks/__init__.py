"""Benchmark series: each task returns inputs and targets from a seed."""

from echoscale.tasks.lorenz import lorenz
from echoscale.tasks.mackey_glass import mackey_glass
from echoscale.tasks.narma import narma
from echoscale.tasks.telegraph import Telegraph, schedule, telegraph
from echoscale.tasks.telegraph_filter import Posterior, telegraph_filter

__all__ = ["Posterior", "Telegraph", "lorenz", "mackey_glass", "narma", "schedule", "telegraph", "telegraph_filter"]
