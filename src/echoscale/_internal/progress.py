"""How long work tells how far it is: one signature for all of it.

progress(done, total, note)      done of total pieces, and a few words, such as the error so far
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int, str], None]

# Seconds until the first line where there is no terminal; every further one takes twice as long, up to a minute.
FIRST_LINE, LONGEST_WAIT = 1.0, 60.0


@contextmanager
def shown(progress: bool | Progress, what: str) -> Iterator[Progress]:
    """What to call after every piece: the user's own function, a bar in the terminal (True), or nothing (False).

    Without a terminal, True writes plain lines to standard error, from the first second on and ever fewer.
    """
    if callable(progress):
        yield progress
        return
    if not isinstance(progress, bool):
        raise TypeError(f"progress must be True, False or a function of (done, total, note), got {progress!r}.")
    if not progress:
        yield _silent
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress as Bar

    # Results go to standard output, and may be read by another program.
    console = Console(stderr=True)
    if not console.is_terminal and not console.is_jupyter:
        yield _lines(what)
        return
    with Bar(transient=True, console=console) as bar:
        task = bar.add_task(escape(what), total=None)

        def tell(done: int, total: int, note: str) -> None:
            bar.update(task, completed=done, total=total, description=escape(f"{what}, {note}" if note else what))

        yield tell


def _lines(what: str) -> Progress:
    """Plain lines, ever fewer: for files and other programs."""
    wait, due = FIRST_LINE, time.monotonic() + FIRST_LINE

    def tell(done: int, total: int, note: str) -> None:
        nonlocal wait, due
        if time.monotonic() >= due:
            print(f"{what}: {done} of {total}" + (f", {note}" if note else ""), file=sys.stderr, flush=True)
            wait = min(2 * wait, LONGEST_WAIT)
            due = time.monotonic() + wait

    return tell


def _silent(done: int, total: int, note: str) -> None:
    """Nothing is shown."""
