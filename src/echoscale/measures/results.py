"""Results for a whole grid of hyper-parameters: a Dataset whose axis "lane" carries the varied values, and its plot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale._internal.plots import new_axes
from echoscale.engine.hyper import Hyper

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

LANE = "lane"
# Largest memory in bytes that a measure of a grid uses at once.
MOST_BYTES = 256 << 20
# Largest number of lines in the plot of a grid; of more lanes, evenly spaced ones are shown.
MOST_LINES = 8

Values = Mapping[str, tuple[Sequence[str], npt.NDArray[Any]]]


def labelled(measure: str, hyper: Hyper, values: Values, coords: Mapping[str, object], **attrs: object) -> xarray.Dataset:
    """A Dataset of arrays whose first axis is the lanes; without lanes there is no such axis."""
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


def plot(data: xarray.Dataset, axes: Axes | None = None) -> Axes:
    """Plot a measure: m(k) against k, capacities by degree, exponents, singular values, or one value per lane.

    Parameters
    ----------
    data : xarray.Dataset
        Result of a function of `echoscale.measures`.
    axes : matplotlib.axes.Axes, optional
        Axes to plot into; by default a new figure.

    Examples
    --------
    >>> import echoscale as es
    >>> esn = es.single(20, topology="ring").build(n_inputs=1, seed=0)
    >>> es.measures.plot(es.measures.linear_memory_capacity(esn)).get_xlabel()
    'lag k'
    """
    kinds = {
        "memory capacity": _memory,
        "processing capacity": _capacity,
        "Lyapunov exponents": _exponents,
        "ranks": _ranks,
        "echo index": _one_value,
        "dimension": _one_value,
        "consistency": _one_value,
    }
    measure = getattr(data, "attrs", {}).get("measure")
    if measure not in kinds:
        raise ValueError(f"data is not the result of a measure (its attrs name {measure!r}); known are {', '.join(kinds)}.")
    axes = new_axes(4.5) if axes is None else axes
    kinds[measure](data, axes)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize="small")
    return axes


def _lines(data: xarray.Dataset, name: str) -> list[tuple[str | None, npt.NDArray[np.float64]]]:
    """Label and values of every plotted lane."""
    if LANE not in data.dims:
        return [(None, data[name].values)]
    count = data.sizes[LANE]
    shown = np.unique(np.linspace(0, count - 1, min(count, MOST_LINES)).round().astype(int))
    varied = [each for each, values in data.coords.items() if values.dims == (LANE,)]
    return [(", ".join(f"{each}={float(data[each][k]):.3g}" for each in varied), data[name].values[k]) for k in shown]


def _along(data: xarray.Dataset, axes: Axes) -> npt.NDArray[np.float64]:
    """Positions of the lanes on the axis, which is named: the values of the only varied hyper-parameter, or lane numbers."""
    varied = [str(each) for each, values in data.coords.items() if values.dims == (LANE,)]
    axes.set_xlabel(varied[0] if len(varied) == 1 else LANE)
    return np.asarray(data[varied[0]].values if len(varied) == 1 else np.arange(data.sizes[LANE]))


def _memory(data: xarray.Dataset, axes: Axes) -> None:
    for label, values in _lines(data, "memory"):
        axes.plot(data["lag"], values.sum(axis=-1), label=label)
    axes.set(xlabel="lag k", ylabel="memory function m(k)")


def _capacity(data: xarray.Dataset, axes: Axes) -> None:
    if LANE not in data.dims:
        axes.bar(data["degree"].values.astype(str), data["capacity"])
        axes.set_xlabel("degree")
    else:
        heights, at = data["capacity"].values, _along(data, axes)
        axes.stackplot(at, heights.T, labels=[f"degree {d}" for d in data["degree"].values])
    axes.set_ylabel("processing capacity")


def _exponents(data: xarray.Dataset, axes: Axes) -> None:
    for label, values in _lines(data, "exponent"):
        axes.plot(data["place"], values, ".-", label=label)
    axes.axhline(0, color="black", linewidth=0.5)
    axes.set(xlabel="place", ylabel="conditional exponent")


def _ranks(data: xarray.Dataset, axes: Axes) -> None:
    for name, style in (("kernel", "-"), ("generalisation", "--")):
        for place, (label, values) in enumerate(_lines(data, name)):
            said = f"{name}, {label}" if label else name
            axes.semilogy(data["place"] + 1, values / values[0], style, color=f"C{place}", label=said)
    axes.axhline(data.attrs["tolerance"], color="black", linewidth=0.5)
    axes.set(xlabel="place", ylabel="singular value / largest")


def _one_value(data: xarray.Dataset, axes: Axes) -> None:
    name = next(iter(data.data_vars))
    if LANE in data.dims:
        axes.plot(_along(data, axes), data[name], ".-")
    else:
        axes.bar([data.attrs["measure"]], [float(data[name])])
    axes.set_ylabel(data.attrs["measure"])
