"""Losses that `tune` minimises over the learned numbers theta: a value at every point, and its quadratic model there.

The readouts are ridge solutions W_k, one for each point and fold k; `gradient` has their derivatives dW_p.

`Squares` is the squared error of these readouts on their held-out folds, from sufficient statistics alone:

    E(theta) = mean over outputs of  mean (y - W_k^T x - b_k)^2 / Var y      r = y - W_k^T x - b_k,  k: the fold of the step
    dr_p = -(v_p + dW_p^T x),     dE_p = 2 <dr_p, r>,     curvature 2 <dr_p, dr_q>  (Gauss-Newton)

W_k depends on theta too (variable projection, Golub and Pereyra 1973), and v_p is the change of the outputs for fixed W_k.
All inner products are sums over steps of products of (states, v, targets). A few matrices hold all sums, for series of any
length.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar

import jax
import numpy as np

from echoscale._internal.types import Floats
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.learning.tuning import gradient
from echoscale.learning.tuning.space import Space
from echoscale.learning.tuning.split import FoldedData
from echoscale.readouts.columns import STATES, Columns
from echoscale.readouts.penalties import RELATIVE, fold_errors, least
from echoscale.readouts.ridge import Readout, mean_squared_errors, ridge
from echoscale.readouts.splits import total
from echoscale.readouts.statistics import Statistics, beside_states, split_statistics, with_noise

T = TypeVar("T")

ROUNDING = 1e-13  # relative to the mean squared singular value of the states: below this a Gram matrix holds only rounding
STATISTICS_BYTES = 256 << 20  # for the points that are judged together


class Value(NamedTuple):
    """At S points: the held-out error, (S,), and the readouts of the K folds, (S, K, ...)."""

    error: Floats
    readout: Readout


class Model(NamedTuple):
    """E(z + s) ~ error + gradient . s + s . curvature . s / 2: (S,), (S, P) and (S, P, P), curvature positive semidefinite."""

    error: Floats
    gradient: Floats
    curvature: Floats


class Networks(NamedTuple):
    """S networks: hyper-parameters with S lanes, ridge penalties of all folds (S, K), sharpnesses (S,)."""

    hyper: Hyper
    penalties: Floats
    sharpness: Floats


@dataclass(frozen=True, eq=False)
class Loss:
    """The base of `Squares` and of the losses in `entropy` and `free_run`: data, constants, and statistics of networks.

    penalty  ridge penalty if it is not learned
    columns  columns of the readout in addition to the states
    noise    standard deviation of noise on the states
    floor    least penalty, relative to the mean squared singular value of the states

    name     name of the error in reports
    linear   whether the error is the squared error of a linear readout, for which noise on the states has a closed form
    rough    whether slopes predict little about the error one step away
    """

    esn: ESN
    space: Space
    data: FoldedData
    penalty: float
    columns: Columns = STATES
    noise: float = 0.0
    floor: float = 0.0

    name: ClassVar[str]
    linear: ClassVar[bool] = False
    rough: ClassVar[bool] = False

    def value_of_batch(self, at: Networks) -> Value:
        """The error of as many networks as fit into memory."""
        raise NotImplementedError

    def model_of_batch(self, z: Floats, readout: Readout) -> Model:
        """The quadratic model at as many points (S, P) as fit into memory; their readouts are known."""
        raise NotImplementedError

    def shown(self, error: Floats) -> Floats:
        """The reported error: the root, since most losses are mean squares."""
        return np.sqrt(error)

    def value(self, z: Floats) -> Value:
        """The error at points z (S, P)."""
        return self.value_at(self.networks(z))

    def value_at(self, networks: Networks) -> Value:
        """The error of any networks, also those that are not points of the search."""
        batches = self.batches(len(networks.penalties))
        return _joined([self.value_of_batch(jax.tree.map(operator.itemgetter(batch), networks)) for batch in batches])

    def model(self, z: Floats, readout: Readout) -> Model:
        """The quadratic model at points whose readouts are known."""
        batches = self.batches(len(z), self.model_numbers)
        return _joined([self.model_of_batch(z[batch], readout.at(batch)) for batch in batches])

    @property
    def model_runs(self) -> int:
        """Number of runs that the model at one point costs: the network, and a tangent for every learned number."""
        return 1 + len(self.space.learned)

    @property
    def model_numbers(self) -> int:
        """Number of values that the model at one point needs for every segment and fold: statistics, also of tangents."""
        return (self.features + self.outputs * (1 + len(self.space.learned) * len(self.data.folds))) ** 2

    @property
    def outputs(self) -> int:
        """Number of outputs O."""
        return self.data.targets.features

    @cached_property
    def features(self) -> int:
        """Number of columns of the readout."""
        return self.columns.width(self.esn)

    @cached_property
    def extra(self) -> list[Floats]:
        """Columns of the statistics in addition to the states, (T_b, E) for every series."""
        return beside_states(self.data.series, self.data.targets, self.columns)

    @property
    def inputs(self) -> list[Floats]:
        """Inputs of the readout, (T_b, E) for every series."""
        return [each[:, : self.features - self.esn.units] for each in self.extra]

    def networks(self, z: Floats) -> Networks:
        """The networks at points z (S, P)."""
        hyper = self.space.hyper(self.esn.hyper, z).map(lambda leaf: np.broadcast_to(np.asarray(leaf, float), (len(z),)))
        return Networks(hyper, self.penalties(z), self.space.sharpnesses(z))

    def learned_penalties(self, z: Floats) -> Floats:
        """The penalties without noise and floor, (S, K): the learned or given penalty in proportion to the rows of the fold."""
        return self.space.penalties(z, self.penalty)[:, None] * (self.data.train_rows / self.data.rows)

    def penalties(self, z: Floats) -> Floats:
        """Penalties of every fold at points z, (S, K). Noise of variance s^2 on n rows adds n s^2 I to the Gram matrix."""
        return self.learned_penalties(z) + self.noise**2 * self.data.train_rows

    @property
    def path(self) -> Floats:
        """The penalties to choose from, relative to the states: the default path above the floor, and the floor itself."""
        if self.floor <= RELATIVE[0]:
            return RELATIVE
        return np.array([self.floor, *RELATIVE[self.floor * (1 + 1e-9) < RELATIVE]])

    def parts(self, hyper: Hyper) -> list[Statistics]:
        """Statistics of features and targets in every segment, (S, ...) each with hyper-parameters of S lanes."""
        data = self.data
        return split_statistics(self.esn, data.series, data.targets, data.edges, columns=self.columns, hyper=hyper)[0]

    def statistics(self, hyper: Hyper) -> tuple[list[Statistics], list[Statistics]]:
        """Statistics (S, ...) of training and of held-out data for every fold, with hyper-parameters of S lanes."""
        return self.data.folded(self.parts(hyper))

    def fitted(self, train: Sequence[Statistics], penalties: Floats) -> Readout:
        """The ridge readouts of all folds, (S, K, ...), with these penalties (S, K) or the floor."""
        whole = stacked(train)
        return ridge(whole, np.maximum(penalties, self.floor * whole.unit) if self.floor else penalties)

    def best_penalties(self, hyper: Hyper) -> Floats:
        """The penalty of `path`, per training step, with the least squared error on the folds, for every network, (S,)."""
        found, path = [], self.path
        for batch in self.batches(hyper.lanes or 1):
            train, held_out = self.statistics(hyper.map(operator.itemgetter(batch)))
            noisy = [with_noise(each, self.noise**2) for each in train]
            best = least(fold_errors(list(zip(noisy, held_out, strict=True)), path).mean(axis=-1))
            found.append(path[best.place] * unit_per_step(train))
        return np.concatenate(found)

    def best_penalty(self, hyper: Hyper) -> float:
        """The best penalty of `path`, per training step, for one network."""
        return float(self.best_penalties(hyper)[0])

    def batches(self, count: int, numbers: int = 0) -> list[slice]:
        """Batches of points that fit into memory, each with `numbers` values per segment and fold (0: statistics)."""
        each = (len(self.data.edges[0]) + 2 * len(self.data.folds)) * (numbers or (self.features + self.outputs) ** 2) * 8
        size = max(STATISTICS_BYTES // each, 1)
        return [slice(begin, begin + size) for begin in range(0, count, size)]


class Squares(Loss):
    """The NMSE."""

    name = "NRMSE"
    linear = True

    def value_of_batch(self, at: Networks) -> Value:
        """See `Loss`."""
        train, held_out = self.statistics(at.hyper)
        readout, judged = self.fitted(train, at.penalties), stacked(held_out)
        share = judged.count / judged.count.sum(axis=1, keepdims=True)
        squares = np.sum(mean_squared_errors(readout, judged) * share[..., None], axis=1)
        return Value((squares / self._variance(held_out)).mean(axis=-1), readout)

    @np.errstate(over="ignore", invalid="ignore")
    def model_of_batch(self, z: Floats, readout: Readout) -> Model:
        """See `Loss`."""
        theta, found = self.space.values(z), gradient.tangents(self, z, readout)
        count = np.sum([part.count for part in found.held_out], axis=0)
        weight = 1 / (count[:, None] * self.outputs * self._variance(found.held_out))
        products: Any = 0.0
        for k, (train, held_out) in enumerate(zip(found.train, found.held_out, strict=True)):
            features, moved, targets = gradient.places(self, k)
            slopes = gradient.ridge_slopes(self, found, readout, z, k)
            # Coefficients of every dr_p, and at last of r, on the columns of the statistics.
            mixed = np.zeros((len(z), self.outputs, z.shape[1] + 1, train.mean.shape[-1]))
            mixed[:, :, :-1, features] = -slopes.transpose(0, 2, 1, 3)
            mixed[:, :, -1, features] = -readout.coef[:, k]
            for o in range(self.outputs):
                mixed[:, o, -1, targets[o]] = 1
                for p in range(len(self.space.learned)):
                    mixed[:, o, p, moved[p * self.outputs + o]] = -theta[:, p]
            # Second moments of held-out data about the training means, which the intercept removes.
            apart = held_out.mean - train.mean
            moments = held_out.scatter + held_out.count[:, None, None] * apart[:, :, None] * apart[:, None, :]
            products = products + np.einsum("sopc,socq,so->spq", mixed, moments[:, None] @ mixed.transpose(0, 1, 3, 2), weight)
        return Model(products[:, -1, -1], 2 * products[:, :-1, -1], 2 * products[:, :-1, :-1])

    def _variance(self, held_out: Sequence[Statistics]) -> Floats:
        """Variance of the targets over all folds, (S, O)."""
        o = self.outputs
        variance = total(
            [Statistics(each.count, each.mean[:, -o:], each.scatter[:, -o:, -o:], 0) for each in held_out]
        ).variance
        if not (variance > 0).all():
            raise ValueError("a target is constant on the validation part: errors cannot be normalised by its variance.")
        return variance


def _joined(parts: list[T]) -> T:
    """The results of consecutive points, concatenated."""
    whole: T = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts) if len(parts) > 1 else parts[0]
    return whole


def stacked(parts: Sequence[Statistics]) -> Statistics:
    """Statistics (S, ...) of all folds, stacked to (S, K, ...)."""
    return Statistics(
        np.stack([part.count for part in parts], axis=1),
        np.stack([part.mean for part in parts], axis=1),
        np.stack([part.scatter for part in parts], axis=1),
        parts[0].features,
    )


def unit_per_step(train: Sequence[Statistics]) -> Floats:
    """The mean square of the centred states, averaged over the folds, (S,)."""
    return np.asarray(np.stack([each.unit / each.count for each in train], axis=1).mean(axis=1))
