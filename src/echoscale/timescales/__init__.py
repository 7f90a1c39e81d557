"""Which timescales a network has, and which ones a problem needs."""

from echoscale.timescales.linear_regime import LinearSystem
from echoscale.timescales.memory import Memory, memory
from echoscale.timescales.season import season, trend
from echoscale.timescales.signal import SignalTimescales, of_signal
from echoscale.timescales.spectrum import Spectrum
from echoscale.timescales.suggest import Suggestion, suggest
from echoscale.timescales.theory import bounds, cumulative, density, for_peak, for_range, peak, ratio, table

__all__ = [
    "LinearSystem",
    "Memory",
    "SignalTimescales",
    "Spectrum",
    "Suggestion",
    "bounds",
    "cumulative",
    "density",
    "for_peak",
    "for_range",
    "memory",
    "of_signal",
    "peak",
    "ratio",
    "season",
    "suggest",
    "table",
    "trend",
]
