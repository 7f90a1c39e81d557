"""Networks in one call: single, parallel and hierarchical ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from echoscale import _checks
from echoscale.network.description import Coupling, Network, Reservoir


def single(
    units: int,
    *,
    leak_rate: float = 1.0,
    spectral_radius: float = 0.95,
    input_scaling: float = 1.0,
    bias_scaling: float = 0.0,
    connections: int | None = None,
    topology: Any = "normal",
) -> Network:
    """One reservoir (paper, Fig. 2A)."""
    return parallel(
        [units],
        leak_rate=leak_rate,
        spectral_radius=spectral_radius,
        input_scaling=input_scaling,
        bias_scaling=bias_scaling,
        connections=connections,
        topology=[topology],  # so that nested lists are read as a matrix, not as one entry per level
    )


def parallel(
    units: Sequence[int],
    *,
    leak_rate: float | Sequence[float] = 1.0,
    spectral_radius: float | Sequence[float] = 0.95,
    input_scaling: float | Sequence[float] = 1.0,
    bias_scaling: float | Sequence[float] = 0.0,
    connections: int | Sequence[int | None] | None = None,
    topology: Any = "normal",
) -> Network:
    """Reservoirs side by side, all of which see the input (paper, Fig. 2C). A scalar holds for all, a list for each."""
    return Network(
        _levels(
            units,
            leak_rate=leak_rate,
            spectral_radius=spectral_radius,
            input_scaling=input_scaling,
            bias_scaling=bias_scaling,
            connections=connections,
            topology=topology,
        )
    )


def hierarchical(
    units: Sequence[int],
    *,
    leak_rate: float | Sequence[float] = 1.0,
    spectral_radius: float | Sequence[float] = 0.95,
    input_scaling: float | Sequence[float] = 1.0,
    bias_scaling: float | Sequence[float] = 0.0,
    coupling: float | Sequence[float] = 1.0,
    connections: int | Sequence[int | None] | None = None,
    topology: Any = "normal",
    coupling_delay: int = 1,
    coupling_connections: int | Sequence[int | None] | None = None,
    coupling_normalisation: str | Sequence[str] = "none",
) -> Network:
    """A chain in which every level drives the next (paper, Fig. 2B).

    A scalar holds for all levels, a list for each; `coupling` and its options have one entry per link (levels - 1).
    A scalar `input_scaling` is that of the first level, the others have 0; a list gives every level its own.
    """
    sizes = _sizes(units)
    count = len(sizes)
    if not _is_list(input_scaling):
        input_scaling = [input_scaling, *[0.0] * (count - 1)]  # type: ignore[list-item]
    reservoirs = _levels(
        sizes,
        leak_rate=leak_rate,
        spectral_radius=spectral_radius,
        input_scaling=input_scaling,
        bias_scaling=bias_scaling,
        connections=connections,
        topology=topology,
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


def _levels(units: Sequence[int], **options: Any) -> tuple[Reservoir, ...]:
    """One reservoir per size; every option a scalar for all or a list for each."""
    sizes = _sizes(units)
    spread = {name: _spread(value, len(sizes), name, "levels") for name, value in options.items()}
    return tuple(Reservoir(size, **{name: values[k] for name, values in spread.items()}) for k, size in enumerate(sizes))


def _sizes(units: Any) -> list[int]:
    if not _is_list(units):
        raise TypeError(f"units must be a list with the size of every level, got {units!r}; for one reservoir use single().")
    if not len(units):
        raise ValueError("units must name at least one level, got an empty list.")
    return [_checks.integer(size, "units", minimum=1) for size in units]


def _is_list(value: Any) -> bool:
    """A list, tuple or one-dimensional array: one entry per level. Matrices and strings are single values."""
    return (not isinstance(value, str) and isinstance(value, Sequence)) or getattr(value, "ndim", None) == 1


def _spread(value: Any, count: int, name: str, what: str) -> list[Any]:
    """A scalar repeated `count` times, or a list of that length."""
    if not _is_list(value):
        return [value] * count
    if len(value) != count:
        raise ValueError(f"{name} has {len(value)} entries for {count} {what}: give one number for all, or {count}.")
    return list(value)
