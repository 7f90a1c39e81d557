"""What is solved: a task that makes series from a seed, or data of the user's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from echoscale._internal.types import Array
from echoscale.data.series import SeriesLike, as_series, as_targets
from echoscale.network.fingerprint import fingerprint, plain
from echoscale.sweeps.functions import name_of, named


@dataclass(frozen=True)
class Task:
    """A function that makes inputs and targets from a length and a seed: (u, y) = function(length, seed, **parameters).

    Parameters
    ----------
    function : str or callable
        The name of a task in `echoscale.tasks`, "module:name", or the function itself, which must be importable by that name.
    parameters : mapping
        Keywords that it gets besides `length` and `seed`.

    Examples
    --------
    >>> from echoscale.sweeps import Task
    >>> u, y = Task("narma", {"order": 5}).series(length=300, seed=0)
    >>> u.shape, y.shape
    ((300, 1), (300, 1))
    """

    function: str | Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "function", _name(self.function))
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
        """The same function with other keywords.

        Parameters
        ----------
        **changed
            Those that differ.
        """
        return Task(self.function, {**self.parameters, **changed})

    def series(self, length: int, seed: int) -> tuple[Array, Array]:
        """Inputs and targets, as the function makes them.

        Parameters
        ----------
        length : int
            The steps that are needed, T >= length.
        seed : int
            Of the series.

        Returns
        -------
        u : (T, F)
            Inputs.
        y : (T, O)
            Targets.
        """
        u, y = self._load()(length=length, seed=seed, **self.parameters)
        return u, y

    def describe(self) -> dict[str, Any]:
        """What determines the series, besides length and seed."""
        return {"function": self.function, "parameters": dict(self.parameters)}

    def _load(self) -> Callable[..., Any]:
        try:
            return named(str(self.function))
        except ValueError as error:
            if error.__cause__ is None:
                raise
            message = f"there is no task {self.function!r}: name one of echoscale.tasks, or 'module:function'."
            raise ValueError(message) from error


@dataclass(frozen=True, eq=False)
class Data:
    """Inputs and targets of your own: one series for every point of a sweep.

    Parameters
    ----------
    u : (T, F) or (T,)
        Inputs; copied.
    y : (T, O) or (T,)
        Targets, one row for every step; copied.

    Examples
    --------
    >>> import numpy as np
    >>> from echoscale.sweeps import Data
    >>> signal = np.sin(np.arange(500) / 5)
    >>> Data(signal[:-1], signal[1:]).u.shape
    (499, 1)
    """

    u: SeriesLike
    y: SeriesLike

    def __post_init__(self) -> None:
        series = as_series(self.u)
        if series.kind != "one":
            raise ValueError("a sweep runs over one series: give u as (T, F) and y as (T, O).")
        targets = as_targets(self.y, series)
        # Copies: what the user does to the arrays afterwards must not change what the results stand for.
        object.__setattr__(self, "u", np.array(series.values[0]))
        object.__setattr__(self, "y", np.array(targets.values[0]))

    def series(self, length: int, seed: int) -> tuple[Array, Array]:
        """The data themselves.

        Parameters
        ----------
        length : int
            The steps that are needed; so many are returned.
        seed : int
            Not used: there is one series for all seeds.

        Returns
        -------
        u : (T, F)
            Inputs.
        y : (T, O)
            Targets.
        """
        u, y = np.asarray(self.u), np.asarray(self.y)
        if len(u) < length:
            raise ValueError(f"the data have {len(u)} steps, the protocol needs {length}: shorten its parts.")
        return u[:length], y[:length]

    def describe(self) -> dict[str, Any]:
        """A fingerprint of the numbers."""
        return {"data": fingerprint({"u": self.u, "y": self.y})}


def _name(function: str | Callable[..., Any]) -> str:
    if isinstance(function, str):
        return function if ":" in function else f"echoscale.tasks:{function}"
    module, _, name = name_of(function).partition(":")
    return f"echoscale.tasks:{name}" if module.startswith("echoscale.tasks.") else f"{module}:{name}"
