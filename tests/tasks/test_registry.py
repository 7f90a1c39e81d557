"""A task is one file and one line: sweeps find it by its name."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import echoscale as es

SWEPT = sorted(
    name
    for name in es.tasks.__all__
    if inspect.isfunction(task := getattr(es.tasks, name)) and {"length", "seed"} <= set(inspect.signature(task).parameters)
)


def test_there_are_tasks() -> None:
    assert {"lorenz", "mackey_glass", "narma"} <= set(SWEPT)


# The telegraph has two targets: a sweep cannot know which.
@pytest.mark.parametrize("name", [each for each in SWEPT if each != "telegraph"])
def test_sweeps_find_it(name: str) -> None:
    """Inputs and targets of the length, the same for the same seed and others for others."""
    task = es.sweeps.Task(name)
    (u, y), again, other = (task.series(60, seed) for seed in (1, 1, 2))
    assert len(u) == len(y) == 60
    np.testing.assert_array_equal(u, again[0])
    np.testing.assert_array_equal(y, again[1])
    assert (np.asarray(u) != other[0]).any()


def test_only_what_is_imported_in_its_line_is_public() -> None:
    assert set(es.tasks.__all__) >= {"hmm", "Telegraph", "psdigits", "telegraph_filter"}
    assert not {"idx", "mnist_files", "Odds"} & set(es.tasks.__all__)
