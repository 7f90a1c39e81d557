"""The runner: jobs over threads, kept one by one, never done twice, and the same bits after an interrupt or `kill -9`."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from echoscale.sweeps import job as jobs_module
from echoscale.sweeps.executors import InProcess, Stopped
from echoscale.sweeps.job import Arrays, Check, Job
from echoscale.sweeps.ledger import Ledger
from echoscale.sweeps.runner import Runner

PATIENCE = 60.0  # seconds after which something hangs

Act = Callable[[int, Check], None]


class Stage:
    """What the jobs of a test do besides, which is no part of their keys, and which of them were begun."""

    def __init__(self) -> None:
        self.log: list[int] = []
        self.act: Act = lambda k, check: None


STAGE = Stage()


def square(k: int, check: Check) -> Arrays:
    STAGE.log.append(k)
    STAGE.act(k, check)
    rng = np.random.default_rng(k)
    return {"square": np.array(k**2), "half": rng.random((2, 3), np.float32), "sure": rng.random(4) < 0.5}


def plain(k: int) -> Arrays:
    """One that takes no check."""
    return {"double": np.array([2 * k])}


@pytest.fixture(autouse=True)
def stage() -> Iterator[Stage]:
    STAGE.__init__()  # type: ignore[misc]
    yield STAGE
    STAGE.__init__()  # type: ignore[misc]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def numbered(count: int) -> list[Job]:
    return [Job.of(square, k=k) for k in range(count)]


def squares(found: list[Arrays]) -> list[int]:
    return [int(each["square"]) for each in found]


def kept(path: Path, count: int = 20) -> set[int]:
    with Ledger(path) as ledger:
        found = ledger.finished([job.key() for job in numbered(count)])
    return {k for k, job in enumerate(numbered(count)) if job.key() in found}


def claims(path: Path) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT key FROM claims").fetchall()


def wait_for(event: threading.Event) -> None:
    assert event.wait(PATIENCE), "another job should have come this far"


def until_stopped(check: Check) -> None:
    """Busy until check() says that the run is over."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        check()
        time.sleep(0.001)
    raise AssertionError("nobody said that the run is over")


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_jobs(path: Path, threads: int, stage: Stage) -> None:
    """Though the first one ends last."""
    last = threading.Event()

    def act(k: int, check: Check) -> None:
        if threads > 1 and k == 0:
            wait_for(last)
        elif k == 5:
            last.set()

    stage.act = act
    told: list[tuple[int, int, str]] = []
    run = Runner(path, progress=lambda *said: told.append(said))
    assert squares(list(run(numbered(6), threads=threads))) == [0, 1, 4, 9, 16, 25]
    assert [said[:2] for said in told] == [(k, 6) for k in range(7)]
    assert kept(path) == set(range(6))
    assert claims(path) == []


def test_jobs_that_take_no_check_and_equal_jobs(stage: Stage) -> None:
    assert [each["double"].tolist() for each in Runner()([Job.of(plain, k=3), Job.of(plain, k=4)])] == [[6], [8]]
    twice = list(Runner()([*numbered(2), *numbered(2)]))
    assert squares(twice) == [0, 1, 0, 1]
    assert stage.log == [0, 1], "equal jobs are one"


def test_kept_jobs_are_not_done_again_and_come_back_bit_for_bit(path: Path, stage: Stage) -> None:
    first, again = Runner(path), Runner(path)
    before = list(first(numbered(3), threads=2))
    after = list(again(numbered(5), threads=2))
    assert sorted(stage.log) == list(range(5)), "every job once"
    for found, expected in zip(after[:3], before, strict=True):
        assert list(found) == list(expected)
        for name, values in expected.items():
            np.testing.assert_array_equal(found[name], values, strict=True)
    assert again.seconds > first.seconds > 0, "the time of all jobs, those of the earlier run too"


def test_fresh_computes_anew_and_replaces(path: Path, stage: Stage) -> None:
    list(Runner(path)(numbered(3)))
    key = numbered(1)[0].key()
    with Ledger(path) as ledger:
        ledger.forget([key])
        ledger.finish(key, "s", {"square": -1}, 0.0)
    assert squares(list(Runner(path)(numbered(3)))) == [-1, 1, 4], "what is there is taken"
    assert squares(list(Runner(path, fresh=True)(numbered(3)))) == [0, 1, 4]
    assert squares(list(Runner(path)(numbered(3)))) == [0, 1, 4]
    assert stage.log == [0, 1, 2, 0, 1, 2]


def test_damaged_results_are_computed_anew(path: Path, stage: Stage) -> None:
    expected = list(Runner(path)(numbered(3)))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE arrays SET data = x'000000000000000000000000000000000000000000000000' WHERE key = ? AND name = 'half'",
            (numbered(2)[1].key(),),
        )
    stage.log.clear()
    found = list(Runner(path)(numbered(3)))
    assert stage.log == [1]
    np.testing.assert_array_equal(found[1]["half"], expected[1]["half"])


