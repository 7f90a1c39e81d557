"""Fig. 9: NARMA10 with the first reservoir replaced by delayed copies of the input, and beside it the hierarchy.

    x1_i(t) = sum_{j=0..delay} xi_ij 0.8^j s(t - j),   Var[x1_i] = 1        (`DelayExpansion`, 50 features)

drive a reservoir of 50 neurons with leak rate alpha2. The readout sees both: 100 features, as in the hierarchy. The paper asks
whether the best alpha2 approaches that of the hierarchy (alpha1 = 1) as the delay grows. The answer depends on the drive:

    as printed        features of variance 1 through 10 weights N(0, 1) a row: a drive of variance 10, which saturates tanh
    of the hierarchy  the same, times the standard deviation of the hierarchy's first reservoir on the training data (some 0.04)

Protocol: the state of row t has seen s_t. Validation data choose the penalty, and all errors shown are on test data. The best
alpha2 has the least mean validation error over the seeds; its interval holds 68 % of resamples of the seeds. A seed draws
weights, features and series.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from echoscale.network import Network, hierarchical, single
from echoscale.sweeps import Arrays, Job, Protocol, Runner, path_errors
from echoscale.tasks import narma
from paper import style
from paper.comparison import best, counted, standard_error
from paper.delay_expansion import DelayExpansion
from paper.provenance import labelled
from paper.types import Floats

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


DRIVES = ("as printed", "of the hierarchy")
IN_WORDS = {"as printed": "drive as printed in the paper", "of the hierarchy": "drive as in the hierarchy"}
HALF_DECADES = tuple(10.0 ** (k / 2) for k in range(-10, 7))


PROTOCOL = Protocol(train=4800, ridge=HALF_DECADES, scale=None)
SHORT = replace(PROTOCOL, washout=50, train=550, validation=200, test=200)


@dataclass(frozen=True)
class Settings:
    """units counts each of the two levels."""

    delays: tuple[int, ...]
    leak_rates: tuple[float, ...]
    seeds: tuple[int, ...]
    protocol: Protocol = PROTOCOL
    order: int = 10
    units: int = 50
    decay: float = 0.8
    spectral_radius: float = 0.95
    input_scaling: float = 0.2
    coupling: float = 1.0
    connections: int = 10
    resamples: int = 1000
    resampling_seed: int = 0


SETTINGS = {
    "smoke": Settings((0, 10), (0.2, 0.6, 1.0), (0, 1), protocol=SHORT, units=20),
    "quick": Settings((0, 2, 5, 10, 20), tuple(k / 10 for k in range(1, 11)), (0, 1, 2)),
    "paper": Settings((0, 1, 2, 3, 5, 7, 10, 15, 20), tuple(k / 20 for k in range(1, 21)), tuple(range(20))),
}


def compute(settings: Settings, scale: str, run: Runner) -> xarray.Dataset:
    """Compute validation and test errors of every delay, leak rate and seed, and the best leak rates."""
    import xarray

    leaks, seeds = len(settings.leak_rates), len(settings.seeds)
    chained = np.empty((2, leaks, seeds))
    delayed = np.empty((2, len(DRIVES), len(settings.delays), leaks, seeds))
    places = list(product(range(seeds), (None, *range(len(settings.delays)))))
    jobs = [
        Job.of(hierarchy_errors, settings=settings, seed=settings.seeds[k])
        if model is None
        else Job.of(delayed_errors, settings=settings, delay=settings.delays[model], seed=settings.seeds[k])
        for k, model in places
    ]
    for (k, model), each in zip(places, run(jobs), strict=True):
        found = np.stack([each["validation"], each["test"]])
        if model is None:
            chained[..., k] = found
        else:
            delayed[:, :, model, :, k] = found
    spread = [first_level_spread(settings, seed) for seed in settings.seeds]
    grid, whole = ("drive", "delay", "alpha2", "seed"), ("alpha2", "seed")
    data = xarray.Dataset(
        {
            "validation": (grid, delayed[0], {"long_name": "validation NRMSE of the delayed-input network"}),
            "test": (grid, delayed[1], {"long_name": "test NRMSE of the delayed-input network"}),
            "hierarchy_validation": (whole, chained[0], {"long_name": "validation NRMSE of the hierarchy"}),
            "hierarchy_test": (whole, chained[1], {"long_name": "test NRMSE of the hierarchy"}),
            "first_level_spread": ("seed", spread, {"long_name": "standard deviation of the hierarchy's first reservoir"}),
        },
        {
            "drive": ("drive", list(DRIVES), {"long_name": "strength of the drive of the reservoir"}),
            "delay": ("delay", np.array(settings.delays), {"long_name": "delay", "units": "steps"}),
            "alpha2": ("alpha2", np.array(settings.leak_rates), {"long_name": "leak rate of the (second) reservoir"}),
            "seed": ("seed", np.array(settings.seeds), {"long_name": "seed of weights, features and series"}),
        },
    )
    return labelled(data.merge(best_leak_rates(data, settings)), 9, scale, settings)


def draw(data: xarray.Dataset) -> Figure:
    """Draw A, B: test error against alpha2 for both drives, mean and standard error; C: the best alpha2 against the delay."""
    from matplotlib import colormaps

    delays = data["delay"].values
    colours = colormaps["viridis"](np.linspace(0.72, 0.0, len(delays)))  # brighter ones are too pale on white
    figure = style.figure(7.0)
    seeds = data.sizes["seed"]
    size = f"means of {seeds} seeds, bands: standard error" if seeds > 1 else counted(seeds)
    style.title(figure, data, "NARMA10 with delayed inputs in place of the first reservoir", size)
    upper, lower = figure.subfigures(2, 1, height_ratios=[1.35, 1])
    axes = upper.subplots(1, 2, sharey=True)
    for ax, letter, drive in zip(axes, "AB", DRIVES, strict=True):
        for delay, colour in zip(delays, colours, strict=True):
            curve = data.sel(drive=drive, delay=delay)
            _draw_curve(ax, curve["test"], float(curve["best_alpha2"]), colour, f"{delay}")
        hierarchy = data["hierarchy_test"], float(data["hierarchy_best_alpha2"])
        _draw_curve(ax, *hierarchy, style.HIERARCHICAL, "hierarchical", linewidth=2.0)
        y = "test NRMSE" if letter == "A" else ""
        style.panel(ax, letter, x=style.LEAK_RATES[1], y=y, title=IN_WORDS[drive])
        ax.set_xlim(0, 1.02)
        ax.set_xticks([0, 0.5, 1])
    key: dict[str, Any] = {"fontsize": style.SMALL, "title_fontsize": style.SMALL, "frameon": False, "columnspacing": 1.2}
    handles, labels = axes[0].get_legend_handles_labels()
    columns = (len(labels) + 1) // 2
    title = "delay of the oldest input (steps), or the hierarchical network; dots: best on validation data"
    upper.legend(handles, labels, loc="outside lower center", ncols=columns, title=title, **key)
    _draw_best(lower, data)
    built: Figure = figure
    return built


def delayed_errors(settings: Settings, delay: int, seed: int) -> Arrays:
    """Validation and test NRMSE of the delayed-input network, (drives, leak rates) each."""
    u, y = _series(settings, seed)
    expanded = expansion(settings, delay, seed).fit(u[: _known(settings)]).transform(u)
    esn = delayed_network(settings).build(settings.units, seed=seed)
    [full] = (float(each) for each in esn.hyper.input_scaling)
    drives = full * np.array([1.0, first_level_spread(settings, seed)])
    # Both drives and all leak rates are lanes of one run, drive-major.
    scalings = np.repeat(drives, len(settings.leak_rates))
    leaks = np.tile(settings.leak_rates, len(drives))
    hyper = esn.hyper.replace(input_scaling=[scalings], leak_rate=[leaks])
    found = path_errors(esn, expanded, y, replace(settings.protocol, direct=True), hyper).best()
    return {name: getattr(found, name).reshape(len(drives), -1) for name in ("validation", "test")}


def hierarchy_errors(settings: Settings, seed: int) -> Arrays:
    """Validation and test NRMSE of the hierarchy with alpha1 = 1, (leak rates,) each."""
    u, y = _series(settings, seed)
    esn = hierarchy(settings).build(1, seed=seed)
    hyper = esn.hyper.replace(leak_rate=[1.0, np.array(settings.leak_rates)])
    found = path_errors(esn, u, y, settings.protocol, hyper).best()
    return {"validation": found.validation, "test": found.test}


def expansion(settings: Settings, delay: int, seed: int) -> DelayExpansion:
    """The replacement of the first reservoir."""
    return DelayExpansion(delay=delay, units=settings.units, decay=settings.decay, seed=seed)


def delayed_network(settings: Settings) -> Network:
    """The reservoir behind the expansion. Its input weights U[-1, 1] replace `connections` coupling weights N(0, 1) a row."""
    full = settings.coupling * (3 * settings.connections / settings.units) ** 0.5
    return single(settings.units, spectral_radius=settings.spectral_radius, input_scaling=full)


def hierarchy(settings: Settings) -> Network:
    """Two levels; the run sets the leak rate of the second one."""
    return hierarchical(
        [settings.units] * 2,
        spectral_radius=settings.spectral_radius,
        input_scaling=settings.input_scaling,
        coupling=settings.coupling,
        coupling_connections=settings.connections,
    )


def first_level_spread(settings: Settings, seed: int) -> float:
    """sqrt(Var[x1_i(t)] over the training data, averaged over i); it does not depend on the second level."""
    u, _ = _series(settings, seed)
    states = hierarchy(settings).build(1, seed=seed).run(u[: _known(settings)])
    states = states[settings.protocol.washout :, : settings.units]
    return float(np.sqrt(states.astype(np.float64).var(axis=0).mean()))


def best_leak_rates(data: xarray.Dataset, settings: Settings) -> xarray.Dataset:
    """The leak rate with the least mean validation error, its test error, and an interval from resampled seeds."""
    import xarray

    seeds = len(settings.seeds)
    picks = np.random.default_rng(settings.resampling_seed).integers(seeds, size=(settings.resamples, seeds))
    shares = np.apply_along_axis(np.bincount, 1, picks, minlength=seeds) / seeds
    leaks = np.array(settings.leak_rates)
    found: dict[str, Any] = {}
    for prefix, dims in (("", ("drive", "delay")), ("hierarchy_", ())):
        validation = data[f"{prefix}validation"]
        tests, places, _ = best(validation, data[f"{prefix}test"], ("alpha2",))
        resampled = leaks[(validation.values @ shares.T).argmin(axis=-2)]
        low, high = np.quantile(resampled, [0.16, 0.84], axis=-1)
        found |= {
            f"{prefix}best_alpha2": (dims, places["alpha2"], {"long_name": "leak rate of least mean validation NRMSE"}),
            f"{prefix}best_alpha2_low": (dims, low, {"long_name": "16 % of the best leak rates of resampled seeds"}),
            f"{prefix}best_alpha2_high": (dims, high, {"long_name": "84 % of the best leak rates of resampled seeds"}),
            f"{prefix}best_test": (dims, tests.mean(axis=-1), {"long_name": "mean test NRMSE at the best leak rate"}),
        }
    return xarray.Dataset(found)


def _series(settings: Settings, seed: int) -> tuple[Floats, Floats]:
    return narma(settings.protocol.length, order=settings.order, seed=seed)


def _known(settings: Settings) -> int:
    """The number of steps up to the end of training."""
    return settings.protocol.washout + settings.protocol.train


def _draw_curve(ax: Axes, errors: xarray.DataArray, least: float, colour: Any, label: str, linewidth: float = 1.2) -> None:
    """Mean and standard error over the seeds, and a dot at the best leak rate."""
    alpha2, mean = errors["alpha2"].values, errors.mean("seed").values
    error = np.nan_to_num(standard_error(errors.transpose("alpha2", "seed")))
    ax.fill_between(alpha2, mean - error, mean + error, color=colour, alpha=0.25, linewidth=0)
    ax.plot(alpha2, mean, color=colour, linewidth=linewidth, label=label)
    ax.plot(least, mean[np.argmin(np.abs(alpha2 - least))], "o", color=colour, markersize=4, markeredgecolor="white", zorder=3)


def _draw_best(figure: SubFigure, data: xarray.Dataset) -> None:
    """The best leak rates of both drives and of the hierarchy; bars and band hold 68 % of resampled seeds."""
    from matplotlib.ticker import MaxNLocator

    ax = figure.subplots()
    low, high = float(data["hierarchy_best_alpha2_low"]), float(data["hierarchy_best_alpha2_high"])
    ax.axhspan(low, high, color=style.HIERARCHICAL, alpha=0.2, linewidth=0)
    ax.axhline(float(data["hierarchy_best_alpha2"]), color=style.HIERARCHICAL, linewidth=1.5, label="hierarchical")
    looks = (("0.55", "s", -0.1), (style.BLACK, "o", 0.1))
    for drive, (colour, marker, shift) in zip(DRIVES, looks, strict=True):
        chosen = data.sel(drive=drive)
        middle = chosen["best_alpha2"].values
        bars = np.maximum([middle - chosen["best_alpha2_low"].values, chosen["best_alpha2_high"].values - middle], 0)
        look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1, "elinewidth": 0.8}
        ax.errorbar(data["delay"].values + shift, middle, bars, **look, label=IN_WORDS[drive])
    ax.set_ylim(0, 1)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 5, 10]))
    title = "best leak rate" + (" (bars: 68 % of resampled seeds)" if data.sizes["seed"] > 1 else "")
    style.panel(ax, "C", x="delay of the oldest input (steps)", y=f"best {style.LEAK_RATES[1]}", title=title)
    style.legend(figure, style.keys_of(ax), 2)
