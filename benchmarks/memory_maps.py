"""Which memory does a problem need? Measures of networks, and their errors on nine tasks, over maps of hyper-parameters.

    python benchmarks/memory_maps.py                        some minutes
    python benchmarks/memory_maps.py --quick                seconds
    python benchmarks/memory_maps.py --picture FILE         the maps as a picture, from the results that are there

Each map has spectral radii on one axis. On the other: the leak rate of all neurons, the spread of their leak rates, or the
share of tanh in a level with an orthogonal residual matrix. All points of a map are lanes that share their weights. Inputs of
all tasks are standardised, and the noise of the measures has variance 1 as they have.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import common
import numpy as np
import numpy.typing as npt
import suggest_problems as problems
from scipy.stats import spearmanr

import echoscale as es
from echoscale import measures
from echoscale.data.scaling import Scaling
from echoscale.data.series import as_series, as_targets
from echoscale.engine.hyper import Hyper, with_lanes
from echoscale.readouts.ridge import normalised_errors, ridge_path
from echoscale.readouts.statistics import split_statistics
from echoscale.sweeps import Protocol

Floats = npt.NDArray[np.float64]


TELEGRAPH = "telegraph, "
LONGER = 10  # times the steps of the other tasks: a regime of the telegraph lasts 2,000 steps on average


def regime(steps: int, seed: int) -> tuple[Floats, Floats]:
    """The hidden regime of a noisy telegraph signal, which needs a long memory."""
    made = es.tasks.telegraph(steps, seed=seed)
    return made.u, made.regime[:, None].astype(np.float64)


def joint(steps: int, seed: int) -> tuple[Floats, Floats]:
    """State and regime of the same signal as one of four classes, one-hot: a short and a long memory at once."""
    made = es.tasks.telegraph(steps, seed=seed)
    return made.u, np.eye(4)[made.joint]


def lengths(task: str, protocol: Protocol) -> Protocol:
    """The protocol of a task; the telegraph needs longer series."""
    if not task.startswith(TELEGRAPH):
        return protocol
    longer = {part: LONGER * getattr(protocol, part) for part in ("train", "validation", "test")}
    return replace(protocol, washout=max(protocol.washout, SLOWEST_WASHOUT), **longer)


TASKS: dict[str, Callable[[int, int], tuple[Floats, Floats]]] = {
    "delay of 20": problems.delay_20,
    "smoothing": problems.smoothing,
    "u(t-3) u(t-8)": problems.far_product,
    "NARMA10": problems.narma(10),
    "channel equalisation": problems.channel,
    "Mackey-Glass, 10 ahead": problems.mackey_glass(10),
    "Lorenz, 10 ahead": problems.lorenz(10),
    f"{TELEGRAPH}regime": regime,
    f"{TELEGRAPH}joint": joint,
}
# The regime wants leak rates of a few thousandths, and their washout.
SLOWEST, SLOWEST_WASHOUT = 0.002, 1000
COMMON: dict[str, Any] = {"input_scaling": 0.3, "bias_scaling": 0.3}
# The network, and the leaf on the other axis with its range; True: evenly spaced in its logarithm.
MAPS: dict[str, tuple[dict[str, Any], str, float, float, bool]] = {
    "leak rate": ({"leak_rate": 1.0}, "leak_rate", SLOWEST, 1.0, True),
    "spread of leak rates": ({"leak_rate": es.LogUniform(0.01, 1.0)}, "leak_spread", 0.0, -np.log(SLOWEST), False),
    "share of tanh, orthogonal residual": ({"residual": "orthogonal"}, "leak_rate", 0.01, 1.0, True),
}
RADII = (0.1, 1.5)
MEASURES = ("memory capacity", "nonlinear capacity", "total capacity", "exponent", "dimension")


def grid(esn: es.ESN, leaf: str, values: Floats, radii: Floats) -> Hyper:
    """All pairs as lanes, the radii fastest."""
    one, other = np.meshgrid(values, radii, indexing="ij")
    return with_lanes(esn.hyper, {leaf: one.ravel().tolist(), "spectral_radius": other.ravel().tolist()})


def measured(esn: es.ESN, hyper: Hyper, steps: int, seed: int) -> dict[str, list[float]]:
    """Of every lane."""
    u = measures.noise(steps, seed=seed, low=-(3**0.5), high=3**0.5)
    units = esn.units
    memory = measures.memory_capacity(esn, u, lags=2 * units, hyper=hyper)
    capacity = measures.processing_capacity(esn, u, lags=(2 * units, 20, 10), hyper=hyper)
    exponents = measures.lyapunov_exponents(esn, u[: max(steps // 4, 300)], hyper=hyper)
    found = {
        "memory capacity": memory.capacity,
        "nonlinear capacity": capacity.total - capacity.capacity.sel(degree=1),
        "total capacity": capacity.total,
        "exponent": exponents.exponent.isel(place=0),
        "dimension": measures.dimension(esn, u, hyper=hyper).dimension,
    }
    return {name: each.values.tolist() for name, each in found.items()}


def errors(esn: es.ESN, hyper: Hyper, data: tuple[Floats, Floats], protocol: Protocol) -> dict[str, list[float]]:
    """NRMSE on validation and test steps of every lane, the penalty chosen on the validation steps."""
    u, y = data
    first = protocol.washout
    cuts = first + np.cumsum([0, protocol.train, protocol.validation, protocol.test])
    series = Scaling.of([u[: cuts[1]]]).apply(as_series(u[: cuts[-1]]))
    targets = as_targets(y[: cuts[-1]], series)
    (train, validation, test), _ = split_statistics(esn, series, targets, [cuts], hyper=hyper)
    path = ridge_path(train, np.asarray(protocol.ridge))
    seen = normalised_errors(path, validation)
    chosen = seen.argmin(axis=0), np.arange(seen.shape[1])
    return {"validation": seen[chosen].tolist(), "test": normalised_errors(path, test)[chosen].tolist()}


def measure(options: argparse.Namespace) -> common.Raw:
    quick = options.quick
    units, size, seeds, steps = (8, 2, 1, 600) if quick else (50, 10, 3, 6000)
    protocol = Protocol(washout=100, train=300, validation=100, test=100) if quick else Protocol(train=3000, validation=1000)
    tasks = dict(list(TASKS.items())[:2]) if quick else TASKS
    radii = np.linspace(*RADII, size)
    found: dict[str, Any] = {}
    for name, (kind, leaf, low, high, logarithmic) in MAPS.items():
        values = np.geomspace(low, high, size) if logarithmic else np.linspace(low, high, size)
        runs = []
        for seed in range(seeds):
            esn = es.single(units, **COMMON, **kind).build(1, seed=seed)
            hyper = grid(esn, leaf, values, radii)
            run: dict[str, Any] = {"measures": measured(esn, hyper, steps, seed), "errors": {}}
            for task, make in tasks.items():
                own = lengths(task, protocol)
                data = make(own.washout + own.train + own.validation + own.test, seed)
                heard = esn if data[0].shape[1] == 1 else es.single(units, **COMMON, **kind).build(data[0].shape[1], seed=seed)
                run["errors"][task] = errors(heard, hyper, data, own)
            runs.append(run)
            common.say(f"{name}, seed {seed}")
        found[name] = {"leaf": leaf, "values": values.tolist(), "radii": radii.tolist(), "runs": runs}
    return {"units": units, "maps": found}


def correlations(entry: dict[str, Any], task: str) -> list[float]:
    """Spearman's rank correlation of every measure with the error over the points of a map, mean over the seeds."""
    found = []
    for name in MEASURES:
        each = [spearmanr(run["measures"][name], run["errors"][task]["test"]).statistic for run in entry["runs"]]
        found.append(float(np.mean(np.nan_to_num(each))))
    return found


