"""The reference, made from the package when the site is built: a page for each job, and a list of all names in docs/api.md.

`tools/public.py` says what is public. The names of `es` come first on a page, then the names of its namespaces. Docstrings are
numpydoc sections between plain text: paragraphs with aligned columns or equations are shown as they stand.
"""

from __future__ import annotations

import inspect
import re
import shutil
import sys
from itertools import pairwise
from pathlib import Path
from pprint import pformat
from textwrap import indent
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "api"
MARK = "<!-- objects -->"
# Short names of types that modules give themselves.
ALIASES = {"Floats": "NDArray[float64]", "Complex": "NDArray[complex128]", "Labels": "NDArray[int8]", "Sparse": "csr_array"}
# The pages, in their order: the rooms whose names each of them holds, and its title.
JOBS = {
    "network": "Describe a network",
    "engine": "Run a network",
    "estimators": "Fit an estimator",
    "forecasting": "Forecast, or let the data choose a model",
    "timescales": "See timescales and choose them",
    "learning": "Tune, and learn online",
    "readouts": "Fit a readout",
    "tasks": "Take a benchmark problem",
    "measures": "Measure what a network can do",
    "sweeps": "Run a grid of experiments",
    "storage": "Save, load and export",
    "data": "Score, and show results",
}
WITH = {"app": "data", "_internal": "data"}  # rooms of few names, and the page that holds them
sys.path.insert(0, str(ROOT / "tools"))

import public  # noqa: E402


def objects() -> dict[str, dict[str, object]]:
    """Page -> name -> public object, those of `es` first; the modules that hold some of them too."""
    found: dict[str, dict[str, object]] = {each: {} for each in JOBS}
    for name, value in public.public_names():
        # es.tasks.narma stands under tasks; es.tune, which has no room in its name, where it is defined.
        room = name.split(".")[1] if name.count(".") > 1 else public.room(value)
        found[WITH.get(room, room)][name] = value
    for name, module in public.inner_modules():
        found[name.split(".")[1]][name] = module
    return {
        each: dict(sorted(names.items(), key=lambda item: (is_advanced(item[0]), inspect.isclass(item[1]), item[0].split("."))))
        for each, names in found.items()
    }


def is_advanced(name: str) -> bool:
    """Whether a name belongs to a namespace: es.tasks.narma, not es.ESN."""
    return name.count(".") > 1


def page(title: str, names: dict[str, object]) -> str:
    """The source of one page."""
    parts = [f"{title}\n{'=' * len(title)}"]
    for heading, advanced in (("Names of es", False), ("Names of its namespaces", True)):
        found = [entry(name, value) for name, value in names.items() if is_advanced(name) == advanced]
        parts += [f"{heading}\n{'-' * len(heading)}", *found] if found else []
    return "\n\n".join(parts) + "\n"


def entry(name: str, value: object) -> str:
    """The directive that documents an object."""
    if isinstance(value, ModuleType):
        return f".. automodule:: {name}\n   :no-members:"
    if isinstance(value, type):
        members = [each for each, _ in public.members(value)] if not issubclass(value, Exception) else []
        return f".. autoclass:: {name}\n" + (f"   :members: {', '.join(members)}" if members else "   :no-members:")
    if inspect.isroutine(value):
        return f".. autofunction:: {name}"
    shown = indent(pformat(value, width=100, sort_dicts=False), "      ")  # a constant: its value says it
    return f".. py:data:: {name}\n\n   .. code-block:: text\n\n{shown}"


def write_pages(app: Any) -> None:
    """Before anything is read."""
    shutil.rmtree(PAGES, ignore_errors=True)
    PAGES.mkdir()
    for each, names in objects().items():
        (PAGES / f"{each}.rst").write_text(page(JOBS[each], names), encoding="utf-8")


def fill_list(app: Any, document: str, source: list[str]) -> None:
    """The list of all objects in place of the mark in docs/api.md."""
    if document == "docs/api":
        pages = "\n".join(f"api/{each}" for each in JOBS)
        sections = [_section(each, names) for each, names in objects().items()]
        source[0] = source[0].replace(MARK, "\n".join([*sections, f"```{{toctree}}\n:hidden:\n\n{pages}\n```\n"]))


