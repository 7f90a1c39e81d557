"""Equations as MathML, which browsers draw by themselves: the site needs no script from elsewhere."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def _drawn(node: nodes.Element, display: str) -> str:
    found = convert(node.astext(), display=display)
    if "\\" in found:  # a command that the converter does not know stays as it is written
        raise ValueError(f"{node.source}: an equation has a command that cannot be drawn: {node.astext()}")
    return found


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(_drawn(node, "inline"))
    raise nodes.SkipNode


def _block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="equation" tabindex="0">{_drawn(node, "block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """What Sphinx calls."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
