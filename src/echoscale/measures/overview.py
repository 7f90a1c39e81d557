"""All measures of one network in one call: a table and a figure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from echoscale._internal.table import Table
from echoscale.data.series import SeriesLike, washout_steps
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.measures.capacity import processing_capacity
from echoscale.measures.consistency import consistency, echo_index
from echoscale.measures.inputs import noise, one_series
from echoscale.measures.lyapunov import lyapunov_exponents
from echoscale.measures.memory_capacity import linear_memory_capacity, memory_capacity
from echoscale.measures.ranks import dimension, ranks
from echoscale.measures.results import plot
from echoscale.readouts.states import check_states
from echoscale.readouts.statistics import statistics
from echoscale.timescales.spectrum import Spectrum

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

# Steps of noise per neuron; least and largest total.
STEPS_PER_NEURON, LEAST_STEPS, MOST_STEPS = 100, 5000, 50_000
EXPONENTS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Measured:
    """All measures of one network: the result of `measure`. Print it to read a table.

    Attributes
    ----------
    spectrum : Spectrum
        Eigenvalues, timescales and periods of the linear regime.
    memory : xarray.Dataset
        Result of `memory_capacity`.
    linear_memory : xarray.Dataset or None
        Result of `linear_memory_capacity`; None if inputs never fade in the linear regime.
    capacity : xarray.Dataset
        Result of `processing_capacity`.
    exponents : xarray.Dataset
        Result of `lyapunov_exponents`.
    echo : xarray.Dataset
        Result of `echo_index`.
    dimension : xarray.Dataset
        Result of `dimension`.
    consistency : xarray.Dataset
        Result of `consistency`.
    ranks : xarray.Dataset
        Result of `ranks`.
    """

    spectrum: Spectrum
    memory: xarray.Dataset
    linear_memory: xarray.Dataset | None
    capacity: xarray.Dataset
    exponents: xarray.Dataset
    echo: xarray.Dataset
    dimension: xarray.Dataset
    consistency: xarray.Dataset
    ranks: xarray.Dataset

    @cached_property
    def table(self) -> Table:
        """One row per measure: its value and its largest possible value."""
        units = self.spectrum.units
        times = self.spectrum.timescales
        linear = None if self.linear_memory is None else float(self.linear_memory.capacity)
        rows = [
            ("neurons", units, None),
            ("longest timescale", float(times.max()), None),
            ("memory capacity, lags from 1 on", float(self.memory.capacity), units),
            ("the same in the linear regime", linear, units),
            *((f"processing capacity, degree {int(each.degree)}", float(each), units) for each in self.capacity.capacity),
            ("processing capacity, all of these", float(self.capacity.total), units),
            ("largest conditional exponent", float(self.exponents.exponent[0]), None),
            ("echo state index", int(self.echo["index"]), self.echo.sizes["start"]),
            ("consistency", float(self.consistency.consistency), 1),
            ("dimension of the states", float(self.dimension.dimension), units),
            ("kernel rank", int(self.ranks.kernel_rank), self.ranks.sizes["place"]),
            ("generalisation rank", int(self.ranks.generalisation_rank), self.ranks.sizes["place"]),
        ]
        notes = ["Memory, capacities and ranks: for uniform noise of the mean and spread of u. All others: for u itself."]
        if linear is None:
            notes.append(
                "Linear regime: inputs never fade there (an eigenvalue of size 1 or more), so it has no memory function."
            )
        return Table(("measure", "value", "at most"), tuple(rows), "Measures of a network", tuple(notes))

    def plot(self) -> Figure:
        """Plot spectrum, timescales, memory function, capacities, exponents and singular values in one figure."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 5.5), layout="constrained")
        axes = figure.subplots(2, 3).ravel()
        values = self.spectrum.eigenvalues
        turn = np.linspace(0, 2 * np.pi, 200)
        axes[0].plot(np.cos(turn), np.sin(turn), color="black", linewidth=0.5)
        axes[0].plot(values.real, values.imag, ".", markersize=4)
        axes[0].set(xlabel="Re λ", ylabel="Im λ", aspect="equal", title="spectrum")
        times = np.sort(self.spectrum.timescales)
        shown = times[np.isfinite(times)]
        axes[1].plot(shown, (np.arange(len(shown)) + 1) / len(times))
        axes[1].set(xscale="log", xlabel="timescale", ylabel="share of modes below", title="timescales")
        if self.linear_memory is not None:
            plot(self.linear_memory, axes[2]).lines[0].set(linestyle="--", color="C1", label="linear regime")
        plot(self.memory, axes[2]).lines[-1].set(color="C0", label="measured")
        axes[2].set_title(f"memory function, capacity {float(self.memory.capacity):.3g}")
        axes[2].legend(frameon=False, fontsize="small")
        plot(self.capacity, axes[3]).set_title(f"processing capacity, {float(self.capacity.total):.3g} in all")
        plot(self.exponents, axes[4]).set_title(f"conditional exponents, largest {float(self.exponents.exponent[0]):.3g}")
        plot(self.ranks, axes[5]).set_title("separation and generalisation")
        return figure

    def __repr__(self) -> str:
        return str(self.table)


