"""Does `ESNRegressor()` with nothing set find the timescales of a problem? Beside fixed defaults and simple rivals.

    python benchmarks/regressor.py            needs `make out/real_series.npz`; 15 minutes
    python benchmarks/regressor.py --quick    seconds

The candidates of `echoscale.timescales.candidates` were chosen on the first group of problems (`regressor_problems.SET`). The
others only judge; `regressor_problems` says when they were named. Until commit a627ef1 the defaults were a leak rate of
1, a spectral radius of 0.9 and an input scaling of 0.1. The error is the root mean squared error on test data in standard
deviations of the test data.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import common
import numpy as np
import numpy.typing as npt
import regressor_problems
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import echoscale as es
from echoscale.data.lags import lagged

Floats = npt.NDArray[np.float64]
Predict = Callable[[Floats, Floats, Floats, int], Floats]

SEEDS = 5
BEFORE, OURS = "fixed defaults", "ESNRegressor()"
LAGS, STEPS_PER_LAG = 50, 4
TIMED, ROUNDS = (100, 300), 5


def fitted(model: Any, u: Floats, y: Floats, v: Floats) -> Floats:
    """Predictions of the steps after the training data."""
    model.fit(u, y)
    return np.asarray(model.predict(v, state=model.state_))


def ours(u: Floats, y: Floats, v: Floats, seed: int) -> Floats:
    return fitted(es.ESNRegressor(random_state=seed), u, y, v)


def before(u: Floats, y: Floats, v: Floats, seed: int) -> Floats:
    return fitted(es.ESNRegressor(100, 1.0, 0.9, 0.1, random_state=seed), u, y, v)


def ridge(u: Floats, y: Floats, v: Floats, seed: int) -> Floats:
    """Ridge regression on the last 50 inputs, or fewer for short data, with its penalty by leaving one out."""
    count = max(min(LAGS, len(u) // (STEPS_PER_LAG * u.shape[1])), 1)
    rows = lagged(np.concatenate([u, v]), range(count))
    model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-6, 4, 21))).fit(rows[count : len(u)], y[count:])
    return np.asarray(model.predict(rows[len(u) :])).reshape(len(v), -1)


def nvar(u: Floats, y: Floats, v: Floats, seed: int) -> Floats:
    return fitted(es.NVAR(), u, y, v)


def reservoirpy(u: Floats, y: Floats, v: Floats, seed: int) -> Floats:
    """Its defaults with 100 neurons, and a ridge penalty of 1e-6: its default of 0 fails on some of the problems."""
    from reservoirpy.nodes import Reservoir, Ridge

    model = Reservoir(100, seed=seed) >> Ridge(ridge=1e-6)
    model.fit(u, y, warmup=min(100, len(u) // 10))
    return np.asarray(model.run(v))  # carries on from the end of `fit`


METHODS: dict[str, Predict] = {
    OURS: ours,
    BEFORE: before,
    "ridge on lags": ridge,
    "NVAR()": nvar,
    "reservoirpy": reservoirpy,
}


def judged(problem: regressor_problems.Problem, seed: int) -> dict[str, dict[str, float]]:
    """Error and seconds of every method."""
    u, y, first = problem(seed)
    found = {}
    for name, predict in METHODS.items():
        start = time.perf_counter()
        guess = predict(u[:first], y[:first], u[first:], seed)
        seconds = time.perf_counter() - start
        error = math.sqrt(float(np.mean((guess - y[first:]) ** 2)) / float(y[first:].var()))
        found[name] = {"error": error, "seconds": seconds}
    return found


def cost(problem: regressor_problems.Problem, units: int, rounds: int) -> dict[str, float]:
    """Seconds of a fit that chooses and of a fit of the chosen network, in turns, with all cores."""
    u, y, first = problem(0)
    model = es.ESNRegressor(units, random_state=0).fit(u[:first], y[:first])
    alone = es.ESNRegressor(network=model.esn_.network, random_state=0)
    turns = common.take_turns(
        {"chooses": lambda: model.fit(u[:first], y[:first]), "alone": lambda: alone.fit(u[:first], y[:first])}, rounds
    )
    return {"units": units, "steps": first, **{name: min(each) for name, each in turns.items()}}


FIRST_CALL = """
import resource, time
import numpy as np
u = np.random.default_rng(0).normal(size=({steps}, 1))
y = u * np.roll(u, 1, axis=0)
start = time.perf_counter()
import echoscale as es
es.ESNRegressor({parameters}).fit(u, y)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def first_call(parameters: str, steps: int) -> dict[str, float]:
    """Seconds from the import to the end of the first fit in a new process, and its largest memory in MiB."""
    code = FIRST_CALL.format(parameters=parameters, steps=steps)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, mebibytes = map(float, done.stdout.split())
    return {"seconds": seconds, "mib": mebibytes}


