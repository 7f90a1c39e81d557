"""`tune` as a user sees it: teachers are found again, results are reproducible and usable."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import log_softmax
from sklearn.linear_model import Ridge

import echoscale as es
from echoscale.engine.hyper import Hyper
from echoscale.learning.tuning import tuned as results
from echoscale.learning.tuning.entropy import Entropy
from echoscale.learning.tuning.losses import Model, Squares
from echoscale.readouts import Columns, penalties, splits
from echoscale.readouts.ridge import Readout
from echoscale.readouts.statistics import of_rows

Floats = npt.NDArray[np.float64]

WASHOUT, SHARE = 50, 0.25
RNG = np.random.default_rng(0)
U = RNG.normal(size=(500, 1))
CUT = 500 - round((500 - WASHOUT) * SHARE)
TWO = es.hierarchical([8, 6], leak_rate=[0.8, 0.25], coupling=0.5, bias_scaling=0.2, connections=4)
Y = np.convolve(U[:, 0], np.exp(-np.arange(30) / 6))[:500] + 0.3 * U[:, 0] * np.roll(U[:, 0], 2)


FEW = ("leak_rate", "ridge")
TAIL: dict[str, Any] = {"folds": SHARE, "test": 0, "scale": None, "ridge": 1e-5}
FOLDS: dict[str, Any] = {"folds": 5, "test": 0.2, "scale": "standard", "ridge": "auto"}


def tuned(parameters: Any = FEW, *, network: es.Network = TWO, u: Any = U, y: Any = Y, **options: Any) -> es.learning.Tuned:
    """With one validation tail in the units of the data, unless other options are given."""
    options = {**TAIL, "starts": 2, "rounds": 3, "washout": WASHOUT, **options}
    return es.tune(network, u, y, parameters, **options)


def taught(network: es.Network, seed: int, u: Floats = U) -> Floats:
    """A linear readout of the network's own states, (T,): nothing is left to explain at its own numbers."""
    states = network.build(u.shape[1], seed=seed, dtype="float64").run(u)
    return np.asarray(states @ np.random.default_rng(9).normal(size=network.units) + 1.5)


def numbers(network: es.Network) -> dict[str, float]:
    """Every number of a network by the name of its leaf."""
    hyper = Hyper.of(network)
    return {f"{name}[{k}]": float(leaf) for name in Hyper._fields for k, leaf in enumerate(getattr(hyper, name))}


def last_best(result: es.learning.Tuned) -> dict[str, float]:
    """What the history says about the best start in the end."""
    last = result.history.isel(round=-1)
    best = last["value"].isel(start=int(np.argmin(last["error"].values)))
    return dict(zip(best["parameter"].values.tolist(), best.values.tolist(), strict=True))


# --- what is found


@pytest.mark.parametrize("leaks", [[0.3], [0.9, 0.2]])
def test_the_leaks_of_a_teacher_are_found_again(leaks: list[float]) -> None:
    sizes = [12, 10][: len(leaks)]
    teacher = es.hierarchical(sizes, leak_rate=leaks, input_scaling=0.8, bias_scaling=0.3, coupling=0.7)
    student = es.hierarchical(sizes, leak_rate=0.6, input_scaling=0.8, bias_scaling=0.3, coupling=0.7)
    result = tuned("leak_rate", network=student, y=taught(teacher, seed=4), seed=4, starts=4, rounds=30, ridge=1e-9)
    assert result.error < 1e-3
    found = [each.leak_rate for each in result.network.reservoirs]
    np.testing.assert_allclose(found, leaks, atol=1e-2)
    same = [(a.units, a.spectral_radius, a.input_scaling) for a in student.reservoirs]
    assert [(a.units, a.spectral_radius, a.input_scaling) for a in result.network.reservoirs] == same


