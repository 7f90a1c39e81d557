"""What may become of an attack, and what must never."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

# An attack is a function of a seed alone: it can be made again. It returns one of GOOD, or raises `Found`.
Attack = Callable[[np.random.Generator, Path], str]

GOOD = {
    "right": "the right result, to the bit or to rounding",
    "refused": "an error that says what is wrong",
    "anew": "noticed, and computed anew",
}
BAD = {
    "silent": "a wrong result without a word",
    "obscure": "an error that does not say what is wrong",
    "lost": "something that was there is gone",
    "abort": "the process ended, or hung",
}
# Errors that are meant for a user: each carries a sentence.
CLEAR = (ValueError, TypeError, OSError, ImportError, FloatingPointError, NotImplementedError, MemoryError)


class Found(Exception):
    """A defect: one of BAD, and what was seen."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(f"{kind}: {what}")
        self.kind, self.what = kind, what


def seed_of(rng: np.random.Generator) -> int:
    """The seed that a generator was made from."""
    return int(rng.bit_generator.seed_seq.entropy)  # type: ignore[attr-defined]


def alike(rng: np.random.Generator, count: int) -> np.random.Generator:
    """A generator that `count` seeds in a row have in common: what is drawn from it, such as shapes, is compiled once."""
    return np.random.default_rng([seed_of(rng) // count, count])


def clear(error: Exception) -> str:
    """ "refused" where an error was meant for the user, else `Found`."""
    if not isinstance(error, CLEAR) or not str(error).strip() or "Traceback" in str(error):
        raise Found("obscure", f"{type(error).__name__}: {error}") from error
    return "refused"


def flipped(content: bytes, rng: np.random.Generator) -> bytes:
    """The content with damage: a bit, some bits, a page of zeros, cut, or bytes at random."""
    damaged = bytearray(content)
    kind = int(rng.integers(10))
    if kind < 6:
        for place in rng.integers(0, 8 * len(content), 1 if kind < 4 else int(rng.integers(2, 20))):
            damaged[place // 8] ^= 1 << (place % 8)
    elif kind == 6:
        begin = int(rng.integers(len(content)))
        damaged[begin : begin + 512] = bytes(len(damaged[begin : begin + 512]))
    elif kind == 7:
        del damaged[int(rng.integers(len(content))) :]
    elif kind == 8:
        damaged += rng.bytes(int(rng.integers(1, 100)))
    else:
        begin = int(rng.integers(len(content)))
        size = len(damaged[begin : begin + 64])
        damaged[begin : begin + 64] = rng.bytes(size)
    return bytes(damaged)
