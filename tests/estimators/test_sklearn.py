"""The estimators among scikit-learn's tools: its own checks, clone, pipelines, searches, files."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import echoscale as es
from echoscale import ESNClassifier, ESNRegressor, ESNStepClassifier

Array = npt.NDArray[Any]

REASON = (
    "rows are consecutive steps of one series, not exchangeable samples: the prediction of a row depends on the rows before it"
)
EXPECTED_FAILURES = {
    "check_methods_sample_order_invariance": REASON,
    "check_methods_subset_invariance": REASON,
    "check_fit1d": "a series of one input may be given as (T,), since time is its only axis",
}


@parametrize_with_checks([ESNRegressor(), ESNStepClassifier()], expected_failed_checks=lambda estimator: EXPECTED_FAILURES)  # type: ignore[untyped-decorator]
def test_scikit_learn_checks(estimator: BaseEstimator, check: Callable[[BaseEstimator], None]) -> None:
    check(estimator)


def series(length: int = 150) -> tuple[Array, Array]:
    """Two inputs and what a network with memory can make of them."""
    u = np.random.default_rng(0).uniform(-1, 1, (length + 2, 2))
    return u[2:], u[1:-1, 0] + u[:-2, 1] ** 2


@pytest.mark.filterwarnings("ignore:Can't test estimator")
def test_scikit_learn_checks_of_sequences() -> None:
    """Its own data are tables, which are no sequences: the checks of parameters and of the interface are left."""
    estimator_checks.check_estimator(ESNClassifier())


NAMES = ("columns", "parallel", "network", "steps", "sequences")


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    """One of each, fitted in the default precision."""
    X, y = series()
    fitted = [
        ESNRegressor(units=20, washout=10, random_state=0, columns=es.readouts.Columns(1)).fit(X, y),
        ESNRegressor(units=(9, 6), random_state=0, ridge=[1e-3, 1e-1]).fit(X, np.column_stack([y, -y])),
        ESNRegressor(network=es.hierarchical([9, 6], leak_rate=[1.0, 0.2]), random_state=0).fit(X, y),
        ESNStepClassifier(units=20, washout=10, random_state=0).fit(X, y > 0.3),
        ESNClassifier(units=20, random_state=0, pools=es.readouts.Pools("mean")).fit(X.reshape(15, 10, 2), np.arange(15) % 3),
    ]
    return dict(zip(NAMES, fitted, strict=True))


def predictions(model: Any) -> Array:
    """On unseen data of the kind that the model was fitted on."""
    X, _ = series(60)
    return np.asarray(model.predict(X.reshape(6, 10, 2) if isinstance(model, ESNClassifier) else X))


@pytest.fixture(params=NAMES)
def model(request: pytest.FixtureRequest, models: dict[str, Any]) -> Any:
    return models[request.param]


def test_scikit_learn_knows_what_they_are() -> None:
    assert is_regressor(ESNRegressor())
    assert is_classifier(ESNClassifier())


def test_a_clone_fits_to_the_same_model(model: Any) -> None:
    """Nothing learned is copied; the parameters are, a network included."""
    copy = clone(model)
    assert not hasattr(copy, "readout_")
    assert repr(copy) == repr(model).partition("\n")[0]
    assert copy.get_params() == model.get_params()
    X, y = series()
    target = y if is_regressor(model) else y > 0.3
    for each in (model, copy):
        if isinstance(model, ESNClassifier):
            each.fit(X.reshape(15, 10, 2), np.arange(15) % 3)
        else:
            each.fit(X, target)
    np.testing.assert_array_equal(predictions(copy), predictions(model))


def test_a_clone_keeps_its_network() -> None:
    network = es.hierarchical([9, 6], leak_rate=[1.0, 0.2])
    copy = clone(ESNRegressor(network=network))
    assert copy.network == network
    assert copy.fit(*series()).esn_.network == network


def test_pickled_models_predict_the_same_bits(model: Any) -> None:
    np.testing.assert_array_equal(predictions(pickle.loads(pickle.dumps(model))), predictions(model))


def test_dumped_models_predict_the_same_bits(model: Any, tmp_path: Path) -> None:
    joblib.dump(model, tmp_path / "model.joblib")
    np.testing.assert_array_equal(predictions(joblib.load(tmp_path / "model.joblib")), predictions(model))


def test_a_loaded_model_goes_on_learning() -> None:
    X, y = series()
    begun = ESNRegressor(units=20, random_state=0, dtype="float64").partial_fit(X[:80], y[:80])
    loaded = pickle.loads(pickle.dumps(begun))
    for each in (begun, loaded):
        each.partial_fit(X[80:], y[80:])
    np.testing.assert_array_equal(loaded.readout_.coef, begun.readout_.coef)


@pytest.mark.parametrize("kind", [ESNRegressor, ESNStepClassifier])
def test_parameters_are_got_and_set(kind: type[Any]) -> None:
    """What was set is what the next fit uses."""
    model = kind(units=(7, 5), leak_rate=(1.0, 0.2), random_state=0)
    assert model.get_params()["leak_rate"] == (1.0, 0.2)
    assert kind(**model.get_params()).get_params() == model.get_params()
    X, y = series()
    model.set_params(leak_rate=(0.9, 0.4), ridge=0.5).fit(X, y > 0.3)
    assert [each.leak_rate for each in model.esn_.network.reservoirs] == [0.9, 0.4]
    assert model.ridge_ == 0.5


def test_a_pipeline_scales_first() -> None:
    X, y = series()
    X = 100 + 50 * X
    pipeline = make_pipeline(StandardScaler(), ESNRegressor(units=20, washout=10, random_state=0)).fit(X[:100], y[:100])
    mean, spread = X[:100].mean(axis=0), X[:100].std(axis=0)
    alone = ESNRegressor(units=20, washout=10, random_state=0).fit((X[:100] - mean) / spread, y[:100])
    np.testing.assert_allclose(pipeline.predict(X[100:]), alone.predict((X[100:] - mean) / spread), rtol=0, atol=1e-4)
    assert pipeline.score(X[100:], y[100:]) > 0.5


def two_reservoirs(**parameters: Any) -> ESNRegressor:
    """Two reservoirs of 20 units."""
    return ESNRegressor(units=(20, 20), washout=5, ridge=1e-2, random_state=0, **parameters)


SPLIT = TimeSeriesSplit(3)


def scores_by_hand(model: ESNRegressor) -> list[float]:
    """A fit on the past and a score on the block that follows, three times."""
    X, y = series()
    return [clone(model).fit(X[past], y[past]).score(X[block], y[block]) for past, block in SPLIT.split(X)]


def test_cross_validation_scores_the_blocks_of_time() -> None:
    np.testing.assert_array_equal(cross_val_score(two_reservoirs(), *series(), cv=SPLIT), scores_by_hand(two_reservoirs()))


def test_a_grid_search_reaches_the_leak_rates_of_the_reservoirs() -> None:
    leaks = [(1.0, 0.2), (1.0, 0.5)]
    search = GridSearchCV(two_reservoirs(), {"leak_rate": leaks}, cv=SPLIT, error_score="raise").fit(*series())
    means = [float(np.mean(scores_by_hand(two_reservoirs(leak_rate=leak)))) for leak in leaks]
    assert means[0] != means[1]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], means, rtol=1e-12)
    assert search.best_params_ == {"leak_rate": leaks[int(np.argmax(means))]}
    assert [each.leak_rate for each in search.best_estimator_.esn_.network.reservoirs] == list(search.best_params_["leak_rate"])


def test_names_of_columns_are_remembered() -> None:
    X, y = series()
    frame = pd.DataFrame(X, columns=["wind", "rain"])
    named, plain = (
        ESNRegressor(units=20, random_state=0).fit(frame, pd.Series(y)),
        ESNRegressor(units=20, random_state=0).fit(X, y),
    )
    assert list(named.feature_names_in_) == ["wind", "rain"]
    np.testing.assert_array_equal(named.predict(frame), plain.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        named.predict(frame[["rain", "wind"]])


def test_data_of_one_axis_are_one_column() -> None:
    X, y = series()
    plain = ESNRegressor(units=20, random_state=0).fit(X[:, :1], y)
    found = ESNRegressor(units=20, random_state=0).fit(pd.Series(X[:, 0]), pd.Series(y))
    np.testing.assert_array_equal(found.predict(pd.Series(X[:, 0])), plain.predict(X[:, :1]))
    labels = ESNStepClassifier(units=20, random_state=0).fit(pd.Series(X[:, 0], name="wind"), y > 0.3)
    assert list(labels.feature_names_in_) == ["wind"]
    assert len(labels.predict(pd.Series(X[:, 0], name="wind"))) == len(X)
    for flat in (X[:, 0], X[:, 0].tolist()):
        np.testing.assert_array_equal(
            ESNRegressor(units=20, random_state=0).fit(flat, y).predict(flat), plain.predict(X[:, :1])
        )
    streams = [ESNRegressor(units=20, washout=10, random_state=0) for _ in range(2)]
    for piece in (slice(0, 70), slice(70, 150)):
        streams[0].partial_fit(X[piece, 0], y[piece])
        streams[1].partial_fit(X[piece, :1], y[piece])
    np.testing.assert_array_equal(streams[0].readout_.coef, streams[1].readout_.coef)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        ESNRegressor(units=20, random_state=0).fit(X, y).predict(X[:, 0])  # which has two inputs
