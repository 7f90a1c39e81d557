"""The drawn matrices: reproducible, independent of one another, of unit spectral radius and of the stated laws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse
import scipy.sparse.linalg
import scipy.stats
from threadpoolctl import threadpool_limits

from echoscale import Concentric, Coupling, LogUniform, Network, Reservoir, hierarchical, parallel, single
from echoscale.engine import eigen
from echoscale.engine.drawn import Drawn
from echoscale.engine.topologies.random_links import random_sparse

Array = npt.NDArray[Any]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """BLAS threads that wait for a busy core make the eigenvalues of the oracle ten times slower."""
    with threadpool_limits(1):
        yield


def drawn(network: Network, n_inputs: int = 1, seed: int = 0) -> Drawn:
    return network.build(n_inputs, seed=seed).drawn


def bare(units: int, topology: Any, normalise: bool = False) -> Network:
    """One reservoir whose matrix is left as it is."""
    return Network((Reservoir(units, topology=topology, normalise=normalise),))


def dense(matrix: Any) -> Array:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def radius(matrix: Any) -> float:
    """max |eigenvalue| by LAPACK."""
    return float(abs(np.linalg.eigvals(dense(matrix))).max())


def arrays(parts: tuple[Any, ...]) -> list[Array]:
    return [dense(part) for part in parts]


def assert_same(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> None:
    """Equal to the last bit, as far as the shorter one goes."""
    for mine, other in zip(arrays(ours), arrays(theirs), strict=False):
        np.testing.assert_array_equal(mine, other)


# Seeds

TWO = hierarchical([20, 15], coupling=0.5)
# All fields hold something.
FULL: dict[str, Any] = {"feedback_scaling": 0.5, "leak_rate": LogUniform(0.1, 1.0), "residual": "orthogonal"}
HEARING = hierarchical([20, 15], coupling=0.5, **FULL)


def test_the_same_seed_draws_the_same_weights_in_either_precision() -> None:
    ours, theirs = (HEARING.build(2, seed=5, dtype=dtype, n_outputs=3).drawn for dtype in ("float32", "float64"))
    for field in Drawn._fields:
        assert_same(getattr(ours, field), getattr(theirs, field))
        assert {array.dtype for array in arrays(getattr(ours, field))} == {np.dtype(np.float64)}


@pytest.mark.parametrize("field", Drawn._fields)
def test_another_seed_draws_other_weights(field: str) -> None:
    pair = [arrays(getattr(HEARING.build(1, seed=seed, n_outputs=1).drawn, field)) for seed in (5, 6)]
    assert pair[0]
    for mine, other in zip(*pair, strict=True):
        assert (mine != other).any()


def test_no_two_arrays_of_a_network_share_a_stream() -> None:
    """Equal sizes everywhere, so that equal streams would show."""
    network = hierarchical([12, 12, 12], connections=12, coupling_connections=12, topology="uniform", feedback_scaling=1)
    free = replace(network, reservoirs=tuple(replace(each, normalise=False) for each in network.reservoirs))
    firsts = [np.ravel(array)[:12] for part in free.build(12, n_outputs=12).drawn for array in arrays(part)]
    assert len({float(value) for first in firsts for value in first}) == 12 * len(firsts)


def test_fresh_entropy_is_recorded() -> None:
    esn, other = TWO.build(1, seed=None), TWO.build(1, seed=None)
    assert esn.seed != other.seed
    assert_same(drawn(TWO, seed=esn.seed).recurrent, esn.drawn.recurrent)


def test_seed_0_draws_the_pinned_weights() -> None:
    """A change of the random streams would silently change every published number."""
    two, uniform = drawn(TWO, n_inputs=2), drawn(parallel([20, 15], topology="uniform"))
    assert two.recurrent[0].indices[:4].tolist() == [0, 1, 6, 7]
    assert two.recurrent[0].data[:3].tolist() == [-0.22719321709192658, 0.29811240264277006, 0.794860545398774]
    assert two.recurrent[1].indices[:4].tolist() == [0, 2, 3, 4]
    assert two.recurrent[1].data[:3].tolist() == [0.6695598322004029, 0.28319994958733063, 0.05880730433110921]
    assert two.inputs[0][0].tolist() == [0.8906330580285924, -0.44411483104642047]
    assert two.inputs[1][0].tolist() == [0.17835536478093883, 0.7219501950688918]
    assert two.biases[0][:2].tolist() == [-0.4693951219739678, -0.7976488477152948]
    assert two.biases[1][0] == -0.4140996173007572
    assert two.couplings[0].indices[:4].tolist() == [1, 4, 5, 6]
    assert two.couplings[0].data[:3].tolist() == [-0.018374993058607764, -0.7709859122716683, 0.3630794742426993]
    assert uniform.recurrent[0].data[:2].tolist() == [0.041817605083309166, 0.3538654125078038]


def test_one_more_level_leaves_the_others_as_they_were() -> None:
    three = hierarchical([20, 15, 10], **FULL)
    small, large = (each.build(2, n_outputs=3).drawn for each in (HEARING, three))
    for field in Drawn._fields:
        assert len(getattr(large, field)) == len(getattr(small, field)) + 1
        assert_same(getattr(small, field), getattr(large, field))


def test_one_more_coupling_leaves_the_others_as_they_were() -> None:
    forward, back = Coupling(0, 1), Coupling(1, 0)
    few = drawn(Network((Reservoir(20), Reservoir(15)), (forward,)))
    more = drawn(Network((Reservoir(20), Reservoir(15)), (back, forward)))
    assert_same(few.couplings, more.couplings[1:])
    for field in ("recurrent", "inputs", "biases"):
        assert_same(getattr(few, field), getattr(more, field))


def test_one_more_input_leaves_the_others_as_they_were() -> None:
    few, more = drawn(TWO, n_inputs=2), drawn(TWO, n_inputs=3)
    assert [each.shape for each in more.inputs] == [(20, 3), (15, 3)]
    assert_same(few.inputs, tuple(each[:, :2] for each in more.inputs))
    for field in ("recurrent", "biases", "couplings"):
        assert_same(getattr(few, field), getattr(more, field))


def test_the_numbers_of_a_network_do_not_change_its_weights() -> None:
    plain = hierarchical([20, 15])
    tuned = hierarchical([20, 15], leak_rate=0.1, spectral_radius=0.3, input_scaling=[0.2, 3], bias_scaling=1, coupling=-2)
    for field in Drawn._fields:
        assert_same(getattr(drawn(plain), field), getattr(drawn(tuned), field))


def test_input_and_bias_vectors_are_drawn_where_their_factor_is_0() -> None:
    network = hierarchical([20, 15])
    assert [each.input_scaling for each in network.reservoirs] == [1, 0]
    assert [each.bias_scaling for each in network.reservoirs] == [0, 0]
    assert all(np.all(each != 0) for part in (drawn(network).inputs, drawn(network).biases) for each in part)


# Laws


@pytest.mark.parametrize(("law", "expected"), [("normal", scipy.stats.norm()), ("uniform", scipy.stats.uniform(-1, 2))])
def test_random_weights_follow_their_law(law: str, expected: Any) -> None:
    """Kolmogorov-Smirnov on 3,000 weights; places are uniform over the columns (chi-square)."""
    matrix = random_sparse(np.random.default_rng(0), (300, 40), 10, law)
    assert scipy.stats.kstest(matrix.data, expected.cdf).pvalue > 0.01
    assert scipy.stats.chisquare(np.bincount(matrix.indices, minlength=40)).pvalue > 0.01


def test_inputs_and_biases_are_uniform_in_minus_1_to_1() -> None:
    parts = drawn(single(1000), n_inputs=3)
    for values in (parts.inputs[0].ravel(), parts.biases[0]):
        assert scipy.stats.kstest(values, scipy.stats.uniform(-1, 2).cdf).pvalue > 0.01


@pytest.mark.parametrize(("units", "connections"), [(4, None), (60, None), (60, 1), (60, 60), (400, 7)])
@pytest.mark.parametrize("topology", ["normal", "uniform"])
def test_every_row_has_exactly_the_stated_connections(units: int, connections: int | None, topology: str) -> None:
    matrix = drawn(single(units, connections=connections, topology=topology)).recurrent[0].toarray()
    assert set((matrix != 0).sum(axis=1).tolist()) == {connections or min(units, 10)}


@pytest.mark.parametrize(("connections", "expected"), [(None, 10), (3, 3)])
def test_every_row_of_a_coupling_has_exactly_the_stated_connections(connections: int | None, expected: int) -> None:
    matrix = drawn(hierarchical([30, 20], coupling_connections=connections)).couplings[0].toarray()
    assert matrix.shape == (20, 30)
    assert set((matrix != 0).sum(axis=1).tolist()) == {expected}


# Spectral radius


@pytest.mark.parametrize("units", [3, 60, 100, 101, 400])
@pytest.mark.parametrize("topology", ["normal", "uniform", "ring", "concentric", Concentric(3, jump=-0.7)], ids=str)
def test_recurrent_matrices_have_unit_spectral_radius(units: int, topology: Any) -> None:
    """On both sides of the switch between the two eigenvalue solvers."""
    assert radius(drawn(single(units, topology=topology)).recurrent[0]) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("connections", [2, 10])
def test_the_outermost_of_many_close_eigenvalues_is_found(seed: int, connections: int) -> None:
    network = single(200, connections=connections)
    assert radius(drawn(network, seed=seed).recurrent[0]) == pytest.approx(1, abs=1e-9)


def laplacian(units: int) -> Array:
    """Of a ring: the vector of ones, ARPACK's start, is an eigenvector of eigenvalue 0; the radius is 4."""
    eye = np.eye(units)
    return 2 * eye - np.roll(eye, 1, axis=0) - np.roll(eye, -1, axis=0)


