"""The page: nothing that was said becomes markup, nothing is loaded from elsewhere, every tag is closed."""

from __future__ import annotations

from html_page import Parsed

from echoscale.app.report import page

NASTY = "<script>alert('x')</script> & \"q\" onerror="


def test_what_is_said_is_never_markup() -> None:
    made = page.page(
        NASTY,
        page.paragraph(NASTY),
        page.table((NASTY,), [(NASTY,)], NASTY),
        page.picture(b"png", NASTY, page.text(NASTY)),
        page.command(NASTY),
        page.section(NASTY, page.items([page.text(NASTY)])),
        page.link(NASTY, NASTY),
    )
    parsed = Parsed(made)
    assert sum(tag == "script" for tag, _ in parsed.tags) == 1, "our own"
    assert not any("onerror" in attrs for _, attrs in parsed.tags)
    assert parsed.words.count("<script>alert('x')</script>") >= 7
    assert all(each.startswith("data:image/png;base64,") for each in parsed.addresses() if ":" in each.split("<")[0])


def test_html_is_escaped_once() -> None:
    assert page.text(page.text("a < b")) == "a &lt; b"
    assert page.table(("x",), [(page.link("#a", "1 < 2"),)], "t").count("1 &lt; 2") == 1
