"""`tune`: learn the hyper-parameters of a network from data."""

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
    """Tune the hyper-parameters theta of a network by the gradient of its held-out error.

        E(theta) = sum over folds k of | Y_k - X_k(theta) W_k(theta) |^2,   W_k(theta): ridge solution of the other folds

    The gradient is exact: it follows the states and the ridge solutions. All starts descend together, on the lanes of one run,
    by Gauss-Newton steps within bounds. Held-out test data decide at the end: if the tuned network is not clearly better on
    them, the network is returned unchanged.

    Parameters
    ----------
    network : Network
        Network to tune. Hyper-parameters that are not learned keep their values. A network with output feedback receives the
        targets of the previous step, in free runs its own outputs.
    u : (T, F), (B, T, F) or list of (T_b, F)
        Inputs.
    y : (T,), (T, O), (B, T, O), list of (T_b, O), or labels
        Targets of every step; several horizons are several columns. Steps whose target holds a NaN do not count. For classes,
        one label per step, (T,), or per sequence, (B,).
    parameters : str or sequence of str, optional
        Names of the learned hyper-parameters: "leak_rate" for all reservoirs, "leak_rate[0]" for the first, "ridge", and other
        names of `Hyper`. By default one per 50 training steps, in the order ridge, input scalings, leak rates, spectral radii,
        spreads of leak rates, couplings, feedback scalings, bias scalings.
    starts : int or Hyper
        Number of starts, each the best of eight points: random ones, common choices, and once the network's own
        hyper-parameters. Or a `Hyper` with one lane per start.
    seed : int
        Random seed of the weights, as in `network.build(n_inputs, seed)`, and of the starts.
    loss : "mse" or "cross_entropy"
        Squared error of numbers, or cross-entropy of classes.
    washout : int, optional
        Number of steps at the start of every series that do not count. By default 100, or a tenth of the shortest series if
        that is less. Not used with labels per sequence.
    closed_loop : int, optional
        Length of the free-running forecasts whose error is minimised, in steps. They start from several origins in the
        held-out folds. The targets must be the next inputs, y(t) = u(t + 1), or the network must have output feedback, with
        other inputs that are known. By default the error of every step is minimised.
    folds : int or float
        Number of folds: blocks of time with gaps between them, fewer if the data are short; whole series if there are enough;
        sequences if each has one label. Or a share: the end of every series is held out, without folds.
    test : float
        Share of held-out test data at the end of every series (with labels per sequence: share of the sequences). 0: no test
        data, the folds decide.
    scale : "standard" or None
        "standard": inputs and targets are standardised, without use of the test data. None: raw values.
    ridge : float or "auto"
        Ridge penalty for all data, on their summed Gram matrix. If it is learned, the value at the network's own start. "auto":
        the best penalty on the folds.
    noise : float
        Standard deviation of noise on the states that the readout must tolerate. The expected effect, n noise^2 on the diagonal
        of the Gram matrix of n training steps, is added to the ridge penalty.
    floor : float, optional
        Least ridge penalty, relative to the mean squared singular value of the states. By default 1e-8: with smaller penalties
        the search finds networks that need more digits than float32 has. Smaller values, down to rounding at 1e-13, are for
        float64. With `closed_loop` or a fixed penalty the default is 1e-13.
    columns : Columns or None
        Inputs that the readout receives in addition to the states, `echoscale.readouts.Columns(inputs=...)`, without squares
        and products; None: no inputs.
    pools : Pools or None
        Pools of the states of a sequence with one label, see `echoscale.readouts.Pools`; None: `Pools(changes=False)`. Features
        are standardised, and the gradient is a difference quotient. `Pools("last", standardise=False)` gives the last state
        unchanged, with an exact gradient.
    bounds : mapping of name to (low, high), optional
        Bounds of the learned hyper-parameters. The default is `echoscale.learning.BOUNDS`, widened to hold the values of the
        network. With folds, input scalings may fall to 1e-6, and the ridge penalty may lie anywhere from `floor` to 10 per
        training step.
    rounds : int
        Largest number of rounds. The search ends earlier if no start improves.
    seconds : float, optional
        Time after which no further round begins.
    relocate : bool
        Whether starts that are stuck far above the best one move near it.
    dtype : "float32" or "float64"
        Precision of states and tangents.
    device : None, str or jax.Device
        Device that computes; None: JAX's choice.
    progress : bool or function
        True shows a bar; a function is called as progress(rounds done, rounds, note).

    Returns
    -------
    Tuned
        Tuned network, errors and history. Print it to read a report.

    See Also
    --------
    suggest : Suggest a network to begin with.
    OnlineLearner : Learn hyper-parameters from a stream, step by step.

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
        raise ValueError("closed_loop needs loss='mse': labels are not the next inputs. Leave closed_loop out.")
    if network.feeds_back and loss != "mse":
        raise ValueError("a network with output feedback can only be tuned with loss='mse': its targets are its inputs too.")
    series = as_series(u) if pools is None else heard_of(as_series(u), pools.with_changes)
    data = prepare(series, y, loss, washout, folds, test, scale, free=bool(free), feeds_back=network.feeds_back)
    if columns is not None and data.per_sequence:
        raise ValueError("columns cannot be used with one label per sequence: leave them out.")
    if pools is not None and not data.per_sequence:
        raise ValueError("pools can only be used with one label per sequence: leave them out.")
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
        raise ValueError("ridge=0 leaves the readout undetermined if states repeat each other: give a small value, say 1e-12.")
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
        # Without folds, the bounds of the ridge penalty keep it above rounding.
        floor=least if tail else max(least, ROUNDING),
    )
    own = one_lane(esn.hyper)
    # The user gives the penalty for all data; the search needs the penalty for the folds.
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
            if not isinstance(starts, Hyper):  # the network's own penalty is chosen by free runs
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
        raise ValueError("tune has no gradient of squares and products of states: give columns=Columns(inputs=...) alone.")
    if pools is not None and not isinstance(pools, Pools):
        raise TypeError(f"pools must be an echoscale.readouts.Pools or None, got {pools!r}.")
    if pools is not None and pools.ranks:
        raise ValueError("tune cannot use normal scores: leave ranks out of the pools, or give ranks as inputs.")


def _with_best_penalties(task: Loss, candidates: Floats) -> Floats:
    """The same points, each with its best ridge penalty on the folds."""
    space, points = task.space, candidates.reshape(-1, candidates.shape[-1]).copy()
    best = task.best_penalties(task.networks(points).hyper)
    place = len(space.learned)
    points[:, place] = np.clip(np.log(best * task.data.rows), space.low[place], space.high[place])
    return points.reshape(candidates.shape)


def _first_points(
    space: Space, hyper: Hyper, penalty: float, starts: int | Hyper, steps: int, rng: np.random.Generator
) -> Floats:
    """Points to choose starts from, (S, C, P): candidates, random points and once the network's own; or the user's points."""
    if isinstance(starts, Hyper):
        if [len(leaves) for leaves in starts] != [len(leaves) for leaves in hyper]:
            raise ValueError("starts is a Hyper of another network: make it with network.build(...).hyper.replace(...).")
        return np.stack([space.point(starts.lane(k), penalty)[None] for k in range(starts.lanes or 1)])
    count = checks.integer(starts, "starts", minimum=1)
    points = space.draw(count * searching.SCREENED, rng).reshape(count, searching.SCREENED, -1)
    points[0, 0] = space.point(hyper, penalty)
    # Up to half of the random points are replaced by the candidates from which estimators choose, dealt to the starts in turn.
    likely = space.likely(candidates(steps), hyper, penalty)[: count * (searching.SCREENED // 2)]
    for number, point in enumerate(likely):
        points[number % count, 1 + number // count] = point
    return points


def _record(search: Search, began: float, share: float) -> dict[str, Any]:
    """One round as it is shown: the ridge penalty is for all data, with noise and floor."""
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
