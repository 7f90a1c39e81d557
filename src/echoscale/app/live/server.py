"""The server of the live page: allowed requests, limit on open pages, removal of closed pages."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from bokeh.server.util import check_allowlist, create_hosts_allowlist
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.web import RequestHandler

from echoscale.app.live import page
from echoscale.app.live.page import LivePage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bokeh.document import Document
    from tornado.httputil import HTTPServerRequest

MOST_PAGES = 20  # open pages: each may compute in three threads
CHECKED = 1000  # milliseconds between two searches for closed pages
UNWATCHED = 15_000  # milliseconds after which a closed page is removed; a slow browser needs time to load a new one


def start(host: str, port: int, others: Sequence[str] = ()) -> BaseServer:
    """Listen on the port and serve the page while the caller runs the loop of the server."""
    try:
        names = create_hosts_allowlist(list(others), None) if others else []
    except ValueError as error:
        raise ValueError(f"--allow-origin takes HOST:PORT ({error}).") from None
    try:
        open_socket = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        why = str(error.strerror).partition(" (")[0]  # without the address, which Python repeats in brackets
        raise OSError(f"cannot listen on {host}:{port}: {why}. Another port: echoscale lab --port 0.") from None
    open_socket.setblocking(False)
    port = open_socket.getsockname()[1]
    own = [f"{each}:{port}" for each in dict.fromkeys((in_url(host), "127.0.0.1", "localhost"))]
    application = _Application(
        {"/": open_page},
        extra_websocket_origins=[*own, *names],
        check_unused_sessions_milliseconds=CHECKED,
        unused_session_lifetime_milliseconds=UNWATCHED,
    )
    listening = HTTPServer(application)
    listening.add_socket(open_socket)
    server = BaseServer(IOLoop.current(), application, listening)
    server.start()
    return server


def in_url(host: str) -> str:
    """An address or name in the form of URLs: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def open_page(document: Document) -> None:
    """A page for a new visitor; a line of text if too many are open."""
    context = document.session_context
    if context is not None and len(context.server_context.sessions) >= MOST_PAGES:
        document.title = "echoscale lab"
        document.template = page.FULL
        document.template_variables.update(most=MOST_PAGES)
        return
    LivePage(document)


class _Application(BokehTornado):  # type: ignore[misc]
    """Answers only requests that are addressed to this server and come from its own page.

    A foreign name may resolve to this machine, and its page would have the same origin. Tornado trusts an Origin that equals
    the Host, so the Host itself must be a known name.
    """

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> Any:
        """Called by Tornado for every request, before anything is done with it."""
        if _is_own(request, list(self.websocket_origins)):
            return super().find_handler(request, **kwargs)
        return self.get_handler_delegate(request, _Refusal)


def _is_own(request: HTTPServerRequest, names: list[str]) -> bool:
    """Whether Host and Origin are names of this server. Other sites may link to the page, but not embed or load it."""
    origin = request.headers.get("Origin")
    elsewhere = request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")
    return check_allowlist(request.headers.get("Host", "").lower(), names) and (
        check_allowlist(origin.lower().partition("://")[2], names)
        if origin is not None
        else not elsewhere or request.headers.get("Sec-Fetch-Dest") == "document"
    )


class _Refusal(RequestHandler):
    """Answers every request with 403."""

    def prepare(self) -> None:
        """Called by Tornado in place of the request's method."""
        self.set_status(403)
        self.set_header("Content-Type", "text/plain")
        self.finish("This host name is not allowed. To allow it: echoscale lab --allow-origin HOST:PORT.\n")
