"""Values as JSON: equal values give equal text and different values different text, on every machine.

Every value except a plain number, string, list or dictionary carries the name of its class, so that `Sine(0.1)` differs from
`Square(0.1)`.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np

from echoscale.network import Network
from echoscale.network.matrix import Matrix

# Types with a JSON equivalent. A list equals a tuple of the same values, and a number equals the same NumPy number.
_NUMBERS_AND_TEXT = (bool, int, float, str)
_SEQUENCES = (list, tuple, range)
_MAPPINGS = (dict, OrderedDict, MappingProxyType)


def plain(value: object) -> Any:
    """The value as numbers, strings, lists and dictionaries."""
    kind = type(value)
    if value is None or kind in _NUMBERS_AND_TEXT:
        return value
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        return value.item()
    if kind in _SEQUENCES:
        return [plain(each) for each in value]  # type: ignore[attr-defined]
    if kind in _MAPPINGS:
        return _mapping(value)  # type: ignore[arg-type]
    if kind is np.ndarray and value.dtype.kind in "biuf":  # type: ignore[attr-defined]
        return _array(value)  # type: ignore[arg-type]
    content = _content(value)
    return {f"<{kind.__module__}:{kind.__qualname__}>": plain(content)}


def fingerprint(value: object) -> str:
    """SHA-256 of the value as JSON with sorted names; floats have all their digits."""
    return hashlib.sha256(json.dumps(plain(value), sort_keys=True).encode()).hexdigest()


def _content(value: object) -> object:
    """The content that distinguishes a value from others of its class."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Network | Matrix):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return dict(value._asdict())
    if isinstance(value, _NUMBERS_AND_TEXT):  # subclasses of numbers and text
        return next(base(value) for base in _NUMBERS_AND_TEXT if isinstance(value, base))
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("a masked array cannot be identified by its value: fill or cut the masked entries first.")
    raise TypeError(
        f"{value!r} cannot be identified by its value. Use numbers, strings, lists, arrays, or descriptions of networks."
    )


def _mapping(value: Mapping[object, object]) -> Any:
    """A mapping with names as keys stays one; other keys, which JSON would turn into names, become pairs."""
    if all(type(name) is str for name in value):
        return {name: plain(each) for name, each in value.items()}
    return {"<pairs>": sorted(([plain(name), plain(each)] for name, each in value.items()), key=lambda pair: json.dumps(pair))}


def _array(value: np.ndarray[Any, np.dtype[Any]]) -> dict[str, Any]:
    ordered = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
    digest = hashlib.sha256(ordered.data).hexdigest()
    return {"<array>": digest, "shape": list(value.shape), "dtype": value.dtype.str.lstrip("<>=|")}
