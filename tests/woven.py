"""Networks of three reservoirs, of every topology, graph and delay, all of one shape: each graph is compiled once."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import echoscale as es
from echoscale.network import Coupling, Network, Reservoir

UNITS, LEAKS = 6, (0.9, 0.4, 0.2)
TOPOLOGIES: dict[str, Any] = {
    **{name: name for name in ("normal", "uniform", "delay_line", "ring", "concentric")},
    "own matrix": np.triu(np.random.default_rng(7).normal(size=(UNITS, UNITS))),
}
GRAPHS = {
    "chain": ((0, 1), (1, 2)),
    "cycle": ((0, 1), (1, 2), (2, 0)),
    "skip and back": ((0, 1), (0, 2), (1, 2), (2, 1)),
}


@cache
def build(topology: str, graph: str, delay: int) -> es.ESN:
    """Three reservoirs with two inputs, every leaf different."""
    reservoirs = tuple(
        Reservoir(
            UNITS,
            leak_rate=leak,
            spectral_radius=0.7 + 0.1 * k,
            input_scaling=0.7 - 0.2 * k,
            bias_scaling=0.3 + 0.1 * k,
            topology=TOPOLOGIES[topology],
        )
        for k, leak in enumerate(LEAKS)
    )
    links = tuple(Coupling(a, b, (0.8, -0.5, 0.4, 0.3)[j]) for j, (a, b) in enumerate(GRAPHS[graph]))
    return Network(reservoirs, links, coupling_delay=delay).build(2, seed=3, dtype="float64")


# A third of all triples, such that every topology meets both delays, and every graph both delays.
WOVEN = [
    (topology, graph, delay)
    for (i, topology), (j, graph), delay in product(enumerate(TOPOLOGIES), enumerate(GRAPHS), (0, 1))
    if (i + j + delay) % len(GRAPHS) == 0
]
# Every topology once, and every graph with every delay once.
FEW = [(topology, *rest) for topology, rest in zip(TOPOLOGIES, product(GRAPHS, (0, 1)), strict=True)]


def cases(woven: list[tuple[str, str, int]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("woven", [pytest.param(case, id="{}, {}, delay {}".format(*case)) for case in woven])


every_weave, few_weaves = cases(WOVEN), cases(FEW)
