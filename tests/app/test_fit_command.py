"""`echoscale fit`, and the model that it leaves, as a user calls them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import echoscale as es
from echoscale.app.cli import app, fit
from echoscale.storage import save_load

# Without networks.
SHORT = ["--seconds", "0.1", "--horizon", "7"]


def called(*arguments: object, clock: Callable[[], float] = lambda: 0.0) -> Result:
    """By a clock that stands still: what is in a table must not depend on how busy this machine is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "clock", SimpleNamespace(perf_counter=clock))
        patch.setattr(fit, "END_SECONDS", 0.0)
        return CliRunner().invoke(app, list(map(str, arguments)))


def museum() -> pd.DataFrame:
    """Two targets with a week, a calendar, gaps, and 7 days to come."""
    rng, days = np.random.default_rng(0), pd.date_range("2024-01-01", periods=77, freq="D")
    weekend, free = (days.day_of_week > 4).astype(int), (days.day == 1).astype(int)
    visitors = 100 * weekend + 150 * free + 5 * rng.standard_normal(77)
    cars = 30 * weekend - 40 * free + rng.standard_normal(77)
    frame = pd.DataFrame(
        {"day": days.strftime("%Y-%m-%d"), "visitors": visitors, "cars": cars, "weekend": weekend, "free": free}
    )
    frame.loc[[10, 11, 30], "visitors"] = np.nan
    frame.loc[70:, ["visitors", "cars"]] = np.nan
    return frame


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with museum.csv and what `fit` made of it."""
    folder = tmp_path_factory.mktemp("fitted")
    museum().to_csv(folder / "museum.csv", index=False)
    out = folder / "out"
    result = called("fit", folder / "museum.csv", "-t", "visitors,cars", "-i", "weekend,free", "--out", out, "--json", *SHORT)
    assert result.exit_code == 0, result.stderr
    (folder / "summary.json").write_text(result.stdout)
    (folder / "said.txt").write_text(result.stderr)
    return folder


def test_fit_leaves_a_table_a_model_a_picture_and_a_page(fitted: Path) -> None:
    summary = json.loads((fitted / "summary.json").read_text())
    assert summary["targets"] == ["visitors", "cars"]
    assert summary["season"] == [7, 7]
    methods = {row["method"]: row for row in summary["table"]}
    assert {"echoscale", "ridge on lags", "seasonal naive", "persistence"} == set(methods)
    assert methods["echoscale"]["MASE"] < methods["persistence"]["MASE"]
    assert 0 <= methods["echoscale"]["inside_80"] <= 1
    assert sorted(each.name for each in (fitted / "out").iterdir()) == ["model.safetensors", "picture.png", "report.html"]
    assert (fitted / "out" / "picture.png").read_bytes()[:4] == b"\x89PNG"
    page = (fitted / "out" / "report.html").read_text()
    for words in ("Comparison with simple methods", "seasonal naive", "2024-03-11", "echoscale forecast"):
        assert words in page
    said = (fitted / "said.txt").read_text()
    assert "3 gaps in visitors, cars" in said
    assert "77 rows, day from 2024-01-01 to 2024-03-17" in said


def test_the_model_is_that_of_the_library(fitted: Path) -> None:
    """The rows at the end without a target are the future, not data."""
    frame = museum().set_index(pd.date_range("2024-01-01", periods=77, freq="D", name="day"))
    known, ahead = frame[["weekend", "free"]][:70], frame[["weekend", "free"]][70:]
    own = es.Forecaster(7, networks=False).fit(frame["cars"][:70], known).predict(7, ahead)
    loaded = es.load(fitted / "out" / "model.safetensors").predict(7, ahead)
    np.testing.assert_allclose(loaded.mean["cars"], own.mean, rtol=1e-10)
    assert save_load.notes(fitted / "out" / "model.safetensors")["inputs"] == ["weekend", "free"]


def test_forecasts_in_a_new_process(fitted: Path) -> None:
    """From the saved file alone; inputs of the future out of the file that was fitted to."""
    command = [
        sys.executable,
        "-m",
        "echoscale",
        "forecast",
        "out/model.safetensors",
        "--future",
        "museum.csv",
        "--level",
        "90",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=fitted, env=os.environ, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "day,target,forecast,lower_90,upper_90"
    assert len(lines) == 1 + 2 * 7
    assert lines[1].startswith("2024-03-11,visitors,")
    frame = museum()[["weekend", "free"]][70:].set_index(pd.date_range("2024-03-11", periods=7, freq="D", name="day"))
    expected = es.load(fitted / "out" / "model.safetensors").predict(7, frame, (90,))
    found = [list(map(float, line.split(",")[2:])) for line in lines[8:]]
    ends = zip(expected.means[1], *expected.bounds[90.0][1], strict=True)
    np.testing.assert_allclose(found, list(ends), rtol=1e-7)


def test_forecasts_as_json_and_into_files(fitted: Path) -> None:
    model = fitted / "out" / "model.safetensors"
    result = called("forecast", model, "--future", fitted / "museum.csv", "--steps", 2, "--json")
    rows = json.loads(result.stdout)
    assert [row["day"] for row in rows] == ["2024-03-11", "2024-03-12"] * 2
    assert set(rows[0]) == {"day", "target", "forecast", "lower_80", "upper_80", "lower_95", "upper_95"}
    arguments = ["--future", fitted / "museum.csv", "--out", fitted / "f.csv", "--picture", fitted / "f.svg"]
    result = called("forecast", model, *arguments)
    assert result.stdout == f"{fitted / 'f.csv'}\n"
    assert (fitted / "f.csv").read_text().startswith("day,target")
    assert (fitted / "f.svg").read_text().startswith("<?xml")


def test_predict_forecasts_row_by_row_and_after_takes_rows_in(fitted: Path) -> None:
    """Equal to predict and update, one row after the other; rows that the model knows are passed over."""
    whole = museum()
    whole.loc[70:, "visitors"], whole.loc[70:, "cars"] = 410.0, 95.0
    whole.to_csv(fitted / "new.csv", index=False)
    path = fitted / "out" / "model.safetensors"
    rows = json.loads(called("predict", path, fitted / "new.csv", "--json", "-q").stdout)
    model = es.load(path)
    table = whole[70:].set_index(model.times(7))
    for k in range(7):
        now = table.iloc[k : k + 1]
        expected = model.predict(1, now[["weekend", "free"]]).means
        pair = rows[2 * k : 2 * k + 2]
        assert [row["value"] for row in pair] == [410.0, 95.0]
        np.testing.assert_allclose([row["forecast"] for row in pair], [each[0] for each in expected])
        model.update(now[["visitors", "cars"]], now[["weekend", "free"]])
    future = fitted / "later.csv"
    pd.DataFrame({"day": ["2024-03-18"], "weekend": [0], "free": [0]}).to_csv(future, index=False)
    result = called("forecast", path, "--after", fitted / "new.csv", "--future", future, "--json", "-q")
    ahead = pd.DataFrame({"weekend": [0], "free": [0]}, index=model.times(1))
    found = [row["forecast"] for row in json.loads(result.stdout)]
    np.testing.assert_allclose(found, [each[0] for each in model.predict(1, ahead).means])


def test_the_target_of_the_same_row_is_for_auto(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter of the inputs that a linear map knows exactly; predictions go on where the data ended."""
    u = np.random.default_rng(1).normal(size=(140, 2))
    y = u[:, 0] - 0.5 * np.concatenate([[0], u[:-1, 1]])
    days = pd.date_range("2024-01-01", periods=140, freq="D").strftime("%Y-%m-%d")
    frame = pd.DataFrame({"day": days, "a": u[:, 0], "b": u[:, 1], "y": y})
    frame[:120].to_csv(tmp_path / "train.csv", index=False)
    frame[120:].to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.chdir(tmp_path)
    result = called("fit", "train.csv", "-t", "y", "--horizon", 0, "--seconds", 0.1, "-q")
    assert result.exit_code == 0, result.stderr
    assert "ridge on lags" in result.stdout
    assert (tmp_path / "out" / "train" / "report.html").exists()
    result = called("predict", "out/train/model.safetensors", "new.csv")
    found = pd.read_csv(tmp_path / "new.csv").assign(
        guess=[float(line.split(",")[2]) for line in result.stdout.splitlines()[1:]]
    )
    assert result.stdout.startswith("day,y,y predicted\n2024-04-30,")
    assert np.abs(found["guess"] - found["y"]).max() < 0.2, "the first row needs the row before it"
    assert "The rows follow the training data." in result.stderr
    assert "NRMSE of 20 rows" in result.stderr


