"""Settings of an online learner: its arguments, checked once."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.data import losses
from echoscale.engine import traces
from echoscale.engine.devices import device_of, one_thread, precision_and_device
from echoscale.engine.hyper import Hyper, Parameter, chosen
from echoscale.learning.online import constraints
from echoscale.learning.online.adam import PRESETS, Adam
from echoscale.learning.online.reinitialise import Reinitialise
from echoscale.network import Network
from echoscale.readouts.rls import RLS

if TYPE_CHECKING:
    from echoscale.engine.devices import DeviceLike


@dataclass(frozen=True, eq=False)
class LearnerSettings:
    """Arguments of `OnlineLearner`; `hyper` holds the hyper-parameters of the starts before the first step."""

    network: Network
    outputs: int
    learned: tuple[Parameter, ...]
    loss: str
    readout: Adam | RLS
    rates: Adam
    trace: str
    constraint: str
    hyper: Hyper
    protocol: Reinitialise | None
    record: int
    washout: int
    average: float | int | None
    seed: int
    dtype: str
    device: DeviceLike

    def __post_init__(self) -> None:
        checks.choice(self.loss, losses.LOSSES, "loss")
        checks.choice(self.trace, traces.FORMS, "trace")
        checks.choice(self.constraint, constraints.CONSTRAINTS, "constraint")
        if checks.integer(self.outputs, "outputs", minimum=1) < 2 and self.loss == "softmax":
            raise ValueError("outputs must be at least 2 with loss='softmax', got 1: it is the number of classes.")
        checks.integer(self.record, "record", minimum=1)
        checks.integer(self.seed, "seed")
        checks.choice(self.dtype, ("float32", "float64"), "dtype")
        device_of(self.device)  # raises for a wrong name before the first step
        if self.averages_plainly:
            checks.integer(self.average, "average")
        elif self.average is not None and not 0 < checks.number(self.average, "average") < 1:
            raise ValueError(
                f"average must lie in (0, 1), the share of the past in a running mean, or be a whole number, the first step of "
                f"a plain mean; got {self.average}."
            )
        if isinstance(self.readout, RLS):
            if self.loss != "mse":
                raise ValueError(f"RLS minimises squares: use loss='mse' (one-hot targets for classes), not {self.loss!r}.")
            if self.average is not None:
                raise ValueError("average is for readouts learned by Adam; RLS averages by itself. Leave average out.")
            if self.readout.state is not None:
                raise ValueError("this RLS has learned already, and a learner starts from zero: give a new RLS.")
        if self.protocol is not None and not isinstance(self.protocol, Reinitialise):
            raise TypeError(f"protocol must be None or a Reinitialise, got {type(self.protocol).__name__}.")
        if self.protocol is not None and not self.learned:
            raise ValueError("a protocol checks learned hyper-parameters, and parameters=() learns none: leave it out.")
        farthest = max(self.speeds, default=0.0) * (self.protocol.period if self.protocol else 0)
        if self.protocol is not None and 0 < farthest < self.protocol.tolerance:
            raise ValueError(
                f"in {self.protocol.period} steps at a rate of {max(self.speeds):g} a number moves at most {farthest:g}, less "
                f"than tolerance={self.protocol.tolerance:g}: all would count as converged. Lower it, or check less often."
            )
        constraints.to_free(self.first_values, self.learned, self.constraint)

    @property
    def starts(self) -> int:
        """Number of starts S."""
        return self.hyper.lanes or 1

    @property
    def averages_plainly(self) -> bool:
        """Whether `average` is the first step of a plain mean, not a decay."""
        return isinstance(self.average, numbers.Integral)

    @property
    def features(self) -> int:
        """Number of columns of W_out: the neurons, and one for the intercept."""
        return self.network.units + 1

    @property
    def rows(self) -> int:
        """Number of readout weights that Adam moves."""
        return 0 if isinstance(self.readout, RLS) else self.features * self.outputs

    @property
    def speeds(self) -> list[float]:
        """Learning rate of every learned hyper-parameter."""
        return self.rates.of(self.learned, self.hyper)

    @property
    def first_values(self) -> Floats:
        """Learned hyper-parameters before the first step, (P, S)."""
        leaves = [np.asarray(each.of(self.hyper), np.float64) for each in self.learned]
        return np.array([np.broadcast_to(leaf, self.starts) for leaf in leaves]).reshape(-1, self.starts)

    def chosen(self, names: str | Sequence[str | Parameter] | None) -> tuple[Parameter, ...]:
        """Learned hyper-parameters by name; all without names."""
        if names is None:
            return self.learned
        which = chosen(names, self.hyper)
        if unknown := [str(each) for each in which if each not in self.learned]:
            raise ValueError(f"{', '.join(unknown)} is not learned here; learned are {', '.join(map(str, self.learned))}.")
        return which

    def at(self, start: object) -> int:
        """Index of a start, checked."""
        number = checks.integer(start, "start")
        if number >= self.starts:
            raise ValueError(f"there is no start {start}: this learner has {self.starts}, counted from 0.")
        return number

    @contextmanager
    def context(self) -> Iterator[None]:
        """Precision and device; BLAS runs on one thread, since recursive least squares calls it with small matrices."""
        wide = isinstance(self.readout, RLS) or self.dtype == "float64"
        with precision_and_device(np.float64 if wide else np.float32, device_of(self.device)), one_thread():
            yield


def rules(learned: Adam | str, readout: Adam | RLS | None) -> tuple[Adam, Adam | RLS]:
    """Rules for hyper-parameters and readout: as given, or from a preset."""
    preset = PRESETS[checks.choice(learned, tuple(PRESETS), "rates")] if isinstance(learned, str) else None
    speeds = preset.learned if preset else learned
    if not isinstance(speeds, Adam):
        raise TypeError(f"rates must be an Adam or one of {', '.join(map(repr, PRESETS))}, got {learned!r}.")
    own = readout if readout is not None else (preset or PRESETS["narma"]).readout
    if not isinstance(own, Adam | RLS):
        raise TypeError(f"readout must be an Adam or an RLS, got {readout!r}.")
    if isinstance(own, Adam) and not isinstance(own.rate, int | float):
        raise ValueError("the readout has one learning rate: Adam(rate=...) with a number.")
    return speeds, own
