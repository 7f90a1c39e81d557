"""The libraries that are compared, one module each.

A module offers `prepare(row) -> list[Candidate]`: the reasonable ways to do the row's work with that library. The worker
tries each once and measures the fastest, so that a library is never judged by a slow option.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from rows import Coupling, Kind, Row


@dataclass(frozen=True)
class Candidate:
    """One way to do a row's work.

    name      the options used, for the notes under the table
    dtype     of states and arithmetic
    call      the timed work; it returns only when the result is there
    probe     the states of `rows.probe_input(row)`, (series, steps, units), computed by the same means and not timed
    share     the part of the row's work that `call` does; below 1, times are extrapolated and marked as such
    coupling  when the second reservoir of a hierarchy hears the first
    block     (W, W_in) of a library that draws its own weights
    readout   where the states alone would not show it: the coefficients for the training part of a sweep at `row.leak_rates`,
              (1, units), computed by the same means and not timed
    """

    name: str
    dtype: str
    call: Callable[[], object]
    probe: Callable[[], npt.ArrayLike]
    share: float = 1.0
    coupling: Coupling = "delayed"
    block: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None
    readout: Callable[[], npt.ArrayLike] | None = None


@dataclass(frozen=True)
class Contender:
    """A column of the table.

    requires       modules without which it is "not installed"
    distributions  packages whose versions are reported
    notes          differences from the reference that a reader must know
    kinds          of rows in which it takes part
    """

    name: str
    module: str
    requires: tuple[str, ...]
    distributions: tuple[str, ...]
    notes: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ("run", "snapshots", "states", "sweep")


OURS = "echoscale"

CONTENDERS = (
    Contender(OURS, "ours", ("echoscale",), ("echoscale", "jax", "jaxlib")),
    Contender(
        "NumPy loop",
        "numpy_loop",
        ("numpy",),
        ("numpy",),
        ("Dense float64 matrices in a Python loop; the batch rows hold all series as columns of one matrix.",),
    ),
    Contender(
        "reservoirpy",
        "reservoirpy_numpy",
        ("reservoirpy",),
        ("reservoirpy", "numpy", "scipy"),
        (
            "The hierarchy is one `Reservoir` with a block matrix and a leak rate per neuron. `run` takes the series of a "
            "batch one after another. States are float64 whatever dtype is asked for.",
        ),
    ),
    Contender(
        "reservoirpy, by the manual",
        "reservoirpy_manual",
        ("reservoirpy",),
        ("reservoirpy", "numpy", "scipy"),
        (
            "`Reservoir` nodes that draw their own weights with default options, joined by `>>`; no bias. One connection in "
            "ten is kept: at 1,000 units that is 100 a row, ten times what the others have. The second reservoir is driven in "
            "the same step, and the readout of the sweep sees the second reservoir only.",
        ),
    ),
    Contender(
        "reservoirpy.jax",
        "reservoirpy_jax",
        ("reservoirpy.jax",),
        ("reservoirpy", "jax", "jaxlib"),
        (
            "The hierarchy is one `Reservoir` with a block matrix and a leak rate per neuron. `run` compiles anew at every "
            "call; wrapping it in `jax.jit` (and `jax.vmap`) ourselves avoids that and is measured where it is faster. In "
            "the sweep the leak rates are constants of the compiled program, so that every point compiles; the Gram matrix "
            "is in float32, which is coarse for so small a penalty.",
        ),
    ),
    Contender(
        "echoes",
        "echoes_numba",
        ("echoes", "sklearn"),
        ("echoes", "numba", "scikit-learn"),
        (
            "`ReservoirLeakyNeurons` (the estimator's own engine) with its readout, scikit-learn's `Ridge`. Its first state "
            "is the initial one, hence one leading step is added. It takes one leak rate per reservoir: a hierarchy is two "
            "reservoirs in turn, the second driven in the same step. Dense matrices only. The sweep's Gram matrix has the "
            "dtype of the states; float32 is coarse for so small a penalty.",
        ),
    ),
    Contender(
        "orc",
        "orc_jax",
        ("orc", "equinox", "jax"),
        ("OpenReservoirComputing", "jax", "jaxlib"),
        (
            "Discrete mode, bias 0, our weights put in with `equinox.tree_at`: sparse (BCOO) as the library has them, or a "
            "dense matrix in their place. The hierarchy is one reservoir with a block matrix and a leak rate per neuron; "
            "batches and sweeps go through `jax.vmap` or a compiled loop. float32, though the library recommends float64. "
            "Its ridge regression has no intercept and here solves in float32, which is coarse for so small a penalty.",
        ),
    ),
    Contender(
        "resdag",
        "resdag_torch",
        ("resdag", "torch"),
        ("resdag", "torch"),
        (
            "Two stacked `ESNLayer`s make the hierarchy, the second driven in the same step; batches run together. Its "
            "compiled engine is for CUDA only, so that the CPU takes the eager loop. The sweep sets the layers' leak rates "
            "point by point.",
        ),
    ),
    Contender(
        "GridSearchCV on echoscale",
        "ours_gridsearch",
        ("echoscale", "sklearn"),
        ("echoscale", "jax", "jaxlib", "scikit-learn"),
        (
            "Our own `ESNRegressor`, searched point by point by scikit-learn: `param_grid` over the leak rates, one split "
            "(`PredefinedSplit`), `refit=False`. A point is one fit on the first three quarters of the series and one score on "
            "the last, as many steps in all as the others fit on. Every fit draws the network anew, which is part of the time; "
            "the first column draws its weights beforehand, fits on all steps and does not score.",
        ),
        ("sweep",),
    ),
    Contender(
        "Optuna on echoscale",
        "ours_optuna",
        ("echoscale", "optuna"),
        ("echoscale", "jax", "jaxlib", "optuna"),
        (
            "Our own `ESNRegressor(network=hierarchical(...))` in an objective, one point a trial: `GridSampler` over the same "
            "grid, study in memory, logging off. Fit, score and drawing as for GridSearchCV. `n_jobs` are threads. The "
            "sampler goes through all earlier trials before each new one, which is part of the time.",
        ),
        ("sweep",),
    ),
)


def find_contender(name: str) -> Contender:
    """The contender of that name."""
    return next(contender for contender in CONTENDERS if contender.name == name)


def subset(row: Row, count: int) -> tuple[int, float]:
    """(series to run, their share) for a library that takes the series of a batch one by one."""
    chosen = min(count, row.batch)
    return chosen, chosen / row.batch


def keep(states: Any, row: Row) -> Any:
    """Of states (..., steps, units), an array of any library, those that the row asks for."""
    return states[..., row.every - 1 :: row.every, :] if row.kind == "snapshots" else states
