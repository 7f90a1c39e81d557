"""Features of many sequences: the same bits as `esn.snapshots` wherever they lie, and files that survive a kill."""

from __future__ import annotations

import errno
import hashlib
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
from echoscale.readouts import features
from echoscale.readouts.features import Features, FeaturesError, store
from echoscale.readouts.features import blocks as driver
from echoscale.readouts.features import blocks as resident

BLOCK = 31  # one program runs it, and the shorter last one too
SEQUENCES = 6 * BLOCK + 20  # seven blocks
STEPS, EVERY = 23, 5  # four snapshots, and three steps that are in none
UNITS = 40 + 36  # with 10 links each: sparse. The last bits of dense products depend on how many lanes run together
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

BLOCK_SIZE = driver.block_size  # the real one

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
        real = driver._run

        def run(*arguments: Any) -> None:
            self.begun.append(arguments[4])
            real(*arguments)

        patch.setattr(driver, "_run", run)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(monkeypatch)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "block_size", lambda *_: BLOCK)


def as_bits(array: Any) -> Array:
    """Compared as bytes: NaN is equal to itself and -0.0 is not 0.0."""
    return np.ascontiguousarray(np.asarray(array)).view(np.uint8)


def assert_same_bits(found: Any, expected: Array) -> None:
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(as_bits(found), as_bits(expected))


def places(tmp_path: Path) -> dict[str, dict[str, Any]]:
    return {"memory": {}, "file": {"path": tmp_path / "features.bin"}, "device": {"on_device": True}}


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
        monkeypatch.setattr(driver, "block_size", lambda *_, size=size: size)
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
    bounds = store.bounds(count, size)
    assert (bounds[0], bounds[-1]) == (0, count)
    assert all(width == size for width in np.diff(bounds)[:-1])
    assert min(16, count) <= bounds[-1] - bounds[-2] < size + 16


