"""A built network: fixed `Weights`, with `Hyper` as an argument; runs, steps, and states passed on in chunks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Array
from echoscale.data.series import Series, SeriesLike, as_numbers, as_series
from echoscale.data.series import teacher_forced as teacher_forced
from echoscale.engine import devices
from echoscale.engine.devices import DeviceLike
from echoscale.engine.drawn import Drawn, Matrices, block_matrices, draw
from echoscale.engine.hyper import Hyper, checked, without_lanes
from echoscale.network import Network

if TYPE_CHECKING:
    import jax

    from echoscale._internal.table import Table
    from echoscale.engine.dynamics import Weights
    from echoscale.engine.feed import Consumer
    from echoscale.measures import Measured
    from echoscale.timescales import Spectrum
    from echoscale.timescales.linear_regime import LinearSystem


@dataclass(eq=False, repr=False)
class ESN:
    """Network with drawn weights; `network.build(n_inputs, seed)` makes one.

        x_k(t+1) = (1 - leak_rate_k) O_k x_k(t) + leak_rate_k tanh(h_k(t))
        h_k(t)   = input_scaling_k W_in_k s(t) + feedback_scaling_k W_fb_k y(t-1) + bias_scaling_k b_k
                   + spectral_radius_k W_k x_k(t) + sum over couplings l -> k of coupling_kl W_kl x_l(t)

    O_k is the identity unless a reservoir has a `residual`. A network with output feedback runs over series of F + O columns:
    the inputs s(t), then the outputs y(t-1). These are known outputs (`es.engine.teacher_forced(u, y)`) or the network's own.

    The last axis of a state array holds all N neurons, reservoir after reservoir (`network.slices`). `run` starts from the zero
    state unless a `state` is given. An ESN itself keeps no state between calls.

    Parameters
    ----------
    network : Network
        Description of the network.
    n_inputs : int
        Number F of inputs.
    seed : int
        Random seed of the weights.
    dtype : "float32" or "float64"
        Precision of the states.
    device : None, str or jax.Device
        Device that runs the network. None: JAX's choice.
    drawn : Drawn
        Matrices of the network.
    hyper : Hyper
        Hyper-parameters of the network.
    n_outputs : int, default 0
        Number O of outputs that are fed back; 0 without output feedback.

    See Also
    --------
    echoscale.ESNRegressor : A network with a readout, in the form of scikit-learn.

    Examples
    --------
    >>> import echoscale as es
    >>> esn = es.hierarchical([50, 50], leak_rate=[1.0, 0.2]).build(n_inputs=1, seed=0)
    >>> u, _ = es.tasks.narma(length=300, seed=0)
    >>> esn.run(u).shape
    (300, 100)
    """

    network: Network
    n_inputs: int
    seed: int
    dtype: str
    device: DeviceLike
    drawn: Drawn
    hyper: Hyper
    n_outputs: int = 0
    _stored: dict[int, Weights] = field(default_factory=dict, init=False)
    _numbers: tuple[Hyper, Hyper] | None = field(default=None, init=False)

    @cached_property
    def units(self) -> int:
        """Number N of neurons of all reservoirs together."""
        return self.network.units

    @cached_property
    def columns(self) -> int:
        """Number F + O of columns of a series to be run: inputs, then outputs that are fed back."""
        return self.n_inputs + self.n_outputs

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of neurons of every reservoir."""
        return tuple(each.units for each in self.network.reservoirs)

    @cached_property
    def _in_parallel(self) -> tuple[jax.Array, ...] | None:
        """The levels that run in parallel over time; None on a CPU."""
        from echoscale.engine import parallel_in_time

        if devices.on_cpu(self.device):
            return None
        with devices.precision_and_device(self.dtype, self.device):
            return parallel_in_time.plan(self.network, self.drawn, self.dtype)

    def run(
        self,
        u: SeriesLike | Series,
        *,
        state: npt.ArrayLike | None = None,
        hyper: Hyper | None = None,
        return_state: bool = False,
    ) -> Any:
        """Runs the network over u and returns all states.

        Row t of the result depends on u[0] to u[t]; it is x(t+1) in the paper.

        Parameters
        ----------
        u : (T, F), (B, T, F) or list of (T_b, F)
            Inputs: one series, a batch, or series of unequal length.
        state : (N,), (B, N) or (H, B, N), optional
            Initial state: one for all series, one for each series, or one for each lane and series. Zero by default.
        hyper : Hyper, optional
            Hyper-parameters in place of the network's own. With H lanes, the result has a leading axis H.
        return_state : bool, default False
            Whether the last states are returned too; passed as `state`, they continue a long series.

        Returns
        -------
        (T, N), (B, T, N) or list of (T_b, N)
            States. With `return_state`, a pair of all states and last states, (N,) or (B, N).

        Examples
        --------
        >>> import echoscale as es
        >>> import numpy as np
        >>> esn = es.single(20).build(n_inputs=2, seed=0)
        >>> u = np.ones((30, 2))
        >>> first, last = esn.run(u[:10], return_state=True)
        >>> first.shape, last.shape
        ((10, 20), (20,))
        >>> np.array_equal(esn.run(u[10:], state=last), esn.run(u)[10:])
        True
        """
        from echoscale.engine import feed

        series = self._series(u)
        shape = self._shape(series, checked(hyper, self.hyper))
        states: Any
        if series.kind == "list":
            states, collect = feed.into_list(series, shape[:-1], self.units, self.dtype)
        else:
            states, collect = feed.into_array(series, shape, self.units, self.dtype)
        last = self.run_chunks(series, collect, state=state, hyper=hyper)
        return (states, last) if return_state else states

    def run_chunks(
        self,
        u: SeriesLike | Series,
        consume: Consumer | None = None,
        *,
        every: int = 1,
        state: npt.ArrayLike | None = None,
        hyper: Hyper | None = None,
    ) -> Array:
        """Runs the network without keeping the states: a function receives them chunk by chunk.

        Parameters
        ----------
        u : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        consume : function of (lanes, start, states), optional
            Function that receives the lanes (l,) of a chunk, where lane = hyper lane * B + series; the time step of its first
            row; and the states (rows, l, N), a NumPy array on the CPU and a JAX array elsewhere, valid during the call. Rows
            past the end of a shorter series repeat its last state. Several threads call the function, but for one lane always
            in order.
        every : int, default 1
            Interval in steps between the states that are passed on.
        state : (N,), (B, N) or (H, B, N), optional
            Initial state; zero by default.
        hyper : Hyper, optional
            Hyper-parameters in place of the network's own, with H lanes or none.

        Returns
        -------
        (N,), (B, N), (H, N) or (H, B, N)
            Last states. Without `consume`, nothing else is computed.

        Examples
        --------
        >>> import echoscale as es
        >>> import numpy as np
        >>> esn = es.single(20).build(n_inputs=1, seed=0)
        >>> largest = []
        >>> last = esn.run_chunks(np.ones((50, 1)), lambda lanes, start, states: largest.append(abs(states).max()))
        >>> last.shape
        (20,)
        """
        from echoscale.engine import feed

        series, used = self._series(u), checked(hyper, self.hyper)
        shape = (*self._shape(series, used), self.units)
        start = None if state is None else self._start(state, shape).reshape(-1, self.units)
        every = checks.integer(every, "every", minimum=1)
        last = feed.feed(self, used, series, start, consume, every, self._in_parallel)
        return feed.check_finite(self, last, series).reshape(shape)

    def step(self, u: npt.ArrayLike, state: npt.ArrayLike | None = None) -> Array:
        """Advances the network by one time step and returns the next state, for streams.

        Parameters
        ----------
        u : (F,) or (B, F)
            Input of this step.
        state : (N,) or (B, N), optional
            State before the step; zero by default.

        Returns
        -------
        (N,) or (B, N)
            State after the step.

        Examples
        --------
        >>> import echoscale as es
        >>> import numpy as np
        >>> esn = es.single(20).build(n_inputs=1, seed=0)
        >>> state = None
        >>> for value in (0.1, 0.5, 0.3):
        ...     state = esn.step([value], state)
        >>> np.array_equal(state, esn.run([0.1, 0.5, 0.3])[-1])
        True
        """
        from echoscale.engine import feed, scan

        now = np.asanyarray(u)
        if now.ndim not in (1, 2):
            raise ValueError(f"u must be one step, (F,) or (B, F), got shape {now.shape}; use run() for whole series.")
        series = self._series(now[..., None, :])
        start = self._start(state, (*self._shape(series, self.hyper), self.units))
        with devices.precision_and_device(self.dtype, self.device):
            new = scan.advance(
                self.weights(series.count),
                self.numbers(),
                start.reshape(series.count, self.units),
                np.asarray(series.values)[:, 0],
                self.sizes,
            )
        return feed.check_finite(self, np.array(new), series).reshape(start.shape)

    def snapshots(
        self,
        u: SeriesLike | Series,
        every: int,
        *,
        state: npt.ArrayLike | None = None,
        hyper: Hyper | None = None,
    ) -> Array:
        """Returns the states after every M steps, x(M), x(2M), ..., without keeping the others.

        Parameters
        ----------
        u : (T, F), (B, T, F) or list of (T, F)
            Inputs, all of one length.
        every : int
            Number M of steps from one snapshot to the next.
        state : (N,), (B, N) or (H, B, N), optional
            Initial state; zero by default.
        hyper : Hyper, optional
            Hyper-parameters in place of the network's own. With H lanes, the result has a leading axis H.

        Returns
        -------
        (T // every, N) or (B, T // every, N)
            Snapshots.

        Examples
        --------
        >>> import echoscale as es
        >>> import numpy as np
        >>> es.single(20).build(n_inputs=1, seed=0).snapshots(np.ones((3, 28, 1)), every=7).shape
        (3, 4, 20)
        """
        from echoscale.engine import feed

        series = self._series(u)
        every = checks.integer(every, "every", minimum=1)
        length = int(series.lengths[0])
        if (series.lengths != length).any():
            raise ValueError(
                f"snapshots need series of one length, got {series.lengths.min()} to {series.lengths.max()} steps."
            )
        if length < every:
            raise ValueError(f"every={every} is longer than the series of {length} steps: there would be no snapshot.")
        shape = self._shape(series, checked(hyper, self.hyper))
        kept, keep = feed.into_array(series, shape, self.units, self.dtype, every)
        self.run_chunks(series, keep, every=every, state=state, hyper=hyper)
        return kept

    def function(self) -> Callable[..., jax.Array]:
        """Returns the run as a pure function of JAX, (hyper, u, state=None) -> states, for your own programs.

        The function can be differentiated, mapped and compiled (`jax.grad`, `jax.vmap`, `jax.jit`) with respect to
        hyper-parameters, inputs and state. The drawn weights are constants. The function does not check its arguments. float64
        needs `jax.config.update("jax_enable_x64", True)`.

        Returns
        -------
        function of (hyper, u, state=None)
            Function of a `Hyper` of scalars, inputs u (T, F) and a state (N,), zero by default. The result is the states (T,
            N), as in `run`.

        Examples
        --------
        >>> import jax, numpy as np, echoscale as es
        >>> esn = es.single(20, leak_rate=0.5).build(n_inputs=1, seed=0)
        >>> states, u = esn.function(), np.sin(np.arange(50.0, dtype=np.float32))[:, None]
        >>> slope = jax.grad(lambda hyper: (states(hyper, u)[-1] ** 2).sum())(esn.hyper.map(np.float32))
        >>> slope.leak_rate[0].shape
        ()
        """
        import jax.numpy as jnp

        from echoscale.engine import scan

        if self.dtype == "float64" and jnp.result_type(float) != np.float64:
            raise ValueError('a network in float64 needs jax.config.update("jax_enable_x64", True), or dtype="float32".')
        weights, sizes, units, dtype = self.weights(), self.sizes, self.units, self.dtype

        def states(hyper: Hyper, u: npt.ArrayLike | jax.Array, state: npt.ArrayLike | jax.Array | None = None) -> jax.Array:
            start = jnp.zeros(units, dtype) if state is None else jnp.asarray(state, dtype)
            return scan.along(weights, hyper, jnp.asarray(u, dtype), start, sizes)

        return states

    def matrices(self, hyper: Hyper | None = None) -> Matrices:
        """Returns the network as one reservoir: block matrix, input matrix, bias and leak rates, with all factors applied.

        Parameters
        ----------
        hyper : Hyper, optional
            Hyper-parameters in place of the network's own, without lanes.

        Examples
        --------
        >>> import echoscale as es
        >>> es.parallel([20, 30]).build(n_inputs=1, seed=0).matrices().W.shape
        (50, 50)
        """
        return block_matrices(self.network, self.drawn, without_lanes(checked(hyper, self.hyper)))

    def linearised(self, hyper: Hyper | None = None, state: npt.ArrayLike | None = None) -> LinearSystem:
        """Returns the network in its linear regime.

            x(t+1) = M x(t) + B s(t)

        Parameters
        ----------
        hyper : Hyper, optional
            Hyper-parameters in place of the network's own, without lanes.
        state : (N,), optional
            State around which the network is linearised; the origin by default.

        Examples
        --------
        >>> import echoscale as es
        >>> es.single(20).build(n_inputs=1, seed=0).linearised().M.shape
        (20, 20)
        """
        from echoscale.timescales.linear_regime import linearise

        m = self.matrices(hyper)
        slices, delay = self.network.slices, self.network.coupling_delay
        return linearise(m.W, m.W_in, m.bias, m.leak_rate, slices, delay, state, m.residual, m.linear)

    def spectrum(self, reservoir: int | None = None, *, dt: float = 1.0, hyper: Hyper | None = None) -> Spectrum:
        """Returns eigenvalues, timescales and periods of the linear regime.

        Parameters
        ----------
        reservoir : int, optional
            Number of one reservoir, taken alone; the whole network by default.
        dt : float, default 1.0
            Time between two steps.
        hyper : Hyper, optional
            Hyper-parameters in place of the network's own, without lanes.

        Examples
        --------
        >>> import echoscale as es
        >>> esn = es.hierarchical([30, 30], leak_rate=[1.0, 0.1]).build(n_inputs=1, seed=0)
        >>> esn.spectrum(1).timescales.shape
        (30,)
        """
        from echoscale.timescales import Spectrum

        system, weights = self.linearised(hyper), self.matrices(hyper).W
        if reservoir is not None:
            system, own = system.part(reservoir), self.network.slices[reservoir]
            weights = weights[own, own]
        return Spectrum.of(system.M, weights, dt)

    def timescales(self, dt: float = 1.0) -> Table:
        """Returns a table of the measured timescales of every reservoir and of the whole network.

        Without couplings back to earlier reservoirs, the network has the timescales of its reservoirs; with them, it has
        others. The table adds decay times if a reservoir has a `residual`, whose modes rotate. `network.timescales()` gives the
        theory.

        Parameters
        ----------
        dt : float, default 1.0
            Time between two steps.
        """
        from echoscale.timescales import spectrum

        parts = {f"R{k + 1}": self.spectrum(k, dt=dt) for k in range(len(self.sizes))}
        whole = {"all": self.spectrum(dt=dt)} if len(parts) > 1 else {}
        return spectrum.table({**parts, **whole}, dt, turns=self.network.turns)

    def measure(self, u: SeriesLike, **settings: Any) -> Measured:
        """Measures what the network remembers, computes and forgets for inputs u; see `es.measures.measure`.

        Parameters
        ----------
        u : (T, F)
            Inputs.
        **settings
            Parameters of `es.measures.measure`.
        """
        from echoscale.measures import measure

        return measure(self, u, **settings)

    def weights(self, lanes: int = 1) -> Weights:
        """Returns the weights on the device, in the form that is fastest for this number of lanes.

        Parameters
        ----------
        lanes : int, default 1
            Number of networks that run together.
        """
        from echoscale.engine import dynamics, matrices

        kind = min(lanes, 2) if lanes < matrices.FEW_LANES else matrices.FEW_LANES  # one, few or many
        if kind not in self._stored:
            with devices.precision_and_device(self.dtype, self.device):
                self._stored[kind] = dynamics.store(self.network, self.drawn, np.dtype(self.dtype), lanes)
        return self._stored[kind]

    def numbers(self) -> Hyper:
        """Returns the scalars of `hyper` on the device, each of shape (1,), as one lane."""
        if self._numbers is None or self._numbers[0] is not self.hyper:
            without_lanes(self.hyper)
            with devices.precision_and_device(self.dtype, self.device):
                self._numbers = self.hyper, self.hyper.map(lambda leaf: devices.to_device([leaf], self.dtype))
        return self._numbers[1]

    def _series(self, u: SeriesLike | Series) -> Series:
        series = as_series(u, dtype=np.dtype(self.dtype))
        if self.n_outputs and series.features == self.n_inputs:
            raise ValueError(
                f"{series.name} holds the {self.n_inputs} inputs only, but this network also receives its {self.n_outputs} "
                f"outputs of the step before: give es.engine.teacher_forced({series.name}, y), with the known outputs y."
            )
        return as_series(series, self.columns, dtype=series.dtype)

    def _shape(self, series: Series, hyper: Hyper) -> tuple[int, ...]:
        """The leading axes of a result: (H,) with lanes, (B,) with several series."""
        lanes = hyper.lanes
        own = () if series.kind == "one" else (series.count,)
        return own if lanes is None else (lanes, *own)

    def _start(self, state: npt.ArrayLike | None, shape: tuple[int, ...]) -> Array:
        if state is None:
            return np.zeros(shape, self.dtype)
        given = as_numbers(state, "state", self.dtype)
        if not np.isfinite(given).all():
            raise ValueError(f"state must be finite: read as {self.dtype} it holds NaN or infinity.")
        try:
            return np.array(np.broadcast_to(given, shape))
        except ValueError:
            raise ValueError(f"state must have shape {shape} (or one that broadcasts to it), got {given.shape}.") from None

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name != "_in_parallel"}
        return {**kept, "_stored": {}, "_numbers": None}  # device arrays are made again where they are needed

    def __repr__(self) -> str:
        outputs = f", n_outputs={self.n_outputs}" if self.n_outputs else ""
        return f"ESN({self.network!r}, n_inputs={self.n_inputs}, seed={self.seed}, dtype={self.dtype!r}{outputs})"


def build(network: Network, n_inputs: int, seed: int | None, dtype: str, device: DeviceLike, n_outputs: int | None) -> ESN:
    """`Network.build`."""
    checks.choice(dtype, ("float32", "float64"), "dtype")
    inputs = checks.integer(n_inputs, "n_inputs", minimum=1)
    known = fresh_seed() if seed is None else checks.integer(seed, "seed")
    devices.device_of(device)  # so that a wrong name raises an error now and not at the first run
    outputs = 0
    if network.feeds_back:
        if n_outputs is None:
            raise ValueError("this network feeds its outputs back: say how many there are, build(n_inputs, n_outputs=1).")
        outputs = checks.integer(n_outputs, "n_outputs", minimum=1)
    drawn = draw(network, inputs, known, outputs)
    return ESN(network, inputs, known, dtype, device, drawn, Hyper.of(network), outputs)


def fresh_seed() -> int:
    """A seed from the system's entropy that fits any integer type and file format."""
    return int(np.random.SeedSequence().generate_state(1)[0])
