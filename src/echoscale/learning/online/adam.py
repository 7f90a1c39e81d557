"""How fast readout and learned hyper-parameters move: Adam, with the paper's settings by name.

    m <- b1 m + (1 - b1) g,    v <- b2 v + (1 - b2) g^2
    theta <- theta - rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)

(paper, appendix, with b and 1 - b put right). All that is learned stands in the rows of one array (M, starts): first those of
the readout, then the learned hyper-parameters; both groups have moments and factors of their own. It is the rule of
`optax.adam`, which the tests compare it with. Optax takes longer, by an
amount that varies from run to run (`benchmarks/choices.py`), and has one count of steps for all starts, where each has its own
here: the powers b^t are carried.
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
    """theta <- theta - rate (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon); the settings of it.

    Parameters
    ----------
    rate : float, or mapping of names to floats
        The step. For hyper-parameters also one for each: `Adam({"leak_rate": 5e-6, "coupling": 1e-4})`.
    beta1 : float
        Share of the past in m, the running mean of the gradient, in [0, 1).
    beta2 : float
        Share of the past in v, that of its square, in [0, 1).
    epsilon : float
        Keeps the first steps finite; above 0.

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
                    f"the learning rate {name!r} must be above 0, got {rate}. Leave out of `parameters` what rests."
                )
        for name in ("beta1", "beta2"):
            beta = checks.number(getattr(self, name), name)
            if not 0 <= beta < 1:
                raise ValueError(f"{name} must lie in [0, 1), got {beta}: it is the share of the past in a running mean.")
        if not checks.number(self.epsilon, "epsilon") > 0:
            raise ValueError(f"epsilon must be above 0, got {self.epsilon}: it keeps the first steps finite.")

    def of(self, learned: Sequence[Parameter], hyper: Hyper) -> list[float]:
        """The rate of every learned hyper-parameter.

        Parameters
        ----------
        learned : list of Parameter
            Which.
        hyper : Hyper
            Of the network, to know what the names mean.

        Returns
        -------
        list of float
            In the order of `learned`.
        """
        if not isinstance(self.rate, Mapping):
            return [float(self.rate)] * len(learned)
        known = {each: float(rate) for name, rate in self.rate.items() for each in chosen(name, hyper)}
        missing = [str(each) for each in learned if each not in known]
        if missing:
            raise ValueError(f"there is no learning rate for {', '.join(missing)}: name it in Adam(rate={{...}}).")
        return [known[each] for each in learned]


class Preset(NamedTuple):
    """The paper's settings for one task.

    Parameters
    ----------
    readout : Adam
        Of W_out.
    learned : Adam
        Of the hyper-parameters.
    minibatch : int
        How many sequences run at once.
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
    """The same as arrays: rate (M, starts), and per group (readout, learned) beta1 (2,), beta2 (2,), epsilon (2,)."""

    rate: Any
    beta1: Any
    beta2: Any
    epsilon: Any


class AdamAverages(NamedTuple):
    """Adam's memory: running means of g and g^2, (M, starts), and b1^t, b2^t of both groups, (2, starts) each."""

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
    """No step made."""
    zeros: npt.NDArray[Any] = np.zeros((rows, starts), dtype)
    return AdamAverages(zeros, zeros, np.ones((2, starts), dtype), np.ones((2, starts), dtype))


def update(
    theta: Array, gradient: Array, moments: AdamAverages, rule: AdamSettings, rows: int, moves: Array
) -> tuple[Array, AdamAverages]:
    """One step of all rows (M, starts), the first `rows` of them the readout's; none at all where `moves` is False.

    Where nothing moves, the gradient must be 0: the moments then need no choice of their own, only factors of 1.
    """
    first = (jnp.arange(len(theta)) < rows)[:, None]

    def each(pair: Array) -> Array:
        return jnp.where(first, pair[0], pair[1])

    beta1, beta2 = rule.beta1[:, None], rule.beta2[:, None]
    hold1, hold2 = jnp.where(moves, beta1, 1), jnp.where(moves, beta2, 1)
    # Written down once, not computed anew for every row.
    both = (moments.power1 * hold1, moments.power2 * hold2)
    power1, power2 = jax.lax.optimization_barrier(both)  # type: ignore[no-untyped-call]
    mean = each(hold1) * moments.mean + each(1 - beta1) * gradient
    square = each(hold2) * moments.square + each(1 - beta2) * (gradient * gradient)
    size = jnp.sqrt(square * each(1 / (1 - power2))) + each(rule.epsilon[:, None])
    moved = theta - rule.rate * (mean * each(1 / (1 - power1))) / size
    return jnp.where(moves, moved, theta), AdamAverages(mean, square, power1, power2)