def test_a_bound_between_start_and_optimum_is_where_it_ends() -> None:
    """The teacher's leak is 0.3."""
    teacher = es.single(12, leak_rate=0.3, input_scaling=0.8, bias_scaling=0.3)
    y = taught(teacher, seed=4)
    beyond = pytest.warns(UserWarning, match=r"leak_rate\[0\]=0.3 lies outside its bounds")
    with beyond:
        above = tuned("leak_rate", network=teacher, y=y, seed=4, rounds=10, bounds={"leak_rate": (0.45, 0.9)})
    with beyond:
        below = tuned("leak_rate", network=teacher, y=y, seed=4, rounds=10, bounds={"leak_rate[0]": (0.05, 0.2)})
    assert above.at_bound == below.at_bound == ("leak_rate[0]",)
    assert "leak_rate[0] (at bound)" in str(above)
    assert last_best(above)["leak_rate[0]"] == pytest.approx(0.45, rel=1e-9)
    assert last_best(below)["leak_rate[0]"] == pytest.approx(0.2, rel=1e-9)
    # The teacher itself is better than all that the bounds allow.
    assert not above.helped
    assert above.network == below.network == teacher


def test_bounds_hold_for_every_start_in_every_round() -> None:
    bounds = {"leak_rate": (0.3, 0.9), "leak_rate[1]": (0.2, 0.25), "ridge": (1e-4, 1e-3), "coupling": (0.4, 0.6)}
    result = tuned(["leak_rate", "coupling", "ridge"], bounds=bounds, starts=2)
    usual = es.learning.BOUNDS
    for name in result.history["parameter"].values.tolist():
        low, high = bounds.get(name, bounds.get(name.partition("[")[0], usual[name.partition("[")[0]]))
        values = result.history["value"].sel(parameter=name).values
        assert low * (1 - 1e-12) <= values.min()
        assert values.max() <= high * (1 + 1e-12)


def test_narma10_is_learned_better_than_by_a_grid() -> None:
    """The best leaks of a 5 x 5 grid at the paper's other numbers, with the same weights, data and split."""
    u, y = es.tasks.narma(1200, 10, seed=1)
    network = es.hierarchical([15, 15], leak_rate=1.0, spectral_radius=0.95, input_scaling=0.2, coupling=1.0)
    result = tuned(es.learning.ALL, network=network, u=u, y=y, starts=4, rounds=12)
    first, second = (each.ravel() for each in np.meshgrid([0.1, 0.3, 0.5, 0.7, 0.95], [0.1, 0.3, 0.5, 0.7, 0.95]))
    esn = network.build(1, seed=0, dtype="float64")
    cut, targets = len(u) - round((len(u) - WASHOUT) * SHARE), np.ravel(y)
    errors = []
    for states in esn.run(u, hyper=esn.hyper.replace(leak_rate=[first, second])):
        guess = Ridge(alpha=1e-5).fit(states[WASHOUT:cut], targets[WASHOUT:cut]).predict(states[cut:])
        errors.append(es.nrmse(targets[cut:], guess))
    assert result.error < 0.8 * min(errors)


def test_more_rounds_are_never_worse() -> None:
    """The same seed walks the same way, only farther."""
    few, many = tuned(rounds=2), tuned(rounds=6)
    assert many.error <= few.error
    np.testing.assert_array_equal(many.history["error"][:3], few.history["error"])


# --- what comes back


def test_the_same_seed_gives_the_same_bits() -> None:
    one, two, other = tuned(starts=3), tuned(starts=3), tuned(starts=3, seed=1)
    for name in ("error", "value", "steps"):
        np.testing.assert_array_equal(one.history[name], two.history[name])
    assert one.network == two.network
    assert (one.error, one.ridge) == (two.error, two.ridge)
    assert one.error != other.error


def test_the_network_has_the_numbers_of_the_best_start() -> None:
    result = tuned(es.learning.ALL)
    found = last_best(result)
    assert result.ridge == pytest.approx(found.pop("ridge"), rel=1e-12)
    assert numbers(result.network) == pytest.approx(found, rel=1e-12)
    assert result.error == float(result.history["error"].isel(round=-1).min())
    assert result.steps == int(result.history["steps"][-1])


