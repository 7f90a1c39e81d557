"""The runner: jobs over threads, kept one by one, never done twice, and the same bits after an interrupt or `kill -9`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from echoscale.sweeps import Arrays, Check, Job, Runner, jobs, processes
from echoscale.sweeps import runner as runner_module
from echoscale.sweeps.runner import Stopped, outcomes

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


class InOrder:
    """In place of the random order in which processes that share a folder take jobs."""

    def shuffle(self, jobs: list[str]) -> None:
        pass


@pytest.fixture(autouse=True)
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_module, "SystemRandom", InOrder)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def file_of(path: Path, k: int) -> Path:
    return jobs.file_of(path, Job.of(square, k=k).key())


def numbered(count: int) -> list[Job]:
    return [Job.of(square, k=k) for k in range(count)]


def squares(found: list[Arrays]) -> list[int]:
    return [int(each["square"]) for each in found]


def kept(path: Path, count: int = 20) -> set[int]:
    return {k for k in range(count) if jobs.read(file_of(path, k)) is not None}


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
    jobs.write(file_of(path, 0), jobs.Outcome({"square": np.array(-1)}, None, 0.0))
    assert squares(list(Runner(path)(numbered(3)))) == [-1, 1, 4], "what is there is taken"
    assert squares(list(Runner(path, fresh=True)(numbered(3)))) == [0, 1, 4]
    assert squares(list(Runner(path)(numbered(3)))) == [0, 1, 4]
    assert stage.log == [0, 1, 2, 0, 1, 2]


def test_damaged_results_are_computed_again(path: Path, stage: Stage) -> None:
    expected = list(Runner(path)(numbered(3)))
    content = bytearray(file_of(path, 1).read_bytes())
    content[content.index(expected[1]["half"].tobytes()) + 2] ^= 1
    file_of(path, 1).write_bytes(content)
    stage.log.clear()
    with pytest.warns(UserWarning, match="half.npy fails its checksum"):
        found = list(Runner(path)(numbered(3)))
    assert stage.log == [1]
    np.testing.assert_array_equal(found[1]["half"], expected[1]["half"])
    assert kept(path) == {0, 1, 2}


def test_a_change_of_the_numerics_runs_everything_again(path: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    list(Runner(path)(numbered(2)))
    monkeypatch.setattr(jobs, "NUMERICS", jobs.NUMERICS + 1)
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


KILLED = """
import os, signal, sys
import killed_jobs
from echoscale.sweeps import Runner
killed_jobs.DIES.append(3)
list(Runner(sys.argv[1])(killed_jobs.jobs()))
"""
MODULE = """
import os, signal
import numpy as np
from echoscale.sweeps import Job

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
    import killed_jobs  # type: ignore[import-not-found]

    done = {k for k, job in enumerate(killed_jobs.jobs()) if jobs.file_of(path, job.key()).exists()}
    assert 3 not in done
    found = list(Runner(path)(killed_jobs.jobs()))
    assert set(killed_jobs.BEGUN) == set(range(6)) - done
    for k, each in enumerate(found):
        np.testing.assert_array_equal(each["x"], np.random.default_rng(k).random(3))
    sys.modules.pop("killed_jobs")


def test_what_another_process_finishes_meanwhile_is_taken(path: Path, stage: Stage) -> None:
    def act(k: int, check: Check) -> None:
        if k == 0:
            jobs.write(file_of(path, 2), jobs.Outcome({"square": np.array(-4)}, None, 0.0))

    stage.act = act
    assert squares(list(Runner(path)(numbered(4)))) == [0, 1, -4, 9]
    assert stage.log == [0, 1, 3]


def test_two_runners_at_the_same_job_do_no_harm(path: Path, stage: Stage) -> None:
    """Both run job 0, as they cannot know of each other; nothing else runs twice."""
    meeting = threading.Barrier(2)
    found: list[Arrays] = []

    def act(k: int, check: Check) -> None:
        if k == 0:
            meeting.wait(PATIENCE)

    stage.act = act
    other = threading.Thread(target=lambda: found.extend(Runner(path)(numbered(1))))
    other.start()
    assert squares(list(Runner(path)(numbered(3)))) == [0, 1, 4]
    other.join()
    assert squares(found) == [0]
    assert sorted(stage.log) == [0, 0, 1, 2]
    assert kept(path) == {0, 1, 2}


