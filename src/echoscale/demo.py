"""The NARMA10 demonstration: a single, a parallel and a hierarchical network of 100 neurons side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale import timescales
from echoscale.estimators import ESNRegressor
from echoscale.metrics import nrmse
from echoscale.network import Network, hierarchical, parallel, single
from echoscale.tasks import narma

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

TRAIN, TEST, WASHOUT = 6500, 2500, 200
# The share of validation within the training series: 1,500 of the 6,300 steps after the washout.
VALIDATION = 1500 / (TRAIN - WASHOUT)
# From 1e-5 up, chosen on the validation tail (the settings under which the paper's comparison holds).
PENALTIES = tuple(10.0**e for e in np.arange(-5, 1.01, 0.5))
SHOWN_STEPS = 100


class Contender(NamedTuple):
    """A network with a name for the table."""

    name: str
    network: Network


class Result(NamedTuple):
    """Test errors over the seeds, (seeds,), and one stretch of the test series with its prediction, (steps,)."""

    contender: Contender
    errors: Floats
    truth: Floats
    guess: Floats


def contenders() -> list[Contender]:
    """Equal numbers of neurons; leak rates at which each does well."""
    shared: dict[str, Any] = {"spectral_radius": 0.95, "input_scaling": 0.2}
    return [
        Contender("single", single(100, leak_rate=0.8, **shared)),
        Contender("parallel", parallel([50, 50], leak_rate=[1.0, 0.5], **shared)),
        Contender("hierarchical", hierarchical([50, 50], leak_rate=[1.0, 0.2], coupling=1.0, **shared)),
    ]


def compute(seeds: int = 5, track: Callable[[Sequence[Any]], Iterable[Any]] = lambda jobs: jobs) -> list[Result]:
    """Fit every contender on `seeds` draws of weights and series; `track` wraps the jobs, for a progress bar."""
    entrants = contenders()
    jobs = [(contender, seed) for contender in entrants for seed in range(seeds)]
    outcomes = {(contender.name, seed): _one(contender.network, seed) for contender, seed in track(jobs)}
    return [
        Result(
            contender,
            np.array([outcomes[contender.name, seed][0] for seed in range(seeds)]),
            *outcomes[contender.name, 0][1:],
        )
        for contender in entrants
    ]


def _one(network: Network, seed: int) -> tuple[float, Floats, Floats]:
    u, y = narma(TRAIN + TEST, order=10, seed=seed)
    model = ESNRegressor(network=network, washout=WASHOUT, ridge=PENALTIES, validation=VALIDATION, random_state=seed)
    model.fit(u[:TRAIN], y[:TRAIN])
    guess = model.predict(u[TRAIN:], state=model.state_)
    truth = y[TRAIN:]
    return nrmse(truth, guess), truth[:SHOWN_STEPS, 0], guess[:SHOWN_STEPS, 0]


def timescale_text(network: Network) -> str:
    """tau_min - tau_peak - tau_max of every reservoir, in steps."""
    parts = []
    for each in network.reservoirs:
        low, high = timescales.bounds(each.leak_rate, each.spectral_radius)
        parts.append(f"{low:.2g} - {timescales.peak(each.leak_rate, each.spectral_radius):.2g} - {high:.3g}")
    return "\n".join(parts)


def draw(results: Sequence[Result]) -> Figure:
    """Left: a stretch of the unseen target and each prediction. Right: the errors of all seeds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[3, 1])
    colours = ["#0072B2", "#E69F00", "#009E73"]  # told apart by the colour-blind
    left.plot(results[0].truth, color="black", linewidth=2, label="NARMA10 (unseen)")
    for place, (result, colour) in enumerate(zip(results, colours, strict=True)):
        left.plot(result.guess, color=colour, linewidth=1, label=result.contender.name)
        right.plot(np.full(len(result.errors), place), result.errors, "o", color=colour, alpha=0.5, markeredgewidth=0)
        right.plot([place - 0.25, place + 0.25], [result.errors.mean()] * 2, color=colour, linewidth=2)
    left.set(xlabel="step of the test series", ylabel="y", title=f"First {SHOWN_STEPS} unseen steps, seed 0")
    left.legend(frameon=False, ncols=2)
    right.set(
        xticks=range(len(results)), xticklabels=[each.contender.name for each in results], ylabel="test NRMSE", ylim=(0, None)
    )
    right.set_title(f"{len(results[0].errors)} seeds, mean as a bar")
    right.tick_params(axis="x", rotation=20)
    return figure


def save_figure(results: Sequence[Result], folder: Path) -> Path:
    """The plot as a PNG in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "narma10.png"
    draw(results).savefig(path, dpi=150)
    return path
