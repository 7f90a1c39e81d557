"""Tuning of hyper-parameters by the gradient of the held-out error through ridge regression."""
