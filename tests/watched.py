"""A page in a browser that is watched, for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


class Watched:
    """A page, what it complained of, and what it asked of other machines."""

    def __init__(self, page: Page, own: str) -> None:
        self.page, self.faults = page, list[str]()
        page.on("console", lambda said: self.faults.append(said.text) if said.type in ("error", "warning") else None)
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

    def violations(self) -> list[str]:
        """What axe-core calls serious or critical."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        return [
            f"{each['id']}: {node['target']} {node.get('failureSummary', '')}"
            for each in found
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"]
        ]


Opened = Callable[..., Watched]
