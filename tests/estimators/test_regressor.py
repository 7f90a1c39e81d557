"""`ESNRegressor` against ridge regression written in NumPy on the states that `esn_.run` returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from flat import flat
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score

import echoscale as es
from echoscale import ESNRegressor
from echoscale.tasks import narma

Array = npt.NDArray[Any]

WASHOUT = 20
VARIANTS = pytest.mark.parametrize("inputs", [0, 1])
KINDS = pytest.mark.parametrize("kind", ["one", "batch", "list"])


def model(**parameters: Any) -> ESNRegressor:
    """A small network in float64; the readout sees its states alone."""
    defaults: dict[str, Any] = {
        "units": 15,
        "leak_rate": 0.7,
        "dtype": "float64",
        "random_state": 1,
        "washout": WASHOUT,
        "scale": None,
        "ridge": 0.1,
        "inputs": 0,
    }
    return flat(ESNRegressor, **{**defaults, **parameters})


def signal(length: int = 120, seed: int = 0, outputs: int = 2, noise: float = 0.1) -> tuple[Array, Array]:
    """Two inputs of noise, and outputs that depend on the inputs of some steps ago."""
    rng = np.random.default_rng(seed)
    u = rng.uniform(-1, 1, (length + 3, 2))
    y = np.column_stack([u[2:-1, 0] + u[1:-2, 1], u[2:-1, 0] * u[:-3, 1] + 2])[:, :outputs]
    return u[3:], y + noise * rng.normal(size=y.shape)


def data(kind: str, outputs: int = 2, noise: float = 0.1, lengths: tuple[int, ...] = (90, 120, 103)) -> tuple[Any, Any]:
    """One series, a batch of three, or a list of unequal lengths."""
    if kind == "one":
        return signal(outputs=outputs, noise=noise)
    pairs = [signal(120 if kind == "batch" else n, seed, outputs, noise) for seed, n in enumerate(lengths)]
    X, y = [u for u, _ in pairs], [t for _, t in pairs]
    return (np.stack(X), np.stack(y)) if kind == "batch" else (X, y)


def each(values: Any) -> list[Array]:
    """The series one by one."""
    return [values] if isinstance(values, np.ndarray) and values.ndim == 2 else list(values)


def state_rows(esn: es.ESN, X: Any, inputs: int = False) -> list[Array]:
    """The features of every step, (T_b, features) for every series, each run alone."""
    return [np.hstack([esn.run(u), u]) if inputs else esn.run(u) for u in each(X)]


def least_squares(features: Array, targets: Array, penalty: float) -> tuple[Array, Array]:
    """Ridge as ordinary least squares on rows with sqrt(penalty) I below them; no normal equations."""
    x_mean, y_mean = features.mean(axis=0), targets.mean(axis=0)
    count, outputs = features.shape[1], targets.shape[1]
    above = np.vstack([features - x_mean, np.sqrt(penalty) * np.eye(count)])
    coef = np.linalg.lstsq(above, np.vstack([targets - y_mean, np.zeros((count, outputs))]), rcond=None)[0].T
    return coef, y_mean - coef @ x_mean


def cut(parts: list[Array], begin: int, end: int | None = None) -> Array:
    """Steps `begin` to `end` of all series together."""
    return np.concatenate([part[begin:end] for part in parts])


def assert_same_readout(found: ESNRegressor, coef: Array, intercept: Array, tolerance: float = 1e-9) -> None:
    """Coefficients relative to the largest of them."""
    np.testing.assert_allclose(found.readout_.coef, coef, rtol=0, atol=tolerance * np.abs(coef).max())
    np.testing.assert_allclose(found.readout_.intercept, intercept, rtol=0, atol=tolerance * max(np.abs(intercept).max(), 1))


def best_by_search(errors: Callable[[float], float], penalties: list[float]) -> float:
    """The penalty with the least error, which must not be the first or last for the search to mean something."""
    best = min(penalties, key=errors)
    assert best not in (penalties[0], penalties[-1])
    return best


@KINDS
@VARIANTS
def test_fit_is_ridge_regression_on_the_states(kind: str, inputs: int) -> None:
    X, y = data(kind)
    fitted = model(inputs=inputs).fit(X, y)
    rows = cut(state_rows(fitted.esn_, X, inputs), WASHOUT)
    assert fitted.statistics_.count == len(rows)
    assert_same_readout(fitted, *least_squares(rows, cut(each(y), WASHOUT), 0.1))


@KINDS
@VARIANTS
def test_predictions_are_the_readout_of_the_states(kind: str, inputs: int) -> None:
    """Of every step, washout included; a batch or a list gives what its series give alone."""
    X, y = data(kind)
    fitted = model(inputs=inputs).fit(X, y)
    others, _ = data(kind, lengths=(30, 120, 77))
    guesses = each(fitted.predict(others))
    for u, rows, guess in zip(each(others), state_rows(fitted.esn_, others, inputs), guesses, strict=True):
        np.testing.assert_allclose(guess, rows @ fitted.readout_.coef.T + fitted.readout_.intercept, rtol=0, atol=1e-10)
        np.testing.assert_allclose(guess, fitted.predict(u), rtol=0, atol=1e-10)


def test_flat_parameters_describe_the_network() -> None:
    """Several numbers of units are reservoirs side by side."""
    hyper: dict[str, Any] = {"leak_rate": (1.0, 0.2), "spectral_radius": (0.9, 0.5), "input_scaling": 0.3}
    fitted = model(units=(8, 6), **hyper).fit(*data("one"))
    assert fitted.esn_.network == es.parallel([8, 6], bias_scaling=0.5, **hyper)
    same = ESNRegressor(
        network=fitted.esn_.network,
        columns=es.readouts.Columns(0),
        random_state=1,
        washout=WASHOUT,
        scale=None,
        ridge=0.1,
        dtype="float64",
    ).fit(*data("one"))
    np.testing.assert_array_equal(same.readout_.coef, fitted.readout_.coef)
    left_open = es.ESNFeatures((8, 6, 4)).make_network()
    assert [each.leak_rate for each in left_open.reservoirs] == [1.0, 0.173, 0.03]
    assert {each.input_scaling for each in left_open.reservoirs} == {0.3}


@pytest.mark.parametrize("kind", ["one", "batch"])
@VARIANTS
@pytest.mark.parametrize("ends", [(50, 90), (7, 13, 14, 60), (2, 21, 119)])
def test_chunks_equal_the_whole(kind: str, inputs: int, ends: tuple[int, ...]) -> None:
    """The washout of 20 steps may be longer than the first chunks; a chunk may be one step."""
    X, y = data(kind)
    whole = model(inputs=inputs).fit(X, y)
    chunked = model(inputs=inputs)
    for a, b in zip((0, *ends), (*ends, 120), strict=True):
        chunked.partial_fit(X[..., a:b, :], y[..., a:b, :])
    assert chunked.statistics_.count == whole.statistics_.count
    assert_same_readout(chunked, whole.readout_.coef, whole.readout_.intercept)
    np.testing.assert_allclose(chunked.state_, whole.state_, rtol=0, atol=1e-12)


@pytest.mark.parametrize("ends", [(50, 60, 70), (5, 40, 90), (5, 6, 7)])
def test_chunks_of_a_list_equal_the_whole(ends: tuple[int, ...]) -> None:
    """Chunks of unequal lengths: every series has its own washout."""
    X, y = data("list")
    whole = model().fit(X, y)
    chunked = model().partial_fit([u[:n] for u, n in zip(X, ends, strict=True)], [t[:n] for t, n in zip(y, ends, strict=True)])
    chunked.partial_fit([u[n:] for u, n in zip(X, ends, strict=True)], [t[n:] for t, n in zip(y, ends, strict=True)])
    assert chunked.statistics_.count == whole.statistics_.count
    assert_same_readout(chunked, whole.readout_.coef, whole.readout_.intercept)


def test_a_new_series_starts_from_zero_and_is_washed_out_again() -> None:
    """Two series one after the other equal one fit of both."""
    X, y = data("batch")
    whole = model().fit(X, y)
    chunked = model()
    for u, t in zip(X, y, strict=True):
        chunked.partial_fit(u[:50], t[:50], new_series=True).partial_fit(u[50:], t[50:])
    assert_same_readout(chunked, whole.readout_.coef, whole.readout_.intercept)


def test_partial_fit_carries_on_after_fit() -> None:
    X, y = data("one")
    chunked, whole = model().fit(X[:60], y[:60]).partial_fit(X[60:], y[60:]), model().fit(X, y)
    assert_same_readout(chunked, whole.readout_.coef, whole.readout_.intercept)


def test_fit_forgets_what_was_fitted_before() -> None:
    X, y = data("one")
    once, again = model().fit(X, y), model().fit(-X, y[:, ::-1]).partial_fit(X, y).fit(X, y)
    np.testing.assert_array_equal(once.readout_.coef, again.readout_.coef)
    np.testing.assert_array_equal(once.state_, again.state_)


def test_nothing_is_fitted_before_the_washout_is_over() -> None:
    X, y = data("one")
    with pytest.raises(NotFittedError, match="the 10 steps so far are all in the washout of 20"):
        model().partial_fit(X[:10], y[:10]).predict(X)


@KINDS
def test_the_default_washout_is_a_tenth_of_the_shortest_series(kind: str) -> None:
    X, y = data(kind)
    tenth = {"one": 12, "batch": 12, "list": 9}[kind]
    found, expected = model(washout=None).fit(X, y), model(washout=tenth).fit(X, y)
    assert found.washout_ == expected.washout_ == tenth
    np.testing.assert_array_equal(found.readout_.coef, expected.readout_.coef)
    assert found.score(X, y) == expected.score(X, y)
    # A score has the washout of its own series: those of 50 steps, 5.
    short = (X[:50], y[:50]) if kind == "one" else ([each[:50] for each in X], [each[:50] for each in y])
    assert found.score(*short) == found.set_params(washout=5).score(*short)


def test_the_default_washout_is_never_more_than_a_hundred_steps() -> None:
    X, y = signal(2000)
    found, expected = model(washout=None).fit(X, y), model(washout=100).fit(X, y)
    assert found.washout_ == 100
    np.testing.assert_array_equal(found.readout_.coef, expected.readout_.coef)


def test_a_stream_has_the_default_washout_of_the_fit_before_it_or_a_hundred_steps() -> None:
    X, y = signal(240)
    stream, expected = (model(washout=washout).partial_fit(X[:150], y[:150]) for washout in (None, 100))
    np.testing.assert_array_equal(stream.readout_.coef, expected.readout_.coef)
    assert stream.statistics_.count == 50
    after = model(washout=None).fit(X[:60], y[:60]).partial_fit(X[60:120], y[60:120])
    assert (after.washout_, float(after.statistics_.count)) == (6, 114)
    assert float(after.partial_fit(X[120:], y[120:], new_series=True).statistics_.count) == 114 + 114


PENALTIES = np.geomspace(1e-4, 1e4, 9).tolist()


def mean_square(features: Array) -> float:
    """The mean squared singular value, which penalties are relative to: the same shrinkage for little and for much data."""
    centred = features - features.mean(axis=0)
    return float((np.linalg.svd(centred, compute_uv=False) ** 2).sum() / features.shape[1])


def chosen(
    rows: list[Array],
    targets: list[Array],
    held_out: list[tuple[list[slice], list[slice]]],
) -> float:
    """The penalty with the least error, by hand: held_out has (training, held out) of every fold, each as slices of time."""

    def pick(parts: list[Array], times: list[slice]) -> Array:
        return np.concatenate([part[time] for part in parts for time in times])

    everything = pick(rows, [slice(WASHOUT, None)])
    spread = pick(targets, [*held_out[0][0], *held_out[0][1]]).var(axis=0)

    def error(penalty: float) -> float:
        total = 0.0
        for train, test in held_out:
            features = pick(rows, train)
            share = mean_square(features) / mean_square(everything)
            coef, intercept = least_squares(features, pick(targets, train), penalty * share)
            total += float(((pick(rows, test) @ coef.T + intercept - pick(targets, test)) ** 2 / spread).sum())
        return total

    return best_by_search(error, PENALTIES)


@pytest.mark.parametrize("kind", ["one", "batch"])
def test_the_penalty_is_the_best_over_folds_of_time(kind: str) -> None:
    """Four blocks of 24 or 25 consecutive steps after the washout, each held out once, a step between them in none."""
    X, y = data(kind, noise=1.0)
    fitted = model(units=40, ridge=PENALTIES, folds=4).fit(X, y)
    rows, targets = state_rows(fitted.esn_, X), each(y)
    blocks = [slice(20, 44), slice(45, 69), slice(70, 94), slice(95, 120)]
    best = chosen(rows, targets, [([other for other in blocks if other != block], [block]) for block in blocks])
    assert fitted.ridge_ == best
    assert fitted.ridge_curve_ is not None
    assert fitted.ridge_curve_.ridge == pytest.approx(best, rel=1e-12)
    assert_same_readout(fitted, *least_squares(cut(rows, WASHOUT), cut(targets, WASHOUT), best))


def test_as_many_series_as_folds_are_held_out_whole() -> None:
    """Three folds and a list of three: every one is held out as it is, and no gap is needed."""
    X, y = data("list", noise=1.0)
    fitted = model(units=40, ridge=PENALTIES, folds=3).fit(X, y)
    rows, targets = [part[WASHOUT:] for part in state_rows(fitted.esn_, X)], [t[WASHOUT:] for t in each(y)]
    spread = np.concatenate(targets).var(axis=0)

    def error(penalty: float) -> float:
        total = 0.0
        for k in range(3):
            features = np.concatenate(rows[:k] + rows[k + 1 :])
            share = mean_square(features) / mean_square(np.concatenate(rows))
            coef, intercept = least_squares(features, np.concatenate(targets[:k] + targets[k + 1 :]), penalty * share)
            total += float(((rows[k] @ coef.T + intercept - targets[k]) ** 2 / spread).sum())
        return total

    assert fitted.ridge_ == best_by_search(error, PENALTIES)


@KINDS
def test_outputs_have_the_axes_of_the_targets(kind: str) -> None:
    """A flat target is predicted flat, a column as a column; the numbers are the same."""
    X, y = data(kind, outputs=1)
    flat = y[..., 0] if isinstance(y, np.ndarray) else [t[:, 0] for t in y]
    columns, lines = each(model().fit(X, y).predict(X)), model().fit(X, flat).predict(X)
    for line, column in zip([lines] if kind == "one" else lines, columns, strict=True):
        assert (line.ndim, column.shape) == (1, (len(line), 1))
        np.testing.assert_array_equal(line, column[:, 0])


def test_several_outputs_are_fitted_one_by_one() -> None:
    X, y = data("one")
    both = model().fit(X, y)
    for output in range(2):
        alone = model().fit(X, y[:, output])
        assert_same_readout(alone, both.readout_.coef[[output]], both.readout_.intercept[[output]], tolerance=1e-12)


@KINDS
def test_predict_keeps_no_state(kind: str) -> None:
    X, y = data(kind)
    fitted = model().fit(X, y)
    first, _, second = fitted.predict(X), fitted.predict(each(X)[0]), fitted.predict(X)
    for one, two in zip(each(first), each(second), strict=True):
        np.testing.assert_array_equal(one, two)


@KINDS
def test_the_state_of_fit_continues_the_training_data(kind: str) -> None:
    X, y = data(kind)
    fitted = model().fit(X, y)
    more, _ = data(kind, noise=0.3, lengths=(44, 30, 71))
    tails = each(fitted.predict(more, state=fitted.state_))
    for before, after, tail in zip(each(X), each(more), tails, strict=True):
        whole = fitted.predict(np.concatenate([before, after]))
        np.testing.assert_allclose(tail, whole[len(before) :], rtol=0, atol=1e-10)
        assert np.abs(tail - fitted.predict(after)).max() > 1e-3  # from zero it is another prediction


@KINDS
def test_returned_states_chain_pieces_to_the_whole(kind: str) -> None:
    X, y = data(kind)
    fitted = model().fit(X, y)
    pieces: list[list[Array]] = []
    state: Any = None
    for begin, end in ((0, 11), (11, 12), (12, 80), (80, None)):
        piece = [u[begin:end] for u in each(X)]
        guess, state = fitted.predict(piece[0] if kind == "one" else piece, state=state, return_state=True)
        pieces.append(each(guess))
    for b, whole in enumerate(each(fitted.predict(X))):
        np.testing.assert_allclose(np.concatenate([piece[b] for piece in pieces]), whole, rtol=0, atol=1e-10)
    np.testing.assert_allclose(state, fitted.state_, rtol=0, atol=1e-10)


@KINDS
def test_score_is_r2_after_the_washout(kind: str) -> None:
    X, y = data(kind)
    fitted = model().fit(X, y)
    guesses = each(fitted.predict(X))
    expected = r2_score(cut(each(y), WASHOUT), cut(guesses, WASHOUT))
    assert fitted.score(X, y) == pytest.approx(expected, rel=1e-12)
    assert abs(expected - r2_score(cut(each(y), 0), cut(guesses, 0))) > 1e-6


def test_score_takes_weights_of_the_steps() -> None:
    X, y = data("one")
    fitted, weights = model().fit(X, y), np.linspace(0, 1, 120)
    expected = r2_score(y[WASHOUT:], fitted.predict(X)[WASHOUT:], sample_weight=weights[WASHOUT:])
    assert fitted.score(X, y, sample_weight=weights) == pytest.approx(expected, rel=1e-12)


def test_the_seed_decides() -> None:
    """Whole numbers and RandomState objects; the same seed gives the same bits."""
    X, y = data("one")

    def guess(seed: Any) -> Array:
        return np.asarray(model(random_state=seed).fit(X, y).predict(X))

    np.testing.assert_array_equal(guess(3), guess(np.int64(3)))
    np.testing.assert_array_equal(guess(np.random.RandomState(0)), guess(np.random.RandomState(0)))
    assert np.abs(guess(3) - guess(4)).max() > 1e-6
    assert np.abs(guess(None) - guess(None)).max() > 1e-6


def test_narma10_is_learned() -> None:
    """Two coupled reservoirs of 100 units on unseen data; the mean of the target would give 1."""
    X, y = narma(4000, seed=1)
    unseen, truth = narma(2000, seed=2)
    fitted = ESNRegressor(
        network=es.hierarchical([100, 100], leak_rate=[1.0, 0.5], spectral_radius=0.9, input_scaling=0.2, bias_scaling=0.5),
        washout=200,
        ridge=[1e-8, 1e-6, 1e-4],
        random_state=0,
    ).fit(X, y)
    assert es.nrmse(truth[200:], fitted.predict(unseen)[200:]) < 0.45


@pytest.mark.parametrize(
    "convert",
    [
        lambda a: a.tolist(),
        lambda a: a.astype(np.float16),
        lambda a: a.astype(np.float32),
        lambda a: a.astype(np.int8),
        lambda a: pd.Series(a) if a.ndim == 1 else pd.DataFrame(a) if a.ndim == 2 else a,
        lambda a: np.asfortranarray(a),
    ],
    ids=["nested lists", "float16", "float32", "int8", "pandas", "Fortran order"],
)
@KINDS
def test_what_is_accepted_as_data(convert: Callable[[Array], Any], kind: str) -> None:
    """Small whole numbers are the same in every type, so the predictions must be the same bits."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(-2, 3, (3, 40, 2)).astype(float), rng.integers(-9, 9, (3, 40)).astype(float)
    plain: Any = (X[0], y[0]) if kind == "one" else (list(X), list(y)) if kind == "list" else (X, y)
    given = tuple([convert(each) for each in a] if isinstance(a, list) else convert(a) for a in plain)
    expected, found = model().fit(*plain), model().fit(*given)
    np.testing.assert_array_equal(found.readout_.coef, expected.readout_.coef)
    np.testing.assert_array_equal(np.asarray(found.predict(given[0])), np.asarray(expected.predict(plain[0])))
    assert found.score(*given) == expected.score(*plain)


