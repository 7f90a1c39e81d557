"""How runs are cut does not change them: blocks of large networks, whole chunks, pairs of steps, against a plain NumPy loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import echoscale as es
from echoscale.data.series import as_series
from echoscale.engine import lanes

UNITS, SEQUENCES = 400, 18  # 2 x 400 units on 18 lanes: beyond CHEAP_STEP, where chunks are cut to fit


@pytest.fixture(scope="module")
def esn() -> es.ESN:
    network = es.hierarchical([UNITS, UNITS], leak_rate=[1.0, 0.4], spectral_radius=0.9, input_scaling=0.7, bias_scaling=0.1)
    return network.build(1, seed=0, dtype="float64")


def by_numpy(esn: es.ESN, u: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """All states (B, T, N) from the block matrix: every reservoir moves at once."""
    m = esn.matrices()
    x, rows = np.zeros((esn.units, len(u))), []
    for u_t in u.transpose(1, 2, 0):
        x = (1 - m.leak_rate)[:, None] * x + m.leak_rate[:, None] * np.tanh(m.W @ x + m.W_in @ u_t + m.bias[:, None])
        rows.append(x)
    return np.array(rows).transpose(2, 0, 1)


def plan(steps: int, every: int | None) -> lanes.Layout:
    return lanes.layout(as_series(np.zeros((SEQUENCES, steps, 1))), 1, 2 * UNITS, 8, True, every)


@pytest.mark.parametrize(
    ("steps", "every", "whole"),
    [(56, 2, True), (60, 3, True), (84, 28, True), (45, 4, False), (37, 1, False)],
)
def test_snapshots_of_large_networks_are_those_of_a_plain_loop(esn: es.ESN, steps: int, every: int, whole: bool) -> None:
    """Even and odd strides, series that fill their chunks and series that end within one."""
    assert plan(steps, every).whole == whole
    u = np.random.default_rng(steps).random((SEQUENCES, steps, 1))
    expected = by_numpy(esn, u)[:, every - 1 :: every]
    np.testing.assert_allclose(esn.snapshots(u, every), expected, rtol=0, atol=1e-12)


def test_series_of_unequal_length_end_where_they_end(esn: es.ESN) -> None:
    rng = np.random.default_rng(0)
    series = [rng.random((length, 1)) for length in rng.integers(20, 60, SEQUENCES)]
    for found, u in zip(esn.run(series), series, strict=True):
        np.testing.assert_allclose(found, by_numpy(esn, u[None])[0], rtol=0, atol=1e-12)


def test_chunks_are_of_one_length_where_a_step_is_dear() -> None:
    """28 rows that do not fit the cache at once: two chunks of 14, none idle."""
    cut = lanes.layout(as_series(np.zeros((512, 784, 1))), 1, 1200, 4, True, 28)
    rows = cut.steps // 28
    assert 28 % rows == 0
    assert cut.whole
    ragged = as_series([np.zeros((784, 1)), np.zeros((700, 1))] * 64)
    assert not lanes.layout(ragged, 1, 1200, 4, True, 28).whole
