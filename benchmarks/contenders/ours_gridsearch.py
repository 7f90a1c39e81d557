"""echoscale as a user of scikit-learn would search: `GridSearchCV` on `ESNRegressor`, one fit and one score a point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import rows
from rows import Row
from sklearn.model_selection import GridSearchCV, PredefinedSplit

import echoscale as es
from contenders import Candidate
from contenders.ours import hierarchy, regressor, search_candidate

# All of a 20 x 20 grid: parts of it were extrapolated too low.
POINTS = 400


def prepare(row: Row) -> list[Candidate]:
    """In this process, or in as many as there are cores."""
    return [_sweep(row, n_jobs) for n_jobs in (1, -1)]


def _sweep(row: Row, n_jobs: int) -> Candidate:
    points = rows.sweep_points(row, POINTS)
    return search_candidate(
        row,
        f"n_jobs={n_jobs}, {len(points)} of {row.lanes} points",
        len(points) / row.lanes,
        _search(row, points, n_jobs),
        lambda: _one_fit(row),
    )


def _search(
    row: Row, points: Sequence[tuple[float, ...]], n_jobs: int, scoring: Callable[..., float] | None = None
) -> Callable[[], GridSearchCV]:
    u = rows.draw_input(row)[0]
    y = rows.narma10(u)[:, 0]
    split = PredefinedSplit(np.where(np.arange(row.steps) < rows.training_steps(row), -1, 0))

    def call() -> GridSearchCV:
        search = GridSearchCV(
            regressor(row, hierarchy(row, row.leak_rates)),
            {"network": [hierarchy(row, point) for point in points]},
            scoring=scoring,
            n_jobs=n_jobs,
            cv=split,
            refit=False,
            error_score="raise",
        )
        return search.fit(u, y)

    return call


def _one_fit(row: Row) -> es.ESNRegressor:
    """The model that the search fits at `row.leak_rates`; without a refit it is seen by the scoring alone."""
    fitted = []

    def scoring(model: es.ESNRegressor, X: Any, y: Any) -> float:
        fitted.append(model)
        return model.score(X, y)

    _search(row, [row.leak_rates], n_jobs=1, scoring=scoring)()
    [model] = fitted
    return model
