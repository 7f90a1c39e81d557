"""Checks of single values: each returns the value it was given, or raises an error that names it and the remedy."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy.typing as npt

T = TypeVar("T")

MOST_SPREAD = 40  # exp(-40) of a leak rate is a number of every precision


def number(value: object, name: str) -> float:
    """A finite real number as a Python float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}.")
    result = float(value)
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite, got {result}.")
    return result


def non_negative(value: object, name: str, remedy: str = "Signs belong to the random weights: give the size.") -> float:
    """A finite number >= 0."""
    result = number(value, name)
    if result < 0:
        raise ValueError(f"{name} must not be negative, got {result}. {remedy}")
    return result


def time_step(value: object, name: str = "dt") -> float:
    """A number above 0: the time between two steps."""
    result = number(value, name)
    if not result > 0:
        raise ValueError(f"{name} must be above 0, got {result}: it is the time between two steps.")
    return result


def leak_rate(value: object, name: str = "leak_rate") -> float:
    """A number in (0, 1]: alpha = dt / tau."""
    result = number(value, name)
    if not 0 < result <= 1:
        raise ValueError(
            f"{name} must lie in (0, 1], got {result}. 1 forgets at once, values near 0 remember for about 1/{name} steps."
        )
    return result


def finite(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Numbers that a model gives, all finite."""
    import numpy as np  # here: a description does without

    if not np.isfinite(values).all():
        raise ValueError(f"{name} are not finite: the inputs, or numbers in the model, are too large. Scale the data.")
    return values


def leak_spread(value: object, name: str = "leak_spread") -> float:
    """A number in [0, 40]: the logarithm of the fastest neuron's leak rate over the slowest's."""
    result = non_negative(value, name, "It is the logarithm of the fastest leak rate over the slowest.")
    if result > MOST_SPREAD:
        raise ValueError(f"{name} must be at most {MOST_SPREAD}, got {result}: the slowest neuron would not move at all.")
    return result


def leaf(name: str) -> Callable[[object, str], float]:
    """The check of a hyper-parameter of this name."""
    return {"leak_rate": leak_rate, "leak_spread": leak_spread, "coupling": number}.get(name, non_negative)


def integer(value: object, name: str, minimum: int = 0) -> int:
    """A whole number >= minimum."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r} of type {type(value).__name__}.")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}.")
    return int(value)


def choice(value: object, options: Sequence[T], name: str) -> T:
    """One of the options."""
    if value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}; got {value!r}.")
    return value  # type: ignore[return-value]
