"""Sufficient statistics of a linear readout: counts, means and scatter matrices, accumulated chunk by chunk in float64.

    n = sum 1,   m = sum z / n,   S = sum (z - m)(z - m)^T      with z = (features, targets)

Ridge regression needs nothing else, on training and on validation data. Statistics of pieces, series or workers add up, so no
state is stored. States may be float32: their products are exact in float64, which a small ridge penalty needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale._internal import executors
from echoscale._internal.types import Floats, Indices
from echoscale.data.series import Series, SeriesLike, as_series, as_targets, check_longer_than, washout_steps
from echoscale.data.stored import as_stored, is_stored, stored_targets
from echoscale.engine import devices, feed, shared_runs
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper, checked
from echoscale.engine.shared_runs import SharedRuns
from echoscale.readouts.columns import STATES, Columns
from echoscale.readouts.moments import DeviceMoments, HostMoments, Moments, SharedMoments
from echoscale.readouts.pieces import in_turn, spread


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sufficient statistics of features and targets: count n, mean m and scatter S of the columns z = (features, targets).

        n = sum 1,    m = sum z / n,    S = sum (z - m)(z - m)^T

    Leading axes (one statistic per lane) broadcast. Statistics of two pieces of data add up: `one + other`.

    Attributes
    ----------
    count : (...,)
        Number n of rows.
    mean : (..., P)
        Means m of the P columns.
    scatter : (..., P, P)
        Centred sums of products S.
    features : int
        Number of columns that are features; the others are targets.
    """

    count: Floats
    mean: Floats
    scatter: Floats
    features: int

    def __add__(self, other: object) -> Statistics:
        """The statistics of both pieces together (Chan, Golub and LeVeque 1983: no cancellation)."""
        if not isinstance(other, Statistics):
            return NotImplemented
        if self.mean.shape[-1] != other.mean.shape[-1] or self.features != other.features:
            raise ValueError(
                f"statistics of {self.features} of {self.mean.shape[-1]} columns and of {other.features} of "
                f"{other.mean.shape[-1]} cannot be added."
            )
        count = self.count + other.count
        share = np.divide(other.count, count, out=np.zeros_like(count), where=count > 0)[..., None]
        apart = other.mean - self.mean
        weight = (self.count[..., None] * share)[..., None]
        scatter = self.scatter + other.scatter
        scatter += weight * apart[..., :, None] * apart[..., None, :]
        return Statistics(count, self.mean + share * apart, scatter, self.features)

    @property
    def unit(self) -> Any:
        """Mean squared singular value of the features, trace(S_xx) / F, (...,); 1 if the features are constant."""
        f = self.features
        mean_square = np.einsum("...ff->...f", self.scatter[..., :f, :f]).sum(axis=-1) / max(f, 1)
        return np.where(mean_square > 0, mean_square, 1.0)

    @property
    def variance(self) -> Floats:
        """Variance of the targets, (..., O)."""
        f = self.features
        return np.asarray(np.einsum("...oo->...o", self.scatter[..., f:, f:]) / self.count[..., None])

    def lane(self, index: int | slice | npt.NDArray[Any]) -> Statistics:
        """Returns the statistics of one lane, or of a selection of lanes.

        Parameters
        ----------
        index : int, slice or array
            Index of the lanes.
        """
        return Statistics(self.count[index], self.mean[index], self.scatter[index], self.features)


def with_noise(statistics: Statistics, variance: float | Floats, columns: int | None = None) -> Statistics:
    """The statistics plus the mean effect of noise of this variance on the first `columns` features (or all): n variance I."""
    scatter, f = statistics.scatter.copy(), statistics.features if columns is None else columns
    scatter[..., :f, :f] += (statistics.count * variance)[..., None, None] * np.eye(f)
    return Statistics(statistics.count, statistics.mean, scatter, statistics.features)


def of_rows(features: npt.ArrayLike, targets: npt.ArrayLike) -> Statistics:
    """The statistics of rows that are arrays in memory."""
    rows = np.concatenate([np.asarray(features, np.float64), np.asarray(targets, np.float64)], axis=1)
    mean = rows.mean(axis=0)
    centred = rows - mean
    return Statistics(np.float64(len(rows)) + np.zeros(()), mean, centred.T @ centred, np.shape(features)[1])


