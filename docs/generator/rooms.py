"""The rooms of the library as a tree, tables and a picture."""

from __future__ import annotations

import json
import textwrap
from functools import cache
from html import escape
from typing import Any

import rooms

from generator.results import ROOT, table

PICTURE = ROOT / "docs" / "figures" / "rooms.svg"
LINE, LEFT, WIDTH = 22, 130, 600  # of the picture
COLUMN = 20  # of the tree, where the modules begin


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
    """The source, folder by folder, with the modules of each."""
    lines = ["src/echoscale/"]
    for room in rooms.ROOMS:
        lines += branch(room, 1)
    return "\n".join(["```text", *lines, "```"])


def branch(folder: str, depth: int) -> list[str]:
    """One line for the modules of a folder such as "app.cli", then the lines of the folders in it."""
    inside = sorted(module.removeprefix(f"{folder}.") for module in rooms.MODULES if module.startswith(f"{folder}."))
    folders = {name.split(".")[0] for name in inside if "." in name}
    names = " ".join(name for name in inside if "." not in name and name not in folders)
    title = "  " * depth + folder.rpartition(".")[2] + "/"
    lines = textwrap.wrap(names, 100, initial_indent=f"{title:{COLUMN}}", subsequent_indent=" " * COLUMN) or [title]
    return [*lines, *(line for name in sorted(folders) for line in branch(f"{folder}.{name}", depth + 1))]


def listed() -> str:
    """The room list, from the ground up."""
    return table(
        ("room", "what is in it", "imports"),
        [
            (f"`{room}`", text, " ".join(f"`{each}`" for each in rooms.ROOMS if each in imports()[room]))
            for room, text in rooms.ROOMS.items()
        ],
    )


def sizes() -> dict[str, Any]:
    """The counts that `python tools/size.py --write` kept: "before", "after", or both."""
    return dict(json.loads((ROOT / "tools" / "size.json").read_text(encoding="utf-8")))


def size() -> str:
    """The whole library, before the rooms were rebuilt and after."""
    kept = sizes()
    states = [name for name in ("before", "after") if name in kept]
    rows = [(kind, *(f"{kept[state]['total'][kind]:,}" for state in states)) for kind in kept[states[0]]["total"]]
    return table(("in `src/echoscale`", *states), rows, numbers=True)


def size_of_rooms() -> str:
    """The same counts room by room, the latest that were kept."""
    kept = sizes()
    counts = kept["after" if "after" in kept else "before"]["rooms"]
    order = [f"{room}/" for room in rooms.ROOMS if f"{room}/" in counts]
    order += sorted(counts.keys() - set(order))
    rows = [(f"`{name}`", *(f"{count:,}" for count in counts[name].values())) for name in order]
    return table(("room", *counts[order[0]]), rows, numbers=True)


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
