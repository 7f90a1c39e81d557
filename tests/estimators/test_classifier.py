"""Both classifiers against one-hot ridge regression written in NumPy on the states that `esn_.run` returns."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from flat import flat
from sklearn.exceptions import NotFittedError

import echoscale as es
from echoscale import ESNClassifier, ESNStepClassifier

Array = npt.NDArray[Any]

WASHOUT = 10
COUNT = 30
NAMES = np.array(["ash", "birch", "cedar"])
KINDS = pytest.mark.parametrize("kind", ["one", "batch", "list"])
FEATURES = pytest.mark.parametrize(
    ("features", "every", "unequal"),
    [
        ("last", None, False),
        ("last", None, True),
        ("mean", None, False),
        ("mean", None, True),
        ("snapshots", 7, False),
        ("snapshots", None, True),
        (("segments", "std", "max", "min"), None, True),
        (("mean", "std", "last"), None, False),
    ],
)


SHARED: dict[str, Any] = {
    "units": 12,
    "leak_rate": 0.6,
    "input_scaling": 1.0,
    "bias_scaling": 0.0,
    "dtype": "float64",
    "random_state": 1,
    "washout": WASHOUT,
    "scale": None,
    "ridge": 0.1,
}


def model(**parameters: Any) -> ESNClassifier:
    """A small network in float64, for one label per sequence."""
    defaults: dict[str, Any] = {**SHARED, "features": "last", "changes": False}
    return flat(ESNClassifier, **{**defaults, **parameters})


def step_model(**parameters: Any) -> ESNStepClassifier:
    """The same for one label per step."""
    return flat(ESNStepClassifier, **{**SHARED, **parameters})


def either(per_sequence: bool) -> Any:
    return model() if per_sequence else step_model()


def steps(kind: str, classes: int = 3) -> tuple[Any, Any]:
    """Two inputs of noise; the class of a step depends on the steps before it."""
    rng = np.random.default_rng(5)
    lengths = {"one": (80,), "batch": (80, 80, 80), "list": (60, 80, 47)}[kind]
    X = [rng.normal(size=(n, 2)) for n in lengths]
    y = [NAMES[np.digitize(u[:, 0] + np.roll(u[:, 1], 1), [-0.4, 0.6][: classes - 1])] for u in X]
    if kind == "one":
        return X[0], y[0]
    return (np.stack(X), np.stack(y)) if kind == "batch" else (X, y)


def sequences(unequal: bool = False, classes: int = 3, noise: float = 0.5, seed: int = 0) -> tuple[Any, Array]:
    """Noisy oscillations whose frequency is the class, 30 of them with 20 to 40 or with 40 steps."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, COUNT)
    lengths = rng.integers(20, 41, COUNT) if unequal else np.full(COUNT, 40)
    times = [np.arange(n)[:, None] * (0.3 + 0.2 * code) + rng.uniform(0, 6) for n, code in zip(lengths, codes, strict=True)]
    X = [np.hstack([np.sin(t), np.cos(t)]) + noise * rng.normal(size=(len(t), 2)) for t in times]
    return (X if unequal else np.stack(X)), NAMES[codes]


def each(values: Any) -> list[Array]:
    """The series (or the labels of the series) one by one; one series is a list of one."""
    return list(values) if isinstance(values, list) or (isinstance(values, np.ndarray) and values.ndim == 3) else [values]


def one_hot_ridge(features: Array, labels: Array, classes: Array, penalty: float) -> tuple[Array, Array]:
    """Least squares on rows with sqrt(penalty) I below them; no normal equations."""
    codes = np.array([[float(label == name) for name in classes] for label in labels])
    x_mean, y_mean = features.mean(axis=0), codes.mean(axis=0)
    count = features.shape[1]
    above = np.vstack([features - x_mean, np.sqrt(penalty) * np.eye(count)])
    coef = np.linalg.lstsq(above, np.vstack([codes - y_mean, np.zeros((count, len(classes)))]), rcond=None)[0].T
    return coef, y_mean - coef @ x_mean


