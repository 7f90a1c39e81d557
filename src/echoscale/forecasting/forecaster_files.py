"""Forecasters as plain arrays and JSON, for `storage`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from echoscale.esn import ESN
from echoscale.forecasting.clock import Clock
from echoscale.forecasting.core import Core, Part, View
from echoscale.forecasting.forecaster import Forecaster
from echoscale.forecasting.frames import Form
from echoscale.forecasting.lag_rows import Recipe
from echoscale.forecasting.lines import Line
from echoscale.forecasting.members import Reader
from echoscale.forecasting.reservoirs import Net
from echoscale.forecasting.smoothing import Smoothing
from echoscale.forecasting.units import Units
from echoscale.readouts.statistics import Statistics
from echoscale.scaling import Scaling
from echoscale.tensors import Tensors, kept_hyper, read_hyper

PackESN = Callable[[ESN, Tensors], dict[str, Any]]
UnpackESN = Callable[[Mapping[str, Any], Tensors], ESN]
SETTINGS = ("horizon", "season", "mode", "difference", "log", "networks", "past", "panel", "seed")
LINE = ("values", "known", "future", "past")
LANES = ("factors", "level", "slope", "seasons", "squares")
STATISTICS = ("count", "mean", "scatter")


def pack(model: Forecaster, tensors: Tensors, pack_esn: PackESN) -> dict[str, Any]:
    """Put the arrays into `tensors`; what is left, as JSON.

    Parameters
    ----------
    model : Forecaster
        Fitted.
    tensors : dict
        Gets the arrays.
    pack_esn : function of (ESN, tensors)
        Does the same with a network.
    """
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
        "clocks": [asdict(clock) for clock in model._clocks],
        "columns": list(model._columns),
        "places": list(model._places),
        "groups": model._groups,
        "horizon": model.horizon_,
        "season": model.season_,
        "cores": cores,
    }


def unpack(about: Mapping[str, Any], tensors: Tensors, unpack_esn: UnpackESN) -> Forecaster:
    """The inverse of `pack`.

    Parameters
    ----------
    about : mapping
        What was left as JSON.
    tensors : dict
        The arrays.
    unpack_esn : function of (JSON, tensors)
        Does the same with a network.
    """
    model = Forecaster(**about["settings"])
    form = about["form"]
    model._form = Form(form["shape"], form["library"], tuple(form["names"]), tuple(form["labels"]), tuple(form["dims"]))
    model._clocks = [Clock(**each) for each in about["clocks"]]
    model._columns, model._places = tuple(about["columns"]), tuple(about["places"])
    count = len(model._clocks)
    model._values = [tensors[f"y.{b}"] for b in range(count)]
    model._tables_given = [tensors[f"X.{b}"] for b in range(count)]
    model._scaling = Scaling(tensors["scaling.mean"], tensors["scaling.spread"])
    model._groups, model.horizon_, model.season_ = about["groups"], about["horizon"], about["season"]
    model._cores = [_unpack_core(each, _under(tensors, f"core.{c}."), unpack_esn) for c, each in enumerate(about["cores"])]
    return model


def _plain(label: object) -> str | int | float | None:
    """A label as JSON: names and numbers stay what they are, others become their text."""
    if isinstance(label, np.generic):
        label = label.item()
    return label if label is None or isinstance(label, str | int | float) else str(label)


def _under(tensors: Tensors, start: str) -> Tensors:
    return {name.removeprefix(start): array for name, array in tensors.items() if name.startswith(start)}


def _pack_core(core: Core, tensors: Tensors, pack_esn: PackESN) -> dict[str, Any]:
    tensors |= {"scales": core.scales, "table": core.table, "floors": core.floors}
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
        tensors |= {f"part.{p}.trail.{b}": trail for b, trail in enumerate(part.trails)}
        reader: dict[str, Any] | None = None
        if part.reader is not None:
            own: Tensors = {name: getattr(part.reader.statistics, name) for name in STATISTICS}
            own["relative"] = part.reader.relative
            net = part.reader.net
            if net is not None:
                packed = pack_esn(net.esn, own)
                own |= kept_hyper(net.hyper, "lane")
            tensors |= {f"part.{p}.{name}": array for name, array in own.items()}
            reader = {
                "recipe": list(part.reader.recipe),
                "loop": part.reader.loop,
                "features": part.reader.statistics.features,
                "net": None if net is None else {"esn": packed, "spread": net.spread},
            }
        parts.append({"view": part.view, "trend": part.trend, "reader": reader})
    return {
        "period": core.period,
        "horizon": core.horizon,
        "views": views,
        "parts": parts,
        "candidates": [list(each) for each in core.candidates],
    }


def _unpack_core(about: Mapping[str, Any], tensors: Tensors, unpack_esn: UnpackESN) -> Core:
    views = []
    for v, each in enumerate(about["views"]):
        lines = []
        for b, first in enumerate(each["first"]):
            values, known, future, past = (tensors[f"view.{v}.{b}.{name}"] for name in LINE)
            lines.append(Line(values, known, future, past, first))
        lanes = []
        for b, (period, time, count, skip) in enumerate(each["lanes"]):
            factors, level, slope, seasons, squares = (tensors[f"lanes.{v}.{b}.{name}"] for name in LANES)
            lanes.append(Smoothing(period, time, factors, level, slope, seasons, squares, count, skip))
        views.append(View([Units(*unit) for unit in each["units"]], lines, lanes))
    parts = []
    for p, each in enumerate(about["parts"]):
        own = _under(tensors, f"part.{p}.")
        reader = None if each["reader"] is None else _unpack_reader(each["reader"], own, unpack_esn)
        trails = [own[f"trail.{b}"] for b in range(len(views[0].lines))] if reader is not None else []
        parts.append(Part(own["weights"], each["view"], each["trend"], reader, trails))
    candidates = tuple((str(name), float(error), float(weight)) for name, error, weight in about["candidates"])
    scales, table, floors = tensors["scales"], tensors["table"], tensors["floors"]
    return Core(about["period"], about["horizon"], views, parts, scales, table, floors, candidates)


def _unpack_reader(about: Mapping[str, Any], tensors: Tensors, unpack_esn: UnpackESN) -> Reader:
    net = None
    if about["net"] is not None:
        esn = unpack_esn(about["net"]["esn"], tensors)
        net = Net(esn, read_hyper(esn.hyper, tensors, "lane"), about["net"]["spread"])
    count, mean, scatter = (tensors[name] for name in STATISTICS)
    statistics = Statistics(count, mean, scatter, about["features"])
    return Reader(Recipe(*about["recipe"]), net, about["loop"], tensors["relative"], statistics)
