"""The linear regime: the Jacobian of a step, relaxation, and the kernels that turn an input into a state."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import naive
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from echoscale import ESN, Coupling, EchoStateWarning, Network, Reservoir, hierarchical, parallel, single
from echoscale.timescales.linear_regime import LinearSystem, mode_relaxation

Array = npt.NDArray[Any]


def noise(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def cycle(delay: int) -> Network:
    """Three levels with bias, a way ahead, a short cut and two ways back: every term of the map is at work."""
    return Network(
        (
            Reservoir(7, leak_rate=0.9, spectral_radius=0.9, bias_scaling=0.4, connections=4),
            Reservoir(5, leak_rate=0.4, spectral_radius=0.7, input_scaling=0.3, connections=3),
            Reservoir(6, leak_rate=0.2, spectral_radius=0.8, input_scaling=0.5, bias_scaling=0.8, connections=3),
        ),
        (
            Coupling(0, 1, strength=0.6, connections=3),
            Coupling(1, 2, strength=-0.5, connections=3),
            Coupling(0, 2, strength=0.4, connections=3),
            Coupling(2, 0, strength=0.3, connections=3),
            Coupling(1, 0, strength=0.2, connections=3),
        ),
        delay,
    )


def chain(delay: int) -> Network:
    """Three levels without bias, each of which hears the one before."""
    return hierarchical(
        [6, 5, 4],
        leak_rate=[0.8, 0.5, 0.3],
        spectral_radius=0.6,
        input_scaling=[0.8, 0.0, 0.2],
        coupling=0.7,
        coupling_delay=delay,
    )


# Built once: every new network costs a compilation.
CYCLES = {delay: cycle(delay).build(2, seed=1, dtype="float64") for delay in (0, 1)}
CHAINS = {delay: chain(delay).build(2, seed=1, dtype="float64") for delay in (0, 1)}
DELAYS = pytest.mark.parametrize("delay", [0, 1])
NETWORKS = pytest.mark.parametrize(
    "esn", [*CYCLES.values(), *CHAINS.values()], ids=["cycle 0", "cycle 1", "chain 0", "chain 1"]
)


def jacobians(esn: ESN, state: Array) -> tuple[Array, Array]:
    """d step(s, x) / dx and d step / ds at zero input by central differences, all directions in one batch."""
    size, inputs, h = esn.units, esn.n_inputs, 1e-5
    ways = np.eye(size + inputs) * h
    moved = np.concatenate([ways, -ways])
    after = esn.step(moved[:, size:], state + moved[:, :size])
    slopes = (after[: size + inputs] - after[size + inputs :]) / (2 * h)
    return slopes[:size].T, slopes[size:].T


# The map


@NETWORKS
@pytest.mark.parametrize("place", ["origin", "near", "far"])
def test_the_linear_system_is_the_jacobian_of_a_step(esn: ESN, place: str) -> None:
    """Central differences err by h^2 times the third derivative, some 1e-10, and by rounding / h, some 1e-11."""
    state = {"origin": np.zeros(esn.units), "near": 0.3 * noise(esn.units), "far": 2 * noise(esn.units, seed=1)}[place]
    M, B = jacobians(esn, state)
    system = esn.linearised(state=None if place == "origin" else state)
    np.testing.assert_allclose(system.M.toarray(), M, atol=1e-8)
    np.testing.assert_allclose(system.B, B, atol=1e-8)
    assert system.slices == esn.network.slices
    assert (system.M.shape, system.B.shape) == ((esn.units, esn.units), (esn.units, 2))


def test_a_list_is_a_state_too() -> None:
    state = 0.3 * noise(18)
    given_list, given_array = (CYCLES[0].linearised(state=each) for each in (state.tolist(), state))
    np.testing.assert_array_equal(given_list.M.toarray(), given_array.M.toarray())


def test_other_numbers_are_linearised_too() -> None:
    """The same weights with the numbers of the other network."""
    esn = CYCLES[1]
    other = esn.hyper.replace(leak_rate=[0.3, 0.2, 0.7], spectral_radius=0.4, bias_scaling=0.0, coupling=0.1)
    m = esn.matrices(other)
    system = esn.linearised(other)
    np.testing.assert_allclose(
        system.M.toarray(), np.diag(1 - m.leak_rate) + m.leak_rate[:, None] * m.W.toarray(), rtol=1e-13, atol=1e-15
    )
    np.testing.assert_allclose(system.B, m.leak_rate[:, None] * m.W_in, rtol=1e-13)


def test_without_bias_the_map_is_the_papers() -> None:
    """M = (1 - alpha) I + alpha rho W, B = alpha gamma W_in."""
    esn = single(20, leak_rate=0.3, spectral_radius=0.8, input_scaling=0.5).build(2)
    system = esn.linearised()
    W, W_in = esn.drawn.recurrent[0].toarray(), esn.drawn.inputs[0]
    np.testing.assert_allclose(system.M.toarray(), 0.7 * np.eye(20) + 0.3 * 0.8 * W, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(system.B, 0.3 * 0.5 * W_in, rtol=1e-13)


@pytest.mark.parametrize(
    "state", [np.zeros(17), np.zeros((1, 18)), np.zeros((18, 1)), 0.5], ids=lambda each: str(np.shape(each))
)
def test_a_state_of_another_shape_is_refused(state: Any) -> None:
    with pytest.raises(ValueError, match=r"state must have shape \(18,\), got") as caught:
        CYCLES[1].linearised(state=state)
    assert str(np.shape(state)) in str(caught.value)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_a_state_that_is_not_finite_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="state"):
        CYCLES[1].linearised(state=np.full(18, wrong))


# Parts


@DELAYS
@pytest.mark.parametrize("build", [CYCLES, CHAINS], ids=["cycle", "chain"])
def test_a_part_is_the_reservoir_cut_off_from_the_others(build: dict[int, ESN], delay: int) -> None:
    """As if it had been built alone: no way through another reservoir is left in it."""
    esn = build[delay]
    numbers = esn.hyper.replace(bias_scaling=0.0)
    system = esn.linearised(numbers)
    for k, reservoir in enumerate(esn.network.reservoirs):
        alpha, rho, gamma = reservoir.leak_rate, reservoir.spectral_radius, reservoir.input_scaling
        part = system.part(k)
        alone = (1 - alpha) * np.eye(reservoir.units) + alpha * rho * esn.drawn.recurrent[k].toarray()
        np.testing.assert_allclose(part.M.toarray(), alone, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(part.B, alpha * gamma * esn.drawn.inputs[k], rtol=1e-12, atol=1e-14)
        assert part.slices == (slice(0, reservoir.units),)


@pytest.mark.parametrize("reservoir", [3, -1, "R1"])
def test_a_part_that_is_not_there(reservoir: Any) -> None:
    with pytest.raises(ValueError, match=rf"reservoir must be one of 0, 1, 2; got {reservoir!r}"):
        CHAINS[1].linearised().part(reservoir)


# Relaxation and modes


def powers(M: Array, state: Array, steps: int) -> Array:
    """M^t x(0), one product after another."""
    rows = [state]
    for _ in range(steps):
        rows.append(M @ rows[-1])
    return np.array(rows)


@NETWORKS
def test_relaxation_is_the_power_of_the_map(esn: ESN) -> None:
    system, state = esn.linearised(), noise(esn.units)
    ours = system.relaxation(state, 40)
    assert ours.shape == (41, esn.units)
    assert ours.dtype == np.float64
    np.testing.assert_allclose(ours, powers(system.M.toarray(), state, 40), atol=1e-10)


@pytest.mark.parametrize(
    "network",
    [
        single(2, leak_rate=0.5, topology="delay_line"),
        single(5, leak_rate=0.5, topology="delay_line"),
        single(30, leak_rate=1.0, topology="delay_line"),
        parallel([6, 6], leak_rate=[0.5, 0.2], topology=["delay_line", "ring"]),
        hierarchical([4, 4], leak_rate=0.5, topology=[np.diag([1.0, 0.5, 0.2, 0.1])] * 2),
    ],
    ids=["two", "five", "thirty", "line and ring", "equal levels"],
)
def test_relaxation_needs_no_basis_of_eigenvectors(network: Network) -> None:
    """A delay line, or a level that drives another of the same timescales, has fewer eigenvectors than units."""
    system = network.build(1).linearised()
    state = noise(network.units)
    np.testing.assert_allclose(system.relaxation(state, 40), powers(system.M.toarray(), state, 40), atol=1e-10)


def test_no_step_leaves_the_state() -> None:
    state = noise(15)
    np.testing.assert_allclose(CHAINS[1].linearised().relaxation(state, 0), [state], atol=1e-12)


@DELAYS
def test_a_small_state_relaxes_as_the_linear_system_says(delay: int) -> None:
    """Without input or bias tanh is odd: what is left over falls with the cube of the state."""
    esn, state = CHAINS[delay], noise(15)
    system = esn.linearised()
    errors = []
    for size in (0.08, 0.04, 0.02):
        run = esn.run(np.zeros((30, 2)), state=size * state)
        errors.append(abs(run - system.relaxation(size * state, 30)[1:]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(3, abs=0.1)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(3, abs=0.1)


@NETWORKS
def test_modes_diagonalise_the_map(esn: ESN) -> None:
    M = esn.linearised().M.toarray()
    values, left, right = esn.linearised().modes()
    np.testing.assert_allclose(left @ M, values[:, None] * left, atol=1e-10)
    np.testing.assert_allclose(M @ right, right * values, atol=1e-10)
    np.testing.assert_allclose(left @ right, np.eye(esn.units), atol=1e-10)
    np.testing.assert_allclose(right @ np.diag(values) @ left, M, atol=1e-10)


@DELAYS
def test_every_mode_relaxes_with_the_powers_of_its_eigenvalue(delay: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """v . x(t) = lambda^t v . x(0) in the paper's equations as scalar loops, with f(h) = h."""
    monkeypatch.setattr(naive, "math", SimpleNamespace(tanh=lambda h: h))
    esn, state = CHAINS[delay], noise(15)
    values, left, _ = esn.linearised().modes()
    states = np.concatenate([[state], naive.states_of(esn, np.zeros((25, 2)), start=state)])
    expected = mode_relaxation(values, left @ state, 25)
    np.testing.assert_allclose(states @ left.T, expected, atol=1e-10)


