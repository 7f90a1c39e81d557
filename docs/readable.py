"""Pages for phones and screen readers: cells carry the name of their column, and captions of lists of pages their level.

The style makes cards of the rows of a table where the page is narrow; a cell then needs that name.
"""

from __future__ import annotations

from typing import Any

from bs4 import BeautifulSoup

HEADING = 'role="heading"'


def improve(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """<td data-label="column"> in all tables with a head of one row; aria-level of captions, which Sphinx leaves out."""
    for part in {"furo_navigation_tree", "body"} & context.keys():
        context[part] = context[part].replace(HEADING, f'{HEADING} aria-level="2"')
    if "<thead>" not in context.get("body", ""):
        return
    soup = BeautifulSoup(context["body"], "html.parser")
    for table in soup.select("table:has(thead)"):
        rows = table.select("thead tr")
        if len(rows) != 1:
            continue
        names = [" ".join(cell.get_text().split()) for cell in rows[0].find_all(["th", "td"])]
        for row in table.select("tbody tr"):
            for name, cell in zip(names, row.find_all(["td", "th"]), strict=False):
                if name:
                    cell["data-label"] = name
    context["body"] = str(soup)


def setup(app: Any) -> dict[str, bool]:
    app.connect("html-page-context", improve, priority=900)  # after the theme
    return {"parallel_read_safe": True, "parallel_write_safe": True}
