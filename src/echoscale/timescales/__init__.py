"""Timescales of a network, and timescales that a problem needs."""

from echoscale.timescales.linear_regime import LinearSystem, mode_relaxation
from echoscale.timescales.memory import Memory, memory
from echoscale.timescales.mixtures import mixture_bounds, mixture_cumulative, mixture_density
from echoscale.timescales.rotation import decay_bounds, decay_cumulative, decay_density, period_cumulative
from echoscale.timescales.season import season, trend
from echoscale.timescales.signal import SignalTimescales, of_signal
from echoscale.timescales.spectrum import Spectrum
from echoscale.timescales.suggest import Suggested, suggest
from echoscale.timescales.theory import TimescaleTable, bounds, cumulative, density, for_peak, for_range, peak, ratio, table

__all__ = [
    "LinearSystem",
    "Memory",
    "SignalTimescales",
    "Spectrum",
    "Suggested",
    "TimescaleTable",
    "bounds",
    "cumulative",
    "decay_bounds",
    "decay_cumulative",
    "decay_density",
    "density",
    "for_peak",
    "for_range",
    "memory",
    "mixture_bounds",
    "mixture_cumulative",
    "mixture_density",
    "mode_relaxation",
    "of_signal",
    "peak",
    "period_cumulative",
    "ratio",
    "season",
    "suggest",
    "table",
    "trend",
]
