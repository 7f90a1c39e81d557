"""Fig. 5: leak rates that are learned online while the odds of the telegraph change, and which of them follow.

    fast phase  p1 = 0.5, p2 = 0.1        slow phase  p1 = 0.1, p2 = 0.05        p3 = 0.0005 in both

A hierarchy of two reservoirs of 50 neurons learns the joint task (four classes, one-hot, squared error) with the paper's
rates from ten series at once, through alternating phases. The starts are those of Fig. 3. The paper does not state the noise,
the spectral radius and the length of a phase. The figure uses the noise and radius at which the accuracies of Fig. 4 appear,
and phases long enough for the leak rates to settle. Variants of noise and radius are learned too, at a higher rate (`faster`)
and with phases that are shorter by the same factor.

At the end of a phase the network is frozen and scored on held-out series of that phase, beside the best causal observer of the
same series (`telegraph_filter`). State and regime are read from the same four outputs, added up. A seed draws weights, first
readouts and series.

`responses` measures how far each leak rate v moves in a phase, and how soon:

    way(t) = (v(t) - begins) / (settles - begins),      arrived: way(t) >= share

A learned leak rate fluctuates and crosses any line many times, so a single crossing means little. The time of arrival is
the step that separates the records of a phase best: records before it should lie below the share, records from it on above
the share, and the earliest step with the fewest records on the wrong side is taken. For a rising path this step is its
crossing. Short returns below the share do not change it, long ones do. An overshoot is not a return.

    swing = mean settled value in fast phases - mean settled value in slow phases, without the first phase
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale import Hyper, Network
from echoscale.engine import cores
from echoscale.learning import PRESETS, Adam, OnlineLearner
from echoscale.network import hierarchical
from echoscale.sweeps import Arrays, Check, Job, Runner, unchecked
from echoscale.tasks import Telegraph, schedule, telegraph, telegraph_filter
from paper import style
from paper.comparison import counted
from paper.learned_paths import FIRST_SERIES, RATE, SEQUENCES, STARTS
from paper.provenance import labelled, settings_in
from paper.types import Floats

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


TASKS = ("state", "regime", "joint")
LEAKS = ("alpha1", "alpha2")
NAMES = ("$\\alpha^{(1)}$", "$\\alpha^{(2)}$")
COLOURS = style.LEVELS
KINDS = ("fast", "slow")
TIME = "time (1,000 steps)"
# The numbers of the held-out series: none of them is a series of a learner.
FIRST_TEST = 1_000_000

FEWEST = 10  # records of a phase: its last fifth then holds two, which have a standard deviation
# A leak rate moved if it ends this many standard deviations of its own fluctuation away from its value at the begin of the
# phase. White normal noise passes this limit in about 3 of 1000 phases.
SIGMAS = 3.0
LAST = 0.2  # the part of a phase in which a leak rate counts as settled


@dataclass(frozen=True)
class Phases:
    """Steps and records of one phase; `faster` multiplies the paper's rate of the leak rates."""

    steps: int
    records: int
    seeds: tuple[int, ...]
    faster: float = 1.0


@dataclass(frozen=True)
class Settings:
    """units counts each reservoir; running and average are the memories of shown gradients and of W_out, in steps."""

    phases: Phases
    variants: Phases
    running: int
    average: int
    test: int = 11_000
    washout: int = 1_000  # of the held-out series
    kinds: tuple[str, ...] = ("fast", "slow", "fast", "slow", "fast")
    fast: tuple[float, float] = (0.5, 0.1)
    slow: tuple[float, float] = (0.1, 0.05)
    p3: float = 0.0005
    noise: float = 0.5
    spectral_radius: float = 0.1
    noises: tuple[float, ...] = (0.25, 0.5, 1.0)  # of the variants
    spectral_radii: tuple[float, ...] = (0.1, 0.95)  # likewise
    starts: tuple[tuple[float, float], ...] = STARTS
    units: int = 50
    input_scaling: float = 0.2
    coupling: float = 1.0
    connections: int = 10
    share: float = 0.9
    shown: int = 100  # steps of an excerpt

    def odds(self, phase: int) -> dict[str, float]:
        """p1, p2 and p3 of a phase."""
        p1, p2 = self.fast if self.kinds[phase] == "fast" else self.slow
        return {"p1": p1, "p2": p2, "p3": self.p3}


