"""Eigenvalues by connected parts: against LAPACK where it is right, and against closed forms where it is not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
import scipy.stats
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from echoscale.engine import eigen
from echoscale.engine.eigen import connected_parts, eigenvalues, spectral_radius

Array = npt.NDArray[Any]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """BLAS threads that wait for a busy core make the eigenvalues of the oracle ten times slower."""
    with threadpool_limits(1):
        yield


def distance(ours: Array, theirs: Array) -> float:
    """The largest distance between two sets of eigenvalues, each paired with its own of the other set."""
    assert len(ours) == len(theirs)
    apart = abs(ours[:, None] - theirs[None, :])
    return float(apart[linear_sum_assignment(apart)].max())


def shuffled(matrix: Array, seed: int = 0) -> Array:
    """The units in another order: the same graph, the same eigenvalues."""
    order = np.random.default_rng(seed).permutation(len(matrix))
    return np.asarray(matrix[np.ix_(order, order)])


def ring(units: int) -> Array:
    return np.asarray(np.roll(np.eye(units), 1, axis=0))


def roots_of_unity(units: int) -> Array:
    return np.asarray(np.exp(2j * np.pi * np.arange(units) / units))


def normal(units: int, seed: int = 0) -> Array:
    return np.asarray(np.random.default_rng(seed).normal(size=(units, units)) / np.sqrt(units))


def sparse_normal(units: int, links: int, seed: int = 0) -> Array:
    """About `links` weights in each row."""
    rng = np.random.default_rng(seed)
    return np.asarray(rng.normal(size=(units, units)) * (rng.uniform(size=(units, units)) < links / units))


def all_of(matrix: Any) -> Array:
    """All eigenvalues, and that they are said to be all."""
    values, complete = eigenvalues(matrix)
    assert complete
    assert values.dtype == np.complex128
    assert (np.diff(values.real) <= 0).all()
    return values


# All eigenvalues


@pytest.mark.parametrize("units", [1, 2, 3, 20, 150])
@pytest.mark.parametrize("wrap", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csc_array, scipy.sparse.coo_matrix])
def test_random_matrices_have_the_eigenvalues_of_lapack(units: int, wrap: Any) -> None:
    matrix = normal(units)
    assert distance(all_of(wrap(matrix)), np.linalg.eigvals(matrix)) < 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_sparse_random_graphs_of_many_parts_have_the_eigenvalues_of_lapack(seed: int) -> None:
    """Two weights in a row: some units in the large part, some before it, some behind it.

    Every unit also drives itself with a weight of its own: LAPACK finds multiple eigenvalues, such as 0, to a few digits only.
    """
    matrix = sparse_normal(40, 2, seed) + np.diag(np.linspace(-2, 2, 40))
    assert 0 < len(connected_parts(matrix)[0]) < 40
    assert distance(all_of(matrix), np.linalg.eigvals(matrix)) < 1e-9


@limits(deadline=None)
@given(data=st.data(), units=st.integers(1, 6))
def test_power_sums_are_the_traces_of_the_powers(data: st.DataObject, units: int) -> None:
    """sum_i lambda_i^k = tr M^k for k = 1 ... n fixes all eigenvalues; of whole numbers the right side is exact."""
    entries = st.sampled_from([0, 0, 0, 1, -1, 2])
    matrix = np.array(data.draw(st.lists(entries, min_size=units**2, max_size=units**2))).reshape(units, units)
    values = all_of(matrix)
    assert len(values) == units
    power = np.eye(units, dtype=int)
    for k in range(1, units + 1):
        power = power @ matrix
        assert (values**k).sum() == pytest.approx(int(np.trace(power)), abs=1e-5)


def test_one_unit() -> None:
    assert all_of([[0.7]]).tolist() == [0.7]
    assert all_of([[-3.0]]).tolist() == [-3]
    assert all_of([[0.0]]).tolist() == [0]


def test_a_diagonal_and_a_zero_matrix() -> None:
    assert all_of(np.diag([0.1, -2.0, 3.0])).tolist() == [3, 0.1, -2]
    assert all_of(np.zeros((4, 4))).tolist() == [0] * 4
    assert all_of(scipy.sparse.csr_array((4, 4))).tolist() == [0] * 4


@pytest.mark.parametrize("units", [2, 3, 12, 101])
def test_a_ring_has_the_roots_of_unity(units: int) -> None:
    assert distance(all_of(shuffled(ring(units))), roots_of_unity(units)) < 1e-12


def test_two_units_that_drive_each_other() -> None:
    assert all_of([[0.0, 2.0], [8.0, 0.0]]).tolist() == pytest.approx([4, -4])
    assert all_of([[0.0, -2.0], [8.0, 0.0]]).tolist() == pytest.approx([-4j, 4j])


@pytest.mark.parametrize(
    "matrix",
    [
        np.eye(200, k=-1),
        shuffled(np.eye(200, k=-1)),
        shuffled(np.tril(normal(80), -1)),
        shuffled(np.triu(np.ones((50, 50)), 1)),
    ],
    ids=["line", "shuffled line", "shuffled triangle", "shuffled upper triangle"],
)
def test_a_graph_without_cycles_has_zeros_and_nothing_else(matrix: Array) -> None:
    assert all_of(matrix).tolist() == [0] * len(matrix)
    assert spectral_radius(matrix) == 0


@pytest.mark.parametrize("leak_rate", [0.5, 0.3])
def test_a_delay_line_with_leak_has_one_eigenvalue(leak_rate: float) -> None:
    matrix = shuffled((1 - leak_rate) * np.eye(100) + leak_rate * np.eye(100, k=-1))
    assert all_of(matrix).tolist() == [1 - leak_rate] * 100


CHAIN, SIZE = 200, 5


def chain_between_rings() -> Array:
    """A ring, a long delay line that hears it, and a ring that hears the line."""
    matrix = scipy.linalg.block_diag(ring(SIZE), np.eye(CHAIN, k=-1), ring(SIZE))
    matrix[SIZE, SIZE - 1] = matrix[SIZE + CHAIN, SIZE + CHAIN - 1] = 1
    return np.asarray(matrix)


def assert_zeros_and_two_rings(values: Array) -> None:
    assert (values == 0).sum() == CHAIN
    assert distance(values[values != 0], np.tile(roots_of_unity(SIZE), 2)) < 1e-12


def test_a_long_chain_between_two_rings_has_exact_zeros() -> None:
    """The chain is a Jordan block: a solver of the whole errs by eps^(1/200), and finds eigenvalues near the unit circle."""
    matrix = shuffled(chain_between_rings())
    assert (abs(np.linalg.eigvals(matrix)) > 0.1).sum() > 2 * SIZE
    assert_zeros_and_two_rings(all_of(matrix))
    assert spectral_radius(matrix) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("upper", [True, False])
def test_a_block_triangular_matrix_has_the_eigenvalues_of_its_blocks(upper: bool) -> None:
    blocks = [normal(15, 1), normal(10, 2), np.diag([0.3]), normal(20, 3)]
    matrix = scipy.linalg.block_diag(*blocks)
    ends = np.cumsum([0, *map(len, blocks)])
    rng = np.random.default_rng(0)
    for low, high in itertools.combinations(range(4), 2):
        place = np.ix_(np.arange(ends[high], ends[high + 1]), np.arange(ends[low], ends[low + 1]))
        matrix[place] = rng.normal(size=matrix[place].shape)
    matrix = shuffled(matrix.T if upper else matrix)
    expected = np.concatenate([np.linalg.eigvals(block) for block in blocks])
    assert distance(all_of(matrix), expected) < 1e-12


def test_a_stored_zero_is_no_connection() -> None:
    """It would close the long chain to a cycle."""
    matrix = scipy.sparse.coo_array(chain_between_rings())
    rows, columns = np.append(matrix.row, 0), np.append(matrix.col, matrix.shape[0] - 1)
    closed = scipy.sparse.csr_array((np.append(matrix.data, 0.0), (rows, columns)), shape=matrix.shape)
    assert closed.nnz == matrix.nnz + 1
    assert_zeros_and_two_rings(all_of(closed))
    assert spectral_radius(closed) == pytest.approx(1, abs=1e-12)


def test_a_matrix_of_stored_zeros() -> None:
    assert all_of(scipy.sparse.csr_array(normal(30)) * 0.0).tolist() == [0] * 30


# Connected parts


@limits(deadline=None)
@given(data=st.data(), units=st.integers(1, 9))
def test_parts_are_the_units_that_reach_each_other(data: st.DataObject, units: int) -> None:
    """Against the closure of the graph: i and j are in one part where paths lead both ways."""
    edges = data.draw(st.lists(st.tuples(st.integers(0, units - 1), st.integers(0, units - 1)), max_size=2 * units))
    matrix = np.zeros((units, units))
    for number, (i, j) in enumerate(edges):
        matrix[i, j] = number + 1
    reached = np.linalg.matrix_power((matrix != 0) + np.eye(units, dtype=int), units) > 0
    together = reached & reached.T
    groups = {tuple(np.flatnonzero(row).tolist()) for row in together}
    alone, parts = connected_parts(matrix)
    assert sorted(alone.tolist()) == sorted(matrix[group[0], group[0]] for group in groups if len(group) == 1)
    ours = sorted(part.toarray().tolist() for part in parts)
    assert ours == sorted(matrix[np.ix_(group, group)].tolist() for group in groups if len(group) > 1)


# Spectral radius


@pytest.mark.parametrize("matrix", [normal(5), normal(100), normal(101), sparse_normal(150, 3), ring(120), [[-0.7]]], ids=len)
def test_the_spectral_radius_is_the_largest_modulus(matrix: Any) -> None:
    """On both sides of the switch between the two solvers."""
    expected = abs(np.linalg.eigvals(np.asarray(matrix))).max()
    assert spectral_radius(matrix) == pytest.approx(expected, rel=1e-9)
    assert abs(eigenvalues(matrix)[0]).max() == pytest.approx(expected, rel=1e-9)


def orthogonal(units: int, block: int, seed: int = 0) -> Array:
    """Orthogonal blocks, with rows and columns in random order: sparse, and for the most part one connected part."""
    rng = np.random.default_rng(seed)
    blocks = [scipy.stats.ortho_group.rvs(block, random_state=rng) for _ in range(units // block)]
    return np.asarray(scipy.linalg.block_diag(*blocks)[rng.permutation(units)][:, rng.permutation(units)])


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither ARPACK nor LAPACK may be asked."""

    def asked(*_: Any, **__: Any) -> None:
        raise AssertionError("a solver was asked")

    monkeypatch.setattr("echoscale.engine.eigen.scipy.sparse.linalg.eigs", asked)
    monkeypatch.setattr("echoscale.engine.eigen.np.linalg.eigvals", asked)


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize("factor", [1.0, -0.37, 1e-9, 1e6])
@pytest.mark.parametrize("block", [10, 300], ids=["sparse", "full"])
def test_an_orthogonal_matrix_is_known_without_a_search(block: int, factor: float) -> None:
    """All its eigenvalues have the modulus |factor|, up to the rounding of its entries."""
    assert spectral_radius(factor * orthogonal(300, block)) == pytest.approx(abs(factor), rel=1e-13)