def swap_symmetric(units: int) -> Array:
    """Two equal halves that inhibit each other: the outermost eigenvector is orthogonal to every symmetric start."""
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, units // 2, units // 2))
    return np.block([[A, -2 * B], [-2 * B, A]])


@pytest.mark.parametrize("matrix", [laplacian(200), swap_symmetric(200), np.diag([*np.ones(150), -2.0])], ids=["L", "S", "D"])
def test_matrices_that_hide_their_outermost_eigenvalue(matrix: Array) -> None:
    assert eigen.spectral_radius(matrix) == pytest.approx(radius(matrix), rel=1e-9)


def test_without_convergence_the_dense_solver_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    network = single(150)
    expected = drawn(network).recurrent[0]
    calls = []

    def never_converges(*_: Any, **options: Any) -> None:
        calls.append(options)
        raise scipy.sparse.linalg.ArpackNoConvergence("no convergence", np.zeros(0), np.zeros((150, 0)))

    monkeypatch.setattr("echoscale.engine.eigen.scipy.sparse.linalg.eigs", never_converges)
    matrix = drawn(network).recurrent[0]
    assert calls
    assert radius(matrix) == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(matrix.toarray(), expected.toarray(), rtol=1e-9)


def test_three_thousand_units() -> None:
    """Independent check: the transpose, another Krylov space from another start, and the residual of the eigenvector."""
    matrix = drawn(single(3000)).recurrent[0]
    assert set(np.diff(matrix.indptr).tolist()) == {10}
    start = np.random.default_rng(1).normal(size=3000)
    values, vectors = scipy.sparse.linalg.eigs(matrix.T, k=12, ncv=150, v0=start, tol=1e-11)
    outermost = int(abs(values).argmax())
    assert abs(values[outermost]) == pytest.approx(1, abs=1e-9)
    vector = vectors[:, outermost]
    assert np.linalg.norm(matrix.T @ vector - values[outermost] * vector) < 1e-8


