"""A built network: `Weights` fixed, `Hyper` an argument; run, step, and states handed on in chunks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse

from echoscale import _checks
from echoscale.engine.machine import device_of
from echoscale.hyper import Hyper
from echoscale.network import Network
from echoscale.series import Series, as_numbers, as_series
from echoscale.weights.drawn import Drawn, draw

if TYPE_CHECKING:
    from echoscale.engine.shared_runs import SharedRuns
    from echoscale.table import Table
    from echoscale.timescales import Spectrum
    from echoscale.timescales.linear_regime import LinearSystem

Array = npt.NDArray[Any]


class Matrices(NamedTuple):
    """One reservoir that equals the whole network: x(t+1) = (1 - a) x + a tanh(W x + W_in s + bias), a = leak_rate.

    W (N, N) scipy sparse with a block per reservoir and coupling, W_in (N, F), bias (N,), leak_rate (N,); all factors applied.
    This is the bridge to other libraries. It describes coupling_delay=1; with 0 the blocks are the same but act at once.
    """

    W: scipy.sparse.csr_array
    W_in: npt.NDArray[np.float64]
    bias: npt.NDArray[np.float64]
    leak_rate: npt.NDArray[np.float64]


class ESN:
    """An echo state network with drawn weights. Make one with `network.build(n_inputs, seed)`.

    States are arrays whose last axis holds all N neurons, reservoir after reservoir (`network.slices`).
    `run` starts from the zero state unless a `state` is passed; an ESN itself remembers nothing between calls.
    """

    def __init__(self, network: Network, n_inputs: int, seed: int, dtype: str, device: Any, drawn: Drawn, hyper: Hyper) -> None:
        self.network = network
        self.n_inputs = n_inputs
        self.seed = seed
        self.dtype = dtype
        self.device = device
        self.drawn = drawn
        self.hyper = hyper
        self._stored: dict[int, Any] = {}
        self._numbers: Any = None

    @classmethod
    def build(cls, network: Network, n_inputs: int, seed: int | None = 0, dtype: str = "float32", device: Any = None) -> ESN:
        """See `Network.build`."""
        _checks.choice(dtype, ("float32", "float64"), "dtype")
        inputs = _checks.integer(n_inputs, "n_inputs", minimum=1)
        known = fresh_seed() if seed is None else _checks.integer(seed, "seed")
        device_of(device)  # so that a wrong name is noticed now and not at the first run
        return cls(network, inputs, known, dtype, device, draw(network, inputs, known), Hyper.of(network))

    @property
    def units(self) -> int:
        """N, the neurons of all reservoirs together."""
        return self.network.units

    @property
    def sizes(self) -> tuple[int, ...]:
        """The neurons of every reservoir."""
        return tuple(each.units for each in self.network.reservoirs)

    @overload
    def run(self, u: Any, *, state: Any = None, hyper: Hyper | None = None, return_state: Literal[False] = False) -> Any: ...

    @overload
    def run(
        self, u: Any, *, state: Any = None, hyper: Hyper | None = None, return_state: Literal[True]
    ) -> tuple[Any, Array]: ...

    def run(self, u: Any, *, state: Any = None, hyper: Hyper | None = None, return_state: bool = False) -> Any:
        """All states: (T, F) -> (T, N), (B, T, F) -> (B, T, N), a list of (T_b, F) -> a list of (T_b, N).

        Row t has seen u[t] (it is the paper's x(t+1)). With a `hyper` of H lanes there is one more axis in front, H.
        `state` is where to start, (N,) or one for each series (B, N) or lane (H, B, N); zero unless given.
        `return_state=True` also returns the last states in the same form: feed them to the next piece of a long series.
        """
        series = self._series(u)
        shape = self._shape(series, hyper or self.hyper)
        states: Any
        if series.kind == "list":
            states, collect = _ragged_collector(series, shape[:-1], self.units, self.dtype)
        else:
            states, collect = _array_collector(series, shape, self.units, self.dtype)
        last = self.run_chunks(series, collect, state=state, hyper=hyper)
        return (states, last) if return_state else states

    def run_chunks(
        self, u: Any, consume: Any = None, *, every: int = 1, state: Any = None, hyper: Hyper | None = None
    ) -> Array:
        """Run without keeping states: `consume(lanes, start, states)` gets them chunk by chunk; returns the last states.

        lanes   (l,) which lanes these are: lane = hyper lane * B + series
        start   the time step of the first row
        states  (l, rows, N): the states after every `every` steps, a NumPy array on the CPU and a JAX array elsewhere, valid
                during the call; rows past the end of a shorter series repeat its last state
        Without `consume`, only the last states are computed.
        """
        from echoscale.engine import feed

        series = u.cast(np.dtype(self.dtype)) if isinstance(u, Series) else self._series(u)
        used = self._check_hyper(hyper)
        start = None if state is None else self._start(state, series, used).reshape(-1, self.units)
        last = feed.feed(
            self.weights,
            self.sizes,
            used,
            series,
            start,
            consume,
            np.dtype(self.dtype),
            device_of(self.device),
            _checks.integer(every, "every", minimum=1),
        )
        return last.reshape(*self._shape(series, used), self.units)

    def shared_plans(self, series: Series, hyper: Hyper) -> list[SharedRuns] | None:
        """How the lanes of a grid of hyper-parameters share runs of one series; None where they do not, or on a GPU."""
        from echoscale.engine import machine
        from echoscale.engine import shared_runs as sharing

        if series.count > 1 or not machine.on_cpu(device_of(self.device)):
            return None
        return sharing.plans(self.network, self._check_hyper(hyper), machine.cores())

    def run_shared(self, series: Series, plans: Sequence[SharedRuns], consume: Any) -> Array:
        """Run without keeping states: `consume(plan, start, states)` gets those of every reservoir by itself, chunk by chunk.

        states  per reservoir (rows, runs, n_k), valid during the call. Returns the last states of all lanes, (H, N)
        """
        from echoscale.engine import feed

        values = series.cast(np.dtype(self.dtype))
        device = device_of(self.device)
        return feed.feed_shared(self.weights, self.sizes, plans, values, consume, np.dtype(self.dtype), device)

    def step(self, u: Any, state: Any = None) -> Array:
        """One time step for streams: input (F,) and state (N,) -> the next state (N,); or (B, F) and (B, N) -> (B, N)."""
        from echoscale.engine import machine, scan

        now = np.asarray(u)
        if now.ndim not in (1, 2):
            raise ValueError(f"u must be one step, (F,) or (B, F), got shape {now.shape}; use run() for whole series.")
        series = self._series(now[..., None, :])
        start = self._start(state, series, self.hyper)
        with machine.precision_and_device(self.dtype, device_of(self.device)):
            new = scan.advance(
                self.weights(series.count),
                self.numbers(),
                start.reshape(series.count, self.units),
                series.values[:, 0],  # type: ignore[call-overload]
                self.sizes,
            )
        return np.array(new).reshape(start.shape)

    def snapshots(self, u: Any, every: int, *, state: Any = None, hyper: Hyper | None = None) -> Array:
        """The states after every `every` steps, none of the others kept: (B, T, F) -> (B, T // every, N).

        One series (T, F) gives (T // every, N); with H hyper lanes there is one more axis in front. All series have one length.
        """
        series = self._series(u)
        every = _checks.integer(every, "every", minimum=1)
        length = int(series.lengths[0])
        if (series.lengths != length).any():
            raise ValueError(
                f"snapshots need series of one length, got {series.lengths.min()} to {series.lengths.max()} steps."
            )
        if length < every:
            raise ValueError(f"every={every} is longer than the series of {length} steps: there would be no snapshot.")
        shape = self._shape(series, hyper or self.hyper)
        kept = np.empty((math.prod(shape), length // every, self.units), self.dtype)

        def keep(lanes: Any, start: int, states: Any) -> None:
            kept[lanes, start // every : start // every + states.shape[1]] = states

        self.run_chunks(series, keep, every=every, state=state, hyper=hyper)
        return kept.reshape(*shape, *kept.shape[1:])

    def matrices(self, hyper: Hyper | None = None) -> Matrices:
        """The block matrix, input matrix, bias and leak vector with all factors applied; see `Matrices`."""
        numbers = self._check_single(self._check_hyper(hyper))
        count = len(self.network.reservoirs)
        blocks: list[list[Any]] = [[None] * count for _ in range(count)]
        for k, matrix in enumerate(self.drawn.recurrent):
            blocks[k][k] = matrix * float(numbers.spectral_radius[k])
        for j, coupling in enumerate(self.network.couplings):
            blocks[coupling.target][coupling.source] = self.drawn.couplings[j] * float(numbers.coupling[j])
        return Matrices(
            W=scipy.sparse.csr_array(scipy.sparse.block_array(blocks, format="csr")),
            W_in=np.concatenate([s * w for s, w in zip(numbers.input_scaling, self.drawn.inputs, strict=True)]),
            bias=np.concatenate([s * b for s, b in zip(numbers.bias_scaling, self.drawn.biases, strict=True)]),
            leak_rate=np.repeat([float(leak) for leak in numbers.leak_rate], self.sizes),
        )

    def linearised(self, hyper: Hyper | None = None, state: Any = None) -> LinearSystem:
        """x(t+1) = M x(t) + B s(t), the network in its linear regime around a state (the origin unless given)."""
        from echoscale.timescales.linear_regime import linearise

        m = self.matrices(hyper)
        return linearise(m.W, m.W_in, m.bias, m.leak_rate, self.network.slices, self.network.coupling_delay, state)

    def spectrum(self, reservoir: int | None = None, *, dt: float = 1.0, hyper: Hyper | None = None) -> Spectrum:
        """Eigenvalues, timescales and periods of the linear regime, of the whole network or of one reservoir by itself."""
        from echoscale.timescales import Spectrum

        system, weights = self.linearised(hyper), self.matrices(hyper).W
        if reservoir is not None:
            system, own = system.part(reservoir), self.network.slices[reservoir]
            weights = weights[own, own]
        return Spectrum.of(system.M, weights, dt)

    def timescales(self, dt: float = 1.0) -> Table:
        """The measured timescales of every reservoir by itself and of the whole network, as a small table.

        Without feedback the whole has the timescales of its parts; with it, others. `network.timescales()` is the theory.
        """
        from echoscale.timescales import spectrum

        parts = {f"R{k + 1}": self.spectrum(k, dt=dt) for k in range(len(self.sizes))}
        return spectrum.table({**parts, "all": self.spectrum(dt=dt)} if len(parts) > 1 else parts, dt)

    def weights(self, lanes: int = 1) -> Any:
        """The weights on the device, stored in the way that suits this number of lanes (`dynamics.Weights`)."""
        from echoscale.engine import dynamics, matrices

        kind = min(lanes, 2) if lanes < matrices.FEW_LANES else matrices.FEW_LANES  # one, few or many
        if kind not in self._stored:
            self._stored[kind] = dynamics.store(self.network, self.drawn, np.dtype(self.dtype), lanes)
        return self._stored[kind]

    def numbers(self) -> Any:
        """The scalars of `hyper` on the device, each of shape (1,), ready for a lane."""
        import jax
        import jax.numpy as jnp

        if self._numbers is None or self._numbers[0] is not self.hyper:
            self._check_single(self.hyper)
            arrays = jax.tree.map(lambda leaf: jnp.reshape(jnp.asarray(leaf, self.dtype), (1,)), self.hyper)
            self._numbers = (self.hyper, arrays)
        return self._numbers[1]

    def _check_hyper(self, hyper: Hyper | None) -> Hyper:
        if hyper is None:
            return self.hyper
        counts, ours = ([len(leaves) for leaves in each] for each in (hyper, self.hyper))
        if counts != ours:
            raise ValueError(f"this Hyper has {counts} leaves, the network {ours}: make it with esn.hyper.replace(...).")
        return hyper

    def _check_single(self, hyper: Hyper) -> Hyper:
        if hyper.lanes is not None:
            raise ValueError(f"this is for one network, but the Hyper has {hyper.lanes} lanes; take one value of each leaf.")
        return hyper

    def _series(self, u: Any) -> Series:
        return as_series(u, self.n_inputs, dtype=np.dtype(self.dtype))

    def _shape(self, series: Series, hyper: Hyper) -> tuple[int, ...]:
        """The leading axes of a result: (H,) where there are lanes, (B,) where there are several series."""
        lanes = () if hyper.lanes is None else (hyper.lanes,)
        return lanes if series.kind == "one" else (*lanes, series.count)

    def _start(self, state: Any, series: Series, hyper: Hyper) -> Array:
        shape = (*self._shape(series, hyper), self.units)
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
        return {**self.__dict__, "_stored": {}, "_numbers": None}  # device arrays are made again where they are needed

    def __repr__(self) -> str:
        return f"ESN({self.network!r}, n_inputs={self.n_inputs}, seed={self.seed}, dtype={self.dtype!r})"


def fresh_seed() -> int:
    """A seed from the system's entropy that fits any integer type and file format."""
    return int(np.random.SeedSequence().generate_state(1)[0])


def _array_collector(series: Series, shape: tuple[int, ...], units: int, dtype: str) -> tuple[Array, Any]:
    """An array (*shape, T, N) and the consumer that fills it."""
    states = np.empty((math.prod(shape), int(series.lengths[0]), units), dtype)

    def collect(lanes: Any, start: int, chunk: Any) -> None:
        states[lanes, start : start + chunk.shape[1]] = chunk

    return states.reshape(*shape, *states.shape[1:]), collect


def _ragged_collector(series: Series, shape: tuple[int, ...], units: int, dtype: str) -> tuple[list[Array], Any]:
    """One array (*shape, T_b, N) per series and the consumer that fills them."""
    states = [np.empty((*shape, int(length), units), dtype) for length in series.lengths]

    def collect(lanes: Any, start: int, chunk: Any) -> None:
        for lane, rows in zip(lanes, np.asarray(chunk), strict=True):
            hyper_lane, b = divmod(int(lane), series.count)
            target = states[b][(hyper_lane,) if shape else ()][start : start + len(rows)]
            target[:] = rows[: len(target)]

    return states, collect
