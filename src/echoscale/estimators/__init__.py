"""scikit-learn estimators: a network, a readout and the washout in one object; and what may stand before them."""

from echoscale.estimators.classifier import ESNClassifier
from echoscale.estimators.delay_expansion import DelayExpansion
from echoscale.estimators.nvar import NVAR
from echoscale.estimators.regressor import ESNRegressor
from echoscale.estimators.state_warnings import StateWarning
from echoscale.estimators.transformer import ESNFeatures

__all__ = ["NVAR", "DelayExpansion", "ESNClassifier", "ESNFeatures", "ESNRegressor", "StateWarning"]
