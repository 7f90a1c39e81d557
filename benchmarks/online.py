"""What does an online step cost, and does a long stream need more memory than a short one? Ratios measured in one run.

2 x 50 units, minibatch 10, both leak rates and W_out learned at every step. The plain step is a bare `lax.scan` over
`dynamics.step` with the same lanes and the same compiler options. On the telegraph task, with four outputs, the same rule in
NumPy takes turns with ours: as one writes it down from the paper (`online_plain`), and by hand for speed (`online_numpy`); a
test holds both to the same numbers. Jobs take turns, so that a noisy machine slows all alike.

    python benchmarks/online.py            about five minutes
    python benchmarks/online.py --quick    seconds
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import common
import jax
import numpy as np
from online_numpy import NumpyLearner, parts_of
from online_plain import PlainLearner

import echoscale as es
from echoscale.engine import dynamics
from echoscale.engine.devices import cores, one_thread
from echoscale.engine.hyper import Hyper
from echoscale.learning import PRESETS, RLS, OnlineLearner
from echoscale.learning.online import loop
from echoscale.learning.online import over_cores as groups

BATCH, LANES, STEPS, OUTPUTS, STARTS = 10, 16, 1000, 4, 16
BOTH, ALONE = "leak rates and readout", "readout alone"
PLAIN, FAST = "plain NumPy", "NumPy by hand for speed"
FIRST, ADAM = "plain step (bare scan)", "online, Adam"


def network() -> es.ESN:
    """The paper's for NARMA10."""
    return es.hierarchical([50, 50], leak_rate=[0.5, 0.5], spectral_radius=0.95, input_scaling=0.2).build(1, seed=0)


def plain(esn: es.ESN) -> Callable[[], Any]:
    """A bare scan over the same number of lanes."""

    @partial(jax.jit, compiler_options=loop.CPU_OPTIONS)
    def scan(weights: Any, hyper: Any, state: Any, u: Any) -> Any:
        return jax.lax.scan(lambda now, row: (dynamics.step(weights, hyper, now, row), None), state, u)[0]

    state = tuple(np.zeros((size, LANES), np.float32) for size in esn.sizes)
    u = np.random.default_rng(0).random((STEPS, 1, LANES), dtype=np.float32)
    return lambda: [each.block_until_ready() for each in scan(esn.weights(LANES), esn.numbers(), state, u)]


def starting(network: es.Network, count: int) -> Hyper:
    """So many starts, from fast and slow to slow and fast."""
    return Hyper.of(network).replace(leak_rate=[np.linspace(0.2, 0.9, count), np.linspace(0.9, 0.2, count)])


def on_one_core(learner: OnlineLearner) -> OnlineLearner:
    """The same learner with all its starts in one group."""
    fresh = learner.begin(BATCH, 1)
    learner.stream = fresh._replace(groups=groups.cut(fresh.plan, learner.settings.starts, 1))
    return learner


def jobs(esn: es.ESN, u: Any, y: Any) -> dict[str, tuple[Callable[[], Any], int]]:
    """Name: what to time, and how many networks it moves."""
    kinds: dict[str, dict[str, Any]] = {
        ADAM: {},
        "online, Adam, 8 starts, one core": {"starts": starting(esn.network, 8)},
        "online, Adam, 8 starts, all cores": {"starts": starting(esn.network, 8)},
        "online, recursive least squares": {"readout": RLS(1e-5, 0.9999)},
        "online, Adam, all nine numbers": {
            "parameters": ["leak_rate", "spectral_radius", "input_scaling", "bias_scaling", "coupling"],
        },
    }
    found: dict[str, tuple[Callable[[], Any], int]] = {
        FIRST: (plain(esn), BATCH),
        "plain step (`run_chunks`, last state only)": (lambda: esn.run_chunks(u), BATCH),
    }
    for name, settings in kinds.items():
        learner = OnlineLearner(esn.network, washout=0, record=STEPS, **settings)
        if "one core" in name:
            on_one_core(learner)
        found[name] = (partial(learner.partial_fit, u, y), BATCH * learner.settings.starts)
    return found


