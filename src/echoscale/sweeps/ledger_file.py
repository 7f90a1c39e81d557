"""The file of a ledger: an SQLite database with its tables, the arrays of results, and claims of jobs.

A transaction is done completely or not at all. Errors of SQLite become errors that say what to do.

Results are named arrays of numbers. The file holds their bits, and a digest of all that belongs to a job.

A claim says that a process is at work on a job. It falls when the process dies, or is silent for too long.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import platform
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:  # NumPy is loaded when the first array comes
    import numpy.typing as npt

FORMAT_VERSION = 1  # of the tables: a file of another version is refused
APPLICATION_ID = int.from_bytes(b"echo", "big")  # in the file's header: tells a ledger from another program's database
BUSY_SECONDS = 30.0  # a transaction takes milliseconds; who waits this long waits for a process that is stopped

# A row of jobs without an error is done. Its arrays stand in arrays, one row a name, little-endian, the last axis fastest.
TABLES = (
    "CREATE TABLE sweeps (id TEXT PRIMARY KEY, created REAL NOT NULL, settings TEXT NOT NULL, digest BLOB)",
    "CREATE TABLE links (sweep TEXT, position INTEGER, key TEXT NOT NULL, PRIMARY KEY (sweep, position)) WITHOUT ROWID",
    "CREATE TABLE jobs (key TEXT PRIMARY KEY, sweep TEXT NOT NULL, error TEXT, seconds REAL NOT NULL, digest BLOB)",
    "CREATE TABLE arrays (key TEXT, position INTEGER, name TEXT NOT NULL, dtype TEXT NOT NULL, shape TEXT NOT NULL, "
    "data BLOB NOT NULL, PRIMARY KEY (key, position))",
    "CREATE TABLE claims (key TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, beat REAL NOT NULL)",
)

# What arrays may hold: numbers of a fixed size, the same bits on every machine.
DTYPES = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")

T = TypeVar("T")


class LedgerError(ValueError):
    """The file is not a good ledger: damaged, of another kind, or from a newer version."""


def connect(path: Path) -> sqlite3.Connection:
    """The file, made with its tables if it is not there; `LedgerError` if it is no ledger of this version."""
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        # Looked at before anything is changed: the file may be somebody else's. Tables of a new file come whole or not at all.
        transaction(connection, "BEGIN IMMEDIATE", lambda c: _prepare(c, path))
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def transaction(connection: sqlite3.Connection, start: str, work: Callable[[sqlite3.Connection], T]) -> T:
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


@contextlib.contextmanager
def explained(path: Path, unmet: str) -> Iterator[None]:
    """Errors of SQLite as errors that say what was not done (`unmet`) and what to do."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the second: what SQLite says of a damaged file may be no text
        raise _explain(error, path, unmet) from error


class Packed(NamedTuple):
    """A named array as the file has it."""

    name: str
    dtype: str
    shape: str
    data: bytes


def pack(values: npt.ArrayLike, name: str) -> Packed:
    """The bits themselves: NaN and infinities too come back as they were, which text does not promise."""
    import numpy as np

    array = np.asarray(values) if np.size(values) else np.asarray(values, getattr(values, "dtype", np.float64))
    kind = array.dtype.str[1:]
    if kind not in DTYPES:
        raise TypeError(f"results[{name!r}] must hold numbers or truth values, got {values!r}.")
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return Packed(name, kind, json.dumps(list(array.shape)), little.tobytes())


def unpack(packed: Packed) -> npt.NDArray[Any]:
    """The array with the same bits."""
    import numpy as np

    flat = np.frombuffer(packed.data, np.dtype(f"<{packed.dtype}"))
    array = flat.reshape(json.loads(packed.shape))
    return array.astype(array.dtype.newbyteorder("="))  # a copy, which may be written to


def digest_of(key: str, seconds: float, packed: Sequence[Packed]) -> bytes:
    """Digest of a job and its arrays: one changed bit, or an array of another job, is noticed."""
    whole = hashlib.sha256(json.dumps([key, seconds, *([*each[:3], len(each.data)] for each in packed)]).encode())
    for each in packed:
        whole.update(each.data)
    return whole.digest()


def sweep_digest(sweep: str, settings: str, keys: Sequence[str]) -> bytes:
    """Digest of a sweep: its id, its settings as text, and its jobs in their order."""
    return hashlib.sha256(json.dumps([sweep, settings, list(keys)]).encode()).digest()


class Owner(NamedTuple):
    """A process on a host."""

    host: str
    pid: int


def take(connection: sqlite3.Connection, key: str, owner: Owner, stale_after: float) -> bool:
    """Whether the job is now the owner's: it was free, its own, or that of a process that is dead or silent."""
    row = connection.execute("SELECT host, pid, beat FROM claims WHERE key = ?", (key,)).fetchone()
    if row is not None:
        holder, beat = Owner(*row[:2]), row[2]
        # Both ways: a beat from before the clock was set back must not hold for ever.
        stale = abs(time.time() - beat) > stale_after
        if holder != owner and not stale and not (holder.host == owner.host and _is_gone(holder.pid)):
            return False
    connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?)", (key, *owner, time.time()))
    return True


def release(connection: sqlite3.Connection, keys: Iterable[str], owner: Owner) -> None:
    """Give these claims back; those of others stay."""
    query = "DELETE FROM claims WHERE key = ? AND host = ? AND pid = ?"
    connection.executemany(query, [(key, *owner) for key in keys])


def beat(connection: sqlite3.Connection, owner: Owner) -> None:
    """All claims of the owner are fresh again."""
    connection.execute("UPDATE claims SET beat = ? WHERE host = ? AND pid = ?", (time.time(), *owner))


def this_process() -> Owner:
    """This process as an owner of claims."""
    return Owner(platform.node(), os.getpid())


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
        raise LedgerError(
            f"{path} was made by a newer echoscale: it has format {version}, this one knows {FORMAT_VERSION}. "
            "Install a newer echoscale, or start a ledger under another name."
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


def _explain(error: Exception, path: Path, unmet: str) -> Exception:
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


def _code(error: Exception) -> int:
    """The primary result code; its extensions are in the upper bytes. 0 if the error came from Python."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _is_gone(pid: int) -> bool:
    """Whether no process of this host has the id. In doubt the heartbeat decides."""
    if os.name != "posix":  # there, signal 0 would be a Ctrl-C
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False
