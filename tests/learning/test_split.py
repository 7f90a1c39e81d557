"""What is tuned on and within: splits in time and by sequence, labels as columns, coordinates and bounds, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import echoscale as es
from echoscale.engine.hyper import Hyper
from echoscale.learning.tuning.space import BOUNDS, STARTS, Space
from echoscale.learning.tuning.split import TuningData, prepare
from echoscale.readouts import Columns

Numbers = npt.NDArray[Any]

RNG = np.random.default_rng(0)
U = RNG.normal(size=(120, 1))
Y = np.convolve(U[:, 0], [0.3, 0.5, 0.2])[:120]
LABELS = (Y > 0).astype(int)
SEQUENCES = RNG.normal(size=(12, 20, 1))
KINDS = np.arange(12) % 3
NETWORK = es.hierarchical([5, 4], leak_rate=[0.9, 0.3], bias_scaling=0.2, coupling=0.6)
HYPER = Hyper.of(NETWORK)


@given(lengths=st.lists(st.integers(60, 200), min_size=1, max_size=4), washout=st.integers(0, 25), share=st.floats(0.05, 0.9))
@example(lengths=[90], washout=0, share=0.05000000000000001)
def test_the_end_of_every_series_validates(lengths: list[int], washout: int, share: float) -> None:
    """Training and validation follow each other without a gap, and the share is met to half a step."""
    u = [np.arange(float(length))[:, None] for length in lengths]
    data = prepare(u, u, "mse", washout, share)
    for length, (first, cut, end) in zip(lengths, data.tuned.edges, strict=True):
        assert first == washout
        assert end == length
        assert first <= cut < end
        assert abs((end - cut) - share * (length - washout)) <= 0.5


@pytest.mark.parametrize(
    "labels", [LABELS, LABELS > 0, LABELS * 2.0, np.array(["low", "high"])[LABELS], LABELS[:, None], LABELS.tolist()]
)
def test_labels_become_columns_of_their_classes(labels: Any) -> None:
    data = prepare(U, labels, "cross_entropy", 10, 0.25)
    assert data.classes is not None
    np.testing.assert_array_equal(data.classes, np.unique(labels))
    np.testing.assert_array_equal(np.asarray(data.tuned.targets.values[0]).sum(axis=1), 1)
    np.testing.assert_array_equal(data.classes[np.argmax(data.tuned.targets.values[0], axis=1)], np.ravel(labels))
    assert not data.per_sequence


def test_labels_per_step_of_several_series_keep_their_places() -> None:
    u, labels = [U[:50], U[50:]], [LABELS[:50], LABELS[50:]]
    batch = prepare(U.reshape(2, 60, 1), LABELS.reshape(2, 60), "cross_entropy", 10, 0.25)
    for data, expected in ((prepare(u, labels, "cross_entropy", 10, 0.25), labels), (batch, LABELS.reshape(2, 60))):
        assert not data.per_sequence
        for found, each in zip(data.tuned.targets.values, expected, strict=True):
            np.testing.assert_array_equal(np.argmax(found, axis=1), each)


def by_sequence(labels: Any, share: float) -> tuple[TuningData, list[int], list[int]]:
    """Which sequences train and which validate."""
    u = [SEQUENCES[b % 12][: 10 + b % 5] for b in range(len(labels))]
    data = prepare(u, labels, "cross_entropy", 100, share)
    train = [b for b, (first, cut, _) in enumerate(data.tuned.edges) if first < cut]
    return data, train, [b for b, (_, cut, end) in enumerate(data.tuned.edges) if cut < end]


@pytest.mark.parametrize("labels", [KINDS, KINDS.tolist(), tuple(KINDS), np.array(["a", "b", "c"])[KINDS].tolist()])
def test_with_one_label_per_sequence_whole_sequences_validate(labels: Any) -> None:
    """Every fourth of each class, judged by its last step alone; sequences shorter than the washout are none the worse."""
    data, train, validate = by_sequence(labels, 0.25)
    assert data.per_sequence
    assert validate == [9, 10, 11]
    assert sorted(train + validate) == list(range(12))
    for b, (first, _, end) in enumerate(data.tuned.edges):
        assert (first, end) == (len(data.tuned.series.values[b]) - 1, len(data.tuned.series.values[b]))
        assert data.classes is not None
        assert data.classes[np.argmax(data.tuned.targets.values[b][-1])] == labels[b]


@pytest.mark.parametrize("share", [0.2, 0.25, 0.3, 0.5, 0.75, 0.8])
def test_the_share_of_sequences_that_validates_is_the_one_asked_for(share: float) -> None:
    """To a tenth of each class, and every class has some to train on."""
    labels = np.repeat([0, 1], 60)
    _, train, validate = by_sequence(labels, share)
    for which in (0, 1):
        assert abs(sum(labels[b] == which for b in validate) - 60 * share) <= 6
        assert any(labels[b] == which for b in train)


def test_coordinates_are_logarithms_within_bounds() -> None:
    space = Space.of(
        es.learning.ALL, HYPER, {"leak_rate": (0.05, 0.8), "leak_rate[1]": (0.1, 0.5), "ridge": (1e-6, 1e-2)}, True
    )
    limits = dict(zip(space.names, np.exp([space.low, space.high]).T, strict=True))
    assert space.names[-2:] == ("ridge", "sharpness")
    np.testing.assert_allclose(limits["leak_rate[0]"], (0.05, 0.8))
    np.testing.assert_allclose(limits["leak_rate[1]"], (0.1, 0.5))
    np.testing.assert_allclose(limits["ridge"], (1e-6, 1e-2))
    np.testing.assert_allclose(limits["coupling[0]"], BOUNDS["coupling"])
    z = space.point(HYPER, 1e-4)
    found = dict(zip(space.names, np.exp(z), strict=True))
    assert found["leak_rate[0]"] == pytest.approx(0.8)  # 0.9, moved into the bounds
    assert found["leak_rate[1]"] == pytest.approx(0.3)
    assert found["ridge"] == pytest.approx(1e-4)
    lanes = space.hyper(HYPER, np.stack([z, z + 0.1]))
    np.testing.assert_allclose(lanes.coupling[0], 0.6 * np.exp([0, 0.1]))
    np.testing.assert_allclose(space.penalties(np.stack([z, z + 0.1]), 5.0), 1e-4 * np.exp([0, 0.1]))
    np.testing.assert_array_equal(Space.of("coupling", HYPER, {}).penalties(z[None, :1], 5.0), [5.0])


def test_starts_are_drawn_from_the_usual_range_and_within_the_bounds() -> None:
    bounds = {"leak_rate[0]": (0.2, 0.3), "leak_rate[1]": (0.01, 0.04), "input_scaling": (0.01, 100.0), "ridge": (1.0, 5.0)}
    space = Space.of(es.learning.ALL, HYPER, bounds)
    drawn = dict(zip(space.names, np.exp(space.draw(4000, np.random.default_rng(0))).T, strict=True))
    expected = {
        "leak_rate[0]": (0.2, 0.3),
        "leak_rate[1]": (0.01, 0.04),  # outside of the usual range: all of what is allowed
        "spectral_radius[0]": STARTS["spectral_radius"],
        "input_scaling[1]": STARTS["input_scaling"],
        "ridge": (1.0, 5.0),
    }
    for name, (low, high) in expected.items():
        values = drawn[name]
        assert low * (1 - 1e-12) <= values.min() < low + 0.02 * (high - low)
        assert high - 0.02 * (high - low) < values.max() <= high * (1 + 1e-12)
    assert np.mean(drawn["spectral_radius[0]"]) == pytest.approx(np.mean(STARTS["spectral_radius"]), abs=0.03)
    assert np.median(drawn["input_scaling[0]"]) == pytest.approx(np.sqrt(0.05 * 2.0), rel=0.1)


def test_a_number_of_zero_begins_at_its_lower_bound() -> None:
    without = es.single(5)
    space = Space.of("bias_scaling", Hyper.of(without), {})
    assert space.point(Hyper.of(without), 0.0) == pytest.approx(np.log(BOUNDS["bias_scaling"][0]))


def refused(message: str, error: type[Exception] = ValueError, **changed: Any) -> None:
    options: dict[str, Any] = {"washout": 10, "starts": 1, "rounds": 1, **changed}
    u, y, network = options.pop("u", U), options.pop("y", Y), options.pop("network", NETWORK)
    with pytest.raises(error, match=message):
        es.tune(network, u, y, **options)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("leak", "unknown parameter 'leak'"),
        (["ridge", "rho"], "unknown parameter 'rho'"),
        ("leak_rate[2]", "2 reservoirs, counted from 0"),
        ([], "parameters is empty"),
        (["leak_rate", "sharpness"], "unknown parameter 'sharpness'"),
    ],
)
def test_unknown_parameters_are_named(parameters: Any, message: str) -> None:
    refused(message, parameters=parameters)


def test_a_network_without_couplings_has_none_to_learn() -> None:
    refused("no couplings", network=es.single(5), parameters="coupling")


@pytest.mark.parametrize(
    ("bounds", "error", "message"),
    [
        ({"spectral_radius": (0.1, 1.0)}, ValueError, "'spectral_radius', which is not learned"),
        ({"leak_rate[2]": (0.1, 1.0)}, ValueError, r"'leak_rate\[2\]', which is not learned"),
        ({"sharpness": (1.0, 2.0)}, ValueError, "which is not learned"),
        ({"leak_rate": (0.9, 0.1)}, ValueError, "0 < low < high, got 0.9 and 0.1"),
        ({"leak_rate": (0.5, 0.5)}, ValueError, "0 < low < high"),
        ({"leak_rate": (0.1, 1.1)}, ValueError, r"upper bound of leak_rate\[0\] must lie in \(0, 1\]"),
        ({"leak_rate": (0.0, 1.0)}, ValueError, "0 < low < high"),
        ({"ridge": (-1.0, 1.0)}, ValueError, "0 < low < high"),
        ({"ridge": (1e-9, np.inf)}, ValueError, "upper bound of ridge must be finite"),
        ({"ridge": 1e-3}, ValueError, r"must be a pair \(low, high\), got 0.001"),
        ({"ridge": (1, 2, 3)}, ValueError, r"must be a pair \(low, high\)"),
        ({"ridge": ("a", "b")}, TypeError, "lower bound of ridge must be a number"),
    ],
)
def test_bad_bounds_are_named(bounds: Any, error: type[Exception], message: str) -> None:
    refused(message, error, bounds=bounds, parameters=["leak_rate", "ridge"])


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"starts": 0}, ValueError, "starts must be at least 1"),
        ({"starts": 2.5}, TypeError, "starts must be a whole number"),
        ({"starts": Hyper.of(es.single(5))}, ValueError, "Hyper of another network"),
        ({"rounds": 0}, ValueError, "rounds must be at least 1"),
        ({"seed": -1}, ValueError, "seed must be at least 0"),
        ({"seed": None}, TypeError, "seed must be a whole number"),
        ({"washout": -1}, ValueError, "washout must be at least 0"),
        ({"folds": 0.0}, ValueError, r"number of folds, at least 2, or a share in \(0, 1\), got 0"),
        ({"folds": 1.0}, ValueError, "or a share"),
        ({"folds": 1}, ValueError, "folds must be at least 2, got 1"),
        ({"folds": True}, TypeError, "folds must be a number"),
        ({"test": 1.0}, ValueError, r"test must be a share in \[0, 1\), got 1"),
        ({"test": -0.1}, ValueError, "test must be a share"),
        ({"test": "some"}, TypeError, "test must be a number"),
        ({"scale": "robust"}, ValueError, "scale must be one of 'standard'"),
        ({"seconds": -1.0}, ValueError, "seconds must not be negative"),
        ({"noise": -1.0}, ValueError, "noise must not be negative"),
        ({"floor": -1e-8}, ValueError, "floor must not be negative"),
        ({"floor": "none"}, TypeError, "floor must be a number"),
        ({"folds": "half"}, TypeError, "folds must be a number"),
        ({"loss": "mae"}, ValueError, "loss must be one of 'mse', 'cross_entropy'"),
        ({"columns": 1}, TypeError, r"columns must be an echoscale.readouts.Columns or None, got 1"),
        ({"columns": Columns(1, squares=True)}, ValueError, "no gradient of squares and products"),
        ({"ridge": -1e-3}, ValueError, "ridge must not be negative"),
        ({"ridge": np.nan}, ValueError, "ridge must be finite"),
        ({"dtype": "float16"}, ValueError, "dtype must be one of"),
    ],
)
def test_bad_options_are_named(changed: dict[str, Any], error: type[Exception], message: str) -> None:
    refused(message, error, **changed)


def with_gap(values: Numbers) -> Numbers:
    broken = values.copy()
    broken[7] = np.nan
    return broken


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"u": with_gap(U)}, "u must be finite, found NaN at step 7"),
        ({"y": with_gap(Y), "network": es.single(20, feedback_scaling=0.1)}, "y must be finite, found NaN at step 7"),
        ({"y": Y[:-1]}, "y has 119 steps, its input 120"),
        ({"y": [Y, Y]}, "y has 2 steps, its input 120"),
        ({"u": [U, U]}, "steps|series"),
        ({"u": [U, U], "y": [Y]}, "y holds 1 series, the input 2"),
        ({"u": np.zeros((2, 3, 4, 5))}, r"u must be \(T, F\)"),
        ({"u": U[:10], "y": Y[:10]}, "u has 10 steps, not more than washout=10"),
        ({"u": [U, U[:8]], "y": [Y, Y[:8]]}, r"u\[1\] has 8 steps, not more than washout=10"),
        ({"u": U[:12], "y": Y[:12]}, "2 steps are left to tune on after washout=10 and test=0.2"),
        ({"u": U[:12], "y": Y[:12], "folds": 0.5, "test": 0}, "1 steps are left to train on after washout=10"),
        ({"u": U[:2], "y": Y[:2], "washout": None}, "2 steps are left to tune on"),
        ({"y": None}, "y must hold one target series"),
    ],
)
def test_bad_series_are_named(changed: dict[str, Any], message: str) -> None:
    refused(message, **changed)


def test_a_target_that_is_constant_on_the_validation_part_is_refused() -> None:
    """Whatever its value is, and whatever rounding makes of its variance."""
    rng = np.random.default_rng(39)
    for _ in range(20):
        steps = int(rng.integers(200, 400))
        y = rng.normal(size=steps)
        y[steps // 2 :] = rng.normal()
        u = rng.normal(size=(steps, 1))
        refused("constant on the validation part", u=u, y=y, parameters="leak_rate", folds=0.25, test=0)
        refused("constant on the test part", u=u, y=y, parameters="leak_rate")
    y = np.stack([Y, np.full(120, 0.1)], axis=1)
    refused("constant on the validation part", y=y, parameters="leak_rate")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y": Y}, "y holds real numbers, but labels are .* Use loss='mse'"),
        ({"y": with_gap(LABELS.astype(float))}, "y lacks 1 of 120 labels"),
        ({"y": np.zeros(120, int)}, "one class only"),
        ({"y": np.arange(120)}, "120 different labels in 120 places"),
        ({"y": np.eye(2)[LABELS]}, r"got shape \(120, 2\).*labels, not one-hot rows"),
        ({"y": LABELS[:-1]}, r"one label per step, \(120,\), got shape \(119,\)"),
        ({"u": SEQUENCES, "y": np.eye(3)[KINDS]}, "labels, not one-hot rows"),
        ({"u": SEQUENCES, "y": KINDS[:-1]}, "y holds 11 entries for 12 series"),
        ({"u": list(SEQUENCES), "y": KINDS[:-1].tolist()}, "y holds 11 entries for 12 series"),
        ({"u": SEQUENCES[:3], "y": [0, 1, 0], "folds": 0.25}, "3 sequences are too few"),
        ({"u": SEQUENCES[:2], "y": [0, 1], "folds": 0.25}, "2 sequences are too few"),
        (
            {"u": list(SEQUENCES), "y": [np.zeros(19, int)] * 12},
            r"y\[0\] must be one label per step, \(20,\), got shape \(19,\)",
        ),
    ],
)
def test_bad_labels_are_named(changed: dict[str, Any], message: str) -> None:
    refused(message, **changed, loss="cross_entropy")


@pytest.mark.parametrize("y", [None, 1])
@pytest.mark.parametrize("u", [U, SEQUENCES])
def test_labels_that_are_no_list_at_all_are_named(u: Numbers, y: Any) -> None:
    refused(r"^y(\[0\])? ", u=u, y=y, loss="cross_entropy")
