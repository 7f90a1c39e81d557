"""Does it hold on data that nobody tuned it on? Forecasts of real and made series, beside what people use.

    python benchmarks/real_data.py            needs `make out/real_series.npz`; resumes from --folder
    python benchmarks/real_data.py --quick    made series only, seconds

A problem is a series and a horizon h: from u(t), u(t-1), ... predict u(t + h), step after step, over the last quarter of the
series, which nobody has seen. Methods get the rest, as (u(t), u(t + h)) pairs. The error is the root mean squared error over
the standard deviation of that last quarter. Half of the problems (`SET`) were looked at while defaults were set; the other half
(`JUDGED`) was named before its first run, and sets nothing. Every job has one core; `es.auto` and Optuna, which searches
reservoirpy's hyper-parameters, have 30 seconds each.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import common
import numpy as np
import numpy.typing as npt
from real_series import series
from threadpoolctl import threadpool_limits

import echoscale as es

Floats = npt.NDArray[np.float64]

SET = (
    ("sunspots, yearly", 1),
    ("sunspots, yearly", 6),
    ("CO2, weekly", 6),
    ("El Niño", 1),
    ("US unemployment", 1),
    ("US prices", 6),
    ("air passengers", 6),
    ("heart rate", 1),
    ("lynx", 1),
    ("electricity demand", 6),
    ("wine", 1),
    ("woollen yarn", 6),
    ("electrocardiogram", 1),
    ("Hénon", 1),
    ("Mackey-Glass", 6),
    ("threshold autoregression", 1),
    ("autoregression", 6),
)
JUDGED = (
    ("sunspots, monthly", 1),
    ("sunspots, monthly", 6),
    ("Nile", 1),
    ("US product", 1),
    ("US treasury bills", 6),
    ("electrical equipment", 6),
    ("Australian beer", 6),
    ("Australian residents", 1),
    ("a share", 1),
    ("solar power", 1),
    ("solar power", 6),
    ("road casualties", 6),
    ("US consumption", 1),
    ("intracranial pressure", 6),
    ("Lorenz", 6),
    ("noisy logistic map", 1),
    ("growing season", 6),
    ("random walk", 6),
)
SEEDS = 5
SECONDS = 30.0
TEST = 0.25
LEAST_TEST = 12
WINDOWS = (1, 2, 3, 5, 8, 13, 21, 34, 49)
RELATIVE = 10.0 ** np.arange(-9, 4.5, 0.5)


class Split:
    """u(t) and u(t + h) of a series: pairs to learn from, and those of the last quarter."""

    def __init__(self, name: str, horizon: int, values: Floats | None = None) -> None:
        values = series(name) if values is None else values
        self.horizon = horizon
        self.u, self.y = values[:-horizon], values[horizon:]
        self.first = len(self.u) - max(int(TEST * len(self.u)), LEAST_TEST)
        # The last pair whose target lies before the first origin of the test.
        self.known = self.first - horizon + 1

    def error(self, forecasts: Floats) -> float:
        """Of forecasts for all steps of the test."""
        truth = self.y[self.first :]
        return float(np.sqrt(((np.ravel(forecasts) - truth) ** 2).mean()) / truth.std())

    def of_model(self, model: Any) -> float:
        """Of a model that carries on from the end of what it was fitted to."""
        forecasts = model.predict(self.u[self.known :, None], state=model.state_)
        return self.error(np.ravel(forecasts)[self.horizon - 1 :])


# ---------------------------------------------------------------------------------------------------------------- methods


def auto(split: Split, seed: int, seconds: float) -> dict[str, float]:
    found = es.auto(split.u[: split.known], split.y[: split.known], seconds=seconds, seed=seed)
    return {"error": split.of_model(found.model), "said": found.error, "rounds": found.rounds}


def regressor(split: Split, seed: int, seconds: float) -> dict[str, float]:
    model = es.ESNRegressor(random_state=seed).fit(split.u[: split.known, None], split.y[: split.known])
    return {"error": split.of_model(model)}


def tune(split: Split, seed: int, seconds: float) -> dict[str, float]:
    """A hierarchy of 2 x 50 neurons, tuned; "start" is the same network as it came, with its ridge chosen by folds."""
    u, y = split.u[: split.known, None], split.y[: split.known]
    network = es.hierarchical([50, 50], leak_rate=[1.0, 0.5], spectral_radius=0.9, input_scaling=0.1, bias_scaling=0.5)
    starts, rounds = (4, 15) if seconds >= SECONDS else (1, 2)  # a look alone
    tuned = es.tune(network, u, y, starts=starts, rounds=rounds, seed=seed)
    before = es.ESNRegressor(network=network, columns=es.readouts.Columns(0), dtype="float64", random_state=seed).fit(u, y)
    return {
        "error": split.of_model(tuned.estimator().fit(u, y)),
        "start": split.of_model(before),
        "helped": float(tuned.helped),
    }


def persistence(split: Split, seed: int, seconds: float) -> dict[str, float]:
    return {"error": split.error(split.u[split.first :])}


def seasonal(split: Split, seed: int, seconds: float) -> dict[str, float]:
    """As one season before, where there is one; else persistence."""
    period = es.timescales.season(split.u[: split.known])
    lag = 0 if period is None else -split.horizon % period
    return {"error": split.error(split.u[split.first - lag : len(split.u) - lag]), "period": period or 0}


def ridge(split: Split, seed: int, seconds: float) -> dict[str, float]:
    """Window and penalty by five blocks of time with a gap of the horizon on both sides; written without this library."""
    best: tuple[float, int, float] = (np.inf, 0, 0.0)
    rows = np.arange(min(100, split.known // 10), split.known)
    for window in WINDOWS:
        if window > max(len(rows) // 5, 1):
            continue
        x = lagged(split.u, window)
        squares = np.zeros(len(RELATIVE))
        for train, held_out in blocks(rows, split.horizon):
            squares += ((ridge_forecasts(x, split.y, train, held_out, RELATIVE) - split.y[held_out]) ** 2).sum(axis=1)
        place = int(np.argmin(squares))
        best = min(best, (float(squares[place]), window, float(RELATIVE[place])))
    x = lagged(split.u, best[1])
    test = np.arange(split.first, len(split.u))
    return {"error": split.error(ridge_forecasts(x, split.y, rows, test, np.array([best[2]]))[0]), "window": best[1]}


def boosting(split: Split, seed: int, seconds: float) -> dict[str, float]:
    """Gradient boosting of trees; window, depth and learning rate by the same blocks."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    rows = np.arange(min(100, split.known // 10), split.known)
    leaf = 20 if len(rows) > 400 else 5

    def fitted(window: int, leaves: int, rate: float, train: npt.NDArray[np.int64]) -> Any:
        model = HistGradientBoostingRegressor(
            learning_rate=rate, max_leaf_nodes=leaves, max_iter=int(10 / rate), min_samples_leaf=leaf, random_state=seed
        )
        return model.fit(lagged(split.u, window)[train], split.y[train])

    windows = [window for window in (3, 8, 21, 49) if window <= max(len(rows) // 5, 3)]
    windows = windows if seconds >= SECONDS else windows[:1]  # a look alone
    choices = [(window, leaves, 0.1) for window in windows for leaves in (4, 15)]
    errors = []
    for window, leaves, rate in choices:
        x = lagged(split.u, window)
        pairs = blocks(rows, split.horizon)
        errors.append(
            sum(((fitted(window, leaves, rate, train).predict(x[out]) - split.y[out]) ** 2).sum() for train, out in pairs)
        )
    window, leaves, rate = choices[int(np.argmin(errors))]
    model = fitted(window, leaves, rate, rows)
    return {"error": split.error(model.predict(lagged(split.u, window)[split.first :])), "window": window}


def reservoirpy(split: Split, seed: int, seconds: float) -> dict[str, float]:
    """reservoirpy with Optuna's TPE: units, leak rate, radius, input scaling, ridge; judged on the last quarter of training."""
    import optuna
    from reservoirpy.nodes import Reservoir, Ridge

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    mean, spread = split.u[: split.known].mean(), split.u[: split.known].std()
    u, y = ((each - mean) / spread for each in (split.u, split.y))
    cut = split.known - split.known // 4
    began = time.perf_counter()

    def errors(settings: dict[str, Any], end: int, test: slice) -> Floats:
        settings = dict(settings)
        penalty, units = settings.pop("ridge"), settings.pop("units")
        states = Reservoir(units, seed=seed, **settings).run(u[:, None])
        washout = min(100, end // 10)
        readout = Ridge(ridge=penalty).fit(states[washout:end], y[washout:end, None])
        return np.asarray(np.asarray(readout.run(states[test]))[:, 0] - y[test])

    def objective(trial: Any) -> float:
        settings = {
            "units": trial.suggest_int("units", 20, 300, log=True),
            "lr": trial.suggest_float("lr", 0.01, 1, log=True),
            "sr": trial.suggest_float("sr", 0.01, 1.5, log=True),
            "input_scaling": trial.suggest_float("input_scaling", 0.01, 10, log=True),
            "ridge": trial.suggest_float("ridge", 1e-9, 1e3, log=True),
        }
        found = float((errors(settings, cut - split.horizon + 1, slice(cut, split.known)) ** 2).mean())
        return found if np.isfinite(found) else 1e30

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(objective, timeout=seconds)
    found = errors(study.best_params, split.known, slice(split.first, len(u)))
    return {
        "error": float(np.sqrt((found**2).mean()) * spread / split.y[split.first :].std()),
        "trials": len(study.trials),
        "searched": time.perf_counter() - began,
    }


METHODS: dict[str, Callable[[Split, int, float], dict[str, float]]] = {
    "persistence": persistence,
    "seasonal naive": seasonal,
    "ridge on lags": ridge,
    "boosting on lags": boosting,
    "ESNRegressor()": regressor,
    "es.tune": tune,
    "es.auto": auto,
    "reservoirpy + Optuna": reservoirpy,
}
ONCE = ("persistence", "seasonal naive", "ridge on lags", "boosting on lags")  # nothing is drawn
FEWER = {"es.tune": 3}  # seeds


def lagged(u: Floats, window: int) -> Floats:
    """u(t), u(t-1), ..., 0 before the start."""
    padded = np.concatenate([np.full(window - 1, u.mean()), u])
    return np.stack([padded[window - 1 - lag : window - 1 - lag + len(u)] for lag in range(window)], axis=1)


def blocks(rows: npt.NDArray[np.int64], gap: int, count: int = 5) -> list[tuple[Any, Any]]:
    """(training, held out) of blocks of time."""
    edges = np.linspace(0, len(rows), count + 1).astype(int)
    found = []
    for low, high in itertools.pairwise(edges):
        found.append((np.concatenate([rows[: max(low - gap, 0)], rows[high + gap :]]), rows[low:high]))
    return found


def ridge_forecasts(x: Floats, y: Floats, train: Any, test: Any, relative: Floats) -> Floats:
    """(penalties, test rows); penalties relative to the mean squared singular value of the features."""
    mean, level = x[train].mean(axis=0), y[train].mean()
    centred = x[train] - mean
    values, vectors = np.linalg.eigh(centred.T @ centred)
    unit = values.sum() / len(values) or 1.0
    turned = vectors.T @ (centred.T @ (y[train] - level))
    weights = vectors @ (turned[:, None] / (np.maximum(values, 0)[:, None] + relative * unit))
    return np.asarray(((x[test] - mean) @ weights).T + level)


def contest(name: str, horizon: int, method: str, seed: int, seconds: float) -> dict[str, Floats]:
    """One method on one problem, with one seed: its error, and what else it tells."""
    common.pin_to_one_core()
    began = time.perf_counter()
    # Trees by OpenMP and products by BLAS on the one core that a job has.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        found = METHODS[method](Split(name, horizon), seed, seconds)
    return {name: np.array([value]) for name, value in {**found, "seconds": time.perf_counter() - began}.items()}


# ---------------------------------------------------------------------------------------------------------------- running


def extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, default=common.HERE.parent / "out" / "real_data", help="resumes from it")
    parser.add_argument("--processes", type=int, default=0, help="jobs at a time, each on one core (0: one after another)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no job begins later than that")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only", choices=("set", "judged"), help="one group of problems")
    parser.add_argument("--methods", nargs="*", default=list(METHODS))


def measure(options: argparse.Namespace) -> common.Raw:
    quick = options.quick
    problems = {"set": SET, "judged": JUDGED}
    if quick:
        problems = {"set": (("autoregression", 6),), "judged": (("noisy logistic map", 1),)}
    if options.only:
        problems = {options.only: problems[options.only]}
    seeds, seconds = (1, 0.2) if quick else (options.seeds, SECONDS)
    methods = [each for each in options.methods if not quick or each != "reservoirpy + Optuna" or _has("reservoirpy", "optuna")]
    jobs = {}
    for group in problems.values():
        for name, horizon in group:
            for method in methods:
                for seed in range(1 if method in ONCE else min(seeds, FEWER.get(method, seeds))):
                    key = f"{name}|{horizon}|{method}|{seed}"
                    jobs[key] = {"name": name, "horizon": horizon, "method": method, "seed": seed, "seconds": seconds}
    found = common.resumed(contest, jobs, None if quick else options.folder, options.processes, options.minutes)
    return {
        "problems": {group: [list(each) for each in each_of] for group, each_of in problems.items()},
        "seconds": seconds,
        "results": {key: {name: value[0] for name, value in each.items()} for key, each in found.items()},
        "complete": len(found) == len(jobs) and not options.only,
    }


def _has(*modules: str) -> bool:
    import importlib.util

    return all(importlib.util.find_spec(each) for each in modules)


# ----------------------------------------------------------------------------------------------------------------- report


def errors_of(raw: common.Raw, name: str, horizon: int, method: str) -> list[float]:
    """Of all seeds."""
    start = f"{name}|{horizon}|{method}|"
    return [each["error"] for key, each in raw["results"].items() if key.startswith(start)]


def table(raw: common.Raw) -> str:
    methods = [each for each in METHODS if any(f"|{each}|" in key for key in raw["results"])]
    lines = ["# Forecasts of real and made series", "", common.origin(raw), ""]
    lines.append(
        "Root mean squared error over the standard deviation of the last quarter, median of seeds; in brackets, for `es.auto`: "
        "times the better of ridge on lags and seasonal naive."
    )
    for group, problems in raw["problems"].items():
        title = "Looked at while defaults were set" if group == "set" else "Judged only"
        body = []
        for name, horizon in problems:
            cells = [f"{name}, {horizon}"]
            simple = [common.median(e) for m in ("ridge on lags", "seasonal naive") if (e := errors_of(raw, name, horizon, m))]
            for method in methods:
                each = errors_of(raw, name, horizon, method)
                cell = f"{common.median(each):.3g}" if each else "–"
                if method == "es.auto" and each and simple:
                    cell += f" ({common.median(each) / min(simple):.2f})"
                cells.append(cell)
            body.append(cells)
        lines += ["", f"## {title}", "", *common.rows(["series, steps ahead", *methods], body)]
    return "\n".join([*lines, "", "## In short", "", *_summary(raw), ""])


def ratios(raw: common.Raw, method: str, rival: str, groups: Sequence[str] | None = None) -> list[float]:
    """Median error over the rival's, problem by problem."""
    found = []
    for group, problems in raw["problems"].items():
        if groups is not None and group not in groups:
            continue
        for name, horizon in problems:
            ours, theirs = (errors_of(raw, name, horizon, each) for each in (method, rival))
            if ours and theirs:
                found.append(common.median(ours) / common.median(theirs))
    return found


def _summary(raw: common.Raw) -> list[str]:
    body = []
    for method in ("es.auto", "ESNRegressor()"):
        for rival in ("ridge on lags", "seasonal naive", "boosting on lags", "reservoirpy + Optuna"):
            cells = [method, rival]
            for group in (*raw["problems"], None):
                each = ratios(raw, method, rival, None if group is None else [group])
                cells.append(f"{np.exp(np.mean(np.log(each))):.3f} (worst {max(each):.2f})" if each else "–")
            body.append(cells)
    starts = [
        common.median([each["error"] / each["start"] for key, each in raw["results"].items() if key.startswith(start)])
        for problems in raw["problems"].values()
        for name, horizon in problems
        if any(key.startswith(start := f"{name}|{horizon}|es.tune|") for key in raw["results"])
    ]
    if starts:
        cell = f"{np.exp(np.mean(np.log(starts))):.3f} (worst {max(starts):.2f})"
        body.append(["es.tune", "its start", *[""] * len(raw["problems"]), cell])
    heads = ["method", "against", *(f"{group}: geometric mean of ratios" for group in raw["problems"]), "all"]
    return common.rows(heads, body, left=2)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main(
        "real_data",
        __doc__,
        measure,
        table,
        arguments=arguments,
        libraries=("scikit-learn", "reservoirpy", "optuna"),
        extend=extend,
    )


if __name__ == "__main__":
    main()
