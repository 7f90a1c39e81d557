"""Who is at work on which job: claims of processes, which fall when their owners die or are silent for too long."""

from __future__ import annotations

import contextlib
import os
import platform
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Owner(NamedTuple):
    """A process, told apart from all others there were: its id comes back, but not with the same start."""

    host: str
    pid: int
    started: str
    """Clock ticks from boot to start; empty where there is no /proc, and the heartbeat alone decides."""


def take(connection: sqlite3.Connection, key: str, owner: Owner, stale_after: float) -> bool:
    """Whether the job is now the owner's: it was free, its own, or that of a process that is dead or silent."""
    row = connection.execute("SELECT host, pid, started, beat FROM claims WHERE key = ?", (key,)).fetchone()
    if row is not None:
        holder, beat = Owner(*row[:3]), row[3]
        # Both ways: a beat from before the clock was set back must not hold for ever.
        stale = abs(time.time() - beat) > stale_after
        if holder != owner and not stale and not (holder.host == owner.host and _is_dead(holder)):
            return False
    connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?)", (key, *owner, time.time()))
    return True


def release(connection: sqlite3.Connection, keys: Iterable[str], owner: Owner) -> None:
    """Give these claims back; those of others stay."""
    query = "DELETE FROM claims WHERE key = ? AND host = ? AND pid = ? AND started = ?"
    connection.executemany(query, [(key, *owner) for key in keys])


def beat(connection: sqlite3.Connection, owner: Owner) -> None:
    """All claims of the owner are fresh again."""
    connection.execute("UPDATE claims SET beat = ? WHERE host = ? AND pid = ? AND started = ?", (time.time(), *owner))


def this_process() -> Owner:
    """This process as an owner of claims."""
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
