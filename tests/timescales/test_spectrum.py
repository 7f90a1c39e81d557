"""The spectrum of built networks: against known eigenvalues, the closed forms, and the Jacobian of a step."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg
import scipy.sparse
import scipy.stats
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from echoscale import ESN, Coupling, EchoStateWarning, Network, Reservoir, hierarchical, parallel, single
from echoscale._internal.table import Table
from echoscale.engine import eigen
from echoscale.engine.devices import one_thread
from echoscale.timescales import Spectrum, bounds, cumulative

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


def level_eigenvalues(esn: ESN, k: int) -> Array:
    """lambda = 1 - alpha (1 - rho lambda_W) of one level, from its drawn matrix by LAPACK (paper, Eq. lambda)."""
    reservoir = esn.network.reservoirs[k]
    of_weights = np.linalg.eigvals(esn.drawn.recurrent[k].toarray())
    return np.asarray(1 - reservoir.leak_rate * (1 - reservoir.spectral_radius * of_weights))


# Times and periods of known eigenvalues


def rotation(size: float, angle: float) -> Array:
    """Eigenvalues size * exp(+-i angle)."""
    return size * np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])


def of(matrix: Any, dt: float = 1.0) -> Spectrum:
    return Spectrum.of(np.asarray(matrix, np.float64), np.asarray(matrix, np.float64), dt)


@pytest.mark.parametrize(("size", "angle"), [(0.9, 0.3), (0.5, 2.0), (0.99, 1e-3), (0.7, math.pi / 2)])
@pytest.mark.parametrize("dt", [1.0, 0.05])
def test_a_rotation_that_shrinks(size: float, angle: float, dt: float) -> None:
    spectrum = of(rotation(size, angle), dt)
    assert distance(spectrum.eigenvalues, size * np.exp(np.array([1j, -1j]) * angle)) < 1e-13
    assert spectrum.timescales == pytest.approx([dt / (1 - size * math.cos(angle))] * 2, rel=1e-9)
    assert spectrum.decay_times == pytest.approx([-dt / math.log(size)] * 2, rel=1e-9)
    assert spectrum.periods == pytest.approx([2 * math.pi * dt / angle] * 2, rel=1e-9)
    assert (spectrum.units, spectrum.complete, spectrum.dt) == (2, True, dt)


@pytest.mark.parametrize(
    ("value", "timescale", "decay_time", "period"),
    [
        (0.5, 2, 1 / math.log(2), math.inf),
        (0.0, 1, 0, math.inf),
        (-0.0, 1, 0, math.inf),
        (-0.5, 1 / 1.5, 1 / math.log(2), 2),
        (1.0, math.inf, math.inf, math.inf),
        (1.5, math.inf, math.inf, math.inf),
        (-1.0, 0.5, math.inf, 2),
        (-1.5, 0.4, math.inf, 2),
    ],
)
def test_real_modes(value: float, timescale: float, decay_time: float, period: float) -> None:
    """A negative eigenvalue alternates; zero forgets at once; from 1 on nothing decays."""
    for spectrum in (of([[value]]), replace(of([[0.3]]), eigenvalues=np.array([complex(value, 0.0)]))):
        assert spectrum.timescales.tolist() == pytest.approx([timescale])
        assert spectrum.decay_times.tolist() == pytest.approx([decay_time])
        assert spectrum.periods.tolist() == pytest.approx([period])


def test_a_rotation_that_neither_shrinks_nor_grows() -> None:
    spectrum = of([[0.0, -1.0], [1.0, 0.0]])
    assert spectrum.timescales.tolist() == pytest.approx([1, 1])
    assert spectrum.decay_times.tolist() == [math.inf, math.inf]
    assert spectrum.periods.tolist() == pytest.approx([4, 4])


def test_a_rotation_that_grows_and_passes_1() -> None:
    spectrum = of(rotation(1.2, 0.1))
    assert spectrum.timescales.tolist() == [math.inf, math.inf]
    assert spectrum.decay_times.tolist() == [math.inf, math.inf]
    assert spectrum.periods == pytest.approx([20 * math.pi] * 2)


def test_modes_stand_in_the_order_of_their_real_parts() -> None:
    spectrum = of(scipy.linalg.block_diag([[-0.5]], rotation(0.9, 0.3), [[0.2]], [[0.0]]))
    assert spectrum.eigenvalues == pytest.approx([0.9 * np.exp(-0.3j), 0.9 * np.exp(0.3j), 0.2, 0, -0.5])
    assert (np.diff(spectrum.timescales) <= 0).all()


def test_the_decay_time_of_a_mode_is_its_fall_by_e() -> None:
    """Of the envelope, measured on the powers of the matrix."""
    matrix = rotation(0.97, 0.4)
    steps = 400
    fall = math.log(np.linalg.norm(np.linalg.matrix_power(matrix, steps), 2))
    assert of(matrix).decay_times == pytest.approx([-steps / fall] * 2, rel=1e-9)


@limits(deadline=None)
@given(dt=st.floats(1e-6, 1e6))
def test_times_are_proportional_to_the_time_step(dt: float) -> None:
    matrix = scipy.linalg.block_diag(rotation(0.9, 0.3), np.diag([0.5, -0.5, 0.0, 1.5]))
    one, scaled = of(matrix), of(matrix, dt)
    np.testing.assert_array_equal(one.eigenvalues, scaled.eigenvalues)
    np.testing.assert_allclose(scaled.timescales, dt * one.timescales, rtol=1e-14)
    np.testing.assert_allclose(scaled.decay_times, dt * one.decay_times, rtol=1e-14)
    np.testing.assert_allclose(scaled.periods, dt * one.periods, rtol=1e-14)


def test_dense_and_sparse_matrices_have_one_spectrum() -> None:
    matrix = np.random.default_rng(0).normal(size=(20, 20))
    dense, sparse = (
        Spectrum.of(matrix, 2 * matrix),
        Spectrum.of(scipy.sparse.csr_array(matrix), scipy.sparse.csr_array(2 * matrix)),
    )
    np.testing.assert_array_equal(dense.eigenvalues, sparse.eigenvalues)
    np.testing.assert_array_equal(dense.of_weights, sparse.of_weights)
    assert distance(dense.of_weights, 2 * dense.eigenvalues) < 1e-12


# One reservoir


@pytest.mark.parametrize("topology", ["normal", "uniform", "ring", "concentric", "delay_line"])
def test_the_papers_relation_between_the_map_and_the_weights(topology: str) -> None:
    """lambda = 1 - alpha (1 - rho lambda_W); `of_weights` holds rho lambda_W."""
    alpha, rho = 0.3, 0.8
    esn = single(60, leak_rate=alpha, spectral_radius=rho, topology=topology).build(1)
    spectrum = esn.spectrum()
    assert distance(spectrum.eigenvalues, 1 - alpha * (1 - spectrum.of_weights)) < 1e-12
    assert distance(spectrum.of_weights, rho * np.linalg.eigvals(esn.drawn.recurrent[0].toarray())) < 1e-9
    assert distance(spectrum.eigenvalues, level_eigenvalues(esn, 0)) < 1e-9
    assert (np.diff(spectrum.of_weights.real) <= 0).all()


def test_the_timescales_are_the_papers() -> None:
    esn = single(60, leak_rate=0.3, spectral_radius=0.8).build(1)
    of_weights = np.linalg.eigvals(esn.drawn.recurrent[0].toarray())
    expected = 0.1 / (0.3 * (1 - 0.8 * of_weights.real))
    np.testing.assert_allclose(esn.spectrum(dt=0.1).timescales, np.sort(expected)[::-1], rtol=1e-10)


def test_other_numbers_have_another_spectrum() -> None:
    esn = parallel([20, 15], leak_rate=0.3, spectral_radius=0.8).build(1)
    other = esn.spectrum(1, hyper=esn.hyper.replace(leak_rate=[0.3, 0.9], spectral_radius=0.5))
    of_weights = np.linalg.eigvals(esn.drawn.recurrent[1].toarray())
    assert distance(other.eigenvalues, 1 - 0.9 * (1 - 0.5 * of_weights)) < 1e-12
    assert distance(other.of_weights, 0.5 * of_weights) < 1e-12


# Random reservoirs and the circular law

ALPHA, RHO = 0.5, 0.95
LAWS = pytest.mark.parametrize("law", ["normal", "uniform"])


@cache
def measured(law: str, units: int, seed: int) -> tuple[ESN, Array]:
    """A reservoir and its timescales, from the eigenvalues of its weights by LAPACK."""
    esn = single(units, leak_rate=ALPHA, spectral_radius=RHO, topology=law).build(1, seed=seed)
    with one_thread():  # tests that run side by side would wait for each other's threads
        of_weights = np.linalg.eigvals(esn.matrices().W.toarray())  # rho included
    return esn, np.sort(1 / (ALPHA * (1 - of_weights.real)))[::-1]


def assert_within_bounds(times: Array) -> None:
    """Weights are normalised to ten digits of their radius, and tau_max has 1 / (1 - rho) times its error."""
    low, high = bounds(ALPHA, RHO)
    assert times.min() >= low * (1 - 1e-8)
    assert times.max() <= high * (1 + 1e-8)


def mean_distance(law: str, units: int, seeds: int) -> float:
    """The mean Kolmogorov-Smirnov distance between measured timescales and the closed form."""
    taken = [measured(law, units, seed)[1] for seed in range(seeds)]
    return float(np.mean([scipy.stats.kstest(each, lambda tau: cumulative(tau, ALPHA, RHO)).statistic for each in taken]))


@LAWS
def test_every_timescale_of_a_thousand_units_lies_within_the_bounds(law: str) -> None:
    for seed in range(3):
        assert_within_bounds(measured(law, 1000, seed)[1])


@LAWS
def test_the_timescales_of_random_reservoirs_follow_the_closed_form_as_they_grow(law: str) -> None:
    large = mean_distance(law, 1000, seeds=3)
    assert large < 0.045
    assert large < mean_distance(law, 100, seeds=10)


@LAWS
def test_the_spectrum_of_a_thousand_units_is_lapacks(law: str) -> None:
    esn, times = measured(law, 1000, 0)
    ours = esn.spectrum().timescales
    assert_within_bounds(ours)
    np.testing.assert_allclose(ours, times, rtol=1e-8)


# Several reservoirs


def levels(count: int) -> dict[str, Any]:
    return {"units": [20, 15, 12, 18][:count], "leak_rate": [0.9, 0.4, 0.2, 0.05][:count], "spectral_radius": 0.9}


@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize("count", [2, 4])
def test_a_hierarchy_has_the_timescales_of_its_levels(count: int, delay: int) -> None:
    esn = hierarchical(**levels(count), coupling=0.7, coupling_delay=delay).build(1, seed=3)
    union = np.concatenate([level_eigenvalues(esn, k) for k in range(count)])
    whole = esn.spectrum()
    assert distance(whole.eigenvalues, union) < 1e-12
    assert distance(whole.eigenvalues, np.concatenate([esn.spectrum(k).eigenvalues for k in range(count)])) < 1e-12
    for k in range(count):
        assert distance(esn.spectrum(k).eigenvalues, level_eigenvalues(esn, k)) < 1e-12
    assert whole.units == esn.units
    assert [esn.spectrum(k).units for k in range(count)] == list(esn.sizes)


@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize("count", [2, 4])
def test_a_hierarchy_and_the_parallel_network_share_one_spectrum(count: int, delay: int) -> None:
    chain = hierarchical(**levels(count), coupling=0.7, coupling_delay=delay).build(1, seed=3)
    beside = parallel(**levels(count)).build(1, seed=3)
    for k in range(count):
        np.testing.assert_array_equal(chain.drawn.recurrent[k].toarray(), beside.drawn.recurrent[k].toarray())
    assert distance(chain.spectrum().eigenvalues, beside.spectrum().eigenvalues) < 1e-12
    assert distance(chain.spectrum().of_weights, beside.spectrum().of_weights) < 1e-12


def loop(delay: int, strength: float = 0.3) -> Network:
    reservoirs = (Reservoir(20, leak_rate=0.9, spectral_radius=0.9), Reservoir(15, leak_rate=0.4, spectral_radius=0.7))
    return Network(reservoirs, (Coupling(0, 1, strength=0.7), Coupling(1, 0, strength=strength)), delay)


def jacobian(esn: ESN) -> Array:
    """d step(0, x) / dx at the origin by central differences, all directions in one batch."""
    size, h = esn.units, 1e-5
    moved = np.concatenate([np.eye(size), -np.eye(size)]) * h
    after = esn.step(np.zeros((2 * size, esn.n_inputs)), moved)
    return np.asarray((after[:size] - after[size:]).T / (2 * h))


@pytest.mark.parametrize("delay", [0, 1])
def test_feedback_gives_timescales_that_no_level_has(delay: int) -> None:
    esn = loop(delay).build(1, dtype="float64")
    union = np.concatenate([level_eigenvalues(esn, k) for k in range(2)])
    whole = esn.spectrum().eigenvalues
    assert distance(whole, union) > 0.05
    # Simple eigenvalues move by about as much as the Jacobian errs, some 1e-10.
    assert distance(whole, np.linalg.eigvals(jacobian(esn))) < 1e-7


@pytest.mark.parametrize("delay", [0, 1])
def test_one_reservoir_by_itself_knows_nothing_of_feedback(delay: int) -> None:
    esn = loop(delay).build(1)
    for k in range(2):
        assert distance(esn.spectrum(k).eigenvalues, level_eigenvalues(esn, k)) < 1e-12


def test_feedback_of_strength_0_is_none() -> None:
    """Also where it would close a long chain, whose zeros no solver finds in a cycle."""
    esn = loop(1, strength=0.0).build(1)
    assert distance(esn.spectrum().eigenvalues, np.concatenate([level_eigenvalues(esn, k) for k in range(2)])) < 1e-12
    reservoirs = (Reservoir(5, topology="ring"), Reservoir(200, topology="delay_line"), Reservoir(4, topology="ring"))
    links = (Coupling(0, 1), Coupling(1, 2), Coupling(2, 0, strength=0.0))
    spectrum = Network(reservoirs, links).build(1).spectrum()
    for values in (spectrum.eigenvalues, spectrum.of_weights):
        assert (values == 0).sum() == 200
        assert abs(values[values != 0]) == pytest.approx([0.95] * 9)


# The table of a built network

TAUS = ("tau_min", "tau_5%", "tau_median", "tau_95%", "tau_max")
PERIODS = ("period_min", "period_max")


def rows(table: Table) -> dict[str, dict[str, Any]]:
    return {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}


def assert_gaps_are_explained(table: Table) -> None:
    """No NaN, and every cell without a number has a note that names its part."""
    for row in table.rows:
        assert not any(isinstance(cell, float) and math.isnan(cell) for cell in row)
        if None in row:
            assert any(note.startswith(f"{row[0]}:") for note in table.notes)


def assert_row(row: dict[str, Any], values: Array, dt: float) -> None:
    """Against eigenvalues of the map: the share q of n sorted times is the one at place floor(q (n - 1))."""
    rate = 1 - values.real
    times = np.sort(np.where(rate > 0, dt / np.where(rate > 0, rate, 1), np.inf))
    expected = [times[int(q * (len(times) - 1) + 1e-9)] for q in (0, 0.05, 0.5, 0.95, 1)]
    assert [row[name] for name in TAUS] == pytest.approx(expected, rel=1e-8)
    angles = np.abs(np.angle(values))
    turning = 2 * math.pi * dt / angles[angles > 1e-9]
    assert [row[name] for name in PERIODS] == pytest.approx([turning.min(), turning.max()], rel=1e-8)


@pytest.mark.parametrize("dt", [1.0, 0.1])
def test_the_table_of_a_hierarchy_holds_the_numbers_of_its_levels_and_of_the_whole(dt: float) -> None:
    esn = hierarchical([50, 30], leak_rate=[1.0, 0.2]).build(1, seed=2)
    table = esn.timescales(dt)
    parts = rows(table)
    assert table["part"] == ("R1", "R2", "all")
    assert table["units"] == (50, 30, 80)
    both = [level_eigenvalues(esn, k) for k in range(2)]
    assert_row(parts["R1"], both[0], dt)
    assert_row(parts["R2"], both[1], dt)
    assert_row(parts["all"], np.concatenate(both), dt)
    assert table.notes == ()
    assert f"{dt:g}" in table.title
    assert_gaps_are_explained(table)


def test_the_table_of_a_loop_shows_what_feedback_does() -> None:
    esn = loop(1).build(1)
    parts = rows(esn.timescales())
    m = esn.matrices()
    assert_row(parts["all"], np.linalg.eigvals(np.diag(1 - m.leak_rate) + m.leak_rate[:, None] * m.W.toarray()), 1.0)
    assert_row(parts["R2"], level_eigenvalues(esn, 1), 1.0)


def test_the_table_agrees_with_the_spectrum() -> None:
    esn = single(40, leak_rate=0.3, topology="uniform").build(1)
    [row] = rows(esn.timescales(0.5)).values()
    times, periods = esn.spectrum(dt=0.5).timescales, esn.spectrum(dt=0.5).periods
    turning = periods[np.isfinite(periods)]
    assert (row["tau_min"], row["tau_max"]) == (times.min(), times.max())
    assert (row["period_min"], row["period_max"]) == (turning.min(), turning.max())


def test_one_reservoir_has_one_row() -> None:
    assert single(20).build(1).timescales()["part"] == ("R1",)


def test_a_delay_line_in_the_table() -> None:
    table = parallel([30, 20], leak_rate=[1.0, 0.25], topology=["normal", "delay_line"]).build(1).timescales(dt=2)
    row = rows(table)["R2"]
    assert [row[name] for name in TAUS] == [8] * 5
    assert [row[name] for name in PERIODS] == [None, None]
    assert {note[:3] for note in table.notes} == {"R2:"}
    assert any("delay line" in note for note in table.notes)
    assert any("no mode oscillates" in note for note in table.notes)
    assert_gaps_are_explained(table)


def test_a_ring_in_the_table() -> None:
    """Eigenvalues rho exp(2 pi i k / n): times between the bounds, periods from 2 to n steps."""
    esn = single(12, spectral_radius=0.8, topology="ring").build(1)
    table = esn.timescales(dt=0.5)
    assert_row(rows(table)["R1"], 0.8 * np.exp(2j * math.pi * np.arange(12) / 12), 0.5)
    low, high = bounds(1.0, 0.8, 0.5)
    row = rows(table)["R1"]
    assert [row[name] for name in ("tau_min", "tau_max", *PERIODS)] == pytest.approx([low, high, 1, 6])


def test_an_own_matrix_in_the_table() -> None:
    """Eigenvalues 4, 2 and -2 are divided by 4, times rho."""
    own = np.array([[4.0, 0, 0], [1, 0, 2], [0, 2, 0]])
    row = rows(single(3, leak_rate=0.5, spectral_radius=0.8, topology=own).build(1).timescales())["R1"]
    assert [row[name] for name in TAUS] == pytest.approx([2 / 1.4, 2 / 1.4, 2 / 0.6, 2 / 0.6, 2 / 0.2])
    assert [row[name] for name in PERIODS] == [None, None]


def test_a_matrix_that_is_not_normalised_in_the_table() -> None:
    """`spectral_radius` is a plain factor: modes 0.5 and 1.5."""
    network = Network((Reservoir(2, spectral_radius=0.5, topology=np.diag([1.0, 3.0]), normalise=False),))
    table = network.build(1).timescales()
    assert [rows(table)["R1"][name] for name in TAUS] == [2, 2, 2, 2, math.inf]
    assert any(note.startswith("R1: 1 mode") for note in table.notes)
    assert_gaps_are_explained(table)


def test_growing_modes_in_the_table() -> None:
    with pytest.warns(EchoStateWarning):
        network = single(50, spectral_radius=1.5)
    esn = network.build(1)
    table = esn.timescales()
    values = level_eigenvalues(esn, 0)
    assert_row(rows(table)["R1"], values, 1.0)
    assert rows(table)["R1"]["tau_max"] == math.inf
    [note] = table.notes
    assert note.startswith(f"R1: {(abs(values) >= 1).sum()} modes do not decay")
    assert "∞" in str(table)
    assert_gaps_are_explained(table)


def test_a_network_in_which_all_modes_grow() -> None:
    table = Network((Reservoir(2, spectral_radius=0.5, topology=np.diag([3.0, 4.0]), normalise=False),)).build(1).timescales()
    assert [rows(table)["R1"][name] for name in TAUS] == [math.inf] * 5
    assert any(note.startswith("R1: 2 modes do not decay") for note in table.notes)
    assert_gaps_are_explained(table)


def test_two_modes_that_turn_opposite_ways_are_not_the_same() -> None:
    """Eigenvalues +-0.95i: one timescale, one period, and nothing to remark on."""
    table = single(2, topology=np.array([[0.0, -1.0], [1.0, 0.0]])).build(1).timescales()
    assert [rows(table)["R1"][name] for name in (*TAUS, *PERIODS)] == pytest.approx([1, 1, 1, 1, 1, 4, 4])
    assert table.notes == ()


@pytest.mark.parametrize(
    "network",
    [
        single(1),
        single(1, topology="delay_line"),
        single(20, spectral_radius=0.0, leak_rate=0.5),
        parallel([1, 2, 3], topology=["ring", "ring", "delay_line"]),
        single(9, topology="concentric", bias_scaling=0.5),
        single(3, topology=np.diag([1.0, 1.0, -1.0])),
        Network((Reservoir(2, topology=np.zeros((2, 2)), normalise=False),)),
        Network((Reservoir(2, topology=np.array([[1.0, -1.0], [1.0, -1.0]]), normalise=False),)),
    ],
    ids=["one unit", "line of one", "rho 0", "small ones", "concentric", "diagonal", "zero", "cancelling"],
)
def test_small_and_degenerate_networks_have_a_table_without_gaps_in_its_reasons(network: Network) -> None:
    table = network.build(1).timescales()
    assert len(table) == (1 if len(network.reservoirs) == 1 else len(network.reservoirs) + 1)
    assert_gaps_are_explained(table)
    for row in rows(table).values():
        assert 0 < row["tau_min"] <= row["tau_5%"] <= row["tau_median"] <= row["tau_95%"] <= row["tau_max"]


def test_without_recurrence_the_table_holds_the_time_of_the_leak() -> None:
    row = rows(single(20, spectral_radius=0.0, leak_rate=0.5).build(1).timescales())["R1"]
    assert [row[name] for name in TAUS] == [2] * 5


def test_the_printed_table_and_the_frame_hold_the_numbers() -> None:
    table = parallel([40, 5], leak_rate=[0.5, 0.1], topology=["normal", "delay_line"]).build(1).timescales()
    text, frame = str(table), table.to_frame()
    assert list(frame.columns) == list(table.columns)
    for place, row in enumerate(table.rows):
        for name, value in zip(table.columns, row, strict=True):
            assert (f"{value:.4g}" if isinstance(value, float) else "–" if value is None else str(value)) in text
            if value is None:
                assert frame.isna().loc[place, name]
            else:
                assert frame.loc[place, name] == value
    for note in table.notes:
        assert note in text
        assert note in table.markdown()


# Large networks


@pytest.fixture
def few_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if 100 units were many."""
    monkeypatch.setattr(eigen, "DENSE_SPECTRUM_UP_TO", 100)


