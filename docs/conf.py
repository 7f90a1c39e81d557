"""The pages as a site: `make docs`. The root of the repository is the source, so that links work here as in the repository."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import echoscale

project = "echoscale"
author = copyright = "The echoscale developers"
release = version = echoscale.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "mathematics", "readable", "reference"]
master_doc = "docs/index"
include_patterns = ["docs/*.md", "docs/api/*.rst", "benchmarks/results/*.md"]
# Pages for contributors stay in the repository.
exclude_patterns = ["docs/architecture.md", "benchmarks/results/*-partial.md", "benchmarks/results/*-quick.md"]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath", "amsmath"]
nitpicky = False

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"echoscale {version}"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_extra_path = ["_root"]  # the root of the site leads to the first page
html_css_files = ["wrap.css"]
html_js_files = ["copy.js"]

# `name` in a docstring links to what it names, where that is public.
default_role = "py:obj"
suppress_warnings = ["ref.python"]  # a word that names several things, such as `state`, links to none
maximum_signature_line_length = 90
python_display_short_literal_types = True
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_param = False  # which would make links of single words, such as `units`, to whatever has that name
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_rtype = False
