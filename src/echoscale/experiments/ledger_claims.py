"""Who is at work on which job: claims of processes, which fall when their owners die or are silent for too long."""

from __future__ import annotations

import os
import platform
import sqlite3
import time
from collections.abc import Iterable
from typing import NamedTuple


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
