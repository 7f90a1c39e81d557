"""How targets are read: labels or numbers, codes, the future of an input, against definitions step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from echoscale.data import targets
from echoscale.data.series import as_series

rng = np.random.default_rng(0)
U = as_series(rng.normal(size=(60, 2)))
MANY = as_series(rng.normal(size=(8, 20, 2)))
KINDS = np.arange(60) % 3


def read(y: Any, series: Any = U, labels: bool | None = None) -> targets.Labels | None:
    entries, per_sequence = targets.entries_of(y, series)
    if not targets.are_labels(entries, per_sequence, series, labels):
        return None
    return targets.labels_of(entries, per_sequence, series, "Say so.")


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (np.array(["b", "a", "c"])[KINDS], ["a", "b", "c"]),
        (np.array(["b", "a", "c"], object)[KINDS], ["a", "b", "c"]),
        (pd.Series(["b", "a", "c"] * 20, dtype="category"), ["a", "b", "c"]),
        (pd.Series(["b", "a", "c"] * 20, dtype="string"), ["a", "b", "c"]),
        (KINDS > 0, [False, True]),
        (KINDS, [0, 1, 2]),
        (KINDS[:, None], [0, 1, 2]),
        (KINDS.astype(np.uint8), [0, 1, 2]),
        (KINDS.tolist(), [0, 1, 2]),
        (KINDS.astype(object), [0, 1, 2]),
        (pd.Series(KINDS, dtype="Int64"), [0, 1, 2]),
    ],
    ids=range(11),
)
def test_labels_of_steps(y: Any, classes: list[Any]) -> None:
    found = read(y)
    assert found is not None
    assert found.classes.tolist() == classes
    assert not found.per_sequence
    [codes] = found.codes()
    assert codes.shape == (60, len(classes))
    np.testing.assert_array_equal(codes.sum(axis=1), 1)
    assert [classes[k] for k in codes.argmax(axis=1)] == np.ravel(np.asarray(y)).tolist()


@pytest.mark.parametrize(
    "y",
    [
        KINDS.astype(float),
        rng.normal(size=60),
        np.arange(60) % 11,  # eleven values
        np.append(KINDS[:-1], 7),  # a value that is there once
        np.stack([KINDS, KINDS], axis=1),  # two outputs
        KINDS.astype(float).astype(object),
    ],
    ids=["whole floats", "real", "eleven values", "one of a kind", "two columns", "objects"],
)
def test_numbers_stay_numbers(y: Any) -> None:
    assert read(y) is None


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_the_future_of_a_number_is_a_number(steps: int) -> None:
    counts = rng.integers(0, 5, 80)
    u, y = counts[: 80 - steps, None], counts[steps:]
    assert read(y, as_series(u)) is None
    assert read(np.roll(y, 1)[::-1], as_series(u)) is not None


@pytest.mark.parametrize("y", [list("aabbaabb"), np.arange(8) % 2, np.arange(8) % 2 > 0, (np.arange(8) % 2).tolist()])
def test_labels_of_sequences(y: Any) -> None:
    found = read(y, MANY)
    assert found is not None
    assert found.per_sequence
    assert [each.shape for each in found.codes()] == [(1, 2)] * 8


@pytest.mark.parametrize("labels", [None, False])
def test_one_number_for_each_sequence_is_refused(labels: bool | None) -> None:
    with pytest.raises(ValueError, match="one value for each of the 8 series"):
        read(np.arange(8) + 0.5, MANY, labels)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (None, ValueError, "y must hold one target or label per step"),
        (3.0, ValueError, "y must hold one target or label per step"),
        ("text", ValueError, "y must hold one target or label per step"),
        (["a"] * 60, ValueError, "y holds one class only, 'a'"),
        ([f"n{k}" for k in range(60)], ValueError, r"60 different labels in 60 places: are they numbers\? Say so"),
        (["a", "b"] * 29, ValueError, r"one label per step, \(60,\), got shape \(58,\)"),
        (np.array([["a", "b"]] * 60), ValueError, r"got shape \(60, 2\); give labels, not one-hot rows"),
        (np.array(["a", 1, "b"] * 20, object), TypeError, "cannot be sorted, they are of several kinds"),
        (np.array(["a", None, "b"] * 20, object), ValueError, "y lacks 20 of 60 labels"),
    ],
    ids=range(9),
)
def test_bad_labels_are_named(y: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        read(y)


def test_real_numbers_are_no_labels_whatever_the_user_says() -> None:
    with pytest.raises(ValueError, match=r"y holds real numbers, but labels are .*Say so"):
        read(rng.normal(size=60), labels=True)
    with pytest.raises(TypeError, match="labels must be True, False or None, got 1"):
        read(KINDS, labels=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("u", "y", "expected"),
    [
        ([1, 2, 3], [2, 3, 9], True),
        ([1, 2, 3], [2, np.nan, 9], True),
        ([1, 2, 3], [2, 4, 9], False),
        ([1, 2, 3], [np.nan, np.nan, 9], False),  # nothing shows it
        ([1], [2], False),
        ([1, 2, 3], [1, 2, 3], False),
        ([1e9, 1e9 + 1, 1e9 + 2], [1e9 + 1, 1e9 + 2, 0], True),
    ],
)
def test_the_next_input_is_known_where_it_is(u: list[float], y: list[float], expected: bool) -> None:
    one, other = (np.array(each, float)[:, None] for each in (u, y))
    assert targets.is_next_input(one, other) is expected


@given(
    steps=st.integers(0, 20),
    length=st.integers(45, 120),
    offset=st.sampled_from([0.0, 3.0, 1e6, -1e4]),
    single=st.booleans(),
    gap=st.integers(0, 30),
    seed=st.integers(0, 99),
)
@settings(max_examples=200, deadline=None)
def test_the_lead_is_found_through_float32_and_gaps(
    steps: int, length: int, offset: float, single: bool, gap: int, seed: int
) -> None:
    """White noise about an offset: no other lead can be the one. Rounding to float32 must not hide it."""
    x = offset + np.random.default_rng(seed).normal(size=length) * max(abs(offset) * 1e-2, 1.0)
    later = np.append(x[steps:], np.zeros(steps))
    y = later.astype(np.float32).astype(float) if single else later.copy()
    y[:gap] = np.nan
    known = gap + steps < length  # otherwise no step has both values
    assert targets.lead(x, y) == (steps if known else None)
    assert targets.lead(x, y[::-1]) is None
    expected = targets.Ahead(1, steps) if known else None
    assert targets.future_of(as_series(np.stack([x[::-1], x], axis=1)), [y[:, None]]) == (expected,)


def test_small_changes_about_a_large_mean_are_no_rounding() -> None:
    """Steps of 0.01 about 1000: the same values one step earlier are other values."""
    x = 1000 + 0.01 * np.cumsum(rng.normal(size=200))
    assert targets.lead(x[:-1], x[1:]) == 1
    assert targets.lead(x[:-1], x[1:].astype(np.float32).astype(float)) == 1


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_huge_and_tiny_inputs_are_compared_in_their_own_units(unit: float) -> None:
    x = rng.normal(size=200)
    assert targets.lead(unit * x[:-2], unit * x[2:]) == 2
    assert targets.lead(unit * x[:-2], unit * x[2:] + unit) is None
    assert targets.lead(unit * x[:-2], np.tanh(x[2:])) is None
    assert targets.lead(unit * x[:-2], np.zeros(198)) is None


def test_one_hot_of_any_shape() -> None:
    labels: npt.NDArray[Any] = np.array([["b", "a"], ["c", "b"]])
    codes = targets.one_hot(labels, np.array(["a", "b", "c"]))
    assert codes.tolist() == [[[0, 1, 0], [1, 0, 0]], [[0, 0, 1], [0, 1, 0]]]
