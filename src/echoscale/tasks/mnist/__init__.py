"""MNIST, 60,000 + 10,000 handwritten digits of 28 x 28 pixels: from a directory, from the cache, or downloaded into it."""

from __future__ import annotations

import os
from pathlib import Path

from echoscale import _checks
from echoscale.progress import Progress, shown
from echoscale.tasks.mnist import idx, known_files

VARIABLE = "ECHOSCALE_DATA"
REMEDY = (
    f"Put the four files ({', '.join(f'{file.name}.gz' for file in known_files.every())}; gzipped or not) into a directory and "
    f"name it by the argument `directory` or by the environment variable {VARIABLE}. For a quick run without them: psdigits()."
)


def read(
    split: str,
    directory: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    progress: bool | Progress = False,
) -> tuple[idx.Bytes, idx.Bytes]:
    """Images (B, 28, 28), 0 to 255, and labels (B,).

    Parameters
    ----------
    split : "train" (B = 60,000) or "test" (B = 10,000)
    directory : path, optional
        A folder that has the files; without it the one in ECHOSCALE_DATA, and without that the cache.
    download : bool
        Whether files that the cache lacks are downloaded into it, all four at once.
    progress : bool or function of (done, total, note)
        Told of the bytes so far and in all while files are downloaded, in the thread that does so.
    """
    wanted = known_files.FILES[_checks.choice(split, tuple(known_files.FILES), "split")]
    if not isinstance(download, bool):
        raise TypeError(f"download must be True or False, got {download!r}.")
    given = _given(directory)
    folder = given or known_files.cache()
    try:
        images, labels = known_files.contents(folder, wanted)
    except (FileNotFoundError, ValueError) as error:
        if given or not download:
            raise type(error)(f"{error}. {REMEDY}") from None
        from echoscale.tasks.mnist.download import fetch  # not above: pooch is seldom needed

        try:
            with shown(progress, "MNIST") as tell:
                fetch(folder, tell)
        except FileNotFoundError as failure:
            raise FileNotFoundError(f"{failure}\n{REMEDY}") from None
        images, labels = known_files.contents(folder, wanted)
    return idx.parse(images, wanted[0].name, 3), idx.parse(labels, wanted[1].name, 1)


def available(directory: str | os.PathLike[str] | None = None) -> bool:
    """Whether all four files are there; nothing is downloaded.

    Parameters
    ----------
    directory : path, optional
        As in `read`. That it does not exist or has a damaged file is an error: somebody means it to be used.
    """
    given = _given(directory)
    try:
        known_files.contents(given or known_files.cache(), known_files.every())
    except FileNotFoundError:
        return False
    except ValueError as error:
        if given:
            raise ValueError(f"{error}. {REMEDY}") from None
        return False
    return True


def folder(directory: str | os.PathLike[str] | None = None) -> Path:
    """Where the files are looked for.

    Parameters
    ----------
    directory : path, optional
        As in `read`.
    """
    return _given(directory) or known_files.cache()


def _given(directory: str | os.PathLike[str] | None) -> Path | None:
    """The directory of the argument, or else of the environment; it exists."""
    by_argument = directory is not None
    named = directory if by_argument else os.environ.get(VARIABLE)
    if not by_argument and not named:
        return None
    if not isinstance(named, str | os.PathLike):
        raise TypeError(f"directory must be a path, got {named!r} of type {type(named).__name__}.")
    path = Path(named).expanduser()
    if not path.is_dir():
        source = "the argument `directory`" if by_argument else f"the environment variable {VARIABLE}"
        raise NotADirectoryError(f"{source} names {str(path)!r}, which is not a directory. {REMEDY}")
    return path