def test_only_what_is_named_is_learned() -> None:
    result = tuned(["leak_rate[0]", "coupling"], ridge=0.02)
    before, after = numbers(TWO), numbers(result.network)
    assert result.ridge == 0.02
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"leak_rate[0]", "coupling[0]"}


def test_starts_of_the_user_are_where_it_begins() -> None:
    esn = TWO.build(1)
    lanes = esn.hyper.replace(leak_rate=[np.array([0.2, 0.5, 0.9]), 0.4], coupling=np.array([0.1, 0.3, 1.0]))
    result = tuned(["leak_rate", "coupling"], starts=lanes, rounds=1)
    first = result.history["value"].isel(round=0)
    np.testing.assert_allclose(first.sel(parameter="leak_rate[0]"), [0.2, 0.5, 0.9])
    np.testing.assert_allclose(first.sel(parameter="leak_rate[1]"), [0.4, 0.4, 0.4])
    np.testing.assert_allclose(first.sel(parameter="coupling[0]"), [0.1, 0.3, 1.0])
    one = tuned("leak_rate", starts=esn.hyper, rounds=1)
    np.testing.assert_allclose(one.history["value"].isel(round=0, start=0), [0.8, 0.25])


def test_the_networks_own_numbers_are_screened_too() -> None:
    """A teacher's own numbers are the best of all."""
    teacher = es.single(12, leak_rate=0.3, input_scaling=0.8, bias_scaling=0.3)
    result = tuned("leak_rate", network=teacher, y=taught(teacher, seed=4), seed=4, ridge=1e-9)
    assert float(result.history["value"].isel(round=0, start=0)[0]) == pytest.approx(0.3)
    assert float(result.history["error"].isel(round=0, start=0)) < 1e-4


def pooled_nrmse(guesses: list[Floats], targets: list[Floats]) -> float:
    return es.nrmse(np.concatenate(targets), np.concatenate(guesses))


@pytest.mark.parametrize("inputs", [0, 1, 4])
def test_the_estimator_has_the_error_that_was_reported(inputs: int) -> None:
    result = tuned(columns=Columns(inputs))
    model: Any = result.estimator().fit(U[:CUT], Y[:CUT])
    guess = model.predict(U[CUT:], state=model.state_)
    assert es.nrmse(Y[CUT:], guess) == pytest.approx(result.error, rel=1e-6)
    assert result.classes is None
    assert result.sharpness is None


def test_an_open_number_of_inputs_is_settled_as_by_the_regressor() -> None:
    result = tuned("ridge", u=U[:100], y=Y[:100], columns=Columns(), rounds=1)
    model: Any = es.ESNRegressor(network=TWO, washout=WASHOUT).fit(U[:100], Y[:100])
    assert result.columns == model.columns_ == Columns(10)


def test_the_estimator_has_the_error_that_was_reported_on_several_series() -> None:
    """Of unequal lengths, with two targets each, together."""
    u, y = [U[:200], U[200:]], [np.stack([Y, np.roll(Y, 3) ** 2], axis=1)[rows] for rows in (slice(200), slice(200, 500))]
    cuts = [len(each) - round((len(each) - WASHOUT) * SHARE) for each in u]
    result = tuned(u=u, y=y)
    model: Any = result.estimator().fit(
        [a[:c] for a, c in zip(u, cuts, strict=True)], [a[:c] for a, c in zip(y, cuts, strict=True)]
    )
    guesses = model.predict([each[cut:] for each, cut in zip(u, cuts, strict=True)], state=model.state_)
    assert pooled_nrmse(guesses, [each[cut:] for each, cut in zip(y, cuts, strict=True)]) == pytest.approx(
        result.error, rel=1e-6
    )


WORDS = np.array(["fall", "rest", "rise"])


