"""Long figures: jobs over threads, kept one by one, never done twice, and the same bits after an interrupt or `kill -9`."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from matplotlib.figure import Figure

from echoscale.paper import fig4_telegraph as fig4
from echoscale.paper import gallery, make
from echoscale.paper import provenance as label
from echoscale.paper.parts import Arrays, Parts, Stopped, finished
from echoscale.paper.provenance import in_order

PATIENCE = 60.0  # seconds after which something hangs
SMOKE = fig4.SETTINGS["smoke"]
JOBS = len(fig4.NETWORKS) * len(SMOKE.seeds) + len(SMOKE.noises) * len(SMOKE.seeds) + len(fig4.RADII) * len(SMOKE.path_seeds)
KILLED_AT = 3

Check = Callable[[], None]
Work = Callable[[Any, Check], Arrays]


def arrays() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"x": rng.normal(size=(3, 4)), "half": rng.random(5, np.float32), "count": np.array(7), "seconds": np.array(0.25)}


def assert_same(found: Arrays | None, expected: Arrays) -> None:
    assert found is not None
    assert set(found) == set(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, strict=True)


def names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()} if folder.exists() else set()


# ---------------------------------------------------------------------------------------------------------------------- files


def test_what_is_kept_comes_back_bit_for_bit_and_is_removed(tmp_path: Path) -> None:
    parts = Parts(tmp_path / "deep" / "fig.parts")
    assert parts.load("one") is None
    parts.keep("one", arrays())
    parts.keep("two", {"x": np.arange(3)})
    assert names_in(tmp_path / "deep" / "fig.parts") == {"one.npz", "two.npz"}
    assert_same(Parts(tmp_path / "deep" / "fig.parts").load("one"), arrays())
    parts.keep("one", {"x": np.zeros(2)})
    assert_same(parts.load("one"), {"x": np.zeros(2)})
    parts.remove()
    assert names_in(tmp_path / "deep") == set()
    parts.remove()  # nothing there: nothing to do
    assert parts.load("one") is None


def test_without_a_folder_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parts = Parts()
    parts.keep("one", arrays())
    assert parts.load("one") is None
    parts.remove()
    assert names_in(tmp_path) == set()


def test_other_settings_have_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "fig4-smoke.nc"

    def folder() -> Path:
        found = Parts.beside(file, label.description(4, "smoke", SMOKE)).folder
        assert found is not None
        return found

    assert folder() == folder()
    assert folder().parent == tmp_path
    assert folder().name.startswith("fig4-smoke-")
    described = label.description(4, "smoke", SMOKE)
    turned = dict(reversed(described.items()))
    assert Parts.beside(file, turned).folder == folder(), "the order of the names says nothing"
    others = [
        label.description(5, "smoke", SMOKE),
        label.description(4, "quick", SMOKE),
        *(
            label.description(4, "smoke", fig4.Settings(**{**vars(SMOKE), **change}))
            for change in ({"p3": 1e-3}, {"seeds": (0,)})
        ),
    ]
    folders = {
        folder(),
        *(Parts.beside(file, each).folder for each in others),
        Parts.beside(tmp_path / "b.nc", described).folder,
    }
    assert len(folders) == len(others) + 2
    before = folder()
    monkeypatch.setattr(label, "NUMERICS", label.NUMERICS + 1)
    assert folder() != before, "parts of older code are not mixed in"


def whole_file(folder: Path) -> bytes:
    Parts(folder).keep("whole", arrays())
    return (folder / "whole.npz").read_bytes()


def one_flipped(content: bytes) -> bytes:
    """One bit of the first array's numbers is another: its checksum is wrong."""
    place = content.index(arrays()["x"].tobytes()) + 20
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "text": lambda _: b"not a file of arrays",
    "first bytes": lambda content: content[:4],
    "half": lambda content: content[: len(content) // 2],
    "last byte lost": lambda content: content[:-1],
    "one bit": one_flipped,
}


