"""Fig. 3: NARMA10 and NARMA5, the error of single, parallel and hierarchical networks against their leak rates.

    single        one reservoir of 100 neurons; alpha and rho vary
    parallel      two of 50, both receive the input; alpha1 and alpha2 vary ("unconnected" in the paper and in the data)
    weak, strong  hierarchical, two of 50: the first drives the second with 0.1 or 1.0 times 10 weights N(0, 1) a row

The paper does not say what decides the comparison, so all four readings of it are computed:

    lag 1   predict y_n from the state that has seen s_n        lag 0   from the state before it
    ridge >= 1e-5   (where the paper's result appears)          ridge free   down to 1e-12

Validation data choose the penalty of every point and seed. The best point has the least mean validation error over the seeds.
All errors shown are errors on held-out test data. A seed draws weights and series: networks are compared seed by seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale import timescales
from echoscale.network import Network, single
from echoscale.sweeps import Arrays, Check, Job, Protocol, Runner, path_errors, unchecked
from echoscale.tasks import narma
from paper import learned_paths, style
from paper.comparison import best, counted, standard_error, two
from paper.learned_paths import Paths
from paper.provenance import labelled
from paper.types import Floats

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure


LAGS = {"lag 1": 1, "lag 0": 0}
FLOORS = {"ridge >= 1e-5": 1e-5, "ridge free": 0.0}
VARIANTS = tuple(f"{lag}, {floor}" for lag, floor in product(LAGS, FLOORS))
TASKS = {"NARMA10": 10, "NARMA5": 5}
NETWORKS = ("unconnected", "weak", "strong")
# The surface of the unconnected pair on NARMA5 is not drawn, but D needs its least error.
SURFACES = (*(f"NARMA10, {each}" for each in NETWORKS), "NARMA5, unconnected", "NARMA5, strong")
MEDIAN = 3  # points along each side of the running median
HALF_DECADES = tuple(float(f"{10.0 ** (k / 2):.6g}") for k in range(-24, 3))
TICKS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8)
DRAWN = (*SURFACES[:3], SURFACES[4])
WHOLE, CLOSE_UPS = "EFGH", "ILMN"  # letters of the drawn surfaces and of their close-ups
CLOSE_UP = (0.1, 1.0)  # limits of both leak rates
VALLEY = 1.3  # end of a close-up's colours, in units of its least error
CONTOURS = (1.05, 1.1, 1.2)  # likewise
TITLES = dict(zip(DRAWN, ("parallel", "hierarchical, weak", "hierarchical, strong", "hierarchical, NARMA5"), strict=True))
IN_WORDS = {
    "lag 1": "that has received the current input",
    "lag 0": "before the current input",
    "ridge >= 1e-5": "ridge penalty at least $10^{-5}$",
    "ridge free": "ridge penalty down to $10^{-12}$",
}


PROTOCOL = Protocol(ridge=HALF_DECADES, scale=None)
SHORT = replace(PROTOCOL, washout=50, train=500, validation=200, test=200)


@dataclass(frozen=True)
class Settings:
    """units counts all reservoirs together; the protocol's ridge holds the penalties of the variants "ridge free"."""

    leak_rates: tuple[float, ...]
    seeds: tuple[int, ...]
    paths: Paths
    spectral_radii: tuple[float, ...] = (1.0, 0.95, 0.63)  # of the single network
    protocol: Protocol = PROTOCOL
    units: int = 100
    spectral_radius: float = 0.95  # of the pairs
    input_scaling: float = 0.2
    weak: float = 0.1
    strong: float = 1.0
    connections: int = 10
    shown: int = 100  # steps of A
    lags: int = 25  # of B


def _grid(points: int) -> tuple[float, ...]:
    return tuple((k + 1) / points for k in range(points))


SETTINGS = {
    "smoke": Settings(
        _grid(3),
        (0, 1),
        Paths(400, 200, (0,), 4, 10.0),
        protocol=SHORT,
        units=40,
    ),
    "quick": Settings(_grid(10), tuple(range(5)), Paths(50_000, 12_500, (0,), faster=20.0)),
    "paper": Settings(_grid(20), tuple(range(20)), Paths(1_000_000, 250_000, (0, 1, 2))),
}


