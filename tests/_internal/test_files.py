"""Files are there whole or not at all; links are followed and permissions kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from echoscale._internal.files import cache_of, home, write_atomically


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_a_file_is_written_and_written_over(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    for content in (b"first\x00", b"", bytes(range(256)) * 1000):
        write_atomically(target, content)
        assert target.read_bytes() == content
        assert names(tmp_path) == ["a.bin"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none: make it first"):
        write_atomically(tmp_path / "none" / "a.bin", b"")
    assert names(tmp_path) == []


@pytest.mark.parametrize("call", ["fdopen", "fsync", "chmod", "replace"])
@pytest.mark.parametrize("error", [OSError("no space left on device"), KeyboardInterrupt()], ids=["disk", "keyboard"])
@pytest.mark.parametrize("old", [b"old", None], ids=["old file", "no file"])
def test_an_interrupted_write_leaves_all_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException, old: bytes | None
) -> None:
    target = tmp_path / "a.bin"
    if old is not None:
        target.write_bytes(old)

    def interrupted(*arguments: Any, **_: Any) -> None:
        if call == "fdopen":
            os.close(arguments[0])
        raise error

    monkeypatch.setattr(os, call, interrupted)
    with pytest.raises(type(error)):
        write_atomically(target, b"new content")
    monkeypatch.undo()
    assert names(tmp_path) == ([] if old is None else ["a.bin"])
    if old is not None:
        assert target.read_bytes() == old


def test_content_that_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")
    wrong: Any = "text"
    with pytest.raises(TypeError):
        write_atomically(target, wrong)
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the moment of the exchange both are there, each complete."""
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")
    replace, seen = os.replace, []

    def watched(source: Any, destination: Any) -> None:
        seen.append((target.read_bytes(), Path(source).read_bytes(), Path(source).parent))
        replace(source, destination)

    monkeypatch.setattr(os, "replace", watched)
    write_atomically(target, b"new content")
    assert seen == [(b"old", b"new content", tmp_path)]


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_file_has_the_permissions_of_any_other_new_file(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "ours", b"")
        (tmp_path / "other").write_bytes(b"")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        write_atomically(tmp_path / "nowhere" / "a.bin", b"")


posix = pytest.mark.skipif(os.name != "posix", reason="links and permissions are those of POSIX")


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_permissions_are_kept(tmp_path: Path, mode: int) -> None:
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")
    target.chmod(mode)
    write_atomically(target, b"new")
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == mode


@posix
def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    real, link = tmp_path / "elsewhere" / "a.bin", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert names(tmp_path / "elsewhere") == ["a.bin"]


@posix
def test_what_must_not_be_replaced_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")
    target.chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no ordinary file"):
        write_atomically(tmp_path / "pipe", b"new")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_atomically(tmp_path, b"new")


@pytest.mark.parametrize("name", ["x" * 255, "ä" * 127, "[a] *?"])
def test_any_name_that_the_system_takes_is_written(tmp_path: Path, name: str) -> None:
    write_atomically(tmp_path / name, b"new")
    assert (tmp_path / name).read_bytes() == b"new"


def test_caches_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in a container may have neither HOME nor an entry in the list of users."""

    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nobody)
    assert home().is_dir()
    assert cache_of("linux", {"ECHOSCALE_CACHE": "~nobody-at-all/x"}, home()) == Path("~nobody-at-all/x")
