"""Estimators with a network: the parameters that describe it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from echoscale._internal.transaction import all_or_nothing
from echoscale.engine.esn import ESN
from echoscale.estimators._validation import RandomState, seed_of
from echoscale.network import Network, parallel
from echoscale.timescales.candidates import Candidate

# Defaults for open leak rates and input scaling. Set on half of the data sets of benchmarks/classification.py.
SLOWEST = 0.03
USUAL = Candidate(slow=SLOWEST, fast=1.0, input_scaling=0.3)
BIAS_SCALING = 0.5
SEARCHED = ("units", "leak_rate", "spectral_radius", "input_scaling")


class ESNEstimator(BaseEstimator):
    """An estimator with a network: four parameters that are often tuned, or any network."""

    n_features_in_: int
    esn_: ESN
    units: int | Sequence[int]
    leak_rate: float | Sequence[float] | None
    spectral_radius: float | Sequence[float]
    input_scaling: float | Sequence[float] | None
    network: Network | None
    dtype: str
    device: Any
    random_state: RandomState

    @all_or_nothing
    def set_params(self, **parameters: Any) -> ESNEstimator:
        """Sets parameters by name; if one name is unknown, nothing is set.

        Parameters
        ----------
        **parameters
            Parameters of the constructor.

        Returns
        -------
        ESNEstimator
            The estimator itself.
        """
        super().set_params(**parameters)
        return self

    def make_network(self) -> Network:
        """Returns the description of the network that the parameters define.

        Returns
        -------
        Network
            Description without weights; `fit` draws the weights.
        """
        if self.network is None:
            return self._described(self._sizes())
        if not isinstance(self.network, Network):
            raise TypeError(f"network must be an echoscale Network, got {self.network!r}.")
        usual = type(self)()
        changed = [name for name in SEARCHED if not _same(getattr(self, name), getattr(usual, name))]
        if changed:
            raise ValueError(
                f"network= is given, so {', '.join(changed)} would be ignored: set them in the network, or leave network out."
            )
        return self.network

    def _sizes(self) -> list[int]:
        """The number of neurons of every reservoir."""
        return list(self.units) if isinstance(self.units, Sequence | np.ndarray) else [self.units]

    def _candidate(self) -> Candidate:
        """The leak rates and the input scaling that the last fit chose, or the default ones."""
        found = getattr(self, "candidates_", None)
        return USUAL if found is None else found.chosen

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # scikit-learn's name
        text, found = super().__repr__(N_CHAR_MAX), getattr(self, "candidates_", None)
        return text if found is None else f"{text}\n{found.reason}"

    def _described(self, sizes: list[int], candidate: Candidate | None = None) -> Network:
        """Parallel reservoirs of these sizes; a candidate gives the values that are left open."""
        usual = candidate or self._candidate()
        return parallel(
            sizes,
            leak_rate=usual.leak_rate(sizes) if self.leak_rate is None else self.leak_rate,
            spectral_radius=self.spectral_radius,
            input_scaling=usual.input_scaling if self.input_scaling is None else self.input_scaling,
            bias_scaling=BIAS_SCALING,
        )

    def _build(self, n_inputs: int, n_outputs: int | None = None, seed: int | None = None) -> ESN:
        """The network with its weights; without n_outputs it has no output feedback."""
        network = self.make_network()
        if network.feeds_back and n_outputs is None:
            raise ValueError(f"this network has output feedback, which is for ESNRegressor and not for {type(self).__name__}.")
        drawn = seed_of(self.random_state) if seed is None else seed
        return network.build(n_inputs, drawn, self.dtype, self.device, n_outputs=n_outputs)


def _same(value: object, default: object) -> bool:
    return np.array_equal(np.asarray(value, object), np.asarray(default, object))
