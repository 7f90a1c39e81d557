"""What is public: the names in `__all__` of the package, of its public sub-packages, and of the modules that these name."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType

import echoscale


def public_names(package: ModuleType = echoscale) -> Iterator[tuple[str, object]]:
    """("echoscale.tasks.narma", the function), ... where it is first listed; modules are entered, not listed."""
    seen: set[int] = set()
    for name, value in _walk(package, set()):
        if isinstance(value, type) or inspect.isroutine(value):
            if id(value) in seen:
                continue
            seen.add(id(value))
        yield name, value


def _walk(module: ModuleType, entered: set[str]) -> Iterator[tuple[str, object]]:
    entered.add(module.__name__)
    inner = []
    for name in getattr(module, "__all__", ()):
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            inner.append(value)
        elif not name.startswith("__"):
            yield f"{module.__name__}.{name}", value
    for each in inner:
        if each.__name__ not in entered:
            yield from _walk(each, entered)


def inner_modules() -> Iterator[tuple[str, ModuleType]]:
    """The modules that public sub-packages name, such as echoscale.sweeps.axes."""
    for package in _modules(echoscale):
        yield from ((each.__name__, each) for each in _modules(package))


def _modules(package: ModuleType) -> list[ModuleType]:
    found = (getattr(package, name) for name in getattr(package, "__all__", ()))
    return [each for each in found if isinstance(each, ModuleType)]


def documented() -> dict[str, object]:
    """Public classes, functions, and the public methods and properties that echoscale itself defines in those classes."""
    found: dict[str, object] = {}
    for name, value in public_names():
        if isinstance(value, type):
            found[name] = value
            found |= {f"{name}.{member}": each for member, each in members(value)}
        elif inspect.isroutine(value):
            found[name] = value
    return found


def members(cls: type) -> Iterator[tuple[str, object]]:
    """The public methods and properties of a class, its bases included, as far as echoscale defines them."""
    seen = set()
    for base in cls.__mro__:
        if base.__module__.split(".")[0] != "echoscale":
            continue
        for name, value in vars(base).items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            if isinstance(value, classmethod | staticmethod):
                yield name, value.__func__
            elif inspect.isfunction(value) or isinstance(value, property) or hasattr(value, "func"):
                yield name, value


def room(value: object) -> str:
    """ "network", "tasks", ...: where an object is defined."""
    inner = value.fget if isinstance(value, property) else getattr(value, "func", value)
    return str(inner.__module__).split(".")[1]


def resolve(name: str) -> object:
    """What a dotted name leads to, by attributes alone after `import echoscale`."""
    value: object = importlib.import_module("echoscale")
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value
