"""What is measured: the sizes, inputs and weights of every row, and the reference that all contenders must reproduce.

Every contender computes

    x(t) = (1 - a) x(t-1) + a tanh(W x(t-1) + W_in u(t)),    x(0) = 0, no bias,

with the weights drawn here (10 weights in each row of W, spectral radius 0.95). A hierarchy is the same equation with a
block matrix: the first reservoir hears the input, the second hears the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse
import scipy.sparse.linalg

Floats = npt.NDArray[np.float64]
Kind = Literal["run", "snapshots", "states", "sweep"]
Coupling = Literal["delayed", "same-step"]

CONNECTIONS = 10
SPECTRAL_RADIUS = 0.95
INPUT_SCALING = 0.2
COUPLING_STRENGTH = 0.1
RIDGE = 1e-5


@dataclass(frozen=True)
class Row:
    """One line of the table.

    run        one series through one reservoir, every state kept
    snapshots  many series through a hierarchy, the states after every `every` steps kept
    states     the same, every state kept
    sweep      one series through a hierarchy with every pair of leak rates of a grid, and a ridge readout for each pair
    """

    name: str
    title: str
    kind: Kind
    units: tuple[int, ...]
    leak_rates: tuple[float, ...]
    steps: int
    batch: int = 1
    every: int = 1
    washout: int = 0
    grid: int = 1

    @property
    def total_units(self) -> int:
        return sum(self.units)

    @property
    def lanes(self) -> int:
        """The number of networks of a sweep."""
        return self.grid**2

    def leak_vector(self, leak_rates: tuple[float, ...] | None = None) -> Floats:
        """One leak rate per neuron."""
        return np.repeat(self.leak_rates if leak_rates is None else leak_rates, self.units)


ROWS = (
    Row(
        name="single-100",
        title="1 series x 10,000 steps, 100 units, all states",
        kind="run",
        units=(100,),
        leak_rates=(0.5,),
        steps=10_000,
    ),
    Row(
        name="single-1000",
        title="1 series x 10,000 steps, 1,000 units, all states",
        kind="run",
        units=(1000,),
        leak_rates=(0.5,),
        steps=10_000,
    ),
    Row(
        name="batch-snapshots",
        title="256 series x 784 steps, hierarchy of 2 x 600 units, states after every 28 steps",
        kind="snapshots",
        units=(600, 600),
        leak_rates=(0.9, 0.3),
        steps=784,
        batch=256,
        every=28,
    ),
    Row(
        name="batch-states",
        title="256 series x 784 steps, hierarchy of 2 x 600 units, all states",
        kind="states",
        units=(600, 600),
        leak_rates=(0.9, 0.3),
        steps=784,
        batch=256,
    ),
    Row(
        name="sweep",
        title="20 x 20 leak rates on NARMA10, hierarchy of 2 x 50 units, 5,000 steps, states to ridge readout",
        kind="sweep",
        units=(50, 50),
        leak_rates=(0.9, 0.3),
        steps=5_000,
        washout=200,
        grid=20,
    ),
)

_QUICK = {
    "single-100": {"steps": 1_000, "title": "1 series x 1,000 steps, 100 units, all states"},
    "single-1000": {"steps": 1_000, "title": "1 series x 1,000 steps, 1,000 units, all states"},
    "batch-snapshots": {
        "batch": 16,
        "title": "16 series x 784 steps, hierarchy of 2 x 600 units, states after every 28 steps",
    },
    "batch-states": {"batch": 16, "title": "16 series x 784 steps, hierarchy of 2 x 600 units, all states"},
    "sweep": {
        "steps": 1_000,
        "grid": 4,
        "title": "4 x 4 leak rates on NARMA10, hierarchy of 2 x 50 units, 1,000 steps, states to ridge readout",
    },
}


def find_row(name: str, quick: bool = False) -> Row:
    """The row of that name, in its small size if `quick`."""
    row = next(row for row in ROWS if row.name == name)
    return replace(row, **_QUICK[name]) if quick else row  # type: ignore[arg-type]


@dataclass(frozen=True)
class Weights:
    """recurrent[k] (n_k, n_k) and inputs[k] (n_k, 1) of reservoir k; couplings[k] leads from reservoir k to k + 1."""

    recurrent: tuple[Floats, ...]
    inputs: tuple[Floats, ...]
    couplings: tuple[Floats, ...]

    def block(self) -> tuple[Floats, Floats]:
        """(W, W_in) of the whole network as one reservoir: a lower block-bidiagonal matrix."""
        ends = np.cumsum([0, *(len(matrix) for matrix in self.recurrent)])
        whole = np.zeros((ends[-1], ends[-1]))
        for k, matrix in enumerate(self.recurrent):
            whole[ends[k] : ends[k + 1], ends[k] : ends[k + 1]] = matrix
        for k, matrix in enumerate(self.couplings):
            whole[ends[k + 1] : ends[k + 2], ends[k] : ends[k + 1]] = matrix
        return whole, np.vstack(self.inputs)


def draw_weights(row: Row, seed: int = 0) -> Weights:
    """The weights of a row, the same in every process."""
    rng = np.random.default_rng(seed)
    count = len(row.units)
    recurrent = tuple(_recurrent(rng, units) for units in row.units)
    inputs = tuple(
        INPUT_SCALING * rng.uniform(-1, 1, (units, 1)) if k == 0 else np.zeros((units, 1)) for k, units in enumerate(row.units)
    )
    couplings = tuple(COUPLING_STRENGTH * _random_sparse(rng, row.units[k + 1], row.units[k]) for k in range(count - 1))
    return Weights(recurrent, inputs, couplings)


def _random_sparse(rng: np.random.Generator, post: int, pre: int) -> Floats:
    matrix = np.zeros((post, pre))
    for line in matrix:
        line[rng.choice(pre, min(CONNECTIONS, pre), replace=False)] = rng.standard_normal(min(CONNECTIONS, pre))
    return matrix


def _recurrent(rng: np.random.Generator, units: int) -> Floats:
    matrix = _random_sparse(rng, units, units)
    start = np.ones(units)
    largest = scipy.sparse.linalg.eigs(
        scipy.sparse.csr_array(matrix), k=4, ncv=min(80, units - 1), v0=start, return_eigenvectors=False
    )
    return np.asarray(matrix * (SPECTRAL_RADIUS / np.abs(largest).max()))


def draw_input(row: Row, seed: int = 1) -> Floats:
    """(batch, steps, 1) in [-1, 1], or in [0, 0.5] as NARMA10 has it for a sweep."""
    noise = np.random.default_rng(seed).uniform(size=(row.batch, row.steps, 1))
    return 0.5 * noise if row.kind == "sweep" else 2 * noise - 1


def narma10(u: Floats) -> Floats:
    """The NARMA10 target of an input in [0, 0.5], (steps, 1) -> (steps, 1)."""
    drive = u[:, 0]
    y = np.zeros(len(drive))
    for t in range(9, len(drive) - 1):
        y[t + 1] = 0.3 * y[t] + 0.05 * y[t] * y[t - 9 : t + 1].sum() + 1.5 * drive[t - 9] * drive[t] + 0.1
    return y[:, None]


def leak_values(row: Row) -> Floats:
    """The leak rates that a sweep tries for each reservoir."""
    return np.linspace(0.05, 1.0, row.grid)


def leak_grid(row: Row) -> tuple[Floats, Floats]:
    """The leak rates of both reservoirs at every point of a sweep, two arrays of length `lanes`."""
    values = leak_values(row)
    first, second = np.meshgrid(values, values, indexing="ij")
    return first.ravel(), second.ravel()


def sweep_points(row: Row, count: int) -> list[tuple[float, float]]:
    """`count` points spread evenly over the grid; all of them where there are no more."""
    first, second = leak_grid(row)
    chosen = np.unique(np.linspace(0, row.lanes - 1, min(count, row.lanes)).astype(int))
    return [(float(first[k]), float(second[k])) for k in chosen]


def training_steps(row: Row) -> int:
    """Where a tool that scores every point cuts a sweep's series: it fits on what is before and scores on the quarter after."""
    return row.steps - row.steps // 4


