"""Series that stay where they are stored: pieces, their order and size, and what is refused before anything is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from echoscale.data import stored
from echoscale.data.scaling import Scaling, measured, measured_in_pieces
from echoscale.data.series import as_series
from echoscale.data.stored import Place, as_stored, is_stored, places, stored_targets, walk

da = pytest.importorskip("dask.array")
zarr = pytest.importorskip("zarr")
xarray = pytest.importorskip("xarray")

RNG = np.random.default_rng(0)
U = RNG.normal(size=(700, 3)) * [1.0, 5.0, 100.0] + [0.0, 50.0, -3.0]
BATCH = RNG.normal(size=(5, 90, 2))


def in_zarr(values: Any, chunks: tuple[int, ...], folder: Path) -> Any:
    made = zarr.create_array(folder / "values.zarr", shape=values.shape, chunks=chunks, dtype=values.dtype)
    made[:] = values
    return made


def in_map(values: Any, folder: Path) -> Any:
    np.save(folder / "values.npy", values)
    return np.load(folder / "values.npy", mmap_mode="r")


def kinds(values: Any, folder: Path) -> dict[str, Any]:
    ragged = da.from_array(values, chunks=((100, 7, 393, 200), 2))
    return {
        "zarr": in_zarr(values, (64, 2), folder),
        "map": in_map(values, folder),
        "dask": ragged,
        "xarray": xarray.DataArray(ragged, dims=("time", "sensor")),
    }


class Watched:
    """A chunked array that keeps which steps were read, as HDF5 and others have them."""

    def __init__(self, values: Any, chunks: tuple[int, ...] | None) -> None:
        self.values, self.chunks = values, chunks
        self.reads: list[tuple[tuple[int, int], ...]] = []
        self.shape, self.dtype, self.ndim = values.shape, values.dtype, values.ndim

    def __getitem__(self, key: Any) -> Any:
        self.reads.append(tuple((each.start, each.stop) for each in key))
        return self.values[key]


@pytest.mark.parametrize("kind", ["zarr", "map", "dask", "xarray"])
def test_pieces_together_are_the_numbers(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "BLOCK_BYTES", 3000)
    monkeypatch.setattr(stored, "RUN_BYTES", 1500)
    source = kinds(U, tmp_path)[kind]
    assert is_stored(source)
    found = list(walk(as_stored(source), stored_targets(U[:, 0], as_stored(source))))
    assert len(found) > 5 or kind == "map"  # a memory map has no chunks
    ends = [0, *(place.end for place, _ in found)]
    assert [place.begin for place, _ in found] == ends[:-1]
    np.testing.assert_array_equal(np.concatenate([u.values[0] for _, (u, _) in found]), U)
    np.testing.assert_array_equal(np.concatenate([y.values[0] for _, (_, y) in found]), U[:, :1])


def test_every_chunk_is_read_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Watched(U, (64, 3))
    monkeypatch.setattr(stored, "BLOCK_BYTES", 150 * 3 * 8)
    monkeypatch.setattr(stored, "RUN_BYTES", 20 * 3 * 8)
    found = list(walk(as_stored(source)))
    assert [each[0] for each in source.reads] == [(0, 128), (128, 256), (256, 384), (384, 512), (512, 640), (640, 700)]
    assert max(place.end - place.begin for place, _ in found) == 20


def test_chunks_that_are_too_large_are_read_as_a_whole() -> None:
    whole = as_stored(Watched(U, (500, 3)))
    assert list(places(whole, 24)) == [Place(0, 1, 0, 500), Place(0, 1, 500, 700)]


def test_series_of_a_batch_are_read_together_by_chunks() -> None:
    source = Watched(BATCH, (2, 30, 2))
    batch = as_stored(source)
    assert list(places(batch, 4 * 30 * 16)) == [
        Place(0, 4, 0, 30),
        Place(0, 4, 30, 60),
        Place(0, 4, 60, 90),
        Place(4, 5, 0, 90),
    ]
    for place, [piece] in walk(batch):
        np.testing.assert_array_equal(piece.values, BATCH[place.first : place.last, place.begin : place.end])
    assert {place.last - place.first for place in places(batch, 1 << 20, groups=5)} == {1}


def test_short_series_of_a_list_are_one_piece_and_long_ones_are_cut() -> None:
    rows = [Watched(U[:length], (50, 3)) for length in (40, 60, 300, 10)]
    found = list(places(as_stored(rows), 100 * 24))
    assert found == [Place(0, 2, 0, 60), Place(2, 3, 0, 100), Place(2, 3, 100, 200), Place(2, 3, 200, 300), Place(3, 4, 0, 10)]


def test_scaling_in_pieces_is_scaling_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "BLOCK_BYTES", 24 * 100)
    values = np.column_stack([U, np.full(len(U), 7.3), np.arange(len(U)) > 650, 1e9 + U[:, 0]])
    values[100:250, 1] = np.nan  # whole pieces without a number
    rows = as_stored(Watched(values, (50, 6)))
    found = measured_in_pieces(as_targets_with_gaps(rows)).scaling
    np.testing.assert_allclose(found.mean, np.nanmean(values, axis=0), rtol=1e-13)
    np.testing.assert_allclose(found.spread[[0, 1, 2, 4]], np.nanstd(values, axis=0)[[0, 1, 2, 4]], rtol=1e-12)
    assert found.spread[3] == 1.0
    assert found.mean[3] == 7.3
    np.testing.assert_allclose(found.spread[5], np.std(U[:, 0]), rtol=1e-6)
    huge = measured([U * 1e200]) + measured([U * 1e200 + 1e200])
    assert np.isfinite(huge.spread).all()
    assert Scaling.of([U]).mean.shape == (3,)


def as_targets_with_gaps(rows: Any) -> Any:
    return stored_targets(rows.values[0].source, rows, gaps=True)


def test_what_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    source = Watched(U, (64, 3))
    bad: list[tuple[Any, type[Exception], str]] = [
        (Watched(U.T, (3, 64)), ValueError, r"u must be \(T, F\), time before features, but it has 700 features and 3 steps"),
        (xarray.DataArray(da.from_array(U), dims=("sensor", "time")), ValueError, r"its axes \('sensor', 'time'\)"),
        (xarray.DataArray(da.from_array(BATCH), dims=("time", "b", "f")), ValueError, r"u must be \(B, T, F\), time before"),
        (da.from_array(U)[da.from_array(U)[:, 0] > 0], ValueError, "chunks of unknown size: call u.compute_chunk_sizes"),
        (Watched(U[:0], (64, 3)), ValueError, r"u is empty: its shape is \(0, 3\)"),
        (Watched(U.astype(complex), (64, 3)), TypeError, "cannot be read as real numbers: its dtype is complex128"),
        ([Watched(U, (9, 3)), Watched(U[:, :2], (9, 2))], ValueError, r"the same number of features, got \[3, 2\]"),
        ([Watched(U, (9, 3)), Watched(BATCH, (9, 9, 2))], ValueError, r"u\[1\] must be \(T, F\), got shape \(5, 90, 2\)"),
    ]
    for given, error, message in bad:
        with pytest.raises(error, match=message):
            as_stored(given)
    with pytest.raises(ValueError, match=r"u has 3 features, 4 are needed. A series is \(T, 4\), time first"):
        as_stored(source, 4)
    with pytest.raises(ValueError, match=r"y has 1 series of \[699\] steps, its input 1 series of \[700\] steps"):
        stored_targets(U[1:], as_stored(source))
    assert source.reads == []


def test_gaps_are_named_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "BLOCK_BYTES", 100 * 24)
    values = U.copy()
    values[433, 1] = np.nan
    with pytest.raises(ValueError, match=r"u\[400:500\] must be finite, found NaN at step 33, feature 1"):
        list(walk(as_stored(Watched(values, (50, 3)))))


def test_data_in_memory_are_one_piece() -> None:
    series = as_series(U)
    [(place, [piece])] = walk(series)
    assert place == Place(0, 1, 0, 700)
    assert piece is series
    assert not is_stored(U)
    assert not is_stored(xarray.DataArray(U))
    assert not is_stored([U, U])
    assert is_stored([U, da.from_array(U)])
