"""How large the library is, room by room: modules, lines, functions, constants, public names, parameters.

    python tools/size.py                   prints the table
    python tools/size.py --write NAME      also writes it under NAME ("before", "after") into tools/size.json

Code lines are lines that are neither blank, comment nor docstring. A private function is "called once" where its name
stands once in the library beside its definition. A hand-set constant is an upper-case name of a module whose value
contains a number. Public names stand in the `__all__` of the package and of its namespaces.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "echoscale"
RESULTS = Path(__file__).with_suffix(".json")
KINDS = ("modules", "code lines", "docstring lines", "functions", "private, called once", "hand-set constants")
WIDEST = 8

Function = ast.FunctionDef | ast.AsyncFunctionDef
Counts = dict[str, int]
Sizes = dict[str, Any]


def measure() -> Sizes:
    """All counts of the tree as it stands."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
    names = Counter(name for path in trees for name in re.findall(r"\w+", path.read_text(encoding="utf-8")))
    rooms: dict[str, Counts] = {}
    for path, tree in trees.items():
        room = rooms.setdefault(room_of(path), dict.fromkeys(KINDS, 0))
        for kind, count in counts_of(path, tree, names).items():
            room[kind] += count
    return {
        "commit": subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.strip(),
        "rooms": rooms,
        "total": {kind: sum(room[kind] for room in rooms.values()) for kind in KINDS},
        "public names": public_names(),
        "widest": dict(widest(trees.values())),
    }


def room_of(path: Path) -> str:
    """The first folder of a module, or its own name at the top."""
    first = path.relative_to(PACKAGE).parts[0]
    return first if first.endswith(".py") else f"{first}/"


def counts_of(path: Path, tree: ast.Module, names: Counter[str]) -> Counts:
    text = path.read_text(encoding="utf-8").splitlines()
    docstrings = {line for node in ast.walk(tree) for line in docstring_lines(node)}
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    filled = {number for number, line in enumerate(text, 1) if line.strip()}
    comments = {number for number in filled if text[number - 1].strip().startswith("#")}
    private = [node.name for node in functions if node.name.startswith("_") and not node.name.endswith("__")]
    values = (1, len(filled - comments - docstrings), len(filled & docstrings), len(functions))
    once = sum(names[name] == 2 for name in private)
    return dict(zip(KINDS, (*values, once, sum(is_constant(node) for node in tree.body)), strict=True))


def docstring_lines(node: ast.AST) -> range:
    if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node) is not None:
        return range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    return range(0)


def is_constant(node: ast.stmt) -> bool:
    """NAME = ... with a number somewhere in its value; True and False are no numbers."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    named = {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    numbers = (each.value for each in ast.walk(node.value) if isinstance(each, ast.Constant))
    return any(name.isupper() for name in named) and any(type(number) in (int, float, complex) for number in numbers)


def public_names() -> Counts:
    """How many names `echoscale` has, and each of its namespaces."""
    import types

    import echoscale

    spaces = {name: getattr(echoscale, name) for name in echoscale.__all__}
    rooms = {name: value for name, value in spaces.items() if isinstance(value, types.ModuleType)}
    counts = {name: len(getattr(value, "__all__", ())) for name, value in rooms.items()}
    return {"echoscale": len(spaces) - len(rooms), **counts}


def widest(trees: Iterable[ast.Module]) -> list[tuple[str, int]]:
    """Public classes and functions with the most parameters; a data class has its fields."""
    found: Counter[str] = Counter()
    for tree in trees:
        for node in tree.body:
            if isinstance(node, Function) and not node.name.startswith("_"):
                found[node.name] = max(found[node.name], parameters(node))
            elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                begin = [each for each in node.body if isinstance(each, Function) and each.name == "__init__"]
                fields = sum(isinstance(each, ast.AnnAssign) and "ClassVar" not in ast.unparse(each) for each in node.body)
                is_data = any("dataclass" in ast.unparse(each) for each in node.decorator_list)
                found[node.name] = max(found[node.name], parameters(begin[0]) - 1 if begin else fields if is_data else 0)
    return found.most_common(WIDEST)


def parameters(node: Function) -> int:
    given = node.args
    return len([*given.posonlyargs, *given.args, *given.kwonlyargs])


def table(found: Sizes) -> str:
    """Rooms down, counts across."""
    rooms = {**found["rooms"], "**sum**": found["total"]}
    head = f"| room | {' | '.join(KINDS)} |\n|---|{'---:|' * len(KINDS)}\n"
    body = "\n".join(f"| {name} | {' | '.join(f'{counts[kind]:,}' for kind in KINDS)} |" for name, counts in rooms.items())
    names = ", ".join(f"{name} {count}" for name, count in found["public names"].items())
    wide = ", ".join(f"{name} {count}" for name, count in found["widest"].items())
    return f"{head}{body}\n\nPublic names: {names}\nMost parameters: {wide}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="NAME", help="keep the counts under this name in tools/size.json")
    name = parser.parse_args().write
    found = measure()
    print(table(found))
    if name:
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps({**kept, name: found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
