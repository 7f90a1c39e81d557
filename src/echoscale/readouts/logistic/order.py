"""In which order the rows are shown: blocks in random order, rows in random order within a block, cut into minibatches.

An epoch's order follows from the seed and its number alone, so a training that was interrupted goes on as if it had not been.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
Table = npt.NDArray[np.int32]


def shuffled(parts: Sequence[Rows], minibatch: int, seed: int, epoch: int) -> Iterator[tuple[int, Table]]:
    """Every part's number and its rows as a table of minibatches; parts without a row are left out.

    All tables have one height, that of the largest part, for one compiled program: a minibatch of -1 alone is none.
    """
    rng = np.random.default_rng([seed, epoch])
    height = max(steps(len(rows), minibatch) for rows in parts)
    for place in rng.permutation(len(parts)):
        if len(parts[place]):
            yield int(place), cut(rng.permutation(parts[place]), minibatch, height)


def steps(count: int, minibatch: int) -> int:
    """How many minibatches so many rows make."""
    return -(-count // minibatch)


def cut(rows: Rows, minibatch: int, height: int | None = None) -> Table:
    """Minibatches of nearly equal size, none larger than `minibatch`, one a row of the table (height, minibatch); -1 is none.

    Nearly equal, since a last one of a few rows would make as large a step as the others from far less.
    """
    count = steps(len(rows), minibatch)
    table = np.full((height or count, minibatch), -1, np.int32)
    sizes = len(rows) // max(count, 1) + (np.arange(len(table)) < len(rows) % max(count, 1))
    sizes[count:] = 0
    table[np.arange(minibatch) < sizes[:, None]] = rows
    return table