def compute(settings: Settings, scale: str, run: Runner) -> xarray.Dataset:
    """Compute the errors of all networks at every point and seed in all variants, the best points, and the signals."""
    import xarray

    alphas, radii, seeds = settings.leak_rates, settings.spectral_radii, settings.seeds
    # float32, as the states: the file stays small.
    pairs = np.empty((2, len(VARIANTS), len(SURFACES), len(alphas), len(alphas), len(seeds)), np.float32)
    singles = np.empty((2, len(VARIANTS), len(TASKS), len(radii), len(alphas), len(seeds)), np.float32)
    points = list(product(range(len(seeds)), (*TASKS, *SURFACES)))
    routes = list(product(settings.paths.seeds, DRAWN))
    jobs = [
        Job.of(single_errors, settings=settings, task=name, seed=seeds[k])
        if name in TASKS
        else Job.of(pair_errors, settings=settings, surface=name, seed=seeds[k])
        for k, name in points
    ]
    jobs += [Job.of(paths_of, settings=settings, surface=name, seed=seed) for seed, name in routes]
    results = run(jobs)
    for (k, name), each in zip(points, results, strict=False):  # the paths come after them
        found = np.stack([each["validation"], each["test"]])
        if name in TASKS:
            singles[:, :, list(TASKS).index(name), ..., k] = found.reshape(*singles.shape[:2], len(radii), -1)
        else:
            pairs[:, :, SURFACES.index(name), ..., k] = found.reshape(*pairs.shape[:2], len(alphas), -1)
    walks = {(name, seed): each for (seed, name), each in zip(routes, results, strict=True)}
    surface, curve = ("variant", "surface", "alpha1", "alpha2", "seed"), ("variant", "task", "rho", "alpha", "seed")
    data = xarray.Dataset(
        {
            "validation": (surface, pairs[0], {"long_name": "validation NRMSE of two reservoirs"}),
            "test": (surface, pairs[1], {"long_name": "test NRMSE of two reservoirs"}),
            "single_validation": (curve, singles[0], {"long_name": "validation NRMSE of a single reservoir"}),
            "single_test": (curve, singles[1], {"long_name": "test NRMSE of a single reservoir"}),
        },
        {
            "variant": ("variant", list(VARIANTS), {"long_name": "alignment of state and target, and penalties allowed"}),
            "surface": ("surface", list(SURFACES), {"long_name": "task and network of two reservoirs"}),
            "task": ("task", list(TASKS), {"long_name": "task"}),
            "alpha1": ("alpha1", np.array(alphas), {"long_name": "leak rate of the first reservoir"}),
            "alpha2": ("alpha2", np.array(alphas), {"long_name": "leak rate of the second reservoir"}),
            "alpha": ("alpha", np.array(alphas), {"long_name": "leak rate of the single reservoir"}),
            "rho": ("rho", np.array(radii), {"long_name": "spectral radius of the single reservoir"}),
            "seed": ("seed", np.array(seeds), {"long_name": "seed of weights and series"}),
        },
    )
    learned = learned_paths.dataset(settings.paths, DRAWN, walks)
    return labelled(xarray.merge([data, best_points(data), _signals(settings), learned]), 3, scale, settings)


def draw(data: xarray.Dataset, variant: str = VARIANTS[0], smooth: bool = True) -> Figure:
    """Draw A, B: the signals; C, D: single networks against alpha; E to H: errors of the pairs.

    smooth: a running median over 3 x 3 points of the surfaces (as in the paper); the crosses mark the best points without it.
    """
    chosen = data.sel(variant=variant)
    figure = style.figure(10.2)
    style.title(figure, data, "NARMA10 and NARMA5", _size(data, variant))
    upper, middle, lower = figure.subfigures(3, 1, height_ratios=[1, 1.35, 2.75])
    left, right = upper.subplots(1, 2)
    _draw_signals(left, right, data)
    for ax, letter, task in zip(middle.subplots(1, 2), "CD", TASKS, strict=True):
        _draw_single(ax, chosen, task)
        style.panel(ax, letter, x="leak rate $\\alpha$", y="test NRMSE" if letter == "C" else "", title=task)
    style.legend(middle, style.keys_of(ax), 3)
    shown = f"Two reservoirs: {'smoothed ' if smooth else ''}test error at all pairs of leak rates"
    style.heading(lower, f"{shown}\nCross: best on validation data. White lines: {_levels()} above the least")
    axes = list(lower.subplots(2, 2).flat)
    for kept, row, label in ((slice(0, 3), axes[:2], "E, F, G"), (slice(3, 4), axes[2:], "H")):
        mesh = _draw_surfaces(axes[kept], chosen, DRAWN[kept], smooth)
        bar = style.bar(lower, mesh, row, f"{label}: test NRMSE\n(log scale)", location="right")
        style.plain_ticks(bar.ax.yaxis, TICKS)
    _name(axes, WHOLE)
    built: Figure = figure
    return built


