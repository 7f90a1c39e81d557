"""`tune`: let the data set the hyper-parameters of a network."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from echoscale._internal import checks
from echoscale._internal.progress import Progress, shown
from echoscale._internal.types import Floats
from echoscale.data.normal_scores import heard_of
from echoscale.data.series import Series, SeriesLike, as_series
from echoscale.engine.hyper import Hyper
from echoscale.learning.tuning import search as searching
from echoscale.learning.tuning.entropy import Entropy, PooledEntropy
from echoscale.learning.tuning.free_run import FreeRun
from echoscale.learning.tuning.losses import ROUNDING, Loss, Squares
from echoscale.learning.tuning.search import Search
from echoscale.learning.tuning.space import Space, affordable
from echoscale.learning.tuning.split import prepare
from echoscale.learning.tuning.tuned import Tuned, decided, one_lane, start_of
from echoscale.network import Network
from echoscale.network.description import check_network
from echoscale.readouts.columns import STATES, Columns
from echoscale.readouts.penalties import AUTO, ROBUST
from echoscale.readouts.pooling import Pools
from echoscale.timescales.candidates import candidates

if TYPE_CHECKING:
    import xarray

    from echoscale.engine.devices import DeviceLike


ALL = ("leak_rate", "leak_spread", "spectral_radius", "input_scaling", "bias_scaling", "coupling", "feedback_scaling", "ridge")
LOSSES = ("mse", "cross_entropy")
LAST = ("last",)


def tune(
    network: Network,
    u: SeriesLike | Series,
    y: SeriesLike,
    parameters: str | Sequence[str] | None = None,
    *,
    starts: int | Hyper = 8,
    seed: int = 0,
    loss: str = "mse",
    washout: int | None = None,
    closed_loop: int | None = None,
    folds: int | float = 5,
    test: float = 0.2,
    scale: str | None = "standard",
    ridge: float | str = AUTO,
    noise: float = 0.0,
    floor: float | None = None,
    columns: Columns | None = None,
    pools: Pools | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    rounds: int = 60,
    seconds: float | None = None,
    relocate: bool = True,
    dtype: str = "float64",
    device: DeviceLike = None,
    progress: bool | Progress = False,
) -> Tuned:
    """Minimise over theta the error of ridge-optimal readouts on blocks of time that they have not seen, by its gradient.

        E(theta) = sum over folds k of | Y_k - X_k(theta) W_k(theta) |^2,   W_k(theta): the ridge solution of the other folds

    The gradient is exact: forward sensitivities of the states, and the derivative of every solution W_k. All starts go
    downhill together on the lanes of one run, by Gauss-Newton steps within bounds. At the end, held-out
    test data (the last part of every series) decide: if the tuned network is not clearly better there, the network is returned
    unchanged.

    Parameters
    ----------
    network : Network
        What to tune; hyper-parameters that are not learned stay as they are. One with output feedback hears the targets of
        the step before, in free runs its own outputs.
    u : (T, F), (B, T, F) or list of (T_b, F)
        Inputs.
    y : (T,), (T, O), (B, T, O), list of (T_b, O), or labels
        Targets of every step; several horizons are several columns. Steps whose target holds a NaN do not count. For classes
        one label per step, (T,), or per sequence, (B,).
    parameters : str or sequence of str, optional
        What is learned: names of `Hyper` ("leak_rate": of all reservoirs; "leak_rate[0]": of the first), and "ridge". Unless
        given, as many as the length of the data allows: one for 50 training steps, in the order ridge, input scalings, leak
        rates, spectral radii, couplings, scalings of output feedback, bias scalings.
    starts : int or Hyper
        How many random ones, each the best of eight random points; or a `Hyper` with one lane for each of your own.
    seed : int
        Draws the weights, as `network.build(n_inputs, seed)` does, and the starts.
    loss : "mse" or "cross_entropy"
        Squared error of numbers, or cross-entropy of classes.
    washout : int, optional
        Steps at the start of every series that do not count; 100 unless given, or a tenth of the shortest series where that
        is less. Without meaning for labels per sequence.
    closed_loop : int, optional
        A number of steps: free-running forecasts of this length are judged, from several origins in the held-out folds,
        made with each fold's readout. For targets that are the next input, y(t) = u(t + 1); or for a network with output
        feedback, whose other inputs are known.
    folds : int or float
        A number of folds, which are blocks of time with gaps between them (fewer where data are short; whole series where
        there are enough; with labels per sequence, sequences). Or a share of every series, at its end, that judges alone.
    test : float
        Share of every series, at its end, that takes no part and judges the result (with labels per sequence: of the
        sequences); 0 keeps none, and the folds decide.
    scale : "standard" or None
        Whether inputs and targets are standardised first, with means and standard deviations of what is tuned on.
    ridge : float or "auto"
        The ridge penalty for all data, on their summed Gram matrix, where it is not learned; where it is, that of the
        network's own start. "auto": the best by the folds, for every start.
    noise : float
        Standard deviation of noise on the states that the readout is to withstand: n noise^2 is added to the ridge penalty of
        n training steps, which is what such noise does to the Gram matrix on average.
    floor : float, optional
        The least ridge penalty, relative to the mean squared singular value of the states. 1e-8 unless given: with less, the
        search finds networks whose error lives in digits that float32 does not have. A smaller floor is for records in
        float64; below 1e-13 a Gram matrix holds rounding alone. Free runs (`closed_loop`) feed the readout its own errors and
        so judge by themselves what it withstands: there, and where the penalty is fixed, it is 1e-13 unless given.
    columns : Columns or None
        Inputs that the readout sees beside the states, as `echoscale.readouts.Columns(inputs=...)`; None: no inputs. There are
        no slopes of squares and products of states.
    pools : Pools or None
        With one label per sequence: how its states are pooled, see `echoscale.readouts.Pools`; None: `Pools(changes=False)`.
        The ridge penalty then stands on weights of standardised features, and slopes are differences of runs on lanes. With
        `Pools("last", standardise=False)` the readout sees the last state as it is.
    bounds : mapping of name to (low, high), optional
        Of the learned hyper-parameters; the usual ones are `echoscale.learning.BOUNDS`, widened to hold what the network has,
        and to 10 per training step for the ridge where folds judge, from the rounding of the Gram matrix on.
    rounds : int
        Number of rounds at most; it ends earlier when no start improves.
    seconds : float, optional
        No round begins later than this.
    relocate : bool
        Whether starts that are stuck far above the best begin again near it.
    dtype : "float32" or "float64"
        The precision of states and tangents.
    device : None, str or jax.Device
        Where it runs; None is JAX's choice.
    progress : bool or function
        True shows a bar; a function gets (rounds done, rounds, the least error so far in words).

    Returns
    -------
    Tuned
        The tuned network, its errors and history, and a report that prints.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.narma(length=400, seed=0)
    >>> tuned = es.tune(es.single(10), u, y, "leak_rate", starts=1, rounds=1)
    >>> tuned.history.error.values[-1, 0] <= tuned.history.error.values[0, 0]
    np.True_
    """
    began = time.perf_counter()
    limit = np.inf if seconds is None else checks.non_negative(seconds, "seconds", "0 begins no round.")
    check_network(network, "tune")
    checks.choice(loss, LOSSES, "loss")
    rounds = checks.integer(rounds, "rounds", minimum=1)
    _check_readout(columns, pools)
    free = None if closed_loop is None else checks.integer(closed_loop, "closed_loop", minimum=1)
    if free and loss != "mse":
        raise ValueError("closed_loop has a meaning for loss='mse' alone: labels are no next inputs.")
    if network.feeds_back and loss != "mse":
        raise ValueError("a network with output feedback is tuned with loss='mse' alone: its targets are its inputs too.")
    series = as_series(u) if pools is None else heard_of(as_series(u), pools.changes)
    data = prepare(series, y, loss, washout, folds, test, scale, free=bool(free), feeds_back=network.feeds_back)
    if columns is not None and data.per_sequence:
        raise ValueError("columns have no meaning with one label per sequence: leave them out.")
    if pools is not None and not data.per_sequence:
        raise ValueError("pools have a meaning with one label per sequence alone: leave them out.")
    if data.per_sequence:
        pools = pools or Pools(changes=False)
        pools = replace(pools, features=pools.names, ranks=False)
    inputs, targets = data.whole
    columns = (columns or STATES).settled(inputs.lengths, inputs.features, data.washout)
    esn = network.build(inputs.features, checks.integer(seed, "seed"), dtype, device, n_outputs=targets.features)
    tuned, tail = data.tuned, data.tuned.tail
    names, fixed = (parameters, []) if parameters is not None else affordable(esn.hyper, float(tuned.train_rows.min()))
    user = starts if isinstance(starts, Hyper) else esn.hyper
    space = Space.of(names, user, bounds or {}, loss == "cross_entropy", None if tail else tuned.rows, free=bool(free))
    for words in space.outside(user):
        warnings.warn(f"{words}: the search begins at the bound. Widen it to begin there.", UserWarning, stacklevel=2)
    given = None if ridge == AUTO else checks.non_negative(ridge, "ridge")
    fixed_ridge = given is not None and not space.ridge
    least = (ROUNDING if free or fixed_ridge else ROBUST) if floor is None else checks.non_negative(floor, "floor")
    if given == 0 and fixed_ridge:
        raise ValueError("ridge=0 leaves the readout undetermined where states repeat each other: give a small one, say 1e-12.")
    kind: Any = Squares if loss == "mse" else Entropy
    if free:
        kind = partial(FreeRun, horizon=free)
    elif pools is not None and (pools.standardise or pools.features != LAST):
        kind = partial(PooledEntropy, pools=pools)
    task: Loss = kind(
        esn=esn,
        space=space,
        data=tuned,
        penalty=0.0,
        columns=columns,
        noise=checks.non_negative(noise, "noise"),
        # The bounds of a ridge that one tail judges keep it above rounding.
        floor=least if tail else max(least, ROUNDING),
    )
    own = one_lane(esn.hyper)
    # A penalty of the user is for all data; the search has it for the folds.
    penalty = given * data.share if given is not None else tuned.rows * task.best_penalty(own)
    task = replace(task, penalty=penalty)
    start = start_of(task, own, penalty / tuned.rows)
    rng = np.random.default_rng([seed, 1])
    points = _first_points(space, esn.hyper, penalty, starts, int(inputs.lengths.max()), rng)
    if given is None and space.ridge:
        points = _with_best_penalties(task, points)
        if free:  # a free run may want a larger penalty than the next step
            points[..., len(space.learned)] += np.log(10) * rng.integers(0, 6, points.shape[:2])
            points = np.clip(points, space.low, space.high)
            if not isinstance(starts, Hyper):  # its own is chosen by free runs
                points[0, 0] = space.point(esn.hyper, penalty)
    search = Search.begin(task, points, rng)
    records = [_record(search, began, data.share)]
    try:
        with shown(progress, "tuning") as tell:
            for number in range(rounds):
                if relocate and search.value.error[search.best] > searching.PERFECT:
                    search.relocate()
                if not len(search.live) or time.perf_counter() - began > limit:
                    break
                search.round()
                records.append(_record(search, began, data.share))
                tell(number + 1, rounds, f"{task.name} {records[-1]['error'][search.best]:.4f}")
    except KeyboardInterrupt:
        warnings.warn("interrupted: this is the result of the rounds so far.", UserWarning, stacklevel=2)
    chooses = not tail and not free and (given is None or space.ridge)
    return decided(
        network,
        search,
        data,
        start,
        chooses,
        history=_history(records, space, task),
        seed=esn.seed,
        washout=data.washout,
        columns=columns,
        pools=pools,
        scale=scale,
        dtype=esn.dtype,
        classes=data.classes,
        folds=0 if tail else len(tuned.folds),
        fixed=tuple(fixed),
    )


def _check_readout(columns: Columns | None, pools: Pools | None) -> None:
    if columns is not None and not isinstance(columns, Columns):
        raise TypeError(f"columns must be an echoscale.readouts.Columns or None, got {columns!r}.")
    if columns is not None and (columns.squares or columns.products):
        raise ValueError("tune knows no slopes of squares and products of states: give columns=Columns(inputs=...) alone.")
    if pools is not None and not isinstance(pools, Pools):
        raise TypeError(f"pools must be an echoscale.readouts.Pools or None, got {pools!r}.")
    if pools is not None and pools.ranks:
        raise ValueError("tune knows no normal scores: leave ranks out of the pools, or give ranks as inputs.")


def _with_best_penalties(task: Loss, candidates: Floats) -> Floats:
    """The same points with the ridge penalty that is best for each by the folds."""
    space, points = task.space, candidates.reshape(-1, candidates.shape[-1]).copy()
    best = task.best_penalties(task.networks(points).hyper)
    place = len(space.learned)
    points[:, place] = np.clip(np.log(best * task.data.rows), space.low[place], space.high[place])
    return points.reshape(candidates.shape)


def _first_points(
    space: Space, hyper: Hyper, penalty: float, starts: int | Hyper, steps: int, rng: np.random.Generator
) -> Floats:
    """(S, C, P): candidates and random points, with the network's own numbers for the first start; or the user's points."""
    if isinstance(starts, Hyper):
        if [len(leaves) for leaves in starts] != [len(leaves) for leaves in hyper]:
            raise ValueError("starts is a Hyper of another network: make it with network.build(...).hyper.replace(...).")
        return np.stack([space.point(starts.lane(k), penalty)[None] for k in range(starts.lanes or 1)])
    count = checks.integer(starts, "starts", minimum=1)
    points = space.draw(count * searching.SCREENED, rng).reshape(count, searching.SCREENED, -1)
    points[0, 0] = space.point(hyper, penalty)
    # Up to half of the random points give way to the candidates from which estimators choose, dealt out to the starts in turn.
    likely = space.likely(candidates(steps), hyper, penalty)[: count * (searching.SCREENED // 2)]
    for number, point in enumerate(likely):
        points[number % count, 1 + number // count] = point
    return points


def _record(search: Search, began: float, share: float) -> dict[str, Any]:
    """As it is shown: the ridge penalty is the one for all data that was judged, with noise and floor."""
    task = search.loss
    values = task.space.values(search.z)
    if task.space.ridge:
        used = (search.value.readout.ridge / task.data.train_rows).max(axis=1)
        values[:, len(task.space.learned)] = used * task.data.rows / share
    return {
        "error": task.shown(search.value.error.copy()),
        "value": values,
        "steps": search.steps,
        "seconds": time.perf_counter() - began,
    }


def _history(records: list[dict[str, Any]], space: Space, task: Loss) -> xarray.Dataset:
    import xarray

    column = {name: np.stack([np.asarray(each[name]) for each in records]) for name in records[0]}
    count = column["error"].shape[1]
    return xarray.Dataset(
        {
            "error": (("round", "start"), column["error"], {"long_name": task.name}),
            "value": (("round", "start", "parameter"), column["value"], {"long_name": "learned hyper-parameters"}),
            "steps": ("round", column["steps"], {"long_name": "simulated steps so far"}),
            "seconds": ("round", column["seconds"], {"long_name": "time so far", "units": "s"}),
        },
        {"round": np.arange(len(records)), "start": np.arange(count), "parameter": list(space.names)},
    )
