"""The states against independent oracles: scalar loops, reservoirpy, and the identities that the equations imply."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import naive
import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse
from reservoirpy.nodes import Reservoir as PeerReservoir

from echoscale import ESN, Concentric, Coupling, Network, Reservoir, hierarchical, parallel, single
from echoscale.engine import matrices, scan

Array = npt.NDArray[Any]

TOLERANCE = {"float64": 1e-12, "float32": 1e-5}
UNITS = 12


def noise(*shape: int, seed: int = 0) -> Array:
    """A series that drives tanh well out of its linear range."""
    return np.random.default_rng(seed).uniform(-2, 2, shape)


def own_matrix(seed: int = 1) -> Array:
    """A dense random matrix with negative weights."""
    return np.random.default_rng(seed).normal(size=(UNITS, UNITS))


def cyclic() -> Network:
    """0 -> 1 -> 2 -> 0 with unequal sizes, a feedback of negative strength and a rectangular matrix of one's own."""
    reservoirs = (
        Reservoir(9, leak_rate=0.9, spectral_radius=0.8, connections=3, bias_scaling=0.3),
        Reservoir(12, leak_rate=0.4, spectral_radius=0.6, connections=2, input_scaling=0.0),
        Reservoir(7, leak_rate=0.2, spectral_radius=0.9, input_scaling=0.5),
    )
    feedback: Any = np.random.default_rng(2).normal(size=(9, 7))
    return Network(
        reservoirs,
        (
            Coupling(0, 1, strength=0.8, connections=4, topology="uniform"),
            Coupling(1, 2, strength=0.5, normalisation="sqrt_connections"),
            Coupling(2, 0, strength=-0.3, topology=feedback),
        ),
    )


NETWORKS = {
    "single": single(UNITS, leak_rate=0.3, bias_scaling=0.2, connections=3),
    "two levels": hierarchical([9, UNITS], leak_rate=[0.9, 0.2], spectral_radius=[0.95, 0.7], bias_scaling=0.1, connections=3),
    "four levels": hierarchical(
        [8, UNITS, 5, 6], leak_rate=[1, 0.5, 0.2, 0.05], coupling=[1, 0.5, 2], input_scaling=[1, 0, 0.5, 0], connections=3
    ),
    "parallel": parallel([9, UNITS], leak_rate=[0.8, 0.1], input_scaling=[0.5, 1.5], bias_scaling=[0, 0.4], connections=3),
    "cyclic": cyclic(),
}

TOPOLOGIES: dict[str, Any] = {
    "normal": "normal",
    "uniform": "uniform",
    "delay line": "delay_line",
    "ring": "ring",
    "concentric": "concentric",
    "three rings": Concentric(rings=3, jump=-0.7),
    "own dense": own_matrix(),
    "own sparse": scipy.sparse.random_array((UNITS, UNITS), density=0.3, rng=3),
}

COUPLED = ("two levels", "four levels", "cyclic")
every_network = pytest.mark.parametrize("name", NETWORKS)
every_topology = pytest.mark.parametrize("topology", TOPOLOGIES.values(), ids=TOPOLOGIES)
both_delays = pytest.mark.parametrize("coupling_delay", [1, 0])
both_dtypes = pytest.mark.parametrize("dtype", ["float64", "float32"])


def assert_naive(esn: ESN, u: Array) -> None:
    """One series, and the same as part of a batch (whose matrices are stored in another way), equal the scalar loops."""
    tolerance = TOLERANCE[esn.dtype]
    batch = np.stack([u, -u[::-1], 0.5 * u])
    expected = [naive.states_of(esn, each) for each in batch]
    np.testing.assert_allclose(esn.run(u), expected[0], rtol=0, atol=tolerance)
    np.testing.assert_allclose(esn.run(batch), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("name", "coupling_delay", "dtype"),
    [
        *product(NETWORKS, [1], TOLERANCE),
        *product(COUPLED, [0], ["float64"]),
    ],
)
def test_states_are_those_of_the_scalar_loops(name: str, coupling_delay: int, dtype: str) -> None:
    esn = replace(NETWORKS[name], coupling_delay=coupling_delay).build(2, seed=4, dtype=dtype)
    assert_naive(esn, noise(25, 2))


