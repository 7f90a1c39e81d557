"""Pages and what is generated in them; and the search for measured numbers that have no source.

A number counts as measured where it has a decimal point, an exponent, a per cent sign, a unit of time or memory, or stands in
"7 of 10" or "3 times". In prose such a number is a claim (`claims.CLAIMS`, computed from a result file) or a quotation
(`claims.QUOTED`, with its origin). Settings are code or mathematics and are passed over: `0.95`, $\\alpha = 0.2$.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from generator import claims, example, notebook, paper_scale, pictures, rooms, tables
from generator.results import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
MARKED = re.compile(r"(?P<begin><!-- table: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(?P<end><!-- end -->)", re.DOTALL)
# What is no prose, or no measurement: code, mathematics, comments, targets of links, directives, addresses.
PASSED_OVER = re.compile(
    r"^(?P<fence>```+|:::+).*?^(?P=fence)|<!-- table:.*?<!-- end -->|<!--.*?-->|^(?: {4,}).*?$|\$\$.*?\$\$|`[^`]+`|\$[^$\n]+\$|"
    r"\]\([^)]*\)|https?://\S+|(?:doi|arXiv):\S+|^\([\w-]+\)=$",
    re.DOTALL | re.MULTILINE,
)
DIGITS = r"\d[\d,]*(?:\.\d+)?"
UNITS = r"(?:s|ms|µs|ns|MB|GB|TB|KiB|MiB|GiB|seconds?|minutes?|hours?)"
MEASURED = re.compile(
    rf"(?<![\w.])(?:\d[\d,]*\.\d+(?:e[-+−]?\d+)?|\d+e[-+−]?\d+|{DIGITS}\s*%|{DIGITS}\s?{UNITS}\b|"
    rf"{DIGITS}\s+of\s+(?:the\s+)?\d+\b|{DIGITS}\s+times\b|{DIGITS}\s?×(?!\s?\d))"
)


def up_to_date(page: Path) -> str:
    """The text of a page as it should be."""
    text = MARKED.sub(
        lambda found: found["begin"] + tables.TABLES[found["name"]]().strip() + "\n" + found["end"],
        page.read_text(encoding="utf-8"),
    )
    for claim in claims.of(page.name):
        found = pattern(claim.text).search(text)
        if not found:
            raise LookupError(f"{page.name} has no sentence {claim.text!r} any more; claims.py names it.")
        for k in range(len(found.groups()), 0, -1):
            begin, end = found.span(k)
            text = text[:begin] + claim.values()[k - 1] + text[end:]
    return text


def pattern(text: str) -> re.Pattern[str]:
    """The sentence of a claim, wherever its lines break; one group for every {} in it."""
    words = [re.escape(word).replace(r"\{\}", r"([-+−]?\d[\d,]*(?:\.\d+)?(?:e[-+−]?\d+)?)") for word in text.split()]
    return re.compile(r"\s+".join(words))


def prose(text: str) -> str:
    """The text with everything that is passed over blanked, so that places stay where they are."""
    return PASSED_OVER.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def unclaimed(page: Path) -> Iterator[str]:
    """Measured numbers in the prose of a page that neither a claim nor a quotation covers."""
    text = page.read_text(encoding="utf-8")
    known = [claim.text for claim in claims.of(page.name)]
    known += [quoted.text for quoted in claims.QUOTED if quoted.page == page.name]
    spans = [found.span() for each in known for found in pattern(each).finditer(text)]
    for found in MEASURED.finditer(prose(text)):
        if not any(begin <= found.start() and found.end() <= end for begin, end in spans):
            line = text.count("\n", 0, found.start()) + 1
            yield f"{page.name}:{line}: {' '.join(found[0].split())}"


def main(arguments: Sequence[str]) -> int:
    """Rewrite what differs, or say what does; with --picture, draw the pictures of examples anew."""
    if "--picture" in arguments:
        example.draw()
        example.draw_forecasts()
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
    loose = [each for page in PAGES for each in unclaimed(page)]
    for each in loose:
        print(f"no source: {each}")
    return int(bool(loose or (check and changed)))
