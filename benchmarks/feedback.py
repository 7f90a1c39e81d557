"""Series that a network generates freely from its own outputs: how close do 1,000 steps stay to the truth?

    sum of sines    four sines without a common period; 1,100 steps to learn from
    Mackey-Glass    delay 17, chaotic; 3,100 steps to learn from

Networks of as many neurons hear their last output and nothing else. Leak rate, spectral radius, feedback and bias scaling are
the same for all, set by hand for each series. Ours chooses its ridge penalty by folds of the training data. reservoirpy feeds
back with `<<`; of its ridge penalties the one with the least error of the very run that is judged counts, which favours it.
The same favour is shown to one of ours. Both hear standardised targets; weights are uniform in [-1, 1] and dense, and W has
ten weights in a row.

    python benchmarks/feedback.py            five minutes
    python benchmarks/feedback.py --quick    one small network, seconds

Needs reservoirpy; without it that rival is left out, which the table says.
"""

from __future__ import annotations

import argparse
import importlib.util
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import common
import numpy as np
import numpy.typing as npt

import echoscale as es
from echoscale.data.scaling import Scaling

Floats = npt.NDArray[np.float64]

FREQUENCIES = (0.2, 0.311, 0.42, 0.51)
WASHOUT, THRESHOLD = 100, 0.4
RIDGES = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
OURS = {
    "echoscale": {},
    "echoscale, states alone": {"columns": es.readouts.Columns(0)},
}
BEST = "echoscale, states alone, best penalty"
RIVAL = "reservoirpy"


class Series(NamedTuple):
    """make(steps, seed) -> (T, 1); steps to learn from; leak rate, spectral radius, bias and feedback scaling."""

    name: str
    make: Callable[[int, int], Floats]
    train: int
    leak_rate: float
    spectral_radius: float
    bias: float
    feedback: float


def sines(steps: int, seed: int) -> Floats:
    """The sum of four sines, with phases drawn from the seed, (T, 1)."""
    phases = np.random.default_rng(seed).uniform(0, 2 * np.pi, len(FREQUENCIES))
    return np.asarray(np.sin(np.outer(np.arange(steps), FREQUENCIES) + phases).sum(axis=1)[:, None])


def mackey_glass(steps: int, seed: int) -> Floats:
    """The series itself, (T, 1)."""
    return np.asarray(es.tasks.mackey_glass(steps, seed)[0])


ALL = (
    Series("sum of sines", sines, 1100, 1.0, 0.9, 0.5, 0.1),
    Series("Mackey-Glass", mackey_glass, 3100, 0.5, 0.9, 0.5, 0.3),
)


def ours(series: Series, y: Floats, units: int, seed: int, options: dict[str, Any]) -> Floats:
    """The steps after the training data, from the network's own outputs."""
    network = es.single(
        units,
        leak_rate=series.leak_rate,
        spectral_radius=series.spectral_radius,
        input_scaling=0.1,
        bias_scaling=series.bias,
        feedback_scaling=series.feedback,
    )
    model = es.ESNRegressor(network=network, washout=WASHOUT, dtype="float64", random_state=seed, **options)
    constant = np.ones(len(y))  # no input: what is constant becomes 0
    model.fit(constant[: series.train], y[: series.train])
    return np.asarray(model.predict(constant[series.train :], state=model.state_))


def reservoirpys(series: Series, y: Floats, units: int, seed: int, ridge: float) -> Floats:
    """The same by reservoirpy: after `fit`, `run` carries on from the last state and the last target."""
    from reservoirpy.nodes import Reservoir, Ridge

    rng = np.random.default_rng(seed)
    scaling = Scaling.of([y[: series.train]])
    nothing = np.zeros((len(y), 1))
    reservoir = Reservoir(
        units,
        lr=series.leak_rate,
        sr=series.spectral_radius,
        rc_connectivity=10 / units,
        Win=rng.uniform(-1, 1, (units, 2)) * [0.0, series.feedback],
        bias=rng.uniform(-1, 1, units) * series.bias,
        seed=seed,
    )
    readout = Ridge(ridge=ridge)
    model = (reservoir >> readout) & (reservoir << readout)
    model.fit(nothing[: series.train], scaling.forward(y[: series.train]), warmup=WASHOUT)
    return scaling.back(np.asarray(model.run(nothing[series.train :])))


