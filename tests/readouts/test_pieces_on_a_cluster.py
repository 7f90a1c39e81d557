"""Pieces of a store on a Dask cluster with real processes: the same readout, also if a worker dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import echoscale as es
from echoscale.readouts import pieces

da = pytest.importorskip("dask.array")
zarr = pytest.importorskip("zarr")
distributed = pytest.importorskip("distributed")

RNG = np.random.default_rng(0)
U = RNG.normal(size=(4000, 2))
Y = np.roll(U[:, :1], 2, axis=0) + 0.1 * RNG.normal(size=(4000, 1))


class After(Executor):
    """An executor that calls a function once: when its first call has ended, or when it has got so many calls."""

    def __init__(self, inner: Executor, act: Callable[[], Any], calls: int | None = None) -> None:
        self.inner, self.act, self.at, self.calls = inner, act, calls, 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = self.inner.submit(fn, *args, **kwargs)
        self.calls += 1
        if self.at is None and self.calls == 1:
            future.add_done_callback(lambda _: self.act())
        if self.calls == self.at:
            self.act()
        return future


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 500 * 16)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster, set_as_default=False) as made,
    ):
        yield made


def model() -> es.ESNRegressor:
    return es.ESNRegressor(15, 0.5, 0.5, 0.3, washout=200, dtype="float64", random_state=0)


def test_a_worker_killed_in_the_middle_changes_nothing(client: Any, tmp_path: Path) -> None:
    store = zarr.create_array(tmp_path / "u.zarr", shape=U.shape, chunks=(250, 2), dtype="f8")
    store[:] = U
    victims = list(client.run(os.getpid).values())
    executor = After(client.get_executor(), lambda: os.kill(victims[0], signal.SIGKILL))
    expected, found = model().fit(U, Y), model().fit(store, Y, executor=executor)
    assert executor.calls >= 8
    assert victims[0] not in client.run(os.getpid).values()
    assert found.statistics_.count == expected.statistics_.count
    np.testing.assert_allclose(found.readout_.coef, expected.readout_.coef, rtol=1e-7, atol=1e-9)


def test_tasks_of_dask_travel_with_their_piece(client: Any) -> None:
    esn = es.single(15, leak_rate=0.5).build(n_inputs=2, seed=0, dtype="float64")
    expected = es.readouts.statistics(esn, U, Y, washout=200)
    found = es.readouts.statistics(esn, da.from_array(U, chunks=(300, 2)), Y, washout=200, executor=client.get_executor())
    np.testing.assert_allclose(found.scatter, expected.scatter, rtol=1e-9, atol=1e-9)


def test_a_cluster_that_goes_away_leaves_the_model_as_it_was() -> None:
    kept = model().set_params(scale=None).fit(U[:1000], Y[:1000])
    before = dict(vars(kept))
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        executor = After(client.get_executor(), client.close, 8)
        with pytest.raises(ConnectionError, match=r"are gone .* Nothing was kept: run again with other workers"):
            kept.fit(da.from_array(U, chunks=(250, 2)), Y, executor=executor)
    assert all(vars(kept)[name] is value for name, value in before.items())
