"""Free-running forecasts: how long do they hold? Networks tuned for free runs, for the next step, by hand, and by Optuna.

    Lorenz, Mackey-Glass, Kuramoto-Sivashinsky (ring of 22)   valid time: until the error exceeds 0.4 standard deviations, in
                                                              Lyapunov times; mean over 20 origins after the training data
    MSO8                                                      NRMSE of 300 steps after 100 to wash out and 400 to train

One seed draws series and weights. All networks of a system have as many neurons, and readouts by ridge regression, solved
exactly. `tune` sees the training data alone. reservoirpy with Optuna's TPE searches leak rate, spectral radius, input and bias
scaling and ridge for the least error of free runs on the last fifth of the training data, from the numbers set by hand on and
with as many inputs to a neuron, for as many seconds as `tune(closed_loop=...)` took; its free runs are made in NumPy with its
matrices, all origins at once: faster than its own. What was set here (steps of free runs, sparse inputs, the networks by hand)
was set on seeds from 10 on, which are not reported.

    python benchmarks/closed_loop.py --processes 2    resumes from --folder; all but the largest system: 7 minutes
    JAX_PLATFORMS=cpu python benchmarks/closed_loop.py --processes 16 --systems Lorenz Mackey-Glass MSO8 Kuramoto-Sivashinsky
    python benchmarks/closed_loop.py --quick          one small system, seconds

Needs reservoirpy and optuna; without them that rival is left out, which the table says.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np
import numpy.typing as npt

import echoscale as es
from echoscale.data.scaling import Scaling

Floats = npt.NDArray[np.float64]

LIMIT = 0.4  # of the standard deviation: a forecast is valid until then
WARM, ORIGINS = 200, 20
SINES = (0.2, 0.331, 0.42, 0.51, 0.63, 0.74, 0.85, 0.97)
HAND, NEXT, CLOSED, RIVAL = "hand", "next step", "closed loop", "reservoirpy with Optuna"
# Run on request; each way is a job of its own, but for the next step, whose slopes take longer than all others together.
LARGE = ("Kuramoto-Sivashinsky",)


class System(NamedTuple):
    """make(steps, seed) -> (T, F); how it is trained and judged; hand: a network and a ridge penalty set by hand.

    rate     Lyapunov times per step; None: the error of one forecast counts
    forecast steps of a judged forecast; free: of those that `tune` runs
    budget   seconds that Optuna has where it runs beside `tune`, not after it: more than that takes
    """

    name: str
    make: Callable[[int, int], Floats]
    train: int
    test: int
    washout: int
    rate: float | None
    forecast: int
    free: int
    hand: es.Network
    ridge: float
    starts: int = 4
    rounds: int = 15
    budget: float | None = None


def sines(steps: int, seed: int) -> Floats:
    """The sum of eight sines whose frequencies have no common measure, (T, 1)."""
    return np.asarray(np.sin(np.outer(np.arange(steps), SINES)).sum(axis=1)[:, None])


SYSTEMS = (
    System(
        "Lorenz",
        lambda steps, seed: es.tasks.lorenz(steps, seed)[0],
        3000,
        8000,
        100,
        0.02 * 0.906,
        1000,
        400,
        es.single(200, leak_rate=0.6, spectral_radius=0.9, input_scaling=0.1, bias_scaling=0.3),
        1e-7,
    ),
    System(
        "Mackey-Glass",
        lambda steps, seed: es.tasks.mackey_glass(steps, seed)[0],
        3000,
        8000,
        100,
        0.006,
        2000,
        400,
        # One neuron in ten hears the input, as is reservoirpy's default.
        es.single(200, leak_rate=0.3, spectral_radius=0.9, input_scaling=1.0, bias_scaling=0.3, input_connections=0.1),
        1e-7,
    ),
    System(
        "Kuramoto-Sivashinsky",
        lambda steps, seed: es.tasks.kuramoto_sivashinsky(steps, seed)[0],
        10_000,
        8000,
        100,
        0.25 * 0.043,
        800,
        250,
        # Every neuron hears one place of the ring (Pathak et al. 2017).
        es.single(500, leak_rate=1.0, spectral_radius=0.25, input_scaling=0.3, bias_scaling=1.5, input_connections=1),
        1e-7,
        budget=380.0,
    ),
    System(
        "MSO8",
        sines,
        500,
        300,
        100,
        None,
        300,
        40,
        es.single(100, leak_rate=1.0, spectral_radius=0.99, input_scaling=0.001, topology="delay_line"),
        1e-14,
    ),
)
QUICK = SYSTEMS[1]._replace(
    train=500, test=900, forecast=100, free=20, hand=es.single(20, leak_rate=0.3, input_scaling=0.3), starts=1, rounds=1
)


def fitted(states: Floats, targets: Floats, ridge: float) -> tuple[Floats, Floats]:
    """Ridge weights (F, O) and intercept (O,) by singular values: the Gram matrix would lose half of the digits."""
    mean, middle = states.mean(axis=0), targets.mean(axis=0)
    left, s, right = np.linalg.svd(states - mean, full_matrices=False)
    shrunk = np.divide(s, s**2 + ridge, out=np.zeros_like(s), where=s > 1e-15 * s[0])
    W = right.T @ (shrunk[:, None] * (left.T @ (targets - middle)))
    return W, middle - mean @ W


def judged(system: System, x: Floats, units: Scaling, run: Callable[[Floats], Floats], step: Any, ridge: float) -> float:
    """The mean valid time of free runs after training, in Lyapunov times; without a rate, the NRMSE of the first.

    run   series (T, F) or (B, T, F) in units of the network -> states
    step  (states (B, N), inputs (B, F)) -> states
    """
    z, train = units.forward(x), system.train
    W, b = fitted(run(z[: train - 1])[system.washout :], z[system.washout + 1 : train], ridge)
    if system.rate is None:
        starts, warm = np.array([train - 1]), train - 1
    else:
        starts, warm = np.linspace(train + WARM, len(x) - system.forecast - 1, ORIGINS).astype(int), WARM
    state = run(np.stack([z[s - warm : s + 1] for s in starts]))[:, -1]
    truth = np.stack([z[s + 1 : s + 1 + system.forecast] for s in starts])
    found = free_run(state, step, W, b, system.forecast)
    if system.rate is None:
        return float(np.sqrt(np.mean((found - truth) ** 2) / truth.var()))
    return float(np.mean(es.valid_time(truth, found, threshold=LIMIT, lyapunov=system.rate, spread=1.0)))


def free_run(state: Floats, step: Any, W: Floats, b: Floats, steps: int) -> Floats:
    """(B, steps, F)."""
    found = np.empty((len(state), steps, len(b)))
    with np.errstate(over="ignore", invalid="ignore"):
        for h in range(steps):
            found[:, h] = np.clip(state @ W + b, -1e6, 1e6)
            state = step(state, found[:, h])
    return found


def ours(network: es.Network, ridge: float, system: System, x: Floats, seed: int) -> float:
    """One of our networks, judged."""
    esn = network.build(x.shape[1], seed=seed, dtype="float64")
    m = esn.matrices()

    def step(state: Floats, u: Floats) -> Floats:
        return np.asarray((1 - m.leak_rate) * state + m.leak_rate * np.tanh((m.W @ state.T).T + u @ m.W_in.T + m.bias))

    return judged(system, x, Scaling.of([x[: system.train]]), lambda z: np.asarray(esn.run(z)), step, ridge)


def optuna_and_reservoirpy(system: System, x: Floats, seed: int, seconds: float) -> tuple[float, int]:
    """TPE for so many seconds; the best trial judged, and how many there were."""
    import optuna
    from reservoirpy.nodes import Reservoir

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    units, features = system.hand.units, x.shape[1]
    scaling = Scaling.of([x[: system.train]])
    z = scaling.forward(x)
    cut = system.train - max((system.train - system.washout) // 5, system.free + 10)
    starts = np.linspace(cut, system.train - system.free - 1, ORIGINS).astype(int)

    connections = system.hand.reservoirs[0].input_connections

    def network(p: dict[str, float]) -> tuple[Callable[[Floats], Floats], Any]:
        heard: dict[str, Any] = {} if connections is None else {"input_connectivity": connections}
        if isinstance(connections, int):  # so many inputs to each neuron: reservoirpy draws shares alone
            rng = np.random.default_rng(seed)
            places = np.argsort(rng.random((units, features)), axis=1)[:, :connections]
            given = np.zeros((units, features))
            np.put_along_axis(given, places, p["input_scaling"] * rng.choice([-1.0, 1.0], places.shape), axis=1)
            heard = {"Win": given}
        node = Reservoir(
            units,
            lr=p["lr"],
            sr=p["sr"],
            input_scaling=p["input_scaling"],
            bias=p["bias"],
            rc_connectivity=0.1,
            **heard,
            seed=seed,
        )
        node.run(np.zeros((2, features)))  # draws the weights
        W, W_in, bias = (
            each.toarray() if hasattr(each, "toarray") else np.asarray(each) for each in (node.W, node.Win, node.bias)
        )

        def step(state: Floats, u: Floats) -> Floats:
            return np.asarray((1 - p["lr"]) * state + p["lr"] * np.tanh(state @ W.T + u @ W_in.T + np.ravel(bias)))

        def run(u: Floats) -> Floats:
            batch = np.atleast_3d(u) if u.ndim == 3 else u[None]
            state, rows = np.zeros((len(batch), units)), np.empty((len(batch), batch.shape[1], units))
            for t in range(batch.shape[1]):
                state = rows[:, t] = step(state, batch[:, t])
            return rows if u.ndim == 3 else rows[0]

        return run, step

    def objective(trial: Any) -> float:
        p = {
            "lr": trial.suggest_float("lr", 0.05, 1.0),
            "sr": trial.suggest_float("sr", 0.05, 1.5),
            "input_scaling": trial.suggest_float("input_scaling", 1e-3, 10.0, log=True),
            "bias": trial.suggest_float("bias", 1e-2, 4.0, log=True),
        }
        ridge = trial.suggest_float("ridge", 1e-12, 1.0, log=True)
        run, step = network(p)
        states = run(z[: system.train - 1])
        W, b = fitted(states[system.washout : cut], z[system.washout + 1 : cut + 1], ridge)
        found = free_run(states[starts], step, W, b, system.free)
        d = ((found - np.stack([z[s + 1 : s + 1 + system.free] for s in starts])) ** 2).mean(axis=2)
        return float(np.mean(d / (1 + d)))

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    hand = system.hand.reservoirs[0]
    study.enqueue_trial(
        {
            "lr": hand.leak_rate,
            "sr": hand.spectral_radius,
            "input_scaling": hand.input_scaling,
            "bias": max(hand.bias_scaling, 1e-2),
            "ridge": max(system.ridge, 1e-12),
        }
    )
    study.optimize(objective, timeout=seconds)
    best = dict(study.best_params)
    ridge = best.pop("ridge")
    return judged(system, x, scaling, *network(best), ridge), len(study.trials)


def outcome(name: str, seed: int, ways: Sequence[str], quick: bool) -> common.Arrays:
    """Some ways on one system with one seed."""
    system = QUICK if quick else next(each for each in SYSTEMS if each.name == name)
    x = system.make(system.train + system.test + 1, seed)
    known = x[: system.train]
    found: dict[str, Any] = {}
    if HAND in ways:
        found[HAND] = ours(system.hand, system.ridge, system, x, seed)
    for way, steps in ((NEXT, None), (CLOSED, system.free)):
        if way not in ways:
            continue
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tuned = es.tune(
                system.hand,
                known[:-1],
                known[1:],
                seed=seed,
                starts=system.starts,
                rounds=system.rounds,
                washout=system.washout,
                closed_loop=steps,
                floor=0.0,  # these series have no noise, and forecasts run in float64
            )
        found[f"{way}, seconds"] = time.perf_counter() - began
        found[f"{way}, helped"] = tuned.helped
        found[way] = ours(tuned.network, tuned.ridge, system, x, seed)
    if RIVAL in ways:
        seconds = system.budget if system.budget is not None else found[f"{CLOSED}, seconds"]
        found[RIVAL], found["trials"] = optuna_and_reservoirpy(system, x, seed, seconds)
    return {key: np.array([each], np.float64) for key, each in found.items()}


def measure(options: argparse.Namespace) -> common.Raw:
    """Every system and seed."""
    seeds = list(range(1 if options.quick else options.seeds))
    rival = all(importlib.util.find_spec(name) for name in ("reservoirpy", "optuna"))
    systems = [QUICK] if options.quick else [each for each in SYSTEMS if each.name in options.systems]
    ways = (HAND, NEXT, CLOSED, *([RIVAL] if rival else []))
    jobs = {
        ", ".join([system.name, str(seed), *part]): {"name": system.name, "seed": seed, "ways": part, "quick": options.quick}
        # The longest first.
        for system in sorted(systems, key=lambda each: each.name not in LARGE)
        for seed in seeds
        for part in ([(way,) for way in reversed(ways) if way != NEXT] if system.name in LARGE else [ways])
    }
    folder, processes = (None, 0) if options.quick else (options.folder, options.processes)
    done = common.resumed(outcome, jobs, folder, processes, options.minutes)
    found: dict[tuple[str, int], common.Raw] = {}
    for key, each in done.items():
        place = jobs[key]["name"], jobs[key]["seed"]
        found.setdefault(place, {"system": place[0], "seed": place[1]}).update(
            {name: values[0] for name, values in each.items()}
        )
    settings = {
        each.name: {
            "neurons": each.hand.units,
            "train": each.train,
            "free": each.free,
            "lyapunov": each.rate,
            "budget": each.budget,
        }
        for each in systems
    }
    small = {each.name for each in SYSTEMS} - set(LARGE)
    complete = len(done) == len(jobs) and (options.quick or small <= {each.name for each in systems})
    outcomes = [found[system.name, seed] for system in systems for seed in seeds if (system.name, seed) in found]
    return {"settings": settings, "seeds": seeds, "rival": rival, "outcomes": outcomes, "complete": complete}


def table(raw: common.Raw) -> str:
    """Means over the seeds; of MSO8 medians."""
    ways = [HAND, *([RIVAL] if raw["rival"] else []), NEXT, CLOSED]
    head = ("system", "neurons", "by hand", *([RIVAL] if raw["rival"] else []), "`tune`, next step", "`tune(closed_loop=…)`")
    body = []
    for name, settings in raw["settings"].items():
        runs = [each for each in raw["outcomes"] if each["system"] == name]
        columns = [[run[way] for run in runs if way in run] for way in ways]
        if settings["lyapunov"] is None:
            cells, what = [f"{np.median(each):.1e}" for each in columns], "NRMSE of 300 steps, median"
        else:
            cells, what = [common.mean_and_error(each, 2) for each in columns], "valid time"
        body.append([f"{name}: {what}", str(settings["neurons"]), *cells])
    seconds = [each[f"{CLOSED}, seconds"] for each in raw["outcomes"] if each["system"] not in LARGE]
    large = [each for each in raw["outcomes"] if each["system"] in LARGE]
    note = ""
    if large and raw["rival"]:
        took, trials = [each[f"{CLOSED}, seconds"] for each in large], [each["trials"] for each in large]
        note = (
            f" On {LARGE[0]} it took {min(took):.0f} to {max(took):.0f} s on one core, and Optuna had "
            f"{raw['settings'][LARGE[0]]['budget']:.0f} s ({min(trials):.0f} to {max(trials):.0f} trials)."
        )
    lines = [
        "# Free-running forecasts",
        "",
        common.origin(raw),
        "",
        f"{len(raw['seeds'])} seeds for series and weights. Valid time: until the error exceeds {LIMIT} standard deviations, "
        f"in Lyapunov times, mean over {ORIGINS} origins (more is better), ± standard error over the seeds. "
        f"`tune(closed_loop=…)` took {min(seconds):.0f} to {max(seconds):.0f} s"
        + (
            f", and Optuna as long.{note}"
            if raw["rival"]
            else ". reservoirpy or optuna is not installed: that rival is missing."
        ),
        "",
        *common.rows(head, body),
        "",
    ]
    return "\n".join(lines)


def extend(parser: argparse.ArgumentParser) -> None:
    """Which systems and how many seeds."""
    parser.add_argument(
        "--systems",
        nargs="+",
        default=[each.name for each in SYSTEMS if each.name not in LARGE],
        choices=[each.name for each in SYSTEMS],
        help="default: all but the largest",
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=common.HERE.parent / "out" / "closed_loop", help="resumes from it")
    parser.add_argument("--processes", type=int, default=1, help="jobs at a time, each on one core (default 1)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no job after so long")


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main(
        "closed_loop", __doc__, measure, table, arguments=arguments, libraries=("reservoirpy", "optuna"), extend=extend
    )


if __name__ == "__main__":
    main()
