"""Pages in a real browser, without a window: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
SLOW = 180_000  # milliseconds: a page that compiles, beside other tests


class Watched:
    """A page, what it complained of, and what it asked of other machines."""

    def __init__(self, page: Page, own: str) -> None:
        self.page, self.faults = page, list[str]()
        page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("requestfailed", lambda asked: self.faults.append(f"not loaded: {asked.url}"))
        page.on("request", lambda asked: None if asked.url.startswith((own, "data:", "blob:")) else self._outside(asked.url))

    def _outside(self, url: str) -> None:
        self.faults.append(f"from elsewhere: {url}")

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        wide = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert isinstance(wide, int)
        return wide


Opened = Callable[..., Watched]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for each file: Playwright's event loop must not outlive it, since other tests of the worker have their own."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no browser is installed: none of {', '.join(NAMES)} was found")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright drives the browser: pip install playwright")
    # A browser of root has no sandbox to use.
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=["--no-sandbox"] if root else [])
        yield started
        started.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """`opened(url, own, width=1400)`: a fresh page; at the end of the test it must not have complained."""
    pages: list[Watched] = []

    def open_page(url: str, own: str, *, width: int = 1400) -> Watched:
        context = browser.new_context(viewport={"width": width, "height": 900})
        context.set_default_timeout(SLOW)
        watched = Watched(context.new_page(), own)
        pages.append(watched)
        watched.page.goto(url)
        return watched

    yield open_page
    faults = [fault for each in pages for fault in each.faults]
    for each in pages:
        each.page.context.close()
    assert not faults