SETTINGS = {
    "smoke": Settings(
        Phases(1_000, 10, (0, 1), 20.0),
        Phases(1_000, 10, (0,), 20.0),
        running=200,
        average=500,
        test=1_200,
        washout=200,
        kinds=("fast", "slow", "fast"),
        noises=(0.5,),
        units=12,
    ),
    "quick": Settings(Phases(20_000, 40, (0, 1), 10.0), Phases(10_000, 40, (0,), 20.0), running=2_000, average=5_000),
    "paper": Settings(
        Phases(200_000, 80, (0, 1, 2, 3, 4)), Phases(20_000, 40, (0, 1, 2), 10.0), running=20_000, average=10_000
    ),
}


def compute(settings: Settings, scale: str, run: Runner) -> xarray.Dataset:
    """Compute all seeds and starts of the figure, then the variants; `responses` and swings of both."""
    grid = {"noise": settings.noises, "rho": settings.spectral_radii, "variant_seed": settings.variants.seeds}
    own = [(settings.phases, settings.noise, settings.spectral_radius, seed) for seed in settings.phases.seeds]
    others = [(settings.variants, *point) for point in product(*grid.values())]
    jobs = [
        Job.of(follow, settings=settings, phases=phases, noise=noise, radius=radius, seed=seed)
        for phases, noise, radius, seed in [*own, *others]
    ]
    found = list(run(jobs, threads=cores()))
    main = _histories(settings, settings.phases, {"seed": settings.phases.seeds}, found[: len(own)])
    beside = _histories(settings, settings.variants, grid, found[len(own) :])
    kept = beside[["begins", "settles", "moved", "fluctuation", "steps", "swing", "accuracy", "ceiling", "ratio"]]
    kept = kept.drop_vars(["begin", "end"]).rename({name: f"variant_{name}" for name in kept.data_vars})
    data = main.merge(kept, compat="equals").merge(_excerpts(settings), compat="equals")
    return labelled(data, 5, scale, settings)


def draw(data: xarray.Dataset) -> Figure:
    """Draw A: the odds; B: excerpts; C, D: leak rates, by start; E: accuracies."""
    figure: Figure = style.figure(8.3)
    size = f"{counted(data.sizes['seed'])}, {data.sizes['start']} starts each"
    style.title(figure, data, "Leak rates that are learned while the signal changes", size)
    parts: Any = figure.subfigures(3, 1, height_ratios=[1, 1.35, 1.15])
    top, middle, lower = parts
    left, *excerpts = top.subplots(1, 3, width_ratios=[2, 1, 1])
    _draw_odds(left, data)
    excerpts[1].sharey(excerpts[0])
    for ax, kind in zip(excerpts, KINDS, strict=True):
        _draw_excerpt(ax, data.sel(excerpt=kind), kind)
    excerpts[1].tick_params(labelleft=False)
    style.heading(middle, "Both leak rates: thin lines are single runs, thick lines their means")
    axes = _by_start(middle, data, "CD", _draw_leaks)
    style.legend(middle, style.keys_of(axes[0]), 2)
    _draw_accuracy(lower.subplots(), data)
    return figure


def draw_supplement(data: xarray.Dataset) -> Figure:
    """Draw A, B: gradients; C, D: how far leak rates move and how soon, by start; E: other noises and spectral radii."""
    figure: Figure = style.figure(9.7)
    size = f"{counted(data.sizes['seed'])}, {data.sizes['start']} starts each"
    style.title(figure, data, "How leak rates follow the phases", size, part="supplement")
    parts: Any = figure.subfigures(3, 1, height_ratios=[1.2, 1.25, 1.2])
    top, middle, lower = parts
    style.heading(top, "Gradients: medians, and bands of 80 % of the runs (grey: slow phases)")
    axes = _by_start(top, data, "AB", _draw_gradients)
    style.legend(top, style.keys_of(axes[0]), 2)
    style.heading(middle, "Each run and phase after the first: how far a leak rate moves, and how soon")
    axes = _by_start(middle, data, "CD", _draw_responses)
    style.legend(middle, style.keys_of(axes[0]), 4)
    _draw_variants(lower.subplots(), data)
    return figure


