"""Both classifiers with readouts that are trained by minibatches, against `logistic.fit` on states that `esn_.run` returns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from flat import flat
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.utils import estimator_checks

import echoscale as es
from echoscale import ESNClassifier, ESNStepClassifier
from echoscale.engine import lanes
from echoscale.readouts import logistic
from echoscale.readouts.classes import steepness

Array = npt.NDArray[Any]

WASHOUT = 10
COUNT, STEPS = 60, 24
NAMES = np.array(["ash", "birch", "cedar"])


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
    "readout": "softmax",
    "epochs": 3,
    "rate": 0.01,
    "batch": 20,
}


def model(**parameters: Any) -> ESNClassifier:
    """A small network in float64, trained for a few epochs, for one label per sequence."""
    defaults: dict[str, Any] = {**SHARED, "features": "last", "changes": False}
    return flat(ESNClassifier, **{**defaults, **parameters})


def step_model(**parameters: Any) -> ESNStepClassifier:
    """The same for one label per step."""
    return flat(ESNStepClassifier, **{**SHARED, **parameters})


def sequences(seed: int = 0, noise: float = 0.5) -> tuple[Array, Array]:
    """Two inputs of noise around levels that tell the class."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, COUNT)
    levels = np.array([[0.5, 0.0], [0.0, 0.5], [-0.3, -0.3]])
    return levels[codes][:, None] + noise * rng.normal(size=(COUNT, STEPS, 2)), NAMES[codes]


def steps(lengths: tuple[int, ...]) -> tuple[list[Array], list[Array]]:
    """Two inputs of noise; the class of a step depends on the steps before it."""
    rng = np.random.default_rng(5)
    X = [rng.normal(size=(n, 2)) for n in lengths]
    return X, [NAMES[np.digitize(u[:, 0] + np.roll(u[:, 1], 1), [-0.4, 0.6])] for u in X]


def codes(labels: Array) -> Array:
    return np.searchsorted(NAMES, labels)


def expected(fitted: ESNClassifier | ESNStepClassifier, rows: Array, labels: Array, **changes: Any) -> logistic.Trained:
    """The training that the classifier's documentation describes, on rows that were made by hand."""
    readout: Any = fitted.readout
    settings: dict[str, Any] = {
        "loss": readout.loss,
        "rate": readout.rate,
        "schedule": "cosine",
        "epochs": readout.epochs,
        "minibatch": readout.batch,
        "ridge": 0.1 / len(rows),
        "standardise": True,
        "seed": fitted.random_state,
        "dtype": "float64",
    }
    return logistic.fit(rows, codes(labels), 3, **{**settings, **changes})


def assert_same(fitted: ESNClassifier | ESNStepClassifier, wanted: logistic.Trained) -> None:
    """States made step by step and in one scan differ by rounding, which a few steps of Adam amplify."""
    np.testing.assert_allclose(fitted.readout_.coef, wanted.coef, rtol=0, atol=1e-8 * np.abs(wanted.coef).max())
    np.testing.assert_allclose(fitted.readout_.intercept, wanted.intercept, rtol=0, atol=1e-8)
    np.testing.assert_allclose(fitted.history_.train_loss, wanted.history.train_loss, rtol=1e-8)


def judged_by(esn: es.ESN, X: Any, features: str, every: int | None = None) -> Array:
    """What each sequence is judged by, from all of its states, each sequence run alone."""
    states = [esn.run(u) for u in X]
    if features == "last":
        return np.array([x[-1] for x in states])
    if features == "mean":
        return np.array([x[WASHOUT:].mean(axis=0) for x in states])
    assert every is not None
    return np.array([x[every - 1 :: every].ravel() for x in states])


