"""Output of all commands: errors in one line, progress, results for people and for programs.

Results go to standard output without line breaks or markup. Progress, notes and errors go to standard error. An error is one
line; `echoscale --debug ...` shows its origin. Exit codes: 0, 1 (a failure), 2 (an impossible request), 130 (Ctrl-C).
"""

from __future__ import annotations

import gc
import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

if TYPE_CHECKING:
    from echoscale._internal.table import Table

debugging = ContextVar("debugging", default=False)
silent = ContextVar("silent", default=False)


def _keep_silent(wanted: bool) -> bool:
    silent.set(wanted)
    return wanted


Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
# Also sets `silent`, so most commands ignore the value.
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no notes.", callback=_keep_silent)]

FAILED, REFUSED, STOPPED = 1, 2, 130


@contextmanager
def refusing(go_on: str = "Nothing was written: run the same command again.") -> Iterator[None]:
    """Report errors in one line, with exit status 2 if the user can fix them, else 1. Ctrl-C prints how to continue."""
    try:
        yield
    except (typer.Exit, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        say(f"Stopped. {go_on}")
        raise typer.Exit(STOPPED) from None
    except Exception as error:
        if debugging.get():
            raise
        if isinstance(error, ValueError | TypeError | ImportError | OSError):
            say(f"Error: {error or type(error).__name__}")
            raise typer.Exit(REFUSED) from error
        said = f"{type(error).__name__}: {error}"
        say(f"Error: {said}. This should not happen: please report it, with the output of `echoscale --debug`.")
        raise typer.Exit(FAILED) from error


def say(words: str) -> None:
    """Print a line on standard error."""
    typer.echo(words, err=True)


def note(words: str) -> None:
    """Print a line on standard error, unless the user wants no notes."""
    if not silent.get():
        say(words)


def note_filled(gaps: int) -> None:
    """Print the number of filled missing inputs."""
    if gaps:
        note(f"{gaps} gap{'s' * (gaps != 1)} in inputs: filled with the last value.")


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that slow work without known progress is running: elapsed seconds on a terminal, else one line."""
    if silent.get():
        yield
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        say(f"{what} ...")
        yield
        return
    with Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), transient=True, console=console
    ) as bar:
        bar.add_task(escape(what), total=None)
        yield


@contextmanager
def loading() -> Iterator[None]:
    """Show on a terminal that the modules of a command are being imported.

    JAX hooks into the garbage collection, and a Ctrl-C during its hook is lost: nothing is collected meanwhile.
    """
    gc.disable()
    try:
        with working("Loading") if sys.stderr.isatty() else nullcontext():
            yield
    finally:
        gc.enable()
        gc.freeze()  # modules stay


def print_json(value: object) -> None:
    """Print one JSON document on standard output; NaN and infinity become null."""
    typer.echo(json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def plain(value: object) -> object:
    """The same value in JSON types: a table is a list of rows, each a dict with keys such as "inside_80" for "inside 80 %"."""
    if type(value).__name__ == "Table":  # not imported, which would slow down --help
        table = cast("Table", value)
        keys = [name.replace(" %", "").replace(" ", "_") for name in table.columns]
        return [{key: plain(each) for key, each in zip(keys, row, strict=True)} for row in table.rows]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def named(given: Sequence[str] | None) -> list[str]:
    """Names given one by one, or separated by commas."""
    return [name.strip() for each in given or () for name in each.split(",") if name.strip()]


def check_folder(folder: Path) -> None:
    """Raise an error if files could not be written into a folder, which may not exist yet; creates nothing."""
    place = folder
    while not place.exists():
        if place.is_symlink():
            raise FileNotFoundError(f"{place} is a broken link: give another folder.")
        place = place.parent
    if not place.is_dir():
        raise NotADirectoryError(f"{folder} cannot be a folder: {place} is a file. Give another one with --out.")
    try:
        with tempfile.TemporaryFile(dir=place):  # permissions are not enough: file systems have their own rules
            pass
    except OSError as error:
        raise PermissionError(f"nothing can be written into {place} ({error.strerror}): give another folder.") from None


def check_file(path: Path, endings: Sequence[str]) -> None:
    """Raise an error if a file could not be written; creates nothing."""
    from echoscale._internal.files import check_writable

    if path.suffix.lower() not in endings:
        raise ValueError(f"{path} must end in {' or '.join(endings)}.")
    check_folder(path.parent)
    check_writable(path)


def keep_compiled_programs() -> None:
    """Keep compiled JAX programs in the user's cache folder between runs, unless the user chose another place."""
    from echoscale._internal.files import cache_of

    try:
        home = Path.home()
    except RuntimeError:  # no home: programs are never loaded from a folder to which others can write
        return
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache_of(sys.platform, os.environ, home) / "jax"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