def measure(
    esn: ESN,
    u: SeriesLike,
    *,
    degree: int = 3,
    lags: int | None = None,
    exponents: int = EXPONENTS,
    washout: int | None = None,
    seed: int = 0,
    hyper: Hyper | None = None,
) -> Measured:
    """Measure memory, capacities, exponents and ranks of one network for the inputs u, as a table and a figure.

    Memory, capacities and ranks are defined for independent inputs, so they are measured with uniform noise of the same mean
    and spread as u. Exponents, echo state index, consistency and dimension are measured with u itself. A `StateWarning` is
    given if u saturates the states or leaves them constant.

    Parameters
    ----------
    esn : ESN
        Network.
    u : (T, F)
        Inputs in the units that the network receives.
    degree : int
        Largest degree of the processing capacity.
    lags : int, optional
        Largest lag of the memory function; by default twice the number of neurons.
    exponents : int
        Number of Lyapunov exponents, at most one per neuron.
    washout : int, optional
        Number of steps at the start that are left out; by default 100, or a tenth of u if that is less.
    seed : int
        Random seed of the noise and the starts.
    hyper : Hyper, optional
        Hyper-parameters in place of the network's own, without lanes. For grids, use the functions of the measures.

    Returns
    -------
    Measured
        Results; print them to read a table, `.plot()` makes a figure.

    Examples
    --------
    >>> import echoscale as es
    >>> esn = es.single(20, leak_rate=0.5).build(n_inputs=1, seed=0)
    >>> u, _ = es.tasks.narma(length=600, seed=0)
    >>> found = esn.measure(u, degree=2)
    >>> found.table["measure"][:3]
    ('neurons', 'longest timescale', 'memory capacity, lags from 1 on')
    >>> found.plot().axes[2].get_xlabel()
    'lag k'
    """
    used = esn.hyper if hyper is None else hyper
    if used.lanes is not None:
        raise ValueError(f"measure takes one network, but hyper has {used.lanes} lanes: for grids use the other functions.")
    series = one_series(esn, u)
    values = series.values[0]
    middle, half = values.mean(axis=0), 3**0.5 * values.std(axis=0)
    if not (half > 0).all():
        raise ValueError(f"feature {int(np.argmin(half))} of u is constant: capacities need varying inputs. Leave it out.")
    length = max(min(max(STEPS_PER_NEURON * esn.units, LEAST_STEPS), MOST_STEPS), 10 * esn.units + (lags or 0), 20 * esn.units)
    found = statistics(esn, series, series, washout=washout_steps(washout, int(series.lengths[0])), hyper=used)
    # Inputs in raw units often saturate the states, or leave them constant.
    check_states(found.mean[: esn.units], np.diagonal(found.scatter)[: esn.units] / found.count, esn, above=4)
    white = noise(length, esn.columns, seed, low=middle - half, high=middle + half)
    spectrum = esn.spectrum(hyper=used)
    fades = np.abs(spectrum.eigenvalues).max() < 1
    return Measured(
        spectrum,
        memory_capacity(esn, white, lags=lags, washout=washout, hyper=used),
        linear_memory_capacity(esn, lags=lags, hyper=used) if fades else None,
        processing_capacity(esn, white, degree=degree, washout=washout, hyper=used),
        lyapunov_exponents(esn, u, min(exponents, esn.units), washout=washout, seed=seed, hyper=used),
        echo_index(esn, u, seed=seed, hyper=used),
        dimension(esn, u, washout=washout, hyper=used),
        consistency(esn, u, washout=washout, seed=seed, hyper=used),
        ranks(esn, white, hyper=used),
    )
