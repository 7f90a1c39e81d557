"""Lyapunov exponents of fitted closed loops: are they those of the system behind the data?

    Lorenz                       NVAR of degree 4 on the last value, and networks of 300 neurons; published 0.9056, 0, -14.5723
    Kuramoto-Sivashinsky (22)    networks of 500 neurons; ten exponents beside a published spectrum

Every model is fitted one step ahead and measured by `es.measures.closed_loop` on held-out data: exponents with their errors,
and valid times. Penalties and the network for Lorenz were set on other series and draws, the network for Kuramoto-Sivashinsky
by hand in closed_loop.py. A network must forget faster than the system contracts, hence its small spectral radius.

    python benchmarks/exponents.py            two core-minutes
    python benchmarks/exponents.py --quick    seconds
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import common
import numpy as np

import echoscale as es

LORENZ = {"Sprott 2003": [0.9056, 0.0, -14.5723]}
KURAMOTO = {"Cvitanović et al. 2010": [0.048, 0.0, 0.0, -0.003, -0.189, -0.256, -0.290, -0.310, -1.963, -1.967]}
SEED, DRAWS = 5, (10, 11, 12)  # of the series and of the networks
NETWORK = es.single(300, leak_rate=1.0, spectral_radius=0.1, input_scaling=0.3, bias_scaling=1.0)
FIELD = es.single(500, leak_rate=1.0, spectral_radius=0.25, input_scaling=0.3, bias_scaling=1.5, input_connections=1)


def regressors(network: es.Network, ridge: float) -> list[es.ESNRegressor]:
    """One network drawn from several seeds; the readout sees the states and the present input."""
    columns = es.readouts.Columns(inputs=1)
    return [
        es.ESNRegressor(network=network, columns=columns, ridge=ridge, dtype="float64", random_state=seed) for seed in DRAWS
    ]


def measured(models: Sequence[Any], u: np.ndarray, train: int, steps: int, dt: float, k: int) -> common.Raw:
    """The models fitted to the first part, and their closed loops from the rest on."""
    found = es.measures.closed_loop([each.fit(u[: train - 1], u[1:train]) for each in models], u[train:], k, dt=dt, steps=steps)
    data = found.data
    return {
        "exponents": found.exponents,
        "errors": found.errors,
        "draws": np.asarray(data.exponent),
        "dimension": found.dimension,
        "valid": np.asarray(data.valid_time).mean(axis=1),
        "steps": steps,
        "dt": dt,
        "train": train,
    }


def measure(options: argparse.Namespace) -> common.Raw:
    """Every system and model."""
    train, test, steps = (1500, 500, 1000) if options.quick else (10_000, 5000, 50_000)
    u = es.tasks.lorenz(train + test, seed=SEED)[0]
    nvar = [es.NVAR(lags=1, degree=4, difference="last", ridge=1e-10)]
    systems: list[common.Raw] = []

    def add(system: str, model: str, published: dict[str, list[float]], *given: Any) -> None:
        systems.append({"system": system, "model": model, "published": published, **measured(*given)})
        common.say(f"{system}, {model}: {np.round(systems[-1]['exponents'], 3)}")

    add("Lorenz", "NVAR, degree 4", LORENZ, nvar, u, train, steps, 0.02, 3)
    if not options.quick:
        add("Lorenz", "300 neurons", LORENZ, regressors(NETWORK, 1e-9), u, train, steps, 0.02, 3)
        field = es.tasks.kuramoto_sivashinsky(20_000 + 5000, seed=SEED)[0]
        add("Kuramoto-Sivashinsky", "500 neurons", KURAMOTO, regressors(FIELD, 1e-4), field, 20_000, 20_000, 0.25, 10)
    return {"systems": systems}


def table(raw: common.Raw) -> str:
    """One table per system and model."""
    lines = ["# Lyapunov exponents of closed loops", "", common.origin(raw), ""]
    for each in raw["systems"]:
        draws = len(each["draws"])
        dimension = "–" if each["dimension"] is None else f"{each['dimension']:.2f}"
        lines += [
            f"{each['system']}, {each['model']}: {draws} draw{'s' * (draws > 1)}, {each['train']:,} steps of training, "
            f"{each['steps']:,} free steps of {each['dt']:g}; valid time {np.mean(each['valid']):.1f}, Kaplan-Yorke dimension "
            f"{dimension}.",
            "",
            *common.rows(
                ("exponent", "closed loop", *each["published"]),
                [
                    [str(k + 1), f"{value:.4f} ± {error:.4f}", *(f"{other[k]:.4f}" for other in each["published"].values())]
                    for k, (value, error) in enumerate(zip(each["exponents"], each["errors"], strict=True))
                ],
            ),
            "",
        ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("exponents", __doc__, measure, table, arguments=arguments)


if __name__ == "__main__":
    main()
