"""Compute snapshots of many sequences block by block: into memory, into a file, or on the device.

Snapshots are handed on as they are computed, and no other states are kept: memory does not grow with the states.

Sequences that lie on the device are transposed there, and every block runs in one scan, so that nothing comes from the host. A
GPU runs all of MNIST in less time than the host needs to transpose and send the pixels. If many networks see the same
sequences, send the sequences once (`jax.device_put`) and give them as a JAX array.

Features depend on the network with its hyper-parameters and on the inputs. Each of the two has a fingerprint (`of_network`,
`of_inputs`). A file is used again only if both fingerprints agree.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.progress import Progress, shown
from echoscale._internal.types import Indices
from echoscale.data.series import Numbers, Series, SeriesLike, as_series
from echoscale.engine import devices, dynamics, lanes
from echoscale.engine.devices import device_of, precision_and_device
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper, checked, without_lanes
from echoscale.network.fingerprint import fingerprint
from echoscale.readouts.features import store
from echoscale.readouts.features.features import DTYPES, Features

Put = Callable[[int, int, Any], None]  # put(first sequence, first snapshot, states (snapshots, rows, N)); from several threads
Run = Callable[[int, int, Put], None]  # run(first sequence, the one after the last, put)
Told = Callable[[int], None]  # sequences done
Blocks = list[tuple[int, int]]  # first sequence, the one after the last

BLOCK_BYTES = 1 << 30  # of the snapshots of a block; two blocks are in memory while a file is written
ROUNDS = 4  # blocks of lanes a core: enough that its end costs little, few enough that little is lost by a kill
AT_ONCE = 1 << 24  # bytes of inputs that are copied at once for their fingerprint


def compute(
    esn: ESN,
    u: SeriesLike | jax.Array,
    every: int,
    *,
    path: str | os.PathLike[str] | None = None,
    dtype: str = "float32",
    on_device: bool = False,
    hyper: Hyper | None = None,
    overwrite: bool = False,
    progress: bool | Progress = False,
) -> Features:
    """phi_b = (x_b(M), x_b(2M), ..., x_b(SM)) of B sequences, with M = every and S = T // M.

    The states of `esn.snapshots(u, every)` in blocks of sequences, each from the zero state; no others are kept. The last
    T mod M steps come after the last snapshot and are not run. On a CPU and in float32 they agree with `esn.snapshots` to the
    bit where the matrices are sparse; last bits of dense products depend on how many lanes run together.

    Parameters
    ----------
    esn : ESN
        The network.
    u : (B, T, F)
        Sequences of one length, taken as they are: bytes from 0 to 255 are inputs from 0 to 255.
    every : int
        M, the steps from one snapshot to the next.
    path : str, path or None
        None: all B S N numbers in memory. Else they go to this file block by block, and the result maps it; `open` opens it
        again. A file of the same network, hyper-parameters, inputs, every and dtype is used as it is. Blocks that are missing
        after a kill, or whose numbers no longer fit their checksum, are computed, with the bits that an unbroken run on this
        machine has.
    dtype : "float32" or "bfloat16"
        "bfloat16" takes half the size (8 bits of precision).
    on_device : bool
        Leave them where the network runs, `esn.device` or JAX's choice, as a JAX array. On a GPU the sequences go there as a
        whole; if many networks see them, send them once and give a JAX array.
    hyper : Hyper or None
        Other hyper-parameters than `esn.hyper`, for one network.
    overwrite : bool
        Replace a file of features of something else, or a damaged one.
    progress : bool or function
        True shows a bar; a function is called as progress(sequences done, sequences, note): first with those that were there,
        then after every block.

    Returns
    -------
    Features
        (B, S, N), in memory, in a mapped file or on the device.

    Examples
    --------
    >>> import numpy as np
    >>> import echoscale as es
    >>> u = np.random.default_rng(0).normal(size=(6, 20, 1))
    >>> esn = es.single(10).build(n_inputs=1, seed=0)
    >>> snapshots = es.readouts.features.compute(esn, u, every=5)
    >>> snapshots
    Features(shape=(6, 4, 10), dtype=float32, in memory)
    >>> snapshots.block(0, 6).shape  # what a readout is trained on
    (6, 40)
    """
    with shown(progress, "features") as tell:
        return _compute(esn, u, every, path, dtype, on_device, hyper, overwrite, tell)


def _compute(
    esn: ESN,
    u: SeriesLike | jax.Array,
    every: int,
    path: str | os.PathLike[str] | None,
    dtype: str,
    on_device: bool,
    hyper: Hyper | None,
    overwrite: bool,
    tell: Progress,
) -> Features:
    every = checks.integer(every, "every", minimum=1)
    checks.choice(dtype, tuple(DTYPES), "dtype")
    if path is not None and on_device:
        raise ValueError("features go to a file or stay on the device: give path or on_device=True, not both.")
    numbers = without_lanes(checked(hyper, esn.hyper))
    device = device_of(esn.device)
    there = on_device and not devices.on_cpu(device)
    values: Any = _on_their_way(esn, u, every) if there else _batch(esn, u, every)
    shape = (len(values), values.shape[1] // every, esn.units)
    block = block_size(shape, np.dtype(esn.dtype).itemsize, devices.on_cpu(device))
    run = partial(run_on_device if there else _run, esn, values[:, : shape[1] * every], every, numbers)

    def told(done: int) -> None:
        tell(done, shape[0], "")

    if path is not None:
        header = store.Header(
            shape=shape,
            dtype=dtype,
            every=every,
            network=of_network(esn, numbers),
            inputs=of_inputs(values),
            platform=device.platform if device is not None else jax.default_backend(),
            block=block,
        )
        return _to_file(Path(path), header, overwrite, run, told)
    blocks = block_edges(len(values), block) if there else list(pairwise(store.bounds(len(values), block)))
    if on_device:
        return _on_device(jnp.zeros(shape, DTYPES[dtype], device=device), blocks, run, told)
    return _in_memory(np.empty(shape, DTYPES[dtype]), blocks, run, told)


def block_size(shape: tuple[int, int, int], itemsize: int, on_cpu: bool) -> int:
    """Sequences of a block: some rounds of full lanes on every core, or all lanes of a GPU; fewer where snapshots are large."""
    count, snapshots, units = shape
    full = lanes.most_lanes(units, itemsize, on_cpu) // 16 * 16
    fitting = max(BLOCK_BYTES // (snapshots * units * 4) // 16 * 16, 16)
    if on_cpu:
        full *= devices.cores()
        return min(fitting // full, ROUNDS) * full or fitting
    most = min(full, fitting)
    grain = 128 if most >= 128 else 1  # so that neurons' rows begin where a GPU reads from
    alike = -(-count // -(-count // (most // grain * grain)))
    return min(-(-alike // grain) * grain, count)


def _batch(esn: ESN, u: SeriesLike, every: int) -> npt.NDArray[Any]:
    """Sequences of one length, all checked, as one array (B, T, F)."""
    series = as_series(u, esn.columns, dtype=np.dtype(esn.dtype))
    if series.kind == "one":
        raise ValueError(
            f"u must hold many sequences, (B, T, F), got shape {series.values[0].shape}. For a single one give u[None]."
        )
    shortest, longest = int(series.lengths.min()), int(series.lengths.max())
    if shortest != longest:
        raise ValueError(f"features need sequences of one length, got {shortest} to {longest} steps.")
    if longest < every:
        raise ValueError(f"every={every} is longer than the sequences of {longest} steps: there would be no snapshot.")
    return np.asarray(series.values)


def _on_their_way(esn: ESN, u: SeriesLike | jax.Array, every: int) -> jax.Array:
    """The same, on the device: those that lie there already are not fetched to be looked at."""
    if not isinstance(u, jax.Array):
        return batch(esn, _batch(esn, u, every))
    values = batch(esn, u)
    if values.shape[1] < every:
        raise ValueError(f"every={every} is longer than the sequences of {values.shape[1]} steps: there would be no snapshot.")
    return values


def _run(esn: ESN, values: npt.NDArray[Any], every: int, hyper: Hyper, begin: int, end: int, put: Put) -> None:
    """The snapshots of sequences begin .. end - 1, in pieces to `put`, which counts sequences from `begin`."""

    def consume(which: Indices, start: int, states: Any) -> None:
        put(int(which[0]), start // every, states)  # sequences of one length stay in their order

    esn.run_chunks(Series(values[begin:end], "batch"), consume, every=every, hyper=hyper)


def _fill(target: npt.NDArray[Any], sequence: int, snapshot: int, states: Any) -> None:
    if not isinstance(states, np.ndarray):
        states = states.astype(target.dtype)  # rounded before it comes over from the device
    rows = np.asarray(states).swapaxes(0, 1)
    target[sequence : sequence + rows.shape[0], snapshot : snapshot + rows.shape[1]] = rows


def _in_memory(kept: npt.NDArray[Any], blocks: Blocks, run: Run, told: Told) -> Features:
    told(0)
    for begin, end in blocks:
        run(begin, end, partial(_fill, kept[begin:end]))
        told(end)
    return Features(kept)


def _on_device(kept: jax.Array, blocks: Blocks, run: Run, told: Told) -> Features:
    lock = Lock()

    def put(first: int, sequence: int, snapshot: int, states: Any) -> None:
        nonlocal kept
        with lock:
            kept = _place(kept, states, first + sequence, snapshot)

    told(0)
    for begin, end in blocks:
        run(begin, end, partial(put, begin))
        told(end)
    return Features(kept)


@partial(jax.jit, donate_argnums=0)
def _place(kept: jax.Array, states: jax.Array, sequence: int, snapshot: int) -> jax.Array:
    """`kept` with these states in their place: in its own memory, since it is given away."""
    return jax.lax.dynamic_update_slice(kept, jnp.swapaxes(states, 0, 1).astype(kept.dtype), (sequence, snapshot, 0))


def _to_file(path: Path, header: store.Header, overwrite: bool, run: Run, told: Told) -> Features:
    """One block is written while the next one is computed."""
    header, missing = store.prepare(path, header, overwrite)
    bounds, total = header.bounds, header.shape[0]
    done = total - sum(bounds[place + 1] - bounds[place] for place in missing)
    told(done)
    if not missing:
        return store.mapped(path)
    largest = max(bounds[place + 1] - bounds[place] for place in missing)
    buffers = [np.empty((largest, *header.shape[1:]), DTYPES[header.dtype]) for _ in missing[:2]]
    # On every way out, an error or Ctrl-C too, the pool first waits for the block that is being written; then the file closes.
    with closing(store.Writer(path, header)) as writer, ThreadPoolExecutor(1) as pool:
        writing: Future[None] | None = None
        for turn, place in enumerate(missing):
            begin, end = bounds[place], bounds[place + 1]
            buffer = buffers[turn % 2][: end - begin]
            run(begin, end, partial(_fill, buffer))
            if writing:
                writing.result()
            writing, before = pool.submit(writer.write, place, buffer), done
            done += end - begin
            if turn:
                told(before)  # after the next one was handed on: whoever stops here loses nothing
        if writing:
            writing.result()
    told(done)
    made = store.mapped(path)
    if made.header != header:
        raise store.FeaturesError(f"{path} was replaced by another process at work on it. Give each its own path.")
    return made


def batch(esn: ESN, u: jax.Array | Numbers) -> jax.Array:
    """Sequences (B, T, F) in the network's precision, checked where they lie."""
    if u.ndim != 3 or u.shape[2] != esn.columns or 0 in u.shape:
        raise ValueError(f"u must be sequences (B, T, {esn.columns}), none of them empty, got shape {tuple(u.shape)}.")
    with precision_and_device(esn.dtype, device_of(esn.device)):
        values = jnp.asarray(u, esn.dtype)
        if not bool(jnp.isfinite(values).all()):
            raise ValueError("u must be finite, but it holds NaN or infinity.")
    return values


