"""Readouts: ridge regression from sufficient statistics, recursive least squares, and classifiers trained by minibatches.

`es.ridge`, `es.ridge_path`, `es.statistics` and `es.RLS` are used most. `Columns` and `Pools` set the features that the readout
of an estimator sees; `Softmax` and `Sigmoid` are readouts of a classifier. `es.readouts.logistic` trains readouts of classes,
and `es.readouts.features` computes snapshots of many sequences. A new readout is a file here and one line below.
"""

from echoscale.readouts import features as features
from echoscale.readouts import logistic as logistic
from echoscale.readouts.classes import Sigmoid as Sigmoid
from echoscale.readouts.classes import Softmax as Softmax
from echoscale.readouts.columns import Columns as Columns
from echoscale.readouts.pooling import Pools as Pools

# All names imported above.
__all__ = sorted(name for name, value in dict(globals()).items() if callable(value) or name in ("features", "logistic"))
