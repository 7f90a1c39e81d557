"""Data files: what is read is what was written, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from echoscale.data import tables
from echoscale.data.tables import Notation, read


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
    "days first, years of two digits": "day;y\n30.01.24;1,5\n31.01.24;\n01.02.24;-2,25\n02.02.24;400\n",
    "months first": "day,y\n1/30/2024,1.5\n1/31/2024,\n2/1/2024,-2.25\n2/2/2024,400\n",
}


@pytest.mark.parametrize("name", READ)
def test_the_same_table_in_many_dresses(name: str) -> None:
    data = read(written(READ[name]))
    assert data.time == "day"
    assert [tables.when(each) for each in data.frame.index] == DAYS
    np.testing.assert_array_equal(data.numbers(["y"])["y"], VALUES)


MONTHS = [f"01.{month:02}.2020" for month in range(1, 13)]
DATES = {
    "dots": (MONTHS, "'01.02.2020' at row 2, column 'date', may be 1 February 2020 or 2 January 2020"),
    "strokes": ([each.replace(".", "/") for each in MONTHS], "'01/02/2020' at row 2"),
    "years": ([f"01.{m:02}.{y}" for y in (2018, 2019, 2020) for m in range(1, 13)], "'01.02.2018' at row 2"),
    "hours": ([f"1/2/2024 {hour}:00" for hour in range(10, 15)], "'1/2/2024 10:00' at row 1"),
    "years of two digits": ([f"20-01-{d:02}" for d in range(2, 9)], "may be 20 January 2002 or 2 January 2020"),
}


@pytest.mark.parametrize("name", DATES)
def test_dates_that_may_be_two_days_are_refused(name: str) -> None:
    days, words = DATES[name]
    path = written("date;v\n" + "".join(f"{day};{k}\n" for k, day in enumerate(days)))
    for time in (None, "date"):
        with pytest.raises(ValueError, match="give --dayfirst or --monthfirst") as told:
            read(path, time)
        assert words in str(told.value)


def test_the_order_of_day_and_month_can_be_given() -> None:
    path = written("date;v\n" + "".join(f"{day};{k}\n" for k, day in enumerate(MONTHS)))
    index = read(path, notation=Notation(dayfirst=True)).frame.index
    assert index.equals(pd.date_range("2020-01-01", periods=12, freq="MS", name="date"))
    index = read(path, notation=Notation(dayfirst=False)).frame.index
    assert index.equals(pd.date_range("2020-01-01", periods=12, freq="D", name="date"))
    iso = written("date,v\n2020-01-02,1\n2020-01-03,2\n2020-01-04,3\n")
    assert read(iso, notation=Notation(dayfirst=True)).frame.index[0] == pd.Timestamp("2020-01-02"), "the year comes first"


def test_the_order_is_clear_where_one_order_rises() -> None:
    days = ["05.01.2020", "10.01.2020", "05.02.2020", "10.02.2020"]
    path = written("date;v\n" + "".join(f"{day};1\n" for day in days))
    with pytest.raises(ValueError, match="2020-01-10 at row 2 is followed by 2020-02-05"):
        read(path)


NUMBERS: dict[str, tuple[str, list[float]]] = {
    "decimal commas": ("a;b\n1,95;x\n1,950;x\n950;x\n", [1.95, 1.95, 950]),
    "a zero before the sign": ("a;b\n0,950;x\n1,950;x\n", [0.95, 1.95]),
    "both signs": ("a;b\n1.950,5;x\n950;x\n2.000;x\n", [1950.5, 950, 2000]),
    "both signs, in English": ('a,b\n"1,950.5",x\n950,x\n"2,000",x\n', [1950.5, 950, 2000]),
    "millions": ("a;b\n1.950.000;x\n950;x\n1.950;x\n", [1950000, 950, 1950]),
    "three digits between commas": ("a,b\n1.950,x\n2.125,x\n", [1.95, 2.125]),
    "whole numbers beyond 1,000": ("a,b\n1.950,x\n2125,x\n", [1.95, 2125]),
    "another column decides": ("a;b\n1.950;0.5\n950;0.25\n", [1.95, 950]),
    "powers of ten": ("a\tb\n1.950e3\tx\n2.5e3\tx\n", [1950, 2500]),
    "no header": ("1,5;2\n2,5;3\n", [1.5, 2.5]),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_with_one_reading_are_read(name: str) -> None:
    text, values = NUMBERS[name]
    data = read(written(text))
    column = data.frame.columns[0]
    assert data.numbers([column])[column].tolist() == values


@pytest.mark.parametrize("delimiter", [";", "\t", "|", ","])
@pytest.mark.parametrize("sign", [",", "."])
def test_thousands_that_may_be_decimals_are_refused(delimiter: str, sign: str) -> None:
    """[950, 1.05, 1.2] was read without a word."""
    quote = '"' if delimiter == sign else ""
    path = written(
        f"d{delimiter}v\nx{delimiter}950\n" + "".join(f"x{delimiter}{quote}1{sign}{k}{quote}\n" for k in ("050", "200"))
    )
    with pytest.raises(ValueError, match=rf"'1\{sign}050' at row 2, column 'v', may be 1\.050 or 1050: give --decimal"):
        read(path)
    assert read(path, notation=Notation(decimal=sign)).numbers(["v"])["v"].tolist() == [950, 1.05, 1.2]
    assert read(path, notation=Notation(thousands=sign)).numbers(["v"])["v"].tolist() == [950, 1050, 1200]


def test_two_decimal_signs_are_refused() -> None:
    path = written("a;b\n1.5;1,5\n2.5;2,5\n")
    with pytest.raises(ValueError, match=r"'1\.5' at row 1, column 'a', and '1,5' at row 1, column 'b', have different"):
        read(path)
    with pytest.raises(ValueError, match=r"'1\.5' at row 1, column 'a', is no number with decimal sign ','"):
        read(path, notation=Notation(decimal=","))


def test_late_rows_count_too() -> None:
    rows = [f"1,{k % 1000:03};x\n" for k in range(1500)]
    assert read(written("a;b\n" + "".join(rows) + "0,5;x\n")).numbers(["a"])["a"].iloc[-1] == 0.5
    with pytest.raises(ValueError, match="'1,000' at row 1, column 'a', may be"):
        read(written("a;b\n" + "".join(rows)))
    with pytest.raises(ValueError, match="have different decimal signs"):
        read(written("a;b\n0,5;x\n" + "".join(rows) + "0.5;x\n"))
    with pytest.raises(ValueError, match="'0,5' at row 1502, column 'a', is no number"):
        read(written("a;b\n0.5;x\n" + "".join(rows).replace(",", ".") + "0,5;x\n")).numbers(["a"])


def test_other_signs_of_thousands_are_for_the_user_to_say() -> None:
    path = written("a;b\n1'950,5;1\n950;2\n")
    assert read(path, notation=Notation(thousands="'")).numbers(["a"])["a"].tolist() == [1950.5, 950]
    for signs in (("x", None), (None, "ab"), (None, "1"), (",", ",")):
        with pytest.raises(ValueError, match=r"--decimal|--thousands"):
            Notation(*signs)


def test_one_column_of_decimal_commas_needs_the_option() -> None:
    """[5, 5, 5] was read, with names of rows."""
    path = written("v\n1,5\n2,5\n3,5\n")
    with pytest.raises(ValueError, match="line 2 has 2 cells, the first one 1: give --decimal ,"):
        read(path)
    assert read(path, notation=Notation(decimal=",")).numbers(["v"])["v"].tolist() == [1.5, 2.5, 3.5]


def test_an_empty_line_of_one_column_is_a_gap() -> None:
    values = [float(k) for k in range(60)]
    values[7] = values[20] = float("nan")
    for head, name in (("y\n", "y"), ("", "c1")):
        text = head + "".join("\n" if np.isnan(each) else f"{each}\n" for each in values)
        np.testing.assert_array_equal(read(written(text + "\n\n")).numbers([name])[name], values)


def test_an_odd_date_is_named() -> None:
    days = "".join(f"2024-01-{k:02},{k}\n" for k in range(1, 20))
    with pytest.raises(ValueError, match=r"'2024-01-1x' at row 11, column 'day', is no date.*--time none"):
        read(written("day,y\n" + days.replace("2024-01-11", "2024-01-1x")))
    with pytest.raises(ValueError, match="no time at row 11, column 'day'"):
        read(written("day,y\n" + days.replace("2024-01-11", "")))
    with pytest.raises(ValueError, match="'17O1' at row 2, column 'year', is no date"):
        read(written("year,y\n1700,1\n17O1,2\n1702,3\n"))
    assert read("x.csv", time="none").time is None
    assert read(written("y,z\n1500,1\n1600,2\ntwo,3\n")).time is None, "a number is no year"
    assert read(written("a,z\n1/5,1\n2/5,2\n12:30,3\n")).time is None, "nothing here is a year"
    seen = "".join(f"2024-01-{k:02},{k},{'2023-12-01' if k % 3 else ''}\n" for k in range(1, 10))
    assert read(written("day,y,mended\n" + seen)).time == "day", "another column holds the times"


def test_dates_in_two_notations_are_named() -> None:
    days = [f"2024-01-{k:02}" for k in range(1, 20)]
    for other, row in (("11 January 2024", 11), ("01/03/2024", 3)):
        cells = [*days[: row - 1], other, *days[row:]]
        for time in (None, "day"):
            with pytest.raises(ValueError, match=f"'{other}' at row {row}, column 'day', is written in another way"):
                read(written("day,y\n" + "".join(f"{each},{k}\n" for k, each in enumerate(cells))), time)
    with pytest.raises(ValueError, match="'01/15/2024' at row 3, column 'day', is written in another way"):
        read(written("day,y\n13/01/2024,1\n14/01/2024,2\n01/15/2024,3\n"))
    with pytest.raises(ValueError, match="'13/01/2024' at row 1, column 'day', is no date"):
        read(written("day,y\n13/01/2024,1\n14/01/2024,2\n"), "day", notation=Notation(dayfirst=False))


def test_times_that_rise_unevenly_are_not_passed_over() -> None:
    with pytest.raises(ValueError, match=r"1701 at row 2 is followed by 1703\. --every 1"):
        read(written("year,y\n1700,5\n1701,6\n1703,7\n"))
    with pytest.raises(ValueError, match=r"1701 at row 1 is followed by 1703"):
        read(written("year,y\n1701,5\n1703,6\n1704,7\n1705,7\n"))
    with pytest.raises(ValueError, match=r"0\.1 at row 1 is followed by 0\.4"):
        read(written("time,y\n0.1,5\n0.4,6\n0.5,7\n0.6,7\n"), "time")
    tenths = read(written("time,y\n" + "".join(f"{k / 10},{k}\n" for k in range(8))))
    assert tenths.frame.columns.tolist() == ["y"], "steps of 0.1 are even"


def test_a_first_line_of_data_is_not_lost() -> None:
    data = read(written("2024-01-30,1.5\n2024-01-31,2\n2024-02-01,3\n"))
    assert (data.time, data.numbers(["c2"])["c2"].tolist()) == ("c1", [1.5, 2, 3])


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
    np.savez("x.npz", x=np.zeros((3, 2)), x1=np.ones(3))
    with pytest.raises(ValueError, match="two columns named 'x1'"):
        read("x.npz")


def test_a_damaged_npz_is_told_in_a_line() -> None:
    """Whatever of the archive, its compression and its arrays is hit."""
    np.savez_compressed("x.npz", x=np.random.default_rng(0).normal(size=50))
    whole = Path("x.npz").read_bytes()
    told = []
    for place in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[place] ^= 0xFF
        try:
            read(written(bytes(changed), "y.npz"))
        except ValueError as error:
            told.append(str(error))
    assert len(told) > 100
    assert all("y.npz" in each for each in told)


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
    "names of rows without a name": ("y,z\n1,2,3\n2,4,5\n", "line 2 has 3 cells, the first one 2: name every column"),
    "a cell too long": ("a" * 140_000 + ",b\n1,2\n", "a cell has more than 131,072 characters"),
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
