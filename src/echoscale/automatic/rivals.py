"""All methods that are compared, what they answer at the rows that judge, and which of them is taken.

Simple methods come first: another one is taken instead of ridge on lags, and networks instead of that, only where they are
better by more than some standard errors. Where the data cannot tell, the simpler one is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.automatic import lags
from echoscale.automatic.lags import LinearMap
from echoscale.automatic.model import Group
from echoscale.automatic.origins import standard_errors
from echoscale.automatic.pool import on_lags
from echoscale.automatic.question import Question
from echoscale.automatic.rounds import Rounds

Floats = npt.NDArray[np.float64]

RIDGE, CHANGE = "ridge on lags", "ridge on lags, of the change"
NAIVE, SEASONAL, CONSTANT = "persistence", "seasonal naive", "mean"
WITH_SEASON, WITH_NAIVE = "ridge on lags and seasonal naive, averaged", "ridge on lags and persistence, averaged"
NETWORKS, BOTH = "networks", "networks and ridge on lags, averaged"
# Standard errors by which another simple method must be better than ridge on lags; networks than the simple method that is
# taken; and networks alone than averaged with ridge on lags.
CLEARLY, NETWORKS_CLEARLY, WITHOUT_LAGS = 1.5, 2.0, 2.0
# A mean of two methods is never worse than the mean of their errors: it needs less proof.
AVERAGED_CLEARLY = 1.0


def answers(question: Question, played: Rounds) -> dict[str, list[Floats]]:
    """Outputs of every method at the rows that judge, origin by origin."""
    rows = played.rows
    origins = rows.judging.origins[:-1]

    def of(maps: list[LinearMap]) -> list[Floats]:
        return [each.outputs(rows.lag_matrix(each.lags, origin)) for each, origin in zip(maps, origins, strict=True)]

    judged = played.simple[: len(origins)]
    found = {RIDGE: of([on_lags(members, change=False) for members in judged])}
    if any(member.change for member in played.simple[0]):
        found[CHANGE] = of([on_lags(members, change=True) for members in judged])
    for name, made in ((NAIVE, rows.persistence()), (SEASONAL, rows.seasonal_naive())):
        if made is not None:
            found[name] = of([made] * len(origins))
    for name, mean in ((SEASONAL, WITH_SEASON), (NAIVE, WITH_NAIVE)):
        if name in found:
            found[mean] = [(one + other) / 2 for one, other in zip(found[RIDGE], found[name], strict=True)]
    if question.classes is not None or all(each is None for each in question.ahead):
        found[CONSTANT] = of([rows.constant()] * len(origins))
    if played.members[0] and played.members[-1]:
        networks = played.outputs()
        found[NETWORKS] = networks
        found[BOTH] = [(one + other) / 2 for one, other in zip(networks, found[RIDGE], strict=True)]
    return found


def squares(outputs: list[Floats], truth: list[tuple[Floats, Floats]]) -> Floats:
    """Squared errors, mean over the outputs, of all rows that are known."""
    every = np.concatenate([(out - y) ** 2 for out, (_, y) in zip(outputs, truth, strict=True)])
    return np.asarray(every[~np.isnan(every).any(axis=1)].mean(axis=1))


def winner_of(errors: Mapping[str, Floats], horizon: int) -> str:
    """Ridge on lags, unless another simple method is clearly better; that, unless networks are.

    Parameters
    ----------
    errors : mapping of names to (rows,)
        Squared errors on the same rows.
    horizon : int
        Errors so many steps apart are alike.
    """

    def least(names: list[str]) -> str:
        return min(names, key=lambda name: float(errors[name].mean()))

    simple = [name for name in errors if name not in (NETWORKS, BOTH)]
    wanted = {name: AVERAGED_CLEARLY if name in (WITH_SEASON, WITH_NAIVE) else CLEARLY for name in simple}
    clear = [name for name in simple if standard_errors(errors[name], errors[RIDGE], horizon) >= wanted[name]]
    best = least(clear) if clear else RIDGE
    better = [
        name
        for name in (NETWORKS, BOTH)
        if name in errors
        and all(standard_errors(errors[name], errors[other], horizon) >= NETWORKS_CLEARLY for other in {best, RIDGE})
    ]
    if not better:
        return best
    found = least(better)
    if found == NETWORKS and BOTH in better and standard_errors(errors[NETWORKS], errors[BOTH], horizon) < WITHOUT_LAGS:
        return BOTH
    return found


def final(played: Rounds, winner: str) -> tuple[LinearMap, list[Group]]:
    """What won, fitted to all data."""
    rows, members = played.rows, played.simple[-1]
    ridge, naive, seasonal = on_lags(members, change=False), rows.persistence(), rows.seasonal_naive()
    if winner in (NETWORKS, BOTH):
        linear, groups = played.final()
        share = 1.0 if winner == NETWORKS else 0.5
        if winner == BOTH:
            linear = lags.mean_of([linear, ridge])
        return linear, [Group(esn, hyper, share * coef) for esn, hyper, coef in groups]
    made: dict[str, Callable[[], Any]] = {
        RIDGE: lambda: ridge,
        CHANGE: lambda: on_lags(members, change=True),
        NAIVE: lambda: naive,
        SEASONAL: lambda: seasonal,
        WITH_NAIVE: lambda: lags.mean_of([each for each in (ridge, naive) if each]),
        WITH_SEASON: lambda: lags.mean_of([each for each in (ridge, seasonal) if each]),
        CONSTANT: rows.constant,
    }
    return made[winner](), []
