"""`ESNClassifier` as a classifier of aeon: collections (B, channels, time), or lists of (channels, time)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from aeon.classification.base import BaseClassifier  # type: ignore[import-not-found,unused-ignore]

from echoscale._internal.types import Array
from echoscale.estimators import ESNClassifier
from echoscale.readouts import Pools, Sigmoid, Softmax


class AeonClassifier(BaseClassifier):  # type: ignore[misc,unused-ignore]
    """Classifier of aeon: the class with the largest z = W f + b, with f the pooled states; see `echoscale.ESNClassifier`.

    Parameters
    ----------
    units : int or tuple of int
        Number of neurons of one reservoir, or of each parallel reservoir.
    pools : Pools or None
        Pools of the states, see `echoscale.readouts.Pools`.
    readout : None, Softmax or Sigmoid
        Method that fits W; None: ridge regression.
    options : dict or None
        Other parameters of `ESNClassifier`, by name.
    random_state : int or None
        Random seed of the weights. None: a new seed at every fit.

    Attributes
    ----------
    model_ : ESNClassifier
        The fitted classifier.
    """

    _tags: ClassVar[dict[str, Any]] = {
        "X_inner_type": "np-list",
        "capability:multivariate": True,
        "capability:unequal_length": True,
        "algorithm_type": "feature",
        "python_dependencies": ["jax"],
    }

    def __init__(
        self,
        units: int | Sequence[int] = (100, 100, 100, 100),
        pools: Pools | None = None,
        readout: Softmax | Sigmoid | None = None,
        options: dict[str, Any] | None = None,
        random_state: int | None = None,
    ) -> None:
        self.units = units
        self.pools = pools
        self.readout = readout
        self.options = options
        self.random_state = random_state
        super().__init__()

    def _fit(self, X: Sequence[Array], y: Array) -> AeonClassifier:
        shared = {name: getattr(self, name) for name in ("units", "pools", "readout", "random_state")}
        self.model_ = ESNClassifier(**{**shared, **(self.options or {})}).fit(_time_first(X), y)
        return self

    def _predict(self, X: Sequence[Array]) -> Array:
        return np.asarray(self.model_.predict(_time_first(X)))

    def _predict_proba(self, X: Sequence[Array]) -> Array:
        return np.asarray(self.model_.predict_proba(_time_first(X)))

    @classmethod
    def _get_test_params(cls, parameter_set: str = "default") -> dict[str, Any]:
        return {"units": (10, 10), "pools": Pools(("mean", "std"), ranks=False), "options": {"input_scaling": 0.3}}


def _time_first(X: Sequence[Array]) -> list[Array]:
    return [np.ascontiguousarray(np.asarray(each).T) for each in X]
