"""Results for a whole grid of hyper-parameters: a Dataset whose axis "lane" carries the varied values as coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale.data.series import Series, SeriesLike, as_series
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper

if TYPE_CHECKING:
    import xarray

LANE = "lane"
# Most memory in bytes that a measure of a grid uses at once.
MOST_BYTES = 256 << 20

Values = Mapping[str, tuple[Sequence[str], npt.NDArray[Any]]]


def labelled(measure: str, hyper: Hyper, values: Values, coords: Mapping[str, object], **attrs: object) -> xarray.Dataset:
    """A Dataset of arrays whose first axis is the lanes; a Hyper without lanes gives no such axis."""
    import xarray

    several = hyper.lanes is not None
    data = {name: ([LANE, *dims], each) if several else (list(dims), each[0]) for name, (dims, each) in values.items()}
    varied = {
        f"{name}[{place}]": (LANE, np.asarray(leaf))
        for name, leaves in zip(Hyper._fields, hyper, strict=True)
        for place, leaf in enumerate(leaves)
        if np.ndim(leaf)
    }
    return xarray.Dataset(data, {**coords, **varied}, {"measure": measure, **attrs})


def slabs(hyper: Hyper, bytes_per_lane: int) -> Iterator[tuple[slice, Hyper]]:
    """Pieces of a grid that fit into memory: a slice of lanes, and their hyper-parameters, always with lanes."""
    count, most = hyper.lanes or 1, max(MOST_BYTES // bytes_per_lane, 1)
    wide = hyper.map(lambda leaf: np.broadcast_to(np.asarray(leaf, np.float64), (count,)))
    for begin in range(0, count, most):
        which = slice(begin, min(begin + most, count))
        yield which, wide.map(lambda leaf, which=which: leaf[which])  # type: ignore[misc]


def one_series(esn: ESN, u: SeriesLike | Series) -> Series:
    """u as one checked series of this network."""
    series = as_series(u, esn.columns)
    if series.count != 1:
        raise ValueError(f"u holds {series.count} series: a network is measured along one. Give the longest.")
    return series


def check_steps(length: int, first: int, counted: int, why: str) -> None:
    """Refuse a series that is too short; the error names the length that is needed."""
    if length < first + counted:
        raise ValueError(
            f"u has {length} steps, but {why} needs at least {first + counted}: {first} that do not count, and {counted}."
        )
