"""The report of a reproduction as a reader sees it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

import pytest
from watched import Opened, Watched

import paper
from paper import report as reproduction

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, browser: object) -> Path:
    """The browser comes first, so that nothing is computed where there is none."""
    folder: Path = tmp_path_factory.mktemp("report")
    for number in (2, 8):
        paper.make(number, "smoke", folder)
    return reproduction.write(folder, "smoke")


def test_everything_loads_and_links_resolve(report: Path, opened: Opened) -> None:
    page = opened(report.as_uri(), report.parent.as_uri()).page
    images = page.locator("button.picture img").evaluate_all("all => all.map(each => [each.naturalWidth, each.alt])")
    assert len(images) == 2
    assert all(width > 500 and words for width, words in images)
    targets = page.locator("a").evaluate_all("all => all.map(each => each.href)")
    assert targets
    for target in targets:
        address = urlparse(target)
        assert Path(unquote(address.path)).is_file()
        if address.fragment:
            assert page.locator(f"[id='{address.fragment}']").count() == 1


def test_a_figure_opens_large_and_closes(report: Path, opened: Opened) -> None:
    page = opened(report.as_uri(), report.parent.as_uri()).page
    small, large = page.locator("button.picture img").first, page.locator("dialog img")
    assert not large.is_visible()
    small.click()
    assert large.is_visible()
    assert large.get_attribute("src") == small.get_attribute("src")
    shown, before = large.bounding_box(), small.bounding_box()
    assert shown
    assert before
    assert shown["width"] > 1.3 * before["width"]
    page.keyboard.press("Escape")
    assert not large.is_visible()
    page.keyboard.press("Enter")  # the focus is back on the picture
    assert large.is_visible()
    large.click()
    assert not large.is_visible()


def test_what_is_wrong_is_seen(tmp_path: Path, browser: Browser) -> None:
    """The tests above would fail on a page that is too wide, asks elsewhere, or complains."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<html><body><img src='missing.png'><img src='http://127.0.0.1:9/x.png'><script>undefined.x</script>"
        "<p style='width:900px'>wide</p></body></html>"
    )
    watched = Watched(browser.new_context(viewport={"width": 390, "height": 900}).new_page(), tmp_path.as_uri())
    watched.page.goto(bad.as_uri())
    assert watched.overflow() > 400
    said = "\n".join(watched.faults)
    assert "from elsewhere: http://127.0.0.1:9/x.png" in said
    assert "not loaded" in said
    assert "undefined" in said
    watched.page.context.close()
