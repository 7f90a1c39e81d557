"""`ESNFeatures` among the tools of scikit-learn, and inside the classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from echoscale import ESNClassifier, ESNFeatures, single
from echoscale.readouts import Pools
from echoscale.readouts.pooling import WHOLE

Array = npt.NDArray[Any]

REASON = "rows are consecutive steps of one series, not exchangeable samples: the states of a row depend on the rows before it"
EXPECTED = {
    "check_methods_sample_order_invariance": REASON,
    "check_methods_subset_invariance": REASON,
    "check_fit1d": "a series of one input may be given as (T,), since time is its only axis",
}


@parametrize_with_checks([ESNFeatures(units=(10, 10))], expected_failed_checks=lambda estimator: EXPECTED)  # type: ignore[untyped-decorator]
def test_scikit_learn_checks(estimator: BaseEstimator, check: Callable[[BaseEstimator], None]) -> None:
    check(estimator)


def sequences(count: int = 40) -> tuple[list[Array], Array]:
    rng = np.random.default_rng(0)
    labels = np.arange(count) % 2
    lengths = rng.integers(20, 50, count)
    waves = [np.sin(np.arange(n) * (0.2 + 0.3 * k))[:, None] for n, k in zip(lengths, labels, strict=True)]
    return [each + 0.5 * rng.normal(size=each.shape) for each in waves], labels


def test_features_are_standardised_pools_of_what_the_network_hears() -> None:
    X, _ = sequences()
    model = ESNFeatures(units=(4, 3), pools=Pools(("mean", "last")), dtype="float64", random_state=0)
    found = model.fit_transform(X)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(found.std(axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(model.transform(X), found, atol=1e-12)
    u = np.concatenate(X)
    changes = np.concatenate([np.diff(each, axis=0, prepend=each[:1]) for each in X])
    heard = np.hstack([(X[3] - u.mean()) / u.std(), (np.diff(X[3], axis=0, prepend=X[3][:1]) - changes.mean()) / changes.std()])
    states = model.esn_.run(heard)
    raw = np.concatenate([states.mean(axis=0), states[-1]])
    np.testing.assert_allclose(model.feature_scaling_.back(found[3]), raw, atol=1e-10)
    assert model.get_feature_names_out().tolist() == [f"mean {k}" for k in range(7)] + [f"last {k}" for k in range(7)]


def test_changes_are_heard_or_not() -> None:
    X, _ = sequences()
    with pytest.raises(ValueError, match="changes must be"):
        ESNFeatures(units=5, pools=Pools(changes="only")).fit(X)  # type: ignore[arg-type]


def test_one_series_becomes_its_states() -> None:
    X, _ = sequences()
    pools = Pools(changes=False, standardise=False)
    model = ESNFeatures(units=5, pools=pools, scale=None, dtype="float64", random_state=0).fit(X[0])
    np.testing.assert_allclose(model.transform(X[1]), model.esn_.run(X[1]), atol=1e-12)


def test_any_readout_may_follow() -> None:
    X, y = sequences()
    model = make_pipeline(ESNFeatures(units=(20, 20), random_state=0), LogisticRegression())
    padded = np.stack([each[:20] for each in X])
    assert cross_val_score(model, padded, y, cv=4).mean() > 0.8
    assert clone(model).fit(X[:30], y[:30]).score(X[30:], y[30:]) > 0.8


def test_a_classifier_is_features_and_a_readout() -> None:
    """With nothing left open: the same rows, the same weights of the network."""
    X, y = sequences()
    options: dict[str, Any] = {
        "units": (6, 5),
        "leak_rate": (1.0, 0.2),
        "input_scaling": 0.5,
        "random_state": 3,
    }
    pools = Pools(("mean", "max"), changes=True, ranks=True)
    rows = ESNFeatures(pools=replace(pools, standardise=False), **options).fit_transform(X)
    fitted = ESNClassifier(pools=pools, **options).fit(X, y)
    np.testing.assert_array_equal(fitted.rows_, rows)
    assert fitted.candidates_ is None
    assert "chosen" not in repr(fitted)
    z = rows @ fitted.readout_.coef.T + fitted.readout_.intercept
    np.testing.assert_allclose(fitted.decision_function(X), z[:, 1] - z[:, 0], atol=1e-12)


def left_out_error(rows: Array, codes: Array) -> float:
    """Of sequences left out one by one, in units of the variance, the least over penalties, by fits without them."""
    x = (rows - rows.mean(axis=0)) / np.where(np.ptp(rows, axis=0) > 0, rows.std(axis=0), 1)
    unit = (x**2).sum() / min(x.shape)
    fits = [Ridge(alpha=relative * unit, solver="svd") for relative in 10.0 ** np.arange(-9, 4.5, 0.5)]
    squares = [(cross_val_predict(fit, x, codes, cv=KFold(len(x))) - codes) ** 2 for fit in fits]
    return float(min((each / codes.var(axis=0)).mean() for each in squares))


def test_what_is_left_open_is_the_best_of_its_candidates() -> None:
    """Changes and ranks by the first candidate, then leak rates and input scalings; pools at every candidate."""
    X, y = sequences(20)
    options: dict[str, Any] = {"units": (6, 5), "random_state": 3, "dtype": "float64"}
    codes = np.eye(2)[y]
    model = ESNClassifier(**options).fit(X, y)
    found = model.candidates_
    assert found is not None
    sets = [(*pools, "skew", "positive", "variation") for pools in (WHOLE, ("segments", "std", "max", "min"))]

    def error(slow: float, scaling: float, **heard: bool) -> float:
        """The least of both sets of pools, with nothing left open."""
        pools = [Pools(names, **heard) for names in sets]
        fits = [ESNClassifier(leak_rate=(1.0, slow), input_scaling=scaling, pools=each, **options).fit(X, y) for each in pools]
        return min(left_out_error(each.rows_, codes) for each in fits)

    both = (True, False)
    heard = {(a, b): error(0.1, 1.0, changes=a, ranks=b) for a in both for b in both}
    changes, ranks = min(heard, key=lambda each: heard[each])
    expected = [
        heard[changes, ranks] if (slow, scaling) == (0.1, 1.0) else error(slow, scaling, changes=changes, ranks=ranks)
        for slow, scaling in zip(found.slow.tolist(), found.input_scaling.tolist(), strict=True)
    ]
    np.testing.assert_allclose(found.errors**2, expected, rtol=1e-6)
    assert len(found) == 6
    assert found.error == found.errors.min()
    assert left_out_error(model.rows_, codes) == pytest.approx(min(expected), rel=1e-6)
    assert isinstance(model.transformer_.pools, Pools)
    assert (model.transformer_.pools.changes, model.transformer_.pools.ranks) == (changes, ranks)


def test_the_choice_is_told() -> None:
    X, y = sequences(20)
    model = ESNClassifier(units=(60, 60), random_state=3).fit(X, y)
    found = model.candidates_
    assert found is not None
    assert model.transformer_.get_params()["leak_rate"] == [1.0, found.chosen.slow]
    assert model.transformer_.input_scaling == found.chosen.input_scaling
    assert found.reason in repr(model)
    assert model.make_network() == model.transformer_.make_network()


@pytest.mark.parametrize(
    ("given", "count"),
    [
        ({"leak_rate": 0.5}, 2),
        ({"input_scaling": 0.4}, 3),
        ({"leak_rate": 0.5, "input_scaling": 0.4}, None),
        ({"pools": Pools("mean", changes=False, ranks=False)}, 6),
        ({"network": single(15, leak_rate=0.3)}, None),
    ],
)
def test_what_is_given_is_kept(given: dict[str, Any], count: int | None) -> None:
    X, y = sequences(20)
    options: dict[str, Any] = {"units": (6, 5)} if "network" not in given else {}
    model = ESNClassifier(random_state=3, **options, **given).fit(X, y)
    assert (model.candidates_ if count is None else len(model.candidates_ or [])) == count
    for name, value in given.items():
        assert getattr(model.transformer_, name) == (replace(value, standardise=False) if name == "pools" else value)
    if "network" in given:
        assert model.esn_.network == given["network"]


def test_no_memory_is_tried_that_is_longer_than_the_sequences() -> None:
    X, y = sequences(20)
    model = ESNClassifier(units=(6, 5), random_state=3).fit([each[:12] for each in X], y)
    assert model.candidates_ is not None
    assert set(model.candidates_.slow) == {0.3, 0.1}
