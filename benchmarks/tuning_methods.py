"""The searches that `tuning.py` compares. One job: from a task, a set of hyper-parameters, a method and a seed to named arrays.

A search keeps its curve: what it held to be best, after how many steps and seconds. Steps are those of one network; a tangent
counts as a network, and one evaluation of a point as all steps up to the end of validation. The test steps are looked at when a
search is over, for the points that were once its best.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import common
import numpy as np
import numpy.typing as npt

import echoscale as es
from echoscale.data.series import as_series, as_targets
from echoscale.learning import RLS, Adam, OnlineLearner
from echoscale.learning.tuning.losses import Squares
from echoscale.learning.tuning.space import Space
from echoscale.learning.tuning.split import prepare
from echoscale.readouts.penalties import in_units
from echoscale.readouts.ridge import Readout, normalised_errors, ridge_path
from echoscale.readouts.statistics import Statistics, of_rows, split_statistics, with_noise
from echoscale.sweeps.scores import PathErrors

Floats = npt.NDArray[np.float64]

TASKS = {"narma10": 10, "narma5": 5}
SETS = {
    "leaks": ("leak_rate",),
    "all": ("leak_rate", "spectral_radius", "input_scaling", "bias_scaling", "coupling", "ridge"),
}
# Where robustness is judged, and, relative to the states, where random search and TPE choose the ridge of a point.
PATH, RELATIVE = 10.0 ** np.arange(-12, 1.01, 0.5), 10.0 ** np.arange(-8, 4.01, 0.5)
FRAGILE_RIDGE, FRAGILE_NOISE = 1e-8, 1e-6
# Of the methods that are to withstand noise on the states: `tune(noise=...)`, and TPE with the same added to every ridge.
NOISE = 1e-5
ROBUST = ("tune-noise", "tpe-noise")


@dataclass(frozen=True)
class Settings:
    """All that determines the results, but for the seed."""

    washout: int = 200
    train: int = 5000
    validation: int = 1500
    test: int = 2500
    units: tuple[int, ...] = (50, 50)
    spectral_radius: float = 0.95
    input_scaling: float = 0.2
    ridge: float = 1e-5  # where it is not searched for
    starts: int = 8
    rounds: int = 60
    grid: int = 20
    lanes: int = 64  # random points that run together
    batch: int = 8  # trials that TPE suggests together
    start_leak: float = 0.5  # of both levels, online
    sequences: int = 10
    checkpoints: tuple[int, ...] = (10_000, 30_000, 100_000, 300_000, 1_000_000)
    rls_forgetting: float = 0.999  # this and the next were chosen on NARMA10, seed 0: that seed is left out of its means
    rls_rate: float = 1e-3
    first_stream_seed: int = 10_000

    @property
    def known(self) -> int:
        """Steps that a search may see: one evaluation of a point simulates so many."""
        return self.washout + self.train + self.validation

    @property
    def length(self) -> int:
        """Of the whole series."""
        return self.known + self.test


@dataclass
class Problem:
    """A series, a network and what is searched for, within ranges of the logarithms.

    path   whether every point gets the best ridge of `RELATIVE`
    noise  on the states, which the readout is to withstand: n noise^2 is added to the ridge of n training steps
    """

    seed: int
    settings: Settings
    network: es.Network
    u: Floats
    y: Floats
    space: Space
    loss: Squares
    path: bool
    noise: float = 0.0

    @classmethod
    def of(cls, task: str, names: tuple[str, ...], method: str, seed: int, settings: Settings) -> Problem:
        """One seed draws the series and the weights. Random search and TPE get the whole bounds of `tune`, and the path."""
        known, path = settings.known, method in ("random", "tpe", "tpe-noise")
        u, y = es.tasks.narma(settings.length, TASKS[task], seed)
        shared: dict[str, Any] = {"spectral_radius": settings.spectral_radius, "input_scaling": settings.input_scaling}
        if method == "tune-single":
            network = es.single(sum(settings.units), **shared)
            names = tuple(name for name in names if name != "coupling")
        else:
            network = es.hierarchical(list(settings.units), **shared)
        if path:
            names = tuple(name for name in names if name != "ridge")
        esn = network.build(1, seed=seed, dtype="float64")
        space = Space.of(names, esn.hyper, {})
        if path:
            space = replace(space, first=space.low, last=space.high)
        data = prepare(u[:known], y[:known], "mse", settings.washout, settings.validation / (known - settings.washout))
        loss = Squares(esn, space, data.tuned, settings.ridge)
        return cls(seed, settings, network, u, y, space, loss, path, NOISE if method in ROBUST else 0.0)

    def errors(self, z: Floats) -> tuple[Floats, Floats]:
        """Validation NRMSE and ridge of points z (S, P): the ridge as given, or the best of a path from the floor of `tune`."""
        [train], [validation] = self.loss.statistics(self.loss.networks(z).hyper)
        if self.path:
            noisy = with_noise(train, self.noise**2)
            errors = finite(normalised_errors(ridge_path(in_units(noisy), RELATIVE), validation))
            best = errors.argmin(axis=0)
            ridges = RELATIVE[best] * noisy.unit + self.settings.train * self.noise**2
            return errors[best, np.arange(len(z))], ridges
        ridges = self.space.penalties(z, self.settings.ridge)
        return finite(normalised_errors(es.readouts.ridge(train, ridges), validation)), ridges

    def parts(self, hyper: es.Hyper, dtype: str = "float64") -> list[Statistics]:
        """Of training, validation and test, from one run over the whole series."""
        series = as_series(self.u)
        esn = self.loss.esn if dtype == "float64" else self.network.build(1, seed=self.seed, dtype=dtype)
        return split_statistics(esn, series, as_targets(self.y, series), [self.edges], hyper=hyper)[0]

    @property
    def edges(self) -> npt.NDArray[np.int64]:
        """Where training, validation and test begin and end."""
        s = self.settings
        return np.array([s.washout, s.washout + s.train, s.known, s.length])


class Curve:
    """Points that were the best so far."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.began = problem, time.perf_counter()
        self.steps: list[int] = []
        self.seconds: list[float] = []
        self.validation: list[float] = []
        self.points: list[Floats] = []
        self.ridges: list[float] = []

    def see(self, steps: int, seconds: float, validation: float, point: Floats, ridge: float) -> None:
        """A point was evaluated; it is kept if it is better than all before."""
        if not self.validation or validation < self.validation[-1]:
            self.steps.append(int(steps))
            self.seconds.append(seconds)
            self.validation.append(float(validation))
            self.points.append(np.array(point))
            self.ridges.append(float(ridge))

    def close(self) -> dict[str, Any]:
        """Now the test steps: the readouts of all points on the curve are fitted again on training, and tested."""
        z, ridges = np.stack(self.points), np.array(self.ridges)
        hyper = self.problem.loss.networks(z).hyper
        train, validation, test = self.problem.parts(hyper)
        readout = es.readouts.ridge(train, ridges)
        again = normalised_errors(readout, validation)
        found = {
            "curve_steps": self.steps,
            "curve_seconds": self.seconds,
            "curve_validation": self.validation,
            "curve_test": normalised_errors(readout, test),
            "chosen": [*np.exp(z[-1]).tolist()[: len(self.problem.space.learned)], ridges[-1]],
            "largest_weight": np.abs(readout.coef[-1]).max(),
            # How well the refitted readouts repeat the errors that the search saw: rounding, where the ridge is tiny.
            "refitted_apart": np.max(np.abs(again / np.array(self.validation) - 1)),
        }
        return found | fragility(self.problem, self.problem.loss.networks(z[-1:]).hyper)


