"""The small table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from echoscale._internal.table import MISSING, Table

TABLE = Table(
    columns=("name", "units", "tau", "period"),
    rows=(("R1", 50, 0.123456, None), ("second", 7, math.inf, 12345.678), ("R3", 1000, -math.inf, 2.0)),
    title="Some times",
    notes=("R1: no mode oscillates.",),
)

PRINTED = """\
Some times
name    units     tau     period
------  -----  ------  ---------
R1         50  0.1235          –
second      7       ∞  1.235e+04
R3       1000      -∞          2
R1: no mode oscillates."""

MARKDOWN = """\
| name | units | tau | period |
|---|---|---|---|
| R1 | 50 | 0.1235 | – |
| second | 7 | ∞ | 1.235e+04 |
| R3 | 1000 | -∞ | 2 |

R1: no mode oscillates."""


def test_it_prints_with_numbers_to_the_right_and_words_to_the_left() -> None:
    assert str(TABLE) == PRINTED
    assert repr(TABLE) == PRINTED


def test_without_title_and_notes_it_prints_the_table_alone() -> None:
    plain = Table(("a", "bb"), ((1, "x"),))
    assert str(plain) == "a  bb\n-  --\n1  x"
    assert plain.markdown() == "| a | bb |\n|---|---|\n| 1 | x |"


def test_markdown() -> None:
    assert TABLE.markdown() == MARKDOWN


def test_every_note_is_a_paragraph_of_its_own() -> None:
    text = Table(("a",), ((None,),), notes=("One.", "Two.")).markdown()
    assert text.endswith("\n\nOne.\n\nTwo.")


def test_numbers_of_numpy_print_as_numbers() -> None:
    table = Table(("a", "b"), ((np.float64(1 / 3), np.int64(4)), (np.float64(np.inf), np.int64(5))))
    assert "0.3333" in str(table)
    assert "∞" in str(table)
    assert "np." not in str(table) + table.markdown()


def test_a_column_by_its_name() -> None:
    assert TABLE["units"] == (50, 7, 1000)
    assert TABLE["period"] == (None, 12345.678, 2.0)
    assert len(TABLE) == 3


@pytest.mark.parametrize("column", ["Tau", "", 0])
def test_an_unknown_column_is_named_beside_the_known_ones(column: Any) -> None:
    with pytest.raises(KeyError, match=rf"no column {column!r}; there are name, units, tau, period"):
        TABLE[column]


def test_a_table_without_rows() -> None:
    empty = Table(("a", "long name"), ())
    assert len(empty) == 0
    assert empty["a"] == ()
    assert str(empty) == "a  long name\n-  ---------"
    assert empty.to_frame().shape == (0, 2)


def test_the_frame_has_the_same_values() -> None:
    frame = TABLE.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == ["name", "units", "tau", "period"]
    assert frame["name"].tolist() == ["R1", "second", "R3"]
    assert frame["units"].tolist() == [50, 7, 1000]
    assert frame["tau"].tolist() == [0.123456, math.inf, -math.inf]
    assert frame["period"].isna().tolist() == [True, False, False]
    assert frame["period"].tolist()[1:] == [12345.678, 2.0]
    assert frame["tau"].dtype == np.float64
    assert frame["period"].dtype == np.float64
    assert frame.attrs == {"title": "Some times", "notes": ["R1: no mode oscillates."]}


def test_tables_are_equal_by_value_and_do_not_change() -> None:
    assert Table(("a",), ((1,),)) == Table(("a",), ((1,),))
    assert Table(("a",), ((1,),)) != Table(("a",), ((2,),))
    with pytest.raises(AttributeError):
        TABLE.title = "other"  # type: ignore[misc]


def test_the_sign_of_a_missing_number_is_not_a_number() -> None:
    with pytest.raises(ValueError, match="could not convert"):
        float(MISSING)
