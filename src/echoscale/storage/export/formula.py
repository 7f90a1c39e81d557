"""One step of a fitted model as a few arrays: what every file that is exported says.

    seen  = (1, z(t), z(t-1), ..., z(t-m), x(t-1), x(t))
    x(t)  = keep x(t-1) + a f(drive seen),      f = tanh, or the identity of linear neurons
    y(t)  = W_out (products of entries of seen) + b

z(t) is the scaled input and, with output feedback, the scaled output of the step before. Biases, input weights, recurrent
weights and couplings are all rows of `drive`: its columns are places in `seen`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

from echoscale._internal.types import Floats, Indices
from echoscale.data.scaling import Scaling

VALUES, SOFTMAX, SIGMOID = "values", "softmax", "sigmoid"


class Formula(NamedTuple):
    """A model in plain arrays. Its state (S,) is laid out as `state_` of the model.

    Attributes
    ----------
    kind : str
        The class of the model.
    inputs : Scaling
        Units of the F inputs.
    fed_back : Scaling or None
        Units of the O outputs, where they are fed back.
    memory : int
        m, the past inputs that the state holds.
    drive : (N, V) csr_array
        Weights on `seen`; those on x(t) stand left of a neuron's own level.
    keep : (N, N) csr_array
        (1 - a) O, on x(t-1).
    leak_rate : (N,)
        a.
    linear : (N,) bool
        Which neurons have no tanh.
    blocks : tuple of slice
        Neurons that move at once, in order; f is the same for all of a block.
    factors : (P, D)
        Product p multiplies the entries factors[p] of `seen`; entry 0 is 1.
    coef : (O, P)
        W_out.
    intercept : (O,)
        b.
    meaning : "values", "softmax" or "sigmoid"
        What outputs are: numbers, or probabilities of classes from these scores.
    classes : tuple of str
        The labels in the order of the outputs; empty for numbers.
    past_first : bool
        Whether past inputs stand before x in the state, or after it.
    start : (S,) or None
        The state before the first step of a series; None: zeros.
    """

    kind: str
    inputs: Scaling
    fed_back: Scaling | None
    memory: int
    drive: scipy.sparse.csr_array
    keep: scipy.sparse.csr_array
    leak_rate: Floats
    linear: npt.NDArray[np.bool_]
    blocks: tuple[slice, ...]
    factors: Indices
    coef: Floats
    intercept: Floats
    meaning: str = VALUES
    classes: tuple[str, ...] = ()
    past_first: bool = False
    start: Floats | None = None

    @property
    def units(self) -> int:
        """N."""
        return len(self.leak_rate)

    @property
    def n_inputs(self) -> int:
        """F."""
        return len(self.inputs.mean)

    @property
    def n_outputs(self) -> int:
        """O."""
        return len(self.intercept)

    @property
    def n_fed_back(self) -> int:
        """O with output feedback, else 0."""
        return 0 if self.fed_back is None else self.n_outputs

    @property
    def columns(self) -> int:
        """What the network hears at a step: inputs, then outputs that are fed back."""
        return self.n_inputs + self.n_fed_back

    @property
    def past(self) -> int:
        """Numbers of past inputs in the state."""
        return self.memory * self.columns

    @property
    def before(self) -> int:
        """Where x(t-1) begins in `seen`."""
        return 1 + self.columns + self.past

    @property
    def seen(self) -> int:
        """V."""
        return self.before + 2 * self.units

    @property
    def state(self) -> int:
        """S: x and past inputs, newest first, then the last output in units of the network."""
        return self.units + self.past + self.n_fed_back

    @property
    def x_at(self) -> int:
        """Where x begins in the state."""
        return self.past if self.past_first else 0

    @property
    def past_at(self) -> int:
        """Where past inputs begin in the state."""
        return 0 if self.past_first else self.units
