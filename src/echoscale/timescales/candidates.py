"""Candidates for the timescales of a problem, and the choice among them by held-out error.

A candidate is a range of leak rates with an input scaling, for inputs of standard deviation 1:

    alpha_i = fast (slow / fast)^((i - 1) / (n - 1)),   i = 1 ... n      n: neurons of one reservoir, or several reservoirs

All candidates share their weights and run on the lanes of one scan. Every candidate is judged with its best ridge penalty on
held-out blocks of time. Errors within two per cent count as equal, and the first candidate among them is chosen: the list
begins with the shortest memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from echoscale._internal.plots import new_axes
from echoscale._internal.table import Table
from echoscale._internal.types import Floats
from echoscale.data.series import Series, washout_steps
from echoscale.data.stored import in_memory, is_stored
from echoscale.engine.hyper import Hyper
from echoscale.network import LogUniform, Network
from echoscale.readouts import penalties, splits
from echoscale.readouts.columns import Columns
from echoscale.readouts.statistics import split_statistics, with_noise

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# (slow, fast) leak rates, the shortest memory first, and input scalings, the usual one first. Set on one half of the problems
# of benchmarks/regressor.py: more ranges gained nothing, and two or three levels were no better than one reservoir.
LEAK_RATES = ((1.0, 1.0), (0.1, 1.0), (0.003, 0.2))
INPUT_SCALINGS = (0.3, 1.0, 0.03)
STRONGEST = 3.0  # with the shortest memory only: the other ranges gained nothing
TIE = 0.02  # a smaller gain in error may be chance; 0.05 gave away accuracy on chaotic series
# Data must hold this number of the slowest neuron's timescales, 1 / slow.
TIMESCALES = 10
# With fewer steps nothing is chosen; more steps, neurons or columns of inputs would cost time and change little.
FEWEST_STEPS, MOST_STEPS, MOST_UNITS, MOST_COLUMNS = 100, 1500, 100, 100
FOLDS = 3
PENALTIES = penalties.RELATIVE[::2]


class Candidate(NamedTuple):
    """A range of leak rates and an input scaling; NaN stands for a value that is not chosen.

    Attributes
    ----------
    slow, fast : float
        Least and largest leak rate.
    input_scaling : float
        Scale of the input weights.
    """

    slow: float
    fast: float
    input_scaling: float

    def leak_rate(self, sizes: Sequence[int]) -> float | LogUniform | list[float]:
        """The leak rates of one reservoir, whose neurons spread over the range, or of several reservoirs."""
        if len(sizes) == 1 and sizes[0] > 1:
            return self.fast if self.slow == self.fast else LogUniform(self.slow, self.fast)
        return [float(f"{each:.3g}") for each in self.levels(len(sizes))]

    def levels(self, count: int, spread: bool = False) -> list[float]:
        """Leak rates of levels, from fast to slow. A single level has the middle rate, or the fast one if it spreads them."""
        if count == 1:
            return [self.fast if spread else float(np.sqrt(self.fast * self.slow))]
        return [float(each) for each in np.geomspace(self.fast, self.slow, count)]

    def on(self, hyper: Hyper) -> Hyper:
        """These leak rates, falling from level to level or spread over the neurons, and this input scaling; the rest stays."""
        count = len(hyper.leak_rate)
        spread = (np.log(self.fast / self.slow),) if count == 1 and hyper.leak_spread else hyper.leak_spread
        return hyper._replace(
            leak_rate=tuple(self.levels(count, spread=bool(hyper.leak_spread))),
            leak_spread=spread,
            input_scaling=tuple(self.input_scaling if old > 0 else old for old in hyper.input_scaling),
        )

    def __str__(self) -> str:
        rates = f"leak rate {self.fast:g}" if self.slow == self.fast else f"leak rates {self.slow:g} to {self.fast:g}"
        given = [] if np.isnan(self.fast) else [rates]
        return " and ".join([*given, *([] if np.isnan(self.input_scaling) else [f"input scaling {self.input_scaling:g}"])])


FIRST = Candidate(*LEAK_RATES[0], INPUT_SCALINGS[0])


@dataclass(frozen=True, eq=False, repr=False)
class Candidates:
    """Candidates and their errors on held-out data. Print it to read a table.

    Attributes
    ----------
    slow, fast : (n,)
        Least and largest leak rate of every candidate.
    input_scaling : (n,)
        Input scaling of every candidate.
    errors : (n,)
        Root mean squared error on held-out data with the best ridge penalty, in standard deviations of the targets.
    folds : int
        Number of blocks of time, or of sequences, that were held out in turn.
    tie : float
        Relative tolerance: errors within this share of the least error count as equal, and the first of them is chosen.
    """

    slow: Floats
    fast: Floats
    input_scaling: Floats
    errors: Floats
    folds: int
    tie: float = TIE

    def __len__(self) -> int:
        return len(self.errors)

    @property
    def place(self) -> int:
        """Index of the chosen candidate: the first one whose error counts as the least."""
        return int(np.argmax(self.errors <= (1 + self.tie) * self.errors.min()))

    @property
    def chosen(self) -> Candidate:
        """The chosen candidate."""
        return self[self.place]

    @property
    def error(self) -> float:
        """Error of the chosen candidate on held-out data."""
        return float(self.errors[self.place])

    @property
    def table(self) -> Table:
        """One row per candidate, the least error first."""
        order = np.argsort(self.errors, kind="stable").tolist()
        rows = tuple((*(float(each) for each in self[k]), float(self.errors[k])) for k in order)
        return Table(("slowest leak rate", "fastest leak rate", "input scaling", "error"), rows, "Candidates", (self.reason,))

    @property
    def reason(self) -> str:
        """The choice in one sentence."""
        others = float(np.delete(self.errors, self.place).min())
        found = f"{self.chosen}, chosen from {len(self)} candidates by {self.folds} folds"
        if not others > 0:
            return f"{found}; others are as good"
        gap = self.error / others - 1
        return f"{found}; the next best has {abs(gap):.0%} {'less' if gap > 0 else 'more'} error"

    def plot(self, axes: Axes | None = None) -> Axes:
        """Plot the held-out error against the input scaling, one line per range of leak rates; or against the leak rates alone.

        Parameters
        ----------
        axes : matplotlib Axes or None
            Axes to plot into; None: a new figure.
        """
        from matplotlib.ticker import LogLocator, NullLocator

        axes = new_axes(4.5) if axes is None else axes
        rates = [str(each._replace(input_scaling=np.nan)) for each in self]
        if np.isnan(self.input_scaling).any():
            ranges = [each.removeprefix("leak rates ").removeprefix("leak rate ") for each in rates]
            axes.plot(ranges, self.errors, ".-")
            axes.plot(ranges[self.place], self.error, "o", color="black", fillstyle="none", markersize=10, label="chosen")
            axes.set(xlabel="leak rates")
        else:
            for label in dict.fromkeys(rates):
                mine = np.flatnonzero([each == label for each in rates])
                mine = mine[np.argsort(self.input_scaling[mine])]
                axes.plot(self.input_scaling[mine], self.errors[mine], ".-", label=label or None)
            place = self.chosen.input_scaling, self.error
            axes.plot(*place, "o", color="black", fillstyle="none", markersize=10, label="chosen")
            axes.set(xscale="log", xlabel="input scaling")
            axes.set_xticks(np.unique(self.input_scaling), [f"{each:g}" for each in np.unique(self.input_scaling)])
            axes.set_xticks([], minor=True)
        axes.set(yscale="log", ylabel="error of held-out folds")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_locator(NullLocator())
        axes.legend(frameon=False, fontsize="small")
        return axes

    def __getitem__(self, place: int) -> Candidate:
        return Candidate(float(self.slow[place]), float(self.fast[place]), float(self.input_scaling[place]))

    def __iter__(self) -> Iterator[Candidate]:
        return (self[place] for place in range(len(self)))

    def __repr__(self) -> str:
        return str(self.table)


def candidates(steps: int, leak_rates: bool = True, input_scalings: bool = True, spread: float = 1.0) -> list[Candidate]:
    """The candidates for this number of steps of data.

    leak_rates, input_scalings  whether to choose them
    spread                      standard deviation of the inputs
    """
    slowest = min(float(f"{TIMESCALES / steps:.2g}"), 1.0)
    bounded = [(max(slow, slowest), fast) for slow, fast in LEAK_RATES[1:]]
    ranges = [LEAK_RATES[0], *(each for each in bounded if each[0] < each[1])] if leak_rates else [(np.nan, np.nan)]
    found = [Candidate(*each, scaling) for each in ranges for scaling in INPUT_SCALINGS]
    found.insert(len(INPUT_SCALINGS), Candidate(*ranges[0], STRONGEST))
    if input_scalings:
        return [each._replace(input_scaling=float(f"{each.input_scaling / spread:.3g}")) for each in found]
    return [Candidate(*each, np.nan) for each in ranges]


def choose(
    tried: Sequence[Candidate],
    network: Callable[[Candidate], Network],
    inputs: Series,
    targets: Series,
    columns: Columns,
    *,
    noise: float = 0.0,
    **build: Any,
) -> Candidates | None:
    """The errors of candidates on held-out data; None if there is nothing to choose or too little data.

    network  returns the network of a candidate; all networks have the same reservoirs and differ only in hyper-parameters
    columns  columns of the readout in addition to the states
    noise    standard deviation of noise on the states that the readout must tolerate
    build    seed, precision and device
    """
    inputs, targets = shortened(inputs, MOST_STEPS), shortened(targets, MOST_STEPS)
    if len(tried) < 2 or inputs.lengths.sum() < FEWEST_STEPS:
        return None
    washout = washout_steps(None, int(inputs.lengths.min()))
    if splits.possible(inputs.lengths, washout, FOLDS) < FOLDS:
        return None
    held_out = splits.folds(inputs.lengths, washout, FOLDS)
    networks = [network(each) for each in tried]
    # All share the weights: a network that spreads its leak rates has all hyper-parameters of the other networks.
    spread = next((each for each in networks if each.spreads_leaks), networks[0])
    esn = spread.build(inputs.features, **build)
    beside = Columns(min(int(columns.inputs or 0), max(MOST_COLUMNS // inputs.features, 1)))
    parts, _ = split_statistics(esn, inputs, targets, held_out.edges, columns=beside, hyper=side_by_side(networks))
    parts = [with_noise(each, noise * noise, esn.units) for each in parts] if noise else parts
    squares = penalties.fold_errors(splits.pairs(parts, held_out.splits), PENALTIES).mean(axis=-1)
    errors = np.sqrt(penalties.least(squares).error)
    slow, fast, scaling = np.array(tried).T
    return Candidates(slow, fast, scaling, errors, FOLDS)


def side_by_side(networks: Sequence[Network]) -> Hyper:
    """The hyper-parameters of networks that are otherwise equal, on lanes."""
    every = [Hyper.of(each) for each in networks]
    spread = next((each for each in every if each.leak_spread), every[0])
    zero = tuple(np.zeros(()) for _ in spread.leak_spread)
    full = [each if each.leak_spread else each._replace(leak_spread=zero) for each in every]
    return Hyper(*(tuple(map(np.array, zip(*leaves, strict=True))) for leaves in zip(*full, strict=True)))


def fewer_units(sizes: Sequence[int]) -> list[int]:
    """Sizes of reservoirs for the choice: reduced in proportion to at most MOST_UNITS in total."""
    share = min(1.0, MOST_UNITS / sum(sizes))
    return [max(int(each * share), 1) for each in sizes]


def recent(series: Series) -> Series:
    """The steps of stored series that a choice looks at, in memory; other series as they are."""
    return in_memory(shortened(series, MOST_STEPS)) if is_stored(series) else series


def shortened(series: Series, most: int) -> Series:
    """At most this number of steps in all: evenly chosen series, and the last steps of each."""
    total = int(series.lengths.sum())
    if total <= most:
        return Series(list(series.values), "list", series.name)
    kept = max(min(series.count, round(most / (total / series.count))), 1)
    which = np.unique(np.linspace(0, series.count - 1, kept).round().astype(int))
    return Series([np.asarray(series.values[b][-max(most // len(which), 1) :]) for b in which], "list", series.name)
