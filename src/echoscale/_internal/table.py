"""A small table: prints well, converts to a DataFrame."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

MISSING = "–"


@dataclass(frozen=True, repr=False)
class Table:
    """Named columns and rows of plain values; None is a number that does not exist, and a note says why.

    Parameters
    ----------
    columns : tuple of str
        Their names.
    rows : tuple of tuples
        One value for each column.
    title : str
        Printed above.
    notes : tuple of str
        Printed below.

    Examples
    --------
    >>> import echoscale as es
    >>> table = es.Table(("task", "error"), (("narma", 0.25), ("lorenz", None)))
    >>> table
    task    error
    ------  -----
    narma    0.25
    lorenz      –
    >>> table["error"]
    (0.25, None)
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} values does not fit {len(self.columns)} columns: {row}.")

    def __getitem__(self, column: str) -> tuple[Any, ...]:
        """The values of one column."""
        if column not in self.columns:
            raise KeyError(f"no column {column!r}; there are {', '.join(self.columns)}.")
        place = self.columns.index(column)
        return tuple(row[place] for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> pandas.DataFrame:
        """A pandas DataFrame; title and notes are in its `attrs`."""
        import pandas

        frame = pandas.DataFrame(list(self.rows), columns=list(self.columns))
        frame.attrs.update(title=self.title, notes=list(self.notes))
        return frame

    def markdown(self) -> str:
        """The table as Markdown, its notes below."""
        head = [f"| {' | '.join(self.columns)} |", "|" + "---|" * len(self.columns)]
        body = [f"| {' | '.join(map(as_text, row))} |" for row in self.rows]
        return "\n".join([*head, *body, *(f"\n{note}" for note in self.notes)])

    def __str__(self) -> str:
        cells = [self.columns, *(tuple(map(as_text, row)) for row in self.rows)]
        widths = [max(len(row[j]) for row in cells) for j in range(len(self.columns))]
        numeric = [all(isinstance(value, int | float | None) for value in self[name]) for name in self.columns]
        lines = [
            "  ".join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, numeric, strict=True)
            ).rstrip()
            for row in cells
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([*([self.title] if self.title else []), *lines, *self.notes])

    __repr__ = __str__


def as_text(value: object) -> str:
    """A value as tables show it: four digits, and a dash for None."""
    if value is None:
        return MISSING
    if isinstance(value, float):
        return ("∞" if value > 0 else "-∞") if math.isinf(value) else f"{value:.4g}"
    return str(value)