@pytest.mark.usefixtures("no_search")
def test_a_large_orthogonal_matrix_is_known_without_a_search() -> None:
    """Twenty thousand units that hear one other each, with either sign."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-0.5, 0.5], 20_000)
    ring = scipy.sparse.csr_array((signs, (np.arange(20_000), np.roll(np.arange(20_000), 1))))
    assert spectral_radius(ring) == pytest.approx(0.5, rel=1e-13)


def one_row_longer(units: int, by: float) -> Array:
    matrix = orthogonal(units, 10)
    matrix[0] *= 1 + by
    return matrix


def equal_columns(units: int) -> Array:
    """Columns of norm 1 that are not orthogonal."""
    matrix = sparse_normal(units, 10)
    return np.asarray(matrix / np.linalg.norm(matrix, axis=0))


NEARLY = {
    "one row 1e-6 longer": one_row_longer(300, 1e-6),
    "one row 1e-9 longer": one_row_longer(300, 1e-9),
    "single precision": orthogonal(300, 10).astype(np.float32),
    "columns of norm 1": equal_columns(300),
    "rows of norm 1": equal_columns(300).T,
}


@pytest.mark.parametrize("matrix", NEARLY.values(), ids=NEARLY)
def test_what_is_nearly_orthogonal_is_searched(matrix: Array) -> None:
    """A modulus apart from the others is told to ten digits and more; sqrt(c) would miss it in all these."""
    matrix = matrix.astype(np.float64)
    expected = abs(np.linalg.eigvals(matrix)).max()
    assert spectral_radius(matrix) == pytest.approx(expected, rel=1e-12, abs=0)
    assert abs(np.sqrt((matrix**2).sum() / 300) / expected - 1) > 1e-11


def test_weights_whose_squares_are_0_are_not_taken_for_orthogonal() -> None:
    """sqrt(c) would be 0. Coarse: below 4e-11 the tolerance of ARPACK is absolute."""
    matrix = 1e-170 * equal_columns(300)
    assert spectral_radius(matrix) > 0.5 * abs(np.linalg.eigvals(matrix)).max()


@pytest.mark.parametrize("units", [300, 150])
def test_a_ring_of_unequal_weights_has_the_geometric_mean(units: int) -> None:
    """Equal moduli without orthogonality: no search converges, and the dense solver answers."""
    weights = np.random.default_rng(0).uniform(0.5, 2, units)
    expected = np.exp(np.log(weights).mean())
    assert spectral_radius(shuffled(np.roll(np.diag(weights), 1, axis=0))) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("limit", "searches"), [(150, [80]), (149, [80, 240])])
def test_one_search_or_two_before_the_dense_solver(limit: int, searches: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def never_converges(*_: Any, ncv: int, **__: Any) -> None:
        calls.append(ncv)
        raise scipy.sparse.linalg.ArpackNoConvergence("no convergence", np.zeros(0), np.zeros((150, 0)))

    monkeypatch.setattr("echoscale.engine.eigen.scipy.sparse.linalg.eigs", never_converges)
    monkeypatch.setattr("echoscale.engine.eigen.DENSE_AFTER_ONE_SEARCH_UP_TO", limit)
    assert spectral_radius(normal(150)) == pytest.approx(abs(np.linalg.eigvals(normal(150))).max(), rel=1e-12)
    assert calls == [min(each, 149) for each in searches]


# Large matrices


@pytest.fixture
def few_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if 100 units were many."""
    monkeypatch.setattr(eigen, "DENSE_SPECTRUM_UP_TO", 100)


