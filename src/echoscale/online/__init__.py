"""Learning while the series runs: traces, readouts that follow, and the learners built of them."""

from echoscale.online.adam import PRESETS, Adam
from echoscale.online.adaptation import responses, running_mean
from echoscale.online.errors import LearningError
from echoscale.online.learner import OnlineLearner
from echoscale.online.plasticity import intrinsic_plasticity
from echoscale.online.protocol import Reinitialise
from echoscale.online.sequence_learner import SequenceLearner
from echoscale.online.sequence_starts import Walk, walk
from echoscale.readouts.rls import RLS

__all__ = [
    "PRESETS",
    "RLS",
    "Adam",
    "LearningError",
    "OnlineLearner",
    "Reinitialise",
    "SequenceLearner",
    "Walk",
    "intrinsic_plasticity",
    "responses",
    "running_mean",
    "walk",
]
