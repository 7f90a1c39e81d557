"""Help with names that do not exist: the nearest name, or our name for a name of another library."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar

Called = TypeVar("Called", bound=Callable[..., Any])

# What reservoirpy, ORC, ResDAG, scikit-learn and papers call an option -> names of it here.
ELSEWHERE = {
    "activation_function": ("activation",),
    "alpha": ("leak_rate", "ridge"),
    "bias": ("bias_scaling",),
    "connectivity": ("connections",),
    "density": ("connections",),
    "gamma": ("input_scaling",),
    "h": ("horizon",),
    "input_connectivity": ("input_connections",),
    "lag": ("delay",),
    "leak": ("leak_rate",),
    "leaking_rate": ("leak_rate",),
    "lr": ("leak_rate",),
    "n_neurons": ("units",),
    "n_reservoir": ("units",),
    "noise_rc": ("noise",),
    "period": ("season",),
    "random_state": ("seed",),
    "rc_connectivity": ("connections",),
    "regularization": ("ridge",),
    "rho": ("spectral_radius",),
    "seasonality": ("season",),
    "seed": ("random_state",),
    "size": ("units",),
    "sparsity": ("connections",),
    "sr": ("spectral_radius",),
    "tau": ("delay", "timescales"),
    "transient": ("washout",),
    "warmup": ("washout",),
}


def hint(name: str, known: Iterable[str]) -> str:
    """ " Did you mean leak_rate?", or nothing."""
    known = list(known)
    meant = [each for each in ELSEWHERE.get(name.lower(), ()) if each in known] or get_close_matches(name, known, 1)
    return f" Did you mean {meant[0]}?" if meant else ""


def options(called: Called) -> Called:
    """A class or function whose error for an unknown option says which options there are."""
    function = called.__init__ if isinstance(called, type) else called  # type: ignore[misc]
    known = [name for name in inspect.signature(function).parameters if name != "self"]

    @wraps(function)
    def checked(*args: Any, **given: Any) -> Any:
        for name in given:
            if name not in known:
                raise TypeError(f"{called.__name__} has no option {name!r}.{hint(name, known)} It has {', '.join(known)}.")
        return function(*args, **given)

    if not isinstance(called, type):
        return checked  # type: ignore[return-value]
    called.__init__ = checked  # type: ignore[misc]
    return called


def no_attribute(owner: object, name: str, remedies: Mapping[str, str]) -> AttributeError:
    """The error for an attribute that an object does not have; `remedies` says what to call instead of some of them."""
    message = f"{type(owner).__name__!r} object has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(message)
    return AttributeError(f"{message}. {remedies[name]}" if name in remedies else f"{message}.{hint(name, dir(type(owner)))}")
