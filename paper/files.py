"""Folders and files of results: a file is written completely or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write(target: Path, content: bytes) -> None:
    """Write to a temporary file, which then takes the place of the target."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make the folder and its parents; raise an error if files cannot be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise NotADirectoryError(f"{folder} is not a folder but a file, or lies in one: give the name of a folder.") from None
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"the folder {folder} is read-only: give another one.")
