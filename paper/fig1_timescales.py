"""Fig. 1: timescales in the linear regime: their density by theory and measurement, and effects of alpha, rho and structure.

The caption of the paper's panel C is backwards. tau is proportional to 1/alpha: *lower* leak rates give longer timescales,
and tau_max / tau_min = (1 + rho) / (1 - rho) is the same at every alpha. The figure shows the measured timescales. All
eigenvalues of a delay line are 0, so it has a single timescale, 1/alpha, where the paper shows a histogram; a ring, which is a
closed delay line, has a histogram. W has few weights in each row. This makes the disc of its eigenvalues a little denser in the
middle than the even disc of the theory, and explains most of the difference between points and line in B at large N. The
difference shrinks with more weights in a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from echoscale import timescales
from echoscale.network import Network, hierarchical, parallel, single
from echoscale.sweeps import Arrays, Job, Runner
from paper import style
from paper.provenance import labelled
from paper.types import Floats

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Spectra = dict[tuple[Any, ...], Arrays]

LAWS = ("normal", "uniform")
LANDMARKS = ("tau_min", "tau_peak", "tau_max")
STRUCTURES = ("delay line", "ring", "single ESN", "2 ESNs, unconnected", "2 ESNs, connected")
TAU = r"timescale $\tau$ (steps)"


@dataclass(frozen=True)
class Settings:
    """Neurons: `shown` in A, all `sizes` in B, `swept` in C and D, `compared` in E."""

    shown: int
    sizes: tuple[int, ...]
    seeds: tuple[int, ...]  # of B and E
    bins: int
    swept: int
    compared: int
    structure_bins: int
    seed: int = 0  # of A, C and D
    leak_rate: float = 0.5  # of A, B and D
    spectral_radius: float = 0.9  # of A, B and C
    leak_rates: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0)  # C
    spectral_radii: tuple[float, ...] = (0.1, 0.18, 0.32, 0.56, 0.99)  # D, evenly spaced in the logarithm
    structure_leak_rates: tuple[float, float] = (0.9, 0.2)  # E: of the first and of the second reservoir
    structure_spectral_radius: float = 0.9  # E
    structure_range: tuple[float, float] = (0.5, 60.0)  # E: of the histograms


SETTINGS = {
    "smoke": Settings(shown=60, sizes=(25, 100), seeds=tuple(range(3)), bins=10, swept=40, compared=60, structure_bins=20),
    "quick": Settings(
        shown=200, sizes=(50, 150, 400), seeds=tuple(range(8)), bins=20, swept=150, compared=100, structure_bins=30
    ),
    "paper": Settings(
        shown=300, sizes=(100, 300, 1000), seeds=tuple(range(20)), bins=30, swept=200, compared=200, structure_bins=40
    ),
}


def compute(settings: Settings, scale: str, run: Runner) -> xarray.Dataset:
    """Compute spectra of random networks, and the closed forms beside them."""
    import xarray

    networks = _networks(settings)
    jobs = [
        Job.of(spectrum, network=network, seed=seed, weights=key[0] == "plane") for key, (network, seed) in networks.items()
    ]
    spectra: Spectra = dict(zip(networks, run(jobs), strict=True))
    parts = (
        _plane(settings, spectra),
        _density(settings, spectra),
        _sweep("alpha", settings.leak_rates, lambda each: (each, settings.spectral_radius), spectra),
        _sweep("rho", settings.spectral_radii, lambda each: (settings.leak_rate, each), spectra),
        _structures(settings, spectra),
    )
    return labelled(xarray.merge(parts, join="exact", compat="equals"), 1, scale, settings)


def spectrum(network: Network, seed: int, weights: bool) -> Arrays:
    """Eigenvalues of the linearised system and the timescales, (N,) each; on request also the eigenvalues of W."""
    found = network.build(n_inputs=1, seed=seed).spectrum()
    made: Arrays = {"eigenvalues": found.eigenvalues, "timescales": found.timescales}
    return {**made, "of_weights": found.of_weights} if weights else made


def _networks(s: Settings) -> dict[tuple[Any, ...], tuple[Network, int]]:
    """All networks whose spectra are needed, with their seeds, by panel."""
    one: dict[str, Any] = {"leak_rate": s.leak_rate, "spectral_radius": s.spectral_radius}
    jobs: dict[tuple[Any, ...], tuple[Network, int]] = {("plane",): (single(s.shown, **one), s.seed)}
    # The same seed gives the same W: along alpha and along rho nothing else changes.
    for alpha in s.leak_rates:
        jobs["alpha", alpha] = single(s.swept, leak_rate=alpha, spectral_radius=s.spectral_radius), s.seed
    for rho in s.spectral_radii:
        jobs["rho", rho] = single(s.swept, leak_rate=s.leak_rate, spectral_radius=rho), s.seed
    first, rho, half = s.structure_leak_rates[0], s.structure_spectral_radius, s.compared // 2
    two: dict[str, Any] = {"leak_rate": s.structure_leak_rates, "spectral_radius": rho}
    structures = (
        single(s.compared, leak_rate=first, spectral_radius=rho, topology="delay_line"),
        single(s.compared, leak_rate=first, spectral_radius=rho, topology="ring"),
        single(s.compared, leak_rate=first, spectral_radius=rho),
        parallel([half, half], **two),
        hierarchical([half, half], **two),
    )
    for seed in s.seeds:
        for name, network in zip(STRUCTURES, structures, strict=True):
            jobs[name, seed] = network, seed
        for law in LAWS:
            for units in s.sizes:
                jobs[law, units, seed] = single(units, topology=law, **one), seed
    return jobs


def _plane(s: Settings, spectra: Spectra) -> xarray.Dataset:
    """A: eigenvalues of W, of unit spectral radius, and of the linearised system."""
    found = spectra["plane",]
    both = np.stack([found["of_weights"] / s.spectral_radius, found["eigenvalues"]])
    return _dataset(
        matrix=("matrix", ["W", "system"], "the matrix whose eigenvalues these are"),
        eigenvalue_real=(("matrix", "mode"), both.real, "real part of the eigenvalue"),
        eigenvalue_imag=(("matrix", "mode"), both.imag, "imaginary part of the eigenvalue"),
        leak_rate=((), s.leak_rate, "leak rate of A, B and D"),
        spectral_radius=((), s.spectral_radius, "spectral radius of A, B and C"),
    )


def _density(s: Settings, spectra: Spectra) -> xarray.Dataset:
    """B: histograms of the largest networks, the closed form, and the distance of the two for all sizes."""
    numbers = s.leak_rate, s.spectral_radius
    low, high = timescales.bounds(*numbers)
    # A little wider than the bounds: the outermost eigenvalue lies on the circle, and rounding must not push it out.
    edges = np.geomspace(low * (1 - 1e-6), high * (1 + 1e-6), s.bins + 1)
    fine = np.geomspace(low, high, 300)
    seeds = s.seeds

    def times(law: str, units: int, seed: int) -> Floats:
        return spectra[law, units, seed]["timescales"]

    histograms = [[np.histogram(times(law, s.sizes[-1], seed), edges, density=True)[0] for seed in seeds] for law in LAWS]
    distances = [[[_distance(times(law, units, seed), *numbers) for seed in seeds] for units in s.sizes] for law in LAWS]
    return _dataset(
        law=("law", list(LAWS), "law of the non-zero weights"),
        units=("units", list(s.sizes), "neurons"),
        seed=("seed", list(seeds), "seed of the weights"),
        tau=("tau", np.sqrt(edges[1:] * edges[:-1]), "timescale, middle of the bin", "steps"),
        tau_edge=("tau_edge", edges, "timescale, edges of the bins", "steps"),
        density=(("law", "seed", "tau"), np.array(histograms), "measured density, largest networks", "1 / steps"),
        tau_fine=("tau_fine", fine, "timescale", "steps"),
        density_theory=("tau_fine", timescales.density(fine, *numbers), "density by theory", "1 / steps"),
        landmark=("landmark", list(LANDMARKS), "mark of a distribution of timescales"),
        tau_landmark=("landmark", _landmarks(*numbers), "marks by theory", "steps"),
        distance=(("law", "units", "seed"), np.array(distances), "Kolmogorov-Smirnov distance to the theory"),
    )


def _sweep(name: str, values: tuple[float, ...], numbers: Callable[[Any], tuple[Any, Any]], spectra: Spectra) -> xarray.Dataset:
    """C, D: all timescales of one network for every value of alpha or rho, bodies and bounds by theory."""
    low, high = timescales.bounds(*numbers(np.array(values)[:, None]))
    heights = low * (high / low) ** np.linspace(0, 1, 101)
    body = heights * timescales.density(heights, *numbers(np.array(values)[:, None]))  # on a logarithmic axis
    fine = np.geomspace(values[0], values[-1], 101)
    long = {"alpha": "leak rate", "rho": "spectral radius"}[name]
    shares = [0.05, 0.25, 0.5, 0.75, 0.95]
    tau = np.array([np.sort(spectra[name, value]["timescales"]) for value in values])
    return _dataset(
        **{
            name: (name, np.array(values), long),
            "quantile": ("quantile", np.array(shares), "share of timescales below"),
            f"tau_of_{name}": ((name, f"mode_of_{name}"), tau, "measured timescales, shortest first", "steps"),
            f"quantile_of_{name}": ((name, "quantile"), np.quantile(tau, shares, axis=1).T, "their quantiles", "steps"),
            f"body_tau_of_{name}": ((name, "body"), heights, "timescales from tau_min to tau_max", "steps"),
            f"body_of_{name}": (
                (name, "body"),
                body / body.max(axis=1, keepdims=True),
                "density of log tau by theory, relative to its maximum",
            ),
            f"{name}_fine": (f"{name}_fine", fine, long),
            f"tau_landmark_of_{name}": (
                ("landmark", f"{name}_fine"),
                _landmarks(*numbers(fine)),
                "marks by theory",
                "steps",
            ),
        }
    )


def _structures(s: Settings, spectra: Spectra) -> xarray.Dataset:
    """E: shares of the timescales in bins of equal ratio, means over the seeds."""
    edges = np.geomspace(*s.structure_range, s.structure_bins + 1)
    times = np.array([[spectra[name, seed]["timescales"] for seed in s.seeds] for name in STRUCTURES])
    shares = np.array([np.histogram(each, edges)[0] / each.size for each in times])
    first, second = (
        np.diff(timescales.cumulative(edges, alpha, s.structure_spectral_radius)) for alpha in s.structure_leak_rates
    )
    line = np.diff(timescales.cumulative(edges, s.structure_leak_rates[0], 0.0))
    # The timescales of a ring do not follow the law of random matrices.
    theory = [line, np.full_like(line, np.nan), first, (first + second) / 2, (first + second) / 2]
    apart = np.abs(times[STRUCTURES.index("2 ESNs, unconnected")] - times[STRUCTURES.index("2 ESNs, connected")])
    return _dataset(
        structure=("structure", list(STRUCTURES), "structure of the network"),
        tau_bin=("tau_bin", np.sqrt(edges[1:] * edges[:-1]), "timescale, middle of the bin", "steps"),
        tau_bin_edge=("tau_bin_edge", edges, "timescale, edges of the bins", "steps"),
        share=(("structure", "tau_bin"), shares, "share of the timescales in a bin, mean over the seeds"),
        share_theory=(("structure", "tau_bin"), np.array(theory), "the share by theory"),
        longest=("structure", times.max(axis=(1, 2)), "longest timescale of all seeds", "steps"),
        structure_leak_rate=("reservoir", np.array(s.structure_leak_rates), "leak rates of E"),
        coupling_effect=((), float(apart.max()), "largest difference of timescales, connected or not", "steps"),
    )


def _distance(times: Floats, leak_rate: float, spectral_radius: float) -> float:
    """Kolmogorov-Smirnov: the largest distance of the empirical from the theoretical P(timescale <= tau)."""
    theory = timescales.cumulative(np.sort(times), leak_rate, spectral_radius)
    steps = np.arange(len(times) + 1) / len(times)
    return float(max((steps[1:] - theory).max(), (theory - steps[:-1]).max()))


def _landmarks(leak_rate: float | Floats, spectral_radius: float | Floats) -> Floats:
    """tau_min, tau_peak and tau_max, (3, ...)."""
    low, high = timescales.bounds(leak_rate, spectral_radius)
    return np.stack([low, timescales.peak(leak_rate, spectral_radius), high])


def _dataset(**variables: tuple[Any, ...]) -> xarray.Dataset:
    """A dataset from name=(dims, values, long name[, unit]); a variable named like its only dimension is a coordinate."""
    import xarray

    made = {
        name: xarray.Variable(dims, values, {"long_name": long, "units": unit[0] if unit else "1"})
        for name, (dims, values, long, *unit) in variables.items()
    }
    return xarray.Dataset(made)


def draw(data: xarray.Dataset) -> Figure:
    """Draw theory in orange (the lines, and the bodies of C and D); points, dots and bars are measured."""
    figure: Figure = style.figure(9.5)
    seeds = data.sizes["seed"]
    size = f"{seeds} random networks in B and E, one in A, C and D" if seeds > 1 else "one random network"
    style.title(figure, data, "Timescales of reservoirs in the linear regime", size)
    parts: Any = figure.subfigures(3, 1, height_ratios=[1.1, 1.15, 1.35])
    top, middle, lower = parts
    plane, density = top.subplots(1, 2)
    keys = {**_draw_plane(plane, data), **_draw_density(density, data)}
    style.legend(top, keys, 2)
    _draw_sweeps(middle, data)
    _draw_structures(lower, data)
    return figure


def _draw_plane(ax: Axes, data: xarray.Dataset) -> dict[str, Any]:
    """Draw A; return its marks and what they are."""
    alpha, rho = float(data.leak_rate), float(data.spectral_radius)
    angle = np.linspace(0, 2 * np.pi, 200)
    network = f"eigenvalues at $\\alpha$ = {alpha:g}, $\\rho$ = {rho:g}"
    circles = (("W", 0.0, 1.0, "0.65", "eigenvalues of $W$"), ("system", 1 - alpha, alpha * rho, style.BLACK, network))
    keys = {}
    for name, centre, radius, colour, label in circles:
        found = data.sel(matrix=name)
        ax.plot(centre + radius * np.cos(angle), radius * np.sin(angle), color=colour, linewidth=1)
        look: dict[str, Any] = {"color": colour, "markersize": 2, "markeredgewidth": 0}
        (keys[label],) = ax.plot(found.eigenvalue_real, found.eigenvalue_imag, "o", **look)
    # Everything moves by 1 - alpha and shrinks by alpha rho.
    ax.annotate("", (1 - alpha, 0), (0, 0), arrowprops={"arrowstyle": "-|>", "color": style.ORANGE, "shrinkA": 0, "shrinkB": 0})
    ax.set(aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    style.panel(ax, "A", x="real part", y="imaginary part", title="eigenvalues")
    return keys


def _draw_density(ax: Axes, data: xarray.Dataset) -> dict[str, Any]:
    """Draw B; return its marks and what they are."""
    shown = data.density.sel(law=LAWS[0])
    mean, spread = shown.mean("seed"), shown.std("seed")
    band = ax.fill_between(data.tau, np.maximum(mean - spread, 0), mean + spread, color="0.8", linewidth=0)
    (dots,) = ax.plot(data.tau, mean, "o", color=style.BLACK, markersize=2.5)
    (line,) = ax.plot(data.tau_fine, data.density_theory, color=style.THEORY, linewidth=1.2)
    top = 1.2 * float(data.density_theory.max())
    for name, place, side in zip(LANDMARKS, data.tau_landmark.values, ("right", "left", "right"), strict=True):
        ax.axvline(place, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
        ax.text(place, top, f" {_symbol(name)} ", fontsize=style.SMALL, ha=side, va="top")
    low, high = data.tau_landmark.values[[0, -1]]
    ax.set(xscale="log", xlim=(0.65 * low, 1.15 * high), ylim=(0, top))
    style.plain_ticks(ax.xaxis, (1, 2, 5, 10, 20))
    style.panel(ax, "B", x=TAU, y="density", title="density of timescales")
    drawn = " (mean ± std)" if data.sizes["seed"] > 1 else ""
    return {"theory": line, f"{int(data.units[-1]):,} neurons{drawn}": (band, dots)}


def _draw_sweeps(figure: SubFigure, data: xarray.Dataset) -> None:
    left, right = figure.subplots(1, 2)
    spread = (1 + float(data.spectral_radius)) / (1 - float(data.spectral_radius))
    for ax, name in ((left, "alpha"), (right, "rho")):
        values = data[name].values
        half = 0.4 * np.diff(np.log(values)).min()  # of a body's width
        for at in range(len(values)):
            _draw_pirate(ax, data.isel({name: at}), name, half)
        for mark, line, label in zip(LANDMARKS, ("-", "--", "-"), ("shortest and longest", "most frequent", None), strict=True):
            curve = data[f"tau_landmark_of_{name}"].sel(landmark=mark)
            look: dict[str, Any] = {"color": style.THEORY, "linewidth": 0.9, "zorder": 1.5}
            ax.plot(data[f"{name}_fine"], curve, line, **look, label=label and f"{label} (theory)")
        ax.set(xscale="log", yscale="log", xlim=(values[0] * np.exp(-1.5 * half), values[-1] * np.exp(1.5 * half)))
    left.set_ylim(0.3, 1700)
    right.set_ylim(0.8, 300)
    style.plain_ticks(left.xaxis, (0.01, 0.03, 0.1, 0.3, 1))
    style.plain_ticks(right.xaxis, (0.1, 0.2, 0.5, 1))
    style.plain_ticks(left.yaxis, (1, 10, 100, 1000))
    style.plain_ticks(right.yaxis, (1, 10, 100))
    same = f"longest / shortest\n= {spread:.3g} at every $\\alpha$"
    left.text(0.98, 0.97, same, transform=left.transAxes, fontsize=style.SMALL, ha="right", va="top")
    ratio = "longest / shortest\n= $(1+\\rho)/(1-\\rho)$"
    right.text(0.03, 0.97, ratio, transform=right.transAxes, fontsize=style.SMALL, va="top")
    style.panel(
        left, "C", x=r"leak rate $\alpha$", y=TAU, title=rf"effect of $\alpha$, at $\rho = {float(data.spectral_radius):g}$"
    )
    style.panel(
        right, "D", x=r"spectral radius $\rho$", y=TAU, title=rf"effect of $\rho$, at $\alpha = {float(data.leak_rate):g}$"
    )
    style.legend(figure, style.keys_of(left), 2)


def _draw_pirate(ax: Axes, found: xarray.Dataset, name: str, half: float) -> None:
    """Body: the density by theory. Dots: all timescales of one network, and a larger one at their median."""
    value = float(found[name])
    tau, body = found[f"body_tau_of_{name}"].values, half * found[f"body_of_{name}"].values
    shape: dict[str, Any] = {"color": style.THEORY, "alpha": 0.3, "linewidth": 0}
    ax.fill_betweenx(tau, value * np.exp(-body), value * np.exp(body), **shape, label="density (theory)")
    dots = found[f"tau_of_{name}"].values
    # The golden ratio spreads the dots evenly over the width of the body, and always in the same way.
    aside = 2 * (np.arange(len(dots)) * 0.6180339887 % 1) - 1
    places = value * np.exp(aside * np.interp(dots, tau, body))
    ax.plot(places, dots, "o", color="0.35", markersize=1.2, markeredgewidth=0, label="measured, one network")
    ax.plot(value, found[f"quantile_of_{name}"].sel(quantile=0.5), "o", **_MEDIAN, label="median (measured)")


def _draw_structures(figure: SubFigure, data: xarray.Dataset) -> None:
    style.heading(figure, "Structures: share of their timescales in each bin")
    axes = list(figure.subplots(2, 2, sharex=True).flat)
    edges = data.tau_bin_edge.values
    titles = ("delay line", "ring", "single", "two reservoirs")
    for k, (ax, name, title) in enumerate(zip(axes, STRUCTURES, titles, strict=False), start=1):
        found = data.sel(structure=name)
        colour, alpha = ("0.75", 1.0) if k < len(axes) else (style.PARALLEL, 0.4)
        ax.stairs(found.share, edges, fill=True, color=colour, alpha=alpha, label="measured" if k < len(axes) else "parallel")
        # From all of them in one bin to a few in a hundred: one logarithmic axis for all four.
        ax.set(xscale="log", yscale="log", xlim=(edges[0], edges[-1]), ylim=(0.002, 4))
        style.plain_ticks(ax.xaxis, (1, 3, 10, 30))
        style.plain_ticks(ax.yaxis, (0.01, 0.1, 1))
        style.panel(ax, f"E{k}", x=TAU if k > 2 else "", y="share" if k in (1, 3) else "", title=title)
    rates = data.structure_leak_rate.values
    axes[0].text(1.5 / rates[0], 0.5, f"all are $1/\\alpha$ = {1 / rates[0]:.3g} steps", fontsize=style.SMALL, va="center")
    for ax, name in zip(axes[2:], STRUCTURES[2:], strict=False):
        ax.plot(data.tau_bin, data.share_theory.sel(structure=name), color=style.THEORY, linewidth=1.2, label="theory")
    axes[2].legend(**_QUIET, loc="upper right")
    last, top = axes[3], float(data.share.sel(structure=list(STRUCTURES[3:])).max())
    both = data.share.sel(structure=STRUCTURES[4])
    last.stairs(both, edges, color=style.HIERARCHICAL, linewidth=0.9, label="hierarchical")
    last.legend(handles=[last.patches[0], last.patches[1]], **_QUIET, loc="upper left", ncols=2, columnspacing=1)
    for each in rates:
        last.text(1 / each, 1.3 * top, f"$\\alpha$ = {each:g}", fontsize=style.SMALL, ha="center", va="bottom")


def _symbol(name: str) -> str:
    return rf"$\tau_\mathrm{{{name.removeprefix('tau_')}}}$"


_QUIET: dict[str, Any] = {"fontsize": style.SMALL, "frameon": False, "handlelength": 1.3}
_MEDIAN: dict[str, Any] = {"color": "white", "markeredgecolor": style.BLACK, "markersize": 4.5}
