"""Leak rates of every neuron as a description keeps them: values, quantiles, and one clear error for each that is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

import echoscale as es

RATES = np.array([0.5, 0.05, 0.2, 0.5])


def rates(leak_rate: Any, units: int = 41) -> Any:
    return es.single(units, leak_rate=leak_rate).build(1, seed=2).matrices().leak_rate


def test_log_uniform_has_equal_ratios_from_low_to_high() -> None:
    found = np.sort(rates(es.LogUniform(0.02, 0.8)))
    np.testing.assert_allclose(found, np.geomspace(0.02, 0.8, 41), rtol=1e-12)


def test_log_normal_has_normal_quantiles() -> None:
    found = np.sort(rates(es.LogNormal(0.1, 0.6)))
    expected = scipy.stats.lognorm(0.6, scale=0.1).ppf((np.arange(41) + 0.5) / 41)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_own_rates_stay_in_their_order() -> None:
    np.testing.assert_allclose(rates(RATES, 4), RATES, rtol=1e-14)


def test_the_order_is_seeded_and_mixed() -> None:
    network = es.single(50, leak_rate=es.LogUniform(0.1, 1.0))
    one, same, other = (network.build(1, seed=seed).matrices().leak_rate for seed in (0, 0, 1))
    assert (one == same).all()
    assert (one != other).any()
    assert np.abs(np.corrcoef(one, np.arange(50))[0, 1]) < 0.5
    # Nothing else was drawn otherwise than without a spread.
    plain = es.single(50).build(1, seed=0)
    assert (network.build(1, seed=0).drawn.inputs[0] == plain.drawn.inputs[0]).all()


def test_equal_rates_are_a_plain_network() -> None:
    network = es.single(3, leak_rate=[0.3, 0.3, 0.3])
    assert network == es.single(3, leak_rate=0.3)
    assert not network.spreads_leaks
    assert network.build(1).hyper.leak_spread == ()


@pytest.mark.parametrize("leak_rate", [es.LogUniform(0.1, 1.0), es.LogNormal(0.1, 0.3), RATES])
def test_dictionaries_bring_it_back(leak_rate: Any) -> None:
    network = es.single(4, leak_rate=leak_rate)
    assert es.Network.from_dict(network.to_dict()) == network
    assert hash(network) == hash(es.Network.from_dict(network.to_dict()))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: es.LogUniform(0.0, 1.0), r"low must lie in \(0, 1\], got 0.0"),
        (lambda: es.LogUniform(0.1, 1.5), r"high must lie in \(0, 1\], got 1.5"),
        (lambda: es.LogUniform(0.5, 0.1), "needs low <= high, got 0.5 and 0.1"),
        (lambda: es.LogNormal(0.1, -1.0), "sigma must not be negative"),
        (
            lambda: es.single(100, leak_rate=es.LogNormal(0.5, 1.0)),
            r"a leak rate of 6.571, outside \(0, 1\]: take sigma of 0.2691",
        ),
        (lambda: es.single(1, leak_rate=es.LogUniform(0.1, 1.0)), "spreads leak rates over neurons, but the reservoir has 1"),
        (lambda: es.Reservoir(1, leak_spread=1.0), "spreads leak rates over neurons, but the reservoir has 1"),
        (lambda: es.single(3, leak_rate=[0.1, 0.2]), r"leak_rate must have shape .*3.*, got .*2.*Or give one number"),
        (lambda: es.single(2, leak_rate=[0.1, 1.2]), "got 1.2 for neuron 1"),
        (lambda: es.single(2, leak_rate=[0.1, np.nan]), "found nan for neuron 1"),
        (lambda: es.Reservoir(5, leak_spread=-1.0), "leak_spread must not be negative"),
        (lambda: es.Reservoir(5, leak_spread=50.0), "leak_spread must be at most 40"),
        (lambda: es.Reservoir(5, leak_spread=1.0, leak_places="odd"), "leak_places must be one of 'even', 'normal'; got 'odd'"),
        (lambda: es.Reservoir(2, leak_spread=1.0, leak_places=(0.0, 2.0)), r"leak_places must lie in \[0, 1\]"),
        (lambda: es.Reservoir(5, leak_rate=es.LogUniform(0.1, 1.0), leak_spread=1.0), "leave leak_spread=1.0 out"),
        (lambda: es.single(5).build(1).hyper.replace(leak_spread=1.0), "the network has no spread of leak rates"),
    ],
)
def test_bad_input_is_named(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()
