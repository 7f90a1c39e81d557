"""Pages, what is generated in them, and the search for measured numbers in their sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from generator import notebook, paper_scale, pictures, rooms, tables
from generator.results import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
MARKED = re.compile(r"(?P<begin><!-- table: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(?P<end><!-- end -->)", re.DOTALL)
# What is no sentence: code, tables, mathematics, comments, targets of links, directives, addresses.
NO_SENTENCE = re.compile(
    r"^(?P<fence>```+|:::+).*?^(?P=fence)|<!-- table:.*?<!-- end -->|<!--.*?-->|^(?: {4,}|\|).*?$|"
    r"\$\$.*?\$\$|`[^`]+`|\$[^$\n]+\$|\]\([^)]*\)|https?://\S+|(?:doi|arXiv):\S+|^\([\w-]+\)=$",
    re.DOTALL | re.MULTILINE,
)
DIGITS = r"\d[\d,]*(?:\.\d+)?"
MEASURED = re.compile(
    rf"(?<![\w.])(?:\d[\d,]*\.\d+|\d+e[-+]?\d+|{DIGITS}\s*%|{DIGITS}\s?(?:m?s|µs|[MGT]i?B)\b|{DIGITS} times\b)"
)


def up_to_date(page: Path) -> str:
    """The text of a page with its tables as the result files have them."""
    return MARKED.sub(
        lambda found: found["begin"] + tables.TABLES[found["name"]]().strip() + "\n" + found["end"],
        page.read_text(encoding="utf-8"),
    )


def measured(page: Path) -> Iterator[str]:
    """Numbers in the sentences of a page that look measured, with their lines: they belong into a table."""
    text = page.read_text(encoding="utf-8")
    sentences = NO_SENTENCE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for found in MEASURED.finditer(sentences):
        yield f"{page.name}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]}"


def main(arguments: Sequence[str]) -> int:
    """Rewrite what differs, or say what does; with --picture, draw the pictures of examples again."""
    if "--picture" in arguments:
        pictures.draw()
    check, changed = "--check" in arguments, []
    wanted = {page: up_to_date(page) for page in PAGES}
    wanted[rooms.PICTURE] = rooms.picture()
    wanted[paper_scale.TARGET] = paper_scale.written()
    wanted[notebook.TARGET] = notebook.written()
    for file, text in wanted.items():
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            changed.append(file.relative_to(ROOT).as_posix())
            if not check:
                file.write_text(text, encoding="utf-8")
    for name in changed:
        print(f"{'differs' if check else 'written'}: {name}")
    return int(bool(check and changed))
