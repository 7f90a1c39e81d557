"""Readouts of classes, trained by shuffled minibatches with Adam, on features in memory or streamed from a file.

E = mean over rows of loss(W x + b, label) + penalty/2 |W|^2
"""

from echoscale.logistic.losses import LOSSES, probabilities
from echoscale.logistic.schedule import SCHEDULES
from echoscale.logistic.trained import History, Trained
from echoscale.logistic.training import fit

__all__ = ["LOSSES", "SCHEDULES", "History", "Trained", "fit", "probabilities"]
