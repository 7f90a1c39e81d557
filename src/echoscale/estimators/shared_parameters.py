"""Parameters that several estimators share, explained once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Kind = TypeVar("Kind", bound=type)

LINKS = """
    bias_scaling : float or tuple
        Of the biases; 0 is none.
    coupling : float or tuple
        Strength of the links of a hierarchy.
    connections : int, tuple or None
        Non-zero weights in each row; None: 10, or all where there are fewer units.
    topology : str, Concentric or (units, units) matrix
        "normal", "uniform", "delay_line", "ring", "concentric", or weights of your own.
    coupling_delay : 0 or 1
        Steps that a link takes.
"""
NETWORK = """
    units : int or tuple of int
        Neurons, of every level.
    structure : "single", "parallel" or "hierarchical"
        How the levels are joined. Two levels: units=(50, 50), structure="hierarchical".
    leak_rate : float, tuple or None
        alpha in (0, 1] of all levels, or of each; 1 forgets at once. None: from 1 on the first level to 0.03 on the last, the
        others geometrically between them; 1 where there is one level.
    spectral_radius : float or tuple
        Of the recurrent weights.
    input_scaling : float, tuple or None
        Of the input weights. In a hierarchy, one number is that of the first level; the others have 0. None: {input_scaling}
    {LINKS}
"""
SEQUENCES = """
    every : int or None
        Of snapshots: steps from one to the next, for sequences of one length. None: `parts` of them at relative positions,
        x(ceil(k T / parts)), k = 1, 2, ..., whatever the length T.
    parts : int
        How many segments, and snapshots at relative positions.
    changes : bool or "only"
        Whether the network hears the changes u(t) - u(t-1) beside the inputs, or only them. For sequences.
"""
MACHINE = """
    dtype : "float32" or "float64"
        Precision of the network.
    device : None, "cpu", "gpu" or a jax.Device
        Where it runs; None: JAX's choice.
"""


def explained(**words: str) -> Callable[[Kind], Kind]:
    """A class whose docstring holds {NETWORK}, {LINKS}, {SEQUENCES} or {MACHINE} gets their text there.

    Parameters
    ----------
    **words : str
        What is put into these texts.
    """

    def put(kind: Kind) -> Kind:
        text = kind.__doc__ or ""
        for name, given in (("NETWORK", NETWORK), ("LINKS", LINKS), ("SEQUENCES", SEQUENCES), ("MACHINE", MACHINE)):
            text = text.replace(f"    {{{name}}}\n", given[1:])
        for name, given in words.items():
            text = text.replace(f"{{{name}}}", given)
        kind.__doc__ = text
        return kind

    return put
