"""Claims of the paper on its three tasks, Figs. 3 to 6."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from paper.provenance import settings_in
from paper.reproduce import NARMA_VARIANT, TELEGRAPH
from paper.types import Floats
from paper.verdicts import AGREES, Finding, compared, counted, per_cent, placed, reached, shown

if TYPE_CHECKING:
    import xarray

NOT_SLOW, NOT_FAST = 0.1, 0.8  # a leak rate between these has an intermediate timescale


def narma(data: xarray.Dataset) -> Iterator[Finding]:
    chosen = data.sel(variant=NARMA_VARIANT)
    tasks = chosen["task"].values.tolist()
    peaks = {task: int(chosen["peak"].sel(task=task)) for task in tasks}
    yield shown(
        3,
        "The autocorrelation of NARMA10 peaks again after 9 steps, that of NARMA5 after 4.",
        all(peaks[task] == {"NARMA10": 9, "NARMA5": 4}[task] for task in tasks),
        ", ".join(f"{task}: {peak}" for task, peak in peaks.items()),
    )
    error = f"test NRMSE, {NARMA_VARIANT}"
    for task in tasks:
        single, strong, apart = (narma_tests(chosen, task, kind) for kind in ("single", "strong", "unconnected"))
        for rival, theirs in (("a single reservoir", single), ("two unconnected ones", apart)):
            claim = f"{task}: two connected reservoirs err less than {rival}."
            yield compared(3, claim, strong - theirs, rises=False, words=error, digits=4)
        if task == "NARMA10":
            change = "change of the test NRMSE in %"
            claim = "NARMA10: two connected reservoirs err about 10 % less than a single one."
            yield reached(3, claim, per_cent(strong, single), -10, change, within=5, digits=1)
            claim = "NARMA10: two unconnected reservoirs err about as much as a single one."
            yield reached(3, claim, per_cent(apart, single), 0, change, within=5, digits=1)
    readings = [(each, task) for each in data["variant"].values for task in tasks]
    yield counted(
        3,
        "Two connected reservoirs err less than one and than two unconnected ones (however lag and ridge are read).",
        [
            narma_tests(data.sel(variant=each), task, "strong").mean()
            < min(narma_tests(data.sel(variant=each), task, rival).mean() for rival in ("single", "unconnected"))
            for each, task in readings
        ],
        "readings, for NARMA10 and NARMA5, in which the mean error is the least",
        data.sizes["seed"],
    )
    radii = sorted(float(each) for each in chosen["rho"].values)
    alone = {radius: _best_single(chosen.sel(task="NARMA10", rho=radius)) for radius in (radii[0], radii[-1])}
    yield compared(
        3,
        f"NARMA10, one reservoir: a spectral radius near 1 is better than {radii[0]:g}.",
        alone[radii[-1]] - alone[radii[0]],
        rises=False,
        words=f"test NRMSE, radius {radii[-1]:g} minus {radii[0]:g}",
    )
    yield from _minima(chosen)
    yield from _narma_paths(data, chosen)


def _minima(chosen: xarray.Dataset) -> Iterator[Finding]:
    """Where the least errors of Fig. 3 lie."""
    one = chosen.sel(task="NARMA10")
    curve = one["single_test"].sel(rho=one["single_best_rho"], method="nearest")
    ours = float(one["single_best_alpha"])
    there, here = (curve.sel(alpha=leak, method="nearest").values.astype(np.float64) for leak in (1.0, ours))
    yield placed(3, "NARMA10, one reservoir: the least error is at a leak rate of 1.", [ours], [1.0], per_cent(there, here))
    for surface, name, point in (
        ("NARMA10, unconnected", "unconnected: the least error is where one leak rate is about 0.5.", (1.0, 0.5)),
        ("NARMA10, weak", "weakly connected: the least error is at (1, 0.5).", (1.0, 0.5)),
        ("NARMA10, strong", "strongly connected: the least error is at (1, 0.2).", (1.0, 0.2)),
        ("NARMA5, strong", "strongly connected: the least error is at (1, 0.5).", (1.0, 0.5)),
    ):
        found = chosen.sel(surface=surface)
        best = [float(found["best_alpha1"]), float(found["best_alpha2"])]
        there, here = (
            found["test"].sel(alpha1=a, alpha2=b, method="nearest").values.astype(np.float64) for a, b in (point, best)
        )
        yield placed(3, f"{surface.partition(',')[0]}, {name}", best, point, per_cent(there, here))
    second = {name: float(chosen["best_alpha2"].sel(surface=name)) for name in chosen["surface"].values}
    falls = [second[f"NARMA10, {kind}"] for kind in ("unconnected", "weak", "strong")]
    yield shown(
        3,
        "NARMA10: the stronger the coupling, the slower the best second reservoir.",
        falls[0] > falls[1] > falls[2],
        f"best second leak rate {falls[0]:g}, {falls[1]:g} and {falls[2]:g}",
        falls[2] - falls[0],
    )
    yield shown(
        3,
        "NARMA5 wants a faster second reservoir than NARMA10.",
        second["NARMA5, strong"] > second["NARMA10, strong"],
        f"best second leak rate {second['NARMA5, strong']:g} against {second['NARMA10, strong']:g}",
        second["NARMA5, strong"] - second["NARMA10, strong"],
    )


def _narma_paths(data: xarray.Dataset, chosen: xarray.Dataset) -> Iterator[Finding]:
    """Where learned leak rates of Fig. 3 go."""
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
    lower, reaches = [], []
    for surface in data["path_surface"].values:
        errors = chosen["test"].sel(surface=surface).astype(np.float64).mean("seed")
        paths = data["online_path"].sel(path_surface=surface).transpose("path_seed", "path_start", "path_step", "leak").values
        for one in paths.reshape(-1, *paths.shape[2:]):
            began, ended = (_at(errors, one[k]) for k in (0, -1))
            lower.append(ended < began)
            reaches.append(ended < 1.05 * float(errors.min()))
    claim = "Learned online, the leak rates move towards the least error."
    yield counted(3, claim, lower, "paths that end at a smaller error than they began", data.sizes["path_seed"])
    claim = "Learned online, the leak rates reach the least error."
    yield counted(3, claim, reaches, "paths that end within 5 % of it", data.sizes["path_seed"])


def telegraph(data: xarray.Dataset) -> Iterator[Finding]:
    fast, slow = (int((data["correlation"].sel(process=each) < np.exp(-1)).argmax("delay")) for each in ("state", "regime"))
    yield shown(
        4,
        "The input has a temporal structure of about 10 steps, the regime one of about 1000.",
        5 <= fast <= 20 and 500 <= slow <= 2000,
        f"the autocorrelations fall below 1/e after {fast} and {slow} steps",
    )
    chosen = data.sel(TELEGRAPH)
    single = chosen["single_best"].values.astype(np.float64)
    pairs = {kind: chosen["best"].sel(network=kind).values.astype(np.float64) for kind in ("unconnected", "connected")}
    reading = f"joint accuracy, {TELEGRAPH['readout']} readout, spectral radius {TELEGRAPH['rho']:g}"
    yield reached(4, "The joint accuracy of a single reservoir is 0.64 (noise not given).", single, 0.64, reading)
    for kind, values in pairs.items():
        yield reached(4, f"The joint accuracy of two {kind} reservoirs is 0.75 (noise not given).", values, 0.75, reading)
        yield compared(4, f"Two {kind} reservoirs recognise more than one.", values - single, rises=True, words=reading)
    joint = data.sel(task="joint")
    readings = [(readout, rho) for readout in data["readout"].values for rho in data["rho"].values]
    gains = [
        (joint["best"].sel(network="connected") - joint["single_best"]).sel(readout=readout, rho=rho).values
        for readout, rho in readings
    ]
    least = min(float(each.mean()) for each in gains)
    yield counted(
        4,
        "Two connected reservoirs recognise more than one (whatever the readout and the spectral radius).",
        [compared(4, "", each, rises=True, words="").verdict == AGREES for each in gains],
        f"readings in which they do, the least gain being {least:+.3f}",
        data.sizes["seed"],
    )
    slow_second = [
        bool((joint["best_alpha1"] > joint["best_alpha2"]).sel(network="connected", readout=readout, rho=rho))
        for readout, rho in readings
    ]
    claim = "Two connected reservoirs do best with a fast first and a slow second one."
    yield counted(4, claim, slow_second, "readings (readout and spectral radius) in which they do", data.sizes["seed"])
    (apart, pairs_of_points), (connected, _) = (asymmetric(data, kind) for kind in ("unconnected", "connected"))
    yield shown(
        4,
        "Exchanging the leak rates changes nothing for two unconnected reservoirs, and much for connected ones.",
        apart < 0.05 * pairs_of_points < connected,
        f"of {pairs_of_points} pairs of points, {apart} and {connected} differ by two standard errors",
        float(connected - apart),
        data.sizes["seed"],
    )
    lone = data.sel(readout=TELEGRAPH["readout"], rho=TELEGRAPH["rho"], part="validation")["single"].mean("seed")
    state, regime = (lone["alpha"].values[lone.sel(task=task).argmax("alpha").values] for task in ("state", "regime"))
    quiet, loud = (f"{float(data['noise'].values[k]):g}" for k in (0, -1))
    yield shown(
        4,
        "For the state, the best leak rate falls as the noise rises.",
        bool((np.diff(state) <= 0).all() and state[-1] < state[0]),
        f"from {state[0]:g} at a noise of {quiet} to {state[-1]:.2g} at {loud}",
        float(state[-1] - state[0]),
        data.sizes["seed"],
    )
    yield counted(
        4,
        "For the regime, the best leak rate is small whatever the noise.",
        (regime <= NOT_SLOW).tolist(),
        f"noises at which it is at most {NOT_SLOW:g}; it lies between {regime.min():.2g} and {regime.max():.2g}",
        data.sizes["seed"],
    )
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


def asymmetric(data: xarray.Dataset, network: str) -> tuple[int, int]:
    """Pairs of points (a, b) and (b, a) of Fig. 4 E or F that differ by two standard errors, and all pairs."""
    values = data.sel(TELEGRAPH)["accuracy"].sel(part="test", network=network).transpose("alpha1", "alpha2", "seed").values
    pairs = [(values[i, j] - values[j, i]).astype(np.float64) for i in range(len(values)) for j in range(i)]
    if values.shape[-1] < 2:
        return 0, len(pairs)
    return sum(bool(abs(each.mean()) > 2 * each.std(ddof=1) / len(each) ** 0.5) for each in pairs), len(pairs)


def adaptation(data: xarray.Dataset) -> Iterator[Finding]:
    swing = data["swing"].transpose("seed", "start", "leak").values.astype(np.float64)
    yield compared(
        5,
        "Learned leak rates follow the odds: higher where the signal is faster.",
        swing.sum(axis=2).mean(axis=1),
        rises=True,
        words="sum of both, fast phases minus slow ones",
    )
    ends = data["settles"].isel(phase=-1).transpose("seed", "start", "leak").values
    yield counted(
        5,
        "The second leak rate follows the phases, while the first stays low.",
        np.all((ends[..., 0] < ends[..., 1]) & (swing[..., 1] > swing[..., 0]), axis=0).tolist(),
        "starts from which this is so in every draw",
        data.sizes["seed"],
    )


def permuted_images(data: xarray.Dataset) -> Iterator[Finding]:
    settings = settings_in(data)
    mnist = settings["data"] == "mnist"
    name, (few, many) = "psMNIST" if mnist else "8x8 digits instead of MNIST", data["snapshots"].values.tolist()
    for count in (few, many):
        found = data.sel(snapshots=count)
        connected = found["best"].sel(network="connected").values.astype(np.float64)
        rivals = {"a single reservoir": found["single_best"], "two unconnected ones": found["best"].sel(network="unconnected")}
        for rival, theirs in rivals.items():
            rates = connected.mean(), float(theirs.mean())
            yield compared(
                6,
                f"{count} snapshots: two connected reservoirs recognise more than {rival}.",
                connected - theirs.values,
                rises=True,
                words=f"test accuracy, {name}",
                digits=4,
                # As if both erred independently: the answers image by image are not kept.
                besides=float(np.sqrt(sum(rate * (1 - rate) for rate in rates) / settings["test"])),
            )
    if mnist:
        best = data["best"].sel(network="connected", snapshots=many).values
        yield reached(6, "The best accuracy is 0.96.", best, 0.96, "test accuracy of connected reservoirs", digits=4)
    for count, network, words, holds in (
        (few, "unconnected", "both leak rates have intermediate values", lambda a, b: (_intermediate(a), _intermediate(b))),
        (few, "connected", "the first reservoir is fast and the second slow", lambda a, b: (a >= NOT_FAST, b <= NOT_SLOW)),
        (many, "unconnected", "at least one leak rate is large", lambda a, b: (max(a, b) >= NOT_FAST,)),
        (many, "connected", "the first is fast, the second intermediate", lambda a, b: (a >= NOT_FAST, _intermediate(b))),
    ):
        place = data.sel(snapshots=count, network=network)
        a, b = float(place["best_alpha1"]), float(place["best_alpha2"])
        claim = f"{count} snapshots, two {network} reservoirs: at the maximum {words}."
        yield counted(6, claim, holds(a, b), f"maximum at ({a:g}, {b:g}); parts of the claim that hold", data.sizes["seed"])
    climbs, reaches = [], []
    for count in (few, many):
        for network in data["network"].values:
            scores = data["accuracy"].sel(snapshots=count, network=network, part="test").astype(np.float64).mean("seed")
            paths = data["path"].sel(snapshots=count, network=network).transpose("path_seed", "path_start", ...).values
            for one in paths.reshape(-1, *paths.shape[2:]):
                began, ended = (_at(scores, one[k]) for k in (0, -1))
                climbs.append(ended > began)
                reaches.append(ended >= float(scores.max()) - 0.001)
    which = "readout rates below the paper's" if settings["path_rates"][0] < 0.05 else "the paper's readout rates"
    claim = f"Learned online, the leak rates move to higher accuracy ({which})."
    yield counted(6, claim, climbs, "paths that do", data.sizes["path_seed"])
    claim = f"Learned online, the leak rates reach the best accuracy ({which})."
    yield counted(6, claim, reaches, "paths that end within 0.001 of it", data.sizes["path_seed"])


def _intermediate(leak_rate: float) -> bool:
    return NOT_SLOW < leak_rate < NOT_FAST


def narma_tests(chosen: xarray.Dataset, task: str, kind: str) -> Floats:
    """Test errors of all seeds at the best leak rates of one variant of Fig. 3; `kind` is "single" or names a surface."""
    if kind == "single":
        alone = chosen.sel(task=task)
        found = alone["single_test"].sel(rho=alone["single_best_rho"], alpha=alone["single_best_alpha"], method="nearest")
    else:
        both = chosen.sel(surface=f"{task}, {kind}")
        found = both["test"].sel(alpha1=both["best_alpha1"], alpha2=both["best_alpha2"], method="nearest")
    return np.asarray(found.values, np.float64)


def _best_single(curves: xarray.Dataset) -> Floats:
    """Test errors of all seeds of one reservoir at the leak rate of least mean validation error."""
    place = int(curves["single_validation"].mean("seed").argmin("alpha"))
    return np.asarray(curves["single_test"].isel(alpha=place).values, np.float64)


def _at(surface: xarray.DataArray, point: Floats) -> float:
    """A surface over both leak rates, interpolated at a point."""
    low, high = float(surface["alpha1"].min()), float(surface["alpha1"].max())
    a, b = np.clip(np.asarray(point, np.float64), low, high)
    return float(surface.interp(alpha1=a, alpha2=b))
