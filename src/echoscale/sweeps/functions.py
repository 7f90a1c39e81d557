"""Functions by the name under which another process can import them, "module:function", and what they do by a digest."""

from __future__ import annotations

import dis
import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

from echoscale.network.fingerprint import fingerprint


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


@lru_cache(maxsize=256)
def code_of(value: Callable[..., Any]) -> str:
    """A digest of the code of a function or class as it is loaded, and of all that it uses of its own package.

    Functions, classes and constants (numbers, strings, tuples) count, to any depth; comments, lists and arrays of the module,
    and the code of other packages do not. Versions of Python compile to different code, and give different digests.
    """
    whole = hashlib.sha256(repr(sys.version_info[:2]).encode())
    for each in _code(value, getattr(value, "__module__", "") or "", set()):
        whole.update(repr(each).encode())
    return whole.hexdigest()


def is_own(value: object) -> bool:
    """Whether a function or class belongs to echoscale, whose version stands for its code, or to Python or NumPy."""
    home = str(getattr(value, "__module__", "") or "").partition(".")[0]
    return home in ("echoscale", "numpy") or home in sys.stdlib_module_names


def _code(value: Any, home: str, seen: set[int]) -> Iterator[object]:
    """All that the digest is made of, in a fixed order."""
    value = inspect.unwrap(value) if callable(value) else value
    if isinstance(value, staticmethod | classmethod | property):
        value = value.fget if isinstance(value, property) else value.__func__
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, FunctionType):
        yield value.__qualname__
        yield from _compiled(value.__code__)
        defaults = (value.__defaults__ or ()) + tuple(sorted((value.__kwdefaults__ or {}).items()))
        yield from (_constant(each) for each in defaults)
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell != type(cell)()]
        names = _names(value.__code__)
        used = [value.__globals__[name] for name in names if name in value.__globals__]
        modules = [each for each in used if isinstance(each, ModuleType)]
        inside = [vars(each)[name] for each in modules for name in names if name in vars(each)]
        for each in [*cells, *used, *inside]:
            yield from _used(each, home, seen)
    elif isinstance(value, type):
        yield value.__qualname__
        for base in value.__bases__:
            yield from _used(base, home, seen)
        for name in sorted(vars(value)):
            if name not in ("__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__", "__static_attributes__"):
                yield name
                yield from _used(vars(value)[name], home, seen, inside=True)


def _used(value: Any, home: str, seen: set[int], inside: bool = False) -> Iterator[object]:
    """What a function uses: code of the same package by what it does, constants by their value, all else by nothing."""
    if isinstance(value, FunctionType | type | staticmethod | classmethod | property) or hasattr(value, "__wrapped__"):
        root = str(getattr(inspect.unwrap(value) if callable(value) else value, "__module__", "") or "").partition(".")[0]
        if inside or (root and root == home.partition(".")[0]):
            yield from _code(value, home, seen)
        return
    if not isinstance(value, ModuleType):
        yield _constant(value)


def _constant(value: object) -> str:
    """What cannot change while a program runs, by its value; all else, such as a cache of the module, by its type."""
    try:
        return (
            fingerprint(value) if isinstance(value, int | float | str | bytes | tuple | frozenset) else type(value).__qualname__
        )
    except (TypeError, ValueError, RecursionError):
        return type(value).__qualname__


def _compiled(code: CodeType) -> Iterator[object]:
    yield code.co_code
    yield code.co_names
    for each in code.co_consts[1:] if code.co_consts and isinstance(code.co_consts[0], str) else code.co_consts:
        if isinstance(each, CodeType):
            yield from _compiled(each)
        else:
            yield sorted(map(repr, each)) if isinstance(each, frozenset) else repr(each)


def _names(code: CodeType) -> list[str]:
    """The global names and attributes that the code uses and does not set, those of functions inside it too."""
    inner = [name for each in code.co_consts if isinstance(each, CodeType) for name in _names(each)]
    counted = {each.argval for each in dis.get_instructions(code) if each.opname == "STORE_GLOBAL"}
    return [name for name in dict.fromkeys([*code.co_names, *inner]) if name not in counted]
