"""Networks in one call: single, parallel and hierarchical."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypedDict, TypeGuard, Unpack

from echoscale._internal import checks, hints
from echoscale.network.description import Coupling, Network, Reservoir

if TYPE_CHECKING:
    from echoscale.network.leaks import LeakLike

INPUTS = ("first", "all")


class ReservoirOptions(TypedDict, total=False):
    """The other fields of `Reservoir`: one value for all levels, or a list with one entry for each."""

    bias_scaling: Any
    connections: Any
    topology: Any
    normalise: Any
    feedback_scaling: Any
    leak_spread: Any
    leak_places: Any
    residual: Any
    activation: Any
    input_weights: Any
    input_connections: Any
    bias: Any


def single(
    units: int,
    *,
    leak_rate: LeakLike = 1.0,
    spectral_radius: float = 0.95,
    input_scaling: float = 1.0,
    **options: Unpack[ReservoirOptions],
) -> Network:
    """Returns a network with one reservoir (paper, Fig. 2A).

        x(t+1) = (1 - alpha) x(t) + alpha tanh(gamma W_in s(t) + rho W x(t) + beta b)

    Parameters
    ----------
    units : int
        Number of neurons.
    leak_rate : float, LogUniform, LogNormal or (units,) array, default 1.0
        Leak rate alpha in (0, 1]. Smaller values give longer memory, of about 1 / alpha steps; with 1 a neuron forgets at once.
        A distribution or an array gives every neuron its own.
    spectral_radius : float, default 0.95
        Spectral radius rho of the recurrent matrix W. Larger values give longer memory.
    input_scaling : float, default 1.0
        Factor gamma on the input matrix W_in. Larger values drive tanh closer to saturation.
    **options
        All other fields of `Reservoir`: `bias_scaling`, `connections`, `topology`, `feedback_scaling`, `residual`,
        `activation`, `input_weights`, `input_connections`, `bias`, ...

    Returns
    -------
    Network

    See Also
    --------
    echoscale.parallel : Several reservoirs that all receive the input.
    echoscale.hierarchical : A chain of reservoirs.

    Examples
    --------
    >>> import echoscale as es
    >>> es.single(100, leak_rate=0.5, topology="ring").build(n_inputs=1).units
    100
    """
    given = {"leak_rate": leak_rate, "spectral_radius": spectral_radius, "input_scaling": input_scaling, **options}
    # Lists of one entry: an array then has one number per neuron, and nested lists are a matrix.
    return Network(_levels([units], **{name: [value] for name, value in given.items()}))


def parallel(
    units: Sequence[int],
    *,
    leak_rate: LeakLike | Sequence[Any] = 1.0,
    spectral_radius: float | Sequence[float] = 0.95,
    input_scaling: float | Sequence[float] = 1.0,
    **options: Unpack[ReservoirOptions],
) -> Network:
    """Returns a network of parallel reservoirs, which all receive the input (paper, Fig. 2C, "unconnected").

    A scalar holds for all reservoirs, a list has one entry for each.

    Parameters
    ----------
    units : list of int
        Number of neurons of each reservoir.
    leak_rate : float, LogUniform, LogNormal or list, default 1.0
        Leak rate alpha in (0, 1]. Smaller values give longer memory, of about 1 / alpha steps; with 1 a neuron forgets at once.
        A distribution, or an array (units,) as an entry of a list, gives every neuron its own.
    spectral_radius : float or list, default 0.95
        Spectral radius rho of the recurrent matrices. Larger values give longer memory.
    input_scaling : float or list, default 1.0
        Factor gamma on the input matrices W_in. Larger values drive tanh closer to saturation.
    **options
        All other fields of `Reservoir`, each a value for all reservoirs or a list with one entry for each.

    Returns
    -------
    Network

    Examples
    --------
    >>> import echoscale as es
    >>> [each.leak_rate for each in es.parallel([50, 50], leak_rate=[1.0, 0.1]).reservoirs]
    [1.0, 0.1]
    """
    given = {"leak_rate": leak_rate, "spectral_radius": spectral_radius, "input_scaling": input_scaling, **options}
    return Network(_levels(_sizes(units), **given))


def hierarchical(
    units: Sequence[int],
    *,
    leak_rate: LeakLike | Sequence[Any] = 1.0,
    spectral_radius: float | Sequence[float] = 0.95,
    input_scaling: float | Sequence[float] = 1.0,
    inputs: str | None = None,
    coupling: float | Sequence[float] = 1.0,
    coupling_delay: int = 1,
    coupling_connections: int | Sequence[int | None] | None = None,
    coupling_normalisation: str | Sequence[str] = "none",
    **options: Unpack[ReservoirOptions],
) -> Network:
    """A chain of reservoirs in which every level drives the next (paper, Fig. 2B, "connected").

    A scalar holds for all levels, a list has one entry for each. `coupling` and its options have one entry per link
    (levels - 1).

    Parameters
    ----------
    units : list of int
        Number of neurons of each level, the one next to the input first.
    leak_rate : float, LogUniform, LogNormal or list
        Leak rate alpha in (0, 1]: with 1 a neuron forgets at once, with small values it remembers for about 1 / alpha steps. A
        distribution, or an array (units,) as an entry of a list, gives every neuron its own.
    spectral_radius : float or list
        Spectral radius rho of the recurrent matrices.
    input_scaling : float or list
        Factor gamma on the input matrices W_in. A scalar holds for every level that receives the input, and the others have 0.
    inputs : "first" or "all", optional
        Levels that receive the input: the first one (the paper), or all. Unless given: the first one where `input_scaling` is a
        scalar. A list of `input_scaling` says itself which levels receive the input, those above 0, and must agree with
        `inputs`.
    coupling : float or list
        Factor on the matrix of each link.
    coupling_delay : 0 or 1
        1: a level receives the last state of the level before it (the paper). 0: its new state (the DeepESN convention).
    coupling_connections : int, list or None
        Number of weights in each row of a link's matrix; None: 10, or all if the source is smaller.
    coupling_normalisation : str or list
        "none", "spectral_radius" or "sqrt_connections"; see `Coupling`.
    **options
        All other fields of `Reservoir`, each a value for all levels or a list with one entry for each. A scalar
        `feedback_scaling` belongs to the first level, and the others have 0.

    Returns
    -------
    Network

    Examples
    --------
    >>> import echoscale as es
    >>> network = es.hierarchical([50, 50], leak_rate=[1.0, 0.2], input_scaling=0.2)
    >>> [(each.source, each.target) for each in network.couplings]
    [(0, 1)]
    >>> [each.input_scaling for each in network.reservoirs]
    [0.2, 0.0]
    >>> every = es.hierarchical([50, 50], leak_rate=[1.0, 0.2], input_scaling=0.2, inputs="all")
    >>> [each.input_scaling for each in every.reservoirs]
    [0.2, 0.2]
    """
    sizes = _sizes(units)
    count = len(sizes)
    given = {"leak_rate": leak_rate, "spectral_radius": spectral_radius, **options}
    given["input_scaling"] = _received(
        _spread(input_scaling, count, "input_scaling", "levels"), inputs, _is_list(input_scaling)
    )
    if "feedback_scaling" in given and not _is_list(given["feedback_scaling"]):
        given["feedback_scaling"] = _to_first(given["feedback_scaling"], count)
    links = zip(
        _spread(coupling, count - 1, "coupling", "links"),
        _spread(coupling_connections, count - 1, "coupling_connections", "links"),
        _spread(coupling_normalisation, count - 1, "coupling_normalisation", "links"),
        strict=True,
    )
    couplings = tuple(
        Coupling(source=k, target=k + 1, strength=strength, connections=kept, normalisation=normalisation)
        for k, (strength, kept, normalisation) in enumerate(links)
    )
    return Network(_levels(sizes, **given), couplings, coupling_delay)


def _received(scalings: list[Any], inputs: str | None, listed: bool) -> list[Any]:
    """The input scaling of every level; an error where a list contradicts `inputs`."""
    wiring = None if inputs is None else checks.choice(inputs, INPUTS, "inputs")
    if not listed:
        return scalings if wiring == "all" else _to_first(scalings[0], len(scalings))
    if wiring == "all" and (without := [k for k, each in enumerate(scalings) if each == 0]):
        raise ValueError(
            f'inputs="all" contradicts input_scaling={scalings}, in which level {without[0]} (counted from 0) has 0: give one '
            "number for all levels, a list with numbers above 0, or the list without inputs."
        )
    if wiring == "first" and (others := [k for k, each in enumerate(scalings) if k and each != 0]):
        raise ValueError(
            f'inputs="first" contradicts input_scaling={scalings}, in which level {others[0]} (counted from 0) receives the '
            "input too: give one number, for the first level, or the list without inputs."
        )
    return scalings


def _to_first(value: Any, count: int) -> list[Any]:
    """The value for the first level, 0 for the others."""
    return [value, *[0.0] * (count - 1)]


def _levels(sizes: Sequence[int], **options: Any) -> tuple[Reservoir, ...]:
    """One reservoir per size; every option is a scalar for all or a list with an entry for each."""
    known = [each.name for each in fields(Reservoir) if each.name != "units"]
    for name in options.keys() - known:
        raise TypeError(f"a reservoir has no option {name!r}.{hints.hint(name, known)} It has {', '.join(known)}.")
    spread = {name: _spread(value, len(sizes), name, "levels") for name, value in options.items()}
    return tuple(Reservoir(size, **{name: values[k] for name, values in spread.items()}) for k, size in enumerate(sizes))


def _sizes(units: Sequence[int]) -> list[int]:
    if not _is_list(units):
        raise TypeError(f"units must be a list with the size of every level, got {units!r}; for one reservoir use single().")
    if not len(units):
        raise ValueError("units must name at least one level, got an empty list.")
    return [checks.integer(size, "units", minimum=1) for size in units]


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """A list, tuple or one-dimensional array: one entry per level. Matrices and strings are single values."""
    return (not isinstance(value, str) and isinstance(value, Sequence)) or getattr(value, "ndim", None) == 1


def _spread(value: object, count: int, name: str, what: str) -> list[Any]:
    """A scalar repeated `count` times, or a list of that length."""
    if not _is_list(value):
        return [value] * count
    if len(value) != count:
        raise ValueError(f"{name} has {len(value)} entries for {count} {what}: give one number for all, or {count}.")
    return list(value)