def test_the_classifier_has_the_cross_entropy_that_was_reported() -> None:
    labels = WORDS[np.digitize(Y, np.quantile(Y, [0.3, 0.7]))]
    result = tuned(y=labels, loss="cross_entropy")
    assert result.classes is not None
    np.testing.assert_array_equal(result.classes, WORDS)
    model: Any = result.estimator().fit(U[:CUT], labels[:CUT])
    np.testing.assert_array_equal(model.classes_, WORDS)
    logs = log_softmax(result.sharpness * model.decision_function(U[CUT:], state=model.state_), axis=1)
    right = labels[CUT:, None] == WORDS
    assert -logs[right].mean() == pytest.approx(result.error, rel=1e-6)
    assert result.error < np.log(3)


def test_the_classifier_of_sequences_has_the_cross_entropy_that_was_reported() -> None:
    kinds = np.arange(48) % 3
    rng = np.random.default_rng(2)
    u = rng.normal(size=(48, 25, 1)) + 0.5 * kinds[:, None, None]
    result = tuned(u=u, y=WORDS[kinds], loss="cross_entropy")
    validates = np.concatenate([np.flatnonzero(kinds == k)[3::4] for k in range(3)])
    trains = np.setdiff1d(np.arange(48), validates)
    assert result.pools is not None
    model: Any = result.estimator().fit(u[trains], WORDS[kinds[trains]])
    assert isinstance(model, es.ESNClassifier)
    assert result.sharpness is not None
    logs = log_softmax(result.sharpness * model.decision_function(u[validates]), axis=1)
    assert -logs[np.arange(len(validates)), kinds[validates]].mean() == pytest.approx(result.error, rel=1e-6)


def test_single_precision_finds_numbers_that_are_good_in_double() -> None:
    result = tuned(dtype="float32", bounds={"ridge": (1e-4, 1.0)})
    assert result.dtype == "float32"
    assert result.error < float(result.history["error"][0].min())
    model: Any = result.estimator().set_params(dtype="float64").fit(U[:CUT], Y[:CUT])
    assert es.nrmse(Y[CUT:], model.predict(U[CUT:], state=model.state_)) == pytest.approx(result.error, rel=1e-3)


def test_rounds_progress_and_history() -> None:
    calls: list[tuple[int, int, str]] = []
    result = tuned(starts=3, rounds=2, relocate=False, progress=lambda *told: calls.append(told))
    history, learned = result.history, 2
    assert history["error"].dims == ("round", "start")
    assert history["value"].dims == ("round", "start", "parameter")
    assert dict(history.sizes) == {"round": 3, "start": 3, "parameter": learned + 1}
    assert calls == [(k, 2, f"NRMSE {history['error'].isel(round=k).min():.4f}") for k in (1, 2)]
    # No start rests before its second round: 8 screened points each; then 3 trials, a run and its tangents a round.
    np.testing.assert_array_equal(history["steps"], len(U) * 3 * (8 + np.arange(3) * (3 + 1 + learned)))
    assert (np.diff(history["seconds"]) > 0).all()
    assert (np.diff(history["error"], axis=0) <= 0).all()


def test_the_least_error_never_increases() -> None:
    """Single starts may be moved to a worse place; the best never is."""
    history = tuned(["leak_rate", "spectral_radius"], network=es.single(8), starts=4, rounds=14).history
    assert (np.diff(history["error"].min("start")) <= 0).all()


def test_an_interrupt_keeps_what_was_found() -> None:
    def stop(number: int, rounds: int, note: str) -> None:
        if number == 2:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted") as caught:
        result = tuned(rounds=6, progress=stop)
    assert [each.filename for each in caught] == [__file__.replace(".pyc", ".py")]
    whole = tuned(rounds=2)
    np.testing.assert_array_equal(result.history["error"], whole.history["error"])
    assert result.network == whole.network


def test_no_round_begins_after_its_time() -> None:
    assert tuned(seconds=0).history.sizes["round"] == 1
    assert tuned(seconds=1e3).history.sizes["round"] == 4


def test_an_error_in_the_callback_is_not_swallowed() -> None:
    def broken(number: int, rounds: int, note: str) -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        tuned(progress=broken)


def test_a_bar_shows_and_goes(capsys: pytest.CaptureFixture[str]) -> None:
    assert tuned(progress=True).error == tuned().error


