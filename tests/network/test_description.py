"""Descriptions of networks: values, defaults, equality, round trips, and errors that name the value and the remedy."""

from __future__ import annotations

import json
import warnings
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import echoscale
from echoscale import Concentric, Coupling, EchoStateWarning, Network, Reservoir, hierarchical, parallel, single
from echoscale.engine import Matrix

OWN: Any = np.array([[0.0, 0.1, 0.0], [1 / 3, 0.0, -2.0], [0.0, 1e-7, 0.0]])

TOPOLOGIES: dict[str, Any] = {
    "normal": "normal",
    "uniform": "uniform",
    "delay line": "delay_line",
    "ring": "ring",
    "concentric": "concentric",
    "three rings": Concentric(3, jump=-0.25),
    "own dense": OWN,
    "own sparse": scipy.sparse.csr_array(OWN),
}


def networks() -> dict[str, Network]:
    """Every kind of topology and coupling; made anew at each call, so that equality is never identity."""
    made = {f"topology {name}": single(3, leak_rate=0.3, topology=topology) for name, topology in TOPOLOGIES.items()}
    made["not normalised"] = Network((Reservoir(3, topology=OWN, normalise=False),))
    made["all zero"] = Network((Reservoir(3, topology=0 * OWN, normalise=False),))
    made["hierarchical"] = hierarchical(
        [40, 30, 20],
        leak_rate=[1, 1 / 3, 0.1],
        bias_scaling=[0, 0.5, 0],
        coupling=[0.5, -2],
        connections=[5, None, 20],
        coupling_connections=[3, None],
        coupling_normalisation=["sqrt_connections", "none"],
        coupling_delay=0,
    )
    made["square coupling"] = hierarchical([5, 5], coupling_normalisation="spectral_radius", topology=["ring", "uniform"])
    made["parallel"] = parallel([4, 6], input_scaling=[0.1, 0.2], spectral_radius=[0, 0.5])
    thirds: Any = np.ones((3, 4)) / 3
    made["cyclic"] = Network(
        (Reservoir(3), Reservoir(2), Reservoir(4)),
        (Coupling(0, 1, topology="uniform"), Coupling(1, 2, strength=0), Coupling(2, 0, topology=thirds)),
    )
    return made


NETWORKS = networks()
every_network = pytest.mark.parametrize("name", NETWORKS)


# Values


@every_network
def test_a_network_comes_back_from_json(name: str) -> None:
    plain = json.loads(json.dumps(NETWORKS[name].to_dict()))
    assert Network.from_dict(plain) == NETWORKS[name]
    assert plain == NETWORKS[name].to_dict()


@every_network
def test_networks_are_equal_and_hash_by_value(name: str) -> None:
    twin = networks()[name]
    assert twin is not NETWORKS[name]
    assert twin == NETWORKS[name]
    assert hash(twin) == hash(NETWORKS[name])
    assert {twin: 1}[NETWORKS[name]] == 1


def test_different_networks_are_different() -> None:
    """Dense and sparse forms of one matrix are the same network; every other pair differs."""
    different = [network for name, network in NETWORKS.items() if name != "topology own sparse"]
    assert NETWORKS["topology own sparse"] == NETWORKS["topology own dense"]
    assert len(set(different)) == len(different)
    assert all(a != b for i, a in enumerate(different) for b in different[:i])


@pytest.mark.parametrize("name", [name for name, network in NETWORKS.items() if "Matrix" not in repr(network)])
def test_a_repr_evaluates_to_the_network(name: str) -> None:
    names = {each: getattr(echoscale, each) for each in ("Network", "Reservoir", "Coupling", "Concentric")}
    assert eval(repr(NETWORKS[name]), names) == NETWORKS[name]


def test_a_repr_shows_the_size_of_a_matrix_and_hides_defaults() -> None:
    assert "Matrix(3x3, 4 weights)" in repr(NETWORKS["topology own dense"])
    assert repr(Reservoir(9)) == "Reservoir(units=9, leak_rate=1.0, spectral_radius=0.95, input_scaling=1.0)"
    assert repr(Coupling(0, 1, connections=3)) == "Coupling(source=0, target=1, strength=1.0, connections=3)"


