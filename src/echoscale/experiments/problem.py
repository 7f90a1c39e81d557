"""What is solved at every point of a sweep: where the series come from, how they are cut, and what counts as a score."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale import _checks
from echoscale.fingerprint import fingerprint, plain
from echoscale.readouts.ridge import check_path
from echoscale.series import as_series, as_targets

Floats = npt.NDArray[np.float64]

SCORES = ("nrmse", "nmse", "mse")
# The settings under which the paper's comparison holds: from 1e-5 up, chosen on validation data.
PENALTIES = tuple(float(f"{10.0**e:.6g}") for e in np.arange(-5, 1.01, 0.5))


@dataclass(frozen=True)
class Protocol:
    """How a series is used: washed out, fitted, validated, tested, in this order.

    lag        1: the state that has seen u[t] predicts y[t]. 0: it predicts y[t + 1], without u[t + 1]
    penalties  of the ridge; the one with the least validation error is taken, point by point
    direct     whether the inputs are features too
    """

    washout: int = 200
    train: int = 5000
    validation: int = 1500
    test: int = 2500
    lag: int = 1
    penalties: tuple[float, ...] = PENALTIES
    direct: bool = False
    score: str = "nrmse"
    dtype: str = "float32"

    def __post_init__(self) -> None:
        for name, least in (("washout", 0), ("train", 2), ("validation", 1), ("test", 1)):
            object.__setattr__(self, name, _checks.integer(getattr(self, name), name, minimum=least))
        if not isinstance(self.direct, bool):
            raise TypeError(f"direct must be True or False, got {self.direct!r}.")
        _checks.choice(self.lag, (0, 1), "lag")
        _checks.choice(self.score, SCORES, "score")
        _checks.choice(self.dtype, ("float32", "float64"), "dtype")
        object.__setattr__(self, "penalties", tuple(float(each) for each in check_path(self.penalties)))

    @property
    def edges(self) -> npt.NDArray[np.int64]:
        """Where training, validation and test begin and end."""
        return np.cumsum([self.washout, self.train, self.validation, self.test])

    @property
    def length(self) -> int:
        """The steps that a series must have."""
        return int(self.edges[-1]) + (1 - self.lag)


@dataclass(frozen=True)
class Task:
    """A function that makes inputs and targets from a length and a seed: `narma` and others of `echoscale.tasks`, or your own.

    function    its name in `echoscale.tasks`, "module:name", or the function itself, which must be importable by that name
    parameters  keywords that it gets besides `length` and `seed`
    """

    function: Any
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "function", _path_of(self.function))
        object.__setattr__(self, "parameters", dict(self.parameters))
        plain(self.parameters)  # raises where they have no fixed text
        reserved = {"length", "seed"} & set(self.parameters)
        if reserved:
            raise ValueError(f"{reserved.pop()} of a task is set by the sweep: by its protocol, and by its seeds.")
        try:
            inspect.signature(self._load()).bind(length=1, seed=0, **self.parameters)
        except TypeError as error:
            raise ValueError(f"the task {self.function} cannot be called with these keywords: {error}.") from error

    def with_parameters(self, **changed: Any) -> Task:
        """The same function with other keywords."""
        return Task(self.function, {**self.parameters, **changed})

    def series(self, length: int, seed: int) -> tuple[Any, Any]:
        """Inputs (T, F) and targets (T, O) with T >= length."""
        u, y = self._load()(length=length, seed=seed, **self.parameters)
        return u, y

    def describe(self) -> dict[str, Any]:
        """What determines the series, besides length and seed."""
        return {"function": self.function, "parameters": dict(self.parameters)}

    def _load(self) -> Callable[..., Any]:
        module, _, name = self.function.partition(":")
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            message = f"there is no task {self.function!r}: name one of echoscale.tasks, or 'module:function'."
            raise ValueError(message) from error
        if not callable(found):
            raise ValueError(f"{self.function} is no function: {found!r}.")
        return found  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Data:
    """Inputs and targets of your own, (T, F) and (T, O): one series for every point."""

    u: Any
    y: Any

    def __post_init__(self) -> None:
        series = as_series(self.u)
        if series.kind != "one":
            raise ValueError("a sweep runs over one series: give u as (T, F) and y as (T, O).")
        targets = as_targets(self.y, series)
        # Copies: what the user does to the arrays afterwards must not change what the results stand for.
        object.__setattr__(self, "u", np.array(series.values[0]))
        object.__setattr__(self, "y", np.array(targets.values[0]))

    def series(self, length: int, seed: int) -> tuple[Any, Any]:
        """The data themselves, whatever the seed."""
        if len(self.u) < length:
            raise ValueError(f"the data have {len(self.u)} steps, the protocol needs {length}: shorten its parts.")
        return self.u[:length], self.y[:length]

    def describe(self) -> dict[str, Any]:
        """A fingerprint of the numbers."""
        return {"data": fingerprint({"u": self.u, "y": self.y})}


def _path_of(function: Any) -> str:
    if isinstance(function, str):
        return function if ":" in function else f"echoscale.tasks:{function}"
    name, module = getattr(function, "__qualname__", ""), getattr(function, "__module__", "")
    if not callable(function) or not name or "<" in name or module == "__main__":
        raise ValueError(
            f"{function!r} cannot be found by its name from another process: define it in a module that can be imported."
        )
    return f"echoscale.tasks:{name}" if module.startswith("echoscale.tasks.") else f"{module}:{name}"
