"""Fig. 6: permuted sequential MNIST. Accuracy of single, parallel and hierarchical networks against their leak rates.

    single        one reservoir of 1,200 neurons; alpha varies
    parallel      two of 600, both receive the input; alpha1 and alpha2 vary ("unconnected" in the paper and in the data)
    hierarchical  two of 600, the first drives the second ("connected")

    X = (x(M), x(2M), ..., x(T)),      p = sigmoid(W_out X),      label = argmax p

An image is shown pixel by pixel in a fixed random order and classified from few (4) or many (28) snapshots of the states.
The network runs once, with the snapshots of the smallest M; rarer snapshots are among them. Readouts are learned by Adam on
the cross-entropy as in the paper, but with a rate that falls to 0: with a constant rate, the noise from epoch to epoch is
as large as the differences between networks. The best point has the largest mean accuracy over the seeds on held-out
training images. All accuracies shown are on test images. A seed draws the weights and the order of the minibatches; all
seeds share one permutation.

The paths are leak rates learned together with a readout, minibatch by minibatch, with the exact trace
(`sequence_learner.walk`) and a new readout from time to time.

At smoke scale, and at quick scale if MNIST is not there (`tasks.mnist.available`), scikit-learn's 8x8 digits replace MNIST. A
sequence then has 64 steps, and many snapshots are 16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from echoscale import ESN, Hyper, timescales
from echoscale.engine import device_of, on_cpu
from echoscale.network import Network, single
from echoscale.readouts import features, logistic
from echoscale.sweeps import Arrays, Check, Job, Runner, unchecked
from echoscale.tasks import Sequences, mnist, psdigits, psmnist
from paper import style
from paper.comparison import best_accuracies, counted, two
from paper.provenance import labelled, settings_in
from paper.sequence_learner import SequenceLearner, walk
from paper.types import Floats

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure, SubFigure


NETWORKS = ("unconnected", "connected")
PARTS = ("validation", "test")
THREADS_ON_GPU = 2  # one computes while the other talks to the host
TICKS = (0.03, 0.1, 0.3, 1)
PAPER_RATE = 5e-2  # of the readout with few snapshots, along the paths
SURFACES, CLOSE_UPS = "EFGH", "ILMN"  # letters of panels; the paper has no J and K
CLASSES = 10
LOADERS = {"mnist": psmnist, "digits": psdigits}
AT_ONCE = 2000  # images whose outputs are computed together


@dataclass(frozen=True)
class Settings:
    """units counts all reservoirs together; snapshots are few and many."""

    data: str
    train: int
    validation: int
    test: int
    units: int
    leak_rates: tuple[float, ...]
    seeds: tuple[int, ...]
    epochs: int
    path_minibatches: int
    path_reset: int
    snapshots: tuple[int, int] = (4, 28)
    rates: tuple[float, float] = (5e-3, 5e-4)  # of the readouts of the surfaces
    minibatch: int = 50
    permutation: int = 0
    spectral_radius: float = 0.99
    input_scaling: float = 1.0
    coupling: float = 0.31623  # 1 / sqrt(10): ten weights N(0, 1) a row add up to variance 1
    connections: int = 10
    path_starts: tuple[tuple[float, float], ...] = ((0.8, 0.8), (0.4, 0.2), (0.2, 0.6))
    path_seeds: tuple[int, ...] = (0,)
    path_rates: tuple[float, float] = (PAPER_RATE, 5e-3)  # of the readout: the paper's
    path_leak_rate: float = 1e-4  # of the leak rates: as the paper prints it
    examples: tuple[int, int] = (3, 7)  # digits of A and C


SETTINGS = {
    "smoke": Settings(
        "digits",
        150,
        50,
        60,
        20,
        (0.1, 1.0),
        (0, 1),
        epochs=3,
        path_minibatches=6,
        path_reset=3,
        snapshots=(4, 16),
        minibatch=25,
    ),
    "quick": Settings(
        "digits",
        1142,
        300,
        355,
        100,
        (0.05, 0.1, 0.3, 0.6, 1.0),
        (0, 1),
        epochs=30,
        path_minibatches=200,
        path_reset=100,
        snapshots=(4, 16),
        rates=(2e-2, 5e-3),
        path_leak_rate=2e-3,
    ),
    "paper": Settings(
        "mnist",
        50_000,
        10_000,
        10_000,
        1200,
        (0.03, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0),
        (0, 1, 2),
        epochs=8,
        path_minibatches=600,
        path_reset=300,
        # With the paper's rates, 5e-2 and 5e-3, most leak rates moved away from the maxima (docs/psmnist.md).
        path_rates=(5e-4, 5e-5),
        # The paper prints 1e-4; the effective rate in its authors' code is 32 times larger.
        path_leak_rate=3e-3,
    ),
}
# The quick scale if MNIST is there.
QUICK_MNIST = Settings(
    "mnist",
    3_000,
    1_000,
    1_000,
    100,
    (0.05, 0.1, 0.3, 0.6, 1.0),
    (0,),
    epochs=10,
    path_minibatches=100,
    path_reset=50,
    path_rates=(5e-3, 5e-4),
    path_leak_rate=5e-3,
)


def settings_of(scale: str) -> Settings:
    """The settings of a scale, for the data that are there."""
    return QUICK_MNIST if scale == "quick" and mnist.available() else SETTINGS[scale]


def compute(settings: Settings, scale: str, run: Runner) -> xarray.Dataset:
    """Compute accuracies at every point and seed, the best points, learned paths, and autocorrelations of two images."""
    import xarray

    alphas, seeds = settings.leak_rates, settings.seeds
    pairs = np.empty((len(NETWORKS), len(alphas), len(alphas), len(seeds), len(settings.snapshots), len(PARTS)), np.float32)
    singles = np.empty((len(alphas), len(seeds), len(settings.snapshots), len(PARTS)), np.float32)
    walks = np.empty(
        (len(NETWORKS), len(settings.snapshots), len(settings.path_seeds), len(settings.path_starts), 101, 2), np.float32
    )
    rows = np.linspace(0, settings.path_minibatches, walks.shape[-2]).round().astype(int)
    points = list(product(range(len(alphas)), repeat=2))
    places: list[Any] = [("single", k, i, 0) for k in range(len(seeds)) for i in range(len(alphas))]
    places += [(network, k, i, j) for k in range(len(seeds)) for network in NETWORKS for i, j in points]
    places += [("path", k, network, m) for k in range(len(settings.path_seeds)) for network in NETWORKS for m in range(2)]
    results = run([_job(settings, *place) for place in places], threads=1 if on_cpu(None) else THREADS_ON_GPU)
    for (kind, k, i, j), found in zip(places, results, strict=True):
        if kind == "path":
            walks[NETWORKS.index(i), j, k] = found["path"][:, rows]
        elif kind == "single":
            singles[i, k] = found["accuracy"]
        else:
            pairs[NETWORKS.index(kind), i, j, k] = found["accuracy"]
    surface = ("network", "alpha1", "alpha2", "seed", "snapshots", "part")
    data = xarray.Dataset(
        {
            "accuracy": (surface, pairs, {"long_name": "accuracy of two reservoirs"}),
            "single": (("alpha", "seed", "snapshots", "part"), singles, {"long_name": "accuracy of a single reservoir"}),
            "path": (
                ("network", "snapshots", "path_seed", "path_start", "path_minibatch", "leak"),
                walks,
                {"long_name": "leak rates learned online"},
            ),
        },
        {
            "network": ("network", list(NETWORKS), {"long_name": "two reservoirs"}),
            "alpha1": ("alpha1", np.array(alphas), {"long_name": "leak rate of the first reservoir"}),
            "alpha2": ("alpha2", np.array(alphas), {"long_name": "leak rate of the second reservoir"}),
            "alpha": ("alpha", np.array(alphas), {"long_name": "leak rate of the single reservoir"}),
            "seed": ("seed", np.array(seeds), {"long_name": "seed of weights and minibatches"}),
            "snapshots": ("snapshots", np.array(settings.snapshots), {"long_name": "snapshots of a sequence"}),
            "part": ("part", list(PARTS), {"long_name": "images that choose, and images that are reported"}),
            "path_seed": ("path_seed", np.array(settings.path_seeds), {"long_name": "seed of weights and minibatches"}),
            "path_start": ("path_start", [f"({a:g}, {b:g})" for a, b in settings.path_starts], {"long_name": "start"}),
            "path_minibatch": ("path_minibatch", rows, {"long_name": "minibatches learned from"}),
            "leak": ("leak", ["alpha1", "alpha2"], {"long_name": "which leak rate"}),
        },
    )
    return labelled(xarray.merge([data, best_points(data), _correlations(settings)]), 6, scale, settings)


def _job(settings: Settings, kind: str, k: int, i: Any, j: int) -> Job:
    """The job of one place: one network at one set of leak rates with one seed, or learned paths."""
    if kind == "path":
        return Job.of(learned_path, settings=settings, kind=i, place=j, seed=settings.path_seeds[k])
    alone, alphas = kind == "single", settings.leak_rates
    network = lone(settings) if alone else pair(settings, kind)
    leaks = [alphas[i]] if alone else [alphas[i], alphas[j]]
    return Job.of(accuracies, settings=settings, network=network, leak_rates=leaks, seed=settings.seeds[k])


def accuracies(
    settings: Settings, network: Network, leak_rates: Sequence[float], seed: int, check: Check = unchecked
) -> Arrays:
    """accuracy: on the held-out and on the test images, (snapshots, 2)."""
    esn = network.build(1, seed=seed)
    hyper = esn.hyper.replace(leak_rate=list(leak_rates))
    return {"accuracy": scored(esn, hyper, images(settings), settings, check)}


def learned_path(settings: Settings, kind: str, place: int, seed: int, check: Check = unchecked) -> Arrays:
    """path: leak rates of a pair from every start, (starts, minibatches + 1, 2)."""
    data = images(settings)
    esn = pair(settings, kind).build(1, seed=seed)
    learner = SequenceLearner(
        esn,
        CLASSES,
        data.u.shape[1] // settings.snapshots[place],
        readout_rate=settings.path_rates[place],
        parameter_rate=settings.path_leak_rate,
        seed=seed,
    )
    starts = np.array(settings.path_starts)
    found = walk(
        learner,
        esn.hyper.replace(leak_rate=list(starts.T)),
        data.u[data.fitted][: data.train],
        data.labels[: data.train],
        minibatches=settings.path_minibatches,
        minibatch=settings.minibatch,
        reset=settings.path_reset,
        check=check,
    )
    return {"path": np.asarray(found.values)}


@dataclass(frozen=True, eq=False)
class Split:
    """Sequences to train, to choose and to test, side by side in one array (B, T, 1), and the sizes of the first two parts."""

    u: Any
    labels: npt.NDArray[np.int64]
    train: int
    validation: int

    @property
    def fitted(self) -> slice:
        """The sequences that the readout is trained with, and the held-out ones after them."""
        return slice(0, self.train + self.validation)

    @property
    def held_out(self) -> npt.NDArray[np.int64]:
        """The sequences that choose the best point."""
        return np.arange(self.train, self.train + self.validation)

    @property
    def tested(self) -> slice:
        """The test sequences."""
        return slice(self.train + self.validation, None)


def images(settings: Settings) -> Split:
    """The sequences of these settings."""
    return split(settings.data, settings.permutation, settings.train, settings.validation, settings.test)


@cache
def split(data: str, permutation: int | None, train: int, validation: int, test: int) -> Split:
    """The first `train` and the last `validation` images of the training set, and the first `test` images of the test set."""
    learn, judge = (LOADERS[data](part, permutation) for part in ("train", "test"))
    for name, wanted, there in (("train + validation", train + validation, learn), ("test", test, judge)):
        if wanted > len(there.labels):
            raise ValueError(f"{name} asks for {wanted} images, {there.name} has {len(there.labels)}.")
    chosen = np.r_[:train, len(learn.labels) - validation : len(learn.labels)]
    u = np.concatenate([learn.u[chosen], judge.u[:test]])
    return Split(u, np.concatenate([learn.labels[chosen], judge.labels[:test]]), train, validation)


@lru_cache(maxsize=1)
def sent(data: Split) -> Any:
    """The sequences on the device, sent once for all networks."""
    return jax.device_put(data.u)


def example(data: str, permutation: int | None, labels: tuple[int, ...]) -> Sequences:
    """The first test image of each of these labels."""
    judge = LOADERS[data]("test", permutation)
    rows = [int(np.flatnonzero(judge.labels == label)[0]) for label in labels]
    return judge._replace(u=judge.u[rows], labels=judge.labels[rows])


def scored(esn: ESN, hyper: Hyper, data: Split, settings: Settings, check: Check) -> Floats:
    """Accuracies (snapshots, 2) on the held-out and on the test images, sigmoid readouts, Adam with a falling rate."""
    most = max(settings.snapshots)
    every = data.u.shape[1] // most
    there = not on_cpu(device_of(esn.device))
    u = sent(data) if there else data.u
    found = features.compute(esn, u, every, hyper=hyper, on_device=there, progress=lambda *_: check()).array
    scores = []
    for count, rate in zip(settings.snapshots, settings.rates, strict=True):
        kept = found[:, most // count - 1 :: most // count]
        fit = logistic.fit(
            kept[data.fitted],
            data.labels[data.fitted],
            CLASSES,
            rate=rate,
            schedule="cosine",
            epochs=settings.epochs,
            minibatch=settings.minibatch,
            validation=data.held_out,
            progress=lambda *_: check(),
            seed=esn.seed,
            device=esn.device,
        )
        # The rate has fallen to 0: take the last weights, not the best epoch, so nothing is chosen on the way.
        scores.append([fit.history.accuracy[-1], accuracy(fit.state.weights, kept[data.tested], data.labels[data.tested])])
    return np.array(scores)


def accuracy(weights: Any, kept: Any, labels: npt.NDArray[np.int64]) -> float:
    """The share of images (B, S, N) whose largest output is that of their label."""
    right = 0
    for begin in range(0, len(labels), AT_ONCE):
        rows = kept[begin : begin + AT_ONCE]
        flat = rows.reshape(len(rows), -1)
        outputs = jnp.matmul(jnp.asarray(flat), jnp.asarray(weights.coef).T, precision="highest") + weights.intercept
        right += int((np.asarray(outputs).argmax(axis=1) == labels[begin : begin + AT_ONCE]).sum())
    return right / len(labels)


def lone(settings: Settings) -> Network:
    """The single reservoir."""
    return single(
        settings.units,
        spectral_radius=settings.spectral_radius,
        input_scaling=settings.input_scaling,
        connections=settings.connections,
    )


def pair(settings: Settings, kind: str) -> Network:
    """Two reservoirs of half the size."""
    return two(
        settings.units,
        None if kind == "unconnected" else settings.coupling,
        connections=settings.connections,
        spectral_radius=settings.spectral_radius,
        input_scaling=settings.input_scaling,
    )


def best_points(data: xarray.Dataset) -> xarray.Dataset:
    """The points of largest mean accuracy on held-out images, and the test accuracies of all seeds there."""
    import xarray

    pairs = best_accuracies("", data["accuracy"], ("alpha1", "alpha2"))
    return xarray.Dataset({**pairs, **best_accuracies("single_", data["single"], ("alpha",))})


def _correlations(settings: Settings) -> xarray.Dataset:
    """Autocorrelations of two images, pixel by pixel in order and permuted."""
    import xarray

    rows = []
    for permutation in (settings.permutation, None):
        shown = example(settings.data, permutation, settings.examples)
        rows.append([timescales.of_signal(each, lags=len(each) - 2).inputs[:, 0] for each in shown.u.astype(np.float64)])
    values = np.array(rows, np.float32)
    return xarray.Dataset(
        {"correlation": (("order", "digit", "delay"), values, {"long_name": "autocorrelation of the pixels"})},
        {
            "order": ("order", ["permuted", "in order"], {"long_name": "order of the pixels"}),
            "digit": ("digit", np.array(settings.examples), {"long_name": "first test image of this digit"}),
            "delay": ("delay", np.arange(values.shape[-1]), {"long_name": "delay", "units": "steps"}),
        },
    )


def draw(data: xarray.Dataset) -> Figure:
    """Draw A, C: autocorrelations; B, D: single networks; E to H: the pairs."""
    figure = style.figure(10.2)
    style.title(figure, data, f"Images pixel by pixel: {_what(data)}", _size(data))
    first, lower = figure.subfigures(2, 1, height_ratios=[1.15, 1.4])
    (a, b), (c, d) = first.subplots(2, 2)
    few, many = (int(each) for each in data["snapshots"].values)
    for ax, letter, order in ((a, "A", "permuted"), (c, "C", "in order")):
        _draw_correlations(ax, letter, data, order)
    for ax, letter, count in ((b, "B", few), (d, "D", many)):
        _draw_single(ax, letter, data, count)
    style.legend(first, style.keys_of(b), 3)
    style.heading(lower, "Two reservoirs: test accuracy at all pairs of leak rates\nCross: best on validation images")
    _draw_surfaces(lower, data, SURFACES, "log")
    built: Figure = figure
    return built


def draw_supplement(data: xarray.Dataset) -> Figure:
    """Draw close-ups of E to H with learned paths: I, L, M, N, as in the paper, which has no J and K."""
    figure = style.figure(6.9)
    s = settings_in(data)
    slower = PAPER_RATE / s["path_rates"][0]
    rate = "the paper's readout rates" if slower == 1 else f"readout rates {slower:.0f} times below the paper's"
    size = f"{_size(data)}. Paths: one network, {s['path_minibatches']} minibatches, {rate}"
    style.title(figure, data, "Where learned leak rates go, on a linear scale", size, part="supplement")
    _draw_surfaces(figure, data, CLOSE_UPS, "linear")
    built: Figure = figure
    return built


def _what(data: xarray.Dataset) -> str:
    data_set = settings_in(data)["data"]
    return {"mnist": "permuted MNIST", "digits": "scikit-learn's 8x8 digits, permuted, in place of MNIST"}[data_set]


def _size(data: xarray.Dataset) -> str:
    seeds = data.sizes["seed"]
    drawn = f"means of {seeds} seeds" if seeds > 1 else counted(seeds)
    return f"{settings_in(data)['units']:,} neurons, {drawn}"


def _draw_correlations(ax: Axes, letter: str, data: xarray.Dataset, order: str) -> None:
    for digit, colour in zip(data["digit"].values, ("0.65", style.BLACK), strict=True):
        curve = data["correlation"].sel(order=order, digit=digit)
        ax.plot(data["delay"].values[1:], curve.values[1:], color=colour, linewidth=0.8, label=f"a {digit}")
    ax.axhline(0, color="0.7", linewidth=0.6, zorder=0)
    ax.legend(fontsize=style.SMALL, frameon=False, loc="upper right", borderaxespad=0)
    style.panel(ax, letter, x="delay (steps)", y="autocorrelation", title=f"pixels {order}")


def _draw_single(ax: Axes, letter: str, data: xarray.Dataset, count: int) -> None:
    """The single network against alpha, and lines at the best parallel and hierarchical pair."""
    curve = data["single"].sel(snapshots=count, part="test").astype(np.float64)
    count_seeds = curve.sizes["seed"]
    errors = curve.std("seed", ddof=1).values / count_seeds**0.5 if count_seeds > 1 else None
    look: dict[str, Any] = {"fmt": "o-", "color": style.SINGLE, "markersize": 3, "linewidth": 1, "capsize": 2}
    ax.errorbar(curve["alpha"].values, curve.mean("seed").values, errors, **look, label="single")
    for network in NETWORKS:
        values, colour = data["best"].sel(snapshots=count, network=network), style.COLOURS[network]
        mean = float(values.mean())
        if values.size > 1:
            error = float(values.std(ddof=1)) / values.size**0.5
            ax.axhspan(mean - error, mean + error, color=colour, alpha=0.25, linewidth=0)
        ax.axhline(mean, color=colour, linewidth=1.3, label=f"best {style.WORDS[network]} pair")
    ax.set_xscale("log")
    style.plain_ticks(ax.xaxis, TICKS)
    style.panel(ax, letter, x="leak rate $\\alpha$", y="test accuracy", title=f"{count} snapshots")


def _draw_surfaces(figure: Figure | SubFigure, data: xarray.Dataset, letters: str, scaled: str) -> None:
    """Test accuracies over both leak rates, one row and one colour scale for each number of snapshots.

    Logarithmic axes show the small leak rates; straight ones show the large, with learned paths and the upper half of colours.
    """
    from matplotlib.ticker import MaxNLocator

    axes, close = figure.subplots(2, 2), scaled == "linear"
    for row, pair_of_letters, count in zip(axes, (letters[:2], letters[2:]), data["snapshots"].values, strict=True):
        shown = [data.sel(snapshots=count, network=network) for network in NETWORKS]
        means = [each["accuracy"].sel(part="test").astype(np.float64).mean("seed") for each in shown]
        values = [each.transpose("alpha1", "alpha2").values for each in means]
        least = float(np.median(values)) if close else float(min(map(np.min, values)))
        ends = least, float(max(map(np.max, values)))
        for ax, letter, one, found in zip(row, pair_of_letters, shown, values, strict=True):
            mesh = _draw_surface(ax, one, found, ends, scaled)
            title = f"{style.WORDS[str(one['network'].values)]}, {count} snapshots"
            style.panel(ax, letter, x=style.LEAK_RATES[0], y=style.LEAK_RATES[1] if ax is row[0] else "", title=title)
            if close:
                _draw_paths(ax, one["path"])
        label = "test accuracy\n(darkest: below median)" if close else "test accuracy"
        style.bar(figure, mesh, row, label, "min" if close else "neither", "right").locator = MaxNLocator(5)
    if close:
        _draw_key(figure)


def _draw_surface(ax: Axes, shown: xarray.Dataset, values: Floats, ends: tuple[float, float], scaled: str) -> QuadMesh:
    """Test accuracies over both leak rates."""
    edges = style.cells(shown["alpha1"].values)
    mesh = ax.pcolormesh(edges, edges, values.T, vmin=ends[0], vmax=ends[1], cmap="viridis", rasterized=True)
    ax.set(xscale=scaled, yscale=scaled, aspect="equal")
    if scaled == "log":
        style.plain_ticks(ax.xaxis, TICKS)
        style.plain_ticks(ax.yaxis, TICKS)
    else:
        ax.set(xticks=[0.2, 0.6, 1], yticks=[0.2, 0.6, 1])
    style.cross(ax, float(shown["best_alpha1"]), float(shown["best_alpha2"]))
    return mesh


def _draw_paths(ax: Axes, paths: xarray.DataArray) -> None:
    """The paths of the leak rates, from every start (square) to a dot."""
    for path in paths.transpose("path_seed", "path_start", "path_minibatch", "leak").values.reshape(
        -1, paths.sizes["path_minibatch"], 2
    ):
        ax.plot(*path.T, **_path(), clip_on=False, zorder=3)
        ax.plot(*path[0], **style.START, zorder=4)
        ax.plot(*path[-1], "o", color=style.BLACK, markersize=3.5, clip_on=False, zorder=4)


def _path() -> dict[str, Any]:
    from matplotlib.patheffects import withStroke

    return {"color": style.BLACK, "linewidth": 0.9, "path_effects": [withStroke(linewidth=1.8, foreground="white")]}


def _draw_key(figure: Figure | SubFigure) -> None:
    from matplotlib.lines import Line2D

    end = Line2D([], [], **_path(), marker="o", markersize=3.5, label="path and end")
    keys = [style.start_key("start"), end, style.cross_key("best on validation images")]
    style.legend(figure, {each.get_label(): each for each in keys}, 3)