def standardised_ridge(features: Array, labels: Array, classes: Array, penalty: float) -> tuple[Array, Array]:
    """The same on features of mean 0 and standard deviation 1, as a readout of the features themselves."""
    mean, spread = features.mean(axis=0), features.std(axis=0)
    coef, intercept = one_hot_ridge((features - mean) / spread, labels, classes, penalty)
    return coef / spread, intercept - coef @ (mean / spread)


def judged_by(esn: es.ESN, X: Any, features: str | tuple[str, ...], every: int | None = None, parts: int = 4) -> Array:
    """What each sequence is judged by, from all of its states by a plain loop, each sequence run alone."""
    names = (features,) if isinstance(features, str) else features
    rows = []
    for states in (esn.run(u) for u in X):
        late, total, row = states[WASHOUT:], len(states), []
        for name in names:
            if name == "segments":
                cuts = [(math.floor(k * len(late) / parts), math.ceil((k + 1) * len(late) / parts)) for k in range(parts)]
                row += [late[a:b].mean(axis=0) for a, b in cuts]
            elif name == "snapshots":
                row += [states[math.ceil((k + 1) * total / parts) - 1] for k in range(parts)] if every is None else []
                row += list(states[every - 1 :: every]) if every is not None else []
            else:
                row.append(states[-1] if name == "last" else getattr(np, name)(late, axis=0))
        rows.append(np.concatenate(row))
    return np.array(rows)


def assert_same_readout(found: ESNClassifier | ESNStepClassifier, coef: Array, intercept: Array) -> None:
    """Coefficients relative to the largest of them."""
    np.testing.assert_allclose(found.readout_.coef, coef, rtol=0, atol=1e-9 * np.abs(coef).max())
    np.testing.assert_allclose(found.readout_.intercept, intercept, rtol=0, atol=1e-9)