@pytest.mark.parametrize("kind", list(BROKEN))
def test_a_broken_part_is_computed_anew(tmp_path: Path, kind: str) -> None:
    parts, done = Parts(tmp_path), []
    (tmp_path / "job-1.npz").write_bytes(BROKEN[kind](whole_file(tmp_path)))
    assert parts.load("job-1") is None

    def work(job: Any, _: Check) -> Arrays:
        done.append(job)
        return {"x": np.full(2, job[1])}

    [(_, found)] = finished([("job", 1)], work, in_order, parts, 1)
    np.testing.assert_array_equal(found["x"], [1, 1])
    assert_same(parts.load("job-1"), found)
    list(finished([("job", 1)], work, in_order, parts, 1))
    assert done == [("job", 1)]


class Trap:
    """Unpickled, it leaves a file behind."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.file),)


def test_nothing_is_pickled(tmp_path: Path) -> None:
    parts, trap = Parts(tmp_path / "parts"), tmp_path / "sprung"
    objects = np.array([Trap(trap)], object)
    with pytest.raises(ValueError, match=r"(?i)object"):
        parts.keep("one", {"x": np.zeros(3), "objects": objects})
    assert names_in(tmp_path / "parts") == set(), "nor half of it written"
    (tmp_path / "parts").mkdir(exist_ok=True)
    np.savez(tmp_path / "parts" / "one.npz", x=np.zeros(3), objects=objects)
    assert parts.load("one") is None
    assert not trap.exists()
    with np.load(tmp_path / "parts" / "one.npz", allow_pickle=True) as file:
        assert len(file["objects"]) == 1
    assert trap.exists(), "the trap works"


# ----------------------------------------------------------------------------------------------------------------------- jobs


def squares(log: list[Any]) -> Work:
    def work(job: Any, _: Check) -> Arrays:
        log.append(job)
        return {"square": np.array(job[1] ** 2)}

    return work


def numbered(count: int) -> list[Any]:
    return [("job", k) for k in range(count)]


def kept(folder: Path) -> set[int]:
    return {int(name.removeprefix("job-").removesuffix(".npz")) for name in names_in(folder)}


def wait_for(event: threading.Event) -> None:
    assert event.wait(PATIENCE), "another job should have come this far"


def until_stopped(check: Check) -> None:
    """Busy until check() says that the run is over."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        check()
        time.sleep(0.001)
    raise AssertionError("nobody said that the run is over")


def test_results_come_in_the_order_of_the_jobs(tmp_path: Path) -> None:
    """Though the first one ends last."""
    last = threading.Event()

    def work(job: Any, _: Check) -> Arrays:
        if job[1] == 0:
            wait_for(last)
        elif job[1] == 5:
            last.set()
        return {"square": np.array(job[1] ** 2)}

    seen: list[Any] = []

    def track(jobs: Any) -> Any:
        seen.append(len(jobs))
        return jobs

    parts = Parts(tmp_path)
    found = list(finished(numbered(6), work, track, parts, 2))
    assert [job for job, _ in found] == numbered(6)
    assert [int(each["square"]) for _, each in found] == [0, 1, 4, 9, 16, 25]
    assert seen == [6]
    assert kept(tmp_path) == set(range(6))


def test_kept_jobs_are_not_done_again(tmp_path: Path) -> None:
    log: list[Any] = []
    first = Parts(tmp_path)
    before = dict(finished(numbered(3), squares(log), in_order, first, 2))
    again = Parts(tmp_path)
    after = list(finished(numbered(5), squares(log), in_order, again, 2))
    assert sorted(log) == numbered(5), "every job once"
    assert [job for job, _ in after] == numbered(5)
    for job, found in after[:3]:
        assert_same(found, before[job])
    # The time of all jobs, those of the earlier run too.
    assert again.seconds == pytest.approx(sum(float(found["seconds"]) for _, found in after))
    assert again.seconds > first.seconds > 0


def test_jobs_that_differ_have_files_of_their_own(tmp_path: Path) -> None:
    jobs = [("single", 0, 0.5), ("single", 0, 0.25), ("single", 1, 0.5), ("pair", 0, "a b"), "alone", 3]

    def work(job: Any, _: Check) -> Arrays:
        return {"which": np.array(jobs.index(job))}

    list(finished(jobs, work, in_order, Parts(tmp_path), 1))
    assert len(names_in(tmp_path)) == len(jobs)
    for job, found in finished(jobs, work, in_order, Parts(tmp_path), 1):
        assert jobs[int(found["which"])] == job


