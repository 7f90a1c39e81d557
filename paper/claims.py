"""The claims of the paper, each tested with the data of its figure: all claims, and those on the theory and the methods.

`paper.verdicts` has the rules, `paper.task_claims` the claims on the three tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from echoscale import timescales
from paper.task_claims import adaptation, narma, permuted_images, telegraph
from paper.types import Complex
from paper.verdicts import AGREES, DIFFERS, EXACT, OPEN, PARTLY, Finding, compared, per_cent, reached, shown

if TYPE_CHECKING:
    import xarray


def findings(data: Mapping[int, xarray.Dataset]) -> list[Finding]:
    """The verdicts on all claims that the data of these figures can test."""
    return [each for number, find in CLAIMS.items() if number in data for each in find(data[number])]


def _timescales(data: xarray.Dataset) -> Iterator[Finding]:
    leak_rate, radius = float(data["leak_rate"]), float(data["spectral_radius"])
    drawn, system = (_complex(data.sel(matrix=name)) for name in ("W", "system"))
    apart = float(np.abs(1 - leak_rate * (1 - radius * drawn) - system).max())
    claim = "The eigenvalues of the linearised system are 1 − α (1 − ρ λ), with λ those of W."
    yield shown(1, claim, apart <= EXACT, f"largest difference {apart:.1g}", apart)
    distance = data["distance"].mean("law").transpose("units", "seed").values
    small, large = (int(data["units"].values[k]) for k in (0, -1))
    yield compared(
        1,
        "The timescales of a large random reservoir follow the closed form.",
        distance[-1] - distance[0],
        rises=False,
        words=f"Kolmogorov-Smirnov distance to it, {large} neurons minus {small}",
    )
    areas = {step: _printed_area(step, leak_rate, radius) for step in (1.0, 0.5)}
    yield Finding(
        1,
        "The density of timescales, as printed, is a density.",
        PARTLY if np.isclose(areas[1.0], 1, atol=1e-3) else DIFFERS,
        ", ".join(f"its area is {area:.2f} for δt = {step:g}" for step, area in areas.items()),
        areas[0.5],
        0.0,
        1,
    )
    yield reached(
        1,
        "At a leak rate of 0.1 and a radius of 0.95 the most probable timescale is about 6.",
        [timescales.peak(0.1, 0.95)] * 3,
        6,
        "the formula gives",
        within=0.5,
    )._replace(measured=f"the formula gives {timescales.peak(0.1, 0.95):.2f}")
    wide = (data["quantile_of_alpha"].isel(quantile=-1) / data["quantile_of_alpha"].isel(quantile=0)).values
    yield shown(
        1,
        "The leak rate does not change the relative range of the timescales.",
        float(np.ptp(wide)) <= EXACT * float(wide.max()),
        f"95 % quantile over 5 % quantile: {wide[0]:.2f} to {wide[-1]:.2f}",
        float(np.ptp(wide)),
    )
    wide = (data["quantile_of_rho"].isel(quantile=-1) / data["quantile_of_rho"].isel(quantile=0)).values
    yield shown(
        1,
        "A larger spectral radius widens the range of the timescales.",
        bool((np.diff(wide) > 0).all()),
        f"95 % quantile over 5 % quantile: from {wide[0]:.2f} to {wide[-1]:.2f}",
        float(wide[-1] - wide[0]),
    )
    effect = float(data["coupling_effect"])
    yield shown(
        1,
        "Couplings from one level to the next leave the timescales as they are.",
        effect <= EXACT,
        f"largest difference {effect:.2g}",
        effect,
    )
    median = data["quantile_of_alpha"].sel(quantile=0.5, method="nearest").values
    falls = bool((np.diff(median) < 0).all())
    yield shown(
        1,
        "Lower leak rates have shorter timescales (caption of panel C).",
        not falls,
        f"the median falls from {median[0]:.3g} to {median[-1]:.3g} as the leak rate rises" if falls else "the median rises",
        float(median[-1] - median[0]),
    )
    share = data["share"].sel(structure=["delay line", "single ESN", "2 ESNs, connected"])
    filled = [int((share.isel(structure=k) > 0).sum()) for k in range(3)]
    yield shown(
        1,
        "From a delay line over one reservoir to two, the distribution of timescales grows richer.",
        filled[0] < filled[1] < filled[2],
        f"filled bins of {share.sizes['tau_bin']}: {filled[0]}, {filled[1]} and {filled[2]}",
        float(filled[2]),
    )


def _online_gradient(data: xarray.Dataset) -> Iterator[Finding]:
    whole, part, printed = (
        data["deviation"].sel(form=form).transpose("snapshots", "seed").values
        for form in ("exact trace", "truncated trace", "as printed")
    )
    (few, many), seeds = data["snapshots"].values.tolist(), data.sizes["seed"]
    claim = "The trace of the appendix gives the gradient of back-propagation through time."
    yield shown(7, claim, whole.max() <= EXACT, f"relative deviation at most {whole.max():.1e}", float(whole.max()), seeds)
    claim = "So does the trace of the main text."
    yield shown(7, claim, part.mean() <= EXACT, f"relative deviation {part.mean():.2g} in the mean", float(part.mean()), seeds)
    yield shown(
        7,
        "The online gradient is less precise with more snapshots.",
        whole[1].mean() > whole[0].mean() + EXACT,
        f"relative deviation {whole[0].mean():.1g} with {few} and {whole[1].mean():.1g} with {many} snapshots, exact trace",
        float(whole[1].mean() - whole[0].mean()),
        seeds,
    )
    yield compared(
        7,
        "The formula of the appendix deviates more from back-propagation through time with more snapshots.",
        printed[1] - printed[0],
        rises=True,
        words=f"relative deviation of the formula as printed, {many} snapshots minus {few}",
    )


def _relaxation(data: xarray.Dataset) -> Iterator[Finding]:
    error = np.log10(data["nrmse1"].transpose("gamma", "seed").values.astype(np.float64))
    low, high = (float(data["gamma"].values[k]) for k in (0, -1))
    yield compared(
        8,
        "The weaker the pulse, the better the linear theory of relaxation.",
        error[-1] - error[0],
        rises=True,
        words=f"decades of error, input scaling {high:g} minus {low:g}",
        digits=1,
    )


def _delayed_inputs(data: xarray.Dataset) -> Iterator[Finding]:
    theirs, step = float(data["hierarchy_best_alpha2"]), float(np.diff(data["alpha2"].values).max())
    hierarchy = data["hierarchy_test"].sel(alpha2=theirs, method="nearest").values
    few, many = (int(data["delay"].values[k]) for k in (0, -1))
    for drive in data["drive"].values.tolist():
        best = data["best_alpha2"].sel(drive=drive).values.astype(np.float64)
        gaps = np.abs(best[[0, -1]] - theirs)
        strength = "as printed" if drive == "as printed" else "as strong as the hierarchy's"
        yield Finding(
            9,
            f"The more delays, the nearer the best leak rate is to that of the hierarchy (drive {strength}).",
            AGREES if gaps[0] - gaps[1] > step else OPEN if gaps[1] < gaps[0] else DIFFERS,
            f"{best[0]:.2g} with {few} and {best[-1]:.2g} with {many} delays, {theirs:.2g} in the hierarchy",
            float(gaps[1] - gaps[0]),
            0.0,
            data.sizes["seed"],
        )
        errors = data["test"].sel(drive=drive, delay=many).sel(alpha2=best[-1], method="nearest").values
        yield reached(
            9,
            f"With many delays the error is about that of the hierarchy (drive {strength}).",
            per_cent(errors, hierarchy),
            0,
            f"its error in % above that of the hierarchy, {many} delays",
            within=5,
            digits=1,
        )


def _complex(eigenvalues: xarray.Dataset) -> Complex:
    return np.asarray(eigenvalues["eigenvalue_real"].values + 1j * eigenvalues["eigenvalue_imag"].values)


def _printed_area(step: float, leak_rate: float, radius: float) -> float:
    """The integral of the density of timescales as the paper prints it, for time steps of this length."""
    low, high = timescales.bounds(leak_rate, radius, dt=step)
    tau = np.geomspace(low, high, 20_001)[1:-1]
    root = np.sqrt((leak_rate * radius) ** 2 - (leak_rate - step / tau) ** 2)
    return float(np.trapezoid(2 * step**2 / (np.pi * (leak_rate * radius * tau) ** 2) * root, tau))


# Figure 2 is a drawing of architectures: it claims nothing.
CLAIMS: dict[int, Callable[[xarray.Dataset], Iterator[Finding]]] = {
    1: _timescales,
    3: narma,
    4: telegraph,
    5: adaptation,
    6: permuted_images,
    7: _online_gradient,
    8: _relaxation,
    9: _delayed_inputs,
}
