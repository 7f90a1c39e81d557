"""The ledger: which jobs are done, with what results, and who is at work on which. One SQLite file.

A job that `finish` wrote is there after a crash or kill -9 of this or any other process. (Write-ahead log with synchronous =
NORMAL: only a power cut can lose the last jobs, never the file.) Many processes of one machine may share a ledger. It must not
lie on a network folder that several machines use at once: the log needs memory that they share.

A job is claimed before it is run. A claim falls when its owner is seen to be dead, or has not called `heartbeat` for
`stale_after` seconds: then a job may run twice, and the first result stays.

Results are named arrays of numbers, kept with a digest: a result that has changed in the file is dropped, and its job is open
again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import platform
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from echoscale import _checks

if TYPE_CHECKING:  # NumPy is loaded when the first array comes
    import numpy.typing as npt

FORMAT_VERSION = 2
APPLICATION_ID = int.from_bytes(b"echo", "big")  # in the file's header: tells a ledger from another program's database
BUSY_SECONDS = 30.0  # a transaction takes milliseconds; who waits this long waits for a process that is stopped
AT_ONCE = 500  # keys in one query: SQLite allows 999 variables in its older versions

# What arrays may hold: numbers of a fixed size, the same bits on every machine.
DTYPES = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")

# A row of jobs without an error is done. Its arrays stand in arrays, one row a name, little-endian, the last axis fastest.
TABLES = (
    "CREATE TABLE sweeps (id TEXT PRIMARY KEY, created REAL NOT NULL, settings TEXT NOT NULL)",
    "CREATE TABLE links (sweep TEXT, position INTEGER, key TEXT NOT NULL, PRIMARY KEY (sweep, position)) WITHOUT ROWID",
    "CREATE TABLE jobs (key TEXT PRIMARY KEY, sweep TEXT NOT NULL, error TEXT, seconds REAL NOT NULL, digest BLOB)",
    "CREATE TABLE arrays (key TEXT, position INTEGER, name TEXT NOT NULL, dtype TEXT NOT NULL, shape TEXT NOT NULL, "
    "data BLOB NOT NULL, PRIMARY KEY (key, position))",
    "CREATE TABLE claims (key TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL, "
    "beat REAL NOT NULL)",
)

T = TypeVar("T")


class LedgerError(ValueError):
    """The file is not a good ledger: damaged, of another kind, or from a newer version."""


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


class Packed(NamedTuple):
    """A named array as the file has it."""

    name: str
    dtype: str
    shape: str
    data: bytes


class Owner(NamedTuple):
    """A process, told apart from all others there were: its id comes back, but not with the same start."""

    host: str
    pid: int
    started: str
    """Clock ticks from boot to start; empty where there is no /proc, and the heartbeat alone decides."""


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
        self.stale_after = _checks.number(stale_after, "stale_after")
        if self.stale_after <= 0:
            raise ValueError(f"stale_after must be above 0, got {stale_after}: it is the seconds a silent claim is kept.")
        if self.path.is_dir():
            raise IsADirectoryError(
                f"{self.path} is a folder. Give a file name for the ledger, such as {self.path / 'sweep.db'}."
            )
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {self.path.parent} for the ledger {self.path.name}. Make it first.")
        self._owner = _this_process()
        self._held: set[str] = set()
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        with _explained(self.path, "the ledger was not opened"):
            self._connection = _open(self.path)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Give back the claims this object still holds, and let go of the file. Closing twice is fine."""
        if self._connection is None or os.getpid() != self._owner.pid:
            return
        if self._held:
            with contextlib.suppress(OSError, LedgerError):  # they fall by themselves; the error under way matters more
                self._write("claims were not given back", lambda c: _release(c, self._held, self._owner))
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
        query = "SELECT key FROM links WHERE sweep = ? ORDER BY position"
        return self._read("the list of jobs was not read", lambda c: [key for (key,) in c.execute(query, (sweep,))])

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
        packed = [_pack(values, name) for name, values in results.items()]
        seconds = _checks.non_negative(seconds, "seconds", "It is the time the job took.")
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
        seconds = _checks.non_negative(seconds, "seconds", "It is the time the job took.")
        self._write(f"the failure of job {key} was not saved", lambda c: _fail(c, key, sweep, text, seconds, self._owner))
        self._held.discard(key)

    def release(self, key: str) -> None:
        """Give a claim back unfinished. Claims of others stay.

        Parameters
        ----------
        key : str
            The job.
        """
        self._write(f"the claim of job {key} was not given back", lambda c: _release(c, [key], self._owner))
        self._held.discard(key)

    def heartbeat(self) -> None:
        """Say that this process is alive: all its claims are fresh again. To be called every few seconds, from any thread."""
        self._write("claims were not kept fresh", lambda c: _beat(c, self._owner))

    def sweeps(self) -> list[dict[str, Any]]:
        """Each sweep, oldest first: id, created (ISO 8601, UTC), settings, jobs, done, failed, and the seconds of its jobs.

        A job that several sweeps share counts in each of them, one that a sweep lists twice once.
        """
        return self._read("sweeps were not read", _sweeps)

    def _read(self, unmet: str, work: Callable[[sqlite3.Connection], T]) -> T:
        return self._transact("BEGIN", unmet, work)

    def _write(self, unmet: str, work: Callable[[sqlite3.Connection], T]) -> T:
        # IMMEDIATE takes the write lock before the first look, so that nobody writes between a look and what follows from it.
        return self._transact("BEGIN IMMEDIATE", unmet, work)

    def _transact(self, start: str, unmet: str, work: Callable[[sqlite3.Connection], T]) -> T:
        if os.getpid() != self._owner.pid:
            raise RuntimeError(f"the ledger {self.path} was opened before a fork. Open it anew in each process.")
        with self._lock:
            if self._connection is None:
                raise ValueError(f"the ledger {self.path} is closed. Open it again.")
            with _explained(self.path, unmet):
                return _transaction(self._connection, start, work)


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        # Looked at before anything is changed: the file may be somebody else's. Tables of a new file come whole or not at all.
        _transaction(connection, "BEGIN IMMEDIATE", lambda c: _prepare(c, path))
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    kind, version, tables = (
        connection.execute(query).fetchone()[0]
        for query in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
    )
    if kind == version == tables == 0:
        for table in TABLES:
            connection.execute(table)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    elif kind != APPLICATION_ID:
        raise LedgerError(f"{path} is a database of another program, not a ledger of sweeps. Give another file name.")
    elif version != FORMAT_VERSION:
        made = "a newer echoscale" if version > FORMAT_VERSION else "an older echoscale, before its first release"
        what = "Install a newer echoscale, or start" if version > FORMAT_VERSION else "Start"
        raise LedgerError(
            f"{path} was made by {made}: it has format {version}, this one knows {FORMAT_VERSION}. "
            f"{what} a ledger under another name."
        )
    # Written each time: SQLite opens a read-only file without a word, and it is better refused now than after the first job.
    connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Readers do not wait for writers. The file remembers it; while others open it, the change can be refused for a moment."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def _transaction(connection: sqlite3.Connection, start: str, work: Callable[[sqlite3.Connection], T]) -> T:
    """All of `work` or none of it, also when Ctrl-C comes in between."""
    if connection.in_transaction:  # a second Ctrl-C came before the last one was rolled back
        connection.execute("ROLLBACK")
    try:
        connection.execute(start)
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk ends it without being asked
            connection.execute("ROLLBACK")
        raise
    return result