@limits(deadline=None)
@given(
    values=st.lists(st.complex_numbers(max_magnitude=1.2, allow_nan=False, allow_subnormal=False), min_size=1, max_size=4),
    steps=st.integers(0, 12),
)
def test_the_amplitude_of_a_mode_is_a_repeated_product(values: list[complex], steps: int) -> None:
    start = (np.arange(1, len(values) + 1) + 0.5j).astype(np.complex128)
    rows = mode_relaxation(np.array(values), start, steps)
    assert rows.shape == (steps + 1, len(values))
    expected = start
    for row in rows:
        np.testing.assert_allclose(row, expected, rtol=1e-12, atol=1e-12)
        expected = expected * np.array(values)


def test_a_mode_of_0_is_there_at_the_start_only() -> None:
    assert mode_relaxation(np.array([0j]), np.array([3 + 0j]), 2).tolist() == [[3], [0], [0]]


# Kernels


def linear_states(system: LinearSystem, u: Array) -> Array:
    """x(t+1) = M x(t) + B s(t) from zero, entry by entry of the matrices."""
    M, B = system.M.toarray(), system.B
    x, rows = np.zeros(len(M)), []
    for s in u:
        x = np.array([M[i] @ x + B[i] @ s for i in range(len(M))])
        rows.append(x)
    return np.array(rows)


