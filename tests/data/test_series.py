"""What users pass as series and targets, in one form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import echoscale as es
from echoscale.data import series as module
from echoscale.data.series import Series, as_series, as_targets, check_longer_than, is_list_of_series

Array = npt.NDArray[Any]


def counting(*shape: int) -> Array:
    return np.arange(np.prod(shape), dtype=float).reshape(shape)


@pytest.mark.parametrize(
    ("u", "kind", "lengths", "features"),
    [
        (counting(5), "one", [5], 1),
        (counting(5, 2), "one", [5], 2),
        ([1, 2, 3], "one", [3], 1),
        ([[1, 2], [3, 4], [5, 6]], "one", [3], 2),
        ([counting(4), counting(4)], "one", [2], 4),
        (counting(3, 5, 2), "batch", [5, 5, 5], 2),
        ([counting(3, 2), counting(5, 2)], "list", [3, 5], 2),
        ((counting(3, 2), counting(3, 2)), "list", [3, 3], 2),
        ([[[1, 2], [3, 4]], [[5, 6]]], "list", [2, 1], 2),
        ([pd.DataFrame(counting(3, 2)), counting(4, 2)], "list", [3, 4], 2),
    ],
)
def test_the_shape_decides_what_data_are(u: Any, kind: str, lengths: list[int], features: int) -> None:
    series = as_series(u)
    assert (series.kind, series.lengths.tolist(), series.features, series.count) == (kind, lengths, features, len(lengths))
    assert is_list_of_series(u) == (kind == "list")
    given_values = u if kind == "list" else [u] if kind == "one" else list(u)
    for ours, theirs in zip(series.values, given_values, strict=True):
        np.testing.assert_array_equal(ours, np.reshape(np.asarray(theirs, float), ours.shape))


GAP = np.ma.masked_array(counting(4, 2), mask=np.arange(8).reshape(4, 2) == 3)


@pytest.mark.parametrize(
    ("read", "name"),
    [
        (lambda: as_series(GAP), "u"),
        (lambda: as_series(np.ma.stack([GAP, GAP])), "u"),
        (lambda: as_series([counting(3, 2), GAP]), r"u\[1\]"),
        (lambda: as_series(list(GAP)), "u"),
        (lambda: as_targets(GAP[:, 1], as_series(counting(4))), "y"),
        (lambda: as_targets(GAP, as_series(counting(4, 2, 1))), "y"),
        (lambda: as_targets([GAP[:, 1], counting(3)], as_series([counting(4, 1), counting(3, 1)])), r"y\[0\]"),
        (lambda: es.single(3).build(2).step(GAP[1]), "u"),
        (lambda: es.sweeps.Data(counting(4), GAP), "y"),
        (lambda: es.ESNRegressor(3).fit(GAP, counting(4)), "X"),
        (lambda: es.ESNRegressor(3).fit(counting(4, 1), GAP[:, 1]), "y"),
        (lambda: es.ESNStepClassifier(3).fit(GAP, [0, 1, 0, 1]), "X"),
        (lambda: es.ESNStepClassifier(3).fit(counting(4, 1), GAP[:, 1].astype(int)), "y"),
    ],
)
def test_masked_values_are_refused(read: Callable[[], object], name: str) -> None:
    """What lies behind the mask would be taken for data."""
    with pytest.raises(ValueError, match=rf"^{name} is a masked array with \d masked values?.*Fill or cut"):
        read()


DATES, COUNTED = pd.date_range("2024-01-01", periods=4), pd.RangeIndex(4)


@pytest.mark.parametrize(
    ("ours", "theirs", "right"),
    [
        (DATES, DATES, True),
        (DATES, COUNTED, True),  # an index that pandas made by itself says nothing about dates
        (COUNTED, DATES, True),
        (DATES, DATES + pd.Timedelta("1D"), False),
        (DATES, DATES[::-1], False),
        (COUNTED, pd.Index([2, 0, 1, 3]), False),  # shuffled
        (COUNTED + 1, COUNTED, False),
        (pd.Index(list("abcd")), pd.Index(list("abdc")), False),
    ],
)
def test_targets_have_the_row_labels_of_their_input(ours: Any, theirs: Any, right: bool) -> None:
    u, y = pd.DataFrame(counting(4, 2), ours), pd.Series(counting(4), theirs)
    for inputs, targets in ((u, y), ([u, u], [y, y])):
        if right:
            as_targets(targets, as_series(inputs))
            continue
        t = int(np.argmax(np.asarray(ours) != np.asarray(theirs)))
        with pytest.raises(
            ValueError, match=rf"different row labels: row {t} is {theirs[t]} in y and {ours[t]} in u.*to_numpy"
        ):
            as_targets(targets, as_series(inputs))
    as_targets(y.to_numpy(), as_series(u))


def test_columns_are_remembered_and_compared() -> None:
    u: Any = pd.DataFrame(counting(4, 2), columns=["a", "b"])
    series = as_series(u)
    assert series.columns == as_series([u, u.to_numpy(), u]).columns == ("a", "b")
    assert series.cast("float32").columns == ("a", "b")
    assert as_series(u.to_numpy()).columns == as_series(pd.DataFrame(counting(4, 2))).columns == ()
    as_series(u.to_numpy(), columns=("a", "b"))
    turned: Any = u[["b", "a"]]
    for wrong in (turned, as_series(turned), [turned]):
        with pytest.raises(ValueError, match=r"^u has the columns \['b', 'a'\], but \['a', 'b'\] are needed, in this order"):
            as_series(wrong, columns=("a", "b"))
    with pytest.raises(ValueError, match=r"^u\[1\] has the columns \['b', 'a'\]"):
        as_series([u, turned])


def test_a_masked_array_with_nothing_masked_is_its_data() -> None:
    whole = np.ma.masked_array(counting(4, 2), mask=False)
    values = as_series(whole).values
    assert type(values) is np.ndarray
    np.testing.assert_array_equal(values, counting(1, 4, 2))


@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    features=st.integers(1, 3),
    bad=st.sampled_from([np.nan, np.inf, -np.inf]),
    data=st.data(),
)
def test_the_place_of_a_bad_value_is_named(lengths: list[int], features: int, bad: float, data: st.DataObject) -> None:
    series = [np.zeros((length, features)) for length in lengths]
    b = data.draw(st.integers(0, len(series) - 1))
    t, f = data.draw(st.integers(0, lengths[b] - 1)), data.draw(st.integers(0, features - 1))
    as_series(series)
    series[b][t, f] = bad
    with pytest.raises(
        ValueError,
        match=rf"^u\[{b}\] must be finite, found {'NaN' if np.isnan(bad) else bad} at step {t}, feature {f} \(1 such",
    ):
        as_series(series)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_dtype_for_all(dtype: Any) -> None:
    series = as_series([np.ones((2, 1), np.float16), np.ones((3, 1), int)], dtype=dtype)
    assert {each.dtype for each in series.values} == {np.dtype(dtype)}


ONE, BATCH, LIST = as_series(counting(4, 1)), as_series(counting(3, 4, 2)), as_series([counting(4, 2), counting(6, 2)])


@pytest.mark.parametrize(
    ("series", "y", "shapes"),
    [
        (ONE, counting(4), [(4, 1)]),
        (ONE, counting(4, 3), [(4, 3)]),
        (ONE, pd.Series([1, 2, 3, 4]), [(4, 1)]),
        (BATCH, counting(3, 4), [(4, 1)] * 3),
        (BATCH, counting(3, 4, 2), [(4, 2)] * 3),
        (BATCH, counting(3, 4).tolist(), [(4, 1)] * 3),
        (BATCH, list(counting(3, 4, 2)), [(4, 2)] * 3),
        (LIST, [counting(4), counting(6)], [(4, 1), (6, 1)]),
        (LIST, [counting(4, 3), counting(6, 3)], [(4, 3), (6, 3)]),
        (LIST, [[1, 2, 3, 4], [1, 2, 3, 4, 5, 6]], [(4, 1), (6, 1)]),
    ],
)
def test_targets_match_their_series(series: Any, y: Any, shapes: list[tuple[int, int]]) -> None:
    targets = as_targets(y, series)
    assert [each.shape for each in targets.values] == shapes
    wanted = [y] if series is ONE else list(y)
    for ours, theirs in zip(targets.values, wanted, strict=True):
        np.testing.assert_array_equal(ours, np.reshape(np.asarray(theirs, float), ours.shape))


@pytest.mark.parametrize(
    ("series", "y", "message"),
    [
        (ONE, counting(5), r"y has 5 steps, its input 4; they must be of the same length"),
        (ONE, counting(1, 4, 1), r"y must be \(T,\) or \(T, outputs\) for one series, got shape \(1, 4, 1\)"),
        (BATCH, counting(2, 4), r"y holds 2 series, the input 3; give one target series for each"),
        (BATCH, counting(3, 5), r"y\[0\] has 5 steps, its input 4"),
        (LIST, [counting(4), counting(5)], r"y\[1\] has 5 steps, its input 6"),
        (LIST, [counting(4)], r"y holds 1 series, the input 2"),
        (LIST, [counting(4, 1), counting(6, 2)], r"same number of features: y\[0\] has 1, y\[1\] has 2"),
        (BATCH, [[0, 1, np.nan, 3]] * 3, r"y\[0\] must be finite, found NaN at step 2"),
        (BATCH, [counting(4), counting(4), counting(3)], r"y\[2\] has 3 steps, its input 4"),
        (BATCH, None, r"^y .*None"),
        (LIST, 1.5, r"^y .*1\.5"),
    ],
)
def test_targets_that_do_not_match_are_named(series: Any, y: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        as_targets(y, series)


def test_a_washout_must_leave_something() -> None:
    check_longer_than(ONE, 3)
    check_longer_than(LIST, 3)
    with pytest.raises(
        ValueError, match=r"^u has 4 steps, not more than washout=4: .*Lower the washout or give a longer series"
    ):
        check_longer_than(ONE, 4)
    with pytest.raises(ValueError, match=r"^u\[0\] has 4 steps, not more than washout=5"):
        check_longer_than(LIST, 5)


@pytest.mark.parametrize("series", [ONE, BATCH, LIST], ids=lambda series: series.kind)
def test_checked_series_are_handed_on_as_they_are(series: Series, monkeypatch: pytest.MonkeyPatch) -> None:
    """A door looks at data once: behind it nothing is read or checked again."""
    targets = as_targets(series, series)
    monkeypatch.setattr(module, "_check", None)
    monkeypatch.setattr(module, "as_numbers", None)
    assert as_series(series) is series
    assert as_series(series, series.features) is series
    assert as_targets(targets, series) is targets
    wide = as_series(as_series(series, dtype=np.float64).cast(np.longdouble), dtype=np.longdouble)
    assert wide.kind == series.kind
    assert wide.dtype == np.longdouble


@pytest.mark.parametrize("series", [ONE, BATCH, LIST], ids=lambda series: series.kind)
def test_a_narrower_precision_names_what_it_cannot_hold(series: Series) -> None:
    narrow = series.cast(np.float32)
    assert {each.dtype for each in narrow.values} == {np.dtype(np.float32)}
    for ours, theirs in zip(narrow.values, series.values, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    values = [np.array(each) for each in series.values]
    values[-1][1, 0] = 1e300
    bad: Any = values if series.kind == "list" else values[0] if series.kind == "one" else np.stack(values)
    large = as_series(bad, name="x")
    which = "x" if series.kind == "one" else rf"x\[{len(values) - 1}\]"
    with pytest.raises(ValueError, match=rf"^{which} must be finite, found inf at step 1, feature 0 .*use dtype='float64'"):
        large.cast(np.float32)


def test_a_checked_series_must_have_the_features_asked_for() -> None:
    with pytest.raises(ValueError, match=r"^u\[0\] has 2 features, the network was built for 3"):
        as_series(BATCH, 3)
    with pytest.raises(ValueError, match=r"y has 4 steps, its input 5"):
        as_targets(ONE, as_series(counting(5)))


def test_teacher_forced_columns_are_the_inputs_and_the_outputs_of_the_step_before() -> None:
    rng = np.random.default_rng(0)
    u, y, before = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 5, 2)), rng.normal(size=(2, 2))
    found = es.engine.teacher_forced(u, y, before)
    assert (found.kind, found.features, found.count) == ("batch", 5, 2)
    for b in range(2):
        for t in range(5):
            expected = [*u[b, t], *(y[b, t - 1] if t else before[b])]
            assert found.values[b][t].tolist() == expected
    uneven = es.engine.teacher_forced([u[0], u[1, :2]], [y[0], y[1, :2]])
    assert uneven.kind == "list"
    assert [each.shape for each in uneven.values] == [(5, 5), (2, 5)]
    np.testing.assert_array_equal(uneven.values[1], [[*u[1, 0], 0, 0], [*u[1, 1], *y[1, 0]]])
    # Whatever reads series reads them as they are.
    assert as_series(found, 5) is found


def test_gaps_are_let_through_where_they_mean_something() -> None:
    u = as_series(np.ones((4, 1)))
    y = [0.0, np.nan, 1.0, 2.0]
    assert np.isnan(as_targets(y, u, gaps=True).values[0]).sum() == 1
    with pytest.raises(ValueError, match="y must be finite, found NaN at step 1"):
        as_targets(y, u)
    with pytest.raises(ValueError, match="y must be finite, found inf at step 0"):
        as_targets([np.inf, np.nan, 1.0, 2.0], u, gaps=True)