def _begin(connection: sqlite3.Connection, sweep: str, text: str) -> None:
    row = connection.execute("SELECT settings FROM sweeps WHERE id = ?", (sweep,)).fetchone()
    if row is None:
        connection.execute("INSERT INTO sweeps VALUES (?, ?, ?)", (sweep, time.time(), text))
        return
    old, new = json.loads(row[0]), json.loads(text)
    # Compared as text, where NaN equals itself.
    changed = [
        name
        for name in sorted({*old, *new})
        if name not in old or name not in new or json.dumps(old[name], sort_keys=True) != json.dumps(new[name], sort_keys=True)
    ]
    if changed:
        raise ValueError(
            f"sweep {sweep!r} has other settings in the ledger ({', '.join(changed)}). Give the new one another id."
        )


def _link(connection: sqlite3.Connection, sweep: str, keys: list[str]) -> None:
    if connection.execute("SELECT 1 FROM sweeps WHERE id = ?", (sweep,)).fetchone() is None:
        raise ValueError(f"there is no sweep {sweep!r} in the ledger. Call begin first.")
    rows = connection.execute("SELECT key FROM links WHERE sweep = ? ORDER BY position", (sweep,))
    if [key for (key,) in rows] != keys:
        connection.execute("DELETE FROM links WHERE sweep = ?", (sweep,))
        connection.executemany("INSERT INTO links VALUES (?, ?, ?)", [(sweep, k, key) for k, key in enumerate(keys)])


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
                if digest == _digest(key, seconds, own):
                    found[key] = Record(key, sweep, {each.name: _unpack(each) for each in own}, None, seconds)
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
    if _is_done(connection, key):
        return False
    row = connection.execute("SELECT host, pid, started, beat FROM claims WHERE key = ?", (key,)).fetchone()
    if row is not None:
        holder, beat = Owner(*row[:3]), row[3]
        # Both ways: a beat from before the clock was set back must not hold for ever.
        stale = abs(time.time() - beat) > stale_after
        if holder != owner and not stale and not (holder.host == owner.host and _is_dead(holder)):
            return False
    connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?)", (key, *owner, time.time()))
    return True


