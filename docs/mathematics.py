"""Equations as MathML, which browsers draw by themselves: the site needs no script from elsewhere."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def drawn(text: str, display: str) -> str:
    """An equation as MathML; an error where something of LaTeX would be left in it.

    Parameters
    ----------
    text : str
        In LaTeX.
    display : {"inline", "block"}
        Whether it stands in a line of text or by itself.
    """
    # The converter knows the same environment only by its other name.
    found = convert(text.replace("{aligned}", "{align*}"), display=display)
    left = [each for each in ("\\", "&<", 'linebreak="newline"') if each in found]
    if left:  # what the converter does not know stays as it is written
        raise ValueError(f"an equation cannot be drawn, {left[0]} is left of it: {text}")
    return found


def _drawn(node: nodes.Element, display: str) -> str:
    try:
        return drawn(node.astext(), display)
    except ValueError as error:
        raise ValueError(f"{node.source}: {error}") from error


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
