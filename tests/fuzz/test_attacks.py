"""A short round of all attacks, what earlier rounds found, and machines that take any steps in any order.

`make fuzz SECONDS=3600` attacks for as long as one wants.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

sys.path.insert(0, str(Path(__file__).parent))

import run
from outcomes import GOOD

import echoscale as es
from echoscale._internal.files import write_atomically

SECONDS = 0.5  # of each attack, after its first
# The tests of features, sweeps and clusters kill them by themselves.
SHORT = [name for name in run.attacks() if name not in run.kills() or name.startswith("writers")]
CRASHES = sorted((Path(__file__).parent / "crashes").glob("*.json"))


@pytest.mark.parametrize("name", SHORT)
def test_a_round_of_attacks_finds_nothing(name: str, tmp_path: Path) -> None:
    run.attempt(name, 0, tmp_path)
    end, seed = time.monotonic() + SECONDS, 1
    while time.monotonic() < end:
        assert run.attempt(name, seed, tmp_path) in GOOD
        seed += 1


@pytest.mark.parametrize("path", CRASHES, ids=lambda path: path.stem)
def test_what_was_found_once_stays_mended(path: Path, tmp_path: Path) -> None:
    found = json.loads(path.read_text(encoding="utf-8"))
    if found["outcome"] == "abort":  # in a process of its own
        counts, _, _ = run.observed(found["attack"], int(found["seed"]), 0.0)
        assert not set(counts) - set(GOOD)
    else:
        assert run.attempt(found["attack"], int(found["seed"]), tmp_path) in GOOD


LIMITS = settings(max_examples=6, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck), database=None)
U, Y = es.tasks.narma(240, order=3, seed=2)


ENDLESS = U[:3], np.full((3, 1), np.inf)


class EstimatorMachine(RuleBasedStateMachine):
    """Fits, chunks, refused calls, files, in any order: the model predicts what the last call that was not refused left."""

    def __init__(self) -> None:
        super().__init__()
        self.model: Any = es.ESNRegressor(units=4, washout=10, random_state=0)
        self.expected: Any = None
        self.folder = tempfile.TemporaryDirectory()

    def teardown(self) -> None:
        self.folder.cleanup()

    def learned(self) -> None:
        self.expected = self.model.predict(U[:30])

    @rule(flat=st.booleans())
    def fit(self, flat: bool) -> None:
        self.model.fit(U, Y[:, 0] if flat else Y)
        self.learned()

    @rule(begin=st.integers(0, 120))
    def partial_fit(self, begin: int) -> None:
        flat = self.expected is not None and self.expected.ndim == 1
        self.model.partial_fit(
            U[begin : begin + 60], Y[begin : begin + 60, 0] if flat else Y[begin : begin + 60], new_series=True
        )
        self.learned()

    @rule(wrong=st.sampled_from([(U[:5], Y[:5, 0]), (U * np.nan, Y), (np.hstack([U, U]), Y[:10]), (U, None)]))
    def refused(self, wrong: tuple[Any, Any]) -> None:
        for call in (self.model.fit, self.model.partial_fit):
            if call == self.model.fit or len(wrong[0]) > 5:  # a short chunk is as good as any
                with pytest.raises((ValueError, TypeError)):
                    call(*wrong)
        with pytest.raises(ValueError, match="nonsense"):
            self.model.set_params(washout=3, nonsense=True)

    @precondition(lambda self: self.expected is not None)
    @rule()
    def save_and_load(self) -> None:
        path = Path(self.folder.name) / "model.es"
        self.model = es.load(es.save(self.model, path))

    @invariant()
    def predicts_as_before(self) -> None:
        if self.expected is not None:
            np.testing.assert_array_equal(self.model.predict(U[:30]), self.expected)


class LearnerMachine(RuleBasedStateMachine):
    """A stream in pieces with refusals, freezes and files between them: the same bits as a learner that saw it whole."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces, self.whole = (es.OnlineLearner(es.single(4, leak_rate=0.5), washout=5, record=16) for _ in range(2))
        self.steps = 0
        self.folder = tempfile.TemporaryDirectory()

    def teardown(self) -> None:
        if self.steps:
            self.whole.partial_fit(U[: self.steps], Y[: self.steps])
            np.testing.assert_array_equal(self.pieces.values, self.whole.values)
            np.testing.assert_array_equal(self.pieces.readout.coef, self.whole.readout.coef)
        self.folder.cleanup()

    @rule(length=st.integers(1, 15))
    def learn(self, length: int) -> None:
        end = min(self.steps + length, len(U))
        if end > self.steps:
            self.pieces.partial_fit(U[self.steps : end], Y[self.steps : end])
            self.steps = end

    @rule(wrong=st.sampled_from([(U[:3], Y[:4]), (U[:3], np.full((3, 1), np.inf)), (U[:0], Y[:0])]))
    def refused(self, wrong: tuple[Any, Any]) -> None:
        with pytest.raises((ValueError, TypeError)):
            self.pieces.partial_fit(*wrong)
        with pytest.raises((ValueError, TypeError)):
            self.pieces.fit(*wrong)

    @precondition(lambda self: self.steps > 0)
    @rule()
    def other_inputs(self) -> None:
        with pytest.raises(ValueError, match="2"):
            self.pieces.partial_fit(np.hstack([U, U])[:3], Y[:3])

    @rule()
    def save_and_load(self) -> None:
        self.pieces = es.load(es.save(self.pieces, Path(self.folder.name) / "learner.es"))

    @invariant()
    def counts_its_steps(self) -> None:
        assert self.pieces.steps == self.steps


KEYS = st.sampled_from(["a", "b", "c", "d"])


class FileMachine(RuleBasedStateMachine):
    """Files, links and permissions against a dictionary; no other file is ever there."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.place = Path(self.folder.name)
        self.content: dict[str, bytes] = {}
        self.locked: set[str] = set()
        self.links: dict[str, str] = {}

    def teardown(self) -> None:
        self.folder.cleanup()

    @rule(name=KEYS, content=st.binary(max_size=2000))
    def write(self, name: str, content: bytes) -> None:
        if name in self.locked:
            with pytest.raises(PermissionError):
                write_atomically(self.place / name, content)
        else:
            write_atomically(self.place / name, content)
            self.content[name] = content

    @rule(name=KEYS, content=st.binary(max_size=20))
    def write_through_a_link(self, name: str, content: bytes) -> None:
        if name in self.content and name not in self.locked:
            link = self.place / f"link to {name}"
            if not link.is_symlink():
                link.symlink_to(name)
                self.links[link.name] = name
            write_atomically(link, content)
            self.content[name] = content

    @rule(name=KEYS, locked=st.booleans())
    def lock(self, name: str, locked: bool) -> None:
        if name in self.content:
            (self.place / name).chmod(0o400 if locked else 0o600)
            (self.locked.add if locked else self.locked.discard)(name)

    @invariant()
    def holds_what_was_written(self) -> None:
        assert {each.name for each in self.place.iterdir()} == {*self.content, *self.links}
        assert all((self.place / link).is_symlink() for link in self.links)
        for name, content in self.content.items():
            assert (self.place / name).read_bytes() == content


for machine in (EstimatorMachine, LearnerMachine, FileMachine):
    machine.TestCase.settings = LIMITS

TestEstimators = EstimatorMachine.TestCase
TestLearners = LearnerMachine.TestCase
if sys.platform != "win32":
    TestFiles = FileMachine.TestCase
