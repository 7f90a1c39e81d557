"""The hyper-parameters of a built network, with one leaf per reservoir or coupling, and the choice of those to be learned.

A leaf is a scalar, or has one value per lane. `"leak_rate"` names all leak rates, and `"leak_rate[0]"` the leak rate of the
first reservoir.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks, hints
from echoscale._internal.types import Floats
from echoscale.network import Network

# Leaves that a network may lack, and the remedy.
ABSENT = {
    "feedback_scaling": "the network has no output feedback: describe it with a feedback_scaling above 0 of at least one "
    "reservoir.",
    "leak_spread": "the network has no spread of leak rates: describe it with leak_rate=LogUniform(0.05, 1.0), or with a "
    "leak_spread above 0 of at least one reservoir.",
}


class Hyper(NamedTuple):
    """Hyper-parameters of a built network: one leaf per reservoir k, or per coupling.

    Every leaf has shape () or (lanes,). Lanes are networks that share one set of weights and run together in one scan. A
    `Hyper` is a plain tuple of tuples, so JAX can differentiate and map over it.

    Parameters
    ----------
    leak_rate : tuple of numbers or arrays (lanes,)
        Leak rate alpha_k in (0, 1] of every reservoir; of its fastest neuron if its leak rates are spread.
    spectral_radius : tuple of numbers or arrays (lanes,)
        Spectral radius rho_k >= 0 of every reservoir.
    input_scaling : tuple of numbers or arrays (lanes,)
        Input scaling gamma_k >= 0 of every reservoir.
    bias_scaling : tuple of numbers or arrays (lanes,)
        Bias scaling beta_k >= 0 of every reservoir.
    coupling : tuple of numbers or arrays (lanes,)
        Strength of every coupling, in the order of `network.couplings`.
    feedback_scaling : tuple of numbers or arrays (lanes,)
        Scaling phi_k >= 0 of the output feedback of every reservoir; empty if no reservoir has output feedback.
    leak_spread : tuple of numbers or arrays (lanes,)
        Spread s_k >= 0 of the leak rates alpha_k exp(-s_k q_i) of every reservoir; empty if no reservoir spreads its leak
        rates.

    Examples
    --------
    Two networks that differ in their leak rate, run side by side:

    >>> import numpy as np, echoscale as es
    >>> esn = es.single(5).build(n_inputs=1)
    >>> both = esn.hyper.replace(leak_rate=[np.array([1.0, 0.1])])
    >>> both.lanes
    2
    >>> esn.run(np.ones((10, 1)), hyper=both).shape  # (lanes, T, N)
    (2, 10, 5)
    """

    leak_rate: tuple[Any, ...]
    spectral_radius: tuple[Any, ...]
    input_scaling: tuple[Any, ...]
    bias_scaling: tuple[Any, ...]
    coupling: tuple[Any, ...]
    feedback_scaling: tuple[Any, ...] = ()
    leak_spread: tuple[Any, ...] = ()

    @classmethod
    def of(cls, network: Network) -> Hyper:
        """Returns the hyper-parameters of a description.

        Parameters
        ----------
        network : Network
            Description of the network.
        """

        def column(name: str) -> tuple[Floats, ...]:
            return tuple(np.asarray(getattr(reservoir, name), np.float64) for reservoir in network.reservoirs)

        return cls(
            column("leak_rate"),
            column("spectral_radius"),
            column("input_scaling"),
            column("bias_scaling"),
            tuple(np.asarray(coupling.strength, np.float64) for coupling in network.couplings),
            # Empty if no reservoir has them, so that compiled programs and files are the same as for networks without feedback.
            column("feedback_scaling") if network.feeds_back else (),
            column("leak_spread") if network.spreads_leaks else (),
        )

    @property
    def lanes(self) -> int | None:
        """Number of lanes, or None if every leaf is a scalar."""
        counts = {np.size(leaf) for leaves in self for leaf in leaves if np.ndim(leaf)}
        if len(counts) > 1:
            raise ValueError(f"all leaves of a Hyper must have the same number of lanes, got {sorted(counts)}.")
        return counts.pop() if counts else None

    def map(self, function: Callable[[Any], Any]) -> Hyper:
        """Returns a copy in which `function` is applied to every leaf.

        Parameters
        ----------
        function : function of a leaf
            Function from a number or an array (lanes,) to the new leaf.
        """
        return Hyper(*(tuple(function(leaf) for leaf in leaves) for leaves in self))

    def lane(self, index: int) -> Hyper:
        """Returns the scalars of one lane.

        Parameters
        ----------
        index : int
            Number of the lane, from 0.
        """
        return self.map(lambda leaf: np.asarray(leaf)[index] if np.ndim(leaf) else leaf)

    def on(self, lanes: npt.NDArray[np.int64], dtype: npt.DTypeLike) -> Hyper:
        """Returns the leaves for a scan over these lanes: one value per lane, or shape (1,) for all.

        All leaves are NumPy arrays, which a compiled program takes faster than JAX makes arrays of them one by one.

        Parameters
        ----------
        lanes : (l,) of int
            Numbers of lanes, with repetitions.
        dtype : dtype
            Precision of the scan.
        """

        def ready(leaf: Any) -> npt.NDArray[Any]:
            values = np.asarray(leaf, dtype)
            return values[lanes] if values.ndim else values.reshape(1)

        return self.map(ready)

    def replace(self, **leaves: Any) -> Hyper:
        """Returns a checked copy with other values.

        `replace(leak_rate=[a1, a2])` sets one entry per reservoir (`coupling`: per coupling), each a number or an array with
        one value per lane. `replace(leak_rate=0.3)` sets all entries.

        Parameters
        ----------
        **leaves : a number for all, or a list with a number or an array (lanes,) for each
            New values by name: leak_rate, spectral_radius, input_scaling, bias_scaling, coupling, feedback_scaling,
            leak_spread.
        """
        unknown = sorted(set(leaves) - set(self._fields))
        if unknown:
            raise ValueError(f"Hyper has no {', '.join(map(repr, unknown))}; it knows {', '.join(self._fields)}.")
        for name in set(leaves) & set(ABSENT):
            if not getattr(self, name):
                raise ValueError(ABSENT[name])
        changed = self._replace(**{name: _leaves(name, value, len(getattr(self, name))) for name, value in leaves.items()})
        _ = changed.lanes  # raises where the numbers of lanes differ
        return changed


def _leaves(name: str, value: Any, count: int) -> tuple[Floats, ...]:
    if isinstance(value, Sequence):
        if len(value) != count:
            what = "couplings" if name == "coupling" else "reservoirs"
            raise ValueError(f"{name} has {len(value)} entries for {count} {what}: give {count}, or one value for all.")
        return tuple(_leaf(name, each) for each in value)
    return (_leaf(name, value),) * count


def _leaf(name: str, value: Any) -> Floats:
    if np.ma.is_masked(value):
        raise ValueError(f"{name} is a masked array: give a number for every lane.")
    leaf = np.asarray(value, dtype=np.float64)
    if leaf.ndim > 1 or leaf.size == 0:
        raise ValueError(f"an entry of {name} must be a number or one value per lane, got shape {leaf.shape}.")
    check = checks.leaf(name)
    # It is enough to check the extremes: NaN is the extreme of an array that holds it.
    check(float(leaf.min()), name)
    check(float(leaf.max()), name)
    return leaf


class Parameter(NamedTuple):
    """Name of one leaf of `Hyper`: the hyper-parameter `name` of reservoir (or coupling) number `place`.

    Parameters
    ----------
    name : str
        Field of `Hyper`, such as "leak_rate".
    place : int
        Number of the reservoir or coupling.

    Examples
    --------
    >>> import echoscale as es
    >>> from echoscale.engine import Parameter
    >>> esn = es.hierarchical([10, 10], leak_rate=[0.9, 0.3]).build(1, seed=0)
    >>> float(Parameter("leak_rate", 1).of(esn.hyper))
    0.3
    """

    name: str
    place: int

    def __str__(self) -> str:
        return f"{self.name}[{self.place}]"

    def of(self, hyper: Hyper) -> Any:
        """Returns the value of this hyper-parameter.

        Parameters
        ----------
        hyper : Hyper
            Hyper-parameters of a network.
        """
        return getattr(hyper, self.name)[self.place]


def chosen(parameters: str | Parameter | Sequence[str | Parameter], hyper: Hyper) -> tuple[Parameter, ...]:
    """The leaves that these names select, in the given order, each once."""
    names = [parameters] if isinstance(parameters, str | Parameter) else list(parameters)
    found = dict.fromkeys(parameter for name in names for parameter in _matching(name, hyper))
    if not names:
        raise ValueError("parameters is empty: name at least one, for example 'leak_rate'.")
    if not found:
        why = next((ABSENT[name] for name in map(str, names) if name in ABSENT), "the network has no couplings.")
        raise ValueError(f"there is nothing to learn in {', '.join(map(str, names))}: {why}")
    return tuple(found)


def _matching(name: str | Parameter, hyper: Hyper) -> list[Parameter]:
    match = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", str(name))
    known = match.group(1) if match else None
    if not match or known not in hyper._fields:
        raise ValueError(
            f"unknown parameter {str(name)!r}.{hints.hint(str(name), hyper._fields)} A network has {', '.join(hyper._fields)}; "
            "leak_rate[0] belongs to its first reservoir alone."
        )
    count = len(getattr(hyper, known))
    if match.group(2) is None:
        return [Parameter(known, place) for place in range(count)]
    place = int(match.group(2))
    if known in ABSENT and not count:
        raise ValueError(f"there is no {name}: {ABSENT[known]}")
    if place >= count:
        what = "couplings" if known == "coupling" else "reservoirs"
        raise ValueError(f"there is no {name}: the network has {count} {what}, counted from 0.")
    return [Parameter(known, place)]


def checked(hyper: Hyper | None, own: Hyper) -> Hyper:
    """The hyper-parameters that a user gives for a network, or its own; an error if they belong to another network."""
    if hyper is None:
        return own
    if not isinstance(hyper, Hyper):
        raise TypeError(f"hyper must be a Hyper, such as esn.hyper.replace(leak_rate=0.5), got {hyper!r}.")
    counts, ours = ([len(leaves) for leaves in each] for each in (hyper, own))
    if counts != ours:
        raise ValueError(f"this Hyper has {counts} leaves, the network {ours}: make it with esn.hyper.replace(...).")
    return hyper


def without_lanes(hyper: Hyper) -> Hyper:
    """The hyper-parameters of one network; several lanes raise an error."""
    if hyper.lanes is not None:
        raise ValueError(
            f"this is for one network, but the Hyper has {hyper.lanes} lanes; take one value of each leaf, hyper.lane(0)."
        )
    return hyper


def with_lanes(hyper: Hyper, lanes: Mapping[str, Sequence[float]]) -> Hyper:
    """The hyper-parameters with one value per lane for these names; "leak_rate[1]" overrides "leak_rate"."""
    changed: dict[str, list[Any]] = {}
    for name in sorted(lanes, key=lambda name: "[" in name):  # those shared by all first
        for parameter in chosen(name, hyper):
            leaves = changed.setdefault(parameter.name, list(getattr(hyper, parameter.name)))
            leaves[parameter.place] = np.asarray(lanes[name], np.float64)
    return hyper.replace(**changed)


def put(hyper: Hyper, learned: Sequence[Parameter], values: Sequence[Any]) -> Hyper:
    """Returns hyper-parameters in which some leaves have new values.

    Nothing is checked, since `put` runs inside compiled programs.

    Parameters
    ----------
    hyper : Hyper
        Hyper-parameters of a network.
    learned : sequence of Parameter
        Leaves to replace.
    values : sequence of numbers
        New value of each leaf.

    Examples
    --------
    >>> import echoscale as es
    >>> from echoscale.engine import Parameter, put
    >>> esn = es.single(10, leak_rate=0.9).build(1, seed=0)
    >>> put(esn.hyper, [Parameter("leak_rate", 0)], [0.2]).leak_rate
    (0.2,)
    """
    leaves = {name: list(getattr(hyper, name)) for name in hyper._fields}
    for parameter, value in zip(learned, values, strict=True):
        leaves[parameter.name][parameter.place] = value
    return Hyper(**{name: tuple(each) for name, each in leaves.items()})


def into_network(network: Network, learned: Sequence[Parameter], values: Sequence[float]) -> Network:
    """The description with the learned hyper-parameters."""
    reservoirs, couplings = list(network.reservoirs), list(network.couplings)
    for (name, place), value in zip(learned, values, strict=True):
        if name == "coupling":
            couplings[place] = replace(couplings[place], strength=float(value))
        else:
            changed: dict[str, Any] = {name: float(value)}
            reservoirs[place] = replace(reservoirs[place], **changed)
    return replace(network, reservoirs=tuple(reservoirs), couplings=tuple(couplings))
