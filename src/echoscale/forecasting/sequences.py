"""One label per sequence: the features of `ESNClassifier` from many networks, the best of which are averaged.

    z_b = sum over members m of u_m (W_m f_m,b + b_m)

f_m,b are pooled states of network m (`ESNFeatures`). Every network is judged by its outputs for sequences that are left out one
by one; the shares u_m come from these errors (`of_errors`). A ridge on a summary of the inputs (mean, standard deviation, first
and last value) is taken instead where it is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.progress import Progress
from echoscale._internal.table import Table
from echoscale._internal.types import Floats
from echoscale.data.losses import probabilities
from echoscale.data.normal_scores import ONLY, heard_of
from echoscale.data.scaling import Scaling
from echoscale.data.series import Series, SeriesLike, as_series
from echoscale.estimators.base import BIAS_SCALING
from echoscale.estimators.features import SPECTRAL_RADIUS, UNITS, ESNFeatures, pools_of
from echoscale.estimators.sequences import POOLS, candidates, union
from echoscale.forecasting.methods import NETWORKS, Found
from echoscale.forecasting.problem import Problem
from echoscale.forecasting.search import Budget
from echoscale.forecasting.weights import of_errors, without_small
from echoscale.network import Network, hierarchical, parallel
from echoscale.readouts import splits
from echoscale.readouts.classes import RowReadout, fit_ridge, steepness
from echoscale.readouts.pooling import Pools, columns
from echoscale.readouts.ridge import Readout

LEAST_SEQUENCES = 4
# The least share of a set of pools: smaller ones are not worth a network more.
LEAST_SHARE = 0.01
MOST_ROUNDS = 60
# With so few sequences of a class, leaving one out takes half of what there is to learn from.
FEW_A_CLASS = 2
# What later networks hear: changes beside inputs, alone, or none; from the end to the start, or forwards.
HEARD: tuple[tuple[bool | str, bool], ...] = (
    (True, True),
    (ONLY, False),
    (False, True),
    (ONLY, True),
    (False, False),
    (True, False),
)
# Number of first networks that later ones are drawn near; the share of hierarchical ones.
NEAR, HIERARCHICAL = 2, 0.25
SUMMARY, SHARES = "ridge on a summary", "shares of the classes"


class SequenceMember(NamedTuple):
    """A network with its pools, and the readout of them.

    Attributes
    ----------
    transformer : ESNFeatures
        Pools the states of the network, which receives the inputs as `heard_of` prepares them.
    readout : Readout
        W and b.
    changes : bool or "only"
        Whether the network receives the changes of the inputs beside the inputs, not at all, or alone.
    backwards : bool
        Whether the network receives every sequence from its end to its start.
    """

    transformer: ESNFeatures
    readout: Readout
    changes: bool | str = False
    backwards: bool = False

    def scores(self, series: Series) -> Floats:
        """W f + b of every sequence, (B, O)."""
        return self.readout.predict(self.transformer.pool(heard_of(series, self.changes, self.backwards)))


@dataclass(eq=False)
class SequenceModel:
    """class of sequence b = argmax of the sum over members of W_m f_m,b + b_m; made by `es.auto` for one label per sequence.

    Attributes
    ----------
    members : tuple of SequenceMember
        The networks, each with its share in W_m and b_m; none where a ridge on a summary of the inputs won.
    summary : Readout or None
        Readout of the summary, where it won.
    scaling : Scaling
        Units of the inputs of both.
    classes_ : array
        The labels in the order of the outputs.
    steepness : float
        beta in p = softmax(beta z).
    state_ : None
        Every sequence begins anew.
    feature_names_in_ : tuple of str
        Names of the input columns, where the training data were data frames; `predict` refuses other columns.
    """

    members: tuple[SequenceMember, ...]
    summary: Readout | None
    scaling: Scaling
    classes_: npt.NDArray[Any]
    steepness: float
    state_: None = None
    feature_names_in_: tuple[str, ...] = ()

    def predict(self, X: SeriesLike, *, state: None = None) -> npt.NDArray[Any]:
        """The label of every sequence.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences, in units of the data.
        state : None
            Every sequence begins anew.

        Returns
        -------
        (B,)
            Labels.
        """
        return np.asarray(self.classes_[np.argmax(self.predict_scores(X, state=state), axis=1)])

    def predict_proba(self, X: SeriesLike) -> Floats:
        """softmax(beta z), (B, classes), calibrated on sequences left out one by one.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences, in units of the data.
        """
        return probabilities("softmax", self.steepness * self.predict_scores(X))

    def predict_scores(self, X: SeriesLike, *, state: None = None) -> Floats:
        """The outputs before the largest is taken, (B, classes): near 1 for the right class, near 0 for the others.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences.
        state : None
            Every sequence begins anew.
        """
        if state is not None:
            raise ValueError("state must be None: every sequence begins anew.")
        series = self.scaling.apply(as_series(X, len(self.scaling.mean), name="X", columns=self.feature_names_in_))
        if series.kind == "one":
            raise ValueError("this model labels whole sequences: pass (B, T, F) or a list of (T, F), for one sequence X[None].")
        if self.summary is not None:
            return checks.finite(self.summary.predict(summary_of(series)), "scores")
        return checks.finite(np.sum([each.scores(series) for each in self.members], axis=0), "scores")


def summary_of(series: Series) -> Floats:
    """Mean, standard deviation, first and last value of every input, (B, 4 F)."""
    rows = [np.asarray(each) for each in series.values]
    return np.stack([np.concatenate([each.mean(axis=0), each.std(axis=0), each[0], each[-1]]) for each in rows])


class Judged(NamedTuple):
    """A member, which network it reads, its outputs for sequences left out one by one, (B, O), and their error."""

    member: SequenceMember
    network: int
    outputs: Floats
    error: float


class Plan(NamedTuple):
    """A network and the preparation of its inputs: see `SequenceMember`; ranks as in `ESNFeatures`."""

    network: Network
    ranks: bool
    changes: bool | str = True
    backwards: bool = False


def first_plans(longest: int) -> list[Plan]:
    """The candidates of `ESNClassifier` for sequences of this length, with inputs as they are and with their ranks."""
    shared = {"spectral_radius": SPECTRAL_RADIUS, "bias_scaling": BIAS_SCALING}
    return [
        Plan(parallel(list(UNITS), leak_rate=each.levels(len(UNITS)), input_scaling=each.input_scaling, **shared), ranks)
        for each, ranks in product(candidates(longest), (False, True))
    ]


def later_plan(number: int, good: Sequence[Plan], rng: np.random.Generator) -> Plan:
    """Near a good one of the first, but hearing something else: networks that differ are worth most in a mean."""
    changes, backwards = HEARD[number % len(HEARD)]
    near = good[(number + number // len(HEARD)) % len(good)]
    strength = float(near.network.reservoirs[0].input_scaling * 2 ** rng.uniform(-1, 1))
    slowest, radius = 10 ** rng.uniform(-2, -0.5), float(rng.uniform(0.8, 1.0))
    levels = [float(each) for each in np.geomspace(1, slowest, len(UNITS))]
    options: dict[str, Any] = {"leak_rate": levels, "spectral_radius": radius, "bias_scaling": BIAS_SCALING}
    make = hierarchical if rng.uniform() < HIERARCHICAL else parallel
    return Plan(make(list(UNITS), input_scaling=strength, **options), near.ranks, changes, backwards)


def find(problem: Problem, budget: Budget, rounds: int | None, seed: int, tell: Progress) -> Found:
    """The best mean of networks, or the ridge on a summary where that is better."""
    series, classes = problem.series, problem.classes
    if series.count < LEAST_SEQUENCES:
        raise ValueError(f"{series.count} sequences are too few to choose by: give at least {LEAST_SEQUENCES}.")
    assert classes is not None
    codes = np.concatenate([np.asarray(each) for each in problem.targets.values])
    simple = fit_ridge(summary_of(series), codes, None, splits.FOLDS)
    total, lasted, judged = rounds or MOST_ROUNDS, list[float](), list[Judged]()
    first = first_plans(int(series.lengths.max()))
    rng, errors = np.random.default_rng([seed, 16]), list[float]()
    for number in range(1, total + 1):
        before, later = budget.spent, number - len(first) - 1
        good = [first[k] for k in np.argsort(errors[: len(first)], kind="stable")[:NEAR]]
        # The first have the weights of `ESNClassifier`; each later one has weights of its own.
        plan, weights = (first[number - 1], seed) if later < 0 else (later_plan(later, good, rng), seed * MOST_ROUNDS + number)
        found = judge(series, codes, plan, number, weights)
        judged += found
        errors.append(min(each.error for each in found))
        best = best_mean(judged, codes)
        # What was compiled early is not compiled again: long ago counts less.
        lasted = [each / 2 for each in lasted[-2:]] + [budget.spent - before]
        tell(number, total, f"error of sequences left out {best.error:.4g}")
        if budget.ends_with(lasted, 0):
            break
    made = _result(problem, codes, simple, judged, classes, number)
    return replace(made, seconds=budget.spent)


def judge(series: Series, codes: Floats, plan: Plan, number: int, seed: int) -> list[Judged]:
    """Both sets of pools of one network."""
    # The changes are added before the transformer, which adds nothing to its inputs.
    options: dict[str, Any] = {"network": plan.network, "random_state": seed}
    heard = heard_of(series, plan.changes, plan.backwards)
    every = Pools(union(POOLS), changes=False, ranks=plan.ranks)
    whole = ESNFeatures(**options, pools=every).begin(heard)
    rows = whole.pool(heard)
    found = []
    for pools in POOLS:
        where = every.columns(whole.esn_.units, rows.shape[1])
        mine = np.concatenate([rows[:, where[name]] for name in pools], axis=1)
        solved = fit_ridge(mine, codes, None, splits.FOLDS)
        made = ESNFeatures(**options, pools=replace(every, features=pools))
        made.esn_, made.scaling_, made.n_features_in_ = whole.esn_, whole.scaling_, whole.n_features_in_
        member = SequenceMember(made, solved.readout, plan.changes, plan.backwards)
        found.append(Judged(member, number, solved.outputs, solved.error))
    return found


class Mean(NamedTuple):
    """Judged members with their shares, the mean of their outputs for sequences left out, and its error."""

    members: list[tuple[float, Judged]]
    outputs: Floats
    error: float


def best_mean(judged: Sequence[Judged], codes: Floats) -> Mean:
    """The mean with the shares of `of_errors`, which are 0 for most networks."""
    spread = np.where(codes.std(axis=0) > 0, codes.std(axis=0), 1.0)
    errors = np.stack([((each.outputs - codes) / spread).ravel() for each in judged])
    found = without_small(of_errors(errors), LEAST_SHARE)
    members = [(float(share), each) for share, each in zip(found, judged, strict=True) if share > 0]
    outputs = np.sum([share * each.outputs for share, each in members], axis=0)
    return Mean(members, outputs, float((((outputs - codes) / spread) ** 2).mean()))


def joined(members: Sequence[tuple[float, Judged]]) -> tuple[SequenceMember, ...]:
    """One member for every network, with all pools that it is read from, and its share inside its readout."""
    found = []
    for network in dict.fromkeys(each.network for _, each in members):
        mine = [(share, each.member) for share, each in members if each.network == network]
        first = mine[0][1].transformer
        pools = union([pools_of(each.transformer.pools).names for _, each in mine])
        where = columns(pools, first.esn_.units, pools_of(first.pools).parts, 0)
        outputs = len(mine[0][1].readout.intercept)
        coef = np.zeros((outputs, max(each.stop for each in where.values())))
        intercept = np.zeros(outputs)
        for share, each in mine:
            own = pools_of(each.transformer.pools).columns(first.esn_.units, each.readout.coef.shape[1])
            for name, place in own.items():
                coef[:, where[name]] += share * each.readout.coef[:, place]
            intercept += share * each.readout.intercept
        made = copy(first)
        made.pools = replace(pools_of(first.pools), features=pools)
        made.__dict__.pop("columns_", None)  # of other pools
        readout = Readout(coef, intercept, mine[0][1].readout.ridge)
        found.append(mine[0][1]._replace(transformer=made, readout=readout))
    return tuple(found)


def _few(codes: Floats) -> list[str]:
    """What to say of the error where leaving a sequence out leaves one example of its class, or none, to learn from."""
    if np.median(codes.sum(axis=0)) > FEW_A_CLASS:
        return []
    return [
        f"Do not rely on this error, which is too high: at least half of the classes have {FEW_A_CLASS} sequences or fewer, "
        "and with one left out a class has one example at most."
    ]


def _result(
    problem: Problem,
    codes: Floats,
    simple: RowReadout,
    judged: list[Judged],
    classes: npt.NDArray[Any],
    rounds: int,
) -> Found:
    best, right = best_mean(judged, codes), codes.argmax(axis=1)
    outputs = {NETWORKS: best.outputs, SUMMARY: simple.outputs, SHARES: np.tile(codes.mean(axis=0), (len(codes), 1))}
    squares = {name: float(((each - codes) ** 2).mean()) for name, each in outputs.items()}
    winner = NETWORKS if best.error <= simple.error else SUMMARY
    wrong = {name: float((each.argmax(axis=1) != right).mean()) for name, each in outputs.items()}
    model = SequenceModel(
        joined(best.members) if winner == NETWORKS else (),
        simple.readout if winner == SUMMARY else None,
        problem.scaling,
        classes,
        steepness(outputs[winner], right),
        feature_names_in_=problem.columns,
    )
    rows = tuple(
        (name, wrong[name], squares[name], "taken" if name == winner else "")
        for name in sorted(squares, key=squares.__getitem__)
    )
    table = Table(
        ("method", "wrong_labels", "squared_error", "choice"),
        rows,
        f"Errors on {len(codes):,} sequences, each left out of the readout that judges it",
        ("Which networks are averaged was chosen by the same sequences: expect a little more on new data.",),
    )
    networks = tuple(each.transformer.esn_.network for each in model.members)
    heard = sum(bool(pools_of(each.transformer.pools).ranks) for each in model.members)
    turned = sum(each.backwards for each in model.members)
    used = "One network is used" if len(networks) == 1 else f"{len(networks)} networks are averaged"
    reasons = [
        f"{winner[0].upper()}{winner[1:]}: {wrong[winner]:.3g} of the sequences left out have a wrong label.",
        *_few(codes),
        *([f"{used}; {heard} hear ranks of the inputs, {turned} hear sequences from their end."] if networks else []),
        f"{rounds} networks tried, each with two sets of pools.",
    ]
    return Found(model, winner, wrong[winner], table, tuple(reasons), networks, rounds, seconds=0.0)
