"""MNIST from public mirrors, through pooch: a file is kept only if it is whole and its SHA-256 is right."""

from __future__ import annotations

import contextlib
import os
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pooch
import requests

from echoscale._internal.progress import Progress
from echoscale.tasks import mnist

MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
SILENCE = 10.0  # seconds that a mirror may be silent
LIMIT = 600.0  # seconds for everything
CHUNK = 1 << 14  # bytes


def fetch(folder: Path, progress: Progress) -> None:
    """Download the four files into the folder, trying mirror after mirror; `progress` gets the bytes so far and in all.

    The download runs in a thread that can be abandoned, because SILENCE does not limit the lookup of a host, nor a server that
    sends a byte now and then.
    """
    stop = threading.Event()
    done: Future[None] = Future()

    def run() -> None:
        try:
            _from_mirrors(folder, progress, stop)
            done.set_result(None)
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        done.result(LIMIT)
    except TimeoutError:
        raise FileNotFoundError(f"MNIST could not be downloaded into {folder} within {LIMIT:g} s.") from None
    finally:
        stop.set()


def _from_mirrors(folder: Path, progress: Progress, stop: threading.Event) -> None:
    missing, reasons = mnist.every(), []
    total = sum(file.size for file in missing)

    def tell(received: int) -> None:
        so_far = total - sum(file.size for file in missing) + received
        try:
            progress(so_far, total, "")
        except Exception as error:  # an error of `progress`, not of the mirror
            raise RuntimeError(f"progress({so_far}, {total}) failed: {error}") from error

    def get(url: str, path: str, _: Any) -> None:
        # Servers must not unpack on the way: the checksum is that of the file as published.
        answer = requests.get(url, stream=True, timeout=SILENCE, headers={"Accept-Encoding": "identity"})
        with answer, open(path, "wb") as file:
            answer.raise_for_status()
            for chunk in answer.iter_content(CHUNK):
                received = file.tell() + file.write(chunk)
                if stop.is_set():
                    raise TimeoutError("stopped")
                if received > missing[0].size:
                    raise ValueError(f"more than the {missing[0].size:,} bytes that the file has")
                tell(received)

    for mirror in MIRRORS:
        try:
            while missing:
                name = f"{missing[0].name}.gz"
                path = pooch.retrieve(mirror + name, missing[0].packed, name, folder, downloader=get)  # or it is there
                with contextlib.suppress(PermissionError):  # the file belongs to another user
                    os.chmod(path, 0o644)  # temporary files are not readable for others
                del missing[0]
                tell(0)
        except (OSError, ValueError) as error:
            reasons.append(f"{mirror}: {error}")
    if missing:
        told = f"MNIST could not be downloaded into {folder} (ECHOSCALE_CACHE can name another folder):"
        raise FileNotFoundError("\n  ".join([told, *reasons]))
