"""Permuted sequential MNIST: images as sequences of pixels, in one random order for the whole set (paper, Fig. 6).

    u_t = pixel[permutation[t]] / white,      t = 0 .. T-1,      T = 28 * 28 (MNIST) or 8 * 8 (scikit-learn's digits)

Pixels are numbered row by row; white is the largest possible value. The target is the class, after the last pixel.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.progress import Progress
from echoscale._internal.types import Indices
from echoscale.tasks import mnist

SPLITS = ("train", "test")
DIGITS_SPLIT_SEED = 0
DIGITS_TEST_ONE_IN = 5  # one in five images of each class is for testing


class Sequences(NamedTuple):
    """Images as sequences of pixels with labels: u_t = pixel[permutation[t]] / white.

    Attributes
    ----------
    u : (B, T, 1) array
        Pixels in [0, 1], float32.
    labels : (B,) array
        Digits, 0 to 9.
    permutation : (T,) array
        Order of the pixels: step t shows pixel permutation[t].
    name : str
        Name of data set, split and permutation.
    """

    u: npt.NDArray[np.float32]
    labels: Indices
    permutation: Indices
    name: str

    @property
    def images(self) -> npt.NDArray[np.float32]:
        """Images without permutation, (B, rows, columns)."""
        side = round(self.permutation.size**0.5)
        return self.u[:, np.argsort(self.permutation), 0].reshape(-1, side, side)


def psmnist(
    split: str = "train",
    permutation: int | None = 0,
    directory: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    progress: bool | Progress = False,
) -> Sequences:
    """Permuted sequential MNIST: digits as sequences of 784 pixels, 60,000 to train (188 MB) or 10,000 to test.

    The files come from `directory`, the folder in the environment variable ECHOSCALE_DATA, or the cache. With download=True,
    missing files are downloaded into the cache from public mirrors (11.6 MB).

    Parameters
    ----------
    split : str
        Part of the data: "train" or "test".
    permutation : int or None
        Random seed of the order, NumPy's `default_rng(permutation).permutation(T)`; None: pixels row by row.
    directory : path or None
        Folder of the four files of MNIST.
    download : bool
        Whether to download files that are not in the cache.
    progress : bool or function of (done, total, note)
        True shows a bar during the download; a function is called with the numbers of bytes.

    Returns
    -------
    Sequences
    """
    checks.choice(split, SPLITS, "split")
    order = _order(permutation, 28 * 28)  # before anything is downloaded
    images, labels = mnist.read(split, directory, download=download, progress=progress)
    return _sequences(images, labels, order, 255, _name("MNIST", split, permutation))


def psdigits(split: str = "train", permutation: int | None = 0) -> Sequences:
    """Permuted sequential digits of scikit-learn: 8 x 8 images as sequences of 64 pixels, for quick runs without download.

    There are 1,442 images to train and 355 to test. The split is fixed: after shuffling with seed 0, the first fifth of each
    class (rounded down) is for testing.

    Parameters
    ----------
    split : str
        Part of the data: "train" or "test".
    permutation : int or None
        Random seed of the order, NumPy's `default_rng(permutation).permutation(T)`; None: pixels row by row.

    Returns
    -------
    Sequences

    Examples
    --------
    >>> import echoscale as es
    >>> es.tasks.psdigits("test").u.shape
    (355, 64, 1)
    """
    checks.choice(split, SPLITS, "split")
    order = _order(permutation, 8 * 8)
    from sklearn.datasets import load_digits  # not above: scikit-learn is slow to import

    digits = load_digits()
    labels = digits.target
    chosen = _split(labels, split)
    return _sequences(digits.images[chosen], labels[chosen], order, 16, _name("Digits", split, permutation))


def _order(permutation: int | None, steps: int) -> Indices:
    """The pixel of each step, (steps,)."""
    if permutation is None:
        return np.arange(steps)
    return np.random.default_rng(checks.integer(permutation, "permutation (a seed, or None)")).permutation(steps)


def _split(labels: Indices, split: str) -> Indices:
    """Indices of the images to train on, or to test on."""
    shuffled = np.random.default_rng(DIGITS_SPLIT_SEED).permutation(len(labels))
    of_class = labels[shuffled] == np.arange(10)[:, None]  # (classes, B)
    is_first = DIGITS_TEST_ONE_IN * of_class.cumsum(axis=1) <= of_class.sum(axis=1, keepdims=True)
    is_test = (of_class & is_first).any(axis=0)
    chosen: Indices = shuffled[is_test if split == "test" else ~is_test]
    return chosen


def _sequences(images: npt.NDArray[Any], labels: npt.NDArray[Any], order: Indices, white: int, name: str) -> Sequences:
    # Permuting bytes before the conversion takes less memory. Unlike [:, order], take keeps each sequence contiguous.
    pixels = images.reshape(len(images), -1).take(order, axis=1)
    return Sequences(np.divide(pixels, white, dtype=np.float32)[..., None], labels.astype(np.int64), order, name)


def _name(data: str, split: str, permutation: int | None) -> str:
    return f"s{data}, {split}, in order" if permutation is None else f"ps{data}, {split}, permutation {permutation}"
