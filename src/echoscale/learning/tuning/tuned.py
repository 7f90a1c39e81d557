"""The result of `tune`: whether tuning helped on the folds and on held-out test data, and the report.

For the test, the tuned network and the network before tuning are both fitted to all data that were tuned on, each with its own
ridge penalty. The verdict also holds the robustness and the significance:

    float32   error of the same network and ridge penalty with states in float32
    sure      number of standard errors by which the tuned network is better, from log ratios of errors of consecutive blocks
    noisy     error with noise of 1e-4 of the states' standard deviation and the ridge penalty chosen again; exact on average:
              noise of variance s^2 adds n s^2 I to the Gram matrix of n rows, and s^2 |W|^2 to the squared error
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
import numpy.typing as npt

from echoscale._internal.plots import new_axes
from echoscale._internal.table import Table
from echoscale._internal.types import Floats
from echoscale.data.metrics import clearly_less
from echoscale.engine.hyper import Hyper, into_network
from echoscale.learning.tuning.entropy import Entropy
from echoscale.learning.tuning.losses import Loss, Networks
from echoscale.learning.tuning.search import Search
from echoscale.learning.tuning.space import RIDGE
from echoscale.learning.tuning.split import TuningData
from echoscale.network import EchoStateWarning, Network
from echoscale.readouts import splits
from echoscale.readouts.columns import Columns
from echoscale.readouts.penalties import RELATIVE, fold_errors, in_units, least
from echoscale.readouts.pooling import Pools
from echoscale.readouts.ridge import mean_squared_errors, ridge_path
from echoscale.readouts.splits import total
from echoscale.readouts.statistics import Statistics, with_noise

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from echoscale.estimators import ESNClassifier, ESNRegressor, ESNStepClassifier

NOISE = 1e-4
# Number of blocks of the test data whose errors are compared, and least number of rows of a block.
BLOCKS, LEAST_ROWS = 8, 20
CLEARLY = 2.0  # standard errors
FRAGILE = 1.1  # largest factor by which noise or rounding may raise the error without a warning


class Verdict(NamedTuple):
    """Errors on held-out test data; `noisy` is None unless errors are squared.

    sure    number of standard errors by which the tuned network is better; None for short test data and for other losses
    """

    tuned: float
    start: float
    float32: float
    noisy: float | None
    sure: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Tuned:
    """A tuned network and its errors: the result of `tune`. Print it to read a report.

    Attributes
    ----------
    network : Network
        Network with the learned hyper-parameters of the best start; unchanged if tuning did not help.
    ridge : float
        Ridge penalty for a fit to all data, noise included: chosen by folds over all data, learned, or as given.
    error : float
        Error of `network` on the folds: the NRMSE, or the cross-entropy in nats. It is optimistic, since the search minimised
        it.
    start_error : float
        Error on the folds before tuning, with the given ridge penalty or the best one on the folds.
    verdict : Verdict or None
        Errors on held-out test data: `tuned` and `start`; for the tuned network also `float32`, with states in float32, and
        `noisy`, with noise of 1e-4 of the states' standard deviation and the ridge penalty chosen again (None for classes).
        None without test data.
    helped : bool
        Whether the tuned network was clearly better than before tuning, on the folds and on the test data.
    sharpness : float or None
        Factor on the outputs of a classifier before softmax; None for numbers.
    at_bound : tuple of str
        Learned hyper-parameters of the best start that ended at a bound.
    at_floor : bool
        Whether the ridge penalty of the tuned network is the least allowed one (`floor`).
    history : xarray.Dataset
        Error and parameters of every round and start, with the number of steps and the seconds so far.
    seed : int
        Random seed of the weights.
    washout : int
        Number of steps at the start of every series that did not count; 0 with labels per sequence.
    columns : Columns
        Columns of the readout in addition to the states.
    pools : Pools or None
        Pools of the states of a sequence; None with targets or labels of every step.
    scale : "standard" or None
        "standard" if inputs and targets were standardised; None for raw values.
    dtype : str
        Precision of the states.
    classes : array or None
        Labels in the order of the outputs; None for numbers.
    folds : int
        Number of folds; 0 if the end of every series was held out.
    fixed : tuple of str
        Hyper-parameters that were not learned because the data are too short.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.narma(400, seed=0)
    >>> tuned = es.tune(es.single(10), u, y, "leak_rate", starts=2, rounds=2)
    >>> tuned.network.reservoirs[0].units
    10
    >>> tuned.table["start"]
    ('NRMSE', 'at first', 'leak_rate[0]')
    >>> tuned.plot().get_xlabel()
    'simulated steps'
    """

    network: Network
    ridge: float
    error: float
    start_error: float
    verdict: Verdict | None
    helped: bool
    sharpness: float | None
    at_bound: tuple[str, ...]
    at_floor: bool
    history: xarray.Dataset
    seed: int
    washout: int
    columns: Columns
    pools: Pools | None
    scale: str | None
    dtype: str
    classes: npt.NDArray[Any] | None
    folds: int
    fixed: tuple[str, ...]

    @property
    def start_test_error(self) -> float | None:
        """Error on held-out test data before tuning; None without test data."""
        return None if self.verdict is None else self.verdict.start

    @property
    def test_error(self) -> float | None:
        """Error of `network` on held-out test data, after a fit to the other data; None without test data."""
        return self.verdict.tuned if self.verdict is not None and self.helped else self.start_test_error

    @property
    def steps(self) -> int:
        """Number of simulated steps; the tangent of a network counts as another network."""
        return int(self.history["steps"][-1])

    def estimator(self) -> ESNRegressor | ESNClassifier | ESNStepClassifier:
        """Make an estimator with the tuned hyper-parameters, the same weights and the same washout, ready for `fit`."""
        from echoscale.estimators import ESNClassifier, ESNRegressor, ESNStepClassifier

        shared: dict[str, Any] = {
            "network": self.network,
            "ridge": self.ridge,
            "washout": self.washout,
            "scale": self.scale,
            "dtype": self.dtype,
            "random_state": self.seed,
        }
        if self.pools is not None:
            return ESNClassifier(**shared, pools=self.pools)
        kind = ESNRegressor if self.classes is None else ESNStepClassifier
        return kind(**shared, columns=self.columns)

    @property
    def table(self) -> Table:
        """Errors and hyper-parameters of all starts: one column per start, the best first."""
        last, first = self.history.isel(round=-1), self.history.isel(round=0)
        order = np.argsort(last["error"].values)
        word = str(self.history["error"].attrs["long_name"])
        rows = [(word, *map(float, last["error"].values[order])), ("at first", *map(float, first["error"].values[order]))]
        for name in self.history["parameter"].values.tolist():
            label = f"{name} (at bound)" if name in self.at_bound else name
            rows.append((label, *map(float, last["value"].sel(parameter=name).values[order])))
        rounds, seconds = self.history.sizes["round"] - 1, float(last["seconds"])
        where = f"{self.folds} held-out folds" if self.folds else "validation data"
        return Table(
            ("start", *(str(start + 1) for start in order)),
            tuple(rows),
            title=f"Tuned in {rounds} rounds, {self.steps:.3g} simulated steps, {seconds:.1f} s; {word} on {where}.",
        )

    def plot(self, axes: Axes | None = None) -> Axes:
        """Plot the error of every start against the number of simulated steps, with the error before tuning.

        Parameters
        ----------
        axes : matplotlib Axes or None
            Axes to plot into; None: a new figure.
        """
        axes = new_axes() if axes is None else axes
        errors = self.history["error"].transpose("round", "start").values
        best = int(np.argmin(errors[-1]))
        axes.plot(self.history["steps"], errors, ".-", color="0.7")
        axes.plot(self.history["steps"], errors[:, best], ".-", color="C1", label="best start")
        axes.axhline(self.start_error, color="black", linewidth=0.8, label="before tuning")
        axes.set(xlabel="simulated steps", ylabel=str(self.history["error"].attrs["long_name"]))
        axes.legend(frameon=False, fontsize="small")
        return axes

    @property
    def reasons(self) -> tuple[str, ...]:
        """Conclusions from the errors on the folds and on the test data, one sentence each."""
        return tuple(self._reasons(str(self.history["error"].attrs["long_name"])))

    def _reasons(self, word: str) -> Iterator[str]:
        if self.fixed:
            yield f"Not learned, since the data are short: {', '.join(self.fixed)}."
        if self.at_bound:
            yield f"At a bound in the first column: {', '.join(self.at_bound)}. Wider bounds may be better."
        if self.at_floor:
            yield "The ridge penalty is at its floor. A smaller one (floor=) would only work in float64."
        yield f"Before tuning: {self.start_error:.4g} with the ridge penalty that the folds choose."
        if self.verdict is not None:
            noisy = "" if self.verdict.noisy is None else f", {self.verdict.noisy:.4g} with noise on the states"
            tuned, start = self.verdict.tuned, self.verdict.start
            sure = "" if self.verdict.sure is None else f" ({self.verdict.sure:.1f} standard errors better)"
            yield f"{word} on held-out test data: {tuned:.4g} tuned, {start:.4g} before{sure}."
            yield f"Robustness of the tuned network: {self.verdict.float32:.4g} with states in float32{noisy}."
            survives = max(self.verdict.float32, self.verdict.noisy or 0.0)
            if survives > FRAGILE * self.verdict.tuned:
                yield "Fragile: quote the larger of these errors, or tune with a larger floor= or with noise=."
        if self.helped:
            yield "The first column is the tuned network." + ("" if self.verdict else " Judge it on held-out test data.")
        else:
            yield "Tuning did not help: the network is returned unchanged, with its own ridge penalty."

    def __repr__(self) -> str:
        return "\n".join([str(self.table), "", *(f"- {reason}" for reason in self.reasons)])


class Start(NamedTuple):
    """The network before tuning: its hyper-parameters as one lane, ridge per training step, sharpness, error on the folds."""

    hyper: Hyper
    per_step: float
    sharpness: float
    error: float


def one_lane(hyper: Hyper) -> Hyper:
    """Hyper-parameters of one network as one lane."""
    return hyper.map(lambda leaf: np.full(1, float(leaf)))


def start_of(task: Loss, own: Hyper, per_step: float) -> Start:
    """The network before tuning, with this ridge penalty."""
    penalties = (per_step + task.noise**2) * task.data.train_rows[None]
    sharpness = task.sharpened(Networks(own, penalties, np.ones(1))) if isinstance(task, Entropy) else np.ones(1)
    error = task.value_at(Networks(own, penalties, sharpness)).error[0]
    return Start(own, per_step, float(sharpness[0]), float(error))


def decided(network: Network, search: Search, data: TuningData, start: Start, chooses: bool, **about: Any) -> Tuned:
    """The best start of the search if it is clearly better, or else the network before tuning.

    chooses  whether folds over all data choose the last ridge penalty
    about    the other attributes of the result
    """
    task, space, best, folds = search.loss, search.loss.space, search.best, data.tuned
    z = search.z[best]
    values = space.values(z)
    penalty = float(space.penalties(z[None], task.penalty)[0])
    with warnings.catch_warnings():
        # A spectral radius above 1 was tried on the data and did well.
        warnings.simplefilter("ignore", EchoStateWarning)
        tuned = into_network(network, space.learned, values[: len(space.learned)].tolist())
    error, start_error = task.shown(np.array([search.value.error[best], start.error])).tolist()
    # Folds that chose among many points, and short test data, cannot confirm a small gain.
    helped = error < (1.0 if folds.tail else clearly_less()) * start_error
    sharpness = float(values[-1]) if space.sharpness else 1.0
    verdict = None
    if data.tested:
        both = jax.tree.map(np.append, start.hyper, Hyper.of(tuned))
        per_step = np.array([start.per_step, penalty / folds.rows]) + task.noise**2
        verdict = judge(task, network, data, both, per_step, np.array([start.sharpness, sharpness]))
        rows = sum(end - begin for begin, end in data.test.spans[0])
        helped = helped and verdict.tuned < (1.0 if folds.tail else clearly_less(rows)) * verdict.start
        if verdict.sure is not None and not folds.tail:
            helped = helped and verdict.sure >= CLEARLY
    used = search.value.readout.ridge[best]
    at_floor = not (used <= task.penalties(z[None])[0] * (1 + 1e-9)).all()
    if at_floor:  # return the penalty that was judged, not the one that was asked for
        penalty = float((used / folds.train_rows).max() - task.noise**2) * folds.rows
    if not helped:
        tuned, penalty, error, sharpness = network, start.per_step * folds.rows, start_error, start.sharpness
    last = penalty / data.share
    if chooses:
        last = last_penalty(task, data, one_lane(Hyper.of(tuned)), last if helped else None)
    return Tuned(
        network=tuned,
        ridge=last + task.noise**2 * folds.rows / data.share,
        error=error,
        start_error=start_error,
        verdict=verdict,
        helped=helped,
        sharpness=sharpness if space.sharpness else None,
        at_bound=tuple(name for name in space.at_bound(z) if not (at_floor and name == RIDGE)),
        at_floor=at_floor and helped,
        **about,
    )


def last_penalty(task: Loss, data: TuningData, hyper: Hyper, learned: float | None) -> float:
    """The ridge penalty for all data, chosen by folds over all of them, test data included; without the part for noise.

    A learned penalty stays unless another is clearly better. Inputs and targets are scaled by all data, as in the final fit.
    """
    everything = replace(task, data=data.over_all())
    parts = everything.parts(hyper)
    unit = float(total(parts).unit[0])
    path = np.array([*([] if learned is None else [learned / unit]), *task.path])
    errors = fold_errors(splits.pairs(parts, everything.data.folds), path)[:, 0].mean(axis=-1)
    best = int(least(errors).place)
    if learned is not None and not errors[best] < clearly_less() ** 2 * errors[0]:
        return learned
    return float(path[best] * unit)


def judge(task: Loss, network: Network, data: TuningData, hyper: Hyper, per_step: Floats, sharpness: Floats) -> Verdict:
    """Compare two lanes, before and after tuning, given their ridge penalties per training step (2,) and sharpnesses (2,)."""
    test = replace(task, data=data.test)
    networks = Networks(hyper, per_step[:, None] * test.data.train_rows, sharpness)
    start, tuned = _errors(test, networks)
    own = task.esn
    rough = network.build(own.n_inputs, own.seed, "float32", own.device, n_outputs=own.n_outputs)
    float32 = _errors(replace(test, esn=rough), networks)[1] if own.dtype == "float64" else tuned
    if not task.linear:
        return Verdict(tuned, start, float32, None)
    folds = replace(test, data=replace(data.test, folds=data.tuned.folds))
    noisy = float(task.shown(np.array([_noisy(folds, test, hyper)]))[0])
    return Verdict(tuned, start, float32, noisy, _sure(test, networks))


def _sure(test: Loss, networks: Networks) -> float | None:
    """Standard errors by which the second network is better, from blocks of time that cut every series in equal shares."""
    data = test.data
    count = min(BLOCKS, min(int(each[-1] - each[-2]) for each in data.edges) // LEAST_ROWS)
    if count < 3:
        return None
    cut = [np.concatenate([each[:-2], np.linspace(each[-2], each[-1], count + 1).astype(int)]) for each in data.edges]
    parts = replace(test, data=replace(data, edges=cut)).parts(networks.hyper)
    readout = test.fitted([total(parts[:-count])], networks.penalties).at((slice(None), 0))
    start, tuned = np.stack([mean_squared_errors(readout, each).mean(axis=-1) for each in parts[-count:]], axis=1)
    tiny = np.finfo(float).tiny
    gains = np.log(np.maximum(start, tiny) / np.maximum(tuned, tiny))
    spread = float(gains.std(ddof=1)) / count**0.5
    return float(gains.mean()) / spread if spread > 0 else float(np.sign(gains.mean())) * np.inf


def _errors(test: Loss, networks: Networks) -> list[float]:
    return [float(each) for each in test.shown(test.value_at(networks).error)]


def _noisy(folds: Loss, test: Loss, hyper: Hyper) -> float:
    """The normalised squared error of the last lane with noise on its states."""
    [train], [judged] = test.statistics(hyper)
    variance = NOISE**2 * train.unit / train.count  # (S,)
    pairs = zip(*folds.statistics(hyper), strict=True)
    errors = np.sum([_with_noise(*pair, variance).sum(axis=-1) * pair[1].count for pair in pairs], axis=0)  # (n, S)
    best = int(least(errors[:, -1]).place)
    return float((_with_noise(train, judged, variance)[best] / judged.variance)[-1].mean())


def _with_noise(train: Statistics, judged: Statistics, variance: Floats) -> Floats:
    """Mean squared errors, (n, S, O), for all penalties `RELATIVE` to the states."""
    readout = ridge_path(in_units(with_noise(train, variance)), RELATIVE)
    return np.asarray(mean_squared_errors(readout, judged) + variance[:, None] * (readout.coef**2).sum(axis=-1))
