"""The built site in a browser. Not among `make test`, since it must be built first: `make check-pages`."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from watched import Opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SITE = Path(__file__).parents[2] / "build" / "site"
# Without the page at the root, which only leads on.
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if path != SITE / "index.html")
CUT = "all => all.filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.textContent.slice(0, 60))"
WIDE = """all => all.filter((each) => each.getBoundingClientRect().width > each.parentElement.clientWidth + 1)
    .map((each) => each.textContent.trim().slice(0, 60))"""


class Quiet(SimpleHTTPRequestHandler):
    """Without a line for every request, and without the picture that browsers ask for."""

    def do_GET(self) -> None:
        if self.path == "/favicon.ico":
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, format: str, *values: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    assert "docs/index.html" in PAGES, "there is no site: make docs"
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_no_code_is_cut_and_no_table_is_too_wide(address: str, browser: Browser) -> None:
    """Of all pages: code at 1400 pixels, tables and the page itself at 390; tables at 1400 too, but for raw results."""
    page = browser.new_page()
    # Neither pictures, which are as wide as the column, nor scripts change a width.
    page.route(re.compile(r"\.(png|svg|js)(\?.*)?$"), lambda route: route.abort())
    faults: dict[str, list[str]] = {}
    seen = 0
    for name in PAGES:
        page.set_viewport_size({"width": 1400, "height": 900})
        page.goto(f"{address}{name}")
        found = [f"cut: {each}" for each in page.locator("pre").evaluate_all(CUT)]
        if not name.startswith("benchmarks/results/"):
            found += [f"wide on a desktop: {each}" for each in page.locator("table").evaluate_all(WIDE)]
        seen += page.locator("pre").count() + page.locator("table").count()
        page.set_viewport_size({"width": 390, "height": 900})
        found += [f"wide: {each}" for each in page.locator("table").evaluate_all(WIDE)]
        if page.evaluate("document.documentElement.scrollWidth") > 390:
            found.append("wide: the page")
        if found:
            faults[name] = found
    assert faults == {}
    assert seen > 100


@pytest.mark.parametrize("name", ["docs/index", "docs/first_steps", "docs/examples", "docs/networks", "docs/api"])
def test_pages_load_without_complaints(name: str, address: str, opened: Opened) -> None:
    opened(f"{address}{name}.html", address)
