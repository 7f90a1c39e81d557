"""target="change": the readout is fitted to y(t) - v(t), with v(t) the last value that is known of y, which is added back.

With output feedback v(t) = y(t-1), else the input u(t) in units of the targets. A readout sees v(t) among its inputs, so that
adding it back is a weight on one of them.
"""

from __future__ import annotations

import numpy as np

from echoscale._internal.types import Floats
from echoscale.data.scaling import Scaling
from echoscale.data.series import Series
from echoscale.engine.esn import ESN
from echoscale.readouts.columns import Columns
from echoscale.readouts.ridge import Readout


def changes(heard: Series, wanted: Series, inputs: Scaling, outputs: Scaling, direct: int) -> Series:
    """y(t) - v(t), in units of the network."""
    if not direct:
        raise ValueError("target='change' adds the last value back, which the readout must see: direct must be 1 at least.")
    fed_back = heard.features > inputs.mean.size
    if not fed_back and heard.features != wanted.features:
        raise ValueError(
            f"target='change' takes the change from u(t) to y(t), but there are {heard.features} inputs and "
            f"{wanted.features} outputs. Give outputs that are inputs too, or use output feedback."
        )
    shift, gain = _of_last_value(inputs, outputs, fed_back)
    values = [y - shift - gain * u[:, -wanted.features :] for u, y in zip(heard.values, wanted.values, strict=True)]
    return Series(np.stack(values) if isinstance(wanted.values, np.ndarray) else values, wanted.kind, wanted.name)


def added_back(readout: Readout, esn: ESN, inputs: Scaling, outputs: Scaling, columns: Columns) -> Readout:
    """The readout of y(t) from that of y(t) - v(t)."""
    size = len(readout.intercept)
    shift, gain = _of_last_value(inputs, outputs, esn.n_outputs > 0)
    coef, first = np.array(readout.coef), columns.width_of_states(esn) + esn.columns - size
    coef[np.arange(size), first + np.arange(size)] += gain
    return readout._replace(coef=coef, intercept=readout.intercept + shift)


def _of_last_value(inputs: Scaling, outputs: Scaling, fed_back: bool) -> tuple[Floats, Floats]:
    """(shift, gain): what was heard as z is shift + gain z in units of the outputs; fed-back outputs are in these already."""
    if fed_back:
        return np.zeros(outputs.mean.size), np.ones(outputs.mean.size)
    return outputs.forward(inputs.mean), inputs.spread / outputs.spread