def fragility(problem: Problem, hyper: es.Hyper) -> dict[str, Any]:
    """Test NRMSE of the chosen network under small changes.

    fragile_ridge    ridge 1e-8 in place of the chosen one
    fragile_noise    normal noise of 1e-6 on all states, the ridge chosen anew on validation
    fragile_float32  states in float32, the ridge chosen anew on validation
    """
    train, _, test = problem.parts(hyper)
    fixed = normalised_errors(es.readouts.ridge(train, FRAGILE_RIDGE), test)
    edges, lane = problem.edges, hyper.lane(0)
    states = problem.loss.esn.run(problem.u, hyper=lane)
    noise = FRAGILE_NOISE * np.random.default_rng([problem.seed, 4]).standard_normal(states.shape)
    noisy = [of_rows((states + noise)[begin:end], problem.y[begin:end]) for begin, end in pairwise(edges)]
    return {
        "fragile_ridge": fixed,
        "fragile_noise": PathErrors.of(noisy, PATH).best().test,
        "fragile_float32": PathErrors.of(problem.parts(hyper, "float32"), PATH).best().test,
    }


def tune(problem: Problem, budget: int) -> dict[str, Any]:
    """`es.tune` with the split, the units and the ridge of the others."""
    s, space = problem.settings, problem.space
    curve = Curve(problem)
    result = es.tune(
        problem.network,
        problem.u[: s.known],
        problem.y[: s.known],
        space.names,
        seed=problem.seed,
        washout=s.washout,
        folds=s.validation / (s.known - s.washout),
        test=0,
        scale=None,
        ridge=s.ridge,
        noise=problem.noise,
        rounds=s.rounds,
        starts=s.starts,
    )
    seconds, history = time.perf_counter() - curve.began, result.history
    for k in range(history.sizes["round"]):
        now = history.isel(round=k)
        best = int(np.argmin(finite(now["error"].values)))
        z = np.log(now["value"].values[best])
        ridge = space.penalties(z[None], s.ridge)[0]
        curve.see(now["steps"].item(), now["seconds"].item(), now["error"].values[best], z, ridge)
    return {**curve.close(), "steps": result.steps, "seconds": seconds}


