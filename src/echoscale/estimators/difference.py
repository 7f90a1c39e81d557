"""difference="last": the readout is fitted to y(t) - v(t), and the last known value v(t) of y is added back.

With output feedback v(t) = y(t-1), otherwise v(t) is the input u(t) in units of the targets. v(t) is among the inputs that the
readout sees, so adding v(t) back changes one weight.
"""

from __future__ import annotations

import numpy as np

from echoscale.data.differencing import LastValue
from echoscale.data.scaling import Scaling
from echoscale.data.series import Series
from echoscale.engine.esn import ESN
from echoscale.readouts.columns import Columns
from echoscale.readouts.ridge import Readout


def changes(heard: Series, wanted: Series, inputs: Scaling, outputs: Scaling, count: int) -> Series:
    """y(t) - v(t), in units of the network."""
    if not count:
        raise ValueError(
            "difference='last' adds the last value back, so the readout must see it: columns must have at least one input."
        )
    fed_back = heard.features > inputs.mean.size
    if not fed_back and heard.features != wanted.features:
        raise ValueError(
            f"difference='last' takes the change from u(t) to y(t), but there are {heard.features} inputs and "
            f"{wanted.features} outputs. Give outputs that are inputs too, or use output feedback."
        )
    last = _last_value(inputs, outputs, fed_back)
    values = [last.taken_off(y, u[:, -wanted.features :]) for u, y in zip(heard.values, wanted.values, strict=True)]
    return Series(np.stack(values) if isinstance(wanted.values, np.ndarray) else values, wanted.kind, wanted.name)


def added_back(readout: Readout, esn: ESN, inputs: Scaling, outputs: Scaling, columns: Columns) -> Readout:
    """The readout of y(t) from the readout of y(t) - v(t)."""
    first = columns.width_of_states(esn) + esn.columns - len(readout.intercept)
    coef, intercept = _last_value(inputs, outputs, esn.n_outputs > 0).added_back(readout.coef, readout.intercept, first)
    return readout._replace(coef=coef, intercept=intercept)


def _last_value(inputs: Scaling, outputs: Scaling, fed_back: bool) -> LastValue:
    """Fed-back outputs are in units of the outputs already."""
    return LastValue.of(outputs, outputs) if fed_back else LastValue.of(inputs, outputs)
