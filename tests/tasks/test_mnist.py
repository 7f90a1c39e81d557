"""The files of MNIST: parsed, found, downloaded. Four small files stand in for the real ones, a server here for the mirrors."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.server
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from echoscale._internal.files import cache_of
from echoscale.tasks import mnist
from echoscale.tasks.mnist import File

NAMES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def idx_bytes(numbers: Any) -> bytes:
    """As the format has it, written here a second time."""
    array = np.asarray(numbers, np.uint8)
    return bytes([0, 0, 8, array.ndim]) + b"".join(struct.pack(">I", size) for size in array.shape) + array.tobytes()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


_rng = np.random.default_rng(0)
ARRAYS = {
    NAMES[0]: _rng.integers(0, 256, (5, 28, 28), dtype=np.uint8),
    NAMES[1]: np.array([7, 0, 9, 1, 1], np.uint8),
    NAMES[2]: _rng.integers(0, 256, (3, 28, 28), dtype=np.uint8),
    NAMES[3]: np.array([3, 3, 8], np.uint8),
}
PLAIN = {name: idx_bytes(array) for name, array in ARRAYS.items()}
PACKED = {name: gzip.compress(content, mtime=0) for name, content in PLAIN.items()}
TOTAL = sum(map(len, PACKED.values()))


@pytest.fixture(autouse=True)
def small_mnist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Small files, an empty cache, no directory and no sources: a test adds what it needs."""
    four = [File(name, len(PACKED[name]), sha256(PACKED[name]), sha256(PLAIN[name])) for name in NAMES]
    monkeypatch.setattr(mnist, "FILES", {"train": tuple(four[:2]), "test": tuple(four[2:])})
    monkeypatch.setattr(mnist, "MIRRORS", ())
    monkeypatch.setattr(mnist, "CHUNK", 100)
    monkeypatch.setenv("ECHOSCALE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ECHOSCALE_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    folder = tmp_path / "cache" / "mnist"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    fill(folder)
    return folder


def fill(folder: Path, contents: dict[str, bytes] = PACKED, ending: str = ".gz") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / f"{name}{ending}").write_bytes(content)


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*")} if folder.exists() else set()


def assert_right(split: str, read: tuple[Any, Any]) -> None:
    images, labels = NAMES[:2] if split == "train" else NAMES[2:]
    np.testing.assert_array_equal(read[0], ARRAYS[images])
    np.testing.assert_array_equal(read[1], ARRAYS[labels])


ALL_PACKED = {f"{name}.gz" for name in NAMES}


class Server:
    """Serves the four files under http://127.0.0.1:port/<mirror>/; `faults` says of (mirror, name) what goes wrong there."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.faults: dict[tuple[str, str], str] = {}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                _, mirror, name = self.path.split("/")
                outer.asked.append((mirror, name))
                with contextlib.suppress(ConnectionError):  # the other side left
                    outer.answer(self, outer.faults.get((mirror, name.removesuffix(".gz")), "none"), name.removesuffix(".gz"))

            def log_message(self, *_: Any) -> None:
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.released = threading.Event()
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def answer(self, handler: http.server.BaseHTTPRequestHandler, fault: str, name: str) -> None:
        content = PACKED[name]
        if fault == "missing":
            handler.send_error(404)
            return
        if fault == "silent":
            self.released.wait(30)
            return
        if fault == "nonsense":
            handler.wfile.write(b"this is no HTTP\r\n")
            return
        if fault == "corrupted":
            content = content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]
        if fault == "unpacked":
            content = PLAIN[name]
        handler.send_response(200)
        if fault not in ("short", "endless"):
            handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        if fault == "endless":
            while not self.released.is_set():
                handler.wfile.write(content)
        elif fault == "drips":
            for each in content:
                handler.wfile.write(bytes([each]))
                if self.released.wait(0.05):
                    return
        elif fault == "stalls":
            handler.wfile.write(content[:150])
            self.released.wait(30)
        else:
            half = fault in ("dies", "short")  # with or without an announcement of how much there should be
            handler.wfile.write(content[: len(content) // 2] if half else content)

    def mirror(self, name: str) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}/{name}/"

    def spoil(self, mirror: str, fault: str, *names: str) -> None:
        self.faults.update({(mirror, name): fault for name in names or NAMES})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Two mirrors, a and b."""
    running = Server()
    monkeypatch.setattr(mnist, "MIRRORS", (running.mirror("a"), running.mirror("b")))
    yield running
    running.released.set()
    running.http.shutdown()
    running.http.server_close()