def table(raw: common.Raw) -> str:
    """One table for every map: the least error and where it is, and how measures go with errors."""
    draws = len(next(iter(raw["maps"].values()))["runs"])
    lines = [
        "# Which memory does a problem need?",
        "",
        common.origin(raw),
        "",
        f"One reservoir of {raw['units']} neurons; draws of weights and data: {draws}.",
        "NRMSE: on held-out test data at the point of the map that the validation data choose, mean over the draws; then the",
        "point with the least validation error, mean over the draws.",
        "Then Spearman's rank correlation of each measure with the error over the points of the map: -1 means that a larger",
        "measure always comes with a smaller error.",
        "",
    ]
    for name, entry in raw["maps"].items():
        body = []
        for task in entry["runs"][0]["errors"]:
            seen, test = (np.array([run["errors"][task][part] for run in entry["runs"]]) for part in ("validation", "test"))
            place = int(seen.mean(axis=0).argmin())
            taken = test[np.arange(len(test)), seen.argmin(axis=1)]
            value, radius = (
                np.array(entry["values"])[place // len(entry["radii"])],
                np.array(entry["radii"])[place % len(entry["radii"])],
            )
            cells = [f"{each:+.2f}" for each in correlations(entry, task)]
            body.append([task, f"{taken.mean():.3f}", f"{value:.2g}", f"{radius:.2g}", *cells])
        lines += [f"## Map: {name}", "", *common.rows(("task", "NRMSE", name, "radius", *MEASURES), body), ""]
    return "\n".join(lines)


def picture(raw: common.Raw, target: Path) -> None:
    """The maps of three measures and of the errors on three tasks, a row for every map, mean over the draws."""
    from matplotlib.figure import Figure

    shown = ("memory capacity", "nonlinear capacity", "exponent")
    first = next(iter(raw["maps"].values()))["runs"][0]["errors"]
    tasks = [each for each in ("delay of 20", "NARMA10", f"{TELEGRAPH}regime") if each in first]
    figure = Figure(figsize=(2.3 * (len(shown) + len(tasks)), 2.2 * len(raw["maps"])), layout="constrained")
    axes = figure.subplots(len(raw["maps"]), len(shown) + len(tasks), squeeze=False)
    for row, (name, entry) in enumerate(raw["maps"].items()):
        shape = len(entry["values"]), len(entry["radii"])
        maps = [(each, "measures", "viridis") for each in shown] + [(each, "errors", "magma_r") for each in tasks]
        for column, (each, group, colours) in enumerate(maps):
            found = [run[group][each] if group == "measures" else run[group][each]["test"] for run in entry["runs"]]
            values = np.mean(found, axis=0).reshape(shape)
            ax = axes[row, column]
            seen = ax.pcolormesh(
                entry["radii"], np.arange(shape[0]), np.log10(values) if group == "errors" else values, cmap=colours
            )
            figure.colorbar(seen, ax=ax)
            ticks = np.unique(np.linspace(0, shape[0] - 1, 4).round().astype(int))
            ax.set_yticks(ticks, [f"{entry['values'][k]:.2g}" for k in ticks])
            if row == 0:
                ax.set_title(each if group == "measures" else f"log10 error:\n{each}", fontsize="small")
            if row == len(raw["maps"]) - 1:
                ax.set_xlabel("spectral radius")
        axes[row, 0].set_ylabel(name.replace(", ", ",\n"), fontsize="small")
    figure.savefig(target, dpi=90)


def extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the maps of the results that are there, and stop")


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    asked = argparse.ArgumentParser(add_help=False)
    extend(asked)
    target = asked.parse_known_args(arguments)[0].picture
    if target is not None:
        raw: common.Raw = json.loads((common.RESULTS / "memory_maps.json").read_text(encoding="utf-8"))
        picture(raw, target)
        return raw
    return common.main("memory_maps", __doc__, measure, table, arguments=arguments, extend=extend)


if __name__ == "__main__":
    main()
