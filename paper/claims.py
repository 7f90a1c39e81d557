"""The claims of the paper, tested with the data of the figures: the data agree, they differ, or they cannot decide.

    d_s = ours - theirs, seed by seed;   agrees or differs if the 95 % interval of Student's t for the mean of d does not
    contain 0

With two seeds this interval is nearly always too wide. Claims without random numbers (a gradient is exact or not) are
decided by a number alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.stats

from paper.provenance import settings_in
from paper.reproduce import NARMA_VARIANT, TELEGRAPH
from paper.types import Floats

if TYPE_CHECKING:
    import xarray


AGREES, DIFFERS, OPEN = "agrees", "differs", "not testable at this scale"
LEVEL = 0.95
EXACT = 1e-9  # relative deviation that counts as equal in float64
PRINTED = 0.01  # the last digit of the accuracies in the paper


class Finding(NamedTuple):
    """A claim of the paper and its verdict.

    verdict   "agrees", "differs" or "not testable at this scale"
    measured  the evidence, in words
    value     the mean of the number that decides
    error     its standard error over the seeds; 0 where nothing is random, NaN for one seed
    """

    figure: int
    claim: str
    verdict: str
    measured: str
    value: float
    error: float
    seeds: int


def findings(data: Mapping[int, xarray.Dataset]) -> list[Finding]:
    """The verdicts on all claims that the data of these figures can test."""
    return [each for number, find in CLAIMS.items() if number in data for each in find(data[number])]


def compared(
    figure: int, claim: str, differences: npt.ArrayLike, *, rises: bool, words: str, digits: int = 3, drawn: str = "seeds"
) -> Finding:
    """The verdict on differences "ours minus theirs", one for each seed.

    rises  whether the claim is that they are above 0, or below
    words  the quantity whose differences these are
    drawn  the word for the differences: "seeds", or "starts" of one seed
    """
    d = np.asarray(differences, np.float64).ravel()
    mean, count = float(d.mean()), len(d)
    if count < 2:
        return Finding(figure, claim, OPEN, f"{words}: {_signed(mean, digits)}, one seed", mean, float("nan"), count)
    error = float(d.std(ddof=1)) / count**0.5
    reach = float(scipy.stats.t.ppf((1 + LEVEL) / 2, count - 1)) * error
    verdict = OPEN if abs(mean) <= reach else AGREES if (mean > 0) == rises else DIFFERS
    return Finding(
        figure, claim, verdict, f"{words}: {_signed(mean, digits)} ± {error:.{digits}f}, {count} {drawn}", mean, error, count
    )


def reached(figure: int, claim: str, values: npt.ArrayLike, paper: float, words: str) -> Finding:
    """The verdict on a printed value: agrees if the mean is that near, differs if the interval does not contain it."""
    v = np.asarray(values, np.float64).ravel()
    found = compared(figure, claim, v - paper, rises=True, words=f"{words} minus {paper:g}")
    if found.seeds >= 3 and abs(found.value) <= PRINTED:
        return found._replace(verdict=AGREES)
    wide = found.seeds < 3 or found.verdict == OPEN
    return found._replace(verdict=OPEN if wide else DIFFERS)


# ------------------------------------------------------------------------------------------------------------------- by figure


def _timescales(data: xarray.Dataset) -> Iterator[Finding]:
    distance = data["distance"].mean("law").transpose("units", "seed").values
    small, large = (int(data["units"].values[k]) for k in (0, -1))
    yield compared(
        1,
        "The timescales of a large random reservoir follow the closed form.",
        distance[-1] - distance[0],
        rises=False,
        words=f"Kolmogorov-Smirnov distance to it, {large} neurons minus {small}",
    )
    effect = float(data["coupling_effect"])
    yield Finding(
        1,
        "Couplings from one level to the next leave the timescales as they are.",
        AGREES if effect <= EXACT else DIFFERS,
        f"largest difference {effect:.2g}",
        effect,
        0.0,
        1,
    )
    median = data["quantile_of_alpha"].sel(quantile=0.5, method="nearest").values
    falls = bool((np.diff(median) < 0).all())
    yield Finding(
        1,
        "Lower leak rates have shorter timescales (caption of panel C).",
        DIFFERS if falls else AGREES,
        f"the median falls from {median[0]:.3g} to {median[-1]:.3g} as the leak rate rises" if falls else "the median rises",
        float(median[-1] - median[0]),
        0.0,
        1,
    )


def _narma(data: xarray.Dataset) -> Iterator[Finding]:
    chosen = data.sel(variant=NARMA_VARIANT)
    for task in chosen["task"].values.tolist():
        alone = chosen.sel(task=task)
        single = alone["single_test"].sel(rho=alone["single_best_rho"], alpha=alone["single_best_alpha"], method="nearest")
        strong, apart = (_at_best(chosen.sel(surface=f"{task}, {kind}"), "test") for kind in ("strong", "unconnected"))
        for rival, theirs in (("a single reservoir", single.values), ("two unconnected ones", apart)):
            yield compared(
                3,
                f"{task}: two connected reservoirs err less than {rival}.",
                strong - np.asarray(theirs, np.float64),
                rises=False,
                words=f"test NRMSE, {NARMA_VARIANT}",
                digits=4,
            )
    path = data["online_path"].sel(path_surface="NARMA10, strong", leak="alpha1")
    ends = (path.isel(path_step=-1) - path.isel(path_step=0)).values.astype(np.float64)
    yield compared(
        3,
        "NARMA10: learned online, the first leak rate rises from every start.",
        ends.min(axis=-1) if len(ends) > 1 else ends.ravel(),
        rises=True,
        words="end minus start" + ", the least of the starts" * (len(ends) > 1),
        drawn="seeds" if len(ends) > 1 else "starts",
    )


def _telegraph(data: xarray.Dataset) -> Iterator[Finding]:
    chosen = data.sel(TELEGRAPH)
    single = chosen["single_best"].values.astype(np.float64)
    pairs = {kind: chosen["best"].sel(network=kind).values.astype(np.float64) for kind in ("unconnected", "connected")}
    reading = f"joint accuracy, {TELEGRAPH['readout']} readout, spectral radius {TELEGRAPH['rho']:g}"
    yield reached(4, "A single reservoir reaches a joint accuracy of 0.64.", single, 0.64, reading)
    for kind, values in pairs.items():
        yield reached(4, f"Two {kind} reservoirs reach 0.75.", values, 0.75, reading)
        yield compared(4, f"Two {kind} reservoirs recognise more than one.", values - single, rises=True, words=reading)
    settings = settings_in(data)
    path = data["path"].sel(rho=TELEGRAPH["rho"], method="nearest")
    first = path.isel(path_step=(path.sizes["path_step"] - 1) // len(settings["path_noises"]))
    fall = (path.isel(path_step=-1) - first).values.astype(np.float64)
    yield compared(
        4,
        "Learned online, the leak rate falls as the noise rises.",
        fall.max(axis=-1) if len(fall) > 1 else fall.ravel(),
        rises=False,
        words="last noise minus first" + ", the largest of the starts" * (len(fall) > 1),
        drawn="seeds" if len(fall) > 1 else "starts",
    )


def _adaptation(data: xarray.Dataset) -> Iterator[Finding]:
    swing = data["swing"].transpose("seed", "start", "leak").values.astype(np.float64)
    yield compared(
        5,
        "Learned leak rates follow the odds: higher where the signal is faster.",
        swing.sum(axis=2).mean(axis=1),
        rises=True,
        words="sum of both, fast phases minus slow ones",
    )


def _permuted_images(data: xarray.Dataset) -> Iterator[Finding]:
    name = "psMNIST" if settings_in(data)["data"] == "mnist" else "8x8 digits instead of MNIST"
    for count in data["snapshots"].values.tolist():
        found = data.sel(snapshots=count)
        connected = found["best"].sel(network="connected").values.astype(np.float64)
        rivals = {"a single reservoir": found["single_best"], "two unconnected ones": found["best"].sel(network="unconnected")}
        for rival, theirs in rivals.items():
            yield compared(
                6,
                f"{count} snapshots: two connected reservoirs recognise more than {rival}.",
                connected - theirs.values,
                rises=True,
                words=f"test accuracy, {name}",
                digits=4,
            )


def _online_gradient(data: xarray.Dataset) -> Iterator[Finding]:
    exact = float(data["deviation"].sel(form="exact trace").max())
    truncated = float(data["deviation"].sel(form="truncated trace").mean())
    yield Finding(
        7,
        "The trace of the appendix gives the gradient of back-propagation through time.",
        AGREES if exact <= EXACT else DIFFERS,
        f"relative deviation at most {exact:.1e}",
        exact,
        0.0,
        data.sizes["seed"],
    )
    yield Finding(
        7,
        "So does the trace of the main text.",
        AGREES if truncated <= EXACT else DIFFERS,
        f"relative deviation {truncated:.2g} in the mean",
        truncated,
        0.0,
        data.sizes["seed"],
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


def _at_best(surface: xarray.Dataset, name: str) -> Floats:
    found = surface[name].sel(alpha1=surface["best_alpha1"], alpha2=surface["best_alpha2"], method="nearest")
    return np.asarray(found.values, np.float64)


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


# Figure 2 is a drawing of architectures: it claims nothing.
CLAIMS: dict[int, Callable[[xarray.Dataset], Iterator[Finding]]] = {
    1: _timescales,
    3: _narma,
    4: _telegraph,
    5: _adaptation,
    6: _permuted_images,
    7: _online_gradient,
    8: _relaxation,
    9: _delayed_inputs,
}