def test_a_straight_line_is_forecast_to_rounding_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"y": 1.5 * np.arange(60) + 3}).to_csv("line.csv", index=False)
    result = called("fit", "line.csv", "--horizon", "2", *SHORT)
    assert "from 4 earlier origins" in result.stdout
    assert "Errors are rounding errors: intervals have next to no width" in result.stdout


COSTS = {fit.OWN: 1.2, fit.RIDGE: 0.5, fit.WITHOUT: 0.7}


@pytest.mark.parametrize("rivals", [[fit.RIDGE], [fit.RIDGE, fit.WITHOUT]])
@pytest.mark.parametrize("took", [0.1, 1.0, 5.0, 9.0, 12.0, 21.0, 40.0])
def test_the_table_is_made_in_the_time_that_is_left(took: float, rivals: list[str]) -> None:
    """Every rival is fitted to all data and at every origin, the model itself at every origin."""
    left = 60.0 - took
    origins, kept = fit.judged_within(left, took, 4, rivals)
    spent = took * (origins * COSTS[fit.OWN] + (origins + 1) * sum(COSTS[name] for name in kept))
    assert spent <= left
    assert kept == rivals[: len(kept)]
    assert (origins == 0) == (left < COSTS[fit.OWN] * took)
    if origins < 4 and origins:
        more = took * ((origins + 1) * COSTS[fit.OWN] + (origins + 2) * sum(COSTS[name] for name in kept))
        assert more > left, "there was time for one origin more"


