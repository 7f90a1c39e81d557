"""Docstrings of all public objects name exactly the parameters of their signatures, and their examples run."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import subprocess
import sys
import warnings
from dataclasses import is_dataclass
from functools import cache
from types import ModuleType

import public
import pytest

import echoscale as es

# Their examples would need what is not there, or are in another docstring.
NO_EXAMPLE = {"echoscale.tasks.psmnist": "files of 11.6 MB", "echoscale.load": "in `save`"}


def parameters(value: object) -> list[str]:
    """As a caller sees them; of a class those that make an object of it."""
    names = []
    for name, each in inspect.signature(value).parameters.items():  # type: ignore[arg-type]
        if name in ("self", "cls") or (name.startswith("_") and each.default is not inspect.Parameter.empty):
            continue
        names.append({each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "") + name)  # type: ignore[call-overload]
    return names


def sections(text: str) -> dict[str, list[str]]:
    """The numpydoc sections of a docstring: title -> lines."""
    lines = inspect.cleandoc(text).splitlines()
    heads = [n for n in range(len(lines) - 1) if lines[n] and re.fullmatch("-{3,}", lines[n + 1])]
    ends = [*heads, len(lines)][1:]
    return {lines[begin]: lines[begin + 2 : end] for begin, end in zip(heads, ends, strict=True)}


def named(lines: list[str]) -> list[str]:
    """The names of a Parameters section: of `a, b : what they are`, a and b."""
    heads = [line.split(" : ")[0] for line in lines if line and not line[0].isspace()]
    return [name.strip() for head in heads for name in head.split(",")]


def faults(name: str, value: object) -> list[str]:
    """What is wrong with the docstring of one object, in words."""
    text = inspect.getdoc(value) if not isinstance(value, type) else value.__dict__.get("__doc__")
    if not text or (isinstance(value, type) and is_dataclass(value) and text.startswith(f"{value.__name__}(")):
        return [f"{name} has no docstring"]
    if isinstance(value, property) or not callable(value) or (isinstance(value, type) and issubclass(value, Exception)):
        return []
    found = sections(text)
    wanted, told = parameters(value), named(found.get("Parameters", []))
    if isinstance(value, type) and not told:  # the fields of a result are what it holds, not what a caller gives
        told = [each for each in named(found.get("Attributes", [])) if each in wanted or not hasattr(value, each)]
    missing, unknown = [each for each in wanted if each not in told], [each for each in told if each not in wanted]
    twice = sorted({each for each in told if told.count(each) > 1})
    return [f"{name}: {what} {', '.join(each)}" for what, each in _said(missing, unknown, twice) if each]


def _said(missing: list[str], unknown: list[str], twice: list[str]) -> list[tuple[str, list[str]]]:
    return [("does not explain", missing), ("explains what it does not take:", unknown), ("explains twice", twice)]


@cache
def objects() -> dict[str, dict[str, object]]:
    """Room -> name -> object."""
    found: dict[str, dict[str, object]] = {}
    for name, value in public.documented().items():
        found.setdefault(public.room(value), {})[name] = value
    return found


@pytest.mark.parametrize("room", sorted(objects()))
def test_docstrings_name_all_parameters(room: str) -> None:
    found = [fault for name, value in objects()[room].items() for fault in faults(name, value)]
    assert not found, "\n".join(found)


def stated_defaults(text: str) -> dict[str, object]:
    """Name -> value, of the parameters whose type ends with `, default VALUE`."""
    lines = sections(text).get("Parameters", [])
    found = (re.fullmatch(r"(\w+) : .*, default (.+)", line) for line in lines)
    return {each[1]: ast.literal_eval(each[2]) for each in found if each}


@pytest.mark.parametrize("room", sorted(objects()))
def test_stated_defaults_are_those_of_the_signature(room: str) -> None:
    wrong = []
    for name, value in objects()[room].items():
        for parameter, stated in stated_defaults(inspect.getdoc(value) or "").items():
            real = inspect.signature(value).parameters[parameter].default  # type: ignore[arg-type]
            if type(stated) is not type(real) or stated != real:
                wrong.append(f"{name}: {parameter} is {real!r} by default, not {stated!r}")
    assert not wrong, "\n".join(wrong)


def without_example(room: str) -> list[str]:
    """What a user calls has an example; results (classes with attributes alone) have that of the function that makes them."""
    missing = []
    for name, value in objects()[room].items():
        inner = isinstance(getattr(public.resolve(name.rpartition(".")[0]), "__mro__", None), tuple)
        found = sections(inspect.getdoc(value) or "")
        result = isinstance(value, type) and (
            issubclass(value, Exception) or ("Attributes" in found and "Parameters" not in found)
        )
        if callable(value) and not inner and not result and "Examples" not in found and name not in NO_EXAMPLE:
            missing.append(name)
    return missing


@pytest.mark.parametrize("room", sorted(objects()))
def test_what_a_user_calls_has_an_example(room: str) -> None:
    assert not without_example(room)


@pytest.mark.example
@pytest.mark.parametrize("room", sorted(objects()))
def test_examples_in_docstrings_run(room: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    report: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, value in objects()[room].items():
            test = parser.get_doctest(inspect.getdoc(value) or "", {}, name, None, 0)
            runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


def test_the_checks_see_what_is_wrong() -> None:
    def good(a: int, *b: int, c: int = 0) -> None:
        """c = a.

        Parameters
        ----------
        a, c : int
            Two.
        *b : int
            More.
        """

    def bad(a: int, b: int) -> None:
        """c = a.

        Parameters
        ----------
        a : int
            One.
        c : int
            Another.
        """

    assert faults("good", good) == []
    assert faults("bad", bad) == ["bad: does not explain b", "bad: explains what it does not take: c"]
    assert faults("none", lambda a: a) == ["none has no docstring"]
    assert stated_defaults("Adds.\n\nParameters\n----------\na : int, default 2\n    First.\nb : int\n    Second.") == {"a": 2}


def test_every_public_package_says_what_is_public_in_it() -> None:
    packages = [value for name in dir(es) if isinstance(value := getattr(es, name), ModuleType)]
    silent = {each.__name__ for each in packages if not hasattr(each, "__all__")}
    assert silent <= {"echoscale.sweeps"}  # whose objects are in es.sweeps


def test_every_public_name_resolves_after_import_echoscale_alone() -> None:
    """By attributes, in a process of its own that imports nothing else, without a warning."""
    names = [name for name, _ in public.public_names()]
    script = (
        "import sys, echoscale\nfor name in sys.argv[1:]:\n"
        "    value = echoscale\n    for part in name.split('.')[1:]: value = getattr(value, part)\n"
    )
    assert len(names) > 60
    subprocess.run([sys.executable, "-W", "error", "-c", script, *names], check=True)
