"""The problem of a sweep: a task or the user's own data, and how the series is divided, fitted and scored."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Array
from echoscale.data.scaling import STANDARD
from echoscale.data.series import SeriesLike, as_series, as_targets
from echoscale.network.fingerprint import fingerprint, plain
from echoscale.readouts.ridge import check_path

SCORES = ("nrmse", "nmse", "mse")
# Penalties for which the paper's comparison holds: from 1e-5 up, chosen on validation data.
RIDGE = tuple(float(f"{10.0**e:.6g}") for e in np.arange(-5, 1.01, 0.5))


@dataclass(frozen=True)
class Task:
    """A function that makes inputs and targets from a length and a seed: (u, y) = function(length, seed, **parameters).

    Parameters
    ----------
    function : str or callable
        Name of a task in `echoscale.tasks`, "module:name", or the function itself, which must be importable by its name.
    parameters : mapping
        Keyword arguments in addition to `length` and `seed`.

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
        plain(self.parameters)  # raises if they have no fixed text
        reserved = {"length", "seed"} & set(self.parameters)
        if reserved:
            raise ValueError(f"{reserved.pop()} of a task is set by the sweep: use the protocol or the axis 'seed'.")
        try:
            inspect.signature(named(str(self.function))).bind(length=1, seed=0, **self.parameters)
        except TypeError as error:
            raise ValueError(f"the task {self.function} cannot be called with these keywords: {error}.") from error

    def with_parameters(self, **changed: Any) -> Task:
        """Return the same task with other keyword arguments.

        Parameters
        ----------
        **changed
            Changed keyword arguments.
        """
        return Task(self.function, {**self.parameters, **changed})

    def series(self, length: int, seed: int) -> tuple[Array, Array]:
        """Make inputs and targets.

        Parameters
        ----------
        length : int
            Least number of steps, T >= length.
        seed : int
            Random seed of the series.

        Returns
        -------
        u : (T, F)
            Inputs.
        y : (T, O)
            Targets.
        """
        u, y = named(str(self.function))(length=length, seed=seed, **self.parameters)
        return u, y

    def describe(self) -> dict[str, Any]:
        """Description of the task: everything that determines the series, except length and seed."""
        return {"function": self.function, "parameters": dict(self.parameters)}


@dataclass(frozen=True, eq=False)
class Data:
    """Your own inputs and targets: one series for all points of a sweep.

    Parameters
    ----------
    u : (T, F) or (T,)
        Inputs, which are copied.
    y : (T, O) or (T,)
        Targets, one row per step, which are copied.

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
        # Copies, so that later changes of the user's arrays have no effect.
        object.__setattr__(self, "u", np.array(series.values[0]))
        object.__setattr__(self, "y", np.array(targets.values[0]))

    def series(self, length: int, seed: int) -> tuple[Array, Array]:
        """Return the data, cut to a length.

        Parameters
        ----------
        length : int
            Number of steps to return.
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
            raise ValueError(f"the data have {len(u)} steps, the protocol needs {length}: shorten the parts of the protocol.")
        return u[:length], y[:length]

    def describe(self) -> dict[str, Any]:
        """Fingerprint of the data."""
        return {"data": fingerprint({"u": self.u, "y": self.y})}


@dataclass(frozen=True)
class Protocol:
    """Division of a series into washout, training, validation and test, in this order, and the fit and score of the readout.

    Parameters
    ----------
    washout : int
        Number of steps at the start that are run but not counted.
    train : int
        Number of training steps, for the readout.
    validation : int
        Number of validation steps, for the choice of the ridge penalty at every point.
    test : int
        Number of held-out test steps, for the reported error.
    lag : {1, 0}
        Delay of the state. 1: the state after u[t] predicts y[t]. 0: the same state predicts y[t + 1], without u[t + 1].
    ridge : sequence of float
        Candidate penalties of the ridge regression.
    direct : bool
        Whether the readout also uses the inputs.
    score : {"nrmse", "nmse", "mse"}
        Error measure: the root of the mean squared error over the variance of the target, its square, or the mean squared
        error.
    dtype : {"float32", "float64"}
        Precision of the states. Statistics and readouts are always float64.
    scale : {"standard", None}
        Scaling of the inputs. "standard": mean 0 and standard deviation 1 over the training steps. None: raw inputs. Targets
        need no scaling: a ridge readout is linear in the targets and has an intercept.

    Examples
    --------
    >>> from echoscale.sweeps import Protocol
    >>> short = Protocol(washout=100, train=500, validation=200, test=200)
    >>> short.length
    1000
    >>> short.edges.tolist()
    [100, 600, 800, 1000]
    """

    washout: int = 200
    train: int = 5000
    validation: int = 1500
    test: int = 2500
    lag: int = 1
    ridge: Sequence[float] = RIDGE
    direct: bool = False
    score: str = "nrmse"
    dtype: str = "float32"
    scale: str | None = STANDARD

    def __post_init__(self) -> None:
        for name, least in (("washout", 0), ("train", 2), ("validation", 1), ("test", 1)):
            object.__setattr__(self, name, checks.integer(getattr(self, name), name, minimum=least))
        if not isinstance(self.direct, bool):
            raise TypeError(f"direct must be True or False, got {self.direct!r}.")
        checks.choice(self.lag, (0, 1), "lag")
        object.__setattr__(self, "lag", int(self.lag))
        checks.choice(self.score, SCORES, "score")
        checks.choice(self.dtype, ("float32", "float64"), "dtype")
        checks.choice(self.scale, (STANDARD, None), "scale")
        object.__setattr__(self, "ridge", tuple(float(each) for each in check_path(self.ridge)))

    @property
    def edges(self) -> npt.NDArray[np.int64]:
        """First steps of training, validation and test, and the end, (4,)."""
        return np.cumsum([self.washout, self.train, self.validation, self.test])

    @property
    def length(self) -> int:
        """Number of steps that a series must have."""
        return int(self.edges[-1]) + (1 - self.lag)


def _name(function: str | Callable[..., Any]) -> str:
    if isinstance(function, str):
        return function if ":" in function else f"echoscale.tasks:{function}"
    module, _, name = name_of(function).partition(":")
    return f"echoscale.tasks:{name}" if module.startswith("echoscale.tasks.") else f"{module}:{name}"


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, or a ValueError if no other process could find it by name."""
    name, module = getattr(function, "__qualname__", ""), getattr(function, "__module__", "")
    if not callable(function) or not name or "<" in name or module == "__main__":
        raise ValueError(
            f"{function!r} cannot be found by its name from another process: define it in a module that can be imported."
        )
    return f"{module}:{name}"


def named(name: str) -> Callable[..., Any]:
    """The function with this name, imported if necessary; the inverse of `name_of`."""
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"there is no function {name!r}: name a task of echoscale.tasks, or give 'module:function'."
        ) from error
    if not callable(found):
        raise ValueError(f"{name} is not a function: {found!r}.")
    return found  # type: ignore[no-any-return]
