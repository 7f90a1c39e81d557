"""Learning while the series runs: traces, readouts that follow, and the learners built of them."""

from echoscale.online.adam import PRESETS as PRESETS
from echoscale.online.adam import Adam as Adam
from echoscale.online.adaptation import responses as responses
from echoscale.online.errors import LearningError as LearningError
from echoscale.online.learner import OnlineLearner as OnlineLearner
from echoscale.online.protocol import Reinitialise as Reinitialise
from echoscale.online.sequence_learner import SequenceLearner as SequenceLearner
from echoscale.online.sequence_starts import Walk as Walk
from echoscale.online.sequence_starts import walk as walk
from echoscale.readouts.rls import RLS as RLS
