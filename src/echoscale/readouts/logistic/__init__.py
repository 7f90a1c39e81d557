"""Readouts of classes, trained by shuffled minibatches with Adam, on features in memory or streamed from a file.

E = mean over rows of loss(W x + b, label) + ridge/2 |W|^2
"""

from echoscale.data.losses import OF_CLASSES, probabilities
from echoscale.readouts.logistic.trained import Trained, TrainingHistory
from echoscale.readouts.logistic.training import SCHEDULES, fit

__all__ = ["OF_CLASSES", "SCHEDULES", "Trained", "TrainingHistory", "fit", "probabilities"]