def test_the_order_is_random_in_a_folder(path: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that processes that share it rarely meet at the same job. Results come in order all the same."""
    monkeypatch.undo()
    assert squares(list(Runner(path)(numbered(20)))) == [k**2 for k in range(20)]
    assert sorted(stage.log) == list(range(20)) != stage.log


# Executors


def test_not_more_than_asked_for_is_handed_over(stage: Stage) -> None:
    asked: list[int] = []
    told: list[str] = []

    class Watched(ThreadPoolExecutor):
        def submit(self, *given: Any, **named: Any) -> Any:
            asked.append(len(asked) - len(told))
            return super().submit(*given, **named)

    with Watched(2) as pool:
        for key, _ in outcomes({job.key(): job for job in numbered(20)}, executor=pool, at_once=3):
            told.append(key)
    assert len(told) == len(asked) == 20
    assert max(asked) == 2, "so many were under way when one more was handed over"


MAIN = """
import signal, sys
import own_jobs
from echoscale.sweeps import Job, processes
from echoscale.sweeps.runner import outcomes

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where tests run in the background
    jobs = {str(k): Job.of(own_jobs.work, k=k) for k in range(int(sys.argv[2]))}
    with processes(2) as executor:
        for key, outcome in outcomes(jobs, sys.argv[1], executor):
            print(key, outcome, flush=True)
"""
WORK = """
import os, signal, time
import numpy as np

def work(k):
    with open(os.environ["LOG"], "a") as log:
        log.write(f"{k} {os.getpid()}\\n")
    if k == 3:
        time.sleep(60)
    if k == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    if k == 2:
        raise ValueError("no second job")
    return {"threads": np.array([int(os.environ["OMP_NUM_THREADS"]), int(os.environ["OPENBLAS_NUM_THREADS"])])}
"""


class Main:
    """A process that runs jobs on two processes of its own."""

    def __init__(self, folder: Path, count: int) -> None:
        self.log, self.kept = folder / "log", folder / "kept"
        self.log.touch()
        (folder / "own_jobs.py").write_text(WORK)
        (folder / "main.py").write_text(MAIN)
        path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.process = subprocess.Popen(
            [sys.executable, str(folder / "main.py"), str(self.kept), str(count)],
            env={**os.environ, "PYTHONPATH": path, "LOG": str(self.log)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def began(self) -> dict[int, int]:
        """Process of every job that was begun."""
        return {int(k): int(pid) for k, pid in (line.split() for line in self.log.read_text().splitlines())}

    def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.01)

    def no_process_is_left(self) -> bool:
        end = time.monotonic() + PATIENCE
        while left := [pid for pid in self.began().values() if is_alive(pid)]:
            assert time.monotonic() < end, left
            time.sleep(0.01)
        return True


def is_alive(pid: int) -> bool:
    """A dead process that nobody has asked for yet is dead."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[int], Main]]:
    made: list[Main] = []

    def starter(count: int) -> Main:
        made.append(Main(tmp_path, count))
        return made[-1]

    yield starter
    for each in made:
        each.process.kill()
        each.process.communicate()


needs_proc = pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")


@needs_proc
def test_processes_have_one_core_each_and_end(start: Callable[[int], Main]) -> None:
    main = start(3)
    out, errors = main.process.communicate(timeout=PATIENCE)
    assert main.process.returncode == 0, errors
    assert out.count("array([1, 1])") == 2
    assert out.count("error='ValueError: no second job'") == 1
    assert main.process.pid not in main.began().values()
    assert main.no_process_is_left()
    assert len(list(main.kept.glob("*.npz"))) == 2
    assert [each.read_text() for each in main.kept.glob("*.failed")] == ["ValueError: no second job"]


@needs_proc
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_processes_end_with_the_main_one(start: Callable[[int], Main], sign: int) -> None:
    """At once, though one of them is busy: after Ctrl-C, and after `kill -9`, which tidies nothing up."""
    main = start(4)
    main.until(lambda: 3 in main.began() and len(list(main.kept.glob("*.npz"))) == 2)
    main.process.send_signal(sign)
    _, errors = main.process.communicate(timeout=PATIENCE / 3)
    assert main.process.returncode == -sign, errors
    assert main.no_process_is_left()
    assert len(list(main.kept.glob("*.npz"))) == 2, "finished jobs are kept"


@needs_proc
def test_a_process_that_is_killed_ends_the_run_with_a_clear_error(start: Callable[[int], Main]) -> None:
    main = start(5)
    _, errors = main.process.communicate(timeout=PATIENCE)
    assert main.process.returncode == 1
    assert "ConnectionError: the workers of " in errors
    assert "are gone" in errors
    assert "Finished jobs are kept: run again." in errors
    assert main.no_process_is_left()


@pytest.mark.parametrize(("count", "kind"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("2", TypeError)])
def test_numbers_of_processes_that_make_no_sense(count: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="processes must be"), processes(count):
        pass


def test_threads_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="threads must be at least 1"):
        list(Runner()(numbered(1), threads=0))


def test_functions_that_no_process_could_find() -> None:
    with pytest.raises(ValueError, match="cannot be found by its name from another process"):
        Job.of(lambda k: {"x": k}, k=1)
    with pytest.raises(ValueError, match="there is no function 'echoscale:nothing'"):
        list(Runner()([Job("echoscale:nothing", {})]))
    with pytest.raises(ValueError, match="is not a function"):
        list(Runner()([Job("math:pi", {})]))


def test_processes_that_are_ended_with_cancelled_jobs_leave_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    for _ in range(3):
        with suppress(KeyboardInterrupt), processes(2) as executor:
            futures = [executor.submit(time.sleep, 0.02) for _ in range(60)]
            futures[0].result()
            for each in futures:
                each.cancel()
            raise KeyboardInterrupt
    assert raised == []
