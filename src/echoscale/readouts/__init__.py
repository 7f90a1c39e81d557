"""Readouts: ridge regression from sufficient statistics, recursive least squares, classes by minibatches.

`es.ridge`, `es.ridge_path`, `es.statistics` and `es.RLS` are the names that users know; `es.readouts.logistic` is for classes.
"""

from echoscale.readouts import logistic

__all__ = ["logistic"]