X0, Y0 = signal(60)
GAP = np.where(np.arange(60)[:, None] == 7, np.nan, X0)
BAD_DATA: list[tuple[str, Any, Any, str]] = [
    ("NaN in X", GAP, Y0, "X must be finite, found NaN at step"),
    ("inf in X", np.where(np.isnan(GAP), np.inf, X0), Y0, "X must be finite, found inf at step"),
    ("no target", X0, np.full_like(Y0, np.nan), "X leaves 0 step with a target"),
    ("inf in y", X0, np.where(np.isnan(GAP), -np.inf, Y0), "y must be finite, found -inf at step"),
    ("NaN in a batch", np.stack([X0, GAP]), np.stack([Y0, Y0]), r"X\[1\] must be finite, found NaN at step 7, feature 0"),
    ("inf in a list", [X0, GAP + np.inf], [Y0, Y0], r"X\[1\] must be finite"),
    (
        "inf in targets of a batch",
        np.stack([X0, X0]),
        np.stack([GAP + np.inf, Y0]),
        r"y\[0\] must be finite, found inf at step 0",
    ),
    ("no steps", X0[:0], Y0[:0], "0 sample"),
    ("one step", X0[:1], Y0[:1], "1 sample.*minimum of 2 is required"),
    ("no features", X0[:, :0], Y0, "0 feature"),
    ("no series", X0[None][:0], Y0[None][:0], "no series at all"),
    ("series of no steps", [X0, X0[:0]], [Y0, Y0[:0]], r"X\[1\] is empty"),
    ("as long as the washout", X0[:WASHOUT], Y0[:WASHOUT], f"X has {WASHOUT} steps.*washout={WASHOUT}.*[Ll]ower the washout"),
    (
        "a step longer than the washout",
        X0[: WASHOUT + 1],
        Y0[: WASHOUT + 1],
        f"X leaves 1 step with a target after washout={WASHOUT}: a readout needs at least 2",
    ),
    ("one too short", [X0, X0[:9]], [Y0, Y0[:9]], f"X\\[1\\] has 9 steps.*washout={WASHOUT}\\b"),
    ("mixed features", [X0, X0[:, :1]], [Y0, Y0], r"same number of features: X\[0\] has 2, X\[1\] has 1"),
    ("targets of another length", X0, Y0[:-1], r"inconsistent numbers of samples: \[60, 59\]"),
    (
        "targets of another length in a batch",
        np.stack([X0, X0]),
        np.stack([Y0, Y0])[:, :-1],
        r"y\[0\] has 59 steps, its input 60",
    ),
    (
        "targets of unequal lengths for a batch",
        np.stack([X0, X0]),
        [Y0[:, 0], Y0[:-1, 0]],
        r"y\[1\] has 59 steps, its input 60",
    ),
    ("targets of another length in a list", [X0, X0[:50]], [Y0, Y0], r"y\[1\] has 60 steps, its input 50"),
    ("too many target series", [X0, X0], [Y0, Y0, Y0], "y holds 3 series, the input 2"),
    ("too few target series", np.stack([X0, X0]), Y0[None], "y holds 1 series, the input 2"),
    ("four axes", X0[None, None], Y0[None, None], r"got shape \(1, 1, 60, 2\)"),
    ("a series of one axis in a list", [X0, X0[:, 0]], [Y0, Y0], r"X.*\(T, F\)"),
    ("too large for float32", X0 * 1e39, Y0, "X must be finite, found -?inf.*float32"),
]


