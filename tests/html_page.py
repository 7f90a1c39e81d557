"""A page as its tags, for tests."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "img", "br", "line", "circle", "path"}


class Parsed(HTMLParser):
    """Tags in order; fails where one is closed that is not open."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(document)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data

    def addresses(self) -> list[str]:
        return [value for _, attrs in self.tags for name, value in attrs.items() if name in ("src", "href") and value]
