"""Intrinsic plasticity: the rule as a loop over neurons, and the outputs against their target."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kstest, truncnorm

import echoscale as es
from echoscale.learning import intrinsic_plasticity

U = np.random.default_rng(0).uniform(-1, 1, (1500, 1))


def test_the_rule_is_that_of_a_loop() -> None:
    """Two levels, neuron by neuron; then the weights hold the gains and biases."""
    net = es.hierarchical([4, 3], leak_rate=[1.0, 0.5], bias_scaling=0.3)
    esn = net.build(1, seed=0, dtype="float64")
    m, mu, sigma, rate = esn.matrices(), 0.1, 0.3, 0.01
    W, x, a, b = np.asarray(m.W.toarray()), np.zeros(7), np.ones(7), np.zeros(7)
    for s in [*U[:60], *U[:60]]:
        h = W @ x + m.W_in @ s + m.bias
        for i in range(7):
            y = math.tanh(a[i] * h[i] + b[i])
            x[i] = (1 - m.leak_rate[i]) * x[i] + m.leak_rate[i] * y
            db = -rate * (-mu / sigma**2 + y / sigma**2 * (2 * sigma**2 + 1 - y**2 + mu * y))
            a[i], b[i] = a[i] + rate / a[i] + db * h[i], b[i] + db
    found = intrinsic_plasticity(esn, U[:60], mean=mu, spread=sigma, rate=rate, epochs=2).matrices()
    np.testing.assert_allclose(found.W.toarray(), a[:, None] * W, atol=1e-12)
    np.testing.assert_allclose(found.W_in, a[:, None] * m.W_in, atol=1e-12)
    np.testing.assert_allclose(found.bias, a * m.bias + b, atol=1e-12)


@pytest.mark.parametrize(("scaling", "radius"), [(3.0, 0.95), (0.1, 0.1)])
def test_outputs_come_near_their_gaussian(scaling: float, radius: float, tmp_path: Path) -> None:
    """From saturated and from silent neurons; the median over neurons of the Kolmogorov-Smirnov distance.

    The silent ones hear little of each other: else larger gains would wake dynamics of their own.
    """
    esn = es.single(40, input_scaling=scaling, spectral_radius=radius).build(1, seed=1)
    sigma = 0.3
    target = truncnorm(-1 / sigma, 1 / sigma, scale=sigma).cdf

    def distance(of: es.ESN) -> float:
        return float(np.median([kstest(each, target).statistic for each in of.run(U)[100:].T]))

    found = intrinsic_plasticity(esn, U, spread=sigma, rate=2e-3, epochs=20)
    assert distance(esn) > 0.25
    assert distance(found) < 0.1
    again = es.load(es.save(found, tmp_path / "network.safetensors"))
    np.testing.assert_array_equal(again.run(U[:50]), found.run(U[:50]))


def test_what_is_refused() -> None:
    esn = es.single(5).build(1, seed=0)
    with pytest.raises(ValueError, match=r"mean must lie in \(-1, 1\)"):
        intrinsic_plasticity(esn, U, mean=1.5)
    with pytest.raises(ValueError, match="2 series"):
        intrinsic_plasticity(esn, np.zeros((2, 50, 1)))
    with pytest.raises(ValueError, match="smaller rate"):
        intrinsic_plasticity(esn, U, rate=5.0, spread=0.01)
