"""Tables of users: what is read, and what is refused with which words."""

from __future__ import annotations

import numpy as np
import pytest

from echoscale.lab.lab_data import TASKS, from_csv

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(150, 2)).round(4)
GOOD = ["time,a,b", *(f"2024-01-{k:03d},{a},{b}" for k, (a, b) in enumerate(ROWS.tolist()))]


def test_a_table_is_read() -> None:
    data = from_csv("\n".join(GOOD).encode("utf-8-sig"), "mine.csv")
    np.testing.assert_array_equal(data.u, ROWS[:-1])
    np.testing.assert_array_equal(data.y, ROWS[1:, 1:])
    assert data.outputs == ("b, next step",)


def changed(line: int, text: str) -> bytes:
    return "\n".join([*GOOD[:line], text, *GOOD[line + 1 :]]).encode()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x89PNG\xff", "no CSV file"),
        (b"", "has no rows"),
        (b"a,b\n", "has no rows"),
        (b"1,2\n" * 200, "must hold the names"),
        (b"a\n" + b"1\n" * 20_001, "has 20,001 rows: the lab takes 100 to 20,000"),
        (changed(5, "x,1,2,3"), r"row 6 of mine.csv has 4 cells; its first row has 3"),
        (changed(7, "x,1,n/a"), r"row 8, column 'b' of mine.csv is 'n/a'"),
        (changed(7, "x,inf,2"), r"row 8, column 'a' of mine.csv is 'inf'"),
        ("\n".join(GOOD[:50]).encode(), "has 49 rows: the lab takes 100 to 20,000"),
        (b"a,b\n" + b"".join(b"%d,7\n" % k for k in range(150)), "column 'b' of mine.csv is constant over the training"),
        (b"a\n" + b"".join(b"%d\n" % min(k, 110) for k in range(150)), "constant over the test"),
    ],
)
def test_what_is_no_table_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        from_csv(content, "mine.csv")


def test_the_copied_line_reads_the_same(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    data = from_csv("\n".join(GOOD).encode(), "mine.csv")
    with open("mine.csv", "w") as file:
        file.write("\n".join(GOOD))
    found: dict[str, np.ndarray] = {}
    exec("import numpy as np\n" + data.code, found)
    np.testing.assert_array_equal(found["u"], data.u)
    np.testing.assert_array_equal(found["y"], data.y)


@pytest.mark.parametrize("name", [name for name in TASKS if name != "Lorenz"])  # whose seconds are those of its integrator
def test_the_code_of_a_task_makes_its_series(name: str) -> None:
    data, found = TASKS[name](), dict[str, np.ndarray]()
    exec("import numpy as np\nimport echoscale as es\n" + data.code, found)
    np.testing.assert_array_equal(found["u"], data.u)
    np.testing.assert_array_equal(found["y"], data.y)
    assert data.y.shape[1] == len(data.outputs)
