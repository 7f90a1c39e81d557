"""Output feedback of a regressor: the network hears the targets while it is fitted, and its own outputs afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.esn import ESN
from echoscale.estimators.closed_loop import Generated, generated
from echoscale.readouts.products import Pairs
from echoscale.readouts.ridge import Readout
from echoscale.scaling import Scaling
from echoscale.series import Series, as_targets, teacher_forced

Array = npt.NDArray[Any]


def taught(scaled: Series, targets: Series, before: npt.ArrayLike | None) -> Series:
    """(s(t), y(t-1)): what the network hears while it is fitted.

    Parameters
    ----------
    scaled, targets : Series
        Inputs and targets, in units of the network; all targets must be known.
    before : (O,) or (B, O), or None
        The targets before the first step; None: 0.
    """
    # Says where a target is unknown.
    as_targets(targets.values[0] if scaled.kind == "one" else list(targets.values), scaled)
    return teacher_forced(scaled, targets, before)


def followed(
    esn: ESN,
    readout: Readout,
    scaled: Series,
    known: Series | None,
    state: tuple[npt.ArrayLike | None, Array | None, npt.ArrayLike | None],
    direct: int,
    units: Scaling,
    pairs: Pairs | None,
) -> tuple[Generated, Array]:
    """Outputs of a network that hears its own, but where they are known; and the state after them, (B, ...).

    Parameters
    ----------
    esn : ESN
        A network with output feedback.
    readout : Readout
        Its outputs are in units of the data.
    scaled : Series
        Inputs, in units of the network.
    known : Series or None
        Outputs that are known, in units of the network; NaN where they are not.
    state : states, recent inputs, last outputs
        Where the network begins; each None for zero.
    direct : int
        How many of the last inputs, fed-back outputs among them, the readout sees.
    units : Scaling
        Of outputs.
    pairs : (P, 2) or None
        Products of two states that the readout sees.
    """
    widths = esn.units, max(direct - 1, 0) * esn.columns, esn.n_outputs
    begins: Any = tuple(
        np.zeros((scaled.count, width)) if each is None else np.broadcast_to(each, (scaled.count, width))
        for each, width in zip(state, widths, strict=True)
    )
    made = generated(esn, readout, scaled, known, begins, direct, units, pairs)
    return made, np.concatenate([made.state, made.recent, made.heard], axis=-1)