def draw_supplement(data: xarray.Dataset, variant: str = VARIANTS[0], smooth: bool = True) -> Figure:
    """Draw close-ups of E to H with paths of learned leak rates: I, L, M, N, as in the paper, which has no J and K."""
    chosen = data.sel(variant=variant)
    learned = variant.startswith("lag 1")  # as the paths were learned
    figure = style.figure(7.2)
    what = "Where learned leak rates go" if learned else "Close-ups of E to H"
    style.title(figure, data, what, _size(data, variant), part="supplement")
    axes = list(figure.subplots(2, 2).flat)
    for ax, name in zip(axes, DRAWN, strict=True):
        _draw_close_up(ax, chosen, name, smooth)
    _name(axes, CLOSE_UPS)
    _draw_valley_bar(figure, axes)
    _draw_key(figure, data.sizes["path_seed"] if learned else 0)
    built: Figure = figure
    return built


def _name(axes: Sequence[Axes], letters: str) -> None:
    """Letters, titles and labels of four panels over the leak rates."""
    for ax, letter, name in zip(axes, letters, DRAWN, strict=True):
        style.panel(ax, letter, x=style.LEAK_RATES[0], y="" if letter in "FHLN" else style.LEAK_RATES[1], title=TITLES[name])


def _size(data: xarray.Dataset, variant: str) -> str:
    """The seeds and the reading of the paper, in words."""
    seeds, (lag, floor) = data.sizes["seed"], variant.split(", ")
    drawn = f"means of {seeds} seeds" if seeds > 1 else counted(seeds)
    return f"{drawn}. Prediction from the state {IN_WORDS[lag]}; {IN_WORDS[floor]}"


def _levels() -> str:
    """ "5, 10 and 20 %": where the lines are."""
    *most, last = (f"{100 * (each - 1):.0f}" for each in CONTOURS)
    return f"{', '.join(most)} and {last} %"


def pair_errors(settings: Settings, surface: str, seed: int) -> Arrays:
    """Errors (variants, lanes) of a pair at all leak rates; lanes are alpha1-major."""
    task, kind = surface.split(", ")
    points = np.array(list(product(settings.leak_rates, repeat=2)))
    return _errors(settings, pair(settings, kind), TASKS[task], seed, leak_rate=list(points.T))


def single_errors(settings: Settings, task: str, seed: int) -> Arrays:
    """Errors (variants, lanes) of a single network at all spectral radii and leak rates; lanes are radius-major."""
    radii, alphas = np.array(list(product(settings.spectral_radii, settings.leak_rates))).T
    # The radii are lanes: in the description, a radius of 1 would raise a warning.
    network = single(
        settings.units,
        spectral_radius=settings.spectral_radius,
        input_scaling=settings.input_scaling,
        connections=settings.connections,
    )
    return _errors(settings, network, TASKS[task], seed, leak_rate=[alphas], spectral_radius=[radii])


def paths_of(settings: Settings, surface: str, seed: int, check: Check = unchecked) -> Arrays:
    """Leak rates along the online rule, its errors, and leak rates along `tune` (lag 1, ridge 1e-5)."""
    task, kind = surface.split(", ")
    network, order = pair(settings, kind), TASKS[task]
    walk, errors = learned_paths.online(settings.paths, network, order, seed, check)
    tuned = learned_paths.tuned(settings.paths, network, order, seed, settings.protocol)
    return {"online": walk, "online_errors": errors, "tuned": tuned}


def pair(settings: Settings, kind: str) -> Network:
    """Two reservoirs: unconnected, weakly or strongly connected."""
    coupling = {"unconnected": None, "weak": settings.weak, "strong": settings.strong}[kind]
    return two(
        settings.units,
        coupling,
        connections=settings.connections,
        spectral_radius=settings.spectral_radius,
        input_scaling=settings.input_scaling,
    )


