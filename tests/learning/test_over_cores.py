"""Starts over the cores: whatever the number of groups, every start learns the same, stops at the same step, saves the same."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import echoscale as es
from echoscale.engine import devices
from echoscale.learning import RLS, Adam, OnlineLearner, Reinitialise
from echoscale.learning.online import loop, stream
from echoscale.learning.online import over_cores as groups
from echoscale.learning.online.learner import LearningError

# float64: some 1e-16 a step in 200 steps, magnified by Adam's quotient where a gradient is next to 0.
ROUNDING = 1e-11


def build() -> es.ESN:
    network = es.hierarchical([4, 3], leak_rate=[0.5, 0.4], spectral_radius=0.9, bias_scaling=0.1, connections=2)
    return network.build(1, seed=3, dtype="float64")


def series(sequences: int, length: int) -> tuple[Any, Any]:
    u, y = es.tasks.narma(length * sequences, order=5, seed=0)
    return u.reshape(sequences, length, 1), y.reshape(sequences, length, 1)


def learner(starts: Any, **changes: Any) -> OnlineLearner:
    """So many starts, or one for each of these leak rates of the first reservoir."""
    esn = build()
    many = esn.hyper.replace(leak_rate=[np.linspace(0.2, 0.9, starts) if isinstance(starts, int) else starts, 0.4])
    settings: Any = {"readout": Adam(3e-3), "rates": Adam(1e-3), "record": 40, "washout": 5, "starts": many, **changes}
    return OnlineLearner(esn.network, **{"seed": esn.seed, "dtype": esn.dtype, **settings})


def parts(model: OnlineLearner) -> int:
    assert model.stream is not None
    return len(model.stream.groups.apart)


def assert_same(one: OnlineLearner, two: OnlineLearner, rtol: float = 0.0) -> None:
    assert one.steps == two.steps
    for name in ("values", "state", "converged"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(one.readout.coef, two.readout.coef, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(one.readout.intercept, two.readout.intercept, rtol=rtol, atol=rtol)
    for name in ("loss", "gradient", "value"):
        np.testing.assert_allclose(one.history[name], two.history[name], rtol=rtol, atol=rtol)


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets how many cores there are."""
    return lambda count: monkeypatch.setattr(devices, "cores", lambda: count)


# ------------------------------------------------------------------------------------------------------------- which groups


@pytest.mark.parametrize(
    ("starts", "sequences", "workers", "expected"),
    [
        (1, 10, 8, 1),  # nothing to share out
        (16, 10, 1, 1),
        (16, 10, 2, 2),  # 160 lanes -> 80
        (16, 1, 2, 1),  # one vector either way
        (32, 1, 2, 2),
        (2, 10, 2, 2),  # 32 lanes -> 16, one start each
        (2, 8, 2, 1),  # both fit one vector
        (3, 4, 8, 1),
        (5, 16, 4, 3),  # two starts for the widest, with three groups as with four
        (4, 12, 3, 2),  # 48 lanes -> 32 with two groups (2 x 16) and no less with three
        (64, 16, 100, 64),
    ],
)
def test_as_many_groups_as_help(starts: int, sequences: int, workers: int, expected: int) -> None:
    assert groups.count(starts, sequences, workers) == expected