def test_the_report_shows_the_best_start_first() -> None:
    result = tuned(starts=3)
    table = result.table
    assert table.columns[0] == "start"
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["NRMSE"][0] == result.error
    assert list(rows["NRMSE"]) == sorted(rows["NRMSE"])
    assert rows["leak_rate[1]"][0] == pytest.approx(result.network.reservoirs[1].leak_rate)
    assert rows["ridge"][0] == pytest.approx(result.ridge)
    order = [int(name) - 1 for name in table.columns[1:]]
    np.testing.assert_array_equal(rows["at first"], result.history["error"].isel(round=0).values[order])
    assert "3 rounds" in str(table)
    assert repr(result).startswith(str(table))
    assert all(f"- {reason}" in repr(result) for reason in result.reasons)
    labels = (Y > 0).astype(int)
    assert "cross-entropy" in repr(tuned("leak_rate", y=labels, loss="cross_entropy", rounds=1))


def test_the_plot_shows_how_the_errors_fell() -> None:
    result = tuned(starts=3)
    *paths, best, before = result.plot().lines
    drawn = np.stack([path.get_ydata() for path in paths], axis=1)
    np.testing.assert_array_equal(drawn, result.history["error"].transpose("round", "start"))
    assert np.asarray(best.get_ydata())[-1] == drawn[-1].min()
    assert set(np.asarray(before.get_ydata())) == {result.start_error}


# --- folds, units, and the test part


def split_of(length: int, test: float = 0.2) -> tuple[int, list[list[int]]]:
    """Where the test part begins, and the rows of the five folds before it."""
    cut = length - round((length - WASHOUT) * test)
    edges = splits.block_edges([cut], WASHOUT, 5)[0]
    return cut, [list(range(edges[2 * k], edges[2 * k + 1])) for k in range(5)]


def states_in_units(network: es.Network, u: Floats, y: Floats, cut: int, seed: int = 0) -> tuple[Floats, Floats]:
    """States and targets, with means and standard deviations of what comes before the cut."""
    z = (u - u[:cut].mean(axis=0)) / u[:cut].std(axis=0)
    states = network.build(u.shape[1], seed=seed, dtype="float64").run(z)
    return np.asarray(states), (y - y[:cut].mean(axis=0)) / y[:cut].std(axis=0)


def test_the_errors_of_the_folds_and_of_the_test_part_are_those_of_scikit_learn() -> None:
    """Of the tuned network and of that as it came, the ridge penalty in proportion to the rows."""
    result = tuned(**FOLDS, rounds=4)
    assert result.helped
    assert result.verdict is not None
    cut, folds = split_of(500)
    states, y = states_in_units(result.network, U, Y[:, None], cut)
    per_step = last_best(result)["ridge"] / (500 - WASHOUT)
    squares, rows = 0.0, np.concatenate(folds)
    for fold in folds:
        train = np.setdiff1d(rows, fold)
        model = Ridge(alpha=per_step * len(train), solver="svd").fit(states[train], y[train])
        squares += float(((model.predict(states[fold]).reshape(-1, 1) - y[fold]) ** 2).sum())
    assert result.error == pytest.approx(np.sqrt(squares / len(rows) / y[rows].var()), rel=1e-7)
    known = np.arange(WASHOUT, cut)
    for network, expected in ((result.network, result.test_error), (TWO, result.start_test_error)):
        states, y = states_in_units(network, U, Y[:, None], cut)
        errors = []
        unit = float((states[known].var(axis=0)).mean())
        relative = [per_step / unit] if network is result.network else np.geomspace(1e-6, 10, 200)
        for each in [rel * unit for rel in relative]:
            model = Ridge(alpha=each * len(known), solver="svd").fit(states[known], y[known])
            errors.append(es.nrmse(y[cut:], model.predict(states[cut:]).reshape(-1, 1)))
        # The ridge penalty of the network as it came is one of half decades, relative to the states of the folds.
        assert min(abs(np.array(errors) / expected - 1)) < (1e-6 if network is result.network else 1e-3)
    assert result.test_error == result.verdict.tuned
    assert result.start_test_error == result.verdict.start