def measure(options: argparse.Namespace) -> common.Raw:
    quick = options.quick
    groups = {"set": regressor_problems.SET, "judged": regressor_problems.JUDGED, "fresh": regressor_problems.FRESH}
    few = {"set": ("NARMA10", "logistic map, 3 ahead"), "judged": ("Ikeda map, 2 ahead",), "fresh": ("Hénon map, 2 ahead",)}
    found: dict[str, dict[str, list[Any]]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for group, problems in groups.items():
            names = few[group] if quick else problems
            with threadpool_limits(1):
                found[group] = {name: [judged(problems[name], seed) for seed in range(1 if quick else SEEDS)] for name in names}
        names = ("NARMA10",) if quick else ("NARMA10", "channel", "Wiener-Hammerstein", "electrocardiogram, 6 ahead")
        times = [
            {"problem": name, **cost(regressor_problems.SET[name], units, 1 if quick else ROUNDS)}
            for name in names
            for units in (TIMED[:1] if quick else TIMED)
        ]
    steps = 500 if quick else 20_000
    first = {"chooses": first_call("", steps), "alone": first_call("leak_rate=1.0, input_scaling=0.3", steps)}
    return {"seeds": 1 if quick else SEEDS, "errors": found, "seconds": times, "first_call": {"steps": steps, **first}}


def log_ratios(problems: dict[str, Any], method: str, rival: str) -> Floats:
    """Mean logarithm of the ratio of errors over the seeds, for every problem."""
    return np.array(
        [np.mean([math.log(each[method]["error"] / each[rival]["error"]) for each in seeds]) for seeds in problems.values()]
    )


def table(raw: common.Raw) -> str:
    lines = [
        "# `ESNRegressor()` with nothing set",
        "",
        common.origin(raw),
        "",
        f"Test error of `ESNRegressor()` over the error of other methods: geometric mean over problems, {raw['seeds']} seeds "
        "each, with a 95 % interval over problems, and the worst problem. Below 1: `ESNRegressor()` is better. *Fixed "
        "defaults*: a leak rate of 1, a spectral radius of 0.9 and an input scaling of 0.1. The first group of problems chose "
        "the candidates, the others only judge; the last group was named after the first run of the second.",
        "",
    ]
    rivals = [name for name in METHODS if name != OURS]
    titles = {"set": "chose the candidates", "judged": "only judge", "fresh": "only judge, named last"}
    body = []
    for group, problems in raw["errors"].items():
        for rival in rivals:
            logs = log_ratios(problems, OURS, rival)
            body.append(
                [
                    f"{len(problems)} that {titles[group]}",
                    rival,
                    common.ratio_with_interval(logs, 2),
                    f"{math.exp(logs.max()):.2f}",
                ]
            )
    lines += [*common.rows(("problems", "rival", "ratio of errors", "worst"), body, left=2), ""]
    for group, problems in raw["errors"].items():
        body = []
        for name, seeds in problems.items():
            errors = {each: float(np.exp(np.mean([math.log(s[each]["error"]) for s in seeds]))) for each in METHODS}
            least = min(errors.values())
            cells = [f"**{error:.3g}**" if error == least else f"{error:.3g}" for error in errors.values()]
            body.append([name, *cells])
        lines += [f"## Problems that {titles[group]}: errors", "", *common.rows(("problem", *METHODS), body), ""]
    seconds = [
        [name, f"{np.median([each[name]['seconds'] for seeds in problems.values() for each in seeds]):.3f}"]
        for problems in [{key: value for group in raw["errors"].values() for key, value in group.items()}]
        for name in METHODS
    ]
    lines += ["## Cost", "", "Median seconds of a fit and a prediction, one core for linear algebra.", ""]
    lines += [*common.rows(("method", "seconds"), seconds), ""]
    lines += ["A fit that chooses, over a fit of the chosen network (the fastest of some, in turns).", ""]
    body = [
        [each["problem"], str(each["units"]), f"{each['alone'] * 1e3:.0f}", f"{each['chooses'] / each['alone']:.1f}"]
        for each in raw["seconds"]
    ]
    lines += [*common.rows(("problem", "neurons", "chosen network, ms", "times"), body), ""]
    first = raw["first_call"]
    body = [
        [name, f"{first[key]['seconds']:.2f}", f"{first[key]['mib']:.0f}"]
        for name, key in (("chooses", "chooses"), ("leak rate and input scaling given", "alone"))
    ]
    lines += [f"The first fit in a new process, import included, {first['steps']:,} steps.", ""]
    lines += [*common.rows(("fit", "seconds", "largest memory, MiB"), body), ""]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("regressor", __doc__, measure, table, arguments=arguments, libraries=("scikit-learn", "reservoirpy"))


if __name__ == "__main__":
    main()