def test_descriptions_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Reservoir(3).leak_rate = 0.5  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        single(3).coupling_delay = 0  # type: ignore[misc]


def test_an_own_matrix_is_copied() -> None:
    changing = OWN.copy()
    reservoir = Reservoir(3, topology=changing)
    changing[0, 0] = 99
    assert reservoir == Reservoir(3, topology=OWN)


def test_numpy_numbers_become_plain_ones() -> None:
    reservoir = Reservoir(np.int64(4), leak_rate=np.float32(0.5), connections=np.int16(2))  # type: ignore[arg-type]
    assert reservoir == Reservoir(4, leak_rate=0.5, connections=2)
    assert [type(value) for value in (reservoir.units, reservoir.leak_rate, reservoir.connections)] == [int, float, int]


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_array, scipy.sparse.csc_matrix])
def test_a_matrix_keeps_its_values(make: Any) -> None:
    matrix = Matrix.of(make(OWN))
    np.testing.assert_array_equal(matrix.sparse().toarray(), OWN)
    assert matrix == Matrix.of(OWN.tolist())
    assert matrix.values == (0.1, 1 / 3, -2.0, 1e-7)


def test_duplicate_entries_of_a_sparse_matrix_add_up_and_explicit_zeros_go() -> None:
    twice = scipy.sparse.coo_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert Matrix.of(twice) == Matrix.of([[0, 3], [0, 0]])


# Builders


def test_scalars_hold_for_all_levels_and_lists_for_each() -> None:
    scalar = parallel([4, 6], leak_rate=0.5, spectral_radius=0.9, bias_scaling=0.1, connections=2, topology="uniform")
    listed = parallel(
        [4, 6],
        leak_rate=[0.5, 0.5],
        spectral_radius=(0.9, 0.9),
        bias_scaling=np.array([0.1, 0.1]),
        connections=[2, 2],
        topology=["uniform", "uniform"],
    )
    assert scalar == listed
    expected = {"spectral_radius": 0.9, "bias_scaling": 0.1, "connections": 2, "topology": "uniform"}
    assert scalar == Network([Reservoir(4, leak_rate=0.5, **expected), Reservoir(6, leak_rate=0.5, **expected)])  # type: ignore[arg-type]


def test_a_scalar_input_scaling_is_the_first_levels_in_a_hierarchy_and_everyones_in_parallel() -> None:
    assert [each.input_scaling for each in hierarchical([4, 4, 4], input_scaling=0.3).reservoirs] == [0.3, 0, 0]
    assert [each.input_scaling for each in hierarchical([4, 4, 4]).reservoirs] == [1, 0, 0]
    assert [each.input_scaling for each in hierarchical([4, 4], input_scaling=[0.3, 0.2]).reservoirs] == [0.3, 0.2]
    assert [each.input_scaling for each in parallel([4, 4, 4], input_scaling=0.3).reservoirs] == [0.3] * 3


def test_inputs_of_a_hierarchy_reach_the_first_level_or_all() -> None:
    def scalings(**given: Any) -> list[float]:
        network = hierarchical([4, 5, 6], **given)
        assert Network.from_dict(network.to_dict()) == network
        return [each.input_scaling for each in network.reservoirs]

    assert scalings(inputs="first") == [1, 0, 0]
    assert scalings(inputs="first", input_scaling=0.3) == [0.3, 0, 0]
    assert scalings(inputs="all") == [1, 1, 1]
    assert scalings(inputs="all", input_scaling=0.3) == [0.3, 0.3, 0.3]
    assert scalings(inputs="all", input_scaling=[0.3, 0.2, 0.1]) == [0.3, 0.2, 0.1]
    assert scalings(inputs="first", input_scaling=[0.3, 0, 0]) == [0.3, 0, 0]
    assert scalings(input_scaling=[0, 0.2, 0]) == [0, 0.2, 0]
    assert scalings(inputs="all", feedback_scaling=0.5) == [1, 1, 1]
    fed = hierarchical([4, 5], inputs="all", feedback_scaling=0.5)
    assert [each.feedback_scaling for each in fed.reservoirs] == [0.5, 0]


