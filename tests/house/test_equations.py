"""Every equation of the pages and docstrings becomes whole MathML: nothing of LaTeX is left in it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

markdown_it = pytest.importorskip("markdown_it", reason="the pages need echoscale[docs]")
plugins = pytest.importorskip("mdit_py_plugins.dollarmath", reason="the pages need echoscale[docs]")
pytest.importorskip("latex2mathml", reason="the pages need echoscale[docs]")

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from mathematics import drawn  # type: ignore[import-not-found,unused-ignore]  # noqa: E402


def equations() -> dict[str, list[str]]:
    """By file, as they are written."""
    found: dict[str, list[str]] = {}
    reader = markdown_it.MarkdownIt().enable("table").use(plugins.dollarmath_plugin, allow_space=False, allow_digits=False)
    for page in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]):
        tokens = reader.parse(page.read_text(encoding="utf-8"))
        every = [part for token in tokens for part in (token, *(token.children or ()))]
        found[page.name] = [each.content for each in every if each.type.startswith("math_")]
    for module in sorted((ROOT / "src").rglob("*.py")):
        found[str(module.relative_to(ROOT))] = re.findall(r":math:`([^`]+)`", module.read_text(encoding="utf-8"))
    return {name: each for name, each in found.items() if each}


FOUND = equations()


def test_there_are_equations() -> None:
    assert any("aligned" in each for each in FOUND["api.md"])
    assert sum(map(len, FOUND.values())) > 100


@pytest.mark.parametrize("name", FOUND)
def test_nothing_of_latex_is_left(name: str) -> None:
    for text in FOUND[name]:
        tree = ElementTree.fromstring(drawn(text, "block"))
        left = [part for part in tree.itertext() if re.search(r"[&\\$]", part)]
        assert not left, f"{left} is left of {text}"
        assert not tree.findall(".//*[@linebreak]"), f"browsers break no line in {text}"


def test_lines_are_rows_of_a_table() -> None:
    tree = ElementTree.fromstring(drawn(r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "block"))
    rows = [["".join(cell.itertext()) for cell in row] for row in tree.iter("{http://www.w3.org/1998/Math/MathML}mtr")]
    assert rows == [["a", "=b"], ["c", "=d"]]


@pytest.mark.parametrize("text", [r"\unknown x", "a & b", r"a \\ b", r"\begin{gathered} a \\ b \end{gathered}"])
def test_what_cannot_be_drawn_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be drawn"):
        drawn(text, "block")
