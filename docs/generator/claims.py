"""Measured numbers in sentences: where they stand, and how result files give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Claim(NamedTuple):
    """A sentence of a page. Every {} in `text` is one of `values`, formatted by its turn of `forms`."""

    page: str
    text: str
    values: Callable[[], tuple[str, ...]]

    def numbers(self) -> tuple[str, ...]:
        return self.values()


class Quoted(NamedTuple):
    """Numbers of others, and names that look like numbers, with their origin."""

    page: str
    text: str
    origin: str


CLAIMS: list[Claim] = []
QUOTED: list[Quoted] = []


def of(page: str) -> list[Claim]:
    """The claims of one page."""
    return [claim for claim in CLAIMS if claim.page == page]
