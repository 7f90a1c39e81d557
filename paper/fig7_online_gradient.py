"""Fig. 7: how much of back-propagation through time the online gradient of the leak rates keeps.

    dE/dalpha = sum over l of dE/dx(t_l) e(t_l),      e = dx/dalpha (trace),      t_l = l M (snapshots)

Images are shown pixel by pixel in a fixed random order to two connected reservoirs. Readout and leak rates are learned from few
or many snapshots (`SequenceLearner`, exact trace, the paper's Adam). During learning the gradient of a minibatch is computed in
several forms at the same parameters, and compared with back-propagation through time (BPTT):

    exact trace      the trace of the paper's appendix
    truncated trace  the trace of its main text, which leaves out the way through a reservoir's own weights
    as printed       the sum in its appendix: the errors of all later snapshots, times the trace, which already contains them
    moving leaks     the exact trace of leak rates that move against the gradient during the sequence, by the learning rate
                     after each snapshot or after each time step (then the paper's for NARMA), and end at those of BPTT

    deviation = |g - g_BPTT| / |g_BPTT| over all compared minibatches and both leak rates

The data are scikit-learn's 8x8 digits. At paper scale they are interpolated to 28x28 pixels: 784 steps, and 4 and 28
snapshots, as in the paper. Everything is float64. A seed draws weights, permutation, first readout and order of the images.
The curves show the first seed, the deviations all seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from echoscale import ESN, Hyper
from echoscale.engine import COMPILER_OPTIONS, Parameter, precision_and_device, put, traces
from echoscale.engine import step as network_step
from echoscale.network import hierarchical
from echoscale.sweeps import Arrays, Job, Runner
from paper import snapshots, style
from paper.comparison import counted
from paper.provenance import labelled, settings_in
from paper.sequence_learner import SequenceLearner
from paper.types import Floats

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


CURVES = ("exact trace", "truncated trace", "BPTT")
MOVING = ("moving leaks, per snapshot", "moving leaks, per step")
FORMS = (*CURVES[:2], "as printed", *MOVING)
LEAKS = ("alpha1", "alpha2")
LEARNED = (Parameter("leak_rate", 0), Parameter("leak_rate", 1))
SIDE = 8  # pixels along an image, as they come
CLASSES = 10
STATES, ERRORS, NODE = 0.48, 0.94, 39  # heights of the nodes in A and B, and their size in points


@dataclass(frozen=True)
class Settings:
    """units counts each reservoir; from the second seed on, every `stride`-th minibatch is compared."""

    side: int
    snapshots: tuple[int, int]
    minibatches: int
    units: int
    window: int  # minibatches of the running average
    stride: int = 10
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    minibatch: int = 50
    leak_rates: tuple[float, float] = (0.8, 0.3)
    spectral_radius: float = 0.99
    input_scaling: float = 1.0
    coupling: float = 1.0
    readout_rates: tuple[float, float] = (5e-2, 5e-3)  # for few and for many snapshots
    leak_learning_rate: float = 1e-4
    leak_learning_rate_per_step: float = 5e-6  # the paper's, where leak rates are learned at every step


SETTINGS = {
    "smoke": Settings(8, (4, 16), 8, units=10, window=3, stride=4, seeds=(0, 1), minibatch=10),
    "quick": Settings(8, (4, 16), 100, units=25, window=20, seeds=(0, 1, 2)),
    "paper": Settings(28, (4, 28), 120, units=100, window=20),
}


class Minibatch(NamedTuple):
    """The point at which the forms are compared: weights and hyper-parameters, the readout, inputs and labels."""

    weights: Any
    hyper: Any
    readout: Any
    u: Any
    labels: Any

    @classmethod
    def of(cls, learner: SequenceLearner, u: Floats, labels: npt.NDArray[np.int64]) -> Minibatch:
        """u (B, T, 1) and labels (B,) at the current parameters of a learner."""
        hyper = Hyper(*(tuple(jnp.reshape(leaf, (1,)) for leaf in leaves) for leaves in learner.hyper))
        return cls(learner.esn.weights(len(u)), hyper, learner.readout, u.transpose(1, 2, 0), labels)


def compute(settings: Settings, scale: str, run: Runner) -> xarray.Dataset:
    """Compute gradients during training of the first seed, and the deviations from BPTT of all seeds."""
    import xarray

    curves = np.empty((2, len(CURVES), settings.minibatches, len(LEAKS)))
    leaks, loss = np.empty((2, settings.minibatches, len(LEAKS))), np.empty((2, settings.minibatches))
    deviations = np.empty((2, len(FORMS), len(settings.seeds)))
    places = list(product(range(2), range(len(settings.seeds))))
    jobs = [
        Job.of(compared, settings=settings, place=place, seed=settings.seeds[seed], stride=settings.stride if seed else 1)
        for place, seed in places
    ]
    for (place, seed), found in zip(places, run(jobs), strict=True):
        deviations[place, :, seed] = found["deviations"]
        if seed == 0:
            curves[place], leaks[place], loss[place] = found["curves"], found["leaks"], found["loss"]
    along = ("snapshots", "minibatch", "leak")
    data = xarray.Dataset(
        {
            "gradient": (
                ("snapshots", "curve", "minibatch", "leak"),
                curves,
                {"long_name": "dE/dalpha of a minibatch, first seed"},
            ),
            "leak_rate": (along, leaks, {"long_name": "leak rate before the minibatch, first seed"}),
            "loss": (along[:2], loss, {"long_name": "cross-entropy of the minibatch, first seed"}),
            "deviation": (
                ("snapshots", "form", "seed"),
                deviations,
                {"long_name": "relative deviation of the gradient from BPTT"},
            ),
        },
        {
            "snapshots": ("snapshots", np.array(settings.snapshots), {"long_name": "snapshots that the readout sees"}),
            "curve": ("curve", list(CURVES), {"long_name": "form of the gradient"}),
            "form": ("form", list(FORMS), {"long_name": "form of the gradient"}),
            "leak": ("leak", list(LEAKS), {"long_name": "leak rate"}),
            "minibatch": ("minibatch", np.arange(settings.minibatches), {"long_name": "minibatch"}),
            "seed": ("seed", np.array(settings.seeds), {"long_name": "seed of weights, permutation, readout and order"}),
        },
    )
    return labelled(data, 7, scale, settings)


def deviation(gradients: Floats, reference: Floats) -> float:
    """|g - g_BPTT| / |g_BPTT| over minibatches and leak rates."""
    return float(np.linalg.norm(gradients - reference) / np.linalg.norm(reference))


def running_average(values: Floats, window: int) -> Floats:
    """Means over `window` minibatches, (minibatches - window + 1, ...)."""
    sums = np.cumsum(np.concatenate([np.zeros_like(values[:1]), values]), axis=0)
    return np.asarray((sums[window:] - sums[:-window]) / window)


class TrainedGradients(NamedTuple):
    """Gradients and those of BPTT by form, at the compared minibatches (n, 2); leak rates (n, 2) and losses (n,)."""

    gradients: dict[str, Floats]
    reference: dict[str, Floats]
    leaks: Floats
    loss: Floats


def compared(settings: Settings, place: int, seed: int, stride: int) -> Arrays:
    """Deviations (forms,) from BPTT, and during training: gradients (curves, n, 2), leak rates (n, 2) and losses (n,)."""
    found = trained(settings, place, seed, stride)
    return {
        "deviations": np.array([deviation(found.gradients[each], found.reference[each]) for each in FORMS]),
        "curves": np.array([found.gradients[CURVES[0]], found.gradients[CURVES[1]], found.reference[CURVES[0]]]),
        "leaks": found.leaks,
        "loss": np.asarray(found.loss),
    }


def trained(settings: Settings, place: int, seed: int, stride: int) -> TrainedGradients:
    """Train with the `place`-th number of snapshots and compute all forms of the gradient.

    Curves are compared at every `stride`-th minibatch, the other forms at every `settings.stride`-th.
    """
    every = settings.side**2 // settings.snapshots[place]
    learner = learner_of(settings, place, seed)
    found: dict[str, list[Floats]] = {form: [] for form in FORMS}
    reference: dict[str, list[Floats]] = {form: [] for form in FORMS}
    leaks = []
    for k, (u, labels) in enumerate(minibatches(settings, seed)):
        learner.start(u.shape[1])
        leaks.append(learner.values)
        new = {}
        if k % stride == 0 or k % settings.stride == 0:
            with precision_and_device("float64", None):
                now = Minibatch.of(learner, u, labels)
                backwards, total = through_time(now, every)
                new["truncated trace"] = truncated(now, every)
                if k % settings.stride == 0:
                    new["as printed"] = printed(now, every, total)
                    rates = settings.leak_learning_rate, settings.leak_learning_rate_per_step
                    for form, pause, rate in zip(MOVING, (every, 1), rates, strict=True):
                        new[form] = moving(now, every, path(backwards, len(now.u), pause, rate))
        learner.partial_fit(u, labels)
        if new:
            new["exact trace"] = learner.gradients[-1]  # at the parameters before the step, as all other forms
            for form, gradient in new.items():
                found[form].append(gradient)
                reference[form].append(backwards)
    return TrainedGradients(
        {form: np.array(each) for form, each in found.items()},
        {form: np.array(each) for form, each in reference.items()},
        np.array(leaks),
        np.array(learner.loss),
    )


def learner_of(settings: Settings, place: int, seed: int) -> SequenceLearner:
    """The learner for the `place`-th number of snapshots."""
    return SequenceLearner(
        network(settings, seed),
        CLASSES,
        settings.side**2 // settings.snapshots[place],
        readout_rate=settings.readout_rates[place],
        parameter_rate=settings.leak_learning_rate,
        seed=seed,
    )


def network(settings: Settings, seed: int) -> ESN:
    """Two connected reservoirs, as for the paper's psMNIST."""
    return hierarchical(
        [settings.units] * 2,
        leak_rate=settings.leak_rates,
        spectral_radius=settings.spectral_radius,
        input_scaling=settings.input_scaling,
        coupling=settings.coupling,
        coupling_normalisation="sqrt_connections",
    ).build(1, seed=seed, dtype="float64")