def best_points(data: xarray.Dataset) -> xarray.Dataset:
    """The points of least mean validation error, their test errors, and in how many seeds a pair beats the others there."""
    import xarray

    pairs, pair_places, _ = best(data["validation"], data["test"], ("alpha1", "alpha2"))
    singles, single_places, _ = best(data["single_validation"], data["single_test"], ("rho", "alpha"))
    tasks = [each.split(", ")[0] for each in data["surface"].values]
    rivals = {
        "single": singles[:, [list(data["task"].values).index(task) for task in tasks]],
        "unconnected": pairs[:, [list(data["surface"].values).index(f"{task}, unconnected") for task in tasks]],
    }
    found: dict[str, Any] = {}
    for prefix, dim, tests, places in (("", "surface", pairs, pair_places), ("single_", "task", singles, single_places)):
        dims = ("variant", dim)
        error = standard_error(tests)
        found |= {f"{prefix}best_{name}": (dims, at, {"long_name": f"best {name}"}) for name, at in places.items()}
        found |= {
            f"{prefix}best_test": (dims, tests.mean(axis=-1), {"long_name": "mean test NRMSE at the best point"}),
            f"{prefix}best_test_error": (dims, error, {"long_name": "standard error of the mean test NRMSE"}),
        }
    for name, rival in rivals.items():
        wins = (pairs < rival).sum(axis=-1).astype(np.int32)
        says = {"long_name": f"seeds in which the best point has a lower test NRMSE than the best {name} network"}
        found[f"wins_over_{name}"] = (("variant", "surface"), wins, says)
    return xarray.Dataset(found, {name: data[name] for name in ("variant", "surface", "task")})


def smoothed(surface: npt.ArrayLike) -> Floats:
    """The running median of a surface; the values at the edges continue beyond them."""
    from scipy.ndimage import median_filter

    return np.asarray(median_filter(np.asarray(surface, np.float64), size=MEDIAN, mode="nearest"))


def _errors(settings: Settings, network: Network, order: int, seed: int, **leaves: Sequence[Floats]) -> Arrays:
    """The errors of all variants from one run: states and Gram matrices depend neither on the target nor on the penalty."""
    end = settings.protocol.length
    u, y = narma(end + 1, order=order, seed=seed)
    # The state of row n has seen s_n. It predicts y_n (lag 1), and y_{n+1} without s_{n+1} (lag 0).
    targets = np.concatenate([y[1 - lag :][:end] for lag in LAGS.values()], axis=1)
    esn = network.build(1, seed=seed)
    path = path_errors(esn, u[:-1], targets, settings.protocol, esn.hyper.replace(**leaves), apart=True)
    floors = [path.best(at_least=floor) for floor in FLOORS.values()]  # (lanes, lags) each
    return {
        part: np.stack([getattr(floor, part)[..., lag] for lag in range(len(LAGS)) for floor in floors])
        for part in ("validation", "test")
    }


def _signals(settings: Settings) -> xarray.Dataset:
    """An example of the series, and the autocorrelations over all seeds."""
    import xarray

    washout = settings.protocol.washout
    length = washout + settings.protocol.train
    kept = slice(washout, None)
    series = {task: [narma(length, order=order, seed=seed) for seed in settings.seeds] for task, order in TASKS.items()}
    found = {
        task: timescales.of_signal([u[kept] for u, _ in each], [y[kept] for _, y in each], lags=settings.lags)
        for task, each in series.items()
    }
    own = np.stack([each.targets[:, 0] for each in found.values()])
    u, y = series["NARMA10"][0]
    first = slice(washout, washout + settings.shown)
    return xarray.Dataset(
        {
            "input": ("step", u[first, 0], {"long_name": "input of the first seed"}),
            "target": ("step", y[first, 0], {"long_name": "NARMA10 target of the first seed"}),
            "input_correlation": ("delay", found["NARMA10"].inputs[:, 0], {"long_name": "autocorrelation of the input"}),
            "target_correlation": (("task", "delay"), own, {"long_name": "autocorrelation of the target"}),
            "peak": ("task", [second_peak(each) for each in own], {"long_name": "delay of the second peak", "units": "steps"}),
        },
        {
            "step": ("step", np.arange(settings.shown), {"long_name": "time after the washout", "units": "steps"}),
            "delay": ("delay", np.arange(settings.lags + 1), {"long_name": "delay", "units": "steps"}),
        },
    )


