"""Correlations against scalar loops, AR(1) closed forms and the rate of false alarms; directions, units, tables, drawings."""

from __future__ import annotations

import io
import math
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.signal
import scipy.stats

from echoscale.tasks import narma
from echoscale.timescales import SignalTimescales, of_signal

Floats = npt.NDArray[np.float64]


def loops(before: list[Floats], after: list[Floats], lag: int) -> float:
    """r(lag) between a(t - lag) and b(t) term by term: means and sizes over all series, products inside each one."""
    steps = sum(len(each) for each in before)
    mean_a = sum(float(value) for each in before for value in each) / steps
    mean_b = sum(float(value) for each in after for value in each) / steps
    size_a = sum((float(value) - mean_a) ** 2 for each in before for value in each)
    size_b = sum((float(value) - mean_b) ** 2 for each in after for value in each)
    total = 0.0
    for a, b in zip(before, after, strict=True):
        for t in range(lag, len(b)):
            total += (a[t - lag] - mean_a) * (b[t] - mean_b)
    return total / math.sqrt(size_a * size_b)


def autoregressive(phi: float, count: int, steps: int, seed: int) -> Floats:
    """x(t) = phi x(t - 1) + noise, stationary from the first step, (count, steps)."""
    noise = np.random.default_rng(seed).standard_normal((count, steps))
    noise[:, 0] /= math.sqrt(1 - phi**2)
    return np.asarray(scipy.signal.lfilter([1.0], [1.0, -phi], noise), np.float64)


def quantile(level: float, lags: int) -> float:
    """How many standard errors chance may reach at one lag, so that it passes at any of lags 0 ... `lags` with `level`."""
    return float(scipy.stats.norm.isf(level / (2 * (lags + 1))))


def shifted(u: Floats, k: int) -> Floats:
    """u(t - k), zero before the series begins."""
    return np.concatenate([np.zeros_like(u[:k]), u[: len(u) - k]])


def series(kind: str, features: int, seed: int) -> Any:
    """Series far from mean zero, each with a mean of its own."""
    rng = np.random.default_rng(seed)
    if kind == "one":
        return rng.standard_normal((31, features)).cumsum(axis=0) + 5
    lengths = [24, 24, 24] if kind == "batch" else [40, 13, 27]
    made = [rng.standard_normal((steps, features)) + 3 * b for b, steps in enumerate(lengths)]
    return np.stack(made) if kind == "batch" else made


@pytest.mark.parametrize("kind", ["one", "batch", "list"])
@pytest.mark.parametrize(("features", "outputs"), [(1, 1), (2, 3), (3, 1)])
def test_correlations_are_the_formula(kind: str, features: int, outputs: int) -> None:
    u, y = series(kind, features, seed=1), series(kind, outputs, seed=2)
    found = of_signal(u, y, lags=12)
    inputs, targets = ([u], [y]) if kind == "one" else (list(u), list(y))
    assert found.lags.tolist() == list(range(13))
    assert found.inputs.shape == found.input_limit.shape == (13, features)
    assert found.targets.shape == found.target_limit.shape == (13, outputs)
    assert found.cross.shape == (13, features, outputs)
    assert found.cross_limit.shape == (features, outputs)
    for lag in range(13):
        for f in range(features):
            a = [each[:, f] for each in inputs]
            assert found.inputs[lag, f] == pytest.approx(loops(a, a, lag), abs=1e-12)
            for o in range(outputs):
                b = [each[:, o] for each in targets]
                assert found.cross[lag, f, o] == pytest.approx(loops(a, b, lag), abs=1e-12)
        for o in range(outputs):
            b = [each[:, o] for each in targets]
            assert found.targets[lag, o] == pytest.approx(loops(b, b, lag), abs=1e-12)


@pytest.mark.parametrize("steps", [64, 101, 257])
def test_every_lag_up_to_the_length_is_that_of_numpy(steps: int) -> None:
    """With zero padding nothing wraps around: at lag T - 1 one single product is left."""
    rng = np.random.default_rng(steps)
    u, y = rng.standard_normal(steps) + 2, rng.standard_normal(steps).cumsum()
    found = of_signal(u, y, lags=steps - 1)
    a, b = u - u.mean(), y - y.mean()
    # numpy.correlate(b, a) at shift k is sum_t b(t + k) a(t); shifts run from -(T - 1).
    full = np.correlate(b, a, "full")[steps - 1 :] / math.sqrt((a @ a) * (b @ b))
    np.testing.assert_allclose(found.cross[:, 0, 0], full, atol=1e-13)
    own = [(a[k:] @ a[: steps - k]) / (a @ a) for k in range(steps)]
    np.testing.assert_allclose(found.inputs[:, 0], own, atol=1e-13)
    assert found.cross[-1, 0, 0] == pytest.approx(a[0] * b[-1] / math.sqrt((a @ a) * (b @ b)), rel=1e-8)


