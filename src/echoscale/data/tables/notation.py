"""How a text file writes numbers and dates. A file that allows two readings is refused; options decide."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

FIRST = 1000  # rows that mostly decide; looking at all rows of a long file takes seconds
DECIMALS = {".": ",", ",": "."}  # each with the usual separator of thousands


@dataclass(frozen=True)
class Notation:
    """Signs of numbers and order of dates; None: taken from the cells where these allow one reading only.

    Attributes
    ----------
    decimal : "." or "," or None
        Decimal sign.
    thousands : str or None
        Character between groups of three digits.
    dayfirst : bool or None
        Whether 01.02.2020 is 1 February (True) or 2 January (False).
    """

    decimal: str | None = None
    thousands: str | None = None
    dayfirst: bool | None = None

    def __post_init__(self) -> None:
        if self.decimal is not None and self.decimal not in DECIMALS:
            raise ValueError(f"--decimal takes . or , and got {self.decimal!r}.")
        if self.thousands is not None and (len(self.thousands) != 1 or self.thousands.isalnum() or self.thousands in "+-"):
            raise ValueError(f"--thousands takes one character, as , . ' or a blank, and got {self.thousands!r}.")
        if self.decimal is not None and self.decimal == self.thousands:
            raise ValueError(f"--decimal and --thousands must differ, and both are {self.decimal!r}.")

    def choices(self) -> list[Notation]:
        """Notations with both signs that agree with this one."""
        signs = [(each, self.thousands or other) for each, other in DECIMALS.items() if self.decimal in (None, each)]
        return [replace(self, decimal=point, thousands=group) for point, group in signs if point != group]

    def pattern(self) -> str:
        """Regular expression of a number; both signs are known."""
        point, group = re.escape(self.decimal or "."), re.escape(self.thousands or ",")
        whole = rf"(?:[1-9]\d{{0,2}}(?:{group}\d{{3}})+|\d+)"
        return rf"\s*[+-]?(?=\D?\d){whole}?(?:{point}\d*)?(?:[eE][+-]?\d+)?\s*"

    def converted(self, column: pd.Series[Any]) -> pd.Series[Any]:
        """A column of text as numbers; where some cells are words, those remain and numbers have a decimal point."""
        import pandas as pd

        if self.decimal == ".":
            try:
                return pd.to_numeric(column)
            except (ValueError, TypeError):
                pass  # words, or separators
        fits = column.str.fullmatch(self.pattern(), na=False)
        if not fits.any():
            same = column.str.lower().isin(["true", "false"])
            return column.str.lower() == "true" if len(column) and same.all() else column
        plain = column.str.replace(self.thousands or "", "", regex=False).str.replace(self.decimal or "", ".", regex=False)
        return pd.to_numeric(plain) if (fits | column.isna()).all() else column.where(~fits, plain)


def is_number(cell: str) -> bool:
    """Whether text is a number in some notation."""
    return any(re.fullmatch(each.pattern(), cell) for each in Notation().choices())


def found(columns: Mapping[str, pd.Series[Any]], given: Notation, delimiter: str, path: Path) -> Notation:
    """The one notation that fits all columns of numbers.

    A dot in a file with commas between its cells is a decimal point, unless whole numbers below 1,000 stand in the column
    of 1.950.
    """
    fitting, _ = _fitting({name: each[:FIRST] for name, each in columns.items()}, given, delimiter, path)
    if len(fitting) == 2 or fitting[0].decimal == ",":  # cells that do not fit a decimal point are no numbers later
        fitting, unclear = _fitting(columns, given, delimiter, path)
        if len(fitting) == 2 and unclear:
            raise ValueError(f"{path}: {unclear}.")
    return fitting[0]


def _fitting(columns: Mapping[str, pd.Series[Any]], given: Notation, delimiter: str, path: Path) -> tuple[list[Notation], str]:
    """The notations that fit, and the cell that two of them read differently, in words."""
    import pandas as pd

    choices = given.choices()
    either = "|".join(each.pattern() for each in [*choices, *Notation().choices()])
    wrong: dict[Notation, str] = {}
    unclear = ""
    for name, column in columns.items():
        cells = column.dropna()
        like = cells.str.fullmatch(either)
        if not len(cells) or like.mean() <= 0.5:
            continue  # a column of words
        cells = cells[like.to_numpy(bool)]
        signed = cells.str.contains("[.,]")
        whole, cells = cells[~signed.to_numpy(bool)], cells[signed.to_numpy(bool)]
        if not len(cells):
            continue
        for each in choices:
            bad = ~cells.str.fullmatch(each.pattern())
            if bad.any():
                wrong.setdefault(each, _place(cells[bad], name))
        mixed = len(whole) > 0 and bool((pd.to_numeric(whole, errors="coerce").abs() < 1000).all())
        if not unclear and (delimiter != "," or mixed or cells.str.contains(",").any()):
            cell = cells.iloc[0].strip()
            sign = "." if "." in cell else ","
            unclear = (
                f"{_place(cells, name)}, may be {cell.replace(sign, '.')} or {cell.replace(sign, '')}: "
                f"give --decimal {sign} for the first, --thousands {sign} for the second"
            )
    fitting = [each for each in choices if each not in wrong]
    if not fitting:
        first = choices[0]
        raise ValueError(
            f"{path}: {wrong[choices[1]]}, and {wrong[first]}, have different decimal signs: write all with one."
            if len(choices) == 2
            else f"{path}: {wrong[first]}, is no number with decimal sign {first.decimal!r} and thousands {first.thousands!r}."
        )
    return fitting, unclear


def _place(cells: pd.Series[Any], name: str) -> str:
    return f"{cells.iloc[0].strip()!r} at row {cells.index[0] + 1}, column {name!r}"