def _by_start(
    figure: SubFigure, data: xarray.Dataset, letters: str, draw_panel: Callable[[Axes, xarray.Dataset], None]
) -> list[Axes]:
    """Two panels with the same axes, for the two groups of starts."""
    axes: list[Axes] = list(figure.subplots(1, 2, sharey=True))
    for ax, letter, (group, starts) in zip(axes, letters, groups(data).items(), strict=True):
        draw_panel(ax, data.sel(start=list(starts)))
        title = f"start: {group}"
        style.panel(ax, letter, x=ax.get_xlabel(), y=ax.get_ylabel() if ax is axes[0] else "", title=title)
    return axes


def groups(data: xarray.Dataset) -> dict[str, tuple[str, ...]]:
    """The starts, grouped by which leak rate is larger: the groups end in different places."""
    first = data["value"].isel(step=0).mean("seed").transpose("start", "leak").values
    lower = first[:, 0] < first[:, 1]
    names = data["start"].values
    return {f"{NAMES[0]} $\\geq$ {NAMES[1]}": tuple(names[~lower]), f"{NAMES[0]} < {NAMES[1]}": tuple(names[lower])}


def follow(settings: Settings, phases: Phases, noise: float, radius: float, seed: int, check: Check = unchecked) -> Arrays:
    """One network with all starts through all phases.

    value             (S, 2, T + 1)  leak rates, the starts first
    gradient, loss    (S, 2, T) and (S, T)  means of windows
    targets           (T,)       number of steps with a target in each window
    accuracy          (K, S, 3)  on held-out series at the end of every phase, in the order of `TASKS`
    ceiling           (K, 3)     of the best observer on the same series
    """
    learner = learner_of(settings, phases, network(settings, radius), seed)
    truth = stream(settings, phases, noise, seed)
    first = learner.values
    accuracy, ceiling = [], []
    for phase in range(len(settings.kinds)):
        piece = slice(phase * phases.steps, (phase + 1) * phases.steps)
        learner.partial_fit(truth.u[:, piece], one_hot(truth.joint[:, piece]), progress=lambda *_: check())
        unseen = unseen_series(settings, noise, seed, phase)
        best = telegraph_filter(unseen.u, noise=noise, **settings.odds(phase)).accuracies(unseen, settings.washout)
        ceiling.append([best[task] for task in TASKS])
        accuracy.append([scores(learner, unseen, start, settings.washout) for start in range(len(settings.starts))])
    history = learner.history.transpose("start", "parameter", "step")
    return {
        "value": np.concatenate([first[..., None], history["value"].values], axis=-1),
        "gradient": history["gradient"].values,
        "loss": history["loss"].values,
        "targets": history["targets"].values,
        "accuracy": np.array(accuracy),
        "ceiling": np.array(ceiling),
    }


def network(settings: Settings, radius: float) -> Network:
    """Two reservoirs, the first drives the second."""
    return hierarchical(
        [settings.units] * 2,
        spectral_radius=radius,
        input_scaling=settings.input_scaling,
        connections=settings.connections,
        coupling=settings.coupling,
        coupling_connections=settings.connections,
    )


def learner_of(settings: Settings, phases: Phases, network: Network, seed: int) -> OnlineLearner:
    """The paper's rule for both leak rates and W_out. Predictions use a running mean of W_out, learning does not."""
    preset, starts = PRESETS["telegraph"], np.array(settings.starts)
    return OnlineLearner(
        network,
        4,
        rates=Adam(RATE * phases.faster, preset.learned.beta1, preset.learned.beta2),
        readout=preset.readout,
        starts=Hyper.of(network).replace(leak_rate=[starts[:, 0], starts[:, 1]]),
        record=phases.steps // phases.records,
        washout=200,
        average=1 - 1 / settings.average,
        seed=seed,
    )


