"""Reproducing the paper: all figures, the table, and going on after an interruption."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray
from typer.testing import CliRunner

from echoscale.app.cli import app
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
    assert rows["NARMA10, test NRMSE", "connected"].ours == expected

    pairs = data[4].sel(readout="online", rho=0.1, task="joint", network="connected")["accuracy"].astype(float)
    mean = pairs.sel(part="validation").mean("seed")
    place = np.unravel_index(int(mean.values.argmax()), mean.shape)
    values = pairs.sel(part="test").values[place]
    row = rows["telegraph, joint accuracy", "connected"]
    assert row.ours == f"{values.mean():.3f} ± {values.std(ddof=1) / len(values) ** 0.5:.3f}"
    assert row.paper == "0.75"
    assert float(row.ceiling) == pytest.approx(float(data[4]["ceiling"].sel(part="test", task="joint").mean()), abs=5e-4)
    assert float(row.ceiling) > values.mean()

    images = data[6].sel(snapshots=28, network="connected")["accuracy"].astype(float)
    mean = images.sel(part="validation").mean("seed")
    best = mean.where(mean == mean.max(), drop=True)
    values = images.sel(part="test", alpha1=best["alpha1"], alpha2=best["alpha2"]).values.ravel()
    row = rows["psMNIST, 28 snapshots, accuracy", "connected"]
    assert row.ours == f"{values.mean():.4f} ± {values.std(ddof=1) / len(values) ** 0.5:.4f}"
    assert row.paper == "0.96"


def test_it_makes_figures_and_table_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    for number, result in reproduce.made("smoke", (2, 8), tmp_path):
        assert (number, result.reused) == (2, False)
        break
    assert not (tmp_path / "headline-smoke.md").exists()
    again = reproduce.made("smoke", (2, 8), tmp_path)
    assert [(number, result.reused) for number, result in again] == [(2, True), (8, False)]
    rows, file = reproduce.reproduce("smoke", (2, 8), tmp_path)
    assert rows == []
    assert file.read_text().startswith("# Headline, smoke scale")
    assert {each.name for each in tmp_path.iterdir()} == {
        *(f"fig{number}-smoke.{kind}" for number in (2, 8) for kind in ("nc", "png")),
        "headline-smoke.md",
        "ledger.sqlite",
    }


def test_one_or_two_seeds_have_no_error() -> None:
    assert reproduce._of_seeds(xarray.DataArray([0.97])) == "0.970"
    assert reproduce._of_seeds([0.9, 1.0]) == "0.950 (2 seeds)"
    assert reproduce._of_seeds([0.9, 1.0, 1.1]) == "1.000 ± 0.058"


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(app, ["reproduce", "--scale", "smoke", "--figures", "2", "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "Figure 2" in result.output
    for arguments, message in (
        (["--figures", "10"], "figure must be one of"),
        (["--figures", "1;2"], "with commas between them"),
        (["--scale", "huge"], "scale must be one of"),
    ):
        refused = CliRunner().invoke(app, ["reproduce", *arguments])
        assert refused.exit_code == 2
        assert message in " ".join(refused.output.split())
