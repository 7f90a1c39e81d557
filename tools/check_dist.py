"""Checks what `python -m build` made, as a stranger would meet it.

    python tools/check_dist.py dist

1. The wheel holds the package with py.typed and nothing else; the source archive holds all that git tracks.
2. The wheel is installed into an empty environment, away from this folder.
3. The first Python example of the README runs there, and so does `echoscale doctor`.

The versions are those of constraints.txt.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def check_wheel(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "echoscale/py.typed" in names, "py.typed is missing"
    strange = [name for name in names if not re.match(r"echoscale(-[^/]+\.dist-info)?/", name)]
    assert not strange, f"not of the package: {strange}"
    packaged = {name.removeprefix("echoscale/") for name in names if name.startswith("echoscale/")}
    source = {str(path.relative_to("src/echoscale")) for path in tracked() if path.is_relative_to("src/echoscale")}
    assert packaged == source, f"wheel and src/echoscale differ by {sorted(packaged ^ source)}"


def check_sdist(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()} - {"PKG-INFO"}
    differ = names ^ {str(path) for path in tracked()}
    assert not differ, f"{sdist.name} and what git tracks differ by {sorted(differ)}"


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()]


def run_example(wheel: Path) -> None:
    example = re.search(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert example, "README.md has no Python example"
    with tempfile.TemporaryDirectory(prefix="echoscale-dist-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = next(path for path in (Path(folder, "bin/python"), Path(folder, "Scripts/python.exe")) if path.exists())
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--constraint", str(ROOT / "constraints.txt"), str(wheel)], check=True, cwd=folder)
        where = "import echoscale, pathlib, sys; assert pathlib.Path(sys.prefix) in pathlib.Path(echoscale.__file__).parents\n"
        for code in (where, example[1]):
            subprocess.run([str(python), "-I", "-W", "error", "-c", code], check=True, cwd=folder)
        command = python.with_name(f"echoscale{python.suffix}")
        for words in ("--help", "doctor"):
            subprocess.run([str(command), words], check=True, cwd=folder, capture_output=True)


if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    check_wheel(wheel)
    check_sdist(sdist)
    run_example(wheel)
    print(f"{wheel.name} and {sdist.name} are complete; the README's example runs from the wheel")