def test_several_threads_run_at_once() -> None:
    """Three jobs that only go on together."""
    meeting = threading.Barrier(3)

    def work(job: Any, _: Check) -> Arrays:
        meeting.wait(PATIENCE)
        return {"thread": np.array(threading.get_ident())}

    found = list(finished(numbered(3), work, in_order, Parts(), 3))
    assert len({int(each["thread"]) for _, each in found}) == 3


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
    tmp_path: Path, happens: Callable[[], None], error: type[BaseException]
) -> None:
    """Jobs 0 and 1 are done and 3 is half-way; then it happens in 2. One more may begin before that is noticed."""
    begun, log, stopped = threading.Event(), [], []

    def work(job: Any, check: Check) -> Arrays:
        k = job[1]
        log.append(k)
        if k == 2:
            wait_for(begun)
            happens()
            until_stopped(check)
        if k > 2:
            begun.set()
            try:
                until_stopped(check)
            except Stopped:
                stopped.append(k)
                raise
        return {"square": np.array(k**2)}

    with pytest.raises(error):
        list(finished(numbered(8), work, in_order, Parts(tmp_path), 2))
    assert 3 in stopped, "the running job was told, and the threads are over"
    assert kept(tmp_path) == {0, 1}
    assert sorted(log) in ([0, 1, 2, 3], [0, 1, 2, 3, 4])
    rest: list[Any] = []
    found = list(finished(numbered(8), squares(rest), in_order, Parts(tmp_path), 2))
    assert [int(each["square"]) for _, each in found] == [k**2 for k in range(8)]
    assert sorted(rest) == numbered(8)[2:]


def test_who_reads_no_further_stops_the_jobs(tmp_path: Path) -> None:
    begun, stopped = threading.Event(), threading.Event()

    def work(job: Any, check: Check) -> Arrays:
        if job[1] == 0:
            wait_for(begun)
        if job[1] == 1:
            begun.set()
            try:
                until_stopped(check)
            except Stopped:
                stopped.set()
                raise
        return {"square": np.array(job[1] ** 2)}

    results = finished(numbered(9), work, in_order, Parts(tmp_path), 2)
    assert next(results)[0] == ("job", 0)
    results.close()  # type: ignore[attr-defined]
    assert stopped.is_set()
    assert 1 not in kept(tmp_path)


# --------------------------------------------------------------------------------------------------------------------- figure


def count_jobs(monkeypatch: pytest.MonkeyPatch, log: list[Any], ends: int | None = None, worker: Any = None) -> None:
    """Every job of Fig. 4 is written to `log`; that after the first `ends` raises an interrupt."""
    build, guard = worker or fig4._worker, threading.Lock()

    def counting(settings: fig4.Settings) -> Work:
        inner = build(settings)

        def work(job: Any, check: Check) -> Arrays:
            with guard:
                if ends is not None and len(log) >= ends:
                    raise KeyboardInterrupt
                log.append(job)
            found: Arrays = inner(job, check)
            return found

        return work

    monkeypatch.setattr(fig4, "_worker", counting)
    monkeypatch.setattr(fig4, "draw", lambda *_: Figure())  # what is drawn does not matter here


def toy(settings: fig4.Settings) -> Work:
    """Numbers of the right shapes in no time: drawn at random, alike whenever the job is the same."""
    points = len(settings.leak_rates)
    shape = len(fig4.PARTS), len(fig4.READOUTS), len(fig4.RADII)

    def work(job: Any, _: Check) -> Arrays:
        rng = np.random.default_rng(list(hashlib.sha256(repr(job).encode()).digest()))
        if job[0] == "path":
            return {"path": rng.random((len(settings.path_starts), len(settings.path_noises) * settings.path_records + 1))}
        count = points**2 if job[0] == "pair" else points
        return {"accuracy": rng.random((*shape, count, len(fig4.TASKS))), "ceiling": rng.random((len(fig4.PARTS), 3))}

    return work


