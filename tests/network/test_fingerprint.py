"""Fingerprints: equal values have one, whatever they are made of; different ones, and different classes, never share one."""

from __future__ import annotations

import enum
import itertools
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import echoscale as es
from echoscale.network.fingerprint import fingerprint


@dataclass(frozen=True)
class Sine:
    size: float


@dataclass(frozen=True)
class Square:
    size: float


@dataclass(frozen=True)
class Holder:
    wave: Sine | Square


class Named(NamedTuple):
    size: float


Other = namedtuple("Other", ["size"])


class Colour(enum.IntEnum):
    red = 1


class Size(enum.IntEnum):
    red = 1


class Word(str):
    pass


class Degrees(float):
    pass


DIFFERENT: list[Any] = [
    None,
    False,
    0,
    0.0,
    -0.0,
    "0",
    "None",
    [],
    {},
    [0],
    [[0]],
    True,
    1,
    1.0,
    "red",
    0.1,
    float("nan"),
    float("inf"),
    Sine(0.1),
    Square(0.1),
    Holder(Sine(0.1)),
    Holder(Square(0.1)),
    Named(0.1),
    Other(0.1),
    {"size": 0.1},
    [0.1],
    Colour.red,
    Size.red,
    Word("red"),
    Degrees(0.1),
    {1: 0},
    {"1": 0},
    {1.0: 0},
    np.zeros(2),
    np.zeros(2, np.float32),
    np.zeros((2, 1)),
    np.zeros(2, bool),
    np.zeros(2, np.int64),
    np.array([0.0, np.nextafter(0, 1)]),
    es.single(5),
    es.single(5).to_dict(),
    es.single(5, leak_rate=0.5),
    es.engine.Matrix.of(np.eye(2)),
]


def test_no_two_of_them_share_a_fingerprint() -> None:
    found = [fingerprint(each) for each in DIFFERENT]
    twice = [(a, b) for (a, x), (b, y) in itertools.combinations(zip(DIFFERENT, found, strict=True), 2) if x == y]
    assert not twice


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2.5], (1, 2.5)),
        ([0, 1], range(2)),
        (1, np.int16(1)),
        (0.5, np.float64(0.5)),
        ("a", np.str_("a")),
        (True, np.bool_(True)),
        ({"a": 1, "b": 2}, OrderedDict(b=2, a=1)),
        ({1: "a", 2: "b"}, {2: "b", 1: "a"}),
        (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3))),
        (np.arange(3.0), np.arange(6.0)[::2] / 2),
        (np.arange(3, dtype="<f8"), np.arange(3, dtype=">f8")),
        (es.single(5), es.single(5)),
        (Sine(0.1), Sine(0.1)),
    ],
)
def test_equal_values_share_one(one: Any, other: Any) -> None:
    assert fingerprint(one) == fingerprint(other)


def test_masked_arrays_are_refused() -> None:
    """Their numbers alone do not say what is masked."""
    with pytest.raises(TypeError, match=r"a masked array .* fill or cut"):
        fingerprint(np.ma.masked_array([1.0, 2.0], [True, False]))


@pytest.mark.parametrize("value", [object(), {1, 2}, np.sin, Sine, 1j, np.array(["a"]), np.array([object()])])
def test_what_cannot_be_told_apart_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot be identified"):
        fingerprint([value])
