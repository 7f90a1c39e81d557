"""How well 1,200 neurons tell the digits of permuted sequential MNIST apart, and what helps: structures, readouts, more images.

    python benchmarks/psmnist_accuracy.py             everything; minutes on a GPU, hours on two cores
    python benchmarks/psmnist_accuracy.py --quick     scikit-learn's 8x8 digits and few neurons, seconds

50,000 images to train, the last 10,000 of the training set to choose, 10,000 to test; one permutation (seed 0) for all. A seed
draws the weights and the order of the minibatches. The connected structure with the best mean accuracy on held-out images is
the chosen one, for 4 and for 28 snapshots; the test images choose nothing. Readouts are linear (`readouts.logistic`: sigmoids,
Adam, a rate that falls to 0, standardised features, a penalty). On the chosen one for 28 snapshots more is tried: the
held-out images too, once they have chosen; images shifted by a pixel in four directions, five times as many.

Jobs are kept in `--folder`, and not done again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import common
import jax
import numpy as np

import echoscale as es
from echoscale.engine.devices import on_cpu
from echoscale.readouts import features, logistic

sys.path.append(str(common.HERE.parent))  # the package `paper`

from paper import fig6_psmnist as scores

SEEDS = (1, 2, 3)  # structures and settings of the readouts were found with seed 0
SHIFTS = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))
ALL, SHIFTED = "held-out images too", "shifted images"


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


FULL = Settings()
QUICK = Settings(
    data="digits",
    units=36,
    train=200,
    validation=60,
    test=60,
    snapshots=(4, 16),
    epochs=(1, 1),
    shifted_epochs=1,
)


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
    random: dict[str, Any] = {"connections": 10}
    ring: dict[str, Any] = {"topology": "ring"}
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
    """The same network with more images; many snapshots."""
    data = scores.split(settings.data, settings.permutation, settings.train, settings.validation, settings.test)
    shown = data.train + (data.validation if what == ALL else 0)
    u, labels = data.u[:shown], data.labels[:shown]
    if what == SHIFTED:
        u, labels = np.concatenate([shifted(u, settings, *by) for by in SHIFTS]), np.tile(labels, len(SHIFTS))
    network, most = structures(settings.units)[name], max(settings.snapshots)
    train, _ = states(network, seed, u, most)
    others, _ = states(network, seed, data.u[data.train :], most)
    epochs = settings.epochs[1] if what == ALL else settings.shifted_epochs
    begin = time.perf_counter()
    fit = fitted(train, labels, settings.rates[1], epochs, seed, settings)
    found = judged(fit, others, data)
    if what == ALL:
        found.pop("validation")  # it was trained on these
    return {str(most): found | {"readout_seconds": time.perf_counter() - begin}}


def states(network: Any, seed: int, u: Any, snapshots: int) -> tuple[Any, float]:
    """The snapshots (B, S, N) of all sequences, on the GPU where there is one, and the seconds that they took."""
    begin = time.perf_counter()
    u = u if on_cpu(None) else jax.device_put(u)
    esn = network.build(1, seed=seed)
    kept = features.compute(esn, u, u.shape[1] // snapshots, on_device=not on_cpu(None)).array
    return common.finished(kept), time.perf_counter() - begin


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


def job(what: str, name: str, seed: int, settings: dict[str, Any]) -> common.Arrays:
    """One job: "linear" readouts of a structure, or one of the extras; accuracies and seconds by snapshots and part."""
    warnings.simplefilter("ignore", es.EchoStateWarning)  # a spectral radius of 1 or more is meant
    given = Settings(**common.tuples(settings))
    found = linear(name, seed, given) if what == "linear" else extra(what, name, seed, given)
    flat = {}
    for first, each in found.items():
        for second, value in each.items() if isinstance(each, dict) else (("", each),):
            flat[f"{first}; {second}" if second else first] = np.ravel(np.float64(value))
    return flat


def key(name: str, seed: int, what: str = "linear") -> str:
    """The name of a job."""
    return f"{what}; {name}; seed {seed}"


def chosen(jobs: dict[str, Any], networks: dict[str, Any], seeds: Sequence[int], count: int) -> str:
    """The connected structure with the best mean accuracy on held-out images."""
    connected = [name for name, network in networks.items() if network.couplings]

    def held_out(name: str) -> float:
        return float(np.mean([jobs[key(name, seed)][f"{count}; validation"][0] for seed in seeds]))

    return max(connected, key=held_out)


def extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, default=common.HERE.parent / "out" / "psmnist_accuracy", help="resumes from it")


def measure(options: argparse.Namespace) -> common.Raw:
    """All structures, then the extras of the chosen one."""
    settings = json.loads(json.dumps(asdict(QUICK if options.quick else FULL)))
    seeds = SEEDS[:1] if options.quick else SEEDS
    folder = None if options.quick else options.folder
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", es.EchoStateWarning)
        networks = structures(settings["units"])
        if options.quick:  # every other shape is another program to compile
            networks = {name: networks[name] for name in networks if name == "two rings, input scaling .1"}

        def done(whats: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
            wanted = {
                key(name, seed, what): {"what": what, "name": name, "seed": seed, "settings": settings}
                for what in whats
                for name in names
                for seed in seeds
            }
            return common.resumed(job, wanted, folder, 0)

        jobs = done(["linear"], list(networks))
        best = chosen(jobs, networks, seeds, max(settings["snapshots"]))
        jobs |= done([SHIFTED] if options.quick else [ALL, SHIFTED], [best])
    return {"settings": settings, "seeds": list(seeds), "jobs": jobs}


def table(raw: common.Raw) -> str:
    """Structures with linear readouts, then the extras."""
    settings, jobs, seeds = raw["settings"], raw["jobs"], raw["seeds"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", es.EchoStateWarning)
        every = structures(settings["units"])
    networks = {name: each for name, each in every.items() if key(name, seeds[0]) in jobs}
    few, many = settings["snapshots"]
    best = {count: chosen(jobs, networks, seeds, count) for count in (few, many)}

    def each(name: str, what: str, count: int, part: str) -> list[float]:
        return [jobs[key(name, seed, what)][f"{count}; {part}"][0] for seed in seeds]

    body = []
    for name in networks:
        cells = [name]
        for count in (many, few):
            bold = "**" if name == best[count] else ""
            held_out, test = (each(name, "linear", count, part) for part in ("validation", "test"))
            cells += [f"{bold}{np.mean(held_out):.4f}{bold}", f"{bold}{np.mean(test):.4f}{bold} ({_all(test)})"]
        body.append(cells)
    extras = []
    for what in ("linear", ALL, SHIFTED):
        if key(best[many], seeds[0], what) in jobs:
            test = each(best[many], what, many, "test")
            held = "" if what == ALL else f"{np.mean(each(best[many], what, many, 'validation')):.4f}"
            extras.append((what, held, f"{np.mean(test):.4f} ({_all(test)})"))
    lines = [
        "# Permuted sequential MNIST: accuracy" if settings["data"] == "mnist" else "# Permuted 8x8 digits: accuracy",
        "",
        common.origin(raw),
        "",
        f"{settings['units']} neurons, {settings['train']:,} images to train, {settings['validation']:,} to choose, "
        f"{settings['test']:,} to test; one permutation; means over seeds {', '.join(map(str, seeds))} (every seed). Bold: the "
        "connected structure with the best mean accuracy on held-out images. The binomial standard error of one test accuracy "
        f"near 0.98 is {(0.98 * 0.02 / settings['test']) ** 0.5:.4f}: smaller differences say nothing. With {many} "
        f"snapshots the readout has {10 * (many * settings['units'] + 1):,} weights.",
        "",
        *common.rows(
            ("structure, linear readout", f"{many} snapshots: held out", "test", f"{few} snapshots: held out", "test"), body
        ),
        "",
        *common.rows((f"{best[many]}, {many} snapshots", "held out", "test"), extras),
        "",
    ]
    return "\n".join(lines)


def _all(values: Sequence[float]) -> str:
    return ", ".join(f"{each:.4f}" for each in values)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("psmnist_accuracy", __doc__, measure, table, arguments=arguments, libraries=("optax",), extend=extend)


if __name__ == "__main__":
    main()
