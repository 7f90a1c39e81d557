"""Forecasters as plain arrays and JSON, for `storage`.

A file holds the data, the networks and the readouts. The statistics of the readouts would be thirty times as large: the first
update after loading computes them from the data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale.data.clock import DATES, PERIODS, STEPS, Clock
from echoscale.data.differencing import DIFFERENCES
from echoscale.data.frames import ARRAY, COLUMNS, DICT, LIST, ONE, PANDAS, XARRAY, Form
from echoscale.data.model_arrays import Tensors, taken, under
from echoscale.data.scaling import read_scaling
from echoscale.engine.esn import ESN
from echoscale.forecasting.candidates import LANES as MOST_LANES
from echoscale.forecasting.data import Line, Units
from echoscale.forecasting.forecaster import Forecaster
from echoscale.forecasting.intervals import GRID
from echoscale.forecasting.lags import LEAST_ROWS, Recipe
from echoscale.forecasting.model import NAIVE, Core, Part, Reader, View
from echoscale.forecasting.networks import Net
from echoscale.forecasting.smoothing import TRENDS, Smoothing
from echoscale.readouts.ridge import Readout
from echoscale.storage.hyper import kept_hyper, read_hyper

PackESN = Callable[[ESN, Tensors], dict[str, Any]]
UnpackESN = Callable[[Mapping[str, Any], Tensors], ESN]
SETTINGS = ("horizon", "season", "mode", "difference", "log", "networks", "past", "panel", "seed")
LINE = ("values", "known", "future", "past")
LANES = ("factors", "level", "slope", "seasons", "squares")


def pack(model: Forecaster, tensors: Tensors, pack_esn: PackESN) -> dict[str, Any]:
    """Put the arrays into `tensors`; what is left, as JSON."""
    if not hasattr(model, "_cores"):
        raise ValueError("this Forecaster is not fitted yet: there is nothing to save. Call fit first.")
    for b, (values, table) in enumerate(zip(model._values, model._tables_given, strict=True)):
        tensors |= {f"y.{b}": values, f"X.{b}": table}
    tensors |= {"scaling.mean": model._scaling.mean, "scaling.spread": model._scaling.spread}
    cores = []
    for c, core in enumerate(model._cores):
        own: Tensors = {}
        cores.append(_pack_core(core, own, pack_esn))
        tensors |= {f"core.{c}.{name}": array for name, array in own.items()}
    return {
        "settings": {name: getattr(model, name) for name in SETTINGS},
        "form": {**asdict(model._form), "labels": [_plain(each) for each in model._form.labels]},
        "clocks": [clock.kept() for clock in model._clocks],
        "columns": list(model._columns),
        "places": list(model._places),
        "groups": model._groups,
        "horizon": model.horizon_,
        "season": model.season_,
        "cores": cores,
    }


def unpack(about: Mapping[str, Any], tensors: Tensors, unpack_esn: UnpackESN) -> Forecaster:
    """The inverse of `pack`."""
    for name, array in tensors.items():
        if array.dtype.kind == "f" and not name.startswith(("y.", "X.")) and not name.endswith(".floors"):
            taken(tensors, name, (None,) * array.ndim)  # finite: only data have gaps, and floors may be minus infinity
    model = Forecaster(**about["settings"])
    model._clocks = [_unpack_clock(each) for each in about["clocks"]]
    model._form = _unpack_form(about["form"], len(model._clocks))
    model._columns = tuple(str(each) for each in about["columns"])
    wide, count = len(model._columns), len(model._clocks)
    model._places = tuple(_place(each, wide, "places") for each in about["places"])
    model._values = [taken(tensors, f"y.{b}", (None,), finite=False) for b in range(count)]
    lengths = [len(each) for each in model._values]
    model._tables_given = [taken(tensors, f"X.{b}", (lengths[b], wide), finite=False) for b in range(count)]
    model._scaling = read_scaling(tensors, "scaling", wide)
    model._groups = [[_place(b, count, "groups") for b in group] for group in about["groups"]]
    if sorted(b for group in model._groups for b in group) != list(range(count)) or len(about["cores"]) != len(model._groups):
        raise ValueError("groups must hold every series once, and each has what was learned of it")
    model.horizon_, model.season_ = checks.integer(about["horizon"], "horizon", minimum=1), about["season"]
    model._cores = [_unpack_core(each, under(tensors, f"core.{c}."), unpack_esn) for c, each in enumerate(about["cores"])]
    periods: list[object] = about["season"] if len(model._groups) > 1 else [about["season"]]
    for core, group, period in zip(model._cores, model._groups, periods, strict=True):
        if core.horizon != model.horizon_ or core.period != period:
            raise ValueError("what was learned is of another horizon or season")
        _try(core, len(group), model.horizon_, wide - len(model._places))
    return model


def _unpack_form(about: Mapping[str, Any], count: int) -> Form:
    shape = checks.choice(about["shape"], (ONE, COLUMNS, DICT, LIST), "shape")
    library = checks.choice(about["library"], (ARRAY, PANDAS, XARRAY), "library")
    names, labels, dims = (tuple(about[name]) for name in ("names", "labels", "dims"))
    if not len(names) == len(labels) == count or len(set(names)) < count or (shape == ONE) > (count == 1):
        raise ValueError(f"{count} series must have as many names")
    if not all(isinstance(each, str) for each in names + dims):
        raise ValueError("names of series and dimensions must be text")
    if library == XARRAY and len(dims) != (2 if shape == COLUMNS else 1):
        raise ValueError(f"a DataArray of this form does not have {len(dims)} dimensions")
    hash(labels)
    return Form(shape, library, names, labels, dims)


def _unpack_clock(about: Mapping[str, Any]) -> Clock:
    clock = Clock(**about)
    checks.choice(clock.kind, (STEPS, DATES, PERIODS), "kind")
    if not (isinstance(clock.last, str) and isinstance(clock.frequency, str) and clock.offset is None):
        raise ValueError("times must be text")
    if not all(each is None or isinstance(each, str) for each in (clock.zone, clock.name)):
        raise ValueError("the time zone and the name of times must be text")
    if clock.kind == STEPS:
        int(clock.last), checks.integer(int(clock.frequency), "frequency", minimum=1)
    else:
        clock.moved(1)
    return clock


def _period(value: object) -> int | None:
    return None if value is None else checks.integer(value, "period", minimum=1)


def _spread(value: object) -> float:
    spread = checks.number(value, "spread")
    if not spread > 0:
        raise ValueError(f"spread must be above 0, not {spread}")
    return spread


def _try(core: Core, series: int, horizon: int, inputs: int) -> None:
    """Raise where what was read cannot forecast: shapes that do not fit each other show here, and not at a user's call."""
    found = core.forecast(horizon, [np.zeros((horizon, inputs))] * series)
    if len(core.scales) != series or any(
        each.shape != (horizon,) or not np.isfinite(each).all() for one in found for each in one
    ):
        raise ValueError("what was learned does not forecast")


