"""The ledger: which jobs are done, with what results, and who is at work on which. One SQLite file.

A job that `finish` wrote is there after a crash or kill -9 of this or any other process. (Write-ahead log with synchronous =
NORMAL: only a power cut can lose the last jobs, never the file.) Many processes of one machine may share a ledger. It must not
lie on a network folder that several machines use at once: the log needs memory that they share.

A job is claimed before it is run. A claim falls when its owner is seen to be dead, or has not called `heartbeat` for
`stale_after` seconds: then a job may run twice, and the first result stays.

Results are named arrays of numbers, kept with a digest: a result that has changed in the file is dropped, and its job is open
again. The settings and the jobs of a sweep have a digest too: where they have changed, the sweep is not read, until it is run
again.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from echoscale._internal import checks
from echoscale.sweeps import ledger_file
from echoscale.sweeps.ledger_file import LedgerError as LedgerError
from echoscale.sweeps.ledger_file import Owner, Packed, digest_of, pack, sweep_digest, unpack

if TYPE_CHECKING:  # NumPy is loaded when the first array comes
    import numpy.typing as npt

AT_ONCE = 500  # keys in one query: SQLite allows 999 variables in its older versions

T = TypeVar("T")


class Record(NamedTuple):
    """One finished or failed job.

    Attributes
    ----------
    key : str
        sha256 of everything that determines the result.
    sweep : str
        The sweep or figure that ran it; others only look it up.
    results : dict of arrays or None
        None if the job failed.
    error : str or None
        Why it failed; None if it is done.
    seconds : float
        The time it took.
    """

    key: str
    sweep: str
    results: dict[str, npt.NDArray[Any]] | None
    error: str | None
    seconds: float


class Ledger:
    """Jobs done and under way in a file.

    One object serves one process: its driver and a thread that calls `heartbeat`. Other processes open their own.

    Parameters
    ----------
    path : path
        The SQLite file, made if it is not there. Its folder must be.
    stale_after : float
        Seconds after which the claim of a silent process may be taken over.

    Examples
    --------
    >>> import tempfile
    >>> from echoscale.sweeps import Ledger
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Ledger(f"{folder.name}/ledger.sqlite") as ledger:
    ...     if ledger.claim("job 1"):
    ...         ledger.finish("job 1", "an experiment", {"test": [0.25, 0.5]}, seconds=1.0)
    ...     ledger.finished(["job 1", "job 2"])["job 1"].results
    {'test': array([0.25, 0.5 ])}
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], *, stale_after: float = 60.0) -> None:
        self.path = Path(path).absolute()
        self.stale_after = checks.number(stale_after, "stale_after")
        if self.stale_after <= 0:
            raise ValueError(f"stale_after must be above 0, got {stale_after}: it is the seconds a silent claim is kept.")
        if self.path.is_dir():
            raise IsADirectoryError(
                f"{self.path} is a folder. Give a file name for the ledger, such as {self.path / 'sweep.db'}."
            )
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {self.path.parent} for the ledger {self.path.name}. Make it first.")
        self._owner = ledger_file.this_process()
        self._held: set[str] = set()
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        with ledger_file.explained(self.path, "the ledger was not opened"):
            self._connection = ledger_file.connect(self.path)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Give back the claims this object still holds, and let go of the file. Closing twice is fine."""
        if self._connection is None:
            return
        if self._held:
            with contextlib.suppress(OSError, LedgerError):  # they fall by themselves; the error under way matters more
                self._write("claims were not given back", lambda c: ledger_file.release(c, self._held, self._owner))
        with self._lock:
            connection, self._connection = self._connection, None
            with contextlib.suppress(sqlite3.Error):  # tidying the log away may fail; the log is read by the next who opens
                connection.close()

    def begin(self, sweep: str, settings: Mapping[str, Any]) -> None:
        """Remember the settings of a sweep as JSON. Again with the same settings does nothing; with others it raises.

        Parameters
        ----------
        sweep : str
            Its id.
        settings : mapping
            Numbers, strings, lists and dictionaries.
        """
        text = json.dumps(dict(settings))
        self._write(f"the settings of sweep {sweep} were not saved", lambda c: _begin(c, sweep, text))

    def link(self, sweep: str, keys: Sequence[str]) -> None:
        """The jobs of a sweep, in order, in place of those linked before.

        Parameters
        ----------
        sweep : str
            Its id.
        keys : sequence of str
            Its jobs.
        """
        self._write(f"the list of jobs of sweep {sweep} was not saved", lambda c: _link(c, sweep, list(keys)))

    def linked(self, sweep: str) -> list[str]:
        """The jobs of a sweep, in order.

        Parameters
        ----------
        sweep : str
            Its id.
        """
        keys, whole = self._read("the list of jobs was not read", lambda c: (_linked(c, sweep), _is_whole(c, sweep)))
        if not whole:
            raise LedgerError(
                f"in {self.path} the settings or the list of jobs of sweep {sweep} have changed: run the sweep again. Finished "
                "jobs that are whole are not run again."
            )
        return keys

    def finished(self, keys: Sequence[str]) -> dict[str, Record]:
        """Those of the jobs that are done, in the order of `keys`. Arrays have the same bits that `finish` was given.

        A job whose results are not those that its digest was made of is no longer done.

        Parameters
        ----------
        keys : sequence of str
            The jobs.
        """
        found, damaged = self._read("finished jobs were not read", lambda c: _finished(c, keys))
        if damaged:
            self._write("damaged results were not dropped", lambda c: _forget(c, damaged))
        return found

    def failures(self, keys: Sequence[str]) -> dict[str, Record]:
        """Those of the jobs whose last run failed, in the order of `keys`.

        Parameters
        ----------
        keys : sequence of str
            The jobs.
        """
        return self._read("failed jobs were not read", lambda c: _failures(c, keys))

    def forget(self, keys: Sequence[str]) -> None:
        """Drop results and failures of these jobs, so that they can be run again. Claims stay.

        Parameters
        ----------
        keys : sequence of str
            The jobs.
        """
        self._write("results were not dropped", lambda c: _forget(c, list(keys)))

    def claim(self, key: str) -> bool:
        """Whether this process may now do the job: not if it is done, or if another process that is alive has it.

        Failed jobs may be tried again. What this process has claimed already it may claim again.

        Parameters
        ----------
        key : str
            The job.
        """
        taken = self._write(f"job {key} was not claimed", lambda c: _claim(c, key, self._owner, self.stale_after))
        if taken:
            self._held.add(key)
        return taken

    def finish(self, key: str, sweep: str, results: Mapping[str, npt.ArrayLike], seconds: float) -> None:
        """Save the results of a job and drop its claim. A job that is done already keeps its first results.

        Parameters
        ----------
        key : str
            The job.
        sweep : str
            The experiment that ran it.
        results : mapping of names to arrays
            Of any shape, of numbers or truth values.
        seconds : float
            The time it took.
        """
        packed = [pack(values, name) for name, values in results.items()]
        seconds = checks.non_negative(seconds, "seconds", "It is the time the job took.")
        self._write(f"the result of job {key} was not saved", lambda c: _finish(c, key, sweep, packed, seconds))
        self._held.discard(key)

    def fail(self, key: str, sweep: str, error: str, seconds: float) -> None:
        """Save why a job failed and give its claim back. A job that somebody else has done stays done.

        Parameters
        ----------
        key : str
            The job.
        sweep : str
            The experiment that ran it.
        error : str
            What went wrong.
        seconds : float
            The time it took.
        """
        text = error.encode("utf-8", "backslashreplace").decode()  # messages with odd file names are no valid UTF-8
        seconds = checks.non_negative(seconds, "seconds", "It is the time the job took.")
        self._write(f"the failure of job {key} was not saved", lambda c: _fail(c, key, sweep, text, seconds, self._owner))
        self._held.discard(key)

    def release(self, key: str) -> None:
        """Give a claim back unfinished. Claims of others stay.

        Parameters
        ----------
        key : str
            The job.
        """
        self._write(f"the claim of job {key} was not given back", lambda c: ledger_file.release(c, [key], self._owner))
        self._held.discard(key)

    def heartbeat(self) -> None:
        """Say that this process is alive: all its claims are fresh again. To be called every few seconds, from any thread."""
        self._write("claims were not kept fresh", lambda c: ledger_file.beat(c, self._owner))

    def sweeps(self) -> list[dict[str, Any]]:
        """Each sweep, oldest first: id, created (ISO 8601, UTC), settings, jobs, done, failed, and the seconds of its jobs.

        The settings of a sweep that has changed in the file are None. A job that several sweeps share counts in each of them,
        one that a sweep lists twice once.
        """
        return self._read("sweeps were not read", _sweeps)

    def _read(self, unmet: str, work: Callable[[sqlite3.Connection], T]) -> T:
        return self._transact("BEGIN", unmet, work)

    def _write(self, unmet: str, work: Callable[[sqlite3.Connection], T]) -> T:
        # IMMEDIATE takes the write lock before the first look, so that nobody writes between a look and what follows from it.
        return self._transact("BEGIN IMMEDIATE", unmet, work)

    def _transact(self, start: str, unmet: str, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            if self._connection is None:
                raise ValueError(f"the ledger {self.path} is closed. Open it again.")
            with ledger_file.explained(self.path, unmet):
                return ledger_file.transaction(self._connection, start, work)


def _begin(connection: sqlite3.Connection, sweep: str, text: str) -> None:
    row = connection.execute("SELECT settings FROM sweeps WHERE id = ?", (sweep,)).fetchone()
    if row is None:
        connection.execute("INSERT INTO sweeps VALUES (?, ?, ?, ?)", (sweep, time.time(), text, None))
    elif not _is_whole(connection, sweep):  # a damaged record is written again
        connection.execute("UPDATE sweeps SET settings = ? WHERE id = ?", (text, sweep))
    else:
        old, new = json.loads(row[0]), json.loads(text)
        # Compared as text, where NaN equals itself.
        changed = [
            name
            for name in sorted({*old, *new})
            if name not in old
            or name not in new
            or json.dumps(old[name], sort_keys=True) != json.dumps(new[name], sort_keys=True)
        ]
        if changed:
            raise ValueError(
                f"sweep {sweep!r} has other settings in the ledger ({', '.join(changed)}). Give the new one another id."
            )
    _seal(connection, sweep)


def _link(connection: sqlite3.Connection, sweep: str, keys: list[str]) -> None:
    if connection.execute("SELECT 1 FROM sweeps WHERE id = ?", (sweep,)).fetchone() is None:
        raise ValueError(f"there is no sweep {sweep!r} in the ledger. Call begin first.")
    if _linked(connection, sweep) != keys:
        connection.execute("DELETE FROM links WHERE sweep = ?", (sweep,))
        connection.executemany("INSERT INTO links VALUES (?, ?, ?)", [(sweep, k, key) for k, key in enumerate(keys)])
        _seal(connection, sweep)


def _linked(connection: sqlite3.Connection, sweep: str) -> list[str]:
    rows = connection.execute("SELECT key FROM links WHERE sweep = ? ORDER BY position", (sweep,))
    return [key for (key,) in rows]


def _seal(connection: sqlite3.Connection, sweep: str) -> None:
    """A digest of the sweep as it stands now."""
    (text,) = connection.execute("SELECT settings FROM sweeps WHERE id = ?", (sweep,)).fetchone()
    digest = sweep_digest(sweep, text, _linked(connection, sweep))
    connection.execute("UPDATE sweeps SET digest = ? WHERE id = ?", (digest, sweep))


def _is_whole(connection: sqlite3.Connection, sweep: str) -> bool:
    """Whether settings and jobs of a sweep are as they were written; true where there is no such sweep."""
    row = connection.execute("SELECT settings, digest FROM sweeps WHERE id = ?", (sweep,)).fetchone()
    if row is None:
        return True
    with contextlib.suppress(TypeError):  # a damaged field may have become bytes
        return bool(row[1] == sweep_digest(sweep, row[0], _linked(connection, sweep)))
    return False


def _finished(connection: sqlite3.Connection, keys: Sequence[str]) -> tuple[dict[str, Record], list[str]]:
    """Records of the jobs that are done, and the keys of those whose results are damaged."""
    found: dict[str, Record] = {}
    damaged: list[str] = []
    for some in _batches(dict.fromkeys(keys)):
        marks = ", ".join("?" * len(some))
        arrays: dict[str, list[Packed]] = {}
        query = f"SELECT key, name, dtype, shape, data FROM arrays WHERE key IN ({marks}) ORDER BY key, position"
        for key, *packed in connection.execute(query, some):
            arrays.setdefault(key, []).append(Packed(*packed))
        query = f"SELECT key, sweep, seconds, digest FROM jobs WHERE error IS NULL AND key IN ({marks})"
        for key, sweep, seconds, digest in connection.execute(query, some):
            own = arrays.get(key, [])
            with contextlib.suppress(TypeError):  # a damaged field may have become a number
                if digest == digest_of(key, seconds, own):
                    found[key] = Record(key, sweep, {each.name: unpack(each) for each in own}, None, seconds)
                    continue
            damaged.append(key)
    return {key: found[key] for key in dict.fromkeys(keys) if key in found}, damaged


def _failures(connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for some in _batches(dict.fromkeys(keys)):
        marks = ", ".join("?" * len(some))
        query = f"SELECT key, sweep, error, seconds FROM jobs WHERE error IS NOT NULL AND key IN ({marks})"
        for key, sweep, error, seconds in connection.execute(query, some):
            found[key] = Record(key, sweep, None, error, seconds)
    return {key: found[key] for key in dict.fromkeys(keys) if key in found}


def _forget(connection: sqlite3.Connection, keys: Sequence[str]) -> None:
    for table in ("jobs", "arrays"):
        connection.executemany(f"DELETE FROM {table} WHERE key = ?", [(key,) for key in keys])


def _claim(connection: sqlite3.Connection, key: str, owner: Owner, stale_after: float) -> bool:
    return not _is_done(connection, key) and ledger_file.take(connection, key, owner, stale_after)


def _finish(connection: sqlite3.Connection, key: str, sweep: str, packed: Sequence[Packed], seconds: float) -> None:
    connection.execute("DELETE FROM claims WHERE key = ?", (key,))  # whoever has it: there is nothing left to do
    if not _is_done(connection, key):
        _forget(connection, [key])
        connection.execute("INSERT INTO jobs VALUES (?, ?, NULL, ?, ?)", (key, sweep, seconds, digest_of(key, seconds, packed)))
        rows = [(key, k, *each) for k, each in enumerate(packed)]
        connection.executemany("INSERT INTO arrays VALUES (?, ?, ?, ?, ?, ?)", rows)


def _fail(connection: sqlite3.Connection, key: str, sweep: str, error: str, seconds: float, owner: Owner) -> None:
    ledger_file.release(connection, [key], owner)
    if not _is_done(connection, key):
        connection.execute("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?, NULL)", (key, sweep, error, seconds))


def _is_done(connection: sqlite3.Connection, key: str) -> bool:
    return connection.execute("SELECT 1 FROM jobs WHERE key = ? AND error IS NULL", (key,)).fetchone() is not None


def _sweeps(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    query = """
        SELECT sweeps.id, created, settings, count(linked.key), count(jobs.key), count(jobs.error), total(seconds)
        FROM sweeps
        LEFT JOIN (SELECT DISTINCT sweep, key FROM links) AS linked ON linked.sweep = sweeps.id
        LEFT JOIN jobs ON jobs.key = linked.key
        GROUP BY sweeps.id ORDER BY created, sweeps.rowid
    """
    return [
        {
            "id": sweep,
            "created": _when(created),
            "settings": _json(settings) if _is_whole(connection, sweep) else None,
            "jobs": jobs,
            "done": ran - failed,
            "failed": failed,
            "seconds": seconds,
        }
        for sweep, created, settings, jobs, ran, failed, seconds in connection.execute(query).fetchall()
    ]


def _when(created: float) -> str:
    try:
        return datetime.fromtimestamp(created, UTC).isoformat(timespec="seconds")
    except (TypeError, ValueError, OverflowError, OSError):
        return "unknown"


def _json(text: str) -> Any:
    """Settings, or None where they are no longer JSON."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def _batches(keys: Iterable[str]) -> Iterator[list[str]]:
    every = list(keys)
    return (every[k : k + AT_ONCE] for k in range(0, len(every), AT_ONCE))
