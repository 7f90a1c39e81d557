"""The command line: parse, call, print. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import io
import sys
import warnings
from typing import Annotated

import typer

from echoscale.app.cli import commands, output, sweeps

app = typer.Typer(
    help="Echo state networks with several timescales.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        import echoscale

        typer.echo(f"echoscale {echoscale.__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the origin of errors.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Echo state networks with several timescales."""
    output.debugging.set(debug)


for each in (commands, sweeps):
    each.add_to(app)


def main() -> None:
    """The entry point of the `echoscale` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks the characters of a table must not cause an error
            stream.reconfigure(errors="backslashreplace")
    warnings.showwarning = _note
    app()


def _note(message: Warning | str, *_: object, **__: object) -> None:
    """A warning in one line, without its place in the library."""
    output.say(f"Note: {message}")