@pytest.mark.parametrize(
    ("topology", "dtype"),
    [
        *(pytest.param(each, "float64", id=name) for name, each in TOPOLOGIES.items()),
        *(pytest.param(TOPOLOGIES[name], "float32", id=f"{name}, float32") for name in ("normal", "ring", "own dense")),
    ],
)
def test_every_topology_follows_the_scalar_loops(topology: Any, dtype: str) -> None:
    esn = single(UNITS, leak_rate=0.6, spectral_radius=0.9, topology=topology).build(1, dtype=dtype)
    assert_naive(esn, noise(25, 1))


@every_topology
@both_delays
def test_every_topology_is_coupled_as_the_scalar_loops_say(topology: Any, coupling_delay: int) -> None:
    network = hierarchical([UNITS, UNITS], leak_rate=[0.9, 0.3], topology=topology, coupling_delay=coupling_delay)
    esn = network.build(1, dtype="float64")
    u = noise(25, 1)
    np.testing.assert_allclose(esn.run(u), naive.states_of(esn, u), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("features", "dtype"), [(1, "float32"), (3, "float32"), (3, "float64"), (40, "float64")])
def test_several_input_features(features: int, dtype: str) -> None:
    esn = single(UNITS, leak_rate=0.5, input_scaling=0.3).build(features, dtype=dtype)
    assert_naive(esn, noise(20, features))


