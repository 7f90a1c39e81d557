"""A job: a function by its importable name and its arguments -> named arrays. The same job gives the same anywhere."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import echoscale
from echoscale.network.fingerprint import fingerprint
from echoscale.sweeps.functions import code_of, is_own, name_of, named
from echoscale.sweeps.task import Task

# Raised when a change of the code changes results, so that those of older code are not taken for those of this one.
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
    """Everything that determines some results.

    Parameters
    ----------
    function : str
        "module:function". It returns named arrays. One that takes long has a parameter `check` and calls check() now and then:
        that raises where the run was interrupted.
    arguments : mapping
        Its keywords, but for `check`: numbers, strings, arrays, networks, dataclasses (see `echoscale.network.fingerprint`).

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
        """The call of a function, for later.

        Parameters
        ----------
        function : callable
            A function at the top of an importable module.
        **arguments : object
            Its arguments, by name.
        """
        return cls(name_of(function), arguments)

    def key(self) -> str:
        """A fingerprint of function, arguments, code and versions: it names the results in a ledger.

        The version of echoscale and `NUMERICS` stand for its own code. For functions and classes of the user, that of the job
        and those of its tasks, a digest of their code does: where it has changed, jobs are run again.
        """
        return fingerprint(
            {
                "function": self.function,
                "arguments": dict(self.arguments),
                "numerics": NUMERICS,
                "version": echoscale.__version__,
                "code": self._codes(),
            }
        )

    def _codes(self) -> dict[str, str]:
        """Digests of all code that is not echoscale's own, by name."""
        problems = [each for each in self.arguments.values() if isinstance(each, Task)]
        values = [*self.arguments.values(), *(value for each in problems for value in each.parameters.values())]
        used = {name: named(name) for name in (self.function, *(str(each.function) for each in problems))}
        used |= {f"{type(each).__module__}:{type(each).__qualname__}": type(each) for each in values}
        return {name: code_of(each) for name, each in used.items() if not is_own(each)}

    def run(self, check: Check = unchecked) -> Arrays:
        """Call the function.

        Parameters
        ----------
        check : function
            Handed on to functions that have a parameter of this name.
        """
        function, arguments = named(self.function), dict(self.arguments)
        if "check" in inspect.signature(function).parameters:
            arguments["check"] = check
        return {name: np.asarray(values) for name, values in function(**arguments).items()}
