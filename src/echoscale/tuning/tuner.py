"""`tune`: let the data set the hyper-parameters of a network."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale import _checks
from echoscale.hyper import Hyper, into_network
from echoscale.network import EchoStateWarning, Network
from echoscale.progress import Progress, shown
from echoscale.series import Series, SeriesLike
from echoscale.tuning import search as searching
from echoscale.tuning.entropy import Entropy
from echoscale.tuning.objective import Loss
from echoscale.tuning.runs import Runs
from echoscale.tuning.search import Search
from echoscale.tuning.space import Space
from echoscale.tuning.split import TuningData, prepare
from echoscale.tuning.squares import Squares
from echoscale.tuning.tuned import Tuned

if TYPE_CHECKING:
    import xarray

    from echoscale.engine.machine import DeviceLike

Floats = npt.NDArray[np.float64]

ALL = ("leak_rate", "spectral_radius", "input_scaling", "bias_scaling", "coupling", "ridge")
LOSSES = ("mse", "cross_entropy")


def tune(
    network: Network,
    u: SeriesLike | Series,
    y: SeriesLike,
    parameters: str | Sequence[str] = ALL,
    *,
    starts: int | Hyper = 8,
    seed: int = 0,
    loss: str = "mse",
    washout: int | None = None,
    validation: float = 0.25,
    ridge: float = 1e-5,
    direct: bool = False,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    rounds: int = 60,
    relocate: bool = True,
    dtype: str = "float64",
    device: DeviceLike = None,
    progress: bool | Progress = False,
) -> Tuned:
    """Minimise over theta the validation error of the readout that is ridge-optimal on the training data, by its gradient.

        E(theta) = | Y_v - X_v(theta) W(theta) |^2,   W(theta) = (X^T X + ridge I)^-1 X^T Y

    The gradient is exact: forward sensitivities of the states, and the derivative of the solution W. All starts go downhill
    together on the lanes of one run, by Gauss-Newton steps within bounds.

    Parameters
    ----------
    network : Network
        What to tune; hyper-parameters that are not learned stay as they are.
    u : (T, F), (B, T, F) or list of (T_b, F)
        Inputs.
    y : (T,), (T, O), (B, T, O), list of (T_b, O), or labels
        Targets of every step. For classes one label per step, (T,), or per sequence, (B,), which is judged by its last state.
    parameters : str or sequence of str
        What is learned: names of `Hyper` ("leak_rate": of all reservoirs; "leak_rate[0]": of the first), and "ridge".
    starts : int or Hyper
        How many random ones, each the best of eight random points; or a `Hyper` with one lane for each of your own.
    seed : int
        Draws the weights, as `network.build(n_inputs, seed)` does, and the starts.
    loss : "mse" or "cross_entropy"
        Squared error of numbers, or cross-entropy of classes.
    washout : int, optional
        Steps at the start of every series that do not count; 100 unless given, or a tenth of the shortest series where that
        is less. Without meaning for labels per sequence.
    validation : float
        Share of every series, at its end, that the error is measured on (with labels per sequence: of the sequences).
    ridge : float
        The ridge penalty, where it is not learned; where it is, that of the network's own start.
    direct : bool
        Whether the readout sees the inputs too.
    bounds : mapping of name to (low, high), optional
        Of the learned hyper-parameters; the usual ones are `echoscale.tuning.BOUNDS`.
    rounds : int
        At most so many steps; it ends before when no start gains any more.
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
        The tuned network, its error and history, and a report that prints.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.narma(length=400, seed=0)
    >>> tuned = es.tune(es.single(10), u, y, "leak_rate", starts=1, rounds=1)
    >>> tuned.history.error.values[-1, 0] <= tuned.history.error.values[0, 0]
    np.True_
    """
    began = time.perf_counter()
    _checks.choice(loss, LOSSES, "loss")
    rounds = _checks.integer(rounds, "rounds", minimum=1)
    data = prepare(u, y, loss, washout, validation)
    esn = network.build(data.series.features, seed=_checks.integer(seed, "seed"), dtype=dtype, device=device)
    space = Space.of(parameters, esn.hyper, bounds or {}, sharpness=loss == "cross_entropy")
    penalty = _checks.non_negative(ridge, "ridge")
    if penalty == 0 and not space.ridge:
        raise ValueError("ridge=0 leaves the readout undetermined where states repeat each other: give a small one, say 1e-12.")
    if not isinstance(direct, bool):
        raise TypeError(f"direct must be True or False, got {direct!r}.")
    if direct and data.per_sequence:
        raise ValueError("direct=True has no meaning with one label per sequence; leave it False.")
    runs = Runs(esn, space, data.series, data.targets, data.edges, penalty, direct)
    task = (Squares if loss == "mse" else Entropy)(runs)
    rng = np.random.default_rng([seed, 1])
    search = Search.begin(task, _candidates(space, esn.hyper, penalty, starts, rng), rng)
    records = [_record(search, began)]
    try:
        with shown(progress, "tuning") as tell:
            for number in range(rounds):
                if relocate and search.value.error[search.best] > searching.PERFECT:
                    search.relocate()
                if not len(search.live):
                    break
                search.round()
                records.append(_record(search, began))
                tell(number + 1, rounds, f"{task.name} {_least_error(search):.4f}")
    except KeyboardInterrupt:
        warnings.warn("interrupted: the result is that of the rounds so far.", UserWarning, stacklevel=2)
    return _result(network, task, search, records, data, seed, loss)


def _candidates(space: Space, hyper: Hyper, penalty: float, starts: int | Hyper, rng: np.random.Generator) -> Floats:
    """(S, C, P): random ones, the network's own numbers among those of the first start; or the user's, one each."""
    if isinstance(starts, Hyper):
        if [len(leaves) for leaves in starts] != [len(leaves) for leaves in hyper]:
            raise ValueError("starts is a Hyper of another network: make it with network.build(...).hyper.replace(...).")
        return np.stack([space.point(starts.lane(k), penalty)[None] for k in range(starts.lanes or 1)])
    count = _checks.integer(starts, "starts", minimum=1)
    points = space.draw(count * searching.SCREENED, rng).reshape(count, searching.SCREENED, -1)
    points[0, 0] = space.point(hyper, penalty)
    return points


def _record(search: Search, began: float) -> dict[str, Any]:
    return {
        "error": search.loss.shown(search.value.error.copy()),
        "value": search.loss.runs.space.values(search.z),
        "steps": search.steps,
        "seconds": time.perf_counter() - began,
    }


def _least_error(search: Search) -> float:
    """Of the best start, as it is reported."""
    return float(search.loss.shown(search.value.error[search.best : search.best + 1])[0])


def _result(
    network: Network,
    task: Loss,
    search: Search,
    records: list[dict[str, Any]],
    data: TuningData,
    seed: int,
    loss: str,
) -> Tuned:
    runs, space, best = task.runs, task.runs.space, search.best
    values = space.values(search.z[best])
    with warnings.catch_warnings():
        # A radius above 1 was tried on the data, and did well.
        warnings.simplefilter("ignore", EchoStateWarning)
        tuned = into_network(network, space.learned, values[: len(space.learned)].tolist())
    return Tuned(
        network=tuned,
        ridge=float(space.penalties(search.z[best][None], runs.penalty)[0]),
        error=_least_error(search),
        sharpness=float(values[-1]) if space.sharpness else None,
        history=_history(records, space, task),
        steps=search.steps,
        seed=seed,
        washout=data.washout,
        direct=runs.direct,
        dtype=runs.esn.dtype,
        loss=loss,
        classes=data.classes,
        per_sequence=data.per_sequence,
    )


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