def test_without_time_there_is_a_model_and_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"y": np.sin(np.arange(60.0))}).to_csv("wave.csv", index=False)
    ticks = count()
    result = called("fit", "wave.csv", "--horizon", "2", "--seconds", "1.5", clock=lambda: float(next(ticks)))
    assert result.exit_code == 0, result.stderr
    assert "No time is left for a test at earlier origins: --seconds 4 would do." in result.stderr
    assert "MASE" not in result.stdout
    assert es.load("out/wave/model.safetensors").horizon_ == 2


@pytest.mark.parametrize(("share", "left"), [(1.0, 60 - 2 - 2), (0.25, 60 - 2 - 8), (0.02, 30)])
def test_a_busy_machine_leaves_more_time_for_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, left: float
) -> None:
    """Every look at the clock takes a second, of which this process has a share: two looks before auto begins."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"u": np.cos(np.arange(60.0)), "y": np.sin(np.arange(60.0))}).to_csv("wave.csv", index=False)
    ticks, budgets = count(), []

    def auto(u: object, y: object, seconds: float, *_: object, **__: object) -> None:
        budgets.append(seconds)
        raise ValueError("stop here")

    now = iter(np.arange(0, 10))
    monkeypatch.setattr(fit, "clock", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    monkeypatch.setattr(fit, "process_time", lambda: share * next(now))
    monkeypatch.setattr(es, "auto", auto)
    result = CliRunner().invoke(app, ["fit", "wave.csv", "-t", "y", "--horizon", "0", "--seconds", "60"])
    assert "stop here" in result.stderr
    assert budgets == [pytest.approx(left)]


def test_the_saved_model_and_its_horizon_are_those_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forecasts of 18 steps were judged, and 24 proposed; which row of the table was saved stood nowhere."""
    monkeypatch.chdir(tmp_path)
    t = np.arange(110)
    noise = np.random.default_rng(3).standard_normal((2, 110))
    sales = 100 + t + 10 * np.sin(2 * np.pi * t / 12) + 3 * noise[0]
    pd.DataFrame({"sales": sales, "price": noise[1], "place": "here"}).to_csv("sales.csv", index=False)
    result = called("fit", "sales.csv", "-t", "sales", "--past", "price", "--seconds", "0.1")
    steps = es.load("out/sales/model.safetensors").horizon_
    assert steps > 18, "the data are too few to judge so many steps"
    assert "Forecasts of 18 steps" in result.stdout
    assert "forecast out/sales/model.safetensors --steps 18\n" in result.stderr
    assert len(called("forecast", "out/sales/model.safetensors").stdout.splitlines()) == 1 + 18
    assert "Inputs: none; known only up to now: price\nNot used: place\nSaved: echoscale (no networks)" in result.stdout
    first = result.stdout.splitlines()[3].split("  ")[0]
    assert (f"; in this table {first} has a smaller error" in result.stdout) == (first != "echoscale")