def test_inputs_that_contradict_the_scalings() -> None:
    raises(
        ValueError,
        r'inputs="all" contradicts input_scaling=\[0.3, 0.0\], in which level 1 .* has 0: give one number for all levels',
        lambda: hierarchical([4, 5], inputs="all", input_scaling=[0.3, 0.0]),
    )
    raises(
        ValueError,
        r'inputs="first" contradicts input_scaling=\[0.3, 0.2\], in which level 1 .* receives the input too: give one number',
        lambda: hierarchical([4, 5], inputs="first", input_scaling=[0.3, 0.2]),
    )
    raises(ValueError, "inputs must be .*first.*all.*'last'", lambda: hierarchical([4, 5], inputs="last"))


@pytest.mark.parametrize("reservoirs", [Reservoir(4), [Reservoir(4)], iter([Reservoir(4)])], ids=["one", "list", "iterator"])
def test_members_may_come_in_any_form(reservoirs: Any) -> None:
    assert Network(reservoirs) == Network((Reservoir(4),))


def test_a_hierarchy_is_a_chain() -> None:
    network = hierarchical([4, 5, 6], coupling=[0.5, 2], coupling_connections=[1, 2], coupling_delay=0)
    assert network.couplings == (Coupling(0, 1, strength=0.5, connections=1), Coupling(1, 2, strength=2, connections=2))
    assert network.coupling_delay == 0
    assert parallel([4, 5]).couplings == ()
    assert hierarchical([4]) == single(4) == parallel([4])


def test_defaults() -> None:
    reservoir = Reservoir(50)
    numbers = [reservoir.leak_rate, reservoir.spectral_radius, reservoir.input_scaling, reservoir.bias_scaling]
    assert numbers == [1.0, 0.95, 1.0, 0.0]
    assert single(50).coupling_delay == 1
    assert Coupling(0, 1).strength == 1
    assert single(50).reservoirs == (reservoir,)


@pytest.mark.parametrize(("units", "links"), [(1, 1), (9, 9), (10, 10), (11, 10), (500, 10)])
def test_ten_connections_or_all_where_there_are_fewer(units: int, links: int) -> None:
    assert Reservoir(units).links == links
    assert Coupling(0, 1).links(units) == links
    assert Reservoir(units, connections=1).links == Coupling(0, 1, connections=1).links(units) == 1


def test_slices_cut_the_state_vector() -> None:
    network = parallel([4, 1, 6])
    assert network.units == 11
    state = np.arange(11)
    assert [state[part].tolist() for part in network.slices] == [[0, 1, 2, 3], [4], [5, 6, 7, 8, 9, 10]]


def test_the_edges_of_the_ranges_are_allowed() -> None:
    reservoir = Reservoir(1, leak_rate=1, spectral_radius=0, input_scaling=0, bias_scaling=0, connections=1)
    assert Reservoir(1, leak_rate=1e-12).leak_rate == 1e-12
    assert reservoir.leak_rate == 1
    assert Coupling(0, 1, strength=-3).strength == -3


# Warnings


def caught(action: str, *radii: Any) -> list[warnings.WarningMessage]:
    """The warnings of one network for each given radius, under the named filter."""
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter(action)  # type: ignore[arg-type]
        for value in radii:
            hierarchical([3, 3], spectral_radius=value).build(1)
    return list(messages)


@pytest.mark.parametrize(("radius", "named"), [(1.0, "1 .reservoir 0., 1 .reservoir 1."), ([0.5, 1.25], r"1.25 .reservoir 1.")])
def test_a_radius_of_1_or_above_warns_once_per_network(radius: Any, named: str) -> None:
    [message] = caught("always", radius)
    assert message.category is EchoStateWarning
    with pytest.warns(EchoStateWarning, match=f"spectral radius {named} is 1 or above: .* not forget"):
        hierarchical([3, 3], spectral_radius=radius)


