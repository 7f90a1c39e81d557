"""Measures of memory and computation in a network, each for a whole grid, and of the closed loop of a fitted model."""

from echoscale.measures.capacity import processing_capacity
from echoscale.measures.closed_loop import ClosedLoop, closed_loop
from echoscale.measures.consistency import consistency, echo_index
from echoscale.measures.inputs import noise
from echoscale.measures.lyapunov import lyapunov_exponents
from echoscale.measures.memory_capacity import linear_memory_capacity, memory_capacity
from echoscale.measures.overview import Measured, measure
from echoscale.measures.ranks import dimension, ranks
from echoscale.measures.results import plot

__all__ = [
    "ClosedLoop",
    "Measured",
    "closed_loop",
    "consistency",
    "dimension",
    "echo_index",
    "linear_memory_capacity",
    "lyapunov_exponents",
    "measure",
    "memory_capacity",
    "noise",
    "plot",
    "processing_capacity",
    "ranks",
]
