"""The small table, and files that are there whole or not at all."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from echoscale.files import write_atomically
from echoscale.table import MISSING, Table

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


# Files


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_a_file_is_written_and_written_over(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    for content in (b"first\x00", b"", bytes(range(256)) * 1000):
        write_atomically(target, content)
        assert target.read_bytes() == content
        assert names(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("call", ["fdopen", "fsync", "chmod", "replace"])
@pytest.mark.parametrize("error", [OSError("no space left on device"), KeyboardInterrupt()], ids=["disk", "keyboard"])
@pytest.mark.parametrize("old", [b"old", None], ids=["old file", "no file"])
def test_an_interrupted_write_leaves_all_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException, old: bytes | None
) -> None:
    target = tmp_path / "a.bin"
    if old is not None:
        target.write_bytes(old)

    def interrupted(*arguments: Any, **_: Any) -> None:
        if call == "fdopen":
            os.close(arguments[0])
        raise error

    monkeypatch.setattr(os, call, interrupted)
    with pytest.raises(type(error)):
        write_atomically(target, b"new content")
    monkeypatch.undo()
    assert names(tmp_path) == ([] if old is None else ["a.bin"])
    if old is not None:
        assert target.read_bytes() == old


def test_content_that_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")
    wrong: Any = "text"
    with pytest.raises(TypeError):
        write_atomically(target, wrong)
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the moment of the exchange both are there, each complete."""
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")
    replace, seen = os.replace, []

    def watched(source: Any, destination: Any) -> None:
        seen.append((target.read_bytes(), Path(source).read_bytes(), Path(source).parent))
        replace(source, destination)

    monkeypatch.setattr(os, "replace", watched)
    write_atomically(target, b"new content")
    assert seen == [(b"old", b"new content", tmp_path)]


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_file_has_the_permissions_of_any_other_new_file(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "ours", b"")
        (tmp_path / "other").write_bytes(b"")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        write_atomically(tmp_path / "nowhere" / "a.bin", b"")
