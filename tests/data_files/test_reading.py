"""Data files: what is read is what was written, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from echoscale import data_files
from echoscale.data_files import read


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(text: str | bytes, name: str = "x.csv") -> str:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


VALUES = [1.5, float("nan"), -2.25, 400.0]
DAYS = ["2024-01-30", "2024-01-31", "2024-02-01", "2024-02-02"]
READ = {
    "commas": "day,y\n2024-01-30,1.5\n2024-01-31,\n2024-02-01,-2.25\n2024-02-02,4e2\n",
    "a mark of order": "\ufeffday,y\n2024-01-30,1.5\n2024-01-31,NA\n2024-02-01,-2.25\n2024-02-02,400\n",
    "semicolons and decimal commas": "day;y\n30.01.2024;1,5\n31.01.2024;\n01.02.2024;-2,25\n02.02.2024;4,0e2\n",
    "tabs, empty lines": "\nday\ty\n2024-01-30\t1.5\n2024-01-31\t\n\n2024-02-01\t-2.25\n2024-02-02\t400\n\n",
    "days first": "day,y\n30/01/2024,1.5\n31/01/2024,\n01/02/2024,-2.25\n02/02/2024,400\n",
    "days as numbers": "day,y\n20240130,1.5\n20240131,\n20240201,-2.25\n20240202,400\n",
    "quotes": '"day","y"\n"2024-01-30","1.5"\n"2024-01-31",""\n"2024-02-01","-2.25"\n"2024-02-02","400"\n',
    "names of rows, as R": '"day","y"\n"1","2024-01-30",1.5\n"2","2024-01-31",NA\n"3","2024-02-01",-2.25\n'
    '"4","2024-02-02",400\n',
}


@pytest.mark.parametrize("name", READ)
def test_the_same_table_in_many_dresses(name: str) -> None:
    data = read(written(READ[name]))
    assert data.time == "day"
    assert [data_files.when(each) for each in data.frame.index] == DAYS
    np.testing.assert_array_equal(data.numbers(["y"])["y"], VALUES)


def test_one_column_of_decimal_commas_is_one_column() -> None:
    """Without a semicolon to tell; but numbered rows are as R writes them."""
    data = read(written("x\n0,4\n0,912\n-1,5\n1,2e-5\n3\n"))
    assert data.numbers(["x"])["x"].tolist() == [0.4, 0.912, -1.5, 1.2e-5, 3.0]
    assert any("decimal" in note for note in data.notes)
    numbered = read(written("x\n1,4\n2,912\n3,5\n"))
    assert numbered.numbers(["x"])["x"].tolist() == [4, 912, 5]
    assert any("names of rows" in note for note in numbered.notes)


def test_decimal_commas_are_no_dates() -> None:
    text = "a;b\n1,5;2\n2,5;3\n3,5;4\n"
    data = read(written(text))
    assert data.time is None
    assert data.numbers(["a"])["a"].tolist() == [1.5, 2.5, 3.5]
    assert read(written(text), time="a").frame.columns.tolist() == ["b"]  # evenly spaced
    with pytest.raises(ValueError, match="not evenly spaced"):
        read(written("a;b\n1,5;2\n2,5;3\n4,5;4\n"), time="a")


def test_without_times_rows_are_counted() -> None:
    assert read(written("y,z\n1,2\n3,4\n")).frame.index.tolist() == [0, 1]
    bare = read(written("1 2.5\n3 4.5\n", "x.txt"))
    assert bare.frame.columns.tolist() == ["c1", "c2"]
    assert bare.numbers(["c2"])["c2"].tolist() == [2.5, 4.5]
    assert "numbers, so it is data" in bare.notes[0]
    seconds = read(written("time,y\n0.0,1\n0.1,2\n0.2,4\n"), time="time")
    assert seconds.frame.index.tolist() == [0, 1, 2]
    assert len(read(written("time,y\n0.5,1\n"), time="time")) == 1
    years = read(written("year,y\n1700,5\n1701,6\n1702,7\n"))
    assert (years.time, years.frame.index.tolist()) == ("year", [1700, 1701, 1702])
    assert read(written("year,y\n1700,5\n1701,6\n"), time="none").time is None
    calendar = read(written("month,y\n1,5\n2,6\n1,7\n"))
    assert calendar.time is None, "months that come again are an input"


def test_quarters_and_zones_are_times() -> None:
    quarters = read(written("quarter,y\n1959Q1,1\n1959Q2,2\n1959Q3,3\n"))
    assert quarters.frame.index[1] == pd.Timestamp("1959-04-01")
    summer = "t,y\n" + "".join(f"2024-03-31T0{h}:00:00+0{1 + (h > 2)}:00,{h}\n" for h in (0, 1, 3, 4))
    assert (np.diff(read(written(summer)).frame.index) == pd.Timedelta("1h")).all()


def test_missing_rows_become_gaps_where_the_step_is_given() -> None:
    text = "day,y\n2024-01-30,1\n2024-01-31,2\n2024-02-02,4\n2024-02-03,5\n"
    with pytest.raises(ValueError, match=r"2024-01-31 at row 2 is followed by 2024-02-02\. --every D makes gaps"):
        read(written(text))
    data = read(written(text), every="D")
    np.testing.assert_array_equal(data.frame["y"], [1, 2, np.nan, 4, 5])
    assert data.notes == ("1 missing row became gaps",)
    with pytest.raises(ValueError, match="--every 2 makes"):
        read(written("step,y\n0,1\n2,2\n6,3\n8,4\n"), time="step")
    assert len(read("x.csv", time="step", every="2")) == 5
    with pytest.raises(ValueError, match="2024-01-31 at row 2 is no step of '2D'"):
        read(written(text), every="2D")
    with pytest.raises(ValueError, match="more than 100 gaps of every row"):
        read("x.csv", every="s")
    with pytest.raises(ValueError, match="no step between dates"):
        read("x.csv", every="fortnight")


def test_npz_holds_columns_and_tables() -> None:
    np.savez("x.npz", u=np.arange(6.0).reshape(3, 2), y=[1, 2, 3], z=np.ones((3, 1)))
    data = read("x.npz")
    assert data.frame.columns.tolist() == ["u0", "u1", "y", "z"]
    assert data.numbers(["u1"])["u1"].tolist() == [1, 3, 5]
    np.savez("x.npz", u=np.zeros(3), y=np.zeros(4))
    with pytest.raises(ValueError, match="'u' has 3 rows, 'y' has 4"):
        read("x.npz")
    np.savez("x.npz", u=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="is no NPZ file of columns"):
        read("x.npz")


def test_parquet_needs_its_package_or_is_read() -> None:
    frame = pd.DataFrame({"y": [1.0, 2.0, 3.0]}, index=pd.date_range("2024-01-01", periods=3, name="day"))
    try:
        frame.to_parquet("x.parquet")
    except ImportError:
        written(b"PAR1", "x.parquet")
        with pytest.raises(ImportError, match="pip install pyarrow"):
            read("x.parquet")
    else:
        assert read("x.parquet").time == "day"


WRONG: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "is empty"),
    "a mark of order alone": ("\ufeff", "is empty"),
    "a header alone": ("day,y\n", "no rows below its header"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0", "not text in UTF-8"),
    "a page": ("<!doctype html>\n<p>", "is no CSV file: it begins with '<!doctype html>'"),
    "JSON": ('{"y": [1, 2]}', "is no CSV file"),
    "a line too long": ("a,y\n1,2\n3,4,5\n", "line 3 has 3 cells, the first one 2"),
    "names twice": ("y,y\n1,2\n", "two columns named 'y'"),
    "times twice": (
        "day,y\n2024-01-01,1\n2024-01-02,2\n2024-01-02,3\n",
        "2024-01-02 stands twice in column 'day', again at row 3",
    ),
    "not sorted": ("day,y\n2024-01-03,1\n2024-01-02,2\n2024-01-04,3\n", "2024-01-02 at row 2 comes after 2024-01-03"),
    "no even step": ("day,y\n2024-01-01,1\n2024-01-02,2\n2024-01-02 07:13,3\n2024-03-09,4\n", "--time none counts rows"),
    "times alone": ("day\n2024-01-01\n2024-01-02\n", "of times, and no other"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_file_is_told_in_a_line(name: str) -> None:
    text, words = WRONG[name]
    with pytest.raises(ValueError, match=r"x\.csv") as told:
        read(written(text))
    assert words in str(told.value)
    assert "\n" not in str(told.value)


def test_cells_and_columns_are_named() -> None:
    data = read(written("day,y,z\n2024-01-01,1,a\n2024-01-02,x2,b\n2024-01-03,3,inf\n"))
    with pytest.raises(ValueError, match=r"'x2' at row 2 \(2024-01-02\), column 'y', is no number\."):
        data.numbers(["y"])
    with pytest.raises(ValueError, match=r"no column 'w'; there are day, y, z"):
        data.check(["w"])
    with pytest.raises(ValueError, match="'day' holds the times"):
        data.check(["day"])
    with pytest.raises(ValueError, match="named twice"):
        data.check(["y", "y"])
    with pytest.raises(ValueError, match="'row 2' at row 2, column 'day', is no date"):
        read(written("day,y\n2024-01-01,1\nrow 2,2\n"), time="day")
    with pytest.raises(ValueError, match="no time at row 2"):
        read(written("day,y\n2024-01-01,1\n,2\n"), time="day")
    assert data.is_text("z") is False, "infinity is a number"
    assert read(written("s\nlow\nhigh\n")).is_text("s")
    with pytest.raises(ValueError, match="infinite number at row 1"):
        read(written("y\ninf\n1\n")).numbers(["y"])
    with pytest.raises(FileNotFoundError, match="is a folder"):
        read(".")
    with pytest.raises(ValueError, match=r"files end in \.csv"):
        read(written("y", "x.xlsx"))