def test_a_delay_shows_at_its_lag_and_in_its_direction_only() -> None:
    u = np.random.default_rng(0).standard_normal(3000)
    y = shifted(u, 3)
    forth, back = of_signal(u, y, lags=20), of_signal(y, u, lags=20)
    assert forth.cross[3, 0, 0] == pytest.approx(1, abs=0.01)
    assert np.flatnonzero(forth.significant_cross[:, 0, 0]).tolist() == [3]
    assert not back.significant_cross.any()
    assert abs(back.cross[3, 0, 0]) < 0.1
    assert forth.table["strongest_lag"][2] == 3


def test_the_sign_is_kept() -> None:
    u = np.random.default_rng(0).standard_normal((2000, 1))
    found = of_signal(u, np.hstack([u, -u]), lags=5)
    assert found.cross[0, 0].tolist() == pytest.approx([1, -1])
    assert found.significant_cross[0].all()
    assert of_signal(np.resize([1.0, -1.0], 400)).inputs[:4, 0] == pytest.approx([1, -1, 1, -1], abs=0.01)


def test_nothing_passes_from_one_series_to_the_next() -> None:
    """The second series begins with the end of the first: a lag of 30 across the border would see it."""
    rng = np.random.default_rng(3)
    first = rng.standard_normal((60, 1))
    second = np.concatenate([first[30:], rng.standard_normal((30, 1))])
    whole = of_signal(np.concatenate([first, second]), lags=40).inputs[30, 0]
    assert whole > 0.2
    apart = of_signal([first, second], lags=40).inputs[30, 0]
    expected = loops([first[:, 0], second[:, 0]], [first[:, 0], second[:, 0]], 30)
    assert apart == pytest.approx(expected, abs=1e-12)
    assert abs(apart) < 0.15


def test_offset_and_scale_of_the_data_do_not_matter() -> None:
    u, y = series("list", 2, seed=4), series("list", 1, seed=5)
    plain = of_signal(u, y, lags=10)
    other = of_signal([1e3 * each - 700 for each in u], [-0.01 * each + 3 for each in y], lags=10)
    np.testing.assert_allclose(other.inputs, plain.inputs, atol=1e-10)
    np.testing.assert_allclose(other.targets, plain.targets, atol=1e-10)
    np.testing.assert_allclose(other.cross, -plain.cross, atol=1e-10)
    np.testing.assert_allclose(other.cross_limit, plain.cross_limit, rtol=1e-10)


def test_small_changes_around_a_large_mean_are_a_signal() -> None:
    u = autoregressive(0.9, 1, 2000, seed=6)[0]
    np.testing.assert_allclose(of_signal(1e6 + 1e-3 * u).inputs, of_signal(u).inputs, atol=1e-5)


def test_whole_numbers_lists_and_one_axis_are_read() -> None:
    numbers = np.random.default_rng(7).integers(0, 9, 50)
    expected = of_signal(numbers.astype(float)[:, None]).inputs
    for given in (numbers, numbers.tolist(), numbers.astype(np.float32)):
        np.testing.assert_allclose(of_signal(given).inputs, expected, rtol=1e-12)


@pytest.mark.parametrize("phi", [0.8, -0.6])
def test_an_autoregression_decays_as_a_power(phi: float) -> None:
    """r(k) = phi^k, with the standard error that Bartlett's formula gives for AR(1)."""
    steps = 20_000
    found = of_signal(autoregressive(phi, 1, steps, seed=8)[0], lags=20)
    for k in range(1, 21):
        error = math.sqrt(((1 + phi**2) * (1 - phi ** (2 * k)) / (1 - phi**2) - 2 * k * phi ** (2 * k)) / steps)
        assert found.inputs[k, 0] == pytest.approx(phi**k, abs=4 * error)
    decay = next(k for k in range(20) if abs(phi) ** k < 1 / math.e)
    assert found.table["below_1/e"] == (decay,)