# Structured matrices


def test_a_delay_line_is_a_shift_and_a_ring_a_cyclic_shift() -> None:
    np.testing.assert_array_equal(drawn(single(5, topology="delay_line")).recurrent[0].toarray(), np.eye(5, k=-1))
    np.testing.assert_array_equal(drawn(single(5, topology="ring")).recurrent[0].toarray(), np.roll(np.eye(5), 1, axis=0))


def test_structures_of_one_unit() -> None:
    assert drawn(single(1, topology="delay_line")).recurrent[0].toarray().tolist() == [[0]]
    assert drawn(single(1, topology="ring")).recurrent[0].toarray().tolist() == [[1]]
    assert abs(drawn(single(1)).recurrent[0].toarray()) == pytest.approx(1, abs=1e-9)


J = -0.7
THREE_RINGS = [
    # ring 0 (units 0 to 2), ring 1 (units 3, 4), ring 2 (units 5, 6)
    [0, 0, 1, J, 0, 0, 0],
    [1, 0, 0, 0, J, 0, 0],
    [0, 1, 0, 0, 0, 0, 0],
    [J, 0, 0, 0, 1, J, 0],
    [0, J, 0, 1, 0, 0, J],
    [0, 0, 0, J, 0, 0, 1],
    [0, 0, 0, 0, J, 1, 0],
]


def test_concentric_rings_are_the_hand_written_matrix() -> None:
    expected = np.array(THREE_RINGS)
    topology = Concentric(rings=3, jump=J)
    raw = drawn(bare(7, topology)).recurrent[0]
    np.testing.assert_array_equal(raw.toarray(), expected)
    np.testing.assert_allclose(
        drawn(single(7, topology=topology)).recurrent[0].toarray(), expected / radius(expected), rtol=1e-9
    )


def test_the_word_concentric_is_two_rings_with_jumps_of_one_half() -> None:
    expected = np.array([[0, 1, 0.5, 0], [1, 0, 0, 0.5], [0.5, 0, 0, 1], [0, 0.5, 1, 0]]) / 1.5
    np.testing.assert_allclose(drawn(single(4, topology="concentric")).recurrent[0].toarray(), expected, rtol=1e-9)


# Matrices of one's own