@pytest.mark.parametrize(
    ("readout", "features", "every"),
    [("softmax", "last", None), ("sigmoid", "mean", None), ("sigmoid", "snapshots", 8)],
)
def test_sequences_are_trained_on_their_features(readout: str, features: str, every: int | None) -> None:
    (X, y), (unseen, truth) = sequences(), sequences(1)
    fitted = model(readout=readout, features=features, every=every).fit(X, y)
    wanted = expected(fitted, judged_by(fitted.esn_, X, features, every), y)
    assert_same(fitted, wanted)
    z = judged_by(fitted.esn_, unseen, features, every) @ wanted.coef.T + wanted.intercept
    np.testing.assert_allclose(fitted.decision_function(unseen), z, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(fitted.predict(unseen), NAMES[z.argmax(axis=1)])
    p = softmax(z, axis=1) if readout == "softmax" else expit(z) / expit(z).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_proba(unseen), p, rtol=0, atol=1e-7)
    assert fitted.score(unseen, truth) == (NAMES[z.argmax(axis=1)] == truth).mean()


@pytest.mark.parametrize("kind", ["one", "batch", "list"])
def test_steps_are_trained_on_all_states_after_the_washout(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The input beside the states in one case; unequal lengths in another, in chunks that are shorter than the washout."""
    inputs = int(kind == "one")
    if kind == "list":
        monkeypatch.setattr(lanes, "SHORTEST_CHUNK", 8)
        monkeypatch.setattr(lanes, "LONGEST_CHUNK", 8)
    X, y = steps({"one": (130,), "batch": (50, 50, 50), "list": (70, 50, 30)}[kind])
    given: Any = (X[0], y[0]) if kind == "one" else (np.stack(X), np.stack(y)) if kind == "batch" else (X, y)
    fitted = step_model(readout="sigmoid", inputs=inputs).fit(*given)
    rows = [np.hstack([fitted.esn_.run(u), u]) if inputs else fitted.esn_.run(u) for u in X]
    wanted = expected(fitted, np.concatenate([x[WASHOUT:] for x in rows]), np.concatenate([each[WASHOUT:] for each in y]))
    assert_same(fitted, wanted)
    probabilities, guesses = fitted.predict_proba(given[0]), fitted.predict(given[0])
    for b, x in enumerate(rows):
        p = expit(x @ wanted.coef.T + wanted.intercept)
        found = probabilities if kind == "one" else probabilities[b]
        np.testing.assert_allclose(found, p / p.sum(axis=1, keepdims=True), rtol=0, atol=1e-7)
        np.testing.assert_array_equal(guesses if kind == "one" else guesses[b], NAMES[p.argmax(axis=1)])
    if kind == "one":
        _, state = fitted.predict(X[0], return_state=True)
        np.testing.assert_allclose(fitted.state_, state, rtol=0, atol=1e-12)
        both = fitted.predict_proba(np.vstack([X[0], X[0]]))
        np.testing.assert_allclose(fitted.predict_proba(X[0], state=fitted.state_), both[130:], rtol=0, atol=1e-10)


PENALTIES = [1e-3, 10.0, 1e5]


def test_the_penalty_of_sequences_is_the_best_on_those_held_out() -> None:
    """Each of three folds, dealt out class by class; then all of them are trained on."""
    X, y = sequences(noise=1.0)
    fitted = model(units=40, ridge=PENALTIES, folds=3, epochs=20, rate=0.05).fit(X, y)
    rows = judged_by(fitted.esn_, X, "last")
    order = np.argsort(y, kind="stable")
    groups = [np.sort(order[k::3]) for k in range(3)]

    def loss(penalty: float) -> float:
        each = [
            expected(fitted, rows, y, validation=out, ridge=penalty / (COUNT - len(out))).history.loss[-1] for out in groups
        ]
        return float(np.mean(each))

    best = min(PENALTIES, key=loss)
    assert best == PENALTIES[1], "else the choice of an end shows little"
    assert fitted.ridge_ == best
    assert_same(fitted, expected(fitted, rows, y, ridge=best / COUNT))


def test_the_penalty_of_steps_is_the_best_on_folds_of_time() -> None:
    X, y = steps((110,))
    fitted = step_model(ridge=PENALTIES, folds=2).fit(X[0], y[0])
    rows, labels = fitted.esn_.run(X[0])[WASHOUT:], y[0][WASHOUT:]
    # Two folds of the 100 steps after the washout; two steps between them are left out.
    inside = np.setdiff1d(np.arange(100), [49, 50])
    groups = [np.arange(49), np.arange(49, 98)]

    def loss(penalty: float) -> float:
        held_out = [expected(fitted, rows[inside], labels[inside], validation=out, ridge=penalty / 49) for out in groups]
        return float(sum(each.history.loss[-1] for each in held_out))

    best = min(PENALTIES, key=loss)
    assert fitted.ridge_ == best
    assert_same(fitted, expected(fitted, rows, labels, ridge=best / 100))


def test_a_minibatch_may_be_larger_than_the_data() -> None:
    X, y = sequences()
    fitted = model(batch=1000).fit(X, y)
    assert_same(fitted, expected(fitted, judged_by(fitted.esn_, X, "last"), y, minibatch=COUNT))


@pytest.mark.parametrize("readout", ["sigmoid", "softmax"])
def test_digits_read_pixel_by_pixel_are_told_apart(readout: str) -> None:
    """2 x 50 neurons, 8 snapshots, 355 images to judge. Above 0.93; standard errors near that are 0.014. Guessing gives 0.1."""
    train, test = es.tasks.psdigits("train"), es.tasks.psdigits("test")
    net = es.hierarchical([50, 50], leak_rate=[1.0, 0.2], spectral_radius=0.99, connections=10, coupling=10**-0.5)
    options: dict[str, Any] = {"features": "snapshots", "every": 8, "changes": False, "ranks": False}
    fitted = flat(ESNClassifier, network=net, readout=readout, random_state=0, **options).fit(train.u, train.labels)
    assert fitted.score(test.u, test.labels) > 0.93
    p = fitted.predict_proba(test.u)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    right = p[np.arange(len(p)), test.labels]
    assert -np.log(right).mean() < 0.5, "probabilities are of use: ln 10 = 2.3 without any knowledge"


def test_what_is_left_open_is_what_ridge_folds_choose_for_every_readout() -> None:
    X, y = sequences()
    options: dict[str, Any] = {"units": 12, "random_state": 1, "epochs": 1}
    models = [flat(ESNClassifier, readout=readout, **options).fit(X, y) for readout in ("ridge", "softmax")]
    assert not hasattr(models[0], "history_")
    solved, trained = (each.transformer_ for each in models)
    assert solved.get_params() == trained.get_params()


def test_probabilities_of_a_ridge_readout_are_calibrated_on_sequences_left_out_one_by_one() -> None:
    """Against n fits without one sequence, on features standardised over all, with the penalty of all."""
    X, y = sequences(noise=1.0)
    fitted = model(readout="ridge", ridge=3.0).fit(X, y)
    rows = judged_by(fitted.esn_, X, "last")
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    right = codes(y)
    z = np.array(
        [
            Ridge(alpha=3.0).fit(np.delete(rows, b, axis=0), np.delete(np.eye(3)[right], b, axis=0)).predict(rows[[b]])[0]
            for b in range(COUNT)
        ]
    )
    q = np.full((COUNT, 3), 0.5 / (COUNT + 2))
    q[np.arange(COUNT), right] = (COUNT + 1) / (COUNT + 2)
    betas = np.geomspace(0.01, 100, 4001)
    entropies = [-(q * np.log(softmax(beta * z, axis=1))).sum() for beta in betas]
    assert fitted.steepness_ == pytest.approx(betas[np.argmin(entropies)], rel=5e-3)
    p = softmax(fitted.steepness_ * fitted.decision_function(X), axis=1)
    np.testing.assert_allclose(fitted.predict_proba(X), p, rtol=0, atol=1e-12)


def test_probabilities_of_steps_follow_from_the_error_of_held_out_steps() -> None:
    [X], [y] = steps((400,))
    fitted = step_model(readout="ridge", ridge="auto").fit(X, y)
    curve = fitted.ridge_curve_
    assert curve is not None
    shares = np.bincount(codes(y[WASHOUT:])) / (400 - WASHOUT)
    variance = np.mean(shares * (1 - shares)) * curve.errors[curve.place] ** 2
    assert fitted.steepness_ == pytest.approx(1 / variance, rel=1e-9)
    np.testing.assert_allclose(
        fitted.predict_proba(X), softmax(fitted.decision_function(X) / variance, axis=1), rtol=0, atol=1e-12
    )


def test_trained_readouts_are_calibrated_by_folds_where_asked() -> None:
    """Five folds, dealt out class by class, each trained without its rows."""
    X, y = sequences(noise=1.0)
    fitted, plain = model(calibrate=True).fit(X, y), model().fit(X, y)
    assert plain.steepness_ == 1
    rows, order = judged_by(fitted.esn_, X, "last"), np.argsort(y, kind="stable")
    z = np.empty((COUNT, 3))
    for k in range(5):
        out = np.sort(order[k::5])
        found = expected(fitted, rows, y, validation=out, ridge=0.1 / (COUNT - len(out)))
        z[out] = rows[out] @ found.coef.T + found.intercept
    assert fitted.steepness_ == pytest.approx(steepness(z, codes(y)), rel=1e-4)


def test_partial_fit_is_for_ridge() -> None:
    X, y = sequences()
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        model().partial_fit(X, y)
    assert "calibrate=False) is trained on all data at once: use fit" in str(caught.value.__cause__)
    trained = model().fit(X, y).set_params(readout=None)
    with pytest.raises(ValueError, match="no statistics to add to: call fit"):
        trained.partial_fit(X, y)
    solved = trained.fit(X, y)
    assert not hasattr(solved, "history_")
    solved.partial_fit(X, y)
    again = solved.set_params(readout=es.readouts.Softmax()).fit(X, y)
    assert not hasattr(again, "rows_")


def test_parameters_are_kept_as_given_and_cloned() -> None:
    X, y = sequences()
    fitted = model(rate=0.02, batch=20, epochs=2).fit(X, y)
    copy = clone(fitted)
    assert copy.get_params()["readout"] == es.readouts.Softmax(epochs=2, rate=0.02, batch=20)
    np.testing.assert_array_equal(copy.fit(X, y).readout_.coef, fitted.readout_.coef)


@pytest.mark.parametrize(("per_sequence", "readout"), [(True, "sigmoid"), (False, "sigmoid")])
def test_saved_models_come_back_whole(per_sequence: bool, readout: str, tmp_path: Path) -> None:
    X, y = sequences() if per_sequence else (each[0] for each in steps((130,)))
    made: Any = model(readout=readout, features="snapshots", every=8) if per_sequence else step_model(readout=readout)
    fitted = made.fit(X, y)
    loaded = es.load(es.save(fitted, tmp_path / "model.es"))
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.get_params() == fitted.get_params()
    assert not hasattr(loaded, "statistics_")


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"readout": "lasso"}, TypeError, r"readout must be None for ridge regression, .*Sigmoid\(...\), got 'lasso'"),
    ({"epochs": 0}, ValueError, "epochs must be at least 1, got 0"),
    ({"epochs": 2.5}, TypeError, "epochs must be a whole number, got 2.5"),
    ({"rate": 0.0}, ValueError, "rate must be above 0, got 0.0"),
    ({"batch": 0}, ValueError, "batch must be at least 1, got 0"),
    ({"ridge": -1.0}, ValueError, "ridge must not be negative"),
]


@pytest.mark.parametrize(("parameters", "error", "message"), BAD)
def test_bad_parameters_are_named_by_fit(parameters: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        model(**parameters).fit(*sequences())


def test_too_few_steps_are_named() -> None:
    [X], [y] = steps((40,))
    with pytest.raises(ValueError, match=f"X has {WASHOUT} steps, not more than washout={WASHOUT}"):
        step_model().fit(X[:WASHOUT], y[:WASHOUT])
    with pytest.raises(ValueError, match=f"X leaves 1 step with a target after washout={WASHOUT}"):
        step_model().fit(X[: WASHOUT + 1], y[: WASHOUT + 1])


@pytest.mark.parametrize("name", ["check_classifiers_train", "check_decision_proba_consistency"])
def test_scikit_learn_checks_of_probabilities(name: str) -> None:
    estimator = ESNStepClassifier(20, readout=es.readouts.Sigmoid(epochs=20, rate=0.02))
    getattr(estimator_checks, name)("ESNStepClassifier", estimator)
