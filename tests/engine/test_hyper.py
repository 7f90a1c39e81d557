"""Names of learned numbers: what they mean, how values get into them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import echoscale as es
from echoscale.engine.hyper import Hyper, Parameter, chosen, into_network, put

NETWORK = es.hierarchical([5, 6, 7], leak_rate=[0.9, 0.5, 0.2], coupling=[1.0, 0.5])
HYPER = Hyper.of(NETWORK)


def test_a_bare_name_means_the_leaf_of_every_reservoir_or_coupling() -> None:
    assert chosen("leak_rate", HYPER) == tuple(Parameter("leak_rate", k) for k in range(3))
    assert chosen("coupling", HYPER) == (Parameter("coupling", 0), Parameter("coupling", 1))
    assert chosen(["spectral_radius[1]", "bias_scaling[2]"], HYPER) == (
        Parameter("spectral_radius", 1),
        Parameter("bias_scaling", 2),
    )


def test_the_order_is_kept_and_nothing_comes_twice() -> None:
    found = chosen(["leak_rate[2]", "leak_rate", Parameter("leak_rate", 1)], HYPER)
    assert found == tuple(Parameter("leak_rate", k) for k in (2, 0, 1))
    assert chosen([Parameter("coupling", 1)], HYPER) == (Parameter("coupling", 1),)
    assert chosen(found, HYPER) == found


def test_a_name_printed_is_a_name_understood() -> None:
    every = chosen(HYPER._fields, HYPER)
    assert len(every) == 4 * 3 + 2
    assert chosen([str(each) for each in every], HYPER) == every
    assert [float(each.of(HYPER)) for each in chosen("leak_rate", HYPER)] == [0.9, 0.5, 0.2]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("leak", r"unknown parameter 'leak'. Did you mean leak_rate\? A network has leak_rate, spectral_radius"),
        ("leak_rate[-1]", "unknown parameter"),
        ("leak_rate[0", "unknown parameter"),
        ("leak_rate[3]", r"no leak_rate\[3\]: the network has 3 reservoirs, counted from 0"),
        ("coupling[2]", "the network has 2 couplings"),
        ([], "parameters is empty"),
        (["leak_rate", 3], "unknown parameter '3'"),
    ],
)
def test_other_names_are_refused(names: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        chosen(names, HYPER)


def test_put_changes_these_leaves_and_no_others() -> None:
    learned = chosen(["leak_rate[1]", "coupling[0]"], HYPER)
    changed = put(HYPER, learned, [np.array([0.3, 0.4]), -2.0])
    np.testing.assert_array_equal(changed.leak_rate[1], [0.3, 0.4])
    assert changed.coupling[0] == -2.0
    back = put(changed, learned, [each.of(HYPER) for each in learned])
    assert back == HYPER
    with pytest.raises(ValueError, match="zip"):
        put(HYPER, learned, [0.3])


def test_learned_numbers_go_back_into_the_description() -> None:
    learned = chosen(HYPER._fields, HYPER)
    values = [0.1 + 0.01 * k for k in range(len(learned))]
    described = into_network(NETWORK, learned, values)
    for parameter, value in zip(learned, values, strict=True):
        assert float(parameter.of(Hyper.of(described))) == value
    assert [each.units for each in described.reservoirs] == [5, 6, 7]
    assert into_network(NETWORK, learned, [float(each.of(HYPER)) for each in learned]) == NETWORK
    with pytest.raises(ValueError, match="leak_rate must lie in"):
        into_network(NETWORK, learned[:1], [1.5])
