"""How long work tells how far it is: one signature for all of it.

progress(done, total, note)      done of total pieces, and a few words, such as the error so far
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int, str], None]


@contextmanager
def shown(progress: bool | Progress, what: str) -> Iterator[Progress]:
    """What to call after every piece: the user's own function, a bar in the terminal (True), or nothing (False).

    Parameters
    ----------
    progress : bool or function of (done, total, note)
        What the user passed.
    what : str
        The words that stand before the bar.
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
    with Bar(transient=True, console=Console(stderr=True)) as bar:
        task = bar.add_task(escape(what), total=None)

        def tell(done: int, total: int, note: str) -> None:
            bar.update(task, completed=done, total=total, description=escape(f"{what}, {note}" if note else what))

        yield tell


def _silent(done: int, total: int, note: str) -> None:
    """Nothing is shown."""
