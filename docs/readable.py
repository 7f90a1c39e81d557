"""Pages for phones, for the dark and for screen readers.

Cells carry the name of their column: the style makes cards of the rows of a table where the page is narrow. Pictures lead to
themselves, where they can be enlarged; those with maps are marked, since their colours are values. Captions of lists of pages
have their level.
"""

from __future__ import annotations

import re
from typing import Any

from bs4 import BeautifulSoup

HEADING = 'role="heading"'
MAPS = re.compile(r"/(fig[346]-|lab\.|[\w-]*-maps?\.)[^/]*$")  # files of pictures whose colours are values


def improve(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """<td data-label="column"> in all tables with a head of one row; links around pictures; aria-level of captions."""
    for part in {"furo_navigation_tree", "body"} & context.keys():
        context[part] = context[part].replace(HEADING, f'{HEADING} aria-level="2"')
    if "<thead>" not in context.get("body", "") and "<img " not in context.get("body", ""):
        return
    soup = BeautifulSoup(context["body"], "html.parser")
    for image in soup.select("img[src]"):
        if MAPS.search(image["src"]):
            image["class"] = [*image.get("class", []), "map"]
        if image.find_parent("a") is None:
            image.wrap(soup.new_tag("a", href=image["src"]))
    for table in soup.select("table:has(thead)"):
        rows = table.select("thead tr")
        if len(rows) != 1:
            continue
        names = [" ".join(cell.get_text().split()) for cell in rows[0].find_all(["th", "td"])]
        for row in table.select("tbody tr"):
            for name, cell in zip(names, row.find_all(["td", "th"]), strict=False):
                if name:
                    cell["data-label"] = name
                if not cell.get_text(strip=True) and not cell.find("img"):
                    cell.clear()  # an empty paragraph would keep its line
    context["body"] = str(soup)


def unlisted(app: Any, document: str, source: list[str]) -> None:
    """Result files are pages which the tables lead to; no list of pages holds them."""
    if document.startswith("benchmarks/"):
        source[0] = "---\norphan: true\n---\n" + source[0]


def setup(app: Any) -> dict[str, bool]:
    app.connect("html-page-context", improve, priority=900)  # after the theme
    app.connect("source-read", unlisted)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
