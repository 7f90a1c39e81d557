"""Features of many sequences: the same bits as `esn.snapshots` wherever they lie, and files that survive a kill."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import echoscale as es
from echoscale.engine import devices
from echoscale.readouts import feature_files as files
from echoscale.readouts import features
from echoscale.readouts.features import Features, FeaturesError

BLOCK = 31  # one program runs it, and the shorter last one too
SEQUENCES = 6 * BLOCK + 20  # seven blocks
BEGINS = list(range(0, SEQUENCES, BLOCK))
STEPS, EVERY = 23, 5  # four snapshots, and three steps that are in none
UNITS = 40 + 36  # with 10 links each: sparse. The last bits of dense products depend on how many lanes run together
PAGE = 4096  # bytes that a disk gives at once
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

BLOCK_SIZE = features.block_size  # the real one

Array = npt.NDArray[Any]


def network(**changes: Any) -> es.Network:
    return es.hierarchical([40, 36], **{"leak_rate": [1.0, 0.3], "input_scaling": 0.7, "bias_scaling": 0.1, **changes})


class Case(NamedTuple):
    """A network, its inputs, and the snapshots that it should have."""

    esn: es.ESN
    u: Array
    expected: Array


@pytest.fixture(scope="module")
def case() -> Case:
    esn = network().build(n_inputs=1, seed=3)
    u = np.random.default_rng(0).random((SEQUENCES, STEPS, 1), dtype=np.float32)
    return Case(esn, u, esn.snapshots(u, EVERY))


class Runs:
    """Which sequences were run, block by block."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.begun: list[int] = []
        real = features._fill

        def fill(*arguments: Any) -> None:
            self.begun.append(arguments[4])
            real(*arguments)

        patch.setattr(features, "_fill", fill)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(monkeypatch)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "block_size", lambda *_: BLOCK)


def as_bits(array: Any) -> Array:
    """Compared as bytes: NaN is equal to itself and -0.0 is not 0.0."""
    return np.ascontiguousarray(np.asarray(array)).view(np.uint8)


def assert_same_bits(found: Any, expected: Array) -> None:
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(as_bits(found), as_bits(expected))


def places(tmp_path: Path) -> dict[str, dict[str, Any]]:
    return {"memory": {}, "file": {"path": tmp_path / "features.npy"}, "device": {"on_device": True}}