@pytest.mark.parametrize(("X", "y", "message"), [case[1:] for case in BAD_DATA], ids=[case[0] for case in BAD_DATA])
def test_bad_data_is_named_by_fit(X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model(dtype="float32").fit(X, y)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (X0[:, :1], "1 features, but ESNRegressor is expecting 2"),
        (X0[None, :, :1], r"X\[0\] has 1 features, the network was built for 2"),
        ([X0, X0[:, :1]], "same number of features"),
        (GAP, "X must be finite, found NaN at step"),
        ([X0, GAP], r"X\[1\] must be finite, found NaN at step 7"),
        (X0[:0], "0 sample"),
    ],
)
def test_bad_data_is_named_by_predict(X: Any, message: str) -> None:
    fitted = model().fit(X0, Y0)
    with pytest.raises(ValueError, match=message):
        fitted.predict(X)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (X0[:WASHOUT], Y0[:WASHOUT], f"X has {WASHOUT} steps, not more than washout={WASHOUT}"),
        ([X0, X0[:3]], [Y0, Y0[:3]], f"X\\[1\\] has 3 steps, not more than washout={WASHOUT}"),
        (X0, Y0[:, 0], "y has 1 outputs, the model was fitted with 2"),
        (X0, Y0[:-1], "inconsistent numbers of samples"),
    ],
)
def test_bad_data_is_named_by_score(X: Any, y: Any, message: str) -> None:
    fitted = model().fit(X0, Y0)
    with pytest.raises(ValueError, match=message):
        fitted.score(X, y)


