"""aeon's own checks of its classifiers, and the labels of `ESNClassifier`. Where aeon is not installed, nothing is tested."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from echoscale import ESNClassifier

pytest.importorskip("aeon")


def test_aeon_finds_nothing_wrong() -> None:
    check_estimator: Any = importlib.import_module("aeon.testing.estimator_checking").check_estimator

    from echoscale.estimators.aeon import AeonClassifier

    results = check_estimator(AeonClassifier, raise_exceptions=True)
    assert len(results) > 20
    assert all(str(each).startswith(("PASSED", "SKIPPED")) for each in results.values())


def test_labels_are_those_of_the_classifier() -> None:
    from echoscale.estimators.aeon import AeonClassifier

    rng = np.random.default_rng(0)
    labels = np.arange(20) % 2
    X = rng.normal(size=(20, 2, 30)) + 0.5 * labels[:, None, None]
    ours = AeonClassifier(units=(10, 10), random_state=0).fit(X, labels)
    plain = ESNClassifier(units=(10, 10), random_state=0).fit(list(X.transpose(0, 2, 1)), labels)
    np.testing.assert_allclose(ours.predict_proba(X), plain.predict_proba(list(X.transpose(0, 2, 1))), atol=1e-12)