def test_every_command_with_a_data_file_takes_the_notation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """01.02.2020 was 2 January, and 1.950 was 1.95, without a word."""
    monkeypatch.chdir(tmp_path)
    months = pd.date_range("2015-01-01", periods=64, freq="MS")
    sold = [f"1.{200 + 7 * (k % 12) + k}" for k in range(64)]
    rows = [f"{day:%d.%m.%Y};{value}\n" for day, value in zip(months, sold, strict=True)]
    Path("old.csv").write_text("date;sold\n" + "".join(rows[:60]))
    Path("new.csv").write_text("date;sold\n" + "".join(rows[60:]))
    said = ["--thousands", ".", "--dayfirst"]
    model = "out/old/model.safetensors"
    commands = {
        "fit": ["old.csv", *SHORT],
        "timescales": ["old.csv", "--json"],
        "predict": [model, "new.csv", "--json"],
        "forecast": [model, "--after", "new.csv", "--steps", "1", "--json"],
    }
    found = {}
    for name, arguments in commands.items():
        for given, words in (([], "--thousands . for the second"), (said[:2], "give --dayfirst or --monthfirst")):
            refused = called(name, *arguments, *given)
            assert refused.exit_code == 2
            assert words in refused.stderr
        found[name] = called(name, *arguments, *said)
        assert found[name].exit_code == 0, found[name].stderr
    assert "date from 2015-01-01 to 2019-12-01" in found["fit"].stderr
    predicted = json.loads(found["predict"].stdout)
    assert [row["date"] for row in predicted] == ["2020-01-01", "2020-02-01", "2020-03-01", "2020-04-01"]
    assert [row["value"] for row in predicted] == [float(each.replace(".", "")) for each in sold[60:]]
    assert json.loads(found["forecast"].stdout)[0]["date"] == "2020-05-01"


def test_parquet_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")
    monkeypatch.chdir(tmp_path)
    table = museum()
    table.to_csv("same.csv", index=False)
    table.assign(day=pd.to_datetime(table["day"])).to_parquet("same.parquet")
    table.assign(day=pd.to_datetime(table["day"])).set_index("day").to_parquet("indexed.parquet")
    names = ("same.csv", "same.parquet", "indexed.parquet")
    first, *others = (json.loads(called("timescales", name, "--json").stdout)["table"] for name in names)
    assert [row["column"] for row in first] == ["visitors", "cars", "weekend", "free"]
    assert all(each == first for each in others)
    Path("broken.parquet").write_bytes(b"PAR1 nonsense")
    result = called("timescales", "broken.parquet")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


# ------------------------------------------------------------------------------------------------------------ what is wrong

