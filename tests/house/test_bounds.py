"""Bounds of versions: written in pyproject.toml, repeated for the two environments of the tests, and equal there."""

from __future__ import annotations

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins(name: str) -> dict[str, Version]:
    """Of a file of constraints: what each name is held to."""
    found: dict[str, Version] = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            [pin] = Requirement(line).specifier
            assert pin.operator == "==", line
            found[canonicalize_name(Requirement(line).name)] = Version(pin.version)
    return found


def bounds(*extras: str) -> dict[str, Version]:
    """Lower bounds of the dependencies and of some extras."""
    listed = [*PROJECT["dependencies"], *(each for extra in extras for each in PROJECT["optional-dependencies"][extra])]
    found: dict[str, Version] = {}
    for requirement in map(Requirement, listed):
        if requirement.name == "echoscale":  # an extra within an extra
            continue
        [bound] = requirement.specifier
        assert bound.operator == ">=", requirement
        found[canonicalize_name(requirement.name)] = Version(bound.version)
    return found


def test_lowest_versions_are_the_bounds() -> None:
    lowest, expected = pins("constraints-lowest.txt"), bounds("test", "distributed", "onnx", "stored")
    assert {name: lowest.get(name) for name in expected} == expected


def test_every_dependency_is_pinned_within_its_bound() -> None:
    pinned = pins("constraints.txt")
    for name, bound in bounds(*PROJECT["optional-dependencies"]).items():
        assert pinned[name] >= bound, name


def test_every_python_is_in_the_workflow() -> None:
    """The classifiers promise what is tested."""
    promised = [
        each.split(" :: ")[-1] for each in PROJECT["classifiers"] if each.startswith("Programming Language :: Python :: 3.")
    ]
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    assert f"python: [{', '.join(repr(each) for each in promised)}]".replace("'", '"') in workflow
    assert PROJECT["requires-python"] == f">={promised[0]}"