def _place(value: object, count: int, name: str) -> int:
    place = checks.integer(value, name)
    if place >= count:
        raise ValueError(f"{name} names {place} of {count}")
    return place


def _plain(label: object) -> str | int | float | None:
    """A label as JSON: names and numbers stay what they are, others become their text."""
    if isinstance(label, np.generic):
        label = label.item()
    return label if label is None or isinstance(label, str | int | float) else str(label)


def _pack_core(core: Core, tensors: Tensors, pack_esn: PackESN) -> dict[str, Any]:
    tensors |= {"scales": core.scales, "table": core.table, "usual": core.usual, "floors": core.floors}
    tensors |= {f"edges.{b}": edges for b, edges in enumerate(core.edges)}
    views, parts = [], []
    for v, view in enumerate(core.views):
        for b, line in enumerate(view.lines):
            tensors |= {f"view.{v}.{b}.{name}": getattr(line, name) for name in LINE}
        for b, lanes in enumerate(view.lanes):
            tensors |= {f"lanes.{v}.{b}.{name}": getattr(lanes, name) for name in LANES}
        views.append(
            {
                "units": [list(each) for each in view.units],
                "first": [line.first for line in view.lines],
                "lanes": [[each.period, each.time, each.count, each.skip] for each in view.lanes],
            }
        )
    for p, part in enumerate(core.parts):
        tensors[f"part.{p}.weights"] = part.weights
        tensors |= {f"part.{p}.trail.{b}": trail[-1:] for b, trail in enumerate(part.trails)}
        reader: dict[str, Any] | None = None
        if part.reader is not None:
            readout = part.reader.readout
            own: Tensors = {"coef": readout.coef, "intercept": readout.intercept, "relative": part.reader.relative}
            net = part.reader.net
            if net is not None:
                packed = pack_esn(net.esn, own)
                own |= kept_hyper(net.lanes, "lanes")
            tensors |= {f"part.{p}.{name}": array for name, array in own.items()}
            reader = {
                "recipe": list(part.reader.recipe),
                "loop": part.reader.loop,
                "net": None if net is None else {"esn": packed, "lane": net.lane, "spread": net.spread},
            }
        parts.append({"view": part.view, "trend": part.trend, "reader": reader})
    return {
        "period": core.period,
        "horizon": core.horizon,
        "share": core.share,
        "views": views,
        "parts": parts,
        "candidates": [list(each) for each in core.candidates],
    }