def block_edges(count: int, size: int) -> list[tuple[int, int]]:
    """All of one size, for one compiled program: the last one shares sequences with the one before."""
    ends = [min(begin + size, count) for begin in range(0, count, size)]
    return [(max(end - size, 0), end) for end in ends]


def run_on_device(
    esn: ESN,
    values: jax.Array,
    every: int,
    hyper: Hyper,
    begin: int,
    end: int,
    put: Callable[[int, int, jax.Array], None],
) -> None:
    """The snapshots of sequences begin .. end - 1, all at once to `put(0, 0, states (snapshots, rows, N))`."""
    dtype = np.dtype(esn.dtype)
    numbers = hyper.map(lambda leaf: np.asarray(leaf, dtype).reshape(1))
    with precision_and_device(dtype, device_of(esn.device)):
        states = _scanned(esn.weights(end - begin), numbers, values, begin, end - begin, every, esn.sizes)
        put(0, 0, states)


@partial(jax.jit, static_argnames=("rows", "every", "sizes"))
def _scanned(
    weights: dynamics.Weights,
    hyper: Hyper,
    values: jax.Array,
    begin: int | jax.Array,
    rows: int,
    every: int,
    sizes: tuple[int, ...],
) -> jax.Array:
    """(T // every, rows, N) of `rows` sequences from `begin` on."""
    block = jax.lax.dynamic_slice_in_dim(values, begin, rows)
    u = jnp.transpose(block[:, : values.shape[1] // every * every], (1, 2, 0))
    state = tuple(jnp.zeros((size, rows), values.dtype) for size in sizes)

    def body(x: dynamics.State, u_t: jax.Array) -> tuple[dynamics.State, None]:
        return dynamics.step(weights, hyper, x, u_t), None

    def stretch(x: dynamics.State, part: jax.Array) -> tuple[dynamics.State, jax.Array]:
        x, _ = jax.lax.scan(body, x, part)
        return x, jnp.concatenate(x).T

    parts = u.reshape(u.shape[0] // every, every, *u.shape[1:])
    _, states = jax.lax.scan(stretch, state, parts)
    return states


def of_network(esn: ESN, hyper: Hyper) -> str:
    """All that makes states out of inputs: drawn matrices, the graph, leak rates and scalings, the precision."""

    def plain(values: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> Numbers:
        return np.asarray(values, dtype)  # indices have 32 or 64 bits

    drawn, network = esn.drawn, esn.network
    sparse = [
        (plain(each.data), plain(each.indices, np.int64), plain(each.indptr, np.int64))
        for each in (*drawn.recurrent, *drawn.couplings, *drawn.residuals)
    ]
    return fingerprint(
        {
            "precision": (esn.dtype, esn.columns, esn.sizes),
            "graph": ([(each.source, each.target) for each in network.couplings], network.coupling_delay),
            "sparse": sparse,
            "dense": [plain(each) for each in (*drawn.inputs, *drawn.biases, *drawn.feedback, *drawn.leak_places)],
            "hyper": [[plain(leaf) for leaf in leaves] for leaves in hyper],
            "linear": network.linear,
        }
    )


def of_inputs(u: Numbers) -> str:
    """The inputs that are run, (B, T, F), in the precision in which they are run; some sequences at once, not all."""
    rows = max(AT_ONCE // u[0].nbytes, 1)
    return fingerprint({"sequences": [u[begin : begin + rows] for begin in range(0, len(u), rows)]})