@pytest.mark.parametrize(("order", "lag", "height"), [(10, 9, 0.54), (5, 4, 0.48)])
def test_narma_peaks_one_step_before_its_order(order: int, lag: int, height: float) -> None:
    u, y = (each[200:] for each in narma(30_000, order))
    found = of_signal(u, y, lags=30)
    assert int(np.argmax(found.targets[2:, 0])) + 2 == lag
    assert found.targets[lag, 0] == pytest.approx(height, abs=0.04)
    assert found.significant_targets[lag, 0]
    assert np.flatnonzero(found.significant_inputs[:, 0]).tolist() == [0]
    # y(t) holds u(t - 1) u(t - order): those lags are the strongest, and the present input is not in it.
    assert set(np.argsort(found.cross[:, 0, 0])[-2:]) == {1, order}
    assert not found.significant_cross[0, 0, 0]


def test_white_noise_is_marked_as_often_as_the_level_says() -> None:
    """1,500 series: the share with any mark after lag 0 is binomial around `level`."""
    noise = np.random.default_rng(9).standard_normal((3000, 1500))
    found = of_signal(noise, lags=10, level=0.05)
    assert found.significant_inputs[0].all()
    rate = found.significant_inputs[1:].any(axis=0).mean()
    assert rate == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / 1500))


@pytest.mark.parametrize("level", [0.02, 0.2])
def test_unrelated_white_noise_is_marked_as_often_as_the_level_says(level: float) -> None:
    rng = np.random.default_rng(10)
    u, y = rng.standard_normal((2, 2000, 40))
    found = of_signal(u, y, lags=10, level=level)
    rate = found.significant_cross.any(axis=0).mean()
    assert rate == pytest.approx(level, abs=4 * math.sqrt(level * (1 - level) / 1600))


@pytest.mark.parametrize(("phi", "lags"), [(0.5, 20), (0.9, 60), (0.97, 200)])
def test_unrelated_autoregressions_are_not_marked_more_often(phi: float, lags: int) -> None:
    """Their correlations are far larger than those of white noise; Bartlett's limit knows."""
    rate = marked_pairs(phi, lags)
    assert rate <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize(("phi", "lags"), [(0.9, 1), (0.97, 3)])
def test_few_lags_do_not_make_unrelated_signals_significant(phi: float, lags: int) -> None:
    rate = marked_pairs(phi, lags)
    assert rate <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 400)


def marked_pairs(phi: float, lags: int) -> float:
    """The share with any mark of 400 pairs of unrelated AR(1) series, each of 20 with each of 20."""
    u, y = autoregressive(phi, 20, 2000, seed=11), autoregressive(phi, 20, 2000, seed=12)
    return float(of_signal(u.T, y.T, lags=lags, level=0.05).significant_cross.any(axis=0).mean())


def test_a_weak_relation_is_marked_where_it_is() -> None:
    rng = np.random.default_rng(13)
    u = rng.standard_normal(4000)
    found = of_signal(u, 0.15 * shifted(u, 7) + rng.standard_normal(4000), lags=40)
    assert np.flatnonzero(found.significant_cross[:, 0, 0]).tolist() == [7]


def test_a_relation_between_autoregressions_is_marked() -> None:
    u = autoregressive(0.8, 1, 4000, seed=14)[0]
    y = shifted(u, 5) + autoregressive(0.8, 1, 4000, seed=15)[0]
    found = of_signal(u, y, lags=40)
    assert found.significant_cross[5, 0, 0]
    assert int(np.argmax(found.cross[:, 0, 0])) == 5


def test_limits_are_those_of_bartlett() -> None:
    """AR(1): 1 + 2 sum_{0<i<k} phi^2i before lag k, and (1 + ab) / (1 - ab) for a pair."""
    steps, lags, level = 40_000, 60, 0.01
    u, y = autoregressive(0.9, 1, steps, seed=16)[0], autoregressive(0.7, 1, steps, seed=17)[0]
    found = of_signal(u, y, lags=lags, level=level)
    z = quantile(level, lags)
    for limits, phi in ((found.input_limit[:, 0], 0.9), (found.target_limit[:, 0], 0.7)):
        for k in (1, 2, 5, 20):
            variance = 1 + 2 * sum(phi ** (2 * i) for i in range(1, k))
            assert limits[k] == pytest.approx(z * math.sqrt(variance / steps), rel=0.03)
        assert (np.diff(limits[1:]) >= 0).all()
    expected = z * math.sqrt((1 + 0.9 * 0.7) / (1 - 0.9 * 0.7) / steps)
    assert found.cross_limit[0, 0] == pytest.approx(expected, rel=0.1)


