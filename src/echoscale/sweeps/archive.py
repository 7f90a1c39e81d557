"""Sweeps out of a ledger: their results as a Dataset without running anything, and as files."""

from __future__ import annotations

import io
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from echoscale.files import write_atomically
from echoscale.sweeps.driver import Slot, cuts, dataset
from echoscale.sweeps.ledger import Ledger

if TYPE_CHECKING:
    import xarray

FORMATS = ("nc", "csv", "parquet")


def recall(path: str | Path, sweep: str) -> xarray.Dataset:
    """The Dataset of a sweep as far as it is finished, NaN elsewhere. `sweep` is its id or the beginning of it."""
    with Ledger(path) as ledger:
        name, settings = _find(ledger, sweep)
        keys = ledger.linked(name)
        found = ledger.finished(keys)
    axes = [(axis, kind, labels) for axis, kind, labels, _ in settings["axes"]]
    sizes = [range(len(labels)) for _, kind, labels in axes if kind != "leaf"]
    lanes = list(cuts([len(labels) for _, kind, labels in axes if kind == "leaf"]))
    places = [(outer, begin) for outer in product(*sizes) for begin, _ in lanes]
    slots = [
        Slot(outer, begin, found[key].results if key in found else None)
        for (outer, begin), key in zip(places, keys, strict=True)
    ]
    return dataset(axes, slots, settings)


def _find(ledger: Ledger, sweep: str) -> tuple[str, dict[str, Any]]:
    """The id and the settings of the sweep whose id begins so."""
    known = {each["id"]: each["settings"] for each in ledger.sweeps()}
    matches = [name for name in known if name.startswith(sweep)]
    if len(matches) != 1:
        what = "is not unique" if matches else "is not in the ledger"
        raise ValueError(f"the sweep {sweep!r} {what}: there are {', '.join(matches or known) or 'none'}.")
    return matches[0], dict(known[matches[0]])


def export(data: xarray.Dataset, target: Path) -> Path:
    """Write a Dataset as netCDF (.nc), CSV (.csv) or Parquet (.parquet, where pyarrow is installed), atomically."""
    ending = target.suffix.removeprefix(".")
    if ending not in FORMATS:
        raise ValueError(f"{target} must end in one of {', '.join('.' + each for each in FORMATS)}.")
    if ending == "nc":
        content = bytes(data.to_netcdf(engine="scipy"))
    else:
        frame = data.to_dataframe().reset_index()
        buffer = io.BytesIO()
        if ending == "csv":
            frame.to_csv(buffer, index=False)
        else:
            frame.to_parquet(buffer, index=False)
        content = buffer.getvalue()
    write_atomically(target, content)
    return target
