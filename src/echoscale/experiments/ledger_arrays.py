"""Named arrays of numbers as a ledger keeps them: their bits, and a digest of all that belong to a job."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # NumPy is loaded when the first array comes
    import numpy.typing as npt

# What arrays may hold: numbers of a fixed size, the same bits on every machine.
DTYPES = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")


class Packed(NamedTuple):
    """A named array as the file has it."""

    name: str
    dtype: str
    shape: str
    data: bytes


def pack(values: npt.ArrayLike, name: str) -> Packed:
    """The bits themselves: NaN and infinities too come back as they were, which text does not promise."""
    import numpy as np

    array = np.asarray(values) if np.size(values) else np.asarray(values, getattr(values, "dtype", np.float64))
    kind = array.dtype.str[1:]
    if kind not in DTYPES:
        raise TypeError(f"results[{name!r}] must hold numbers or truth values, got {values!r}.")
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return Packed(name, kind, json.dumps(list(array.shape)), little.tobytes())


def unpack(packed: Packed) -> npt.NDArray[Any]:
    """The array with the same bits."""
    import numpy as np

    flat = np.frombuffer(packed.data, np.dtype(f"<{packed.dtype}"))
    array = flat.reshape(json.loads(packed.shape))
    return array.astype(array.dtype.newbyteorder("="))  # a copy, which may be written to


def digest_of(key: str, seconds: float, packed: Sequence[Packed]) -> bytes:
    """Of all that belongs to a job: one changed bit, or an array of another job, is noticed."""
    whole = hashlib.sha256(json.dumps([key, seconds, *([*each[:3], len(each.data)] for each in packed)]).encode())
    for each in packed:
        whole.update(each.data)
    return whole.digest()


def sweep_digest(sweep: str, settings: str, keys: Sequence[str]) -> bytes:
    """Of what a sweep is: its id, its settings as text, and its jobs in their order."""
    return hashlib.sha256(json.dumps([sweep, settings, list(keys)]).encode()).digest()