def _finish(connection: sqlite3.Connection, key: str, sweep: str, packed: Sequence[Packed], seconds: float) -> None:
    connection.execute("DELETE FROM claims WHERE key = ?", (key,))  # whoever has it: there is nothing left to do
    if not _is_done(connection, key):
        _forget(connection, [key])
        connection.execute("INSERT INTO jobs VALUES (?, ?, NULL, ?, ?)", (key, sweep, seconds, _digest(key, seconds, packed)))
        rows = [(key, k, *each) for k, each in enumerate(packed)]
        connection.executemany("INSERT INTO arrays VALUES (?, ?, ?, ?, ?, ?)", rows)


def _fail(connection: sqlite3.Connection, key: str, sweep: str, error: str, seconds: float, owner: Owner) -> None:
    _release(connection, [key], owner)
    if not _is_done(connection, key):
        connection.execute("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?, NULL)", (key, sweep, error, seconds))


def _release(connection: sqlite3.Connection, keys: Iterable[str], owner: Owner) -> None:
    query = "DELETE FROM claims WHERE key = ? AND host = ? AND pid = ? AND started = ?"
    connection.executemany(query, [(key, *owner) for key in keys])


def _beat(connection: sqlite3.Connection, owner: Owner) -> None:
    connection.execute("UPDATE claims SET beat = ? WHERE host = ? AND pid = ? AND started = ?", (time.time(), *owner))


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
            "created": datetime.fromtimestamp(created, UTC).isoformat(timespec="seconds"),
            "settings": json.loads(settings),
            "jobs": jobs,
            "done": ran - failed,
            "failed": failed,
            "seconds": seconds,
        }
        for sweep, created, settings, jobs, ran, failed, seconds in connection.execute(query)
    ]


def _batches(keys: Iterable[str]) -> Iterator[list[str]]:
    every = list(keys)
    return (every[k : k + AT_ONCE] for k in range(0, len(every), AT_ONCE))