def test_a_change_of_the_numerics_runs_everything_again(path: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    list(Runner(path)(numbered(2)))
    monkeypatch.setattr(jobs_module, "NUMERICS", jobs_module.NUMERICS + 1)
    list(Runner(path)(numbered(2)))
    assert stage.log == [0, 1, 0, 1]


def test_several_threads_run_at_once(stage: Stage) -> None:
    """Three jobs that only go on together, and not one more."""
    meeting = threading.Barrier(3)

    def act(k: int, check: Check) -> None:
        meeting.wait(PATIENCE)

    stage.act = act
    assert squares(list(Runner()(numbered(3), threads=3))) == [0, 1, 4]


class Trouble(Exception):
    pass


def never() -> None:
    raise Trouble("job 2 broke")


def interrupt() -> None:
    """As Ctrl-C does, while the main thread waits for a result."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@pytest.fixture
def can_be_interrupted() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where tests run in the background
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to threads here")
@pytest.mark.usefixtures("can_be_interrupted")
@pytest.mark.parametrize(("happens", "error"), [(never, Trouble), (interrupt, KeyboardInterrupt)])
def test_an_error_or_an_interrupt_stops_all_and_keeps_what_is_done(
    path: Path, stage: Stage, happens: Callable[[], None], error: type[BaseException]
) -> None:
    """Jobs 0 and 1 are done and 3 is half-way; then it happens in 2."""
    begun, stopped = threading.Event(), threading.Event()

    def act(k: int, check: Check) -> None:
        if k == 2:
            wait_for(begun)
            happens()
            until_stopped(check)
        if k > 2:
            begun.set()
            try:
                until_stopped(check)
            except Stopped:
                stopped.set()
                raise

    stage.act = act
    with pytest.raises(error):
        list(Runner(path)(numbered(8), threads=2))
    wait_for(stopped)  # an interrupt while its thread is being started is not waited for
    assert kept(path) == {0, 1}
    assert sorted(stage.log) == [0, 1, 2, 3]
    assert claims(path) == [], "others may take them over"
    stage.__init__()  # type: ignore[misc]
    assert squares(list(Runner(path)(numbered(8), threads=2))) == [k**2 for k in range(8)]
    assert sorted(stage.log) == list(range(2, 8))


def test_who_reads_no_further_stops_the_jobs(path: Path, stage: Stage) -> None:
    begun, stopped = threading.Event(), threading.Event()

    def act(k: int, check: Check) -> None:
        if k == 0:
            wait_for(begun)
        if k == 1:
            begun.set()
            try:
                until_stopped(check)
            except Stopped:
                stopped.set()
                raise

    stage.act = act
    results = Runner(path)(numbered(9), threads=2)
    assert int(next(results)["square"]) == 0
    results.close()  # type: ignore[attr-defined]
    assert stopped.is_set()
    assert kept(path) == {0}
    assert claims(path) == []


KILLED = """
import os, signal, sys
import killed_jobs
from echoscale.sweeps.runner import Runner
killed_jobs.DIES.append(3)  # a list: constants are part of the key
list(Runner(sys.argv[1])(killed_jobs.jobs()))
"""
MODULE = """
import os, signal
import numpy as np
from echoscale.sweeps.job import Job

DIES, BEGUN = [], []


def work(k):
    if k in DIES:
        os.kill(os.getpid(), signal.SIGKILL)
    BEGUN.append(k)
    return {"x": np.random.default_rng(k).random(3)}


def jobs():
    return [Job.of(work, k=k) for k in range(6)]
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 here")
def test_a_killed_run_goes_on(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`kill -9` in the middle of a job: nothing is tidied up."""
    (tmp_path / "killed_jobs.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]))
    monkeypatch.syspath_prepend(tmp_path)
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], timeout=PATIENCE, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len(claims(path)) == 1, "that of the dead process"
    import killed_jobs  # type: ignore[import-not-found]

    found = list(Runner(path)(killed_jobs.jobs()))
    assert killed_jobs.BEGUN == [3, 4, 5]
    for k, each in enumerate(found):
        np.testing.assert_array_equal(each["x"], np.random.default_rng(k).random(3))
    sys.modules.pop("killed_jobs")


def test_two_runners_share_the_jobs(path: Path, stage: Stage) -> None:
    """The second waits for what the first is at, and takes its results."""
    begun, goes_on = threading.Event(), threading.Event()
    found: list[Arrays] = []

    def act(k: int, check: Check) -> None:
        if k == 0:
            begun.set()
            wait_for(goes_on)

    stage.act = act
    other = threading.Thread(target=lambda: found.extend(Runner(path)(numbered(1))))
    other.start()
    wait_for(begun)
    # A claim of one process holds against others alone; here the other is made to look like one.
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE claims SET host = 'elsewhere'")
    threading.Timer(0.2, goes_on.set).start()
    assert squares(list(Runner(path)(numbered(3)))) == [0, 1, 4]
    other.join()
    assert squares(found) == [0]
    assert sorted(stage.log) == [0, 1, 2]


def test_threads_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="threads must be at least 1"):
        InProcess(0)


def test_functions_that_no_process_could_find() -> None:
    with pytest.raises(ValueError, match="cannot be found by its name from another process"):
        Job.of(lambda k: {"x": k}, k=1)
    with pytest.raises(ValueError, match="there is no function 'echoscale:nothing'"):
        list(Runner()([Job("echoscale:nothing", {})]))
    with pytest.raises(ValueError, match="is no function"):
        list(Runner()([Job("math:pi", {})]))
