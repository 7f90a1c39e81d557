"""A job: a function by its importable name and its arguments -> named arrays. The same job gives the same results anywhere."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import echoscale
from echoscale.network.fingerprint import fingerprint
from echoscale.sweeps.problem import Task, name_of, named

# Increased when a change of the code changes results, so that results of older code are not reused.
NUMERICS = 1

Arrays = dict[str, npt.NDArray[Any]]
Check = Callable[[], None]


def unchecked() -> None:
    """Do nothing: the default for the argument `check` of a function that runs as a job.

    Examples
    --------
    >>> from echoscale.sweeps import Check, unchecked
    >>> def total(steps: int, check: Check = unchecked) -> dict:
    ...     for _ in range(steps):
    ...         check()  # raises an error if the run was interrupted
    ...     return {"total": steps}
    >>> total(3)
    {'total': 3}
    """


class Job(NamedTuple):
    """A function and its arguments: all that determines the results.

    Parameters
    ----------
    function : str
        Name "module:function" of a function that returns named arrays. A slow function can have a parameter `check` and call
        check() now and then, which raises an error if the run was interrupted.
    arguments : mapping
        Keyword arguments without `check`: numbers, strings, arrays, networks, dataclasses (see
        `echoscale.network.fingerprint`).

    Examples
    --------
    >>> import numpy as np
    >>> from echoscale.sweeps import Job
    >>> job = Job.of(np.linspace, start=0.0, stop=1.0, num=3)
    >>> job.function
    'numpy:linspace'
    >>> job.key() == Job.of(np.linspace, num=3, stop=1.0, start=0.0).key()
    True
    """

    function: str
    arguments: Mapping[str, Any]

    @classmethod
    def of(cls, function: Callable[..., Any], /, **arguments: Any) -> Job:
        """Describe the call of a function.

        Parameters
        ----------
        function : callable
            Function at the top of a module that can be imported.
        **arguments : object
            Its arguments, by name.
        """
        return cls(name_of(function), arguments)

    def key(self) -> str:
        """A fingerprint of function, arguments, sources and version: the name of the file with the results.

        The version of echoscale and `NUMERICS` stand for its own code. The user's own functions and classes (the function of
        the job and of its tasks) enter by their source. The source of other functions that they call does not count: delete the
        folder of results when such a helper changes.
        """
        return fingerprint(
            {
                "function": self.function,
                "arguments": dict(self.arguments),
                "numerics": NUMERICS,
                "version": echoscale.__version__,
                "source": self._sources(),
            }
        )

    def _sources(self) -> dict[str, str]:
        """The source of all functions and classes of the user, by name."""
        tasks = [each for each in self.arguments.values() if isinstance(each, Task)]
        values = [*self.arguments.values(), *(value for each in tasks for value in each.parameters.values())]
        used = {name: named(name) for name in (self.function, *(str(each.function) for each in tasks))}
        used |= {f"{type(each).__module__}:{type(each).__qualname__}": type(each) for each in values}
        return {name: _source_of(each) for name, each in used.items() if not _is_own(each)}

    def run(self, check: Check = unchecked) -> Arrays:
        """Call the function.

        Parameters
        ----------
        check : function
            Function that is passed on if the job has a parameter of this name.
        """
        function, arguments = named(self.function), dict(self.arguments)
        if "check" in inspect.signature(function).parameters:
            arguments["check"] = check
        results = {name: np.asarray(values) for name, values in function(**arguments).items()}
        for name, values in results.items():
            if values.dtype.kind not in "biufc":
                raise TypeError(f"results[{name!r}] must hold numbers or truth values, got {values!r}.")
        return results


def _is_own(value: object) -> bool:
    """Whether a function or class belongs to echoscale (its version stands for its code), Python or NumPy."""
    home = str(getattr(value, "__module__", "") or "").partition(".")[0]
    return home in ("echoscale", "numpy") or home in sys.stdlib_module_names


@lru_cache(maxsize=256)  # read once: a file that is edited later is not the code that was imported
def _source_of(value: Callable[..., Any]) -> str:
    """The source of a function or class; empty if there is none, as for compiled code."""
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        return ""


class Outcome(NamedTuple):
    """Results of a job, or the error that ended it."""

    results: Arrays | None
    error: str | None
    seconds: float
    raised: Exception | None = None
    """The error itself, where the job ran in this process."""
    kept: bool = False
    """Whether a file held the results, and nothing was run."""
