"""`es.auto`: from data to a fitted, explained model within a budget of time."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from echoscale._internal import checks
from echoscale._internal.progress import Progress, shown
from echoscale._internal.table import Table
from echoscale._internal.types import Floats
from echoscale.data.series import SeriesLike
from echoscale.engine.hyper import chosen, into_network
from echoscale.forecasting.networks import units_for
from echoscale.forecasting.selection import sequences
from echoscale.forecasting.selection.found import Found
from echoscale.forecasting.selection.model import Group
from echoscale.forecasting.selection.problem import Budget, Question, ask, called
from echoscale.forecasting.selection.search import OutOfTimeError, Rounds, TimeRows
from echoscale.forecasting.selection.weights import BOTH, NETWORKS, RIDGE, SIMPLE, answers, final, squares, winner_of
from echoscale.forecasting.splits import standard_errors
from echoscale.network import EchoStateWarning, Network
from echoscale.timescales.memory import counted
from echoscale.timescales.suggest import Suggested, suggest

# Limits on the number of rounds: with few rows, the best of many networks is chance.
ROUNDS, ROWS_PER_ROUND = (5, 40), 25
# Seconds: with less, the time is better spent on rounds.
LEAST_FOR_SUGGESTION = 10.0
LEAST_FOR_SUGGESTING = 50  # steps


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

    Persistence, seasonal naive, exponential smoothing, ridge regression on lags and on their products are baselines in the same
    table. Their mean weights each by its past errors. Networks of several structures, each with many hyper-parameters at once,
    are judged by folds that are blocks of time, and the best few are averaged. The model uses networks if they are clearly
    better, in standard errors, on data that were not used to choose them.

    Parameters
    ----------
    u : (T,), (T, F), (B, T, F) or list of (T_b, F)
        Inputs, in any units.
    y : (T,), (T, O), (B, T), (B, T, O), list of them, labels, or None
        Targets of every step; gaps are NaN. Labels: one a step, or one a sequence, (B,). None: the next step of u.
    seconds : float
        Limit on the wall time of the whole call: no round begins that would leave too little time for the last fit. The clock
        decides only the number of rounds: at least one, and fewer for short data.
    seed : int
        Random seed.
    labels : bool or None
        Whether y holds labels. None: text, booleans, whole numbers of at most 10 different values that are not the future of
        u, and whole numbers that belong to sequences.
    rounds : int or None
        Number of rounds, independent of the time: the same data, seed and rounds give the same model. None: as many as fit
        into `seconds`.
    scale : "standard" or None
        Units of the network: standardised, or the units of the data.
    progress : bool or function
        True shows a bar; a function gets (rounds done, rounds, the error so far in words).

    Returns
    -------
    Found
        `.model`, fitted to all data; `.table` of rivals; printed, the reasons.

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
    question = ask(u, y, labels, scale)
    if question.per_sequence:
        with shown(progress, "auto") as tell:
            return sequences.find(question, budget, most, seed, tell)
    rows = TimeRows(question)
    suggested = _suggestion(question, rows, seed) if most or limit >= LEAST_FOR_SUGGESTION else None
    played = Rounds(rows, seed, suggested)
    try:
        with shown(progress, "auto") as tell:
            _play(played, budget, most, tell)
    except KeyboardInterrupt:
        warnings.warn("interrupted: this is the result of the rounds so far.", UserWarning, stacklevel=2)
    return replace(_result(question, played), seconds=budget.spent)


def _suggestion(question: Question, rows: Any, seed: int) -> Suggested | None:
    """The suggestion from data before the first origin; None for labels, gaps, trends and short data."""
    if question.classes is not None or question.series.count > 1 or rows.drive.changes.any():
        return None
    end = int(rows.origins.edges[0][rows.origins.splits[0].train[-1] + 1])
    u, y = (np.asarray(each.values[0])[:end] for each in (rows.heard, question.targets))
    still = any((np.ptp(each, axis=0) == 0).any() for each in (u, y))
    if end < LEAST_FOR_SUGGESTING or np.isnan(y).any() or still:
        return None
    return suggest(u, y, units=units_for(question.rows), seed=seed, scale=None)


def _play(played: Rounds, budget: Budget, most: int | None, tell: Progress) -> None:
    total = most or int(np.clip(played.rows.question.rows // ROWS_PER_ROUND, *ROUNDS))
    lasted: list[float] = []

    def late(tuning: bool = False) -> bool:
        used = {member.round for members in played.members for member in members}
        return budget.ends_with(lasted, len(used), tuning=tuning)

    while len(played.tried) < total:
        before, tuning = budget.spent, played.tunes_next()
        try:
            played.play(late)
        except OutOfTimeError:
            return
        if not tuning:  # which takes its own time, and comes once
            lasted.append(budget.spent - before)
        best = min((each.error for each in played.members[-1]), default=np.inf)
        tell(len(played.tried), total, f"error of folds {best:.4g}")
        if late(played.tunes_next()):
            return


def _result(question: Question, played: Rounds) -> Found:
    rows = played.rows
    truth = [rows.judged(origin) for origin in rows.origins.splits[:-1]]
    answered, weights = answers(question, played)
    errors = {name: squares(outputs, truth) for name, outputs in answered.items()}
    winner = winner_of(errors, weights, question.gap)
    linear, groups = final(played, winner, weights)
    model = rows.model(linear, groups)
    networks = tuple(_described(group, lane) for group in groups for lane in range(len(group.coef)))
    error = _shown(question, answered[winner], truth)
    return Found(
        model,
        winner,
        error,
        _table(question, answered, errors, truth, winner),
        tuple(_reasons(question, played, errors, weights, winner, error, networks)),
        networks,
        len(played.tried),
        seconds=0.0,
    )


def _described(group: Group, lane: int) -> Network:
    """The network with the hyper-parameters of one lane."""
    hyper = group.hyper.lane(lane)
    learned = chosen([name for name in hyper._fields if getattr(hyper, name)], group.esn.hyper)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EchoStateWarning)
        return into_network(group.esn.network, learned, [float(each.of(hyper)) for each in learned])


def _shown(question: Question, outputs: list[Floats], truth: list[tuple[Floats, Floats]]) -> float:
    """The NRMSE, or the share of wrong labels."""
    guess, y = np.concatenate(outputs), np.concatenate([each for _, each in truth])
    known = ~np.isnan(y).any(axis=1)
    if question.classes is not None:
        return float((guess[known].argmax(axis=1) != y[known].argmax(axis=1)).mean())
    spread = y[known].var(axis=0)
    return float(np.sqrt((((guess - y)[known] ** 2).mean(axis=0) / np.where(spread > 0, spread, 1.0)).mean()))


def _table(
    question: Question,
    answers: Mapping[str, list[Floats]],
    errors: Mapping[str, Floats],
    truth: list[tuple[Floats, Floats]],
    winner: str,
) -> Table:
    word = "NRMSE" if question.classes is None else "wrong_labels"
    order = sorted(answers, key=lambda name: float(errors[name].mean()))
    rows = tuple(
        (
            name,
            _shown(question, answers[name], truth),
            float(np.sqrt(errors[name].mean() / max(errors[RIDGE].mean(), np.finfo(float).tiny))),
            standard_errors(errors[name], errors[RIDGE], question.gap) if name != RIDGE else None,
            "taken" if name == winner else "",
        )
        for name in order
    )
    count = len(errors[RIDGE])
    return Table(
        ("method", word, "of_ridge_on_lags", "standard_errors", "choice"),
        rows,
        f"Errors on {count:,} held-out steps",
        ("standard_errors: by how many of them the mean squared error is below the error of ridge on lags.",),
    )


def _reasons(
    question: Question,
    played: Rounds,
    errors: Mapping[str, Floats],
    weights: Mapping[str, float],
    winner: str,
    error: float,
    networks: tuple[Network, ...],
) -> list[str]:
    reasons = []
    word = "NRMSE" if question.classes is None else "share of wrong labels"
    ratio = float(np.sqrt(errors[winner].mean() / max(errors[RIDGE].mean(), np.finfo(float).tiny)))
    said = f"{winner[0].upper()}{winner[1:]}"
    if winner in (NETWORKS, BOTH):
        far = standard_errors(errors[winner], errors[RIDGE], question.gap)
        reasons.append(f"{said}: {ratio:.3g} of the error of ridge on lags, {far:.1f} standard errors below it.")
    else:
        why = "networks were not clearly better" if NETWORKS in errors else "no network was tried"
        reasons.append(f"{said}: {why}.")
    if len(weights) == 1 and SIMPLE in errors:
        [best] = weights
        far = standard_errors(errors[best], errors[SIMPLE], question.gap)
        reasons.append(f"The mean of the simple methods is {far:.1f} standard errors worse than {best} alone.")
    if winner in (SIMPLE, BOTH) and len(weights) > 1:
        shares = ", ".join(f"{name} {weight:.2g}" for name, weight in weights.items())
        reasons.append(f"Weights of the simple methods: {shares}.")
    reasons.append(f"Expect an error like {error:.3g} ({word}) on new data of the same kind.")
    inputs, targets = played.rows.drift()
    moving = [called(question.columns, f) for f in np.flatnonzero(inputs).tolist()] + [
        f"output {o}" for o in np.flatnonzero(targets)
    ]
    if moving:
        reasons.append(
            f"Do not rely on this error: the level of {', '.join(moving)} moves between the earlier and the later part of the "
            "data. The error may be much larger where the level moves on."
        )
    for o, each in enumerate(question.ahead):
        if each is not None:
            reasons.append(f"Output {o} is input {each.column}, {counted(each.steps)} later.")
    if networks and played.rows.drive.changes.any():
        which = ", ".join(map(str, np.flatnonzero(played.rows.drive.changes)))
        reasons.append(f"Input {which} has a trend: the networks hear its changes.")
    if played.suggested is not None:
        reasons.append(played.suggested.reasons[0])
    if question.season is not None:
        reasons.append(f"The series has a season of {counted(question.season)}.")
    if networks:
        slow = [1 / r.leak_rate for network in networks for r in network.reservoirs]
        structures = ", ".join(sorted({played.tried[member.round][2] for member in played.members[-1]}))
        used = "One network is used" if len(networks) == 1 else f"{len(networks)} networks are averaged"
        reasons.append(f"{used} ({structures}); the neurons' timescales reach from {min(slow):.3g} to {max(slow):.3g} steps.")
    lanes = sum(len(np.atleast_1d(hyper.leak_rate[0])) for _, hyper, _ in played.tried)
    many = len(played.tried)
    reasons.append(f"{many} round{'s' * (many != 1)}, {lanes} networks tried; seed {played.seed}.")
    return reasons