def test_all_steps_of_all_series_count_for_the_limits() -> None:
    noise, other = np.random.default_rng(18).standard_normal((2, 8, 500, 1))
    found = of_signal(noise, other, lags=10)
    # Of an autocorrelation ten lags are tested, of a cross-correlation eleven: lag 0 too.
    assert found.input_limit[1, 0] == pytest.approx(quantile(0.01, 9) / math.sqrt(4000), rel=1e-12)
    assert found.cross_limit[0, 0] == pytest.approx(quantile(0.01, 10) / math.sqrt(4000), rel=0.02)
    assert of_signal(noise, lags=10, level=0.5).input_limit[1, 0] == pytest.approx(
        quantile(0.5, 9) / math.sqrt(4000), rel=1e-12
    )


@pytest.mark.parametrize(("steps", "last"), [(40, 10), (403, 100), (4000, 1000), (9000, 1000)])
def test_lags_by_default(steps: int, last: int) -> None:
    u = np.random.default_rng(0).standard_normal(steps)
    assert of_signal(u).lags[-1] == last
    assert of_signal([u[:, None], u[:, None], u[:20, None]]).lags[-1] == 5


def test_dt_scales_the_lags_of_the_table() -> None:
    u = autoregressive(0.8, 1, 3000, seed=19)[0]
    y = shifted(u, 4)
    plain, timed = of_signal(u, y, lags=30), of_signal(u, y, lags=30, dt=0.25)
    np.testing.assert_array_equal(plain.cross, timed.cross)
    assert timed.lags.tolist() == list(range(31))
    assert timed.table["strongest_lag"][2] == 1.0
    for column in ("below_1/e", "strongest_lag", "last_significant"):
        scaled = [None if value is None else 0.25 * value for value in plain.table[column]]
        assert timed.table[column] == pytest.approx(scaled)
    for column in ("correlation", "significant_lags"):
        assert timed.table[column] == plain.table[column]
    assert "up to 7.5;" in str(timed)


def test_the_table_tells_what_the_arrays_hold() -> None:
    rng = np.random.default_rng(20)
    u = np.stack([autoregressive(0.7, 1, 2000, seed=21)[0], rng.standard_normal(2000)], axis=1)
    found = of_signal(u, 0.5 * shifted(u, 6)[:, :1] + rng.standard_normal((2000, 1)), lags=25, level=0.05)
    table = found.table
    assert table["signal"] == ("u0", "u1", "y0", "u0 → y0", "u1 → y0")
    curves = [
        (found.inputs[1:, 0], found.significant_inputs[1:, 0], 1),
        (found.inputs[1:, 1], found.significant_inputs[1:, 1], 1),
        (found.targets[1:, 0], found.significant_targets[1:, 0], 1),
        (found.cross[:, 0, 0], found.significant_cross[:, 0, 0], 0),
        (found.cross[:, 1, 0], found.significant_cross[:, 1, 0], 0),
    ]
    for row, (values, marked, first) in zip(table.rows, curves, strict=True):
        strongest = max(range(len(values)), key=lambda k: abs(values[k]))
        hits = [k + first for k in range(len(values)) if marked[k]]
        assert row[2:4] == (strongest + first, values[strongest])
        assert row[4:] == (hits[-1] if hits else None, len(hits))
    for f in range(2):
        assert table["below_1/e"][f] == next(k for k in range(26) if abs(found.inputs[k, f]) < 1 / math.e)
    assert table["last_significant"][3] >= 6


def test_what_does_not_exist_is_a_dash_and_never_nan() -> None:
    """A ramp stays above 1/e up to the last lag; white noise has no significant lag."""
    found = of_signal(np.arange(100.0), np.random.default_rng(22).standard_normal(100), lags=10)
    table = found.table
    assert table["below_1/e"][0] is None
    assert table["last_significant"][1] is None
    assert "–" in repr(found)
    assert "1/e" in table.notes[-1]
    full = of_signal(autoregressive(0.7, 1, 1000, seed=23)[0])
    assert "–" not in repr(full)
    assert len(full.table.notes) == 1
    for each in (found, full):
        assert "nan" not in repr(each).lower()
        for name in ("inputs", "targets", "cross", "input_limit", "target_limit", "cross_limit"):
            assert np.isfinite(getattr(each, name)).all()
        assert not any(isinstance(value, float) and math.isnan(value) for row in each.table.rows for value in row)


def test_without_a_target() -> None:
    u = autoregressive(0.7, 2, 500, seed=24).T
    found = of_signal(u, lags=15)
    assert found.targets.shape == found.target_limit.shape == (16, 0)
    assert found.cross.shape == (16, 2, 0)
    assert found.cross_limit.shape == (2, 0)
    assert found.table["signal"] == ("u0", "u1")
    np.testing.assert_array_equal(found.inputs, of_signal(u, u, lags=15).targets)


