"""Compare all methods of `es.auto` at the rows that judge, average the simple methods, and choose the method that is taken.

    simple(t) = sum_k w_k y_k(t),   w_k ~ (mean squared error of k) ** -SHARPNESS

The best simple method alone is taken in place of this mean if the mean is worse by more than some standard errors. Networks are
taken instead, or averaged with the simple methods, only if they are better by as much. Where the data cannot tell, the mean of
the simple methods is returned.

`of_errors` gives the shares of members in a mean from their errors on held-out data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from echoscale._internal.types import Floats
from echoscale.forecasting.selection import lags
from echoscale.forecasting.selection.candidates import on_lags
from echoscale.forecasting.selection.lags import LinearMap
from echoscale.forecasting.selection.model import Group
from echoscale.forecasting.selection.problem import Question
from echoscale.forecasting.selection.search import Rounds
from echoscale.forecasting.splits import standard_errors

RIDGE, CHANGE = "ridge on lags", "ridge on lags, of the change"
PRODUCTS = "ridge on products of lags"
SMOOTHING = "exponential smoothing"
NAIVE, SEASONAL, CONSTANT = "persistence", "seasonal naive", "mean"
SIMPLE = "simple methods, averaged"
NETWORKS, BOTH = "networks", "networks and simple methods, averaged"
# Set on drawn series (walks, autoregressions, seasons, trends). A method that looks clearly worse keeps its small weight: on
# short series what was best need not be best again. Weights below the least are not worth a method more.
SHARPNESS, LEAST_WEIGHT = 4.0, 0.01
# Standard errors: the bar for networks against the simple methods, for networks alone against their mean with the simple
# methods, and for the best simple method against the mean of all.
CLEARLY = 2.0


class Rivals(NamedTuple):
    """Outputs at the rows that judge, origin by origin, and the weights of the simple methods for all data."""

    outputs: dict[str, list[Floats]]
    weights: dict[str, float]


def answers(question: Question, played: Rounds) -> Rivals:
    """What every method answers, and how the simple ones are averaged."""
    rows = played.rows
    origins = rows.origins.splits[:-1]
    truth = [rows.judged(origin) for origin in origins]

    def of(maps: list[LinearMap]) -> list[Floats]:
        return [rows.answered(each, origin) for each, origin in zip(maps, origins, strict=True)]

    judged = played.simple[: len(origins)]
    found = {RIDGE: of([on_lags(members, change=False) for members in judged])}
    if any(member.change for member in played.simple[0]):
        found[CHANGE] = of([on_lags(members, change=True) for members in judged])
    if played.products[0]:
        found[PRODUCTS] = of([members[0].beside for members in played.products[: len(origins)]])
    smoothed = [made for origin in origins if (made := rows.smoothing(origin))]
    if smoothed:
        found[SMOOTHING] = of(smoothed)
    for name, made in ((NAIVE, rows.persistence()), (SEASONAL, rows.seasonal_naive())):
        if made is not None:
            found[name] = of([made] * len(origins))
    if question.classes is not None or all(each is None for each in question.ahead):
        found[CONSTANT] = of([rows.constant()] * len(origins))
    errors = {name: squares(outputs, truth) for name, outputs in found.items()}
    weights = weights_of(errors)
    if len(weights) > 1:
        found[SIMPLE] = _averaged(found, truth)
        weights = best_alone(errors, squares(found[SIMPLE], truth), question.gap) or weights
    if played.members[0] and played.members[-1]:
        simple = found[only_one(weights) or SIMPLE]
        networks = played.outputs()
        found[NETWORKS] = networks
        found[BOTH] = [(one + other) / 2 for one, other in zip(networks, simple, strict=True)]
    return Rivals(found, weights)


def weights_of(errors: Mapping[str, Floats]) -> dict[str, float]:
    """Weights of the methods whose weight counts; they add up to 1."""
    mean = {name: max(float(each.mean()), np.finfo(float).tiny) for name, each in errors.items()}
    best = min(mean.values())
    raw = {name: (best / each) ** SHARPNESS for name, each in mean.items()}
    least = LEAST_WEIGHT * sum(raw.values())
    kept = {name: each for name, each in raw.items() if each >= least}
    return {name: each / sum(kept.values()) for name, each in kept.items()}


def best_alone(errors: Mapping[str, Floats], averaged: Floats, horizon: int) -> dict[str, float] | None:
    """All the weight for the best simple method, where the mean of them is clearly worse; else None."""
    best = min(errors, key=lambda name: float(errors[name].mean()))
    return {best: 1.0} if standard_errors(errors[best], averaged, horizon) >= CLEARLY else None


def only_one(weights: Mapping[str, float]) -> str | None:
    """The simple method that has all the weight, if one has."""
    return next(iter(weights)) if len(weights) == 1 else None


def squares(outputs: list[Floats], truth: list[tuple[Floats, Floats]]) -> Floats:
    """Squared errors, mean over the outputs, of all rows that are known."""
    every = np.concatenate([(out - y) ** 2 for out, (_, y) in zip(outputs, truth, strict=True)])
    return np.asarray(every[~np.isnan(every).any(axis=1)].mean(axis=1))


def winner_of(errors: Mapping[str, Floats], weights: Mapping[str, float], horizon: int) -> str:
    """The simple methods, unless networks are clearly better than they and than ridge on lags."""
    simple = only_one(weights) or SIMPLE
    better = [
        name
        for name in (NETWORKS, BOTH)
        if name in errors and all(standard_errors(errors[name], errors[other], horizon) >= CLEARLY for other in {simple, RIDGE})
    ]
    if not better:
        return simple
    found = min(better, key=lambda name: float(errors[name].mean()))
    if found == NETWORKS and BOTH in better and standard_errors(errors[NETWORKS], errors[BOTH], horizon) < CLEARLY:
        return BOTH
    return found


def final(played: Rounds, winner: str, weights: Mapping[str, float]) -> tuple[LinearMap, list[Group]]:
    """What won, fitted to all data."""
    rows, members = played.rows, played.simple[-1]
    made: dict[str, Callable[[], Any]] = {
        RIDGE: lambda: on_lags(members, change=False),
        CHANGE: lambda: on_lags(members, change=True),
        PRODUCTS: lambda: played.products[-1][0].beside,
        SMOOTHING: lambda: rows.smoothing(rows.origins.splits[-1]),
        NAIVE: rows.persistence,
        SEASONAL: rows.seasonal_naive,
        CONSTANT: rows.constant,
    }
    simple = lags.mean_of([made[name]() for name in weights], list(weights.values()))
    if winner not in (NETWORKS, BOTH):
        return simple, []
    linear, groups = played.final()
    share = 1.0 if winner == NETWORKS else 0.5
    if winner == BOTH:
        linear = lags.mean_of([linear, simple])
    return linear, [Group(esn, hyper, share * coef) for esn, hyper, coef in groups]


def of_errors(errors: Floats) -> Floats:
    """Shares u of members in a mean, (K,), from their errors on held-out data, (K, rows); equal where nothing can be said.

        u = argmin u^T (G + diag G) u,   u >= 0,   sum u = 1,   G = mean of e e^T

    G takes into account which errors cancel. Variances count twice, since the best of many looks better than it is (Bates and
    Granger 1969).
    """
    from scipy.optimize import nnls

    count = len(errors)
    if errors.shape[1] < 2:
        return np.full(count, 1 / count)
    gram = errors @ errors.T / errors.shape[1]
    gram = gram + np.diag(np.diag(gram)) + 1e-9 * np.trace(gram) / count * np.eye(count)
    if not np.trace(gram) > 0:
        return np.full(count, 1 / count)
    root = np.linalg.cholesky(gram / np.trace(gram)).T
    # The sum of the shares is one equation more, of great weight.
    heavy = 1e3
    found, _ = nnls(np.vstack([root, np.full(count, heavy)]), np.append(np.zeros(count), heavy))
    return np.asarray(found / found.sum())


def _averaged(found: Mapping[str, list[Floats]], truth: list[tuple[Floats, Floats]]) -> list[Floats]:
    """The weighted mean at every origin, with the weights that the other origins give, where there are others."""
    count, made = len(truth), []
    for o in range(count):
        others = [k for k in range(count) if k != o] or [o]
        seen = {name: squares([outputs[k] for k in others], [truth[k] for k in others]) for name, outputs in found.items()}
        weights = weights_of(seen)
        made.append(np.asarray(sum(weight * found[name][o] for name, weight in weights.items())))
    return made
