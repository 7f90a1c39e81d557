"""Paths of learning: where they begin, which way they lead, and that they end."""

from __future__ import annotations

from itertools import islice

import numpy as np

from echoscale.app.live.controls import Controls, Level
from echoscale.app.live.data import TASKS
from echoscale.app.live.numbers import PIECE, RATE, look, online, tuned

SMALL = Controls((Level(12, 0.15, input_scaling=0.05),))
NAMES = ["leak_rate[0]", "input_scaling[0]"]


def error(values: np.ndarray) -> float:
    there = SMALL.changed(NAMES[0], float(values[0])).changed(NAMES[1], float(values[1]))
    return look(there, TASKS["NARMA10"]()).errors["validation"]


def test_tune_walks_downhill_and_rests() -> None:
    path = list(islice(tuned(SMALL, TASKS["NARMA10"](), NAMES), 60))
    assert 1 <= len(path) < 60
    assert error(path[-1]) < error(np.array([0.15, 0.05])) - 0.01


def test_online_moves_within_its_rate() -> None:
    """Adam moves at most about its rate at every step of the stream; the first 100 are the washout."""
    path = np.array(list(islice(online(SMALL, TASKS["NARMA10"](), NAMES), 12)))
    steps = np.abs(np.diff(np.concatenate([[[0.15, 0.05]], path]), axis=0))
    assert 0 < steps.max() < 1.5 * PIECE * RATE
    assert (steps.sum(axis=0) > 1e-3).all()
