"""Fig. 2: the architectures, drawn from the very networks: a single reservoir, a hierarchy, and two reservoirs in parallel."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from echoscale.experiments.run import Runner
from echoscale.network import Network, diagram, hierarchical, parallel, single
from echoscale.paper import style
from echoscale.paper.provenance import SCALES, labelled

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

LETTER = 0.25  # inches above a diagram, for the letter of its panel


@dataclass(frozen=True)
class Settings:
    """Neurons of the single network, and neurons and leak rates of both reservoirs of the other two."""

    units: int = 100
    parts: tuple[int, int] = (50, 50)
    leak_rates: tuple[float, float] = (1.0, 0.2)


SETTINGS = {scale: Settings() for scale in SCALES}  # a diagram has no scale


def compute(scale: str, run: Runner) -> xarray.Dataset:
    """The networks as JSON text. There is nothing to compute, so nothing is run."""
    import xarray

    settings = SETTINGS[scale]
    networks = {
        "single": single(settings.units),
        "hierarchical": hierarchical(settings.parts, leak_rate=settings.leak_rates),
        "parallel": parallel(settings.parts, leak_rate=settings.leak_rates),
    }
    texts = [json.dumps(network.to_dict()) for network in networks.values()]
    data = xarray.Dataset(
        {"network": ("architecture", texts, {"long_name": "the network, as JSON of Network.to_dict()"})},
        {"architecture": ("architecture", list(networks), {"long_name": "architecture"})},
    )
    return labelled(data, 2, scale, settings)


def draw(data: xarray.Dataset) -> Figure:
    """The three in a row, each with the width that its diagram asks for."""
    networks = [Network.from_dict(json.loads(str(text))) for text in data.network.values]
    plans = [diagram.layout(network) for network in networks]
    figure: Figure = style.figure(max(plan.height for plan in plans) + LETTER)
    axes = figure.subplots(1, len(networks), width_ratios=[plan.width for plan in plans])
    # Letters and titles of all panels first: a diagram fits itself into the room that is left.
    for letter, name, ax in zip("ABC", data.architecture.values, axes, strict=True):
        style.panel(ax, letter, title=str(name))
    for network, ax in zip(networks, axes, strict=True):
        diagram.draw(network, ax=ax)
    return figure
