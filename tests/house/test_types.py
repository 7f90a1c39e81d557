"""Parameters have types that say something: plain `Any` is rare."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "echoscale"
MOST = 0.05


def types_of_parameters(tree: ast.AST) -> Iterator[str]:
    """The annotation of every parameter of every function, `self` and `cls` aside, which have none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            own = node.args
            for each in (*own.posonlyargs, *own.args, *own.kwonlyargs, own.vararg, own.kwarg):
                if each is not None and each.annotation is not None:
                    yield ast.unparse(each.annotation)


def count(paths: Iterator[Path]) -> dict[str, tuple[int, int]]:
    """File -> parameters annotated plain `Any`, and all."""
    found = {}
    for path in paths:
        given = list(types_of_parameters(ast.parse(path.read_text())))
        found[str(path.relative_to(PACKAGE))] = (given.count("Any"), len(given))
    return found


def test_the_count_counts() -> None:
    tree = ast.parse("def f(self, a: Any, b: int, *c: Any, d: list[Any], **e: object): ...")
    assert list(types_of_parameters(tree)) == ["Any", "int", "list[Any]", "Any", "object"]


def test_plain_any_is_rare() -> None:
    found = count(PACKAGE.rglob("*.py"))
    plain, every = (sum(each[k] for each in found.values()) for k in (0, 1))
    worst = sorted(found.items(), key=lambda item: -item[1][0])[:10]
    share = plain / every
    print(f"{plain} of {every} parameters are plain Any, {share:.1%}; most in {worst}")
    assert share < MOST, f"{plain} of {every} parameters are plain Any, {share:.1%}; most in {worst}"
