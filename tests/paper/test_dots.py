"""Drawings of dots: nothing that was said becomes markup, and dots lie on one scale."""

from __future__ import annotations

import pytest
from html_page import Parsed

from echoscale.app.report import page
from paper.dots import Dot, dots

NASTY = "<script>alert('x')</script> & \"q\" onerror="


def test_what_is_said_is_never_markup() -> None:
    parsed = Parsed(page.page("", dots([Dot(NASTY, 1.0, 0.1)], NASTY)))
    assert sum(tag == "script" for tag, _ in parsed.tags) == 1, "our own"
    assert not any("onerror" in attrs for _, attrs in parsed.tags)
    assert parsed.words.count("<script>alert('x')</script>") >= 2


@pytest.mark.parametrize(("low", "high"), [(0.6, 0.8), (-3.0, 11.0), (1e-6, 2e-6), (5.0, 5.0)])
def test_dots_lie_where_their_values_are(low: float, high: float) -> None:
    """Ticks and dots are on one linear scale."""
    parsed = Parsed(page.page("", dots([Dot("a", low, 0.0), Dot("b", high, 0.0, paper=low)], "axis")))
    at = [float(attrs["cx"] or 0) for tag, attrs in parsed.tags if tag == "circle"]
    ticks = [float(attrs["x1"] or 0) for tag, attrs in parsed.tags if tag == "line"]
    assert len(at) == 2
    assert 2 <= len(ticks) <= 9
    assert min(ticks) - 0.1 <= min(at)
    assert max(at) <= max(ticks) + 0.1
    assert (at[1] > at[0]) == (high > low)
