"""MNIST, 60,000 + 10,000 handwritten digits of 28 x 28 pixels: from a directory, from the cache, or downloaded into it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from echoscale import _checks
from echoscale.tasks import idx, mnist_files
from echoscale.tasks.mnist_files import File, Found

if TYPE_CHECKING:
    from echoscale.tasks.mnist_download import Progress

VARIABLE = "ECHOSCALE_DATA"


def read(
    split: str,
    directory: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    progress: Progress | None = None,
) -> tuple[idx.Bytes, idx.Bytes]:
    """Images (B, 28, 28), 0 to 255, and labels (B,) of "train" or "test".

    Where a directory is given, by argument or by ECHOSCALE_DATA, the files must be there. Else they are looked for in the
    cache, and if they are not there all four are downloaded into it; progress(done, total) is then told the bytes. With
    download=False the network is never touched.
    """
    files = mnist_files.FILES[_checks.choice(split, tuple(mnist_files.FILES), "split")]
    if not isinstance(download, bool):
        raise TypeError(f"download must be True or False, got {download!r}.")
    given = _given(directory)
    contents = _from_cache(files, download, progress) if given is None else _from_directory(files, given)
    images, labels = (idx.parse(each, file.name, axes) for each, file, axes in zip(contents, files, (3, 1), strict=True))
    return images, labels


def available(directory: str | os.PathLike[str] | None = None) -> bool:
    """Whether all four files are there, in the directory if one is given (here or by ECHOSCALE_DATA), else in the cache.

    Nothing is downloaded. A directory that does not exist and a damaged file in it are errors: somebody means it to be used.
    """
    given = _given(directory)
    folder = mnist_files.cache() if given is None else given
    found = [mnist_files.look(folder, file) for file in mnist_files.every_file()]
    if given is not None:
        _refuse_damaged(found)
    return all(each.content is not None for each in found)


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
        raise NotADirectoryError(f"{source} names {str(path)!r}, which is not a directory. {_remedy()}")
    return path


def _from_directory(files: tuple[File, ...], folder: Path) -> list[bytes]:
    """All of the files, or an error that names what is missing or damaged."""
    found = [mnist_files.look(folder, file) for file in files]
    _refuse_damaged(found)
    missing = [file.name for file, each in zip(files, found, strict=True) if each.content is None]
    if missing:
        raise FileNotFoundError(f"{folder} has no {' and no '.join(missing)} (gzipped or not). {_remedy()}")
    return _contents(found)


def _from_cache(files: tuple[File, ...], download: bool, progress: Progress | None) -> list[bytes]:
    """What is not in the cache, or damaged there, is downloaded into it."""
    folder = mnist_files.cache()
    found = [mnist_files.look(folder, file) for file in files]
    missing = [file.name for file, each in zip(files, found, strict=True) if each.content is None]
    if not missing:
        return _contents(found)
    damaged = "; ".join(fault for each in found for fault in each.damaged)
    tried = [
        f"directory: none was given, neither by the argument `directory` nor by {VARIABLE}",
        f"cache {folder}: {damaged or 'no ' + ' and no '.join(missing)}",
    ]
    if download:
        from echoscale.tasks import mnist_download

        wanted = [file for file in mnist_files.every_file() if mnist_files.look(folder, file).content is None]
        tried += mnist_download.fetch(wanted, folder, progress)
        found = [mnist_files.look(folder, file) for file in files]
    else:
        tried.append("network: not asked, since download=False")
    if any(each.content is None for each in found):
        raise FileNotFoundError("\n  ".join(["the files of MNIST were not found. Tried:", *tried]) + f"\n{_remedy()}")
    return _contents(found)


def _refuse_damaged(found: list[Found]) -> None:
    """A file of the right name and the wrong content in a directory that was given."""
    damaged = [fault for each in found if each.content is None for fault in each.damaged]
    if damaged:
        raise ValueError("\n  ".join(["not what MNIST has under this name:", *damaged]) + f"\nReplace it. {_remedy()}")


def _contents(found: list[Found]) -> list[bytes]:
    return [each.content for each in found if each.content is not None]


def _remedy() -> str:
    names = ", ".join(f"{file.name}.gz" for file in mnist_files.every_file())
    return (
        f"Put the four files ({names}; gzipped or not) into a directory and name it by the argument `directory` or by the "
        f"environment variable {VARIABLE}. For a quick run without them: psdigits()."
    )