def drawn(found: SignalTimescales, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The figure, made without pyplot."""
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    figure = found.plot()
    figure.savefig(io.BytesIO(), format="png", dpi=40)
    assert "matplotlib.pyplot" not in sys.modules
    return figure


def test_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    u = autoregressive(0.7, 2, 800, seed=25).T
    found = of_signal(u, shifted(u, 2)[:, :1], lags=12, dt=0.5)
    left, right = drawn(found, monkeypatch).axes
    own = {
        "input 0": (found.inputs[:, 0], found.significant_inputs[:, 0]),
        "input 1": (found.inputs[:, 1], found.significant_inputs[:, 1]),
        "target 0": (found.targets[:, 0], found.significant_targets[:, 0]),
    }
    cross = {f"input {f} → target 0": (found.cross[:, f, 0], found.significant_cross[:, f, 0]) for f in range(2)}
    for ax, curves in ((left, own), (right, cross)):
        lines = ax.get_lines()
        assert [text.get_text() for text in ax.get_legend().get_texts()] == list(curves)
        for name, (values, marked) in curves.items():
            [place] = [j for j, line in enumerate(lines) if line.get_label() == name]
            curve, dots = lines[place], lines[place + 1]
            np.testing.assert_array_equal(curve.get_xdata(), 0.5 * np.arange(13))
            np.testing.assert_array_equal(curve.get_ydata(), values)
            np.testing.assert_array_equal(dots.get_xdata(), 0.5 * np.flatnonzero(marked))
            np.testing.assert_array_equal(dots.get_ydata(), values[marked])
            assert dots.get_marker() == "."
            assert dots.get_color() == curve.get_color()
        assert ax.get_xlabel() == "lag"
    assert left.get_ylabel() == "autocorrelation"
    assert "y(t)" in right.get_ylabel()


def test_drawing_without_a_target_has_one_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    [ax] = drawn(of_signal(autoregressive(0.7, 1, 300, seed=26)[0]), monkeypatch).axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["input 0"]


RAMP = np.arange(50.0)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"u": np.ones(50)}, ValueError, r"feature 0 of u is constant \(1\).*Leave it out"),
        ({"u": np.stack([RAMP, 0.1 + 0 * RAMP], axis=1)}, ValueError, r"feature 1 of u is constant \(0\.1\)"),
        ({"u": 0 * RAMP}, ValueError, r"feature 0 of u is constant \(0\)"),
        ({"u": RAMP, "y": 0 * RAMP - 2}, ValueError, r"feature 0 of y is constant \(-2\)"),
        ({"u": np.where(RAMP == 7, np.nan, RAMP)}, ValueError, r"u must be finite, found NaN at step 7"),
        ({"u": RAMP, "y": np.where(RAMP == 7, np.inf, RAMP)}, ValueError, r"y must be finite, found inf at step 7"),
        ({"u": RAMP, "y": RAMP[1:]}, ValueError, r"y has 49 steps, its input 50"),
        ({"u": [RAMP[:, None]] * 2, "y": [RAMP[:, None]]}, ValueError, r"y holds 1 series, the input 2"),
        ({"u": RAMP, "lags": 50}, ValueError, r"50 steps, too few for lags up to 50.*fewer lags"),
        ({"u": [RAMP[:, None], RAMP[:9, None]], "lags": 9}, ValueError, r"9 steps, too few for lags up to 9"),
        ({"u": RAMP[:1]}, ValueError, r"1 steps?, too few"),
        ({"u": RAMP, "lags": 0}, ValueError, r"lags must be at least 1, got 0"),
        ({"u": RAMP, "lags": 2.5}, TypeError, r"lags must be a whole number, got 2\.5"),
        ({"u": RAMP, "level": 0}, ValueError, r"level.*\(0, 1\), got 0"),
        ({"u": RAMP, "level": 1.0}, ValueError, r"level.*\(0, 1\), got 1"),
        ({"u": RAMP, "level": "low"}, TypeError, r"level must be a number, got 'low'"),
        ({"u": RAMP, "dt": 0}, ValueError, r"dt must be above 0, got 0"),
        ({"u": RAMP, "dt": -0.1}, ValueError, r"dt must be above 0, got -0\.1"),
        ({"u": RAMP, "dt": None}, TypeError, r"dt must be a number, got None"),
        ({"u": []}, ValueError, r"u"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        of_signal(**arguments)
