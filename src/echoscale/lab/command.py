"""`echoscale lab`: serve the live page. Nothing heavy is imported before the command runs."""

from __future__ import annotations

import logging
import socket
import sys
import warnings
from importlib.util import find_spec
from typing import Annotated, NoReturn

import typer

HOME = "127.0.0.1"


def lab(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the page; 0 is any that is free.")] = 5006,
    host: Annotated[str, typer.Option(help="Where to listen; the default is this machine alone.")] = HOME,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST:PORT", help="host:port under which other machines see the page; may be repeated."),
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
    from bokeh.server.server import Server

    from echoscale.lab.live_page import LivePage

    logging.getLogger("bokeh").setLevel(logging.ERROR)
    warnings.simplefilter("ignore", UserWarning)  # what the library warns of stands on the page
    # The page answers to these names alone: a page from elsewhere that a browser shows cannot talk to it.
    origins = [f"{each}:{port}" for each in dict.fromkeys((host, HOME, "localhost"))]
    server = Server({"/": LivePage}, address=host, port=port, allow_websocket_origin=[*origins, *(allow_origin or [])])
    typer.echo(f"http://{host}:{port}/")
    typer.echo("Ctrl-C ends it.", err=True)
    server.start()
    if browser:
        server.io_loop.add_callback(server.show, "/")
    try:
        server.io_loop.start()
    except KeyboardInterrupt:
        server.stop(wait=False)


def _free(host: str, port: int) -> int:
    """The port, if nobody uses it; for 0 one that nobody uses."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as one:
        if sys.platform != "win32":  # as the server itself does
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((host, port))
        return int(one.getsockname()[1])


def _refuse(words: str) -> NoReturn:
    typer.echo(f"Error: {words}", err=True)
    raise typer.Exit(2)
