"""Ridge paths of many candidates at an origin: which penalty the folds choose, and the readout that goes with it.

A candidate is a set of features of one lane, and what it is fitted to: the target, or its change since now. Those of one lane
share the statistics; those of one set of features share the eigendecompositions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale.engine.machine import one_thread
from echoscale.readouts.penalties import RELATIVE, in_units, unit_of
from echoscale.readouts.ridge import Readout, ridge
from echoscale.readouts.statistics import Statistics

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Pairs = Sequence[tuple[Statistics, Statistics]]


class Chosen(NamedTuple):
    """Root mean squared error of the held-out folds, and the relative penalty that has it: (..., kinds)."""

    error: Floats
    relative: Floats


def take(statistics: Statistics, features: Indices, targets: Indices) -> Statistics:
    """The statistics of some columns only, the last `targets` of which are targets."""
    used = np.concatenate([features, targets])
    return Statistics(statistics.count, statistics.mean[..., used], statistics.scatter[..., used[:, None], used], len(features))


def choose(pairs: Pairs, features: Indices, kinds: Sequence[Indices], relative: Floats = RELATIVE) -> Chosen:
    """The penalty with the least error over the folds, for every lane and every kind of target (columns of the outputs)."""
    targets = np.concatenate(kinds)
    squares: Any = 0.0
    count: Any = 0.0
    for train, held_out in pairs:
        squares = squares + _squares(take(train, features, targets), take(held_out, features, targets), relative)
        count = count + held_out.count
    mean = squares / count[..., None]
    each = np.stack([part.mean(axis=-1) for part in np.split(mean, len(kinds), axis=-1)], axis=-1)  # (R, ..., kinds)
    each = np.where(np.isfinite(each), each, np.inf)
    place = np.argmin(each, axis=0)
    return Chosen(np.sqrt(np.take_along_axis(each, place[None], axis=0)[0]), relative[place])


def _squares(train: Statistics, held_out: Statistics, relative: Floats) -> Floats:
    """Summed squared errors on the held-out rows along the path, (R, ..., O): sums of products in the eigenvectors' basis.

    S_xx = V L V^T,   W(r) = V z(r),   z(r) = (L + r unit)^-1 V^T S_xy
    sum |y - W^T x - b|^2 = z^T (V^T G V) z - 2 z^T V^T c + sum y^2 + n (mean offset)^2      G, c: of the held-out rows
    """
    f = train.features
    unit = unit_of(train)
    with one_thread():
        values, vectors = np.linalg.eigh(train.scatter[..., :f, :f])
        back = np.swapaxes(vectors, -1, -2)
        turned = back @ train.scatter[..., :f, f:]  # (..., F, O)
        gram = back @ held_out.scatter[..., :f, :f] @ vectors
        cross = back @ held_out.scatter[..., :f, f:]
        apart = held_out.mean - train.mean
        moved = (back @ apart[..., :f, None])[..., 0]
        shifted = np.maximum(values, 0)[..., None, :] + relative[:, None] * unit[..., None, None]  # (..., R, F)
        # (..., R, O, F), rows of all penalties and outputs in one product
        z = np.swapaxes(turned, -1, -2)[..., None, :, :] / shifted[..., None, :]
        rows = z.reshape(*z.shape[:-3], -1, f)
        inside = ((rows @ gram) * rows).sum(axis=-1).reshape(z.shape[:-1])
    inside = inside - 2 * (z * np.swapaxes(cross, -1, -2)[..., None, :, :]).sum(axis=-1)
    spread = np.einsum("...oo->...o", held_out.scatter[..., f:, f:])[..., None, :] + inside
    offset = apart[..., None, f:] - (z * moved[..., None, None, :]).sum(axis=-1)
    found = np.maximum(spread, 0) + held_out.count[..., None, None] * offset**2
    return np.asarray(np.moveaxis(found, -2, 0))


def fitted(whole: Statistics, features: Indices, targets: Indices, relative: float) -> Readout:
    """The readout of one lane on all that is known at an origin."""
    return ridge(in_units(take(whole, features, targets)), float(relative))