@pytest.mark.parametrize(
    ("state", "message"),
    [(np.zeros(14), r"state must have shape \(15,\)"), (np.full(15, np.nan), "state must be finite")],
)
def test_a_bad_state_is_named(state: Array, message: str) -> None:
    fitted = model().fit(X0, Y0)
    with pytest.raises(ValueError, match=message):
        fitted.predict(X0, state=state)


def test_nothing_works_before_fit() -> None:
    for call in (lambda: model().predict(X0), lambda: model().score(X0, Y0), lambda: model().forecast(3)):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call()


def test_unknown_parameters_are_named() -> None:
    with pytest.raises(TypeError, match="leakrate"):
        ESNRegressor(leakrate=0.3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="Invalid parameter 'leakrate'"):
        ESNRegressor().set_params(leakrate=0.3)


BAD_PARAMETERS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"units": 0}, ValueError, "units must be at least 1, got 0"),
    ({"units": 2.5}, TypeError, "units must be a whole number, got 2.5"),
    ({"units": (8, 8), "leak_rate": (1.0, 0.5, 0.2)}, ValueError, "leak_rate has 3 entries for 2 levels"),
    ({"leak_rate": 0.0}, ValueError, r"leak_rate must lie in \(0, 1\], got 0.0"),
    ({"leak_rate": 1.5}, ValueError, r"leak_rate must lie in \(0, 1\], got 1.5"),
    ({"spectral_radius": -0.5}, ValueError, "spectral_radius must not be negative, got -0.5"),
    ({"topology": "star"}, ValueError, "topology must be one of .*got 'star'"),
    ({"connections": 99}, ValueError, "connections=99 is above the size, 15"),
    ({"network": es.single(9), "columns": None}, ValueError, "network= is given, so units, leak_rate would be ignored"),
    ({"network": "single"}, TypeError, "network must be an echoscale Network, got 'single'"),
    ({"ridge": -1.0}, ValueError, "ridge must not be negative, got -1"),
    ({"ridge": float("nan")}, ValueError, "ridge must be finite, got nan"),
    ({"ridge": []}, ValueError, "ridge is an empty list: give at least one"),
    ({"ridge": None}, TypeError, "ridge must be a number, got None"),
    ({"ridge": [1.0, -2.0]}, ValueError, "ridge must not be negative, got -2"),
    ({"washout": -1}, ValueError, "washout must be at least 0, got -1"),
    ({"washout": 2.5}, TypeError, "washout must be a whole number, got 2.5"),
    ({"ridge": [1.0, 2.0], "folds": 0.2}, TypeError, "folds must be a whole number, got 0.2"),
    ({"ridge": [1.0, 2.0], "folds": 1}, ValueError, "folds must be at least 2, got 1"),
    ({"ridge": [1.0, 2.0], "washout": 53}, ValueError, "ridge holds 2 penalties, but there is too little data to choose by"),
    ({"ridge": "automatic"}, ValueError, "ridge must be 'auto', a number or a list of numbers, got 'automatic'"),
    ({"scale": "robust"}, ValueError, "scale must be one of 'standard', None; got 'robust'"),
    ({"scale": True}, ValueError, "scale must be one of 'standard', None; got True"),
    ({"dtype": "float16"}, ValueError, "dtype must be one of 'float32', 'float64'; got 'float16'"),
    ({"inputs": -1}, ValueError, "inputs, the number of inputs that a readout sees, must be at least 0, got -1"),
    ({"inputs": 1.5}, TypeError, "inputs, the number of inputs that a readout sees, must be a whole number, got 1.5"),
    ({"difference": "season"}, ValueError, "difference must be one of 'none', 'last'; got 'season'"),
    ({"noise": -1.0}, ValueError, "noise must not be negative, got -1"),
    ({"device": "abacus"}, ValueError, "device='abacus' is not there; JAX sees cpu"),
]


