"""Images as permuted sequences: which pixel each step shows, which labels, which split."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from echoscale.tasks import mnist
from echoscale.tasks.mnist import File
from echoscale.tasks.psmnist import Sequences, psdigits, psmnist

GIVEN = os.environ.get("ECHOSCALE_DATA")
IMAGES = {
    split: np.random.default_rng(n).integers(0, 256, (n, 28, 28), dtype=np.uint8) for split, n in (("train", 6), ("test", 4))
}
LABELS = {"train": [3, 0, 9, 9, 1, 5], "test": [7, 2, 1, 0]}


def bytes_of(numbers: Any) -> bytes:
    array = np.asarray(numbers, np.uint8)
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ten images of noise in place of MNIST's 70,000."""

    def write(name: str, numbers: Any) -> File:
        content = bytes_of(numbers)
        (tmp_path / name).write_bytes(content)
        return File(name, 0, "", hashlib.sha256(content).hexdigest())

    files = {split: (write(f"{split}-images", IMAGES[split]), write(f"{split}-labels", LABELS[split])) for split in IMAGES}
    monkeypatch.setattr(mnist, "FILES", files)
    return tmp_path


def both(directory: Path, split: str, permutation: int | None) -> list[tuple[Sequences, Any, int]]:
    """psMNIST and psDigits, each with its images in order and its side."""
    digits = load_digits().images / 16
    return [
        (psmnist(split, permutation, directory), IMAGES[split] / 255, 28),
        (psdigits(split, permutation), digits, 8),
    ]


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("permutation", [0, 5, None])
def test_every_step_shows_its_pixel(directory: Path, split: str, permutation: int | None) -> None:
    got = psmnist(split, permutation, directory)
    assert got.u.shape == (len(LABELS[split]), 784, 1)
    assert got.u.dtype == np.float32
    assert got.u.flags.c_contiguous
    for b, image in enumerate(IMAGES[split]):
        for t, pixel in enumerate(got.permutation.tolist()):
            row, column = divmod(pixel, 28)
            assert got.u[b, t, 0] == np.float32(int(image[row, column]) / 255)  # one rounding, whichever width divides
    assert got.labels.tolist() == LABELS[split]
    assert got.labels.dtype == np.int64


def test_order_of_the_pixels(directory: Path) -> None:
    loaders: list[tuple[Callable[[int | None], Sequences], int]] = [
        (lambda seed: psmnist("test", seed, directory), 784),
        (lambda seed: psdigits("test", seed), 64),
    ]
    for make, steps in loaders:
        for seed in (0, 1, 2**40):
            order = make(seed).permutation
            assert sorted(order.tolist()) == list(range(steps))
            assert order.tolist() != list(range(steps))
            np.testing.assert_array_equal(order, np.random.default_rng(seed).permutation(steps))  # as stated
            np.testing.assert_array_equal(order, make(seed).permutation)
        assert make(0).permutation.tolist() != make(1).permutation.tolist()
        assert make(None).permutation.tolist() == list(range(steps))


def test_the_orders_of_seed_0_stay_as_they_are(directory: Path) -> None:
    """NumPy may change its streams; results with a stated seed would then change with it, and this test says so."""
    assert psmnist("train", directory=directory).permutation[:8].tolist() == [318, 2, 606, 446, 758, 13, 98, 539]
    assert psdigits("train").permutation[:8].tolist() == [16, 36, 27, 8, 44, 23, 53, 4]


@pytest.mark.parametrize("permutation", [0, 3, None])
def test_one_order_for_the_whole_set_and_back(directory: Path, permutation: int | None) -> None:
    for train, test in zip(both(directory, "train", permutation), both(directory, "test", permutation), strict=True):
        np.testing.assert_array_equal(train[0].permutation, test[0].permutation)
    got = psmnist("test", permutation, directory)
    np.testing.assert_array_equal(got.images, (IMAGES["test"] / 255).astype(np.float32))
    inverse = np.empty(784, int)
    inverse[got.permutation] = np.arange(784)
    np.testing.assert_array_equal(got.u[:, inverse, 0].reshape(-1, 28, 28), got.images)


def test_range(directory: Path) -> None:
    for got, images, side in both(directory, "train", 0):
        assert got.u.shape[1] == side * side
        assert got.u.min() == np.float32(images.min()) == 0
        assert got.u.max() == np.float32(images.max()) == 1


def test_names(directory: Path) -> None:
    assert psmnist("test", 4, directory).name == "psMNIST, test, permutation 4"
    assert psmnist("train", None, directory).name == "sMNIST, train, in order"
    assert psdigits().name == "psDigits, train, permutation 0"


def test_digits_are_those_of_scikit_learn() -> None:
    """The split by hand: shuffled by seed 0, the first fifth of each class tests; and every image is in one part."""
    digits = load_digits()
    left = {label: count // 5 for label, count in enumerate(np.bincount(digits.target).tolist())}
    parts: dict[str, list[int]] = {"train": [], "test": []}
    for index in np.random.default_rng(0).permutation(1797).tolist():
        label = int(digits.target[index])
        parts["test" if left[label] > 0 else "train"].append(index)
        left[label] -= 1
    assert {split: len(part) for split, part in parts.items()} == {"train": 1442, "test": 355}  # as the docstring says
    for split, part in parts.items():
        for permutation in (0, 7, None):  # the split does not hang on it
            got = psdigits(split, permutation)
            np.testing.assert_array_equal(got.images, digits.images[part] / 16)  # sixteenths are exact
            np.testing.assert_array_equal(got.u[..., 0], digits.data[part][:, got.permutation] / 16)
            np.testing.assert_array_equal(got.labels, digits.target[part])
            assert got.u.dtype == np.float32


@pytest.mark.parametrize("load", [psmnist, psdigits])
def test_bad_input(load: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ECHOSCALE_DATA", str(tmp_path))  # empty: whatever is refused must be refused before it is looked into
    for split in ("valid", "", None, 0):
        with pytest.raises(ValueError, match=r"split must be one of 'train', 'test'; got"):
            load(split)
    with pytest.raises(ValueError, match=r"permutation \(a seed, or None\) must be at least 0, got -1"):
        load("train", -1)
    for permutation in ("0", 1.0, True, [1, 0]):
        with pytest.raises(TypeError, match=r"permutation \(a seed, or None\) must be a whole number, got"):
            load("train", permutation)


def test_directory_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="the argument `directory` names"):
        psmnist("train", directory=tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="has no train-images-idx3-ubyte and no train-labels-idx1-ubyte"):
        psmnist("train", directory=tmp_path)


def test_download_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHOSCALE_CACHE", str(tmp_path))
    monkeypatch.delenv("ECHOSCALE_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="has no train-images-idx3-ubyte and no train-labels-idx1-ubyte"):
        psmnist("train", download=False)


@pytest.mark.skipif(not GIVEN, reason="ECHOSCALE_DATA names no directory with MNIST")
def test_the_real_mnist() -> None:
    """Against what is known of it: numbers of each digit, first labels, mean and standard deviation of the training pixels."""
    train, test = psmnist("train"), psmnist("test", None)
    assert train.u.shape == (60_000, 784, 1)
    assert test.u.shape == (10_000, 784, 1)
    assert np.bincount(train.labels).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(test.labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert train.labels[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert test.labels[:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    assert round(float(train.u.mean(dtype=np.float64)), 4) == 0.1307
    assert round(float(train.u.std(dtype=np.float64)), 4) == 0.3081
    assert not test.images[:, 0].any()  # the first rows are empty
