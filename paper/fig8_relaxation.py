"""Fig. 8: how a reservoir relaxes after a pulse, and how long its linear theory holds.

    y_i(t) = v_i^T x(t),   theory: y_i(t) = lambda_i^t y_i(0),   v_i^T M = lambda_i v_i^T,   M = (1 - alpha) I + alpha rho W

The input is 1 for 200 steps, then 0; t = 0 is the last step of the pulse. The paper prints e^{Lambda t}, which belongs to
continuous time. The map is discrete, so this figure uses lambda^t. Left eigenvectors have length 1, so y is as large as x.
RMSE and NRMSE_1 compare the real parts at T = steps + 1 points. NRMSE_1 is defined as in the paper, which does not define RMSE.
An eigenvector has no phase of its own, and another phase gives other real parts. The third error has moduli in their place:

    RMSE    = sqrt(mean over i and t of (theory - y_i(t))^2)
    NRMSE_1 = sum_i 1 / (N |max y_i - min y_i|) sum_t sqrt((theory - y_i(t))^2 / (T - 1))
    modulus = sum_i 1 / (N max |y_i|) sum_t |theory - y_i(t)| / sqrt(T - 1)

The paper states neither alpha nor rho. alpha = 0.9 is taken from its Fig. 1E and rho = 0.95 from its tasks: with alpha near
1, slow eigenvalues have all angles, so there are oscillations beside decays. Panel A shows the slowest modes of one
network, chosen because both kinds are among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from echoscale import ESN
from echoscale.engine import one_thread
from echoscale.network import single
from echoscale.sweeps import Arrays, Job, Runner
from echoscale.timescales import LinearSystem, mode_relaxation
from paper import style
from paper.comparison import counted
from paper.provenance import labelled
from paper.types import Complex, Floats

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure, SubFigure


DRAWN = 80  # steps of panel A: later, nothing moves
# Errors of panel B: label, colour, marker.
ERRORS = {
    "rmse": ("RMSE", style.BLACK, "o"),
    "nrmse1": ("NRMSE$_1$", style.OLIVE, "s"),
    "modulus": ("NRMSE of moduli", "0.55", "^"),
}


@dataclass(frozen=True)
class Settings:
    """shown_*: network, input scaling and number of modes of panel A; conjugate pairs count once."""

    input_scalings: tuple[float, ...]
    seeds: tuple[int, ...]
    units: int = 100
    leak_rate: float = 0.9
    spectral_radius: float = 0.95
    pulse: int = 200
    steps: int = 200
    shown_seed: int = 5
    shown_input_scaling: float = 0.05
    shown_modes: int = 4


SETTINGS = {
    "smoke": Settings(input_scalings=(0.01, 0.05, 0.5, 5.0), seeds=(0, 1, 2), units=40),
    "quick": Settings(input_scalings=(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0), seeds=tuple(range(10))),
    "paper": Settings(
        input_scalings=(*(float(f"{first}e{power}") for power in (-2, -1, 0) for first in (1, 1.5, 2, 3, 5, 7)), 10.0),
        seeds=tuple(range(50)),
    ),
}


def compute(settings: Settings, scale: str, run: Runner) -> xarray.Dataset:
    """Compute the errors of every network and input scaling, and the modes of one network."""
    import xarray

    jobs = [Job.of(errors_of, settings=settings, seed=seed) for seed in settings.seeds]
    every = list(run(jobs))
    errors = {name: np.stack([found[name] for found in every], axis=1) for name in ("rmse", "nrmse1", "modulus")}
    values, modes, theory = shown_modes(settings)
    measured, predicted = modes.real, theory.real
    with np.errstate(divide="ignore"):  # at angle 0 there is no oscillation: the period is infinite
        periods = 2 * np.pi / np.abs(np.angle(values))
    data = xarray.Dataset(
        {
            "rmse": (("gamma", "seed"), errors["rmse"], {"long_name": "RMSE between experiment and linear theory"}),
            "nrmse1": (("gamma", "seed"), errors["nrmse1"], {"long_name": "NRMSE_1 between experiment and linear theory"}),
            "modulus": (("gamma", "seed"), errors["modulus"], {"long_name": "the same with moduli, free of phases"}),
            "measured": (("mode", "time"), measured.T, {"long_name": "real part of v^T x(t)"}),
            "predicted": (("mode", "time"), predicted.T, {"long_name": "real part of lambda^t v^T x(0)"}),
            "shown_gamma": ((), settings.shown_input_scaling, {"long_name": "input scaling of the modes"}),
            "eigenvalue_real": ("mode", values.real, {"long_name": "real part of the eigenvalue of M"}),
            "eigenvalue_imag": ("mode", values.imag, {"long_name": "imaginary part of the eigenvalue of M"}),
            "timescale": ("mode", -1 / np.log(np.abs(values)), {"long_name": "-1 / log|lambda|", "units": "steps"}),
            "period": ("mode", periods, {"long_name": "2 pi / |arg lambda|, infinite for decays", "units": "steps"}),
        },
        {
            "gamma": ("gamma", np.array(settings.input_scalings), {"long_name": "input scaling"}),
            "seed": ("seed", np.array(settings.seeds), {"long_name": "seed of the weights"}),
            "mode": ("mode", np.arange(len(values)), {"long_name": "modes of one network, the slowest first"}),
            "time": ("time", np.arange(settings.steps + 1), {"long_name": "time after the pulse", "units": "steps"}),
        },
    )
    return labelled(data, 8, scale, settings)


def draw(data: xarray.Dataset) -> Figure:
    """Draw A: experiment (dots) and theory (lines) of every mode; B: the errors, median and 80 % of the seeds."""
    figure = style.figure(5.2)
    seeds = data.sizes["seed"]
    size = f"one network in A, {seeds} in B (medians, bands: 80 % of them)" if seeds > 1 else counted(seeds)
    style.title(figure, data, "Relaxation of a reservoir after a pulse", size)
    left, right = figure.subfigures(1, 2, width_ratios=[1.15, 1])
    _draw_modes(left, data)
    _draw_errors(right, data)
    built: Figure = figure
    return built


def reservoir(settings: Settings, seed: int) -> ESN:
    """The network in float64; the run sets its input scaling."""
    return single(settings.units, leak_rate=settings.leak_rate, spectral_radius=settings.spectral_radius).build(
        1, seed=seed, dtype="float64"
    )


def relaxation(esn: ESN, input_scalings: tuple[float, ...], pulse: int, steps: int) -> Floats:
    """x(t) from the last step of the pulse on, (input scalings, steps + 1, N); the scalings are lanes of one run."""
    u = np.repeat([1.0, 0.0], [pulse, steps])[:, None]
    states = esn.run(u, hyper=esn.hyper.replace(input_scaling=[np.array(input_scalings)]))
    after: Floats = states[:, pulse - 1 :]
    return after


def unit_modes(system: LinearSystem) -> tuple[Complex, Complex]:
    """Eigenvalues (N,), the slowest first, and left eigenvectors of length 1 as rows (N, N)."""
    with one_thread():
        values, left, _ = system.modes()
    order = np.lexsort((-values.imag, -np.abs(values).round(12)))  # in a pair, the positive angle comes first
    return values[order], (left / np.linalg.norm(left, axis=1, keepdims=True))[order]


def experiment_and_theory(states: Floats, values: Complex, left: Complex) -> tuple[Complex, Complex]:
    """v_i^T x(t) and lambda_i^t v_i^T x(0), (..., T, N) each, from states (..., T, N)."""
    measured = states @ left.T
    powers = mode_relaxation(values, np.ones_like(values), states.shape[-2] - 1)
    return measured, powers * measured[..., :1, :]


def rmse(measured: Floats, predicted: Floats) -> Floats:
    """sqrt(mean (predicted - measured)^2) over time and modes, (...,)."""
    return np.asarray(np.sqrt(((predicted - measured) ** 2).mean(axis=(-2, -1))))


def nrmse1(measured: Floats, predicted: Floats) -> Floats:
    """mean_i of sum_t |predicted - measured| / sqrt(T - 1) / |max - min|, (...,)."""
    summed = np.abs(predicted - measured).sum(axis=-2) / np.sqrt(measured.shape[-2] - 1)
    return np.asarray((summed / np.ptp(measured, axis=-2)).mean(axis=-1))


def modulus(measured: Complex, predicted: Complex) -> Floats:
    """mean_i of sum_t |predicted - measured| / sqrt(T - 1) / max |measured|, (...,)."""
    summed = np.abs(predicted - measured).sum(axis=-2) / np.sqrt(measured.shape[-2] - 1)
    return np.asarray((summed / np.abs(measured).max(axis=-2)).mean(axis=-1))


def errors_of(settings: Settings, seed: int) -> Arrays:
    """The three errors of one network, (input scalings,) each."""
    esn = reservoir(settings, seed)
    states = relaxation(esn, settings.input_scalings, settings.pulse, settings.steps)
    pair = experiment_and_theory(states, *unit_modes(esn.linearised()))
    real = [each.real for each in pair]
    return {"rmse": rmse(*real), "nrmse1": nrmse1(*real), "modulus": modulus(*pair)}


def shown_modes(settings: Settings) -> tuple[Complex, Complex, Complex]:
    """Eigenvalues of the slowest modes (modes,), and their experiment and theory (T, modes); phases such that y(0) > 0."""
    esn = reservoir(settings, settings.shown_seed)
    [states] = relaxation(esn, (settings.shown_input_scaling,), settings.pulse, settings.steps)
    values, left = unit_modes(esn.linearised())
    slowest = np.flatnonzero(values.imag >= 0)[: settings.shown_modes]
    measured, predicted = experiment_and_theory(states, values[slowest], left[slowest])
    turn = np.exp(-1j * np.angle(measured[0]))
    return values[slowest], measured * turn, predicted * turn


def _draw_modes(figure: SubFigure, data: xarray.Dataset) -> None:
    time = data["time"].values[: DRAWN + 1]
    axes = figure.subplots(data.sizes["mode"], 1, sharex=True)
    for k, ax in enumerate(axes):
        mode = data.isel(mode=k, time=slice(len(time)))
        ax.axhline(0, color="0.8", linewidth=0.6)
        ax.plot(time, mode["predicted"], color=style.THEORY, linewidth=2.4, label="theory")
        ax.plot(time, mode["measured"], ".", color=style.BLACK, markersize=2.5, label="experiment")
        period = float(mode["period"])
        turn = f"\nperiod {period:.1f} steps" if np.isfinite(period) else ""
        says = f"timescale {float(mode['timescale']):.1f} steps{turn}"
        ax.text(0.98, 0.96, says, fontsize=style.SMALL, ha="right", va="top", transform=ax.transAxes)
        first, last = k == 0, k == len(axes) - 1
        title = f"amplitudes of modes, $\\gamma$ = {float(data['shown_gamma']):g}" if first else ""
        style.panel(ax, f"A{k + 1}", x="steps after the pulse" if last else "", y=f"$y_{k + 1}$", title=title)
        ax.margins(x=0.02, y=0.15)
        ax.set_ylim(top=ax.get_ylim()[0] + 1.35 * np.ptp(ax.get_ylim()))  # room for the text
    figure.align_ylabels()
    style.legend(figure, style.keys_of(axes[0]), 2)


def _draw_errors(figure: SubFigure, data: xarray.Dataset) -> None:
    gamma, ax = data["gamma"].values, figure.subplots()
    for name, (label, colour, marker) in ERRORS.items():
        # Medians, because a few networks have errors far above the others.
        low, middle, high = data[name].quantile([0.1, 0.5, 0.9], dim="seed").values
        ax.fill_between(gamma, low, high, color=colour, alpha=0.2, linewidth=0)
        ax.plot(gamma, middle, marker=marker, markersize=3.5, color=colour, label=label)
    ax.set_xscale("log")
    ax.set_yscale("log")
    style.plain_ticks(ax.xaxis, (0.01, 0.1, 1, 10))
    style.legend(figure, style.keys_of(ax), 2)
    style.panel(ax, "B", x="input scaling $\\gamma$", y="error", title="error of the linear theory")
