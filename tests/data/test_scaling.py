"""Units of the data and units of the network, against NumPy's means and deviations, and in rational numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from echoscale.data.scaling import Scaling, scaling_of
from echoscale.data.series import as_series

Floats = npt.NDArray[np.float64]


def columns(length: int = 50, seed: int = 0) -> Floats:
    """Three columns of different sizes about different means."""
    return np.random.default_rng(seed).normal(size=(length, 3)) * [1.0, 1e-3, 40.0] + [0.0, 5.0, -300.0]


@pytest.mark.parametrize("kind", ["one", "batch", "list"])
def test_means_and_deviations_are_those_of_all_steps(kind: str) -> None:
    pieces = [columns(n, seed) for seed, n in enumerate((50,) if kind == "one" else (40, 40) if kind == "batch" else (30, 55))]
    given: Any = pieces[0] if kind == "one" else np.stack(pieces) if kind == "batch" else pieces
    series = as_series(given, name="X")
    scaling = scaling_of("standard", series)
    rows = np.concatenate(pieces)
    np.testing.assert_allclose(scaling.mean, rows.mean(axis=0), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(scaling.spread, rows.std(axis=0), rtol=1e-12)
    scaled = scaling.apply(series)
    assert (scaled.kind, scaled.name) == (series.kind, "X")
    for one, plain in zip(scaled.values, pieces, strict=True):
        np.testing.assert_allclose(one, (plain - rows.mean(axis=0)) / rows.std(axis=0), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(scaling.back(one), plain, rtol=1e-12)


@pytest.mark.parametrize(("size", "offset"), [(1.0, 1e9), (1e-8, 1.0), (1e300, 0.0), (1e-300, 0.0), (1e150, -1e160)])
def test_digits_are_kept_for_numbers_of_any_size(size: float, offset: float) -> None:
    """In rational numbers there is no rounding: what is lost is what the data themselves have lost."""
    values = offset + size * columns()[:, :1]
    exact: Any = [Fraction(each) for each in values[:, 0].tolist()]
    mean = sum(exact) / len(exact)
    # Over the largest, so that the square is a number.
    unit = max(abs(each - mean) for each in exact)
    spread = float(unit) * float(sum(((each - mean) / unit) ** 2 for each in exact) / len(exact)) ** 0.5
    scaling = Scaling.of([values])
    assert scaling.mean[0] == pytest.approx(float(mean), rel=1e-15)
    assert scaling.spread[0] == pytest.approx(spread, rel=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, -3e7, 1e200])
def test_a_constant_column_becomes_0(value: float) -> None:
    rows = np.full((30, 2), value)
    rows[:, 1] = np.arange(30)
    scaling = Scaling.of([rows])
    assert (scaling.mean[0], scaling.spread[0]) == (value, 1.0)
    assert not scaling.forward(rows)[:, 0].any()


def test_what_varies_by_rounding_alone_is_constant() -> None:
    rows = 1e6 + np.where(np.arange(40)[:, None] % 2, 1e-10, 0.0)
    assert Scaling.of([rows]).spread[0] == 1.0


def test_gaps_do_not_count() -> None:
    rows = columns()
    rows[::7, 1] = np.nan
    scaling = Scaling.of([rows])
    np.testing.assert_allclose(scaling.mean, np.nanmean(rows, axis=0), rtol=1e-12)
    np.testing.assert_allclose(scaling.spread, np.nanstd(rows, axis=0), rtol=1e-12)
    rows[:, 2] = np.nan
    with pytest.raises(ValueError, match="column 2 holds no number at all: leave it out"):
        Scaling.of([rows])


def test_none_changes_nothing() -> None:
    series = as_series(columns())
    scaling = scaling_of(None, series)
    assert scaling.is_none
    assert scaling.apply(series) is series
    assert not scaling_of("standard", series).is_none
    with pytest.raises(ValueError, match="scale must be one of 'standard', None; got 'minmax'"):
        scaling_of("minmax", series)
