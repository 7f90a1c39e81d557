"""The closed loop against one step after another, in NumPy."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import echoscale as es
from echoscale.engine.devices import precision_and_device
from echoscale.readouts import closed_loop

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("direct", [0, 1, 3])
@pytest.mark.parametrize("inputs", [0, 2])
def test_groups_of_lanes_have_readouts_of_their_own(direct: int, inputs: int) -> None:
    """Two readouts, three series each; with inputs, the network receives its output beside them."""
    steps, groups, each, outputs = 7, 2, 3, 1
    lanes, columns = groups * each, inputs + outputs
    network = es.hierarchical([6, 5], bias_scaling=0.3, feedback_scaling=0.5 if inputs else 0.0)
    esn = network.build(inputs or outputs, seed=0, dtype="float64", n_outputs=outputs if inputs else None)
    width = 11 + direct * columns
    coef, intercept = RNG.normal(size=(groups, outputs, width)), RNG.normal(size=(groups, outputs))
    states, window = RNG.uniform(-1, 1, (lanes, 11)), RNG.normal(size=(lanes, max(direct, 1), columns))
    known = RNG.normal(size=(steps - 1, inputs, lanes))
    expected = np.empty((steps, outputs, lanes))
    for lane in range(lanes):
        x, recent = states[lane], window[lane]
        for t in range(steps):
            seen = np.concatenate([x, recent[:direct].ravel()])
            y = coef[lane // each] @ seen + intercept[lane // each]
            expected[t, :, lane] = y
            if t < steps - 1:
                recent = np.concatenate([[np.concatenate([known[t, :, lane], y])], recent[:-1]])
                x = esn.step(recent[0], x)
    with precision_and_device("float64", None):
        found = closed_loop.network_from_now(
            closed_loop.Net(esn.weights(lanes), esn.numbers(), coef, intercept),
            tuple(np.split(states.T, [6])),
            window.reshape(lanes, -1).T,
            steps,
            known=jax.numpy.asarray(known) if inputs else None,
        )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_known_outputs_are_received_in_place_of_the_own_ones_and_ended_series_stand_still() -> None:
    """x = s + y(t-1) / 2, y = 2 x: by hand."""
    s, known = np.ones((5, 1, 2)), np.full((5, 1, 2), np.nan)
    known[1, 0, 0] = 10.0
    live = np.array([[True, True]] * 3 + [[True, False]] * 2)
    outputs, (x, behind) = closed_loop.loop(
        lambda x, window: window[:1] + window[1:2] / 2,
        lambda x, window: 2 * x,
        (jax.numpy.zeros((1, 2)), jax.numpy.zeros((1, 2))),
        (jax.numpy.asarray(s, np.float32), jax.numpy.asarray(known, np.float32), jax.numpy.asarray(live)),
    )
    np.testing.assert_array_equal(outputs[:, 0, 0], [2, 4, 12, 14, 16])
    np.testing.assert_array_equal(outputs[:3, 0, 1], [2, 4, 6])
    np.testing.assert_array_equal(behind, [[16, 6]])
    np.testing.assert_array_equal(x, [[8, 3]])
