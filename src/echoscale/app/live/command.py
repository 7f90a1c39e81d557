"""`echoscale lab`: serve the live page. Nothing heavy is imported before the command runs."""

from __future__ import annotations

import logging
import os
import socket
import sys
import warnings
from importlib.util import find_spec
from typing import Annotated, NoReturn

import typer

HOME = "127.0.0.1"


def lab(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = 5006,
    host: Annotated[str, typer.Option(help="Address to listen on; by default only this machine can reach it.")] = HOME,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST:PORT", help="Name under which other machines see the page; may be repeated."),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """A live page with sliders for a network. See what they do to its timescales and its error. Needs echoscale[lab]."""
    if find_spec("bokeh") is None:
        _refuse("the lab needs Bokeh: pip install 'echoscale[lab]'.")
    try:
        port = _free(host, port)
    except OSError as error:
        _refuse(f"cannot listen on {host}:{port}: {error.strerror or error}. Another port: echoscale lab --port 0.")
    from echoscale.app.live.server import in_url, start

    logging.getLogger("bokeh").setLevel(logging.ERROR)
    logging.getLogger("tornado").setLevel(logging.ERROR)  # no line for every refused request
    warnings.simplefilter("ignore", UserWarning)  # warnings are shown on the page
    try:
        server = start(host, port, allow_origin or ())
    except ValueError as error:
        _refuse(f"--allow-origin takes HOST:PORT ({error}).")
    typer.echo(f"http://{in_url(host)}:{server.port}/")
    typer.echo("Ctrl-C ends it.", err=True)
    if browser:
        server.io_loop.add_callback(server.show, "/")
    try:
        server.io_loop.start()
    except KeyboardInterrupt:
        # There is nothing to save, and Python would wait for all threads.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _free(host: str, port: int) -> int:
    """The port if it is free; for 0, a free port."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as one:
        if sys.platform != "win32":  # as the server itself does
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((host, port))
        return int(one.getsockname()[1])


def _refuse(words: str) -> NoReturn:
    typer.echo(f"Error: {words}", err=True)
    raise typer.Exit(2)
