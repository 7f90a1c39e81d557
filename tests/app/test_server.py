"""The server of the live page, asked by raw requests and by clients that are no browsers."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from typing import Any

import numpy as np
import pytest

pytest.importorskip("bokeh", reason="the lab needs Bokeh: pip install echoscale[lab]")

from bokeh.client import pull_session
from bokeh.document import Document
from tornado.ioloop import IOLoop

from echoscale.app.live import page as live_page
from echoscale.app.live import server
from echoscale.app.live.controls import RANGES, SIZES
from echoscale.app.live.page import LivePage

SOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "Sec-WebSocket-Version": "13",
}


class Served:
    """A lab on a port of its own, whose loop runs in a thread."""

    def __init__(self, *others: str) -> None:
        self._others, self._ready = others, threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._ready.wait(60)

    def _run(self) -> None:
        asyncio.set_event_loop(asyncio.new_event_loop())
        self.server = server.start("127.0.0.1", 0, self._others)
        self.loop, self.port = IOLoop.current(), self.server.port
        self.loop.add_callback(self._ready.set)
        self.loop.start()
        self.server.stop()
        self.loop.close(all_fds=True)

    def end(self) -> None:
        self.loop.add_callback(self.loop.stop)
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def ask(self, path: str, host: str | None = None, **headers: str) -> tuple[int, str]:
        """Status and text of the answer to a GET with these headers alone."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest("GET", path, skip_host=True, skip_accept_encoding=True)
        for name, value in {"Host": host or f"127.0.0.1:{self.port}", **headers}.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        text = "" if answer.status == 101 else answer.read().decode(errors="replace")
        connection.close()
        return answer.status, text


@pytest.fixture
def served() -> Iterator[Callable[..., Served]]:
    started: list[Served] = []

    def serve(*others: str) -> Served:
        started.append(Served(*others))
        return started[-1]

    yield serve
    for each in started:
        each.end()


def until(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("waited in vain")


def move(session: Any, name: str, value: float) -> None:
    next(each for each in session.document.models if each.name == name).value = value
    session.force_roundtrip()


def test_only_requests_by_its_own_name_and_from_its_own_page_are_answered(served: Callable[..., Served]) -> None:
    """A name of somebody else that leads to this machine makes Host and Origin equal: Tornado trusts the pair."""
    lab = served("shown.example:80")
    own, evil = f"127.0.0.1:{lab.port}", f"evil.example:{lab.port}"
    assert lab.ask("/ws", **SOCKET, Origin=f"http://{own}")[0] == 101
    for name in (own, f"localhost:{lab.port}", f"LOCALHOST:{lab.port}", "shown.example"):
        assert lab.ask("/ws", name, **SOCKET, Origin=f"http://{name}")[0] == 101, name
        assert lab.ask("/static/js/bokeh.min.js", name)[0] == 200, name
    for name in (evil, "evil.example", "127.0.0.1", f"127.0.0.1.evil.example:{lab.port}", f"[::1]:{lab.port}", ":::"):
        assert lab.ask("/ws", name, **SOCKET, Origin=f"http://{name}")[0] == 403, name
        for path in ("/", "/autoload.js", "/metadata", "/static/js/bokeh.min.js", "/nothing"):
            assert lab.ask(path, name)[0] == 403, (name, path)
    same = {"Sec-Fetch-Site": "same-origin"}  # browsers cannot be made to lie about it, but Tornado believes it
    for origin in (f"http://{evil}", "null", f"http://{own}.evil.example", "http://["):
        assert lab.ask("/ws", **SOCKET, **same, Origin=origin)[0] == 403, origin
    assert "--allow-origin" in lab.ask("/", evil)[1]


def test_other_sites_may_link_to_the_page_but_not_load_it(served: Callable[..., Served]) -> None:
    lab = served()
    for site in ("cross-site", "same-site"):
        for kind in ("image", "iframe", "script"):
            assert lab.ask("/", **{"Sec-Fetch-Site": site, "Sec-Fetch-Dest": kind})[0] == 403
        assert lab.ask("/", **{"Sec-Fetch-Site": site, "Sec-Fetch-Dest": "document"})[0] == 200


def test_a_page_computes_when_it_is_used_and_leaves_nothing(
    served: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_PAGES", 3)
    monkeypatch.setattr(server, "CHECKED", 50)
    monkeypatch.setattr(server, "UNWATCHED", 300_000)
    looks: list[object] = []

    def look(*given: object) -> None:
        looks.append(given)
        raise ValueError("nothing to see")

    monkeypatch.setattr(live_page, "look", look)
    before = set(threading.enumerate())
    lab = served()

    def left() -> int:
        return len([each for each in set(threading.enumerate()) - before if each.name.startswith(("look", "map", "learn"))])

    assert "<h2>Network</h2>" in lab.ask("/")[1]
    session = pull_session(url=lab.url)
    assert not looks
    move(session, "leak_rate[0]", 0.3)
    until(lambda: left() == 1 and len(looks) == 1)
    assert "<h2>Network</h2>" in lab.ask("/")[1]
    assert "3 live pages are open" in lab.ask("/")[1]
    other = pull_session(url=lab.url)
    assert not other.document.roots
    for each in (session, other):
        each.close()
    lab.server._tornado._unused_session_lifetime_milliseconds = 1
    until(lambda: not lab.server.get_sessions("/"))
    until(lambda: left() == 0)


def test_values_are_bounded_by_the_sliders_whatever_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the client has moved the end of the slider first."""
    monkeypatch.setattr(LivePage, "refresh", lambda page: None)
    page = LivePage(Document())
    page.count.active = 2
    for sent, place in ((1e9, 1), (-1e9, 0), (np.nan, 0)):
        for own in page.sliders:
            for slider in own.values():
                slider.start, slider.end, slider.value = -1e12, 1e12, sent
        for level in page.controls.levels:
            assert level.units == SIZES[place]
            for name, ends in RANGES.items():
                if name != "coupling" or level is not page.controls.levels[0]:
                    assert getattr(level, name) == ends[place], name
    good = page.controls
    for widget, name, value in (
        (page.count, "active", 3),
        (page.count, "active", None),
        (page.structure, "active", -1),
        (page.ridge, "value", "1e-300"),
        (page.across, "value", "units[0]"),
        (page.up, "value", "leak_rate[7]"),
    ):
        old = getattr(widget, name)
        with pytest.raises(ValueError, match="must be one of"):
            setattr(widget, name, value)
        setattr(widget, name, old)
        assert page.controls == good


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_the_command_ends_at_once_while_pages_compute(sent: signal.Signals) -> None:
    """Here a look never ends: who waits for it waits for ever."""
    code = (
        # A shell starts programs in the background with Ctrl-C ignored.
        "import signal, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from echoscale.app.cli import app\nfrom echoscale.app.live import page\n"
        "def never(*given):\n    print('looking', flush=True)\n    time.sleep(10_000)\n"
        "page.look = never\napp(['lab', '--no-browser', '--port', '0'])"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as lab:
        assert lab.stdout is not None
        url = lab.stdout.readline().strip()
        session = pull_session(url=url)
        move(session, "leak_rate[0]", 0.3)
        assert lab.stdout.readline() == "looking\n"
        lab.send_signal(sent)
        try:
            assert lab.wait(30) == (0 if sent == signal.SIGINT else -sent)
        finally:
            lab.kill()
