"""Raw data of `tuning.py` -> tables in Markdown, and a figure."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import common
import numpy as np
import numpy.typing as npt
from tuning_methods import FRAGILE_NOISE, FRAGILE_RIDGE, NOISE, RELATIVE

sys.path.append(str(common.HERE.parent))  # the package `paper`

from paper import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
Results = dict[str, list[float]]

NAMES = {"narma10": "NARMA10", "narma5": "NARMA5"}
TITLES = {"all": "every hyper-parameter and the ridge", "leaks": "the two leak rates"}
SHORT = {"all": "all hyper-parameters", "leaks": "the leak rates"}  # in the figure
UNFAIR_SEEDS = {"online-rls": 0}  # its settings were chosen on this seed


class Row(NamedTuple):
    """A line of a table: a method, and which of its errors."""

    method: str
    text: str
    prefix: str = ""


ROWS = {
    "all": (
        Row("random", "random search"),
        Row("tpe", "Optuna TPE"),
        Row("tpe-noise", "Optuna TPE, to withstand noise"),
        Row("tune-single", "`es.tune` on a single network"),
        Row("tune", "**`es.tune`**"),
        Row("tune-noise", "**`es.tune`, to withstand noise**"),
    ),
    "leaks": (
        Row("grid", "grid"),
        Row("online-rls", "online, RLS readout, as it stands", "own_"),
        Row("online-rls", "online, RLS readout, then ridge"),
        Row("online-adam", "online, the paper's rule, as it stands", "own_"),
        Row("online-adam", "online, the paper's rule, then ridge"),
        Row("tune", "**`es.tune`**"),
    ),
}


def of(raw: common.Raw, task: str, names: str, method: str) -> dict[int, Results]:
    """Results of a method by seed; without the seed on which its settings were chosen."""
    return {
        each["seed"]: each["results"]
        for each in raw["jobs"].values()
        if (each["task"], each["names"], each["method"]) == (task, names, method) and each["seed"] != UNFAIR_SEEDS.get(method)
    }


def tasks_of(raw: common.Raw) -> list[str]:
    """Those that there is anything of."""
    return [task for task in NAMES if any(each["task"] == task for each in raw["jobs"].values())]


def table(raw: common.Raw) -> str:
    """The whole report."""
    s, done = raw["settings"], len(raw["jobs"])
    partial = "" if done == raw["wanted"] else f" {done} of {raw['wanted']} jobs are there."
    absent = f" Not installed, and left out: {', '.join(raw['absent'])}." if raw["absent"] else ""
    lines = [
        "# Ways to set the hyper-parameters of a network",
        "",
        common.origin(raw) + partial + absent,
        "",
        f"Two levels of {' and '.join(map(str, s['units']))} neurons (single: {sum(s['units'])}), spectral radius "
        f"{s['spectral_radius']}, input scaling {s['input_scaling']}, coupling 1, ridge {s['ridge']:g} where these are not "
        f"searched for; float64. Washout {s['washout']}, training {s['train']}, validation {s['validation']}, test {s['test']} "
        "steps; the state that predicts y[t] has seen u[t]. One seed draws series and weights. The readout is fitted on the "
        "training steps, the choice is made by validation NRMSE, and test NRMSE is that of the choice on held-out test data: "
        f"mean ± standard error over the seeds. Constants of `es.tune` were looked at on seeds {_range(raw['seen'])}; seeds "
        f"{_range(raw['fresh'])} chose nothing.",
        "",
        "Random search and TPE search the whole bounds of `es.tune`, every point gets the best ridge of a path "
        f"({len(RELATIVE)} from {RELATIVE[0]:.0e} to {RELATIVE[-1]:.0e} of the states' mean squared singular value, chosen on "
        "validation; the floor of `es.tune` is the first), and both get the simulated steps that "
        "`es.tune` took for the same task and seed. Steps are those of one network; every tangent of `es.tune` counts as a "
        "network. *`tune` better*: in how many seeds its test error is lower. Seconds are those of one core with other jobs "
        "beside, compilation included: indicative only.",
        "",
    ]
    for names, title in TITLES.items():
        for task in tasks_of(raw):
            body = _errors(raw, task, names)
            if body:
                lines += [f"## {NAMES[task]}: {title}", "", *body, ""]
    lines += ["## How fragile the choices are", "", *_fragility(raw), ""]
    lines += ["## What was chosen", "", *_chosen(raw), "", "## Notes", "", *_notes(raw), ""]
    return "\n".join(lines)


def _range(seeds: Sequence[int]) -> str:
    return f"{seeds[0]} to {seeds[-1]}"


def _errors(raw: common.Raw, task: str, names: str) -> list[str]:
    ours = {seed: each["curve_test"][-1] for seed, each in of(raw, task, names, "tune").items()}
    body = []
    for row in ROWS[names]:
        found = of(raw, task, names, row.method)
        if not found:
            continue
        tests = {seed: each[f"curve_{row.prefix}test"][-1] for seed, each in found.items()}
        cells = [row.text, str(len(found)), f"{np.mean([each['steps'][0] for each in found.values()]):.2g}".replace("e+0", "e")]
        cells.append(f"{np.mean([each['seconds'][0] for each in found.values()]):.3g}")
        cells.append(_mean([each[f"curve_{row.prefix}validation"][-1] for each in found.values()]))
        cells.append(_mean(list(tests.values())))
        cells.append(_mean([tests[seed] for seed in raw["fresh"] if seed in tests]))
        both = [seed for seed in tests if seed in ours]
        better = sum(ours[seed] < tests[seed] for seed in both)
        ours_too = row.method in ("tune", "tune-noise")
        cells.append("" if ours_too or not both else f"{better} of {len(both)}")
        body.append(cells)
    head = ("", "seeds", "steps", "seconds", "validation", "test", f"test, seeds {_range(raw['fresh'])}", "`tune` better")
    return common.rows(head, body) if body else []


def _mean(values: Sequence[float]) -> str:
    return common.mean_and_error(values, 4 if len(values) and np.mean(values) < 0.1 else 3)


def _fragility(raw: common.Raw) -> list[str]:
    lines = [
        "Test NRMSE of the chosen networks, mean over the seeds (least to largest), when something small is changed: the ridge "
        f"is {FRAGILE_RIDGE:g}; normal noise of {FRAGILE_NOISE:g} is added to all states and the ridge chosen anew on "
        "validation; states are float32 and the ridge chosen anew. *Largest weight*: of the readout as chosen, median.",
        "",
    ]
    kinds = ("fragile_ridge", "fragile_noise", "fragile_float32")
    body = []
    for task in tasks_of(raw):
        for names, methods in (("all", [row.method for row in ROWS["all"]]), ("leaks", ["grid"])):
            for method in methods:
                found = list(of(raw, task, names, method).values())
                if found:
                    text = next(row.text for row in ROWS[names] if row.method == method)
                    cells = [f"{NAMES[task]}: {text}", f"{np.mean([each['curve_test'][-1] for each in found]):.3g}"]
                    for kind in kinds:
                        values = [each[kind][0] for each in found]
                        cells.append(f"{np.mean(values):.3g} ({min(values):.3g} to {max(values):.3g})")
                    cells.append(f"{np.median([each['largest_weight'][0] for each in found]):.1e}")
                    body.append(cells)
    head = ("", "as chosen", f"ridge {FRAGILE_RIDGE:g}", f"noise {FRAGILE_NOISE:g}", "float32", "largest weight")
    return lines + common.rows(head, body)


def _chosen(raw: common.Raw) -> list[str]:
    """Median over the seeds, least and largest."""
    labels = {
        "leaks": ("leak_rate[0]", "leak_rate[1]", "ridge"),
        "all": (
            *(f"{name}[{k}]" for name in ("leak_rate", "spectral_radius", "input_scaling", "bias_scaling") for k in (0, 1)),
            "coupling[0]",
            "ridge",
        ),
    }
    lines = ["What `es.tune` chose: median over the seeds (least to largest).", ""]
    for names in TITLES:
        for task in tasks_of(raw):
            found = [each["chosen"] for each in of(raw, task, names, "tune").values()]
            if found:
                parts = [
                    f"{label} {np.median(values):.2g} ({min(values):.2g} to {max(values):.2g})"
                    for label, values in zip(labels[names], zip(*found, strict=True), strict=True)
                ]
                lines.append(f"- {NAMES[task]}, {TITLES[names]}: {', '.join(parts)}")
    return lines


def _notes(raw: common.Raw) -> list[str]:
    s = raw["settings"]
    every = [each["results"] for each in raw["jobs"].values()]
    apart = max((each["refitted_apart"][0] for each in every if "refitted_apart" in each), default=0.0)
    return [
        f"- To withstand noise: `tune(noise={NOISE:g})`, and TPE with {NOISE:g}² times the training steps added to every "
        "ridge, which is what such noise on the states does to the Gram matrix on average.",
        f"- Grid: {s['grid']} × {s['grid']} leak rates from {1 / s['grid']:.3g} to 1.",
        f"- `es.tune`: {s['starts']} starts, at most {s['rounds']} rounds, its usual bounds.",
        "- TPE and random search: leak rates and radii on a plain scale, all others on a logarithmic one. TPE is "
        f"`TPESampler(multivariate=True, constant_liar=True)`, {s['batch']} trials at a time, Optuna's other defaults.",
        f"- Online: {s['sequences']} sequences at once from seeds that no other series has; steps are time steps × sequences × "
        f"(network and two tangents); both leak rates begin at {s['start_leak']:g}. The paper's rule is "
        "`OnlineLearner(rates='narma')` without resets of the readout; the other is "
        f"`readout=RLS({s['ridge']:g}, {s['rls_forgetting']})`, `rates=Adam({s['rls_rate']:g}, beta1=0.99)`, which were chosen "
        "on seed 0 by validation and test error: seed 0 is left out of its lines. *As it stands*: the online readout, frozen. "
        "*Then ridge*: the leak rates alone, with a ridge readout of the usual training steps.",
        "- Readouts of the points on the curves are fitted again for the test; their validation errors repeat those of the "
        f"searches to {apart:.1g} at worst.",
    ]


# -------------------------------------------------------------------------------------------------------------------- figure


class Line(NamedTuple):
    """One curve of a panel."""

    method: str
    text: str
    colour: str
    dash: str = "-"
    error: str = "test"


LINES = {
    "all": (
        Line("random", "random search", style.ORANGE),
        Line("tpe", "TPE", style.GREEN),
        Line("tune-single", "tune, single network", style.SKY),
        Line("tune", "tune", style.BLUE),
    ),
    "leaks": (
        Line("grid", "grid", style.BLACK),
        Line("online-adam", "online, paper's rule", style.PINK, "--", "own_test"),
        Line("online-adam", "paper's rule, then ridge", style.PINK),
        Line("online-rls", "online, RLS", style.RED, "--", "own_test"),
        Line("online-rls", "RLS, then ridge", style.RED),
        Line("tune", "tune", style.BLUE),
    ),
}


def figure(raw: common.Raw) -> Figure:
    """Test error against simulated steps: median over the seeds, quartiles shaded."""
    fig: Figure = style.figure(6.4, 9.6)
    tasks = tasks_of(raw)
    axes = fig.subplots(len(LINES), len(tasks), squeeze=False)
    letters = iter("ABCD")
    for names, row in zip(("leaks", "all"), axes, strict=True):
        for task, ax in zip(tasks, row, strict=True):
            found = ((line, of(raw, task, names, line.method)) for line in LINES[names])
            _draw(ax, [(line, each) for line, each in found if each])
            style.panel(ax, next(letters), title=f"{NAMES[task]}: {SHORT[names]}")
    for ax in axes[-1]:
        ax.set_xlabel("simulated steps", fontsize=9)
    for ax in axes[:, 0]:
        ax.set_ylabel("test NRMSE", fontsize=9)
    return fig


def _draw(ax: Any, found: Iterable[tuple[Line, dict[int, Results]]]) -> None:
    ends = []
    for line, by_seed in found:
        curves = list(by_seed.values())
        if line.method.startswith("online"):  # looked at now and then, at the same steps for all seeds
            steps, errors = np.array(curves[0]["curve_steps"]), np.array([each[f"curve_{line.error}"] for each in curves])
        else:
            steps, errors = _together(curves, line.error)
        low, middle, high = np.quantile(errors, [0.25, 0.5, 0.75], axis=0)
        ours = line.method == "tune"
        look = {"color": line.colour, "linestyle": line.dash, "linewidth": 2.2 if ours else 1.3, "zorder": 4 if ours else 3}
        ax.fill_between(steps, low, high, color=line.colour, alpha=0.12, linewidth=0, zorder=1)
        ax.plot(steps, middle, **look, **({"marker": "o", "markersize": 2.5} if line.method.startswith("online") else {}))
        ax.plot(steps[-1:], middle[-1:], "o", color=line.colour, markersize=4 if ours else 3, zorder=look["zorder"])
        ends.append((steps[-1], middle[-1], line))
    ax.set_xscale("log")
    ax.set_yscale("log")
    _ticks(ax)
    _labels(ax, ends)


def _together(curves: Sequence[Results], error: str) -> tuple[Floats, Floats]:
    """Curves of all seeds at the same numbers of steps, (points,) and (seeds, points); each holds its last value."""
    first = max(curve["curve_steps"][0] for curve in curves)
    total = float(np.median([curve["steps"][0] for curve in curves]))
    steps = np.geomspace(first, max(total, first * 1.001), 400)
    rows = []
    for curve in curves:
        place = np.searchsorted(curve["curve_steps"], steps * (1 + 1e-9), side="right") - 1
        rows.append(np.array(curve[f"curve_{error}"])[np.maximum(place, 0)])
    return steps, np.stack(rows)


def _ticks(ax: Any) -> None:
    """Plain numbers on a logarithmic axis: few, but more than two."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    low, high = ax.get_ylim()
    for steps in ((1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7), np.arange(1, 10), np.arange(1, 10, 0.5), np.arange(1, 10, 0.2)):
        places = [each for k in range(-4, 2) for m in steps if low <= (each := float(m * 10.0**k)) <= high]
        if len(places) >= 4:
            break
    ax.yaxis.set_major_locator(FixedLocator(places))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())


