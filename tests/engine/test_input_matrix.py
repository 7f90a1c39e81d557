"""Input weights and biases: one's own, sparse ones, and one clear error for each that is wrong."""

from __future__ import annotations

from typing import Any

import naive
import numpy as np
import pytest
import scipy.sparse

import echoscale as es

W_IN = np.array([[1.0, 0.0], [-0.5, 2.0], [0.0, 0.25]])
BIAS = np.array([0.3, -0.2, 0.1])


def test_own_weights_are_used_as_they_are() -> None:
    network = es.single(3, input_weights=W_IN, bias=BIAS, bias_scaling=1.0, input_scaling=0.5)
    esn = network.build(2, seed=0, dtype="float64")
    m = esn.matrices()
    np.testing.assert_array_equal(m.W_in, 0.5 * W_IN)
    np.testing.assert_array_equal(m.bias, BIAS)
    u = np.random.default_rng(0).normal(size=(20, 2))
    np.testing.assert_allclose(esn.run(u), naive.states_of(esn, u), rtol=0, atol=1e-14)
    assert es.Network.from_dict(network.to_dict()) == network
    assert network == es.single(
        3, input_weights=scipy.sparse.csr_array(W_IN), bias=BIAS.tolist(), bias_scaling=1.0, input_scaling=0.5
    )
    assert hash(network)


def test_one_column_may_be_a_row_of_numbers() -> None:
    np.testing.assert_array_equal(es.single(3, input_weights=[1.0, 2.0, 3.0]).build(1).drawn.inputs[0], [[1.0], [2.0], [3.0]])


def test_so_many_inputs_a_neuron() -> None:
    drawn = es.single(200, input_connections=1).build(3, seed=0).drawn.inputs[0]
    assert ((drawn != 0).sum(axis=1) == 1).all()
    counts = (drawn != 0).sum(axis=0)
    assert counts.min() > 40, "every input is heard, about equally often"
    plain = es.single(200).build(3, seed=0).drawn.inputs[0]
    assert (drawn[drawn != 0] == plain[drawn != 0]).all(), "weights that stay are those without zeros"


def test_a_share_of_the_neurons_hears_each_input() -> None:
    drawn = es.single(200, input_connections=0.1).build(3, seed=0).drawn.inputs[0]
    assert ((drawn != 0).sum(axis=0) == 20).all()
    fewer = es.single(200, input_connections=0.1).build(2, seed=0).drawn.inputs[0]
    assert (fewer == drawn[:, :2]).all(), "one more input leaves the others as they were"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"input_weights": W_IN[:2]}, r"shape \(units, inputs\) = \(3, inputs\), got \(2, 2\)"),
        ({"input_weights": [[1.0, np.nan]] * 3}, "input_weights must be finite, found nan"),
        ({"bias": [0.1, 0.2], "bias_scaling": 1.0}, r"bias must have shape \(units,\) = \(3,\), got \(2,\)"),
        ({"bias": [0.1, np.nan, 0.0], "bias_scaling": 1.0}, "bias must be finite, found nan for neuron 1"),
        ({"bias": BIAS}, "bias_scaling, the factor on it, is 0"),
        ({"input_connections": 0}, "input_connections must be at least 1"),
        ({"input_connections": 1.5}, "must be a whole number .* or a share"),
        ({"input_connections": 1, "input_weights": W_IN}, "is for drawn weights, but input_weights are given"),
    ],
)
def test_bad_input_is_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        es.single(3, **options)


def test_what_only_the_inputs_tell_is_named_when_built() -> None:
    with pytest.raises(
        ValueError, match="the input_weights of reservoir 0 have 2 columns, but the network is built for n_inputs=1"
    ):
        es.single(3, input_weights=W_IN).build(1)
    with pytest.raises(ValueError, match="input_connections=3 of reservoir 0 is above the 2 inputs"):
        es.single(3, input_connections=3).build(2)