@pytest.mark.parametrize("place", ["memory", "file", "device"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("gpu", [False, True], ids=["cpu", "like a gpu"])
def test_features_are_the_snapshots_to_the_bit(
    case: Case, place: str, dtype: str, gpu: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """bfloat16 is the float32 rounded once. `like a gpu` hands JAX arrays on, in blocks of thousands of lanes."""
    if gpu:
        monkeypatch.setattr(devices, "on_cpu", lambda device: False)
    found = features.compute(case.esn, case.u, EVERY, dtype=dtype, **places(tmp_path)[place])
    assert found.shape == (SEQUENCES, STEPS // EVERY, UNITS)
    assert found.flat == 4 * UNITS
    assert isinstance(found.array, jax.Array if place == "device" else np.ndarray)
    expected = case.expected if dtype == "float32" else case.expected.astype(BFLOAT16)
    assert_same_bits(found.array, expected)
    # 8 bits: the last is worth up to 2 ** -7 of the number, and rounding errs by half of it.
    np.testing.assert_allclose(np.asarray(found.array, np.float32), case.expected, rtol=2.0**-8, atol=0)


def test_the_steps_after_the_last_snapshot_are_not_run(case: Case) -> None:
    whole = case.u[:, : STEPS // EVERY * EVERY]
    assert_same_bits(features.compute(case.esn, whole, EVERY).array, case.expected)


@pytest.mark.parametrize("on_device", [False, True])
def test_the_size_of_blocks_changes_no_bit(case: Case, on_device: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones, one in several threads, the only one there is, and the real size."""
    real = BLOCK_SIZE((SEQUENCES, STEPS // EVERY, UNITS), 4, True)
    for size in (16, 100, SEQUENCES, real):
        monkeypatch.setattr(features, "block_size", lambda *_, size=size: size)
        assert_same_bits(features.compute(case.esn, case.u, EVERY, on_device=on_device).array, case.expected)


def test_inputs_of_bytes_and_lists_are_taken_as_they_are(case: Case) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, case.u.shape, dtype=np.uint8)
    expected = case.esn.snapshots(pixels.astype(np.float32), EVERY)
    assert_same_bits(features.compute(case.esn, pixels, EVERY).array, expected)
    assert_same_bits(features.compute(case.esn, list(pixels), EVERY).array, expected)


def test_other_numbers_by_hyper(case: Case) -> None:
    hyper = case.esn.hyper.replace(leak_rate=[0.5, 0.1])
    found = features.compute(case.esn, case.u, EVERY, hyper=hyper).array
    assert_same_bits(found, case.esn.snapshots(case.u, EVERY, hyper=hyper))
    assert (found != case.expected).any()


def test_a_network_of_doubles_is_rounded_once(case: Case, tmp_path: Path) -> None:
    esn = network().build(n_inputs=1, seed=3, dtype="float64")
    expected = esn.snapshots(case.u, EVERY)
    assert expected.dtype == np.float64
    for arguments in places(tmp_path).values():
        assert_same_bits(features.compute(esn, case.u, EVERY, **arguments).array, expected.astype(np.float32))


@pytest.mark.parametrize("count", [1, 15, 31, 32, 33, 47, 48, 49, 64, 1000])
@pytest.mark.parametrize("size", [16, 32, 1536])
def test_blocks_hold_every_sequence_once_and_none_is_tiny(count: int, size: int) -> None:
    edges = files.block_edges(count, size)
    assert [row for begin, end in edges for row in range(begin, end)] == list(range(count))
    *widths, last = (end - begin for begin, end in edges)
    assert all(width == size for width in widths)
    assert min(16, count) <= last < size + 16


@pytest.mark.parametrize(
    "shape", [(60_000, 28, 1200), (60_000, 4, 1200), (100, 784, 1200), (9, 784, 60_000), (999, 784, 20_000)]
)
@pytest.mark.parametrize("on_cpu", [True, False])
def test_the_size_of_blocks_is_bounded(shape: tuple[int, int, int], on_cpu: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for cores in (1, 2, 96):
        monkeypatch.setattr(devices, "cores", lambda cores=cores: cores)
        size = BLOCK_SIZE(shape, 4, on_cpu)
        assert 0 < size <= 16 or size * shape[1] * shape[2] * 4 <= features.BLOCK_BYTES
        if on_cpu:
            assert size % 16 == 0  # whole vectors
        else:
            assert size % 128 == 0 or size < 128 or size == shape[0]
            assert -(-shape[0] // size) * size < 1.1 * shape[0]  # few are run twice


def test_sequences_on_a_device_are_checked_there(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way of a GPU, taken on the processor: blocks of one size, each in one scan."""
    monkeypatch.setattr(devices, "on_cpu", lambda device: False)
    monkeypatch.setattr(features, "_fill", None)  # nothing goes through the host
    values = jnp.asarray(case.u)
    assert_same_bits(features.compute(case.esn, values, EVERY, on_device=True).array, case.expected)
    with pytest.raises(ValueError, match="NaN or infinity"):
        features.compute(case.esn, values.at[3, 2, 0].set(jnp.nan), EVERY, on_device=True)
    with pytest.raises(ValueError, match="none of them empty, got shape"):
        features.compute(case.esn, values[:, :0], EVERY, on_device=True)
    with pytest.raises(ValueError, match="every=24 is longer than the sequences of 23 steps"):
        features.compute(case.esn, values, STEPS + 1, on_device=True)


def test_a_file_takes_the_memory_of_two_blocks(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "block_size", lambda *_: SEQUENCES)
    u = np.tile(case.u, (16, 1, 1))
    features.compute(case.esn, u, EVERY, path=tmp_path / "compiled")  # what compiling takes is not asked here
    tracemalloc.start()
    found = features.compute(case.esn, u, EVERY, path=tmp_path / "f")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    block = SEQUENCES * found.flat * 4
    # Two blocks, and besides them checks of the inputs and the like; the states themselves are JAX's and not counted.
    assert 2 * block < peak < 4 * block
    assert_same_bits(found.array, np.tile(case.expected, (16, 1, 1)))


def mapped_bytes(path: Path) -> int:
    """How much of a file is in the memory of this process."""
    found, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split()[0]:
            inside = line.endswith(str(path))
        elif inside and line.startswith("Rss:"):
            found += int(line.split()[1]) * 1024
    return found


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="there is no /proc here")
def test_reading_block_by_block_gives_memory_back(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    monkeypatch.setattr(features, "block_size", lambda *_: SEQUENCES)
    found = features.compute(case.esn, np.tile(case.u, (16, 1, 1)), EVERY, path=path)
    for begin in range(0, len(found), SEQUENCES):
        found.block(begin, begin + SEQUENCES)
        assert mapped_bytes(path) == 0
    found.array.sum()
    assert mapped_bytes(path) > path.stat().st_size / 2, "otherwise this measures nothing"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_blocks_are_read_in_the_same_way_everywhere(case: Case, dtype: str, tmp_path: Path) -> None:
    kept = case.expected if dtype == "float32" else case.expected.astype(BFLOAT16)
    expected = kept.astype(np.float32).reshape(SEQUENCES, -1)
    made = [features.compute(case.esn, case.u, EVERY, dtype=dtype, **each) for each in places(tmp_path).values()]
    made += [features.open(tmp_path / "features.npy"), Features(kept), Features(jnp.asarray(kept)), Features(kept[::-1][::-1])]
    for found in made:
        assert (found.dtype, len(found)) == (kept.dtype, SEQUENCES)
        for begin, end in ((0, 1), (5, 50), (0, SEQUENCES), (190, 10_000)):
            block = found.block(begin, end)
            assert isinstance(block, jax.Array if isinstance(found.array, jax.Array) else np.ndarray)
            assert_same_bits(block, expected[begin:end])
        for begin, end in ((3, 3), (4, 2), (SEQUENCES, SEQUENCES + 1)):
            with pytest.raises(IndexError, match=f"there are {SEQUENCES}"):
                found.block(begin, end)
        with pytest.raises(ValueError, match="begin must be at least 0"):
            found.block(-1, 3)


def test_plain_arrays_are_features_too() -> None:
    flat = np.arange(12, dtype=np.uint8).reshape(4, 3)
    wrapped = Features(flat)
    assert (wrapped.shape, wrapped.flat) == ((4, 1, 3), 3)
    assert_same_bits(wrapped.block(1, 3), flat[1:3].astype(np.float32))
    floats = np.ones((4, 2, 3), np.float32)
    assert np.shares_memory(Features(floats).block(0, 4), floats), "no copy where none is needed"
    with pytest.raises(ValueError, match=r"got \(5,\)"):
        Features(np.ones(5))
    with pytest.raises(ValueError, match=r"none of them 0"):
        Features(np.ones((0, 5)))
    with pytest.raises(TypeError, match="complex128"):
        Features(np.ones((2, 2), complex))
    with pytest.raises(TypeError, match="list"):
        Features(cast(Any, [[1.0]]))


def test_what_it_is_can_be_seen(case: Case, tmp_path: Path) -> None:
    made = {name: features.compute(case.esn, case.u, EVERY, **each) for name, each in places(tmp_path).items()}
    assert repr(made["memory"]) == "Features(shape=(206, 4, 76), dtype=float32, in memory)"
    assert repr(made["device"]) == "Features(shape=(206, 4, 76), dtype=float32, on a device)"
    assert repr(made["file"]) == f"Features(shape=(206, 4, 76), dtype=float32, in '{tmp_path / 'features.npy'}')"


def test_progress_counts_sequences(case: Case, tmp_path: Path) -> None:
    steps = [(done, SEQUENCES, "") for done in (0, 31, 62, 93, 124, 155, 186, 206)]
    for arguments in places(tmp_path).values():
        told: list[tuple[int, int, str]] = []
        features.compute(case.esn, case.u, EVERY, progress=lambda *each, told=told: told.append(each), **arguments)
        assert told == steps
    told = []
    features.compute(case.esn, case.u, EVERY, progress=lambda *each: told.append(each), path=tmp_path / "features.npy")
    assert told == [(SEQUENCES, SEQUENCES, "")], "all was there"


def test_a_finished_file_is_used_as_it_is(case: Case, runs: Runs, tmp_path: Path) -> None:
    path = tmp_path / "f"
    features.compute(case.esn, case.u, EVERY, path=path)
    assert runs.begun == BEGINS
    before = [(each.read_bytes(), each.stat().st_mtime_ns) for each in (path, files.record_of(path))]
    rebuilt = network().build(n_inputs=1, seed=3)
    again = features.compute(rebuilt, case.u.astype(np.float64), EVERY, path=path, overwrite=True)
    assert_same_bits(again.array, case.expected)
    assert len(runs.begun) == 7, "nothing was run again"
    assert [(each.read_bytes(), each.stat().st_mtime_ns) for each in (path, files.record_of(path))] == before
    assert not again.array.flags.writeable


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_file_is_a_plain_array_of_numpy(case: Case, dtype: str, tmp_path: Path) -> None:
    path = tmp_path / "features.npy"
    features.compute(case.esn, case.u, EVERY, path=path, dtype=dtype)
    expected = case.expected if dtype == "float32" else case.expected.astype(BFLOAT16)
    assert_same_bits(np.load(path).view(expected.dtype), expected)
    streamed = Features(np.load(path, mmap_mode="r").view(expected.dtype))
    assert_same_bits(streamed.block(5, 50), expected[5:50].astype(np.float32).reshape(45, -1))


CHILD = """
import os, signal, sys
from pathlib import Path
import numpy as np
import echoscale as es
from echoscale.readouts import features

path, moment, when = sys.argv[1:]
features.block_size = lambda *_: {block}
real_fill, real_fsync = features._fill, os.fsync
blocks, synced = 0, 0

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def fill(*arguments):
    global blocks
    blocks += 1
    real_fill(*arguments)
    if moment == "running" and blocks > int(when):
        die()

def fsync(handle):
    global synced
    synced += 1
    if moment == "writing" and synced > int(when):
        die()
    real_fsync(handle)

features._fill, os.fsync = fill, fsync
esn = es.hierarchical([40, 36], leak_rate=[1.0, 0.3], input_scaling=0.7, bias_scaling=0.1).build(n_inputs=1, seed=3)
u = np.random.default_rng(0).random(({sequences}, {steps}, 1), dtype=np.float32)
features.compute(esn, u, {every}, path=path)
"""


@pytest.mark.parametrize(
    ("moment", "when", "finished"),
    [
        ("running", 3, (2, 3)),  # the block before may still be in the hands of the writer
        ("writing", 0, ()),  # the first record
        ("writing", 1 + 2 * 2, (2,)),  # the rows of block 2, after one record and two blocks with their records
        ("writing", 1 + 2 * 2 + 1, (2,)),  # its record
    ],
)
def test_a_killed_run_is_taken_up_with_the_same_bits(
    case: Case, moment: str, when: int, finished: tuple[int, ...], runs: Runs, tmp_path: Path
) -> None:
    """SIGKILL while a block is run, before its rows are on the disk, and before they count as finished."""
    path, whole = tmp_path / "killed.npy", tmp_path / "whole.npy"
    features.compute(case.esn, case.u, EVERY, path=whole)
    runs.begun.clear()
    script = CHILD.format(block=BLOCK, sequences=SEQUENCES, steps=STEPS, every=EVERY)
    child = subprocess.run([sys.executable, "-c", script, path, moment, str(when)], capture_output=True, text=True)
    assert child.returncode == -signal.SIGKILL, child.stderr
    there = 0
    if finished:
        there = files.read(path).finished
        assert there in [blocks * BLOCK for blocks in finished]
        with pytest.raises(FeaturesError, match=f"{there} of {SEQUENCES} sequences are there"):
            features.open(path)
        row = 4 * UNITS * 4
        with path.open("r+b") as file:  # whatever stands in a block that is not finished is no matter
            file.seek((there - SEQUENCES) * row, os.SEEK_END)
            file.write(b"\xff" * (BLOCK * row // 2))
    told: list[int] = []
    found = features.compute(case.esn, case.u, EVERY, path=path, progress=lambda done, *_: told.append(done))
    assert runs.begun == [begin for begin in BEGINS if begin >= there]
    assert told == [*runs.begun, SEQUENCES]
    assert_same_bits(found.array, case.expected)
    assert path.read_bytes() == whole.read_bytes()
    assert files.read(path) == files.read(whole)


@pytest.mark.parametrize(("block", "kept"), [(0, 0), (3, 4)])
def test_ctrl_c_leaves_a_file_to_go_on_with(case: Case, block: int, kept: int, runs: Runs, tmp_path: Path) -> None:
    """Ctrl-C after block 3 is done, when block 4 is being written: it is waited for."""

    def interrupt(done: int, total: int, note: str) -> None:
        if done == block * BLOCK:
            signal.raise_signal(signal.SIGINT)

    path = tmp_path / "f"
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where tests run in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            features.compute(case.esn, case.u, EVERY, path=path, progress=interrupt)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert files.read(path).finished == kept * BLOCK
    runs.begun.clear()
    assert_same_bits(features.compute(case.esn, case.u, EVERY, path=path).array, case.expected)
    assert runs.begun == BEGINS[kept:]


def test_a_file_keeps_its_own_blocks(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is taken up where another number of cores would make other blocks."""
    path = tmp_path / "f"
    half_done(case, path)
    monkeypatch.setattr(features, "block_size", lambda *_: 100)
    assert_same_bits(features.compute(case.esn, case.u, EVERY, path=path).array, case.expected)
    assert files.read(path).block == BLOCK


def test_dense_matrices_are_taken_up_with_the_same_bits_too(case: Case, tmp_path: Path) -> None:
    """Their snapshots differ from those of one large block by rounding: at most half a bit for each of 12 products a step."""
    esn = es.single(12, leak_rate=0.5).build(n_inputs=1, seed=3)
    dense = Case(esn, case.u, esn.snapshots(case.u, EVERY))
    whole = features.compute(*dense[:2], EVERY, path=tmp_path / "whole").array
    half_done(dense, tmp_path / "half")
    assert_same_bits(features.compute(*dense[:2], EVERY, path=tmp_path / "half").array, whole)
    np.testing.assert_allclose(whole, dense.expected, rtol=0, atol=STEPS * 12 * 2.0**-24)


def half_done(case: Case, path: Path, blocks: int = 3) -> files.Run:
    """A file with at least so many finished blocks."""

    class Stop(Exception):
        pass

    def stop(done: int, total: int, note: str) -> None:
        if done >= blocks * BLOCK:
            raise Stop

    with pytest.raises(Stop):
        features.compute(case.esn, case.u, EVERY, path=path, progress=stop)
    run = files.read(path)
    assert blocks * BLOCK <= run.finished < SEQUENCES
    return run


def test_a_disk_that_fails_says_where_and_the_rest_is_kept(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    real, count = os.fsync, 0

    def fsync(handle: int) -> None:
        nonlocal count
        count += 1
        if count == 1 + 2 * 2 + 1:  # one for the first record, then two for every block: its rows and its record
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match=r"No space left on device. What is there is kept") as caught:
        features.compute(case.esn, case.u, EVERY, path=path)
    assert caught.value.errno == errno.ENOSPC
    assert str(path) in str(caught.value)
    assert files.read(path).finished == 2 * BLOCK
    assert_same_bits(features.compute(case.esn, case.u, EVERY, path=path).array, case.expected)


def nudge(u: Array) -> Array:
    """One value changed by its last bit."""
    changed = u.copy()
    changed[-1, 0] = np.nextafter(changed[-1, 0], np.float32(1))
    return changed


Changed = Callable[[Case], dict[str, Any]]
OTHERS: dict[str, tuple[str, Changed]] = {
    "seed": ("another network", lambda case: {"esn": network().build(n_inputs=1, seed=4)}),
    "leak rate": ("another network", lambda case: {"hyper": case.esn.hyper.replace(leak_rate=[1.0, np.nextafter(0.3, 1)])}),
    "described": ("another network", lambda case: {"esn": network(leak_rate=[1.0, 0.2]).build(n_inputs=1, seed=3)}),
    "coupling": ("another network", lambda case: {"hyper": case.esn.hyper.replace(coupling=0.5)}),
    "delay": ("another network", lambda case: {"esn": network(coupling_delay=0).build(n_inputs=1, seed=3)}),
    "precision": ("another network", lambda case: {"esn": network().build(n_inputs=1, seed=3, dtype="float64")}),
    "inputs": ("other inputs", lambda case: {"u": nudge(case.u)}),
    "order": ("other inputs", lambda case: {"u": case.u[::-1]}),
    "fewer": ("other inputs", lambda case: {"u": case.u[1:]}),
    "every": ("another `every`", lambda case: {"every": EVERY - 1}),
    "dtype": ("another dtype", lambda case: {"dtype": "bfloat16"}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_of_something_else_is_refused_or_overwritten(case: Case, name: str, tmp_path: Path) -> None:
    path = tmp_path / "f"
    half_done(case, path)
    before = (path.read_bytes(), files.record_of(path).read_bytes())
    words, changed = OTHERS[name]
    arguments: dict[str, Any] = {"esn": case.esn, "u": case.u, "every": EVERY, **changed(case)}
    with pytest.raises(FeaturesError, match=f"holds features of {words}[^.]*. Give another path, or overwrite=True") as caught:
        features.compute(**arguments, path=path)
    named = sum(each in str(caught.value) for each in files.DIFFERENCES.values())
    assert named == (2 if name == "precision" else 1), "what is the same is not named; in another precision inputs differ too"
    assert (path.read_bytes(), files.record_of(path).read_bytes()) == before
    found = features.compute(**arguments, path=path, overwrite=True)
    assert_same_bits(found.array, features.compute(**arguments).array)


def test_the_same_numbers_by_another_way_are_the_same_features(case: Case, runs: Runs, tmp_path: Path) -> None:
    features.compute(case.esn, case.u, EVERY, path=tmp_path / "f")
    other = network(leak_rate=[0.9, 0.9]).build(n_inputs=1, seed=3)
    runs.begun.clear()
    features.compute(other, case.u, EVERY, path=tmp_path / "f", hyper=case.esn.hyper)
    assert not runs.begun


def test_half_a_file_is_not_finished_on_another_kind_of_device(case: Case, tmp_path: Path) -> None:
    """They round otherwise. A whole file from there is as good as one from here."""
    path = tmp_path / "f"
    assert half_done(case, path).platform == "cpu"
    forge(path, platform="gpu")
    with pytest.raises(FeaturesError, match="an unfinished run on another kind of device"):
        features.compute(case.esn, case.u, EVERY, path=path)
    forge(path, platform="cpu")
    features.compute(case.esn, case.u, EVERY, path=path)
    forge(path, platform="gpu")
    assert_same_bits(features.compute(case.esn, case.u, EVERY, path=path).array, case.expected)


def forge(path: Path, **changes: Any) -> None:
    """Another record with a right checksum."""
    record = files.record_of(path)
    about = {**json.loads(record.read_text()), **changes}
    del about["sha256"]
    record.write_text(json.dumps({**about, "sha256": files._digest(about)}))


def damage(path: Path, place: int, value: bytes = b"?") -> None:
    with path.open("r+b") as file:
        file.seek(place)
        file.write(value)


def resave(path: Path, change: Callable[[Array], Array]) -> None:
    array = np.load(path)
    np.save(path.with_suffix(".npy"), change(array))
    path.with_suffix(".npy").replace(path)


def cut(path: Path, count: int) -> None:
    os.truncate(path, path.stat().st_size - count)


DAMAGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "record, a letter": ("its checksum does not fit", lambda path: damage(files.record_of(path), 30)),
    "record, cut": (r"f.json is damaged", lambda path: cut(files.record_of(path), 3)),
    "record, empty": (r"f.json is damaged", lambda path: cut(files.record_of(path), files.record_of(path).stat().st_size)),
    "record, a list": (r"f.json is damaged", lambda path: files.record_of(path).write_text("[1, 2]")),
    "record, not text": (r"f.json is damaged", lambda path: files.record_of(path).write_bytes(b"\xff\xfe\x80")),
    "record, finished": ("no block ends at sequence 205", lambda path: forge(path, finished=SEQUENCES - 1)),
    "record, block": ("f.json is damaged", lambda path: forge(path, block=0)),
    "record, no shape": ("f.json is damaged", lambda path: forge(path, shape=None)),
    "record, more": ("f.json is damaged", lambda path: forge(path, more=1)),
    "record, newer": ("its format version is 3, and this echoscale reads 1", lambda path: forge(path, version=3)),
    "record, another format": ("its format is 'other'", lambda path: forge(path, format="other")),
    "record, shape": ("should hold float32 of shape .206, 4, 77.", lambda path: forge(path, shape=[SEQUENCES, 4, UNITS + 1])),
    "array, magic": ("f is damaged", lambda path: damage(path, 0)),
    "array, header": ("f is damaged", lambda path: damage(path, 12)),
    "array, cut": ("f is damaged", lambda path: cut(path, 1)),
    "array, cut in the header": ("f is damaged", lambda path: os.truncate(path, 20)),
    "array, empty": ("f is damaged", lambda path: os.truncate(path, 0)),
    "array, gone": ("f is damaged", lambda path: path.unlink()),
    "array, longer": ("in 250,625 bytes", lambda path: os.truncate(path, path.stat().st_size + 1)),
    "array, another shape": ("of shape .206, 2, 152.", lambda path: resave(path, lambda x: x.reshape(SEQUENCES, 2, 2 * UNITS))),
    "array, another type": ("holds int32", lambda path: resave(path, lambda x: x.view(np.int32))),
    "array, byte order": ("holds >f4", lambda path: resave(path, lambda x: x.astype(">f4"))),
    "array, columns first": ("f is damaged", lambda path: resave(path, np.asfortranarray)),
    "array, objects": ("f is damaged", lambda path: resave(path, lambda x: np.array([None]))),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_files_are_noticed_and_can_be_replaced(case: Case, name: str, tmp_path: Path) -> None:
    path = tmp_path / "f"
    features.compute(case.esn, case.u, EVERY, path=path)
    whole, run = path.read_bytes(), files.read(path)
    words, spoil = DAMAGES[name]
    spoil(path)
    with pytest.raises(FeaturesError, match=words):
        features.open(path)
    with pytest.raises(FeaturesError, match=words):
        features.compute(case.esn, case.u, EVERY, path=path)
    features.compute(case.esn, case.u, EVERY, path=path, overwrite=True)
    assert (path.read_bytes(), files.read(path)) == (whole, run)


@pytest.mark.parametrize("content", [b"", b"somebody's thesis", b"\x80\x04\x95pickle"])
def test_files_of_others_are_never_overwritten(case: Case, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "thesis"
    path.write_bytes(content)
    with pytest.raises(FeaturesError, match=r"is no file of features: there is no thesis.json beside it. Give another path"):
        features.open(path)
    with pytest.raises(FeaturesError, match=r"is no file of features: there is no thesis.json beside it. Give another path"):
        features.compute(case.esn, case.u, EVERY, path=path, overwrite=True)
    assert path.read_bytes() == content


def test_a_file_that_another_process_replaces_is_not_taken_for_ours(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "f"

    def replace(done: int, total: int, note: str) -> None:
        if done == BLOCK:
            features.compute(case.esn, nudge(case.u), EVERY, path=path, overwrite=True)

    with pytest.raises(FeaturesError, match="replaced by another process"):
        features.compute(case.esn, case.u, EVERY, path=path, progress=replace)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_disk_is_asked_for_room_first(case: Case, dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    room, real = 0, shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: real._replace(free=room))
    room = SEQUENCES * 4 * UNITS * (4 if dtype == "float32" else 2) - 1
    with pytest.raises(
        OSError, match=r"f needs 0\.00 GB on the disk of .* 0\.00 GB free.* another disk, or fewer snap"
    ) as caught:
        features.compute(case.esn, case.u, EVERY, path=path, dtype=dtype)
    assert ('dtype="bfloat16"' in str(caught.value)) == (dtype == "float32")
    assert not path.exists()
    room += 1
    features.compute(case.esn, case.u, EVERY, path=path, dtype=dtype)
    room = 0  # none is needed for what is there
    features.compute(case.esn, case.u, EVERY, path=path, dtype=dtype)


def test_room_is_needed_for_the_missing_blocks_alone(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    run = half_done(case, path, blocks=4)
    missing = (SEQUENCES - run.finished) * run.row
    assert missing > 4 * PAGE
    real = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: real._replace(free=missing - 4 * PAGE))
    with pytest.raises(OSError, match="GB free"):
        features.compute(case.esn, case.u, EVERY, path=path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: real._replace(free=missing + 4 * PAGE))
    assert_same_bits(features.compute(case.esn, case.u, EVERY, path=path).array, case.expected)


def test_bad_inputs_are_named(case: Case, tmp_path: Path) -> None:
    esn, u = case.esn, case.u
    with pytest.raises(ValueError, match="every=24 is longer than the sequences of 23 steps"):
        features.compute(esn, u, 24)
    with pytest.raises(ValueError, match="every must be at least 1, got 0"):
        features.compute(esn, u, 0)
    with pytest.raises(ValueError, match="one length, got 3 to 4 steps"):
        features.compute(esn, [u[0, :3], u[1, :4]], 1)
    with pytest.raises(ValueError, match=r"many sequences, \(B, T, F\), got shape \(23, 1\)"):
        features.compute(esn, u[0], EVERY)
    with pytest.raises(ValueError, match="u has 23 features, the network was built for 1"):
        features.compute(esn, u[..., 0], EVERY)
    with pytest.raises(ValueError, match="must be finite, found NaN"):
        features.compute(esn, np.full_like(u, np.nan), EVERY)
    with pytest.raises(ValueError, match="dtype must be one of 'float32', 'bfloat16'; got 'float16'"):
        features.compute(esn, u, EVERY, dtype="float16")
    with pytest.raises(ValueError, match="2 lanes"):
        features.compute(esn, u, EVERY, hyper=esn.hyper.replace(leak_rate=[np.array([0.1, 0.2]), 0.3]))
    with pytest.raises(ValueError, match="path or on_device=True, not both"):
        features.compute(esn, u, EVERY, path=tmp_path / "f", on_device=True)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing for the features f. Make it first"):
        features.compute(esn, u, EVERY, path=tmp_path / "missing" / "f")
    with pytest.raises(IsADirectoryError, match=r"is a folder. Give a file name"):
        features.compute(esn, u, EVERY, path=tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        features.open(tmp_path / "nothing")
    assert not list(tmp_path.iterdir()), "nothing is left of calls that failed"
