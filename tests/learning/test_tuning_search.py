"""The search over losses that are known in closed form, in place of networks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.learning.tuning import search as searching
from echoscale.learning.tuning.losses import Loss, Model, Value
from echoscale.learning.tuning.search import Search
from echoscale.readouts.ridge import Readout

Floats = npt.NDArray[np.float64]
NO_NETWORK: Any = None  # heights need no network


class Hills(Loss):
    """Errors that are known in closed form, in place of networks; the readout at z is z itself, so that it can be told."""

    name = "height"

    def value(self, z: Floats) -> Value:
        """See `losses.Loss`."""
        return Value(self.height(z), Readout(z[:, None].copy(), z[:, :1].copy(), z[:, 0].copy()))

    def height(self, z: Floats) -> Floats:
        """Two bowls along the first axis: a deep one around 3, a shallow one around -3."""
        return np.asarray(1 + np.where(z[:, 0] > 0, 0.0, 5.0) + ((z - self._middle(z)) ** 2).sum(axis=1))

    def model(self, z: Floats, readout: Readout) -> Model:
        """See `losses.Loss`."""
        np.testing.assert_array_equal(readout.coef[:, 0], z)
        return Model(self.height(z), 2 * (z - self._middle(z)), np.tile(2 * np.eye(z.shape[1]), (len(z), 1, 1)))

    def shown(self, error: Floats) -> Floats:
        """See `losses.Loss`."""
        return error

    def _middle(self, z: Floats) -> Floats:
        return np.stack([np.where(z[:, 0] > 0, 3.0, -3.0), np.ones(len(z))], axis=1)


class Perfect(Hills):
    """The deep bowl reaches 0."""

    def height(self, z: Floats) -> Floats:
        return super().height(z) - 1


class Fog(Hills):
    """Where the first coordinate is negative there is no model, and beyond 3.5 no value."""

    def height(self, z: Floats) -> Floats:
        return np.where(z[:, 0] > 3.5, np.nan, super().height(z))

    def model(self, z: Floats, readout: Readout) -> Model:
        model = super().model(z, readout)
        model.gradient[z[:, 0] < 0] = np.nan
        model.curvature[z[:, 0] < 0] = np.inf
        return model


def searched(kind: type[Hills], starts: Any, reach: float = 6.0) -> Search:
    space: Any = SimpleNamespace(low=np.full(2, -reach), high=np.full(2, reach), learned=(0, 1))
    data: Any = SimpleNamespace(steps=1000)
    return Search.begin(kind(NO_NETWORK, space, data, 0.0), np.asarray(starts, float)[:, None], np.random.default_rng(0))


def test_the_best_of_every_starts_candidates_is_taken() -> None:
    space: Any = SimpleNamespace(low=np.full(2, -9.0), high=np.full(2, 9.0), learned=(0, 1))
    data: Any = SimpleNamespace(steps=10)
    candidates = np.array([[[4.0, 0.0], [2.5, 1.0], [1.0, 1.0]], [[5.0, 1.0], [-4.0, 1.0], [-3.5, 1.0]]])
    search = Search.begin(Fog(NO_NETWORK, space, data, 0.0), candidates, np.random.default_rng(0))
    np.testing.assert_array_equal(search.z, [[2.5, 1.0], [-3.5, 1.0]])
    np.testing.assert_array_equal(search.value.readout.coef[:, 0], search.z)
    assert search.steps == 10 * 6
    assert search.best == 0


def test_every_start_goes_down_and_rests() -> None:
    search = searched(Hills, [[5.5, -5.0], [1.0, 4.0], [-1.0, -3.0]])
    for _ in range(12):
        before, live, steps = search.value.error.copy(), search.live, search.steps
        if not len(live):
            break
        search.round()
        assert (search.value.error <= before).all()
        assert search.steps - steps == 1000 * len(live) * (3 + 1 + 2)
        np.testing.assert_array_equal(search.value.error, search.loss.value(search.z).error)
        np.testing.assert_array_equal(search.value.readout.coef[:, 0], search.z)
    assert not len(search.live)
    np.testing.assert_allclose(search.z, [[3, 1], [3, 1], [-3, 1]], atol=1e-2)


def test_bounds_stop_the_search_where_they_lie() -> None:
    search = searched(Hills, [[1.0, -1.0]], reach=2.0)
    while len(search.live):
        search.round()
        assert (np.abs(search.z) <= 2.0).all()
    np.testing.assert_allclose(search.z, [[2.0, 1.0]], atol=1e-2)


def test_a_start_that_is_stuck_far_above_the_best_begins_again_near_it() -> None:
    search = searched(Hills, [[3.0, 1.1], [2.9, 1.0], [-3.0, 1.0]])
    search.relocate()
    np.testing.assert_array_equal(search.z[2], [-3.0, 1.0])  # not yet: it neither rests nor is old
    while 2 in search.live:
        search.round()
    best, others, steps = search.value.error.min(), search.z[:2].copy(), search.steps
    search.relocate()
    np.testing.assert_array_equal(search.z[:2], others)
    assert search.value.error.min() <= best
    assert search.z[2, 0] > 0
    assert (search.box[2], search.idle[2], search.age[2]) == (searching.FIRST_BOX, 0, 0)
    np.testing.assert_array_equal(search.value.error, search.loss.value(search.z).error)
    assert search.steps - steps == 1000 * searching.SCREENED


def test_a_start_that_lags_for_long_is_moved_and_a_lonely_one_is_not() -> None:
    search = searched(Hills, [[3.0, 1.0], [-3.0, 1.0]])
    search.age[:] = searching.PATIENCE
    search.relocate()
    assert search.z[1, 0] != -3.0
    alone = searched(Hills, [[-3.0, 1.0]])
    alone.idle[:], alone.age[:] = 2, 100
    alone.relocate()
    np.testing.assert_array_equal(alone.z, [[-3.0, 1.0]])


def test_nothing_is_left_to_do_when_one_start_is_perfect() -> None:
    search = searched(Perfect, [[2.5, 1.0], [-5.0, 5.0]])
    rounds = 0
    while len(search.live):
        search.round()
        rounds += 1
    assert search.value.error[0] <= searching.PERFECT
    assert rounds < 30


def test_where_there_is_no_model_a_start_stays_and_rests() -> None:
    search = searched(Fog, [[-2.0, 1.0], [2.5, 0.5]])
    for _ in range(10):
        if not len(search.live):
            break
        search.round()
    np.testing.assert_array_equal(search.z[0], [-2.0, 1.0])
    assert not len(search.live)
    np.testing.assert_allclose(search.z[1], [3.0, 1.0], atol=1e-2)
    assert np.isfinite(search.value.error).all()


def test_a_start_without_a_value_takes_the_first_that_has_one() -> None:
    search = searched(Fog, [[4.0, 1.0], [2.0, 1.0]])
    assert np.isnan(search.value.error[0])
    assert search.best == 1
    search.round()
    assert np.isfinite(search.value.error[0])
