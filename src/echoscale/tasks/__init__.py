"""Benchmark series: each task returns inputs and targets from a seed, or from data files."""

from echoscale.tasks import hmm, mnist
from echoscale.tasks.lorenz import lorenz
from echoscale.tasks.mackey_glass import mackey_glass
from echoscale.tasks.narma import narma
from echoscale.tasks.psmnist import Sequences, psdigits, psmnist
from echoscale.tasks.telegraph import Telegraph, schedule, telegraph
from echoscale.tasks.telegraph_filter import Posterior, telegraph_filter

__all__ = [
    "Posterior",
    "Sequences",
    "Telegraph",
    "hmm",
    "lorenz",
    "mackey_glass",
    "mnist",
    "narma",
    "psdigits",
    "psmnist",
    "schedule",
    "telegraph",
    "telegraph_filter",
]
