"""Hyper-parameters are tuned by the gradient of the held-out error through ridge regression."""