def second_peak(correlation: Sequence[float] | Floats) -> int:
    """The delay of the largest autocorrelation after its first rise; the first peak is at delay 0."""
    values = np.asarray(correlation)
    trough = int(np.argmax(np.diff(values) > 0))
    return trough + int(np.argmax(values[trough:]))


def _draw_signals(left: Axes, right: Axes, data: xarray.Dataset) -> None:
    step, delay = data["step"].values, data["delay"].values
    left.plot(step, data["input"].values, color="0.65", linewidth=0.8, label="input")
    left.plot(step, data["target"].values, color=style.BLACK, linewidth=1.2, label="target")
    left.set_ylim(0, 1.4 * float(data["target"].max()))  # room for the legend
    left.legend(fontsize=style.SMALL, frameon=False, ncols=2, loc="upper right")
    style.panel(left, "A", x="time (steps)", y="signal", title="NARMA10")
    right.plot(delay, data["input_correlation"].values, color="0.65", linewidth=0.8, label="input")
    for task, dashes in zip(TASKS, ("-", "--"), strict=True):
        curve, peak = data["target_correlation"].sel(task=task).values, int(data["peak"].sel(task=task))
        right.plot(delay, curve, dashes, color=style.BLACK, linewidth=1.2, label=f"{task}, peak at {peak}")
        right.plot(peak, curve[peak], "o", color=style.BLACK, markersize=4, markeredgecolor="white", zorder=3)
    right.legend(fontsize=style.SMALL, frameon=False, loc="upper right", borderaxespad=0)
    style.panel(right, "B", x="delay (steps)", y="autocorrelation")


def _draw_single(ax: Axes, data: xarray.Dataset, task: str) -> None:
    """Errors of single networks against alpha, and lines at the least errors of the parallel and the hierarchical pair."""
    curves = data["single_test"].sel(task=task).astype(np.float64)
    alpha = curves["alpha"].values
    looks = ((style.SINGLE, "-"), (style.SINGLE, ":"), ("0.55", "--"))
    for rho, (colour, dashes) in zip(curves["rho"].values, looks, strict=True):
        curve = curves.sel(rho=rho).transpose("alpha", "seed").values
        mean, error = curve.mean(axis=-1), np.nan_to_num(standard_error(curve))
        ax.fill_between(alpha, mean - error, mean + error, color=colour, alpha=0.25, linewidth=0)
        ax.plot(alpha, mean, color=colour, linestyle=dashes, linewidth=1.2, label=f"single, $\\rho$ = {rho:g}")
    for kind in ("unconnected", "strong"):
        found, colour = data.sel(surface=f"{task}, {kind}"), style.COLOURS[kind]
        least, either = float(found["best_test"]), float(np.nan_to_num(found["best_test_error"]))
        ax.axhspan(least - either, least + either, color=colour, alpha=0.25, linewidth=0)
        ax.axhline(least, color=colour, linewidth=1.5, label=f"best {style.WORDS[kind]} pair")
    ax.set_xlim(0, 1.02)
    ax.set_yscale("log")
    style.plain_ticks(ax.yaxis, TICKS)


def _draw_surfaces(axes: Sequence[Axes], data: xarray.Dataset, surfaces: Sequence[str], smooth: bool) -> QuadMesh:
    """Mean test errors on one colour scale; lines around the valleys, crosses at the best points."""
    from matplotlib.colors import LogNorm

    shown = [_shown(data, each, smooth) for each in surfaces]
    # Most of a surface is far above its minimum: a logarithmic scale shows both.
    norm = LogNorm(min(map(np.min, shown)), max(map(np.max, shown)))
    alpha = data["alpha1"].values
    ends = alpha[0] / 2, alpha[-1] + alpha[0] / 2  # the edges of the outer cells
    for ax, name, values in zip(axes, surfaces, shown, strict=True):
        mesh = ax.pcolormesh(alpha, alpha, values.T, norm=norm, cmap="viridis", shading="nearest", rasterized=True)
        _draw_contours(ax, alpha, values, "white")
        _draw_cross(ax, data, name)
        ax.set(aspect="equal", xticks=[0.2, 0.6, 1], yticks=[0.2, 0.6, 1], xlim=ends, ylim=ends)
    return mesh


def _draw_contours(ax: Axes, alpha: Floats, values: Floats, colour: str) -> None:
    """Lines where the error is `CONTOURS` times the least error shown."""
    levels = [float(values.min()) * each for each in CONTOURS if float(values.min()) * each < values.max()]
    if levels:
        ax.contour(alpha, alpha, values.T, levels, colors=colour, linewidths=0.6)


