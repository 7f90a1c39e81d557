"""A call that fails leaves its object as it was."""

from __future__ import annotations

import numpy as np
import pytest

import echoscale as es
from echoscale._internal.transaction import all_or_nothing


class Thing:
    def __init__(self) -> None:
        self.old = 1

    @all_or_nothing
    def change(self, fails: bool) -> str:
        """Say so."""
        self.old, self.new = 2, 3
        if fails:
            raise KeyboardInterrupt
        return "changed"

    @all_or_nothing
    def change_twice(self) -> None:
        self.change(fails=False)
        self.old = 4
        self.change(fails=True)


def test_attributes_that_were_set_are_put_back_and_new_ones_taken_away() -> None:
    thing = Thing()
    with pytest.raises(KeyboardInterrupt):
        thing.change(True)
    assert vars(thing) == {"old": 1}
    assert thing.change(fails=False) == "changed"
    assert vars(thing) == {"old": 2, "new": 3}
    assert thing.change.__doc__ == "Say so."


def test_a_method_within_a_method_is_taken_back_too() -> None:
    thing = Thing()
    with pytest.raises(KeyboardInterrupt):
        thing.change_twice()
    assert vars(thing) == {"old": 1}


def test_a_model_whose_fit_was_refused_predicts_as_before() -> None:
    u, y = es.tasks.narma(260, order=5, seed=1)
    labels = np.where(y[:, 0] > y.mean(), "high", "low")
    model = es.ESNStepClassifier(units=6, washout=10, random_state=0).fit(u, labels)
    before = model.predict(u)
    with pytest.raises(ValueError, match="washout"):
        model.set_params(washout=1000).fit(u, np.where(labels == "low", "c", "d"))
    np.testing.assert_array_equal(model.predict(u), before)
    assert set(model.classes_) == {"high", "low"}