@pytest.mark.parametrize(
    "wrap", [np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_matrix], ids=["dense", "array", "matrix"]
)
@pytest.mark.parametrize("normalise", [True, False])
def test_an_own_matrix_is_normalised_unless_told_otherwise(wrap: Any, normalise: bool) -> None:
    matrix = np.array([[0.0, 3.0], [2.0, 1.0]])
    result = drawn(bare(2, wrap(matrix), normalise=normalise)).recurrent[0].toarray()
    np.testing.assert_allclose(result, matrix / 3 if normalise else matrix, rtol=1e-9)


@pytest.mark.parametrize("topology", ["normal", "uniform"])
def test_a_random_matrix_that_is_not_normalised_is_the_same_draw(topology: str) -> None:
    raw = drawn(bare(40, topology)).recurrent[0].toarray()
    np.testing.assert_allclose(drawn(single(40, topology=topology)).recurrent[0].toarray(), raw / radius(raw), rtol=1e-9)


NILPOTENT = {
    "zero": np.zeros((3, 3)),
    "strictly triangular": np.tril(np.random.default_rng(0).normal(size=(30, 30)), -1),
    "shuffled triangular": np.tril(np.ones((40, 40)), -1)[np.ix_(*[np.random.default_rng(1).permutation(40)] * 2)],
    "two units that cancel": np.array([[1, -1], [1, -1]]),
    "three units that cancel": np.array([[2, -1, 1], [2, -1, 1], [-2, 1, -1]]),
    "long delay line": np.eye(200, k=-1),
    "shuffled long delay line": np.eye(200, k=-1)[np.ix_(*[np.random.default_rng(2).permutation(200)] * 2)],
}


@pytest.mark.parametrize("matrix", NILPOTENT.values(), ids=NILPOTENT)
def test_a_nilpotent_matrix_cannot_be_normalised(matrix: Array) -> None:
    """Its eigenvalues are all 0; dividing by what rounding leaves of them would blow the weights up."""
    size = len(matrix)
    power = np.linalg.matrix_power(matrix, size)
    assert abs(power).max() <= 1e-9 * abs(matrix).max() ** size
    with pytest.raises(ValueError, match=rf"{size} units has spectral radius 0.*normalise=False"):
        drawn(single(size, topology=matrix))
    unchanged = drawn(bare(size, matrix)).recurrent[0]
    np.testing.assert_array_equal(unchanged.toarray(), matrix)


def test_a_small_but_honest_radius_is_not_mistaken_for_0() -> None:
    matrix = 1e-6 * np.array([[0.0, 3.0], [2.0, 1.0]])
    np.testing.assert_allclose(drawn(single(2, topology=matrix)).recurrent[0].toarray(), matrix / 3e-6, rtol=1e-9)


# Couplings


def coupling_matrix(**options: Any) -> Array:
    network = Network((Reservoir(150), Reservoir(150)), (Coupling(0, 1, **options),))
    return drawn(network).couplings[0].toarray()


@pytest.mark.parametrize(("topology", "law"), [("normal", scipy.stats.norm()), ("uniform", scipy.stats.uniform(-1, 2))])
def test_a_coupling_is_not_normalised_unless_asked(topology: str, law: Any) -> None:
    matrix = coupling_matrix(topology=topology)
    assert scipy.stats.kstest(matrix[matrix != 0], law.cdf).pvalue > 0.01


@pytest.mark.parametrize("connections", [None, 4])
def test_a_coupling_divided_by_the_root_of_its_connections(connections: int | None) -> None:
    bare, scaled = (
        coupling_matrix(connections=connections),
        coupling_matrix(connections=connections, normalisation="sqrt_connections"),
    )
    np.testing.assert_allclose(scaled, bare / np.sqrt(connections or 10), rtol=1e-15)


def test_a_coupling_divided_by_its_spectral_radius() -> None:
    bare, scaled = coupling_matrix(), coupling_matrix(normalisation="spectral_radius")
    np.testing.assert_allclose(scaled, bare / radius(bare), rtol=1e-9)


def test_an_own_coupling_matrix_is_taken_as_it_is() -> None:
    own: Any = np.random.default_rng(0).normal(size=(2, 3))
    network = Network((Reservoir(3), Reservoir(2)), (Coupling(0, 1, topology=own),))
    np.testing.assert_array_equal(drawn(network).couplings[0].toarray(), own)


def test_a_nilpotent_coupling_cannot_be_normalised() -> None:
    shift: Any = np.eye(3, k=1)
    network = Network((Reservoir(3), Reservoir(3)), (Coupling(0, 1, topology=shift, normalisation="spectral_radius"),))
    with pytest.raises(ValueError, match=r'coupling 0 -> 1 has spectral radius 0.*normalisation="none"'):
        drawn(network)
