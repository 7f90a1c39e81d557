"""scikit-learn estimators: a network, a readout and the washout in one object; and what may stand before them."""

from echoscale.estimators.classifier import ESNClassifier
from echoscale.estimators.delay_expansion import DelayExpansion
from echoscale.estimators.nvar import NVAR
from echoscale.estimators.regressor import ESNRegressor
from echoscale.estimators.transformer import ESNFeatures
from echoscale.readouts.state_warnings import StateWarning

__all__ = ["NVAR", "DelayExpansion", "ESNClassifier", "ESNFeatures", "ESNRegressor", "StateWarning"]
