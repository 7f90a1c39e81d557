"""The headline table, recomputed from the committed data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray

from paper import reproduce

COMMITTED = Path(__file__).parents[2] / "docs" / "figures"


def committed(number: int) -> xarray.Dataset:
    with xarray.open_dataset(COMMITTED / f"fig{number}-paper.nc", engine="scipy") as data:
        return data.load()


def test_the_table_says_what_the_surfaces_say() -> None:
    """Recomputed from the raw surfaces, not from what the figures stored as best."""
    data = {number: committed(number) for number in (3, 4, 6)}
    rows = {(row.task, row.network): row for row in reproduce.headline(data)}
    chosen = data[3].sel(variant="lag 1, ridge >= 1e-5", surface="NARMA10, strong")
    validation = chosen["validation"].astype(float).mean("seed")
    place = np.unravel_index(int(validation.values.argmin()), validation.shape)
    values = chosen["test"].astype(float).values[place]
    expected = f"{values.mean():.3f} ± {values.std(ddof=1) / len(values) ** 0.5:.3f}"
    assert rows["NARMA10, test NRMSE", "hierarchical"].ours == expected

    pairs = data[4].sel(readout="online", rho=0.1, task="joint", network="connected")["accuracy"].astype(float)
    mean = pairs.sel(part="validation").mean("seed")
    place = np.unravel_index(int(mean.values.argmax()), mean.shape)
    values = pairs.sel(part="test").values[place]
    row = rows["telegraph, joint accuracy", "hierarchical"]
    assert row.ours == f"{values.mean():.3f} ± {values.std(ddof=1) / len(values) ** 0.5:.3f}"
    assert row.paper == "0.75"
    assert float(row.ceiling) == pytest.approx(float(data[4]["ceiling"].sel(part="test", task="joint").mean()), abs=5e-4)
    assert float(row.ceiling) > values.mean()

    images = data[6].sel(snapshots=28, network="connected")["accuracy"].astype(float)
    mean = images.sel(part="validation").mean("seed")
    best = mean.where(mean == mean.max(), drop=True)
    values = images.sel(part="test", alpha1=best["alpha1"], alpha2=best["alpha2"]).values.ravel()
    row = rows["psMNIST, 28 snapshots, accuracy", "hierarchical"]
    assert row.ours == f"{values.mean():.4f} ± {values.std(ddof=1) / len(values) ** 0.5:.4f}"
    assert row.paper == "0.96"


def test_one_or_two_seeds_have_no_error() -> None:
    assert reproduce._of_seeds(xarray.DataArray([0.97])) == "0.970"
    assert reproduce._of_seeds([0.9, 1.0]) == "0.950 (2 seeds)"
    assert reproduce._of_seeds([0.9, 1.0, 1.1]) == "1.000 ± 0.058"
    assert reproduce._plus_minus(0.5, float("nan")) == "0.500"
