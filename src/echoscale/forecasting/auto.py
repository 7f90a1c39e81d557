"""`es.auto`: from data to a fitted, explained model within a budget of time."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from echoscale._internal import checks
from echoscale._internal.progress import Progress, shown
from echoscale._internal.table import Table
from echoscale.data.series import SeriesLike
from echoscale.engine.hyper import chosen, into_network
from echoscale.forecasting import sequences
from echoscale.forecasting.methods import BOTH, NETWORKS, RIDGE, SIMPLE, Compared, Found, compare, final, winner_of
from echoscale.forecasting.model import Group, model_of
from echoscale.forecasting.problem import Problem, as_problem, called
from echoscale.forecasting.rows import Steps
from echoscale.forecasting.search import Budget, Search
from echoscale.forecasting.weights import standard_errors
from echoscale.network import EchoStateWarning, Network
from echoscale.timescales.memory import counted


def auto(
    u: SeriesLike,
    y: SeriesLike | None = None,
    seconds: float = 60.0,
    seed: int = 0,
    *,
    labels: bool | None = None,
    rounds: int | None = None,
    scale: str | None = "standard",
    progress: bool | Progress = False,
) -> Found:
    """From data to a fitted, explained model, chosen by held-out blocks of time.

        y(t) = A (u(t), u(t-1), ...) + b + sum_m W_m x_m(t)

    Persistence, seasonal naive, exponential smoothing, ridge regression on lags, on their products and on leaky integrals of
    the inputs are baselines in the same table. Their mean weights each by its past errors. Networks of several structures, each
    with many hyper-parameters at once, are judged by folds that are blocks of time. The hyper-parameters of the best network
    are tuned, and the best few networks are averaged. The model uses networks if they are clearly better, in standard errors,
    on data that were not used to choose them.

    Parameters
    ----------
    u : (T,), (T, F), (B, T, F) or list of (T_b, F)
        Inputs, in any units.
    y : (T,), (T, O), (B, T), (B, T, O), list of them, labels, or None
        Targets of every step; gaps are NaN. Labels: one a step, or one a sequence, (B,). None: the next step of u.
    seconds : float
        Limit on the wall time of the whole call: no round begins that would leave too little time for the last fit. The clock
        decides only the number of rounds, and none fits into a few seconds. Short data have fewer rounds.
    seed : int
        Random seed.
    labels : bool or None
        Whether y holds labels. None: text, booleans, whole numbers of at most 10 different values that are not the future of
        u, and whole numbers that belong to sequences.
    rounds : int or None
        Number of rounds, which draw a network or take a step of tuning, independent of the time: the same data, seed and rounds
        give the same model. None: as many as fit into `seconds`.
    scale : "standard" or None
        Units of the network: standardised, or the units of the data.
    progress : bool or function
        True shows a bar; a function gets (rounds done, rounds, the error so far in words).

    Returns
    -------
    Found
        `.model`, fitted to all data; `.table` of all methods; printed, the reasons.

    Examples
    --------
    >>> import echoscale as es
    >>> u, _ = es.tasks.mackey_glass(600, seed=0)
    >>> found = es.auto(u[:-6], u[6:], rounds=1)
    >>> found.winner
    'networks'
    >>> found.model.predict(u[-6:], state=found.model.state_).shape
    (6, 1)
    """
    limit = checks.number(seconds, "seconds")
    if not limit > 0:
        raise ValueError(f"seconds must be above 0, got {limit:g}: give at least one.")
    seed = checks.integer(seed, "seed")
    most = None if rounds is None else checks.integer(rounds, "rounds", minimum=1)
    budget = Budget(limit if most is None else None)
    problem = as_problem(u, y, labels, scale)
    if problem.per_sequence:
        with shown(progress, "auto") as tell:
            return sequences.find(problem, budget, most, seed, tell)
    search = Search(Steps(problem), seed)
    try:
        with shown(progress, "auto") as tell:
            search.run(budget, most, tell)
    except KeyboardInterrupt:
        warnings.warn("interrupted: this is the result of the rounds so far.", UserWarning, stacklevel=2)
    return replace(_result(search), seconds=budget.spent)


def _result(search: Search) -> Found:
    problem, compared = search.steps.problem, compare(search)
    winner = winner_of(compared.errors, compared.simple, problem.gap)
    linear, groups = final(search, compared, winner)
    drawn = [group for group in groups if not group.esn.network.linear]
    networks = tuple(_described(group, lane) for group in drawn for lane in range(len(group.coef)))
    error = _shown(problem, compared, winner)
    return Found(
        model_of(problem, search.steps.drive, linear, groups),
        winner,
        error,
        _table(problem, compared, winner),
        tuple(_reasons(search, compared, winner, error, networks)),
        networks,
        search.rounds,
        seconds=0.0,
    )


def _described(group: Group, lane: int) -> Network:
    """The network with the hyper-parameters of one lane."""
    hyper = group.hyper.lane(lane)
    learned = chosen([name for name in hyper._fields if getattr(hyper, name)], group.esn.hyper)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EchoStateWarning)
        return into_network(group.esn.network, learned, [float(each.of(hyper)) for each in learned])


def _shown(problem: Problem, compared: Compared, name: str) -> float:
    """The NRMSE of a method, or its share of wrong labels."""
    guess, y = np.concatenate(compared.outputs[name]), np.concatenate(compared.truth)
    known = ~np.isnan(y).any(axis=1)
    if problem.classes is not None:
        return float((guess[known].argmax(axis=1) != y[known].argmax(axis=1)).mean())
    spread = y[known].var(axis=0)
    return float(np.sqrt((((guess - y)[known] ** 2).mean(axis=0) / np.where(spread > 0, spread, 1.0)).mean()))


def _of_ridge(compared: Compared, name: str) -> float:
    """Error of a method over that of ridge on lags."""
    errors = compared.errors
    return float(np.sqrt(errors[name].mean() / max(errors[RIDGE].mean(), np.finfo(float).tiny)))


def _table(problem: Problem, compared: Compared, winner: str) -> Table:
    word = "NRMSE" if problem.classes is None else "wrong_labels"
    errors = compared.errors
    rows = tuple(
        (
            name,
            _shown(problem, compared, name),
            _of_ridge(compared, name),
            standard_errors(errors[name], errors[RIDGE], problem.gap) if name != RIDGE else None,
            "taken" if name == winner else "",
        )
        for name in sorted(compared.outputs, key=lambda name: float(errors[name].mean()))
    )
    count = len(errors[RIDGE])
    return Table(
        ("method", word, "of_ridge_on_lags", "standard_errors", "choice"),
        rows,
        f"Errors on {count:,} held-out steps",
        ("standard_errors: by how many of them the mean squared error is below the error of ridge on lags.",),
    )


def _reasons(search: Search, compared: Compared, winner: str, error: float, networks: tuple[Network, ...]) -> list[str]:
    reasons = []
    problem, errors, weights = search.steps.problem, compared.errors, compared.weights
    word = "NRMSE" if problem.classes is None else "share of wrong labels"
    said = f"{winner[0].upper()}{winner[1:]}"
    if winner in (NETWORKS, BOTH):
        far = standard_errors(errors[winner], errors[RIDGE], problem.gap)
        ratio = _of_ridge(compared, winner)
        reasons.append(f"{said}: {ratio:.3g} of the error of ridge on lags, {far:.1f} standard errors below it.")
    else:
        why = "networks were not clearly better" if NETWORKS in errors else "there was no time to try a network"
        reasons.append(f"{said}: {why}.")
    if len(weights) == 1 and SIMPLE in errors:
        [best] = weights
        far = standard_errors(errors[best], errors[SIMPLE], problem.gap)
        reasons.append(f"The mean of the simple methods is {far:.1f} standard errors worse than {best} alone.")
    if winner in (SIMPLE, BOTH) and len(weights) > 1:
        shares = ", ".join(f"{name} {weight:.2g}" for name, weight in weights.items())
        reasons.append(f"Weights of the simple methods: {shares}.")
    reasons.append(f"Expect an error like {error:.3g} ({word}) on new data of the same kind.")
    inputs, targets = problem.drift()
    moving = [called(problem.columns, f) for f in np.flatnonzero(inputs).tolist()] + [
        f"output {o}" for o in np.flatnonzero(targets)
    ]
    if moving:
        reasons.append(
            f"Do not rely on this error: the level of {', '.join(moving)} moves between the earlier and the later part of the "
            "data. The error may be much larger where the level moves on."
        )
    for o, each in enumerate(problem.ahead):
        if each is not None:
            reasons.append(f"Output {o} is input {each.column}, {counted(each.steps)} later.")
    if networks and problem.trends.any():
        which = ", ".join(map(str, np.flatnonzero(problem.trends)))
        reasons.append(f"Input {which} has a trend: the networks hear its changes.")
    if search.suggested is not None:
        reasons.append(search.suggested.reasons[0])
    if problem.season is not None:
        reasons.append(f"The series has a season of {counted(problem.season)}.")
    if networks:
        slow = [1 / r.leak_rate for network in networks for r in network.reservoirs]
        structures = ", ".join(sorted({search.tried[member.round].structure for member in search.members[-1]}))
        used = "One network is used" if len(networks) == 1 else f"{len(networks)} networks are averaged"
        reasons.append(f"{used} ({structures}); the neurons' timescales reach from {min(slow):.3g} to {max(slow):.3g} steps.")
    lanes = sum(len(np.atleast_1d(each.hyper.leak_rate[0])) for each in search.tried)
    many = search.rounds
    reasons.append(f"{many} round{'s' * (many != 1)}, {lanes} networks tried; seed {search.seed}.")
    return reasons
