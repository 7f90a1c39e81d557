"""The pictures of the page: Bokeh figures and their data sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import ColorBar, ColumnDataSource, FixedTicker, LinearColorMapper, Range1d
from bokeh.plotting import figure

from echoscale._internal.types import Array, Floats
from echoscale.app.live.data import SHOWN
from echoscale.app.live.numbers import CELLS, DELAYS, TIMES, MapAxis, Seen

if TYPE_CHECKING:
    from echoscale.app.live.data import LabData


# One colour per level, after Okabe and Ito: distinct for nearly everybody and dark enough for text.
LEVELS = ("#0072b2", "#b34d00", "#007a5a")
INK, QUIET = "#1a1a1a", "#595959"
LEAST_RESPONSE = 1e-4
HEIGHT = 270
# Pictures of a look, in the order of their updates while learning moves the sliders.
PICTURES = ("prediction", "disc", "timescales", "response", "states")


class Pictures:
    """The six pictures, and methods to show new numbers.

    Attributes
    ----------
    figures : dict of str to figure
        Figures disc, timescales, response, states, prediction and map.
    path : ColumnDataSource
        Coordinates x and y of the path on the map.
    """

    def __init__(self) -> None:
        turn = np.linspace(0, 2 * np.pi, 200)
        self.figures: dict[str, Any] = {}
        self.sources: dict[str, ColumnDataSource] = {}

        disc = self._figure("disc", "Re λ", "Im λ", match_aspect=True)
        disc.line(np.cos(turn), np.sin(turn), color=QUIET, line_dash="dashed")
        disc.scatter("x", "y", color="color", size=5, alpha=0.7, source=self._source("disc", "x", "y", "color"))

        times = self._figure(
            "timescales",
            "steps",
            "density, correlation",
            x_axis_type="log",
            x_range=(TIMES[0], TIMES[-1]),
            y_range=(-0.5, 1.05),
        )
        lines = {"line_width": 2}
        times.line("lag", "input", color=QUIET, source=self._source("data", "lag", "input", "target"), legend_label="input")
        times.line("lag", "target", color=INK, line_dash="dashed", source=self.sources["data"], legend_label="target")
        times.multi_line("xs", "ys", color="color", source=self._source("timescales", "xs", "ys", "color"), **lines)
        _legend(times)

        response = self._figure(
            "response",
            "steps after the impulse",
            "size of the response",
            y_axis_type="log",
            y_range=(LEAST_RESPONSE, 2),
            x_range=(0, DELAYS),
        )
        response.multi_line("xs", "ys", color="color", source=self._source("response", "xs", "ys", "color"), **lines)

        self.steps = Range1d(0, SHOWN)
        states = self._figure("states", "test step", "state", y_range=(-1.05, 1.05), x_range=self.steps)
        states.multi_line("xs", "ys", color="color", alpha=0.7, source=self._source("states", "xs", "ys", "color"))

        shown = self._figure("prediction", "test step", "target, prediction", x_range=self.steps)
        source = self._source("prediction", "t", "target", "prediction")
        shown.line("t", "target", color=INK, source=source, legend_label="target")
        shown.line("t", "prediction", color=LEVELS[1], source=source, legend_label="prediction")
        _legend(shown)

        self.colours = LinearColorMapper(palette="Viridis256", nan_color="#e6e6e6", low=0, high=1)
        self.path = self._source("path", "x", "y")
        self.path.name = "path"
        self._source("here", "x", "y")
        self.map_axes: tuple[MapAxis, MapAxis] | None = None

    def _figure(self, name: str, across: str, up: str, **options: Any) -> Any:
        made = figure(
            name=name,
            height=HEIGHT,
            sizing_mode="stretch_width",
            x_axis_label=across,
            y_axis_label=up,
            tools="box_zoom,reset",  # wheel and drag scroll the page
            toolbar_location="right",
            **options,
        )
        made.toolbar.logo = None
        made.toolbar.autohide = True
        made.xgrid.grid_line_alpha = made.ygrid.grid_line_alpha = 0.4
        self.figures[name] = made
        return made

    def _source(self, name: str, *columns: str) -> ColumnDataSource:
        self.sources[name] = ColumnDataSource({column: [] for column in columns})
        return self.sources[name]

    def show(self, view: Seen, names: Iterable[str] = PICTURES) -> None:
        """Show the numbers of a look at the network."""
        colours = LEVELS[: len(view.states)]
        eigenvalues = np.concatenate(view.eigenvalues)
        densities = [(one, colour) for one, colour in zip(view.densities, colours, strict=True) if len(one)]
        responses = [np.where(one > LEAST_RESPONSE / 10, one, np.nan) for one in view.responses]
        states = [(one[:, k], colour) for one, colour in zip(view.states, colours, strict=True) for k in range(one.shape[1])]
        before = self.sources["prediction"].data
        made = {
            "prediction": {**before, "prediction": view.prediction},
            "disc": {
                "x": eigenvalues.real,
                "y": eigenvalues.imag,
                "color": np.repeat(colours, [len(one) for one in view.eigenvalues]),
            },
            "timescales": _curves(TIMES, densities),
            "response": _curves(np.arange(DELAYS + 1), list(zip(responses, colours, strict=True))),
            "states": _curves(before["t"], states),
        }
        for name in names:
            self.sources[name].data = made[name]

    def show_data(self, data: LabData) -> None:
        """Show other data: their correlations, and the target."""
        lags, inputs, targets = data.correlations()
        self.sources["data"].data = {"lag": lags, "input": inputs, "target": targets}
        shown = data.shown
        steps, target = np.arange(shown.start, shown.stop), data.y[shown, 0]
        self.sources["prediction"].data = {"t": steps, "target": target, "prediction": np.full(len(steps), np.nan)}
        self.sources["states"].data = {"xs": [], "ys": [], "color": []}
        self.steps.update(start=shown.start, end=shown.stop)

    def new_map(self, across: MapAxis, up: MapAxis) -> Any:
        """An empty map over other hyper-parameters: a new figure, since the scale of an axis is fixed."""
        kinds = ["log" if axis.name.startswith("leak_rate") else "linear" for axis in (across, up)]
        made = self._figure(
            "map",
            across.name,
            up.name,
            x_axis_type=kinds[0],
            y_axis_type=kinds[1],
            x_range=(across.edges[0], across.edges[-1]),
            y_range=(up.edges[0], up.edges[-1]),
        )
        for axis, place in zip((across, up), (made.xaxis, made.yaxis), strict=True):
            if axis.name.startswith("leak_rate"):
                place.ticker = FixedTicker(ticks=[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0])
        made.add_layout(ColorBar(color_mapper=self.colours, width=8, padding=4, label_standoff=4), "right")
        self._source("map", "left", "right", "bottom", "top", "error")
        field = {"field": "error", "transform": self.colours}
        made.quad("left", "right", "top", "bottom", fill_color=field, line_color=None, source=self.sources["map"])
        made.line("x", "y", color="white", line_width=3, source=self.path)
        made.line("x", "y", color=LEVELS[1], line_width=1.5, source=self.path)
        made.scatter(
            "x", "y", marker="circle_x", fill_color="white", line_color=INK, size=13, line_width=2, source=self.sources["here"]
        )
        self.map_axes = (across, up)
        self.clear_map()
        return made

    def clear_map(self) -> None:
        """Make all cells grey."""
        assert self.map_axes is not None
        across, up = self.map_axes
        left, bottom = np.meshgrid(across.edges[:-1], up.edges[:-1])
        right, top = np.meshgrid(across.edges[1:], up.edges[1:])
        cells = {"left": left, "right": right, "bottom": bottom, "top": top}
        self.sources["map"].data = {**{k: v.ravel() for k, v in cells.items()}, "error": np.full(CELLS**2, np.nan)}

    def show_row(self, row: int, errors: Floats) -> None:
        """Show one more row of the map and adapt the colours: from the least error to the largest, at most 1.2."""
        source = self.sources["map"]
        source.patch({"error": [(slice(row * CELLS, (row + 1) * CELLS), errors)]})
        every = np.asarray(source.data["error"], np.float64)
        self.colours.low = float(np.nanmin(every))
        self.colours.high = float(np.clip(np.nanmax(every), self.colours.low + 1e-9, max(1.2, 1.01 * self.colours.low)))

    def show_place(self, x: float, y: float) -> None:
        """Mark the position of the sliders on the map."""
        self.sources["here"].data = {"x": [x], "y": [y]}


def _curves(across: Array, curves: Sequence[tuple[Floats, str]]) -> dict[str, Any]:
    """Several curves over the same axis, with their colours."""
    return {"xs": [across] * len(curves), "ys": [one for one, _ in curves], "color": [colour for _, colour in curves]}


def _legend(made: Any) -> None:
    """Place the legend in one line above the picture, where it hides nothing."""
    made.add_layout(made.legend[0], "above")
    made.legend.orientation = "horizontal"
    made.legend.label_text_font_size = "11px"
    made.legend.padding = made.legend.margin = 0
    made.legend.border_line_color = None