def test_the_default_filter_shows_the_same_warning_once() -> None:
    assert len(caught("default", 1.2, 1.2, 1.2)) == 1
    assert len(caught("default", 1.2, 1.3, 1.2)) == 2
    assert len(caught("always", 1.2, 1.2, 1.2)) == 3


def test_nested_lists_are_a_matrix_in_the_short_way_in_too() -> None:
    matrix = [[0, 3], [2, 1]]
    assert single(2, topology=matrix) == Network([Reservoir(2, topology=np.array(matrix))])


def test_below_1_nothing_is_warned_of() -> None:
    assert caught("always", 0.999) == []


# Errors


def raises(kind: Any, message: str, make: Any) -> None:
    with pytest.raises(kind, match=message):
        make()


@pytest.mark.parametrize("make", [lambda x: Reservoir(5, leak_rate=x), lambda x: hierarchical([5, 5], leak_rate=[1, x])])
@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (0, ValueError, r"leak_rate must lie in \(0, 1\], got 0\.0\. 1 forgets at once"),
        (-0.1, ValueError, r"leak_rate must lie in \(0, 1\], got -0\.1\."),
        (1.5, ValueError, r"leak_rate must lie in \(0, 1\], got 1\.5\."),
        (float("nan"), ValueError, r"leak_rate must be finite, got nan"),
        (float("inf"), ValueError, r"leak_rate must be finite, got inf"),
        ("0.5", TypeError, r"leak_rate must be a number, got '0\.5' of type str"),
        (None, TypeError, r"leak_rate must be a number, got None"),
        (True, TypeError, r"leak_rate must be a number, got True of type bool"),
        (0.5j, TypeError, r"leak_rate must be a number, got 0\.5j"),
    ],
)
def test_bad_leak_rates(make: Any, value: Any, kind: type[Exception], message: str) -> None:
    raises(kind, message, lambda: make(value))


@pytest.mark.parametrize("name", ["spectral_radius", "input_scaling", "bias_scaling"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-0.5, r"must not be negative, got -0\.5\. .*random weights"),
        (float("nan"), "must be finite, got nan"),
    ],
)
def test_bad_factors(name: str, value: float, message: str) -> None:
    raises(ValueError, f"{name} {message}", lambda: Reservoir(5, **{name: value}))  # type: ignore[arg-type]
    raises(ValueError, f"{name} {message}", lambda: parallel([5, 5], **{name: [0.5, value]}))


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (0, ValueError, "units must be at least 1, got 0"),
        (-3, ValueError, "units must be at least 1, got -3"),
        (2.0, TypeError, "units must be a whole number, got 2.0 of type float"),
        ("9", TypeError, "units must be a whole number, got '9'"),
    ],
)
def test_bad_sizes(value: Any, kind: type[Exception], message: str) -> None:
    for make in (Reservoir, single, lambda x: hierarchical([4, x])):
        raises(kind, message, lambda make=make: make(value))


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda: hierarchical([4, 4], leak_rate=[0.5]),
            ValueError,
            r"leak_rate has 1 entries for 2 levels: give one number .*2",
        ),
        (lambda: parallel([4, 4], input_scaling=[1, 2, 3]), ValueError, r"input_scaling has 3 entries for 2 levels"),
        (lambda: hierarchical([4, 4], coupling=[1, 2]), ValueError, r"coupling has 2 entries for 1 links: give one number .*1"),
        (lambda: hierarchical([4, 4], coupling_connections=[]), ValueError, r"coupling_connections has 0 entries for 1 links"),
        (lambda: hierarchical([4, 4, 4], topology=["ring"]), ValueError, r"topology has 1 entries for 3 levels"),
        (lambda: hierarchical(4), TypeError, r"units must be a list .*got 4; for one reservoir use single\(\)"),  # type: ignore[arg-type]
        (lambda: parallel([]), ValueError, r"units must name at least one level, got an empty list"),
    ],
)
def test_lists_of_the_wrong_length(make: Any, kind: type[Exception], message: str) -> None:
    raises(kind, message, make)