def telegraph_jobs() -> dict[str, tuple[Callable[[], Any], int]]:
    """Our learner and NumPy on the telegraph task: name, what to time, how many networks it moves."""
    esn = es.hierarchical([50, 50], leak_rate=[0.5, 0.05], spectral_radius=0.95, input_scaling=0.2).build(1, seed=0)
    series = es.tasks.telegraph(STEPS, seed=0, sequences=BATCH)
    y = np.eye(OUTPUTS)[series.joint]
    many = starting(esn.network, STARTS)
    preset = PRESETS["telegraph"]
    found: dict[str, tuple[Callable[[], Any], int]] = {}
    kinds: dict[str, dict[str, Any]] = {
        f"{BOTH}: echoscale, one start": {},
        f"{BOTH}: echoscale, {STARTS} starts, one core": {"starts": many},
        f"{BOTH}: echoscale, {STARTS} starts, all cores": {"starts": many},
        f"{ALONE}: echoscale, one start": {"parameters": ()},
        f"{ALONE}: echoscale, {STARTS} starts, all cores": {"parameters": (), "starts": many},
    }
    for name, settings in kinds.items():
        learner = OnlineLearner(
            esn.network, OUTPUTS, readout=preset.readout, rates=preset.learned, washout=0, record=STEPS, **settings
        )
        if "one core" in name:
            on_one_core(learner)
        found[name] = (partial(learner.partial_fit, series.u, y), BATCH * learner.settings.starts)
    first = 0.01 * np.random.default_rng(0).standard_normal((OUTPUTS, esn.units + 1))
    for work, learns in ((BOTH, True), (ALONE, False)):
        plain = (PlainLearner if learns else PlainReadout)(parts_of(esn), first, (0.5, 0.05), BATCH)
        found[f"{work}: {PLAIN}"] = (partial(_on_one_thread, plain, series.u, y), BATCH)
        for form, dtype, sparse in (
            (FAST, np.float32, False),
            (f"{FAST}, float64", np.float64, False),
            (f"{FAST}, CSR", np.float32, True),
        ):
            model = NumpyLearner(parts_of(esn), first, (0.5, 0.05), BATCH, dtype, learn_leaks=learns, sparse=sparse)
            found[f"{work}: {form}"] = (partial(_on_one_thread, model, series.u, y), BATCH)
    return found


class PlainReadout(PlainLearner):
    """The readout alone: no traces, and leak rates that rest."""

    def step(self, u: Any, y: Any) -> float:
        """One time step: u (1, B), y (O, B); returns the loss."""
        a1, a2 = (each.value for each in self.leaks)
        f1 = np.tanh(self.W1 @ self.x1 + self.W_in @ u)
        f2 = np.tanh(self.W2 @ self.x2 + self.C @ self.x1)
        self.x1, self.x2 = (1 - a1) * self.x1 + a1 * f1, (1 - a2) * self.x2 + a2 * f2
        x = np.concatenate([self.x1, self.x2])
        apart = self.W_out.value @ x + self.intercept.value - y
        d = apart / self.sequences
        self.W_out.step(d @ x.T)
        self.intercept.step(d.sum(axis=1, keepdims=True))
        return float((apart**2).sum()) / (2 * self.sequences)


def _on_one_thread(model: NumpyLearner | PlainLearner, u: Any, y: Any) -> None:
    """BLAS threads do not help products as small as these."""
    with one_thread():
        model.partial_fit(u, y)


def timed(jobs: dict[str, tuple[Callable[[], Any], int]], rounds: int) -> dict[str, dict[str, Any]]:
    """Networks that every job moves, and its microseconds a step: those of the fastest round and the median of all."""
    times = common.take_turns({name: job for name, (job, _) in jobs.items()}, rounds, warm=min(rounds, 2))
    return {
        name: {"networks": jobs[name][1], "fastest": min(each) / STEPS * 1e6, "median": common.median(each) / STEPS * 1e6}
        for name, each in times.items()
    }


