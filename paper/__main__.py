"""The command line: make figures of the paper, one by one, and the report page about them."""

from __future__ import annotations

import argparse
import importlib
import re
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from paper.gallery import FIGURES, MOST_SEED, STUDIES, Result, make, module_of, name_of, one_of, variants_of
from paper.provenance import SCALES

REFUSED, STOPPED = 2, 130
KEPT = "Finished work is kept: the same command continues from there."
EXAMPLES = """examples:
  python -m paper                                          all figures, in minutes
  python -m paper 3 4 --scale paper                        figures 3 and 4 with all seeds and sizes of the paper
  python -m paper 3 --seeds 100-119 --out other            figure 3 with other random seeds
  python -m paper 4 --variant "ridge, rho 0.1"             another variant of figure 4
  python -m paper hierarchy --scale paper --processes 16   the study: when does a hierarchy help?
"""


if TYPE_CHECKING:
    import xarray


class Order(NamedTuple):
    """What the user asks for."""

    numbers: tuple[int | str, ...]
    scale: str
    seeds: tuple[int, ...] | None
    out: Path
    variant: str | None
    fresh: bool
    processes: int
    quiet: bool


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message}: see python -m paper --help.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 2 for what cannot be done, 130 after Ctrl-C."""
    try:
        run(ordered(arguments))
    except KeyboardInterrupt:
        print(f"Stopped. {KEPT}", file=sys.stderr)
        return STOPPED
    except (ValueError, ImportError, OSError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return REFUSED
    return 0


def ordered(arguments: Sequence[str] | None) -> Order:
    """The arguments of the command line, all checked."""
    parser = Parser(
        "python -m paper",
        description="Make figures of the paper: a picture (PNG) and data (netCDF) of each, and index.html, a report page. "
        "Finished figures and finished parts of interrupted ones are used again.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "figures",
        nargs="*",
        metavar="FIGURE",
        help=f"number of a figure, {min(FIGURES)} to {max(FIGURES)} (all by default), or a study: {', '.join(STUDIES)}",
    )
    add("--scale", default="quick", help="smoke (seconds), quick (minutes, the default) or paper (hours without a GPU)")
    add("--seeds", help=f"random seeds in place of those of the scale, such as 3,5,8 or 0-9; from 0 to {MOST_SEED}")
    add("--out", default="out", help="folder for all results (out)")
    add("--variant", help="variant to draw, of figure 3 or 4: one figure must be given")
    add("--fresh", action="store_true", help="compute again what is already there")
    add("--processes", default="1", help="number of processes with one core each; by default one process uses all cores")
    add("--quiet", action="store_true", help="show no progress and no notes")
    given = parser.parse_args(arguments)
    numbers = tuple(dict.fromkeys(map(figure_of, given.figures))) or tuple(FIGURES)
    one_of(given.scale, SCALES, "scale")
    seeds = None if given.seeds is None else seeds_of(given.seeds)
    if given.variant is not None:
        if len(numbers) > 1:
            raise ValueError(f"--variant {given.variant!r} needs one figure: give its number, 3 or 4.")
        one_of(given.variant, variants_of(numbers[0]), f"variant of {name_of(numbers[0])}")
    if re.fullmatch("[1-9][0-9]{0,3}", given.processes) is None:
        raise ValueError(f"--processes {given.processes!r} is no number of processes: give a whole number from 1 to 9999.")
    processes = int(given.processes)
    out = Path(given.out)
    if any(each.exists() and not each.is_dir() for each in (out, *out.parents)):
        raise ValueError(f"--out {given.out} is not a folder but a file, or lies in one: give the name of a folder.")
    return Order(numbers, given.scale, seeds, out, given.variant, given.fresh, processes, given.quiet)


def figure_of(text: str) -> int | str:
    """The number of a figure, or the name of a study."""
    if text in STUDIES:
        return text
    if re.fullmatch("[0-9]+", text) is None or int(text) not in FIGURES:
        numbers = f"numbers from {min(FIGURES)} to {max(FIGURES)}, such as 3 4"
        raise ValueError(f"there is no figure {text!r}: give {numbers}, or a study: {', '.join(STUDIES)}.")
    return int(text)


def seeds_of(text: str) -> tuple[int, ...]:
    """The random seeds of a list with commas, whose parts are numbers or ranges: 3,5,8 or 0-9."""
    remedy = f"give whole numbers from 0 to {MOST_SEED}, each of them once, such as 3,5,8 or 0-9."
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch("([0-9]{1,9})(?:-([0-9]{1,9}))?", part.strip())
        if match is None:
            raise ValueError(f"--seeds {text!r}: {part.strip()!r} is no seed; {remedy}")
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last <= MOST_SEED:
            raise ValueError(f"--seeds {text!r}: {part.strip()!r} holds no seeds; {remedy}")
        found += range(first, last + 1)
    twice = sorted({each for each in found if found.count(each) > 1})
    if twice:
        raise ValueError(f"--seeds {text!r}: {twice[0]} is there twice; {remedy}")
    return tuple(found)


def run(order: Order) -> None:
    """Make the figures one by one, then the headline table and the report page."""
    load(order.numbers)
    data: dict[int | str, xarray.Dataset] = {}
    start = time.perf_counter()
    for number in order.numbers:
        made = make(
            number,
            order.scale,
            order.out,
            seeds=order.seeds,
            variant=order.variant,
            fresh=order.fresh,
            processes=order.processes,
            progress=not order.quiet,
        )
        data[number] = made.data
        count = f" ({len(data)} of {len(order.numbers)})" if len(order.numbers) > 1 else ""
        print(f"{said(number, order.scale, made)}{count}", flush=True)
    note(f"All figures: {time.perf_counter() - start:.0f} s", order.quiet or len(data) == 1)
    from echoscale import Table
    from paper import report, reproduce

    figures = {number: each for number, each in data.items() if isinstance(number, int)}
    if not figures:
        return
    rows, file = reproduce.write_table(figures, order.scale, order.out)
    if rows:
        print(Table(reproduce.HEADER, tuple(map(tuple, rows)), f"Headline, {order.scale} scale"))
        note(reproduce.CAUTION, order.quiet or order.scale == "paper")
        print(f"Table: {file}")
    print(f"Report: {report.write(order.out, order.scale)}")


def load(numbers: Sequence[int | str]) -> None:
    """Import the modules of the figures. Ctrl-C takes effect after that: inside an import it may be lost."""
    stopped: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: stopped.append(number))
    try:
        for number in numbers:
            module_of(number)
        for name in ("jax.numpy", "matplotlib.backends.backend_agg", "xarray"):
            importlib.import_module(name)
    finally:
        signal.signal(signal.SIGINT, before)
    if stopped:
        raise KeyboardInterrupt


def said(number: int | str, scale: str, made: Result) -> str:
    """One line about a figure."""
    origin = "data of an earlier run" if made.reused else f"computed in {made.data.attrs['seconds']:g} s"
    name = name_of(number)
    more = f" and {made.supplement.name}" if made.supplement else ""
    return f"{name[0].upper()}{name[1:]} ({scale}, {origin}): {made.picture}{more}"


def note(words: str, quiet: bool) -> None:
    """A line on standard error, unless the user wants none."""
    if not quiet:
        print(words, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