def statistics(
    esn: ESN,
    u: SeriesLike | Series,
    y: SeriesLike | Series,
    *,
    washout: int | None = None,
    direct: bool = False,
    hyper: Hyper | None = None,
    state: npt.ArrayLike | None = None,
    executor: Executor | None = None,
) -> Statistics:
    """Runs a network over u and returns the statistics of its states and targets, without keeping the states.

    Zarr, HDF5, Dask and xarray arrays and memory maps are read piece by piece. With an executor, pieces of about 256 MB are
    spread over its workers: groups of series, and pieces of long series. A piece of a long series starts from the zero state
    `washout` steps before its first counted step. The result then differs from one run only by what the network has not
    forgotten after that many steps. If a worker is lost, the executor may run its piece again; Dask does.

    Parameters
    ----------
    esn : ESN
        Network.
    u : (T, F), (B, T, F) or list of (T_b, F)
        Inputs. All series are counted together.
    y : (T,), (T, O), (B, T, O) or list of (T_b, O)
        Target of every step.
    washout : int, optional
        Number of steps at the start of every series that are run but not counted; by default 100, or a tenth of the shortest
        series if that is less.
    direct : bool, default False
        Whether the inputs are features too, after the states.
    hyper : Hyper, optional
        Hyper-parameters in place of the network's own. With H lanes, the result has a leading axis H, one statistic per lane.
    state : (N,), (B, N) or (H, B, N), optional
        Initial state; zero by default, and always with an executor.
    executor : concurrent.futures.Executor, optional
        Executor for pieces of the data, such as `Client.get_executor()` of Dask or `echoscale.sweeps.processes`. By default
        this process runs all.

    See Also
    --------
    echoscale.readouts.ridge : Computes a readout from the statistics.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.narma(length=600, seed=0)
    >>> esn = es.single(30).build(n_inputs=1, seed=0)
    >>> found = es.readouts.statistics(esn, u, y)
    >>> float(found.count), found.features
    (540.0, 30)
    >>> es.readouts.ridge(found, 1e-5).coef.shape
    (1, 30)
    """
    executors.check(executor)
    if executor is not None and state is not None:
        raise ValueError("with an executor every piece starts from the zero state: leave state out.")
    if is_stored(u):
        series = as_stored(u, esn.columns)
        targets = stored_targets(y, series)
    else:
        series = as_series(u, esn.columns)
        targets = as_targets(y, series)
    first = washout_steps(washout, int(series.lengths.min()))
    check_longer_than(series, first)
    edges = [np.array([first, length]) for length in series.lengths]
    run = partial(split_statistics, esn, columns=Columns(int(direct)), hyper=hyper)
    if executor is None:
        [whole], _ = in_turn(run, series, targets, edges, state)
    else:
        [whole], _ = spread(run, series, targets, edges, first, executor)
    return whole


def split_statistics(
    esn: ESN,
    series: Series,
    targets: Series,
    edges: Sequence[npt.NDArray[np.int64]],
    state: npt.ArrayLike | None = None,
    *,
    columns: Columns = STATES,
    hyper: Hyper | None = None,
) -> tuple[list[Statistics], npt.NDArray[Any]]:
    """The statistics of consecutive segments of time from one run, and the state after it."""
    used = checked(hyper, esn.hyper)
    start, before = columns.split(state, series, esn)
    extra = beside_states(series, targets, columns, before)
    width, features = columns.width_of_states(esn), columns.width(esn)
    gaps = any(np.isnan(each).any() for each in targets.values)
    # Shared runs are for one series without gaps, start from zero, and give the states only.
    alone = used.lanes is not None and series.count == 1 and not gaps and state is None and width == esn.units
    plans = shared_runs.plans(esn.network, used, devices.cores()) if alone and devices.on_cpu(esn.device) else None
    if plans:
        return _shared(esn, series, plans, extra[0], edges[0], features)
    blocks: dict[int, Moments] = {}

    def consume(lanes: Indices, begin: int, states: Any) -> None:
        key = int(lanes[0])
        if key not in blocks:
            kind = HostMoments if isinstance(states, np.ndarray) else DeviceMoments
            blocks[key] = kind(lanes, series.count, width, extra, edges)
        blocks[key].add(begin, columns.of_states(states, esn))

    last = esn.run_chunks(series, consume, state=start, hyper=hyper)
    # Summed in the order of the lanes, not of the threads: the same run gives the same bits.
    ordered = [blocks[key] for key in sorted(blocks)]
    return gather(ordered, used.lanes, features), columns.joined(last, series, before)


def beside_states(series: Series, targets: Series, columns: Columns, before: Floats | None = None) -> list[Floats]:
    """The columns of the statistics beside the states, (T_b, E) of every series: inputs if they are features, and targets."""
    return columns.of_inputs(series, before, targets) if columns.inputs else list(targets.values)


def _shared(
    esn: ESN, series: Series, plans: list[SharedRuns], extra: Floats, edges: npt.NDArray[np.int64], features: int
) -> tuple[list[Statistics], npt.NDArray[Any]]:
    """The statistics of a grid of hyper-parameters whose lanes share runs of some reservoirs."""
    moments = [SharedMoments(plan, esn.sizes, extra, edges) for plan in plans]
    last = feed.feed_shared(esn, plans, series, lambda place, start, states: moments[place].add(start, states))
    order = np.argsort(np.concatenate([plan.lanes for plan in plans]))
    results = []
    for segment in range(len(edges) - 1):
        parts = zip(*(each.statistics(segment) for each in moments), strict=True)
        count, mean, scatter = (np.concatenate(part)[order] for part in parts)
        results.append(Statistics(count, mean, scatter, features))
    return results, last


def gather(blocks: Sequence[Moments], lanes: int | None, features: int) -> list[Statistics]:
    """The sum over the blocks of lanes for every segment, with a leading axis if there are hyper lanes."""
    count, mean, scatter = blocks[0].centred()
    if len(blocks) > 1:
        shape, first = (len(count), lanes or 1), (count, mean, scatter)
        count, mean, scatter = np.zeros(shape), np.zeros((*shape, *mean.shape[2:])), np.zeros((*shape, *scatter.shape[2:]))
        for k, block in enumerate(blocks):
            which, part = block.hyper_lanes, Statistics(*(block.centred() if k else first), features)
            if count[:, which].any():  # a network whose series are spread over several blocks
                part = Statistics(count[:, which], mean[:, which], scatter[:, which], features) + part
            count[:, which], mean[:, which], scatter[:, which] = part.count, part.mean, part.scatter
    if lanes is None:
        return [Statistics(n.reshape(()), m[0], s[0], features) for n, m, s in zip(count, mean, scatter, strict=True)]
    return [Statistics(*each, features) for each in zip(count, mean, scatter, strict=True)]