def long_stream(esn: es.ESN, steps: int) -> dict[str, Any]:
    """Many steps in chunks; the peak of the resident memory (KiB) after a tenth of them and at the end."""
    learner, chunk = OnlineLearner(esn.network), min(20_000, steps // 10)
    u, y = es.tasks.narma(BATCH * chunk, order=10, seed=1)
    u, y = u.reshape(BATCH, -1, 1), y.reshape(BATCH, -1, 1)
    early, start = 0, time.perf_counter()
    while learner.steps < steps:
        learner.partial_fit(u, y)
        if early == 0 and learner.steps >= steps / 10:
            early = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = time.perf_counter() - start
    return {
        "steps": learner.steps,
        "chunk": chunk,
        "seconds": seconds,
        "peak_kib_after_a_tenth": early,
        "peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "windows": learner.history.sizes["step"],
        "window": learner.history.attrs["window"],
    }


def some(jobs: dict[str, tuple[Callable[[], Any], int]], quick: bool) -> dict[str, tuple[Callable[[], Any], int]]:
    """With --quick one of ours, and all that it is compared with: every other kind is another program to compile."""
    return {
        name: each
        for name, each in jobs.items()
        if not quick or name == ADAM or not ("online" in name or ALONE in name or "starts" in name)
    }


def measure(options: argparse.Namespace) -> common.Raw:
    """What a step costs, the same against NumPy, and a long stream."""
    quick, esn = options.quick, network()
    u, y = es.tasks.narma(BATCH * STEPS, order=10, seed=0)
    return {
        "cores": cores(),
        "steps_of_a_call": STEPS,
        "cost": timed(some(jobs(esn, u.reshape(BATCH, STEPS, 1), y.reshape(BATCH, STEPS, 1)), quick), 1 if quick else 60),
        "against_numpy": timed(some(telegraph_jobs(), quick), 1 if quick else 40),
        "long_stream": long_stream(esn, 20_000 if quick else 10_000_000),
    }


def table(raw: common.Raw) -> str:
    """Two tables, and one line for the long stream."""
    stream = raw["long_stream"]
    a_step = stream["seconds"] / stream["steps"]
    lines = [
        "# Online learning: what a step costs",
        "",
        common.origin(raw),
        "",
        f"2 x 50 units, minibatch {BATCH} on {LANES} lanes, float32; jobs take turns, the fastest round counts: what "
        "others do on "
        "the machine only ever adds. Online steps are whole calls of `partial_fit`. A network-step is one step of one sequence "
        "of one start.",
        "",
        *_cost(raw["cost"]),
        "",
        "## Against NumPy",
        "",
        "Telegraph task, four one-hot outputs, squared error, the paper's rates, exact traces, calls of "
        f'{raw["steps_of_a_call"]:,} steps, float32 and dense matrices unless said otherwise. "{PLAIN}" is '
        "`benchmarks/online_plain.py`: the rule as one writes it down from the paper, equation by equation, vectorised over "
        f'neurons and sequences. "{FAST}" is `benchmarks/online_numpy.py`: all sequences and traces in one array, written in '
        "place. Both use one core, and would run several starts one after another, at the rate that they have for one. All "
        f"cores are {raw['cores']}. Each cell holds the fastest round / the median, both sides alike.",
        "",
        *_against(raw["against_numpy"]),
        "",
        "## A long stream",
        "",
        f"{stream['steps']:,} steps in chunks of {stream['chunk']:,}: {stream['seconds']:.0f} s ({a_step * 1e6:.1f} µs a step, "
        f"{BATCH / a_step:,.0f} network-steps/s), peak memory {stream['peak_kib_after_a_tenth'] / 1024:.0f} MiB after a tenth, "
        f"{stream['peak_kib'] / 1024:.0f} MiB at the end; {stream['windows']:,} windows of {stream['window']:,} steps kept.",
        "",
    ]
    return "\n".join(lines)


def _cost(found: dict[str, dict[str, Any]]) -> list[str]:
    least = {name: each["fastest"] for name, each in found.items()}
    body = []
    for name, each in found.items():
        share = f"{least[name] / least[ADAM]:.2f}" if name.startswith("online") else ""
        speed = f"{each['networks'] / least[name] * 1e6:,.0f}"
        body.append((name, f"{least[name]:.1f}", f"{least[name] / least[FIRST]:.2f}", share, speed))
    return common.rows(("job", "µs a step", "of a plain step", "of one start", "network-steps/s"), body)


def _against(found: dict[str, dict[str, Any]]) -> list[str]:
    """Both sides, and how many times NumPy's network-steps ours makes."""
    cost = {name: np.array([each["fastest"], each["median"]]) for name, each in found.items()}
    speed = {name: found[name]["networks"] / each * 1e6 for name, each in cost.items()}
    body = []
    for name, each in cost.items():
        work = name.split(":")[0]
        ratios = [speed[name] / speed[f"{work}: {rival}"] for rival in (PLAIN, FAST)]
        cells = [f"{ratio[0]:.1f} / {ratio[1]:.1f}" if "echoscale" in name else "" for ratio in ratios]
        body.append((name, f"{each[0]:.1f} / {each[1]:.1f}", f"{speed[name][0]:,.0f} / {speed[name][1]:,.0f}", *cells))
    return common.rows(("work: job", "µs a step", "network-steps/s", f"times {PLAIN}", f"times {FAST}"), body)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("online", __doc__, measure, table, arguments=arguments)


if __name__ == "__main__":
    main()
