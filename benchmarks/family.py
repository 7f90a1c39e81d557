"""One equation, the whole family: the models of docs/family.md on three tasks, with the same tuning budget.

    NARMA10                     the next value of an equation of order 10
    averages                    half slow averages of a fast product, half squares of slow averages, 3 and 30 steps long
    Mackey-Glass                84 steps ahead

Every readout sees 100 states. Inputs are standardised. For every model and task, so many random points are drawn from the
ranges below; the point and the ridge penalty (at least 1e-8, relative) with the least validation error on draw 0 are kept, and
judged on other draws of series and weights.

    python benchmarks/family.py            10 core-minutes; resumes from --folder
    python benchmarks/family.py --quick    seconds
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np
import numpy.typing as npt
import scipy.linalg

import echoscale as es

Floats = npt.NDArray[np.float64]
Numbers = dict[str, float]

WASHOUT, TRAIN, VALID, TEST = 100, 1900, 1000, 2000  # steps, one after another
PENALTIES = np.logspace(-8, 0, 17)  # times the mean squared state
UNITS, POINTS = 100, 60
CHOOSES, JUDGE = 0, (11, 12, 13, 14, 15)  # draws of series and weights
HORIZON, TIMESCALES = 84, (3.0, 30.0)
LONGEST = 10  # stride of NVAR
OWN: dict[str, Any] = {"normalise": False, "spectral_radius": 1.0}  # matrices as they are

TASKS: dict[str, Callable[[int, int], tuple[Floats, Floats]]] = {
    "NARMA10": lambda steps, seed: es.tasks.narma(steps, order=10, seed=seed),
    "averages": lambda steps, seed: es.tasks.averages(steps, seed, timescales=TIMESCALES, inside=0.5),
    "Mackey-Glass": lambda steps, seed: es.tasks.mackey_glass(steps, seed, horizon=HORIZON),
}


class Range(NamedTuple):
    """Values of a number: log-uniform, or uniform in its logarithm's place."""

    low: float
    high: float
    log: bool = True

    def value(self, share: float) -> float:
        """The value at a share of the range, from 0 to 1."""
        return self.low * (self.high / self.low) ** share if self.log else self.low + (self.high - self.low) * share


class Model(NamedTuple):
    """describe(n, rng, numbers) -> network; `read`: the states that the readout sees, and whether also all their products."""

    name: str
    describe: Callable[[int, np.random.Generator, Numbers], es.Network]
    ranges: dict[str, Range]
    read: Callable[[int, Numbers], tuple[slice, bool]] = lambda n, p: (slice(None), False)


LEAK, RADIUS, GAIN, BIAS = Range(0.01, 1.0), Range(0.1, 1.0, log=False), Range(0.01, 2.0), Range(0.01, 1.0)
USUAL = {"rho": RADIUS, "gain": GAIN, "bias": BIAS}


def leaky(n: int, rng: np.random.Generator, p: Numbers) -> es.Network:
    return es.single(n, leak_rate=p["leak"], spectral_radius=p["rho"], input_scaling=p["gain"], bias_scaling=p["bias"])