@KINDS
@pytest.mark.parametrize("inputs", [0, 1])
def test_labels_of_steps_are_those_of_one_hot_ridge_on_the_states(kind: str, inputs: int) -> None:
    X, y = steps(kind)
    labels = list(y) if kind == "batch" else each(y)
    fitted = step_model(inputs=inputs).fit(X, y)
    rows = [np.hstack([fitted.esn_.run(u), u]) if inputs else fitted.esn_.run(u) for u in each(X)]
    coef, intercept = one_hot_ridge(
        np.concatenate([x[WASHOUT:] for x in rows]), np.concatenate([t[WASHOUT:] for t in labels]), NAMES, 0.1
    )
    np.testing.assert_array_equal(fitted.classes_, NAMES)
    assert_same_readout(fitted, coef, intercept)
    outputs, guesses = fitted.decision_function(X), fitted.predict(X)
    correct = []
    for b, (x, label) in enumerate(zip(rows, labels, strict=True)):
        scores = x @ coef.T + intercept
        guess = guesses if kind == "one" else guesses[b]
        np.testing.assert_allclose(outputs if kind == "one" else outputs[b], scores, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(guess, NAMES[scores.argmax(axis=1)])
        correct.append(guess[WASHOUT:] == label[WASHOUT:])
    accuracy = float(np.concatenate(correct).mean())
    assert 0.5 < accuracy < 1
    assert fitted.score(X, y) == pytest.approx(accuracy, rel=1e-12)


@FEATURES
def test_labels_of_sequences_are_those_of_one_hot_ridge_on_their_features(
    features: str | tuple[str, ...], every: int | None, unequal: bool
) -> None:
    (X, y), (unseen, truth) = sequences(unequal), sequences(unequal, seed=1)
    fitted = model(features=features, every=every).fit(X, y)
    coef, intercept = standardised_ridge(judged_by(fitted.esn_, X, features, every), y, NAMES, 0.1)
    assert_same_readout(fitted, coef, intercept)
    scores = judged_by(fitted.esn_, unseen, features, every) @ coef.T + intercept
    np.testing.assert_allclose(fitted.decision_function(unseen), scores, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(fitted.predict(unseen), NAMES[scores.argmax(axis=1)])
    assert fitted.score(unseen, truth) == pytest.approx(float((NAMES[scores.argmax(axis=1)] == truth).mean()), rel=1e-12)


@pytest.mark.parametrize(("features", "every"), [("last", None), ("mean", None), ("snapshots", 7)])
def test_one_sequence_alone_is_judged_as_among_others(features: str, every: int | None) -> None:
    X, y = sequences()
    fitted = model(features=features, every=every).fit(X, y)
    alone = [fitted.decision_function(u[None])[0] for u in X]
    np.testing.assert_allclose(fitted.decision_function(X), alone, rtol=0, atol=1e-10)
    np.testing.assert_allclose(fitted.decision_function(list(X)), alone, rtol=0, atol=1e-10)


@pytest.mark.parametrize("per_sequence", [False, True])
def test_two_classes_have_one_decision(per_sequence: bool) -> None:
    """Positive for the second class; it is the difference of the two outputs."""
    X, y = sequences(classes=2) if per_sequence else steps("one", classes=2)
    fitted = either(per_sequence).fit(X, y)
    decision = fitted.decision_function(X)
    rows = judged_by(fitted.esn_, X, "last") if per_sequence else fitted.esn_.run(X)
    coef, intercept = fitted.readout_.coef, fitted.readout_.intercept
    np.testing.assert_allclose(decision, rows @ (coef[1] - coef[0]) + intercept[1] - intercept[0], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(fitted.predict(X), np.where(decision > 0, "birch", "ash"))
    assert (decision > 0).any()
    assert (decision < 0).any()


def convert_to_codes(names: Array) -> Array:
    """-1, 7, 20 in the order of the names."""
    return np.array([-1, 7, 20])[np.searchsorted(NAMES, names)]


@pytest.mark.parametrize(
    "convert",
    [
        convert_to_codes,
        lambda y: convert_to_codes(y).astype(float),
        lambda y: y.astype(object),
        lambda y: y.tolist(),
        pd.Series,
    ],
    ids=["ints", "floats", "objects", "list", "pandas"],
)
@pytest.mark.parametrize("per_sequence", [False, True])
def test_labels_may_be_of_any_type(convert: Callable[[Array], Any], per_sequence: bool) -> None:
    X, y = sequences() if per_sequence else steps("one")
    expected = either(per_sequence).fit(X, y)
    found = either(per_sequence).fit(X, convert(y))
    np.testing.assert_array_equal(found.readout_.coef, expected.readout_.coef)
    np.testing.assert_array_equal(found.predict(X), np.asarray(convert(expected.predict(X))))
    assert found.score(X, convert(y)) == expected.score(X, y)


@pytest.mark.parametrize("kind", ["one", "batch"])
@pytest.mark.parametrize("ends", [(30, 60), (3, 9, 40)])
def test_chunks_of_steps_equal_the_whole(kind: str, ends: tuple[int, ...]) -> None:
    """The washout of 10 steps may be longer than the first chunks."""
    X, y = steps(kind)
    whole, chunked = step_model().fit(X, y), step_model()
    for a, b in zip((0, *ends), (*ends, 80), strict=True):
        chunked.partial_fit(X[..., a:b, :], y[..., a:b], classes=NAMES)
    assert_same_readout(chunked, whole.readout_.coef, whole.readout_.intercept)
    np.testing.assert_array_equal(chunked.predict(X), whole.predict(X))


def test_a_new_series_of_steps_starts_from_zero() -> None:
    X, y = steps("batch")
    whole, chunked = step_model().fit(X, y), step_model()
    for u, labels in zip(X, y, strict=True):
        chunked.partial_fit(u, labels, classes=NAMES, new_series=True)
    assert_same_readout(chunked, whole.readout_.coef, whole.readout_.intercept)


@FEATURES
def test_groups_of_sequences_equal_the_whole(features: str, every: int | None, unequal: bool) -> None:
    """Sorted by class, so that the first group does not hold all of them."""
    X, y = sequences(unequal)
    order = np.argsort(y, kind="stable")
    whole, grouped = model(features=features, every=every).fit(X, y), model(features=features, every=every)
    for group in (order[:4], order[4:5], order[5:]):
        grouped.partial_fit([X[b] for b in group], y[group], classes=NAMES)
    assert_same_readout(grouped, whole.readout_.coef, whole.readout_.intercept)


def test_states_chain_the_pieces_of_a_series() -> None:
    X, y = steps("one")
    fitted = step_model().fit(X, y)
    head, state = fitted.predict(X[:33], return_state=True)
    tail = fitted.predict(X[33:], state=state)
    np.testing.assert_array_equal(np.concatenate([head, tail]), fitted.predict(X))
    np.testing.assert_allclose(
        fitted.decision_function(X, state=fitted.state_), fitted.decision_function(np.vstack([X, X]))[80:], rtol=0, atol=1e-10
    )


PENALTIES = np.geomspace(1e-4, 1e4, 9).tolist()


def chosen(rows: Array, labels: Array, held_out: list[tuple[Array, Array]]) -> float:
    """The penalty with the least error, by hand; held_out has the rows (to train on, held out) of every fold.

    Penalties are relative to the mean squared singular value of the features. Errors of a class count in its variance.
    """
    codes = (labels[:, None] == NAMES).astype(float)
    spread = codes[np.concatenate(held_out[0])].var(axis=0)

    def unit(features: Array) -> float:
        return float((np.linalg.svd(features - features.mean(axis=0), compute_uv=False) ** 2).sum())

    def error(penalty: float) -> float:
        total = 0.0
        for train, test in held_out:
            coef, intercept = one_hot_ridge(rows[train], labels[train], NAMES, penalty * unit(rows[train]) / unit(rows))
            total += ((rows[test] @ coef.T + intercept - codes[test]) ** 2 / spread).sum()
        return float(total)

    best: float = min(PENALTIES, key=error)
    assert best not in (PENALTIES[0], PENALTIES[-1])
    return best


def dealt(labels: Array, folds: int) -> list[Array]:
    """Sorted by class, then dealt out like cards: every fold has its share of every class."""
    order = [b for name in NAMES for b, label in enumerate(labels) if label == name]
    return [np.array(order[k::folds]) for k in range(folds)]


@pytest.mark.parametrize("folds", [3, 1000])
def test_the_penalty_is_the_best_on_held_out_sequences(folds: int) -> None:
    """Each of three folds, or each sequence by itself; then all of them are fitted."""
    X, y = sequences(noise=1.0)
    fitted = model(units=40, ridge=PENALTIES, folds=folds).fit(X, y)
    rows = judged_by(fitted.esn_, X, "last")
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    groups = dealt(y, min(folds, COUNT))
    best = chosen(standard, y, [(np.setdiff1d(np.arange(COUNT), group), group) for group in groups])
    assert fitted.ridge_ == best
    assert_same_readout(fitted, *standardised_ridge(rows, y, NAMES, best))


def test_the_penalty_of_steps_is_the_best_on_folds_of_time() -> None:
    X, y = steps("one")
    fitted = step_model(units=40, ridge=PENALTIES, folds=2).fit(X, y)
    rows = fitted.esn_.run(X)[WASHOUT:]
    # Two folds of the 70 steps after the washout; one step between them is left out.
    first, second = np.arange(34), np.arange(35, 70)
    assert fitted.ridge_ == chosen(rows, y[WASHOUT:], [(second, first), (first, second)])


@pytest.mark.parametrize(("features", "every"), [("last", None), ("mean", None), ("snapshots", 10)])
def test_two_frequencies_in_noise_are_told_apart(features: str, every: int | None) -> None:
    """Sines of random phase with periods of 12 and 18 steps; 200 to learn from, 200 unseen. Guessing gives a half."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(400) % 2)
    times = np.arange(60) * np.array([2 * np.pi / 12, 2 * np.pi / 18])[labels, None] + rng.uniform(0, 2 * np.pi, (400, 1))
    X = (np.sin(times) + 0.2 * rng.normal(size=times.shape))[..., None]
    fitted = ESNClassifier(
        units=100,
        leak_rate=0.5,
        pools=es.readouts.Pools(features, every=every),
        washout=20,
        ridge=1e-2,
        random_state=0,
    ).fit(X[:200], labels[:200])
    assert fitted.score(X[200:], labels[200:]) > 0.95


X0, Y0 = steps("one")
S0, L0 = sequences()
BAD_DATA: list[tuple[str, Any, Any, str]] = [
    ("NaN in X", np.where(np.arange(80)[:, None] == 3, np.nan, X0), Y0, "X must be finite, found NaN at step"),
    ("inf in a batch", np.where(np.arange(40)[:, None] == 3, np.inf, S0), L0, r"X\[0\] must be finite, found inf at step 3"),
    ("NaN in y", X0, np.where(Y0 == "ash", np.nan, 1.0), "y must be finite, found NaN at step"),
    ("NaN in labels of sequences", S0, np.where(L0 == "ash", np.nan, 1.0), "y lacks [0-9]+ of 30 labels"),
    ("no steps", X0[:0], Y0[:0], "0 sample"),
    ("one step", X0[:1], Y0[:1], "1 sample.*minimum of 2 is required"),
    ("as long as the washout", X0[:WASHOUT], Y0[:WASHOUT], f"X has {WASHOUT} steps.*washout={WASHOUT}\\b"),
    ("mixed features", [S0[0], S0[1][:, :1]], L0[:2], r"same number of features: X\[0\] has 2, X\[1\] has 1"),
    ("labels of another length", X0, Y0[:-1], r"inconsistent numbers of samples: \[80, 79\]"),
    ("labels of another length in a list", [X0, X0[:50]], [Y0, Y0], r"y\[1\] has 80 steps, its input 50"),
    ("too few labels", S0, L0[:-1], "y holds 29 entries for 30 series: give one label or one target series each"),
    ("one class only", X0, np.full(80, "ash"), r"one class only, \['ash'\]: a classifier needs at least two"),
    ("one class of sequences", S0, np.full(COUNT, 4), r"one class only, \[4\]: a classifier needs at least two"),
    ("continuous labels", X0, X0[:, 0], "continuous"),
    ("continuous labels of sequences", S0, S0[:, 0, 0], "continuous"),
]


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning:sklearn")  # before it raises on NaN
@pytest.mark.parametrize(("X", "y", "message"), [case[1:] for case in BAD_DATA], ids=[case[0] for case in BAD_DATA])
def test_bad_data_is_named_by_fit(X: Any, y: Any, message: str) -> None:
    per_sequence = np.ndim(y) == 1 and (isinstance(X, list) or X.ndim == 3)
    with pytest.raises(ValueError, match=message):
        either(per_sequence).fit(X, y)


BAD_PARAMETERS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"features": "first"}, ValueError, "features must be one of 'mean', 'std', .*, or several of them; got 'first'"),
    ({"features": ("mean", "mean")}, ValueError, "features must name at least one way of pooling, and each once"),
    ({"features": ()}, ValueError, "features must name at least one way of pooling"),
    ({"features": "segments", "parts": 0}, ValueError, "parts must be at least 1, got 0"),
    ({"features": "snapshots", "every": 0}, ValueError, "every must be at least 1, got 0"),
    ({"features": "snapshots", "every": 2.5}, TypeError, "every must be a whole number, got 2.5"),
    ({"features": "snapshots", "every": 41}, ValueError, "every=41 is longer than the sequences of 40 steps"),
    ({"features": "mean", "washout": 40}, ValueError, r"X\[0\] has 40 steps, not more than washout=40"),
    ({"washout": -1}, ValueError, "washout must be at least 0, got -1"),
    ({"ridge": []}, ValueError, "ridge is an empty list"),
    ({"ridge": -1.0}, ValueError, "ridge must not be negative, got -1"),
    ({"washout": None}, TypeError, "washout must be a whole number, got None"),
    ({"ridge": [1.0, 2.0], "folds": 1.0}, TypeError, "folds must be a whole number, got 1.0"),
    ({"folds": 1}, ValueError, "folds must be at least 2, got 1"),
    ({"ranks": "yes"}, ValueError, "ranks must be one of True, False, None; got 'yes'"),
    ({"dtype": "float16"}, ValueError, "dtype must be one of 'float32', 'float64'; got 'float16'"),
]


@pytest.mark.parametrize(("parameters", "error", "message"), BAD_PARAMETERS)
def test_bad_parameters_are_named_by_fit(parameters: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        model(**parameters).fit(S0, L0)


def test_unknown_parameters_are_named() -> None:
    with pytest.raises(TypeError, match="feature"):
        ESNClassifier(feature="mean")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="Invalid parameter 'feature'"):
        ESNClassifier().set_params(feature="mean")


def test_nothing_works_before_fit() -> None:
    calls: list[Callable[[], Any]] = [
        lambda: step_model().predict(X0),
        lambda: step_model().decision_function(X0),
        lambda: step_model().score(X0, Y0),
        lambda: model().predict(S0),
        lambda: model().predict_proba(S0),
        lambda: model().score(S0, L0),
    ]
    for call in calls:
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call()


def test_a_model_of_sequences_needs_sequences() -> None:
    fitted = model().fit(S0, L0)
    with pytest.raises(ValueError, match=r"one label per sequence: pass \(B, T, F\) or a list.*X\[None\]"):
        fitted.predict(S0[0])
    with pytest.raises(ValueError, match=r"X of shape \(80, 2\) is one series, .*For one label per step use ESNStepClassifier"):
        fitted.score(X0, Y0)
    with pytest.raises(ValueError, match=r"y gives one label per step, .*give y of shape \(B,\), or use ESNStepClassifier"):
        model().fit(*steps("batch"))
    with pytest.raises(
        ValueError, match=r"y gives one label per sequence, .*give a label for every step, or use ESNClassifier"
    ):
        step_model().fit(X0, Y0).score(S0, L0)


def test_pools_and_columns_are_objects() -> None:
    with pytest.raises(TypeError, match=r"pools must be an echoscale\.readouts\.Pools or None, got 'mean'"):
        ESNClassifier(pools="mean").fit(S0, L0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"columns must be an echoscale\.readouts\.Columns or None, got 3"):
        ESNStepClassifier(columns=3).fit(X0, Y0)  # type: ignore[arg-type]


def test_other_numbers_of_features_are_named() -> None:
    with pytest.raises(ValueError, match="1 features, but ESNStepClassifier is expecting 2"):
        step_model().fit(X0, Y0).predict(X0[:, :1])
    with pytest.raises(ValueError, match=r"X\[0\] has 1 features, the network was built for 2"):
        model().fit(S0, L0).predict(S0[:, :, :1])


def test_snapshots_need_sequences_of_one_length() -> None:
    """In fit, and in predict the length that was fitted."""
    with pytest.raises(ValueError, match=r"every 5 steps need sequences of one length, got 20 to 40 steps\. Leave `every` out"):
        model(features="snapshots", every=5).fit([S0[0], S0[1][:20], S0[2]], ["ash", "birch", "ash"])
    fitted = model(features="snapshots", every=5).fit(S0, L0)
    with pytest.raises(ValueError, match=r"(?s)20 steps.*snapshots|snapshots.*20 steps"):
        fitted.predict(S0[:, :20])


def test_score_needs_steps_after_the_washout() -> None:
    with pytest.raises(ValueError, match=f"X has {WASHOUT} steps, not more than washout={WASHOUT}"):
        step_model().fit(X0, Y0).score(X0[:WASHOUT], Y0[:WASHOUT])


@pytest.mark.parametrize("per_sequence", [False, True])
def test_labels_that_are_not_among_the_classes_are_named(per_sequence: bool) -> None:
    X, y = (S0, L0) if per_sequence else (X0, Y0)
    message = r"y holds \['cedar'\], which are not among the classes \['ash', 'birch'\]"
    with pytest.raises(ValueError, match=message):
        either(per_sequence).partial_fit(X, y, classes=["ash", "birch"])
    begun = either(per_sequence).partial_fit(X, np.where(y == "cedar", "ash", y))
    with pytest.raises(ValueError, match=message):
        begun.partial_fit(X, y)


@pytest.mark.parametrize("per_sequence", [False, True])
def test_partial_fit_needs_two_classes(per_sequence: bool) -> None:
    X, y = (S0, np.full(COUNT, "ash")) if per_sequence else (X0, np.full(80, "ash"))
    for classes in (None, ["ash"]):
        with pytest.raises(ValueError, match=r"one class only, \['ash'\]"):
            either(per_sequence).partial_fit(X, y, classes=classes)


def test_partial_fit_of_steps_needs_one_penalty() -> None:
    with pytest.raises(ValueError, match="partial_fit needs one fixed ridge or 'auto', got 2"):
        step_model(ridge=[1.0, 2.0]).partial_fit(X0, Y0)


def test_partial_fit_needs_the_series_of_the_chunk_before() -> None:
    begun = step_model().partial_fit(X0, Y0)
    with pytest.raises(ValueError, match=r"this chunk holds 2 series.*pass new_series=True"):
        begun.partial_fit(np.stack([X0, X0]), np.stack([Y0, Y0]))


def test_sequences_count_from_their_first_step_on() -> None:
    """Unless a washout is given; the padding of shorter sequences does not count."""
    X, y = sequences(unequal=True)
    found = model(features="mean", washout=0).fit(X, y)
    assert found.washout_ == ESNClassifier().washout == 0
    together = found.decision_function([X[0], X[1][:12]])
    np.testing.assert_allclose(together[:1], found.decision_function(X[:1]), rtol=0, atol=1e-12)


def test_one_sequence_of_every_class_is_refused() -> None:
    with pytest.raises(ValueError, match=r"one sequence of each class, \['ash', 'birch', 'cedar'\].*Give at least two"):
        model().fit([S0[0], S0[1], S0[2]], NAMES)


def test_sequences_of_one_input_may_have_one_axis() -> None:
    X, y = sequences(unequal=True)
    columns = [each[:, :1] for each in X]
    bare, expected = model().fit([each[:, 0] for each in X], y), model().fit(columns, y)
    np.testing.assert_array_equal(bare.readout_.coef, expected.readout_.coef)
    np.testing.assert_array_equal(bare.predict([each[:, 0] for each in X]), expected.predict(columns))
    assert bare.score([pd.Series(each[:, 0]) for each in X], y) == expected.score(columns, y)


def test_empty_sequences_are_named() -> None:
    with pytest.raises(ValueError, match=r"X\[1\] is empty"):
        model().fit([S0[0], S0[1][:0], S0[2]], ["ash", "birch", "ash"])


def test_channels_in_front_of_time_are_noticed() -> None:
    """Six channels of 100 steps look like six steps of 100 inputs; noise in either order does not."""
    rng = np.random.default_rng(0)
    labels = np.arange(20) % 2
    waves = np.sin(np.arange(100) * (0.1 + 0.1 * labels[:, None, None]) + rng.uniform(0, 6, (20, 6, 1)))
    with pytest.warns(UserWarning, match=r"looks like 6 channels of 100 steps: then pass X.transpose\(0, 2, 1\)"):
        model(washout=0).fit(waves, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(washout=0).fit(waves.transpose(0, 2, 1), labels)
        model(washout=0).fit(rng.normal(size=(20, 6, 100)), labels)