def _unpack_core(about: Mapping[str, Any], tensors: Tensors, unpack_esn: UnpackESN) -> Core:
    horizon = checks.integer(about["horizon"], "horizon", minimum=1)
    (series,) = taken(tensors, "scales", (None,), least=0).shape
    views = [_unpack_view(each, tensors, v, series) for v, each in enumerate(about["views"])]
    lengths = [[len(line) for line in view.lines] for view in views]
    if not lengths or any(each != lengths[0] for each in lengths):
        raise ValueError("all views must hold the same steps")
    edges = [_edges(tensors, b, length) for b, length in enumerate(lengths[0])]
    shortest = min(int(each[-1]) for each in edges)
    parts = []
    for p, each in enumerate(about["parts"]):
        own = under(tensors, f"part.{p}.")
        reader = None if each["reader"] is None else _unpack_reader(each["reader"], own, unpack_esn)
        if reader is not None and reader.recipe.memory + LEAST_ROWS >= shortest:
            raise ValueError(f"{reader.recipe.memory} lags cannot have been learned from {shortest} steps")
        trails = [taken(own, f"trail.{b}", (1, None)) for b in range(series)] if reader is not None else []
        weights = taken(own, "weights", (horizon,))
        parts.append(Part(weights, _place(each["view"], len(views), "view"), each["trend"], reader, trails))
        if parts[-1].trend not in ((-1,) if reader is not None else (*range(len(TRENDS)), *NAIVE)):
            raise ValueError(f"there is no trend {parts[-1].trend!r}")
    candidates = tuple((str(name), float(error), float(weight)) for name, error, weight in about["candidates"])
    table, floors = taken(tensors, "table", (len(GRID), horizon)), taken(tensors, "floors", (series,), finite=False)
    usual = taken(tensors, "usual", (horizon,), least=0)
    share = min(checks.non_negative(about["share"], "share"), 1.0)
    scales = tensors["scales"]
    return Core(_period(about["period"]), horizon, views, parts, scales, table, usual, share, floors, candidates, edges)


def _edges(tensors: Tensors, b: int, length: int) -> npt.NDArray[np.int64]:
    edges = taken(tensors, f"edges.{b}", (None,), "i", least=0, most=length).astype(np.int64)
    if len(edges) != len(tensors["edges.0"]) or not len(edges) or len(edges) % 2 or edges[0] or (np.diff(edges) < 0).any():
        raise ValueError("edges must be those of parts of time with gaps between them, as many in every series")
    return edges


def _unpack_view(about: Mapping[str, Any], tensors: Tensors, v: int, series: int) -> View:
    lines, lanes = [], []
    if not len(about["first"]) == len(about["units"]) == series or len(about["lanes"]) not in (0, series):
        raise ValueError(f"view {v} must hold {series} series")
    for b, first in enumerate(about["first"]):
        own = under(tensors, f"view.{v}.{b}.")
        values = taken(own, "values", (None,))
        known, past = taken(own, "known", values.shape, "b"), taken(own, "past", (len(values), None))
        future = taken(own, "future", (None, None))
        if len(future) < len(values):
            raise ValueError("inputs that are known ahead are shorter than the series")
        lines.append(Line(values, known, future, past, checks.integer(first, "first")))
    for b, (period, time, count, skip) in enumerate(about["lanes"]):
        own = under(tensors, f"lanes.{v}.{b}.")
        factors = taken(own, "factors", (5, None))
        wide, period = factors.shape[1], checks.integer(period, "period", minimum=1)
        level, slope, squares = (taken(own, name, (wide,)) for name in ("level", "slope", "squares"))
        seasons = taken(own, "seasons", (period, wide))
        steps, skipped = checks.integer(time, "time"), checks.integer(skip, "skip")
        lanes.append(
            Smoothing(period, steps, factors, level, slope, seasons, squares, checks.non_negative(count, "count"), skipped)
        )
    units = [
        Units(checks.choice(log, (True, False), "log"), checks.number(mean, "mean"), _spread(spread))
        for log, mean, spread in about["units"]
    ]
    return View(units, lines, lanes)


def _unpack_reader(about: Mapping[str, Any], tensors: Tensors, unpack_esn: UnpackESN) -> Reader:
    net = None
    if about["net"] is not None:
        esn = unpack_esn(about["net"]["esn"], tensors)
        lanes = read_hyper(esn.hyper, tensors, "lanes")
        if (lanes.lanes or 1) > MOST_LANES:
            raise ValueError(f"a network has at most {MOST_LANES} lanes, not {lanes.lanes}")
        net = Net(esn, lanes, _place(about["net"]["lane"], lanes.lanes or 1, "lane"), _spread(about["net"]["spread"]))
    relative = taken(tensors, "relative", (None,), least=0)
    coef, intercept = (taken(tensors, name, (len(relative), 1, *more)) for name, more in (("coef", (None,)), ("intercept", ())))
    difference, window, period = about["recipe"]
    recipe = Recipe(checks.choice(difference, DIFFERENCES, "difference"), checks.integer(window, "window"), _period(period))
    reader = Reader(recipe, net, bool(about["loop"]), relative, None)
    vars(reader)["readout"] = Readout(coef, intercept, relative)
    return reader
