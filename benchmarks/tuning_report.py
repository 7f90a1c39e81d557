"""Results of `tuning.py` -> a table in Markdown and a figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tuning_plan import FRESH, METHODS, SEEN, SETS, TASKS, Job, Settings

from echoscale.paper import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
Results = dict[str, dict[str, Any]]

REACHED = 1.01  # times the grid's best validation error: as good as the grid
NAMES = {"narma10": "NARMA10", "narma5": "NARMA5"}
TITLES = {
    "leaks": "the two leak rates",
    "six": "leak rates, both radii, input scaling, coupling",
    "all": "every number of the network, and the ridge",
}
SHORT = {"leaks": "two leak rates", "all": "all numbers and the ridge"}


class Row(NamedTuple):
    """A line of the table: a method at the end of its curve or where its budget ends; `test` and `validation` name errors."""

    method: str
    text: str
    long: bool = False
    prefix: str = ""


def rows(name: str, longer: int = 0) -> list[Row]:
    """The lines of one set, searches first; `longer` as in the settings."""
    found = []
    order = [method for family in ("grid", "random", "tpe", "online", "tune") for method in METHODS if _of(method, family)]
    order.append(order.pop(order.index("tune")))
    for method in (each for each in order if name in METHODS[each].sets):
        text = METHODS[method].text
        if method.startswith("online"):
            found += [Row(method, f"{text}, as it stands", prefix="own_"), Row(method, f"{text}, then ridge")]
            continue
        found.append(Row(method, text))
        if name in METHODS[method].long:
            found.append(Row(method, f"the same, {longer} times the steps", long=True))
    return found


def _of(method: str, family: str) -> bool:
    return method.partition("-")[0] == family


class Cell(NamedTuple):
    """Of one seed: errors of the choice, and what it took."""

    test: float
    validation: float
    steps: int
    seconds: float


def cell(row: Row, result: dict[str, Any]) -> Cell:
    """What a method held to be best when its steps were used up."""
    curve = result["curve"]
    last, steps, seconds = -1, result["steps"], result["seconds"]
    if result["set"] in METHODS[row.method].long and not row.long:
        steps = int(result["budget"])
        seconds *= steps / result["steps"]
        last = int(np.searchsorted(curve["steps"], steps, side="right")) - 1
    return Cell(curve[f"{row.prefix}test"][last], curve[f"{row.prefix}validation"][last], steps, seconds)


def of(results: Results, task: str, name: str, method: str) -> dict[int, dict[str, Any]]:
    """By seed."""
    jobs = {seed: str(Job(task, name, method, seed)) for seed in (*SEEN, *FRESH)}
    return {seed: results[job] for seed, job in jobs.items() if job in results}


def markdown(results: Results, alone: Results, settings: Settings, quick: bool, wanted: int) -> str:
    """The whole report."""
    s = settings
    partial = "" if len(results) == wanted else f" {len(results)} of {wanted} jobs are there."
    small = " Small sizes (`--quick`): for a look, not for quoting." if quick else ""
    lines = [
        "# Ways to find the numbers of a network",
        "",
        f"`python benchmarks/tuning.py`.{small}{partial} {_origin(results)}",
        "",
        f"Two levels of {' and '.join(map(str, s.units))} neurons (single: {sum(s.units)}), spectral radius "
        f"{s.spectral_radius}, input scaling {s.input_scaling}, coupling 1, ridge {s.ridge:g} where these are not searched "
        f"for; float64. Washout {s.washout}, training {s.train}, validation {s.validation}, test {s.test} steps; the state "
        "that predicts y[t] has seen u[t]. One seed draws series and weights. The readout is fitted on the training steps, the "
        "choice is made by validation NRMSE, and test NRMSE is that of the choice: mean ± standard error over the seeds. "
        f"Constants of the search in `es.tune` were looked at on seeds {SEEN[0]} to {SEEN[-1]}; seeds {FRESH[0]} to "
        f"{FRESH[-1]} chose nothing.",
        "",
        "Steps are simulated steps of one network; every tangent counts as a network. *To the grid*: median steps until "
        f"validation NRMSE is within {100 * (REACHED - 1):.0f} % of the grid's best, and in how many seeds that happens. "
        "*`tune` better*: in how many seeds its test error is lower than that of this line. Seconds were taken with other "
        "jobs beside, compilation included, on one core each, and are only indicative.",
        "",
    ]
    for task in TASKS:
        for name in SETS:
            table = _table(results, alone, task, name, s.longer)
            if table:
                lines += [f"## {NAMES[task]}: {TITLES[name]}", "", *table, ""]
    lines += ["## How many starts arrive", "", *_starts(results), ""]
    lines += ["## What was chosen", "", *_chosen(results), ""]
    lines += _notes(results, settings)
    return "\n".join(lines)


def _table(results: Results, alone: Results, task: str, name: str, longer: int) -> list[str]:
    timed = {row.method for row in rows(name) if of(alone, task, name, row.method)}
    head = f"| | steps | seconds |{' alone |' if timed else ''} validation | test, seeds {SEEN[0]}–{SEEN[-1]} | "
    head += f"seeds {FRESH[0]}–{FRESH[-1]} | all | to the grid | `tune` better |"
    lines = [head, "|---|" + "---:|" * (head.count("|") - 2)]
    ours = {seed: cell(Row("tune", ""), each) for seed, each in of(results, task, name, "tune").items()}
    grids = {seed: cell(Row("grid", ""), each) for seed, each in of(results, task, "leaks", "grid").items()}
    for row in rows(name, longer):
        found = of(results, task, name, row.method)
        if not found:
            continue
        cells = {seed: cell(row, each) for seed, each in found.items()}
        tests = {seed: each.test for seed, each in cells.items()}
        shown = [f"{np.mean([each.steps for each in cells.values()]):.2g}".replace("e+0", "e")]
        shown.append(f"{np.mean([each.seconds for each in cells.values()]):.3g}")
        if timed:
            clock = [cell(row, each).seconds for each in of(alone, task, name, row.method).values()]
            shown.append(f"{np.mean(clock):.3g}" if clock else "")
        shown.append(_mean([each.validation for each in cells.values()]))
        shown += [_mean([tests[seed] for seed in group if seed in tests]) for group in (SEEN, FRESH, (*SEEN, *FRESH))]
        shown.append("" if row.prefix else _reach(found, cells, grids))
        both = [seed for seed in tests if seed in ours]
        better = sum(ours[seed].test < tests[seed] for seed in both)
        shown.append("" if row.method == "tune" or not both else f"{better} of {len(both)}")
        lines.append(f"| {row.text} | {' | '.join(shown)} |")
    return lines if len(lines) > 2 else []


def _mean(values: Sequence[float]) -> str:
    if not len(values):
        return "–"
    digits = 4 if np.mean(values) < 0.1 else 3
    error = f" ± {np.std(values, ddof=1) / np.sqrt(len(values)):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{error}"


def _reach(found: dict[int, dict[str, Any]], cells: dict[int, Cell], grids: dict[int, Cell]) -> str:
    """When the curves come as low as the grid does."""
    both = [seed for seed in found if seed in grids]
    steps = []
    for seed in both:
        curve = found[seed]["curve"]
        low = np.flatnonzero(np.array(curve["validation"]) <= REACHED * grids[seed].validation)
        if len(low) and curve["steps"][low[0]] <= cells[seed].steps:
            steps.append(curve["steps"][low[0]])
    if not both:
        return "–"
    return f"{np.median(steps):.2g}, {len(steps)} of {len(both)}".replace("e+0", "e") if steps else f"never, 0 of {len(both)}"


def _starts(results: Results) -> list[str]:
    lines = [
        "Of the starts of `es.tune`: how many end within 1 % and within 10 % of the best validation error of that run, and "
        f"how many within {100 * (REACHED - 1):.0f} % of the grid's best or below it; mean over the seeds. With "
        "`relocate=False` the starts know nothing of each other, so that this is how many random starts find the best minimum.",
        "",
        "| | | starts | rounds | within 1 % | within 10 % | as good as the grid |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for task in TASKS:
        grids = {seed: cell(Row("grid", ""), each) for seed, each in of(results, task, "leaks", "grid").items()}
        for name in SETS:
            for method in ("tune", "tune-independent", "tune-few", "tune-single"):
                found = of(results, task, name, method)
                if not found:
                    continue
                last = {seed: np.array(each["starts"]["last"]) for seed, each in found.items()}
                counts = [np.mean([(each <= share * each.min()).sum() for each in last.values()]) for share in (1.01, 1.1)]
                low = [(last[seed] <= REACHED * grids[seed].validation).sum() for seed in found if seed in grids]
                cells = [f"{len(next(iter(last.values())))}", f"{np.mean([each['rounds'] for each in found.values()]):.0f}"]
                cells += [f"{count:.1f}" for count in counts] + [f"{np.mean(low):.1f}" if low else "–"]
                lines.append(f"| {NAMES[task]}, {name} | {METHODS[method].text} | {' | '.join(cells)} |")
    return lines


def _chosen(results: Results) -> list[str]:
    lines = ["What `es.tune` chose: median over the seeds (least to largest).", ""]
    for name in SETS:
        for task in TASKS:
            found = list(of(results, task, name, "tune").values())
            if found:
                parts = []
                for key in found[0]["chosen"]:
                    values = [each["chosen"][key] for each in found]
                    parts.append(f"{key} {np.median(values):.2g} ({min(values):.2g} to {max(values):.2g})")
                lines.append(f"- {NAMES[task]}, {name}: {', '.join(parts)}")
    return lines


def _notes(results: Results, settings: Settings) -> list[str]:
    s = settings
    apart = max((each.get("refitted_apart", 0.0) for each in results.values()), default=0.0)
    return [
        "## Notes",
        "",
        f"- Grid: {s.grid} × {s.grid} leak rates from {1 / s.grid:g} to 1. Its curve goes through them in a random order.",
        f"- `es.tune`: {s.starts} starts unless another number is told, at most {s.rounds} rounds, its usual bounds.",
        "- Random search and TPE draw from the ranges that `es.tune` draws its starts from (`echoscale.tuning.space.STARTS`), "
        "leak rates and radii on a plain scale and all others on a logarithmic one; *whole bounds*: from `BOUNDS`, within "
        "which `es.tune` may move. *Ridge by its path*: for every point the best of 27 penalties from 1e-12 to 10 on "
        "validation, which costs no further simulation. *Both*: the two together.",
        f"- TPE: `TPESampler(multivariate=True, constant_liar=True)`, {s.batch} trials at a time, Optuna's other defaults; its "
        "seconds contain its own work, which grows with the square of the number of trials.",
        f"- Online: {s.sequences} sequences at once from seeds that no other series has; steps are time steps × sequences × "
        "(network and two tangents); both leak rates begin at "
        f"{s.start_leak:g}. The paper's rule is `OnlineLearner(rates='narma')` without resets of the readout; the other is "
        f"`readout=RLS({s.ridge:g}, {s.rls_forgetting})`, `rates=Adam({s.rls_rate:g}, beta1=0.99)`, chosen from a handful on "
        "NARMA10, seed 0, by its validation and test error. *As it stands*: the online readout, frozen. *Then ridge*: the leak "
        "rates alone, with a ridge readout of the usual training steps.",
        "- Plain random search over every number was given more steps than `es.tune` in some seeds, up to ten times as many: "
        "its mean number of steps shows it.",
        f"- Readouts of the points on the curves are fitted again for the test; their validation errors repeat those of the "
        f"searches to {apart:.1g} at worst.",
        "",
    ]


def _origin(results: Results) -> str:
    some = list(results.values())
    versions: dict[str, set[str]] = {}
    for each in some:
        for library, number in each["versions"].items():
            versions.setdefault(library, set()).add(number)
    machines = sorted({each["machine"]["cpu"] for each in some})
    listed = ", ".join(f"{library} {' and '.join(sorted(numbers))}" for library, numbers in versions.items())
    return f"{' and '.join(machines)}; {listed}."


# -------------------------------------------------------------------------------------------------------------------- figure


class Line(NamedTuple):
    """One curve of a panel."""

    method: str
    text: str
    colour: str
    dash: str = "-"
    error: str = "test"


def lines(results: Results, task: str, name: str) -> list[Line]:
    """Of random search and of TPE the variant with the least mean validation error at equal steps."""
    found = [Line("grid", "grid", style.BLACK)] if name == "leaks" else []
    for family, text, colour in (("random", "random search", style.ORANGE), ("tpe", "TPE", style.GREEN)):
        found.append(Line(_better(results, task, name, family), text, colour))
    if name == "leaks":
        found += [
            Line("online-adam", "online, paper's rule", style.PINK, "--", "own_test"),
            Line("online-adam", "paper's rule, then ridge", style.PINK),
            Line("online-rls", "online, RLS", style.RED, "--", "own_test"),
            Line("online-rls", "RLS, then ridge", style.RED),
        ]
    found += [Line("tune-single", "tune, single network", style.SKY), Line("tune-few", "tune, 2 starts", style.BLUE, ":")]
    found.append(Line("tune", "tune, 8 starts", style.BLUE))
    return [line for line in found if of(results, task, name, line.method)]


def _better(results: Results, task: str, name: str, family: str) -> str:
    variants = [method for method in METHODS if _of(method, family) and of(results, task, name, method)]

    def error(method: str) -> float:
        cells = [cell(Row(method, ""), each) for each in of(results, task, name, method).values()]
        return float(np.mean([each.validation for each in cells]))

    return min(variants, key=error, default=family)


def figure(results: Results, settings: Settings) -> Figure:
    """Test error against simulated steps: median over the seeds, quartiles shaded."""
    fig = style.figure(6.4, 9.6)
    shown = [name for name in ("leaks", "all") if any(of(results, task, name, "tune") for task in TASKS)]
    axes = fig.subplots(len(shown), len(TASKS), squeeze=False)
    letters = iter("ABCDEF")
    for name, row in zip(shown, axes, strict=True):
        for task, ax in zip(TASKS, row, strict=True):
            _draw(ax, [(line, of(results, task, name, line.method)) for line in lines(results, task, name)])
            style.panel(ax, next(letters), title=f"{NAMES[task]}: {SHORT[name]}")
    for ax in axes[-1]:
        ax.set_xlabel("simulated steps", fontsize=9)
    for ax in axes[:, 0]:
        ax.set_ylabel("test NRMSE", fontsize=9)
    return fig


def _draw(ax: Any, found: Iterable[tuple[Line, dict[int, dict[str, Any]]]]) -> None:
    ends = []
    for line, by_seed in found:
        curves = [each["curve"] for each in by_seed.values()]
        if line.method.startswith("online"):  # looked at now and then, at the same steps for all seeds
            steps, errors = np.array(curves[0]["steps"], float), np.array([curve[line.error] for curve in curves])
        else:
            steps, errors = _together(curves, [each["steps"] for each in by_seed.values()], line.error)
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


def _together(curves: Sequence[dict[str, Any]], totals: Sequence[int], error: str) -> tuple[Floats, Floats]:
    """Curves of all seeds at the same numbers of steps, (points,) and (seeds, points); each holds its last value."""
    first = max(curve["steps"][0] for curve in curves)
    steps = np.geomspace(first, max(float(np.median(totals)), first * 1.001), 400)
    rows = []
    for curve in curves:
        place = np.searchsorted(curve["steps"], steps * (1 + 1e-9), side="right") - 1
        rows.append(np.array(curve[error])[np.maximum(place, 0)])
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
    even = np.concatenate([[np.mean(pool)] * len(pool) for pool in pools]) + gap * np.arange(len(heights))
    even += max(-even[0], 0.0)
    return even - max(even[-1] - 1.0, 0.0)