def minibatches(settings: Settings, seed: int) -> Iterator[tuple[Floats, npt.NDArray[np.int64]]]:
    """Permuted images (B, T, 1) and labels (B,): the minibatches of the settings, shuffled in each epoch."""
    images, labels = digits(settings.side)
    rng = np.random.default_rng(seed)
    sequences = images[:, rng.permutation(images.shape[1]), None]
    order: npt.NDArray[np.int64] = np.empty(0, np.int64)
    for _ in range(settings.minibatches):
        if len(order) < settings.minibatch:
            order = rng.permutation(len(images))
        which, order = order[: settings.minibatch], order[settings.minibatch :]
        yield sequences[which], labels[which]


def digits(side: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    """scikit-learn's digits with pixels in [0, 1], interpolated to side x side: (1797, side * side), and their labels."""
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    images = pixels.reshape(-1, SIDE, SIDE) / 16
    if side != SIDE:
        images = zoom(images, (1, side / SIDE, side / SIDE), order=1)
    return images.reshape(len(images), -1), labels


def through_time(now: Minibatch, every: int) -> tuple[Floats, Floats]:
    """BPTT: dE/dalpha (2,), and dE/dx(t_l) through the readout and through all that follows t_l, (K, N, lanes)."""
    by_leaks, by_pushes = _backwards(now, every)
    return np.array(by_leaks), np.array(by_pushes)


@partial(jax.jit, static_argnames="every", compiler_options=COMPILER_OPTIONS)
def _backwards(now: Minibatch, every: int) -> Any:
    def error(leaks: Any, pushes: Any) -> Any:
        hyper = put(now.hyper, LEARNED, [leak.reshape(1) for leak in leaks])

        @jax.checkpoint
        def stretch(state: Any, given: Any) -> tuple[Any, Any]:
            part, push = given
            state = jax.lax.scan(lambda x, u_t: (network_step(now.weights, hyper, x, u_t), None), state, part)[0]
            # The pushes are 0: only the slope of E along them is needed.
            pushed = tuple(x + p for x, p in zip(state, jnp.split(push, len(state)), strict=True))
            return pushed, jnp.concatenate(pushed)

        start = snapshots.zero_state(now.weights, now.u.shape[-1])
        states = jax.lax.scan(stretch, start, (snapshots.cut(now.u, every), pushes))[1]
        z = now.readout.intercept[:, None] + jnp.einsum("ckn,knb->cb", now.readout.coef, states)
        return snapshots.cross_entropy(z, now.labels)

    _, count, units = now.readout.coef.shape
    leaks = jnp.concatenate([each.of(now.hyper) for each in LEARNED])
    return jax.grad(error, argnums=(0, 1))(leaks, jnp.zeros((count, units, now.u.shape[-1])))


def truncated(now: Minibatch, every: int) -> Floats:
    """dE/dalpha with the truncated trace, (2,)."""
    return np.array(_truncated(now, every))


@partial(jax.jit, static_argnames="every", compiler_options=COMPILER_OPTIONS)
def _truncated(now: Minibatch, every: int) -> Any:
    _, found = snapshots.gradients(*now, LEARNED, every=every, form="truncated")
    return found.parameters


def path(gradient: Floats, steps: int, pause: int, rate: float) -> Floats:
    """The leak rates minus their last values at every step, (T, 2): they move by `rate` against the gradient every `pause`."""
    updates = np.arange(steps) // pause
    return np.asarray(rate * -np.sign(gradient) * (updates - updates[-1])[:, None])


def moving(now: Minibatch, every: int, offsets: Floats) -> Floats:
    """sum over l of dE/dx(t_l) e(t_l) where the leak rates move during the sequence, (2,)."""
    states, found = (np.asarray(each) for each in _walked(now, offsets, every))
    z = np.einsum("ckn,knb->cb", now.readout.coef, states, optimize=True) + now.readout.intercept[:, None]
    by_z = (1 / (1 + np.exp(-z)) - np.eye(CLASSES)[:, now.labels]) / z.shape[1]
    slopes = np.einsum("cb,ckn->knb", by_z, now.readout.coef, optimize=True)
    return np.asarray(np.einsum("knb,kinb->i", slopes, found, optimize=True))


def printed(now: Minibatch, every: int, total: Floats) -> Floats:
    """sum over l of {sum over q >= l of dE/dx(t_q) J_ql} e(t_l), (2,); `total` is the sum in braces, (K, N, lanes)."""
    _, found = _walked(now, np.zeros((len(now.u), len(LEARNED))), every)
    return np.asarray(np.einsum("knb,kinb->i", total, found, optimize=True))


@partial(jax.jit, static_argnames="every", compiler_options=COMPILER_OPTIONS)
def _walked(now: Minibatch, offsets: Any, every: int) -> Any:
    """States (K, N, lanes) and traces (K, 2, N, lanes) at the snapshots, with the leak rates moved by `offsets` (T, 2)."""

    def step(carry: Any, given: Any) -> tuple[Any, None]:
        u_t, offset = given
        values = [each.of(now.hyper) + moved for each, moved in zip(LEARNED, offset, strict=True)]
        return traces.step(now.weights, put(now.hyper, LEARNED, values), carry[0], carry[1], u_t, LEARNED), None

    def stretch(carry: Any, given: Any) -> tuple[Any, Any]:
        state, moved = jax.lax.scan(step, carry, given)[0]
        [[e11, e21], [e22]] = moved.blocks
        pair = jnp.concatenate([e11, e21]), jnp.concatenate([jnp.zeros_like(e11), e22])
        return (state, moved), (jnp.concatenate(state), jnp.stack(pair))

    start = snapshots.zero_state(now.weights, now.u.shape[-1])
    parts = snapshots.cut(now.u, every), offsets.reshape(-1, every, len(LEARNED))
    return jax.lax.scan(stretch, (start, traces.init(now.weights, LEARNED, start)), parts)[1]


def draw(data: xarray.Dataset) -> Figure:
    """Draw A, B: the two graphs of the paper; C, D: running averages during training; E: how far each form is from BPTT."""
    figure = style.figure(9.3)
    s = settings_in(data)
    pixels = f"{SIDE}x{SIDE} digits" + (f" as {s['side']}x{s['side']}" if s["side"] != SIDE else "")
    seeds = counted(len(s["seeds"])) + (" (one in C and D)" if len(s["seeds"]) > 1 else "")
    size = f"{pixels} for MNIST, {2 * s['units']} neurons for 1,200, {seeds}"
    style.title(figure, data, "The online gradient and back-propagation through time (BPTT)", size)
    upper, middle, lower = figure.subfigures(3, 1, height_ratios=[1.15, 1.35, 1])
    left, right = upper.subplots(1, 2)
    _draw_continuous(left)
    _draw_sparse(right)
    keys = _colours()
    style.legend(upper, {each.get_label(): each for each in keys}, 2)
    style.heading(middle, f"Training: gradients, running averages over {s['window']} minibatches")
    axes = middle.subplots(1, 2)
    for ax, letter, count in zip(axes, "CD", data["snapshots"].values, strict=True):
        _draw_training(ax, data.sel(snapshots=count))
        y = "gradient d$E$/d$\\alpha$" if letter == "C" else ""
        style.panel(ax, letter, x="minibatch", y=y, title=f"{count} snapshots")
    lines = axes[0].get_lines()[: 2 * len(CURVES)]
    pairs = [line for both in zip(lines[: len(CURVES)], lines[len(CURVES) :], strict=True) for line in both]
    style.legend(middle, {str(each.get_label()): each for each in pairs}, 3)
    _draw_deviations(lower.subplots(), data)
    built: Figure = figure
    return built


def _draw_continuous(ax: Axes) -> None:
    """An error at every step: the ways from alpha to E(t) and to E(t + 1)."""
    columns = {"t-1": 0.11, "t": 0.46, "t+1": 0.81}
    _draw_nodes(ax, columns)
    before, now, after = columns.values()
    _arrow(ax, (before, STATES), (before, ERRORS), "0.6")
    _arrow(ax, (before, STATES), (now, STATES), style.BLACK)
    _arrow(ax, (now, STATES), (now, ERRORS), style.BLACK, "$\\frac{\\partial E(t)}{\\partial\\mathbf{x}(t)}$", (-0.085, 0))
    step = "$\\frac{\\partial\\mathbf{x}(t+1)}{\\partial\\mathbf{x}(t)}$"
    _arrow(ax, (now, STATES), (after, STATES), style.OLIVE, step, (0, 0.12))
    last = "$\\frac{\\partial E(t+1)}{\\partial\\mathbf{x}(t+1)}$"
    _arrow(ax, (after, STATES), (after, ERRORS), style.OLIVE, last, (0.11, 0))
    _draw_traces(ax, now, after, "t", "t+1")
    style.panel(ax, "A", title="error at every step", aside=0)


def _draw_sparse(ax: Axes) -> None:
    """Errors at snapshots, with many steps between them."""
    columns = {"t_1": 0.17, "t_2": 0.83}
    _draw_nodes(ax, columns)
    first, second = columns.values()
    _arrow(
        ax, (first, STATES), (first, ERRORS), style.BLACK, "$\\frac{\\partial E(t_1)}{\\partial\\mathbf{x}(t_1)}$", (-0.095, 0)
    )
    between = np.linspace(first, second, 4)
    ax.plot(between[1:-1], [STATES] * 2, "o", color="white", markeredgecolor="0.35", markersize=9, zorder=3)
    for begin, end in pairwise(between):
        ends = NODE / 2 + 1 if begin == first else 6, NODE / 2 + 1 if end == second else 6
        _arrow(ax, (begin, STATES), (end, STATES), style.OLIVE, shrink=ends)
    ax.text(
        (first + second) / 2, STATES + 0.1, "$\\mathcal{J}_{t_2 t_1}$", color=style.OLIVE, fontsize=11, ha="center", va="bottom"
    )
    _arrow(
        ax, (second, STATES), (second, ERRORS), style.OLIVE, "$\\frac{\\partial E(t_2)}{\\partial\\mathbf{x}(t_2)}$", (0.095, 0)
    )
    _draw_traces(ax, first, second, "t_1", "t_2")
    style.panel(ax, "B", title="error at snapshots", aside=0)


def _draw_nodes(ax: Axes, columns: dict[str, float]) -> None:
    """States, and the errors above them."""
    for name, x in columns.items():
        for y, text in ((STATES, f"$\\mathbf{{x}}({name})$"), (ERRORS, f"$E({name})$")):
            ax.plot(x, y, "o", color="white", markeredgecolor="0.35", markersize=NODE, zorder=3)
            ax.text(x, y, text, fontsize=style.SMALL, ha="center", va="center", zorder=4)
    ax.set(xlim=(0, 1), ylim=(-0.06, 1.1), xticks=[], yticks=[])
    ax.spines[["bottom", "left"]].set_visible(False)


def _draw_traces(ax: Axes, now: float, later: float, t: str, after: str) -> None:
    """alpha, and the traces from it to the states; the dashed one is not in the paper's picture."""
    ax.plot(now, 0.02, "o", color="white", markeredgecolor="0.35", markersize=18, zorder=3)
    ax.text(now, 0.02, "$\\alpha$", fontsize=9, ha="center", va="center", zorder=4)
    near = NODE / 2 + 1
    _arrow(ax, (now, 0.02), (now, STATES), style.BLACK, f"$\\mathbf{{e}}({t})$", (-0.075, -0.06), shrink=(10, near))
    where = (0.09, -0.05)
    _arrow(ax, (now, 0.02), (later, STATES), style.BLACK, f"$\\mathbf{{e}}({after})$", where, shrink=(10, near), dashed=True)


def _colours() -> list[Any]:
    """The legend of the arrows in A and B."""
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=style.BLACK, label="kept"),
        Line2D([], [], color=style.OLIVE, label="neglected (says the paper)"),
        Line2D([], [], color=style.BLACK, linestyle="--", label="trace that contains the neglected path"),
    ]