DAYS = "".join(f"2024-01-{d:02},{d % 7},{d},5,{'low' if d % 2 else 'high'}\n" for d in range(1, 29))
GOOD = "day,y,z,flat,word\n" + DAYS
REFUSED: dict[str, tuple[str, list[str], str]] = {
    "no target": (GOOD, [], "Give --target, one of y, z, flat, word"),
    "no such column": (GOOD, ["-t", "x"], "has no column 'x'; there are day, y, z, flat, word"),
    "a column twice": (GOOD, ["-t", "y", "-i", "y"], "'y' is named twice"),
    "a word": (GOOD.replace("2024-01-09,2", "2024-01-09,two"), ["-t", "y"], "'two' at row 9 (2024-01-09), column 'y'"),
    "a word, and no target": ("y\n" + "1\n2\n" * 9 + "two\n", [], "'two' at row 19, column 'y', is no number"),
    "a constant": (GOOD, ["-t", "flat"], "column 'flat' is constant (5)"),
    "one row": ("y\n1\n", [], "series 'y' holds 1 value, at least 12 are needed"),
    "labels ahead": (GOOD, ["-t", "word", "--horizon", "3"], "labels are predicted for the same row"),
    "a horizon too long": (GOOD, ["-t", "y", "--horizon", "20"], "at most 9, a third of them"),
    "no file": ("", ["-t", "y"], "there is no file"),
    "no CSV": ("\0\0", [], "is no CSV file"),
    "a season too long": (GOOD, ["-t", "y", "--season", "20"], "season=20 is too long"),
    "no season": (GOOD, ["-t", "y", "--season", "weekly"], "--season takes auto, none or a number"),
    "no level": (GOOD, ["-t", "y", "--level", "high"], "--level takes percentages"),
    "no time": (GOOD, ["-t", "y", "--seconds", "0"], "--seconds must be above 0"),
    "out is a file": (GOOD, ["-t", "y", "--out", "data.csv/x"], "data.csv is a file"),
    "out holds a folder": (GOOD, ["-t", "y", "--out", "taken"], "is a folder"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_told_in_a_line_and_nothing_is_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text, arguments, words = REFUSED[name]
    if text:
        Path("data.csv").write_text(text)
    Path("taken/model.safetensors").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    result = called("fit", "data.csv", "-q", *arguments)
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert not result.stdout
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_cannot_be_written_is_found_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", locked)
    result = called("fit", "none.csv", "--out", tmp_path / "a" / "b")
    assert result.exit_code == 2
    assert result.stderr == f"Error: nothing can be written into {tmp_path} (Permission denied): give another folder.\n"


MODELS: dict[str, tuple[list[str], str]] = {
    "no model": (["forecast", "none.safetensors"], "there is no file none.safetensors"),
    "no model at all": (["forecast", "museum.csv"], "museum.csv is damaged or not a whole echoscale model"),
    "a network": (["forecast", "esn.safetensors"], "holds an ESN, and only a Forecaster can forecast"),
    "no rows": (["predict", "esn.safetensors", "museum.csv"], "holds an ESN, which cannot predict rows"),
    "no future": (["forecast", "out/model.safetensors"], "weekend, free: give a file with --future"),
    "too short a future": (["forecast", "out/model.safetensors", "--future", "museum.csv", "--steps", "9"], "has 7 rows from"),
    "a past": (["forecast", "out/model.safetensors", "--future", "past.csv"], "no row at 2024-03-11 or later"),
    "nothing new": (["predict", "out/model.safetensors", "past.csv"], "ends at 2024-03-10; the model wants 2024-03-11 next"),
    "another ending": (["forecast", "out/model.safetensors", "--out", "f.xlsx"], "f.xlsx must end in .csv or .parquet"),
    "no folder": (["forecast", "out/model.safetensors", "--out", "museum.csv/f.csv"], "museum.csv is a file"),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_that_cannot_do_it_are_named(name: str, fitted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fitted)
    es.save(es.single(5).build(1), "esn.safetensors")
    museum()[:70].to_csv("past.csv", index=False)
    arguments, words = MODELS[name]
    result = called(*arguments, "-q")
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert not result.stdout


def test_a_stopped_judgement_still_leaves_the_model(fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(es.Forecaster, "backtest", stop)
    result = called("fit", fitted / "museum.csv", "-t", "cars", "--out", tmp_path, *SHORT)
    assert result.exit_code == 130
    assert "the model is written without its table" in result.stderr
    assert es.load(tmp_path / "model.safetensors").targets_ == ("cars",)
    monkeypatch.setattr(es.Forecaster, "fit", stop)
    result = called("fit", fitted / "museum.csv", "-t", "cars", "--out", tmp_path / "again", *SHORT)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (
        130,
        "Stopped. Nothing was written: run the same command again.",
    )
    assert not (tmp_path / "again").exists()
