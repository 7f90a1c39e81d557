"""Files that are written whole or not at all, and the folder for data that can be downloaded or computed again."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


def write_atomically(target: Path, content: bytes) -> None:
    """Through a temporary file beside the target that takes its place when all is written: a crash leaves no half a file.

    A link is followed, the permissions of a file that is there are kept, and a read-only one is refused.
    """
    place = Path(os.path.realpath(target)) if target.is_symlink() else target
    mode = check_writable(place)
    if not place.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {place.parent}: make it first, or give another one.")
    handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=".echoscale-", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)  # mkstemp makes private files
        os.replace(temporary, place)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def make_folder(folder: Path) -> None:
    """The folder with all above it, unless it is there; raises where files could not be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise NotADirectoryError(f"{folder} cannot be a folder: there is a file of that name. Give another one.") from None
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"the folder {folder} is read-only: give another one.")


def check_writable(place: Path) -> int:
    """The permissions that a file there has, or a new one would get; raises where it must not be replaced."""
    try:
        about = place.stat()
    except FileNotFoundError:
        return 0o666 & ~_umask()
    if stat.S_ISDIR(about.st_mode):
        raise IsADirectoryError(f"{place} is a folder: give the name of a file.")
    if not stat.S_ISREG(about.st_mode):
        raise OSError(f"{place} is no ordinary file and is not replaced: give another name.")
    if not about.st_mode & stat.S_IWUSR or not os.access(place, os.W_OK):
        raise PermissionError(f"{place} is read-only and was left as it is: change its permissions, or give another name.")
    return stat.S_IMODE(about.st_mode)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def home() -> Path:
    """The user's folder, or the folder of temporary files if the user has none (containers, services)."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(tempfile.gettempdir())


def cache_of(platform: str, environment: Mapping[str, str], home: Path) -> Path:
    """ECHOSCALE_CACHE, or `echoscale` in the place where the system keeps such things."""
    if own := environment.get("ECHOSCALE_CACHE"):
        with suppress(RuntimeError):  # "~" of nobody
            return Path(own).expanduser()
        return Path(own)
    if platform == "win32":
        place = Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif platform == "darwin":
        place = home / "Library" / "Caches"
    else:
        place = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    return place / "echoscale"
