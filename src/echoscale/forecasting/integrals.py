"""Leaky integrals of the inputs: a slow memory that no window of lags holds.

    x_k(t) = (1 - a_k) x_k(t-1) + a_k s(t) / d_k,   1 = a_1 > a_2 > ... > a_K

d_k gives x_k a standard deviation of 1: one ridge penalty then suits all. Integrals are the states of a linear network without
recurrence. A model that reads them out runs, is saved and is exported as a model of any other network.
"""

from __future__ import annotations

import numpy as np

from echoscale._internal.types import Floats
from echoscale.data.series import Series
from echoscale.forecasting import lags
from echoscale.forecasting.problem import Problem
from echoscale.network import Network, Reservoir
from echoscale.network.description import LINEAR
from echoscale.readouts.columns import STATES, Columns
from echoscale.timescales.candidates import candidates

# Ratio of neighbouring leak rates: a smaller one resolves the memory better, and needs more columns. Set on 15 made systems
# with one to three inputs, two seeds each: 2 and 6 had larger errors.
RATIO = 3.0


class Integrals:
    """The integrals of a problem: their leak rates, the network that makes them, and the columns that are read out.

    Attributes
    ----------
    rates : (K,)
        Leak rates.
    esn : ESN
        The linear network whose states are the integrals, rate by rate, (K F,).
    columns : Columns
        All products of two integrals beside them, where there are few enough.
    """

    def __init__(self, problem: Problem, heard: Series) -> None:
        features = heard.features
        slowest = min(each.slow for each in candidates(int(heard.lengths.max())))
        count = min(1 + round(np.log(1 / slowest) / np.log(RATIO)), lags.most_columns(problem) // features)
        self.rates = np.geomspace(1.0, slowest, count) if count > 1 else np.ones(1)
        units = len(self.rates) * features
        spread = np.concatenate([self.filtered(np.asarray(values)) for values in heard.values]).std(axis=0)
        weights = np.tile(np.eye(features), (len(self.rates), 1)) / np.where(spread > 0, spread, 1.0)[:, None]
        reservoir = Reservoir(
            units,
            leak_rate=np.repeat(self.rates, features),
            spectral_radius=0.0,
            topology="delay_line",
            activation=LINEAR,
            input_weights=weights,
        )
        self.esn = Network([reservoir]).build(features, seed=0, dtype="float64")
        few = units * (units + 3) // 2 <= lags.most_products(problem)
        self.columns = Columns(0, squares=True, products=units * (units - 1) // 2) if few else STATES

    @property
    def several(self) -> bool:
        """Whether there are other integrals than the inputs themselves."""
        return len(self.rates) > 1

    @property
    def width(self) -> int:
        """Number of integrals and products, K F + P."""
        return self.columns.width_of_states(self.esn)

    def filtered(self, values: Floats) -> Floats:
        """The integrals of a series (T, F) that begins at zero, (T, K F), not standardised."""
        from scipy.signal import lfilter

        return np.concatenate([lfilter([rate], [1.0, rate - 1.0], values, axis=0) for rate in self.rates], axis=1)

    def of(self, values: Floats) -> Floats:
        """The columns of a series (T, F) that begins at zero, (T, K F + P), as the network makes them."""
        states = self.filtered(values) * self.esn.drawn.inputs[0].sum(axis=1)
        return np.asarray(self.columns.of_states(states, self.esn))
