"""The report of a folder of figures: its claims, its pictures and its links."""

from __future__ import annotations

from pathlib import Path

import pytest
from html_page import Parsed

import paper
from paper import gallery, report
from paper.claims import CLAIMS, findings
from paper.report import CAPTIONS, of_module

MADE = (2, 8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("figures")
    for number in MADE:
        paper.make(number, "smoke", made)
    return made


def test_the_page_says_what_the_data_say(folder: Path) -> None:
    parsed = Parsed(report.write(folder, "smoke").read_text(encoding="utf-8"))
    data = {number: gallery.read(folder / f"fig{number}-smoke.nc") for number in MADE}
    found = findings(data)
    assert {each.figure for each in found} == {8}
    for each in found:
        assert each.claim in parsed.words
        assert each.measured in parsed.words
    assert f"Of {len(found)} claims of the paper" in parsed.words
    pictures = [attrs for tag, attrs in parsed.tags if tag == "img" and attrs.get("src")]
    assert len(pictures) == len(MADE)
    assert all(attrs["alt"] for attrs in pictures)


def test_links_lead_somewhere(folder: Path) -> None:
    parsed = Parsed(report.write(folder, "smoke").read_text(encoding="utf-8"))
    names = {attrs.get("id") for _, attrs in parsed.tags}
    for each in parsed.addresses():
        if each.startswith("#"):
            assert each[1:] in names
        elif not each.startswith("data:image/png;base64,"):
            assert (folder / each).is_file()


def test_what_is_no_folder_of_figures_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no figures of smoke scale lie in .*: `python -m paper --scale smoke --out"):
        report.write(tmp_path, "smoke")
    with pytest.raises(ValueError, match="no figures of paper scale"):
        report.write(folder, "paper")
    assert not (tmp_path / "index.html").exists()
    content = (folder / "fig8-smoke.nc").read_bytes()
    (tmp_path / "fig8-smoke.nc").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="cannot be read"):
        report.write(tmp_path, "smoke")


def test_commands_on_the_page_make_what_it_shows(folder: Path) -> None:
    """The seeds are named only where they are not those of the scale."""
    words = Parsed(report.write(folder, "smoke").read_text(encoding="utf-8")).words
    assert "python -m paper 8 --scale smoke" in words
    assert "--scale smoke --seeds" not in words


def test_every_figure_has_a_caption_and_a_claim() -> None:
    assert set(CAPTIONS) == set(paper.FIGURES)
    assert set(CLAIMS) >= {1, *range(3, 10)}, "figure 2 is a drawing; others may come"
    assert of_module(8) == ("Relaxation", "How a reservoir relaxes after a pulse, and how long its linear theory holds.")
