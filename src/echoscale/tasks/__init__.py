"""Benchmark series: each task returns inputs and targets from a seed."""

from echoscale.tasks.lorenz import lorenz
from echoscale.tasks.mackey_glass import mackey_glass
from echoscale.tasks.narma import narma

__all__ = ["lorenz", "mackey_glass", "narma"]
