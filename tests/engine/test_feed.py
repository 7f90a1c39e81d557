"""The one loop over chunks and blocks: what is called when, what stops it, and the inputs that a chunk gets."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from echoscale.data.series import as_series
from echoscale.engine.feed import inputs, over_blocks, over_chunks


@pytest.mark.parametrize(("length", "steps"), [(1, 4), (4, 4), (5, 4), (12, 4), (13, 4), (3, 1)])
def test_a_chunk_is_handed_on_while_the_next_one_is_computed(length: int, steps: int) -> None:
    calls: list[tuple[str, int]] = []

    def advance(carry: int, begin: int) -> tuple[int, int]:
        calls.append(("advance", begin))
        return carry + 1, 10 * begin

    def hand_on(begin: int, rows: int) -> None:
        assert rows == 10 * begin
        calls.append(("hand on", begin))

    begins = range(0, length, steps)
    assert over_chunks(advance, 5, hand_on, length, steps, threading.Event()) == 5 + len(begins)
    for name in ("advance", "hand on"):
        assert [begin for what, begin in calls if what == name] == list(begins)
    for begin in begins[:-1]:
        assert calls.index(("advance", begin + steps)) < calls.index(("hand on", begin))


def test_a_stop_ends_the_loop_after_the_chunk_at_hand() -> None:
    stop = threading.Event()
    seen: list[int] = []

    def hand_on(begin: int, rows: None) -> None:
        seen.append(begin)
        stop.set()

    assert over_chunks(lambda carry, begin: (carry + 1, None), 0, hand_on, 100, 10, stop) == 2
    assert seen == [0, 10]


@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_in_one_block_stops_the_others(workers: int) -> None:
    begun = threading.Event()

    def run(block: int, stop: threading.Event) -> None:
        if block == 0:
            if workers > 1:
                assert begun.wait(60)
            raise RuntimeError("broken")
        begun.set()
        assert stop.wait(60), "a block that runs is told"

    with pytest.raises(RuntimeError, match="broken"):
        over_blocks(run, range(2), workers, np.float32, None)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_blocks_run_in_the_precision_asked_for(dtype: str) -> None:
    import jax.numpy as jnp

    found: dict[int, Any] = {}
    over_blocks(lambda block, _: found.update({block: jnp.ones(1, float).dtype}), range(3), 2, dtype, None)
    assert found == dict.fromkeys(range(3), jnp.dtype(dtype))
    assert jnp.ones(1, float).dtype == jnp.float32


@pytest.mark.parametrize("kind", ["batch", "list"])
@pytest.mark.parametrize(("begin", "steps"), [(0, 4), (4, 4), (8, 4), (0, 16)])
def test_the_inputs_of_a_chunk(kind: str, begin: int, steps: int) -> None:
    """Lane by lane the next steps of its series, and zeros past its end."""
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(n, 2)) for n in ((9, 9, 9) if kind == "batch" else (9, 4, 6))]
    which = np.array([2, 0, 0, 1])
    found = inputs(as_series(np.stack(values) if kind == "batch" else values), which, begin, steps, np.float64)
    assert found.shape == (steps, 2, len(which))
    for lane, b in enumerate(which):
        padded = np.concatenate([values[b], np.zeros((32, 2))])
        np.testing.assert_array_equal(found[:, :, lane], padded[begin : begin + steps])


def test_lanes_of_one_series_share_its_inputs() -> None:
    u = np.arange(10.0)[:, None]
    np.testing.assert_array_equal(inputs(as_series(u), np.zeros(5, np.int64), 2, 3, np.float64)[..., 0], u[2:5])
