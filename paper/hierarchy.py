"""When does a hierarchy help? Tasks with several timescales by construction, at equal numbers of neurons.

    y = w I_K + (1 - w) S_K      I: slow averages of a fast product,  S: squares of slow averages (`echoscale.tasks.averages`)

The K timescales have equal ratios, from 10 / sqrt(r) to 10 sqrt(r) steps, r being the ratio of the slowest to the fastest.

Networks: "single"; "spread", a single one with a leak rate for every neuron; "parallel L" with L levels; "first L" and "all L",
hierarchies whose first level, or all levels, receive the input. All numbers of a network are chosen on the draws
`development`: random points, whose levels share all numbers but the leak rate, then `es.tune` from the best points of some
tasks (`anchors`), where every level has its own numbers. A point is chosen for every task by its mean log error over these
draws, and reported on the draws `seeds`, which chose nothing. A draw is one of weights and inputs. All networks get the
same numbers of points and of tuning runs. In each draw, a validation part
chooses the ridge penalty, at least `least_ridge` times the mean squared singular value of the states, so that the results
survive float32.

Orders: "fast first" and "slow first" choose among those points alone in which the first level has a leak rate at least as
large as the last one's, or a smaller one.

Other sizes than `units` choose among all tuned points and the first `transferred` random ones, on the first
`transfer_draws` draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

import echoscale as es
from echoscale.sweeps import Arrays, Job, Runner
from paper.hierarchy_networks import (
    HIERARCHIES,
    ORDERS,
    Task,
    hyper_of,
    in_order,
    learned,
    levels_of,
    network_of,
    random_points,
)
from paper.hierarchy_results import draw as draw
from paper.provenance import labelled
from paper.types import Floats

if TYPE_CHECKING:
    import xarray

Indices = npt.NDArray[np.int64]

CHUNK = 32  # points whose states are in memory at once
HIGHEST_RIDGE, RIDGES_PER_DECADE = 10.0, 2


@dataclass(frozen=True)
class Settings:
    """Sizes of the study; see the module for the protocol.

    shares   w of the tasks
    anchors  (K, r, w) of the tasks that are tuned for
    sizes    other numbers of neurons, and the networks that they are tried with
    """

    seeds: tuple[int, ...]
    development: tuple[int, ...]
    levels: tuple[int, ...]
    counts: tuple[int, ...]
    ratios: tuple[float, ...]
    shares: tuple[float, ...]
    anchors: tuple[tuple[int, float, float], ...]
    points: int
    starts: int
    rounds: int
    units: int = 100
    sizes: tuple[int, ...] = ()
    size_networks: tuple[str, ...] = ()
    transferred: int = 64
    transfer_draws: int = 3
    washout: int = 500
    train: int = 3000
    validation: int = 1000
    test: int = 2000
    least_ridge: float = 1e-8


ELEVEN = tuple(round(0.1 * k, 1) for k in range(11))
FIVE = (0.0, 0.2, 0.5, 0.8, 1.0)  # shares that networks are tuned for
RATIOS = (3.0, 10.0, 30.0, 100.0)
SETTINGS = {
    "smoke": Settings(
        seeds=(10, 11, 12),
        development=(0, 1),
        levels=(2,),
        counts=(1, 2),
        ratios=(3.0, 30.0),
        shares=(0.0, 0.5, 1.0),
        anchors=((2, 30.0, 1.0),),
        points=8,
        starts=2,
        rounds=1,
        units=20,
        sizes=(10,),
        size_networks=("single", "all 2"),
        transferred=4,
        transfer_draws=1,
        washout=100,
        train=400,
        validation=150,
        test=200,
    ),
    "quick": Settings(
        seeds=(10, 11, 12, 13, 14, 15),
        development=(0, 1, 2),
        levels=(2, 3),
        counts=(1, 2, 3),
        ratios=RATIOS,
        shares=ELEVEN,
        anchors=((2, 10.0, 0.0), (2, 30.0, 0.0), (2, 10.0, 1.0), (2, 30.0, 1.0)),
        points=64,
        starts=2,
        rounds=8,
        sizes=(50,),
        size_networks=("single", "spread", "parallel 3", "first 3", "all 3"),
    ),
    "paper": Settings(
        seeds=tuple(range(30, 50)),
        development=tuple(range(10)),
        levels=(2, 3, 4, 5),
        counts=(1, 2, 3, 5),
        ratios=RATIOS,
        shares=ELEVEN,
        anchors=(
            *((2, ratio, share) for ratio in RATIOS for share in FIVE),
            *((1, 1.0, share) for share in FIVE),
            *((count, ratio, share) for count in (3, 5) for ratio in (10.0, 100.0) for share in (0.0, 0.5, 1.0)),
        ),
        points=256,
        starts=2,
        rounds=15,
        sizes=(50, 200, 400),
        size_networks=("single", "spread", "parallel 3", "first 3", "all 3"),
    ),
}


def tasks_of(settings: Settings) -> list[Task]:
    """All tasks: one timescale has the ratio 1."""
    return [Task(k, r) for k in settings.counts for r in (settings.ratios if k > 1 else (1.0,))]


def series_of(settings: Settings, seed: int) -> tuple[Floats, Floats]:
    """The inputs (T, 1), and the targets I and S of every task, (T, 2, tasks): all belong to the same inputs."""
    length = settings.washout + settings.train + settings.validation + settings.test
    made = [
        [es.tasks.averages(length, seed, timescales=task.timescales, inside=inside) for task in tasks_of(settings)]
        for inside in (1.0, 0.0)
    ]
    return made[0][0][0], np.stack([np.concatenate([y for _, y in family], axis=1) for family in made], axis=1)


def kinds_of(settings: Settings) -> list[str]:
    """The names of all networks, flat ones first."""
    families = ("parallel", *HIERARCHIES)
    return ["single", "spread", *(f"{family} {levels}" for family in families for levels in settings.levels)]


# ------------------------------------------------------------------------------------------------------------------------ jobs


def errors_of(settings: Settings, kind: str, units: int, seed: int, points: Floats) -> Arrays:
    """Test NRMSE of every point, task and share in one draw, (points, tasks, shares)."""
    u, families = series_of(settings, seed)
    esn = network_of(kind, units).build(1, seed=seed, dtype="float64")
    found = []
    for start in range(0, len(points), CHUNK):
        states = esn.run(u, hyper=hyper_of(esn.hyper, kind, points[start : start + CHUNK]))
        found += [readout_errors(each, families, settings) for each in np.asarray(states)]
    return {"error": np.array(found, np.float32)}


def readout_errors(states: Floats, families: Floats, settings: Settings) -> Floats:
    """Test NRMSE of ridge readouts, (tasks, shares), each with the penalty that is best on the validation part.

    The readout of w I + (1 - w) S is w times the readout of I and 1 - w times the readout of S: squared errors of all shares
    follow from products of the two residuals.
    """
    edges = np.cumsum([settings.washout, settings.train, settings.validation, settings.test])
    train, *judged = (slice(*pair) for pair in pairwise(edges))
    tasks = families.shape[2]
    targets = families.reshape(len(families), -1)
    mean, level = states[train].mean(axis=0), targets[train].mean(axis=0)
    centred = states[train] - mean
    with es.engine.one_thread():  # two threads of BLAS would wait for each other longer than such a matrix takes
        values, vectors = np.linalg.eigh(centred.T @ centred)
    values = np.maximum(values, 0)
    projected = vectors.T @ (centred.T @ (targets[train] - level))
    decades = np.log10(HIGHEST_RIDGE / settings.least_ridge)
    ridges = HIGHEST_RIDGE * 10.0 ** -np.linspace(0, decades, round(decades * RIDGES_PER_DECADE) + 1)
    weights = projected / (values + ridges[:, None] * values.mean())[:, :, None]  # (ridges, N, 2 tasks)
    shares = np.array(settings.shares)
    mixture = np.stack([shares, 1 - shares])
    mixed = []
    for part in judged:
        seen, wanted = (states[part] - mean) @ vectors, targets[part] - level
        fitted, crossed = seen.T @ seen, seen.T @ wanted
        pairs = (-1, len(values), 2, tasks)
        w = weights.reshape(pairs)
        products = (
            np.einsum("rnit,rnjt->rijt", w, (fitted @ weights).reshape(pairs), optimize=True)
            - np.einsum("rnit,njt->rijt", w, crossed.reshape(pairs[1:]), optimize=True)
            - np.einsum("nit,rnjt->rijt", crossed.reshape(pairs[1:]), w, optimize=True)
            + np.einsum("nit,njt->ijt", *2 * [families[part] - level.reshape(2, tasks)])
        )
        spread = np.einsum("nit,njt->ijt", *2 * [families[part] - families[part].mean(axis=0)])
        squares, variance = (np.einsum("iw,...ijt,jw->...tw", mixture, each, mixture) for each in (products, spread))
        mixed.append(np.maximum(squares, 0) / variance)
    validation, test = mixed
    best = validation.argmin(axis=0)
    return np.asarray(np.sqrt(np.take_along_axis(test, best[None], axis=0)[0]))


def tuned_points(settings: Settings, kind: str, seed: int, task: Sequence[float], share: float, starts: Floats) -> Arrays:
    """Where `es.tune` ends from each of these points on one draw, (starts, numbers)."""
    u, y = es.tasks.averages(
        settings.washout + settings.train + settings.validation,
        seed,
        timescales=Task(int(task[0]), task[1]).timescales,
        inside=share,
    )
    network = network_of(kind, settings.units)
    names = learned(kind)
    tuned = es.tune(
        network,
        u,
        y,
        [*names, "ridge"],
        starts=hyper_of(es.Hyper.of(network), kind, starts),
        seed=seed,
        washout=settings.washout,
        folds=3,
        test=0.0,
        scale=None,
        floor=settings.least_ridge,
        rounds=settings.rounds,
        relocate=False,
    )
    return {"points": tuned.history["value"].isel(round=-1).sel(parameter=names).values}


# --------------------------------------------------------------------------------------------------------------------- choice


class Choice(NamedTuple):
    """What was chosen for every order, task and share.

    point  (orders, tasks, shares) place among the points; -1 where no point has the order
    error  (orders, tasks, shares) geometric mean of its errors in the draws that chose it; infinite where there is none
    """

    point: Indices
    error: Floats

    def of_any_order(self) -> Choice:
        """The first order alone."""
        return Choice(self.point[:1], self.error[:1])


def chosen(kind: str, points: Floats, errors: Floats) -> Choice:
    """The points of the least mean log error, from errors (draws, points, tasks, shares)."""
    means = np.log(errors).mean(axis=0)
    allowed = np.array([in_order(kind, points, order) for order in ORDERS])
    masked = np.where(allowed[:, :, None, None], means, np.inf)
    least = masked.min(axis=1)
    return Choice(np.where(np.isfinite(least), masked.argmin(axis=1), -1), np.exp(least))


def best_starts(kind: str, points: Floats, means: Floats, count: int) -> Floats:
    """The best points (count, numbers) by mean log errors (points,): first the best of each order."""
    ranked = np.argsort(means, kind="stable")
    first = [next((k for k in ranked if in_order(kind, points, order)[k]), ranked[0]) for order in ORDERS[1:]]
    return points[list(dict.fromkeys([*first, *ranked]))[:count]]


def compute(settings: Settings, scale: str, run: Runner) -> xarray.Dataset:
    """Search, tune, choose and report."""
    both = sorted(set(settings.seeds) & set(settings.development))
    if both:
        raise ValueError(f"draw {both[0]} would choose the networks and report them: give other --seeds than {both}.")
    kinds, tasks = kinds_of(settings), tasks_of(settings)
    points = {kind: random_points(kind, settings.points) for kind in kinds}
    errors = _on_draws(run, settings, settings.units, settings.development, points)
    ends = _tuned(run, settings, points, errors)
    more = _on_draws(run, settings, settings.units, settings.development, ends)
    pools = {kind: np.concatenate([points[kind], ends[kind]]) for kind in kinds}
    choices = {kind: chosen(kind, pools[kind], np.concatenate([errors[kind], more[kind]], axis=1)) for kind in kinds}
    reported = {settings.units: _reported(run, settings, settings.units, pools, choices)}
    decided = {settings.units: choices}
    for size in sorted(settings.sizes, reverse=True):
        some = {kind: np.concatenate([points[kind][: settings.transferred], ends[kind]]) for kind in settings.size_networks}
        tried = _on_draws(run, settings, size, settings.development[: settings.transfer_draws], some)
        decided[size] = {kind: chosen(kind, some[kind], tried[kind]).of_any_order() for kind in some}
        reported[size] = _reported(run, settings, size, some, decided[size])
    return labelled(_dataset(settings, kinds, tasks, pools, decided, reported), "hierarchy", scale, settings)


def _on_draws(
    run: Runner, settings: Settings, units: int, draws: Iterable[int], points: Mapping[str, Floats]
) -> dict[str, Floats]:
    """Errors (draws, points, tasks, shares) of all points of every network."""
    draws, shared = list(draws), _judged_by(settings)
    jobs = [
        Job.of(errors_of, settings=shared, kind=kind, units=units, seed=seed, points=points[kind])
        for kind in points
        for seed in draws
    ]
    found = [each["error"] for each in run(jobs)]
    return {kind: np.stack(found[k * len(draws) : (k + 1) * len(draws)]).astype(np.float64) for k, kind in enumerate(points)}


def _judged_by(settings: Settings) -> Settings:
    """The settings that errors depend on, so that jobs of other scales and seeds are used again."""
    return replace(settings, seeds=(), development=(), levels=(), anchors=(), points=0, starts=0, rounds=0, sizes=(),
                   size_networks=(), transferred=0, transfer_draws=0)  # fmt: skip


def _tuned(run: Runner, settings: Settings, points: Mapping[str, Floats], errors: Mapping[str, Floats]) -> dict[str, Floats]:
    """Where tuning ends for every network, from the best points of every anchor; each anchor has a draw of its own."""
    tasks, jobs = tasks_of(settings), []
    for kind in sorted(points, key=levels_of, reverse=True):
        for place, (count, ratio, share) in enumerate(settings.anchors):
            task = Task(count, ratio)
            means = np.log(errors[kind][:, :, tasks.index(task), settings.shares.index(share)]).mean(axis=0)
            jobs.append(
                Job.of(
                    tuned_points,
                    settings=replace(_judged_by(settings), rounds=settings.rounds, counts=(), ratios=(), shares=()),
                    kind=kind,
                    seed=settings.development[place % len(settings.development)],
                    task=list(task),
                    share=share,
                    starts=best_starts(kind, points[kind], means, settings.starts),
                )
            )
    found: dict[str, list[Floats]] = {kind: [] for kind in points}
    for job, each in zip(jobs, run(jobs), strict=True):
        found[job.arguments["kind"]].append(each["points"])
    return {kind: np.concatenate(ends) for kind, ends in found.items()}


def _reported(
    run: Runner, settings: Settings, units: int, pools: Mapping[str, Floats], choices: Mapping[str, Choice]
) -> dict[str, Floats]:
    """Errors of the chosen points in the reported draws, (orders, tasks, shares, draws); NaN where no point was allowed."""
    used = {kind: np.unique(choices[kind].point[choices[kind].point >= 0]) for kind in pools}
    errors = _on_draws(run, settings, units, settings.seeds, {kind: pools[kind][used[kind]] for kind in pools})
    found = {}
    for kind, all_errors in errors.items():
        place = np.clip(np.searchsorted(used[kind], choices[kind].point), 0, len(used[kind]) - 1)
        each = np.take_along_axis(all_errors, place[None], axis=1)
        found[kind] = np.where(choices[kind].point[..., None] < 0, np.nan, np.moveaxis(each, 0, -1))
    return found


def _dataset(
    settings: Settings,
    kinds: list[str],
    tasks: list[Task],
    pools: Mapping[str, Floats],
    decided: Mapping[int, Mapping[str, Choice]],
    reported: Mapping[int, Mapping[str, Floats]],
) -> xarray.Dataset:
    import xarray

    choices, main, sizes = decided[settings.units], reported[settings.units], sorted(decided)
    leaks = np.full((len(kinds), *choices[kinds[0]].point.shape, max(map(levels_of, kinds))), np.nan, np.float32)
    for k, kind in enumerate(kinds):
        levels, point = levels_of(kind), choices[kind].point
        leaks[k, ..., :levels] = np.where(point[..., None] < 0, np.nan, pools[kind][point, :levels])
    at, by = ("network", "order", "task", "share"), ("units", "size_network", "task", "share")
    some = settings.size_networks
    errors = np.array([main[kind] for kind in kinds], np.float32)
    first = np.array([choices[kind].error for kind in kinds], np.float32)
    tuned = np.array([choices[kind].point >= settings.points for kind in kinds]).astype(np.int8)
    sized = np.array([[reported[size][kind][0] for kind in some] for size in sizes], np.float32)
    sized_first = np.array([[decided[size][kind].error[0] for kind in some] for size in sizes], np.float32)
    return xarray.Dataset(
        {
            "error": ((*at, "seed"), errors, {"long_name": "test NRMSE in draws that chose nothing"}),
            "choice": (at, first, {"long_name": "geometric mean of test NRMSE in the draws that chose"}),
            "tuned": (at, tuned, {"long_name": "whether es.tune gave the chosen numbers"}),
            "leak_rate": ((*at, "level"), leaks, {"long_name": "chosen leak rate of every level, the fastest of a spread"}),
            "size_error": ((*by, "seed"), sized, {"long_name": "test NRMSE at other sizes"}),
            "size_choice": (by, sized_first, {"long_name": "the same in the draws that chose"}),
        },
        {
            "network": kinds,
            "order": list(ORDERS),
            "task": [f"K = {task.number}, ratio {task.ratio:g}" for task in tasks],
            "count": ("task", [task.number for task in tasks]),
            "ratio": ("task", [task.ratio for task in tasks]),
            "share": ("share", np.array(settings.shares), {"long_name": "w, share of averages of a product"}),
            "seed": ("seed", np.array(settings.seeds), {"long_name": "draw of weights and inputs"}),
            "level": np.arange(1, leaks.shape[-1] + 1),
            "units": ("units", sizes, {"long_name": "neurons"}),
            "size_network": list(some),
        },
    )
