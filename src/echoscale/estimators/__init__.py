"""scikit-learn estimators: a network, a readout and the washout in one object."""

from echoscale.estimators.classifier import ESNClassifier
from echoscale.estimators.features import ESNFeatures
from echoscale.estimators.nvar import NVAR
from echoscale.estimators.regressor import ESNRegressor
from echoscale.estimators.step_classifier import ESNStepClassifier
from echoscale.readouts.states import StateWarning

__all__ = ["NVAR", "ESNClassifier", "ESNFeatures", "ESNRegressor", "ESNStepClassifier", "StateWarning"]