def judged(truth: Floats, found: Floats, spread: Floats) -> tuple[float, float]:
    """NRMSE, at most 1,000, and valid time in steps."""
    error = es.nrmse(truth, np.clip(np.nan_to_num(found, nan=1e6), -1e6, 1e6))
    return min(error, 1e3), float(es.valid_time(truth, found, threshold=THRESHOLD, spread=spread))


def outcomes(series: Series, steps: int, units: int, seed: int, rival: bool) -> list[dict[str, Any]]:
    """All ways with one seed, which draws the series and the weights."""
    y = series.make(series.train + steps, seed)
    truth, spread, found = y[series.train :], y[: series.train].std(axis=0), []

    def run(way: str, generated: Callable[[], Floats]) -> dict[str, Any]:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            error, held = judged(truth, generated(), spread)
        return {"way": way, "nrmse": error, "valid": held}

    def best(way: str, generated: Callable[[float], Floats]) -> dict[str, Any]:
        tried = [{**run(way, partial(generated, ridge)), "ridge": ridge} for ridge in RIDGES]
        return min(tried, key=lambda each: each["nrmse"])

    for name, options in OURS.items():
        found.append(run(name, partial(ours, series, y, units, seed, options)))
    found.append(best(BEST, lambda ridge: ours(series, y, units, seed, {"columns": es.readouts.Columns(0), "ridge": ridge})))
    if rival:
        found.append(best(RIVAL, partial(reservoirpys, series, y, units, seed)))
    return [{"series": series.name, "seed": seed, **each} for each in found]


def measure(options: argparse.Namespace) -> common.Raw:
    """Every series and seed."""
    steps, units, seeds = (50, 30, 1) if options.quick else (1000, 300, options.seeds)
    rival = importlib.util.find_spec(RIVAL) is not None
    found: list[dict[str, Any]] = []
    for series in ALL[:1] if options.quick else ALL:
        for seed in range(seeds):
            found += outcomes(series, steps, units, seed, rival)
            common.say(", ".join(f"{each['way']} {each['nrmse']:.2g}" for each in found[-len(OURS) - 1 - rival :]))
    return {"steps": steps, "units": units, "seeds": seeds, "rival": rival, "ridges": RIDGES, "outcomes": found}


def table(raw: common.Raw) -> str:
    """Medians over the seeds."""
    body = []
    for name in dict.fromkeys(each["series"] for each in raw["outcomes"]):
        for way in dict.fromkeys(each["way"] for each in raw["outcomes"]):
            runs = [each for each in raw["outcomes"] if (each["series"], each["way"]) == (name, way)]
            errors = [each["nrmse"] for each in runs]
            held = common.mean_and_error([each["valid"] for each in runs], 0)
            label = "reservoirpy, best penalty" if way == RIVAL else way
            body.append([name, label, f"{common.median(errors):.1e}", f"{max(errors):.1e}", held])
    head = ("series", "network", "NRMSE, median", "worst", "valid steps")
    lines = [
        "# Series generated from a network's own outputs",
        "",
        common.origin(raw),
        "",
        f"{raw['steps']} steps after the training data, {raw['units']} neurons, {raw['seeds']} seeds for series and weights. "
        f"Valid steps: until the error exceeds {THRESHOLD} standard deviations, mean ± standard error, at most {raw['steps']}. "
        "Errors above 1,000 are shown as 1,000. The readout of `echoscale` sees the last 13 fed-back outputs beside the "
        "states, that of the others the states alone. Best penalty: the one of "
        f"{', '.join(f'{each:g}' for each in raw['ridges'])} with the least error of the run that is judged; otherwise folds "
        "of the training data choose it." + ("" if raw["rival"] else " reservoirpy was not installed: that rival is missing."),
        "",
        *common.rows(head, body, left=2),
        "",
    ]
    return "\n".join(lines)


def extend(parser: argparse.ArgumentParser) -> None:
    """How many seeds."""
    parser.add_argument("--seeds", type=int, default=10)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("feedback", __doc__, measure, table, arguments=arguments, libraries=(RIVAL,), extend=extend)


if __name__ == "__main__":
    main()