def grid(problem: Problem, budget: int) -> dict[str, Any]:
    """All pairs of leak rates; the curve goes through them in a random order, the time spread evenly."""
    s, count = problem.settings, problem.settings.grid
    axis = np.log(np.linspace(1 / count, 1, count))
    z = np.stack([each.ravel() for each in np.meshgrid(axis, axis, indexing="ij")], axis=1)
    curve = Curve(problem)
    errors, ridges = problem.errors(z)
    seconds = time.perf_counter() - curve.began
    order = np.random.default_rng([problem.seed, 2]).permutation(len(z))
    for k, point in enumerate(order, start=1):
        curve.see(k * s.known, seconds * k / len(z), errors[point], z[point], ridges[point])
    return {**curve.close(), "steps": len(z) * s.known, "seconds": seconds}


def random(problem: Problem, budget: int) -> dict[str, Any]:
    """Random points from the whole bounds of `tune`, many at a time."""
    count, lanes = _passes(problem, budget), problem.settings.lanes
    z = problem.space.draw(count, np.random.default_rng([problem.seed, 3]))
    return _evaluate(problem, ((z[k : k + lanes], lambda errors: None) for k in range(0, count, lanes)))


def tpe(problem: Problem, budget: int) -> dict[str, Any]:
    """Optuna's tree-structured Parzen estimator on the same bounds and scales, several trials at a time."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space, batch = problem.space, problem.settings.batch
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=problem.seed, multivariate=True, constant_liar=True)
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
    curve, done, known = Curve(problem), 0, problem.settings.known
    for z, tell in batches:
        errors, ridges = problem.errors(z)
        tell(errors)
        seconds = time.perf_counter() - curve.began
        for point, error, ridge in zip(z, errors, ridges, strict=True):
            done += 1
            curve.see(done * known, seconds, error, point, ridge)
    seconds = time.perf_counter() - curve.began
    return {**curve.close(), "steps": done * known, "seconds": seconds}


def _passes(problem: Problem, budget: int) -> int:
    return max(round(budget / problem.settings.known), 1)


def online(problem: Problem, task: str, **rules: Any) -> dict[str, Any]:
    """Readout and leak rates follow a stream of fresh series; now and then both are frozen and judged.

    curve_test, curve_validation          of a ridge readout at the learned leak rates, fitted on the usual training steps
    curve_own_test, curve_own_validation  of the online readout itself
    """
    s, esn = problem.settings, problem.loss.esn
    start = esn.hyper.replace(leak_rate=s.start_leak)
    first = s.first_stream_seed + s.sequences * problem.seed
    series = [es.tasks.narma(s.checkpoints[-1], TASKS[task], first + b) for b in range(s.sequences)]
    u, y = (np.stack(each) for each in zip(*series, strict=True))
    learner = OnlineLearner(esn.network, starts=start, dtype=esn.dtype, washout=s.washout, seed=problem.seed, **rules)
    curve: dict[str, list[Any]] = {}
    seconds, done = 0.0, 0
    for checkpoint in s.checkpoints:
        began = time.perf_counter()
        learner.partial_fit(u[:, done:checkpoint], y[:, done:checkpoint])
        seconds, done = seconds + time.perf_counter() - began, checkpoint
        parts = problem.parts(learner.hyper)
        readouts: dict[str, Readout] = {"": es.readouts.ridge(parts[0], s.ridge), "own_": learner.readout}
        now = {"steps": done * s.sequences * (1 + len(learner.learned)), "seconds": seconds}
        for name, readout in readouts.items():
            now[f"{name}validation"] = float(normalised_errors(readout, parts[1]))
            now[f"{name}test"] = float(normalised_errors(readout, parts[2]))
        for name, value in now.items():
            curve.setdefault(f"curve_{name}", []).append(value)
    return {**curve, "chosen": learner.values[0], "steps": curve["curve_steps"][-1], "seconds": seconds}


def finite(errors: Any) -> Floats:
    """What is not a number is as bad as can be."""
    return np.where(np.isfinite(errors), errors, np.inf)


def search(task: str, names: str, method: str, seed: int, budget: int, settings: dict[str, Any]) -> common.Arrays:
    """One job.

    names     a key of `SETS`
    budget    simulated steps that random search and TPE are given
    settings  of `Settings`, as JSON has them
    """
    chosen = Settings(**common.tuples(settings))
    problem = Problem.of(task, SETS[names], method, seed, chosen)
    if method == "online-rls":
        rules = {"readout": RLS(chosen.ridge, chosen.rls_forgetting), "rates": Adam(chosen.rls_rate, beta1=0.99)}
        found = online(problem, task, **rules)
    elif method == "online-adam":
        found = online(problem, task, rates="narma")
    else:
        ways = {
            "tune": tune,
            "tune-noise": tune,
            "tune-single": tune,
            "grid": grid,
            "random": random,
            "tpe": tpe,
            "tpe-noise": tpe,
        }
        found = ways[method](problem, budget)
    return {name: np.ravel(np.asarray(values, np.float64)) for name, values in found.items()}
