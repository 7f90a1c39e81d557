"""Losses that `tune` minimises over the learned numbers theta: a value at every point, and its quadratic model there.

The readouts are ridge solutions W_k, one for each point and fold k; `gradient` has their derivatives dW_p.

`Squares` is the squared error of these readouts on the folds that they were not fitted to, from sufficient statistics alone:

    E(theta) = mean over outputs of  mean (y - W_k^T x - b_k)^2 / Var y      r = y - W_k^T x - b_k,  k: the fold of the step
    dr_p = -(v_p + dW_p^T x),     dE_p = 2 <dr_p, r>,     curvature 2 <dr_p, dr_q>  (Gauss and Newton)

W_k depends on theta too (variable projection, Golub and Pereyra 1973), and v_p is the change of the outputs for fixed W_k.
All inner products are sums over steps of products of (states, v, targets). A few matrices therefore hold all numbers that are
needed, whatever the length of the series.

`Entropy` is the cross-entropy of classes on held-out folds, with ridge readouts that were fitted to one-hot targets:

    q = softmax(k z),   z = W^T x + b,   E(theta) = -mean log q_label          k: sharpness, learned with the other numbers
    dE_p = mean (q - y) . d(k z)_p,      curvature  mean d(k z)_p . (diag q - q q^T) d(k z)_q   (generalised Gauss-Newton)

Outputs of a ridge readout are near 1 for the right class and near 0 for the others. The sharpness turns them into
probabilities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from echoscale._internal.types import Floats
from echoscale.engine.hyper import Hyper
from echoscale.learning.tuning.gradient import columns, ridge_slopes
from echoscale.learning.tuning.runs import Runs, unstacked
from echoscale.learning.tuning.space import BOUNDS, SHARPNESS
from echoscale.readouts.ridge import Readout, mean_squared_errors, ridge
from echoscale.readouts.splits import total
from echoscale.readouts.statistics import Statistics


class Value(NamedTuple):
    """At S points: the error on what is held out, (S,), and the readouts of the K folds that have it, (S, K, ...)."""

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

    def part(self, which: slice) -> Networks:
        """Some of them."""
        return Networks(self.hyper.map(lambda leaf: leaf[which]), self.penalties[which], self.sharpness[which])


@dataclass(frozen=True, eq=False)
class Loss:
    """The base of `Squares` and `Entropy`, and of the losses in `free_run` and `pooled`.

    name    what their errors are called in reports
    linear  whether the error is the squared one of a linear readout, so that noise on the states has a closed form
    rough   whether its slopes say little about what lies a step away
    """

    runs: Runs
    name: ClassVar[str]
    linear: ClassVar[bool] = False
    rough: ClassVar[bool] = False

    def value(self, z: Floats) -> Value:
        """The error at points z (S, P)."""
        runs = self.runs
        return self.value_at(Networks(runs.hyper(z), runs.penalties(z), runs.space.sharpnesses(z)))

    def value_at(self, networks: Networks) -> Value:
        """The error of networks that need not be points of the search."""
        parts = [self.value_of_batch(networks.part(batch)) for batch in self.runs.batches(len(networks.penalties))]
        if len(parts) == 1:
            return parts[0]
        readouts = zip(*(part.readout for part in parts), strict=True)
        return Value(np.concatenate([part.error for part in parts]), Readout(*(np.concatenate(each) for each in readouts)))

    def value_of_batch(self, at: Networks) -> Value:
        """The error of few enough networks."""
        raise NotImplementedError

    def best_penalties(self, hyper: Hyper) -> Floats:
        """The best ridge penalty per training step by the folds, for every network, (S,)."""
        return self.runs.best_penalties(hyper)

    def model(self, z: Floats, readout: Readout) -> Model:
        """Its quadratic model at points whose readouts are known."""
        batches = self.runs.batches(len(z), len(self.runs.space.learned))
        parts = [self.model_of_batch(z[batch], readout.at(batch)) for batch in batches]
        return parts[0] if len(parts) == 1 else Model(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def model_of_batch(self, z: Floats, readout: Readout) -> Model:
        """The model at few enough points."""
        raise NotImplementedError

    @property
    def model_runs(self) -> int:
        """How many runs of a network the model at one point costs: itself, and a tangent for every learned number."""
        return 1 + len(self.runs.space.learned)

    def shown(self, error: Floats) -> Floats:
        """The error as it is reported."""
        raise NotImplementedError


class Squares(Loss):
    """The NMSE."""

    name = "NRMSE"
    linear = True

    def value_of_batch(self, at: Networks) -> Value:
        """See `Loss`."""
        train, held_out = self.runs.statistics(at.hyper)
        readout = ridge(train, self.runs.above_floor(train, at.penalties))
        share = held_out.count / held_out.count.sum(axis=1, keepdims=True)
        squares = np.sum(mean_squared_errors(readout, held_out) * share[..., None], axis=1)
        return Value((squares / self._variance(unstacked(held_out))).mean(axis=-1), readout)

    @np.errstate(over="ignore", invalid="ignore")
    def model_of_batch(self, z: Floats, readout: Readout) -> Model:
        """See `Loss`."""
        runs, theta = self.runs, self.runs.space.values(z)
        found = runs.tangents(z, readout)
        count = np.sum([part.count for part in found.held_out], axis=0)
        weight = 1 / (count[:, None] * runs.outputs * self._variance(found.held_out))
        products: Any = 0.0
        for k, (train, held_out) in enumerate(zip(found.train, found.held_out, strict=True)):
            features, moved, targets = columns(runs, k)
            slopes = ridge_slopes(runs, found, readout, z, k)
            # The coefficients, on the columns of the statistics, of every dr_p and last of r.
            mixed = np.zeros((len(z), runs.outputs, z.shape[1] + 1, train.mean.shape[-1]))
            mixed[:, :, :-1, features] = -slopes.transpose(0, 2, 1, 3)
            mixed[:, :, -1, features] = -readout.coef[:, k]
            for o in range(runs.outputs):
                mixed[:, o, -1, targets[o]] = 1
                for p in range(len(runs.space.learned)):
                    mixed[:, o, p, moved[p * runs.outputs + o]] = -theta[:, p]
            # Second moments of what is held out about the means of training, which are what the intercept takes off.
            apart = held_out.mean - train.mean
            moments = held_out.scatter + held_out.count[:, None, None] * apart[:, :, None] * apart[:, None, :]
            products = products + np.einsum("sopc,socq,so->spq", mixed, moments[:, None] @ mixed.transpose(0, 1, 3, 2), weight)
        return Model(products[:, -1, -1], 2 * products[:, :-1, -1], 2 * products[:, :-1, :-1])

    def shown(self, error: Floats) -> Floats:
        """NRMSE."""
        return np.sqrt(error)

    def _variance(self, held_out: list[Statistics]) -> Floats:
        """Variance of the targets of all folds together, (S, O)."""
        o = self.runs.outputs
        pooled = total([Statistics(each.count, each.mean[:, -o:], each.scatter[:, -o:, -o:], 0) for each in held_out])
        variance = np.einsum("soo->so", pooled.scatter) / pooled.count[:, None]
        if not (variance > 0).all():
            raise ValueError("a target is constant on the validation part: errors cannot be normalised by its variance.")
        return np.asarray(variance)


class Entropy(Loss):
    """The mean negative logarithm of the probability that the right class was given, in nats."""

    name = "cross-entropy"

    @property
    def labels(self) -> Floats:
        """One-hot targets of all held-out steps, (rows, O), series after series."""
        return self.runs.held_out(self.runs.targets.values)

    def value_of_batch(self, at: Networks) -> Value:
        """See `Loss`."""
        outputs, readout = self.held_out_outputs(at)
        logs = log_softmax(at.sharpness[:, None, None] * outputs, axis=-1)
        return Value(np.einsum("sro,ro->s", -logs, self.labels) / len(self.labels), readout)

    def held_out_outputs(self, at: Networks) -> tuple[Floats, Readout]:
        """z of all held-out rows, (S, rows, O), and the readouts of the folds that have it."""
        train, _ = self.runs.statistics(at.hyper)
        readout = ridge(train, self.runs.above_floor(train, at.penalties))
        return self.runs.held_out_outputs(at.hyper, readout), readout

    @np.errstate(over="ignore", invalid="ignore")
    def model_of_batch(self, z: Floats, readout: Readout) -> Model:
        """See `Loss`."""
        runs, theta = self.runs, self.runs.space.values(z)
        found = runs.tangents(z, readout, keep_rows=True)
        assert found.rows is not None
        learned, every, count = len(runs.space.learned), self._features(found.rows), found.rows.shape[1]
        outputs = np.empty((len(z), count, runs.outputs))
        moves = np.empty((len(z), learned + runs.space.ridge, count, runs.outputs))
        for k, train in enumerate(found.train):
            here = np.flatnonzero(runs.fold_of_rows == k)
            features, moved, _ = columns(runs, k)
            slopes = ridge_slopes(runs, found, readout, z, k)
            rows = every[:, here]
            outputs[:, here] = np.einsum("srf,sof->sro", rows, readout.coef[:, k]) + readout.intercept[:, None, k]
            # The intercept takes off the means of training: of the features in W^T x, and of v.
            moves[:, :, here] = np.einsum("srf,spof->spro", rows - train.mean[:, None, features], slopes)
            v = found.rows[:, here, runs.esn.units :] - train.mean[:, None, moved]
            v = v.reshape(*v.shape[:2], learned, runs.outputs).transpose(0, 2, 1, 3)
            moves[:, :learned, here] += theta[:, :learned, None, None] * v
        return self.model_from(outputs, moves, runs.space.sharpnesses(z))

    def model_from(self, outputs: Floats, moves: Floats, sharpness: Floats) -> Model:
        """From z (S, rows, O), its slopes along all coordinates but the sharpness (S, P - 1, rows, O), and k (S,)."""
        k, labels, count = sharpness[:, None, None], self.labels, outputs.shape[1]
        logits = k * outputs
        jacobian = np.concatenate([k[:, None] * moves, logits[:, None]], axis=1)
        logs = log_softmax(logits, axis=-1)
        q = np.exp(logs)
        gradient = np.einsum("spro,sro->sp", jacobian, q - labels) / count
        centred = jacobian - np.einsum("spro,sro->spr", jacobian, q)[..., None]
        curvature = np.einsum("spro,sqro,sro->spq", centred, centred, q, optimize=True) / count
        return Model(np.einsum("sro,ro->s", -logs, labels) / count, gradient, curvature)

    def sharpened(self, networks: Networks) -> Floats:
        """The sharpness with the least error for each of these networks, (S,), where none was learned."""
        outputs, _ = self.held_out_outputs(networks)
        labels = self.labels
        found = []
        for each in outputs:

            def error(z: float, outputs: Floats = each) -> float:
                return float(-(log_softmax(math.exp(z) * outputs, axis=-1) * labels).sum())

            low, high = BOUNDS[SHARPNESS]
            search: Any = minimize_scalar
            found.append(math.exp(search(error, bounds=(math.log(low), math.log(high)), method="bounded").x))
        return np.array(found)

    def shown(self, error: Floats) -> Floats:
        """The cross-entropy itself."""
        return error

    def _features(self, rows: Floats) -> Floats:
        runs = self.runs
        states = rows[..., : runs.esn.units]
        if not runs.direct:
            return states
        inputs = runs.held_out(runs.series.values)
        return np.concatenate([states, np.broadcast_to(inputs, (len(rows), *inputs.shape))], axis=2)
