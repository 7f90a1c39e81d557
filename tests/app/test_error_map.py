"""A cell of the map is the error of the network that stands there."""

from __future__ import annotations

import numpy as np
import pytest

from echoscale.app.live.controls import Controls, Level
from echoscale.app.live.data import TASKS
from echoscale.app.live.numbers import CELLS, axis, look, order, rows

SMALL = Controls((Level(12, 0.7), Level(8, 0.2, 0.9, 0.1, 0.3, 0.5)))


def test_every_row_comes_once_from_coarse_to_fine() -> None:
    assert sorted(order()) == list(range(CELLS))
    first = np.sort(order()[:5])
    assert np.diff(first).min() >= 4


@pytest.mark.parametrize("names", [("leak_rate[0]", "leak_rate[1]"), ("coupling[0]", "input_scaling[0]")])
def test_cells_are_errors_of_their_networks(names: tuple[str, str]) -> None:
    data, (across, up) = TASKS["NARMA10"](), map(axis, names)
    row, errors = next(rows(SMALL, data, across, up))
    for column in (0, 7, CELLS - 1):
        there = SMALL.changed(across.name, float(across.values[column])).changed(up.name, float(up.values[row]))
        assert errors[column] == pytest.approx(look(there, data).errors["validation"], rel=1e-5)
