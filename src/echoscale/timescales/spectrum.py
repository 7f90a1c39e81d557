"""The spectrum of a built network in its linear regime: eigenvalues, timescales, periods; whole and reservoir by reservoir."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from echoscale._internal import checks
from echoscale._internal.plots import new_axes
from echoscale._internal.table import Table
from echoscale._internal.types import Complex, Floats
from echoscale.engine.eigen import Square, eigenvalues

if TYPE_CHECKING:
    from matplotlib.axes import Axes


COLUMNS = ("part", "units", "tau_min", "tau_5%", "tau_median", "tau_95%", "tau_max", "period_min", "period_max")
DECAY = ("decay_min", "decay_max")  # only for networks whose modes turn


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Spectrum of a network in its linear regime, x(t+1) = M x(t). `esn.spectrum()` returns it.

    Attributes
    ----------
    eigenvalues : (n,) complex array
        Eigenvalues lambda of M, the largest real part first.
    weights : (N, N) matrix
        Recurrent matrix W of M, with spectral radii and couplings.
    complete : bool
        Whether all N eigenvalues are known. For large networks only the outermost are computed.
    dt : float
        Time between two steps.

    Examples
    --------
    >>> import echoscale as es
    >>> spectrum = es.single(50, leak_rate=0.5, topology="ring").build(1).spectrum()
    >>> round(float(spectrum.timescales.max()), 4)  # dt / (alpha (1 - rho))
    40.0
    """

    eigenvalues: Complex
    weights: Square
    complete: bool
    dt: float = 1.0

    @classmethod
    def of(cls, M: Square, W: Square, dt: float = 1.0) -> Spectrum:
        """Compute the spectrum of a linear map.

        Parameters
        ----------
        M : (N, N) matrix
            Matrix of the map, dense or sparse.
        W : (N, N) matrix
            The weights of M, dense or sparse.
        dt : float
            Time between two steps.
        """
        values, complete = eigenvalues(M)
        return cls(values, W, complete, checks.time_step(dt))

    @property
    def units(self) -> int:
        """Number of neurons N."""
        return int(self.weights.shape[0])

    @cached_property
    def of_weights(self) -> Complex:
        """Eigenvalues of W, (n,), the largest real part first; computed on first use."""
        return eigenvalues(self.weights)[0]

    @property
    def timescales(self) -> Floats:
        """Timescales tau = dt / (1 - Re lambda), (n,), the longest first; infinite for modes with Re lambda >= 1."""
        gap = 1 - self.eigenvalues.real
        times: Floats = np.divide(self.dt, gap, out=np.full(len(gap), np.inf), where=gap > 0)
        return times

    @property
    def decay_times(self) -> Floats:
        """Decay time of every mode's envelope, -dt / log |lambda|, (n,): 0 for lambda = 0, infinite for |lambda| >= 1."""
        with np.errstate(divide="ignore"):
            rate = -np.log(np.abs(self.eigenvalues))
            return np.where(rate > 0, self.dt / rate, np.inf)

    @property
    def periods(self) -> Floats:
        """Period of every mode, 2 pi dt / |arg lambda|, (n,); infinite for modes that do not oscillate."""
        turn = np.where(self.eigenvalues == 0, 0.0, np.abs(np.angle(self.eigenvalues)))
        times: Floats = np.divide(2 * np.pi * self.dt, turn, out=np.full(len(turn), np.inf), where=turn > 0)
        return times

    def plot(self, axes: Axes | None = None) -> Axes:
        """Plot decay time against period, one point per mode.

        Modes that do not oscillate lie on a dashed line at the right edge. Modes that do not decay are left out.

        Parameters
        ----------
        axes : matplotlib Axes or None
            Axes to plot into; None: a new figure.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> import echoscale as es
        >>> spectrum = es.single(50, leak_rate=0.2, residual="orthogonal").build(1).spectrum()
        >>> spectrum.plot().get_xlabel()
        'period'
        """
        axes = new_axes(4.5) if axes is None else axes
        times, periods = self.decay_times, self.periods
        shown = np.isfinite(times) & (times > 0)
        turning = shown & np.isfinite(periods)
        edge = 3 * float(periods[turning].max(initial=2 * self.dt))
        axes.plot(periods[turning], times[turning], ".", ms=4, color="C0")
        still = times[shown & ~turning]
        axes.plot(np.full(len(still), edge), still, ".", ms=4, color="C3")
        axes.axvline(edge, ls="--", lw=0.8, color="0.7", zorder=0)
        axes.set(xscale="log", yscale="log", xlabel="period", ylabel="decay time")
        return axes


def table(spectra: dict[str, Spectrum], dt: float = 1.0, turns: bool = False) -> Table:
    """One row per spectrum: extremes and quantiles of the measured timescales, and the periods.

    `turns` adds the decay times, since 1 / (1 - Re lambda) mixes decay and frequency of modes that oscillate.
    """
    notes: list[str] = []
    rows = tuple(
        (name, each.units, *_numbers(name, each, notes), *(_decays(each) if turns else ())) for name, each in spectra.items()
    )
    title = f"Timescales measured in the linear regime, in units of time (one step is {dt:g})"
    return Table((*COLUMNS, *(DECAY if turns else ())), rows, title, tuple(notes))


def _decays(spectrum: Spectrum) -> tuple[float, float]:
    return float(spectrum.decay_times.min()), float(spectrum.decay_times.max())


def _numbers(name: str, spectrum: Spectrum, notes: list[str]) -> list[float | None]:
    times, turning = spectrum.timescales, spectrum.periods[np.isfinite(spectrum.periods)]
    middle: list[float | None] = [None] * 3
    if spectrum.complete:
        # The nearest values from below: interpolation would mix in infinities.
        middle = [float(each) for each in np.quantile(times, [0.05, 0.5, 0.95], method="lower")]
    else:
        notes.append(
            f"{name}: {spectrum.units} units are many; only the outermost eigenvalues were computed, no quantiles or periods."
        )
    growing = int((np.abs(spectrum.eigenvalues) >= 1).sum())
    if growing:
        modes = "1 mode does" if growing == 1 else f"{growing} modes do"
        notes.append(f"{name}: {modes} not decay in the linear regime (|lambda| >= 1).")
    if spectrum.units > 1 and (spectrum.eigenvalues == spectrum.eigenvalues[0]).all():
        notes.append(f"{name}: all eigenvalues are the same, as in a delay line, whose weights have no eigenvalue but 0.")
    periods: list[float | None] = [None, None]
    if not len(turning):
        notes.append(f"{name}: no mode oscillates.")
    elif spectrum.complete:
        periods = [float(turning.min()), float(turning.max())]
    return [float(times.min()), *middle, float(times.max()), *periods]
