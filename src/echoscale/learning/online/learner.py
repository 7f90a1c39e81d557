"""`OnlineLearner`: learns the readout and the hyper-parameters of a network from a stream, step by step.

The learner cuts the stream into buffers for the compiled loop, closes the windows of the history, and applies the protocol of
re-initialisation. Learning stops at the first step with a number that is not finite or a hyper-parameter that is not allowed:
`LearningError` names the number, the step and a remedy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale._internal import hints
from echoscale._internal.progress import Progress, shown
from echoscale._internal.types import Array, Floats
from echoscale.data import losses
from echoscale.data.series import Series, SeriesLike, as_series, washout_steps
from echoscale.engine import feed
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper, Parameter, checked, chosen, into_network, put
from echoscale.learning.online import constraints, history, loop, over_cores
from echoscale.learning.online import reinitialise as protocols
from echoscale.learning.online import stream as streams
from echoscale.learning.online.adam import Adam
from echoscale.learning.online.reinitialise import Reinitialise
from echoscale.learning.online.settings import LearnerSettings, rules
from echoscale.learning.online.stream import Stream
from echoscale.network import Network
from echoscale.network.description import check_network
from echoscale.readouts.ridge import Readout
from echoscale.readouts.rls import RLS

if TYPE_CHECKING:
    import xarray as xr

    from echoscale.engine.devices import DeviceLike

NO_DATA = "this learner has not seen any data: call partial_fit or fit first."


@hints.options
class OnlineLearner:
    """Learn the readout and the hyper-parameters theta of a network from a stream, at every time step.

        z = W_out x + b;   W_out, theta <- Adam on E(z, y),   dE/dtheta = dE/dz . W_out dx/dtheta

    The traces dx/dtheta are carried along with the states. A stream is one series or B sequences that run at once.
    `partial_fit` takes pieces of any size: the result does not depend on the cuts.

    Parameters
    ----------
    network : Network
        Description of the network. The number of inputs comes from the first piece of data.
    outputs : int
        Number O of target columns; for loss="softmax" the number of classes.
    parameters : str, or list of them
        Names of the learned hyper-parameters: "leak_rate", "coupling" and others for all reservoirs, "leak_rate[0]" for the
        first; () for the readout alone.
    loss : "mse", "sigmoid" or "softmax"
        Loss function: squared error of numbers, or cross-entropy of probabilities or classes; see `echoscale.data.losses`.
    readout : Adam or RLS, or None
        Rule for W_out: `Adam(rate)`, or `RLS(ridge, forgetting)` (with "mse"); None: the rule of the preset.
    rates : Adam or str
        Rule for the hyper-parameters: `Adam(rate)`, or a preset of the paper by name (`PRESETS`).
    trace : "exact" or "truncated"
        Full trace, or the truncated trace of the paper's main text (`echoscale.engine.traces`).
    constraint : "clip", "logistic" or "free"
        Constraint that keeps hyper-parameters in their range (`echoscale.learning.online.constraints`).
    starts : Hyper or None
        Hyper-parameters on S lanes, for S learners with the same weights at once; None: one learner.
    protocol : Reinitialise or None
        Rule for resetting the readout; None: never.
    record : int
        Number of steps in one window of the history.
    washout : int or None
        Number of steps at the start of the stream without learning; None: 100.
    average : float, int or None
        Average of W_out for predictions (Adam only). A float: running mean with this decay, say 0.999. An int: mean over all
        steps from this step on, say 42_000, and W_out itself before. None: W_out itself.
    seed : int
        Random seed of the weights, as in `network.build`, and of the fresh readouts.
    dtype : "float32" or "float64"
        Precision of the states.
    device : None, str or jax.Device
        Device that computes; None: JAX's choice.

    Attributes
    ----------
    learned : tuple of Parameter
        Learned hyper-parameters, P in number.
    values : (S, P) array
        Current values of the learned hyper-parameters.
    hyper : Hyper
        All current hyper-parameters, with one lane per start if `starts` has lanes.
    network : Network
        Description with the current hyper-parameters of the best start; `network_of(start)` for another start.
    esn : ESN
        Built network with the hyper-parameters before the first step.
    readout : Readout
        Current W_out and b, averaged if `average` is set, with a leading axis S if `starts` has lanes.
    state : (B, N) or (S, B, N) array
        Last states.
    history : xarray.Dataset
        Loss, gradient, value and number of targets of every window, with dims start, parameter and step.
    best : int
        Index of the start with the least loss in the last ten windows.
    converged : (S,) array of bool
        Whether each start has converged by the protocol.
    steps, sequences : int
        Number of time steps so far, and number B of sequences (None before the first piece).

    See Also
    --------
    tune : Learn hyper-parameters from stored data by ridge regression.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.narma(600, order=10, seed=0)
    >>> network = es.hierarchical([10, 10], leak_rate=0.5, input_scaling=0.2)
    >>> learner = es.OnlineLearner(network, parameters="leak_rate", rates="narma", record=200)
    >>> learner = learner.partial_fit(u[:300], y[:300]).partial_fit(u[300:], y[300:])
    >>> learner.steps, learner.values.shape, learner.history.sizes["step"]
    (600, (1, 2), 3)
    >>> learner.predict(u).shape
    (600, 1)
    """

    def __init__(
        self,
        network: Network,
        outputs: int = 1,
        *,
        parameters: str | Sequence[str | Parameter] = ("leak_rate",),
        loss: str = "mse",
        readout: Adam | RLS | None = None,
        rates: Adam | str = "narma",
        trace: str = "exact",
        constraint: str = "clip",
        starts: Hyper | None = None,
        protocol: Reinitialise | None = None,
        record: int = 1000,
        washout: int | None = None,
        average: float | int | None = None,
        seed: int = 0,
        dtype: str = "float32",
        device: DeviceLike = None,
    ) -> None:
        check_network(network, "OnlineLearner")
        speeds, own = rules(rates, readout)
        hyper = Hyper.of(network)
        self.settings = LearnerSettings(
            network=network,
            outputs=outputs,
            learned=chosen(parameters, hyper) if len(parameters) else (),
            loss=loss,
            readout=own,
            rates=speeds,
            trace=trace,
            constraint=constraint,
            hyper=checked(starts, hyper),
            protocol=protocol,
            record=record,
            washout=washout_steps(washout),
            average=average,
            seed=seed,
            dtype=dtype,
            device=device,
        )
        self._esn: ESN | None = None
        self.stream: Stream | None = None
        self.feature_names: tuple[str, ...] = ()  # of data frames; set by the first piece

    def fit(self, u: SeriesLike, y: npt.ArrayLike, *, progress: bool | Progress = False) -> OnlineLearner:
        """Forget everything, then learn from the data as `partial_fit` does.

        Parameters
        ----------
        u : (T, F) or (B, T, F)
            Inputs.
        y : (T,), (T, O), (B, T) or (B, T, O)
            Targets.
        progress : bool or function
            See `partial_fit`.

        Returns
        -------
        OnlineLearner
            Itself.
        """
        return self._learn(self._read(u, y, None, ()), progress, restart=True)

    def partial_fit(self, u: SeriesLike, y: npt.ArrayLike, *, progress: bool | Progress = False) -> OnlineLearner:
        """Learn from the next piece of the stream.

        An interrupt (Ctrl-C) stops after at most 1,024 further steps. `steps` is then the number of steps done; continue with
        the data from there on.

        Parameters
        ----------
        u : (T, F) or (B, T, F)
            Inputs. The first piece fixes B.
        y : (T,), (T, O), (B, T) or (B, T, O)
            Targets. If the target of a sequence is NaN, its state moves but this step does not count for this sequence. For
            "softmax", y may hold the class of every step as a whole number.
        progress : bool or function
            True shows a bar; a function is called as progress(steps done, steps, note) after every buffer.

        Returns
        -------
        OnlineLearner
            Itself.

        Raises
        ------
        LearningError
            If a number is not finite or a hyper-parameter is not allowed; the learner then is in its state before this step.
        """
        return self._learn(self._read(u, y, self.sequences, self.feature_names), progress)

    def _learn(self, data: tuple[Series, Array, Array], progress: bool | Progress, restart: bool = False) -> OnlineLearner:
        """Learn from checked data, buffer by buffer; errors in the data are raised before and change nothing."""
        series, targets, there = data
        values, length, done = np.asarray(series.values), int(series.lengths[0]), 0
        with self.settings.context(), shown(progress, "learning") as tell:
            if restart or self.stream is None:
                self.stream = self.begin(series.count, series.features)
                self.feature_names = series.columns
            while done < length:
                done += self._advance(values[:, done:], targets[:, done:], there[:, done:])
                tell(done, length, self._note())
        return self

    def freeze(
        self, parameters: str | Sequence[str | Parameter] | None = None, start: int | None = None, frozen: bool = True
    ) -> None:
        """Keep learned hyper-parameters at their current values.

        Parameters
        ----------
        parameters : str, list of them, or None
            Hyper-parameters to freeze; None: all learned ones.
        start : int or None
            Index of the start; None: all starts.
        frozen : bool
            True freezes the hyper-parameters, False lets them learn again.
        """
        now = self._running()
        rows = [self.learned.index(each) for each in self.settings.chosen(parameters)]
        mask = now.frozen.copy()
        mask[rows, slice(None) if start is None else self.settings.at(start)] = frozen
        self.stream = now._replace(frozen=mask)

    def begin(self, sequences: int, columns: int) -> Stream:
        """Draw the weights and make a stream of B sequences, before its first step.

        Parameters
        ----------
        sequences : int
            Number B of sequences.
        columns : int
            Number of columns of the input series: F, or F + O if the network has output feedback.

        Returns
        -------
        Stream
            New stream; the learner does not use it yet.
        """
        esn = self._esn
        if esn is None or esn.columns != columns:
            esn = _built(self.settings, columns)
        with self.settings.context():
            fresh = streams.begin(self.settings, esn, sequences)
        self._esn = esn
        return fresh

    def _read(
        self, u: SeriesLike, y: npt.ArrayLike, sequences: int | None, names: tuple[str, ...]
    ) -> tuple[Series, Array, Array]:
        dtype = np.dtype(self.settings.dtype)
        series = as_series(u, None if sequences is None else self.esn.columns, dtype=dtype, columns=names)
        if series.kind == "list":
            raise ValueError("sequences that learn together have one length: give u as (B, T, F), not as a list.")
        if sequences not in (None, series.count):
            raise ValueError(
                f"this piece holds {series.count} sequences, the stream began with {sequences}: their states continue, so the "
                "number cannot change. For another number, call fit or make a new learner."
            )
        return series, *streams.read_targets(y, series, self.settings)

    def _advance(self, u: Array, y: Array, there: Array) -> int:
        """Learn from as many steps as one buffer holds; return their number."""
        now, settings = self._running(), self.settings
        periods = [now.history.window, *([settings.protocol.period] if settings.protocol else [])]
        n = min(streams.BUFFER, int(u.shape[1]), *(each - now.step % each for each in periods))
        data = streams.buffer(settings, now.groups.plan, u[:, :n], y[:, :n], there[:, :n], now.step)
        fixed = streams.fixed_now(settings, now)
        carry, made, well = over_cores.run(now.groups, settings, fixed, now.carry, data, n)
        if not well:
            good, _, _ = over_cores.run(now.groups, settings, fixed, now.carry, data, made - 1)
            self.stream = now._replace(carry=good, step=now.step + made - 1)
            raise explained(settings, carry, self.stream.step)
        self.stream = self._closed(now._replace(carry=carry, step=now.step + n))
        return n

    def _closed(self, now: Stream) -> Stream:
        """The stream at the end of a buffer: close a window of the history and apply the protocol, if due."""
        settings = self.settings
        values = streams.values(settings, now.carry)
        if now.step % now.history.window == 0:
            sums, targets = (np.asarray(each) for each in now.carry.sums)
            book = history.add(now.history, float(targets), sums[:, : settings.starts].astype(np.float64), values)
            empty = (np.zeros_like(sums), np.zeros_like(targets))
            now = now._replace(history=book, carry=now.carry._replace(sums=empty))
        if settings.protocol and now.step % settings.protocol.period == 0:
            memory, reset = protocols.look(settings.protocol, now.memory, values)
            now = now._replace(memory=memory)
            if reset.any():
                now = now._replace(carry=streams.fresh(settings, now.plan, now.carry, reset, memory.resets))
        return now

    @property
    def esn(self) -> ESN:
        """The built network, with the hyper-parameters before the first step."""
        if self._esn is None:
            raise ValueError(NO_DATA)
        return self._esn

    @property
    def learned(self) -> tuple[Parameter, ...]:
        """Learned hyper-parameters."""
        return self.settings.learned

    @property
    def steps(self) -> int:
        """Number of time steps so far."""
        return 0 if self.stream is None else self.stream.step

    @property
    def sequences(self) -> int | None:
        """Number B of sequences; None before the first piece."""
        return None if self.stream is None else self.stream.plan.sequences

    @property
    def values(self) -> Floats:
        """Current values of the learned hyper-parameters, (S, P), in the order of `learned`."""
        settings = self.settings
        return (settings.first_values if self.stream is None else streams.values(settings, self.stream.carry)).T.copy()

    @property
    def hyper(self) -> Hyper:
        """All current hyper-parameters, with one lane per start if `starts` has lanes."""
        columns = self.values.T if self._many else self.values[0]
        return put(self.settings.hyper, self.learned, [np.asarray(each, np.float64) for each in columns])

    @property
    def readout(self) -> Readout:
        """Current W_out and b, or their mean if `average` is set, with a leading axis S if `starts` has lanes."""
        rows = streams.readouts(self.settings, self._running().carry)
        units, rule = self.settings.network.units, self.settings.readout
        whole = Readout(rows[..., :units], rows[..., units], np.full(len(rows), rule.ridge if isinstance(rule, RLS) else 0.0))
        return whole if self._many else whole.at(0)

    @property
    def state(self) -> Array:
        """Last states, (B, N), with a leading axis S if `starts` has lanes."""
        now = self._running()
        plan = now.plan
        lanes = np.concatenate([np.asarray(each) for each in now.carry.state]).reshape(-1, plan.batch, plan.starts)
        states = lanes[:, : plan.sequences, : self.settings.starts].transpose(2, 1, 0)
        return states if self._many else states[0]

    @property
    def history(self) -> xr.Dataset:
        """Mean loss, mean gradients and learned hyper-parameters of every window, with dims start, parameter and step."""
        return history.dataset(self._running().history, [str(each) for each in self.learned])

    @property
    def best(self) -> int:
        """Index of the start with the least loss in the last windows."""
        if self.settings.starts == 1:
            return 0
        loss = self._loss()
        return 0 if np.isnan(loss).all() else int(np.nanargmin(loss))

    @property
    def converged(self) -> npt.NDArray[np.bool_]:
        """Whether each start has converged by the protocol, (S,)."""
        return np.array(self._running().memory.converged)

    @property
    def network(self) -> Network:
        """Description with the current hyper-parameters of the best start."""
        return self.network_of(self.best)

    def network_of(self, start: int) -> Network:
        """Description with the current hyper-parameters of one start.

        Parameters
        ----------
        start : int
            Index of the start, from 0.

        Returns
        -------
        Network
        """
        numbers = self.hyper.lane(self.settings.at(start))
        every = chosen([name for name in Hyper._fields if getattr(numbers, name)], numbers)
        return into_network(self.settings.network, every, [float(each.of(numbers)) for each in every])

    def predict(self, u: SeriesLike, *, start: int | None = None, state: npt.ArrayLike | None = None) -> Any:
        """Predict outputs z = W_out x + b with the current hyper-parameters and readout, without learning.

        Parameters
        ----------
        u : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        start : int or None
            Index of the start; None: the best.
        state : (N,) or (B, N), or None
            First state; None: zero. `learner.state` continues the stream.

        Returns
        -------
        (T, O), (B, T, O) or list of (T_b, O)
            Outputs; for "sigmoid" and "softmax", probabilities.
        """
        which = self.best if start is None else self.settings.at(start)
        readout = self.readout.at(which) if self._many else self.readout
        series = as_series(u, self.esn.columns, dtype=np.dtype(self.settings.dtype), columns=self.feature_names)
        first = None if state is None else np.asarray(state)
        if first is not None and first.ndim == 3:
            first = first[which]
        if first is not None and first.ndim == 2 and len(first) == 1 and series.kind == "one":
            first = first[0]

        def read(_: int, b: int, steps: slice, states: Floats) -> Floats:
            return losses.link(self.settings.loss, readout.predict(states))

        [outputs], collect = feed.into_outputs(series, self.settings.outputs, read)
        self.esn.run_chunks(series, collect, state=first, hyper=self.hyper.lane(which))
        if series.kind == "list":
            return outputs
        return outputs[0] if series.kind == "one" else np.stack(outputs)

    @property
    def _many(self) -> bool:
        return self.settings.hyper.lanes is not None

    def _loss(self) -> Floats:
        """The mean loss of every start (S,) in the last windows, or so far if no window is finished; NaN without targets."""
        now = self._running()
        recent = history.recent_loss(now.history)
        if not np.isnan(recent).all():
            return recent
        sums, targets = (np.asarray(each, np.float64) for each in now.carry.sums)
        return sums[0, : self.settings.starts] / targets if targets > 0 else recent

    def _note(self) -> str:
        """The loss of the best start in the last window."""
        loss = history.recent_loss(self._running().history, windows=1)
        return "" if np.isnan(loss).all() else f"loss {np.nanmin(loss):.4g}"

    def _running(self) -> Stream:
        if self.stream is None:
            raise ValueError(NO_DATA)
        return self.stream

    def __repr__(self) -> str:
        settings, best = self.settings, self.best if self.steps else 0
        lines = [f"OnlineLearner({settings.network!r}, outputs={settings.outputs}) after {self.steps:,} steps"]
        if settings.starts > 1:
            lines[0] += f", start {best} of {settings.starts}"
        for name, first, now in zip(self.learned, settings.first_values[:, best], self.values[best], strict=True):
            lines.append(f"- {name}: {first:.4g} at first, {now:.4g} now")
        if self.steps:
            lines.append(f"- mean loss ({settings.loss}) in the last windows: {self._loss()[best]:.4g}")
        return "\n".join(lines)


def _built(settings: LearnerSettings, columns: int) -> ESN:
    """The network for series with this many columns."""
    network, outputs = settings.network, settings.outputs
    fed = outputs if network.feeds_back else 0
    if columns <= fed:
        raise ValueError(
            f"this network feeds its outputs back: u must hold the inputs and then the outputs of the previous step "
            f"(outputs={outputs}), so at least {outputs + 1} columns; got {columns}. es.engine.teacher_forced(u, y) makes it."
        )
    return network.build(columns - fed, settings.seed, settings.dtype, settings.device, n_outputs=outputs)


class LearningError(FloatingPointError):
    """A number is not finite, or a hyper-parameter is not allowed. The learner is in its state before this step."""


def explained(settings: LearnerSettings, carry: loop.Carry, at: int) -> LearningError:
    """The error from the carry after step `at`. The loss is checked first: other numbers that are not finite follow from it."""
    sums = np.asarray(carry.sums[0])[:, : settings.starts]
    now = streams.values(settings, carry)
    wrong = np.argwhere(~np.asarray(constraints.allowed(now, settings.learned, settings.constraint)))
    bad = np.argwhere(~np.isfinite(sums))
    adam = isinstance(settings.readout, Adam)
    remedy = "Lower the readout's rate" if adam else "Let the readout forget less, or raise its ridge"
    if len(bad) and bad[0, 0] == 0:
        said = f"the loss{_of(settings, bad[0, 1])} is not finite. {remedy}."
    elif len(bad):
        name = settings.learned[bad[0, 0] - 1]
        said = (
            f"the gradient of {name}{_of(settings, bad[0, 1])} is not finite: its trace grows without bound. Lower its "
            f"learning rate (now {settings.speeds[bad[0, 0] - 1]:g}), or begin with a smaller spectral radius."
        )
    elif len(wrong):
        p, s = wrong[0]
        inside = "(0, 1]" if settings.learned[p].name == "leak_rate" else "[0, infinity)"
        left = f"left {inside}" if np.isfinite(now[p, s]) else "is not finite"
        said = (
            f"{settings.learned[p]}{_of(settings, s)} {left}: {now[p, s]:g}. Lower its learning rate (now "
            f"{settings.speeds[p]:g}), or keep it inside with constraint='clip'."
        )
    else:
        said = f"the readout is not finite. {remedy}."
    return LearningError(f"at step {at} {said} The learner is in its state before step {at}.")


def _of(settings: LearnerSettings, start: int) -> str:
    return f" of start {start}" if settings.starts > 1 else ""
