"""The pages as a site: `make docs`. The root of the repository is the source, so that links work here as in the repository."""

from __future__ import annotations

from typing import Any

import echoscale

project = "echoscale"
author = copyright = "The echoscale developers"
release = version = echoscale.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
master_doc = "docs/index"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/*.md", "benchmarks/results/*.md"]
exclude_patterns = ["benchmarks/results/*-partial.md", "benchmarks/results/*-quick.md"]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath", "amsmath"]
nitpicky = False

html_theme = "furo"
html_title = f"echoscale {version}"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["wrap.css"]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}


def as_written(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with equations and tables of arguments: their lines are kept as they are."""
    if lines:
        lines[:] = [".. code-block:: text", "", *(f"   {line}" for line in lines), ""]


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", as_written)
