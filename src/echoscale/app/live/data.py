"""The series of the live page: a task, or a file of the user, which stays in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from echoscale import tasks
from echoscale._internal.types import Floats
from echoscale.data import tables
from echoscale.data.metrics import nrmse
from echoscale.data.scaling import is_constant
from echoscale.data.series import washout_steps
from echoscale.estimators import NVAR
from echoscale.timescales.signal import of_signal

STEPS, TELEGRAPH_STEPS = 2000, 4000
REGIME = 0.005  # changes of the telegraph's regime per step: often enough to be visible in few steps
FEWEST, MOST = 100, 20_000  # rows of a file
TRAINED, VALIDATED = 0.6, 0.8  # where training and validation end
LAGS = 200
SHOWN = 200  # test steps in a plot, from the first on
WINDOW = 20  # inputs of the linear baseline


class Baseline(NamedTuple):
    """Baseline for the network on the test steps.

    Attributes
    ----------
    name : str
        Name of the baseline method.
    error : float
        NRMSE of the baseline method.
    ceiling : dict of str to float
        Accuracies of the exact Bayesian filter; empty except for the telegraph.
    """

    name: str
    error: float
    ceiling: dict[str, float]


class LabData(NamedTuple):
    """Inputs and targets, and their origin.

    Attributes
    ----------
    name : str
        Name of the task or the file.
    u : (T, F)
        Inputs.
    y : (T, O)
        Targets.
    outputs : tuple of str
        Names of the columns of y.
    code : str
        Python code that makes u and y.
    last : tuple of int
        Columns of u with the last known values of the targets; empty unless the targets are future values.
    telegraph : Telegraph or None
        Series with labels if the task is the telegraph; None otherwise.
    notes : tuple of str
        Notes for the reader of the page, such as the number of missing values.
    """

    name: str
    u: Floats
    y: Floats
    outputs: tuple[str, ...]
    code: str
    last: tuple[int, ...] = ()
    telegraph: tasks.Telegraph | None = None
    notes: tuple[str, ...] = ()

    @property
    def cuts(self) -> tuple[int, int, int, int]:
        """Ends of washout, training, validation and test."""
        steps = len(self.u)
        return washout_steps(None, steps), round(TRAINED * steps), round(VALIDATED * steps), steps

    @property
    def shown(self) -> slice:
        """The test steps that are plotted."""
        *_, begin, end = self.cuts
        return slice(begin, min(begin + SHOWN, end))

    def correlations(self) -> tuple[Floats, Floats, Floats]:
        """Lags from 1 on, and the autocorrelations of the first input and of the first target there."""
        lags = min(LAGS, len(self.u) // 4)
        found = of_signal(self.u, self.y, lags=lags)
        return found.lags[1:].astype(np.float64), found.inputs[1:, 0], found.targets[1:, 0]

    def baseline(self) -> Baseline:
        """The baseline: the last value for forecasts, ridge regression on the last inputs otherwise; and the ceiling."""
        _, trained, validated, _ = self.cuts
        if self.last:
            name, prediction = "the last value repeated", self.u[validated:, self.last]
        else:
            linear = NVAR(WINDOW, degree=1).fit(self.u[:trained], self.y[:trained])
            name, prediction = f"ridge regression on the last {WINDOW} inputs", linear.predict(self.u)[validated:]
        ceiling = {}
        if self.telegraph is not None:
            ceiling = tasks.telegraph_filter(self.u, p3=REGIME).accuracies(self.telegraph, washout=validated)
        return Baseline(name, nrmse(self.y[validated:], prediction), ceiling)


def _narma() -> LabData:
    u, y = tasks.narma(STEPS, order=10, seed=3)
    return LabData("NARMA10", u, y, ("y",), f"u, y = es.tasks.narma({STEPS}, order=10, seed=3)")


def _mackey_glass() -> LabData:
    u, y = tasks.mackey_glass(STEPS, horizon=6, seed=0)
    code = f"u, y = es.tasks.mackey_glass({STEPS}, horizon=6, seed=0)"
    return LabData("Mackey-Glass, 6 steps ahead", u, y, ("x(t + 6)",), code, (0,))


def _lorenz() -> LabData:
    u, y = tasks.lorenz(STEPS, horizon=5, seed=0)
    code = f"u, y = es.tasks.lorenz({STEPS}, horizon=5, seed=0)"
    return LabData("Lorenz, 5 steps ahead", u, y, ("x(t + 5)", "y(t + 5)", "z(t + 5)"), code, (0, 1, 2))


def _telegraph() -> LabData:
    made = tasks.telegraph(TELEGRAPH_STEPS, seed=0, p3=REGIME)
    y = np.stack([made.state, made.regime], axis=1).astype(np.float64)
    code = (
        f"made = es.tasks.telegraph({TELEGRAPH_STEPS}, seed=0, p3={REGIME})\n"
        "u, y = made.u, np.stack([made.state, made.regime], axis=1).astype(float)"
    )
    return LabData("Noisy telegraph", made.u, y, ("state", "regime"), code, telegraph=made)


TASKS: dict[str, Callable[[], LabData]] = {
    "NARMA10": _narma,
    "Mackey-Glass": _mackey_glass,
    "Lorenz": _lorenz,
    "Telegraph": _telegraph,
}


def from_csv(content: bytes, name: str) -> LabData:
    """Data from a table of numbers: predict the next value of the last column from all columns.

    A first column without numbers counts as the time and is left out. Missing values are filled with the value before them; at
    the beginning, with the first value.
    """
    table = tables.parse_csv(content, Path(name))
    if not FEWEST <= len(table) <= MOST:
        raise ValueError(f"{name} has {len(table):,} rows: the live page takes {FEWEST} to {MOST:,}.")
    columns = [str(each) for each in table.frame.columns]
    columns = columns[1:] if len(columns) > 1 and table.is_text(columns[0]) else columns
    numbers = table.numbers(columns)
    gaps = int(numbers.isna().to_numpy().sum())
    for column in numbers.columns[numbers.isna().all()]:
        raise ValueError(f"column {column!r} of {name} holds no number: leave it out.")
    values = numbers.ffill().bfill().to_numpy()
    _check_moves(values, columns, name)
    filled = ".ffill().bfill()" if gaps else ""
    code = (
        "from echoscale.data import tables\n"
        f"table = tables.read({name!r}, time={tables.NO_TIME!r}).numbers({columns}){filled}.to_numpy()\n"
        "u, y = table[:-1], table[1:, -1:]"
    )
    words = "1 missing value is" if gaps == 1 else f"{gaps:,} missing values are"
    notes = (f"{name}: {words} filled with the value before.",) if gaps else ()
    outputs, last = (f"{columns[-1]}, next step",), (values.shape[1] - 1,)
    return LabData(name, values[:-1], values[1:, -1:], outputs, code, last, notes=notes)


def _check_moves(values: Floats, header: list[str], name: str) -> None:
    """Refuse columns that are constant in training, and targets that are constant in validation or test."""
    trained, validated = round(TRAINED * (len(values) - 1)), round(VALIDATED * (len(values) - 1))
    last = values[1:, -1:]
    parts = {"training": values[:trained], "validation": last[trained:validated], "test": last[validated:]}
    for what, part in parts.items():
        flat = np.flatnonzero(is_constant(part))
        if flat.size:
            column = header[-1] if part.shape[1] == 1 else header[flat[0]]
            raise ValueError(f"column {column!r} of {name} is constant over the {what} steps: nothing can be learned from it.")