def all_inputs(n: int, rng: np.random.Generator, p: Numbers) -> es.Network:
    return es.hierarchical(
        [n // 2, n - n // 2],
        leak_rate=[p["leak"], p["slow"]],
        spectral_radius=p["rho"],
        input_scaling=p["gain"],
        bias_scaling=p["bias"],
        coupling=p["coupling"],
        inputs="all",
    )


def deep(n: int, rng: np.random.Generator, p: Numbers) -> es.Network:
    return es.hierarchical(
        [n // 4] * 3 + [n - 3 * (n // 4)],
        leak_rate=p["leak"],
        spectral_radius=p["rho"],
        input_scaling=p["gain"],
        bias_scaling=p["bias"],
        coupling=p["coupling"],
        inputs="first",
        coupling_delay=0,
    )


def es2n(n: int, rng: np.random.Generator, p: Numbers) -> es.Network:
    return es.single(
        n,
        leak_rate=p["leak"],
        residual="orthogonal",
        spectral_radius=p["rho"],
        input_scaling=p["gain"],
        bias_scaling=p["bias"],
    )


def residual(n: int, rng: np.random.Generator, p: Numbers) -> es.Network:
    return es.single(
        n,
        leak_rate=1 - p["alpha"],
        residual="shift",
        topology=p["rho"] * p["beta"] / (1 - p["alpha"]) * radius_one(rng.normal(size=(n, n))),
        input_scaling=p["gain"],
        bias_scaling=p["bias"],
        **OWN,
    )


def euler(n: int, rng: np.random.Generator, p: Numbers) -> es.Network:
    W = p["omega"] * rng.uniform(-1, 1, (n, n))
    return es.Network(
        [
            es.Reservoir(n, spectral_radius=0, input_scaling=p["gain"], bias_scaling=p["bias"]),
            es.Reservoir(n, topology=np.eye(n), activation="identity", input_scaling=0, **OWN),
        ],
        [es.Coupling(1, 0, topology=W - W.T - p["gamma"] * np.eye(n)), es.Coupling(0, 1, p["step"], topology=np.eye(n))],
        coupling_delay=0,
    )


def memory(n: int, rng: np.random.Generator, p: Numbers) -> es.Network:
    """The published ring has weight 1 and never forgets: along thousands of steps it needs a weight below 1."""
    m = n // 2
    ring = p["ring"] * np.roll(np.eye(m), 1, axis=0)
    return es.Network(
        [
            es.Reservoir(m, topology=ring, activation="identity", input_scaling=p["gain"], **OWN),
            es.Reservoir(n - m, leak_rate=p["leak"], spectral_radius=p["rho"], input_scaling=p["gain"], bias_scaling=p["bias"]),
        ],
        [es.Coupling(0, 1, strength=p["coupling"], normalisation="sqrt_connections")],
    )


def line(n: int, rng: np.random.Generator, p: Numbers) -> es.Network:
    signs = rng.choice([-1.0, 1.0], n)
    return es.single(
        n, topology=p["rho"] * np.eye(n, k=-1), input_weights=signs, input_scaling=p["gain"], bias_scaling=p["bias"], **OWN
    )


def delayed(n: int, rng: np.random.Generator, p: Numbers) -> es.Network:
    kept = np.exp(-p["theta"])
    nodes = np.arange(n)
    along = np.tril((1 - kept) * kept ** np.maximum(nodes[:, None] - nodes, 0))
    around = np.zeros((n, n))
    around[:, -1] = kept ** (nodes + 1)
    return es.Network(
        [
            es.Reservoir(
                n, spectral_radius=0, input_weights=rng.choice([-1.0, 1.0], n), input_scaling=p["gain"], bias_scaling=p["bias"]
            ),
            es.Reservoir(n, topology=around, activation="identity", input_scaling=0, **OWN),
        ],
        [es.Coupling(1, 0, strength=p["rho"], topology=np.eye(n)), es.Coupling(0, 1, topology=along)],
        coupling_delay=0,
    )


def legendre(n: int, rng: np.random.Generator, p: Numbers) -> es.Network:
    q = n // 2
    A, B = legendre_memory(q, p["theta"])
    return es.Network(
        [
            es.Reservoir(q, topology=A, input_weights=B, activation="identity", **OWN),
            es.Reservoir(n - q, spectral_radius=p["rho"], input_scaling=p["gain"], bias_scaling=p["bias"]),
        ],
        [es.Coupling(0, 1, strength=p["coupling"], normalisation="sqrt_connections")],
        coupling_delay=0,
    )


def nvar(n: int, rng: np.random.Generator, p: Numbers) -> es.Network:
    """One line for all points, as long as the longest, so that all run in one compiled program."""
    k = max(n, LONGEST * quadratic_lags(n))
    return es.single(k, topology=np.eye(k, k=-1), input_weights=np.eye(k)[0], activation="identity", **OWN)


def quadratic_lags(n: int) -> int:
    """The largest k with k lags and k (k + 1) / 2 products in n columns."""
    return int((np.sqrt(8 * n + 9) - 3) / 2)


def window(n: int, p: Numbers) -> tuple[slice, bool]:
    """k lags and their products, a stride apart; or k lags in succession."""
    products = p["degree"] > 1.5
    stride = round(p["stride"]) if products else 1
    k = max(round((quadratic_lags(n) if products else n) * p["lags"]), 1)
    return slice(None, k * stride, stride), products


def legendre_memory(q: int, theta: float) -> tuple[Floats, Floats]:
    """A and B of m(t) = A m(t-1) + B u(t): q Legendre coefficients of the last theta steps, with zero-order hold."""
    i, j = np.mgrid[:q, :q]
    whole = np.zeros((q + 1, q + 1))
    whole[:q, :q] = (2 * i + 1) / theta * np.where(i < j, -1.0, (-1.0) ** (i - j + 1))
    whole[:q, q] = (2 * np.arange(q) + 1) / theta * (-1.0) ** np.arange(q)
    held = scipy.linalg.expm(whole)
    return held[:q, :q], held[:q, q]


def radius_one(W: Floats) -> Floats:
    """The matrix, divided by its spectral radius."""
    return np.asarray(W / np.abs(np.linalg.eigvals(W)).max())


def second(n: int, p: Numbers) -> tuple[slice, bool]:
    """The second level alone."""
    return slice(n, None), False


MODELS = (
    Model("leaky ESN", leaky, {"leak": LEAK, **USUAL}),
    Model("hierarchical, input to all", all_inputs, {"leak": LEAK, "slow": LEAK, "coupling": Range(0.01, 1.0), **USUAL}),
    Model("deep ESN", deep, {"leak": LEAK, "coupling": Range(0.01, 1.0), **USUAL}),
    Model("ES2N", es2n, {"leak": LEAK, **USUAL}),
    Model("ResESN", residual, {"alpha": Range(0.0, 0.99, log=False), "beta": LEAK, **USUAL}),
    Model(
        "EuSN",
        euler,
        {"step": LEAK, "omega": Range(0.001, 1.0), "gamma": Range(0.01, 1.0), "gain": GAIN, "bias": BIAS},
        second,
    ),
    Model("RMN", memory, {"leak": LEAK, "coupling": Range(0.01, 1.0), "ring": Range(0.9, 0.999, log=False), **USUAL}),
    Model("delay line", line, USUAL),
    Model("time-delayed node", delayed, {"theta": Range(0.05, 3.0), **USUAL}, second),
    Model("Legendre memory", legendre, {"theta": Range(3.0, 100.0), "coupling": Range(0.01, 1.0), **USUAL}),
    Model(
        "NVAR",
        nvar,
        {"lags": Range(0.05, 1.0, log=False), "degree": Range(1.0, 2.0, log=False), "stride": Range(1.0, LONGEST)},
        window,
    ),
)


def columns(model: Model, n: int, numbers: Numbers, u: Floats, seed: int) -> Floats:
    """What the readout sees, (T, columns)."""
    network = model.describe(n, np.random.default_rng(seed), numbers)
    where, products = model.read(n, numbers)
    x = np.asarray(network.build(1, seed=seed, dtype="float64").run(u))[:, where]
    first, other = np.triu_indices(x.shape[1])
    return np.concatenate([x, x[:, first] * x[:, other]], axis=1) if products else x


def errors(x: Floats, y: Floats, train: slice, test: slice, penalties: Floats) -> Floats:
    """NRMSE of ridge regression for every penalty, from the eigenvalues of the covariance."""
    middle, mean = x[train].mean(axis=0), y[train].mean()
    z, wanted = x[train] - middle, y[train] - mean
    values, vectors = np.linalg.eigh(z.T @ z)
    along = vectors.T @ (z.T @ wanted)
    least = penalties[:, None] * values.mean()
    weights = vectors @ (along / (np.maximum(values, 0) + least)).T
    off = (x[test] - middle) @ weights + mean - y[test][:, None]
    return np.asarray(np.sqrt((off**2).mean(axis=0) / y[test].var()))


def outcome(name: str, task: str, points: int, draws: Sequence[int], units: int, share: float) -> common.Arrays:
    """One model on one task: the chosen point and penalty, its validation error and its test errors on other draws."""
    model = next(each for each in MODELS if each.name == name)
    train, valid, test = (round(share * steps) for steps in (TRAIN, VALID, TEST))
    begin, middle, end = WASHOUT, WASHOUT + train, WASHOUT + train + valid

    def data(draw: int) -> tuple[Floats, Floats]:
        u, y = TASKS[task](end + test, draw)
        return (u - u[:middle].mean()) / u[:middle].std(), y[:, 0]

    u, y = data(CHOOSES)
    search = np.random.default_rng(0)  # the same shares for all models
    best: tuple[float, Numbers, float] = (np.inf, {}, 0.0)
    for _ in range(points):
        shares = search.random(8)
        numbers = {key: each.value(share) for (key, each), share in zip(model.ranges.items(), shares, strict=False)}
        with np.errstate(over="ignore", invalid="ignore"):
            x = columns(model, units, numbers, u, CHOOSES)
        if not np.abs(x).max() < 1e6:  # also NaN: a memory that grows without bound
            continue
        found = errors(x, y, slice(begin, middle), slice(middle, end), PENALTIES)
        if found.min() < best[0]:
            best = float(found.min()), numbers, float(PENALTIES[found.argmin()])
    least, numbers, penalty = best
    judged = []
    for draw in draws:
        u, y = data(draw)
        x = columns(model, units, numbers, u, draw)
        judged.append(errors(x, y, slice(begin, end), slice(end, None), np.array([penalty]))[0])
    chosen = {key: np.array([value]) for key, value in numbers.items()}
    return {"valid": np.array([least]), "test": np.array(judged), "penalty": np.array([penalty]), **chosen}


def measure(options: argparse.Namespace) -> common.Raw:
    """Every model on every task."""
    size = (2, JUDGE[:2], 12, 0.1) if options.quick else (POINTS, JUDGE, UNITS, 1.0)
    points, draws, units, share = size
    tasks = ["NARMA10"] if options.quick else list(TASKS)
    jobs = {
        f"{model.name}, {task}": {
            "name": model.name,
            "task": task,
            "points": points,
            "draws": list(draws),
            "units": units,
            "share": share,
        }
        for model in MODELS
        for task in tasks
    }
    folder, processes = (None, 0) if options.quick else (options.folder, options.processes)
    done = common.resumed(outcome, jobs, folder, processes, options.minutes)
    outcomes = [{"model": jobs[key]["name"], "task": jobs[key]["task"], **each} for key, each in done.items()]
    settings = {"points": points, "draws": list(draws), "units": units, "steps": [WASHOUT, TRAIN, VALID, TEST], "tasks": tasks}
    numbers = {model.name: len(model.ranges) for model in MODELS}
    return {"settings": settings, "numbers": numbers, "outcomes": outcomes, "complete": len(done) == len(jobs)}


def table(raw: common.Raw) -> str:
    """Test errors, mean and standard error over the draws."""
    settings = raw["settings"]
    found = {(each["model"], each["task"]): each["test"] for each in raw["outcomes"]}
    body = [
        [name, str(count), *(common.mean_and_error(found.get((name, task), [])) for task in settings["tasks"])]
        for name, count in raw["numbers"].items()
    ]
    lines = [
        "# One equation, the whole family",
        "",
        common.origin(raw),
        "",
        f"Test NRMSE, ± standard error over {len(settings['draws'])} draws of series and weights. {settings['units']} columns "
        f"in every readout, {settings['points']} random points for every model and task, chosen on another draw.",
        "",
        *common.rows(("model", "numbers searched", *settings["tasks"]), body),
        "",
    ]
    return "\n".join(lines)


def extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, default=common.HERE.parent / "out" / "family", help="resumes from it")
    parser.add_argument("--processes", type=int, default=0, help="jobs at a time, each on one core (default: in this process)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no job after so long")


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("family", __doc__, measure, table, arguments=arguments, extend=extend)


if __name__ == "__main__":
    main()
