"""The searches that `tuning.py` compares. Each returns its curve: what it held to be best, after how many steps and seconds.

Steps are those of one network; a tangent counts as a network, and one evaluation of a point as all its steps up to the end of
validation. The test steps are looked at when a search is over, for the points that were once its best.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import numpy.typing as npt
import report
from tuning_plan import SETS, TASKS, Job, Settings, plain

import echoscale as es
from echoscale.online import RLS, Adam, OnlineLearner
from echoscale.readouts.ridge import Readout, normalised_errors, ridge_path
from echoscale.readouts.statistics import Statistics, split_statistics
from echoscale.series import as_series, as_targets
from echoscale.tuning import ridge_slopes
from echoscale.tuning.runs import Runs
from echoscale.tuning.space import Space
from echoscale.tuning.split import prepare

Floats = npt.NDArray[np.float64]

PENALTIES = 10.0 ** np.arange(-12, 1.01, 0.5)  # of the path: all that the bounds of a learned penalty allow


@dataclass
class Problem:
    """A series, a network and what is searched for, within ranges of the logarithms."""

    job: Job
    settings: Settings
    network: es.Network
    u: Floats
    y: Floats
    space: Space
    runs: Runs

    @classmethod
    def of(cls, job: Job, settings: Settings) -> Problem:
        """One seed draws the series and the weights."""
        known = settings.known
        u, y = es.tasks.narma(settings.length, TASKS[job.task], job.seed)
        numbers = {"spectral_radius": settings.spectral_radius, "input_scaling": settings.input_scaling}
        names = SETS[job.set]
        if job.method == "tune-single":
            network = es.single(sum(settings.units), **numbers)
            names = tuple(name for name in names if name != "coupling")
        else:
            network = es.hierarchical(list(settings.units), **numbers)
        if "path" in job.variants:
            names = tuple(name for name in names if name != "ridge")
        esn = network.build(1, seed=job.seed, dtype="float64")
        space = Space.of(names, esn.hyper, {})
        if "bounds" in job.variants:
            space = replace(space, first=space.low, last=space.high)
        data = prepare(u[:known], y[:known], "mse", settings.washout, settings.validation / (known - settings.washout))
        runs = Runs(esn, space, data.series, data.targets, data.edges, settings.ridge)
        return cls(job, settings, network, u, y, space, runs)

    def errors(self, z: Floats) -> tuple[Floats, Floats]:
        """Validation NRMSE and penalty of points z (S, P): the penalty given or learned, or the best of the path."""
        train, validation = self.runs.statistics(z)
        if "path" in self.job.variants:
            errors = normalised_errors(ridge_path(train, PENALTIES), validation)
            best = np.argmin(_finite(errors), axis=0)
            return np.take_along_axis(_finite(errors), best[None], axis=0)[0], PENALTIES[best]
        penalties = self.space.penalties(z, self.settings.ridge)
        return _finite(normalised_errors(ridge_slopes.solve(train, penalties), validation)), penalties

    def parts(self, hyper: es.Hyper) -> list[Statistics]:
        """Of training, validation and test, from one run over the whole series."""
        s, series = self.settings, as_series(self.u)
        edges = [np.array([s.washout, s.washout + s.train, s.known, s.length])]
        return split_statistics(self.runs.esn, series, as_targets(self.y, series), edges, hyper=hyper)[0]


@dataclass
class Curve:
    """Points that were the best so far."""

    problem: Problem
    began: float
    steps: list[int]
    seconds: list[float]
    validation: list[float]
    points: list[Floats]
    penalties: list[float]

    @classmethod
    def begin(cls, problem: Problem) -> Curve:
        """The clock starts."""
        return cls(problem, time.perf_counter(), [], [], [], [], [])

    def see(self, steps: int, seconds: float, validation: float, point: Floats, penalty: float) -> None:
        """A point was evaluated; it is kept if it is better than all before."""
        if not self.validation or validation < self.validation[-1]:
            self.steps.append(int(steps))
            self.seconds.append(seconds)
            self.validation.append(float(validation))
            self.points.append(np.array(point))
            self.penalties.append(float(penalty))

    def close(self) -> dict[str, Any]:
        """Now the test steps: the readouts of all points on the curve are fitted again on training, and tested."""
        z, penalties = np.stack(self.points), np.array(self.penalties)
        train, validation, test = self.problem.parts(self.problem.runs.hyper(z))
        readout = ridge_slopes.solve(train, penalties)
        again = normalised_errors(readout, validation)
        tested = normalised_errors(readout, test)
        names = list(self.problem.space.names)
        return {
            "curve": {
                "steps": self.steps,
                "seconds": [round(each, 3) for each in self.seconds],
                "validation": self.validation,
                "test": tested.tolist(),
            },
            "chosen": dict(zip(names, np.exp(z[-1]).tolist(), strict=True)) | {"ridge": self.penalties[-1]},
            # How well the refitted readouts repeat the errors that the search saw: rounding, where penalties are tiny.
            "refitted_apart": float(np.max(np.abs(again / np.array(self.validation) - 1))),
        }


def tune(problem: Problem, budget: int, **options: Any) -> dict[str, Any]:
    """`es.tune` as a user calls it."""
    s, space = problem.settings, problem.space
    curve = Curve.begin(problem)
    result = es.tune(
        problem.network,
        problem.u[: s.known],
        problem.y[: s.known],
        space.names,
        seed=problem.job.seed,
        washout=s.washout,
        validation=s.validation / (s.known - s.washout),
        ridge=s.ridge,
        rounds=s.rounds,
        **{"starts": s.starts, **options},
    )
    seconds = time.perf_counter() - curve.began
    history = result.history
    for k in range(history.sizes["round"]):
        now = history.isel(round=k)
        best = int(np.argmin(_finite(now["error"].values)))
        z = np.log(now["value"].values[best])
        penalty = space.penalties(z[None], s.ridge)[0]
        curve.see(now["steps"].item(), now["seconds"].item(), now["error"].values[best], z, penalty)
    last = history.isel(round=-1)
    return {
        **curve.close(),
        "steps": result.steps,
        "seconds": seconds,
        "rounds": history.sizes["round"] - 1,
        "starts": {
            "first": history["error"].values[0].tolist(),
            "last": last["error"].values.tolist(),
            "values": dict(zip(space.names, last["value"].values.T.tolist(), strict=True)),
        },
    }


def grid(problem: Problem, budget: int) -> dict[str, Any]:
    """All pairs of leak rates; the curve goes through them in a random order, the time spread evenly."""
    s, count = problem.settings, problem.settings.grid
    axis = np.log(np.linspace(1 / count, 1, count))
    z = np.stack([each.ravel() for each in np.meshgrid(axis, axis, indexing="ij")], axis=1)
    curve = Curve.begin(problem)
    errors, penalties = problem.errors(z)
    seconds = time.perf_counter() - curve.began
    order = np.random.default_rng([problem.job.seed, 2]).permutation(len(z))
    for k, point in enumerate(order, start=1):
        curve.see(k * s.known, seconds * k / len(z), errors[point], z[point], penalties[point])
    return {**curve.close(), "steps": len(z) * s.known, "seconds": seconds, "surface": np.round(errors, 6).tolist()}


def random(problem: Problem, budget: int) -> dict[str, Any]:
    """Random points from the ranges that `tune` draws its starts from, or from its whole bounds, many at a time."""
    rng = np.random.default_rng([problem.job.seed, 3])
    count = _passes(problem, budget)
    z = problem.space.draw(count, rng)
    batches = (z[k : k + problem.settings.lanes] for k in range(0, count, problem.settings.lanes))
    return _evaluate(problem, ((batch, lambda errors: None) for batch in batches))


def tpe(problem: Problem, budget: int) -> dict[str, Any]:
    """Optuna's tree-structured Parzen estimator on the same ranges and scales, several trials at a time."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    space, batch = problem.space, problem.settings.batch
    sampler = optuna.samplers.TPESampler(seed=problem.job.seed, multivariate=True, constant_liar=True)
    study = optuna.create_study(sampler=sampler)
    ranges = list(zip(space.names, np.exp(space.first), np.exp(space.last), strict=True))

    def suggest(trial: optuna.Trial) -> list[float]:
        # As `Space.draw` does: leak rates and radii on a plain scale, all others on a logarithmic one.
        return [
            np.log(trial.suggest_float(name, low, high, log=not name.startswith(("leak_rate", "spectral_radius"))))
            for name, low, high in ranges
        ]

    def batches() -> Iterator[tuple[Floats, Callable[[Floats], None]]]:
        for _ in range(-(-_passes(problem, budget) // batch)):
            trials = [study.ask() for _ in range(batch)]

            def tell(errors: Floats, trials: list[optuna.Trial] = trials) -> None:
                for trial, error in zip(trials, errors, strict=True):
                    study.tell(trial, float(min(error, 1e3)))  # chaos may be beyond all bounds

            yield np.array([suggest(trial) for trial in trials]), tell

    return _evaluate(problem, batches())


def _evaluate(problem: Problem, batches: Iterator[tuple[Floats, Callable[[Floats], None]]]) -> dict[str, Any]:
    """Points in batches, and whom to tell their errors."""
    curve, done, known = Curve.begin(problem), 0, problem.settings.known
    for z, tell in batches:
        errors, penalties = problem.errors(z)
        tell(errors)
        seconds = time.perf_counter() - curve.began
        for point, error, penalty in zip(z, errors, penalties, strict=True):
            done += 1
            curve.see(done * known, seconds, error, point, penalty)
    return {**curve.close(), "steps": done * known, "seconds": time.perf_counter() - curve.began}


def _passes(problem: Problem, budget: int) -> int:
    return max(round(budget / problem.settings.known), 1)


def online(problem: Problem, budget: int, **rules: Any) -> dict[str, Any]:
    """Readout and leak rates follow a stream of fresh series; now and then both are frozen and judged.

    test, validation          of a ridge readout at the learned leak rates, fitted on the usual training steps
    own_test, own_validation  of the online readout itself
    """
    s, job, esn = problem.settings, problem.job, problem.runs.esn
    start = esn.hyper.replace(leak_rate=s.start_leak)
    first = s.first_stream_seed + s.sequences * job.seed
    series = [es.tasks.narma(s.checkpoints[-1], TASKS[job.task], first + b) for b in range(s.sequences)]
    u, y = (np.stack(each) for each in zip(*series, strict=True))
    learner = OnlineLearner(esn, starts=start, washout=s.washout, seed=job.seed, **rules)
    curve: dict[str, list[Any]] = {
        name: [] for name in ("steps", "seconds", "validation", "test", "own_validation", "own_test", "leak_rate")
    }
    seconds, done = 0.0, 0
    for checkpoint in s.checkpoints:
        began = time.perf_counter()
        learner.partial_fit(u[:, done:checkpoint], y[:, done:checkpoint])
        seconds, done = seconds + time.perf_counter() - began, checkpoint
        parts = problem.parts(learner.hyper)
        readouts: dict[str, Readout] = {"": es.ridge(parts[0], s.ridge), "own_": learner.readout}
        curve["steps"].append(done * s.sequences * (1 + len(learner.learned)))
        curve["seconds"].append(round(seconds, 3))
        curve["leak_rate"].append(learner.values[0].tolist())
        for name, readout in readouts.items():
            curve[f"{name}validation"].append(float(normalised_errors(readout, parts[1])))
            curve[f"{name}test"].append(float(normalised_errors(readout, parts[2])))
    chosen = {str(each): float(value) for each, value in zip(learner.learned, learner.values[0], strict=True)}
    return {"curve": curve, "chosen": chosen, "steps": curve["steps"][-1], "seconds": seconds, "time_steps": done}


def _finite(errors: Any) -> Floats:
    """What is not a number is as bad as can be."""
    return np.where(np.isfinite(errors), errors, np.inf)


def run(job: Job, settings: Settings, budget: int | None) -> dict[str, Any]:
    """One job, with all that says where its numbers come from."""
    given = (budget or 0) * (settings.longer if job.long else 1)
    rls = {"readout": RLS(settings.ridge, settings.rls_forgetting), "rates": Adam(settings.rls_rate, beta1=0.99)}
    options: dict[str, dict[str, Any]] = {
        "tune-independent": {"relocate": False},
        "tune-few": {"starts": settings.few},
        "online-adam": {"rates": "narma"},
        "online-rls": rls,
    }
    ways: dict[str, Callable[..., dict[str, Any]]] = {
        "tune": tune,
        "grid": grid,
        "random": random,
        "tpe": tpe,
        "online": online,
    }
    found = ways[job.family](Problem.of(job, settings), given, **options.get(job.method, {}))
    return {
        **job._asdict(),
        "settings": plain(settings),
        "budget": budget,
        **found,
        "versions": {"echoscale": es.__version__, **_versions("numpy", "scipy", "jax", "optuna")},
        "machine": report.machine(),
    }


def _versions(*names: str) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