def test_what_survives_noise_is_what_noise_leaves_on_average() -> None:
    """Against noise that is drawn, many times."""
    result = tuned(**FOLDS, rounds=4)
    assert result.verdict is not None
    assert result.verdict.noisy is not None
    cut, folds = split_of(500)
    states, y = states_in_units(result.network, U, Y[:, None], cut)
    known, rng = np.arange(WASHOUT, cut), np.random.default_rng(1)
    sigma = results.NOISE * np.sqrt(states[known].var(axis=0).mean())
    rows = np.concatenate(folds)

    def squares(per_step: float, train: Any, judge: Any) -> float:
        found = []
        for _ in range(6):
            noisy = states + sigma * rng.normal(size=states.shape)
            model = Ridge(alpha=per_step * len(train), solver="svd").fit(noisy[train], y[train])
            found.append(((model.predict(noisy[judge]).reshape(-1, 1) - y[judge]) ** 2).mean())
        return float(np.mean(found))

    path = sigma**2 / results.NOISE**2 * penalties.RELATIVE[4::2]
    by_folds = [sum(squares(each, np.setdiff1d(rows, fold), fold) for fold in folds) for each in path]
    error = np.sqrt(squares(float(path[int(np.argmin(by_folds))]), known, np.arange(cut, 500)) / y[cut:].var())
    assert result.verdict.noisy == pytest.approx(error, rel=0.05)
    assert result.verdict.float32 == pytest.approx(result.verdict.tuned, rel=0.05)


def test_a_fragile_error_is_called_so() -> None:
    """A linear readout of a taught delay of many steps needs digits that noise takes away."""
    teacher = es.single(20, leak_rate=1.0, spectral_radius=0.9, input_scaling=0.001, topology="delay_line")
    y = np.roll(U[:, 0], 15)
    fragile = tuned("spectral_radius", network=teacher, y=y, **FOLDS)
    robust = tuned("spectral_radius", network=teacher, y=y, **FOLDS, noise=0.1)
    for result in (fragile, robust):
        assert result.verdict is not None
        assert result.verdict.noisy is not None
        said = "Fragile" in str(result)
        assert said == (max(result.verdict.noisy, result.verdict.float32) > 1.1 * result.verdict.tuned)
    assert "Fragile" in str(fragile)
    assert "Fragile" not in str(robust)


def test_the_floor_keeps_the_search_out_of_digits_that_float32_has_not() -> None:
    u = np.random.default_rng(0).uniform(-1, 1, (1500, 1))
    y = np.roll(u, 2) * np.roll(u, 5)
    network = es.single(40, leak_rate=0.9, spectral_radius=0.8, input_scaling=0.3, bias_scaling=0.3)
    names = ["input_scaling", "bias_scaling", "spectral_radius", "leak_rate", "ridge"]
    usual = es.tune(network, u, y, names, starts=2, rounds=25, seed=1)
    record = es.tune(network, u, y, names, starts=2, rounds=25, seed=1, floor=0)
    assert usual.verdict is not None
    assert record.verdict is not None
    assert usual.verdict.float32 == pytest.approx(usual.verdict.tuned, rel=0.02)
    assert usual.at_floor
    assert "at its floor" in str(usual)
    # Without it the bare error is smaller, and nothing of it is left.
    assert record.verdict.tuned < usual.verdict.tuned
    assert record.verdict.float32 > 3 * usual.verdict.float32
    # The penalty that is returned is the one that was judged: at the floor, for all data in their own units.
    z = (u - u.mean()) / u.std()
    states = usual.network.build(1, seed=1, dtype="float64").run(z)[usual.washout :]
    assert usual.ridge >= 0.95 * penalties.ROBUST * states.var(axis=0).mean() * len(states)


def test_a_fixed_penalty_is_taken_as_it_is() -> None:
    fixed = tuned("leak_rate", ridge=1e-11)
    assert not fixed.at_floor
    assert fixed.ridge == pytest.approx(1e-11, rel=1e-9)
    assert tuned("leak_rate", ridge=1e-11, floor=1e-3).at_floor