def test_no_group_is_empty_and_more_cores_never_make_the_widest_wider() -> None:
    for sequences in (1, 3, 10, 17):
        for starts in range(1, 40):
            widest = []
            for workers in (1, 2, 3, 5, 8):
                count = groups.count(starts, sequences, workers)
                size = -(-starts // count)
                assert 1 <= count <= workers
                assert (count - 1) * size < starts <= count * size
                widest.append(max(int(np.prod(groups.padded(size, sequences))), 16))
            assert widest == sorted(widest, reverse=True)


def test_one_group_on_a_gpu(monkeypatch: pytest.MonkeyPatch, cores: Any) -> None:
    cores(4)
    model = learner(16)
    plan = stream.plan_of(model.settings, 10)
    assert len(groups.over_cores(model.settings, plan).apart) == 4
    monkeypatch.setattr(devices, "on_cpu", lambda device: False)
    assert groups.over_cores(model.settings, plan).plan == plan


# Starts and sequences that come out even and that do not; groups with one start, whose W_out has one column in all.
@pytest.mark.parametrize(
    ("starts", "sequences", "count", "readout"),
    [(16, 10, 2, Adam()), (5, 10, 2, Adam()), (5, 10, 3, RLS()), (2, 10, 2, Adam()), (3, 16, 3, RLS())],
)
def test_every_number_goes_to_its_start_and_sequence_and_back(starts: int, sequences: int, count: int, readout: Any) -> None:
    """Each leaf holds row + 1000 start + 100_000 sequence: what must stand at a place follows from the place alone."""
    model = learner(starts, readout=readout, average=None if isinstance(readout, RLS) else 0.9)
    with model.settings.context():
        begun = stream.begin(model.settings, build(), sequences)
    plan, first = begun.plan, begun.carry
    cut = groups.cut(plan, starts, count)

    def marked(plan: loop.LoopPlan, of: Any) -> loop.Carry:
        """What a carry of this plan must hold where its starts are `of`; -1 for idle lanes."""
        sequence, start = np.divmod(np.arange(plan.batch * plan.starts), plan.starts)
        real = sequence < sequences
        lane = np.where(real, 1000.0 * np.asarray(of)[start] + 100_000 * sequence, -1)
        column = 1000.0 * np.asarray(of)

        def rows(leaf: Any, columns: Any) -> Any:
            many = int(np.prod(leaf.shape[:-1]))
            grid = np.where(columns < 0, -1, np.arange(many)[:, None] + columns)
            return grid.reshape(*leaf.shape[:-1], len(columns))

        def leading(leaf: Any) -> Any:
            many = int(np.prod(leaf.shape[1:]))
            return (column[:, None] + np.arange(many)).reshape(len(column), *leaf.shape[1:])

        alike = column if plan.starts == 1 else np.where(real, 1000.0 * np.asarray(of)[start], -1)
        return loop.Carry(
            state=jax.tree.map(lambda leaf: rows(leaf, lane), first.state),
            traces=jax.tree.map(lambda leaf: rows(leaf, lane), first.traces),
            theta=rows(first.theta, column),
            readout=rows(first.readout, alike),
            values=jax.tree.map(lambda leaf: rows(leaf, alike), first.values),
            moments=jax.tree.map(lambda leaf: rows(leaf, column), first.moments),
            squares=jax.tree.map(leading, first.squares),
            average=jax.tree.map(lambda leaf: rows(leaf, column), first.average),
            sums=(rows(first.sums[0], column), np.int32(7)),
        )

    def check(found: loop.Carry, expected: loop.Carry) -> None:
        for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            assert np.shape(ours) == np.shape(theirs)
            np.testing.assert_array_equal(np.where(theirs < 0, -1, ours), theirs)

    whole = marked(plan, np.minimum(np.arange(plan.starts), starts - 1))
    size = -(-starts // count)
    pieces = [groups._carry([whole], places) for places in cut.apart]
    for g, piece in enumerate(pieces):
        ours = g * size + np.minimum(np.arange(cut.plan.starts), size - 1)
        check(piece, marked(cut.plan, np.minimum(ours, starts - 1)))
    check(groups._carry(pieces, cut.together), whole)


# ----------------------------------------------------------------------------------------------------------------- learning


KINDS: dict[str, Any] = {
    "adam": (5, {}),
    "one start each, logistic": (2, {"constraint": "logistic"}),
    "least squares": (4, {"readout": RLS(1e-2, 0.999)}),
    "protocol, many sequences": (6, {"protocol": Reinitialise(every=70, tolerance=0.06), "average": 0.99}),
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_number_of_cores_changes_nothing(kind: str, cores: Any) -> None:
    """To rounding: which products and sums the compiler joins into one operation depends on the number of lanes."""
    starts, changes = KINDS[kind]
    u, y = series(20 if "many" in kind else 10, 200)
    y[2, 50:60] = np.nan  # steps without a target, of one sequence
    found = []
    for count in (1, 2):
        cores(count)
        model = learner(starts, **changes)
        model.partial_fit(u[:, :90], y[:, :90]).freeze("leak_rate[1]", start=starts - 1)
        found.append(model.partial_fit(u[:, 90:], y[:, 90:]))
    assert [parts(each) for each in found] == [1, 2]
    assert_same(found[0], found[1], ROUNDING)
    if "protocol" in changes:
        assert found[1].converged.any()
    assert found[0].values[-1, 1] != found[0].values[0, 1]


def test_every_start_learns_as_it_would_alone(cores: Any) -> None:
    """Five starts in two groups against five learners of one start each."""
    cores(2)
    u, y = series(10, 150)
    many = learner(5).partial_fit(u, y)
    assert parts(many) == 2
    for s, leak in enumerate(np.linspace(0.2, 0.9, 5)):
        alone = learner(np.array([leak])).partial_fit(u, y)
        np.testing.assert_allclose(many.values[s], alone.values[0], rtol=ROUNDING)
        np.testing.assert_allclose(many.readout.coef[s], alone.readout.coef[0], rtol=ROUNDING, atol=ROUNDING)
        np.testing.assert_allclose(many.state[s], alone.state[0], rtol=ROUNDING, atol=ROUNDING)
        np.testing.assert_allclose(many.history.loss[s], alone.history.loss[0], rtol=ROUNDING)


def test_saved_on_one_machine_and_loaded_on_another(cores: Any, tmp_path: Path) -> None:
    """The file holds arrays of the same shapes whatever the number of cores, and the stream carries on."""
    u, y = series(10, 160)
    cores(1)
    whole = learner(5).partial_fit(u, y)
    shapes = [np.shape(leaf) for leaf in jax.tree.leaves(whole.stream.carry)] if whole.stream else []
    model, begin = learner(5), 0
    for count, size in ((2, 1), (1, 70), (1, 9), (2, 80)):
        cores(count)
        model = es.load(es.save(model, tmp_path / "learner.es"))
        model.partial_fit(u[:, begin : begin + size], y[:, begin : begin + size])
        begin += size
        assert [np.shape(leaf) for leaf in jax.tree.leaves(model.stream.carry)] == shapes
    assert_same(whole, model, ROUNDING)


# ------------------------------------------------------------------------------------------------------- stopping, and threads


@pytest.mark.parametrize("reverse", [False, True])
def test_the_first_start_that_breaks_stops_all_of_them_at_one_step(cores: Any, reverse: bool) -> None:
    """One leak rate in each group leaves (0, 1], that from 0.99 before that from 0.97."""
    u, y = series(10, 60)
    first = np.array([0.6, 0.97, 0.05, 0.02, 0.99, 0.9])
    leaks = first[::-1] if reverse else first
    settings: Any = {"constraint": "free", "rates": Adam({"leak_rate[0]": 0.02, "leak_rate[1]": 1e-6})}

    def make(which: slice) -> OnlineLearner:
        return learner(leaks[which], **settings)

    def broken(model: OnlineLearner) -> str:
        with pytest.raises(LearningError) as caught:
            model.partial_fit(u, y)
        return str(caught.value)

    cores(1)
    apart = [make(which) for which in (slice(0, 3), slice(3, 6))]
    for each in apart:
        broken(each)
    steps = [each.steps for each in apart]
    assert steps[0] != steps[1]
    one = make(slice(None))
    message = broken(one)
    assert one.steps == min(steps)
    cores(2)
    two = make(slice(None))
    assert broken(two) == message
    assert f"of start {1 if reverse else 4} " in message
    assert_same(one, two, ROUNDING)
    # To the last bit as a run of just so many steps; and the next step breaks again.
    same = make(slice(None)).partial_fit(u[:, : two.steps], y[:, : two.steps])
    assert_same(same, two)
    with pytest.raises(LearningError, match=f"at step {two.steps} "):
        two.partial_fit(u[:, two.steps :], y[:, two.steps :])


def test_groups_run_at_once_and_an_interrupt_leaves_a_learner_that_can_go_on(
    cores: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cores(2)
    u, y = series(10, 120)
    whole = learner(5).partial_fit(u, y)
    calls: list[int] = []
    both = threading.Barrier(2, timeout=60)
    compiled = loop.program(True)

    def program(on_cpu: bool) -> Any:
        def run(*given: Any) -> Any:
            both.wait()  # nobody passes alone
            calls.append(threading.get_ident())
            if len(calls) == 4:
                raise KeyboardInterrupt
            return compiled(*given)

        return run

    monkeypatch.setattr(loop, "program", program)
    model = learner(5)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(u, y)
    assert len(set(calls[:2])) == 2
    assert model.steps == 40  # the first window; the second is not half learned
    monkeypatch.undo()
    cores(2)
    assert_same(whole, model.partial_fit(u[:, 40:], y[:, 40:]))
