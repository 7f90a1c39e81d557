"""Learning of hyper-parameters: by the gradient through ridge regression, or online, step by step."""

from echoscale.learning.online.adam import PRESETS, Adam
from echoscale.learning.online.learner import LearningError, OnlineLearner
from echoscale.learning.online.plasticity import intrinsic_plasticity
from echoscale.learning.online.reinitialise import Reinitialise
from echoscale.learning.tuning.space import BOUNDS
from echoscale.learning.tuning.tuned import Tuned
from echoscale.learning.tuning.tuner import ALL, tune
from echoscale.readouts.rls import RLS

__all__ = [
    "ALL",
    "BOUNDS",
    "PRESETS",
    "RLS",
    "Adam",
    "LearningError",
    "OnlineLearner",
    "Reinitialise",
    "Tuned",
    "intrinsic_plasticity",
    "tune",
]
