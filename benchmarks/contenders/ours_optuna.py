"""echoscale as a user of Optuna would search: an objective that fits and scores an `ESNRegressor`, one point a trial."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import optuna
import rows
from rows import Row

import echoscale as es
from contenders import Candidate
from contenders.ours import hierarchy, regressor, search_candidate

# All of a 20 x 20 grid: the sampler takes longer the more trials there were.
POINTS = 400

optuna.logging.set_verbosity(optuna.logging.WARNING)


def prepare(row: Row) -> list[Candidate]:
    """In one thread, or in as many as there are cores."""
    return [_sweep(row, n_jobs) for n_jobs in (1, -1)]


def _sweep(row: Row, n_jobs: int) -> Candidate:
    count = min(POINTS, row.lanes)
    values = rows.leak_values(row).tolist()
    return search_candidate(
        row,
        f"GridSampler, n_jobs={n_jobs}, {count} of {row.lanes} points",
        count / row.lanes,
        _study(row, [values, values], count, n_jobs),
        lambda: _one_fit(row),
    )


def _study(
    row: Row,
    values: Sequence[Sequence[float]],
    count: int,
    n_jobs: int,
    see: Callable[[es.ESNRegressor], None] | None = None,
) -> Callable[[], optuna.Study]:
    """A study of `count` points of the grid that these values of the two leak rates span, in the sampler's random order."""
    u = rows.draw_input(row)[0]
    y = rows.narma10(u)[:, 0]
    cut = rows.training_steps(row)
    lowest, *_, highest = rows.leak_values(row).tolist()
    names = ("first", "second")

    def objective(trial: optuna.Trial) -> float:
        leak_rates = tuple(trial.suggest_float(name, lowest, highest) for name in names)
        model = regressor(row, hierarchy(row, leak_rates)).fit(u[:cut], y[:cut])
        if see is not None:
            see(model)
        return model.score(u[cut:], y[cut:])

    def call() -> optuna.Study:
        sampler = optuna.samplers.GridSampler(dict(zip(names, values, strict=True)), seed=0)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.optimize(objective, n_trials=count, n_jobs=n_jobs)
        return study

    return call


def _one_fit(row: Row) -> es.ESNRegressor:
    """The model that a study of one point fits at `row.leak_rates`."""
    fitted: list[es.ESNRegressor] = []
    _study(row, [[leak] for leak in row.leak_rates], 1, 1, fitted.append)()
    [model] = fitted
    return model