@pytest.mark.parametrize(("parameters", "error", "message"), BAD_PARAMETERS)
def test_bad_parameters_are_named(parameters: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        model(**parameters).fit(X0, Y0)


def test_columns_are_an_object() -> None:
    with pytest.raises(TypeError, match=r"columns must be an echoscale\.readouts\.Columns or None, got 3"):
        ESNRegressor(columns=3).fit(X0, Y0)  # type: ignore[arg-type]


def test_partial_fit_needs_one_penalty() -> None:
    with pytest.raises(ValueError, match="partial_fit needs one fixed ridge or 'auto', got 2"):
        model(ridge=[1.0, 2.0]).partial_fit(X0, Y0)


@pytest.mark.parametrize(("X", "y"), [(X0, Y0), (np.stack([X0] * 3), np.stack([Y0] * 3))])
def test_partial_fit_needs_the_series_of_the_chunk_before(X: Array, y: Array) -> None:
    """Unless new ones are begun."""
    begun = model().partial_fit(np.stack([X0, X0]), np.stack([Y0, Y0]))
    with pytest.raises(ValueError, match=r"this chunk holds \d series.*pass new_series=True"):
        begun.partial_fit(X, y)
    assert begun.partial_fit(X, y, new_series=True).statistics_.count == 40 * (2 + len(each(X)))


def test_partial_fit_needs_the_outputs_of_the_chunk_before() -> None:
    with pytest.raises(ValueError, match="y has 1 outputs, the model was fitted with 2"):
        model().partial_fit(X0, Y0).partial_fit(X0, Y0[:, :1])


def test_a_failed_chunk_changes_nothing() -> None:
    """What was learned stays usable, and the next good chunk carries on."""
    X, y = data("one")
    chunked = model().partial_fit(X[:60], y[:60])
    for bad in (X[60:, :1], X[60:] * np.nan):
        with pytest.raises(ValueError, match=r"features|NaN"):
            chunked.partial_fit(bad, y[60:])
    whole = model().fit(X, y)
    assert_same_readout(chunked.partial_fit(X[60:], y[60:]), whole.readout_.coef, whole.readout_.intercept)


def test_a_fit_that_fails_leaves_the_last_one_whole() -> None:
    fitted = model(random_state=0).fit(X0, Y0)
    before = fitted.predict(X0)
    fitted.set_params(random_state=1, ridge=[1e-3, 1e-1], washout=53)
    with pytest.raises(ValueError, match="too little data to choose by"):
        fitted.fit(X0, Y0)
    np.testing.assert_array_equal(fitted.predict(X0), before)
