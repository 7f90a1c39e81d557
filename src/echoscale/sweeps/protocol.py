"""How a series is cut into washout, training, validation and test, and what counts as a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale.data.scaling import STANDARD
from echoscale.readouts.ridge import check_path

SCORES = ("nrmse", "nmse", "mse")
# The penalties under which the paper's comparison holds: from 1e-5 up, chosen on validation data.
RIDGE = tuple(float(f"{10.0**e:.6g}") for e in np.arange(-5, 1.01, 0.5))


@dataclass(frozen=True)
class Protocol:
    """How a series is used: washed out, fitted, validated, tested, in this order.

    Parameters
    ----------
    washout : int
        Steps at the start that are run but not counted.
    train : int
        Steps that the readout is fitted to.
    validation : int
        Steps that choose the ridge penalty, point by point.
    test : int
        Steps that take no part in any choice: their error is the one to report.
    lag : {1, 0}
        1: the state that has seen u[t] predicts y[t]. 0: it predicts y[t + 1], without u[t + 1].
    ridge : sequence of float
        Penalties of the ridge regression to choose from.
    direct : bool
        Whether the inputs are features too, beside the states.
    score : {"nrmse", "nmse", "mse"}
        The error: root of the mean squared error over the variance of the target, its square, or the mean squared error.
    dtype : {"float32", "float64"}
        Precision of the states. Statistics and readouts are always float64.
    scale : {"standard", None}
        "standard": inputs are scaled to mean 0 and standard deviation 1 over the training steps. None: the network sees them
        as they are. Targets need no scaling: a ridge readout is linear in them, and has an intercept.

    Examples
    --------
    >>> from echoscale.sweeps import Protocol
    >>> short = Protocol(washout=100, train=500, validation=200, test=200)
    >>> short.length
    1000
    >>> short.edges.tolist()
    [100, 600, 800, 1000]
    """

    washout: int = 200
    train: int = 5000
    validation: int = 1500
    test: int = 2500
    lag: int = 1
    ridge: Sequence[float] = RIDGE
    direct: bool = False
    score: str = "nrmse"
    dtype: str = "float32"
    scale: str | None = STANDARD

    def __post_init__(self) -> None:
        for name, least in (("washout", 0), ("train", 2), ("validation", 1), ("test", 1)):
            object.__setattr__(self, name, checks.integer(getattr(self, name), name, minimum=least))
        if not isinstance(self.direct, bool):
            raise TypeError(f"direct must be True or False, got {self.direct!r}.")
        checks.choice(self.lag, (0, 1), "lag")
        object.__setattr__(self, "lag", int(self.lag))
        checks.choice(self.score, SCORES, "score")
        checks.choice(self.dtype, ("float32", "float64"), "dtype")
        checks.choice(self.scale, (STANDARD, None), "scale")
        object.__setattr__(self, "ridge", tuple(float(each) for each in check_path(self.ridge)))

    @property
    def edges(self) -> npt.NDArray[np.int64]:
        """Where training, validation and test begin and end, (4,)."""
        return np.cumsum([self.washout, self.train, self.validation, self.test])

    @property
    def length(self) -> int:
        """The steps that a series must have."""
        return int(self.edges[-1]) + (1 - self.lag)