def _arrow(
    ax: Axes,
    begin: tuple[float, float],
    end: tuple[float, float],
    colour: str,
    text: str = "",
    shift: tuple[float, float] = (0.0, 0.0),
    *,
    shrink: tuple[float, float] = (NODE / 2 + 1, NODE / 2 + 1),
    dashed: bool = False,
) -> None:
    """An arrow between two nodes, and its factor beside its middle."""
    shape = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.5, "shrinkA": shrink[0], "shrinkB": shrink[1]}
    ax.annotate("", end, begin, arrowprops={**shape, "linestyle": "--" if dashed else "-", "mutation_scale": 11})
    x, y = (begin[0] + end[0]) / 2 + shift[0], (begin[1] + end[1]) / 2 + shift[1]
    ax.text(x, y, text, color=colour, fontsize=10, ha="center", va="center")


def _draw_training(ax: Axes, data: xarray.Dataset) -> None:
    """Running averages of the online gradients as lines, those of BPTT as dots (alpha1) and triangles (alpha2)."""
    window = int(settings_in(data)["window"])
    minibatch = data["minibatch"].values[window - 1 :]
    marks = slice(None, None, max(len(minibatch) // 20, 1))
    for leak, colour, marker, name in zip(LEAKS, style.LEVELS, "o^", ("\\alpha^{(1)}", "\\alpha^{(2)}"), strict=True):
        curves = {each: running_average(data["gradient"].sel(curve=each, leak=leak).values, window) for each in CURVES}
        ax.plot(minibatch, curves["exact trace"], color=colour, linewidth=1.3, label=f"${name}$, exact trace")
        ax.plot(minibatch, curves["truncated trace"], color=colour, linewidth=1.1, linestyle="--", label=f"${name}$, truncated")
        look: dict[str, Any] = {"color": colour, "markersize": 4, "markerfacecolor": "white", "linestyle": "none"}
        ax.plot(minibatch[marks], curves["BPTT"][marks], marker, **look, label=f"${name}$, BPTT")
    ax.axhline(0, color="0.7", linewidth=0.6, zorder=0)


def _draw_deviations(ax: Axes, data: xarray.Dataset) -> None:
    """One row per form, one mark per number of snapshots: the mean over the seeds, and every seed as a thin line."""
    names = (
        "exact trace",
        "truncated trace",
        "formula printed\nin the appendix",
        "leak rates move\nafter each snapshot",
        "leak rates move\nat every step",
    )
    for count, marker, colour, shift in zip(data["snapshots"].values, "sD", ("0.55", style.BLACK), (-0.16, 0.16), strict=True):
        values = data["deviation"].sel(snapshots=count).values
        rows = np.arange(len(FORMS)) + shift
        ax.plot(values.mean(axis=1), rows, marker, color=colour, markersize=6, label=f"{count} snapshots, mean")
        ax.plot(values, np.broadcast_to(rows[:, None], values.shape), "|", color=colour, markersize=8, markeredgewidth=0.8)
    ax.plot([], [], "|", color="0.4", markersize=8, label="each seed")
    ax.set_xscale("log")
    ax.set_xlim(5e-17, 5)
    ax.set_yticks(range(len(FORMS)), names)
    ax.invert_yaxis()
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)
    ax.legend(fontsize=style.SMALL, frameon=False, loc="lower left", bbox_to_anchor=(0.02, 0.0))
    style.panel(ax, "E", x="relative deviation", title="deviation of the gradient from BPTT")
