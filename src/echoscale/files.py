"""Files that are there whole or not at all, and where those are kept that can be had again."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed
    fcntl = None  # type: ignore[assignment]


def write_atomically(target: Path, content: bytes) -> None:
    """Through a temporary file beside the target that takes its place when all is written: a crash leaves no half a file.

    A link is followed, the permissions of a file that is there are kept, and a read-only one is refused. Temporary files that
    a killed writer of the same target left are removed.

    Parameters
    ----------
    target : Path
        Where to; its folder is there.
    content : bytes
        All of it.
    """
    place = Path(os.path.realpath(target)) if target.is_symlink() else target
    mode = check_writable(place)
    if not place.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {place.parent}: make it first, or give another one.")
    start = f".echoscale-{hashlib.blake2b(os.fsencode(place.name), digest_size=8).hexdigest()}-"
    _remove_abandoned(place.parent, start)
    handle, temporary = _locked_file(place.parent, start)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(temporary, mode)  # mkstemp makes private files
            if fcntl:  # still locked: nobody takes it for abandoned
                os.replace(temporary, place)
        if not fcntl:
            os.replace(temporary, place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


# Stands in a file that is sealed, in a place for text and at its end: the sha256 of the whole file with zeros there. Twice, so
# that damage to one does not make of it a file that never had one.
SEAL = "echoscale-sha256:"
_SEALS = re.compile(SEAL.encode() + rb"([0-9a-f]{64})")


def unsealed() -> str:
    """The text that `sealed` looks for."""
    return SEAL + "0" * 64


def sealed(content: bytes) -> bytes:
    """The content of a file with its checksum in the place of `unsealed()`, which it holds once, and at the end.

    Parameters
    ----------
    content : bytes
        Of a file that has room for text, such as an attribute, and whose readers do not mind more at its end: netCDF.
    """
    empty = unsealed().encode()
    if content.count(empty) != 1:
        raise ValueError("a file is sealed in one place.")
    seal = SEAL.encode() + hashlib.sha256(content).hexdigest().encode()
    return content.replace(empty, seal) + seal


def is_whole(content: bytes) -> bool | None:
    """Whether a sealed file is as it was written; None where it has no seal.

    Parameters
    ----------
    content : bytes
        All of the file.
    """
    found = _SEALS.findall(content)
    # Damage may hit the words of both seals, but hardly most digits of the last one too.
    digits = sum(each in b"0123456789abcdef" for each in content[-64:])
    if not found and SEAL.encode() not in content and digits < 32:
        return None
    if len(found) != 2 or found[0] != found[1] or not content.endswith(SEAL.encode() + found[0]):
        return False
    empty = content[: -len(unsealed())].replace(found[0], b"0" * 64)
    return bool(hashlib.sha256(empty).hexdigest().encode() == found[0])


def make_folder(folder: Path) -> None:
    """The folder with all above it, unless it is there; raises where files could not be written into it.

    Parameters
    ----------
    folder : Path
        Where results are to go.
    """
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


def _locked_file(folder: Path, start: str) -> tuple[int, Path]:
    """A new temporary file under a lock that falls when this process ends, however it ends."""
    while True:
        handle, name = tempfile.mkstemp(dir=folder, prefix=start, suffix=".tmp")
        if fcntl:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                there = os.path.samestat(os.fstat(handle), os.stat(name))
            except (BlockingIOError, FileNotFoundError):
                there = False
            except OSError:  # a file system without locks
                there = True
            if not there:  # another writer took it for abandoned, before it was locked
                os.close(handle)
                Path(name).unlink(missing_ok=True)
                continue
        return handle, Path(name)


def _remove_abandoned(folder: Path, start: str) -> None:
    """What killed writers left: temporary files that nobody holds a lock on."""
    for path in folder.glob(f"{start}*.tmp"):
        with suppress(OSError):
            if not fcntl:
                path.unlink()
                continue
            with path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def home() -> Path:
    """The user's folder, or that of temporary files where a user has none (containers, services)."""
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