def killed(folder: str) -> None:
    """In a process of its own: Fig. 4, which dies in the middle of a job (`kill -9`: nothing is tidied up)."""

    def dying(settings: fig4.Settings) -> Work:
        inner = toy(settings)
        begun: list[Any] = []

        def work(job: Any, check: Check) -> Arrays:
            if len(begun) == KILLED_AT:
                os.kill(os.getpid(), signal.SIGKILL)
            begun.append(job)
            return inner(job, check)

        return work

    fig4._worker = dying
    fig4.cores = lambda: 1  # type: ignore[attr-defined]  # one after another, so that it is known how many are done
    make(4, "smoke", Path(folder))


def bits(data: xarray.Dataset) -> dict[str, bytes]:
    return {str(name): values.values.tobytes() for name, values in data.variables.items() if values.dtype != object}


def test_an_interrupted_figure_goes_on_to_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The figure's own jobs, over all cores."""
    whole, first, second = ([] for _ in range(3))  # type: ignore[var-annotated]
    with monkeypatch.context() as patched:
        count_jobs(patched, whole)
        expected = make(4, "smoke", tmp_path / "whole").data
    with monkeypatch.context() as patched:
        count_jobs(patched, first, ends=4)
        with pytest.raises(KeyboardInterrupt):
            make(4, "smoke", tmp_path / "parts")
    [folder] = (tmp_path / "parts").iterdir()
    done = len(names_in(folder))
    assert 0 < done <= 4
    assert folder.name.endswith(".parts")
    with monkeypatch.context() as patched:
        count_jobs(patched, second)
        made = make(4, "smoke", tmp_path / "parts")
    assert len(whole) == len(set(whole)) == JOBS
    assert len(second) == JOBS - done, "what was kept is not done again"
    assert set(first) | set(second) == set(whole)
    assert not made.reused
    assert bits(made.data) == bits(expected)
    assert names_in(tmp_path / "parts") == {"fig4-smoke.nc", "fig4-smoke.png"}, "the parts are gone"
    assert make(4, "smoke", tmp_path / "parts").reused


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 here")
def test_a_killed_figure_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"import test_parts; test_parts.killed({str(tmp_path / 'parts')!r})"
    ended = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, timeout=10 * PATIENCE, check=False)
    assert ended.returncode == -signal.SIGKILL
    [folder] = (tmp_path / "parts").iterdir()
    assert len(names_in(folder)) == KILLED_AT
    log: list[Any] = []
    count_jobs(monkeypatch, log, worker=toy)
    made = make(4, "smoke", tmp_path / "parts")
    assert len(log) == JOBS - KILLED_AT
    assert names_in(tmp_path / "parts") == {"fig4-smoke.nc", "fig4-smoke.png"}
    assert bits(made.data) == bits(make(4, "smoke", tmp_path / "whole").data)


def test_fresh_ignores_what_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described = label.description(4, "smoke", SMOKE)
    wrong = {"path": np.full((2, 9), 0.123), "seconds": np.array(5.0)}
    log: list[Any] = []
    count_jobs(monkeypatch, log, worker=toy)

    def path(*, fresh: bool) -> Any:
        log.clear()
        Parts.beside(tmp_path / "fig4-smoke.nc", described).keep("path-0-0.1", wrong)
        (tmp_path / "fig4-smoke.nc").unlink(missing_ok=True)
        return make(4, "smoke", tmp_path, fresh=fresh).data["path"].sel(rho=0.1).values

    assert (path(fresh=False) == np.float32(0.123)).all(), "a part that is there is taken"
    assert len(log) == JOBS - 1
    assert (path(fresh=True) != np.float32(0.123)).all()
    assert len(log) == JOBS
    assert names_in(tmp_path) == {"fig4-smoke.nc", "fig4-smoke.png"}


def test_only_figures_whose_jobs_are_kept_are_given_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fig. 2 is made in one go, and leaves no folder."""
    assert set(gallery.RESUMABLE) <= set(gallery.FIGURES)
    assert 4 in gallery.RESUMABLE
    make(2, "smoke", tmp_path)
    assert names_in(tmp_path) == {"fig2-smoke.nc", "fig2-smoke.png"}
