"""Several sequences in one file: they are not joined to one series, and `--sequence` learns one label for each."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import echoscale as es
from echoscale.app.cli import app, labelled_sequences
from echoscale.data.tables import read
from echoscale.storage import save_load

STEPS = 12
DAYS = pd.date_range("2024-01-01", periods=STEPS)


def called(*arguments: object) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


def table(count: int, seed: int) -> pd.DataFrame:
    """Slow and fast waves with noise; sequence 7 has an empty cell."""
    rng = np.random.default_rng(seed)
    frames = []
    for k in range(count):
        wave = np.sin((0.5, 1.2)[k % 2] * np.arange(STEPS) + rng.uniform(0, 6)) + 0.2 * rng.standard_normal(STEPS)
        frames.append(pd.DataFrame({"id": k, "t": range(STEPS), "x": wave, "label": ("slow", "fast")[k % 2]}))
    made = pd.concat(frames, ignore_index=True)
    made.loc[7 * STEPS + 3, "x"] = np.nan
    return made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table(20, 0).to_csv("train.csv", index=False)
    table(10, 1).to_csv("new.csv", index=False)
    return tmp_path


JOINED: dict[str, tuple[list[str], str, list[str]]] = {
    "labels": ([], "column 'id' has 20 different values", ["-t", "label"]),
    "inputs by name": ([], "--sequence id learns one label for each", ["-t", "label", "-i", "x"]),
    "forecasts": ([], "forecasts need a column for each series", ["-t", "x"]),
    "no names": (["id"], "column 't' starts again at row 13", ["-t", "label"]),
    "id as an input": ([], "column 't' starts again at row 13", ["-t", "label", "-i", "id,x"]),
    "in turns": ([], "column 't' has the same value in several rows, as at row 2", ["-t", "label"]),
    "labels in numbers": (["t"], "each of the 20 values of column 'case' has one label", ["-t", "label"]),
    "dates": ([], "2024-01-01 stands twice in column 't', again at row 13", ["-t", "label"]),
    "other names": (["t"], "each of the 20 values of column 'case' has one label", ["-t", "label"]),
}


@pytest.mark.parametrize("name", JOINED)
def test_sequences_are_not_joined_to_one_series(name: str, folder: Path) -> None:
    """An error of 1 % was promised where 13 % came."""
    without, words, arguments = JOINED[name]
    frame = table(20, 0).drop(columns=without)
    frame = frame.rename(columns={"id": "case"}) if name in ("other names", "in turns", "labels in numbers") else frame
    frame = frame.sort_values(["t", "case"]) if name == "in turns" else frame
    frame = frame.assign(label=(frame["label"] == "fast").astype(int)) if name == "labels in numbers" else frame
    frame = frame.assign(t=DAYS[frame["t"]]) if name == "dates" else frame
    frame.to_csv("train.csv", index=False)
    result = called("fit", "train.csv", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert ("--sequence NAME" if name == "dates" else "--sequence none") in result.stderr
    assert not Path("out").exists()


ONE = {
    "dates": "day,id,x,label\n" + "".join(f"2024-01-{k:02},{k // 7},{k % 5},{'ab'[k // 7 % 2]}\n" for k in range(1, 29)),
    "a calendar": "month,x,label\n" + "".join(f"{k % 12 + 1},{k % 7},{'ab'[k % 12 > 5]}\n" for k in range(48)),
    "a rule": "x,label\n" + "".join(f"{k * k % 7},{'ab'[k * k % 7 > 3]}\n" for k in range(48)),
    "two halves": "phase,x,label\n" + "".join(f"{k // 24},{k % 7},{'ab'[k // 24]}\n" for k in range(48)),
    "names of rows": "id,x,label\n" + "".join(f"{k},{k % 7},{'ab'[k % 2]}\n" for k in range(48)),
}


@pytest.mark.parametrize("name", ONE)
def test_one_series_is_not_refused(name: str, folder: Path) -> None:
    Path("one.csv").write_text(ONE[name])
    labelled_sequences.check_one_series(read("one.csv"), ["label"], [])


def test_one_label_per_sequence_is_learned_and_predicted(folder: Path) -> None:
    """The model is that of `es.auto` for the same sequences; the error it promises comes."""
    result = called("fit", "train.csv", "-t", "label", "--sequence", "id", "--seconds", "0.1")
    assert result.exit_code == 0, result.stderr
    assert "Inputs: x\nNot used: t\nSaved: networks\n" in result.stdout
    assert "240 rows in 20 sequences, named by id" in result.stderr
    assert "1 gap in inputs" in result.stderr
    path = Path("out/train/model.safetensors")
    assert save_load.notes(path)["sequence"] == "id"

    result = called("predict", path, "new.csv", "--json")
    rows = json.loads(result.stdout)
    assert [row["id"] for row in rows] == list(range(10))
    assert [row["label"] for row in rows] == ["slow", "fast"] * 5
    new = table(10, 1).ffill()["x"].to_numpy().reshape(10, STEPS, 1)
    old = table(20, 0).ffill()["x"].to_numpy().reshape(20, STEPS, 1)
    own = es.auto(list(old), ["slow", "fast"] * 10, rounds=1).model
    np.testing.assert_array_equal([row["label predicted"] for row in rows], own.predict(list(new)))
    wrong = np.mean([row["label"] != row["label predicted"] for row in rows])
    assert f"Wrong labels: {wrong:.1%} of 10" in result.stderr
    assert wrong <= 0.2

    unsorted = table(10, 1).sort_values(["t", "id"])  # rows of the sequences in turn
    unsorted.drop(columns="label").to_csv("turns.csv", index=False)
    again = json.loads(called("predict", path, "turns.csv", "--json").stdout)
    assert again == [{"id": row["id"], "label predicted": row["label predicted"]} for row in rows]


def test_joined_on_request_without_the_id(folder: Path) -> None:
    result = called("fit", "train.csv", "-t", "label", "--sequence", "none", "--seconds", "0.1", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["inputs"] == ["t", "x"]
    result = called("predict", "out/train/model.safetensors", "new.csv", "--sequence", "id")
    assert result.exit_code == 2
    assert "leave --sequence out" in result.stderr


REFUSED: dict[str, tuple[str, list[str]]] = {
    "no label column": ("Give --target, one of t, x, word", []),
    "labels that change": ("column 't' changes within sequence 0 (0 at row 1, 1 at row 2)", ["-t", "t"]),
    "numbers": ("is no label: --sequence takes words and whole numbers", ["-t", "x"]),
    "a horizon": ("leave --horizon out", ["-t", "word", "--horizon", "3"]),
    "times": ("leave --time and --every out", ["-t", "word", "--time", "t"]),
    "no such column": ("has no column 'y'", ["-t", "y"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_questions_about_sequences_are_refused(name: str, folder: Path) -> None:
    words, arguments = REFUSED[name]
    table(8, 0).fillna(0.5).rename(columns={"label": "word"}).to_csv("train.csv", index=False)
    result = called("fit", "train.csv", "--sequence", "id", *arguments)
    assert result.exit_code == 2, result.output
    assert words in result.stderr


def test_wrong_sequences_are_named(folder: Path) -> None:
    frame = table(8, 0)
    frame.assign(t=frame["t"].iloc[::-1].to_numpy()).to_csv("train.csv", index=False)
    result = called("fit", "train.csv", "--sequence", "id", "-t", "label")
    assert "sequence 0 is not sorted by 't': sort it" in result.stderr
    frame.loc[4, "id"] = np.nan
    frame.to_csv("train.csv", index=False)
    result = called("fit", "train.csv", "--sequence", "id", "-t", "label")
    assert "no name of a sequence at row 5, column 'id'" in result.stderr
    frame = table(8, 0)
    frame.loc[14, "label"] = np.nan
    frame.to_csv("train.csv", index=False)
    result = called("fit", "train.csv", "--sequence", "id", "-t", "label")
    assert "no label at row 15, column 'label'" in result.stderr