@pytest.mark.well
@pytest.mark.parametrize(("units", "connections"), [(20, 10), (150, 10), (500, 10), (150, 40), (150, 60)])
@both_dtypes
def test_every_form_of_storage_at_one_lane(units: int, connections: int, dtype: str) -> None:
    """Neighbour lists short and long, full rows and dense rows: the choice changes the speed, not the states."""
    esn = single(units, leak_rate=0.5, connections=connections).build(1, dtype=dtype)
    u = noise(4, 1)
    np.testing.assert_allclose(esn.run(u), naive.states_of(esn, u), rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize(("coupling_delay", "dtype"), [(1, "float32"), (0, "float64")])
def test_lists_of_unequal_length(coupling_delay: int, dtype: str) -> None:
    esn = replace(cyclic(), coupling_delay=coupling_delay).build(2, dtype=dtype)
    series = [noise(length, 2, seed=length) for length in (17, 1, 40, 5)]
    for states, u in zip(esn.run(series), series, strict=True):
        np.testing.assert_allclose(states, naive.states_of(esn, u), rtol=0, atol=TOLERANCE[dtype])


def test_a_start_state_is_where_the_scalar_loops_start() -> None:
    esn = cyclic().build(2, dtype="float64")
    u, start = noise(10, 2), noise(esn.units, seed=9) / 2
    np.testing.assert_allclose(esn.run(u, state=start), naive.states_of(esn, u, start=start), rtol=0, atol=1e-12)


@every_network
def test_the_block_matrix_in_reservoirpy_gives_the_same_states(name: str) -> None:
    esn = NETWORKS[name].build(2, seed=7, dtype="float64")
    block = esn.matrices()
    bias = block.bias if block.bias.any() else 0.0
    peer = PeerReservoir(W=block.W.toarray(), Win=block.W_in, lr=block.leak_rate, bias=bias)
    u = noise(60, 2)
    np.testing.assert_allclose(esn.run(u), peer.run(u), rtol=0, atol=1e-12)


def test_without_delay_two_levels_are_a_chain_of_two_reservoirs_in_reservoirpy() -> None:
    """`first >> second` hands on the new state, the DeepESN convention."""
    esn = hierarchical([9, UNITS], leak_rate=[0.9, 0.2], coupling=0.7, coupling_delay=0).build(2, dtype="float64")
    block = esn.matrices()
    W = block.W.toarray()
    first = PeerReservoir(W=W[:9, :9], Win=block.W_in[:9], lr=0.9, bias=0.0)
    second = PeerReservoir(W=W[9:, 9:], Win=W[9:, :9], lr=0.2, bias=0.0)
    u = noise(60, 2)
    below = first.run(u)
    np.testing.assert_allclose(esn.run(u), np.hstack([below, second.run(below)]), rtol=0, atol=1e-12)


def test_the_two_coupling_delays_differ_by_one_step_in_a_chain() -> None:
    """With no input of its own, level 2 without delay at t is level 2 with delay at t + 1."""
    options: dict[str, Any] = {"leak_rate": [0.9, 0.2], "connections": 3}
    u = noise(30, 1)
    late = hierarchical([9, UNITS], coupling_delay=1, **options).build(1, dtype="float64").run(u)
    soon = hierarchical([9, UNITS], coupling_delay=0, **options).build(1, dtype="float64").run(u)
    np.testing.assert_allclose(soon[:, :9], late[:, :9], rtol=0, atol=1e-14)
    np.testing.assert_allclose(soon[:-1, 9:], late[1:, 9:], rtol=0, atol=1e-13)
    assert abs(soon[:, 9:] - late[:, 9:]).max() > 1e-2


@both_dtypes
def test_zero_coupling_is_a_parallel_network(dtype: str) -> None:
    options: dict[str, Any] = {"leak_rate": [0.9, 0.2], "input_scaling": [1.0, 0.7], "bias_scaling": 0.2, "connections": 3}
    u = noise(4, 30, 2)
    cut = hierarchical([9, UNITS], coupling=0.0, **options).build(2, seed=3, dtype=dtype)
    apart = parallel([9, UNITS], **options).build(2, seed=3, dtype=dtype)
    np.testing.assert_allclose(cut.run(u), apart.run(u), rtol=0, atol=TOLERANCE[dtype] / 100)


def test_a_chain_adds_nothing_to_its_first_level() -> None:
    u = noise(30, 1)
    alone = single(9, leak_rate=0.4).build(1, dtype="float64").run(u)
    chain = hierarchical([9, UNITS], leak_rate=0.4).build(1, dtype="float64").run(u)
    np.testing.assert_allclose(chain[:, :9], alone, rtol=0, atol=1e-14)


def test_leak_1_is_a_plain_recurrent_network() -> None:
    esn = single(UNITS, leak_rate=1.0, spectral_radius=0.8, bias_scaling=0.5).build(2, dtype="float64")
    W, W_in, b = esn.drawn.recurrent[0].toarray(), esn.drawn.inputs[0], esn.drawn.biases[0]
    x, u = np.zeros(UNITS), noise(30, 2)
    for now, state in zip(u, esn.run(u), strict=True):
        x = np.tanh(W_in @ now + 0.8 * W @ x + 0.5 * b)
        np.testing.assert_allclose(state, x, rtol=0, atol=1e-12)


def test_zero_input_and_no_bias_stay_at_rest() -> None:
    assert not cyclic_without_bias().build(1).run(np.zeros((20, 1))).any()


def test_without_input_and_recurrence_a_state_decays_by_the_leak() -> None:
    """x(t) = (1 - leak)^t x(0)."""
    esn = single(UNITS, leak_rate=0.3, spectral_radius=0.0).build(1, dtype="float64")
    start = noise(UNITS)
    decay = 0.7 ** np.arange(1, 21)[:, None]
    np.testing.assert_allclose(esn.run(np.zeros((20, 1)), state=start), decay * start, rtol=1e-13)


def cyclic_without_bias() -> Network:
    """The cyclic network with its only bias shut off."""
    network = cyclic()
    return replace(network, reservoirs=tuple(replace(each, bias_scaling=0.0) for each in network.reservoirs))


def test_states_are_odd_in_the_input_where_there_is_no_bias() -> None:
    esn = cyclic_without_bias().build(2, dtype="float64")
    u = noise(30, 2)
    np.testing.assert_allclose(esn.run(-u), -esn.run(u), rtol=0, atol=1e-14)


def test_a_permutation_of_neurons_permutes_the_states() -> None:
    """W' = P W P^T from P x(0) gives P x(t) where there is no input."""
    order = np.random.default_rng(5).permutation(UNITS)
    W, start, u = own_matrix() / 4, noise(UNITS), np.zeros((30, 1))

    def build(matrix: Any) -> ESN:
        return Network((Reservoir(UNITS, leak_rate=0.4, topology=matrix, normalise=False),)).build(1, dtype="float64")

    plain = build(W).run(u, state=start)
    permuted = build(W[np.ix_(order, order)]).run(u, state=start[order])
    np.testing.assert_allclose(permuted, plain[:, order], rtol=0, atol=1e-13)
    assert abs(plain[-1]).max() > 1e-3


def test_a_permutation_of_neurons_and_their_inputs_permutes_driven_states() -> None:
    """The drawn arrays themselves are permuted, input weights and biases included."""
    order = np.random.default_rng(5).permutation(UNITS)
    esn = single(UNITS, leak_rate=0.4, bias_scaling=0.3, connections=3).build(2, dtype="float64")
    drawn = esn.drawn
    moved = drawn._replace(
        recurrent=(scipy.sparse.csr_array(drawn.recurrent[0].toarray()[np.ix_(order, order)]),),
        inputs=(drawn.inputs[0][order],),
        biases=(drawn.biases[0][order],),
    )
    permuted = ESN(esn.network, 2, 0, "float64", None, moved, esn.hyper)
    u = noise(3, 30, 2)
    np.testing.assert_allclose(permuted.run(u), esn.run(u)[..., order], rtol=0, atol=1e-13)


@pytest.mark.parametrize("lanes", [1, 5])
@pytest.mark.parametrize(
    ("post", "pre", "density"), [(20, 20, 0.2), (40, 200, 0.05), (5, 60, 0.0), (60, 5, 0.9), (150, 150, 0.02), (250, 250, 0.2)]
)
def test_a_stored_matrix_multiplies_like_the_matrix(post: int, pre: int, density: float, lanes: int) -> None:
    """Rows of unequal numbers of weights, empty rows and matrices, and lists that are looped over included."""
    matrix = scipy.sparse.csr_array(scipy.sparse.random_array((post, pre), density=density, rng=1))
    x = noise(pre, lanes).astype(np.float32)
    stored = matrices.store_matrix(matrix, np.dtype(np.float32), lanes)
    product = np.asarray(matrices.apply(stored, x))  # type: ignore[arg-type]
    np.testing.assert_allclose(product, matrix @ x.astype(np.float64), rtol=0, atol=1e-5)


@pytest.mark.parametrize("lanes", [1, 5])
@pytest.mark.parametrize(("size", "density"), [(20, 0.9), (150, 0.02), (250, 0.2), (700, 0.01)])
def test_a_shift_moves_all_states_and_leaves_the_product_beside_it(size: int, density: float, lanes: int) -> None:
    """Beside a dense matrix, a small one of one lane, lists that are looped over, and unrolled ones."""
    matrix = scipy.sparse.csr_array(scipy.sparse.random_array((size, size), density=density, rng=1))
    x = noise(size, lanes).astype(np.float32)
    stored = matrices.store_matrix(matrix, np.dtype(np.float32), lanes, shift=True)
    product = np.asarray(matrices.apply(stored, x))  # type: ignore[arg-type]
    np.testing.assert_allclose(product, matrix @ x.astype(np.float64), rtol=0, atol=1e-5)
    np.testing.assert_array_equal(matrices.turn(matrices.Shift(), x, stored), np.roll(x, 1, axis=0))  # type: ignore[arg-type]


def test_neighbour_lists_and_dense_storage_are_both_in_use() -> None:
    """The oracle tests above would prove nothing about a form of storage that they never reach."""
    lists = [single(units).build(1).weights(1).recurrent[0] for units in (150, 500)]
    small = NETWORKS["single"].build(1)
    assert all(isinstance(each, matrices.Neighbours) for each in lists)
    assert lists[0].values.size <= matrices.SMALL < lists[1].values.size
    assert not isinstance(small.weights(1).recurrent[0], matrices.Neighbours)
    assert isinstance(small.weights(3).recurrent[0], matrices.Neighbours)


def test_other_lengths_share_one_compiled_program() -> None:
    """Chunks have a fixed length, and short series are rounded up to a few."""
    esn = single(23).build(1, seed=0)

    def programs() -> int:
        return scan.scan._cache_size()  # type: ignore[attr-defined, no-any-return]

    esn.run(noise(5000, 1))
    compiled = programs()
    for length in (2049, 4096, 7001):
        esn.run(noise(length, 1))
    assert programs() == compiled
    for length in (513, 700, 1000):
        esn.run(noise(length, 1))
    assert programs() == compiled + 1
