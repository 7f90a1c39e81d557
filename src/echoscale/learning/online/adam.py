"""Adam, the rule that moves the readout and the learned hyper-parameters, and the paper's settings by name.

    m <- b1 m + (1 - b1) g,    v <- b2 v + (1 - b2) g^2
    theta <- theta - rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)

(paper, appendix, with b and 1 - b corrected). One array (M, starts) holds all learned numbers in its rows: first the readout,
then the hyper-parameters. Each group has its own moments and factors. The rule is the same as `optax.adam`, its oracle in the
tests. Optax is slower (`benchmarks/choices.py`) and counts the steps of all starts together. Here every start has its own
count: the powers b^t are carried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import Array

from echoscale._internal import checks
from echoscale.engine.hyper import Hyper, Parameter, chosen


@dataclass(frozen=True)
class Adam:
    """Settings of the Adam rule, for the readout or the hyper-parameters of an `OnlineLearner`.

        theta <- theta - rate (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)

    Parameters
    ----------
    rate : float, or mapping of names to floats
        Learning rate. For hyper-parameters also one rate per name: `Adam({"leak_rate": 5e-6, "coupling": 1e-4})`.
    beta1 : float
        Share of the past in m, the running mean of the gradient, in [0, 1).
    beta2 : float
        Share of the past in v, the running mean of the squared gradient, in [0, 1).
    epsilon : float
        Small number above 0 that keeps the first steps finite.

    Examples
    --------
    >>> from echoscale.learning import Adam, PRESETS
    >>> Adam(5e-6, beta1=0.99) == PRESETS["narma"].learned
    True
    """

    rate: float | Mapping[str, float] = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        named = self.rate.items() if isinstance(self.rate, Mapping) else [("rate", self.rate)]
        for name, rate in named:
            if not checks.number(rate, f"the learning rate {name!r}") > 0:
                raise ValueError(
                    f"the learning rate {name!r} must be above 0, got {rate}. Leave fixed values out of `parameters`."
                )
        for name in ("beta1", "beta2"):
            beta = checks.number(getattr(self, name), name)
            if not 0 <= beta < 1:
                raise ValueError(f"{name} must lie in [0, 1), got {beta}: it is the share of the past in a running mean.")
        if not checks.number(self.epsilon, "epsilon") > 0:
            raise ValueError(f"epsilon must be above 0, got {self.epsilon}: it keeps the first steps finite.")

    def of(self, learned: Sequence[Parameter], hyper: Hyper) -> list[float]:
        """Learning rates of hyper-parameters.

        Parameters
        ----------
        learned : list of Parameter
            Learned hyper-parameters.
        hyper : Hyper
            Hyper-parameters of the network, which give the names their meaning.

        Returns
        -------
        list of float
            Learning rates in the order of `learned`.
        """
        if not isinstance(self.rate, Mapping):
            return [float(self.rate)] * len(learned)
        known = {each: float(rate) for name, rate in self.rate.items() for each in chosen(name, hyper)}
        missing = [str(each) for each in learned if each not in known]
        if missing:
            raise ValueError(f"there is no learning rate for {', '.join(missing)}: name it in Adam(rate={{...}}).")
        return [known[each] for each in learned]


class Preset(NamedTuple):
    """The paper's learning settings for one task.

    Parameters
    ----------
    readout : Adam
        Rule for W_out.
    learned : Adam
        Rule for the hyper-parameters.
    minibatch : int
        Number of sequences that run at once.
    """

    readout: Adam
    learned: Adam
    minibatch: int


# Paper, table of learning hyper-parameters; psMNIST with 4 and with 28 snapshots.
PRESETS = {
    "narma": Preset(Adam(1e-3), Adam(5e-6, beta1=0.99), 10),
    "telegraph": Preset(Adam(1e-3), Adam(5e-6, beta1=0.99), 10),
    "psmnist-4": Preset(Adam(5e-2), Adam(1e-4, beta1=0.999), 50),
    "psmnist-28": Preset(Adam(5e-3), Adam(1e-4, beta1=0.999), 50),
}


class AdamSettings(NamedTuple):
    """Settings as arrays: rate (M, starts), and per group (readout, learned) beta1 (2,), beta2 (2,), epsilon (2,)."""

    rate: Any
    beta1: Any
    beta2: Any
    epsilon: Any


class AdamAverages(NamedTuple):
    """Moments of Adam: running means of g and g^2, (M, starts), and b1^t, b2^t of both groups, (2, starts) each."""

    mean: Any
    square: Any
    power1: Any
    power2: Any


def settings(
    readout: Adam | None, learned: Adam, rates: Sequence[float], rows: int, starts: int, dtype: npt.DTypeLike
) -> AdamSettings:
    """Settings for `rows` rows of the readout, then one per learned number."""
    own = readout or Adam()
    rate = np.repeat([float(own.rate), *rates], [rows, *[1] * len(rates)])  # type: ignore[arg-type]
    pairs = ([getattr(own, name), getattr(learned, name)] for name in ("beta1", "beta2", "epsilon"))
    return AdamSettings(np.tile(rate.astype(dtype)[:, None], starts), *(np.array(pair, dtype) for pair in pairs))


def init(rows: int, starts: int, dtype: npt.DTypeLike) -> AdamAverages:
    """Moments before the first step."""
    zeros: npt.NDArray[Any] = np.zeros((rows, starts), dtype)
    return AdamAverages(zeros, zeros, np.ones((2, starts), dtype), np.ones((2, starts), dtype))


def update(
    theta: Array, gradient: Array, moments: AdamAverages, rule: AdamSettings, rows: int, moves: Array
) -> tuple[Array, AdamAverages]:
    """One step of all rows (M, starts), of which the first `rows` are the readout; starts with `moves` False do not move.

    Starts that do not move must have gradient 0: then factors of 1 keep their moments.
    """
    first = (jnp.arange(len(theta)) < rows)[:, None]

    def each(pair: Array) -> Array:
        return jnp.where(first, pair[0], pair[1])

    beta1, beta2 = rule.beta1[:, None], rule.beta2[:, None]
    hold1, hold2 = jnp.where(moves, beta1, 1), jnp.where(moves, beta2, 1)
    # The barrier makes XLA compute the powers once, not again for every row.
    both = (moments.power1 * hold1, moments.power2 * hold2)
    power1, power2 = jax.lax.optimization_barrier(both)  # type: ignore[no-untyped-call]
    mean = each(hold1) * moments.mean + each(1 - beta1) * gradient
    square = each(hold2) * moments.square + each(1 - beta2) * (gradient * gradient)
    size = jnp.sqrt(square * each(1 / (1 - power2))) + each(rule.epsilon[:, None])
    moved = theta - rule.rate * (mean * each(1 / (1 - power1))) / size
    return jnp.where(moves, moved, theta), AdamAverages(mean, square, power1, power2)
