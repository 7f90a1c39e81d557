"""The rooms of the library as a tree, a table and a picture."""

from __future__ import annotations

import textwrap
from functools import cache
from html import escape

import rooms

from generator.results import ROOT, table

PICTURE = ROOT / "docs" / "figures" / "rooms.svg"
LINE, LEFT, WIDTH = 22, 130, 600


@cache
def imports() -> dict[str, set[str]]:
    """Room -> the rooms that its files import, without those that functions reach up to."""
    order = list(rooms.ROOMS)
    found: dict[str, set[str]] = {room: set() for room in order}
    for file in rooms.FILES:
        room = rooms.room_of(rooms.module_of(file))
        found[room] |= {each for each in rooms.imported_rooms(file) if order.index(each) < order.index(room)}
    return found


def necessary() -> list[tuple[str, str]]:
    """Imports without those that follow from others (the transitive reduction)."""
    below: dict[str, set[str]] = {}
    for room in rooms.ROOMS:
        below[room] = set().union(*({each} | below[each] for each in imports()[room]), set())
    return [
        (room, each)
        for room in rooms.ROOMS
        for each in imports()[room]
        if not any(each in below[other] for other in imports()[room] - {each})
    ]


def tree() -> str:
    """The source: packages with their modules, then the modules beside them."""
    folders: dict[str, list[str]] = {}
    for module in sorted(rooms.MODULES):
        top, _, inner = module.partition(".")
        folders.setdefault(top, []).extend([inner] if inner else [])
    order = [room for room in rooms.ROOMS if "." not in room]
    packages = [top for top in order if folders[top]]
    lines = ["src/echoscale/"]
    for top in packages:
        inner = [each for each in folders[top] if "." not in each]
        nested = {each.split(".")[0] for each in folders[top] if "." in each}
        names = " ".join(f"{each}/" if each in nested else each for each in inner)
        lines += textwrap.wrap(names, 100, initial_indent=f"  {top + '/':14}", subsequent_indent=" " * 16)
    lines.append("  " + " ".join(f"{top}.py" for top in order if not folders[top]))
    return "\n".join(["```text", *lines, "```"])


def listed() -> str:
    """The room list, from the ground up."""
    return table(
        ("room", "what is in it", "imports"),
        [
            (f"`{room}`", text, " ".join(f"`{each}`" for each in rooms.ROOMS if each in imports()[room]))
            for room, text in rooms.ROOMS.items()
        ],
    )


def picture() -> str:
    """The import graph as an SVG: rooms from the ground up, as listed, and an arc from each to those that it needs directly."""
    order = list(rooms.ROOMS)
    place = {room: LINE * (k + 1) for k, room in enumerate(order)}
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{LINE * (len(order) + 1)}" font-family="sans-serif">',
        "<style>text{fill:#222;font-size:13px}path{fill:none;stroke:#4a7ba6;stroke-opacity:.6}circle{fill:#4a7ba6}"
        "@media(prefers-color-scheme:dark){text{fill:#ddd}path{stroke:#8ab8e0}circle{fill:#8ab8e0}}</style>",
    ]
    edges = sorted(necessary(), key=lambda edge: (place[edge[0]], place[edge[1]]))
    longest = max(place[high] - place[low] for high, low in edges)
    for high, low in edges:
        begin, end = place[low], place[high]
        reach = LEFT + 10 + (WIDTH - LEFT - 30) * ((end - begin) / longest) ** 0.7 * 4 / 3
        lines.append(f'<path d="M{LEFT} {begin}C{reach:.0f} {begin} {reach:.0f} {end} {LEFT} {end}"/>')
    for room in order:
        lines.append(f'<text x="{LEFT - 10}" y="{place[room] + 4}" text-anchor="end">{escape(room)}</text>')
        lines.append(f'<circle cx="{LEFT}" cy="{place[room]}" r="3"/>')
    return "\n".join([*lines, "</svg>", ""])
