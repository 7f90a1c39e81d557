"""The description of a network: reservoirs, couplings, topologies, leak rates, and builders."""

from echoscale.network.builders import hierarchical, parallel, single
from echoscale.network.description import Coupling, EchoStateWarning, Network, Reservoir
from echoscale.network.leaks import LogNormal, LogUniform
from echoscale.network.matrix import Matrix
from echoscale.network.topologies import Concentric

__all__ = [
    "Concentric",
    "Coupling",
    "EchoStateWarning",
    "LogNormal",
    "LogUniform",
    "Matrix",
    "Network",
    "Reservoir",
    "hierarchical",
    "parallel",
    "single",
]
