"""Raw data of `speed.py` -> one table in Markdown."""

from __future__ import annotations

from typing import Any

import common
from contenders import CONTENDERS, OURS, find_contender
from rows import find_row

EXTRAPOLATED = "†"
APART = "–"


def table(results: common.Raw) -> str:
    """The whole report."""
    lines = [
        "# Speed",
        "",
        f"{common.origin(results)} CPU only; thread counts as every library sets them by itself.",
        "",
        f"Each cell: time, and in brackets how many times the time of {OURS} that is. Every contender runs in a process of "
        f"its own, compiled and warmed up; the contenders of a row take turns, and the time is the smallest of "
        f"{results['repeats']}. {EXTRAPOLATED} measured on a part of the work and extrapolated, see below. {APART} takes no "
        "part in that row.",
        "",
        *_table(results),
        "",
        *_details(results),
        "",
        *_notes(results),
        "",
        f"Versions of the contenders: {_versions(results)}.",
        "",
    ]
    return "\n".join(lines)


def _table(results: dict[str, Any]) -> list[str]:
    names = results["contenders"]
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for row in results["rows"]:
        ours = row["entries"].get(OURS, {}).get("seconds")
        cells = [_cell(name, row["name"], row["entries"].get(name, {}), ours) for name in names]
        lines.append(f"| {row['title']} | " + " | ".join(cells) + " |")
    return lines


def _cell(name: str, row_name: str, entry: dict[str, Any], ours: float | None) -> str:
    if find_row(row_name).kind not in find_contender(name).kinds:
        return APART
    if entry.get("seconds") is None:
        return str(entry["status"]) if entry.get("reason") else "not measured"
    text = duration(entry["seconds"]) + (f" {EXTRAPOLATED}" if entry["share"] < 1 else "")
    if name == OURS:
        return f"**{text}** (first call {duration(entry['first_call'])})"
    return text if ours is None else f"{text} ({ratio(entry['seconds'] / ours)})"


def duration(seconds: float) -> str:
    """Three digits in the unit that suits."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.0f} s"


def ratio(value: float) -> str:
    """Two digits: more would be noise."""
    return f"{value:.2g}×" if value < 100 else f"{float(f'{value:.2g}'):.0f}×"


def _details(results: dict[str, Any]) -> list[str]:
    """What was run for every cell, from the measurement itself."""
    lines = ["How each cell was measured (the fastest of the options tried):", ""]
    for row in results["rows"]:
        parts = []
        for name in results["contenders"]:
            entry = row["entries"].get(name, {})
            if entry.get("seconds") is not None:
                mark = f" {EXTRAPOLATED}" if entry["share"] < 1 else ""
                parts.append(f"{name}: {entry['candidate']}, {entry['dtype']}{mark}")
        lines.append(f"- {row['name']}. " + "; ".join(parts) + ".")
    differences, of_readouts = _found(results, "difference"), _found(results, "readout_difference")
    if differences:
        lines += [
            "",
            "Before it is measured, every contender must return the states of a plain loop in float64 with the same weights; "
            f"the largest difference was {max(differences):.1e}. {OURS} draws its weights itself, of the same kind and number "
            "as those that the others are given.",
        ]
    if of_readouts:
        lines[-1] += (
            f" The searches that drive {OURS}'s own estimator must in addition fit the coefficients that float64 gives at one "
            f"point; the largest difference was {max(of_readouts):.1e} of the largest coefficient."
        )
    return lines


def _found(results: dict[str, Any], field: str) -> list[float]:
    """That field of all entries that have it."""
    entries = [entry for row in results["rows"] for entry in row["entries"].values()]
    return [entry[field] for entry in entries if entry.get(field) is not None]


def _notes(results: dict[str, Any]) -> list[str]:
    lines = ["Notes:", ""]
    lines += [
        f"- {contender.name}: {note}"
        for contender in CONTENDERS
        if contender.name in results["contenders"]
        for note in contender.notes
    ]
    problems = {
        f"- {row['name']}, {name}: {entry['reason']}"
        for row in results["rows"]
        for name, entry in row["entries"].items()
        if entry.get("reason")
    }
    return [*lines, *sorted(problems)]


def _versions(results: dict[str, Any]) -> str:
    found: dict[str, str] = {}
    for row in results["rows"]:
        for entry in row["entries"].values():
            found |= entry.get("versions") or {}
    return ", ".join(f"{name} {version}" for name, version in sorted(found.items(), key=lambda item: item[0].lower()))
