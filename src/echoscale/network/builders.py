"""Networks in one call: single, parallel and hierarchical ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from echoscale._internal import checks
from echoscale.network.description import Coupling, Network, Reservoir

if TYPE_CHECKING:
    import numpy.typing as npt

    from echoscale.network.leaks import LeakLike
    from echoscale.network.matrix import ResidualLike, WeightsLike
    from echoscale.network.topologies import TopologyLike


def single(
    units: int,
    *,
    leak_rate: LeakLike = 1.0,
    spectral_radius: float = 0.95,
    input_scaling: float = 1.0,
    bias_scaling: float = 0.0,
    connections: int | None = None,
    topology: TopologyLike = "normal",
    feedback_scaling: float = 0.0,
    residual: ResidualLike = "identity",
    activation: str = "tanh",
    input_weights: WeightsLike | None = None,
    input_connections: int | float | None = None,
    bias: npt.ArrayLike | None = None,
) -> Network:
    """One reservoir (paper, Fig. 2A): x(t+1) = (1 - alpha) x(t) + alpha tanh(gamma W_in s(t) + rho W x(t) + bias).

    Parameters
    ----------
    units : int
        Neurons.
    leak_rate : float, LogUniform, LogNormal or (units,) array
        alpha in (0, 1]: 1 forgets at once, small values remember for about 1 / alpha steps. A distribution or an array gives
        every neuron its own.
    spectral_radius : float
        rho, the factor on W.
    input_scaling : float
        gamma, the factor on W_in.
    bias_scaling : float
        Factor on a fixed random bias; 0 is the paper.
    connections : int or None
        Weights in each row of a random W; None is 10, or all where there are fewer units.
    topology : str, Concentric or (units, units) matrix
        "normal", "uniform", "delay_line", "ring", "concentric" or `Concentric(...)`, "diagonal", or a matrix of your own.
    feedback_scaling : float
        phi, the factor on W_fb, which feeds the last output y(t-1) back; 0 is none.
    residual : str or (units, units) orthogonal matrix
        O of x(t+1) = (1 - alpha) O x(t) + alpha tanh(...): "identity", "shift", "orthogonal" or your own; see `Reservoir`.
    activation : "tanh" or "identity"
        "identity" is a linear level.
    input_weights : (units, F) matrix or None
        W_in of your own, before `input_scaling`; (units,) for one input. None: drawn.
    input_connections : int, float or None
        How many inputs each neuron hears, or the share of the neurons that hear each input; None: all.
    bias : (units,) numbers or None
        b of your own, before `bias_scaling`. None: drawn.

    Returns
    -------
    Network

    Examples
    --------
    >>> import echoscale as es
    >>> es.single(100, leak_rate=0.5).build(n_inputs=1).units
    100
    """
    return parallel(
        [units],
        leak_rate=[leak_rate],  # so that an array is read as one entry per neuron
        spectral_radius=spectral_radius,
        input_scaling=input_scaling,
        bias_scaling=bias_scaling,
        connections=connections,
        topology=[topology],  # so that nested lists are read as a matrix, not as one entry per level
        feedback_scaling=feedback_scaling,
        residual=[residual],
        activation=activation,
        input_weights=[input_weights],
        input_connections=input_connections,
        bias=[bias],
    )


def parallel(
    units: Sequence[int],
    *,
    leak_rate: LeakLike | Sequence[Any] = 1.0,
    spectral_radius: float | Sequence[float] = 0.95,
    input_scaling: float | Sequence[float] = 1.0,
    bias_scaling: float | Sequence[float] = 0.0,
    connections: int | Sequence[int | None] | None = None,
    topology: TopologyLike | Sequence[TopologyLike] = "normal",
    feedback_scaling: float | Sequence[float] = 0.0,
    residual: ResidualLike | Sequence[Any] = "identity",
    activation: str | Sequence[str] = "tanh",
    input_weights: Sequence[Any] | None = None,
    input_connections: int | float | Sequence[int | float | None] | None = None,
    bias: Sequence[npt.ArrayLike | None] | None = None,
) -> Network:
    """Reservoirs side by side, all of which see the input (paper, Fig. 2C, "unconnected").

    A scalar holds for all reservoirs, a list has one entry for each.

    Parameters
    ----------
    units : list of int
        Neurons of each reservoir.
    leak_rate : float, LogUniform, LogNormal or list
        alpha in (0, 1]: 1 forgets at once, small values remember for about 1 / alpha steps. A distribution, or an array
        (units,) as an entry of a list, gives every neuron its own.
    spectral_radius : float or list
        rho, the factor on W.
    input_scaling : float or list
        gamma, the factor on W_in.
    bias_scaling : float or list
        Factor on a fixed random bias; 0 is the paper.
    connections : int, list or None
        Weights in each row of a random W; None is 10, or all where there are fewer units.
    topology : str, Concentric or (units, units) matrix, or list of these
        "normal", "uniform", "delay_line", "ring", "concentric" or `Concentric(...)`, "diagonal", or a matrix of your own.
    feedback_scaling : float or list
        phi, the factor on W_fb, which feeds the last output y(t-1) back; 0 is none.
    residual : str, (units, units) orthogonal matrix, or list of these
        O of x(t+1) = (1 - alpha) O x(t) + alpha tanh(...): "identity", "shift", "orthogonal" or your own; see `Reservoir`.
    activation : "tanh", "identity" or list of these
        "identity" is a linear level.
    input_weights : (units, F) matrix, None, or list of these
        W_in of your own, before `input_scaling`. None: drawn.
    input_connections : int, float, None, or list of these
        How many inputs each neuron hears, or the share of the neurons that hear each input; None: all.
    bias : list of (units,) numbers or None
        b of every level of your own, before `bias_scaling`. None: drawn.

    Returns
    -------
    Network

    Examples
    --------
    >>> import echoscale as es
    >>> [each.leak_rate for each in es.parallel([50, 50], leak_rate=[1.0, 0.1]).reservoirs]
    [1.0, 0.1]
    """
    return Network(
        _levels(
            units,
            leak_rate=leak_rate,
            spectral_radius=spectral_radius,
            input_scaling=input_scaling,
            bias_scaling=bias_scaling,
            connections=connections,
            topology=topology,
            feedback_scaling=feedback_scaling,
            residual=residual,
            activation=activation,
            input_weights=input_weights,
            input_connections=input_connections,
            bias=bias,
        )
    )


def hierarchical(
    units: Sequence[int],
    *,
    leak_rate: LeakLike | Sequence[Any] = 1.0,
    spectral_radius: float | Sequence[float] = 0.95,
    input_scaling: float | Sequence[float] = 1.0,
    bias_scaling: float | Sequence[float] = 0.0,
    coupling: float | Sequence[float] = 1.0,
    connections: int | Sequence[int | None] | None = None,
    topology: TopologyLike | Sequence[TopologyLike] = "normal",
    coupling_delay: int = 1,
    coupling_connections: int | Sequence[int | None] | None = None,
    coupling_normalisation: str | Sequence[str] = "none",
    feedback_scaling: float | Sequence[float] = 0.0,
    residual: ResidualLike | Sequence[Any] = "identity",
    activation: str | Sequence[str] = "tanh",
    input_weights: Sequence[Any] | None = None,
    input_connections: int | float | Sequence[int | float | None] | None = None,
    bias: Sequence[npt.ArrayLike | None] | None = None,
) -> Network:
    """A chain in which every level drives the next (paper, Fig. 2B, "connected").

    A scalar holds for all levels, a list has one entry for each; `coupling` and its options have one entry per link
    (levels - 1).

    Parameters
    ----------
    units : list of int
        Neurons of each level, the one next to the input first.
    leak_rate : float, LogUniform, LogNormal or list
        alpha in (0, 1]: 1 forgets at once, small values remember for about 1 / alpha steps. A distribution, or an array
        (units,) as an entry of a list, gives every neuron its own.
    spectral_radius : float or list
        rho, the factor on W.
    input_scaling : float or list
        gamma, the factor on W_in. A scalar is that of the first level, the others have 0; a list gives every level its own.
    bias_scaling : float or list
        Factor on a fixed random bias; 0 is the paper.
    coupling : float or list
        Factor on the matrix of each link.
    connections : int, list or None
        Weights in each row of a random W; None is 10, or all where there are fewer units.
    topology : str, Concentric or (units, units) matrix, or list of these
        "normal", "uniform", "delay_line", "ring", "concentric" or `Concentric(...)`, "diagonal", or a matrix of your own.
    coupling_delay : 0 or 1
        1: a level sees the last state of the one before it (the paper). 0: its new state (the DeepESN convention).
    coupling_connections : int, list or None
        Weights in each row of a link's matrix; None is 10, or all where the source is smaller.
    coupling_normalisation : str or list
        "none", "spectral_radius" or "sqrt_connections"; see `Coupling`.
    feedback_scaling : float or list
        phi, the factor on W_fb, which feeds the last output y(t-1) back; 0 is none. A scalar is that of the first level, the
        others have 0; a list gives every level its own.
    residual : str, (units, units) orthogonal matrix, or list of these
        O of x(t+1) = (1 - alpha) O x(t) + alpha tanh(...): "identity", "shift", "orthogonal" or your own; see `Reservoir`.
    activation : "tanh", "identity" or list of these
        "identity" is a linear level.
    input_weights : (units, F) matrix, None, or list of these
        W_in of your own, before `input_scaling`. None: drawn.
    input_connections : int, float, None, or list of these
        How many inputs each neuron hears, or the share of the neurons that hear each input; None: all.
    bias : list of (units,) numbers or None
        b of every level of your own, before `bias_scaling`. None: drawn.

    Returns
    -------
    Network

    Examples
    --------
    >>> import echoscale as es
    >>> network = es.hierarchical([50, 50], leak_rate=[1.0, 0.2], input_scaling=0.2)
    >>> [(each.source, each.target) for each in network.couplings]
    [(0, 1)]
    >>> network.reservoirs[1].input_scaling
    0.0
    """
    sizes = _sizes(units)
    count = len(sizes)
    if not _is_list(input_scaling):
        input_scaling = [input_scaling, *[0.0] * (count - 1)]  # type: ignore[list-item]
    if not _is_list(feedback_scaling):
        feedback_scaling = [feedback_scaling, *[0.0] * (count - 1)]  # type: ignore[list-item]
    reservoirs = _levels(
        sizes,
        leak_rate=leak_rate,
        spectral_radius=spectral_radius,
        input_scaling=input_scaling,
        bias_scaling=bias_scaling,
        connections=connections,
        topology=topology,
        feedback_scaling=feedback_scaling,
        residual=residual,
        activation=activation,
        input_weights=input_weights,
        input_connections=input_connections,
        bias=bias,
    )
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
    return Network(reservoirs, couplings, coupling_delay)


def _levels(units: Sequence[int], **options: object) -> tuple[Reservoir, ...]:
    """One reservoir per size; every option a scalar for all or a list for each."""
    sizes = _sizes(units)
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
