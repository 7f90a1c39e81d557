"""The methods of `es.auto` beside each other: the simple ones, their mean, and networks; and the method that is taken.

    simple(t) = sum_k w_k y_k(t),   w_k ~ (mean squared error of k) ** -SHARPNESS

The best simple method alone is taken in place of this mean if the mean is worse by more than some standard errors. Networks are
taken instead, or averaged with the simple methods, only if they are better by as much. Where the data cannot tell, the mean of
the simple methods is returned. `Found` is the result: the fitted model, the errors of all methods on the same data, and the
reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from echoscale._internal.plots import new_axes
from echoscale._internal.table import Table
from echoscale._internal.types import Floats
from echoscale.forecasting import lags
from echoscale.forecasting.candidates import on_lags
from echoscale.forecasting.lags import LinearMap, mean_of
from echoscale.forecasting.model import AutoModel, Group
from echoscale.forecasting.search import Search
from echoscale.forecasting.smoothing import smoothing
from echoscale.forecasting.weights import of_sizes, standard_errors, without_small
from echoscale.network import Network

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RIDGE, CHANGE = "ridge on lags", "ridge on lags, of the change"
PRODUCTS, INTEGRALS = "ridge on products of lags", "ridge on leaky integrals"
SMOOTHING = "exponential smoothing"
NAIVE, SEASONAL, CONSTANT = "persistence", "seasonal naive", "mean"
SIMPLE = "simple methods, averaged"
NETWORKS, BOTH = "networks", "networks and simple methods, averaged"
# Set on drawn series (walks, autoregressions, seasons, trends). A method that looks clearly worse keeps its small weight: on
# short series what was best need not be best again.
SHARPNESS = 4.0
# Standard errors: the bar for networks against the simple methods, for networks alone against their mean with the simple
# methods, and for the best simple method against the mean of all.
CLEARLY = 2.0


@dataclass(frozen=True, eq=False, repr=False)
class Found:
    """The result of `es.auto`: a fitted model, its expected error and the reasons for it; print it to read them.

    Attributes
    ----------
    model : AutoModel or SequenceModel
        The model, fitted to all data: `model.predict(X, state=model.state_)`.
    winner : str
        The chosen method, a row of the table.
    error : float
        Error of the chosen method on data that were not used to choose it: the NRMSE, or the share of wrong labels.
    table : Table
        Errors of all methods on the same data.
    reasons : tuple of str
        Why this method, in words.
    networks : tuple of Network
        The networks in the model, with their hyper-parameters; empty where a simple method won.
    rounds : int
        Number of rounds of the search. The same data, seed and rounds give the same model.
    seconds : float
        Time that the search took.

    Examples
    --------
    >>> import echoscale as es
    >>> u, _ = es.tasks.mackey_glass(600, seed=0)
    >>> found = es.auto(u[:-6], u[6:], rounds=1)
    >>> len(found.networks) > 0
    True
    >>> found.plot().get_xlabel()
    'NRMSE'
    """

    model: AutoModel | Any
    winner: str
    error: float
    table: Table
    reasons: tuple[str, ...]
    networks: tuple[Network, ...]
    rounds: int
    seconds: float

    def plot(self, axes: Axes | None = None) -> Axes:
        """The errors of all methods, the best at the top; the chosen one has another colour.

        Parameters
        ----------
        axes : matplotlib Axes or None
            Where to plot; None: a new figure.
        """
        methods = [(name, error) for name, error, *_ in reversed(self.table.rows) if error is not None]
        axes = new_axes(height=0.8 + 0.25 * len(methods)) if axes is None else axes
        colors = ["C1" if name == self.winner else "C0" for name, _ in methods]
        bars = axes.barh([name for name, _ in methods], [error for _, error in methods], color=colors, height=0.6)
        axes.bar_label(bars, fmt="%.3g", padding=3)  # the best bar may be too short to be seen
        axes.margins(x=0.15)
        axes.set_xlabel(self.table.columns[1].replace("_", " "))
        return axes

    def __repr__(self) -> str:
        return "\n".join([str(self.table), "", *(f"- {reason}" for reason in self.reasons)])


class Simple(NamedTuple):
    """A simple method at one split: a map of lags, and weights of the leaky integrals, (O, K F + P), if it has any."""

    lags: LinearMap
    integrals: Floats | None = None


class Compared(NamedTuple):
    """All methods on the same steps.

    outputs  of every method at the steps that judge, split by split
    truth    the targets there
    errors   squared errors of every method there
    fitted   every simple method at every split
    weights  of the simple methods for all data
    simple   the simple method that has all the weight, or the mean of them
    """

    outputs: dict[str, list[Floats]]
    truth: list[Floats]
    errors: dict[str, Floats]
    fitted: dict[str, list[Simple]]
    weights: dict[str, float]
    simple: str


def compare(search: Search) -> Compared:
    """Outputs and errors of all methods, and the weights of the simple ones."""
    steps, problem = search.steps, search.steps.problem
    judged = problem.splits.splits[:-1]
    truth = [steps.truth(split) for split in judged]
    fitted = simple_methods(search)
    outputs = {
        name: [steps.answered(*each, split=split) for each, split in zip(made[:-1], judged, strict=True)]
        for name, made in fitted.items()
    }
    errors = {name: squares(each, truth) for name, each in outputs.items()}
    weights = weights_of(errors)
    if len(weights) > 1:
        outputs[SIMPLE] = _averaged(outputs, truth)
        weights = best_alone(errors, squares(outputs[SIMPLE], truth), problem.gap) or weights
    simple = next(iter(weights)) if len(weights) == 1 else SIMPLE
    if search.members[0] and search.members[-1]:
        outputs[NETWORKS] = search.outputs()
        outputs[BOTH] = [(one + other) / 2 for one, other in zip(outputs[NETWORKS], outputs[simple], strict=True)]
    errors |= {name: squares(each, truth) for name, each in outputs.items() if name not in errors}
    return Compared(outputs, truth, errors, fitted, weights, simple)


def simple_methods(search: Search) -> dict[str, list[Simple]]:
    """Every simple method at every split; the last one has seen all data."""
    problem = search.steps.problem
    splits = problem.splits.splits
    found = {RIDGE: [on_lags(members, change=False) for members in search.lags]}
    if any(member.change for member in search.lags[0]):
        found[CHANGE] = [on_lags(members, change=True) for members in search.lags]
    if search.products[0]:
        found[PRODUCTS] = [members[0].beside for members in search.products]
    if all(problem.ahead):
        found[SMOOTHING] = [smoothing(problem, split) for split in splits]
        found[NAIVE] = [lags.persistence(problem)] * len(splits)
        if problem.season is not None:
            found[SEASONAL] = [lags.seasonal_naive(problem, problem.season)] * len(splits)
    if not any(problem.ahead):
        found[CONSTANT] = [lags.constant(problem)] * len(splits)
    every = {name: [Simple(each) for each in maps] for name, maps in found.items()}
    if search.integrals[0]:
        every[INTEGRALS] = [Simple(members[0].beside, members[0].states) for members in search.integrals]
    return every


def weights_of(errors: Mapping[str, Floats]) -> dict[str, float]:
    """Weights of the methods whose weight counts; they add up to 1."""
    sizes = np.array([max(float(each.mean()), np.finfo(float).tiny) for each in errors.values()])
    weights = without_small(of_sizes(sizes, SHARPNESS))
    return {name: weight for name, weight in zip(errors, weights.tolist(), strict=True) if weight}


def best_alone(errors: Mapping[str, Floats], averaged: Floats, horizon: int) -> dict[str, float] | None:
    """All the weight for the best simple method, where the mean of them is clearly worse; else None."""
    best = min(errors, key=lambda name: float(errors[name].mean()))
    return {best: 1.0} if standard_errors(errors[best], averaged, horizon) >= CLEARLY else None


def squares(outputs: Sequence[Floats], truth: Sequence[Floats]) -> Floats:
    """Squared errors, mean over the outputs, of all rows that are known."""
    every = (np.concatenate(outputs) - np.concatenate(truth)) ** 2
    return np.asarray(every[~np.isnan(every).any(axis=1)].mean(axis=1))


def winner_of(errors: Mapping[str, Floats], simple: str, horizon: int) -> str:
    """The simple methods, unless networks are clearly better than they and than ridge on lags."""
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


def final(search: Search, compared: Compared, winner: str) -> tuple[LinearMap, list[Group]]:
    """What won, fitted to all data."""
    if winner == NETWORKS:
        return search.final()
    simple, slow = _simple(search, compared)
    if winner != BOTH:
        return simple, slow
    linear, groups = search.final()
    return mean_of([linear, simple]), [replace(each, coef=0.5 * each.coef) for each in (*groups, *slow)]


def _simple(search: Search, compared: Compared) -> tuple[LinearMap, list[Group]]:
    """The weighted mean of the simple methods: a map of lags, and leaky integrals as the states of a network."""
    used = {name: compared.fitted[name][-1] for name in compared.weights}
    linear = mean_of([each.lags for each in used.values()], list(compared.weights.values()))
    if INTEGRALS not in used:
        return linear, []
    coef, integrals = used[INTEGRALS].integrals, search.steps.integrals
    assert coef is not None
    hyper = integrals.esn.hyper.on(np.zeros(1, np.int64), np.float64)
    return linear, [Group(integrals.esn, hyper, compared.weights[INTEGRALS] * coef[None], integrals.columns)]


def _averaged(outputs: Mapping[str, list[Floats]], truth: Sequence[Floats]) -> list[Floats]:
    """The weighted mean at every split, with the weights that the other splits give, where there are others."""
    count, made = len(truth), []
    for k in range(count):
        others = [other for other in range(count) if other != k] or [k]
        seen = {name: squares([each[o] for o in others], [truth[o] for o in others]) for name, each in outputs.items()}
        made.append(np.asarray(sum(weight * outputs[name][k] for name, weight in weights_of(seen).items())))
    return made
