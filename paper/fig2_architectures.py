"""Fig. 2: the architectures, drawn from the networks themselves: a single reservoir, a hierarchy, and two in parallel."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from echoscale.network import Network, hierarchical, parallel, single
from echoscale.network.diagram import draw as draw_network
from echoscale.network.diagram import layout
from echoscale.sweeps import Runner
from paper import style
from paper.provenance import SCALES, labelled

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

LETTER = 0.25  # inches above a diagram, for the letter of its panel
SYMBOLS = (
    "α: leak rate (darker is slower); ρ: spectral radius; γ: input scaling\nNumber at the black arrow: strength of the coupling"
)
TITLES = {
    "single": "single",
    "hierarchical": "hierarchical\n(in the paper: connected)",
    "parallel": "parallel\n(in the paper: unconnected)",
}


@dataclass(frozen=True)
class Settings:
    """Neurons of the single network, and neurons and leak rates of both reservoirs of the other two."""

    units: int = 100
    parts: tuple[int, int] = (50, 50)
    leak_rates: tuple[float, float] = (1.0, 0.2)


SETTINGS = {scale: Settings() for scale in SCALES}  # a diagram has no scale


def compute(settings: Settings, scale: str, run: Runner) -> xarray.Dataset:
    """Describe the networks as JSON text. No job is needed."""
    import xarray

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
    """Draw all three, each with the space that its diagram needs."""
    networks = [Network.from_dict(json.loads(str(text))) for text in data.network.values]
    plans = [layout(network) for network in networks]
    # The third is the tallest: the first two are stacked beside it.
    stacked, third = plans[:2], plans[2]
    height = max(sum(plan.height for plan in stacked) + LETTER, third.height)
    figure: Figure = style.figure(height + 5.5 * LETTER, width=max(plan.width for plan in stacked) + third.width + LETTER)
    figure.suptitle("Fig. 2. The three architectures", fontsize=style.HEAD)
    figure.supxlabel(SYMBOLS, fontsize=style.TEXT)
    ratios = {"width_ratios": [max(plan.width for plan in stacked), third.width]}
    grid = figure.add_gridspec(2, 2, **ratios, height_ratios=[plan.height for plan in stacked])
    axes = [figure.add_subplot(place) for place in (grid[0, 0], grid[1, 0], grid[:, 1])]
    # Letters and titles of all panels come first: a diagram fits itself into the remaining space.
    for letter, name, ax in zip("ABC", data.architecture.values, axes, strict=True):
        style.panel(ax, letter, title=TITLES[str(name)], aside=0)
    for network, ax in zip(networks, axes, strict=True):
        draw_network(network, ax=ax)
    return figure