def laplacian(units: int) -> Array:
    """Of a ring: the vector of ones has the eigenvalue 0, so that a search that starts there goes nowhere."""
    return 2 * np.eye(units) - ring(units) - ring(units).T


def swap_symmetric(units: int) -> Array:
    """Two equal halves that inhibit each other: some eigenvectors are orthogonal to every symmetric start."""
    A, B = normal(units // 2, 1), normal(units // 2, 2)
    return np.block([[A, -2 * B], [-2 * B, A]])


LARGE = {
    "normal": normal(300),
    "sparse": sparse_normal(300, 10) / np.sqrt(10),
    "leaky": 0.7 * np.eye(300) + 0.3 * sparse_normal(300, 10) / np.sqrt(10),
    "inverted": -0.7 * np.eye(300) + 0.3 * sparse_normal(300, 10) / np.sqrt(10),
    "swap": swap_symmetric(250),
    "laplacian": laplacian(250),
}


@pytest.mark.usefixtures("few_dense")
@pytest.mark.parametrize("matrix", LARGE.values(), ids=LARGE)
def test_of_large_matrices_the_outermost_eigenvalues_are_found(matrix: Array) -> None:
    everything = np.linalg.eigvals(matrix)
    values, complete = eigenvalues(matrix)
    assert not complete
    assert len(values) < len(matrix)
    assert (np.diff(values.real) <= 0).all()
    assert values.real.max() == pytest.approx(everything.real.max(), abs=1e-9)
    assert values.real.min() == pytest.approx(everything.real.min(), abs=1e-9)
    assert values.imag.max() == pytest.approx(everything.imag.max(), abs=1e-9)
    assert abs(values).max() == pytest.approx(abs(everything).max(), abs=1e-9)
    # Every one of them is an eigenvalue, and none comes twice.
    assert abs(values[:, None] - everything[None, :]).min(axis=1).max() < 1e-9
    apart = abs(values[:, None] - values[None, :]) + np.eye(len(values))
    assert apart.min() > 1e-8
    # With each its conjugate: the matrix is real.
    assert abs(values.conj()[:, None] - values[None, :]).min(axis=1).max() < 1e-9


@pytest.mark.usefixtures("few_dense")
def test_small_parts_of_a_large_matrix_are_complete() -> None:
    small, large = normal(40, 1), normal(250, 2)
    matrix = scipy.linalg.block_diag(small, np.diag([0.123, -0.2]), large)
    matrix[42, 3] = 1.0  # the small part drives the large one
    values, complete = eigenvalues(shuffled(matrix))
    assert not complete
    inner = np.concatenate([np.linalg.eigvals(small), [0.123, -0.2]])
    assert abs(inner[:, None] - values[None, :]).min(axis=1).max() < 1e-10
    assert values.real.max() == pytest.approx(np.linalg.eigvals(matrix).real.max(), abs=1e-9)


@pytest.mark.usefixtures("few_dense")
def test_many_small_parts_are_complete() -> None:
    matrix = scipy.linalg.block_diag(*(normal(60, seed) for seed in range(5)))
    expected = np.concatenate([np.linalg.eigvals(normal(60, seed)) for seed in range(5)])
    assert distance(all_of(shuffled(matrix)), expected) < 1e-12


@pytest.mark.usefixtures("few_dense")
@pytest.mark.parametrize("matrix", [np.zeros((300, 300)), shuffled(np.eye(300, k=-1))], ids=["zero", "line"])
def test_a_large_matrix_without_cycles_is_complete(matrix: Array) -> None:
    assert all_of(matrix).tolist() == [0] * 300


@pytest.mark.usefixtures("few_dense")
def test_a_large_matrix_of_stored_zeros() -> None:
    values, _ = eigenvalues(scipy.sparse.csr_array(normal(250)) * 0.0)
    assert len(values)
    assert not values.any()


@pytest.mark.usefixtures("few_dense")
def test_what_does_not_converge_is_computed_after_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half an answer could miss the very extremes that are asked for; beyond what a dense solver can do there is none."""
    matrix = normal(250)

    def stops(*_: Any, **__: Any) -> None:
        raise scipy.sparse.linalg.ArpackNoConvergence("stopped early", np.linalg.eigvals(matrix)[:3], np.zeros((250, 3)))

    monkeypatch.setattr("echoscale.engine.eigen.scipy.sparse.linalg.eigs", stops)
    assert distance(all_of(matrix), np.linalg.eigvals(matrix)) < 1e-12
    monkeypatch.setattr("echoscale.engine.eigen.DENSE_AT_MOST", 249)
    with pytest.raises(RuntimeError, match="250 units did not converge"):
        eigenvalues(matrix)


@pytest.mark.usefixtures("few_dense")
@pytest.mark.parametrize("sign", [1, -1])
def test_a_large_ring_has_all_the_roots(sign: int) -> None:
    """Shifted, scaled and with one weight of either sign: too close together for iterations, known in closed form."""
    weights = np.random.default_rng(0).uniform(0.5, 2, 301)
    weights[7] *= sign
    ring = shuffled(np.roll(np.diag(weights), 1, axis=0) + 0.3 * np.eye(301))
    assert distance(all_of(ring), np.linalg.eigvals(ring)) < 1e-9


@pytest.mark.usefixtures("few_dense")
def test_the_search_does_not_depend_on_chance() -> None:
    first, second = (eigenvalues(LARGE["sparse"])[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)


# Bad input


@pytest.mark.parametrize("function", [eigenvalues, spectral_radius])
def test_a_matrix_that_is_not_square_is_refused(function: Any) -> None:
    with pytest.raises(ValueError, match=r"N, N|square"):
        function(np.ones((2, 3)))
