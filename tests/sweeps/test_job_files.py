"""Files of finished jobs: the same bits back, and no wrong result out of a damaged file."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from echoscale.network.fingerprint import fingerprint
from echoscale.sweeps import jobs
from echoscale.sweeps.jobs import Outcome

RESULTS: dict[str, Any] = {
    "numbers": np.array([[1.5, np.nan, -0.0], [np.inf, 1e-310, 3.0]]),
    "single": np.arange(3, dtype=np.float32),
    "whole": np.array(7),
    "sure": np.array([True, False]),
    "complex": np.array([1 + 2j]),
    "nothing": np.empty((0, 3)),
    "file": np.array([1], ">i4"),  # the name of an argument of np.savez
    "job": np.asfortranarray(np.ones((2, 3))),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "key.npz"
    jobs.write(made, Outcome(RESULTS, None, 1.25))
    return made


def assert_same(found: Outcome | None) -> None:
    assert found is not None
    assert found.results is not None
    assert list(found.results) == list(RESULTS)
    for name, values in RESULTS.items():
        assert found.results[name].dtype == values.dtype
        assert found.results[name].shape == values.shape
        assert found.results[name].tobytes() == values.tobytes()
    assert (found.seconds, found.kept, found.error) == (1.25, True, None)


def test_the_same_bits_come_back(file: Path) -> None:
    assert_same(jobs.read(file))
    with np.load(file) as arrays:  # as any other program reads it
        assert arrays["single"].tolist() == [0, 1, 2]


def test_writing_twice_gives_the_same_bytes(file: Path) -> None:
    before = file.read_bytes()
    jobs.write(file, Outcome(RESULTS, None, 1.25))
    assert file.read_bytes() == before
    assert [each.name for each in file.parent.iterdir()] == ["key.npz"]


def test_no_file_is_no_result(tmp_path: Path) -> None:
    assert jobs.read(tmp_path / "none.npz") is None


@pytest.mark.filterwarnings("ignore:.*is damaged")
def test_no_flipped_byte_gives_another_result(file: Path) -> None:
    """Every byte of the file in turn; the few that say nothing, such as the date, may pass."""
    whole, passed = file.read_bytes(), 0
    rng = np.random.default_rng(0)
    for place in range(len(whole)):
        content = bytearray(whole)
        content[place] ^= int(rng.integers(1, 256))
        file.write_bytes(content)
        if (found := jobs.read(file)) is not None:
            assert_same(found)
            passed += 1
    assert passed < 0.3 * len(whole)


@pytest.mark.filterwarnings("ignore:.*is damaged")
def test_no_part_of_a_file_gives_a_result(file: Path) -> None:
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        assert jobs.read(file) is None, length


@pytest.mark.parametrize("content", [b"", b"leak_rate,error\n", b"\x80\x04]\x94.", b"PK\x05\x06" + bytes(18)])
def test_files_of_another_kind(content: bytes, file: Path) -> None:
    file.write_bytes(content)
    with pytest.warns(UserWarning, match=rf"{file} is damaged \(.*\): its job is not finished and runs again"):
        assert jobs.read(file) is None


def test_pickled_objects_are_refused(file: Path) -> None:
    np.savez(file, **{"numbers": np.array([{}], object), jobs.SECONDS: 1.0})  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="Object arrays cannot be loaded when allow_pickle=False"):
        assert jobs.read(file) is None


def test_a_full_disk_is_told(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = file.read_bytes()
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match=r"key\.npz was not saved \(.*No space left.*Earlier jobs are kept: free") as caught:
        jobs.write(file, Outcome({}, None, 0.0))
    assert caught.value.errno == errno.ENOSPC
    assert file.read_bytes() == before


def test_errors_are_kept_until_the_job_is_finished(file: Path) -> None:
    assert jobs.error_in(file) is None
    jobs.write(file, Outcome(None, "OSError: no \udcff µ", 0.0))
    assert jobs.error_in(file) == "OSError: no \\udcff µ"
    jobs.write(file, Outcome(RESULTS, None, 1.25))
    assert jobs.error_in(file) is None
    jobs.write(file, Outcome(None, "again", 0.0))
    jobs.forget(file)
    assert (jobs.read(file), jobs.error_in(file)) == (None, None)
    jobs.forget(file)


def test_sweeps_are_listed_with_their_counts(tmp_path: Path) -> None:
    settings = [{"axes": [k]} for k in range(2)]
    names = [fingerprint(each)[:12] for each in settings]
    for k in (1, 0):
        jobs.write_sweep(tmp_path, settings[k], ["a", f"b{k}", "a"])
        before = (tmp_path / f"{names[k]}.json").read_bytes()
        jobs.write_sweep(tmp_path, settings[k], ["a", f"b{k}", "a"])
        assert (tmp_path / f"{names[k]}.json").read_bytes() == before, "written once"
    jobs.write(tmp_path / "a.npz", Outcome({}, None, 0.0))
    jobs.write(tmp_path / "b0.npz", Outcome(None, "no", 0.0))
    counts = {each["id"]: (each["jobs"], each["done"], each["failed"]) for each in jobs.sweeps(tmp_path)}
    assert counts == {names[0]: (2, 1, 1), names[1]: (2, 1, 0)}
    assert jobs.read_sweep(tmp_path, names[0])["settings"] == settings[0]  # type: ignore[index]


@pytest.mark.parametrize("k", range(0, 200, 7))
def test_a_sweep_that_has_changed_is_not_read(k: int, tmp_path: Path) -> None:
    settings = {"axes": [0.1, 0.2]}
    name = fingerprint(settings)[:12]
    jobs.write_sweep(tmp_path, settings, ["a" * 64, "b" * 64])
    file = tmp_path / f"{name}.json"
    content = bytearray(file.read_bytes())
    content[k] ^= 1
    file.write_bytes(content)
    assert jobs.read_sweep(tmp_path, name) is None
