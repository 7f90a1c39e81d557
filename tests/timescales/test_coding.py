"""What a problem asks for at every step: the next inputs, numbers, or columns of 0 and 1 for classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from echoscale.timescales.coding import asked

U = np.random.default_rng(0).standard_normal((6, 2))


def test_without_targets_the_next_input_is_asked_for() -> None:
    found = asked([U, U[:4]], None, None)
    assert found.of_itself
    np.testing.assert_array_equal(found.inputs.values[1], U[:3])
    np.testing.assert_array_equal(found.targets.values[1], U[1:4])


def test_the_next_input_is_recognised() -> None:
    assert asked(U[:-1], U[1:], None).of_itself
    assert asked([U[:-1], U[:3]], [U[1:], U[1:4]], None).of_itself
    assert not asked(U, U, None).of_itself
    assert not asked(U[:-1], U[1:, :1], None).of_itself
    assert not asked(U[:-2], U[2:], None).of_itself


def test_numbers_stay_numbers() -> None:
    for y in (np.arange(6), np.arange(6.0), [[1.0], [2.0], [3.0], [1.0], [2.0], [3.0]]):
        found = asked(U, y, None)
        assert found.classes == ()
        np.testing.assert_array_equal(found.targets.values[0][:, 0], np.asarray(y, float).ravel())


@pytest.mark.parametrize(
    ("y", "labels", "classes"),
    [
        (["b", "a", "b", "c", "a", "a"], None, ("a", "b", "c")),
        ([2, 1, 2, 3, 1, 1], True, (1, 2, 3)),
        (np.array(["b", "a", "b", "c", "a", "a"], object)[:, None], None, ("a", "b", "c")),
    ],
)
def test_every_class_has_a_column(y: Any, labels: bool | None, classes: tuple[object, ...]) -> None:
    found = asked(U, y, labels)
    assert found.classes == classes
    assert not found.per_sequence
    expected = [[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0]]
    np.testing.assert_array_equal(found.targets.values[0], expected)


def test_two_classes_share_a_column() -> None:
    found = asked(U, [True, False, True, True, False, False], None)
    assert found.classes == (False, True)
    np.testing.assert_array_equal(found.targets.values[0][:, 0], [1, 0, 1, 1, 0, 0])


@pytest.mark.parametrize("y", [["x", "y", "z"] * 2, [4, 5, 6] * 2, np.array(["x", "y", "z"] * 2)])
def test_the_label_of_a_sequence_holds_at_every_step(y: Any) -> None:
    found = asked([U, U[:4], U[:5]] * 2, y, None)
    assert found.per_sequence
    assert len(found.classes) == 3
    for b, length in enumerate((6, 4, 5) * 2):
        np.testing.assert_array_equal(found.targets.values[b], np.tile(np.eye(3)[b % 3], (length, 1)))


def test_labels_that_cannot_be_sorted_are_refused() -> None:
    with pytest.raises(TypeError, match="labels in y cannot be sorted"):
        asked(U, np.array(["a", 1, "b", 2, "a", 1], object), None)


def test_strings_that_shall_be_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="y cannot be read as numbers"):
        asked(U, list("abcabc"), False)
