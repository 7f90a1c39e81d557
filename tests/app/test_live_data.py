"""Tables of users: what is read, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import echoscale as es
from echoscale.app.live.data import TASKS, from_csv

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(150, 2)).round(4)
GOOD = ["time,a,b", *(f"2024-01-{k:03d},{a},{b}" for k, (a, b) in enumerate(ROWS.tolist()))]


def test_a_table_is_read() -> None:
    data = from_csv("\n".join(GOOD).encode("utf-8-sig"), "mine.csv")
    np.testing.assert_array_equal(data.u, ROWS[:-1])
    np.testing.assert_array_equal(data.y, ROWS[1:, 1:])
    assert data.outputs == ("b, next step",)


def test_missing_values_are_filled_with_the_value_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [*GOOD]
    for k, text in ((1, "x,,2"), (7, "x,1,n/a"), (8, "x,1,")):
        lines[k] = text
    data = from_csv("\n".join(lines).encode(), "mine.csv")
    expected = ROWS.copy()
    expected[0] = ROWS[1, 0], 2
    expected[6] = expected[7] = 1, ROWS[5, 1]
    np.testing.assert_array_equal(data.u, expected[:-1])
    np.testing.assert_array_equal(data.y, expected[1:, 1:])
    assert data.notes == ("mine.csv: 3 missing values are filled with the value before.",)
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text("\n".join(lines))
    found: dict[str, np.ndarray] = {}
    exec(data.code, found)
    np.testing.assert_array_equal(found["u"], data.u)


def test_a_forecast_is_compared_with_the_last_value() -> None:
    data = from_csv("\n".join(GOOD).encode(), "mine.csv")
    *_, begin, _ = data.cuts
    found = data.baseline()
    assert found.name == "the last value repeated"
    assert found.error == pytest.approx(es.nrmse(ROWS[begin + 1 :, 1], ROWS[begin:-1, 1]))
    glass = TASKS["Mackey-Glass"]()
    *_, begin, _ = glass.cuts
    assert glass.baseline().error == pytest.approx(es.nrmse(glass.u[begin + 6 :], glass.u[begin:-6]), rel=0.01)


def test_other_tasks_are_compared_with_a_linear_filter() -> None:
    """The oracle: least squares on the last 20 inputs."""
    data = TASKS["NARMA10"]()
    _, trained, begin, _ = data.cuts
    lags = np.lib.stride_tricks.sliding_window_view(data.u[:, 0], 20)
    X, y = np.column_stack([lags, np.ones(len(lags))]), data.y[19:]
    weights = np.linalg.lstsq(X[: trained - 19], y[: trained - 19])[0]
    found = data.baseline()
    assert found.name == "ridge regression on the last 20 inputs"
    assert found.error == pytest.approx(es.nrmse(y[begin - 19 :], X[begin - 19 :] @ weights), rel=0.01)


def changed(line: int, text: str) -> bytes:
    return "\n".join([*GOOD[:line], text, *GOOD[line + 1 :]]).encode()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x89PNG\xff", "no CSV file"),
        (b"", "is empty"),
        (b"a,b\n", "has 0 rows"),
        (b"a\n" + b"1\n" * 20_001, "has 20,001 rows: the live page takes 100 to 20,000"),
        (changed(5, "x,1,2,3"), "line 6 has 4 cells, the first one 3"),
        ("\n".join(["a,b", *(f"{k % 5}," for k in range(150))]).encode(), "column 'b' of mine.csv holds no number"),
        (changed(7, "x,1,much"), "'much' at row 7, column 'b', is no number"),
        (changed(7, "x,inf,2"), "infinite number at row 7, column 'a'"),
        ("\n".join(GOOD[:50]).encode(), "has 49 rows: the live page takes 100 to 20,000"),
        (b"a,b\n" + b"".join(b"%d,7\n" % k for k in range(150)), "column 'b' of mine.csv is constant over the training"),
        (b"a\n" + b"".join(b"%d\n" % min(k, 110) for k in range(150)), "constant over the test"),
    ],
)
def test_what_is_no_table_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        from_csv(content, "mine.csv")


DRESSES = {
    "commas": GOOD,
    "semicolons and decimal commas": [each.replace(",", ";").replace(".", ",") for each in GOOD],
    "numbers alone": [f"{a},{b}" for a, b in ROWS.tolist()],
}


@pytest.mark.parametrize("lines", DRESSES.values(), ids=DRESSES)
def test_the_copied_lines_read_the_same(lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = from_csv("\n".join(lines).encode(), "mine.csv")
    np.testing.assert_array_equal(data.u, ROWS[:-1])
    Path("mine.csv").write_text("\n".join(lines))
    found: dict[str, np.ndarray] = {}
    exec(data.code, found)
    np.testing.assert_array_equal(found["u"], data.u)
    np.testing.assert_array_equal(found["y"], data.y)


@pytest.mark.parametrize("name", [name for name in TASKS if name != "Lorenz"])  # whose seconds are those of its integrator
def test_the_code_of_a_task_makes_its_series(name: str) -> None:
    data, found = TASKS[name](), dict[str, np.ndarray]()
    exec("import numpy as np\nimport echoscale as es\n" + data.code, found)
    np.testing.assert_array_equal(found["u"], data.u)
    np.testing.assert_array_equal(found["y"], data.y)
    assert data.y.shape[1] == len(data.outputs)
