"""Lag matrices against loops over time, and lags in seasons."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest

from echoscale.data.lags import lagged, latest, season_lag


@pytest.mark.parametrize("lags", [(), (0,), (0, 1, 2), (2, 0, 7), range(0, 9, 4)], ids=str)
@pytest.mark.parametrize("length", [1, 2, 5, 30])
@pytest.mark.parametrize("known", [None, 0, 3, 20])
def test_a_lag_matrix_is_a_loop_over_steps(lags: tuple[int, ...], length: int, known: int | None) -> None:
    rng = np.random.default_rng(0)
    u, before = rng.normal(size=(length, 2)), None if known is None else rng.normal(size=(known, 2))

    def value(t: int) -> Any:
        if t >= 0:
            return u[t]
        return np.zeros(2) if before is None or -t > len(before) else before[-t - 1]

    wanted = [np.concatenate([np.zeros(0), *(value(t - lag) for lag in lags)]) for t in range(length)]
    np.testing.assert_array_equal(lagged(u, lags, before), wanted)
    np.testing.assert_array_equal(lagged(u, lags, None if before is None else before.ravel()), wanted)


@pytest.mark.parametrize("length", [1, 4, 30])
@pytest.mark.parametrize("lags", [(0,), (0, 1, 2), (2, 0, 7)], ids=str)
def test_pieces_carry_on(lags: tuple[int, ...], length: int) -> None:
    rng = np.random.default_rng(0)
    u = rng.normal(size=(40, 3))
    before = latest(u[:length], max(lags))
    np.testing.assert_array_equal(lagged(u[length:], lags, before), lagged(u, lags)[length:])
    again = latest(u[length : length + 2], max(lags), before)
    np.testing.assert_array_equal(lagged(u[length + 2 :], lags, again), lagged(u, lags)[length + 2 :])


@pytest.mark.parametrize("period", [1, 2, 7, 12])
def test_a_season_lag_is_the_smallest_in_phase(period: int) -> None:
    for ahead in range(3 * period + 2):
        assert season_lag(ahead, period) == next(lag for lag in count() if (ahead + lag) % period == 0)