@pytest.fixture(scope="module")
def large() -> ESN:
    return parallel([300, 50], leak_rate=[0.3, 0.5]).build(1, seed=0)


@pytest.mark.usefixtures("few_dense")
def test_of_large_networks_the_extremes_are_found_and_the_gaps_explained(large: ESN) -> None:
    table = large.timescales()
    both = [level_eigenvalues(large, k) for k in range(2)]
    parts = rows(table)
    for name, values in (("R1", both[0]), ("all", np.concatenate(both))):
        times = 1 / (1 - values.real)
        row = parts[name]
        assert (row["tau_min"], row["tau_max"]) == pytest.approx((times.min(), times.max()), rel=1e-9)
        assert [row[quantile] for quantile in TAUS[1:-1]] == [None] * 3
        # A period is the true one or none at all: slow turns hide deep inside the disc.
        angles = abs(np.angle(values))
        turning = 2 * math.pi / angles[angles > 1e-9]
        assert row["period_min"] in (None, pytest.approx(turning.min()))
        assert row["period_max"] in (None, pytest.approx(turning.max()))
    assert_row(parts["R2"], both[1], 1.0)
    assert {note.split(":")[0] for note in table.notes} == {"R1", "all"}
    assert_gaps_are_explained(table)


@pytest.mark.usefixtures("few_dense")
def test_the_spectrum_of_a_large_network_says_that_it_is_not_complete(large: ESN) -> None:
    spectrum = large.spectrum()
    assert (spectrum.complete, spectrum.units) == (False, 350)
    assert 50 < len(spectrum.eigenvalues) < 350
    assert large.spectrum(1).complete