def _valley_shades() -> Colormap:
    """Grey at the least error, white at `VALLEY` times it: paths stand out on both."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("valley", ["0.55", "1.0"])


def _draw_valley_bar(figure: Figure, axes: Sequence[Axes]) -> None:
    """One bar for all close-ups: each in units of its own least error."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    shades = ScalarMappable(Normalize(0, 100 * (VALLEY - 1)), _valley_shades())
    style.bar(figure, shades, axes, "test NRMSE above the least of the panel (%)", "max", "right")


def _draw_close_up(ax: Axes, data: xarray.Dataset, name: str, smooth: bool) -> None:
    """The valley of one surface, with lines around it; everything above it is white."""
    values, alpha = _shown(data, name, smooth), data["alpha1"].values
    inside = (alpha >= CLOSE_UP[0]) & (alpha <= CLOSE_UP[1])
    seen = values[np.ix_(inside, inside)]
    least = float(seen.min())
    colours: dict[str, Any] = {"vmin": least, "vmax": VALLEY * least, "cmap": _valley_shades()}
    ax.pcolormesh(alpha, alpha, values.T, **colours, shading="nearest", rasterized=True)
    _draw_contours(ax, alpha[inside], seen, "0.35")
    if str(data["variant"].values).startswith("lag 1"):  # as the paths were learned
        _draw_paths(ax, data.sel(path_surface=name))
    _draw_cross(ax, data, name, CLOSE_UP)
    ticks = [0.1, 0.4, 0.7, 1]
    ax.set(aspect="equal", xticks=ticks, yticks=ticks, xlim=CLOSE_UP, ylim=CLOSE_UP)


def _draw_paths(ax: Axes, data: xarray.Dataset) -> None:
    """The leak rates from every start (square): the path of the first seed, and the ends of all seeds."""
    for walk, look in PATHS.items():
        for draw, starts in enumerate(data[walk].values):
            for path in starts:
                path = path[np.isfinite(path).all(axis=1)]
                if draw == 0:  # the paths of all seeds would cover each other
                    ax.plot(*path.T, color=look["color"], linewidth=1.0, clip_on=False, zorder=3)
                # Ends at the edge reach out of the panel.
                ax.plot(*path[-1], **look, linestyle="none", clip_on=False, zorder=4)
    for start in data["online_path"].values[0, :, 0]:
        ax.plot(*start, **style.START, zorder=4)


def _draw_key(figure: Figure, draws: int) -> None:
    """What the marks of the close-ups are; `draws` is the number of learned networks, 0 without paths."""
    from matplotlib.lines import Line2D

    keys: list[Any] = []
    if draws:
        ends = f"1 path, {draws} ends" if draws > 1 else "path and end"
        names = zip(PATHS.values(), ("online rule", "es.tune"), strict=True)
        keys = [Line2D([], [], **look, linewidth=1, label=f"{name} ({ends})") for look, name in names]
        keys.append(style.start_key("starts of the paths"))
    keys.append(style.cross_key("best on validation data"))
    keys.append(Line2D([], [], color="0.35", linewidth=0.6, label=f"{_levels()} above the least"))
    style.legend(figure, {each.get_label(): each for each in keys}, 2)


def _shown(data: xarray.Dataset, name: str, smooth: bool) -> Floats:
    """Mean test errors of a surface, (alpha1, alpha2)."""
    mean: Floats = data["test"].sel(surface=name).astype(np.float64).mean("seed").values
    return smoothed(mean) if smooth else mean


def _draw_cross(ax: Axes, data: xarray.Dataset, name: str, limits: tuple[float, float] = (0.0, 1.0)) -> None:
    """A cross at the best point, if it lies within the limits."""
    found = data.sel(surface=name)
    place = float(found["best_alpha1"]), float(found["best_alpha2"])
    if min(place) >= limits[0] and max(place) <= limits[1]:
        style.cross(ax, *place)


_END: dict[str, Any] = {"markersize": 5, "markeredgecolor": "white", "markeredgewidth": 0.5}
PATHS: dict[str, dict[str, Any]] = {
    "online_path": {"color": style.ONLINE, "marker": "o", **_END},
    "tuned_path": {"color": style.TUNED, "marker": "^", **_END},
}