def _section(job: str, found: dict[str, object]) -> str:
    """The names of `es` in a table, or all where there are none, and a link to the page that has all."""
    basic = {name for name in found if not is_advanced(name)} or set(found)
    rows = []
    for name, value in found.items():
        if name in basic:
            rows.append(f"   * - :py:obj:`{name.replace('echoscale', 'es', 1)} <{name}>`\n     - {_summary(value)}")
    table = "\n".join([".. list-table::", "   :widths: 35 65", "", *rows])
    spaces = sorted({".".join(name.split(".")[:2]).replace("echoscale", "es") for name in found if name not in basic})
    more = f"More: [{len(found) - len(rows)} names of {' and '.join(f'`{each}`' for each in spaces)}](api/{job}.rst).\n"
    return f"### {JOBS[job]}\n\n```{{eval-rst}}\n{table}\n```\n\n{more if spaces else ''}"


def _summary(value: object) -> str:
    """The first paragraph of a docstring in one line; of a constant, which has none, its type."""
    if not isinstance(value, type | ModuleType) and not inspect.isroutine(value):
        return f"a constant: {type(value).__name__}"
    text = (inspect.getdoc(value) or "").split("\n\n")[0]
    return _escaped(" ".join(text.split()))


def prepare(app: Any, what: str, name: str, value: object, options: Any, lines: list[str]) -> None:
    """Plain text -> reStructuredText, before napoleon reads the numpydoc sections."""
    head, *tail = _sections(lines)
    text = "\n\n".join(_paragraph(each) for each in re.split(r"\n\s*\n", "\n".join(head)) if each.strip())
    for section in tail:
        body = "\n".join(section[2:])
        text += "\n\n" + "\n".join([*section[:2], body if section[0] == "Examples" else _escaped(body)])
    lines[:] = [*text.splitlines(), ""]


def _sections(lines: list[str]) -> list[list[str]]:
    """What stands before the first section, then the sections, each with its title and the line below it."""
    begins = [n for n in range(len(lines) - 1) if lines[n].strip() and re.fullmatch("-{3,}", lines[n + 1])]
    edges = [0, *begins, len(lines)]
    return [lines[a:b] for a, b in pairwise(edges)]


def _paragraph(text: str) -> str:
    """Aligned columns and equations are kept as they are; the rest flows."""
    lines = text.strip("\n").splitlines()
    if any(re.search(r"\S  +\S", line) or line[:1].isspace() for line in lines):
        return ".. code-block:: text\n\n" + "\n".join(f"   {line}" for line in lines)
    return _escaped("\n".join(lines))


def _escaped(text: str) -> str:
    """Outside of backticks nothing is markup but **strong words**."""
    parts = re.split(r"(``.+?``|`[^`]+`|(?<![\w*])\*\*[^\s*][^*\n]*(?<!\s)\*\*(?![\w*]))", text, flags=re.DOTALL)
    for n in range(0, len(parts), 2):
        parts[n] = re.sub(r"([*|\\])", r"\\\1", parts[n])
        parts[n] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", parts[n])
        parts[n] = re.sub(r"(?m)^(\s*)([A-Za-z])\.$", r"\1\\\2.", parts[n])  # "F." alone would begin a list
    return "".join(parts)


class _Text:
    """An annotation as it is written in the source."""

    def __init__(self, annotation: Any) -> None:
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__forward_arg__", None)
        self.text = text or inspect.formatannotation(annotation)

    def __repr__(self) -> str:
        text = re.sub(r"\b(npt|np|xr|jnp)\.", "", self.text)
        return re.sub(r"\b(" + "|".join(ALIASES) + r")\b", lambda found: ALIASES[found[0]], text)


def signature(
    app: Any, what: str, name: str, value: Any, options: Any, given: str | None, returned: str | None
) -> tuple[str, str | None] | None:
    """With types as the source has them: autodoc would write out every alias."""
    if what not in ("function", "method", "class") or (isinstance(value, type) and issubclass(value, Exception)):
        return None
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    own = [each for k, each in enumerate(found.parameters.values()) if k or each.name not in ("self", "cls")]
    shown = [each if each.annotation is each.empty else each.replace(annotation=_Text(each.annotation)) for each in own]
    result = found.return_annotation
    back = None if what == "class" or result is found.empty else repr(_Text(result))
    return str(inspect.Signature(shown)), back


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("config-inited", lambda app, config: write_pages(app))
    app.connect("source-read", fill_list)
    app.connect("autodoc-process-docstring", prepare, priority=400)  # napoleon comes after
    app.connect("autodoc-process-signature", signature)
    return {"parallel_read_safe": True}
