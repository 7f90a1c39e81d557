"""What the study of hierarchies found: comparisons draw by draw, the answer in one sentence, a table, and the figure.

    d_s = log2(error of one network / error of the other) in draw s

A comparison is clear if the 95 % interval of Student's t for the mean of d does not contain 0. The best network of a family is,
for every task, the one with the least error in the draws that chose its numbers: the reported draws choose nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.stats

from paper import style
from paper.hierarchy_networks import HIERARCHIES, ORDERS, is_flat
from paper.types import Floats

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEVEL = 0.95
FAMILIES = {
    "single": ("single", style.BLACK, "o"),
    "spread": ("single, spread leak rates", style.ORANGE, "s"),
    "parallel": ("parallel", style.BLUE, "D"),
    "first": ("hierarchy, input to the first", style.RED, "^"),
    "all": ("hierarchy, input to all", style.PINK, "v"),
}
LIMIT = 3.0  # log2 at the ends of the colours


class Compared(NamedTuple):
    """Mean of log2 ratios over the draws, and half of its 95 % interval; NaN for one draw."""

    mean: Floats
    reach: Floats

    @property
    def less(self) -> Floats:
        """Where the first error is clearly the smaller one."""
        return np.asarray(self.mean + self.reach < 0)

    @property
    def more(self) -> Floats:
        """Where it is clearly the larger one."""
        return np.asarray(self.mean - self.reach > 0)


def compared(one: Floats, other: Floats) -> Compared:
    """Errors (..., draws) of two networks in the same draws."""
    logs = np.log2(np.asarray(one, np.float64) / other)
    count = logs.shape[-1]
    spread = logs.std(axis=-1, ddof=1) if count > 1 else np.full(logs.shape[:-1], np.nan)
    factor = scipy.stats.t.ppf((1 + LEVEL) / 2, count - 1) if count > 1 else np.nan
    return Compared(logs.mean(axis=-1), np.asarray(factor * spread / count**0.5))


def family_of(kind: str) -> str:
    """The family of a network: "first 3" is one of "first"."""
    return kind.split()[0]


def best(data: xarray.Dataset, families: Iterable[str], order: str = "any") -> tuple[Floats, Floats]:
    """Errors (tasks, shares, draws) of the best network of these families, and its place in the list of networks."""
    kinds, wanted = [str(each) for each in data["network"].values], set(families)
    places = np.array([k for k, kind in enumerate(kinds) if family_of(kind) in wanted])
    at = data.sel(order=order).isel(network=places)
    least = at["choice"].values.argmin(axis=0)
    errors = np.take_along_axis(at["error"].values.astype(np.float64), least[None, ..., None], axis=0)[0]
    return errors, places[least]


def flat(data: xarray.Dataset) -> list[str]:
    """The families in which no level drives another."""
    return list(dict.fromkeys(family_of(str(kind)) for kind in data["network"].values if is_flat(str(kind))))


def against_flat(data: xarray.Dataset, family: str, order: str = "any") -> Compared:
    """The best hierarchy of a family against the best flat network, (tasks, shares)."""
    return compared(best(data, [family], order)[0], best(data, flat(data))[0])


def answer(data: xarray.Dataset) -> str:
    """The answer in words, with all its numbers from the data."""
    counts = {family: against_flat(data, family) for family in HIERARCHIES}
    smaller, larger = ({name: int(getattr(each, part).sum()) for name, each in counts.items()} for part in ("less", "more"))
    tasks = counts["all"].mean.size
    return (
        "Give the input to all levels. The best hierarchy of this kind has a clearly smaller error than the best flat network "
        f"on {smaller['all']} of {tasks} tasks, and a clearly larger one on {larger['all']}. With the input to the first level "
        f"alone, as in the paper, the error is clearly smaller on {smaller['first']} tasks and clearly larger on "
        f"{larger['first']}."
    )


def by_share(data: xarray.Dataset) -> str:
    """The hierarchies against the best flat network for every share, over all tasks, in Markdown."""
    found = {family: against_flat(data, family) for family in HIERARCHIES}
    head = ["w"]
    for family in HIERARCHIES:
        head += [f"{FAMILIES[family][0]}: error / best flat", "clearly smaller, clearly larger"]
    rows = []
    for k, share in enumerate(data["share"].values):
        row = [f"{share:g}"]
        for each in found.values():
            row += [f"{2 ** each.mean[:, k].mean():.2f}", f"{int(each.less[:, k].sum())}, {int(each.more[:, k].sum())}"]
        rows.append(row)
    return _markdown(head, rows)


def table(data: xarray.Dataset) -> str:
    """Mean test NRMSE of every family at both ends, and the hierarchies against the best flat network, in Markdown."""
    shares = data["share"].values
    names = [name for name in FAMILIES if name in {family_of(str(kind)) for kind in data["network"].values}]
    head = ["task", "w", *(FAMILIES[name][0] for name in names), *(f"{name} / best flat" for name in HIERARCHIES)]
    rows = []
    for share in (int(shares.argmax()), int(shares.argmin())):
        errors = {name: best(data, [name])[0][:, share].mean(axis=-1) for name in names}
        ratios = {name: against_flat(data, name) for name in HIERARCHIES}
        for k, task in enumerate(data["task"].values):
            least = min(errors[name][k] for name in names)
            cells = [("**{:.3f}**" if errors[name][k] == least else "{:.3f}").format(errors[name][k]) for name in names]
            cells += [interval(ratios[name].mean[k, share], ratios[name].reach[k, share]) for name in HIERARCHIES]
            rows.append([str(task), f"{shares[share]:g}", *cells])
    return _markdown(head, rows)


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def interval(mean: float, reach: float) -> str:
    """A ratio of errors with its interval, from log2."""
    return f"{2**mean:.2f} [{2 ** (mean - reach):.2f}, {2 ** (mean + reach):.2f}]"


# ---------------------------------------------------------------------------------------------------------------------- figure


def draw(data: xarray.Dataset) -> Figure:
    """A, B: phase diagrams; C: error against w; D: against the number of timescales; E: orders; F: sizes."""
    figure = style.figure(8.8, width=7.2)
    draws, units = data.sizes["seed"], main_size(data)
    figure.suptitle(
        f"When does a hierarchy help?\n{data.attrs['scale']} scale: {units} neurons, {draws} draws that chose nothing",
        fontsize=9,
    )
    above, middle, below = figure.subfigures(3, 1, height_ratios=[1.15, 1, 1])
    panels = above.subplots(1, 2, sharey=True)
    for ax, letter, family in zip(panels, "AB", HIERARCHIES, strict=True):
        mesh = _draw_phases(ax, letter, data, family)
    panels[1].set_ylabel("")
    bar = above.colorbar(mesh, ax=list(panels), location="right", fraction=0.05, pad=0.02, extend="both")
    bar.set_label("log$_2$ of hierarchy / best flat", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    left, right = middle.subplots(1, 2)
    _draw_shares(left, data)
    _draw_ratios(right, data)
    left, right = below.subplots(1, 2)
    _draw_orders(left, data)
    _draw_sizes(right, data)
    built: Figure = figure
    return built


def main_size(data: xarray.Dataset) -> int:
    """The number of neurons of the main part."""
    from paper.provenance import settings_in

    return int(settings_in(data)["units"])


def two_timescales(data: xarray.Dataset) -> Sequence[int]:
    """The tasks of the phase diagram: one timescale, then two with rising ratios."""
    counts, ratios = data["count"].values, data["ratio"].values
    return sorted((k for k in range(len(counts)) if counts[k] <= 2), key=lambda k: ratios[k])


def shown_task(data: xarray.Dataset) -> int:
    """The task of the panels that show a single one: two timescales, with the ratio nearest to 30."""
    counts, ratios = data["count"].values, data["ratio"].values
    return min((k for k in range(len(counts)) if counts[k] == 2), key=lambda k: abs(np.log(ratios[k] / 30)))


def _draw_phases(ax: Axes, letter: str, data: xarray.Dataset, family: str) -> object:
    rows = two_timescales(data)
    found = against_flat(data, family)
    shares = data["share"].values
    x = np.arange(len(shares) + 1) - 0.5
    y = np.arange(len(rows) + 1) - 0.5
    mesh = ax.pcolormesh(x, y, found.mean[rows], cmap="RdBu_r", vmin=-LIMIT, vmax=LIMIT)
    for clear in (found.less[rows], found.more[rows]):
        down, along = np.nonzero(clear)
        ax.plot(along, down, ".", color="black", markersize=3)
    style.panel(ax, letter, x="$w$, share of averages of a product", y="slowest / fastest timescale", title=FAMILIES[family][0])
    every = max(1, (len(shares) - 1) // 5)
    ax.set_xticks(range(0, len(shares), every), [f"{shares[k]:g}" for k in range(0, len(shares), every)])
    names = ["one" if data["count"].values[k] == 1 else f"{data['ratio'].values[k]:g}" for k in rows]
    ax.set_yticks(range(len(rows)), names)
    return mesh


def _draw_shares(ax: Axes, data: xarray.Dataset) -> None:
    task, shares = shown_task(data), data["share"].values
    for name, (label, colour, marker) in FAMILIES.items():
        _band(ax, shares, best(data, [name])[0][task], label, colour, marker)
    ax.set_yscale("log")
    _legend(ax)
    style.panel(ax, "C", x="$w$, share of averages of a product", y="test NRMSE", title=str(data["task"].values[task]))


def _draw_ratios(ax: Axes, data: xarray.Dataset) -> None:
    """Ratios at both ends over the number of timescales."""
    ratio = float(data["ratio"].values[shown_task(data)])
    counts = data["count"].values
    rows = [k for k in range(len(counts)) if counts[k] == 1 or data["ratio"].values[k] == ratio]
    _ends(ax, data, rows, [f"{counts[k]}" for k in rows], "any")
    style.panel(ax, "D", x="number of timescales", y="hierarchy / best flat", title=f"ratio {ratio:g}")


def _draw_orders(ax: Axes, data: xarray.Dataset) -> None:
    task, shares = shown_task(data), data["share"].values
    reference = best(data, flat(data))[0][task]
    for name in HIERARCHIES:
        for order, line in zip(ORDERS[1:], ("-", ":"), strict=True):
            found = compared(best(data, [name], order)[0][task], reference)
            colour = FAMILIES[name][1]
            ax.plot(shares, 2**found.mean, line, color=colour, label=f"{name}, {order}", linewidth=1.5)
            ax.fill_between(
                shares, 2 ** (found.mean - found.reach), 2 ** (found.mean + found.reach), color=colour, alpha=0.15, linewidth=0
            )
    _one(ax)
    _legend(ax)
    style.panel(
        ax, "E", x="$w$, share of averages of a product", y="hierarchy / best flat", title=str(data["task"].values[task])
    )


def _draw_sizes(ax: Axes, data: xarray.Dataset) -> None:
    kinds, sizes = [str(each) for each in data["size_network"].values], data["units"].values
    flats = [k for k, kind in enumerate(kinds) if is_flat(kind)]
    task, shares = shown_task(data), data["share"].values
    for share, line in ((int(shares.argmax()), "-"), (int(shares.argmin()), ":")):
        errors, choice = (data[name].values[:, :, task, share] for name in ("size_error", "size_choice"))
        least = np.array(flats)[choice[:, flats].argmin(axis=1)]
        reference = errors[np.arange(len(sizes)), least]
        for k, kind in enumerate(kinds):
            if is_flat(kind):
                continue
            found = compared(errors[:, k], reference)
            _, colour, marker = FAMILIES[family_of(kind)]
            label = f"{family_of(kind)}, $w$ = {shares[share]:g}"
            bars = _reaches(found)
            ax.errorbar(sizes, 2**found.mean, bars, fmt=line + marker, color=colour, label=label, markersize=4, capsize=2)
    _one(ax)
    ax.set_xscale("log")
    ax.set_xticks(sizes, [str(each) for each in sizes])
    ax.minorticks_off()
    _legend(ax)
    style.panel(ax, "F", x="neurons", y="hierarchy / best flat", title=str(data["task"].values[task]))


def _ends(ax: Axes, data: xarray.Dataset, rows: list[int], names: list[str], order: str) -> None:
    shares, places = data["share"].values, np.arange(len(rows))
    for name in HIERARCHIES:
        found, (_, colour, marker) = against_flat(data, name, order), FAMILIES[name]
        for share, line in ((int(shares.argmax()), "-"), (int(shares.argmin()), ":")):
            at = Compared(found.mean[rows, share], found.reach[rows, share])
            label = f"{name}, $w$ = {shares[share]:g}"
            bars = _reaches(at)
            ax.errorbar(places, 2**at.mean, bars, fmt=line + marker, color=colour, label=label, markersize=4, capsize=2)
    _one(ax)
    ax.set_xticks(places, names)
    _legend(ax)


def _reaches(found: Compared) -> Floats:
    """The lengths of error bars below and above, on the scale of ratios."""
    middle = 2**found.mean
    return np.asarray(np.nan_to_num([middle - 2 ** (found.mean - found.reach), 2 ** (found.mean + found.reach) - middle]))


def _legend(ax: Axes) -> None:
    """Below the panel, where it hides nothing."""
    ax.legend(fontsize=6.5, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.24), ncols=2)


def _one(ax: Axes) -> None:
    """A logarithmic axis of ratios, with a line where both are equal."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    ax.set_yscale("log", base=2)
    ax.axhline(1, color="0.6", linewidth=0.8)
    ax.yaxis.set_major_locator(LogLocator(base=2))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _band(ax: Axes, x: Floats, errors: Floats, label: str, colour: str, marker: str) -> None:
    """Geometric means over the draws with their 95 % intervals."""
    found = compared(errors, np.ones_like(errors))
    ax.plot(x, 2**found.mean, color=colour, marker=marker, markersize=3, linewidth=1.2, label=label)
    ax.fill_between(x, 2 ** (found.mean - found.reach), 2 ** (found.mean + found.reach), color=colour, alpha=0.2, linewidth=0)
