"""The pages: examples run and print what they say, links lead somewhere, and tables come from result files."""

from __future__ import annotations

import builtins
import json
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from generator import notebook, pages, pictures, rooms  # type: ignore[import-not-found,unused-ignore]  # noqa: E402

PAGES: list[Path] = pages.PAGES
BLOCK = re.compile(r"^```(?P<language>python|text)\n(?P<body>.*?)^```", flags=re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?")


def by_name(path: Path) -> str:
    return path.name


def recorder(printed: dict[int, str]) -> Callable[..., None]:
    """A `print` that remembers what each line of its caller printed."""

    def record(*values: Any, **options: Any) -> None:
        line = sys._getframe(1).f_lineno
        printed[line] = printed.get(line, "") + " ".join(str(each) for each in values) + "\n"
        builtins.print(*values, **options)

    return record


def misprinted(source: str, printed: dict[int, str]) -> list[str]:
    """Decimals in the comment behind a print that are not among what it printed, to one unit of their last digit."""
    wrong = []
    for number, line in enumerate(source.splitlines(), start=1):
        found = re.search(r"\bprint\(.*\)\s+# (.*)$", line)
        for said in NUMBER.findall(found[1]) if found else ():
            digits = len(said.partition(".")[2])
            values = [float(each) for each in NUMBER.findall(printed.get(number, ""))]
            if digits and not any(abs(value - float(said)) <= 1.01 * 10.0**-digits for value in values):
                wrong.append(f"{line.strip()} printed {printed.get(number)!r}")
    return wrong


def unprinted(shown: str, printed: str) -> list[str]:
    """Decimals of a block of output that are not among what the block before it printed, to 2 %: machines differ."""
    values = [float(each) for each in NUMBER.findall(printed)]
    said = [each for each in NUMBER.findall(shown) if "." in each]
    return [each for each in said if not any(abs(value - float(each)) <= 0.02 * abs(value) for value in values)]


def with_marks(page: Path) -> Any:
    """Marks the pages that run for longer than they compile."""
    return pytest.param(page, marks=pytest.mark.well) if page.name in ("telegraph.md", "timescales.md") else page


@pytest.mark.example
@pytest.mark.parametrize("page", [*map(with_marks, PAGES)], ids=by_name)
def test_documented_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All Python blocks of a page, one after another in one namespace; asserts hold.

    Prints give what the comments behind them say, and what the block of text after them shows.
    """
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        printed: dict[int, str] = {}
        text = page.read_text(encoding="utf-8")
        for found in BLOCK.finditer(text):
            if found["language"] == "text":
                assert not unprinted(found["body"], "".join(printed.values()))
                continue
            source = "\n" * text.count("\n", 0, found.start("body")) + found["body"]  # errors name the line of the page
            printed.clear()
            namespace["print"] = recorder(printed)
            exec(compile(source, str(page), "exec"), namespace)
            assert not misprinted(source, printed)


def test_a_comment_that_is_wrong_is_found() -> None:
    source = "x = 0.41\nprint(x)  # 0.31"
    printed: dict[int, str] = {}
    exec(source, {"print": recorder(printed)})
    assert misprinted(source, printed)
    assert not misprinted(source.replace("0.31", "0.41"), printed)


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_tables_are_those_of_the_result_files(page: Path) -> None:
    """Mended by `python docs/generate.py`."""
    assert page.read_text(encoding="utf-8") == pages.up_to_date(page)


def test_the_import_graph_is_that_of_the_code() -> None:
    assert rooms.PICTURE.read_text(encoding="utf-8") == rooms.picture()


def test_the_notebook_is_the_page() -> None:
    """Its cells are those that `test_documented_examples_run` runs."""
    text = notebook.TARGET.read_text(encoding="utf-8")
    assert text == notebook.written()
    cells = [each for each in json.loads(text)["cells"] if each["cell_type"] == "code"]
    assert ["".join(each["source"]) + "\n" for each in cells] == pictures.blocks(notebook.PAGE)


@pytest.mark.parametrize("page", pictures.PAGES)
def test_pages_show_the_pictures_that_they_draw(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    drawn = re.findall(r'savefig\("([\w-]+\.png)"', "".join(pictures.blocks(ROOT / "docs" / page)))
    assert drawn
    assert re.findall(r"\]\(figures/([\w-]+\.png)\)", text) == drawn


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_measured_numbers_stand_in_tables(page: Path) -> None:
    """Sentences say words; settings and quoted numbers stand in backticks or mathematics."""
    assert list(pages.measured(page)) == []


@pytest.mark.parametrize("text", ["an error of 0.142", "12 % less", "20 times as fast", "takes 5 s", "1.4 GiB", "at 2e-5"])
def test_a_measured_number_in_a_sentence_is_found(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"Before, {text}, after.", encoding="utf-8")
    assert list(pages.measured(page))


def test_model_files_have_one_ending_on_all_pages() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = re.findall(r"es\.(?:save\([^()\"]*|load\()\"([^\"]+)\"", text)
    assert {Path(each).suffix for each in named} == {".safetensors"}
