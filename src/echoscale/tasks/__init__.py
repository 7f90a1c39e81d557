"""Benchmark problems: each task returns inputs and targets, made from a seed or read from data files.

A new task is a file here and one line below. Sweeps find it by its name if it takes `length` and `seed`.
"""

from echoscale.tasks import hmm as hmm
from echoscale.tasks import mnist as mnist
from echoscale.tasks.averages import averages as averages
from echoscale.tasks.kuramoto_sivashinsky import kuramoto_sivashinsky as kuramoto_sivashinsky
from echoscale.tasks.lorenz import lorenz as lorenz
from echoscale.tasks.mackey_glass import mackey_glass as mackey_glass
from echoscale.tasks.narma import narma as narma
from echoscale.tasks.psmnist import Sequences as Sequences
from echoscale.tasks.psmnist import psdigits as psdigits
from echoscale.tasks.psmnist import psmnist as psmnist
from echoscale.tasks.telegraph import Posterior as Posterior
from echoscale.tasks.telegraph import Telegraph as Telegraph
from echoscale.tasks.telegraph import schedule as schedule
from echoscale.tasks.telegraph import telegraph as telegraph
from echoscale.tasks.telegraph import telegraph_filter as telegraph_filter
from echoscale.tasks.telegraph import transitions as transitions

# All of the above: classes, functions, and the two modules that have functions of their own.
__all__ = sorted(name for name, value in dict(globals()).items() if callable(value) or name in ("hmm", "mnist"))
