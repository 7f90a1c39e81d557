"""Snapshots of many sequences as the features of a readout: in memory, on the device, or in a file that survives a kill.

`compute` runs sequences block by block and keeps the state after every M-th step. No other states are kept, so memory does not
grow with the length of the sequences.

Sequences that lie on the device are transposed there, and every block runs in one scan, so that nothing comes from the host. A
GPU runs all of MNIST in less time than the host needs to transpose and send the pixels. If many networks receive the same
sequences, send the sequences once (`jax.device_put`) and give them as a JAX array.

A file of features belongs to a network with its hyper-parameters and to inputs. Each of the two has a fingerprint
(`of_network`, `of_inputs`). A file is used again only if both fingerprints agree.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.progress import Progress, shown
from echoscale._internal.types import Indices
from echoscale.data.series import Numbers, Series, SeriesLike, as_series, axes
from echoscale.data.stored import as_stored, is_stored
from echoscale.engine import devices, lanes
from echoscale.engine.devices import device_of, precision_and_device
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper, checked, without_lanes
from echoscale.engine.scan import scan
from echoscale.network.fingerprint import fingerprint
from echoscale.readouts import feature_files as files
from echoscale.readouts.feature_files import DTYPES, FeaturesError

__all__ = ["Features", "FeaturesError", "compute", "open"]

Fill = Callable[[int, npt.NDArray[Any]], None]  # fill(first sequence, target (rows, S, N)) computes these rows
Told = Callable[[int], None]  # told(number of sequences that are done)

# Size of the snapshots of a block. Two blocks are in memory while a file is written.
BLOCK_BYTES = 1 << 30
# Rounds of lanes on every core in one block. With more rounds, cores wait less at its end; with fewer, a kill loses less.
ROUNDS = 4
# Bytes of inputs that are copied at once for their fingerprint.
AT_ONCE = 1 << 24


class Features:
    """Snapshots of many sequences: S states of N neurons for each of B sequences.

        phi_b = (x_b(M), x_b(2M), ..., x_b(SM))

    Parameters
    ----------
    array : (B, S, N), or (B, F) as (B, 1, F)
        Array of NumPy or JAX. `numpy.load(path, mmap_mode="r")` gives an array that stays in a file.

    Attributes
    ----------
    array : (B, S, N) array
        The array itself.
    shape : (int, int, int)
        Shape (B, S, N).
    flat : int
        Number S N of features of one sequence.
    dtype : numpy.dtype
        Type of the numbers of the array.

    Examples
    --------
    >>> import numpy as np
    >>> from echoscale.readouts.features import Features
    >>> snapshots = Features(np.zeros((5, 4, 10), np.float32))
    >>> len(snapshots), snapshots.flat, snapshots.block(0, 2).shape
    (5, 40, (2, 40))
    """

    def __init__(self, array: npt.NDArray[Any] | jax.Array) -> None:
        if not hasattr(array, "dtype") or not hasattr(array, "ndim"):
            raise TypeError(f"features must be an array, got {type(array).__name__}; use np.asarray(...) first.")
        if np.ma.is_masked(array):
            raise ValueError("features are a masked array with masked values: fill or cut the gaps first.")
        if array.ndim not in (2, 3) or 0 in array.shape:
            raise ValueError(f"features must have shape (B, S, N) or (B, F), none of them 0, got {tuple(array.shape)}.")
        if array.dtype.kind not in "biuf" and array.dtype != DTYPES["bfloat16"]:
            raise TypeError(f"features must be real numbers, got an array of {array.dtype}.")
        self.array: Any = array if array.ndim == 3 else array[:, None]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape (B, S, N)."""
        sequences, snapshots, units = self.array.shape
        return int(sequences), int(snapshots), int(units)

    @property
    def flat(self) -> int:
        """Number S N of features of one sequence."""
        return math.prod(self.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers of the array."""
        kept: np.dtype[Any] = np.dtype(self.array.dtype)
        return kept

    def block(self, begin: int, end: int) -> Any:
        """Returns sequences begin to end - 1 as float32.

        Do not write to the result: it may be a part of `array`. For a mapped file the result is a copy, and the pages that were
        read are returned to the system, so memory does not grow with the number of blocks.

        Parameters
        ----------
        begin : int
            Number of the first sequence.
        end : int
            Number after the last sequence; numbers beyond B are cut off, as in a slice.

        Returns
        -------
        (rows, S N) array
            NumPy array, or JAX array if the features lie on a device.
        """
        count = self.shape[0]
        begin = checks.integer(begin, "begin")
        last = min(checks.integer(end, "end"), count)
        if begin >= last:
            raise IndexError(f"block({begin}, {end}) holds no sequence; there are {count}, and begin must lie before end.")
        rows = self.array[begin:last].reshape(last - begin, self.flat)
        if not isinstance(rows, np.memmap):
            return rows.astype(np.float32, copy=False) if isinstance(rows, np.ndarray) else rows.astype(np.float32)
        copied = np.array(rows, np.float32)
        pages = self.array
        while isinstance(pages, np.ndarray):
            pages = pages.base
        if isinstance(pages, mmap.mmap) and hasattr(pages, "madvise"):
            pages.madvise(mmap.MADV_DONTNEED)  # the whole map: the system maps more than was read
        return copied

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        where = "in memory" if isinstance(self.array, np.ndarray) else "on a device"
        if isinstance(self.array, np.memmap):
            where = f"in {str(self.array.filename)!r}"
        return f"Features(shape={self.shape}, dtype={self.dtype.name}, {where})"


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
    """Runs B sequences from the zero state and keeps the states after every M steps (snapshots).

        phi_b = (x_b(M), x_b(2M), ..., x_b(SM)),   M = every,   S = T // M

    The last T mod M steps are not run, since no snapshot follows. On a CPU in float32, snapshots equal `esn.snapshots(u,
    every)` to the bit for sparse matrices. The last bits of dense products depend on the number of lanes that run together.

    Parameters
    ----------
    esn : ESN
        Network.
    u : (B, T, F)
        Sequences of one length. They are not scaled: bytes from 0 to 255 are inputs from 0 to 255. Zarr, HDF5, Dask and xarray
        arrays and memory maps are read block by block.
    every : int
        Number M of steps from one snapshot to the next.
    path : str, path or None
        File for the snapshots. None: all B S N numbers stay in memory. Otherwise a `.npy` file is written block by block, and
        `path` + ".json" records the finished blocks. The result maps the file, and `open` opens it again. A finished file of
        the same network, hyper-parameters, inputs, every and dtype is reused. After an interruption, only missing blocks are
        computed, with the same bits as an uninterrupted run on this machine.
    dtype : "float32" or "bfloat16", default "float32"
        Precision of the snapshots. "bfloat16" takes half the size (8 bits of precision). NumPy does not know it: read such a
        file with `numpy.load(path).view(ml_dtypes.bfloat16)`.
    on_device : bool, default False
        Whether the snapshots stay on the device of the network, as a JAX array. On a GPU, all sequences are sent there at once;
        for many networks, send them once and pass a JAX array.
    hyper : Hyper or None
        Hyper-parameters in place of `esn.hyper`, for one network.
    overwrite : bool, default False
        Whether to replace a file of another run, or a damaged file.
    progress : bool or function, default False
        Whether to show a bar, or a function that is called as progress(sequences done, sequences, note): first with the
        sequences found in the file, then after every block.

    Returns
    -------
    Features
        Snapshots (B, S, N), in memory, in a mapped file or on the device.

    Examples
    --------
    >>> import numpy as np
    >>> import echoscale as es
    >>> u = np.random.default_rng(0).normal(size=(6, 20, 1))
    >>> esn = es.single(10).build(n_inputs=1, seed=0)
    >>> snapshots = es.readouts.features.compute(esn, u, every=5)
    >>> snapshots
    Features(shape=(6, 4, 10), dtype=float32, in memory)
    >>> snapshots.block(0, 6).shape  # one row of features per sequence
    (6, 40)
    """
    every = checks.integer(every, "every", minimum=1)
    checks.choice(dtype, tuple(DTYPES), "dtype")
    if path is not None and on_device:
        raise ValueError("features go to a file or stay on the device: give path or on_device=True, not both.")
    numbers = without_lanes(checked(hyper, esn.hyper))
    device = device_of(esn.device)
    on_cpu = devices.on_cpu(device)
    stays = on_device and not on_cpu
    values: Any = _sequences_on_device(esn, u) if stays else _sequences(esn, u)
    if values.shape[1] < every:
        raise ValueError(f"every={every} is longer than the sequences of {values.shape[1]} steps: there would be no snapshot.")
    shape = (len(values), values.shape[1] // every, esn.units)
    size = block_size(shape, np.dtype(esn.dtype).itemsize, on_cpu)
    values = values[:, : shape[1] * every]
    with shown(progress, "features") as tell:

        def told(done: int) -> None:
            tell(done, shape[0], "")

        if stays:
            return _on_device(esn, values, every, numbers, DTYPES[dtype], size, told)
        fill = partial(_fill, esn, values, every, numbers)
        if path is not None:
            run = files.Run(
                shape=shape,
                dtype=dtype,
                every=every,
                network=of_network(esn, numbers),
                inputs=of_inputs(values, esn.dtype),
                platform=device.platform if device is not None else jax.default_backend(),
                block=size,
            )
            return _to_file(Path(path), run, overwrite, fill, told)
        kept = np.empty(shape, DTYPES[dtype])
        told(0)
        for begin, end in files.block_edges(len(kept), size):
            fill(begin, kept[begin:end])
            told(end)
        return Features(jax.device_put(kept, device) if on_device else kept)


def open(path: str | os.PathLike[str]) -> Features:
    """Opens features that `compute` wrote to a file, as a memory map.

    Parameters
    ----------
    path : str or path
        Path that was given to `compute`.

    Returns
    -------
    Features
        Snapshots (B, S, N), which `block` reads block by block.

    Raises
    ------
    FeaturesError
        If the file is not finished, damaged, or not a file of features.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import echoscale as es
    >>> esn = es.single(10).build(n_inputs=1, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = es.readouts.features.compute(esn, np.ones((6, 20, 1)), every=5, path=f"{folder}/snapshots.npy")
    ...     found = es.readouts.features.open(f"{folder}/snapshots.npy")
    ...     np.array_equal(found.block(0, 6), made.block(0, 6))
    True
    """
    source = Path(path)
    run = files.read(source)
    if run.left:
        raise FeaturesError(
            f"{source} is not finished: {run.finished} of {run.shape[0]} sequences are there. Call compute with this path and "
            "the same network, inputs and settings; it computes the others only."
        )
    return Features(files.mapped(source, run))


def block_size(shape: tuple[int, int, int], itemsize: int, on_cpu: bool) -> int:
    """Sequences of a block: some rounds of full lanes on every core, or all lanes of a GPU; fewer where snapshots are large."""
    count, snapshots, units = shape
    full = lanes.most_lanes(units, itemsize, on_cpu) // 16 * 16
    fitting = max(BLOCK_BYTES // (snapshots * units * 4) // 16 * 16, 16)
    if on_cpu:
        full *= devices.cores()
        return min(fitting // full, ROUNDS) * full or fitting
    most = min(full, fitting)
    grain = 128 if most >= 128 else 1  # so that the rows of neurons are aligned for a GPU
    alike = -(-count // -(-count // (most // grain * grain)))
    return min(-(-alike // grain) * grain, count)


def _sequences(esn: ESN, u: SeriesLike) -> npt.NDArray[Any]:
    """Sequences of one length as one array (B, T, F): checked in memory, or stored and checked when they are read."""
    if is_stored(u) and axes(u) == 3:
        stored: Any = as_stored(u, esn.columns).values
        return stored  # type: ignore[no-any-return]
    series = as_series(u, esn.columns, dtype=np.dtype(esn.dtype))
    if series.kind == "one":
        raise ValueError(
            f"u must hold many sequences, (B, T, F), got shape {series.values[0].shape}. For a single one give u[None]."
        )
    shortest, longest = int(series.lengths.min()), int(series.lengths.max())
    if shortest != longest:
        raise ValueError(f"features need sequences of one length, got {shortest} to {longest} steps.")
    return np.asarray(series.values)


def _sequences_on_device(esn: ESN, u: SeriesLike | jax.Array) -> jax.Array:
    """The same on the device, in the network's precision. Sequences that lie there already are checked there."""
    if not isinstance(u, jax.Array):
        u = _sequences(esn, u)
    if u.ndim != 3 or u.shape[2] != esn.columns or 0 in u.shape:
        raise ValueError(f"u must be sequences (B, T, {esn.columns}), none of them empty, got shape {tuple(u.shape)}.")
    with precision_and_device(esn.dtype, device_of(esn.device)):
        values = jnp.asarray(u, esn.dtype)
        if not bool(jnp.isfinite(values).all()):
            raise ValueError("u must be finite, but it holds NaN or infinity.")
    return values


def _fill(esn: ESN, values: npt.NDArray[Any], every: int, hyper: Hyper, begin: int, target: npt.NDArray[Any]) -> None:
    """Run the sequences from `begin` on into `target` (rows, S, N), chunk by chunk as their states are computed."""

    def consume(which: Indices, start: int, states: Any) -> None:
        if not isinstance(states, np.ndarray):
            states = states.astype(target.dtype)  # rounded on the device, before the copy
        rows = np.asarray(states).swapaxes(0, 1)
        first, snapshot = int(which[0]), start // every  # sequences of one length stay in their order
        target[first : first + rows.shape[0], snapshot : snapshot + rows.shape[1]] = rows

    esn.run_chunks(Series(np.asarray(values[begin : begin + len(target)]), "batch"), consume, every=every, hyper=hyper)


def _to_file(path: Path, wanted: files.Run, overwrite: bool, fill: Fill, told: Told) -> Features:
    """Blocks into a file: one is written while the next one is computed."""
    run = files.prepare(path, wanted, overwrite)
    told(run.finished)
    longest = max((end - begin for begin, end in run.left), default=0)
    # Two buffers: with one, runs whose snapshots fill many gigabytes take about a tenth longer.
    buffers = [np.empty((longest, *run.shape[1:]), DTYPES[run.dtype]) for _ in run.left[:2]]
    # On every exit, also by an error or Ctrl-C, the pool first waits for the block that is being written.
    with ThreadPoolExecutor(1) as pool:
        writing: Future[None] | None = None
        for turn, (begin, end) in enumerate(run.left):
            buffer = buffers[turn % 2][: end - begin]
            fill(begin, buffer)
            if writing:
                writing.result()
            writing = pool.submit(files.write, path, replace(run, finished=begin), buffer)
            if turn:
                told(begin)  # after this block was passed on: an interruption here loses nothing
        if writing:
            writing.result()
            told(run.shape[0])
    return open(path)


def _on_device(esn: ESN, values: jax.Array, every: int, hyper: Hyper, dtype: np.dtype[Any], most: int, told: Told) -> Features:
    """Each block in one scan. All have one size, for one compiled program: the last shares sequences with the one before."""
    count, steps, _ = values.shape
    size = min(most, count)
    numbers = hyper.map(lambda leaf: np.asarray(leaf, esn.dtype).reshape(1))
    remaining = np.full(size, steps, np.int32)
    device = device_of(esn.device)
    with precision_and_device(esn.dtype, device):
        kept = jnp.zeros((count, steps // every, esn.units), dtype, device=device)
        start = tuple(jnp.zeros((units, size), esn.dtype) for units in esn.sizes)
        told(0)
        for first in range(0, count, size):
            end = min(first + size, count)
            u = jnp.transpose(jax.lax.dynamic_slice_in_dim(values, end - size, size), (1, 2, 0))
            _, states = scan(esn.weights(size), numbers, start, u, remaining, every, whole=True)
            kept = _placed(kept, states, end - size)
            told(end)
    return Features(kept)


@partial(jax.jit, donate_argnums=0)
def _placed(kept: jax.Array, states: jax.Array, begin: int) -> jax.Array:
    """`kept` with the states of the sequences from `begin` on, in the memory of `kept`, which is donated."""
    return jax.lax.dynamic_update_slice(kept, jnp.swapaxes(states, 0, 1).astype(kept.dtype), (begin, 0, 0))


def of_network(esn: ESN, hyper: Hyper) -> str:
    """Fingerprint of everything that turns inputs into states: drawn matrices, graph, leak rates and scalings, precision."""

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


def of_inputs(u: Numbers, dtype: str) -> str:
    """Fingerprint of the inputs that are run, (B, T, F), in the precision in which they are run; some sequences at once."""
    rows = max(AT_ONCE // (math.prod(u.shape[1:]) * np.dtype(dtype).itemsize), 1)
    return fingerprint({"sequences": [np.asarray(u[begin : begin + rows], dtype) for begin in range(0, len(u), rows)]})
