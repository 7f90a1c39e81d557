"""Paths of learned leak rates over the error surfaces of Fig. 3: the paper's online rule, and `tune`.

online  Adam on W_out and on both leak rates at every step of ten series (the paper's table of rates). W_out is drawn again
        from time to time; the gradient of the leak rates comes from exact traces.
tune    Gauss-Newton steps on the validation error of the ridge-optimal readout, from the same starts
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from echoscale import Hyper
from echoscale.learning import PRESETS, Adam, OnlineLearner, Reinitialise, tune
from echoscale.network import Network
from echoscale.sweeps import Arrays, Check, Protocol
from echoscale.tasks import narma
from paper.types import Floats

if TYPE_CHECKING:
    import xarray


SEQUENCES, RATE = 10, 5e-6  # the paper's
# The surfaces use the series numbered by their seeds: those of the learners have larger numbers.
FIRST_SERIES = 10_000
STARTS = ((0.2, 0.8), (0.5, 0.5), (0.8, 0.8), (0.9, 0.2))


@dataclass(frozen=True)
class Paths:
    """Steps of the online rule, steps between two draws of W_out, and records; `faster` multiplies the paper's rate."""

    steps: int
    reset: int
    seeds: tuple[int, ...]
    records: int = 100
    faster: float = 1.0
    starts: tuple[tuple[float, float], ...] = STARTS


def online(paths: Paths, network: Network, order: int, seed: int, check: Check) -> tuple[Floats, Floats]:
    """Leak rates (starts, records + 1, 2), the start first; and the online NRMSE of every window (starts, records)."""
    series = [narma(paths.steps, order=order, seed=FIRST_SERIES + SEQUENCES * seed + k) for k in range(SEQUENCES)]
    u, y = (np.stack(each).astype(np.float32) for each in zip(*series, strict=True))
    starts = np.array(paths.starts)
    preset = PRESETS["narma"]
    learner = OnlineLearner(
        network,
        rates=Adam(RATE * paths.faster, preset.learned.beta1, preset.learned.beta2),
        readout=preset.readout,
        starts=Hyper.of(network).replace(leak_rate=[starts[:, 0], starts[:, 1]]),
        protocol=Reinitialise(every=paths.reset, tolerance=0),  # a tolerance of 0: it never stops
        record=paths.steps // paths.records,
        washout=200,
        seed=seed,
    )
    learner.partial_fit(u, y, progress=lambda *_: check())
    history = learner.history.transpose("start", "step", "parameter")
    errors = np.sqrt(2 * history["loss"].values / y.var())
    return np.concatenate([starts[:, None], history["value"].values], axis=1), errors


def tuned(paths: Paths, network: Network, order: int, seed: int, protocol: Protocol) -> Floats:
    """Leak rates (starts, rounds + 1, 2) of `tune` from the same starts, on the series of the surface of this seed."""
    washout, train, validation = protocol.washout, protocol.train, protocol.validation
    u, y = narma(washout + train + validation, order=order, seed=seed)
    starts = np.array(paths.starts)
    hyper = network.build(1, seed=seed).hyper.replace(leak_rate=[starts[:, 0], starts[:, 1]])
    share = validation / (train + validation)
    # The paper's units and ridge, one validation part, and no test part: the surfaces have test data of their own.
    options: dict[str, Any] = {"washout": washout, "folds": share, "test": 0, "scale": None, "ridge": 1e-5}
    with warnings.catch_warnings():
        # After Ctrl-C `tune` returns early with a warning: such a result must not be kept as that of a finished job.
        warnings.filterwarnings("error", "interrupted", UserWarning)
        try:
            found = tune(network, u, y, "leak_rate", starts=hyper, seed=seed, relocate=False, **options)
        except UserWarning as warning:
            raise (KeyboardInterrupt if f"{warning}".startswith("interrupted") else warning) from None
    values: Floats = found.history["value"].transpose("start", "round", "parameter").values
    return values


def dataset(paths: Paths, surfaces: Sequence[str], walks: Mapping[tuple[str, int], Arrays]) -> xarray.Dataset:
    """The paths of all surfaces and seeds from walks[surface, seed]; shorter paths end in NaN."""
    import xarray

    longest = max(each["tuned"].shape[1] for each in walks.values())
    shape = len(surfaces), len(paths.seeds), len(paths.starts)
    online_walk = np.empty((*shape, paths.records + 1, 2), np.float32)
    errors = np.empty((*shape, paths.records), np.float32)
    tuned_walk = np.full((*shape, longest, 2), np.nan, np.float32)
    for i, surface in enumerate(surfaces):
        for j, seed in enumerate(paths.seeds):
            found = walks[surface, seed]
            online_walk[i, j], errors[i, j] = found["online"], found["online_errors"]
            tuned_walk[i, j, :, : found["tuned"].shape[1]] = found["tuned"]
    names = ("path_surface", "path_seed", "path_start")
    step = np.arange(paths.records + 1) * (paths.steps // paths.records)
    return xarray.Dataset(
        {
            "online_path": ((*names, "path_step", "leak"), online_walk, {"long_name": "leak rates, learned online"}),
            "online_nrmse": ((*names, "path_window"), errors, {"long_name": "NRMSE while learning online"}),
            "tuned_path": ((*names, "path_round", "leak"), tuned_walk, {"long_name": "leak rates, tuned"}),
        },
        {
            "path_surface": ("path_surface", list(surfaces), {"long_name": "task and network of two reservoirs"}),
            "path_seed": ("path_seed", np.array(paths.seeds), {"long_name": "seed of weights and series"}),
            "path_start": (
                "path_start",
                [f"({a:g}, {b:g})" for a, b in paths.starts],
                {"long_name": "leak rates at the start"},
            ),
            "path_step": ("path_step", step, {"long_name": "steps of ten series at once", "units": "steps"}),
            "path_window": ("path_window", step[1:], {"long_name": "end of the window", "units": "steps"}),
            "path_round": ("path_round", np.arange(longest), {"long_name": "Gauss-Newton steps"}),
            "leak": ("leak", ["alpha1", "alpha2"], {"long_name": "which leak rate"}),
        },
    )