# IDX


def test_idx_by_hand() -> None:
    np.testing.assert_array_equal(mnist.parse(bytes.fromhex("00000801 00000003 0708ff")), [7, 8, 255])
    cube = mnist.parse(bytes.fromhex("00000803 00000001 00000002 00000003 010203 040506"))
    np.testing.assert_array_equal(cube, [[[1, 2, 3], [4, 5, 6]]])


@pytest.mark.parametrize("shape", [(0,), (300,), (0, 28, 28), (4, 2, 3)])
def test_idx_round_trip(shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    back = mnist.parse(idx_bytes(array))
    assert back.dtype == np.uint8
    assert back.shape == shape
    np.testing.assert_array_equal(back, array)


# In a directory


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("place", ["", "mnist", "MNIST/raw"])
@pytest.mark.parametrize("spelling", ["{}.gz", "{}", "dotted"])
def test_directory(split: str, place: str, spelling: str, tmp_path: Path) -> None:
    if spelling == "dotted":
        fill(tmp_path / place, {name.replace("-idx", ".idx"): content for name, content in PLAIN.items()}, "")
    else:
        fill(tmp_path / place, *((PACKED, ".gz") if spelling.endswith(".gz") else (PLAIN, "")))
    assert mnist.available(tmp_path)
    assert_right(split, mnist.read(split, tmp_path))
    assert_right(split, mnist.read(split, str(tmp_path)))


def test_content_counts_and_not_the_ending(tmp_path: Path) -> None:
    fill(tmp_path, PLAIN, ".gz")  # unpacked by a browser that kept the name
    assert_right("test", mnist.read("test", tmp_path))


def test_argument_before_variable_before_cache(
    directory: Path, cache: Path, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place that should not be asked has the files, one that should lacks them, and the other way round."""
    empty = tmp_path / "empty"
    empty.mkdir()
    fill(cache)
    monkeypatch.setenv("ECHOSCALE_DATA", str(empty))
    assert_right("train", mnist.read("train", directory))
    with pytest.raises(FileNotFoundError, match="empty has no train-images"):
        mnist.read("train")  # the variable: neither the cache nor the network help out
    assert not mnist.available()
    monkeypatch.setenv("ECHOSCALE_DATA", str(directory))
    assert_right("train", mnist.read("train"))
    with pytest.raises(FileNotFoundError, match="empty has no train-images"):
        mnist.read("train", empty)
    monkeypatch.setenv("ECHOSCALE_DATA", "")  # as if it were not set
    assert_right("train", mnist.read("train"))
    assert server.asked == []


def test_directory_lacks_files(directory: Path) -> None:
    (directory / f"{NAMES[3]}.gz").unlink()
    assert_right("train", mnist.read("train", directory))  # has all that it needs
    assert not mnist.available(directory)
    with pytest.raises(FileNotFoundError) as caught:
        mnist.read("test", directory)
    assert f"{directory} has no t10k-labels-idx1-ubyte. Put the four files" in str(caught.value)
    assert "ECHOSCALE_DATA" in str(caught.value)
    (directory / f"{NAMES[2]}.gz").unlink()
    with pytest.raises(FileNotFoundError, match="has no t10k-images-idx3-ubyte and no t10k-labels-idx1-ubyte"):
        mnist.read("test", directory)


def test_directory_with_a_damaged_file(directory: Path, server: Server) -> None:
    path = directory / f"{NAMES[1]}.gz"
    wrong = PACKED[NAMES[1]][:-1]
    path.write_bytes(wrong)
    for use in (lambda: mnist.read("train", directory), lambda: mnist.available(directory)):
        with pytest.raises(ValueError, match="is not the file of MNIST with this name") as caught:
            use()
        for part in (
            f"{path} ({len(wrong)} bytes)",
            sha256(PACKED[NAMES[1]]),
            sha256(PLAIN[NAMES[1]]),
            "Replace it",
            "psdigits",
        ):
            assert part in str(caught.value)
    assert_right("test", mnist.read("test", directory))
    (directory / NAMES[1]).write_bytes(PLAIN[NAMES[1]])  # a good one beside it does
    assert_right("train", mnist.read("train", directory))
    assert server.asked == []
    assert path.read_bytes() == wrong  # a directory of the user is only read


def test_directory_that_does_not_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotADirectoryError, match=r"the argument `directory` names '.*nowhere', which is not a directory"):
        mnist.read("train", tmp_path / "nowhere")
    monkeypatch.setenv("ECHOSCALE_DATA", str(tmp_path / "nowhere"))
    for use in (lambda: mnist.read("train"), mnist.available):
        with pytest.raises(NotADirectoryError, match=r"the environment variable ECHOSCALE_DATA names '.*nowhere'"):
            use()
    with pytest.raises(NotADirectoryError, match=r"test_mnist.py', which is not a directory"):
        mnist.read("train", Path(__file__))


def test_bad_arguments(directory: Path) -> None:
    with pytest.raises(ValueError, match="split must be one of 'train', 'test'; got 'validation'"):
        mnist.read("validation", directory)
    with pytest.raises(TypeError, match="directory must be a path, got 3 of type int"):
        mnist.read("train", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="download must be True or False, got 'no'"):
        mnist.read("train", download="no")  # type: ignore[arg-type]


# The cache


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, "/home/me/.cache/echoscale"),
        ("linux", {"XDG_CACHE_HOME": "/big/cache"}, "/big/cache/echoscale"),
        ("linux", {"XDG_CACHE_HOME": "", "LOCALAPPDATA": "/no"}, "/home/me/.cache/echoscale"),
        ("darwin", {"XDG_CACHE_HOME": "/no"}, "/home/me/Library/Caches/echoscale"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/echoscale"),
        ("win32", {}, "/home/me/AppData/Local/echoscale"),
        ("win32", {"LOCALAPPDATA": "/local", "ECHOSCALE_CACHE": "/mine"}, "/mine"),
        ("linux", {"XDG_CACHE_HOME": "/big/cache", "ECHOSCALE_CACHE": "/mine"}, "/mine"),
    ],
)
def test_place_of_the_cache(platform: str, environment: dict[str, str], expected: str) -> None:
    assert cache_of(platform, environment, Path("/home/me")) == Path(expected)


def test_cache_before_the_network(cache: Path, server: Server) -> None:
    fill(cache)
    assert mnist.available()
    assert_right("train", mnist.read("train"))
    assert server.asked == []


@pytest.mark.parametrize("name", [f"{NAMES[2]}.gz", NAMES[2]])
def test_damaged_file_in_the_cache_is_replaced(name: str, cache: Path, server: Server) -> None:
    fill(cache)
    (cache / f"{NAMES[2]}.gz").unlink()
    (cache / name).write_bytes(b"half a file")
    assert not mnist.available()
    with pytest.raises(ValueError, match=rf"{name} \(11 bytes\) is not the file of MNIST"):
        mnist.read("test", download=False)
    assert_right("test", mnist.read("test"))
    assert server.asked == [("a", f"{NAMES[2]}.gz")]  # what was right is kept
    assert names_in(cache) == ALL_PACKED | {name}  # one of another name is left, and does no harm
    assert mnist.available()


def test_huge_file_is_not_read(directory: Path) -> None:
    with (directory / f"{NAMES[0]}.gz").open("wb") as file:
        file.truncate(1 << 40)  # a hole on the disk, and more than there is memory
    with pytest.raises(ValueError, match=r"\(1,099,511,627,776 bytes\) is not the file of MNIST"):
        mnist.read("train", directory)


def test_without_download(server: Server, cache: Path) -> None:
    assert not mnist.available()
    with pytest.raises(FileNotFoundError, match=f"has no {NAMES[0]} and no {NAMES[1]}. Put the four files"):
        mnist.read("train", download=False)
    assert server.asked == []
    fill(cache)
    assert_right("train", mnist.read("train", download=False))


def test_cache_that_cannot_be_written(tmp_path: Path, server: Server) -> None:
    (tmp_path / "cache").write_bytes(b"a file, where a folder should be")
    with pytest.raises(FileNotFoundError, match=r"could not be downloaded into .*cache.*ECHOSCALE_CACHE can name another"):
        mnist.read("train")
    assert server.asked == []


# Mirrors


def test_download(server: Server, cache: Path) -> None:
    seen: list[tuple[int, int]] = []
    read = mnist.read("test", progress=lambda done, total, note: seen.append((done, total)))
    assert_right("test", read)
    assert server.asked == [("a", f"{name}.gz") for name in NAMES]  # all four, whatever split is read
    assert {path.name: path.read_bytes() for path in cache.iterdir()} == {f"{name}.gz": PACKED[name] for name in NAMES}
    done = [each for each, _ in seen]
    assert done == sorted(done)
    assert len(set(done)) > len(NAMES)  # also within a file
    assert seen[-1] == (TOTAL, TOTAL)
    assert {total for _, total in seen} == {TOTAL}
    assert_right("train", mnist.read("train"))
    assert len(server.asked) == len(NAMES)  # from the cache now
    mode = (cache / f"{NAMES[0]}.gz").stat().st_mode & 0o777
    (cache / "usual").touch()
    assert mode == (cache / "usual").stat().st_mode & 0o777


@pytest.mark.parametrize("fault", ["missing", "dies", "short", "corrupted", "nonsense"])
def test_the_next_mirror_takes_over(fault: str, server: Server, cache: Path) -> None:
    """Where the first fails at its third file: the first two stay, it is not asked again, and the second has the rest."""
    server.spoil("a", fault, NAMES[2])
    assert_right("train", mnist.read("train"))
    assert server.asked == [("a", f"{name}.gz") for name in NAMES[:3]] + [("b", f"{name}.gz") for name in NAMES[2:]]
    assert names_in(cache) == ALL_PACKED
    assert mnist.available()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("missing", "404 Client Error: Not Found"),
        ("dies", "IncompleteRead"),
        ("short", "hash of downloaded file"),
        ("corrupted", f"expected {sha256(PACKED[NAMES[0]])}"),
        ("unpacked", "hash of downloaded file"),
        ("nonsense", "this is no HTTP"),
        ("silent", "Read timed out"),
        ("stalls", "Read timed out"),
        ("endless", f"more than the {len(PACKED[NAMES[0]]):,} bytes that the file has"),
    ],
)
def test_nothing_stays_behind_a_failure(
    fault: str, reason: str, server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One error that lists the mirrors in order, the faults and the remedy; the next call starts again."""
    monkeypatch.setattr(mnist, "SILENCE", 0.5)
    server.spoil("a", fault)
    server.spoil("b", "missing")
    with pytest.raises(FileNotFoundError) as caught:
        mnist.read("train")
    first, *tried, last = str(caught.value).splitlines()
    assert first.startswith(f"MNIST could not be downloaded into {cache}")
    assert tried[0].startswith(f"  {server.mirror('a')}: ")
    assert reason in "".join(tried[:-1])
    assert tried[-1].startswith(f"  {server.mirror('b')}: 404 Client Error")
    assert last.startswith("Put the four files (train-images-idx3-ubyte.gz, ")
    assert names_in(cache) == set()
    server.released.set()
    server.faults.clear()
    assert_right("train", mnist.read("train"))


def test_time_is_bounded(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow server cannot hold us longer, and no other one is tried for longer."""
    monkeypatch.setattr(mnist, "LIMIT", 0.5)
    monkeypatch.setattr(mnist, "CHUNK", 10)
    server.spoil("a", "drips")
    begun = time.monotonic()
    with pytest.raises(
        FileNotFoundError, match=r"(?s)not finished within 0\.5 s.*not finished within 0\.5 s\nPut the four files"
    ):
        mnist.read("train")
    assert time.monotonic() - begun < 5  # the file would come in more than 100 s
    assert not ALL_PACKED & names_in(cache)


def test_interrupted_by_the_user(server: Server, cache: Path) -> None:
    def stop(done: int, total: int, note: str) -> None:
        if done > len(PACKED[NAMES[0]]) + 10:  # within the second file
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mnist.read("train", progress=stop)
    assert names_in(cache) == {f"{NAMES[0]}.gz"}
    assert_right("train", mnist.read("train"))
    assert server.asked.count(("a", f"{NAMES[0]}.gz")) == 1


def test_an_error_of_progress_is_no_fault_of_the_mirror(server: Server) -> None:
    def broken(done: int, total: int, note: str) -> None:
        raise ValueError("no terminal")

    with pytest.raises(RuntimeError, match=rf"progress\(100, {TOTAL}\) failed: no terminal"):
        mnist.read("train", progress=broken)
    assert [mirror for mirror, _ in server.asked] == ["a"]


def test_download_is_not_imported_without_need(directory: Path) -> None:
    script = (
        "import sys\nfrom echoscale.tasks import mnist\n"
        f"try: mnist.read('train', {str(directory)!r})\nexcept ValueError: pass\n"  # the small files are not the real ones
        "assert not {'pooch', 'requests', 'ssl'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
