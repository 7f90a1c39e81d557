"""The report of a sweep: the surface of the error, the best points, and the axes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from echoscale._internal.plots import drawn, new_axes
from echoscale.app.report import page
from echoscale.app.report.page import Html
from echoscale.sweeps.results import best_points, over_seeds

if TYPE_CHECKING:
    import xarray

    from echoscale._internal.table import Table

MANY = 6  # ticks of an axis


def sweep_page(data: xarray.Dataset) -> str:
    """The page as text."""
    settings = json.loads(data.attrs["settings"])
    best = best_points(data)
    axes = [(axis, len(labels), ", ".join(map(short, labels))) for axis, _, labels, _ in settings["axes"]]
    failures = json.loads(data.attrs["errors"])
    title = f"Sweep {data.attrs['sweep']}" if "sweep" in data.attrs else "Sweep"
    return page.page(
        title,
        page.paragraph(_verdict(best), "verdict"),
        page.section("Error over the grid", *_surface(data)),
        page.section("Best points", page.table_of(best)),
        page.section(
            "Axes and settings",
            page.table(("axis", "number", "values"), axes, "Axes", numbers=(1,)),
            *(page.command(f"{part}: {json.dumps(settings[part])}") for part in ("network", "problem", "protocol")),
        ),
        page.section("Failed points", page.items([page.text(each) for each in failures])) if failures else Html(""),
    )


def short(label: object) -> str:
    """A number without digits that come from rounding."""
    return f"{label:.6g}" if isinstance(label, float) else str(label)


def _verdict(best: Table) -> str:
    if not best.rows or best["validation"][0] is None:
        return "No point is finished yet."
    place = dict(zip(best.columns, best.rows[0], strict=True))
    validation, test = place.pop("validation"), place.pop("test")
    at = ", ".join(f"{name} {short(value)}" for name, value in place.items())
    return f"Least validation error {validation:.4g} at {at or 'its one point'}; test error there {test:.4g}."


def _surface(data: xarray.Dataset) -> list[Html]:
    """Validation error over the two longest axes, the minimum over all others; a line if there is one axis."""
    means, averaged = over_seeds(data)
    mean = means["validation"]
    if not np.isfinite(mean.values).any():
        return [page.paragraph("No point is finished yet.")]
    longest = sorted((str(name) for name in mean.dims if mean.sizes[name] > 1), key=lambda name: -mean.sizes[name])[:2]
    if not longest:
        return [page.paragraph("The grid has one point.")]
    least = mean.min([name for name in mean.dims if name not in longest]).transpose(*longest)
    ax = new_axes(5.2, 3.4)
    ax.set_xlabel(longest[-1])
    _ticks(ax.xaxis, least[longest[-1]].values)
    if len(longest) == 1:
        ax.plot(range(least.size), least.values, "o-")
        ax.set_ylabel("validation error")
    else:
        shades = ax.imshow(least.values, origin="lower", aspect="auto", cmap="viridis")
        ax.set_ylabel(longest[0])
        _ticks(ax.yaxis, least[longest[0]].values)
        ax.figure.colorbar(shades, ax=ax, label="validation error")
        row, column = np.unravel_index(int(np.nanargmin(least.values)), least.shape)
        # Black below white: the cross is visible on any colour.
        for colour, width in (("black", 3), ("white", 1.5)):
            ax.plot(column, row, "x", color=colour, markersize=6, markeredgewidth=width)
    others = [str(name) for name in mean.dims if name not in longest]
    words = "Validation error over " + " and ".join(longest)
    words += f", minimum over {' and '.join(others)}" * bool(others) + ", mean over seeds" * averaged
    return [page.picture(drawn(ax), words + ".", is_map=len(longest) == 2)]


def _ticks(axis: Any, labels: Any) -> None:
    places = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), MANY)).round().astype(int))
    axis.set_ticks(places, [f"{labels[k]:.3g}" if isinstance(labels[k], float) else str(labels[k]) for k in places])