@pytest.mark.parametrize(
    "make", [single, lambda units, **given: parallel([units], **given), lambda units, **given: hierarchical([units], **given)]
)
def test_every_field_of_a_reservoir_is_an_option(make: Any) -> None:
    values: dict[str, Any] = {
        "leak_rate": 0.4,
        "spectral_radius": 0.7,
        "input_scaling": 0.3,
        "bias_scaling": 0.2,
        "connections": 2,
        "topology": "uniform",
        "normalise": False,
        "feedback_scaling": 0.1,
        "leak_spread": 1.5,
        "leak_places": "normal",
        "residual": "shift",
        "activation": "identity",
        "input_connections": 1,
    }
    assert make(4, **values) == Network([Reservoir(4, **values)])
    with pytest.raises(TypeError, match=r"no option 'leakrate'. Did you mean leak_rate\? It has leak_rate, spectral_radius"):
        make(4, leakrate=0.5)
    with pytest.raises(TypeError, match=r"no option 'colour'. It has leak_rate"):
        make(4, colour="red")


TWO = (Reservoir(4), Reservoir(5))
FIVE_BY_FOUR: Any = np.ones((5, 4))


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda: Network(TWO, (Coupling(0, 2),)),
            ValueError,
            r"names reservoir 2 as its target, but the reservoirs are 0 to 1",
        ),
        (
            lambda: Network(TWO, (Coupling(7, 0),)),
            ValueError,
            r"names reservoir 7 as its source, but the reservoirs are 0 to 1",
        ),
        (lambda: Coupling(-1, 0), ValueError, r"source must be at least 0, got -1"),
        (lambda: Coupling(0, 1.0), TypeError, r"target must be a whole number, got 1\.0"),  # type: ignore[arg-type]
        (lambda: Coupling(1, 1), ValueError, r"joins two reservoirs, got source = target = 1\. .*topology and spectral_radius"),
        (
            lambda: Network(
                TWO,
                (
                    Coupling(0, 1),
                    Coupling(0, 1),
                ),
            ),
            ValueError,
            r"two couplings go from reservoir 0 to 1; merge",
        ),
        (lambda: Coupling(0, 1, strength=float("inf")), ValueError, r"strength must be finite, got inf"),
        (lambda: Coupling(0, 1, topology="ring"), ValueError, r"of a coupling must be one of 'normal', 'uniform'; got 'ring'"),
        (lambda: Coupling(0, 1, connections=0), ValueError, r"connections must be at least 1, got 0"),
        (
            lambda: Network(TWO, (Coupling(0, 1, connections=5),)),
            ValueError,
            r"connections=5 of the coupling 0 -> 1 is above the 4 units of its source; use at most 4",
        ),
        (
            lambda: Network(TWO, (Coupling(0, 1, topology=FIVE_BY_FOUR.T),)),
            ValueError,
            r"coupling 0 -> 1 must have shape \(target units, source units\) = \(5, 4\), got \(4, 5\)",
        ),
        (
            lambda: Network(TWO, (Coupling(0, 1, normalisation="spectral_radius"),)),
            ValueError,
            r'coupling 0 -> 1 is 5x4: only a square matrix.*Use normalisation="sqrt_connections" or "none"',
        ),
        (
            lambda: Coupling(0, 1, normalisation="unit"),
            ValueError,
            r"normalisation must be one of 'none', 'spectral_radius', 'sqrt_connections'; got 'unit'",
        ),
        (
            lambda: Coupling(0, 1, topology=FIVE_BY_FOUR, normalisation="sqrt_connections"),
            ValueError,
            r"sqrt_connections.* is for random matrices; scale your own",
        ),
    ],
)
def test_bad_couplings(make: Any, kind: type[Exception], message: str) -> None:
    raises(kind, message, make)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: Reservoir(5, connections=6), ValueError, r"connections=6 is above the size, 5 units; use at most 5"),
        (lambda: Reservoir(5, connections=0), ValueError, r"connections must be at least 1, got 0"),
        (lambda: Reservoir(5, connections=2.5), TypeError, r"connections must be a whole number, got 2\.5"),  # type: ignore[arg-type]
        (
            lambda: Reservoir(5, connections=2, topology="ring"),
            ValueError,
            r"connections=2 is for random.*'ring'.*Leave it out",
        ),
        (lambda: Reservoir(5, topology="star"), ValueError, r"topology must be one of 'normal'.*'diagonal'; got 'star'"),
        (lambda: Reservoir(2, topology=Concentric(3)), ValueError, r"rings=3 is above the 2 units; use at most 2"),
        (lambda: Concentric(0), ValueError, r"rings must be at least 1, got 0"),
        (lambda: Concentric(jump=float("nan")), ValueError, r"jump must be finite, got nan"),
        (lambda: Reservoir(5, topology=OWN), ValueError, r"shape \(units, units\) = \(5, 5\), got \(3, 3\)"),
        (lambda: Reservoir(3, topology=OWN[0]), ValueError, r"topology must have two axes \(post, pre\), got shape \(3,\)"),
        (lambda: Reservoir(3, topology=OWN * 1j), TypeError, r"topology must hold real numbers, got dtype complex128"),
        (
            lambda: Reservoir(3, topology=OWN.astype(str)),
            TypeError,
            r"topology must hold real numbers, got dtype <U",
        ),
        (lambda: Reservoir(3, topology=np.nan * OWN), ValueError, r"be finite, found nan at \[0, 0\]"),
        (lambda: Reservoir(3, normalise=1), TypeError, r"normalise must be True or False, got 1"),  # type: ignore[arg-type]
        (lambda: Network(()), ValueError, r"at least one reservoir; `reservoirs` is empty"),
        (lambda: Network([5]), TypeError, r"reservoirs must be a list of Reservoir objects, got \[5\]"),  # type: ignore[list-item]
        (lambda: Network(TWO, [(0, 1)]), TypeError, r"couplings must be a list of Coupling objects, got \[\(0, 1\)\]"),  # type: ignore[list-item]
        (lambda: Network(TWO, coupling_delay=2), ValueError, r"coupling_delay must be one of 0, 1; got 2"),
    ],
)
def test_bad_reservoirs_and_networks(make: Any, kind: type[Exception], message: str) -> None:
    raises(kind, message, make)