@NETWORKS
def test_the_delay_kernel_turns_the_past_of_the_input_into_the_state(esn: ESN) -> None:
    """x(t+1) = sum_j K_j s(t-j): exact from the first step on, the input being 0 before."""
    system, u = esn.linearised(), noise(30, 2)
    kernel = system.delay_kernel(29)
    assert kernel.shape == (30, esn.units, 2)
    states = np.array([sum(kernel[j] @ u[t - j] for j in range(t + 1)) for t in range(30)])
    np.testing.assert_allclose(states, linear_states(system, u), atol=1e-10)


def test_no_delay_is_the_input_matrix() -> None:
    system = CHAINS[1].linearised()
    np.testing.assert_array_equal(system.delay_kernel(0), system.B[None])


@DELAYS
def test_the_impulse_response_is_the_delay_kernel(delay: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's equations as scalar loops, with f(h) = h, after a single pulse in each input."""
    monkeypatch.setattr(naive, "math", SimpleNamespace(tanh=lambda h: h))
    esn = CHAINS[delay]
    kernel = esn.linearised().delay_kernel(39)
    for feature in range(2):
        pulse = np.zeros((40, 2))
        pulse[0, feature] = 1
        np.testing.assert_allclose(naive.states_of(esn, pulse), kernel[:, :, feature], atol=1e-10)


def test_a_later_level_hears_an_impulse_one_step_later_unless_couplings_are_without_delay() -> None:
    sooner, later = (CHAINS[delay].linearised(CHAINS[delay].hyper.replace(input_scaling=[1.0, 0.0, 0.0])) for delay in (0, 1))
    for k, own in enumerate(sooner.slices):
        heard = [[bool(abs(row[own]).max()) for row in each.delay_kernel(3)] for each in (sooner, later)]
        assert heard == [[True] * 4, [False] * k + [True] * (4 - k)]


def test_a_delay_line_keeps_the_input_for_its_length() -> None:
    """K_j is W_in of one unit, moved on by j places."""
    line = single(6, spectral_radius=0.5, input_scaling=1.0, topology="delay_line").build(1)
    kernel = line.linearised().delay_kernel(7)[:, :, 0]
    shift = 0.5 * np.eye(6, k=-1)
    for j, row in enumerate(kernel):
        np.testing.assert_allclose(row, np.linalg.matrix_power(shift, j) @ line.drawn.inputs[0][:, 0], atol=1e-15)
    assert not kernel[6:].any()


@DELAYS
def test_a_small_input_gives_the_linear_response(delay: int) -> None:
    """tanh(h) = h - h^3 / 3: the error falls with the cube of the input, with its square relative to the input."""
    esn, u = CHAINS[delay], noise(60, 2)
    expected = linear_states(esn.linearised(), u)
    errors = {size: float(abs(esn.run(size * u) - size * expected).max()) for size in (0.1, 0.05, 0.025)}
    assert np.log2(errors[0.1] / errors[0.05]) == pytest.approx(3, abs=0.1)
    assert np.log2(errors[0.05] / errors[0.025]) == pytest.approx(3, abs=0.1)


def differences(s: Array, order: int) -> list[Array]:
    """nabla^n s(t) for n = 0 ... order, nabla s(t) = s(t) - s(t-1); the first rows of each are not defined and left 0."""
    rows = [s]
    for _ in range(order):
        rows.append(np.concatenate([np.zeros((1, s.shape[1])), np.diff(rows[-1], axis=0)]))
    return rows


def by_differences(kernel: Array, u: Array) -> Array:
    return np.asarray(sum(row @ C.T for C, row in zip(kernel, differences(u, len(kernel) - 1), strict=True)))


@DELAYS
@pytest.mark.parametrize("degree", [0, 1, 2, 4])
def test_the_difference_kernel_is_exact_for_polynomials(degree: int, delay: int) -> None:
    """Differences beyond the degree are 0; the slowest mode, 0.88, has died out (1e-28) after 500 steps."""
    system = CHAINS[delay].linearised()
    assert abs(np.linalg.eigvals(system.M.toarray())).max() < 0.9
    t = np.arange(520)[:, None] / 100
    u = np.sum([noise(1, 2, seed=d) * t**d for d in range(degree + 1)], axis=0)
    states = linear_states(system, u)
    kernel = system.difference_kernel(degree)
    assert kernel.shape == (degree + 1, 15, 2)
    scale = abs(states).max()
    np.testing.assert_allclose(by_differences(kernel, u)[500:], states[500:], atol=1e-10 * scale)
    if degree:
        assert abs(by_differences(kernel[:-1], u)[500:] - states[500:]).max() > 1e-7 * scale


@DELAYS
def test_slow_inputs_need_few_differences(delay: int) -> None:
    """Against the exact response to exp(i w t): (I - M exp(-i w))^-1 B, and nabla = 1 - exp(-i w)."""
    system = CHAINS[delay].linearised()
    M = system.M.toarray()
    kernel = system.difference_kernel(6)
    errors = []
    for w in (0.02, 0.01):
        exact = np.linalg.solve(np.eye(15) - M * np.exp(-1j * w), system.B)
        nabla = 1 - np.exp(-1j * w)
        errors.append([abs(sum(C * nabla**n for n, C in enumerate(kernel[: k + 1])) - exact).max() for k in range(7)])
    fast, slow = np.array(errors)
    assert (fast[1:] < 0.5 * fast[:-1]).all()
    # With n differences the error is of order w^(n+1).
    np.testing.assert_allclose(np.log2(fast / slow), np.arange(1, 8), atol=0.3)


def test_a_slow_sine_in_time() -> None:
    system = CHAINS[1].linearised()
    u = np.sin(0.01 * np.arange(900))[:, None] * np.array([[1.0, -0.5]])
    states = linear_states(system, u)
    errors = [abs(by_differences(system.difference_kernel(order), u) - states)[600:].max() for order in range(5)]
    assert (np.array(errors[1:]) < 0.3 * np.array(errors[:-1])).all()
    assert errors[0] > 1e-3 > 1e-5 > errors[4]


@DELAYS
def test_the_first_term_of_the_difference_kernel_is_the_state_of_rest_under_a_constant_input(delay: int) -> None:
    for esn in (CYCLES[delay], CHAINS[delay]):
        system = esn.linearised(esn.hyper.replace(coupling=0.1))
        rest = system.difference_kernel(0)[0]
        np.testing.assert_allclose(system.M @ rest + system.B, rest, atol=1e-12)


def test_a_mode_that_keeps_its_state_for_ever_has_no_state_of_rest() -> None:
    """I - M is singular: a ring of radius 1 has the eigenvalue 1."""
    with pytest.warns(EchoStateWarning):
        network = single(5, spectral_radius=1.0, topology="ring")
    with pytest.raises(ValueError, match=r"(?i)eigenvalue 1|singular|do(es)? not decay"):
        network.build(1).linearised().difference_kernel(2)


# Bad input


@pytest.mark.parametrize("count", [-1, -7])
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda system, n: system.delay_kernel(n), "delays"),
        (lambda system, n: system.difference_kernel(n), "order"),
        (lambda system, n: system.relaxation(np.zeros(15), n), "steps"),
        (lambda system, n: mode_relaxation(np.ones(1, complex), np.ones(1, complex), n), "steps"),
    ],
    ids=["delays", "order", "steps", "mode steps"],
)
def test_negative_counts_are_refused(call: Any, name: str, count: int) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least 0, got {count}"):
        call(CHAINS[1].linearised(), count)
    for wrong in (1.5, "3", True):
        with pytest.raises(TypeError, match=f"{name} must be a whole number"):
            call(CHAINS[1].linearised(), wrong)


@pytest.mark.parametrize("state", [np.zeros(14), np.zeros((15, 2)), 0.5], ids=lambda each: str(np.shape(each)))
def test_relaxation_from_a_state_of_another_shape_is_refused(state: Any) -> None:
    with pytest.raises(ValueError, match=r"state must have shape \(15,\), got"):
        CHAINS[1].linearised().relaxation(state, 3)


def test_relaxation_from_a_state_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="state"):
        CHAINS[1].linearised().relaxation(np.full(15, np.nan), 3)
