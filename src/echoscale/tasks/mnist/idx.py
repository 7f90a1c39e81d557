"""IDX, the file format of MNIST: a magic number, the sizes of all axes, and the numbers themselves.

    0 0 | type | axes | size of axis 1 | ... | size of axis `axes` | numbers, the last axis running fastest

Type and number of axes have one byte each, sizes four, the highest first. MNIST has but type 8: numbers of one byte.
"""

from __future__ import annotations

import math
import struct

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

UNSIGNED_BYTES = 8


def parse(content: bytes, name: str, axes: int) -> Bytes:
    """The array in a file's content, with so many axes; `name` is for errors. It lies on the content: read only."""
    header = 4 * (1 + axes)
    magic = int.from_bytes(content[:4], "big")
    expected = UNSIGNED_BYTES << 8 | axes
    if len(content) < 4 or magic != expected:
        raise ValueError(
            f"{name} is not an IDX file of bytes with {axes} axes: it starts with {content[:4].hex(' ') or 'nothing'}, "
            f"and should with {expected.to_bytes(4, 'big').hex(' ')}. {_REMEDY}"
        )
    if len(content) < header:
        raise ValueError(f"{name} ends within its header: {len(content)} bytes of {header}. {_REMEDY}")
    shape = struct.unpack(f">{axes}I", content[4:header])
    count = math.prod(shape)
    if len(content) != header + count:
        raise ValueError(
            f"{name} announces {' x '.join(map(str, shape))} = {count} numbers, and holds {len(content) - header}. {_REMEDY}"
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


_REMEDY = "Get the file anew."
