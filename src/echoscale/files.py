"""Files that are there whole or not at all, and where those are kept that can be had again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def write_atomically(target: Path, content: bytes) -> None:
    """Through a temporary file beside the target that takes its place when all is written: a crash leaves no half a file."""
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())  # mkstemp makes private files
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def cache_of(platform: str, environment: Mapping[str, str], home: Path) -> Path:
    """ECHOSCALE_CACHE, or `echoscale` in the place where the system keeps such things."""
    if own := environment.get("ECHOSCALE_CACHE"):
        return Path(own).expanduser()
    if platform == "win32":
        place = Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif platform == "darwin":
        place = home / "Library" / "Caches"
    else:
        place = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    return place / "echoscale"
