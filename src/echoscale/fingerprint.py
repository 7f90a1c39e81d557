"""Values as JSON knows them: equal values give equal text, different ones different text, on every machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np

from echoscale.network import Network
from echoscale.network.matrix import Matrix


def plain(value: Any) -> Any:
    """Numbers, strings, lists and dictionaries; arrays and matrices by a fingerprint of their numbers."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(each) for each in value]
    if isinstance(value, Network):
        return plain(value.to_dict())
    if isinstance(value, Matrix):
        return {"matrix": plain(value.to_dict())}
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        digest = hashlib.sha256(np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<")).tobytes()).hexdigest()
        return {"array": digest, "shape": list(value.shape), "dtype": value.dtype.str.lstrip("<>=|")}
    raise TypeError(
        f"{value!r} cannot be told from others by its value. Use numbers, strings, lists, arrays, or descriptions of networks."
    )


def fingerprint(settings: Mapping[str, Any]) -> str:
    """sha256 of the settings as JSON with sorted names; floats are written with all their digits."""
    return hashlib.sha256(json.dumps(plain(settings), sort_keys=True).encode()).hexdigest()