PROBE_STEPS = 84
PROBE_BATCH = 2


def probe_input(row: Row) -> Floats:
    """(series, steps, 1): the small part of the input on which every contender's states are checked, untimed."""
    return draw_input(row)[:PROBE_BATCH, :PROBE_STEPS]


def probe_states(row: Row, block: tuple[Any, Any] | None = None, coupling: Coupling = "delayed") -> Floats:
    """(series, steps, units): the states that a contender must return for `probe_input`, by a plain loop in float64.

    block     (W, W_in) of the whole network, dense; the weights of the row unless given
    coupling  a reservoir hears the one before it as it was one step earlier ("delayed"), or in the same step
    """
    return _reference_states(row, probe_input(row), draw_weights(row).block() if block is None else block, coupling)


def training_readout(row: Row, block: tuple[Any, Any]) -> Floats:
    """(1, units): the ridge coefficients for the training part of a sweep at `row.leak_rates`, in float64.

    An intercept is fitted beside them and not penalised.
    """
    steps = training_steps(row)
    u = draw_input(row)[:1]
    y = narma10(u[0])[row.washout : steps]
    states = _reference_states(row, u[:, :steps], block, "delayed")[0, row.washout :]
    states, y = states - states.mean(axis=0), y - y.mean(axis=0)
    return np.linalg.solve(states.T @ states + RIDGE * np.eye(row.total_units), states.T @ y).T


def _reference_states(row: Row, u: Floats, block: tuple[Any, Any], coupling: Coupling) -> Floats:
    whole, inputs = block
    ends = np.cumsum([0, *row.units])
    state, kept = np.zeros((len(u), row.total_units)), []
    for t in range(u.shape[1]):
        before = state.copy()
        for k, leak in enumerate(row.leak_rates):
            mine, earlier = slice(ends[k], ends[k + 1]), slice(0, ends[k])
            source = state if coupling == "same-step" else before
            heard = before[:, mine] @ whole[mine, mine].T + source[:, earlier] @ whole[mine, earlier].T
            state[:, mine] = (1 - leak) * before[:, mine] + leak * np.tanh(heard + u[:, t] @ inputs[mine].T)
        kept.append(state.copy())
    return np.stack(kept, axis=1)