def test_units_and_offsets_of_the_data_change_nothing() -> None:
    one, other = tuned(**FOLDS), tuned(u=1e4 * U + 1e6, y=1e-3 * Y - 50, **FOLDS)
    np.testing.assert_allclose(other.history["error"], one.history["error"], rtol=1e-5)
    np.testing.assert_allclose(other.history["value"], one.history["value"], rtol=1e-3)
    assert other.ridge == pytest.approx(one.ridge, rel=1e-3)
    assert (other.test_error, other.start_test_error) == pytest.approx((one.test_error, one.start_test_error), rel=1e-5)


def test_where_tuning_does_not_help_the_network_is_returned_as_it_came() -> None:
    """On noise there is nothing to learn."""
    noise = np.random.default_rng(5).normal(size=500)
    result = tuned(y=noise, **FOLDS)
    assert not result.helped
    assert result.network == TWO
    assert result.test_error == result.start_test_error
    assert result.error == result.start_error
    assert "did not help" in str(result)
    curve = penalties.choose  # the ridge penalty is that of folds over all data
    states, y = states_in_units(TWO, U, noise[:, None], 500)  # and the units are theirs
    folds = splits.folds([500], WASHOUT, 5)
    parts = [of_rows(states[a:b], y[a:b]) for a, b in pairwise(folds.edges[0])]
    assert result.ridge == pytest.approx(curve(splits.pairs(parts, folds.splits), splits.total(parts)).ridge, rel=1e-6)


def test_a_teacher_is_its_own_best_and_comes_back() -> None:
    teacher = es.single(12, leak_rate=0.3, input_scaling=0.8, bias_scaling=0.3)
    z = (U - U[: split_of(500)[0]].mean()) / U[: split_of(500)[0]].std()
    y = taught(teacher, seed=4, u=z) + 0.05 * np.random.default_rng(1).normal(size=500)
    result = tuned("leak_rate", network=teacher, y=y, seed=4, **FOLDS)
    assert result.network.reservoirs[0].leak_rate == pytest.approx(0.3, rel=0.05)
    assert result.helped == (result.network != teacher)


def test_without_a_test_part_the_folds_decide() -> None:
    result = tuned(**{**FOLDS, "test": 0})
    assert result.verdict is None
    assert result.test_error is None
    assert result.helped == (result.error < 0.98 * result.start_error)
    assert "Judge it on held-out test data" in str(result)


def test_short_data_get_fewer_free_hyper_parameters() -> None:
    short = tuned(None, u=U[:200], y=Y[:200], **FOLDS)
    longer = tuned(None, **FOLDS)
    assert [str(each) for each in short.history["parameter"].values] == ["ridge"]
    assert short.fixed == ("input_scaling", "leak_rate", "spectral_radius", "coupling", "bias_scaling")
    assert "Not learned, since the data are short: input_scaling" in str(short)
    assert longer.fixed == ("spectral_radius", "coupling", "bias_scaling")
    assert len(longer.history["parameter"]) == 5


def test_bounds_are_widened_to_hold_what_the_user_has() -> None:
    far = es.single(8, leak_rate=0.004, input_scaling=30.0, bias_scaling=0.2)
    result = tuned(["leak_rate", "input_scaling"], network=far, starts=Hyper.of(far).map(lambda leaf: leaf[None]), rounds=1)
    np.testing.assert_allclose(result.history["value"][0, 0], [0.004, 30.0])


def test_noise_on_the_states_is_a_ridge_penalty() -> None:
    """n s^2 for n rows: the same search as with that much more."""
    options = {**FOLDS, "test": 0, "rounds": 2}
    quiet = tuned("leak_rate", **{**options, "ridge": 0.5 + 450 * 0.01})
    noisy = tuned("leak_rate", **{**options, "ridge": 0.5}, noise=0.1)
    np.testing.assert_allclose(noisy.history["error"], quiet.history["error"], rtol=1e-9)
    assert noisy.ridge == pytest.approx(quiet.ridge, rel=1e-9)


