"""Fig. 4: a volatile environment. Which leak rates recognise the state, the regime, and both, of a noisy telegraph signal.

    single        one reservoir of 100 neurons; its leak rate and the noise vary
    parallel      two of 50, both receive the input; alpha1 and alpha2 vary ("unconnected" in the paper and in the data)
    hierarchical  two of 50, the first drives the second ("connected")

Accuracies are those of frozen readouts on held-out series. The ceiling of an accuracy is that of the exact Bayesian filter on
the same series. The paper does not say what decides the comparison, so four readings of it are computed:

    online   Adam along ten series, the paper's rates; W_out averaged over the last part   ridge   one-hot targets, one series
    rho 0.1  (where the paper's gap between one and two reservoirs appears)                rho 0.95

The best point has the largest mean accuracy over the seeds on validation series. All accuracies shown are on test series. A
seed draws weights and series. C also shows the path of a leak rate that is learned online while the noise rises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale import Hyper, timescales
from echoscale.engine import cores, on_cpu
from echoscale.learning import PRESETS, Adam, OnlineLearner
from echoscale.network import Network, single
from echoscale.sweeps import Arrays, Check, Job, Runner, unchecked
from echoscale.tasks import Telegraph, schedule, telegraph, transitions
from paper import style
from paper import telegraph_scores as scores
from paper.comparison import best_accuracies, counted, standard_error, two
from paper.provenance import labelled, settings_in
from paper.types import Floats

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure


READOUTS = ("online", "ridge")
RADII = (0.1, 0.95)
VARIANTS = tuple(f"{readout}, rho {rho:g}" for readout, rho in product(READOUTS, RADII))
NETWORKS = ("unconnected", "connected")
TASKS = scores.TASKS
PARTS = ("validation", "test")
READOUTS_IN_WORDS = {"online": "readout learned online", "ridge": "ridge readout"}
IN_WORDS = {
    variant: f"{READOUTS_IN_WORDS[readout]}, spectral radius {rho:g}"
    for variant, (readout, rho) in zip(VARIANTS, product(READOUTS, RADII), strict=True)
}
# Letter of a surface: its task, and its network of two reservoirs or None for the single one.
SURFACES = {"C": ("state", None), "D": ("regime", None), "E": ("joint", "unconnected"), "F": ("joint", "connected")}
THREADS_ON_GPU = 4  # a loop of small kernels leaves most of the GPU idle
LOWEST = 0.8  # share of the ceiling at which its colours begin


@dataclass(frozen=True)
class Settings:
    """units counts all reservoirs together; steps is the length of each of the `sequences` that run at once."""

    leak_rates: tuple[float, ...]
    noises: tuple[float, ...]  # of the single network
    seeds: tuple[int, ...]
    steps: int = 60_000
    tail: float = 0.3  # the last share of the steps, over which W_out is averaged
    ridge_steps: int = 200_000  # of the single series of the ridge readout
    penalty: float = 1e-5
    validation: int = 10_000
    test: int = 20_000
    washout: int = 2_000
    sequences: int = 10
    noise: float = 0.5  # of the pairs
    p1: float = 0.05
    p2: float = 0.1
    p3: float = 0.0005
    units: int = 100
    input_scaling: float = 0.2
    coupling: float = 1.0
    connections: int = 10
    path_noises: tuple[float, ...] = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
    path_steps: int = 100_000  # at each noise
    path_starts: tuple[float, ...] = (0.5, 0.2, 0.05)
    path_seeds: tuple[int, ...] = (0, 1, 2)
    path_records: int = 20  # at each noise
    faster: float = 1.0  # times the paper's rate of the leak
    shown: int = 800  # steps of A
    lags: int = 3_000  # of B

    @property
    def odds(self) -> dict[str, float]:
        """p1, p2 and p3."""
        return {"p1": self.p1, "p2": self.p2, "p3": self.p3}


def _grid(points: int, least: float = 0.002) -> tuple[float, ...]:
    return tuple(float(f"{each:.3g}") for each in np.geomspace(least, 1, points))


SETTINGS = {
    "smoke": Settings(
        _grid(3, 0.02),
        (0.5, 1.0),
        (0, 1),
        steps=400,
        ridge_steps=1_000,
        validation=600,
        test=600,
        washout=100,
        sequences=4,
        units=20,
        path_noises=(1.0, 2.0),
        path_steps=400,
        path_starts=(0.5, 0.2),
        path_seeds=(0,),
        path_records=4,
        faster=50.0,
        lags=200,
    ),
    "quick": Settings(
        _grid(5),
        (0.25, 0.5, 1.0, 2.0, 4.0),
        (0, 1),
        steps=15_000,
        ridge_steps=60_000,
        validation=5_000,
        test=10_000,
        path_steps=10_000,
        path_seeds=(0,),
        faster=10.0,
    ),
    "paper": Settings(_grid(12), (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0), tuple(range(10))),
}


def compute(settings: Settings, scale: str, run: Runner) -> xarray.Dataset:
    """Compute accuracies and ceilings at every point and seed, the best points, learned paths, and the signals."""
    import xarray

    alphas, seeds, noises = settings.leak_rates, settings.seeds, settings.noises
    shape = len(PARTS), len(READOUTS), len(RADII)
    pairs = np.empty((*shape, len(NETWORKS), len(alphas), len(alphas), len(seeds), len(TASKS)), np.float32)
    singles = np.empty((*shape, len(noises), len(alphas), len(seeds), len(TASKS)), np.float32)
    ceilings = np.empty((len(PARTS), len(seeds), len(TASKS)), np.float32)
    single_ceilings = np.empty((len(PARTS), len(noises), len(seeds), len(TASKS)), np.float32)
    paths = np.empty((len(RADII), len(settings.path_seeds), len(settings.path_starts), len(_path_steps(settings))), np.float32)
    places: list[tuple[str, int, Any]] = [("pair", k, network) for network in NETWORKS for k in range(len(seeds))]
    places += [("single", k, noise) for noise in noises for k in range(len(seeds))]
    places += [("path", k, rho) for rho in RADII for k in range(len(settings.path_seeds))]
    results = run([_job(settings, *place) for place in places], threads=cores() if on_cpu(None) else THREADS_ON_GPU)
    for (kind, k, what), found in zip(places, results, strict=True):
        if kind == "path":
            paths[RADII.index(what), k] = found["path"]
            continue
        accuracy = found["accuracy"]  # (parts, readouts, radii, points, tasks)
        if kind == "pair":
            pairs[:, :, :, NETWORKS.index(what), :, :, k] = accuracy.reshape(*shape, len(alphas), len(alphas), -1)
            ceilings[:, k] = found["ceiling"]
        else:
            singles[:, :, :, noises.index(what), :, k] = accuracy
            single_ceilings[:, noises.index(what), k] = found["ceiling"]
    lead = ("part", "readout", "rho")
    data = xarray.Dataset(
        {
            "accuracy": ((*lead, "network", "alpha1", "alpha2", "seed", "task"), pairs, {"long_name": "two reservoirs"}),
            "single": ((*lead, "noise", "alpha", "seed", "task"), singles, {"long_name": "accuracy of a single reservoir"}),
            "ceiling": (("part", "seed", "task"), ceilings, {"long_name": "Bayes accuracy on the series of the pairs"}),
            "single_ceiling": (
                ("part", "noise", "seed", "task"),
                single_ceilings,
                {"long_name": "Bayes accuracy on the series of the single reservoir"},
            ),
            "path": (
                ("rho", "path_seed", "path_start", "path_step"),
                paths,
                {"long_name": "leak rate of a single reservoir, learned online for the state while the noise rises"},
            ),
        },
        {
            "part": ("part", list(PARTS), {"long_name": "series that choose, and series that are reported"}),
            "readout": ("readout", list(READOUTS), {"long_name": "how W_out was found"}),
            "rho": ("rho", np.array(RADII), {"long_name": "spectral radius"}),
            "network": ("network", list(NETWORKS), {"long_name": "two reservoirs"}),
            "alpha1": ("alpha1", np.array(alphas), {"long_name": "leak rate of the first reservoir"}),
            "alpha2": ("alpha2", np.array(alphas), {"long_name": "leak rate of the second reservoir"}),
            "alpha": ("alpha", np.array(alphas), {"long_name": "leak rate of the single reservoir"}),
            "noise": ("noise", np.array(noises), {"long_name": "standard deviation of the noise"}),
            "seed": ("seed", np.array(seeds), {"long_name": "seed of weights and series"}),
            "task": ("task", list(TASKS), {"long_name": "what is recognised"}),
            "path_seed": ("path_seed", np.array(settings.path_seeds), {"long_name": "seed of weights and series"}),
            "path_start": ("path_start", np.array(settings.path_starts), {"long_name": "leak rate at the start"}),
            "path_step": ("path_step", _path_steps(settings), {"long_name": "steps of ten series at once", "units": "steps"}),
        },
    )
    return labelled(xarray.merge([data, best_points(data, settings.noise), _signals(settings)]), 4, scale, settings)


def _job(settings: Settings, kind: str, k: int, what: Any) -> Job:
    """The job of one place: all leak rates of one network, noise and seed, or one learned path."""
    if kind == "path":
        return Job.of(learned_path, settings=settings, rho=what, seed=settings.path_seeds[k])
    network, noise = (pair(settings, what), settings.noise) if kind == "pair" else (lone(settings), what)
    points = np.array(list(product(settings.leak_rates, repeat=len(network.reservoirs))))
    return Job.of(scored, settings=settings, network=network, points=points, noise=noise, seed=settings.seeds[k])


def scored(settings: Settings, network: Network, points: Floats, noise: float, seed: int, check: Check = unchecked) -> Arrays:
    """Accuracies (parts, readouts, radii, points, 3) at leak rates (points, reservoirs), and ceilings (parts, 3)."""
    esn = network.build(1, seed=seed)
    radii = np.repeat(RADII, len(points))
    hyper = esn.hyper.replace(
        leak_rate=list(np.tile(points, (len(RADII), 1)).T), spectral_radius=[radii] * len(network.reservoirs)
    )
    train, *held_out = (series(settings, steps, seed, k, noise) for k, steps in enumerate(_lengths(settings)))
    readouts = [scores.online(network, hyper, train, settings.tail, seed, check)]
    one = series(settings, settings.ridge_steps, seed, 3, noise, sequences=1)
    readouts.append(scores.by_ridge(esn, hyper, one, settings.penalty, settings.washout))
    found = []
    for truth in held_out:
        check()
        found.append(scores.accuracies(esn, hyper, readouts, truth, settings.washout))
    accuracy = np.stack(found).reshape(len(PARTS), len(READOUTS), len(RADII), len(points), len(TASKS))
    best = [scores.ceiling(each, noise, settings.odds, settings.washout) for each in held_out]
    return {"accuracy": accuracy, "ceiling": np.stack(best)}


def learned_path(settings: Settings, rho: float, seed: int, check: Check = unchecked) -> Arrays:
    """path: the leak rate of a single network that recognises the state while the noise rises, (starts, records + 1)."""
    starts, rule = np.array(settings.path_starts), PRESETS["telegraph"]
    # A loop of few lanes: the processor is faster than a GPU.
    network = lone(settings, rho)
    rate: Any = rule.learned.rate
    learner = OnlineLearner(
        network,
        rates=Adam(float(rate) * settings.faster, rule.learned.beta1, rule.learned.beta2),
        readout=rule.readout,
        starts=Hyper.of(network).replace(leak_rate=[starts]),
        record=settings.path_steps // settings.path_records,
        washout=200,
        seed=seed,
        device="cpu",
    )
    noise = schedule(*((settings.path_steps, each) for each in settings.path_noises))
    truth = series(settings, len(noise), seed, 4, noise)
    learner.partial_fit(truth.u.astype(np.float32), truth.state[..., None], progress=lambda *_: check())
    walk = learner.history["value"].sel(parameter="leak_rate[0]").transpose("start", "step").values
    return {"path": np.concatenate([starts[:, None], walk], axis=1)}


def series(
    settings: Settings, steps: int, seed: int, part: int, noise: float | Floats, sequences: int | None = None
) -> Telegraph:
    """The series of one part of one seed. No two parts share random numbers; all networks and noises of a seed share states."""
    return telegraph(steps, 10 * seed + part, sequences=sequences or settings.sequences, noise=noise, **settings.odds)


def _lengths(settings: Settings) -> tuple[int, int, int]:
    return settings.steps, settings.validation, settings.test


def _path_steps(settings: Settings) -> npt.NDArray[np.int64]:
    count = len(settings.path_noises) * settings.path_records
    return np.arange(count + 1) * (settings.path_steps // settings.path_records)


def lone(settings: Settings, rho: float = RADII[0]) -> Network:
    """The single reservoir."""
    return single(settings.units, spectral_radius=rho, input_scaling=settings.input_scaling, connections=settings.connections)


def pair(settings: Settings, kind: str) -> Network:
    """Two reservoirs of half the size."""
    return two(
        settings.units,
        None if kind == "unconnected" else settings.coupling,
        connections=settings.connections,
        spectral_radius=RADII[0],
        input_scaling=settings.input_scaling,
    )


def best_points(data: xarray.Dataset, noise: float) -> xarray.Dataset:
    """The points of largest mean validation accuracy, and the test accuracies of all seeds there.

    The pairs are compared with the single reservoir at the noise of the pairs.
    """
    import xarray

    alone = data["single"].sel(noise=noise, drop=True)
    pairs = best_accuracies("", data["accuracy"], ("alpha1", "alpha2"))
    return xarray.Dataset({**pairs, **best_accuracies("single_", alone, ("alpha",))})


def _signals(settings: Settings) -> xarray.Dataset:
    """An example around a change of the regime, and the autocorrelations of state and regime, measured and expected."""
    import xarray

    truth = series(settings, settings.steps, settings.seeds[0], 0, settings.noise)
    changes = np.argwhere(np.diff(truth.regime, axis=1))
    b, middle = changes[len(changes) // 2] if len(changes) else (0, settings.shown // 2)
    begin = int(np.clip(middle - settings.shown // 2, 0, max(settings.steps - settings.shown, 0)))
    seen = slice(begin, begin + settings.shown)
    many = series(settings, max(10 * settings.lags, 2_000), settings.seeds[0], 5, settings.noise)
    both = np.stack([many.state, many.regime], axis=-1).astype(np.float64)
    found = timescales.of_signal(list(both), lags=settings.lags)
    return xarray.Dataset(
        {
            "input": ("step", truth.u[b, seen, 0].astype(np.float32), {"long_name": "input of the first seed"}),
            "state": ("step", truth.state[b, seen], {"long_name": "state"}),
            "regime": ("step", truth.regime[b, seen], {"long_name": "regime"}),
            "correlation": (("process", "delay"), found.inputs.T.astype(np.float32), {"long_name": "autocorrelation"}),
            "expected": (
                ("process", "delay"),
                autocorrelations(**settings.odds, lags=settings.lags).astype(np.float32),
                {"long_name": "autocorrelation of the stationary process"},
            ),
        },
        {
            "step": ("step", np.arange(len(truth.state[b, seen])), {"long_name": "time", "units": "steps"}),
            "process": ("process", ["state", "regime"]),
            "delay": ("delay", np.arange(settings.lags + 1), {"long_name": "delay", "units": "steps"}),
        },
    )


def autocorrelations(p1: float, p2: float, p3: float, lags: int) -> Floats:
    """cov(s_0, s_k) / var(s) of state and regime, (2, lags + 1), from powers of the transitions of the four classes."""
    step = transitions(p1, p2, p3)
    values, vectors = np.linalg.eig(step.T)
    stationary = np.real(vectors[:, np.argmax(values.real)])
    stationary /= stationary.sum()
    centred = np.array([[0, 1, 0, 1], [0, 0, 1, 1]]) - 0.5
    later, found = centred.T, []
    for _ in range(lags + 1):
        found.append(np.einsum("ps,s,sp->p", centred, stationary, later))
        later = step @ later
    rows = np.array(found).T
    return np.asarray(rows / rows[:, :1])


def draw(data: xarray.Dataset, variant: str = VARIANTS[0]) -> Figure:
    """Draw A, B: the signals; C, D: accuracies of the single network; E, F: of the pairs; G: the best of all variants."""
    chosen = _chosen(data, variant)
    figure = style.figure(10.2)
    style.title(figure, data, "A noisy telegraph signal", f"{_drawn(data)}. C\u00a0to\u00a0F: {IN_WORDS[variant]}")
    top, middle, lower, bottom = figure.subfigures(4, 1, height_ratios=[1, 1.45, 1.4, 1.15])
    left, right = top.subplots(1, 2, width_ratios=[1.3, 1])
    _draw_signals(left, right, data)
    noise = settings_in(data)["noise"]
    headings = (
        "One reservoir: test accuracy by noise and leak rate. Lines in C: leak rates\nlearned online while the noise rises, "
        "from the squares; dots end each level",
        f"Two reservoirs: test accuracy for both, state and regime, at noise {noise:g}\nCross: best on validation data",
    )
    for part, letters, heading in ((middle, "CD", headings[0]), (lower, "EF", headings[1])):
        style.heading(part, heading)
        means = [_means(chosen, *SURFACES[letter])[0] for letter in letters]
        axes = part.subplots(1, 2)
        ends = min(map(np.min, means)), max(map(np.max, means))
        mesh = _draw_surfaces(axes, letters, chosen, means, *ends)
        style.bar(part, mesh, axes, "test accuracy", location="right")
        if letters == "CD":
            _draw_paths(axes[0], chosen)
    _draw_best(bottom.subplots(), data)
    built: Figure = figure
    return built


def draw_supplement(data: xarray.Dataset, variant: str = VARIANTS[0]) -> Figure:
    """Draw C to F as shares of the ceiling: the accuracy of the exact Bayesian filter on the same series."""
    chosen = _chosen(data, variant)
    figure = style.figure(6.6)
    size = f"{_drawn(data)}; {IN_WORDS[variant]}"
    style.title(figure, data, "Accuracy as a share of the best possible", size, part="supplement")
    shares = [_means(chosen, *each)[1] for each in SURFACES.values()]
    least = min(LOWEST, min(float(each.max()) for each in shares) - 0.05)
    axes = list(figure.subplots(2, 2).flat)
    mesh = _draw_surfaces(axes, "CDEF", chosen, shares, least, 1.0, best=True)
    below = min(map(np.min, shares)) < least
    style.bar(figure, mesh, axes, "test accuracy / that of the exact Bayesian filter", "min" if below else "neither", "right")
    key = style.cross_key(f"best for both, state and regime, on validation data at noise {settings_in(data)['noise']:g}")
    style.legend(figure, {key.get_label(): key}, 1)
    built: Figure = figure
    return built


def _chosen(data: xarray.Dataset, variant: str) -> xarray.Dataset:
    readout, radius = variant.split(", rho ")
    return data.sel(readout=readout, rho=float(radius))


def _drawn(data: xarray.Dataset) -> str:
    seeds = data.sizes["seed"]
    return f"means of {seeds} seeds" if seeds > 1 else counted(seeds)


def _draw_signals(left: Axes, right: Axes, data: xarray.Dataset) -> None:
    step, delay = data["step"].values, data["delay"].values
    left.plot(step, data["input"].values, color="0.75", linewidth=0.5, label="input")
    left.plot(step, data["state"].values, color=style.BLACK, linewidth=0.9, label="state")
    left.plot(step, 1.1 * data["regime"].values - 0.05, color=style.OLIVE, linewidth=1.5, label="regime")
    left.set_ylim(-1.4, 3.7)
    key: dict[str, Any] = {"fontsize": style.SMALL, "frameon": False, "handlelength": 1.2}
    left.legend(**key, ncols=3, loc="upper center", columnspacing=1)
    style.panel(left, "A", x="time (steps)", y="signal")
    for name, colour in (("state", style.BLACK), ("regime", style.OLIVE)):
        right.plot(delay, data["correlation"].sel(process=name), color=colour, linewidth=1.2)
        right.plot(delay, data["expected"].sel(process=name), color=colour, linewidth=1, linestyle=":")
        half = max(int(np.argmax(data["expected"].sel(process=name).values < 0.5)), 1)
        says, side = (f"  {name}", "left") if name == "state" else (f"{name}  ", "right")
        right.text(delay[half], 0.5, says, fontsize=style.SMALL, color=colour, ha=side, va="center")
    for dashes, says in (("-", "measured"), (":", "expected")):
        right.plot([], [], color="0.4", linestyle=dashes, label=says)
    right.set(xscale="log", xlim=(1, delay[-1]), ylim=(-0.05, 1.4), yticks=[0, 0.5, 1])
    style.plain_ticks(right.xaxis, (1, 10, 100, 1000))
    right.legend(**key, ncols=2, loc="upper center", columnspacing=1)
    style.panel(right, "B", x="delay (steps)", y="autocorrelation")


def _draw_surfaces(
    axes: Sequence[Axes],
    letters: str,
    data: xarray.Dataset,
    shown: Sequence[Floats],
    least: float,
    most: float,
    best: bool = False,
) -> QuadMesh:
    """Values over noise and alpha or over both leak rates, on one colour scale; `best` adds the largest to the titles."""
    for ax, letter, values in zip(axes, letters, shown, strict=True):
        task, network = SURFACES[letter]
        mesh = _mesh(ax, data, values, network is None, least, most)
        title = f"{style.WORDS[network or 'single']}: {'both' if task == 'joint' else task}"
        title += f"\nat best {100 * values.max():.1f} %" if best else ""
        left = letter in "CE"
        if network is None:
            style.panel(ax, letter, x="noise $\\sigma$", y="leak rate $\\alpha$" if left else "", title=title)
        else:
            style.panel(ax, letter, x=style.LEAK_RATES[0], y=style.LEAK_RATES[1] if left else "", title=title)
            place = data.sel(network=network, task=task)
            style.cross(ax, float(place["best_alpha1"]), float(place["best_alpha2"]))
    return mesh


def _means(data: xarray.Dataset, task: str, network: str | None) -> tuple[Floats, Floats]:
    """Test accuracy, and its share of the ceiling of the same series, means over the seeds."""
    test = data.sel(part="test", task=task)
    if network is None:
        values = test["single"].transpose("seed", "noise", "alpha").astype(np.float64)
        ceiling = test["single_ceiling"].transpose("seed", "noise").astype(np.float64)
    else:
        values = test["accuracy"].sel(network=network).transpose("seed", "alpha1", "alpha2").astype(np.float64)
        ceiling = test["ceiling"].astype(np.float64)
    return values.mean("seed").values, (values / ceiling).mean("seed").values


def _mesh(ax: Axes, data: xarray.Dataset, values: Floats, single_one: bool, least: float, most: float) -> QuadMesh:
    """Cells around the points of logarithmic axes; the noises stand side by side."""
    edges = style.cells(data["alpha1"].values)
    across = style.cells(data["noise"].values) if single_one else edges
    mesh = ax.pcolormesh(across, edges, values.T, vmin=least, vmax=most, cmap="viridis", rasterized=True)
    ax.set(xscale="log", yscale="log", aspect="auto" if single_one else "equal")
    style.plain_ticks(ax.xaxis, (0.25, 0.5, 1, 2, 4) if single_one else (0.01, 0.1, 1))
    style.plain_ticks(ax.yaxis, (0.01, 0.1, 1))
    ax.set(xlim=(across[0], across[-1]), ylim=(edges[0], edges[-1]))
    return mesh


def _draw_paths(ax: Axes, data: xarray.Dataset) -> None:
    """The leak rate against the noise at the same time, from every start, in all seeds."""
    from matplotlib.patheffects import withStroke

    settings = settings_in(data)
    levels, records = np.array(settings["path_noises"]), settings["path_records"]
    inside = (levels <= data["noise"].values.max()) & (levels >= data["noise"].values.min())
    rim = [withStroke(linewidth=1.8, foreground="white")]
    for walk in data["path"].values.reshape(-1, data.sizes["path_step"]):
        ends = walk[records::records][inside]
        noise = levels[inside]
        ax.plot([noise[0], *noise], [walk[0], *ends], color=style.BLACK, linewidth=0.8, path_effects=rim, zorder=3)
        ax.plot(noise, ends, "o", color=style.BLACK, markersize=2.2, zorder=4)
        ax.plot(noise[0], walk[0], **style.START, zorder=5)


def _draw_best(ax: Axes, data: xarray.Dataset) -> None:
    """Test accuracies of the best pairs and singles of all variants, and the ceiling of their series."""
    for place, (readout, rho) in enumerate(product(READOUTS, RADII)):
        chosen = data.sel(readout=readout, rho=rho, task="joint")
        for k, (kind, marker) in enumerate((("single", "o"), ("unconnected", "s"), ("connected", "D"))):
            values = (chosen["single_best"] if kind == "single" else chosen["best"].sel(network=kind)).astype(np.float64)
            error = float(np.nan_to_num(standard_error(values)))
            look: dict[str, Any] = {"color": style.COLOURS[kind], "markersize": 5, "linewidth": 1, "capsize": 3}
            label = style.WORDS[kind] if place == 0 else None
            ax.errorbar(place + 0.2 * (k - 1), float(values.mean()), error, fmt=marker, **look, label=label)
    ceiling = float(data["ceiling"].sel(part="test", task="joint").mean())
    ax.axhline(ceiling, color=style.THEORY, linewidth=1.2, label="best possible")
    names = [f"{readout}\n$\\rho$ = {rho:g}" for readout, rho in product(READOUTS, RADII)]
    ax.set_xticks(range(len(VARIANTS)), names)
    low, high = ax.get_ylim()
    ax.set_ylim(low - 0.05 * (high - low), high + 0.3 * (high - low))
    ax.legend(fontsize=style.SMALL, frameon=False, ncols=4, loc="upper center", columnspacing=1.2, handlelength=1.2)
    noise = settings_in(data)["noise"]
    title = f"both, at the best leak rates of each network, at noise {noise:g}"
    style.panel(ax, "G", x="readout and spectral radius", y="test accuracy", title=title)
