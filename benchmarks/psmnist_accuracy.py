"""How well 1,200 neurons tell the digits of permuted sequential MNIST apart, and what helps: structures, readouts, more images.

    python benchmarks/psmnist_accuracy.py             everything; minutes on a GPU, hours on two cores
    python benchmarks/psmnist_accuracy.py --quick     scikit-learn's 8x8 digits and 100 neurons, a minute or two
    python benchmarks/psmnist_accuracy.py --report    the tables of what is there

50,000 images to train, the last 10,000 of the training set to choose, 10,000 to test; one permutation (seed 0) for all. A seed
draws the weights and the order of the minibatches. The connected structure with the best mean accuracy on held-out images is
the chosen one, for 4 and for 28 snapshots; the test images choose nothing. Readouts are linear (`readouts.logistic`: sigmoids,
Adam, a rate that falls to 0, standardised features, a penalty). On the chosen one for 28 snapshots more is tried: the
held-out images too, once they have chosen; images shifted by a pixel in four directions, five times as many; a readout with a
hidden layer (`hidden_readout.py`).

Every job is kept in results/psmnist_accuracy.json as soon as it is done, and not done again; the tables are
psmnist_accuracy.md beside it (both with `-quick` for --quick).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import hidden_readout
import jax
import numpy as np
import report

import echoscale as es
from echoscale import features
from echoscale.engine.machine import on_cpu
from echoscale.files import write_atomically
from echoscale.paper import psmnist_scores as scores
from echoscale.readouts import logistic

HERE = Path(__file__).resolve().parent
SEEDS = (1, 2, 3)  # structures and settings of the readouts were found with seed 0
SHIFTS = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))
ALL, SHIFTED, HIDDEN, BOTH = "held-out images too", "shifted images", "hidden layer", "hidden layer, shifted images"


@dataclass(frozen=True)
class Settings:
    """snapshots are few and many; penalties and rates are those of the linear readouts for each."""

    data: str = "mnist"
    units: int = 1200
    train: int = 50_000
    validation: int = 10_000
    test: int = 10_000
    permutation: int = 0
    snapshots: tuple[int, int] = (4, 28)
    rates: tuple[float, float] = (1e-3, 3e-4)
    epochs: tuple[int, int] = (30, 20)
    penalty: float = 1e-3
    minibatch: int = 50
    shifted_epochs: int = 8
    hidden: int = 1024
    hidden_epochs: int = 20
    hidden_rate: float = 5e-4
    hidden_minibatch: int = 100
    dropout: float = 0.5


FULL = Settings()
QUICK = Settings(data="digits", units=120, train=1142, validation=300, test=355, snapshots=(4, 16), hidden=100)


def levels(units: int, leak_rate: list[float], gamma: float, rho: float, coupling: float = 0.31623, **options: Any) -> Any:
    """A chain of equal levels; 10 weights N(0, 1) a row between them, times the coupling."""
    sizes = [units // len(leak_rate)] * len(leak_rate)
    return es.hierarchical(
        sizes,
        leak_rate=leak_rate,
        spectral_radius=rho,
        input_scaling=gamma,
        coupling=coupling,
        coupling_connections=10,
        **options,
    )


def structures(units: int) -> dict[str, Any]:
    """Random reservoirs (10 weights a row) as in the paper and beyond, and rings: each neuron hears the one before it."""
    random, ring = {"connections": 10}, {"topology": "ring"}
    return {
        "random, leak rates (1, 1), radius .99": levels(units, [1.0, 1.0], 1.0, 0.99, **random),
        "random, leak rates (1, .05), radius .99": levels(units, [1.0, 0.05], 1.0, 0.99, **random),
        "random, leak rates (1, 1), radius 1.1": levels(units, [1.0, 1.0], 1.0, 1.1, **random),
        "random, three levels (1, 1, .05), radius .99": levels(units, [1.0, 1.0, 0.05], 1.0, 0.99, **random),
        "one ring, input scaling .3": es.single(units, spectral_radius=1.0, input_scaling=0.3, topology="ring"),
        "two rings, input scaling .1": levels(units, [1.0, 1.0], 0.1, 1.0, **ring),
        "two rings, input scaling .2": levels(units, [1.0, 1.0], 0.2, 1.0, **ring),
        "two rings, input scaling .3, coupling .1": levels(units, [1.0, 1.0], 0.3, 1.0, 0.1, **ring),
        "three rings, input scaling .3": levels(units, [1.0, 1.0, 1.0], 0.3, 1.0, **ring),
    }


def linear(name: str, seed: int, settings: Settings) -> dict[str, Any]:
    """Accuracies of linear readouts of few and of many snapshots of one network."""
    data = scores.split(settings.data, settings.permutation, settings.train, settings.validation, settings.test)
    kept, forward = states(
        structures(settings.units)[name], seed, data.u if on_cpu(None) else scores.sent(data), max(settings.snapshots)
    )
    found: dict[str, Any] = {"forward_seconds": forward}
    for count, rate, epochs in zip(settings.snapshots, settings.rates, settings.epochs, strict=True):
        rare = kept[:, max(settings.snapshots) // count - 1 :: max(settings.snapshots) // count]
        begin = time.perf_counter()
        fit = fitted(rare[data.fitted], data.labels[data.fitted], rate, epochs, seed, settings, data.held_out)
        seconds = time.perf_counter() - begin
        found[str(count)] = judged(fit, rare[data.held_out[0] :], data) | {"readout_seconds": seconds}
    return found


def fitted(
    kept: Any, labels: Any, rate: float, epochs: int, seed: int, settings: Settings, validation: Any = None
) -> logistic.Trained:
    """The linear readout."""
    return logistic.fit(
        kept,
        labels,
        scores.CLASSES,
        rate=rate,
        schedule="cosine",
        epochs=epochs,
        minibatch=settings.minibatch,
        ridge=settings.penalty,
        standardise=True,
        validation=validation,
        seed=seed,
    )


def extra(what: str, name: str, seed: int, settings: Settings) -> dict[str, Any]:
    """The same network with more images, with a hidden layer, or with both; many snapshots."""
    data = scores.split(settings.data, settings.permutation, settings.train, settings.validation, settings.test)
    shown = data.train + (data.validation if what == ALL else 0)
    u, labels = data.u[:shown], data.labels[:shown]
    if what in (SHIFTED, BOTH):
        u, labels = np.concatenate([shifted(u, settings, *by) for by in SHIFTS]), np.tile(labels, len(SHIFTS))
    network, most = structures(settings.units)[name], max(settings.snapshots)
    train, _ = states(network, seed, u, most)
    others, _ = states(network, seed, data.u[data.train :], most)
    epochs = {ALL: settings.epochs[1], HIDDEN: settings.hidden_epochs}.get(what, settings.shifted_epochs)
    begin = time.perf_counter()
    fit: Any
    if what in (ALL, SHIFTED):
        fit = fitted(train, labels, settings.rates[1], epochs, seed, settings)
        found = judged(fit, others, data)
        if what == ALL:
            found.pop("validation")  # it was trained on these
    else:
        fit = hidden_readout.fit(
            train,
            labels,
            scores.CLASSES,
            hidden=settings.hidden,
            epochs=epochs,
            rate=settings.hidden_rate,
            minibatch=settings.hidden_minibatch,
            dropout=settings.dropout,
            seed=seed,
        )
        right = fit.classes(others) == data.labels[data.train :]
        found = {"validation": float(right[: data.validation].mean()), "test": float(right[data.validation :].mean())}
    return {str(most): found | {"readout_seconds": time.perf_counter() - begin}}


def states(network: Any, seed: int, u: Any, snapshots: int) -> tuple[Any, float]:
    """The snapshots (B, S, N) of all sequences, on the GPU where there is one, and the seconds that they took."""
    begin = time.perf_counter()
    u = u if on_cpu(None) else jax.device_put(u)
    esn = network.build(1, seed=seed)
    kept = features.compute(esn, u, u.shape[1] // snapshots, on_device=not on_cpu(None)).array
    return jax.block_until_ready(kept), time.perf_counter() - begin


def judged(fit: Any, kept: Any, data: scores.Split) -> dict[str, float]:
    """Accuracies on the held-out images, which come first, and on the test images."""
    labels = data.labels[data.train :]
    middle = data.validation
    return {
        "validation": scores.accuracy(fit, kept[:middle], labels[:middle]),
        "test": scores.accuracy(fit, kept[middle:], labels[middle:]),
    }


def shifted(u: Any, settings: Settings, down: int, right: int) -> Any:
    """The images, moved by some pixels and shown in the same order; what comes in is black."""
    order = scores.example(settings.data, settings.permutation, (0,)).permutation
    side = round(len(order) ** 0.5)
    pixels = np.empty_like(u[..., 0])
    pixels[:, order] = u[..., 0]
    images = pixels.reshape(-1, side, side)
    moved = np.zeros_like(images)
    moved[:, max(down, 0) : side + min(down, 0), max(right, 0) : side + min(right, 0)] = images[
        :, max(-down, 0) : side + min(-down, 0), max(-right, 0) : side + min(-right, 0)
    ]
    return moved.reshape(len(u), -1)[:, order][..., None]


def chosen(jobs: dict[str, Any], networks: dict[str, Any], count: int) -> str:
    """The connected structure with the best mean accuracy on held-out images."""
    connected = [name for name, network in networks.items() if network.couplings]
    return max(connected, key=lambda name: np.mean([jobs[key(name, seed)][str(count)]["validation"] for seed in SEEDS]))


def key(name: str, seed: int, what: str = "linear") -> str:
    """The name of a job in the file."""
    return f"{what}; {name}; seed {seed}"


def run(settings: Settings, file: Path) -> dict[str, Any]:
    """All jobs that are not there yet."""
    described = {"settings": asdict(settings), "seeds": list(SEEDS)}
    kept = json.loads(file.read_text()) if file.exists() else {}
    if {name: kept.get(name) for name in described} != json.loads(json.dumps(described)):
        kept = {}
    jobs = kept.get("jobs", {})
    libraries = {each: version(each) for each in ("jax", "numpy", "optax")}
    where = {**report.machine(), "load": None, "device": jax.devices()[0].device_kind, "versions": libraries}

    machines = kept.get("machines", [])
    if where not in machines:
        machines.append(where)

    def done(name: str, work: Callable[[], dict[str, Any]]) -> None:
        if name in jobs:
            return
        jobs[name] = work() | {"machine": machines.index(where)}
        content = {**described, "machines": machines, "jobs": jobs}
        write_atomically(file, (json.dumps(content, indent=1) + "\n").encode())
        print(name, {count: each for count, each in jobs[name].items() if count.isdigit()}, flush=True)

    networks = structures(settings.units)
    for name in networks:
        for seed in SEEDS:
            done(key(name, seed), lambda name=name, seed=seed: linear(name, seed, settings))  # type: ignore[misc]
    best = chosen(jobs, networks, max(settings.snapshots))
    for what in (ALL, SHIFTED, HIDDEN, BOTH):
        for seed in SEEDS:
            done(key(best, seed, what), lambda what=what, seed=seed: extra(what, best, seed, settings))  # type: ignore[misc]
    return json.loads(file.read_text())  # type: ignore[no-any-return]


def tables(results: dict[str, Any], command: str) -> str:
    """The report."""
    settings, jobs = results["settings"], results["jobs"]
    networks = structures(settings["units"])
    few, many = settings["snapshots"]
    where = "; ".join(_described(each, jobs, k) for k, each in enumerate(results["machines"]))
    lines = [
        "# Permuted sequential MNIST: accuracy" if settings["data"] == "mnist" else "# Permuted 8x8 digits: accuracy",
        "",
        f"`{command}`: {where}. {settings['units']} neurons, "
        f"{settings['train']:,} images to train, {settings['validation']:,} to choose, {settings['test']:,} to test; "
        f"means over seeds {', '.join(map(str, results['seeds']))} (every seed). Bold: the connected structure with the best "
        "mean accuracy on held-out images.",
        "",
        f"| structure, linear readout | {many} snapshots: held out | test | {few} snapshots: held out | test |",
        "|---|---:|---:|---:|---:|",
    ]
    for name in networks:
        cells = []
        for count in (many, few):
            bold = "**" if name == chosen(jobs, networks, count) else ""
            each = [jobs[key(name, seed)][str(count)] for seed in results["seeds"]]
            cells += [f"{bold}{_mean(each, 'validation')}{bold}", f"{bold}{_mean(each, 'test')}{bold} ({_all(each, 'test')})"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    best = chosen(jobs, networks, many)
    lines += ["", f"| {best}, {many} snapshots | held out | test |", "|---|---:|---:|"]
    for what in ("linear", ALL, SHIFTED, HIDDEN, BOTH):
        each = [jobs[key(best, seed, what)][str(many)] for seed in results["seeds"]]
        chose = "" if what == ALL else _mean(each, "validation")
        lines.append(f"| {what} | {chose} | {_mean(each, 'test')} ({_all(each, 'test')}) |")
    return "\n".join([*lines, ""])


def _described(machine: dict[str, Any], jobs: dict[str, Any], place: int) -> str:
    """A machine in words, with how many jobs it did."""
    versions = ", ".join(f"{name} {each}" for name, each in machine["versions"].items())
    count = sum(each["machine"] == place for each in jobs.values())
    chip = machine["cpu"] if machine["device"] == "cpu" else machine["device"]
    return f"{count} jobs on {chip}, {machine['cores']} cores, {versions}"


def _mean(found: list[dict[str, float]], part: str) -> str:
    return f"{np.mean([each[part] for each in found]):.4f}"


def _all(found: list[dict[str, float]], part: str) -> str:
    return ", ".join(f"{each[part]:.4f}" for each in found)


def main() -> None:
    """All jobs, then the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="8x8 digits and 120 neurons")
    parser.add_argument("--report", action="store_true", help="compute nothing")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder of the results")
    given = parser.parse_args()
    warnings.simplefilter("ignore", es.EchoStateWarning)  # a spectral radius of 1 or more is meant
    suffix = "-quick" if given.quick else ""
    file = given.out / f"psmnist_accuracy{suffix}.json"
    results = json.loads(file.read_text()) if given.report else run(QUICK if given.quick else FULL, file)
    text = tables(results, f"python benchmarks/psmnist_accuracy.py{' --quick' if given.quick else ''}")
    (given.out / f"psmnist_accuracy{suffix}.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