def test_sequences_fewer_than_folds_judge_in_turn() -> None:
    kinds = np.array([0, 1, 0, 1])
    u = np.random.default_rng(2).normal(size=(4, 25, 1)) + 2.0 * kinds[:, None, None]
    result = tuned(u=u, y=WORDS[kinds], loss="cross_entropy", **{**FOLDS, "test": 0.25})
    assert result.folds == 3
    assert np.isfinite(result.error)


def test_folds_of_labels_have_a_verdict_too() -> None:
    labels = WORDS[np.digitize(Y, np.quantile(Y, [0.3, 0.7]))]
    result = tuned(y=labels, loss="cross_entropy", **FOLDS)
    assert result.verdict is not None
    assert result.verdict.noisy is None
    assert result.verdict.start < np.log(3)
    assert result.error <= result.start_error


@pytest.mark.parametrize("y", [U[:, 0], np.roll(U[:, 0], 1)])
def test_a_target_that_is_the_input_is_no_trouble(y: Floats) -> None:
    assert np.isfinite(tuned(y=y, **FOLDS, columns=Columns(1)).error)


def test_a_constant_input_column_is_no_trouble() -> None:
    assert np.isfinite(tuned(u=np.concatenate([U, np.full((500, 1), 7.0)], axis=1), **FOLDS).error)


def test_an_estimator_is_no_network() -> None:
    model: Any = es.ESNRegressor()
    with pytest.raises(TypeError, match=r"got ESNRegressor: model.make_network\(\) gives it"):
        es.tune(model, U, Y)
    with pytest.raises(TypeError, match="got str: es"):
        es.tune(str(model), U, Y)  # type: ignore[arg-type]


# --- what is hard


@pytest.mark.parametrize("loss", ["mse", "cross_entropy"])
def test_a_chaotic_start_ends_without_a_word(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tangents grow beyond all bounds: no crash, no warning, and the other start goes on."""
    models: list[Model] = []
    kind: Any = Squares if loss == "mse" else Entropy
    usual = kind.model

    def watched(self: Any, z: Floats, readout: Readout) -> Model:
        models.append(usual(self, z, readout))
        return models[-1]

    monkeypatch.setattr(kind, "model", watched)
    network = es.single(30, spectral_radius=0.5, input_scaling=0.1, bias_scaling=0.1)
    u = np.random.default_rng(3).normal(size=(4000, 1))
    y = np.roll(u[:, 0], 2) + np.roll(u[:, 0], 1)
    result = tuned(
        ["spectral_radius"],
        network=network,
        u=u,
        y=y if loss == "mse" else (y > 0).astype(int),
        loss=loss,
        starts=network.build(1).hyper.replace(spectral_radius=np.array([9.0, 0.5])),
        relocate=False,
        bounds={"spectral_radius": (0.1, 10.0)},
    )
    assert not np.isfinite(models[0].curvature[0]).all()
    assert np.isfinite(models[0].curvature[1]).all()
    errors = result.history["error"].values
    assert np.isfinite(errors).all()
    assert errors[-1, 1] < errors[0, 1]


def test_a_coupling_keeps_its_sign() -> None:
    """A network may have inhibiting couplings, and they can be learned: their size is."""
    inhibited = es.hierarchical([8, 6], leak_rate=[0.8, 0.25], coupling=-0.5, bias_scaling=0.2, connections=4)
    result = tuned(["leak_rate", "coupling"], network=inhibited)
    assert result.network.couplings[0].strength < 0
    assert np.isfinite(result.history["error"]).all()


@pytest.mark.parametrize("loss", ["mse", "cross_entropy"])
def test_the_penalty_alone_can_be_learned(loss: str) -> None:
    result = tuned("ridge", y=Y if loss == "mse" else (Y > 0).astype(int), loss=loss)
    assert result.network == TWO
    assert result.error < float(result.history["error"][0].max())