def stream(settings: Settings, phases: Phases, noise: float, seed: int) -> Telegraph:
    """The input series (10, T) of a learner: states and regimes continue where the odds change."""
    odds = [settings.odds(phase) for phase in range(len(settings.kinds))]
    p1, p2 = (schedule(*((phases.steps, each[name]) for each in odds)) for name in ("p1", "p2"))
    return telegraph(len(p1), FIRST_SERIES + seed, sequences=SEQUENCES, noise=noise, p1=p1, p2=p2, p3=settings.p3)


def unseen_series(settings: Settings, noise: float, seed: int, phase: int) -> Telegraph:
    """Held-out series with the odds of one phase."""
    place = FIRST_TEST + len(settings.kinds) * seed + phase
    return telegraph(settings.test, place, sequences=SEQUENCES, noise=noise, **settings.odds(phase))


def one_hot(joint: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """(..., 4): 1 for the class, 0 for the others."""
    return np.asarray(np.eye(4, dtype=np.float32)[joint])


def scores(learner: OnlineLearner, truth: Telegraph, start: int, washout: int) -> list[float]:
    """The accuracies of one start, frozen as it is, for state, regime and both."""
    z = np.asarray(learner.predict(truth.u, start=start))
    decisions = {
        "state": z[..., [1, 3]].sum(axis=-1) > z[..., [0, 2]].sum(axis=-1),
        "regime": z[..., [2, 3]].sum(axis=-1) > z[..., [0, 1]].sum(axis=-1),
        "joint": z.argmax(axis=-1),
    }
    return [float((decisions[task] == getattr(truth, task))[:, washout:].mean()) for task in TASKS]


def swings(settles: xarray.DataArray, kinds: Sequence[str] | npt.NDArray[Any]) -> xarray.DataArray:
    """How much higher a leak rate settles in fast phases than in slow ones, without the first phase, (..., leak)."""
    later = np.arange(len(kinds)) > 0
    means = [settles.isel(phase=np.flatnonzero(later & (np.asarray(kinds) == kind))).mean("phase") for kind in KINDS]
    return means[0] - means[1]


def _histories(settings: Settings, phases: Phases, grid: dict[str, Any], found: list[Arrays]) -> xarray.Dataset:
    """The runs of all points of a grid, labelled, with the responses of each leak rate in every phase."""
    import xarray

    def joined(name: str) -> npt.NDArray[np.float32]:
        each = np.stack([run[name] for run in found]).astype(np.float32)
        return np.asarray(each.reshape(*(len(values) for values in grid.values()), *each.shape[1:]))

    names = tuple(grid)
    window = phases.steps // phases.records * np.arange(1, phases.records * len(settings.kinds) + 1)
    data = xarray.Dataset(
        {
            "value": ((*names, "start", "leak", "step"), joined("value"), {"long_name": "leak rate"}),
            "gradient": ((*names, "start", "leak", "window"), joined("gradient"), {"long_name": "dE/dalpha, mean of a window"}),
            "loss": ((*names, "start", "window"), joined("loss"), {"long_name": "squared error while learning, halved"}),
            "targets": (("window",), found[0]["targets"].astype(np.int32), {"long_name": "steps of a window with a target"}),
            "accuracy": ((*names, "phase", "start", "task"), joined("accuracy"), {"long_name": "accuracy on unseen series"}),
            "ceiling": ((*names, "phase", "task"), joined("ceiling"), {"long_name": "accuracy of the best causal observer"}),
        },
        {
            **{name: (name, np.array(values), {"long_name": _SAYS[name]}) for name, values in grid.items()},
            "start": ("start", [f"({a:g}, {b:g})" for a, b in settings.starts], {"long_name": "leak rates at the start"}),
            "leak": ("leak", list(LEAKS), {"long_name": "which leak rate"}),
            "step": ("step", np.array([0, *window]), {"long_name": "steps of ten series at once", "units": "steps"}),
            "window": ("window", window, {"long_name": "end of the window", "units": "steps"}),
            "task": ("task", list(TASKS), {"long_name": "what is asked for"}),
            "kind": ("phase", list(settings.kinds), {"long_name": "fast or slow phase"}),
            "p1": ("phase", [settings.odds(k)["p1"] for k in range(len(settings.kinds))], {"long_name": "odds p1"}),
            "p2": ("phase", [settings.odds(k)["p2"] for k in range(len(settings.kinds))], {"long_name": "odds p2"}),
        },
    )
    changes = [phases.steps * k for k in range(1, len(settings.kinds))]
    told = responses(data, changes, settings.share)
    data = data.merge(told, compat="equals")
    swing = swings(data["settles"], settings.kinds).assign_attrs(
        long_name="settled value in fast phases minus that in slow ones"
    )
    ratio = (data["accuracy"] / data["ceiling"]).assign_attrs(long_name="accuracy in units of that of the best causal observer")
    return data.assign(swing=swing, ratio=ratio)


_SAYS = {
    "seed": "seed of weights and series",
    "variant_seed": "seed of weights and series",
    "noise": "noise of the input",
    "rho": "spectral radius",
}


def _excerpts(settings: Settings) -> xarray.Dataset:
    """The last steps of the first fast and the first slow phase, as the learner of the first seed receives them."""
    import xarray

    truth = stream(settings, settings.phases, settings.noise, settings.phases.seeds[0])
    ends = [(settings.kinds.index(kind) + 1) * settings.phases.steps for kind in KINDS]
    parts = [slice(end - settings.shown, end) for end in ends]
    inputs, states = (np.stack([each[0, part] for part in parts]) for each in (truth.u[..., 0], truth.state))
    return xarray.Dataset(
        {
            "excerpt_input": (("excerpt", "excerpt_step"), inputs.astype(np.float32), {"long_name": "noisy input"}),
            "excerpt_state": (("excerpt", "excerpt_step"), states, {"long_name": "state"}),
        },
        {
            "excerpt": ("excerpt", list(KINDS), {"long_name": "phase of the excerpt"}),
            "excerpt_step": ("excerpt_step", np.arange(settings.shown), {"units": "steps"}),
        },
    )


def responses(history: xarray.Dataset, changes: Sequence[int], share: float = 0.9) -> xarray.Dataset:
    """How far every hyper-parameter of a learner's history moves in each phase between the changes, and how soon.

    begins       the value at the last record before the phase (in the first phase, at the first record)
    settles      the mean over the last part of the phase
    moved        settles - begins
    fluctuation  the standard deviation in the last part of the phase
    steps        steps from the change until it has arrived, up to the next record; NaN where it did not move

    A hyper-parameter that still drifts at the end of a phase has not settled: for a straight line, `steps` is 0.81 of the
    phase.
    """
    import xarray

    value = history["value"].transpose(..., "step")
    step = np.asarray(value["step"].values, np.int64)
    edges = _edges(step, changes)
    paths = np.asarray(value.values, np.float64)
    found = [_response(paths, step, begin, end, share) for begin, end in pairwise(edges)]
    dims = (*value.dims[:-1], "phase")
    names = {
        "begins": "value when the phase begins",
        "settles": "mean value in the last part of the phase",
        "moved": "how far it moved",
        "fluctuation": "standard deviation in the last part of the phase",
        "steps": f"steps until {share:g} of the way was gone for good",
    }
    arrays = {
        name: (dims, np.stack([each[k] for each in found], -1), {"long_name": says})
        for k, (name, says) in enumerate(names.items())
    }
    others = {name: each for name, each in value.coords.items() if "step" not in each.dims}
    return xarray.Dataset(arrays, {**others, "begin": ("phase", edges[:-1]), "end": ("phase", edges[1:])})


def _edges(step: npt.NDArray[np.int64], changes: Sequence[int]) -> list[int]:
    """0, the changes and the last step; every phase between them has enough records."""
    edges = [0, *changes, int(step[-1])]
    for begin, end in pairwise(edges):
        records = int(((step > begin) & (step <= end)).sum())
        if records < FEWEST:
            raise ValueError(f"the phase from step {begin} to {end} has {records} records, it needs at least {FEWEST}.")
    return edges


def _response(paths: Floats, step: npt.NDArray[np.int64], begin: int, end: int, share: float) -> tuple[Any, ...]:
    """begins, settles, moved, fluctuation and steps of paths (..., T) in one phase, (...) each."""
    inside = (step > begin) & (step <= end)
    first = paths[..., max(int((step <= begin).sum()) - 1, 0)]
    path, after = paths[..., inside], step[inside] - begin
    tail = path[..., -max(int(np.ceil(LAST * len(after))), 2) :]
    settled, noise = tail.mean(axis=-1), tail.std(axis=-1, ddof=1)
    moved = settled - first
    # No division: a way of length 0 has no share.
    there = (path - first[..., None]) * np.sign(moved)[..., None] >= share * np.abs(moved)[..., None]
    steps = np.where(np.abs(moved) > SIGMAS * noise, after[_parting(there)], np.nan)
    return first, settled, moved, noise, steps


def _parting(there: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """The first record (...) of `there` (..., n) with the fewest True values before it and False values from it on."""
    # k = 0 ... n - 1 is enough: the settled mean of a leak rate that moved lies beyond the share, so at least one record does.
    early: npt.NDArray[np.int64] = np.cumsum(there, axis=-1) - there
    late = np.cumsum(~there[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray((early + late).argmin(axis=-1))


def running_mean(values: xarray.DataArray, targets: xarray.DataArray, windows: int) -> xarray.DataArray:
    """The mean of the last `windows` windows at each of them, weighted by their targets; NaN if they have no target."""
    values = values.transpose(..., "step")
    weight = np.asarray(targets.transpose(..., "step").values, np.float64)
    total = _last_sums(np.where(weight > 0, np.nan_to_num(np.asarray(values.values, np.float64)) * weight, 0), windows)
    count = _last_sums(weight, windows)
    return values.copy(data=np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))


def _last_sums(values: Floats, windows: int) -> Floats:
    """Sums over the last `windows` values along the last axis, over fewer at its beginning."""
    padded = np.pad(values, [*[(0, 0)] * (values.ndim - 1), (windows - 1, 0)])
    # Differences of cumulative sums would lose the digits of small gradients behind large ones.
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, windows, axis=-1).sum(axis=-1))


def _shade(ax: Axes, data: xarray.Dataset) -> None:
    """Slow phases in grey; time in thousands of steps."""
    for kind, begin, end in zip(data["kind"].values, data["begin"].values, data["end"].values, strict=True):
        if kind == "slow":
            ax.axvspan(begin / 1000, end / 1000, color="0.92", linewidth=0, zorder=0)
    ax.set_xlim(0, float(data["end"][-1]) / 1000)


def _draw_odds(ax: Axes, data: xarray.Dataset) -> None:
    _shade(ax, data)
    edges = np.array([*data["begin"].values, data["end"].values[-1]]) / 1000
    for name, colour in (("p1", style.BLACK), ("p2", "0.6")):
        ax.stairs(data[name].values, edges, baseline=None, color=colour, linewidth=1.4, label=f"$p_{name[1]}$")
    for kind, begin, end in zip(data["kind"].values, data["begin"].values, data["end"].values, strict=True):
        ax.text((begin + end) / 2000, 0.57, kind, fontsize=style.SMALL, ha="center", va="center")
    ax.set(ylim=(0, 0.8), yticks=[0, 0.25, 0.5])
    ax.legend(fontsize=style.SMALL, frameon=False, loc="upper right", borderaxespad=0, handlelength=1, ncols=2)
    style.panel(ax, "A", x=TIME, y="probability", title="odds of a switch")


def _draw_excerpt(ax: Axes, data: xarray.Dataset, kind: str) -> None:
    step = data["excerpt_step"].values
    ax.plot(step, data["excerpt_input"].values, color="0.6", linewidth=0.7, label="input")
    ax.plot(step, data["excerpt_state"].values, color=style.BLACK, linewidth=1.2, drawstyle="steps-mid", label="state")
    first = kind == KINDS[0]
    style.panel(ax, "B" if first else "", x="time (steps)", title=f"{kind} phase")
    ax.margins(y=0.25)
    key: dict[str, Any] = {"fontsize": style.SMALL, "frameon": False, "handlelength": 1, "borderaxespad": 0}
    ax.legend(handles=[ax.lines[0 if first else 1]], **key, loc="upper right")


def _draw_gradients(ax: Axes, data: xarray.Dataset) -> None:
    """Running means on a logarithmic axis of both signs: the lower leak rate has much larger gradients."""
    _shade(ax, data)
    history = data[["gradient", "targets"]].rename(window="step")
    step = float(history["step"][0])
    shown = running_mean(history["gradient"], history["targets"], max(round(settings_in(data)["running"] / step), 1))
    _draw_bands(ax, shown, shown["step"].values)
    ax.axhline(0, color="0.5", linewidth=0.6)
    ax.set_yscale("symlog", linthresh=0.01)
    ax.set_yticks([-0.1, -0.01, 0, 0.01, 0.1])
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set(xlabel=TIME, ylabel="gradient d$E$/d$\\alpha$")


def _draw_leaks(ax: Axes, data: xarray.Dataset) -> None:
    _shade(ax, data)
    _draw_paths(ax, data["value"], data["step"].values, 1.8)
    ax.set(yscale="log", ylim=(0.0008, 1.2), xlabel=TIME, ylabel="leak rate")
    style.plain_ticks(ax.yaxis, (0.001, 0.01, 0.1, 1))


def _draw_paths(ax: Axes, paths: xarray.DataArray, step: Any, width: float) -> None:
    """All seeds and starts thin, their mean thick above all of them."""
    from matplotlib.patheffects import withStroke

    for leak, name, colour in zip(LEAKS, NAMES, COLOURS, strict=True):
        each = paths.sel(leak=leak).transpose("seed", "start", "step").astype(np.float64)
        for path in each.values.reshape(-1, len(step)):
            ax.plot(step / 1000, path, color=colour, linewidth=0.4, alpha=0.35, zorder=1)
        rim = [withStroke(linewidth=width + 1.2, foreground="white")]
        mean = each.mean(["seed", "start"])
        ax.plot(step / 1000, mean, color=colour, linewidth=width, label=_says(name), zorder=3, path_effects=rim)


def _draw_bands(ax: Axes, paths: xarray.DataArray, step: Any) -> None:
    """The median of all seeds and starts, and a band of 80 % of them."""
    for leak, name, colour in zip(LEAKS, NAMES, COLOURS, strict=True):
        each = paths.sel(leak=leak).transpose("seed", "start", "step").values.reshape(-1, len(step))
        low, middle, high = np.quantile(each, [0.1, 0.5, 0.9], axis=0)  # NaN in the first windows, which have no target
        ax.fill_between(step / 1000, low, high, color=colour, alpha=0.25, linewidth=0)
        ax.plot(step / 1000, middle, color=colour, linewidth=1, label=_says(name))


def _draw_responses(ax: Axes, data: xarray.Dataset) -> None:
    """Every seed, start and phase but the first one; leak rates that did not move are only counted."""
    later = data.isel(phase=slice(1, None))
    said = []
    for leak, name, colour in zip(LEAKS, NAMES, COLOURS, strict=True):
        moved, steps = (later[each].sel(leak=leak).transpose(..., "phase").values for each in ("moved", "steps"))
        said.append(f"{np.isnan(steps).sum()} of {steps.size} of {name}")
        for sign, marker in ((1, "^"), (-1, "v")):
            shown = (np.sign(moved) == sign) & np.isfinite(steps)
            look: dict[str, Any] = {"s": 15, "color": colour, "marker": marker, "alpha": 0.7, "linewidths": 0}
            ax.scatter(steps[shown] / 1000, np.abs(moved[shown]), **look)
        ax.plot([], [], color=colour, linewidth=3, label=name)
    length = float(data["end"][0]) / 1000
    ax.set(yscale="log", xlim=(0, length), ylim=(0.0003, 20))
    style.plain_ticks(ax.yaxis, (0.001, 0.01, 0.1, 1))
    for marker, says in (("^", "rises"), ("v", "falls")):
        ax.plot([], [], marker, color="0.4", markersize=5, label=says)
    where: dict[str, Any] = {"ha": "left", "va": "top", "transform": ax.transAxes, "fontsize": style.SMALL}
    ax.text(0.02, 0.98, "no clear change:\n" + ",\n".join(said), **where)
    ax.set(xlabel=f"time to {100 * settings_in(data)['share']:g} % of the change\n(1,000 steps)", ylabel="size of the change")


def _draw_accuracy(ax: Axes, data: xarray.Dataset) -> None:
    """Joint accuracies of all seeds and starts at the end of every phase, the ceiling, and their ratio as text."""
    joint = data.sel(task="joint")
    phase = np.arange(data.sizes["phase"])
    ceiling = joint["ceiling"].mean("seed").values
    ax.hlines(ceiling, phase - 0.35, phase + 0.35, color=style.THEORY, linewidth=1.6, label="best possible")
    for k, (filled, (group, starts)) in enumerate(zip(("white", style.BLACK), groups(data).items(), strict=True)):
        scores = joint["accuracy"].sel(start=list(starts)).transpose("phase", "seed", "start").values.reshape(len(phase), -1)
        place = phase + 0.3 * (k - 0.5)
        look: dict[str, Any] = {"color": style.BLACK, "markerfacecolor": filled, "markeredgewidth": 0.6, "markersize": 3.5}
        ax.plot(place, scores, "s" if k == 0 else "o", **look)
        ax.plot([], [], "s" if k == 0 else "o", **look, label=f"start: {group}")
    ratio = joint["ratio"].mean(["seed", "start"]).values
    names = [f"{kind}\n{100 * value:.0f} %" for kind, value in zip(data["kind"].values, ratio, strict=True)]
    low, high = float(joint["accuracy"].min()), float(max(ceiling))
    ax.set(ylim=(low - 0.1 * (high - low), high + 0.35 * (high - low)), xticks=phase)
    ax.set_xticks(phase, names)
    ax.legend(fontsize=style.SMALL, frameon=False, loc="upper center", ncols=3, columnspacing=1, handlelength=1)
    title = "state and regime on held-out series, at the end of each phase"
    style.panel(ax, "E", x="phase, and mean accuracy as a share of the best possible", y="accuracy", title=title)


def _draw_variants(ax: Axes, data: xarray.Dataset) -> None:
    """The swing of both leak rates for every noise and radius: means, with bars from the least to the largest."""
    points = [(noise, rho) for rho in data["rho"].values for noise in data["noise"].values]
    for k, (group, starts) in enumerate(groups(data).items()):
        for leak, name, colour in zip(LEAKS, NAMES, COLOURS, strict=True):
            every = data["variant_swing"].sel(start=list(starts), leak=leak)
            each = [every.sel(noise=noise, rho=rho).values.astype(np.float64) for noise, rho in points]
            middle = np.array([values.mean() for values in each])
            ends = np.array([[middle[i] - values.min(), values.max() - middle[i]] for i, values in enumerate(each)])
            place = np.arange(len(points)) + 0.4 * (k - 0.5) + (0.08 if leak == LEAKS[1] else -0.08)
            look: dict[str, Any] = {"fmt": "o" if k else "s", "color": colour, "markersize": 4, "elinewidth": 0.8}
            look["markerfacecolor"] = colour if k else "white"
            ax.errorbar(place, middle, ends.T, **look, label=f"{name}, start: {group}")
    ax.axhline(0, color="0.5", linewidth=0.6)
    ax.set_xticks(range(len(points)), [f"$\\sigma$ = {noise:g}\n$\\rho$ = {rho:g}" for noise, rho in points])
    ax.set_ylim(top=float(data["variant_swing"].max()) * 1.6)
    ax.legend(fontsize=style.SMALL, frameon=False, loc="upper center", ncols=2, columnspacing=1, handletextpad=0.3)
    title = "other noises and spectral radii: mean, least and largest of all runs"
    style.panel(ax, "E", x="noise and spectral radius", y="leak rate,\nfast $-$ slow phases", title=title)


def _says(name: str) -> str:
    """ "first reservoir, alpha1"."""
    return f"{name} ({'first' if name == NAMES[0] else 'second'} reservoir)"
