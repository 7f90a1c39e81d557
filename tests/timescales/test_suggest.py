"""A suggested network: its numbers follow the data, and its reasons tell the truth."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import echoscale as es
from echoscale.readouts import penalties, splits
from echoscale.readouts.ridge import normalised_errors, ridge
from echoscale.readouts.statistics import of_rows
from echoscale.tasks import narma
from echoscale.timescales import Suggested, bounds, memory, suggest

Floats = npt.NDArray[np.float64]


def noise(steps: int, features: int = 1, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal((steps, features))


def delayed(u: Floats, k: int) -> Floats:
    """u(t - k), zero before the series begins."""
    return np.concatenate([np.zeros_like(u[:k]), u[: len(u) - k]])


def delay_task(k: int, steps: int = 1000, **options: Any) -> Suggested:
    """For y(t) = u(t - k) with white u, whose memory is k + 1 steps; the formulas alone, unless asked for more."""
    u = noise(steps, seed=k)
    return suggest(u, delayed(u, k), **{"trials": False, **options})


def same(a: Suggested, b: Suggested) -> bool:
    """Equal in all that a suggestion knows."""
    profiles = [(each.memory.windows, each.memory.linear, each.memory.nonlinear) for each in (a, b)]
    arrays = all(np.array_equal(one, other) for one, other in zip(*profiles, strict=True))
    numbers = a.network == b.network and a.error == b.error and a.washout == b.washout
    return numbers and a.reasons == b.reasons and arrays


def leaks(found: Suggested) -> list[float]:
    return [each.leak_rate for each in found.network.reservoirs]


@pytest.fixture(scope="module")
def found() -> Suggested:
    """On NARMA5, in two levels."""
    return suggest(*narma(1200, 5, seed=1), units=100)


def test_a_result_has_a_network(found: Suggested, tmp_path: Path) -> None:
    assert type(found.network) is es.Network
    assert found.network.units == 100
    u, y = narma(400, 5, seed=2)
    model = es.ESNRegressor(network=found.network, washout=found.washout, random_state=0).fit(u, y)
    loaded = es.load(es.save(model, tmp_path / "model.safetensors"))
    assert loaded.network == found.network
    np.testing.assert_array_equal(loaded.predict(u), model.predict(u))


@pytest.mark.parametrize("copied", [lambda each: pickle.loads(pickle.dumps(each)), copy.deepcopy, copy.copy])
def test_copies_keep_the_reasons(found: Suggested, copied: Any) -> None:
    other = copied(found)
    assert type(other) is Suggested
    assert other is not found
    assert same(other, found)
    assert repr(other) == repr(found)


@pytest.mark.parametrize("name", ["network", "washout", "reasons"])
def test_it_is_frozen(found: Suggested, name: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(found, name, ())


def test_its_table_holds_the_errors_of_the_filters(found: Suggested) -> None:
    assert found.table["window"] == tuple(found.memory.windows.tolist())
    assert found.table["nonlinear_error"] == tuple(found.memory.nonlinear.tolist())


def test_its_plot_shows_the_errors_and_the_timescales_of_all_levels(found: Suggested) -> None:
    axes = found.plot()
    linear, nonlinear, memory = axes.lines
    np.testing.assert_array_equal(linear.get_xydata(), np.stack([found.memory.windows, found.memory.linear], axis=1))
    np.testing.assert_array_equal(nonlinear.get_ydata(), found.memory.nonlinear)
    assert set(np.asarray(memory.get_xdata())) == {found.memory.steps}
    for band, each in zip(axes.patches, found.network.reservoirs, strict=True):
        low, high = band.get_extents().transformed(axes.transData.inverted()).intervalx
        assert low == pytest.approx(1 / each.leak_rate)
        assert high == pytest.approx(bounds(each.leak_rate, each.spectral_radius)[1])
    assert found.plot(axes) is axes


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_levels_are_sorted_fast_first(levels: int) -> None:
    made = delay_task(23, levels=levels, units=103)
    assert len(made.network.reservoirs) == levels
    assert sum(each.units for each in made.network.reservoirs) == 103
    sizes = [each.units for each in made.network.reservoirs]
    assert max(sizes) - min(sizes) <= 1
    rates = leaks(made)
    assert all(fast > slow for fast, slow in pairwise(rates))
    assert all(0 < rate <= 1 for rate in rates)
    assert all(0 < each.spectral_radius < 1 for each in made.network.reservoirs)
    # Each drives the next, and all receive the input.
    assert [(each.source, each.target) for each in made.network.couplings] == [(k, k + 1) for k in range(levels - 1)]
    [scaling] = {each.input_scaling for each in made.network.reservoirs}
    assert scaling > 0
    # Geometric steps, to the two digits that are kept.
    ratios = [slow / fast for fast, slow in pairwise(rates)]
    assert ratios == pytest.approx([ratios[0]] * len(ratios) if ratios else [], rel=0.05)


def test_levels_share_ends_and_everything_else() -> None:
    two, four = delay_task(23, levels=2), delay_task(23, levels=4)
    assert (leaks(two)[0], leaks(two)[-1]) == (leaks(four)[0], leaks(four)[-1])
    assert two.network.reservoirs[0].spectral_radius == four.network.reservoirs[0].spectral_radius
    assert two.network.reservoirs[0].input_scaling == four.network.reservoirs[0].input_scaling
    assert two.washout == four.washout


@pytest.mark.parametrize("levels", [2, 5])
def test_one_unit_for_each_level_is_enough(levels: int) -> None:
    assert [each.units for each in delay_task(2, levels=levels, units=levels).network.reservoirs] == [1] * levels


@pytest.mark.parametrize("k", [7, 15, 31])
def test_timescales_follow_the_memory(k: int) -> None:
    """Numbers carry two digits, so a leak rate is known to 5 %, and 1 - spectral radius to 0.005."""
    made = delay_task(k)
    m = k + 1
    assert made.memory.steps == m
    fast, slow = made.network.reservoirs
    assert 1 / slow.leak_rate == pytest.approx(m / 4, rel=0.05)
    assert 1 - fast.spectral_radius == pytest.approx(1 / (fast.leak_rate * m), abs=0.0051)
    assert made.washout == min(math.ceil(3 * bounds(slow.leak_rate, slow.spectral_radius)[1]), 1000 // 10)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_at_least_three_steps_are_remembered(k: int) -> None:
    made = delay_task(k)
    fast, slow = made.network.reservoirs
    assert made.memory.steps == k + 1
    assert slow.leak_rate == fast.leak_rate
    assert 1 - fast.spectral_radius == pytest.approx(1 / (fast.leak_rate * 3), abs=0.0051)


def test_a_longer_memory_gives_a_slower_level_and_a_larger_radius() -> None:
    short, long = delay_task(5), delay_task(30)
    assert leaks(long)[0] == leaks(short)[0]
    assert leaks(long)[1] < leaks(short)[1] / 3
    assert long.network.reservoirs[0].spectral_radius > short.network.reservoirs[0].spectral_radius
    assert long.network.reservoirs[0].input_scaling < short.network.reservoirs[0].input_scaling
    assert long.washout > short.washout


def test_fine_sampling_gives_slow_leak_rates() -> None:
    """One continuous signal and its delayed copy, sampled at every unit of time and 20 times as finely."""
    rng = np.random.default_rng(0)
    frequencies, phases = rng.uniform(0.02, 0.6, 40), rng.uniform(0, 2 * np.pi, 40)

    def signal(times: npt.NDArray[Any]) -> Floats:
        return np.asarray(np.cos(np.outer(times, frequencies) + phases).sum(axis=1), np.float64)

    made = []
    for dt, steps in ((1.0, 400), (0.05, 8000)):
        times = dt * np.arange(steps)
        y = signal(times - 6) + 0.2 * noise(steps, seed=1)[:, 0]
        made.append(suggest(signal(times), y, longest=90, trials=False))
    coarse, fine = made
    assert fine.memory.steps > 4 * coarse.memory.steps
    for slower, faster in zip(leaks(fine), leaks(coarse), strict=True):
        assert slower < faster / 2


def test_the_scale_of_the_input_scales_the_input_weights_alone() -> None:
    u, y = narma(1200, 5, seed=3)
    small, large = (suggest(factor * u, y, scale=None, trials=False) for factor in (1, 1000))
    assert large.network.reservoirs[0].input_scaling == pytest.approx(
        small.network.reservoirs[0].input_scaling / 1000, rel=1e-12
    )
    rescaled = [dataclasses.replace(each, input_scaling=1000 * each.input_scaling) for each in large.network.reservoirs]
    for ours, theirs in zip(small.network.reservoirs, rescaled, strict=True):
        assert dataclasses.replace(theirs, input_scaling=ours.input_scaling) == ours
    assert large.washout == small.washout
    assert large.memory.steps == small.memory.steps


def test_units_of_the_data_change_nothing() -> None:
    u, y = narma(600, 5, seed=3)
    made = suggest(u, y)
    other = suggest(1e4 * u + 1e6, -1e4 * y + 1e6)
    assert other.network == made.network
    assert other.washout == made.washout
    assert other.memory.steps == made.memory.steps


def test_raw_and_standardised_inputs_get_the_same_drive() -> None:
    u, y = narma(1000, 5, seed=3)
    standard, raw = (suggest(u, y, scale=scale, trials=False) for scale in ("standard", None))
    product = raw.network.reservoirs[0].input_scaling * u.std()
    assert product == pytest.approx(standard.network.reservoirs[0].input_scaling, rel=0.05)
    assert dataclasses.replace(raw.network.reservoirs[0], input_scaling=1) == dataclasses.replace(
        standard.network.reservoirs[0], input_scaling=1
    )


@pytest.mark.parametrize("features", [1, 3])
def test_the_drive_is_what_the_input_adds_inside_tanh(features: int) -> None:
    """Root mean square of input_scaling W_in (u - mean) over steps and neurons, with weights drawn for the network."""
    u = noise(800, features, seed=4) * [3.0, 2.0, 2.5][:features]
    made = suggest(u, delayed(u, 3)[:, :1], levels=1, units=3000, trials=False)
    weights = np.asarray(made.network.build(features).drawn.inputs[0], np.float64)
    added = made.network.reservoirs[0].input_scaling * (u - u.mean(axis=0)) / u.std(axis=0) @ weights.T
    [reason] = [each for each in made.reasons if "root mean square" in each]
    stated = float(re.findall(r"about ([\d.e-]+)", reason)[0])
    assert np.sqrt((added**2).mean()) == pytest.approx(stated, rel=0.1)


def test_a_problem_that_is_not_linear_is_driven_harder() -> None:
    u = noise(2000, seed=5)
    linear = suggest(u, delayed(u, 3), longest=8, trials=False)
    product = suggest(u, delayed(u, 1) * delayed(u, 3), longest=8, trials=False)
    assert linear.memory.steps == product.memory.steps == 4
    assert product.network.reservoirs[0].input_scaling > 2 * linear.network.reservoirs[0].input_scaling


@pytest.mark.parametrize("kind", ["one", "batch", "list"])
def test_without_a_target_the_next_input_is_predicted(kind: str) -> None:
    series = [noise(steps, 2, seed=steps).cumsum(axis=0) for steps in ((150, 150, 150) if kind == "batch" else (200, 150, 180))]
    if kind == "one":
        assert same(suggest(series[0], trials=False), suggest(series[0][:-1], series[0][1:], trials=False))
        return
    u: Any = np.stack(series) if kind == "batch" else series
    shifted = [each[:-1] for each in series], [each[1:] for each in series]
    assert same(suggest(u, trials=False), suggest(*shifted, trials=False))


def test_a_batch_is_a_list_of_its_series() -> None:
    u = noise(900, seed=6).reshape(3, 300, 1)
    y = np.roll(u, 4, axis=1)
    assert same(suggest(u, y, trials=False), suggest(list(u), list(y), trials=False))


def test_it_is_repeatable_and_the_seed_reaches_the_memory() -> None:
    u, y = narma(400, 5, seed=7)
    assert same(suggest(u, y), suggest(u, y, seed=0))
    other = suggest(u, y, seed=1, trials=False)
    np.testing.assert_array_equal(other.memory.nonlinear, memory(u, y, seed=1).nonlinear)
    assert suggest(u, y, longest=9, trials=False).memory.windows[-1] == 9


def test_reasons_tell_the_numbers(found: Suggested) -> None:
    fast, slow = found.network.reservoirs
    m = found.memory.steps
    text = "\n".join(found.reasons)
    assert isinstance(found.reasons, tuple)
    assert f"Memory: {m} steps" in found.reasons[0]
    assert f"{found.memory.nonlinear[found.memory.place]:.2g}" in found.reasons[0]
    assert f"{found.memory.linear[found.memory.place]:.2g}" in found.reasons[0]
    assert f"leak rate {fast.leak_rate:g}" in text
    assert f"leak rate {slow.leak_rate:g}" in text
    assert f"Spectral radius {fast.spectral_radius:g}" in text
    assert f"Input scaling {fast.input_scaling:g}" in text
    assert re.search(rf"[Ww]ash out the first {found.washout} steps\b", text)
    assert repr(found.network) in repr(found)
    assert all(reason in repr(found) for reason in found.reasons)
    for warning in ("No filter", "standardise", "raise `longest`"):
        assert warning not in text


def test_one_level_has_no_reason_for_a_slow_one() -> None:
    text = "\n".join(delay_task(5, levels=1).reasons)
    assert "R2" not in text
    assert "slow" not in text
    assert "R3 is the slow level" in "\n".join(delay_task(5, levels=3).reasons)


def test_an_unrelated_target_is_said_to_be_one() -> None:
    made = suggest(noise(2000, seed=8), noise(2000, seed=9), longest=16, trials=False)
    assert any("No filter predicts the target" in reason for reason in made.reasons)
    assert not any("No filter predicts the target" in reason for reason in delay_task(5).reasons)


def test_features_of_very_different_scale_are_named() -> None:
    u = noise(1000, 2, seed=10)
    y = delayed(u, 2)[:, :1]
    raw: dict[str, Any] = {"scale": None, "trials": False}
    [reason] = [each for each in suggest(u * [1, 50], y, **raw).reasons if "standardise" in each]
    factor = 50 * u[:, 1].std() / u[:, 0].std()
    assert float(re.findall(r"factor of ([\d.e+]+\d)", reason)[0]) == pytest.approx(factor, rel=0.05)
    assert not any("standardise" in each for each in suggest(u * [1, 3], y, **raw).reasons)
    assert not any("standardise" in each for each in suggest(u * [1, 50], y, trials=False).reasons)


def test_a_memory_at_the_end_of_the_windows_is_said_to_be_longer_perhaps() -> None:
    made = delay_task(11, longest=12)
    assert made.memory.steps == 12
    assert any("longer than 12 steps" in reason and "`longest`" in reason for reason in made.reasons)
    assert not any("`longest`" in reason for reason in delay_task(11, longest=20).reasons)


def test_nothing_is_said_of_windows_that_were_not_tried() -> None:
    assert not any("longer windows gain" in reason for reason in delay_task(11, longest=12).reasons)


def test_reasons_are_sentences() -> None:
    u = noise(600, 2, seed=11)
    cases = [
        delay_task(0),
        delay_task(0, longest=1),
        delay_task(7, levels=3),
        suggest(u * [1, 1000], delayed(u, 1), scale=None, trials=False),
        suggest(u[:13]),
        suggest(u[:, 0].cumsum(), trials=False),
        suggest(u, u, trials=False),
        suggest(u, np.where(u[:, 0] > 0, "up", "down"), trials=False),
    ]
    for made in cases:
        for reason in made.reasons:
            assert reason[0].isupper()
            assert reason.endswith(".")
            assert not re.search(r"(?<![\d.])1 (steps|inputs|unrelated)", reason)
            assert "nan" not in reason
            assert "inf" not in reason


def test_large_numbers_of_steps_are_written_out() -> None:
    made = delay_task(90, steps=12_000)
    assert made.washout == 1136 or made.washout == 1200
    assert f"first {made.washout} steps" in "\n".join(made.reasons).replace(",", "")
    assert "e+0" not in "\n".join(made.reasons)


def judged(
    network: es.Network, u: Floats, y: Floats, known: int, seed: int = 1, dtype: str = "float32", noise: float = 0.0
) -> float:
    """Test NRMSE of standardised data, the ridge penalty by five folds of time; noise in standard deviations of the states."""
    u, y = ((each - each[:known].mean(axis=0)) / each[:known].std(axis=0) for each in (u, y))
    states = np.asarray(network.build(u.shape[1], seed=seed, dtype=dtype).run(u), np.float64)
    states = states + noise * states.std(axis=0) * np.random.default_rng(seed).standard_normal(states.shape)
    folds = splits.folds([known], 100)
    cuts = np.append(folds.edges[0], len(u))
    *parts, test = (of_rows(states[a:b], y[a:b]) for a, b in pairwise(cuts.tolist()))
    chosen = penalties.choose(splits.pairs(parts, folds.splits), splits.total(parts)).ridge
    return float(normalised_errors(ridge(splits.total(parts), chosen), test))


def test_narma10_is_predicted_better_than_by_a_single_reservoir() -> None:
    """With 100 units each and the same way to choose the penalty; a quarter less at least."""
    u, y = narma(3000, 10, seed=1)
    made = suggest(u[:2000], y[:2000], units=100)
    assert judged(made.network, u, y, 2000) < 0.75 * judged(es.single(100), u, y, 2000)


def test_trials_help_where_the_formulas_are_wrong() -> None:
    """A delay wants an almost linear network, a parabola a nonlinear one: half the error of the formulas at least."""
    u = noise(2000, seed=20)
    x = [0.1, 0.1]
    for _ in range(2000):
        x.append(1 - 1.4 * x[-1] ** 2 + 0.3 * x[-2])
    henon = np.array(x[2:])[:, None]
    for before, after in ((u, delayed(u, 6)), (henon[:-1], henon[1:])):
        tried, told = (suggest(before[:1400], after[:1400], units=60, trials=trials) for trials in (True, False))
        assert judged(tried.network, before, after, 1400) < 0.5 * judged(told.network, before, after, 1400)


@pytest.mark.parametrize("order", [5, 10])
def test_the_error_survives_noise_in_the_states(order: int) -> None:
    """Of a 10,000th of their standard deviation: trials without a floor under the penalty chose networks that lost it."""
    u, y = narma(3000, order, seed=2001)
    made = suggest(u[:2000], y[:2000], units=100)
    assert judged(made.network, u, y, 2000, 2001, "float64", 1e-4) < 1.4 * judged(made.network, u, y, 2000, 2001, "float64")


def test_float32_states_are_as_good_as_float64_ones() -> None:
    u = np.random.default_rng(2001).uniform(-1, 1, (3000, 1))
    product = delayed(u, 1) * delayed(u, 3)
    for known, target in ((u, product), narma(3000, 10, seed=1)):
        made = suggest(known[:2000], target[:2000], units=100)
        narrow, wide = (judged(made.network, known, target, 2000, dtype=each) for each in ("float32", "float64"))
        assert narrow == pytest.approx(wide, rel=0.1)


def test_the_error_of_the_trials_is_told() -> None:
    u = noise(600, seed=21)
    made = delay_task(4, trials=True)
    [reason] = [each for each in made.reasons if "folds of held-out data" in each]
    error, before = map(float, re.findall(r"error of ([\d.e-]+) standard.*formulas leaves ([\d.e-]+\d)", reason)[0])
    assert error <= before
    assert made.error == pytest.approx(error, rel=0.05)
    assert delay_task(4).error is None
    assert not any("folds of held-out data" in each for each in suggest(u, delayed(u, 4), trials=False).reasons)


def filtered(u: Floats, rate: float) -> Floats:
    """x(t) = (1 - rate) x(t - 1) + rate u(t)."""
    x = np.zeros_like(u)
    for t in range(1, len(u)):
        x[t] = (1 - rate) * x[t - 1] + rate * u[t]
    return x


def made_problem(name: str, steps: int = 1500) -> tuple[Floats, Floats]:
    u = noise(steps, seed=40)
    if name == "NARMA10":
        return narma(steps, 10, seed=40)
    if name == "Lorenz":
        x = es.tasks.lorenz(steps + 1, seed=40)[0]
        return x[:-1], x[1:]
    made = {
        "product": filtered(u, 0.5) * filtered(u, 0.03),
        "linear": filtered(u, 0.3),
        "short": delayed(u, 1) + 0.5 * noise(steps, seed=42),
        "unrelated": noise(steps, seed=41),
    }
    return u, made[name]


def held_out_errors(x: Floats, y: Floats, least: int) -> float:
    """Least error of ridge regression on five blocks of time over penalties from 10^least, in standard deviations of y."""
    cuts = splits.block_edges([len(x)], min(100, len(x) // 10))[0].tolist()
    blocks = [np.arange(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=True)]
    counted = np.concatenate(blocks)
    powers = np.arange(least, 5)
    squares = np.zeros((len(powers), y.shape[1]))
    for block in blocks:
        rest = np.setdiff1d(counted, block)
        mean, middle = x[rest].mean(axis=0), y[rest].mean(axis=0)
        left, values, right = np.linalg.svd(x[rest] - mean, full_matrices=False)
        for k, power in enumerate(powers):
            ridge = 10.0**power * (values**2).sum() / x.shape[1]
            fit = right.T @ ((values / (values**2 + ridge))[:, None] * (left.T @ (y[rest] - middle)))
            squares[k] += ((y[block] - middle - (x[block] - mean) @ fit) ** 2).sum(axis=0)
    return float(np.sqrt((squares / len(counted) / y[counted].var(axis=0)).mean(axis=1)).min())


VERDICT = re.compile(
    r"Verdict: on the same held-out folds the suggested network leaves an error of (\S+) standard deviations"
    r"(?: \(geometric mean of the next step and a later one\))?, ridge regression on the last (?:(\d+) inputs|input) "
    r"([\d.e-]+): (.*)\."
)


@pytest.mark.parametrize("name", ["NARMA10", "product", "Lorenz", "linear", "short", "unrelated"])
def test_words_follow_from_the_values(name: str) -> None:
    """Of the levels, and of the verdict; its numbers by ridge regression on lags and on the states of the network itself."""
    u, y = made_problem(name)
    made = suggest(u, y, units=60, longest=32)
    rates, text = leaks(made), "\n".join(made.reasons)
    if rates[0] == rates[-1]:
        assert f"All levels have leak rate {rates[0]:g}" in text
        assert "fast level" not in text
        assert "slow level" not in text
    else:
        assert rates[0] > rates[1]
        assert f"R1 is the fast level, leak rate {rates[0]:g}: its neurons' own timescale is {1 / rates[0]:.3g} step" in text
        assert f"R2 is the slow level, leak rate {rates[1]:g}: its neurons' own timescale is {1 / rates[1]:.3g} step" in text
    told = VERDICT.fullmatch(made.reasons[-1])
    assert told
    network, lags = float(told[1]), float(told[3])
    targets = [y]
    if name == "Lorenz":  # The next step, and one a correlation time later.
        assert "Dynamics" in text
        later = round(float(re.findall(r"correlation time is ([\d.]+) step", text)[0]))
        u, targets = u[:-later], [y[:-later], y[later:]]
    u, *targets = ((each - each.mean(axis=0)) / each.std(axis=0) for each in (u, *targets))

    def error(x: Floats) -> float:
        least = -12 if name == "Lorenz" else -8  # noise-free dynamics need all digits
        return float(np.exp(np.mean([np.log(held_out_errors(x, each, least)) for each in targets])))

    windows = made.memory.windows.tolist()
    errors = {
        window: error(np.concatenate([delayed(u, k) for k in range(window)], axis=1))
        for window in ({int(told[2] or 1), 1, 32} if name == "Lorenz" else windows)
    }
    assert lags == pytest.approx(errors[int(told[2] or 1)], rel=0.01)
    assert lags == pytest.approx(min(errors.values()), rel=0.01)
    states = [np.asarray(made.network.build(u.shape[1], seed=seed).run(u), np.float64) for seed in (0, 1)]
    assert network == pytest.approx(np.exp(np.mean([np.log(error(each)) for each in states])), rel=0.1)
    ratio = network / lags
    if name == "unrelated":
        assert told[4] == "neither predicts the target, and this network is a guess"
        assert made.reasons[0].startswith("Memory: unknown.")
    elif ratio > 0.98:
        assert told[4] == "ridge regression on lags is enough"
    elif ratio > 0.1:
        assert float(told[4].removesuffix("% less")) == pytest.approx(100 * (1 - ratio), abs=1)
    else:
        assert float(told[4].removeprefix("smaller by a factor of ")) == pytest.approx(1 / ratio, rel=0.01)
    assert (name in ("linear", "short")) == ("is enough" in told[4])
    assert ("is a guess" in text) == (name == "unrelated")


def test_a_network_that_predicts_is_no_guess_although_no_filter_does() -> None:
    """The filters see two steps, the network remembers six."""
    u = noise(1500, seed=43)
    y = delayed(u, 5) + delayed(u, 3) ** 2
    made = suggest(u, y, units=60, longest=2)
    assert made.memory.nonlinear.min() > 0.95
    assert "Memory: unknown" in made.reasons[0]
    assert "guess" not in "\n".join(made.reasons)
    assert "guess" in "\n".join(suggest(u, y, units=60, longest=2, trials=False).reasons)


def test_sequences_are_compared_with_pooled_lags() -> None:
    """Two frequencies with random phases: differences tell them apart, a linear readout of pooled values hardly."""
    rng = np.random.default_rng(44)
    kinds = np.repeat([0, 1], 15)
    u = np.sin(rng.uniform(0, 7, (30, 1)) + np.where(kinds, 0.9, 0.2)[:, None] * np.arange(40))[:, :, None]
    made = suggest(u, kinds, units=40, longest=4)
    told = re.search(r"on the last (?:(\d) inputs|input), pooled over the sequence, ([\d.e-]+): ", made.reasons[-1])
    assert told
    u = (u - u.mean()) / u.std()
    code = np.where(kinds, 1.0, -1.0)
    fold = np.concatenate([np.arange(15), np.arange(15, 30)]) % 5
    errors = {}
    for window in (1, 2, 3, 4):
        lags = np.stack([u[:, window - 1 - k : 40 - k, 0] for k in range(window)], axis=2)
        rows = np.concatenate([lags.mean(axis=1), lags.std(axis=1), lags.max(axis=1), lags.min(axis=1)], axis=1)
        rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        squares = np.zeros(13)
        for k in range(5):
            x, y = rows[fold != k], code[fold != k]
            mean, middle = x.mean(axis=0), y.mean()
            gram = (x - mean).T @ (x - mean)
            for r in range(13):
                ridge = 10.0 ** (r - 8) * np.trace(gram) / len(gram) * np.eye(len(gram))
                fit = np.linalg.solve(gram + ridge, (x - mean).T @ (y - middle))
                squares[r] += ((code[fold == k] - middle - (rows[fold == k] - mean) @ fit) ** 2).sum()
        errors[window] = float(np.sqrt(squares.min() / 30))
    assert float(told[2]) == pytest.approx(errors[int(told[1] or 1)], rel=0.01)
    assert float(told[2]) == pytest.approx(min(errors.values()), rel=0.01)


def test_without_trials_the_verdict_says_so() -> None:
    assert delay_task(5).reasons[-1].startswith("Verdict: none, since no network was tried")


def test_several_targets_keep_their_own_memories() -> None:
    """Jointly the slow target would hide behind the noise of the fast one."""
    rng = np.random.default_rng(1)
    u = rng.uniform(-1, 1, (3000, 2))
    fast = delayed(u, 5)[:, 0]
    slow = np.convolve(u[:, 1], np.full(48, 1 / 48))[:3000]
    y = np.stack([fast, slow + 0.002 * rng.standard_normal(3000)], axis=1)
    alone = [suggest(u, y[:, o], trials=False).memory.steps for o in (0, 1)]
    both = suggest(u, y, trials=False)
    assert alone[0] == 6
    assert alone[1] == 48
    assert [each.steps for each in both.memory.targets] == alone
    assert both.memory.steps == 48
    assert any("Target 0 reaches back 6 steps, target 1 reaches back 48 steps" in reason for reason in both.reasons)
    assert both.network.reservoirs[-1].leak_rate == suggest(u, y[:, 1], trials=False).network.reservoirs[-1].leak_rate


@pytest.mark.parametrize("k", [1, 6])
def test_labels_of_every_step(k: int) -> None:
    """The sign of u(t - k), as words, truth values or whole numbers: k + 1 steps of memory."""
    u = noise(1500, seed=22)
    sign = delayed(u, k)[:, 0] > 0
    words = suggest(u, np.where(sign, "up", "down"), trials=False, longest=16)
    assert words.memory.steps == k + 1
    assert any("Labels: 2 classes, one for every step" in reason for reason in words.reasons)
    assert same(words, suggest(u, sign, trials=False, longest=16))
    assert same(words, suggest(u, sign.astype(int), labels=True, trials=False, longest=16))
    listed = suggest(
        [u[:800], u[800:]], [np.where(sign, "b", "a")[:800], np.where(sign, "b", "a")[800:]], trials=False, longest=16
    )
    assert listed.memory.steps in (k + 1, k + 2)


def test_whole_numbers_are_numbers_unless_they_are_labels() -> None:
    u = noise(600, seed=23)
    counts = np.abs(delayed(u, 2)[:, 0] * 3).astype(int)
    assert not any("Labels" in reason for reason in suggest(u, counts, trials=False).reasons)
    assert any("Labels" in reason for reason in suggest(u, counts, labels=True, trials=False).reasons)


@pytest.mark.parametrize("trials", [True, False])
def test_labels_of_every_sequence(trials: bool) -> None:
    """Slow and fast waves with random phases: one value tells nothing, a few in a row tell which."""
    rng = np.random.default_rng(24)
    kinds = np.repeat(["slow", "fast"], 20)
    waves = [np.sin(rng.uniform(0, 7) + np.where(kind == "slow", 0.2, 0.9) * np.arange(40)) for kind in kinds]
    steps = np.stack(waves)[:, :, None] + 0.2 * rng.standard_normal((40, 40, 1))
    found = suggest(steps, kinds, trials=trials, units=40)
    assert 3 <= found.memory.steps <= 16
    assert found.memory.nonlinear[0] > 0.9 > 0.6 > found.memory.nonlinear.min()
    assert any("2 classes, one for every sequence" in reason for reason in found.reasons)
    assert suggest(list(steps), np.repeat([7, 3], 20), trials=trials, units=40).network == found.network


def test_a_few_sequences_are_judged_by_their_ends() -> None:
    u = noise(6 * 60, seed=25).reshape(6, 60, 1) + np.arange(6)[:, None, None] % 3
    assert suggest(u, ["a", "b", "c"] * 2, trials=False).memory.steps >= 1


def test_trends_and_seasons_are_told_with_their_remedy() -> None:
    t, e = np.arange(240), noise(240, seed=26)[:, 0]
    text = "\n".join(suggest(3 * t + 40 * np.sin(2 * np.pi * t / 12) + 5 * e, trials=False).reasons)
    assert "Trend: a straight line explains 9" in text
    assert "difference the series" in text
    assert "u0 repeats after 12 steps" in text
    assert "2 pi t / 12" in text
    plain = "\n".join(suggest(e, trials=False).reasons)
    assert "Trend" not in plain
    assert "Season" not in plain
    beside = "\n".join(suggest(noise(240, seed=27), 40 * np.sin(2 * np.pi * t / 12) + 5 * e, trials=False).reasons)
    assert "y0 repeats after 12 steps" in beside
    assert "Trend" not in beside


def test_dynamics_are_told() -> None:
    found = suggest(es.tasks.lorenz(1500, seed=1)[0], trials=False)
    text = "\n".join(found.reasons)
    assert "Dynamics:" in text
    assert "Season" not in text
    assert sum(each.units for each in found.network.reservoirs) == 300
    noisy = suggest(es.tasks.lorenz(1500, seed=1)[0] + 3 * noise(1500, 3), trials=False)
    assert not any("Dynamics:" in reason for reason in noisy.reasons)


@pytest.mark.parametrize(
    ("steps", "linear", "units"), [(300, True, 50), (3000, True, 150), (3000, False, 300), (8000, False, 500)]
)
def test_sizes_are_proposed(steps: int, linear: bool, units: int) -> None:
    u = noise(steps, seed=28)
    y = delayed(u, 2) + 0.3 * noise(steps, seed=29) if linear else delayed(u, 1) * delayed(u, 2)
    found = suggest(u, y, longest=8, trials=False)
    assert sum(each.units for each in found.network.reservoirs) == units
    assert any(f"Units: {units}" in reason for reason in found.reasons)


def test_a_target_that_is_the_input_is_said_to_be_one() -> None:
    u = noise(400, seed=30)
    found = suggest(u, u, trials=False)
    assert found.memory.steps == 1
    assert any("The target is the input of the same step" in reason for reason in found.reasons)


WHITE = noise(200)[:, 0]


def holed(value: float) -> Floats:
    """White noise with one bad value."""
    values = WHITE.copy()
    values[7] = value
    return values


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"u": 0 * WHITE + 0.5}, ValueError, r"feature 0 of u is constant \(0\.5\)"),
        ({"u": np.stack([WHITE, 0 * WHITE], axis=1)}, ValueError, r"feature 1 of u is constant \(0\)"),
        ({"u": WHITE, "y": 0 * WHITE + 3}, ValueError, r"feature 0 of y is constant \(3\)"),
        ({"u": WHITE[:1]}, ValueError, r"at least two steps"),
        ({"u": WHITE[:11], "y": WHITE[:11]}, ValueError, r"11 steps, too few.*at least 12"),
        ({"u": [WHITE[:, None], WHITE[:5, None]]}, ValueError, r"too few.*at least 12"),
        ({"u": WHITE, "longest": 100}, ValueError, r"too few to judge windows of 100: at least 408"),
        ({"u": WHITE, "longest": 0}, ValueError, r"longest must be at least 1, got 0"),
        ({"u": holed(np.nan)}, ValueError, r"u must be finite, found NaN at step 7"),
        ({"u": WHITE, "y": holed(np.nan)}, ValueError, r"y must be finite, found NaN at step 7"),
        ({"u": WHITE, "y": WHITE[:-1]}, ValueError, r"y has 199 steps, its input 200"),
        ({"u": [WHITE[:, None]] * 2, "y": [WHITE[:, None]]}, ValueError, r"y holds 1 entries for 2 series"),
        ({"u": WHITE, "levels": 0}, ValueError, r"levels must be at least 1, got 0"),
        ({"u": WHITE, "levels": 2.0}, TypeError, r"levels must be a whole number, got 2\.0"),
        ({"u": WHITE, "levels": 3, "units": 2}, ValueError, r"units must be at least 3, got 2"),
        ({"u": WHITE, "units": 0}, ValueError, r"units must be at least 2, got 0"),
        ({"u": WHITE, "scale": "robust"}, ValueError, r"scale must be one of .*robust"),
        ({"u": np.full(50, np.nan)}, ValueError, r"u must be finite, found NaN at step 0, feature 0 \(50 such values"),
        ({"u": ["a", "b", "c"] * 9}, ValueError, r"u cannot be read as numbers"),
        ({"u": WHITE[:2]}, ValueError, r"1 steps, too few"),
        ({"u": WHITE, "y": ["a"] * 200}, ValueError, "one class only, 'a'"),
        ({"u": WHITE, "y": np.ones(200), "labels": True}, ValueError, r"one class only, 1\.0"),
        ({"u": WHITE, "y": ["a", "b"] * 99}, ValueError, r"one label per step, \(200,\), got shape \(198,\)"),
        ({"u": WHITE, "y": ["a", None] * 100}, ValueError, r"y lacks 100 of 200 labels"),
        (
            {"u": WHITE.reshape(4, 50, 1), "y": [0.1, 0.2, 0.3, 0.4]},
            ValueError,
            r"one value for each of the 4 series.*labels=True",
        ),
        ({"u": WHITE.reshape(4, 50, 1), "y": ["a", "b", "a"]}, ValueError, r"y holds 3 entries for 4 series"),
        ({"u": WHITE, "seed": -1}, ValueError, r"seed must be at least 0, got -1"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        suggest(**arguments)