def plain(**changes: Any) -> dict[str, Any]:
    return {**json.loads(json.dumps(NETWORKS["square coupling"].to_dict())), **changes}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (plain(reservoir=[]), r"Network has no 'reservoir'; it knows reservoirs, couplings, coupling_delay"),
        (plain(reservoirs=[{"units": 3, "leak": 1}], couplings=[]), r"Reservoir has no 'leak'; it knows units, leak_rate"),
        (plain(couplings=[{"source": 0, "target": 1, "weight": 1}]), r"Coupling has no 'weight'; it knows source, target"),
        (plain(reservoirs=[{"units": 3, "topology": {"grid": {}}}]), r"kind of topology must be one of 'matrix', .*got 'grid'"),
        (plain(reservoirs=[{"units": 3, "topology": {"concentric": {"ring": 2}}}]), r"Concentric .*'ring'.*rings"),
        (plain(reservoirs=[{"units": 3, "topology": {"concentric": {}, "matrix": {}}}]), r"topology.*'concentric'.*'matrix'"),
        (plain(reservoirs=[{"leak_rate": 0.5}]), r"Reservoir.*units"),
        ({"couplings": []}, r"Network.*reservoirs"),
    ],
)
def test_a_dictionary_with_unknown_or_missing_keys(content: dict[str, Any], message: str) -> None:
    raises((TypeError, ValueError), message, lambda: Network.from_dict(content))


def test_a_dictionary_is_checked_like_the_arguments() -> None:
    raises(
        ValueError,
        r"leak_rate must lie in \(0, 1\], got 7",
        lambda: Network.from_dict({"reservoirs": [{"units": 3, "leak_rate": 7}]}),
    )
