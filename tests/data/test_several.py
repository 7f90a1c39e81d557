"""Tables of several sequences are not taken for one series, and the remedy in the message works."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import echoscale as es
from echoscale.data.several import refuse_joined

COUNT, STEPS = 8, 12


def table(name: str = "id") -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = np.arange(COUNT * STEPS)
    frame = pd.DataFrame({name: rows // STEPS, "x": rng.normal(size=len(rows)), "z": rng.normal(size=len(rows))})
    return frame.assign(label=np.where(frame[name] % 2, "odd", "even"))


@pytest.mark.parametrize("name", ["id", "patient_id", "Subject", "case"])
@pytest.mark.parametrize("target", ["label", "z"])
def test_the_remedy_gives_a_table_and_a_target_for_each_sequence(name: str, target: str) -> None:
    frame = table(name)
    u, y = frame[[name, "x"]], frame[target]
    labels = y if target == "label" else None
    if name == "case" and labels is None:
        refuse_joined(u, labels)  # only labels show that a column of this name names sequences
        return
    with pytest.raises(ValueError, match=r"u looks like several sequences: .*u\.to_numpy\(\) joins all rows") as error:
        refuse_joined(u, labels)
    pattern = r"a list of tables, (.*), with (?:a list of targets|one label for each), (.*); u\.to_numpy"
    [(tables, targets)] = re.findall(pattern, str(error.value))
    found: Any = eval(tables, {"u": u})
    wanted: Any = eval(targets, {"u": u, "y": y})
    assert len(found) == len(wanted) == COUNT
    for b, part in enumerate(found):
        pd.testing.assert_frame_equal(part, frame[frame[name] == b][["x"]])
    if labels is not None:
        assert list(wanted) == ["even", "odd"] * (COUNT // 2)


def test_auto_refuses_joined_sequences_and_takes_the_remedy() -> None:
    frame = table()
    with pytest.raises(ValueError, match="u looks like several sequences: column 'id' has 8 different values"):
        es.auto(frame[["id", "x"]], frame["label"], rounds=1)
    with pytest.raises(ValueError, match="u looks like several sequences"):
        es.auto(frame[["id", "x"]], rounds=1)
    tables = [part.drop(columns="id") for _, part in frame[["id", "x"]].groupby("id", sort=False)]
    assert len(es.auto(tables, frame.groupby("id")["label"].first(), rounds=1).model.predict(tables)) == COUNT


@pytest.mark.parametrize(
    "u",
    [
        pd.DataFrame({"id": 1.0, "x": range(40)}),
        pd.DataFrame({"id": range(40), "x": range(40)}),
        pd.DataFrame({"phase": np.arange(40) // 20, "x": 0.0}),
        pd.DataFrame({"hour": np.arange(40) % 8, "x": 0.0}),
        np.zeros((40, 2)),
    ],
    ids=["one name", "names of rows", "as many blocks as labels", "values come back", "array"],
)
def test_one_series_is_taken_as_it_is(u: Any) -> None:
    refuse_joined(u, np.arange(40) // 20)
