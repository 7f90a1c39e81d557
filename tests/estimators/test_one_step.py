"""Which models may feed their outputs back as inputs: those fitted one step ahead, in the units of their inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from flat import flat
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import echoscale as es
from echoscale import ESNRegressor

Array = npt.NDArray[Any]

WAVE = 200 + 50 * np.stack([np.sin(0.2 * np.arange(400)), np.cos(0.31 * np.arange(400))], axis=1)


def model(**changed: Any) -> ESNRegressor:
    return flat(ESNRegressor, **{"units": 20, "washout": 20, "random_state": 0, **changed})


def refused(fitted: ESNRegressor, words: str) -> None:
    for arguments in ({}, {"warmup": WAVE[:50, : fitted.n_features_in_]}):
        with pytest.raises(ValueError, match=f"{words}.*fit\\(u\\[:-1\\], u\\[1:\\]\\)"):
            fitted.forecast(3, **arguments)


@pytest.mark.parametrize("horizon", [0, 2, 10])
def test_another_horizon_is_refused(horizon: int) -> None:
    refused(model().fit(WAVE[: 400 - horizon], WAVE[horizon:]), "more than one step ahead")


def test_behind_a_scaler_it_is_refused_and_the_reason_given() -> None:
    pipeline = make_pipeline(StandardScaler(), model()).fit(WAVE[:-1], WAVE[1:])
    refused(pipeline[-1], 'a scaler comes before the model. Leave the scaler out; scale="standard" does the same inside')


def test_where_the_scaler_changes_nothing_it_is_right() -> None:
    z = (WAVE - WAVE[:-1].mean(axis=0)) / WAVE[:-1].std(axis=0)
    pipeline = make_pipeline(StandardScaler(), model()).fit(z[:-1], z[1:])
    np.testing.assert_allclose(pipeline[-1].forecast(5), model().fit(z[:-1], z[1:]).forecast(5), atol=1e-4)


def test_batches_lists_streams_and_gaps() -> None:
    pieces = [WAVE[:150], WAVE[150:]]
    assert model().fit([each[:-1] for each in pieces], [each[1:] for each in pieces]).forecast(3).shape == (2, 3, 2)
    refused(model().fit([each[:-2] for each in pieces], [pieces[0][1:-1], pieces[1][2:]]), "more than one step ahead")
    unknown = WAVE[1:].copy()
    unknown[[30, 200]] = np.nan
    np.testing.assert_allclose(
        model().fit(WAVE[:-1], unknown).forecast(3), model().fit(WAVE[:-1], WAVE[1:]).forecast(3), rtol=1e-3
    )
    stream = model().partial_fit(WAVE[:30], WAVE[1:31])
    for begin, end in ((30, 31), (31, 90)):
        stream.partial_fit(WAVE[begin:end], WAVE[begin + 1 : end + 1])
    assert stream.forecast(3).shape == (3, 2)
    # A chunk that does not continue the one before, or that has another horizon, ends it.
    refused(model().partial_fit(WAVE[:50], WAVE[1:51]).partial_fit(WAVE[70:99], WAVE[71:100]), "more than one step ahead")
    refused(model().partial_fit(WAVE[:50], WAVE[2:52]).partial_fit(WAVE[50:99], WAVE[51:100]), "more than one step ahead")
    begun = model().partial_fit(WAVE[:50], WAVE[1:51]).partial_fit(WAVE[70:99], WAVE[71:100], new_series=True)
    assert begun.forecast(3).shape == (3, 2)


def test_an_unknown_last_target_is_asked_for() -> None:
    unknown = WAVE[1:].copy()
    unknown[-1] = np.nan
    fitted = model().fit(WAVE[:-1], unknown)
    with pytest.raises(ValueError, match="the last target is NaN"):
        fitted.forecast(3)
    np.testing.assert_allclose(fitted.forecast(3, warmup=WAVE), model().fit(WAVE[:-1], WAVE[1:]).forecast(3), rtol=0.01)


def test_single_steps_of_a_stream_are_told_by_the_step_after() -> None:
    stream = model(washout=2)
    for t in range(9):
        stream.partial_fit(WAVE[t : t + 1], WAVE[t + 1 : t + 2])
    assert stream.no_forecast_ == ""
    one = model(washout=0).partial_fit(WAVE[:1], WAVE[1:2])
    refused(one, "nothing that it was fitted to shows")


def test_files_keep_it(tmp_path: Path) -> None:
    for horizon in (1, 3):
        fitted = model().fit(WAVE[:-horizon], WAVE[horizon:])
        assert es.load(es.save(fitted, tmp_path / "model")).no_forecast_ == fitted.no_forecast_
