"""scikit-learn estimators: a network, a readout and the washout in one object."""

from echoscale.estimators.classifier import ESNClassifier
from echoscale.estimators.regressor import ESNRegressor

__all__ = ["ESNClassifier", "ESNRegressor"]
