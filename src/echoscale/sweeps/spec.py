"""Sweeps described by TOML files.

[network]
structure = "hierarchical"          # single, parallel or hierarchical, with their keywords; or reservoirs and couplings
units = [50, 50]
input_scaling = 0.2

[task]
function = "narma"                  # of echoscale.tasks, or "module:function"
order = 10

[protocol]                          # optional
lag = 1
ridge = [1e-5, 1e-3, 0.1]
scale = "standard"                  # or "none", which is Python's None

[axes]
seed = { count = 20 }               # 0 ... 19
"leak_rate[0]" = { from = 0.05, to = 1.0, count = 20 }
"leak_rate[1]" = [0.1, 0.2, 0.5, 1.0]
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from echoscale import network
from echoscale.network import Network
from echoscale.sweeps.problem import Protocol, Task

MOST_VALUES = 1_000_000  # most values of an axis
STRUCTURES = ("single", "parallel", "hierarchical")


class Spec(NamedTuple):
    """The arguments of `sweep`."""

    network: Network
    problem: Task
    axes: dict[str, Any]
    protocol: Protocol


def read(path: Path) -> Spec:
    """The sweep described by a file."""
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from error
    try:
        return _spec(plain)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"in {path}: {error}") from error


def _spec(plain: Mapping[str, Any]) -> Spec:
    unknown = sorted(set(plain) - {"network", "task", "protocol", "axes"})
    missing = [name for name in ("network", "task", "axes") if name not in plain]
    if unknown or missing:
        problem = f"it has no [{missing[0]}]" if missing else f"it has an unknown table [{unknown[0]}]"
        raise ValueError(f"{problem}; a sweep has the tables [network], [task], [axes] and optionally [protocol].")
    for name, table in plain.items():
        if not isinstance(table, Mapping):
            raise ValueError(f"[{name}] must be a table, got {table!r}.")
    task = dict(plain["task"])
    if "function" not in task:
        raise ValueError("[task] needs a function.")
    how = dict(plain.get("protocol", {}))
    if how.get("scale") == "none":
        how["scale"] = None
    try:
        protocol = Protocol(**how)
    except TypeError as error:
        raise ValueError(f"[protocol]: {error}") from error
    axes = {name: _values(name, given) for name, given in plain["axes"].items()}
    return Spec(_network(plain["network"]), Task(task.pop("function"), task), axes, protocol)


def _network(plain: Mapping[str, Any]) -> Network:
    if "reservoirs" in plain:
        return Network.from_dict(plain)
    given = dict(plain)
    structure = given.pop("structure", None)
    if structure not in STRUCTURES:
        raise ValueError(f"[network] needs reservoirs, or structure = one of {', '.join(STRUCTURES)}; got {structure!r}.")
    try:
        made: Network = getattr(network, structure)(given.pop("units"), **given)
    except KeyError:
        raise ValueError("[network] needs units.") from None
    except TypeError as error:
        raise ValueError(f"[network]: {error}") from error
    return made


def _values(name: str, given: object) -> object:
    if not isinstance(given, Mapping):
        return given
    count, low, high = (given.get(each) for each in ("count", "from", "to"))
    if isinstance(count, int) and not isinstance(count, bool):
        if not 0 < count <= MOST_VALUES:
            raise ValueError(f"the axis {name!r} has {count} values: give 1 to {MOST_VALUES:,}.")
        if set(given) == {"count"}:
            return list(range(count))
        if set(given) == {"from", "to", "count"} and isinstance(low, int | float) and isinstance(high, int | float):
            return np.linspace(low, high, count).tolist()
    raise ValueError(f"the axis {name!r} is a list, {{ count = n }} or {{ from = a, to = b, count = n }}; got {dict(given)}.")
