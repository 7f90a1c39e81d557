"""Do learned timescales match the timescale of the task?

    y(t) = (1 - 1 / tau) y(t-1) + s(t) s(t-1) / tau, with variance 1      (`echoscale.tasks.averages` with one timescale)

A hierarchy of two levels, which both receive the input, learns both leak rates from four starts: by `es.tune`, and online,
with recursive least squares for the readout and exact traces for the leak rates. The spectral radius of the second level is
small, so that its neurons have timescales of about 1 / alpha_2: the question is whether alpha_2 tau is near 1. Errors are
those of a ridge readout on held-out data, as in `paper.hierarchy`. They are compared with the tuned network whose second
leak rate is set to 1 / tau, the oracle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import echoscale as es
from echoscale.learning import Adam
from echoscale.sweeps import Arrays, Job, Runner
from paper import hierarchy, style
from paper.learned_paths import STARTS
from paper.provenance import labelled

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from echoscale import Network

ONLINE_SERIES = 10_000  # the online rule learns from series with numbers from here on
RULES = {"tuned": ("es.tune", style.TUNED, "^"), "online": ("online", style.ONLINE, "o")}
# Chosen on draw 0: larger rates leave the leak rates noisy, smaller ones do not arrive.
RATE = 1e-3
RLS = es.learning.RLS(1e-4, 0.9995)


@dataclass(frozen=True)
class Settings:
    """steps: of the online rule. rounds: of `es.tune`. judged: lengths of the parts and the least penalty."""

    seeds: tuple[int, ...]
    timescales: tuple[float, ...]
    steps: int
    rounds: int
    units: int
    judged: hierarchy.Settings


def _judged(scale: str) -> hierarchy.Settings:
    found = hierarchy.SETTINGS[scale]
    return hierarchy.Settings(
        seeds=(),
        development=(),
        levels=(),
        counts=(),
        ratios=(),
        shares=(1.0,),
        anchors=(),
        points=0,
        starts=0,
        rounds=0,
        washout=found.washout,
        train=found.train,
        validation=found.validation,
        test=found.test,
    )


SETTINGS = {
    "smoke": Settings((10, 11), (3.0, 10.0), 800, 3, 20, _judged("smoke")),
    "quick": Settings((10, 11, 12), (3.0, 10.0, 30.0, 100.0), 20_000, 20, 60, _judged("quick")),
    "paper": Settings(tuple(range(30, 50)), (3.0, 5.0, 10.0, 20.0, 50.0, 100.0), 100_000, 30, 100, _judged("paper")),
}


def network_of(units: int) -> Network:
    """Two levels which both receive the input; the leak rates are learned."""
    return es.hierarchical(
        [units // 2] * 2,
        inputs="all",
        leak_rate=0.5,
        spectral_radius=[0.5, 0.1],
        input_scaling=0.5,
        bias_scaling=0.5,
        coupling=0.5,
    )


def learned(settings: Settings, timescale: float, seed: int) -> Arrays:
    """Leak rates (starts, 2) of both rules and their errors (starts,), and the error of the oracle."""
    network, parts, starts = network_of(settings.units), settings.judged, np.array(STARTS)
    lanes = es.Hyper.of(network).replace(leak_rate=list(starts.T))
    known = parts.washout + parts.train + parts.validation
    u, y = es.tasks.averages(known + parts.test, seed, timescales=timescale)
    tuned = es.tune(
        network,
        u[:known],
        y[:known],
        ["leak_rate", "ridge"],
        starts=lanes,
        seed=seed,
        washout=parts.washout,
        folds=3,
        test=0.0,
        scale=None,
        floor=parts.least_ridge,
        rounds=settings.rounds,
        relocate=False,
    )
    last = tuned.history.isel(round=-1)
    rates = {"tuned": last["value"].sel(parameter=["leak_rate[0]", "leak_rate[1]"]).values}
    oracle = [rates["tuned"][int(last["error"].values.argmin())][0], 1 / timescale]
    learner = es.OnlineLearner(
        network,
        readout=RLS,
        rates=Adam(RATE),
        starts=lanes,
        record=settings.steps,
        washout=min(parts.washout, settings.steps // 2),
        seed=seed,
        dtype="float64",
    )
    rates["online"] = learner.fit(*es.tasks.averages(settings.steps, ONLINE_SERIES + seed, timescales=timescale)).values
    points = np.concatenate([*rates.values(), [oracle]])
    esn = network.build(1, seed=seed, dtype="float64")
    states = esn.run(u, hyper=esn.hyper.replace(leak_rate=list(points.T)))
    families = np.stack([y, y], axis=1)
    errors = np.array([hierarchy.readout_errors(each, families, parts)[0, 0] for each in np.asarray(states)])
    found = {f"{name}_error": errors[k * len(starts) : (k + 1) * len(starts)] for k, name in enumerate(rates)}
    return {**rates, **found, "oracle_error": errors[-1:]}


def compute(settings: Settings, scale: str, run: Runner) -> xarray.Dataset:
    """Learn the leak rates for every timescale and draw."""
    import xarray

    grid = [(timescale, seed) for timescale in settings.timescales for seed in settings.seeds]
    jobs = [Job.of(learned, settings=settings, timescale=each, seed=seed) for each, seed in grid]
    found = list(run(jobs))
    shape = (len(settings.timescales), len(settings.seeds))

    def gathered(name: str) -> npt.NDArray[np.float32]:
        values = np.array([each[name] for each in found], np.float32)
        return values.reshape(*shape, *values.shape[1:])

    at, start = ("timescale", "seed"), ("timescale", "seed", "start")
    oracle = gathered("oracle_error")[..., 0]
    variables: dict[str, Any] = {"oracle_error": (at, oracle, {"long_name": "test NRMSE with alpha_2 = 1 / tau"})}
    for name, (words, *_) in RULES.items():
        rates = {"long_name": f"leak rates, {words}"}
        variables[name] = ((*start, "level"), gathered(name), rates)
        variables[f"{name}_error"] = (start, gathered(f"{name}_error"), {"long_name": f"test NRMSE, {words}"})
    coords = {
        "timescale": ("timescale", list(settings.timescales), {"units": "steps"}),
        "seed": list(settings.seeds),
        "level": [1, 2],
    }
    return labelled(xarray.Dataset(variables, coords), "timescales", scale, settings)


def table(data: xarray.Dataset) -> str:
    """For every timescale: the median and 90 % of alpha_2 tau, and the median error relative to the oracle, in Markdown."""
    head = ["timescale, steps"]
    for words, *_ in RULES.values():
        head += [f"{words}: $\\alpha_2\\tau$ (90 % of starts and draws)", "error / oracle"]
    rows = [head, ["---"] * len(head)]
    for timescale in data["timescale"].values:
        at, row = data.sel(timescale=timescale), [f"{timescale:g}"]
        for name in RULES:
            low, middle, high = (at[name].sel(level=2) * timescale).quantile([0.05, 0.5, 0.95]).values
            ratio = float((at[f"{name}_error"] / at["oracle_error"]).median())
            row += [f"{middle:.2f} ({low:.2f} to {high:.2f})", f"{ratio:.2f}"]
        rows.append(row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def draw(data: xarray.Dataset) -> Figure:
    """A: alpha_2 tau against tau; B: errors relative to the oracle."""
    figure = style.figure(3.2, width=7.2)
    size = f"{data.attrs['scale']} scale: {data.sizes['seed']} draws, {data.sizes['start']} starts; medians, bars: 90 %"
    figure.suptitle(f"Do learned timescales match the timescale of the task?\n{size}", fontsize=9)
    left, right = figure.subplots(1, 2)
    for k, (name, (label, colour, marker)) in enumerate(RULES.items()):
        products = data[name].sel(level=2) * data["timescale"]
        _draw(left, products, label, colour, marker, 1 + 0.06 * k)
        _draw(right, data[f"{name}_error"] / data["oracle_error"], label, colour, marker, 1 + 0.06 * k)
    style.panel(left, "A", x="timescale $\\tau$ of the task, steps", y="$\\alpha_2\\,\\tau$")
    style.panel(right, "B", x="timescale $\\tau$ of the task, steps", y="error / error with $\\alpha_2 = 1/\\tau$")
    left.legend(fontsize=8, frameon=False)
    built: Figure = figure
    return built


def _draw(ax: Axes, values: xarray.DataArray, label: str, colour: str, marker: str, aside: float) -> None:
    low, middle, high = values.quantile([0.05, 0.5, 0.95], dim=("seed", "start")).values
    x = values["timescale"].values * aside
    ax.errorbar(x, middle, [middle - low, high - middle], fmt=marker, color=colour, label=label, markersize=5, capsize=2)
    ax.axhline(1, color="0.6", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(values["timescale"].values, [f"{each:g}" for each in values["timescale"].values])
    ax.minorticks_off()
