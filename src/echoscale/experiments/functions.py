"""Functions by the name under which another process can import them: "module:function"."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, or a ValueError where no other process could find it by one."""
    name, module = getattr(function, "__qualname__", ""), getattr(function, "__module__", "")
    if not callable(function) or not name or "<" in name or module == "__main__":
        raise ValueError(
            f"{function!r} cannot be found by its name from another process: define it in a module that can be imported."
        )
    return f"{module}:{name}"


def named(name: str) -> Callable[..., Any]:
    """The function of that name, imported if need be; the inverse of `name_of`."""
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"there is no function {name!r}: give 'module:function'.") from error
    if not callable(found):
        raise ValueError(f"{name} is no function: {found!r}.")
    return found  # type: ignore[no-any-return]
