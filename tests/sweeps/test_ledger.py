"""The ledger keeps what it was given through crashes, gives each job to one process, and says what is wrong with a file."""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from echoscale.sweeps import ledger as module
from echoscale.sweeps import ledger_file
from echoscale.sweeps.ledger import Ledger, LedgerError, Record
from echoscale.sweeps.ledger_file import DTYPES, Owner


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sweep.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger(path) as each:
        yield each


def sql(path: Path, query: str, *values: Any) -> list[Any]:
    """Past the ledger, as another program would."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.close()


def forge(path: Path, key: str, owner: Owner, age: float = 0.0) -> None:
    """A claim of somebody else, `age` seconds after its last heartbeat."""
    sql(path, "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?)", key, *owner, time.time() - age)


def start(script: str, path: Path, *arguments: str) -> subprocess.Popen[str]:
    """A process of its own that has opened the ledger `book`; it acts when it reads a line."""
    head = "import json, sys\nfrom echoscale.sweeps.ledger import Ledger\n"
    return subprocess.Popen(
        [sys.executable, "-c", head + script, str(path), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def told(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def end(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        process.communicate()  # closes its input, for which the scripts wait
        assert process.returncode == 0


def results_of(ledger: Ledger, key: str) -> dict[str, npt.NDArray[Any]]:
    found = ledger.finished([key])[key].results
    assert found is not None
    return found


HOLD = "book = Ledger(sys.argv[1]); print(book.claim('a'), flush=True); sys.stdin.read()"


# What goes in comes out

any_bits = st.integers(0, 2**64 - 1).map(lambda n: struct.unpack("<d", struct.pack("<Q", n))[0])
curves = st.dictionaries(st.text(max_size=8), st.lists(st.floats() | any_bits, max_size=8), max_size=4)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    with Ledger(tmp_path_factory.mktemp("ledger") / "sweep.db") as each:
        yield each


names = map(str, itertools.count())


@settings(deadline=None)
@given(results=curves, seconds=st.floats(0, allow_infinity=False))
def test_results_come_back_bit_for_bit(shared: Ledger, results: dict[str, list[float]], seconds: float) -> None:
    key = next(names)
    shared.finish(key, "s", results, seconds)
    record = shared.finished([key])[key]
    assert record[:2] == (key, "s")
    assert record[3:] == (None, seconds)
    assert record.results is not None
    assert list(record.results) == list(results)
    for name, values in results.items():
        assert struct.pack(f"<{len(values)}d", *record.results[name]) == struct.pack(f"<{len(values)}d", *values)


def test_another_process_reads_the_same(ledger: Ledger) -> None:
    values = [0.1, -0.0, 5e-324, float("inf"), float("nan")]
    ledger.finish("a", "s", {"test": values}, 1.5)
    script = "print(json.dumps([x.hex() for x in Ledger(sys.argv[1]).finished(['a'])['a'].results['test']]))"
    reader = start(script, ledger.path)
    assert json.loads(told(reader)) == [value.hex() for value in values]
    end(reader)


def test_jobs_come_in_the_order_asked_for_and_only_done_ones(ledger: Ledger) -> None:
    keys = [f"{k:04}" for k in range(1200)]  # more than one query takes
    for k, key in enumerate(keys):
        ledger.fail(key, "s", "boom", 0.5) if k % 3 == 0 else ledger.finish(key, "s", {"test": [k]}, 1.0)
    asked = ["unknown", *reversed(keys), keys[1]]
    done = [key for key in reversed(keys) if int(key) % 3]
    assert list(ledger.finished(asked)) == done
    assert all(results_of(ledger, key)["test"] == [float(key)] for key in done)
    assert list(ledger.failures(asked)) == [key for key in reversed(keys) if int(key) % 3 == 0]
    assert ledger.failures(["0003"]) == {"0003": Record("0003", "s", None, "boom", 0.5)}
    assert ledger.finished([]) == {}


def test_odd_text_in_an_error_is_kept_readable(ledger: Ledger) -> None:
    ledger.fail("a", "s", "no file caf\udce9\0 \u2603", 0.0)
    assert ledger.failures(["a"])["a"].error == "no file caf\\udce9\0 \u2603"


def test_summary_of_sweeps(ledger: Ledger) -> None:
    before = time.time()
    ledger.begin("one", {"units": [10, 20], "ridge": float("nan")})
    ledger.begin("two", {})
    ledger.begin("three", {})
    ledger.link("one", ["a", "b", "c", "d", "a"])
    ledger.link("two", ["c", "a"])
    ledger.finish("a", "one", {"test": [1.0]}, 2.0)
    ledger.fail("b", "one", "boom", 3.0)
    ledger.finish("c", "two", {"test": [1.0]}, 4.0)
    ledger.finish("z", "elsewhere", {"test": [1.0]}, 100.0)
    one, two, three = ledger.sweeps()
    assert {name: one[name] for name in ("id", "jobs", "done", "failed", "seconds")} == dict(
        id="one", jobs=4, done=2, failed=1, seconds=9.0
    )
    assert one["settings"]["units"] == [10, 20]
    assert (two["id"], two["jobs"], two["done"], two["failed"], two["seconds"]) == ("two", 2, 2, 0, 6.0)
    assert (three["jobs"], three["done"], three["failed"], three["seconds"]) == (0, 0, 0, 0.0)
    created = datetime.fromisoformat(one["created"])
    assert before - 1 <= created.timestamp() <= time.time()


def test_begin_and_link_may_be_repeated(ledger: Ledger) -> None:
    for _ in range(2):
        ledger.begin("s", {"b": 1, "a": (1, float("nan"))})
        ledger.link("s", ["x", "y"])
    ledger.begin("s", {"a": [1, float("nan")], "b": 1})
    assert len(ledger.sweeps()) == 1
    ledger.link("s", ["y", "x", "z"])
    assert sql(ledger.path, "SELECT key FROM links ORDER BY position") == [("y",), ("x",), ("z",)]
    with pytest.raises(ValueError, match=r"sweep 's' has other settings in the ledger \(a, c\)"):
        ledger.begin("s", {"a": [2], "b": 1, "c": None})
    with pytest.raises(ValueError, match=r"no sweep 'unknown' in the ledger\. Call begin"):
        ledger.link("unknown", ["x"])


def test_the_first_result_stays(ledger: Ledger) -> None:
    ledger.fail("a", "s", "boom", 1.0)
    ledger.finish("a", "first", {"test": [1.0], "ridge": [2.0]}, 1.0)
    record = ledger.finished(["a"])
    ledger.finish("a", "second", {"other": [3.0]}, 2.0)
    ledger.fail("a", "third", "boom", 3.0)
    assert ledger.finished(["a"]).keys() == record.keys()
    assert {name: values.tolist() for name, values in results_of(ledger, "a").items()} == {"test": [1.0], "ridge": [2.0]}
    assert record["a"].sweep == "first"
    assert ledger.failures(["a"]) == {}


def test_settings_of_the_file(ledger: Ledger) -> None:
    assert sql(ledger.path, "PRAGMA journal_mode") == [("wal",)]
    assert sql(ledger.path, "PRAGMA user_version") == [(ledger_file.FORMAT_VERSION,)]
    assert ledger._connection is not None
    assert ledger._connection.execute("PRAGMA synchronous").fetchone() == (1,)
    assert ledger._connection.execute("PRAGMA busy_timeout").fetchone() == (1000 * ledger_file.BUSY_SECONDS,)


def test_importing_the_ledger_is_light() -> None:
    script = "import sys, echoscale.sweeps.ledger; assert not {'numpy', 'jax', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


# Claims


def stranger(path: Path, **options: float) -> Ledger:
    """A ledger as a process on another host would have it."""
    other = Ledger(path, **options)
    other._owner = Owner("elsewhere", os.getpid())
    return other


def test_one_process_gets_each_job(path: Path) -> None:
    """They make the file at the same time, too."""
    script = (
        "print('ready', flush=True); sys.stdin.readline(); book = Ledger(sys.argv[1])\n"
        "print(json.dumps([k for k in map(str, range(200)) if book.claim(k)]), flush=True); sys.stdin.read()"
    )
    racers = [start(script, path) for _ in range(4)]
    assert {told(racer) for racer in racers} == {"ready"}
    for racer in racers:
        tell(racer)
    claimed = [key for racer in racers for key in json.loads(told(racer))]
    end(*racers)
    assert sorted(claimed, key=int) == [str(k) for k in range(200)]


def test_processes_share_out_the_jobs_and_all_are_done_once(path: Path) -> None:
    script = (
        "book = Ledger(sys.argv[1]); me = sys.argv[2]; print('ready', flush=True); sys.stdin.readline(); mine = []\n"
        "for key in map(str, range(150)):\n"
        "    if book.claim(key): book.finish(key, me, {'test': [float(key)]}, 0.0); mine.append(key)\n"
        "print(json.dumps(mine), flush=True); sys.stdin.read()"
    )
    workers = [start(script, path, str(k)) for k in range(3)]
    assert {told(worker) for worker in workers} == {"ready"}
    for worker in workers:
        tell(worker)
    mine = {str(k): json.loads(told(worker)) for k, worker in enumerate(workers)}
    end(*workers)
    keys = [str(k) for k in range(150)]
    assert sorted(itertools.chain(*mine.values()), key=int) == keys
    with Ledger(path) as ledger:
        records = ledger.finished(keys)
        assert all(results_of(ledger, key)["test"] == [float(key)] for key in keys)
    assert list(records) == keys
    assert all(key in mine[record.sweep] for key, record in records.items())


@pytest.mark.skipif(os.name != "posix", reason="only there a signal tells the dead from the living")
def test_a_live_owner_keeps_its_job_and_a_killed_one_loses_it_at_once(ledger: Ledger) -> None:
    owner = start(HOLD, ledger.path)
    assert told(owner) == "True"
    assert not ledger.claim("a")
    owner.kill()
    owner.communicate()
    assert ledger.claim("a")


def test_an_owner_that_leaves_in_order_gives_back_its_claims(ledger: Ledger) -> None:
    with stranger(ledger.path) as other:
        assert other.claim("a")
        assert not ledger.claim("a")
    assert ledger.claim("a")


@pytest.mark.parametrize(("age", "free"), [(0.0, False), (50.0, False), (61.0, True), (-50.0, False), (-3600.0, True)])
def test_on_another_host_the_heartbeat_decides(ledger: Ledger, age: float, free: bool) -> None:
    forge(ledger.path, "a", Owner("elsewhere", 1), age)
    assert ledger.claim("a") == free


def test_the_heartbeat_keeps_a_claim(path: Path) -> None:
    with Ledger(path) as ledger, stranger(path) as other:
        assert ledger.claim("a")
        assert ledger.claim("b")
        sql(path, "UPDATE claims SET beat = beat - 100")
        ledger.heartbeat()
        assert not other.claim("a")
        sql(path, "UPDATE claims SET beat = beat - 100")
        assert other.claim("a")
    with Ledger(path, stale_after=1000.0) as patient, stranger(path) as other:
        assert other.claim("c")
        sql(path, "UPDATE claims SET beat = beat - 100")
        assert not patient.claim("c")


def test_who_lost_a_claim_does_not_touch_that_of_the_next(ledger: Ledger) -> None:
    with stranger(ledger.path) as other:
        assert ledger.claim("a")
        sql(ledger.path, "UPDATE claims SET beat = beat - 100")
        assert other.claim("a")
        ledger.heartbeat()
        ledger.release("a")
        ledger.fail("a", "s", "boom", 1.0)
        assert not ledger.claim("a")
        ledger.finish("a", "s", {"test": [1.0]}, 1.0)  # late, but first
        assert not other.claim("a")
        other.finish("a", "t", {"test": [2.0]}, 1.0)
    assert results_of(ledger, "a")["test"] == [1.0]


def test_which_jobs_may_be_claimed(ledger: Ledger) -> None:
    with stranger(ledger.path) as other:
        assert ledger.claim("a")
        assert ledger.claim("a")
        ledger.release("a")
        assert other.claim("a")
        other.fail("a", "s", "boom", 1.0)
        assert ledger.claim("a")
        ledger.finish("a", "s", {}, 1.0)
        assert not ledger.claim("a")
        assert not other.claim("a")
    assert sql(ledger.path, "SELECT * FROM claims") == []
    assert ledger.finished(["a"])["a"].results == {}


def test_a_heartbeat_thread_beside_the_driver(ledger: Ledger) -> None:
    stop, errors = threading.Event(), []

    def beat() -> None:
        try:
            while not stop.wait(0.0005):
                ledger.heartbeat()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=beat)
    thread.start()
    keys = [str(k) for k in range(300)]
    for key in keys:
        assert ledger.claim(key)
        ledger.finish(key, "s", {"test": [1.0]}, 0.0)
    stop.set()
    thread.join()
    assert errors == []
    assert len(ledger.finished(keys)) == 300


# Crashes


@pytest.mark.parametrize("count", [1, 60, 400])
def test_kill_in_a_stream_of_jobs_loses_none_that_was_finished(path: Path, count: int) -> None:
    script = (
        "book = Ledger(sys.argv[1])\n"
        "for k in range(10**9):\n"
        "    book.claim(str(k)); book.finish(str(k), 's', {'test': [float(k)] * 500}, 1.0); print(k, flush=True)\n"
    )
    worker = start(script, path)
    for _ in range(count):
        told(worker)
    worker.send_signal(signal.SIGKILL)
    rest, _ = worker.communicate()
    keys = [str(k) for k in range(count + len(rest.split()))]  # a line, even one cut short, comes after its job was finished
    assert sql(path, "PRAGMA integrity_check") == [("ok",)]
    with Ledger(path) as ledger:
        records = ledger.finished(keys)
        assert list(records) == keys
        found = {key: record.results for key, record in records.items()}
        assert all(each is not None and np.array_equal(each["test"], [float(key)] * 500) for key, each in found.items())
        assert ledger.claim("next")


def test_an_interrupted_transaction_leaves_nothing(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, "_is_done", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ledger.finish("a", "s", {"test": [1.0]}, 1.0)
    assert ledger.finished(["a"]) == {}
    assert ledger.claim("a")
    assert ledger._connection is not None
    ledger._connection.execute("BEGIN")  # as if the roll-back itself had been interrupted
    ledger.finish("a", "s", {"test": [1.0]}, 1.0)
    assert list(ledger.finished(["a"])) == ["a"]


def test_a_full_disk(ledger: Ledger) -> None:
    ledger.finish("a", "s", {"test": [1.0]}, 1.0)
    assert ledger._connection is not None
    [(pages,)] = ledger._connection.execute("PRAGMA page_count").fetchall()
    ledger._connection.execute(f"PRAGMA max_page_count = {pages + 1}").fetchall()
    assert ledger.claim("b")
    with pytest.raises(
        OSError, match=r"no space left for .*: the result of job b was not saved\. Jobs finished before"
    ) as caught:
        ledger.finish("b", "s", {"test": [1.0] * 100_000}, 1.0)
    assert caught.value.errno == errno.ENOSPC
    assert list(ledger.finished(["a", "b"])) == ["a"]
    ledger._connection.execute("PRAGMA max_page_count = 1000000").fetchall()
    ledger.finish("b", "s", {"test": [1.0] * 100_000}, 1.0)
    assert list(ledger.finished(["a", "b"])) == ["a", "b"]


def test_a_write_that_the_system_refuses(ledger: Ledger) -> None:
    resource = pytest.importorskip("resource")
    ledger.finish("a", "s", {"test": [1.0]}, 1.0)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        with pytest.raises(OSError, match=r"could not be read or written \(.*\): the result of job b was not saved\. Jobs fin"):
            ledger.finish("b", "s", {"test": [1.0] * 100_000}, 1.0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(ledger.finished(["a", "b"])) == ["a"]
    ledger.finish("b", "s", {"test": [1.0] * 100_000}, 1.0)
    assert sql(ledger.path, "PRAGMA integrity_check") == [("ok",)]


def test_a_lock_that_is_not_given_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_file, "BUSY_SECONDS", 0.1)
    with Ledger(path) as ledger:
        ledger.finish("a", "s", {"test": [1.0]}, 1.0)
        blocker = sqlite3.connect(path, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        with pytest.raises(TimeoutError, match=r"locked by another process for more than 0.1 s: the result of job b was not"):
            ledger.finish("b", "s", {"test": [1.0]}, 1.0)
        with pytest.raises(TimeoutError, match=r"the ledger was not opened\. .* run again"):
            Ledger(path)
        assert list(ledger.finished(["a", "b"])) == ["a"]  # readers do not wait
        blocker.close()
        assert ledger.claim("b")


# Files that cannot be a ledger


def test_paths_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=r"is a folder\. Give a file name"):
        Ledger(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing for the ledger sweep\.db\. Make it first"):
        Ledger(tmp_path / "missing" / "sweep.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"xy", b"leak_rate,error\n0.1,0.2\n", b"SQLite format 4\0" * 400], ids=["bytes", "text", "pages"]
)
def test_a_file_that_is_no_database(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"sweep\.db is not an SQLite database, so not a ledger"):
        Ledger(path)
    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_ledger(path: Path) -> None:
    path.touch()
    with Ledger(path) as ledger:
        assert ledger.claim("a")


@pytest.mark.parametrize("query", ["CREATE TABLE jobs (key TEXT)", "PRAGMA user_version = 1", "PRAGMA application_id = 7"])
def test_a_database_of_something_else_is_left_alone(path: Path, query: str) -> None:
    sql(path, query)
    content = path.read_bytes()
    with pytest.raises(LedgerError, match=r"sweep\.db is a database of another program, not a ledger"):
        Ledger(path)
    assert path.read_bytes() == content
    assert [each.name for each in path.parent.iterdir()] == ["sweep.db"]


def test_a_newer_format(path: Path) -> None:
    Ledger(path).close()
    newer = ledger_file.FORMAT_VERSION + 1
    sql(path, f"PRAGMA user_version = {newer}")
    with pytest.raises(LedgerError, match=f"newer echoscale: it has format {newer}, this one knows {newer - 1}"):
        Ledger(path)


def test_a_damaged_file(path: Path) -> None:
    with Ledger(path) as ledger:
        ledger.finish("a", "s", {"test": [1.0] * 2000}, 1.0)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with Ledger(path) as ledger, pytest.raises(LedgerError, match=r"is damaged \(.*\): finished jobs were not read"):
        ledger.finished(["a"])


@pytest.fixture
def guarded() -> Iterator[Path]:
    """A folder where permissions count, also for root, who is nobody meanwhile."""
    if not hasattr(os, "seteuid"):
        pytest.skip("permissions of another kind")
    folder = Path(tempfile.mkdtemp())  # not in tmp_path, which others cannot enter
    user = os.geteuid()
    try:
        yield folder
    finally:
        os.seteuid(user)
        folder.chmod(0o700)
        shutil.rmtree(folder)


def without_privileges() -> None:
    if os.geteuid() == 0:
        os.seteuid(65534)


@pytest.mark.parametrize(
    ("there", "file", "folder"), [(True, 0o444, 0o777), (True, 0o666, 0o555), (False, 0, 0o555), (True, 0, 0o777)]
)
def test_what_may_not_be_written(guarded: Path, there: bool, file: int, folder: int) -> None:
    path = guarded / "sweep.db"
    if there:
        Ledger(path).close()
        path.chmod(file)
    guarded.chmod(folder)
    without_privileges()
    with pytest.raises(
        PermissionError, match=r"sweep\.db cannot be written \(.*\): the ledger was not opened\. .* path elsewhere"
    ):
        Ledger(path)


def test_a_closed_ledger_says_so(path: Path) -> None:
    ledger = Ledger(path)
    ledger.close()
    ledger.close()
    with pytest.raises(ValueError, match=r"is closed\. Open it again"):
        ledger.heartbeat()


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_times_that_make_no_sense(path: Path, value: float) -> None:
    with pytest.raises(ValueError, match="stale_after must be"):
        Ledger(path, stale_after=value)
    if value:
        with Ledger(path) as ledger, pytest.raises(ValueError, match="seconds must"):
            ledger.finish("a", "s", {}, value)


def test_results_that_are_no_numbers(ledger: Ledger) -> None:
    values: Any
    for values in ("0.5", ["0.5"], [None], np.array([object()], object), np.array(["2026-01-01"], "M8[s]"), np.longdouble(1)):
        with pytest.raises(TypeError, match=r"results\['test'\] must hold numbers or truth values, got"):
            ledger.finish("a", "s", {"test": values}, 1.0)
    assert ledger.finished(["a"]) == {}


# Arrays


@pytest.mark.parametrize("dtype", [*DTYPES, ">f8", ">i4"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 4)])
def test_arrays_of_every_kind_come_back_bit_for_bit(ledger: Ledger, dtype: str, shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).integers(0, 2, (2, *shape)).astype(dtype)
    turned = values[0].T.copy().T  # not in the order of C
    ledger.finish("a", "s", {"x": turned, "y": values[1]}, 1.0)
    with Ledger(ledger.path) as again:
        found = results_of(again, "a")
    np.testing.assert_array_equal(found["x"], values[0], strict=dtype[0] != ">")
    np.testing.assert_array_equal(found["y"], values[1])
    assert found["x"].dtype == np.dtype(dtype).newbyteorder("=")
    assert found["x"].flags.writeable


DAMAGES = {
    "a bit of an array": "UPDATE arrays SET data = x'0000000000000840' WHERE name = 'x'",
    "an array cut short": "UPDATE arrays SET data = substr(data, 1, 7) WHERE name = 'x'",
    "a number in place of an array": "UPDATE arrays SET data = 7 WHERE name = 'x'",
    "nothing in place of a type": "UPDATE arrays SET dtype = '' WHERE name = 'x'",
    "another type": "UPDATE arrays SET dtype = 'i8' WHERE name = 'x'",
    "another shape": "UPDATE arrays SET shape = '[1, 1]' WHERE name = 'x'",
    "another name": "UPDATE arrays SET name = 'z' WHERE name = 'x'",
    "a lost array": "DELETE FROM arrays WHERE name = 'x'",
    "another order": "UPDATE arrays SET position = 5 WHERE name = 'x'",
    "another time": "UPDATE jobs SET seconds = 2.0",
    "no time": "UPDATE jobs SET seconds = 'long'",
    "a lost digest": "UPDATE jobs SET digest = NULL",
    "the results of another job": "UPDATE jobs SET key = 'b'; UPDATE arrays SET key = 'b'",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_result_is_dropped_and_its_job_is_open_again(ledger: Ledger, damage: str) -> None:
    ledger.finish("a", "s", {"x": [1.0], "y": [2.0]}, 1.0)
    for query in DAMAGES[damage].split(";"):
        sql(ledger.path, query)
    key = "b" if damage == "the results of another job" else "a"
    assert ledger.finished([key]) == {}
    assert sql(ledger.path, "SELECT * FROM jobs") == sql(ledger.path, "SELECT * FROM arrays") == []
    assert ledger.claim(key)
    ledger.finish(key, "s", {"x": [3.0]}, 1.0)
    assert results_of(ledger, key)["x"] == [3.0]


def test_forgotten_jobs_are_open_again(ledger: Ledger) -> None:
    for key in "abc":
        ledger.finish(key, "s", {"x": [1.0]}, 1.0)
    ledger.fail("d", "s", "boom", 1.0)
    ledger.forget(["a", "d", "unknown"])
    assert list(ledger.finished(["a", "b", "c"])) == ["b", "c"]
    assert ledger.failures(["d"]) == {}
    assert ledger.claim("a")
    assert not ledger.claim("b")


SWEEP_DAMAGES = {
    "another setting": """UPDATE sweeps SET settings = '{"axes": [0.7]}'""",
    "no JSON": "UPDATE sweeps SET settings = 'x'",
    "bytes": "UPDATE sweeps SET settings = x'ff00'",
    "another job": "UPDATE links SET key = 'z' WHERE position = 1",
    "another order": "UPDATE links SET position = 7 WHERE position = 0",
    "a lost job": "DELETE FROM links WHERE position = 1",
    "another digest": "UPDATE sweeps SET digest = x'00'",
    "a lost digest": "UPDATE sweeps SET digest = NULL",
}


@pytest.mark.parametrize("damage", SWEEP_DAMAGES)
def test_a_damaged_sweep_is_not_read_until_it_is_run_again(ledger: Ledger, damage: str) -> None:
    ledger.begin("s", {"axes": [0.5]})
    ledger.link("s", ["a", "b"])
    sql(ledger.path, SWEEP_DAMAGES[damage])
    assert ledger.sweeps()[0]["settings"] is None
    with pytest.raises(LedgerError, match="sweep s have changed: run the sweep again"):
        ledger.linked("s")
    ledger.begin("s", {"axes": [0.5]})
    ledger.link("s", ["a", "b"])
    assert ledger.linked("s") == ["a", "b"]
    assert ledger.sweeps()[0]["settings"] == {"axes": [0.5]}
