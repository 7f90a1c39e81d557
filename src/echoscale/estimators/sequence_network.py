"""The network of `ESNFeatures` and `ESNClassifier`: several timescales side by side, unless told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from echoscale import network
from echoscale.estimators.base import ESNEstimator

# Set on half of the data sets of benchmarks/classification.py.
UNITS = (100, 100, 100, 100)
SLOWEST = 0.03
SPECTRAL_RADIUS, INPUT_SCALING, BIAS_SCALING = 0.95, 0.3, 0.5


class SequenceNetwork(ESNEstimator):
    """Flat parameters, of which leak rates and input scaling may be left open; see `ESNFeatures`."""

    leak_rate: float | Sequence[float] | None  # type: ignore[assignment]
    input_scaling: float | Sequence[float] | None  # type: ignore[assignment]

    def make_network(self) -> network.Network:
        """The network that the parameters describe.

        Returns
        -------
        Network
            Not built yet: `fit` draws its weights.
        """
        if self.network is not None:
            return super().make_network()
        settled = copy(self)
        if self.leak_rate is None:
            levels = len(self.units) if isinstance(self.units, Sequence | np.ndarray) else 1
            settled.leak_rate = tuple(float(f"{each:.3g}") for each in np.geomspace(1, SLOWEST, levels))
        if self.input_scaling is None:
            settled.input_scaling = INPUT_SCALING
        return ESNEstimator.make_network(settled)