def _pack(values: npt.ArrayLike, name: str) -> Packed:
    """The bits themselves: NaN and infinities too come back as they were, which text does not promise."""
    import numpy as np

    array = np.asarray(values) if np.size(values) else np.asarray(values, getattr(values, "dtype", np.float64))
    kind = array.dtype.str[1:]
    if kind not in DTYPES:
        raise TypeError(f"results[{name!r}] must hold numbers or truth values, got {values!r}.")
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return Packed(name, kind, json.dumps(list(array.shape)), little.tobytes())


def _unpack(packed: Packed) -> npt.NDArray[Any]:
    import numpy as np

    flat = np.frombuffer(packed.data, np.dtype(f"<{packed.dtype}"))
    array = flat.reshape(json.loads(packed.shape))
    return array.astype(array.dtype.newbyteorder("="))  # a copy, which may be written to


def _digest(key: str, seconds: float, packed: Sequence[Packed]) -> bytes:
    """Of all that belongs to a job: one changed bit, or an array of another job, is noticed."""
    whole = hashlib.sha256(json.dumps([key, seconds, *([*each[:3], len(each.data)] for each in packed)]).encode())
    for each in packed:
        whole.update(each.data)
    return whole.digest()


def _this_process() -> Owner:
    # The name alone is not enough: containers can share it, each with process ids of its own, and ticks count from the boot.
    names = [platform.node()]
    with contextlib.suppress(OSError):
        names += [Path("/proc/sys/kernel/random/boot_id").read_text().strip(), os.readlink("/proc/self/ns/pid")]
    with contextlib.suppress(OSError):
        return Owner(" ".join(names), os.getpid(), _state_and_start(os.getpid())[1])
    return Owner(" ".join(names), os.getpid(), "")


def _is_dead(owner: Owner) -> bool:
    """Whether a process of this host is surely gone. In doubt it is not, and its heartbeat decides."""
    if not owner.started:
        return False
    try:
        state, started = _state_and_start(owner.pid)
    except OSError:
        return _is_gone(owner.pid)
    return started != owner.started or state in "ZX"  # killed, but not yet waited for by its parent


def _state_and_start(pid: int) -> tuple[str, str]:
    """Fields 3 and 22 of /proc/<pid>/stat. Field 2, the name in brackets, can hold anything."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return fields[0].decode(), fields[19].decode()


def _is_gone(pid: int) -> bool:
    """For systems that hide the processes of others in /proc, where a signal still finds them."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


@contextlib.contextmanager
def _explained(path: Path, unmet: str) -> Iterator[None]:
    """Errors of SQLite as errors that say what was not done (`unmet`) and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explain(error, path, unmet) from error


def _explain(error: sqlite3.Error, path: Path, unmet: str) -> Exception:
    code, kept = _code(error), "Jobs finished before are kept"
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return TimeoutError(
            f"{path} was locked by another process for more than {BUSY_SECONDS:g} s: {unmet}. {kept}; look for a process that "
            "hangs or is stopped with the file open, end it, and run again."
        )
    if code == sqlite3.SQLITE_FULL:
        full = OSError(f"no space left for {path}: {unmet}. {kept}; free some space and run again.")
        full.errno = errno.ENOSPC
        return full
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return PermissionError(
            f"{path} cannot be written ({error}): {unmet}. Both the file and its folder must be writable, since SQLite keeps "
            "its log beside the file. Change their permissions or give a path elsewhere."
        )
    if code == sqlite3.SQLITE_NOTADB:
        return LedgerError(f"{path} is not an SQLite database, so not a ledger: {unmet}. Give another file name.")
    if code == sqlite3.SQLITE_IOERR:
        return OSError(f"{path} could not be read or written ({error}): {unmet}. {kept}; see whether the disk is full or gone.")
    return LedgerError(f"{path} is damaged ({error}): {unmet}. Start a ledger under another name.")


def _code(error: sqlite3.Error) -> int:
    """The primary result code; its extensions are in the upper bytes. 0 if the error came from Python."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
