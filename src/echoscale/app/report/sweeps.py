"""The report of a sweep: the surface of the error, the best points, and the axes."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from echoscale.app.report import page, style
from echoscale.app.report.auto import table_of
from echoscale.app.report.page import Html
from echoscale.sweeps.results import best_points, over_seeds

if TYPE_CHECKING:
    import xarray

MANY = 6  # ticks of an axis


def document(data: xarray.Dataset) -> str:
    """The page as text."""
    settings = json.loads(data.attrs["settings"])
    best = best_points(data)
    axes = [(axis, len(labels), ", ".join(map(_short, labels))) for axis, _, labels, _ in settings["axes"]]
    failures = json.loads(data.attrs["errors"])
    title = f"Sweep {data.attrs['sweep']}" if "sweep" in data.attrs else "Sweep"
    return page.page(
        title,
        page.paragraph(_verdict(best), "verdict"),
        page.section("Error over the grid", *_surface(data)),
        page.section("The best points", table_of(best)),
        page.section(
            "What was tried",
            page.table(("axis", "values", "which"), axes, "Axes", numbers=(1,)),
            *(page.command(f"{part}: {json.dumps(settings[part])}") for part in ("network", "problem", "protocol")),
        ),
        page.section("What failed", page.items([page.text(each) for each in failures])) if failures else Html(""),
    )


def _short(label: object) -> str:
    """A number without digits that come from rounding."""
    return f"{label:.6g}" if isinstance(label, float) else str(label)


def _verdict(best: Any) -> str:
    if not best.rows or best["validation"][0] is None:
        return "No point is finished."
    at = ", ".join(f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in _where(best))
    validation, test = best["validation"][0], best["test"][0]
    return f"Least validation error {validation:.4g} at {at or 'its one point'}; test error there {test:.4g}."


def _where(best: Any) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in zip(best.columns, best.rows[0], strict=True) if name not in ("validation", "test")]


def _surface(data: xarray.Dataset) -> list[Html]:
    """Validation error over the two longest axes, the least over all others; a line if there is one axis."""
    means, averaged = over_seeds(data)
    mean = means["validation"]
    if not np.isfinite(mean.values).any():
        return [page.paragraph("Nothing is finished yet.")]
    longest = sorted((str(name) for name in mean.dims if mean.sizes[name] > 1), key=lambda name: -mean.sizes[name])[:2]
    if not longest:
        return [page.paragraph("The grid has one point.")]
    least = mean.min([name for name in mean.dims if name not in longest]).transpose(*longest)
    figure = style.figure(3.4, 5.2)
    ax = figure.subplots()
    ax.set_xlabel(longest[-1] if len(longest) == 2 else longest[0])
    _ticks(ax.xaxis, least[longest[-1]].values)
    if len(longest) == 1:
        ax.plot(range(least.size), least.values, "o-", color=style.BLUE)
        ax.set_ylabel("validation error")
    else:
        drawn = ax.imshow(least.values, origin="lower", aspect="auto", cmap="viridis")
        ax.set_ylabel(longest[0])
        _ticks(ax.yaxis, least[longest[0]].values)
        figure.colorbar(drawn, ax=ax, label="validation error")
        row, column = np.unravel_index(int(np.nanargmin(least.values)), least.shape)
        style.cross(ax, float(column), float(row))
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=160)
    others = [str(name) for name in mean.dims if name not in longest]
    words = "Validation error over " + " and ".join(longest)
    words += f", the least over {' and '.join(others)}" * bool(others) + ", mean over seeds" * averaged
    return [page.picture(picture.getvalue(), words + ".", page.text(words + "."), is_map=len(longest) == 2)]


def _ticks(axis: Any, labels: Any) -> None:
    places = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), MANY)).round().astype(int))
    axis.set_ticks(places, [f"{labels[k]:.3g}" if isinstance(labels[k], float) else str(labels[k]) for k in places])