@pytest.mark.parametrize(
    "shape", [(60_000, 28, 1200), (60_000, 4, 1200), (100, 784, 1200), (9, 784, 60_000), (999, 784, 20_000)]
)
@pytest.mark.parametrize("on_cpu", [True, False])
def test_the_size_of_blocks_is_bounded(shape: tuple[int, int, int], on_cpu: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for cores in (1, 2, 96):
        monkeypatch.setattr(devices, "cores", lambda cores=cores: cores)
        size = BLOCK_SIZE(shape, 4, on_cpu)
        assert 0 < size <= 16 or size * shape[1] * shape[2] * 4 <= driver.BLOCK_BYTES
        if on_cpu:
            assert size % 16 == 0  # whole vectors
        else:
            assert size % 128 == 0 or size < 128 or size == shape[0]
            blocks = resident.block_edges(shape[0], size)
            assert {end - begin for begin, end in blocks} == {size}  # each length is compiled for
            held = np.zeros(shape[0], int)
            for begin, end in blocks:
                held[begin:end] += 1
            assert held.min() == 1
            assert held.mean() < 1.1  # few are run twice


def test_sequences_on_a_device_give_the_states_of_any_others(case: Case) -> None:
    """The way of a GPU, taken on the processor: blocks of one size, each in one scan."""
    values = resident.batch(case.esn, jnp.asarray(case.u))
    kept = np.full(case.expected.shape, np.nan, np.float32)
    for begin, end in resident.block_edges(SEQUENCES, BLOCK):

        def put(sequence: int, snapshot: int, states: Any, begin: int = begin, end: int = end) -> None:
            assert (sequence, snapshot) == (0, 0)
            kept[begin:end] = np.asarray(states).swapaxes(0, 1)

        resident.run_on_device(case.esn, values, EVERY, case.esn.hyper, begin, end, put)
    assert_same_bits(kept, case.expected)
    with pytest.raises(ValueError, match="NaN or infinity"):
        resident.batch(case.esn, values.at[3, 2, 0].set(jnp.nan))
    with pytest.raises(ValueError, match="none of them empty, got shape"):
        resident.batch(case.esn, values[:, :0])


def test_a_file_takes_the_memory_of_two_blocks(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "block_size", lambda *_: SEQUENCES)
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
    monkeypatch.setattr(driver, "block_size", lambda *_: SEQUENCES)
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
    made += [features.open(tmp_path / "features.bin"), Features(kept), Features(jnp.asarray(kept)), Features(kept[::-1][::-1])]
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
    assert repr(made["file"]) == f"Features(shape=(206, 4, 76), dtype=float32, in '{tmp_path / 'features.bin'}')"


def test_progress_counts_sequences(case: Case, tmp_path: Path) -> None:
    steps = [(done, SEQUENCES, "") for done in (0, 31, 62, 93, 124, 155, 186, 206)]
    for arguments in places(tmp_path).values():
        told: list[tuple[int, int, str]] = []
        features.compute(case.esn, case.u, EVERY, progress=lambda *each, told=told: told.append(each), **arguments)
        assert told == steps
    told = []
    features.compute(case.esn, case.u, EVERY, progress=lambda *each: told.append(each), path=tmp_path / "features.bin")
    assert told == [(SEQUENCES, SEQUENCES, "")], "all was there"


def test_a_finished_file_is_used_as_it_is(case: Case, runs: Runs, tmp_path: Path) -> None:
    path = tmp_path / "f"
    features.compute(case.esn, case.u, EVERY, path=path)
    assert runs.begun == store.bounds(SEQUENCES, BLOCK)[:-1]
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    rebuilt = network().build(n_inputs=1, seed=3)
    again = features.compute(rebuilt, case.u.astype(np.float64), EVERY, path=path, overwrite=True)
    assert_same_bits(again.array, case.expected)
    assert len(runs.begun) == 7, "nothing was run again"
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert not again.array.flags.writeable


CHILD = """
import os, signal, sys
from pathlib import Path
import numpy as np
import echoscale as es
from echoscale.readouts import features
from echoscale.readouts.features import blocks as driver, store

path, log, moment, when = sys.argv[1:]
driver.block_size = lambda *_: {block}
real_run, real_fill, real_put = driver._run, driver._fill, store.Writer._put
begun = []

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def run(*arguments):
    begun.append(arguments[4])
    Path(log).write_text(repr(begun))
    real_run(*arguments)

def fill(*arguments):
    real_fill(*arguments)
    if moment == "running" and len(begun) > int(when):
        die()

def put(writer, offset, content):
    if moment == "writing" and len(content) > 32 and writer.places == int(when):
        real_put(writer, offset, content[: len(content) // 2])
        die()
    real_put(writer, offset, content)
    writer.places += len(content) == 1

driver._run, driver._fill, store.Writer._put, store.Writer.places = run, fill, put, 0
esn = es.hierarchical([40, 36], leak_rate=[1.0, 0.3], input_scaling=0.7, bias_scaling=0.1).build(n_inputs=1, seed=3)
u = np.random.default_rng(0).random(({sequences}, {steps}, 1), dtype=np.float32)
features.compute(esn, u, {every}, path=path)
"""


@pytest.mark.parametrize(("moment", "when"), [("running", int(np.random.default_rng(7).integers(2, 7))), ("writing", 2)])
def test_a_killed_run_is_taken_up_with_the_same_bits(case: Case, moment: str, when: int, runs: Runs, tmp_path: Path) -> None:
    """SIGKILL while a block is run, and when half of one is written."""
    path, log, whole = tmp_path / "killed", tmp_path / "log", tmp_path / "whole"
    features.compute(case.esn, case.u, EVERY, path=whole)
    runs.begun.clear()
    script = CHILD.format(block=BLOCK, sequences=SEQUENCES, steps=STEPS, every=EVERY)
    child = subprocess.run([sys.executable, "-c", script, path, log, moment, str(when)], capture_output=True, text=True)
    assert child.returncode == -signal.SIGKILL, child.stderr
    header, missing = store.look(path)
    if moment == "running":  # the block before it may still be in the hands of the writer
        assert missing[0] in (when - 1, when)
    else:
        assert missing[0] == when
    assert missing == list(range(missing[0], 7)), "blocks are finished in order"
    with pytest.raises(FeaturesError, match=f"{missing[0] * BLOCK} of {SEQUENCES} sequences are there"):
        features.open(path)
    with path.open("r+b") as file:  # whatever stands where nothing is marked is no matter
        file.seek(header.offset + missing[0] * BLOCK * header.row)
        file.write(b"\xff" * (BLOCK * header.row // 2))
    told: list[int] = []
    found = features.compute(case.esn, case.u, EVERY, path=path, progress=lambda done, *_: told.append(done))
    assert runs.begun == [header.bounds[each] for each in missing]
    assert told == header.bounds[missing[0] :]
    assert_same_bits(found.array, case.expected)
    assert path.read_bytes() == whole.read_bytes()


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
    assert store.look(path)[1] == list(range(kept, 7))
    runs.begun.clear()
    assert_same_bits(features.compute(case.esn, case.u, EVERY, path=path).array, case.expected)
    assert runs.begun == store.bounds(SEQUENCES, BLOCK)[kept:-1]


def test_a_file_keeps_its_own_blocks(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is taken up where another number of cores would make other blocks."""
    path = tmp_path / "f"
    header = half_done(case, path)
    monkeypatch.setattr(driver, "block_size", lambda *_: 100)
    assert_same_bits(features.compute(case.esn, case.u, EVERY, path=path).array, case.expected)
    assert store.look(path) == (header, [])


def test_dense_matrices_are_taken_up_with_the_same_bits_too(case: Case, tmp_path: Path) -> None:
    """Their snapshots differ from those of one large block by rounding: at most half a bit for each of 12 products a step."""
    esn = es.single(12, leak_rate=0.5).build(n_inputs=1, seed=3)
    dense = Case(esn, case.u, esn.snapshots(case.u, EVERY))
    whole = features.compute(*dense[:2], EVERY, path=tmp_path / "whole").array
    half_done(dense, tmp_path / "half")
    assert_same_bits(features.compute(*dense[:2], EVERY, path=tmp_path / "half").array, whole)
    np.testing.assert_allclose(whole, dense.expected, rtol=0, atol=STEPS * 12 * 2.0**-24)


def half_done(case: Case, path: Path, block: int = 3) -> store.Header:
    """A file with so many blocks."""

    class Stop(Exception):
        pass

    def stop(done: int, total: int, note: str) -> None:
        if done >= block * BLOCK:
            raise Stop

    with pytest.raises(Stop):
        features.compute(case.esn, case.u, EVERY, path=path, progress=stop)
    header, missing = store.look(path)
    assert missing
    return header


def test_a_run_killed_before_its_first_block(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "f"
    features.compute(case.esn, case.u, EVERY, path=path)
    whole, header = path.read_bytes(), store.look(path)[0]
    path.write_bytes(header.encode())
    assert store.look(path) == (header, list(range(7)))
    features.compute(case.esn, case.u, EVERY, path=path)
    assert path.read_bytes() == whole


def test_a_disk_that_fails_says_where_and_the_rest_is_kept(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    real, count = os.fsync, 0

    def fsync(handle: int) -> None:
        nonlocal count
        count += 1
        if count == 4:  # one for the head, then one for each block
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match=r"No space left on device. What is there is kept") as caught:
        features.compute(case.esn, case.u, EVERY, path=path)
    assert caught.value.errno == errno.ENOSPC
    assert str(path) in str(caught.value)
    assert store.look(path)[1] == [2, 3, 4, 5, 6]
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
    before = path.read_bytes()
    words, changed = OTHERS[name]
    arguments: dict[str, Any] = {"esn": case.esn, "u": case.u, "every": EVERY, **changed(case)}
    with pytest.raises(FeaturesError, match=f"holds features of {words}[^.]*. Give another path, or overwrite=True") as caught:
        features.compute(**arguments, path=path)
    named = sum(each in str(caught.value) for each in store.MEANING.values())
    assert named == (2 if name == "precision" else 1), "what is the same is not named; in another precision inputs differ too"
    assert path.read_bytes() == before
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
    header = half_done(case, path)
    forge(path, platform="gpu")
    with pytest.raises(FeaturesError, match="an unfinished run on another kind of device"):
        features.compute(case.esn, case.u, EVERY, path=path)
    assert header.platform == "cpu"
    forge(path, platform="cpu")
    features.compute(case.esn, case.u, EVERY, path=path)
    forge(path, platform="gpu")
    assert_same_bits(features.compute(case.esn, case.u, EVERY, path=path).array, case.expected)


def forge(path: Path, **changes: Any) -> None:
    """Another header with a right checksum."""
    whole = path.read_bytes()
    text = json.dumps({**json.loads(whole.split(b"\n")[2]), **changes}).encode()
    head = store.MAGIC + hashlib.sha256(text).hexdigest().encode() + b"\n" + text + b"\n"
    path.write_bytes(head.ljust(store.PAGE) + whole[store.PAGE :])


def damage(path: Path, place: int, value: bytes = b"?") -> None:
    with path.open("r+b") as file:
        file.seek(place)
        file.write(value)


DAMAGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "checksum": ("checksum of its header is wrong", lambda path: damage(path, len(store.MAGIC) + 5)),
    "text": ("checksum of its header is wrong", lambda path: damage(path, len(store.MAGIC) + 65 + 20)),
    "mark": ("its list of blocks is broken", lambda path: damage(path, store.PAGE + 3)),
    "cut": ("has 258,687 bytes and should have 258,688", lambda path: os.truncate(path, path.stat().st_size - 1)),
    "cut short": ("has 4,099 bytes", lambda path: os.truncate(path, store.PAGE + 3)),
    "cut in the head": ("is damaged", lambda path: os.truncate(path, 100)),
    "no numbers": ("has 8,192 bytes", lambda path: os.truncate(path, 8192)),
    "longer": ("is damaged", lambda path: os.truncate(path, path.stat().st_size + 1)),
    "shape": ("is damaged", lambda path: forge(path, shape=[SEQUENCES, 4, UNITS + 1])),
    "no shape": ("does not describe features", lambda path: forge(path, shape=[1, 2])),
    "dtype": ("does not describe features", lambda path: forge(path, dtype="object")),
    "block": ("does not describe features", lambda path: forge(path, block=0)),
    "more": ("does not describe features", lambda path: forge(path, more=1)),
    "newer": ("has format version 3, this echoscale reads 1", lambda path: forge(path, version=3)),
    "blanks of the head": ("checksum of its header is wrong", lambda path: damage(path, store.PAGE - 1)),
    "blanks of the marks": ("its list of blocks is broken", lambda path: damage(path, 2 * store.PAGE - 1)),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_files_are_noticed_and_can_be_replaced(case: Case, name: str, tmp_path: Path) -> None:
    path = tmp_path / "f"
    features.compute(case.esn, case.u, EVERY, path=path)
    whole = path.read_bytes()
    words, spoil = DAMAGES[name]
    spoil(path)
    with pytest.raises(FeaturesError, match=words):
        features.open(path)
    with pytest.raises(FeaturesError, match=words):
        features.compute(case.esn, case.u, EVERY, path=path)
    features.compute(case.esn, case.u, EVERY, path=path, overwrite=True)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("content", [b"", b"somebody's thesis", b"\x80\x04\x95pickle"])
def test_files_of_others_are_never_overwritten(case: Case, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "thesis"
    path.write_bytes(content)
    with pytest.raises(FeaturesError, match=r"is no file of features. Give another path"):
        features.open(path)
    with pytest.raises(FeaturesError, match=r"is no file of features. Give another path"):
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
    row = 4 * UNITS * (4 if dtype == "float32" else 2)
    room = 8192 + SEQUENCES * row - 1
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
    header = half_done(case, path, block=4)
    missing = store.look(path)[1]
    needed = header.offset + (SEQUENCES - header.bounds[missing[0]]) * header.row
    real = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: real._replace(free=needed - 1))
    with pytest.raises(OSError, match="GB free"):
        features.compute(case.esn, case.u, EVERY, path=path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: real._replace(free=needed))
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


def test_changed_numbers_are_refused_or_computed_anew(case: Case, runs: Runs, tmp_path: Path) -> None:
    """One bit of a number, a page of zeros, one bit of a checksum: the blocks that they lie in, and no others."""
    path = tmp_path / "f"
    features.compute(case.esn, case.u, EVERY, path=path)
    whole, header = path.read_bytes(), store.look(path)[0]
    rng = np.random.default_rng(0)
    places = [int(each) for each in rng.integers(header.offset, header.size, 30)]
    spoils = [(place, bytes([whole[place] ^ (1 << int(rng.integers(8)))])) for place in places]
    spoils += [
        (header.offset + 40_000, bytes(4096)),
        (store.PAGE + header.blocks + 3, bytes([whole[store.PAGE + header.blocks + 3] ^ 1])),
    ]
    for place, value in spoils:
        damage(path, place, value)
        with pytest.raises(FeaturesError, match=r"numbers of [12] of its 7 blocks have changed"):
            features.open(path)
        runs.begun.clear()
        assert_same_bits(features.compute(case.esn, case.u, EVERY, path=path).array, case.expected)
        begins = header.bounds[:-1]
        first = max(begin for begin in begins if place < header.offset or header.offset + begin * header.row <= place)
        assert runs.begun[0] == (0 if place < header.offset else first)
        assert path.read_bytes() == whole


def test_checksums_see_flipped_bits_wherever_they_are_and_words_that_changed_places() -> None:
    rng = np.random.default_rng(3)
    content = rng.bytes(8 * store.WORDS * 3 + 21)  # three rows of the table of sums, and what does not fill another

    def digest(words: bytes) -> bytes:
        made = store.Checksum()
        made.add(memoryview(words))
        return made.digest()

    right = digest(content)
    for place in [*rng.integers(0, 8 * len(content), 200), 0, 8 * len(content) - 1]:
        wrong = bytearray(content)
        wrong[place // 8] ^= 1 << (place % 8)
        assert digest(bytes(wrong)) != right
    words = np.frombuffer(content[: 8 * store.WORDS * 3], np.uint64).reshape(3, store.WORDS)
    for order in ((1, 0, 2), (0, 2, 1)):  # pages that changed places
        assert digest(words[list(order)].tobytes() + content[words.nbytes :]) != right
    assert digest(np.roll(words, 1, axis=1).tobytes() + content[words.nbytes :]) != right
    for other in ((0, 7), (2, 5)):  # one more here and one less there, in a row and in a column
        wrong_words = words.copy()
        wrong_words[0, 5] += 1
        wrong_words[other] -= 1
        assert digest(wrong_words.tobytes() + content[words.nbytes :]) != right