def _labels(ax: Any, ends: Sequence[tuple[float, float, Line]]) -> None:
    """Names beside the right edge, at the heights of the ends as far as they do not overlap."""
    if not ends:
        return
    low, high = np.log(ax.get_ylim())
    order = sorted(ends, key=lambda end: end[1])
    heights = np.array([(np.log(y) - low) / (high - low) for _, y, _ in order])
    for place, (x, y, line) in zip(_apart(heights, 0.068), order, strict=True):
        ax.annotate(
            line.text,
            (x, y),
            (1.02, place),
            textcoords="axes fraction",
            color=line.colour,
            fontsize=8,
            fontweight="bold" if line.method == "tune" else "normal",
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": line.colour,
                "linewidth": 0.5,
                "alpha": 0.6,
                "shrinkA": 1,
                "shrinkB": 3,
                "relpos": (0, 0.5),
            },
        )


def _apart(heights: Floats, gap: float) -> Floats:
    """Sorted heights moved as little as needed to be `gap` apart (pooling neighbours that would overlap), within the panel."""
    shifted = heights - gap * np.arange(len(heights))
    pools: list[list[float]] = []
    for value in shifted:
        pools.append([float(value)])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    even: Floats = np.concatenate([[np.mean(pool)] * len(pool) for pool in pools]) + gap * np.arange(len(heights))
    even += max(-even[0], 0.0)
    return np.asarray(even - max(even[-1] - 1.0, 0.0))
