"""Columns of a readout beside the states x: the last inputs, and products of two states.

    inputs      u(t), u(t-1), ..., u(t - direct + 1), newest first; 0 before the start
    products    (x, x_i x_j of some pairs (i, j)); squares are the pairs (i, i)

A readout that sees `direct` inputs needs the last direct - 1 of them to continue a stream: they are part of its state. A linear
readout of x = tanh(...) has few even terms of the inputs; products of two states have them.
"""

from __future__ import annotations

from math import isqrt

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Array

Pairs = npt.NDArray[np.int32]

STREAM = 8  # spawn key of the pairs under the seed; the keys before it draw weights


def windows(inputs: Array, direct: int, before: Array | None = None) -> Array:
    """(T, direct F): row t holds u(t), u(t-1), ..., u(t - direct + 1)."""
    if direct <= 1:
        return inputs[:, : direct * inputs.shape[1]]
    view = np.lib.stride_tricks.sliding_window_view(
        _padded(inputs, direct, before), direct, axis=0
    )  # (T, F, direct), oldest first
    return view[..., ::-1].transpose(0, 2, 1).reshape(len(inputs), -1)


def carried(inputs: Array, direct: int, before: Array | None = None) -> Array:
    """((direct - 1) F,): what the step after the last of `inputs` needs, newest first."""
    if direct <= 1:
        return np.zeros(0)
    return np.asarray(_padded(inputs, direct, before)[:-direct:-1].ravel())


def _padded(inputs: Array, direct: int, before: Array | None) -> Array:
    """(direct - 1 + T, F), oldest first."""
    past = (
        np.zeros((direct - 1, inputs.shape[1])) if before is None else np.reshape(before, (direct - 1, inputs.shape[1]))[::-1]
    )
    return np.concatenate([past, inputs])


def pairs_of(units: int, squares: bool, products: int, seed: int) -> Pairs | None:
    """Which products the readout sees, (P, 2): first all squares, then drawn pairs i < j, none of them twice; None for none."""
    if not squares and not products:
        return None
    there = units * (units - 1) // 2
    if products > there:
        raise ValueError(f"products={products} is above the {there} pairs that {units} neurons have.")
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(STREAM,)))
    drawn: dict[int, None] = {}
    while len(drawn) < products:
        drawn |= dict.fromkeys(rng.integers(there, size=max(2 * products, 64)).tolist())
    # Pair number k in the order (0, 1), (0, 2), (1, 2), (0, 3), ...: j (j - 1) / 2 pairs come before those of j.
    second = [(isqrt(8 * k + 1) + 1) // 2 for k in list(drawn)[:products]]
    first = [k - j * (j - 1) // 2 for k, j in zip(drawn, second, strict=False)]
    own = np.arange(units if squares else 0)
    return np.concatenate([np.stack([own, own], axis=1), np.array([first, second], np.int64).T.reshape(-1, 2)]).astype(np.int32)


def width_of(units: int, pairs: Pairs | None) -> int:
    """N + P: how many features states and products are."""
    return units + (0 if pairs is None else len(pairs))


def with_products(states: Array, pairs: Pairs) -> Array:
    """(..., N + P): x, then x_i x_j, in float64, in which the product of two float32 numbers is exact."""
    wide = np.asarray(states, np.float64)
    return np.concatenate([wide, wide[..., pairs[:, 0]] * wide[..., pairs[:, 1]]], axis=-1)
