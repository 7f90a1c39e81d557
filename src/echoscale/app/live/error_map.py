"""The validation error over two hyper-parameters, row after row: what the map shows while it fills."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from echoscale._internal.types import Floats
from echoscale.app.live.controls import RANGES, Controls
from echoscale.app.live.data import LabData
from echoscale.data.scaling import scaling_of
from echoscale.data.series import as_series, as_targets
from echoscale.engine.hyper import with_lanes
from echoscale.readouts.ridge import normalised_errors, ridge
from echoscale.readouts.statistics import split_statistics

CELLS = 20  # along each axis


class MapAxis(NamedTuple):
    """Cells along a hyper-parameter.

    Attributes
    ----------
    name : str
        Such as "leak_rate[0]".
    values : (CELLS,) array
        The middles of the cells.
    edges : (CELLS + 1,) array
        Their edges.
    """

    name: str
    values: Floats
    edges: Floats


def axis(name: str) -> MapAxis:
    """The range of the slider in equal cells; the logarithm of leak rates, since timescales are what differs."""
    low, high, _ = RANGES[name.split("[")[0]]
    if name.startswith("leak_rate"):
        edges = np.geomspace(low, high, CELLS + 1)
        return MapAxis(name, np.sqrt(edges[1:] * edges[:-1]), edges)
    edges = np.linspace(low, high, CELLS + 1)
    return MapAxis(name, (edges[1:] + edges[:-1]) / 2, edges)


def order() -> list[int]:
    """Rows from coarse to fine: every second one between two that are there."""
    places, step = [0], 1 << (CELLS - 1).bit_length()
    while step > 1:
        step //= 2
        places += [k for k in range(step, CELLS, 2 * step)]
    return places


def rows(controls: Controls, data: LabData, across: MapAxis, up: MapAxis) -> Iterator[tuple[int, Floats]]:
    """Validation NRMSE of readouts fitted on the training steps. The networks of a row are the lanes of one run."""
    washout, trained, validated, _ = data.cuts
    series = scaling_of("standard", as_series(data.u[:trained])).apply(as_series(data.u[:validated]))
    targets = scaling_of("standard", as_series(data.y[:trained])).apply(as_series(data.y[:validated]))
    targets = as_targets(targets.values[0], series)
    esn = controls.network().build(series.features, controls.seed)
    for row in order():
        lanes = {across.name: across.values.tolist(), up.name: [float(up.values[row])] * CELLS}
        edges = [np.array([washout, trained, validated])]
        (train, validation), _ = split_statistics(esn, series, targets, edges, hyper=with_lanes(esn.hyper, lanes))
        yield row, normalised_errors(ridge(train, controls.ridge), validation)