@pytest.mark.usefixtures("few_dense")
def test_a_large_network_without_recurrence() -> None:
    row = rows(single(300, spectral_radius=0.0, leak_rate=0.5).build(1).timescales())["R1"]
    assert (row["tau_min"], row["tau_max"]) == (2, 2)


# Bad input


@pytest.mark.parametrize("reservoir", [2, -1, 7, "R1"])
def test_a_reservoir_that_is_not_there(reservoir: Any) -> None:
    with pytest.raises(ValueError, match=rf"reservoir must be one of 0, 1; got {reservoir!r}"):
        parallel([3, 4]).build(1).spectrum(reservoir)


@pytest.mark.parametrize("dt", [0, 0.0, -1.0, float("nan"), float("inf")])
def test_a_time_step_is_a_number_above_0(dt: float) -> None:
    esn = single(3).build(1)
    with pytest.raises(ValueError, match="dt must"):
        esn.timescales(dt)
    with pytest.raises(ValueError, match="dt must"):
        esn.spectrum(dt=dt)


def test_lanes_have_no_single_spectrum() -> None:
    esn = single(3).build(1)
    with pytest.raises(ValueError, match="2 lanes"):
        esn.spectrum(hyper=esn.hyper.replace(leak_rate=np.array([0.1, 0.2])))
